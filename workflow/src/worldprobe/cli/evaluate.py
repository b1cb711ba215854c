"""``worldprobe evaluate``: one trusted score for one model, under one command."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from worldprobe.paths import REPOSITORY

#: The repository, whose resources lie beside the package's own folder.
HOME = REPOSITORY


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = stages.add_parser(
        "evaluate",
        help="score one model and print it beside the published figures",
        description="Builds the items, scores them by LogProbs, judges and summarises; each step is a command that it prints. "
        "A second call goes on where the first one stopped.",
    )
    parser.add_argument("model", metavar="MODEL", help="model folder, fetched hub id, or a name of the registry")
    parser.add_argument("--models", type=Path, metavar="FILE", help="registry (default: config/models.yaml, where it is there)")
    parser.add_argument("--materials", default="builtin", help="builtin (default), a folder or a .zip in EWoK's layout")
    parser.add_argument("--password", help="of the .zip (default: the variable WORLDPROBE_MATERIALS_PASSWORD)")
    parser.add_argument("--compat", action="store_true", help="compile exactly as the original did")
    parser.add_argument("--release-filter", action="store_true", help="keep the items of the official release only")
    parser.add_argument("--versions", default="0-4", metavar="FIRST-LAST", help="default: %(default)s")
    parser.add_argument("--revision", help="branch, tag or commit of a hub id")
    parser.add_argument("--dtype", help="float32 (default), bfloat16 or float16")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="where the tables go (default: results/evaluate/MODEL)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON result (default: result.json in that folder)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Items, scores, judgements, summaries; then the row, in print and as JSON."""
    import json
    import os

    from worldprobe.files import write_text
    from worldprobe.models.registry import loading_options, speed_options

    card = look_up(args.model, args.models)
    name = card.get("name") or Path(args.model).name
    work = args.work or Path("results/evaluate") / name
    if args.password:
        os.environ["WORLDPROBE_MATERIALS_PASSWORD"] = args.password  # inherited, so that no printed command shows it
    materials = str(HOME / "resources/materials/ewok-builtin") if args.materials == "builtin" else args.materials
    items, scores, judgements, summaries = (work / f"{t}.parquet" for t in ("items", "target_scores", "judgements", "summaries"))
    flags = ["--compat"] * args.compat + ["--release-filter"] * args.release_filter
    step("items", "build", materials, "--versions", args.versions, *flags, "--out", items)
    entry = {**card, "dtype": args.dtype or card.get("dtype"), "revision": args.revision or card.get("revision")}
    model = ["--model", name, *loading_options(entry), *speed_options(entry)]
    step("score", "logprobs", items, *model, "--answers", work / ".answers", "--out", scores)
    step("judge", items, scores, "--out", judgements)
    step("summarize", judgements, "--out", summaries)
    result = collect(name, args.materials, items, scores, summaries)
    out = args.out or work / "result.json"
    write_text(out, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    print(describe(result))
    print(f"JSON result: {out}")


def step(*words: Any) -> None:
    """Run one command of ours in this process, showing it first.

    Raises:
        UserError: the command's own.
    """
    from worldprobe.cli import build_parser
    from worldprobe.log import LOGGER

    line = [str(word) for word in words]
    LOGGER.info("python -m worldprobe %s", shlex.join(line))
    parsed = build_parser().parse_args(line)
    parsed.run(parsed)


def look_up(model: str, registry: Path | None) -> dict[str, Any]:
    """How to load a model: its registry entry, or just the folder or hub id as it was given.

    Raises:
        UserError: the registry is broken.
    """
    from worldprobe.config import read_registry

    path = registry or Path("config/models.yaml")
    if registry is None and not path.is_file():
        path = HOME / "config/models.yaml"
    entries = read_registry(path)
    if model in entries and not Path(model).is_dir():
        return {**entries[model], "name": model}
    return {"checkpoint": model}


def collect(name: str, materials: str, items: Path, scores: Path, summaries: Path) -> dict[str, Any]:
    """The result as plain values: accuracy overall and by domain, how it was made, and the published figures beside it."""
    from worldprobe.benchmarks.ewok.analysis.published import are_official, read_published
    from worldprobe.benchmarks.ewok.contracts import Items, Summaries
    from worldprobe.contracts import read_provenance, read_table

    item_table, table = read_table(items, Items), read_table(summaries, Summaries)
    accuracy = table[(table["metric"] == "accuracy") & (table["version"] == -1)]
    published = read_published(HOME / "resources/published")
    means = published.numbers[(published.numbers["block"] == "table1") & (published.numbers["quantity"] == "mean")]
    made = read_provenance(scores)
    return {
        "model": name,
        "checkpoint": made.checkpoint,
        "revision": made.revision,
        "checkpoint_digest": made.inputs["checkpoint"],
        "dtype": made.dtype,
        "engine": made.engine,
        "packages": made.packages,
        "materials": {
            "source": materials,
            "digest": read_provenance(items).inputs["materials"],
            "n_items": len(item_table),
            "versions": sorted(int(version) for version in item_table["version"].unique()),
            "is_official_release": are_official(item_table, published),
        },
        "eval_type": "logprobs",
        "accuracy": row(accuracy[accuracy["grouping"] == "overall"].iloc[0]),
        "accuracy_by_domain": {r["group"]: row(r) for _, r in accuracy[accuracy["grouping"] == "domain"].iterrows()},
        "published": {r["model"]: float(r["printed"]) for _, r in means.iterrows()},
        "published_source": published.sources["table1"],
    }


def row(summary: Any) -> dict[str, Any]:
    """One summary as plain values."""
    numbers = {key: float(summary[key]) for key in ("mean", "low", "high", "ci_low", "ci_high")}
    return numbers | {key: int(summary[key]) for key in ("n_items", "n_ties", "n_near_ties", "n_missing")}


def describe(result: dict[str, Any]) -> str:
    """The result for a reader: the model's row among the published ones, the human line, its domains."""
    accuracy, materials = result["accuracy"], result["materials"]
    width = max(len(name) for name in [*result["published"], result["model"], *result["accuracy_by_domain"]])
    rows = [(mean, name, "published") for name, mean in result["published"].items()]
    here = f"here; range {accuracy['low']:.3f}-{accuracy['high']:.3f}, 95% {accuracy['ci_low']:.3f}-{accuracy['ci_high']:.3f}"
    rows.append((accuracy["mean"], result["model"], here))
    lines = [f"{'model':{width}}  mean   ({result['published_source']})"]
    lines += [f"{name:{width}}  {mean:.3f}  {source}" for mean, name, source in sorted(rows, reverse=True)]
    lines += ["", f"{result['model']} by domain"]
    lines += [f"{domain:{width}}  {r['mean']:.3f}" for domain, r in result["accuracy_by_domain"].items()]
    official = materials["is_official_release"]
    versions = "1 version" if len(materials["versions"]) == 1 else f"{len(materials['versions'])} versions"
    lines += [
        "",
        f"{materials['n_items']} items of {'the official release' if official else 'other materials than the published ones'}, "
        f"{versions}, {result['dtype']}; {accuracy['n_ties']} ties, "
        f"{accuracy['n_near_ties']} near ties, {accuracy['n_missing']} without a score.",
    ]
    if not official:
        lines.append("The published figures stand on EWoK-core-1.0: beside these items they are a yardstick, not a comparison.")
    return "\n".join(lines)
