"""What a real model shows about the instrument (docs/background/real_model.md).

    python tests/performance/real_model.py MODEL FOLDER [--official ARCHIVE] [--parts
    series,ask,finetune,tables] [--jobs 6]

MODEL is a checkpoint folder of a small causal model with a chat template. The parts:

- series: MODEL and the same with Gaussian noise added to its weights (five strengths, three seeds)
  are asked both editions of the built-in materials and the official items by LogProbs.
- ask: MODEL is asked families, parallel forms, Likert and Choice, WorldSense, and `worldprobe
  leak`.
- finetune: MODEL is fine-tuned on WorldSense's train-10k in two ways, and asked three sets.
- tables: means with 95% intervals, and the rank correlations of the series. No item and no response
  is printed.

Every step is a command of worldprobe, whose file is kept in FOLDER: a second call goes on where the
first one stopped. `--jobs` commands run at a time and share the machine, and the GPU where there is
one. --versions 0-0 and --per-cell 1 ask less.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm, spearmanr

#: Standard deviation of the noise, relative to that of each matrix of weights.
STRENGTHS, SEEDS = (0.03, 0.06, 0.09, 0.12, 0.18), (0, 1, 2)
WAYS = [
    f"{p}_{g}_{s}"
    for p, g, s in product(("likert", "choice"), ("free", "constrained"), ("zero", "two"))
]
TUNED_SETS = ("test", "test-new", "ood-size")
SETS = ("test", "test-hard", "test-motion", "test-new", "ood-size")
#: Name -> settings of a fine-tuning on train-10k that are not the defaults.
TRAININGS: dict[str, dict[str, object]] = {
    "lora": {"tuning": "lora", "learning_rate": 1e-3, "epochs": 6, "batch": 32, "warm_up": 100},
    "all_weights": {
        "tuning": "full",
        "learning_rate": 2e-4,
        "epochs": 6,
        "batch": 32,
        "warm_up": 100,
    },
}
PROMPTINGS = ("basic", "constrained")
Command = list[object]


def run(commands: Mapping[Path, Command], jobs: int) -> None:
    """Run commands of worldprobe whose output is not there, several at a time; the log of each is
    beside its output.
    """

    def one(out: Path, command: Command) -> None:
        if out.exists():
            return
        scratch = out.with_suffix(".tmp")  # locks of GPUs are there: commands share one
        scratch.mkdir(parents=True, exist_ok=True)
        since, line = time.monotonic(), [sys.executable, "-m", "worldprobe", *map(str, command)]
        with out.with_suffix(".log").open("w") as log:
            status = subprocess.run(
                line,
                stdout=log,
                stderr=log,
                env={**os.environ, "TMPDIR": str(scratch)},
                check=False,
            ).returncode
        print(f"{time.monotonic() - since:6.0f} s  status {status}  {out.name}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, commands, commands.values()))


def add_noise(model: Path, folder: Path, strength: float, seed: int) -> None:
    """Write the model with Gaussian noise of ``strength`` standard deviations of each matrix added
    to it.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    noisy, source = AutoModelForCausalLM.from_pretrained(model), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in noisy.parameters():
            if weights.ndim > 1:
                weights += strength * weights.std() * torch.randn(weights.shape, generator=source)
    noisy.save_pretrained(folder)
    AutoTokenizer.from_pretrained(model).save_pretrained(folder)


def build_items(folder: Path, official: Path | None, versions: str, jobs: int) -> dict[str, Path]:
    """Tables of items by name; those that end in 0 are the first version."""
    places = {
        "builtin1": ["builtin@1"],
        "builtin2": ["builtin@2"],
        "families": ["builtin@2", "--families"],
    }
    if official:
        os.environ.setdefault("WORLDPROBE_MATERIALS_PASSWORD", "ewok")
        places["official"] = [str(official), "--compat", "--release-filter"]
    wanted = {name: (name, versions) for name in places} | {
        f"{name}_0": (name, "0-0") for name in places
    }
    found = {name: folder / f"items/{name}.parquet" for name in wanted}
    build = {
        name: ["items", "build", *places[of], "--versions", which]
        for name, (of, which) in wanted.items()
    }
    run({out: [*build[name], "--out", out] for name, out in found.items()}, jobs)
    return found


def build_forms(
    folder: Path, items: Mapping[str, Path], official: Path | None, jobs: int
) -> dict[str, list[Path]]:
    """Four parallel forms each of the first versions: in the same frames and, of the built-in
    materials, in others.
    """
    wanted = {"builtin2_same": "builtin@2", "builtin2_other": "builtin@2"} | (
        {"official_same": official} if official else {}
    )
    commands: dict[Path, Command] = {}
    for name, place in wanted.items():
        of, _, frames = name.partition("_")
        how = [
            "--seed",
            7,
            "--frames",
            frames,
            "--besides",
            items[f"{of}_0"],
            *(["--compat"] if of == "official" else []),
        ]
        commands[folder / f"forms/{name}"] = [
            "items",
            "forms",
            place,
            *how,
            "--out",
            folder / f"forms/{name}",
        ]
    run(commands, jobs)
    return {
        name: [folder / f"forms/{name}/form-{number}.parquet" for number in range(1, 5)]
        for name in wanted
    }


