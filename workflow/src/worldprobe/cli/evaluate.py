"""``worldprobe evaluate``: one trusted score for one model, under one command."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from worldprobe.paths import REPOSITORY

#: The repository, whose resources are next to the package's own folder.
HOME = REPOSITORY


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = stages.add_parser(
        "evaluate",
        help="score one model and print it next to the published numbers",
        description="Builds the items, scores them by LogProbs, judges and summarises; each step is a command that it prints. "
        "A second call continues where the first one stopped.",
    )
    parser.add_argument("model", metavar="MODEL", help="model folder, fetched hub id, or a name of the registry")
    parser.add_argument(
        "--registry", type=Path, metavar="FILE", help="model registry (default: config/models.yaml, if it exists)"
    )
    parser.add_argument(
        "--materials",
        default="builtin",
        metavar="MATERIALS",
        help="materials: builtin (default), a folder or a .zip in EWoK's layout",
    )
    parser.add_argument(
        "--password", metavar="PASSWORD", help="password of the .zip (default: the variable WORLDPROBE_MATERIALS_PASSWORD)"
    )
    parser.add_argument("--compat", action="store_true", help="compile exactly as the original did")
    parser.add_argument("--release-filter", action="store_true", help="keep the items of the official release only")
    parser.add_argument("--versions", default="0-4", metavar="FIRST-LAST", help="first and last version of the items")
    parser.add_argument("--revision", metavar="REVISION", help="branch, tag or commit of a hub id")
    parser.add_argument("--dtype", metavar="DTYPE", help="precision of the weights: float32 (default), bfloat16 or float16")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="folder of the tables (default: results/evaluate/MODEL)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON result (default: result.json in that folder)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Items, scores, judgements, summaries; then the row, in print and as JSON."""
    import json
    import os

    from worldprobe.benchmarks.ewok.report.evaluation import collect_evaluation, describe_evaluation
    from worldprobe.files import write_text
    from worldprobe.models.checkpoint import short_name
    from worldprobe.models.registry import loading_options, speed_options

    card = look_up(args.model, args.registry)
    name = card.get("name") or short_name(args.model)
    work = args.work or Path("results/evaluate") / name
    refuse_another_models_folder(work / "result.json", str(card["checkpoint"]))
    if args.password:
        os.environ["WORLDPROBE_MATERIALS_PASSWORD"] = args.password  # inherited, so that no printed command shows it
    materials = str(HOME / "resources/materials/ewok-builtin") if args.materials == "builtin" else args.materials
    items, scores, judgements, summaries = (work / f"{t}.parquet" for t in ("items", "target_scores", "judgements", "summaries"))
    flags = ["--compat"] * args.compat + ["--release-filter"] * args.release_filter
    step("items", "build", materials, "--versions", args.versions, *flags, "--out", items)
    entry = {**card, "dtype": args.dtype or card.get("dtype"), "revision": args.revision or card.get("revision")}
    refuse_what_a_server_decides(args, entry)
    model = ["--model", name, "--checkpoint", entry["checkpoint"], *loading_options(entry), *speed_options(entry)]
    step("score", "logprobs", items, *model, "--answers", work / ".answers", "--out", scores)
    step("judge", items, scores, "--out", judgements)
    step("summarize", judgements, "--out", summaries)
    evaluation = collect_evaluation(name, args.materials, items, scores, summaries)
    out = args.out or work / "result.json"
    write_text(out, json.dumps(evaluation, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    print(describe_evaluation(evaluation))
    print(f"JSON result: {out}")


def refuse_what_a_server_decides(args: argparse.Namespace, entry: dict[str, Any]) -> None:
    """A model on a server has the weights and the precision that the server gives it.

    Raises:
        UserError: --dtype or --revision is given for one.
    """
    from worldprobe.errors import UserError

    for flag in ("dtype", "revision"):
        if entry.get("engine") == "openai" and getattr(args, flag):
            raise UserError(f"--{flag}", "does nothing for a model on a server, which decides it.", "Leave it out.")


def refuse_another_models_folder(result: Path, checkpoint: str) -> None:
    """Two folders may end in the same name; the second must not replace the first one's result.

    Raises:
        UserError: the file is the result of another checkpoint.
    """
    import json

    from worldprobe.errors import UserError
    from worldprobe.models.checkpoint import folder_of

    try:
        earlier = str(json.loads(result.read_bytes())["checkpoint"])
    except (OSError, ValueError, KeyError, TypeError):
        return
    folders = [folder.resolve() if (folder := folder_of(name)) else name for name in (earlier, checkpoint)]
    if folders[0] != folders[1]:
        raise UserError(result, f"is the result of another model, {earlier}.", "Name another folder with --work.")


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
    from worldprobe.errors import UserError

    path = registry or Path("config/models.yaml")
    if registry is None and not path.is_file():
        path = HOME / "config/models.yaml"
    entries = read_registry(path)
    if model in entries and entries[model].get("control"):
        problem = "is trained by a study, so the registry does not know its folder."
        raise UserError(f"model {model}", problem, "Give its folder, e.g. one of results/controls/*/models/*/.")
    if model in entries and not Path(model).is_dir():
        return {**entries[model], "name": model}
    return {"checkpoint": model}
