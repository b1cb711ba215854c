"""Folders of tasks with which lm-evaluation-harness asks our questions."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

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
    aggregated: Mapping[str, str] = MappingProxyType({}),
    stated: Mapping[str, str] = MappingProxyType({}),
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
        aggregated: metric -> function of ``utils.py`` that adds its values up; the others are
            means.
        stated: what the tasks' metadata say besides.
    """
    template: dict[str, Any] = {
        "test_split": "test",
        "output_type": "multiple_choice",
        "target_delimiter": " ",
        "num_fewshot": 0,
        **common,
        "metric_list": [
            {
                "metric": name,
                "aggregation": _Function(aggregated[name]) if name in aggregated else "mean",
                "higher_is_better": name not in LOWER,
            }
            for name in metrics
        ],
        "metadata": {"version": 1.0, BENCHMARK: benchmark, **stated},
    }
    called = {key: _Function(name) for key, name in functions.items()}
    yield TEMPLATE, _yaml(called | template).encode()
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
    """Warning in the README of an encrypted folder."""
    if password is None:
        return ""
    return (
        f"The questions are encrypted: set {VARIABLE}. Do not publish logged samples, which contain"
        " them in plain text.\n"
    )


class _Function(str):
    """The name of a function of ``utils.py``."""


def _yaml(document: dict[str, Any]) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    Dumper.add_representer(
        _Function,
        lambda dumper, name: dumper.represent_scalar("!function", f"utils.{name}"),
    )
    return yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
