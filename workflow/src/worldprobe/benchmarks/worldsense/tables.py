"""Tables 2, 6, 8, 9, 10 and 11 of the paper, with its printed numbers below ours where it has the
model; consistency; pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from worldprobe.benchmark import Input, table
from worldprobe.benchmarks.worldsense import outputs, selection
from worldprobe.benchmarks.worldsense.analysis.reproduction import (
    SOURCE,
    published_name,
    read_published,
)
from worldprobe.benchmarks.worldsense.contracts import Comparisons, Reproduction
from worldprobe.benchmarks.worldsense.skins.vocabulary import MOVING, SETS
from worldprobe.contracts.results import OVERALL
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe.report.findings import pairs_finding
from worldprobe.report.model_names import Roster
from worldprobe.report.sheet import (
    ABSENT,
    DETECTABLE,
    INTERVAL,
    MODEL_ONCE,
    MORE_THAN_POSSIBLE,
    Sheet,
    SheetColumn,
    as_text,
    decimals,
    is_absent,
    number_column,
    show_p,
    span,
    text_column,
    whole_number,
)

OURS, PAPERS = "this run", "paper"
UNITS = (
    "Chance is 0.5; bias runs from −1 to 1; ± is 1.96 standard errors over tuples, as in the paper;"
    " a dash: all tuples are alike, or too few to say."
)
#: Ternary relations of a description, by its complexity.
TERNARY = {"0": "none", "1": "one", "2": "all but one"}
QUERIES = {"bin": "binary", "tern": "ternary"}
PUBLISHED = "Rows of the paper: its printed numbers, on its own test set."


#: How the precision of a mean is shown: by the paper's interval over tuples, or ours over skins.
_SPREAD: dict[str, tuple[str, ...]] = {
    "accuracy_corrected": ("conf95",),
    "strict": ("conf95",),
    "bias": ("conf95",),
    "invalid": (),
    "consistency": ("ci_low", "ci_high"),
}


def show_mean(metric: object, mean: object, half_width: object) -> str:
    """A mean with half of its interval; a dash in place of one that is no interval.

    >>> show_mean("accuracy", 0.648, 0.0112), show_mean("bias", -0.341, 0.01)
    ('0.648 ±0.011', '−0.34 ±0.01')
    >>> show_mean("accuracy", 0.5, 0.98), show_mean("bias", 0.0, 0.98), show_mean("bias", 1.0, 0.0)
    ('0.500 –', '0.00 ±0.98', '1.00 –')
    """
    if is_absent(mean):
        return ABSENT
    show, most = (decimals(2), 1.0) if metric == "bias" else (decimals(3), 0.5)
    if is_absent(half_width) or not 0 < float(str(half_width)) < most:
        return f"{show(mean)} {ABSENT}"
    return f"{show(mean)} ±{show(half_width)}"


def _show_either(metric: object, mean: object, half_width: object, source: object) -> str:
    """As ``show_mean``; of the paper, what it prints."""
    if source == PAPERS and is_absent(half_width) and not is_absent(mean):
        return decimals(2 if metric == "bias" else 3)(mean)
    return show_mean(metric, mean, half_width)


def _certain(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows whose means have the paper's half width only where they have an interval of ours."""
    return rows.assign(conf95=rows["conf95"].where(rows["ci_low"].notna()))


def _show_consistency(mean: object, low: object, high: object) -> str:
    """A consistency with its interval, or that it has none.

    >>> _show_consistency(0.37, 0.29, 0.45), _show_consistency(1.0, None, None)
    ('0.37 (0.29–0.45)', '1.00 (no interval)')
    """
    if is_absent(mean):
        return ABSENT
    return f"{decimals(2)(mean)} ({'no interval' if is_absent(low) else span(low, high, 2)})"


