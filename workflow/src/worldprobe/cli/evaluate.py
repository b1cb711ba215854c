"""``worldprobe evaluate``: one trusted score for one model in each benchmark, under one command."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from worldprobe import __version__
from worldprobe.cli.arguments import add_dtype_argument, add_revision_argument, positive, shipped_file
from worldprobe.cli.reading_materials import PASSWORD_HELP, version_range
from worldprobe.errors import UserError

#: Option -> its default, which does nothing for benchmarks that it does not belong to.
DEFAULTS: dict[str, Any] = {
    "materials": "builtin",
    "password": None,
    "compat": False,
    "release_filter": False,
    "versions": [0, 1, 2, 3, 4],
    "per_cell": 1,
}


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the command."""
    parser = stages.add_parser(
        "evaluate",
        help="score one model and print it next to the published numbers",
        description="EWoK: builds the items, scores them by LogProbs, judges and summarises. WorldSense: generates trials, asks "
        "(by basic prompting, as published, where the model converses, and by constrained prompting elsewhere), and summarises. "
        "Each step is a command that it prints. A second call continues where the first one stopped.",
    )
    parser.add_argument("model", metavar="MODEL", help="model folder, fetched hub id, or a name of the registry")
    parser.add_argument(
        "--benchmark",
        type=benchmark_names,
        default=["ewok"],
        metavar="NAMES",
        help="ewok (default), worldsense, or ewok,worldsense",
    )
    parser.add_argument(
        "--registry",
        type=shipped_file,
        metavar="FILE",
        help="model registry (default: config/models.yaml here, or else the one of the package)",
    )
    add_revision_argument(parser)
    add_dtype_argument(parser)
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="folder of the tables (default: results/evaluate/MODEL)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="JSON result (default: result.json in that folder)")
    ewok = parser.add_argument_group("EWoK")
    ewok.add_argument(
        "--materials",
        default="builtin",
        metavar="MATERIALS",
        help="materials: builtin (default), a folder or a .zip in EWoK's layout",
    )
    ewok.add_argument("--password", metavar="PASSWORD", help=PASSWORD_HELP)
    ewok.add_argument("--compat", action="store_true", help="compile exactly as the original did")
    ewok.add_argument("--release-filter", action="store_true", help="keep the items of the official release only")
    ewok.add_argument(
        "--versions", type=version_range, default="0-4", metavar="FIRST-LAST", help="first and last version of the items"
    )
    worldsense = parser.add_argument_group("WorldSense")
    worldsense.add_argument(
        "--per-cell",
        type=positive,
        default=1,
        metavar="K",
        help="tuples of each problem, size, complexity, skin and wording of our own test set: 1 (default) is 2,808 trials, "
        "31 is the whole set with 87,048",
    )
    parser.set_defaults(run=run)


def benchmark_names(text: str) -> list[str]:
    """An argparse type: names of benchmarks, in the order of reports.

    >>> benchmark_names("worldsense,ewok")
    ['ewok', 'worldsense']
    """
    from worldprobe.benchmarks import NAMES
    from worldprobe.errors import did_you_mean

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in NAMES:
            raise argparse.ArgumentTypeError(f'"{name}" is not a benchmark{did_you_mean(name, NAMES)}')
    if not names:
        raise argparse.ArgumentTypeError(f'"{text}" names no benchmark: give one or more of {", ".join(NAMES)}')
    return [name for name in NAMES if name in names]


