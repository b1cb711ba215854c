"""Samples that lm-evaluation-harness logged of a task of ours: our questions, asked by another
tool.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from worldprobe.archives import EXPORT_VARIABLE as VARIABLE
from worldprobe.archives import encrypt
from worldprobe.errors import UserError
from worldprobe.paths import RESOURCES

#: What tasks include, and where the questions are.
TEMPLATE, DATA, ENCRYPTED = "_common_yaml", "data/questions.parquet", "data/questions.zip"
_MEMBER = "questions.parquet"
#: Of a task's metadata: which benchmark it asks, so that samples of it are known when they come
#: back.
BENCHMARK = "worldprobe_benchmark"
#: Metrics that count what is not an answer.
LOWER = ("tie", "missing")


def template(name: str) -> str:
    """A text that exported folders are made from."""
    return (RESOURCES / "exports" / f"{name}.in").read_text(encoding="utf-8")


#: The beginning of ``utils.py``: how questions are read. What follows defines ``load`` and
#: ``judge``.
READING = template("reading.py")


def check_task(name: str | None) -> None:
    """Refuse a name that a task of lm-eval cannot have.

    Raises:
        UserError: such a name.
    """
    if name is not None and not re.fullmatch(r"[a-z][a-z0-9_]{0,99}", name):
        fix = (
            "Take lower-case letters, digits and underscores, a letter first, 100 characters at"
            " most."
        )
        raise UserError("--task", f'"{name}" is not a name for a task.', fix)


def tasks(
    group: str,
    benchmark: str,
    names: Sequence[str],
    common: Mapping[str, Any],
    functions: Mapping[str, str],
    metrics: Sequence[str],
) -> Iterator[tuple[str, bytes]]:
    """The YAML files: the template, one per task, and the group, whose metrics are the means of its
    tasks'.

    Args:
        group: the group's name.
        benchmark: what is asked.
        names: of the tasks; the column ``task`` of the questions names the one that each belongs
            to.
        common: keys of the template, besides those that all folders have.
        functions: key -> function of ``utils.py``.
        metrics: what ``judge`` returns; all but those in ``LOWER`` are better where they are
            higher.
    """
    template: dict[str, Any] = {
        "test_split": "test",
        "output_type": "multiple_choice",
        "target_delimiter": " ",
        "num_fewshot": 0,
        **common,
        "metric_list": [
            {"metric": name, "aggregation": "mean", "higher_is_better": name not in LOWER}
            for name in metrics
        ],
        "metadata": {"version": 1.0, BENCHMARK: benchmark},
    }
    called = "".join(f"{key}: !function utils.{name}\n" for key, name in functions.items())
    yield TEMPLATE, (called + _yaml(template)).encode()
    for name in names:
        leaf: dict[str, Any] = {"include": TEMPLATE, "task": name}
        if "custom_dataset" in functions:
            leaf["dataset_kwargs"] = {"task_name": name}
        yield f"{name}.yaml", _yaml(leaf).encode()
    means = [{"metric": name, "aggregation": "mean", "weight_by_size": False} for name in metrics]
    top = {
        "group": group,
        "task": list(names),
        "aggregate_metric_list": means,
        "metadata": {"version": 1.0},
    }
    yield "group.yaml", _yaml(top).encode()


def questions(rows: pd.DataFrame, canary: str | None, password: str | None) -> tuple[str, bytes]:
    """The table of questions: its name and its bytes, with AES-256 where there is a password.

    Args:
        rows: with the column ``task``.
        canary: of what the questions were built from.
        password: None leaves them readable.
    """
    packed = to_parquet(rows, canary)
    return (DATA, packed) if password is None else (ENCRYPTED, encrypt({_MEMBER: packed}, password))


def to_parquet(rows: pd.DataFrame, canary: str | None) -> bytes:
    """A Parquet file that carries a canary."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    packed = io.BytesIO()
    table = pa.Table.from_pandas(rows, preserve_index=False)
    parquet.write_table(table.replace_schema_metadata({"canary": canary or ""}), packed)
    return packed.getvalue()


def warning(password: str | None) -> str:
    """What the README of an encrypted folder says."""
    if password is None:
        return ""
    return (
        f"The questions are encrypted: set {VARIABLE}. Do not publish logged samples, which contain"
        " them in plain text.\n"
    )


def _yaml(document: dict[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120))


Key = TypeVar("Key", str, tuple[str, int])

#: What reading a file raises that is not lm-eval's: not JSON, or other keys, types or numbers.
NOT_OURS = (
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)


@dataclass(frozen=True)
class Run:
    """What lm-eval says of a run.

    Attributes:
        place: its results file.
        files: its samples of the tasks that ask this benchmark.
        model: lm-eval's name of the checkpoint.
        revision: of a hub id.
        dtype: float32, bfloat16 or float16.
        packages: lm_eval and transformers, with their versions.
    """

    place: Path
    files: tuple[Path, ...]
    model: str
    revision: str | None
    dtype: str | None
    packages: dict[str, str]


@dataclass(frozen=True)
class Sample:
    """One logged question.

    Attributes:
        where: file and line, for messages.
        doc: the row of the table of questions.
        asked: context and continuation of each choice.
        logprobs: log P(continuation | context) of each, nats.
    """

    where: str
    doc: dict[str, Any]
    asked: list[tuple[str, str]]
    logprobs: list[float]