@table(
    name="worldsense_mean_accuracy",
    inputs=[selection.SUMMARIES],
    title="Mean accuracy",
    section="problems",
    caption=(
        "Accuracy of each model over all problems; also with corrected gold answers and strictly"
        " scored, with response bias, invalid answers and agreement across skins. WorldSense,"
        " Table 2."
    ),
    when=outputs.is_asked,
)
def mean_accuracy(summaries: pd.DataFrame, roster: Roster) -> Sheet:
    """One row per model and prompting: accuracy, its variants, bias and invalid answers (Table
    2).
    """
    summaries = _certain(summaries)
    rows = selection.pick(summaries, OVERALL)
    rows = rows[rows["condition"] == selection.main_set(rows)]
    key = ["model", "eval_type"]
    every = summaries[
        (summaries["grouping"] == OVERALL) & (summaries["condition"] == selection.main_set(rows))
    ].set_index(key)
    frame = rows[[*key, "mean", "conf95", "ci_low", "ci_high", "n"]]
    for metric, ends in _SPREAD.items():
        kept = {"mean": metric} | {name: f"{metric}_{name}" for name in ends}
        named = every[every["metric"] == metric][list(kept)].rename(columns=kept)
        frame = frame.merge(named, how="left", left_on=key, right_index=True)
    frame = _in_order(frame, roster)
    paper = read_published()
    overall = (
        paper[(paper["block"] == "table2") & (paper["quantity"] == "accuracy")]
        .set_index("model")["printed"]
        .astype(float)
    )
    names = [published_name(model, roster[model].name) for model in frame["model"]]
    published = [
        overall.get(name) if name and how == "basic" else None
        for name, how in zip(names, frame["eval_type"], strict=True)
    ]
    frame["published"] = pd.to_numeric(pd.Series(published, dtype=object)) / 100
    frame["metric"] = "accuracy"
    columns = [
        MODEL_ONCE,
        text_column("Prompting", "eval_type", lambda name: selection.prompting_name(str(name))),
        SheetColumn("Accuracy", ("metric", "mean", "conf95"), show_mean),
        SheetColumn("Over skins", ("ci_low", "ci_high"), span),
        SheetColumn(
            "Corrected gold",
            ("metric", "accuracy_corrected", "accuracy_corrected_conf95"),
            show_mean,
        ),
        SheetColumn("Strict", ("metric", "strict", "strict_conf95"), show_mean),
        SheetColumn(
            "Bias", ("bias", "bias_conf95"), lambda mean, half: show_mean("bias", mean, half)
        ),
        number_column("Invalid", "invalid"),
        SheetColumn(
            "Agreement across skins",
            ("consistency", "consistency_ci_low", "consistency_ci_high"),
            _show_consistency,
        ),
        number_column("Paper", "published"),
    ]
    if frame["published"].isna().all():
        columns.pop()
    notes = (
        "Means over tuples; sizes weigh equally within a problem, and problems in the average."
        " Strict: answers 1 and 2 count apart (chance is one third in completeness problems)."
        " Corrected gold: the solver's answers. Agreement: how often a model gives the same answer"
        " to one abstract trial in two skins, corrected for chance (Scott's pi); missing where a"
        " problem has too few pairs or one answer.",
        UNITS,
        "Invalid: share of answers that could not be read, weighted as accuracy is. Over skins: 95%"
        " interval for other skins and abstract problems; the variance component of each has its"
        " own quantile of Student's t. A dash: all skins are alike.",
    )
    return Sheet(
        title=(f"WorldSense ({selection.main_set(rows)}): accuracy by model over all problems."),
        frame=frame,
        columns=tuple(columns),
        notes=(*notes, *selection.unequal_numbers(summaries)),
        hidden=("metric",),
    )


@table(
    name="worldsense_problems",
    inputs=[selection.SUMMARIES],
    title="Accuracy and bias by problem",
    section="problems",
    caption=(
        "Accuracy and response bias by problem, averaged over sizes."
        " Like Table 6 of the WorldSense paper."
    ),
    when=outputs.is_asked,
)
def problems(summaries: pd.DataFrame, roster: Roster) -> Sheet:
    """Accuracy and bias by problem (Table 6)."""
    rows = selection.of_main(_both_metrics(summaries))
    title = f"WorldSense ({selection.main_set(summaries)}): accuracy and response bias by problem."
    return _by_problem(rows, roster, "table6", title)


