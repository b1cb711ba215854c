"""Printed tables: the numbers of the summaries, in three forms that can be trusted."""

from __future__ import annotations

import io
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldprobe.benchmarks.ewok import report
from worldprobe.benchmarks.ewok.contracts import Reproduction, Summaries
from worldprobe.benchmarks.ewok.figures import accuracy as figures
from worldprobe.benchmarks.ewok.tables import accuracy, materials, statistics
from worldprobe.benchmarks.ewok.tables.models import domains_by_model
from worldprobe.benchmarks.ewok.vocabulary import RELIABILITY
from worldprobe.models.registry import BASELINES
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster, ShownModel
from worldprobe.report.sheet import decimals, read_printed, span
from worldprobe_authoring import displays as authors
from worldprobe_training.control_displays import by_dose, control_accuracy


def summary(model: str, mean: float, low: float, high: float, **more) -> dict:
    row = dict.fromkeys(Summaries.columns, 0) | {"model": model, "eval_type": "logprobs"}
    row |= {"metric": "accuracy", "grouping": "overall", "group": "all", "condition": "all"}
    return row | {"mean": mean, "low": low, "high": high, "status": "ok"} | more


@pytest.fixture
def two_models() -> pd.DataFrame:
    """Numbers that the eye can check."""
    rows = [
        summary("gpt2_xl", 0.655, 0.645, 0.662, ci_low=0.64, ci_high=0.67),
        summary("phi_1", 0.5218, 0.5171, 0.5304, ci_low=0.5, ci_high=0.54),
        summary("human", 0.951, 0.942, 0.957, eval_type="human_likert"),
    ]
    return pd.DataFrame(rows)


ROSTER = Roster(
    {
        "gpt2_xl": ShownModel("gpt2_xl", "GPT-2 XL", position=0),
        "phi_1": ShownModel("phi_1", "Phi_1 & co", position=1),
    }
)


def test_table_1_prints_mean_and_range_as_the_paper_does(two_models):
    sheet = accuracy.mean_accuracy(two_models, ROSTER)
    assert [row[:3] for row in sheet.cells()] == [
        ["Humans", "0.951", "0.942–0.957"],
        ["GPT-2 XL", "0.655", "0.645–0.662"],
        ["Phi_1 & co", "0.522", "0.517–0.530"],
    ]
    assert r"Phi\_1 \& co & 0.522 & 0.517--0.530 & 0.500--0.540 \\" in sheet.to_latex("t")


def test_the_csv_holds_the_summaries_numbers_unrounded(paper_study):
    sheet = accuracy.mean_accuracy(paper_study.summaries, paper_study.roster)
    read = pd.read_csv(io.StringIO(sheet.to_csv())).set_index("model")
    rows = paper_study.summaries.query(
        "grouping == 'overall' and metric == 'accuracy' and condition == 'all'"
    )
    rows = rows[rows.eval_type.isin(["logprobs", "human_likert", *BASELINES])].set_index("model")
    assert set(read.index) == set(rows.index)
    for name in ("mean", "low", "high", "ci_low", "ci_high"):
        assert (read[name] - rows[name]).abs().max() < 1e-8


def test_table_2_takes_best_and_average_over_trained_models_only(small_study):
    sheet = accuracy.accuracy_by_domain(small_study.summaries, small_study.roster)
    rows = small_study.summaries.query(
        "grouping == 'domain' and metric == 'accuracy' and condition == 'all' and eval_type =="
        " 'logprobs'"
    )
    trained = rows[rows.model != "control_untrained"]
    frame = sheet.frame.set_index("domain")
    assert frame.llm_average.to_dict() == pytest.approx(
        trained.groupby("group")["mean"].mean().to_dict()
    )
    assert frame.llm_best.to_dict() == pytest.approx(
        trained.groupby("group")["mean"].max().to_dict()
    )
    assert "Human" not in [column.heading for column in sheet.columns]
    assert "Untrained" in " ".join(sheet.notes)


@pytest.mark.parametrize(("value", "is_sorted"), [(0.31, False), (0.72, True), (None, False)])
def test_domains_are_sorted_by_accuracy_only_where_they_differ_reliably(
    small_study, value, is_sorted
):
    """The default study's profile has a reliability of about 0 and was sorted all the same."""
    summaries = with_reliability(small_study.summaries, value)
    sheet = accuracy.accuracy_by_domain(summaries, small_study.roster)
    assert sheet.frame.llm_average.is_monotonic_decreasing == is_sorted
    assert (sheet.frame.domain.tolist() == sorted(sheet.frame.domain)) == (not is_sorted)
    note = " ".join(sheet.notes)
    assert ("do not differ reliably" in note) == (value == 0.31)
    assert ("not known" if value is None else f"0.30 to {value + 0.01:.2f}") in note
    frame = figures.accuracy_by_domain(summaries, small_study.roster)
    assert list(dict.fromkeys(frame.panel))[:-1] == sheet.frame.domain.tolist()
    assert frame["note"].unique().tolist() == [sheet.notes[1]]
    drawn = figures.draw_by_domain(frame)
    assert "reliability of domains" in drawn.texts[0].get_text()
    domains = report.find_domains(summaries, small_study.roster)[1]
    assert [one.id for one in domains] == sheet.frame.domain.tolist()
    last = list(small_study.roster.models)[-1]
    own = domains_by_model(summaries[summaries["model"] == last], small_study.roster)
    assert own.frame["mean"].is_monotonic_decreasing == is_sorted
    assert (own.frame["group"].tolist() == sorted(own.frame["group"])) == (not is_sorted)
    assert "reliability of domains" in own.notes[1]