def ask_series(model: Path, folder: Path, items: Mapping[str, Path], jobs: int) -> None:
    """LogProbs of the model and of its noisy copies."""
    models = {"real": model}
    for strength, seed in product(STRENGTHS, SEEDS):
        name = f"noise_{strength}_{seed}"
        models[name] = folder / "models" / name
        if not (models[name] / "config.json").exists():
            add_noise(model, models[name], strength, seed)
    asked = [name for name in ("builtin1", "builtin2", "official") if name in items]
    commands: dict[Path, Command] = {}
    for name, path in models.items():
        outs = [folder / f"scores/{name}/{one}.parquet" for one in asked]
        how = ["--checkpoint", path, "--model", name, "--eval-types", "logprobs", "--out", *outs]
        commands[outs[-1]] = ["score", "all", *(items[one] for one in asked), *how]
    run(commands, jobs)
    judged = {
        folder / f"judgements/{one}/{name}.parquet": (one, name) for name in models for one in asked
    }
    run(
        {
            out: ["judge", items[one], folder / f"scores/{name}/{one}.parquet", "--out", out]
            for out, (one, name) in judged.items()
        },
        jobs,
    )


def ask_model(
    model: Path,
    folder: Path,
    items: Mapping[str, Path],
    official: Path | None,
    per_cell: int,
    jobs: int,
) -> None:
    """Everything that only the model itself is asked."""
    which = ["--checkpoint", model, "--model", "real"]
    forms = build_forms(folder, items, official, jobs)
    tables = {"families": items["families"]}
    for frames in ("same", "other"):
        tables |= {
            f"form_{frames}_{number}": form
            for number, form in enumerate(forms[f"builtin2_{frames}"], 1)
        }
    scores = {name: folder / f"scores/forms/{name}.parquet" for name in tables}
    commands: dict[Path, Command] = {}
    commands[[*scores.values()][-1]] = [
        "score",
        "all",
        *tables.values(),
        *which,
        "--eval-types",
        "logprobs",
        "--out",
        *scores.values(),
    ]
    prompted = {}
    for chat in ("never", "always"):
        outs = {way: folder / f"responses/{chat}/{way}.parquet" for way in WAYS}
        how = ["--eval-types", ",".join(WAYS), "--chat", chat, "--out", *outs.values()]
        commands[[*outs.values()][-1]] = ["score", "all", items["builtin2_0"], *which, *how]
        prompted |= {folder / f"judgements/{chat}/{way}.parquet": out for way, out in outs.items()}
    for name in [one for one in ("builtin2", "official") if one in items]:
        commands[folder / f"leak/{name}.parquet"] = [
            "leak",
            items[f"{name}_0"],
            *forms[f"{name}_same"],
            *which,
            "--out",
            folder / f"leak/{name}.parquet",
        ]
    run(generated(folder, SETS, per_cell), jobs)
    run(commands | ask_trials({"real": model}, folder, SETS), jobs)
    run(
        {
            folder / f"judgements/{name}.parquet": [
                "judge",
                tables[name],
                out,
                "--out",
                folder / f"judgements/{name}.parquet",
            ]
            for name, out in scores.items()
        }
        | {
            out: ["judge", items["builtin2_0"], responses, "--out", out]
            for out, responses in prompted.items()
        },
        jobs,
    )
    families = folder / "family_levels.parquet"
    run(
        {
            families: [
                "families",
                items["families"],
                folder / "judgements/families.parquet",
                "--out",
                families,
            ]
        },
        jobs,
    )


def generated(folder: Path, sets: Iterable[str], per_cell: int) -> dict[Path, Command]:
    """The commands that make sets of trials."""
    places = {name: folder / f"trials/{name}.parquet" for name in sets}
    return {
        out: ["worldsense", "generate", name, "--per-cell", per_cell, "--out", out]
        for name, out in places.items()
    }


def ask_trials(
    models: Mapping[str, Path], folder: Path, sets: Iterable[str]
) -> dict[Path, Command]:
    """The commands that ask models about sets of trials, by writing an answer and by comparing the
    allowed ones.
    """
    commands: dict[Path, Command] = {}
    for model, path in models.items():
        outs = [
            folder / f"worldsense/{name}/{model}_{prompting}.parquet"
            for name in sets
            for prompting in PROMPTINGS
        ]
        how = [
            "--checkpoint",
            path,
            "--model",
            model,
            "--prompting",
            ",".join(PROMPTINGS),
            "--out",
            *outs,
        ]
        commands[outs[-1]] = [
            "worldsense",
            "ask",
            *(folder / f"trials/{name}.parquet" for name in sets),
            *how,
        ]
    return commands


