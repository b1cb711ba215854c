"""Accuracy in worlds in motion, by changes that are stated and by changes that count."""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmark import Study, figure, table
from worldprobe.benchmarks.worldsense import selection
from worldprobe.benchmarks.worldsense.figures import by_axis
from worldprobe.benchmarks.worldsense.outputs import asked_sets, has_any, is_asked
from worldprobe.benchmarks.worldsense.tables import UNITS, grid_sheet, model_columns, problem_column
from worldprobe.report.lines import draw_lines
from worldprobe.report.model_names import Roster, sort_by
from worldprobe.report.sheet import Sheet, text_column
from worldprobe_lab.problem_families import MOTION

#: Grouping of the summaries -> its column, and what that counts.
BY_CHANGES = {
    "problem_updates": ("updates", "changes"),
    "problem_counted": ("counted", "changes that count"),
}


def has_motion(study: Study) -> bool:
    """Whether things change in any set."""
    return has_any(study, asked_sets(study), MOTION.problems)


def by_changes(summaries: pd.DataFrame) -> pd.DataFrame:
    """Rows of problems in motion by how many changes are stated and how many count (``axis``,
    ``number``).
    """
    parts = []
    for grouping, (column, axis) in BY_CHANGES.items():
        rows = selection.pick(summaries, grouping, columns=("problem", column))
        rows = rows[rows["problem"].isin(MOTION.problems)]
        parts.append(rows.assign(axis=axis, number=rows[column].astype(int)))
    return pd.concat(parts, ignore_index=True)


@table(
    name="worldsense_motion",
    inputs=[selection.SUMMARIES],
    title="Changes",
    section="difficulty",
    caption=(
        "Accuracy in worlds in motion by set, problem, number of stated changes, and number of"
        " changes that matter to the question."
    ),
    when=(is_asked, has_motion),
)
def motion(summaries: pd.DataFrame, roster: Roster) -> Sheet:
    """Accuracy by set, problem, changes that are stated and changes that count."""
    rows = by_changes(summaries)
    rows = rows[rows["eval_type"] == rows["model"].map(selection.main_promptings(rows))]
    numbers = [str(number) for number in sorted(set(rows["number"]))]
    rows = rows.assign(number=rows["number"].astype(str))
    frame, columns = grid_sheet(
        rows, ["axis", "condition", "problem", "model"], "number", numbers, roster, ""
    )
    return Sheet(
        title=("WorldSense in motion: accuracy by stated changes, and by changes that count."),
        frame=frame,
        columns=(
            text_column("By", "axis", once=True),
            text_column("Set", "condition", once=True),
            problem_column(),
            *model_columns(frame),
            *columns,
        ),
        notes=(
            (
                "Changes that count come before the moment asked about, and exclude the omitted"
                " one. From three on, following only the entities asked about gives the right"
                " answer in half of the inference and consistency problems."
            ),
            UNITS,
        ),
        group="axis",
    )


@figure(
    name="worldsense_motion",
    inputs=[selection.SUMMARIES],
    title="Changes",
    section="difficulty",
    caption=(
        "Accuracy in worlds in motion by number of stated changes and of changes that matter to the"
        " question, with 95% intervals over skins; grey: nowhere shown to differ from chance."
    ),
    when=(is_asked, has_motion),
)
def motion_lines(summaries: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """By changes that are stated and changes that count, in the first set in motion."""
    rows = selection.of_main(by_changes(summaries))
    rows = sort_by(rows, "problem", MOTION.problems)
    panel = rows["problem"].map(selection.PROBLEM_NAMES)
    return by_axis(rows.assign(panel=panel, x=rows["number"]), roster)


motion_lines.drawn_by(draw_lines)