@table(
    name="worldsense_promptings",
    inputs=[selection.SUMMARIES],
    title="Ways of asking",
    section="promptings",
    caption=(
        "Accuracy and response bias by problem for every way of asking."
        " Like Table 8 of the WorldSense paper."
    ),
    when=(outputs.is_asked, outputs.has_several_promptings),
)
def promptings(summaries: pd.DataFrame, roster: Roster) -> Sheet:
    """Accuracy and bias by problem and prompting (Table 8)."""
    rows = _both_metrics(summaries)
    rows = rows[rows["condition"] == selection.main_set(rows)]
    prompting = text_column(
        "Prompting", "eval_type", lambda name: selection.prompting_name(str(name))
    )
    title = f"WorldSense ({selection.main_set(rows)}): accuracy and response bias by prompting."
    sheet = _by_problem(rows, roster, "table8", title, prompting)
    return replace(sheet, notes=(*sheet.notes, *selection.unequal_numbers(summaries)))


@table(
    name="worldsense_sets",
    inputs=[selection.SUMMARIES],
    title="Sets",
    section="sets",
    caption=(
        "Accuracy and response bias by problem for every set. Like Table 9 of the WorldSense paper."
    ),
    when=(outputs.is_asked, outputs.has_several_sets),
)
def sets(summaries: pd.DataFrame, roster: Roster) -> Sheet:
    """Accuracy and bias by problem and set (Table 9)."""
    rows = _both_metrics(summaries)
    rows = rows[rows["eval_type"] == rows["model"].map(selection.main_promptings(rows))]
    return _by_problem(
        rows, roster, "table9", "WorldSense: accuracy and response bias by set.", _SET
    )


@table(
    name="worldsense_finetuning",
    inputs=[selection.SUMMARIES],
    title="Fine-tuned models",
    section="finetuning",
    caption=(
        "Accuracy and response bias of fine-tuned models and their bases by problem and set, next"
        " to the paper's. Like Table 9 of the WorldSense paper."
    ),
    when=(outputs.is_asked, outputs.has_tuned_models),
)
def finetuning(summaries: pd.DataFrame, roster: Roster) -> Sheet:
    """Accuracy and bias of fine-tuned models and their bases by problem and set, and the paper's
    (Table 9).

    Raises:
        UserError: no model was fine-tuned.
    """
    rows = _both_metrics(summaries)
    rows = rows[rows["eval_type"] == rows["model"].map(selection.main_promptings(rows))]
    tuned = selection.split_tuned(rows["model"].unique())
    if not tuned:
        raise UserError(
            "summaries", "contain no fine-tuned model.", "Fine-tune one (worldsense.finetuning)."
        )
    rows = rows[rows["model"].isin([*tuned, *(base for base, _ in tuned.values())])]
    theirs = _paper_rows(["metric", "model", "condition"], "problem", "table9")
    title = "WorldSense: accuracy and response bias of fine-tuned models by set."
    sheet = _by_problem(rows, roster, "table9", title, _SET, theirs)
    note = (
        "Rows of the paper: Llama 2, trained on instruction data and the stated number of trials"
        " (Table 9)."
    )
    return replace(sheet, notes=(UNITS, note))