def finetune(model: Path, folder: Path, per_cell: int, jobs: int) -> None:
    """Fine-tune the model on the smallest training set, and ask what came of it."""
    train = folder / "trials/train-10k.parquet"
    run({train: ["worldsense", "generate", "train-10k", "--out", train]}, jobs)
    tests = [folder / f"trials/{name}.parquet" for name in TUNED_SETS]
    run(generated(folder, TUNED_SETS, per_cell), jobs)
    models = {name: folder / f"tuned/{name}" for name in TRAININGS}
    run(
        {
            models[name]: [
                "worldsense",
                "finetune",
                model,
                train,
                "--settings",
                json.dumps(how),
                "--tests",
                *tests,
                "--out",
                models[name],
            ]
            for name, how in TRAININGS.items()
        },
        jobs,
    )
    made = {name: path for name, path in models.items() if path.exists()}
    run(ask_trials(made, folder, TUNED_SETS), jobs)


def summarise(folder: Path, jobs: int) -> dict[str, pd.DataFrame]:
    """Summaries of everything that was judged, by the folder of its judgements, and of
    WorldSense.
    """
    commands: dict[Path, Command] = {}
    for place in sorted(one for one in (folder / "judgements").iterdir() if one.is_dir()):
        out = folder / f"summaries/{place.name}.parquet"
        commands[out] = ["summarize", *sorted(place.glob("*.parquet")), "--out", out]
    for place in sorted((folder / "judgements").glob("form_*.parquet")):
        out = folder / f"summaries/{place.name}"
        commands[out] = ["summarize", place, "--out", out]
    sets = []
    for place in sorted((folder / "worldsense").glob("*")):
        sets += [
            "--set",
            place.name,
            folder / f"trials/{place.name}.parquet",
            *sorted(place.glob("*.parquet")),
        ]
    if sets:
        commands[folder / "summaries/worldsense.parquet"] = [
            "worldsense",
            "summarize",
            *sets,
            "--out",
            folder / "summaries/worldsense.parquet",
        ]
    run(commands, jobs)
    return {out.stem: pd.read_parquet(out) for out in commands}


def interval(row: pd.Series) -> str:
    """A mean with its interval."""
    return f"{row['mean']:.3f} ({row.ci_low:.3f} to {row.ci_high:.3f})"


def show(title: str, rows: list[dict[str, object]]) -> None:
    """A table in Markdown."""
    print(f"\n### {title}\n")
    if rows:
        print("| " + " | ".join(rows[0]) + " |\n|" + "---|" * len(rows[0]))
        for row in rows:
            print("| " + " | ".join(map(str, row.values())) + " |")


def over_versions(summaries: pd.DataFrame, grouping: str, metric: str = "accuracy") -> pd.DataFrame:
    """Means over all versions."""
    return summaries[
        (summaries.metric == metric)
        & (summaries.grouping == grouping)
        & (summaries.condition == "all")
    ]


def rank_correlation(x: pd.Series, y: pd.Series, n_means: int = 1) -> str:
    """Spearman's correlation with a 95% interval by Fisher's z (standard error: Bonett and Wright
    2000, Psychometrika 65: 23).

    Args:
        x: one side.
        y: the other.
        n_means: how many means were taken out of each side; each beyond the first counts as a point
            less.
    """
    r = float(spearmanr(x, y).statistic)
    if abs(r) == 1:
        return f"{r:.2f}"
    half = norm.ppf(0.975) * np.sqrt((1 + r**2 / 2) / (len(x) - n_means - 2))
    low, high = np.tanh(np.arctanh(r) + np.array([-half, half]))
    return f"{r:.2f} ({low:.2f} to {high:.2f})"


