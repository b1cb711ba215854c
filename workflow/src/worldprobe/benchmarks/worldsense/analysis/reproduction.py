"""Every number that the paper prints in tables and text, next to ours: within rounding or not, and why not where it is known."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pandas as pd

from worldprobe.benchmarks.worldsense.analysis.published import published_name
from worldprobe.contracts.results import ALL, JOINT, OVERALL

#: A table's columns that make a group -> the grouping of the summaries.
_GROUPINGS = {
    (): OVERALL,
    ("problem",): "problem",
    ("problem", "size", "complexity", "query"): "problem_size_complexity_query",
    ("problem", "domain"): "problem_domain",
    ("domain",): "domain",
}
_COLUMNS = ("problem", "size", "complexity", "query", "domain")
OTHER_TRIALS = "answers to trials that worldprobe generated; the paper's are of its own set"
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
    known = set(digests)
    return {name for name, files in RELEASED.items() if files & known}


def check_reproduction(published: pd.DataFrame, summaries: pd.DataFrame, released: Collection[str]) -> pd.DataFrame:
    """Rows of ``contracts.Reproduction``.

    Args:
        published: the printed numbers.
        summaries: contracts.Summaries.
        released: the sets whose answers are to the released trials.
    """
    names = {model: published_name(model) or model for model in summaries["model"].unique()}
    key = ["condition", "eval_type", "model", "metric", "grouping", "group"]
    known = summaries.assign(model=summaries["model"].map(names)).set_index(key)[["mean", "conf95"]]
    values: dict[tuple[str, ...], dict[str, float]] = known.to_dict("index")  # type: ignore[assignment]
    run = set(zip(known.index.get_level_values(0), known.index.get_level_values(1), known.index.get_level_values(2), strict=True))
    rows = [_compare(number, values, run, released) for number in published.to_dict("records")]
    table = pd.DataFrame(rows)
    table.insert(0, "position", range(len(table)))
    return table


def summary_line(table: pd.DataFrame) -> str:
    """The table in one sentence."""
    counts = table["status"].value_counts()
    within, differs = int(counts.get("within_rounding", 0)), int(counts.get("differs", 0))
    others = f"{counts.get('not_run', 0)} not run, {counts.get('not_comparable', 0)} not comparable."
    if not within + differs:
        return f"No published number has one of ours to compare: {others}"
    return f"{within} of {within + differs} published numbers equal as printed; {others}"


def _compare(
    number: dict[object, object],
    values: dict[tuple[str, ...], dict[str, float]],
    run: set[tuple[str, str, str]],
    released: Collection[str],
) -> dict[str, object]:
    text = {str(key): str(value) for key, value in number.items()}
    by = tuple(column for column in _COLUMNS if text[column] != ALL)
    group = JOINT.join(text[column] for column in by) or ALL
    row: dict[str, object] = {name: text[name] for name in ("block", "quantity", "model", "eval_type", "condition")} | {
        "group": group,
        "printed": text["printed"],
        "ours_printed": "",
        "ours": float("nan"),
        "reason": "",
    }
    if text["block"] == "table7":
        return row | {"status": "not_comparable", "reason": OTHER_BENCHMARK}
    if (text["condition"], text["eval_type"], text["model"]) not in run:
        return row | {"status": "not_run", "reason": f"{text['model']} was not asked ({text['eval_type']}, {text['condition']})"}
    if text["quantity"] == GAIN:
        return row | _compare_gain(text, values, released)
    measure, part = text["quantity"].removesuffix("_conf95"), "conf95" if text["quantity"].endswith("_conf95") else "mean"
    found = values.get((text["condition"], text["eval_type"], text["model"], measure, _GROUPINGS[by], group))
    if found is None:
        return row | {"status": "not_comparable", "reason": f"no tuple of {group} was answered as a whole"}
    value = found[part] * (100 if measure == "accuracy" else 1)
    shown = f"{value:.{text['digits']}f}"
    row |= {"ours": found[part], "ours_printed": shown}
    return row | _status(text, shown, released)


def _compare_gain(
    text: dict[str, str], values: dict[tuple[str, ...], dict[str, float]], released: Collection[str]
) -> dict[str, object]:
    """By how many points a way of asking is better than basic prompting (Section 5.3)."""
    asked = [
        values.get((text["condition"], how, text["model"], "accuracy", OVERALL, ALL)) for how in (text["eval_type"], "basic")
    ]
    if asked[0] is None or asked[1] is None:
        return {"status": "not_run", "reason": f"{text['model']} was not asked by basic prompting too"}
    gain = asked[0]["mean"] - asked[1]["mean"]
    shown = f"{100 * gain:.{text['digits']}f}"
    return {"ours": gain, "ours_printed": shown, **_status(text, shown, released)}


def _status(text: dict[str, str], shown: str, released: Collection[str]) -> dict[str, object]:
    if text["condition"] not in released:
        return {"status": "not_comparable", "reason": OTHER_TRIALS}
    return {"status": "within_rounding" if shown == text["printed"] else "differs"}
