"""What a part of the report finds: each model's accuracy against chance, in numbers.

The sentences are templates (``assets/*.html.jinja``, and beside each benchmark).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.analysis.sign_flips import FEWEST
from worldprobe.contracts import Table, read_table, typed
from worldprobe.contracts.results import OVERALL
from worldprobe.report.model_names import HUMAN, Roster, is_baseline
from worldprobe.report.sentences import PAIR, CitedSentence, quote, quote_interval, quote_rows
from worldprobe.report.sheet import (
    MODEL,
    Sheet,
    SheetColumn,
    decimals,
    number_column,
    show_p,
    span,
    text_column,
)

#: Where a mean lies (``analysis.comparisons.above_or_below``), as tables print it.
STANDING = {
    "above": "above",
    "below": "below",
    "open": "not shown to differ",
    "no interval": "no interval",
    "near ties": "most targets are near ties",
}
#: p after Holm's correction below which a difference is shown.
CORRECTED = 0.05


def standing(
    rows: pd.DataFrame, reference: float | None = 0.5, n_intervals: int | None = None
) -> pd.Series:
    """Where each mean lies, by intervals that hold for all rows at once; empty without a
    reference.

    Args:
        rows: as for ``analysis.comparisons.above_or_below``.
        reference: chance, or what else means are compared with.
        n_intervals: as for ``analysis.comparisons.at_once``.
    """
    from worldprobe.analysis.comparisons import (
        above_or_below,  # SciPy, which Snakemake need not load
    )

    if reference is None or rows.empty:
        return pd.Series("", rows.index, dtype=object)
    return above_or_below(rows, reference, n_intervals).map(STANDING)


def row_kind(model: str, roster: Roster) -> str:
    """The kind of a row: a model, a control model, a rule, a baseline or people."""
    if is_baseline(model):
        return "people" if model == HUMAN else "baseline"
    if roster[model].is_untrained:
        return "untrained control model"
    if roster[model].is_control:
        return "control model"
    return "rule" if roster[model].is_rule else "language model"


def against_chance(
    rows: pd.DataFrame, counted: Sequence[str], roster: Roster, chance: float | None = 0.5
) -> pd.DataFrame:
    """Rows with name and kind of each model, the highest mean first, and where the mean lies.

    Args:
        rows: a row per model.
        counted: models whose intervals are read together; each other one is read alone.
        roster: names of the models.
        chance: what guessing reaches; None where that differs from item to item.
    """
    is_counted = rows["model"].isin(list(counted))
    others = [rows.loc[[index]] for index in rows.index[~is_counted]]
    return rows.assign(
        name=roster.names(rows["model"]),
        kind=[row_kind(model, roster) for model in rows["model"]],
        is_counted=is_counted,
        against=pd.concat([standing(part, chance) for part in [rows[is_counted], *others]]),
    ).sort_values("mean", ascending=False, kind="stable", ignore_index=True)


def counted_of(models: Sequence[str], roster: Roster) -> list[str]:
    """Those whom findings are about: published models, else trained controls, else whatever models
    there are.
    """
    for is_apart in ("is_control", "is_untrained"):
        if kept := [model for model in models if not getattr(roster[model], is_apart)]:
            return kept
    return list(models)


def all_at_chance(rows: pd.DataFrame) -> str:
    """The sentence for a table whose rows, of ``against_chance``, are all at chance; else none."""
    is_at = rows["against"].isin([STANDING["open"], STANDING["near ties"]])
    if rows.empty or not (is_at | (rows["mean"] == 0.5)).all():
        return ""
    if len(rows) == 1:
        mean = decimals(3)(rows["mean"].iloc[0])
        return f"The accuracy, {mean}, is not shown to differ from chance."
    ends = span(rows["mean"].min(), rows["mean"].max())
    return f"No accuracy here is shown to differ from chance; they are {ends}."


def count_kinds(rows: pd.DataFrame) -> dict[str, int]:
    """How many rows of ``against_chance`` are about what, as facts of a part."""
    n_untrained = (rows["kind"] == "untrained control model").sum()
    kinds = rows["kind"].str.removeprefix("untrained ").value_counts()
    remarks = {"control model": f" ({n_untrained} untrained)"} if n_untrained else {}
    shown = ("language model", "control model", "rule", "baseline")
    return {f"{kind}s{remarks.get(kind, '')}": int(kinds[kind]) for kind in shown if kind in kinds}


def lead_values(
    rows: pd.DataFrame,
    chance: float | None = 0.5,
    compared: Sequence[str] = (),
    sample: str = "",
    table: str = "models_against_chance",
) -> dict[str, Any]:
    """Values of ``assets/lead.html.jinja``.

    Args:
        rows: of ``against_chance``.
        chance: what guessing reaches.
        compared: of ``compared_in_words``, and what else is said at first.
        sample: what a sample was asked of, in the plural; "": all were.
        table: the printed table of these rows.
    """
    counted = rows[rows["is_counted"] & rows["mean"].notna()]
    against = counted["against"].value_counts()
    values: dict[str, Any] = {"chance": chance, "n_models": len(counted), "table": table}
    if len(counted):
        ordered = counted.sort_values("mean", ascending=False, kind="stable").to_dict("records")
        values |= {"first": counted.iloc[0].to_dict(), "top": ordered[0], "bottom": ordered[-1]}
    values |= {
        "n_above": int(against.get("above", 0)),
        "n_below": int(against.get("below", 0)),
        "n_without": int(against.get(STANDING["no interval"], 0)),
        "lowest": counted["mean"].min(),
        "highest": counted["mean"].max(),
        "average": counted["mean"].mean(),
        "has_published": bool((rows["kind"] == "language model").any()),
        "compared": list(compared),
        "sample": sample,
    }
    return values | {"sentences": [_lead(values), *compared]}


def _lead(values: dict[str, Any]) -> CitedSentence:
    """The first sentence of ``lead_values``."""
    from worldprobe.report.page import render_template

    values = values | {
        "quote": quote,
        "quote_interval": quote_interval,
        "quote_rows": quote_rows,
    }
    text = render_template("worldprobe.report", "assets/lead.txt.jinja", **values)
    return CitedSentence(str(text).strip())


def each_in_words(
    rows: pd.DataFrame, table: str = "models_against_chance", sample: str = ""
) -> list[CitedSentence]:
    """A sentence about each of some rows of ``against_chance``, as the lead has it of one model."""
    return [
        lead_values(rows.loc[[index]].assign(is_counted=True), 0.5, (), sample, table)["sentences"][
            0
        ]
        for index in rows.index[rows["mean"].notna()]
    ]


def lead_in_words(values: dict[str, Any]) -> list[str]:
    """The sentences of ``lead_values``."""
    sentences: list[str] = values["sentences"]
    return sentences


def read_pairs(path: Path | None, contract: type[Table]) -> pd.DataFrame:
    """A table of comparisons; without rows where there is no table."""
    return typed([], contract) if path is None else read_table(path, contract)


def read_overall(path: Path | None, contract: type[Table]) -> pd.DataFrame:
    """The rows over all units of a table of comparisons; none where there is no table."""
    rows = read_pairs(path, contract)
    return rows[rows["grouping"] == OVERALL]


def compared_in_words(
    comparisons: pd.DataFrame,
    means: pd.DataFrame,
    roster: Roster,
    baselines: Collection[str] = (),
    metric: str = "accuracy",
    tables: tuple[str, str] = ("models_against_chance", "comparisons"),
) -> list[CitedSentence]:
    """What comparisons say of the models that findings are about: which of two is better, or which
    of more differ from the best one; then whether they beat their strongest baseline.

    Args:
        comparisons: overall rows (``contracts.results.Comparisons``) of one way of asking, by one
            metric.
        means: of ``against_chance``; of a metric that is not accuracy with a column of its name.
        roster: names.
        baselines: ids of those that models must beat, compared on the same units.
        metric: what is compared.
        tables: the printed tables of means and of comparisons.
    """
    is_model = means["is_counted"] & ~means["model"].isin(list(baselines))
    counted = means[is_model & means["mean"].notna()]
    rows = comparisons.assign(table=tables[1]).to_dict("records")
    pairs = {(row["model_a"], row["model_b"]): row for row in rows}
    pairs |= {(b, a): turned(row) for (a, b), row in pairs.items()}
    names = dict(zip(counted["model"], counted["name"], strict=True))
    strongest = {}
    for model in names:
        beside = [pairs[model, baseline] for baseline in baselines if (model, baseline) in pairs]
        if beside:
            strongest[model] = max(beside, key=lambda row: float(row["mean_b"]))
    sentences = []
    if len(names) == 2 and tuple(names) in pairs:
        sentences.append(_which_is_better(pairs[tuple(names)], *names.values()))
    elif len(names) > 2:
        sentences += _which_differ(pairs, counted, metric, tables[0])
    if len(strongest) > 2:
        sentences.append(_which_beat_a_baseline(strongest, names, roster, tables[1]))
    else:
        sentences += [
            _beats_a_baseline(row, names[model], roster[row["model_b"]].name)
            for model, row in strongest.items()
        ]
    sentences += ["Not compared with a baseline."] * bool(baselines and names and not strongest)
    return [CitedSentence(sentence) for sentence in sentences]


def turned(row: dict[Any, Any]) -> dict[Any, Any]:
    """A comparison (a row of ``contracts.results.Comparisons``) with its sides exchanged."""
    opposite = {"a": "b", "b": "a"}
    turned = {
        f"{name[:-1]}{opposite[name[-1]]}" if name[-2:] in ("_a", "_b") else name: value
        for name, value in row.items()
    }
    ends = {"difference": "difference", "ci_low": "ci_high", "ci_high": "ci_low"}
    turned |= {name: -row[end] for name, end in ends.items()}
    return turned | {"is_turned": not row.get("is_turned", False)}


def _difference(row: dict[Any, Any]) -> str:
    """Both means of a comparison, their difference, its interval and p."""

    def cited(text: str, column: str, factor: float = 1) -> str:
        return quote(text, row["table"], row, column, factor)

    p = "not tested"
    if row["status"] == "ok":
        printed, holm = show_p(row["p"]), show_p(row["p_holm"])
        p = f"p {'' if printed.startswith('<') else '= '}{cited(printed, 'p')}"
        p += f", by Holm {cited(holm, 'p_holm')}" if holm != printed else ""
    first, second = (cited(decimals(3)(row[name]), name) for name in ("mean_a", "mean_b"))
    difference, low, high = (
        cited(decimals(1)(100 * row[name]), name, 100)
        for name in ("difference", "ci_low", "ci_high")
    )
    ends = f"95% interval: {low} to {high}; " if pd.notna(row["ci_low"]) else ""
    return f"{first} against {second}, {difference} points ({ends}{p})"


def _which_is_better(row: dict[Any, Any], first: str, second: str) -> str:
    """The sentence about two models."""
    if row["difference"] < 0:
        row, first, second = turned(row), second, first
    _, is_better, qualified = str(row["finding"]).partition(" is better")
    if is_better:
        return f"{first} is better than {second}: {_difference(row)}{qualified}."
    return f"{first} and {second}: {row['finding']}; {_difference(row)}."


def _which_differ(
    pairs: dict[tuple[str, str], dict[Any, Any]], counted: pd.DataFrame, metric: str, table: str
) -> list[str]:
    """Which models differ from the one with the highest mean, of accuracy the first row."""
    column = "mean" if metric == "accuracy" else metric
    counted = counted.sort_values(column, ascending=False, kind="stable")
    best, others = counted.iloc[0], counted.iloc[1:]
    compared = others[[(best["model"], model) in pairs for model in others["model"]]]
    if compared.empty:
        return []
    is_lower = [_differs(pairs[best["model"], model]) for model in compared["model"]]
    lower = list(compared.loc[is_lower, "name"])
    alike = list(compared.loc[[not differs for differs in is_lower], "name"])
    highest = quote(decimals(3)(best[column]), table, best.to_dict(), column)
    sentence = f"{best['name']} has the highest {metric}, {highest}"
    if metric == "accuracy" and best["against"] in (STANDING["open"], "below"):
        sentence += ", which is not shown to be above chance"
    parts = [f"lower than it (p < 0.05 after Holm's correction): {_listed(lower)}"] * bool(lower)
    parts += [f"not shown to differ from it: {_listed(alike)}"] * bool(alike)
    return [f"{sentence}; {'; '.join(parts)}."]


def _differs(row: dict[Any, Any]) -> bool:
    """Whether the first of two has a higher mean, decided by more than rounding."""
    is_found = row["p_holm"] < CORRECTED and "near ties" not in str(row["finding"])
    return bool(is_found and row["difference"] > 0)


def _is_better(row: dict[Any, Any]) -> bool:
    """Whether the first of two is better, also after Holm's correction."""
    return " is better" in str(row["finding"]) and _differs(row)