def print_series(found: Mapping[str, pd.DataFrame]) -> None:
    """Accuracies of the series, and how alike benchmarks rank its models."""
    names = [name for name in ("builtin1", "builtin2", "official") if name in found]
    overall = {name: over_versions(found[name], "overall").set_index("model") for name in names}
    show(
        "The series",
        [
            {"model": model} | {name: interval(overall[name].loc[model]) for name in names}
            for model in overall[names[0]].index
        ],
    )
    means = pd.DataFrame({name: table["mean"] for name, table in overall.items()})
    strength = means.index.str.split("_").str[1].fillna("0")
    rows = []
    for one, other in ((a, b) for i, a in enumerate(names) for b in names[i + 1 :]):
        inside = means - means.groupby(strength).transform("mean")
        inside, by_strength = inside[means.index != "real"], means.groupby(strength).mean()
        row: dict[str, object] = {
            "pair": f"{one}, {other}",
            f"{len(means)} models": rank_correlation(means[one], means[other]),
        }
        row |= {
            f"{len(by_strength)} strengths": rank_correlation(by_strength[one], by_strength[other])
        }
        rows.append(
            row | {"within strengths": rank_correlation(inside[one], inside[other], len(STRENGTHS))}
        )
    show("Rank correlation of accuracies over models", rows)
    if "official" not in names:
        return
    for name in names[:-1]:
        one, other = (
            over_versions(found[n], "domain").pivot(index="model", columns="group", values="mean")
            for n in (name, "official")
        )
        shared = [domain for domain in other if domain in one]
        rows = [
            {"domain": domain, "over models": rank_correlation(one[domain], other[domain])}
            for domain in shared
        ]
        all_pairs = np.array(
            [[spearmanr(one[a], other[b]).statistic for b in shared] for a in shared]
        )
        same = np.eye(len(shared), dtype=bool)
        rows.append({"domain": "mean, same domain", "over models": f"{all_pairs[same].mean():.2f}"})
        rows.append(
            {"domain": "mean, different domains", "over models": f"{all_pairs[~same].mean():.2f}"}
        )
        rows.append(
            {
                "domain": "the real model, over domains",
                "over models": rank_correlation(one.loc["real", shared], other.loc["real", shared]),
            }
        )
        show(f"{name} and official, by domain", rows)


def print_tables(folder: Path, jobs: int) -> None:
    """All tables."""
    found = summarise(folder, jobs)
    print_series(found)
    for name in ("builtin1", "builtin2", "official"):
        if name in found:
            table = pd.concat(
                [
                    over_versions(found[name], grouping)
                    for grouping in (
                        "overall",
                        "context_type",
                        "target_contrast",
                        "adversarial",
                        "domain",
                    )
                ]
            )
            rows = [
                {"group": f"{row.grouping} {row.group}", "accuracy": interval(row), "items": row.n}
                for _, row in table[table.model == "real"].iterrows()
            ]
            show(f"SmolLM2 on {name}", rows)
    forms = {
        name: over_versions(table, "overall").iloc[0]
        for name, table in found.items()
        if name.startswith("form_")
    }
    show(
        "Parallel forms", [{"form": name, "accuracy": interval(row)} for name, row in forms.items()]
    )
    if (path := folder / "family_levels.parquet").exists():
        levels = pd.read_parquet(path)
        show(
            "Families",
            [
                {
                    "family": row.family,
                    "level": "slope" if pd.isna(row.level) else row.level,
                    "mean": interval(row),
                }
                for _, row in levels.iterrows()
            ],
        )
    for chat in ("never", "always"):
        if chat in found:
            table = over_versions(found[chat], "overall")
            rows = [
                {
                    "way": row.eval_type,
                    "accuracy": interval(row),
                    "no answer": f"{row.n_missing / (2 * row.n):.3f}",
                    "ties": f"{row.n_ties / (2 * row.n):.3f}",
                }
                for _, row in table.iterrows()
            ]
            show(f"Likert and Choice, chat template: {chat}", rows)
    if "worldsense" in found:
        table = found["worldsense"]
        table = table[
            table.grouping.isin(["overall", "problem"])
            & table.metric.isin(["accuracy", "bias", "invalid"])
        ]
        key = ["condition", "eval_type", "model", "group"]
        rows = [
            dict(zip(key, names, strict=True))
            | {row.metric: interval(row) for _, row in part.iterrows()}
            for names, part in table.groupby(key, sort=False)
        ]
        show("WorldSense", rows)
    for path in sorted((folder / "leak").glob("*.parquet")):
        rows = [
            {
                "measure": row.measure,
                "given minus forms": f"{row.estimate:.3f} ({row.low:.3f} to {row.high:.3f})",
                "p": row.p,
            }
            for _, row in pd.read_parquet(path).iterrows()
        ]
        show(f"Leak: {path.stem}", rows)


def main() -> None:
    """Do what was named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--official", type=Path, help="the archive of EWoK's materials")
    parser.add_argument("--parts", default="series,ask,finetune,tables")
    parser.add_argument("--versions", default="0-4")
    parser.add_argument("--per-cell", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    model, folder, parts = args.model.resolve(), args.folder.resolve(), args.parts.split(",")
    official = args.official and args.official.resolve()
    if {"series", "ask"} & set(parts):
        items = build_items(folder, official, args.versions, args.jobs)
    if "series" in parts:
        ask_series(model, folder, items, args.jobs)
    if "ask" in parts:
        ask_model(model, folder, items, official, args.per_cell, args.jobs)
    if "finetune" in parts:
        finetune(model, folder, args.per_cell, args.jobs)
    if "tables" in parts:
        print_tables(folder, args.jobs)


if __name__ == "__main__":
    main()
