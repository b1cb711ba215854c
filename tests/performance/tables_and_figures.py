"""From score tables to all tables and figures at the paper's size: 20 models x 9 ways of asking x 5 versions, by the real rules.

    python tests/performance/tables_and_figures.py FOLDER [--cores 2]

Writes a finished scoring stage of the paper's study to FOLDER (once): 180 score tables of 4,374 items, simulated with the
accuracies that the paper printed. Then it runs Snakemake on two cores with the mixed model apart, and prints the seconds of
every rule.
The bar: all tables and figures in under 60 s.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "workflow" / "src"
sys.path[:0] = [str(SOURCE), str(ROOT / "tests")]
N_TEMPLATES, N_VERSIONS, N_ITEMS = 875, 5, 4374
OUTSIDE = {
    "mixed_model": {"enabled": False},
    "baselines": {"word2vec": {"enabled": True, "vectors": "vectors.bin"}},
    "human": {"ratings": "ratings.csv"},
    "report": {"notebooks": []},
}


def published() -> tuple[dict[str, float], dict[str, float]]:
    """Printed accuracy of every model (Table 1) and the models' average in every domain (Table 2)."""
    with open(ROOT / "resources" / "published" / "ewok.csv", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    models = {r["model"]: float(r["printed"]) for r in rows if (r["block"], r["quantity"]) == ("table1", "mean")}
    domains = {r["term"]: float(r["printed"]) for r in rows if (r["block"], r["quantity"]) == ("table2", "llm_average")}
    return {model: mean for model, mean in models.items() if model != "human"}, domains


def write_study(folder: Path) -> None:
    """Everything that a study has when its models have answered."""
    import numpy as np
    import pandas as pd

    from simulated_judgements import simulate_features, simulate_items, simulate_judgements
    from worldprobe.benchmarks.ewok.contracts import Items, Judgements, SurfaceFeatures, Templates
    from worldprobe.contracts import write_table
    from worldprobe.provenance import Provenance

    models, domains = published()
    study = folder / "results" / "ewok"
    for name in ("resources/downloads/ewok-config.zip", "vectors.bin", *(f"results/models/{model}.json" for model in models)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    items = simulate_items(N_TEMPLATES, N_VERSIONS, seed=1, domains=list(domains))
    items["concept_a"] = [f"concept{number // N_VERSIONS % 99}" for number in range(len(items))]
    items["concept_b"] = items["concept_a"].where(items["concept_b"].isna(), items["concept_a"] + "x")
    texts = {
        f"{kind}{number}": [f"{kind} {number} of {item}." for item in items["item_id"]]
        for kind in ("context", "target")
        for number in (1, 2)
    }
    items = items.assign(**texts, fillers="{}", tags="", duplicate_of=None)
    templates = items[items["version"] == 0].assign(template_id=lambda t: t["item_id"].str.removesuffix("_v0"))
    columns = list(Templates.columns)
    write_table(templates[columns], Templates, study / "templates.parquet", Provenance(seed=1))
    items = items.iloc[:N_ITEMS]
    write_table(items, Items, study / "items.parquet", Provenance(seed=1))
    features = simulate_features(items, 1)
    write_table(features, SurfaceFeatures, study / "surface_features.parquet", Provenance(seed=1))
    rng = np.random.default_rng(7)
    level = np.array([_log_odds(domains[name]) for name in items["domain"]])
    design = items.drop(columns=[*texts, "fillers", "tags", "duplicate_of"])
    yardstick = simulate_judgements(
        design, (level - 0.9 + np.zeros((1, 2, len(items)))).transpose(0, 2, 1), ["word2vec"], "word2vec", 3
    )
    write_table(yardstick, Judgements, study / "judgements" / "word2vec" / "word2vec.parquet", Provenance(model="word2vec"))
    edge = rng.normal(1.6, 0.7, (len(items), 2))  # people's: they are right about 95% of the targets
    sides = np.stack([edge[:, 0], -edge[:, 0], -edge[:, 1], edge[:, 1]], axis=1)
    ratings = pd.DataFrame(
        {"item_id": np.repeat(items["item_id"].to_numpy(object), 4), "rating": 3 + sides.ravel().clip(-4, 4) / 2}
    )
    ratings["target"], ratings["context"] = np.tile([1, 1, 2, 2], len(items)), np.tile([1, 2, 1, 2], len(items))
    ratings.to_csv(folder / "ratings.csv", index=False)
    hard = rng.normal(0, 1.2, (len(items), 2)) - 0.08 * (features["n_words"].to_numpy().reshape(-1, 2) - 12)
    with ProcessPoolExecutor() as pool:
        base = level[:, None] + hard
        jobs = [
            pool.submit(write_answers, study, model, mean, number, base, items["item_id"])
            for number, (model, mean) in enumerate(models.items())
        ]
        for job in jobs:
            job.result()


def write_answers(study: Path, model: str, mean: float, number: int, base: Any, item_ids: Any) -> None:
    """One model's log probabilities, ratings and choices."""
    import numpy as np
    import pandas as pd

    from worldprobe.benchmarks.ewok.contracts import Responses, TargetScores
    from worldprobe.benchmarks.ewok.eval_types import EVAL_TYPES
    from worldprobe.contracts import write_table
    from worldprobe.provenance import Provenance

    rng = np.random.default_rng([11, number])
    made_by = Provenance(model=model, checkpoint=model, revision="main", dtype="float32", engine="transformers")
    edge = base + _log_odds(mean) - 0.85 + rng.normal(0, 0.6, base.shape)
    edge = edge + rng.logistic(0, 1, base.shape)  # positive: the matching context wins
    item_id = np.repeat(item_ids.to_numpy(object), 6)
    target, context = np.tile([1, 1, 1, 2, 2, 2], len(base)), np.tile([0, 1, 2], 2 * len(base))
    matching = np.where(context == target, 0.5, np.where(context == 0, -1, -0.5))
    values = -20 + matching * np.repeat(edge.ravel(), 3)
    scores = pd.DataFrame({"item_id": item_id, "target": target, "context": context, "logprob": np.minimum(values, -1e-6)})
    write_table(scores.assign(n_tokens=7, flags=""), TargetScores, study / "scores" / "logprobs" / f"{model}.parquet", made_by)
    digest = "0" * 64
    for place, eval_type in enumerate(EVAL_TYPES[1:]):
        skill = 0.2 + 0.6 * (place % 4) / 3 * (mean - 0.5) / 0.3
        unread = rng.random if "free" in eval_type else (lambda size: np.ones(size))
        if eval_type.startswith("likert"):
            shown = ["t1c1", "t1c2", "t2c1", "t2c2"]
            side = np.stack([edge[:, 0], -edge[:, 0], -edge[:, 1], edge[:, 1]], axis=1)
            answer = np.clip(np.rint(3.4 + skill * side + rng.normal(0, 0.5, side.shape)), 1, 5)
        else:
            shown = ["t1", "t2"]
            own = rng.random((len(base), 2)) < 1 / (1 + np.exp(-skill * edge))
            answer = np.where(own, [1, 2], [2, 1])
        answer = np.where(unread(answer.shape) < 0.02, np.nan, answer).ravel()
        rows = pd.DataFrame(
            {"item_id": np.repeat(item_ids.to_numpy(object), len(shown)), "presentation": np.tile(shown, len(base))}
        )
        rows = rows.assign(eval_type=eval_type, prompt_digest=digest, value=answer, text=[f" {value:.0f}" for value in answer])
        rows["status"] = np.where(rows["value"].isna(), "no_numeral", "ok")
        write_table(rows, Responses, study / "responses" / eval_type / f"{model}.parquet", made_by)


def make_it_look_finished(folder: Path) -> None:
    """Give every file the age that a run would: what is made from others is the younger; all are younger than the code."""
    order = ["resources/downloads/*", "vectors.bin", "ratings.csv", "results/models/*.json", "results/ewok/templates.parquet"]
    order += [
        "results/ewok/items.parquet",
        "results/ewok/surface_features.parquet",
        "results/ewok/scores/*/*.parquet",
        "results/ewok/responses/*/*.parquet",
    ]
    order += ["results/ewok/judgements/word2vec/*.parquet"]
    now = time.time() - len(order)
    for age, pattern in enumerate(order):
        for path in folder.glob(pattern):
            os.utime(path, (now + age, now + age))


def _log_odds(share: float) -> float:
    import math

    return math.log(share / (1 - share))


def snakemake(folder: Path, cores: int, *targets: str) -> float:
    """Run the real rules; wall seconds.

    Raises:
        SystemExit: Snakemake failed.
    """
    import yaml

    outside = folder / "outside.yaml"
    outside.write_text(yaml.safe_dump(OUTSIDE))
    configuration = [ROOT / "config" / "config.yaml", ROOT / "config" / "paper.yaml", outside]
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(folder)]
    command += ["--cores", str(cores), *targets, "--rerun-triggers", "mtime", "--configfile", *map(str, configuration)]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout[-4000:] + done.stderr[-8000:])
    (folder / "snakemake.log").write_text(done.stdout + done.stderr)
    return time.monotonic() - start


