"""``evaluate``: one trusted score for one model in each benchmark, under one command."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from worldprobe import __version__
from worldprobe.cli.options import (
    PASSWORD_VARIABLE,
    Compat,
    Count,
    Dtype,
    Password,
    ReleaseFilter,
    Revision,
    Versions,
    shipped_file,
    version_range,
)
from worldprobe.errors import UserError, did_you_mean


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions:
    """What a benchmark asks, where that can be chosen.

    Attributes:
        materials: EWoK: builtin (default), a folder or a .zip in EWoK's layout
        per_cell: WorldSense: tuples of each problem, size, complexity, skin and wording of our own test set: 1 is 2,808 trials,
            31 is the whole set with 87,048
    """

    materials: str = "builtin"
    password: Password = None
    compat: Compat = False
    release_filter: ReleaseFilter = False
    versions: Versions = "0-4"
    per_cell: Count = 1


def evaluate(
    model: str,
    /,
    *,
    benchmark: str = "ewok",
    registry: Annotated[Path, Parameter(help="model registry; one comes with the package")] = Path("config/models.yaml"),
    revision: Revision = None,
    dtype: Dtype = None,
    options: BenchmarkOptions = BenchmarkOptions(),
    work: Path | None = None,
    out: Path | None = None,
) -> None:
    """Score one model and print it next to the published numbers.

    EWoK: builds the items, scores them by LogProbs, judges and summarises. WorldSense: generates trials, asks (by basic
    prompting, as published, where the model converses, and by constrained prompting elsewhere), and summarises. Each step is a
    command that it prints. A second call continues where the first one stopped.

    Args:
        model: model folder, fetched hub id, or a name of the registry
        benchmark: ewok (default), worldsense, or ewok,worldsense
        work: folder of the tables (default: results/evaluate/MODEL)
        out: JSON result (default: result.json in that folder)
    """
    import json

    from worldprobe.benchmark import Evaluated
    from worldprobe.benchmarks import benchmarks
    from worldprobe.files import write_text
    from worldprobe.models.checkpoint import short_name
    from worldprobe.models.registry import loading_options, speed_options
    from worldprobe.report.results import SCHEMA_VERSION, check_result

    names = benchmark_names(benchmark)
    version_range(options.versions)
    refuse_what_does_nothing(options, names)
    card = look_up(model, registry)
    name = card.get("name") or short_name(model)
    work = work or Path("results/evaluate") / name
    refuse_another_models_folder(work / "result.json", str(card["checkpoint"]))
    if options.password:
        os.environ[PASSWORD_VARIABLE] = options.password  # inherited, so that no printed command shows it
    entry = {**card, "dtype": dtype or card.get("dtype"), "revision": revision or card.get("revision")}
    refuse_what_a_server_decides(entry, {"dtype": dtype, "revision": revision})
    entry["kind"] = card.get("kind") or kind_of(entry)
    flags = ["--model", name, "--checkpoint", entry["checkpoint"], *loading_options(entry), *speed_options(entry)]
    evaluation: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "worldprobe_version": __version__}
    evaluated = Evaluated(name, entry, flags, work, asdict(options), step)
    evaluations = [found for each in names if (found := benchmarks()[each].evaluation)]
    for one in evaluations:
        one.refuse(evaluated)
    described = []
    for one in evaluations:
        stated, text = one.run(evaluated)
        others = evaluation.get("benchmarks", {}) | stated.get("benchmarks", {})
        evaluation |= stated | ({"benchmarks": others} if others else {})
        described.append(text)
    out = out or work / "result.json"
    check_result(evaluation, str(out))
    write_text(out, json.dumps(evaluation, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    print("\n\n\n".join(described))
    print(f"JSON result: {out}")


def benchmark_names(text: str) -> list[str]:
    """Names of benchmarks, in the order of reports.

    >>> benchmark_names("worldsense,ewok")
    ['ewok', 'worldsense']

    Raises:
        UserError: one is none, or there is none.
    """
    from worldprobe.benchmarks import NAMES

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in NAMES:
            problem = f'"{name}" is not a benchmark{did_you_mean(name, NAMES)}'
            raise UserError("--benchmark", problem, f"Choose from {', '.join(NAMES)}.")
    if not names:
        raise UserError("--benchmark", f'"{text}" names no benchmark.', f"Give one or more of {', '.join(NAMES)}.")
    return [name for name in NAMES if name in names]


def kind_of(entry: dict[str, Any]) -> str:
    """The kind of a model that has no card: what its checkpoint states."""
    from worldprobe.models.checkpoint import locate
    from worldprobe.models.model_types import CAUSAL

    if (entry.get("engine") or "transformers") != "transformers":
        return CAUSAL
    options = (entry.get("revision"), entry.get("allow_pickle", False), entry.get("trust_remote_code", False))
    return locate(entry["checkpoint"], *options, kind=None).kind


def refuse_what_does_nothing(options: BenchmarkOptions, names: Sequence[str]) -> None:
    """Options of a benchmark that the model is not asked about.

    Raises:
        UserError: one is given.
    """
    from worldprobe.benchmarks import benchmarks

    given, defaults = asdict(options), asdict(BenchmarkOptions())
    for benchmark, one in benchmarks().items():
        for option in one.evaluation.options if one.evaluation else ():
            if benchmark not in names and given[option] != defaults[option]:
                flag, fix = f"--{option.replace('_', '-')}", f"Add --benchmark {benchmark}, or leave it out."
                raise UserError(flag, f"does nothing without the benchmark {benchmark}.", fix)


def refuse_what_a_server_decides(entry: dict[str, Any], given: dict[str, str | None]) -> None:
    """A model on a server has the weights and the precision that the server gives it.

    Raises:
        UserError: --dtype or --revision is given for one.
    """
    for option, value in given.items():
        if entry.get("engine") == "openai" and value:
            raise UserError(f"--{option}", "does nothing for a model on a server, which decides it.", "Leave it out.")


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
    from worldprobe.cli import parse
    from worldprobe.log import LOGGER

    line = [str(word) for word in words]
    LOGGER.info("worldprobe %s", shlex.join(line))
    if (call := parse(line)) is not None:
        call.run()


def look_up(model: str, registry: Path) -> dict[str, Any]:
    """How to load a model: its registry entry, or just the folder or hub id as it was given.

    Raises:
        UserError: the registry is broken.
    """
    from worldprobe.settings import read_registry

    entries = read_registry(shipped_file(registry))
    if model in entries and entries[model].get("control"):
        problem = "is trained by a study, so the registry does not know its folder."
        raise UserError(f"model {model}", problem, "Give its folder, e.g. one of results/controls/*/models/*/.")
    if model in entries and not Path(model).is_dir():
        return {**entries[model], "name": model}
    return {"checkpoint": model}