def run(args: argparse.Namespace) -> None:
    """Every benchmark's steps; then its row, in print and as JSON."""
    import json
    import os

    from worldprobe.benchmark import Evaluated
    from worldprobe.benchmarks import benchmarks
    from worldprobe.files import write_text
    from worldprobe.models.checkpoint import short_name
    from worldprobe.models.registry import loading_options, speed_options
    from worldprobe.report.results import SCHEMA_VERSION, check_result

    refuse_what_does_nothing(args)
    card = look_up(args.model, args.registry)
    name = card.get("name") or short_name(args.model)
    work = args.work or Path("results/evaluate") / name
    refuse_another_models_folder(work / "result.json", str(card["checkpoint"]))
    if args.password:
        os.environ["WORLDPROBE_MATERIALS_PASSWORD"] = args.password  # inherited, so that no printed command shows it
    entry = {**card, "dtype": args.dtype or card.get("dtype"), "revision": args.revision or card.get("revision")}
    refuse_what_a_server_decides(args, entry)
    entry["kind"] = card.get("kind") or kind_of(entry)
    model = ["--model", name, "--checkpoint", entry["checkpoint"], *loading_options(entry), *speed_options(entry)]
    evaluation: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "worldprobe_version": __version__}
    evaluated = Evaluated(name, entry, model, work, options_of(args), step)
    evaluations = [found for each in args.benchmark if (found := benchmarks()[each].evaluation)]
    for one in evaluations:
        one.refuse(evaluated)
    described = []
    for one in evaluations:
        stated, text = one.run(evaluated)
        evaluation |= stated
        described.append(text)
    out = args.out or work / "result.json"
    check_result(evaluation, str(out))
    write_text(out, json.dumps(evaluation, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    print("\n\n\n".join(described))
    print(f"JSON result: {out}")


def kind_of(entry: dict[str, Any]) -> str:
    """The kind of a model that has no card: what its checkpoint states."""
    from worldprobe.models.checkpoint import locate
    from worldprobe.models.model_types import CAUSAL

    if (entry.get("engine") or "transformers") != "transformers":
        return CAUSAL
    options = (entry.get("revision"), entry.get("allow_pickle", False), entry.get("trust_remote_code", False))
    return locate(entry["checkpoint"], *options, kind=None).kind


def refuse_what_does_nothing(args: argparse.Namespace) -> None:
    """Options of a benchmark that the model is not asked about.

    Raises:
        UserError: one is given.
    """
    from worldprobe.benchmarks import benchmarks

    for benchmark, one in benchmarks().items():
        for option in one.evaluation.options if one.evaluation else ():
            if benchmark not in args.benchmark and getattr(args, option) != DEFAULTS[option]:
                flag = f"--{option.replace('_', '-')}"
                problem = f"does nothing without the benchmark {benchmark}."
                raise UserError(flag, problem, f"Add --benchmark {benchmark}, or leave it out.")


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """The benchmarks' options, as other commands take them."""
    return {option: getattr(args, option) for option in DEFAULTS} | {"versions": f"{args.versions[0]}-{args.versions[-1]}"}


def refuse_what_a_server_decides(args: argparse.Namespace, entry: dict[str, Any]) -> None:
    """A model on a server has the weights and the precision that the server gives it.

    Raises:
        UserError: --dtype or --revision is given for one.
    """
    for flag in ("dtype", "revision"):
        if entry.get("engine") == "openai" and getattr(args, flag):
            raise UserError(f"--{flag}", "does nothing for a model on a server, which decides it.", "Leave it out.")


def refuse_another_models_folder(result: Path, checkpoint: str) -> None:
    """Two folders may end in the same name; the second must not replace the first one's result.

    Raises:
        UserError: the file is the result of another checkpoint.
    """
    import json

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
    LOGGER.info("worldprobe %s", shlex.join(line))
    parsed = build_parser().parse_args(line)
    parsed.run(parsed)


def look_up(model: str, registry: Path | None) -> dict[str, Any]:
    """How to load a model: its registry entry, or just the folder or hub id as it was given.

    Raises:
        UserError: the registry is broken.
    """
    from worldprobe.settings import read_registry

    entries = read_registry(registry or shipped_file("config/models.yaml"))
    if model in entries and entries[model].get("control"):
        problem = "is trained by a study, so the registry does not know its folder."
        raise UserError(f"model {model}", problem, "Give its folder, e.g. one of results/controls/*/models/*/.")
    if model in entries and not Path(model).is_dir():
        return {**entries[model], "name": model}
    return {"checkpoint": model}
