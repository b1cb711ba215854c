"""Tables of the statistics: regressions (Table 3), correlations, comparisons, reproduction; the
size of studies and pooling.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pandas as pd

from worldprobe.benchmark import Display, Input, table
from worldprobe.benchmarks.ewok.analysis.panel import (
    drawn_units,
    interval_notes,
    own_fillings_notes,
)
from worldprobe.benchmarks.ewok.contracts import (
    A_VALUE,
    Coefficients,
    Comparisons,
    Correlations,
    Reproduction,
)
from worldprobe.benchmarks.ewok.options import EVAL_TYPE, FIT, POINT, POINTS
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.study import (
    has_comparisons,
    has_logprobs,
    has_mixed_model,
    has_other_materials,
)
from worldprobe.benchmarks.ewok.vocabulary import BASELINE_FEATURES
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe.report.findings import pairs_finding, which_tests
from worldprobe.report.model_names import Roster, counted
from worldprobe.report.sheet import (
    ABSENT,
    MODEL,
    MORE_THAN_POSSIBLE,
    PAIR_COLUMNS,
    Sheet,
    SheetColumn,
    as_text,
    decimals,
    is_absent,
    number_column,
    show_p,
    text_column,
    whole_number,
)

GROUP_NAMES = {
    "domain": "Domain",
    "context_contrast": "Context contrast",
    "target_contrast": "Target contrast",
    "context_type": "Context type",
    "surface_features": "Surface features",
}
FEATURE_NAMES = BASELINE_FEATURES | {
    "n_words": "Number of words",
    "log_frequency": "Word frequency",
}
#: Why judgements have no metric but accuracy.
EARLIER = "judgements of an earlier worldprobe lack it; judge the scores again."
#: models that a note names; of more it says how many.
MOST_NAMED = 4
CLUSTERS = {"domain_version": "domains", "item": "pairs of concepts"}
FIXED_NOTE = (
    "Standard errors are over items. Items that share templates or pairs of concepts count as"
    " independent, so p values are too small."
)
STARS_NOTE = "* p < 0.05, ** p < 0.01, *** p < 0.001."
FOUND_NOTE = "Detectable: the smallest true effect that 80% of such studies would find (p < 0.05)."


@table(
    inputs=[Correlations],
    title="Correlations",
    section="design",
    caption=(
        "Pearson's correlation of each model's accuracy with the accuracy of baselines, the number"
        " of words and word frequency. Like Figure 5, D to F, of the EWoK paper."
    ),
    when=has_logprobs,
    options=[EVAL_TYPE, POINT],
)
def correlations(
    table: pd.DataFrame, roster: Roster, eval_type: str = "logprobs", points: str = "domain_version"
) -> Sheet:
    """Pearson's r between accuracy and each surface feature, a row per model (Figure 5 D-F in
    numbers).
    """
    wanted = table[(table.unit == points) & table.eval_type.isin([eval_type, "human_likert"])]
    if not (wanted.eval_type == eval_type).any():
        eval_types = sorted(set(table.eval_type[table.unit == points]))
        problem = f'there is no eval_type "{eval_type}" in these correlations.'
        raise UserError(
            "correlations",
            problem,
            f"They have: {', '.join(eval_types)}. Correlate the judgements of such a run.",
        )
    order = roster.in_order(wanted.model)
    frame = pd.DataFrame({"model": order, "name": roster.names(order)})
    columns = [MODEL]
    for feature, heading in FEATURE_NAMES.items():
        rows = wanted[wanted.feature == feature].set_index("model")
        if rows.empty:
            continue
        for part in ("r", "stars", "p", "detectable", "ci_low", "ci_high", "p_paper", "n"):
            frame[f"{feature}_{part}"] = rows[part].reindex(order).tolist()
        columns += [
            SheetColumn("r", (f"{feature}_r", f"{feature}_stars"), _with_stars, over=heading),
            SheetColumn(
                "95% interval", (f"{feature}_ci_low", f"{feature}_ci_high"), _interval, over=heading
            ),
            number_column("detectable", f"{feature}_detectable", decimals(2), over=heading),
        ]
    counts = sorted({int(n) for n in wanted.n})
    n_points = (
        whole_number(counts[0])
        if len(counts) == 1
        else f"{whole_number(counts[0])} to {whole_number(counts[-1])}"
    )
    return Sheet(
        title=(
            f"Correlation of accuracy ({in_words(eval_type)}) with surface features"
            f" ({POINTS[points]})."
        ),
        frame=frame,
        columns=tuple(columns),
        notes=(
            STARS_NOTE,
            f"Pearson's r over {n_points} points. Interval and stars: a jackknife of Fisher's z"
            f" that leaves out {CLUSTERS[points]} and versions one by one. A single domain that"
            " decides r makes an interval wide. Detectable: the smallest true r that 80% of such"
            " studies would find (p < 0.05). The paper's stars (p_paper in the CSV) treat points"
            " as independent and are too many.",
            "A dash: no variation, or too few points.",
        ),
    )


@table(
    inputs=[Input(Coefficients, "regression/mixed_model.parquet")],
    title="Mixed model",
    section="design",
    caption=(
        "Mixed-effects logistic regression of accuracy on domain, design and surface features"
        " (lme4). EWoK, Appendix A.5 and Table 3."
    ),
    when=has_mixed_model,
    options=[FIT],
)
def mixed_model(
    coefficients: pd.DataFrame, provenance: Provenance, roster: Roster, fit: str = "mixed_model"
) -> Sheet:
    """The regression with random effects; notes state the formula and what was dropped of it."""
    return _regression(coefficients, provenance, roster, fit)


@table(
    inputs=[Input(Coefficients, "regression/fixed_effects.parquet")],
    title="Fixed effects",
    section="design",
    caption=(
        "The mixed model's fixed effects alone, as a cross-check without R. EWoK, Appendix A.5."
    ),
    when=has_logprobs,
)
def fixed_effects(coefficients: pd.DataFrame, provenance: Provenance, roster: Roster) -> Sheet:
    """The same of the regression without random effects."""
    return _regression(coefficients, provenance, roster, "fixed_effects")


def _regression(
    coefficients: pd.DataFrame, provenance: Provenance, roster: Roster, fit: str
) -> Sheet:
    """Fixed effects with standard errors, z and p (of the mixed model also stars); the fit's own
    messages below (Table 3; Appendix A.5).

    Args:
        coefficients: the Coefficients table, of one fit or several.
        provenance: of that table; ``details["notes"]`` contains what the fit said about convergence
            and singularity.
        roster: names of the models.
        fit: which fit to print.
    """
    fits = list(dict.fromkeys(coefficients.fit))
    if fit not in fits:
        problem = f'the table has no fit "{fit}".'
        raise UserError(
            "--fit",
            problem,
            f"It has: {', '.join(fits) or 'none'}. Give the coefficients of that fit.",
        )
    frame = (
        coefficients[coefficients.fit == fit]
        .sort_values("position", kind="stable")
        .reset_index(drop=True)
    )
    frame = frame.assign(group_name=frame.group.map(GROUP_NAMES))
    is_mixed = fit == "mixed_model"
    kind = (
        "Mixed effects logistic regression"
        if is_mixed
        else "Logistic regression, fixed effects only"
    )
    return Sheet(
        title=f"{kind}: accuracy by domain, design and surface features (log odds).",
        frame=frame,
        columns=(
            text_column("Predictor type", "group_name", once=True),
            text_column("Predictor", "label", in_words),
            SheetColumn(
                "Effect", ("estimate", "stars") if is_mixed else ("estimate",), _with_stars
            ),
            number_column("SE", "std_error", decimals(2)),
            number_column("t" if frame.df.notna().any() else "z", "z", decimals(2)),
            number_column("p", "p", show_p),
            number_column("Detectable", "detectable", decimals(2)),
        ),
        notes=(
            STARS_NOTE if is_mixed else FIXED_NOTE,
            *_regressed(provenance, roster),
            FOUND_NOTE,
            *_fit_notes(provenance),
        ),
        group="group",
    )


def _regressed(provenance: Provenance, roster: Roster) -> list[str]:
    """A note on whose judgements were explained."""
    models = provenance.details.get("models", [])
    named = f": {', '.join(roster.names(models))}" if len(models) <= MOST_NAMED else ""
    apart = (
        "" if any(roster[model].is_control for model in models) else " Control models are left out."
    )
    return [f"Answers of {counted(len(models), 'model')}{named}.{apart}"] if models else []


def _with_stars(estimate: Any, stars: str = "") -> str:
    return ABSENT if is_absent(estimate) else f"{decimals(2)(estimate)} {stars}".rstrip()


def _fit_notes(provenance: Provenance) -> list[str]:
    notes = provenance.details.get("notes", [])
    return [notes] if isinstance(notes, str) else [str(note) for note in notes]


def _interval(low: Any, high: Any) -> str:
    return (
        as_text(None)
        if is_absent(low) or is_absent(high)
        else f"{decimals(2)(low)} to {decimals(2)(high)}"
    )


#: Statuses of the reproduction table as printed; numbers that were not run are in the CSV only.
STATUS_NAMES = {
    "within_rounding": "yes",
    "differs": "no",
    "not_comparable": "not comparable",
    "not_run": "not run",
}
BLOCK_NAMES = {
    "table1": "Table 1",
    "table2": "Table 2",
    "mixed_model": "Mixed model",
    "likert_strict": "Strict Likert",
    "text": "Text",
}


@table(
    inputs=[Reproduction],
    title="Published numbers",
    section="reproduction",
    caption=(
        "The EWoK paper's printed numbers next to those of this run, where it asked the same models"
        " about the same items; with the difference, whether it is within rounding, and why not,"
        " if known."
    ),
    when=has_other_materials,
)
def reproduction(table: pd.DataFrame, provenance: Provenance, roster: Roster) -> Sheet:
    """Published numbers next to ours; the note counts rows that were not run, the CSV lists them.

    Args:
        table: the Reproduction table.
        provenance: of that table; ``details["summary"]`` is its summary line.
        roster: names of the models.
    """
    frame = table.assign(
        block_name=table.block.map(lambda block: BLOCK_NAMES.get(block, in_words(block))),
        of=[_of_what(row, roster) for row in table.to_dict("records")],
        within=table.status.map(STATUS_NAMES),
        rank=table.compared_with.map({"ours": 0, "repository": 1}),
        against=table.compared_with.map({"ours": "ours", "repository": "authors' repository"}),
    )
    frame = (
        frame.sort_values(["rank", "position"], kind="stable")
        .drop(columns="rank")
        .reset_index(drop=True)
    )
    shown = frame[frame.status != "not_run"]
    n_hidden = len(frame) - len(shown)
    notes = [str(provenance.details.get("summary", ""))]
    if shown.empty:
        notes.append("This study ran none of the paper's models on its items.")
    if n_hidden:
        notes.append(
            f"The CSV file also lists {whole_number(n_hidden)} published numbers that were not run."
        )
    return Sheet(
        title=(
            "Published numbers next to ours, and next to those of the authors' repository."
            if len(shown)
            else "No published number can be compared."
        ),
        frame=frame,
        columns=(
            text_column("Published in", "block_name", once=True),
            text_column("Number", "of"),
            number_column("Published", "printed", as_text),
            text_column("Compared with", "against", once=True),
            number_column("Value", "ours_printed", as_text),
            number_column("Difference", "difference", decimals(4)),
            text_column("Within rounding", "within"),
            text_column("Why not", "reason"),
        ),
        notes=tuple(note for note in notes if note),
        group="block_name",
        printed=tuple(shown.index),
    )


def _of_what(row: dict[Hashable, Any], roster: Roster) -> str:
    """Name of the number of its table that a line is about."""
    parts = [roster[row["model"]].name] if isinstance(row["model"], str) else []
    parts += [
        in_words(row[name])
        for name in ("eval_type", "group")
        if isinstance(row[name], str) and row[name] not in ("logprobs", "human_likert")
    ]
    return ", ".join([*parts, in_words(row["quantity"])])


def _left_out(rows: pd.DataFrame) -> list[str]:
    """A note on targets that only one of two models has an accuracy of."""
    n_missing = rows["n_missing_a"] + rows["n_missing_b"]
    if not n_missing.any():
        return []
    return [
        "Targets without an answer or score of one model are left out of both means, in"
        f" {whole_number((n_missing > 0).sum())} of {whole_number(len(rows))} pairs (at most"
        f" {whole_number(n_missing.max())} targets)."
    ]


def _compared(table: pd.DataFrame, metric: str, provenance: Provenance, roster: Roster) -> Sheet:
    """Paired comparisons of models over all items: difference, interval, test.

    Args:
        table: the Comparisons table.
        metric: one of ``contracts.COMPARED``.
        provenance: of that table; it says what the interval is over, and which pairs could not be
            compared.
        roster: names of the models.
    """
    units = drawn_units(provenance)
    is_shown = (table.grouping == "overall") & (table.metric == metric)
    overall = table[is_shown].reset_index(drop=True)
    lacking = provenance.details.get("lacking", {}).get(metric, EARLIER)
    pairs = table[["model_a", "model_b"]].drop_duplicates()
    overall_pairs = set(zip(overall.model_a, overall.model_b, strict=True))
    apart = [
        *provenance.details.get("not_compared", []),
        *(pair for pair in pairs.itertuples(index=False, name=None) if pair not in overall_pairs),
    ]
    frame = overall.assign(
        name_a=roster.names(overall.model_a),
        name_b=roster.names(overall.model_b),
    )
    return Sheet(
        title=f"Paired comparisons of models' {metric} over the same items."
        if len(frame)
        else f"Models are not compared by {metric}: {lacking}",
        frame=frame,
        columns=PAIR_COLUMNS,
        finding=pairs_finding(frame) if len(frame) else "",
        notes=()
        if frame.empty
        else (
            (
                f"95% intervals and two-sided p ({which_tests(frame)}); random factors: {units}."
                " With fewer of these, intervals are wider and Detectable is rougher."
            ),
            *own_fillings_notes(frame, bool(provenance.details.get("own_fillings"))),
            MORE_THAN_POSSIBLE,
            *interval_notes(frame),
            *_left_out(frame),
            *(
                f"{roster[a].name} and {roster[b].name} are not compared: no item has"
                f" {A_VALUE[metric]} of both."
                for a, b in apart
            ),
        ),
    )


def _comparisons(metric: str) -> Display:
    """The table of comparisons by a metric."""
    is_paired = metric == "pairing"

    @table(
        name="comparisons_pairing" if is_paired else "comparisons",
        inputs=[Comparisons],
        title="Pairwise comparisons" + (" by pairing" if is_paired else ""),
        section="comparisons",
        caption=(
            f"Difference of mean {metric} on the same items for each pair of models, and of each"
            " model with each baseline; paired test, with Holm's correction apart for pairs with a"
            " baseline."
        ),
        when=(has_logprobs, has_comparisons),
    )
    def comparisons(table: pd.DataFrame, provenance: Provenance, roster: Roster) -> Sheet:
        return _compared(table, metric, provenance, roster)

    return comparisons


comparisons = _comparisons("accuracy")
comparisons_pairing = _comparisons("pairing")