def read_run(folder: Path, benchmark: str) -> Run:
    """The newest run in a folder that lm-eval wrote (``--output_path``, with ``--log_samples``).

    Args:
        folder: with one results_DATE.json and samples_TASK_DATE.jsonl, possibly in a folder of the
            model's.
        benchmark: whose samples are wanted; those of other tasks are left alone.

    Raises:
        UserError: there is no run with such samples, or it changed the questions.
    """
    runs = sorted(folder.rglob("results_*.json"), key=lambda path: path.name)
    if not runs:
        problem = "contains no results of lm-eval (results_DATE.json)."
        raise UserError(folder, problem, "Name the folder that --output_path named.")
    if len({path.parent for path in runs}) > 1:
        raise UserError(
            folder,
            "contains results of several models.",
            f"Name one model's folder, e.g. {runs[0].parent}.",
        )
    place, date = runs[-1], runs[-1].stem.removeprefix("results_")
    try:
        stated = json.loads(place.read_text(encoding="utf-8"))
        asked = [
            name
            for name, task in stated["configs"].items()
            if (task.get("metadata") or {}).get(BENCHMARK) == benchmark
        ]
        is_shot = any(int(stated["n-shot"].get(name) or 0) > 0 for name in asked)
        config = dict(stated.get("config") or {})
        model, revision, dtype = (
            stated.get("model_name"),
            config.get("model_sha"),
            config.get("model_dtype"),
        )
        packages = {name: stated.get(f"{name}_version") for name in ("lm_eval", "transformers")}
    except (OSError, *NOT_OURS) as error:
        raise UserError(place, "is not a results file of lm-eval.", "Run lm-eval again.") from error
    if not asked:
        raise UserError(
            place,
            f"is of no task that worldprobe exported for {benchmark}.",
            "Name the folder of such a run.",
        )
    for is_given, option in (
        (bool(stated.get("chat_template")), "--apply_chat_template"),
        (bool(stated.get("system_instruction")), "--system_instruction"),
        (is_shot, "--num_fewshot"),
    ):
        if is_given:
            raise UserError(
                place,
                f"was asked with {option}, which is another question.",
                f"Run it again without {option}.",
            )
    wanted = {f"samples_{name}_{date}.jsonl" for name in asked}
    files = tuple(
        sorted(path for path in place.parent.glob("samples_*.jsonl") if path.name in wanted)
    )
    if not files:
        raise UserError(
            place, "has no samples next to it.", "Run lm-eval again with --log_samples."
        )
    known = {name: version for name, version in packages.items() if version}
    return Run(
        place,
        files,
        model or "lm-eval",
        revision or None,
        dtype.removeprefix("torch.") if dtype else None,
        known,
    )


def read_samples(files: Sequence[Path], fix: str) -> Iterator[Sample]:
    """The samples of a run, one after the other.

    Args:
        files: of the run.
        fix: what to do where a line is not a sample of the task.

    Raises:
        UserError: such a line, by file and number.
    """
    for path in files:
        lines = path.read_bytes().split(
            b"\n"
        )  # not splitlines, which also splits at separators inside a text
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                sample = json.loads(line)
                answered = sample["filtered_resps"]
                pairs = [sample["arguments"][f"gen_args_{k}"] for k in range(len(answered))]
                asked = [(str(pair["arg_0"]), str(pair["arg_1"])) for pair in pairs]
                yield Sample(
                    where, dict(sample["doc"]), asked, [float(values[0]) for values in answered]
                )
            except NOT_OURS as error:
                raise UserError(where, "is not a sample of worldprobe's task.", fix) from error


def read_logprobs(
    run: Run,
    wanted: Mapping[Key, list[tuple[str, str]]],
    key_of: Callable[[Sample], Key],
    name_of: Callable[[Key], str],
    whole: str,
    fix: str,
) -> dict[Key, list[float]]:
    """The log probabilities that a run logged of our questions, each of which must have been asked
    once, and no others.

    Args:
        run: of our task.
        wanted: a question's key -> context and continuation of each choice.
        key_of: the key of the question that a sample is about.
        name_of: the question in words, from its key.
        whole: what the questions are about, in words, e.g. ``these items``.
        fix: what to do where the run asked something else.

    Returns:
        key -> log P(continuation | context) of each choice, nats.

    Raises:
        UserError: a sample of something else, a second one of the same question, or a question that
            was not asked.
    """
    found: dict[Key, list[float]] = {}
    for sample in read_samples(run.files, fix):
        key = key_of(sample)
        if key not in wanted:
            raise UserError(sample.where, f"{name_of(key)} is not among {whole}.", fix)
        if sample.asked != wanted[key]:
            raise UserError(
                sample.where,
                f"{name_of(key)} was asked with other texts than those of {whole}.",
                fix,
            )
        if key in found:
            raise UserError(
                sample.where, f"{name_of(key)} occurs a second time.", "Name the folder of one run."
            )
        found[key] = sample.logprobs
    if missing := sorted(wanted.keys() - found.keys()):
        problem = (
            f"{len(missing)} of {len(wanted)} questions were not asked, e.g. {name_of(missing[0])}."
        )
        raise UserError(run.place.parent, problem, fix)
    return found