@table(
    name="worldsense_complexity",
    inputs=[selection.SUMMARIES],
    title="Size and complexity",
    section="difficulty",
    caption=(
        "Accuracy by problem, ternary relations of the description, arity of the query and number"
        " of entities. Like Table 10 of the WorldSense paper."
    ),
    when=outputs.is_asked,
)
def complexity(summaries: pd.DataFrame, roster: Roster) -> Sheet:
    """Accuracy by problem, complexity, arity of the query and size (Table 10)."""
    keys = ("problem", "size", "complexity", "query")
    rows = selection.of_main(
        selection.pick(summaries, "problem_size_complexity_query", columns=keys)
    )
    order = ["problem", "complexity", "query", "model"]
    frame, columns = grid_sheet(
        rows, order, "size", sorted(set(rows["size"])), roster, "table10", over="Entities"
    )
    is_motion = bool(set(rows["problem"]) & set(MOVING))
    complexity = number_column(
        "Stated changes" if is_motion else "Ternary relations",
        "complexity",
        lambda name: str(name)[-1] if is_motion else TERNARY[str(name)[-1]],
    )
    return Sheet(
        title=(
            f"WorldSense ({selection.main_set(rows)}): accuracy by problem, complexity, query and"
            " number of entities."
        ),
        frame=frame,
        columns=(
            problem_column(),
            complexity,
            text_column("Query", "query", lambda name: QUERIES.get(str(name), str(name))),
            *model_columns(frame),
            *columns,
        ),
        notes=_notes(frame),
        group="problem",
    )


@table(
    name="worldsense_domains",
    inputs=[selection.SUMMARIES],
    title="Domains",
    section="skins",
    caption="Accuracy by problem and domain. Like Table 11 of the WorldSense paper.",
    when=(outputs.is_asked, outputs.has_controls),
)
def domains(summaries: pd.DataFrame, roster: Roster) -> Sheet:
    """Accuracy by problem and domain, and the average of the problems (Table 11)."""
    rows = selection.pick(summaries, "problem_domain", columns=("problem", "domain"))
    average = selection.pick(summaries, "domain", columns=("domain",)).assign(problem="all")
    both = selection.of_main(pd.concat([rows, average], ignore_index=True))
    frame, columns = grid_sheet(
        both, ["problem", "model"], "domain", selection.domains_of(both), roster, "table11"
    )
    return Sheet(
        title=f"WorldSense ({selection.main_set(both)}): accuracy by problem and domain.",
        frame=frame,
        columns=(
            problem_column(),
            *model_columns(frame),
            *columns,
        ),
        notes=_notes(frame),
        group="problem",
    )


_SET = text_column("Set", "condition")


def _both_metrics(summaries: pd.DataFrame) -> pd.DataFrame:
    parts = [
        selection.pick(summaries, "problem", metric, columns=("problem",))
        for metric in ("accuracy", "bias")
    ]
    return pd.concat(parts, ignore_index=True)


def _by_problem(
    rows: pd.DataFrame,
    roster: Roster,
    block: str,
    title: str,
    more: SheetColumn | None = None,
    theirs: Any = None,
) -> Sheet:
    """A table of both metrics with a column per problem, next to a block of the paper's numbers, by
    model and one thing more.
    """
    further = () if more is None else (more,)
    keys = ["metric", "model", *(cell for column in further for cell in column.cells)]
    frame, columns = grid_sheet(
        rows, keys, "problem", selection.present_problems(rows), roster, block, theirs=theirs
    )
    metric = text_column("", "metric", lambda name: str(name).capitalize(), once=True)
    return Sheet(
        title,
        frame,
        (metric, *model_columns(frame, *further), *columns),
        _notes(frame),
        group="metric",
    )


def grid_sheet(
    rows: pd.DataFrame,
    row_keys: Sequence[str],
    column: str,
    values: Sequence[str],
    roster: Roster,
    table: str,
    over: str = "",
    theirs: pd.DataFrame | None = None,
) -> tuple[pd.DataFrame, list[SheetColumn]]:
    """Means by row and column, and the paper's row below ours where it has one, or all of
    ``theirs``.
    """
    keys = list(row_keys)
    ours = _certain(rows).assign(source=OURS)
    theirs = _published(rows, keys, column, roster, table) if theirs is None else theirs
    every = pd.concat([ours, theirs], ignore_index=True) if len(theirs) else ours
    every["metric"] = every["metric"].fillna("accuracy")
    index = [*dict.fromkeys([*keys, "metric", "source"])]
    wide = every.pivot(index=index, columns=column, values=["mean", "conf95"])
    frame = pd.DataFrame(index=wide.index)
    for value in values:
        frame[f"{value}_mean"] = wide["mean"][value]
        frame[f"{value}_conf95"] = wide["conf95"][value]
    frame = _in_order(frame.reset_index(), roster, keys)
    headings = {value: selection.PROBLEM_NAMES.get(value, value) for value in values}
    columns = [
        SheetColumn(
            headings[value],
            ("metric", f"{value}_mean", f"{value}_conf95", "source"),
            _show_either,
            over=over,
        )
        for value in values
    ]
    return frame, columns