def with_reliability(summaries, value):
    """The summaries with the reliability of each model, one of which has 0.3."""
    models = [one for one in summaries.model.unique() if one.startswith("control")]
    if value is None:
        return summaries
    rows = summaries.iloc[[0] * len(models)].assign(
        model=models, eval_type="logprobs", condition="all", metric="accuracy", group="all",
        grouping=RELIABILITY, mean=[0.3, *[value + 0.01] * (len(models) - 1)],
    )  # fmt: skip
    return pd.concat([summaries, rows], ignore_index=True)


def test_table_2_has_the_human_column_where_there_are_ratings(paper_study):
    sheet = accuracy.accuracy_by_domain(paper_study.summaries, paper_study.roster)
    human = paper_study.summaries.query(
        "model == 'human' and grouping == 'domain' and metric == 'accuracy' and condition == 'all'"
    )
    assert sheet.frame.set_index("domain").human.to_dict() == pytest.approx(
        human.set_index("group")["mean"].to_dict()
    )


def test_the_strict_likert_table_takes_the_strict_metric(paper_study):
    sheet = accuracy.likert_strict(paper_study.summaries, paper_study.roster)
    rows = paper_study.summaries.query(
        "grouping == 'overall' and metric == 'strict' and condition == 'all' and eval_type =="
        " 'likert_constrained_two'"
    ).set_index("model")["mean"]
    models = sheet.frame[sheet.frame.kind == "model"].set_index("model")["mean"]
    assert models.to_dict() == pytest.approx(rows.to_dict())
    assert "word2vec" not in set(sheet.frame.model)  # cosines have no Likert ratings


def test_a_paradigm_that_was_not_run_for_a_model_is_a_dash(paper_study):
    summaries = paper_study.summaries
    some = summaries[(summaries.model != "gpt2_xl") | (summaries.eval_type != "choice_free_two")]
    sheet = accuracy.accuracy_by_paradigm(some, paper_study.roster)
    row = next(row for row in sheet.cells() if row[0] == "GPT2-XL")
    headings = [f"{column.over} {column.heading}" for column in sheet.columns]
    assert row[headings.index("Choice free, 2 ex.")] == "–"
    assert row.count("–") == 1


def test_table_3_shows_stars_and_the_fits_own_words(paper_study):
    made_by = Provenance(details={"notes": ["The model is singular: the variance of Item is 0."]})
    sheet = statistics.mixed_model(paper_study.coefficients, made_by, Roster())
    assert "singular: the variance of Item is 0" in sheet.to_markdown()
    first = paper_study.coefficients.sort_values("position").iloc[0]
    assert sheet.cells()[0][2] == f"{first.estimate:.2f} {first.stars}".replace("-", "−")


def test_the_dataset_table_counts_designs():
    design = {"domain": "d", "concept_a": "warm", "concept_b": None, "context_type": "direct"}
    design |= {"target_contrast": "concept swap", "situation": "d_1"}
    templates = pd.DataFrame(
        [
            design | {"concept_b": "cold", "context_contrast": "antonym"},
            design | {"context_contrast": "material", "context_type": "indirect"},
            design | {"domain": "e", "context_contrast": None, "target_contrast": "variable swap"},
        ]
    )
    items = pd.DataFrame({"domain": ["d", "d", "e"], "version": [0, 1, 0]})
    frame = materials.dataset(templates, items).frame.set_index("domain")
    counts = ["n_concept_pairs", "n_situations", "n_concepts", "n_templates", "n_items"]
    assert frame.loc["d", counts].tolist() == [2, 1, 2, 2, 2]
    assert frame.loc["all", counts].tolist() == [3, 1, 2, 3, 3]
    assert frame.loc["d", ["context_antonym", "context_other"]].tolist() == [1, 1]
    assert frame.loc["all", ["target_variable_swap", "type_indirect"]].tolist() == [1, 1]


def test_the_control_models_table_has_the_means_of_each_group_and_dose(small_study):
    accuracies = small_study.control_accuracies
    sheet = control_accuracy(accuracies, small_study.roster)
    row = accuracies.query("group == 'read' and targets == 'variable swap'").iloc[0]
    line = sheet.frame.set_index(["model", "group", "dose"]).loc[(row["model"], "read", 1)]
    assert line["mean_variable_swap"] == row["mean"]


