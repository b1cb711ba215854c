"""The numbers that the paper prints in tables and text (``resources/published/worldsense.csv``),
next to ours.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.analysis.reproduction import (
    Checked,
    Finding,
    compare_numbers,
    read_numbers,
    summary_line,
)
from worldprobe.benchmarks.worldsense.contracts import Reproduction, Summaries
from worldprobe.contracts import read_provenance, read_table
from worldprobe.contracts.results import ALL, JOINT, OVERALL
from worldprobe.paths import RESOURCES

GROUPED = ("problem", "size", "complexity", "query", "domain")
COLUMNS = ("block", "quantity", "model", "eval_type", "condition", *GROUPED, "printed", "digits")
FILE = RESOURCES / "published" / "worldsense.csv"
SOURCE = "Benchekroun et al. 2023, arXiv 2311.15930"
#: Ways of writing a model -> the paper's name of it; letters and digits only.
ALIASES = {
    "gpt35turbo": "GPT3.5",
    "gpt35": "GPT3.5",
    "gpt4": "GPT4",
    "llama2chat": "Llama2-chat",
    "llama2chat70b": "Llama2-chat",
    "llama270bchat": "Llama2-chat",
    "llama270bchathf": "Llama2-chat",
    # The release's files of results leave the size out.
    **{f"llama2ft{number}": f"Llama2-70B-FT+{number}" for number in ("0", "100k", "1M")},
}


def read_published(path: Path = FILE) -> pd.DataFrame:
    """``COLUMNS``, as text but for digits, "all" where a column was averaged over; and the grouping
    and group of the summaries.

    Raises:
        UserError: as ``read_numbers``.
    """
    numbers = read_numbers(path, COLUMNS)
    named = [
        [(name, row[name]) for name in GROUPED if row[name] != ALL]
        for row in numbers[list(GROUPED)].to_dict("records")
    ]
    groupings = ["_".join(name for name, _ in row) or OVERALL for row in named]
    return numbers.assign(
        grouping=groupings, group=[JOINT.join(value for _, value in row) or ALL for row in named]
    )


def published_name(*names: str) -> str | None:
    """The paper's name of a model that is written in any of these ways; None where the paper has no
    such model.

    >>> (
    ...     published_name("gpt_3_5_turbo"),
    ...     published_name("Llama2-70B-FT+1M"),
    ...     published_name("pythia_70m"),
    ... )
    ('GPT3.5', 'Llama2-70B-FT+1M', None)
    """
    by_name = {_plain(name): paper for name, paper in ALIASES.items()} | {
        _plain(name): name for name in _FINETUNED
    }
    return next((by_name[_plain(name)] for name in names if _plain(name) in by_name), None)


_FINETUNED = tuple(
    f"Llama2-{size}B-FT+{number}" for size in (7, 70) for number in ("0", "10k", "100k", "1M")
)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


_SERIES = ("condition", "eval_type", "model")
OTHER_TRIALS = "answers to other trials than the whole of the paper's own set"
#: What the text says of a way of asking: points of accuracy above basic prompting.
GAIN = "accuracy_gain"
OTHER_BENCHMARK = "a number of another benchmark"
#: The released sets, as SHA-256 of the file (.bz2) or of its content.
RELEASED = {
    "test": {
        "00c94031fc435c5f13156d57fcf61dace875d5e7fa4c218a40029a2eb0f3deb9",
        "af9fa152de455f8a804310a53220e749b1955815f63f2d86a23489114c40550f",
    },
    "memorisation": {
        "b1a22ff81903c9d6b5f30e1ab314fdb4f7cae02ba966d2ea59c8c5923af44937",
        "f9466c17fdfa32a175f5245d04031d5068cdfa8012694eb90566a85aab60ff3b",
    },
    "ood-size": {
        "ec93c6a69c4ac42ed0af566ef24dfd2b63b407b839bb3e5025f70fda11b4a47d",
        "4c16a4a0c936004e018e6d784fc5a1bd6c36a0289b342024458e5c17cd6b309e",
    },
    "ood-query": {
        "d3d481ab53de0403251a873fe8cbf7cdb08ae727fc7f43107b4ac4008c488327",
        "8b50171c0630dc3aaa188dcce05cbb0e3108d1ac9e2a0e386600be011589c320",
    },
    "ood-problem": {
        "0eac077d9b7b830e2dc46cea86d11175fc53d241c981a0ec92b52f294b59332b",
        "1f40da442f09147d4b6109bf67a783cbbc20c6adaf9fee1e650126314f1327ac",
    },
}


def released_sets(digests: Iterable[str]) -> set[str]:
    """The sets whose released trials are among files with these digests."""
    present = set(digests)
    return {name for name, files in RELEASED.items() if files & present}


def check_reproduction(
    published: pd.DataFrame, summaries: pd.DataFrame, released: Collection[str]
) -> pd.DataFrame:
    """Rows of ``contracts.Reproduction``.

    Args:
        published: the printed numbers.
        summaries: contracts.Summaries.
        released: the sets whose answers are to the released trials.
    """
    names = {model: published_name(model) or model for model in summaries["model"].unique()}
    renamed = summaries.assign(model=summaries["model"].map(names)).set_index(
        [*_SERIES, "metric", "grouping", "group"]
    )
    values: Any = renamed[["mean", "conf95"]].to_dict("index")
    run = {key[: len(_SERIES)] for key in values}

    def find(number: dict[str, Any]) -> Finding:
        series = tuple(number[key] for key in _SERIES)
        if number["block"] == "table7":
            return Finding(status="not_comparable", reason=OTHER_BENCHMARK)
        if series not in run:
            reason = (
                f"{number['model']} was not asked ({number['eval_type']}, {number['condition']})"
            )
            return Finding(status="not_run", reason=reason)
        if number["quantity"] == GAIN:
            finding = _gain(number, values)
        else:
            metric, part = (
                number["quantity"].removesuffix("_conf95"),
                "conf95" if "_conf95" in number["quantity"] else "mean",
            )
            ours = values.get((*series, metric, number["grouping"], number["group"]))
            if ours is None:
                return Finding(
                    status="not_comparable",
                    reason=f"no tuple of {number['group']} was answered as a whole",
                )
            finding = Finding(ours[part], scale=100 if metric == "accuracy" else 1)
        if not finding.status and number["condition"] not in released:
            finding.status, finding.reason = "not_comparable", OTHER_TRIALS
        return finding

    return compare_numbers(published, find)


def _gain(number: dict[str, Any], values: Mapping[tuple[str, ...], Mapping[str, float]]) -> Finding:
    """By how many points a way of asking is better than basic prompting (Section 5.3)."""
    ways = (number["eval_type"], "basic")
    asked = [
        values.get((number["condition"], way, number["model"], "accuracy", OVERALL, ALL))
        for way in ways
    ]
    if asked[0] is None or asked[1] is None:
        return Finding(
            status="not_run", reason=f"{number['model']} was not asked by basic prompting too"
        )
    return Finding(asked[0]["mean"] - asked[1]["mean"], scale=100)


def reproduce(summaries: Path, published: Path) -> Checked:
    """Every published number next to ours, from the files of a study.

    Args:
        summaries: summaries table.
        published: folder of the published numbers.
    """
    file, made = published / "worldsense.csv", read_provenance(summaries)
    # Stand-ins may be asked whole sets, too.
    released = set() if made.details.get("rehearsal") else released_sets(made.inputs.values())
    table = check_reproduction(read_published(file), read_table(summaries, Summaries), released)
    details = {"summary": summary_line(table), "source": SOURCE, "released_sets": sorted(released)}
    return Checked(table, Reproduction, {"summaries": summaries, "published": file}, details)
