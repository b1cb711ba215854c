"""How long the statistics take at the paper's scale: 20 models x 9 paradigms x 5 versions, 1.6 million judgements, all simulated.

    python tests/performance/statistics_at_scale.py FOLDER [--plain]

Writes the tables to FOLDER (once), then runs every command as a process of its own and prints its seconds. ``--plain``
also fits the mixed model as the paper called glmer, and prints the largest difference between the two fits' coefficients.
The bars: summarize in a few tens of seconds, the mixed model in minutes, coefficients equal to 1e-3. The plain call takes some
nine minutes of a core. From score tables to all tables and figures: tables_and_figures.py.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "workflow" / "src"
sys.path[:0] = [str(SOURCE), str(Path(__file__).resolve().parents[1])]
N_MODELS, N_TEMPLATES, N_VERSIONS, N_ITEMS = 20, 875, 5, 4374


def write_tables(folder: Path) -> None:
    """Judgements of every model and paradigm, and surface features."""
    import numpy as np

    from simulated_judgements import simulate_features, simulate_items, simulate_judgements
    from worldprobe.benchmarks.ewok.contracts import Judgements, SurfaceFeatures
    from worldprobe.benchmarks.ewok.eval_types import EVAL_TYPES
    from worldprobe.contracts import write_table
    from worldprobe.provenance import Provenance

    items = simulate_items(N_TEMPLATES, N_VERSIONS, seed=1, domains=[f"domain-{c}" for c in "abcdefghijk"]).iloc[:N_ITEMS]
    items["concept_a"] = [f"concept{i // N_VERSIONS % 187}" for i in range(len(items))]
    write_table(simulate_features(items, 1), SurfaceFeatures, folder / "surface_features.parquet", Provenance(seed=1))
    rng = np.random.default_rng(2)
    models = [f"model_{i:02d}" for i in range(N_MODELS)]
    log_odds = rng.normal(1, 0.5, (N_MODELS, 1, 1)) + rng.normal(0, 1.3, (1, len(items), 1)) + np.zeros((N_MODELS, len(items), 2))
    for number, eval_type in enumerate(EVAL_TYPES):
        rows = simulate_judgements(items, log_odds, models, eval_type, seed=number, share_tied=0.01)
        for model, part in rows.groupby("model"):
            write_table(part, Judgements, folder / eval_type / f"{model}.parquet", Provenance(model=str(model)))


def run(name: str, *arguments: str) -> None:
    """Run one command and print its wall and processor seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    subprocess.run(
        [sys.executable, "-m", "worldprobe", *arguments],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{name:<32}{time.monotonic() - start:8.1f} s wall {spent:8.1f} s processor", flush=True)


def main() -> None:
    """Write the tables where they are not there yet, then time every command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--plain", action="store_true")
    args = parser.parse_args()
    folder: Path = args.folder
    if not (folder / "surface_features.parquet").exists():
        write_tables(folder)
    everything = sorted(str(p) for p in folder.glob("*/*.parquet"))
    logprobs = sorted(str(p) for p in folder.glob("logprobs/*.parquet"))
    surface = ["--surface", str(folder / "surface_features.parquet")]
    run("summarize", "summarize", *everything, "--out", str(folder / "summaries.parquet"))
    run("compare (190 pairs)", "compare", *logprobs, "--out", str(folder / "comparisons.parquet"))
    run("correlate", "correlate", *logprobs, *surface, "--out", str(folder / "correlations.parquet"))
    run(
        "reproduction check",
        "reproduction",
        "check",
        str(folder / "summaries.parquet"),
        "--out",
        str(folder / "reproduction.parquet"),
    )
    run("fit fixed-effects", "fit", "fixed-effects", *logprobs, *surface, "--out", str(folder / "fixed_effects.parquet"))
    run("fit mixed-model", "fit", "mixed-model", *logprobs, *surface, "--out", str(folder / "mixed_model.parquet"))
    if args.plain:
        plain = folder / "mixed_model_plain.parquet"
        run(
            "fit mixed-model --algorithm plain",
            "fit",
            "mixed-model",
            *logprobs,
            *surface,
            "--algorithm",
            "plain",
            "--out",
            str(plain),
        )
        import pandas as pd

        fits = [pd.read_parquet(folder / name)["estimate"] for name in ("mixed_model.parquet", "mixed_model_plain.parquet")]
        print(f"largest difference between coefficients: {(fits[0] - fits[1]).abs().max():.1e}")


if __name__ == "__main__":
    main()