def _beats_a_baseline(row: dict[Any, Any], model: str, baseline: str) -> str:
    """Whether a model beats its strongest baseline."""
    if _is_better(row):
        how, qualified = "beats", str(row["finding"]).partition(" is better")[2]
    elif row["difference"] < 0 and row["p_holm"] < CORRECTED:
        how, qualified = "is below", ""
    else:
        how, qualified = "is not shown to beat", ""
    return f"{model} {how} its strongest baseline, {baseline}: {_difference(row)}{qualified}."


def _which_beat_a_baseline(
    strongest: dict[str, dict[Any, Any]], names: dict[str, str], roster: Roster, table: str
) -> str:
    """How many of several models beat their strongest baselines, and which do not."""
    baselines = {roster[row["model_b"]].name for row in strongest.values()}
    better = [model for model, row in strongest.items() if _is_better(row)]
    others = [names[model] for model in strongest if model not in better]
    left = f"; not shown to: {_listed(others)}" if others else ""
    n_better, n_models = (
        quote_rows(
            len(models),
            table,
            "difference",
            "count",
            **{PAIR: [[model, strongest[model]["model_b"]] for model in models]},
        )
        for models in (better, list(strongest))
    )
    return (
        f"{n_better} of {n_models} models beat their strongest baseline"
        f" ({_listed(sorted(baselines))}; p < 0.05 after Holm's correction){left}."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def pairs_finding(rows: pd.DataFrame) -> str:
    """In how many comparisons a difference was found, with Holm's correction."""
    n_found = (rows["p_holm"] < CORRECTED).sum()
    verb = "differs" if n_found == 1 else "differ"
    how = "By pairing, " if "metric" in rows and (rows["metric"] == "pairing").all() else ""
    return (
        f"{how}{n_found} of {len(rows)} pairs of models {verb} (p < 0.05 after Holm's correction)."
    )


def which_tests(rows: pd.DataFrame) -> str:
    """Names of the tests of some comparisons.

    >>> which_tests(pd.DataFrame({"test": ["t", "sign_flips", ""]}))
    "Student's t; flips of signs where clusters are unequal"
    """
    names = {"t": "Student's t", "sign_flips": "flips of signs where clusters are unequal"}
    tests = [name for test, name in names.items() if (rows["test"] == test).any()]
    return "; ".join(tests) or "not tested"


def warn_of_few(rows: pd.DataFrame) -> list[str]:
    """A note on intervals that are from few clusters, where there are such.

    Args:
        rows: of ``contracts.results.Summaries`` or ``Comparisons``.
    """
    few = rows["ci_low"].notna() & (rows["n_clusters"] < FEWEST)
    if not few.any():
        return []
    over = rows.loc[few, "interval_over"].astype(str)
    units = over.str.replace(r"( and versions|, and ).*", "", regex=True)
    which = f" in {few.sum()} of {len(rows)} rows" if not few.all() else ""
    return [
        f"Caution: intervals{which} are from fewer than {FEWEST}"
        f" {' or '.join(dict.fromkeys(units))}, which tell little of how others vary."
    ]


def models_sheet(
    rows: pd.DataFrame,
    chance: float | None = 0.5,
    over: str = "",
    more: Sequence[SheetColumn] = (),
    notes: Sequence[str] = (),
) -> Sheet:
    """Every model against chance.

    Args:
        rows: of ``against_chance``.
        chance: what guessing reaches.
        over: what the intervals are over.
        more: further columns.
        notes: below the table.
    """
    note = (
        "“Above” and “below” chance are corrected for their number where more than two published"
        " models are tested (if none is published, trained controls); other rows are not corrected."
    )
    stated = [] if chance is None else [text_column("Against chance", "against")]
    return Sheet(
        "Accuracy of each model" + ("." if chance is None else f"; chance is {chance:.3g}."),
        rows,
        (
            MODEL,
            text_column("Kind", "kind"),
            number_column("Accuracy", "mean"),
            SheetColumn(f"95% interval{over}", ("ci_low", "ci_high"), span),
            *stated,
            *more,
        ),
        notes=(*[note] * len(stated), *notes),
        finding="" if chance is None else all_at_chance(rows),
    )
