"""Displays of learning curves show what the analysis computed: of two invented trainings, one of
them with three seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.analysis.reproduction import people_of_paper, read_published
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.paths import RESOURCES
from worldprobe.provenance import Provenance
from worldprobe.report import style
from worldprobe.report.model_names import HUMAN, Roster
from worldprobe_lab.contracts import ALL_SEEDS, NEVER
from worldprobe_lab.curves import agree_on_order, trace
from worldprobe_lab.learning_curves import (
    PEOPLE,
    PEOPLE_OF_PAPER,
    _between,
    _step,
    draw_onsets,
    learning_displays,
)

DISPLAYS = {one.name: one for one in learning_displays("ewok", ["domain"], "concept", Summaries)}
GROUPS = {"overall": ["all"], "domain": ["early", "later", "last"], "concept": ["left", "right"]}
NOBODY = pd.DataFrame(
    columns=["model", "condition", "metric", "grouping", "group", "mean", "low", "high"]
).astype({"mean": float, "low": float, "high": float})
STEPS = (1, 10, 100, 1000, 10000)
#: Series -> its trainings and their seeds.
TRAININGS = {
    "small": {"small": "one"},
    "large": {f"large.seed-{seed}": str(seed) for seed in range(3)},
}
#: So many groups of a grouping are traced, each of which is learned at another place; further ones
#: repeat all but the first.
TRACED = len(STEPS) + 1


def trace_learning(
    groups: Mapping[str, Sequence[str]], eval_type: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Curves and onsets: groups are learned one after the other, and the first is forgotten.

    Args:
        groups: grouping -> its groups.
        eval_type: how the models were asked.
    """
    return _traced(tuple((grouping, tuple(names)) for grouping, names in groups.items()), eval_type)


