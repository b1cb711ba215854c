"""Every number that the paper's tables print, next to ours: within rounding or not, and why not where it is known."""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmarks.worldsense.published import published_name

#: A table's columns that make a group -> the grouping of the summaries.
_GROUPINGS = {
    (): "all",
    ("problem",): "problem",
    ("problem", "size", "complexity", "query"): "problem_size_complexity_query",
    ("problem", "domain"): "problem_domain",
    ("domain",): "domain",
}
_COLUMNS = ("problem", "size", "complexity", "query", "domain")
OTHER_TRIALS = "answers to trials that worldprobe generated; the paper's are of its own set"
OTHER_BENCHMARK = "a number of another benchmark"
#: The released test set, as SHA-256 of the file or of its content.
RELEASED = frozenset(
    (
        "00c94031fc435c5f13156d57fcf61dace875d5e7fa4c218a40029a2eb0f3deb9",
        "af9fa152de455f8a804310a53220e749b1955815f63f2d86a23489114c40550f",
    )
)


def check_reproduction(published: pd.DataFrame, summaries: pd.DataFrame, is_released: bool) -> pd.DataFrame:
    """Rows of ``contracts.Reproduction``.

    Args:
        published: the printed numbers.
        summaries: contracts.Summaries.
        is_released: whether the answers are to the released trials.
    """
    ours = summaries[summaries["gold"] == "released"]
    names = {model: published_name(model) or model for model in ours["model"].unique()}
    key = ["set", "prompting", "model", "measure", "grouping", "group"]
    known = ours.assign(model=ours["model"].map(names)).set_index(key)[["mean", "conf95"]]
    values: dict[tuple[str, ...], dict[str, float]] = known.to_dict("index")  # type: ignore[assignment]
    run = set(zip(known.index.get_level_values(0), known.index.get_level_values(1), known.index.get_level_values(2), strict=True))
    rows = [_compare(number, values, run, is_released) for number in published.to_dict("records")]
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
    is_released: bool,
) -> dict[str, object]:
    text = {str(key): str(value) for key, value in number.items()}
    by = tuple(column for column in _COLUMNS if text[column] != "all")
    group = "|".join(text[column] for column in by) or "all"
    row: dict[str, object] = {name: text[name] for name in ("table", "quantity", "model", "prompting", "set")} | {
        "group": group,
        "printed": text["printed"],
        "ours_printed": "",
        "ours": float("nan"),
        "reason": "",
    }
    if text["table"] == "table7":
        return row | {"status": "not_comparable", "reason": OTHER_BENCHMARK}
    if (text["set"], text["prompting"], text["model"]) not in run:
        return row | {"status": "not_run", "reason": f"{text['model']} was not asked ({text['prompting']}, {text['set']})"}
    measure, part = text["quantity"].removesuffix("_conf95"), "conf95" if text["quantity"].endswith("_conf95") else "mean"
    found = values.get((text["set"], text["prompting"], text["model"], measure, _GROUPINGS[by], group))
    if found is None:
        return row | {"status": "not_comparable", "reason": f"no tuple of {group} was answered as a whole"}
    value = found[part] * (100 if measure == "accuracy" else 1)
    shown = f"{value:.{text['digits']}f}"
    row |= {"ours": found[part], "ours_printed": shown}
    if not is_released:
        return row | {"status": "not_comparable", "reason": OTHER_TRIALS}
    return row | {"status": "within_rounding" if shown == text["printed"] else "differs"}
