"""An audit as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from worldprobe.benchmarks.worldsense.trials.audit import Audit

_FORMS = {2: "binary", 3: "ternary"}


def write_audit(audit: Audit, name: str, *, is_from_text: bool = False) -> str:
    """A readable summary: agreement, wrong tuples with reasons, what gives answers away, imbalance.

    Args:
        audit: what was found.
        name: the file that was audited.
        is_from_text: whether the texts decided.
    """
    seen = ", which read every text" if is_from_text else ""
    table = audit.agreement
    n_trials, n_agree = int(table["trials"].sum()), int(table["agree"].sum())
    lines = [
        f"{name}: {n_trials:,} trials in {int(table['tuples'].sum()):,} tuples",
        "",
        f"Gold answers: {n_agree:,} of {n_trials:,} agree with the solver{seen} ({100 * n_agree / n_trials:.3f} %)",
        "",
        *_columns(
            ("problem", "trials", "agree", "tuples", "tuples with a wrong gold answer"),
            [
                (row["problem"], *(f"{row[column]:,}" for column in ("trials", "agree", "tuples", "wrong_tuples")))
                for row in table.to_dict("records")
            ],
        ),
        *_wrong(audit.wrong),
        *_given_away(audit),
        *_imbalance(audit.imbalance),
    ]
    return "\n".join(lines)


def _wrong(wrong: pd.DataFrame) -> list[str]:
    if wrong.empty:
        return ["", "No gold answer is wrong."]
    counts = wrong.groupby(["problemname", "problemsize", "released_gold", "solver_gold", "reason"], sort=True).size()
    groups = counts.rename("trials").reset_index().to_dict("records")
    rows = [
        (g["problemname"], str(g["problemsize"]), f"{g['released_gold']} -> {g['solver_gold']}", f"{g['trials']:,}", g["reason"])
        for g in groups
    ]
    first = wrong.drop_duplicates("tuple_ID")["tuple_ID"]
    return [
        "",
        f"Wrong gold answers: {len(wrong):,} trials in {len(first):,} tuples (--out FILE.csv lists every trial)",
        "",
        *_columns(("problem", "size", "gold -> right", "trials", "reason"), rows),
    ]


def _given_away(audit: Audit) -> list[str]:
    stated = audit.stated[audit.stated["stated"] > 0]
    found = stated.to_dict("records")
    rows = [(row["problem"], _FORMS[row["arity"]], f"{row['stated']:,} of {row['tuples']:,}") for row in found]
    lines = ["", "Queries that the description states literally (consistency: inserted relations that repeat one)", ""]
    lines += _columns(("problem", "query", "tuples"), rows) if rows else ["  none"]
    n_texts, n_contradictory = audit.repeated
    lines += ["", f"Texts that occur more than once: {n_texts:,} ({n_contradictory:,} of them with different gold answers)"]
    lines += [f"Tuples whose trials differ in the query's form, which gives the answer away: {audit.mixed_arity:,}"]
    return lines


def _imbalance(table: pd.DataFrame) -> list[str]:
    uneven = table[(table["least"] != table["most"]) | ~table["gold_balanced"]]
    rows = [
        (r["problem"], r["property"], f"{r['least']:,}", f"{r['most']:,}", "equal" if r["gold_balanced"] else "NOT equal")
        for r in uneven.to_dict("records")
    ]
    lines = ["", "Imbalance: properties whose values have unequal numbers of trials, and gold answers within each value", ""]
    return lines + (_columns(("problem", "property", "least", "most", "gold answers"), rows) if rows else ["  none"])


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows under their header; columns of numbers to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    is_number = [all(row[i].replace(",", "").isdecimal() for row in rows) for i in range(len(header))]
    return [
        "  "
        + "  ".join(f"{cell:>{w}}" if n else f"{cell:<{w}}" for cell, w, n in zip(row, widths, is_number, strict=True)).rstrip()
        for row in [header, *rows]
    ]