def test_means_by_dose_are_of_the_models_that_read_several(small_study):
    accuracies = small_study.control_accuracies
    means = by_dose(accuracies).set_index(["group", "dose"])
    assert {("read", 1), ("read", 16), ("new_filling", 0), ("new_filling", 16)} < set(means.index)
    assert (means["n_models"] == 2).all()
    often = accuracies.query("dose == 16 and targets == 'all'").groupby("group")["mean"].mean()
    assert means.loc[("read", 16), "mean"] == pytest.approx(often["read"])
    gain = often["read"] - often["new_filling"]
    assert means.loc[("gain", 16), "mean"] == pytest.approx(gain)
    assert f"{gain:.3f} (" in control_accuracy(accuracies, small_study.roster).notes[-1]


@pytest.fixture
def garden_templates() -> pd.DataFrame:
    """Two domains of two pairs of concepts, in which domain and context type go together and
    one target is longer.
    """
    rows = [
        (domain, kind, number, one, other, contrast)
        for domain, kind in (("garden-work", "direct"), ("kitchen-work", "indirect"))
        for number, one, other, contrast in (
            (1, "warm", "cold", "concept swap"),
            (2, "very much wet", "dry", "variable swap"),
        )
    ]
    columns = [
        "domain",
        "context_type",
        "meta_template",
        "concept_a",
        "concept_b",
        "target_contrast",
    ]
    frame = pd.DataFrame(rows, columns=columns).assign(template=1, context_contrast="antonym")
    frame["situation"] = frame["domain"] + "_" + frame["meta_template"].astype(str)
    frame["template_id"] = frame["situation"] + "_1"
    for number, one, other in ((1, "concept_a", "concept_b"), (2, "concept_b", "concept_a")):
        frame[f"target{number}"] = "{object1} is " + frame[one] + "."
        frame[f"context{number}"] = "Nobody calls {object1} " + frame[other] + "."
    return frame


def test_the_tables_of_the_materials_show_what_goes_with_what_and_no_text(garden_templates):
    design = authors.materials_design(garden_templates)
    last = design.frame.set_index("domain").loc["Cramér's V"]
    assert last["context_type: direct"] == 1.0
    assert last["target_contrast: concept swap"] == 0.0
    sides = authors.materials_sides(garden_templates).frame.set_index(["part", "domain"])
    assert sides.loc[("target", "all"), ["pairs", "words_difference"]].tolist() == [4, 1.0]
    assert sides.loc[("context", "garden-work"), "words_difference"] == -1.0
    assert [domain for _, domain in sides.index[:3]] == ["garden-work", "kitchen-work", "all"]
    words = authors.materials_words(garden_templates).frame.set_index("domain")
    assert words.loc[
        "all", ["templates", "target_pairs", "context_pairs", "shared_words"]
    ].tolist() == [4, 2, 2, 0.0]
    cues = authors.materials_cues(garden_templates).frame.set_index("part")
    assert cues.loc["target", ["n_words", "n_above"]].tolist() == [0, 0]
    for build in (
        authors.materials_design,
        authors.materials_sides,
        authors.materials_words,
        authors.materials_cues,
    ):
        sheet = build(garden_templates)
        assert "Nobody" not in sheet.to_csv() + sheet.to_markdown()


def test_what_the_report_reads_is_what_was_printed(paper_study, tmp_path):
    sheet = accuracy.mean_accuracy(paper_study.summaries, paper_study.roster)
    sheet.write([tmp_path / "table.json"])
    printed = read_printed(tmp_path / "table.json")
    assert printed.rows == sheet.cells()
    assert printed.notes == " ".join(sheet.notes)
    assert [column.heading for column in printed.columns] == [
        column.heading for column in sheet.columns
    ]


@given(st.floats(-10, 10), st.integers(1, 4))
def test_decimals_round_as_python_does_and_never_print_minus_zero(value, places):
    text = decimals(places)(value).replace("−", "-")
    assert float(text) == pytest.approx(round(value, places), abs=1e-9)
    assert not re.fullmatch(r"-0\.?0*", text)


def test_a_range_of_negative_numbers_is_not_written_with_a_dash():
    assert span(-0.24, 0.29, 2) == "−0.24 to 0.29"


def test_published_numbers_of_models_that_were_not_run_are_no_comparison(small_study):
    """A title of every number that the paper prints stood above a table without rows."""
    row = {
        "block": "table1",
        "model": "phi_1",
        "grouping": "overall",
        "group": "all",
        "quantity": "mean",
        "printed": "0.522",
    }
    table = pd.DataFrame(
        [dict.fromkeys(Reproduction.columns) | row | {"status": "not_run", "compared_with": "ours"}]
    )
    sheet = statistics.reproduction(table.assign(position=1), Provenance(), small_study.roster)
    assert sheet.title == "No published number can be compared."