def _published(
    rows: pd.DataFrame, keys: list[str], column: str, roster: Roster, table: str
) -> pd.DataFrame:
    """The paper's numbers for the rows that we have, as rows like ours."""
    names = {model: published_name(model, roster[model].name) for model in rows["model"].unique()}
    wide = _paper_rows(keys, column, table, {name: model for model, name in names.items() if name})
    if wide.empty:
        return wide
    asked = rows[[key for key in keys if key in wide]].drop_duplicates()
    return wide.merge(asked, on=list(asked.columns))


def _paper_rows(
    keys: list[str], column: str, table: str, shown: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """The numbers of one of the paper's tables as rows like ours.

    Args:
        keys: columns of a row.
        column: what its columns are.
        table: of the paper.
        shown: the paper's models that are wanted -> our ids of them; None: all under the paper's
            names.
    """
    paper = read_published()
    here = paper[paper["block"] == table].copy()
    if shown is not None:
        here["model"] = here["model"].map(dict(shown))
    here = here[here["model"].notna()]
    if here.empty:
        return here
    here = by_part(here)
    index = [*dict.fromkeys([*keys, "metric", column])]
    return (
        here.pivot_table(index=index, columns="part", values="value")
        .reset_index()
        .assign(source=PAPERS)
    )


def by_part(paper: pd.DataFrame) -> pd.DataFrame:
    """Printed means and half widths with their metric, as shares."""
    return paper.assign(
        part=paper["quantity"].str.endswith("_conf95").map({True: "conf95", False: "mean"}),
        metric=(metric := paper["quantity"].str.removesuffix("_conf95")),
        value=paper["printed"].astype(float) / metric.map({"accuracy": 100, "bias": 1}),
    )


def _in_order(
    frame: pd.DataFrame, roster: Roster, keys: Sequence[str] = ("model", "eval_type")
) -> pd.DataFrame:
    models = roster.in_order(frame["model"])
    orders: dict[str, dict[object, object]] = {
        "model": {model: number for number, model in enumerate(models)},
        "metric": {"accuracy": 0, "bias": 1},
        "problem": {
            problem: number for number, problem in enumerate([*selection.PROBLEM_NAMES, "all"])
        },
        "eval_type": {
            name: selection.rank_of_name(selection.PROMPTINGS, name)
            for name in frame.get("eval_type", [])
        },
        "condition": {
            name: selection.rank_of_name(SETS, name) for name in frame.get("condition", [])
        },
        "source": {OURS: 0, PAPERS: 1},
    }
    columns = [*keys, *(["source"] if "source" in frame else [])]
    rank = [
        tuple(
            orders.get(column, {}).get(value, value)
            for column, value in zip(columns, row, strict=True)
        )
        for row in frame[columns].itertuples(index=False, name=None)
    ]
    named = selection.sorted_by(frame, rank)
    named.insert(0, "name", roster.names(named["model"]))
    return named


def problem_column(name: str = "problem", once: bool = True) -> SheetColumn:
    """A problem as readers know it; any other name is the average of all."""

    def shown(problem: object) -> str:
        return selection.PROBLEM_NAMES.get(str(problem), "Average")

    return text_column("Problem", name, shown, once=once)


def model_columns(frame: pd.DataFrame, *more: SheetColumn) -> list[SheetColumn]:
    """The model's column, further ones, and where a row comes from if any is the paper's."""
    columns = [MODEL_ONCE, *more]
    if (frame["source"] == PAPERS).any():
        columns.append(text_column("From", "source"))
    return columns


def _notes(frame: pd.DataFrame) -> tuple[str, ...]:
    return (UNITS, PUBLISHED) if (frame["source"] == PAPERS).any() else (UNITS,)


@table(
    name="worldsense_comparisons",
    inputs=[Input(Comparisons, name="comparisons")],
    title="Pairs of models",
    section="pairs",
    caption=(
        "Difference of accuracy on the same tuples for each pair of models; interval and p over"
        " skins and abstract problems, with Holm's correction apart for pairs with a rule."
    ),
    when=(outputs.is_asked, outputs.has_pairs),
)
def comparisons(table: pd.DataFrame, roster: Roster) -> Sheet:
    """Every pair of models, and each model with each rule, over all problems. Pairs of two rules
    stay out where there are others.
    """
    sides = table[["model_a", "model_b"]]
    are_rules = sides.map(lambda model: roster[model].is_rule).all(axis=1)
    table = (table if are_rules.all() else table[~are_rules]).rename(
        columns={"condition_a": "condition"}
    )
    name = selection.main_set(table) if len(table) else ""
    rows = table[(table["grouping"] == OVERALL) & (table["condition"] == name)]
    order = {
        model: number
        for number, model in enumerate(roster.in_order([*table["model_a"], *table["model_b"]]))
    }
    rank = [
        (selection.rank_of_name(selection.PROMPTINGS, prompting), order[a], order[b])
        for prompting, a, b in zip(rows["eval_type"], rows["model_a"], rows["model_b"], strict=True)
    ]
    rows = selection.sorted_by(rows, rank)
    frame = rows.assign(
        name_a=roster.names(rows["model_a"]),
        name_b=roster.names(rows["model_b"]),
    )
    return Sheet(
        title=f"WorldSense ({name}): pairs of models on the same tuples.",
        frame=frame,
        columns=(
            text_column("Prompting", "eval_type", once=True),
            text_column("Model A", "name_a", once=True),
            text_column("Model B", "name_b"),
            number_column("A", "mean_a"),
            number_column("B", "mean_b"),
            number_column("A − B", "difference"),
            INTERVAL,
            number_column("p (Holm)", "p_holm", show_p),
            DETECTABLE,
            number_column("Skins", "n_clusters", whole_number),
            number_column("Tuples", "n", whole_number),
        ),
        notes=(
            "Intervals (not corrected) and p generalise to other skins and abstract problems:"
            " the variance component of each has its own quantile of Student's t.",
            MORE_THAN_POSSIBLE,
        ),
        finding=pairs_finding(frame),
        group="eval_type",
    )


@table(
    name="worldsense_reproduction",
    inputs=[Input(Reproduction, name="reproduction")],
    title="Published numbers",
    section="published",
    caption=("The numbers in tables and text of the WorldSense paper, next to those of this run."),
    when=outputs.is_asked,
)
def reproduction(table: pd.DataFrame, provenance: Provenance, roster: Roster) -> Sheet:
    """Every printed number next to ours."""
    labels = {
        "within_rounding": "equal as printed",
        "differs": "differs",
        "not_run": "not run",
        "not_comparable": "not comparable",
    }
    frame = table.assign(shown=table["status"].map(labels))
    compared = table["status"].isin(["within_rounding", "differs"])
    return Sheet(
        title=(
            "WorldSense: the paper's numbers next to those of this run."
            if compared.any()
            else "WorldSense: this study ran none of the paper's models."
        ),
        frame=frame,
        columns=(
            text_column("Table", "block", lambda name: str(name).removeprefix("table"), once=True),
            text_column("Model", "model", once=True),
            text_column("Prompting", "eval_type", once=True),
            text_column("Group", "group"),
            text_column("Quantity", "quantity"),
            number_column("Paper", "printed", as_text),
            number_column("Ours", "ours_printed", as_text),
            text_column("", "shown"),
        ),
        notes=(
            str(provenance.details.get("summary", "")),
            f"Source: {SOURCE}. Models that were not run are left out.",
        ),
        group="block",
        hidden=("shown",),
        printed=tuple(table.index[compared]) if compared.any() else tuple(table.index[:0]),
    )