@cache
def _traced(
    groups: tuple[tuple[str, tuple[str, ...]], ...], eval_type: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    curves, onsets = [], []
    for series, seeds in TRAININGS.items():
        rows = []
        for model, seed in seeds.items():
            for grouping, names in groups:
                for number, group in enumerate(names[:TRACED]):
                    for place, step in enumerate(STEPS):
                        learned = 0.35 if place > number % len(STEPS) else 0.0
                        forgotten = 0.2 if number == 0 and step == STEPS[-1] else 0.0
                        for cluster in range(6):
                            key = (
                                series,
                                model,
                                seed,
                                step,
                                eval_type,
                                grouping,
                                group,
                                str(cluster),
                                "",
                                "",
                            )
                            rows.append(
                                (
                                    *key,
                                    float(
                                        np.clip(
                                            0.5 + learned - forgotten + rng.normal(0, 0.03), 0, 1
                                        )
                                    ),
                                    4,
                                )
                            )
        columns = [
            "series",
            "model",
            "seed",
            "step",
            "eval_type",
            "grouping",
            "group",
            "cluster",
            "condition",
            "stratum",
            "mean",
            "n",
        ]
        found = trace(
            pd.DataFrame(rows, columns=columns),
            "steps",
            dict.fromkeys(dict(groups), "pairs of concepts"),
        )
        curves.append(found[0])
        onsets.append(found[1])
    return _repeat(pd.concat(curves), groups), _repeat(pd.concat(onsets), groups)


def _repeat(table: pd.DataFrame, groups: tuple[tuple[str, tuple[str, ...]], ...]) -> pd.DataFrame:
    """The rows of all groups, from those of the traced ones."""
    rows = [table]
    for grouping, names in groups:
        for number, group in enumerate(names[TRACED:], TRACED):
            traced = names[1 + (number - 1) % len(STEPS)]
            rows.append(
                table[(table["grouping"] == grouping) & (table["group"] == traced)].assign(
                    group=group
                )
            )
    return pd.concat(rows, ignore_index=True)


@pytest.fixture(scope="module")
def traced() -> tuple[pd.DataFrame, pd.DataFrame]:
    return trace_learning(GROUPS, "logprobs")


def test_a_figure_shows_the_means_and_bands_that_were_computed(traced):
    curves = traced[0]
    shown = DISPLAYS["ewok_learning_curves"](curves, NOBODY, roster=Roster())
    key = ["model", "seed", "grouping", "group", "step"]
    computed = curves[curves["grouping"] != "concept"].set_index(key).sort_index()
    columns = ["mean", "band_low", "band_high"]
    shown = shown.set_index(key).sort_index()
    assert shown.index.tolist() == computed.index.tolist()
    assert np.array_equal(shown[columns].to_numpy(float), computed[columns].to_numpy())
    mapped = DISPLAYS["ewok_curve_map"](curves, roster=Roster())
    assert set(mapped["group"]) == set(GROUPS["concept"])
    assert set(mapped["seed"]) == {"one", ALL_SEEDS}, "the mean over seeds, or the only training"


def cells_of(curves: pd.DataFrame) -> pd.DataFrame:
    """Cells of two clusters that are alike."""
    single = curves[curves["seed"] != ALL_SEEDS].assign(condition="", stratum="", n=4)
    return pd.concat([single.assign(cluster=name) for name in "ab"])


def test_tables_print_the_onsets_spreads_and_agreements_that_were_computed(traced):
    curves, onsets = traced
    sheet = DISPLAYS["ewok_onset_table"](onsets, roster=Roster())
    printed = {column.heading: column for column in sheet.columns}
    computed = onsets.set_index(["series", "seed", "group"])
    assert len(sheet.frame) == 2 * 4
    for _, row in sheet.frame.iterrows():
        one = computed.loc[(row["series"], row["seed"], row["group"])]
        assert printed["Exceeded for good from"].show(row["onset"]) == _step(one["onset"])
        assert printed["95% interval"].show(row["ci_low"], row["ci_high"]) == _between(
            one["ci_low"], one["ci_high"]
        )
        assert printed["Fall"].show(row["fall"]) == f"{one['fall']:.3f}"
    assert any("cannot be compared" in note for note in sheet.notes)
    one_level = DISPLAYS["ewok_onset_table"](onsets.assign(level=0.6), roster=Roster())
    assert not any("cannot be compared" in note for note in one_level.notes)
    agreements = agree_on_order(onsets, cells_of(curves))
    order = DISPLAYS["ewok_onset_order"](agreements, roster=Roster())
    assert len(order.frame) == len(agreements) > 0
    headings = [column.heading for column in order.columns]
    assert headings[5:] == ["Level", "different items", "95% interval", "these items", "Groups"]
    sheet = DISPLAYS["ewok_curve_spread"](curves, roster=Roster())
    spread = sheet.frame
    last = curves[
        (curves["grouping"] == "overall")
        & (curves["step"] == 10000)
        & (curves["seed"] == ALL_SEEDS)
    ].iloc[0]
    assert spread.set_index("series").loc["large", "between_seeds"] == last["between_seeds"]
    assert spread.set_index("series").loc["large", "half"] == pytest.approx(
        (last["ci_high"] - last["ci_low"]) / 2
    )
    large = spread.set_index("series").loc["large"]
    assert large["step"] == 10000
    assert large[["mean", "ci_low", "ci_high"]].tolist() == (
        last[["mean", "ci_low", "ci_high"]].tolist()
    )
    ends = curves[
        (curves["grouping"] == "concept")
        & (curves["step"] == 10000)
        & (curves["seed"] == ALL_SEEDS)
    ]
    assert large["n_groups"] == 2
    assert large["n_above"] == (ends["ci_low"] > 0.5).sum()


def test_a_censored_onset_names_the_level_that_the_curve_stayed_below(traced):
    """A curve that rises to 0.53 was "not yet" in 43% of simulated trainings, though it had
    learned something.
    """
    onsets = traced[1].assign(status=NEVER, onset=np.nan, level=0.5512)
    sheet = DISPLAYS["ewok_onset_table"](onsets, roster=Roster())
    assert set(sheet.frame["state"]) == {"below 0.551"}


def test_onsets_of_different_levels_are_not_put_in_order(traced):
    """Of 20 curves, one rises at once and one late, each above a level of its own."""
    onsets = traced[1]
    style.apply_settings()
    for level, note in ((0.6, False), (np.linspace(0.55, 0.7, len(onsets)), True)):
        shown = DISPLAYS["ewok_onsets"](onsets.assign(level=level), roster=Roster())
        figure = draw_onsets(style.from_csv(style.to_csv(shown), style.text_columns(shown)))
        assert any("cannot be compared" in text.get_text() for text in figure.texts) == note
        levels = [text.get_text() for text in figure.axes[0].texts]
        assert levels[0] == "level"
        assert levels[1:] == ["0.60"] * 4 or note


def test_people_are_those_of_the_study_or_else_of_the_paper_where_its_items_are_asked(traced):
    own = {
        "model": HUMAN,
        "condition": "all",
        "metric": "accuracy",
        "grouping": "overall",
        "group": "all",
    }
    asked = pd.DataFrame([{**own, "mean": 0.9, "low": 0.8, "high": 1.0}])
    papers = Provenance(
        details={
            "people": [
                {"grouping": "overall", "group": "all", "mean": 0.951, "low": 0.942, "high": 0.957}
            ]
        }
    )
    build = DISPLAYS["ewok_learning_curves"]

    def people(summaries, provenance):
        shown = build(traced[0], summaries, roster=Roster(), provenance=provenance)
        return shown.loc[shown["model"] == HUMAN, ["name", "mean"]].to_numpy().tolist()

    assert people(asked, papers) == [[PEOPLE, 0.9]]
    assert people(NOBODY, papers) == [[PEOPLE_OF_PAPER, 0.951]]
    assert people(NOBODY, Provenance()) == []


def test_the_papers_people_have_a_mean_overall_and_in_each_domain():
    found = people_of_paper(read_published(RESOURCES / "published")).set_index("group")["mean"]
    assert (len(found), found["all"], found["spatial-relations"]) == (12, 0.951, 0.958)


def test_every_table_is_printed_and_every_figure_drawn(traced):
    curves, onsets = traced
    tables = {"curves": curves, "onsets": onsets, "summaries": NOBODY}
    tables["order_agreements"] = agree_on_order(onsets, cells_of(curves))
    style.apply_settings()
    for display in DISPLAYS.values():
        shown = display(*(tables[one.name] for one in display.inputs), roster=Roster())
        if display.kind == "table":
            assert len(shown.frame)
        else:
            saved = style.from_csv(style.to_csv(shown), style.text_columns(shown))
            assert display.draw(saved).axes