def seconds_by_rule(folder: Path) -> dict[str, tuple[int, float]]:
    """Rule -> (jobs, seconds of all of them) from Snakemake's benchmark files."""
    found: dict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    place = folder / "results" / "benchmarks"
    for path in sorted(place.rglob("*.tsv")):
        rule = re.sub(r"\.tsv$", "", path.relative_to(place).parts[0])
        with open(path, encoding="utf-8") as stream:
            spent = sum(float(row["s"]) for row in csv.DictReader(stream, delimiter="\t"))
        found[rule] = (found[rule][0] + 1, found[rule][1] + spent)
    return found


def main() -> None:
    """Write the study where it is not there yet, forget what was made of it, then make that again and print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cores", type=int, default=2)
    args = parser.parse_args()
    folder: Path = args.folder
    study = folder / "results" / "ewok"
    last = [study / "templates.parquet", study / "responses" / "choice_constrained_two" / "Llama_3_70B.parquet"]
    if not all(path.exists() for path in last):
        write_study(folder)
    kept = {"templates.parquet", "items.parquet", "surface_features.parquet", "scores", "responses"}
    for path in study.iterdir():
        if path.name == "judgements":
            for eval_type in path.iterdir():
                if eval_type.name != "word2vec":
                    shutil.rmtree(eval_type)
        elif path.name not in kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(folder / "results" / "benchmarks", ignore_errors=True)
    make_it_look_finished(folder)
    bar = snakemake(folder, args.cores, "tables", "figures")
    for rule, (jobs, seconds) in sorted(seconds_by_rule(folder).items(), key=lambda entry: -entry[1][1]):
        print(f"{rule:<32}{jobs:>5} jobs{seconds:>8.1f} s")
    print(f"all tables and figures, {args.cores} cores: {bar:.1f} s")
    page = snakemake(folder, args.cores, "results/report.html", "--allowed-rules", "build_report")
    print(f"the report after them: {page:.1f} s")


if __name__ == "__main__":
    main()
