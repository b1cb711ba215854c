"""Figures: drawn from their CSV, repeatable, readable."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection, QuadMesh
from matplotlib.figure import Figure

from worldprobe.benchmark import taken_by
from worldprobe.benchmarks import find
from worldprobe.benchmarks.ewok.benchmark import BENCHMARK as EWOK
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.figures.accuracy import FEWEST_ITEMS, SHOWN_CONCEPTS
from worldprobe.cli import main
from worldprobe.contracts import write_table
from worldprobe.errors import TooLittleError
from worldprobe.models.registry import BASELINES
from worldprobe.provenance import Provenance
from worldprobe.report import style
from worldprobe.report.model_names import HUMAN, Roster, ShownModel
from worldprobe.report.page import Material, ReportPage, build_part, render_report
from worldprobe.report.style import from_csv, text_columns, to_csv

GREY = style.GREY.lower()
NEEDS_PROMPTING = {"paradigms", "agreement"}
#: Figures of extensions that are drawn from tables of this study, too.
OF_EXTENSIONS = {"families", "controls", "doses", "setups_by_model", "setups_by_domain"}
FIGURES = {
    display.name: display
    for display in find("ewok").displays
    if display.kind == "figure" and (display in EWOK.displays or display.name in OF_EXTENSIONS)
}


def tidy_of(name: str, study) -> pd.DataFrame:
    display = FIGURES[name]
    named = taken_by(display.build, roster=study.roster)
    return display(*(getattr(study, table.name) for table in display.inputs), **named)


def as_saved(frame: pd.DataFrame) -> pd.DataFrame:
    """The tidy table as it is drawn: read back from its CSV text."""
    return from_csv(to_csv(frame), text_columns(frame))


def drawn(name: str, study) -> tuple[pd.DataFrame, Figure]:
    style.apply_settings()
    frame = as_saved(tidy_of(name, study))
    return frame, FIGURES[name].draw(frame)


#: All figures are saved in one way; these have every kind of thing that is drawn.
DRAWN_AGAIN = {"accuracy_by_domain", "concepts"}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.long
def test_a_figure_is_written_again_with_the_same_bytes(name, request, tmp_path):
    study = request.getfixturevalue("paper_study" if name in NEEDS_PROMPTING else "small_study")
    inputs = [str(study.folder / f"{table.name}.parquet") for table in FIGURES[name].inputs]
    command = ["figure", name, *inputs, "--registry", str(study.registry_path), "--out"]
    written, forms = [], ("pdf", "svg", "png", "csv") if name in DRAWN_AGAIN else ("svg", "csv")
    for run in ("first", "second") if name in DRAWN_AGAIN else ("first",):
        paths = [tmp_path / run / f"{name}.{form}" for form in forms]
        assert main([*command, *map(str, paths)]) == 0
        written.append([path.read_bytes() for path in paths])
    assert written[0] == written[-1]
    assert len(pd.read_csv(paths[-1])) > 0


@pytest.mark.long
def test_the_dots_intervals_and_ticks_of_the_domain_panels_are_the_rows_of_the_csv(paper_study):
    frame, figure = drawn("accuracy_by_domain", paper_study)
    ticks, dots, intervals, at_once = [], [], [], []
    for axes in figure.axes:
        versions, means = (one for one in axes.collections if isinstance(one, PathCollection))
        ticks += list(versions.get_offsets()[:, 0])
        dots += list(means.get_offsets()[:, 0])
        lines = [one for one in axes.collections if isinstance(one, LineCollection)]
        for drawn_ends, collection in zip((at_once, intervals), lines, strict=True):
            segments = filter(len, collection.get_segments())  # of NaN they are empty
            drawn_ends += [tuple(segment[:, 0]) for segment in segments]
        low, high = axes.get_xlim()
        assert low < min(dots) <= max(dots) < high
    models = frame[frame.model != HUMAN]
    whole = models[models.condition == "all"]
    assert np.allclose(sorted(dots), sorted(whole["mean"]))
    assert np.allclose(sorted(ticks), sorted(models["mean"][models.condition != "all"]))
    assert np.allclose(sorted(intervals), sorted(zip(whole.ci_low, whole.ci_high, strict=True)))
    of_all = whole[whole["at_once_low"].notna()]
    ends = sorted(zip(of_all.at_once_low, of_all.at_once_high, strict=True))
    assert np.allclose(sorted(at_once), ends)
    assert len(figure.axes) == frame.panel.nunique() == 12


@pytest.mark.long
def test_the_domain_panels_hold_the_numbers_of_the_summaries(paper_study):
    frame = tidy_of("accuracy_by_domain", paper_study)
    summaries = paper_study.summaries
    wanted = summaries[
        (summaries.grouping == "domain")
        & (summaries.metric == "accuracy")
        & summaries.eval_type.isin(["logprobs", "human_likert", "wordnet", "sentence_vectors"])
    ].set_index(["group", "model", "condition"])["mean"]
    shown = frame[frame.panel != "all domains"].set_index(["panel", "model", "condition"])["mean"]
    assert sorted(shown.index) == sorted(wanted.index)
    assert (shown.sort_index().to_numpy() == wanted.sort_index().to_numpy()).all()


def test_the_concept_map_shows_the_ends_and_says_how_many_are_between(small_study):
    frame, figure = drawn("concepts", small_study)
    meshes = [
        mesh.get_array()
        for axes in figure.axes
        for mesh in axes.collections
        if isinstance(mesh, QuadMesh)
    ]
    lowest, highest = (np.ma.getdata(mesh).mean(axis=1) for mesh in meshes[:2])
    means = frame.groupby(["domain", "concept"])["mean"].mean().drop_duplicates().sort_values()
    assert len(lowest) == len(highest) == SHOWN_CONCEPTS < len(means) / 2
    assert np.allclose(np.sort(lowest), means[:SHOWN_CONCEPTS])
    assert np.allclose(np.sort(highest), means[-SHOWN_CONCEPTS:])
    n_between = len(means) - 2 * SHOWN_CONCEPTS
    assert any(f"{n_between} rows" in text.get_text() for text in figure.texts)


def test_the_scaling_plot_leaves_out_models_of_unknown_size(small_study):
    unsized = ShownModel(
        "control_gpt2_small", "GPT-2 style, small", family="control", is_control=True
    )
    roster = Roster(small_study.roster.models | {"control_gpt2_small": unsized})
    shown = set(FIGURES["scaling"](small_study.summaries, roster).model)
    assert "control_gpt2_small" not in shown
    assert "control_llama_small" in shown


def test_a_control_models_size_is_what_its_training_counted(tmp_path):
    roster = Roster({"ours": ShownModel("ours", "Ours", family="control", is_control=True)})
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "provenance.json").write_text('{"details": {"n_parameters": 293632}}')
    counted = roster.with_trained([tmp_path / "ours"])["ours"]
    assert (counted.parameters, counted.name, counted.is_control) == (293632, "Ours", True)


@pytest.mark.parametrize("has_stars", [True, False])
def test_a_lollipop_is_open_where_the_correlation_is_not_significant(paper_study, has_stars):
    correlations = paper_study.correlations
    correlations = correlations if has_stars else correlations.assign(stars="")
    figure = FIGURES["design_features"]
    frame = as_saved(figure(paper_study.summaries, correlations, paper_study.roster))
    rows = frame[frame.panel == "E"]
    assert rows.stars.any() == has_stars
    axes = next(
        one for one in figure.draw(frame).axes if one.get_xlabel() == "r with number of words"
    )
    dots = [one for one in axes.collections if isinstance(one, PathCollection)]
    faces = [face for collection in dots for face in collection.get_facecolors()]
    assert sum(np.allclose(face[:3], 1) for face in faces) == (rows.stars == "").sum()
    assert len(faces) == len(rows)


def test_a_concept_called_null_keeps_its_name():
    frame = pd.DataFrame({"concept": ["null", "NA", "none"], "mean": [0.1, np.nan, 0.3]})
    read = as_saved(frame)
    assert read.concept.tolist() == ["null", "NA", "none"]
    assert read["mean"].isna().tolist() == [False, True, False]


def test_people_have_a_panel_of_agreement_that_is_not_pooled_with_the_models(paper_study):
    frame, figure = drawn("agreement", paper_study)
    assert list(dict.fromkeys(frame.name))[:2] == ["all models", "Humans"]
    pooled = frame[frame.model.isna() | (frame.model == "")]
    of_models = paper_study.agreements.query("setup == 'constrained_two' and model != 'human'")
    assert pooled.n.sum() == of_models.n.sum()
    panel = next(axes for axes in figure.axes if axes.get_title(loc="left") == "Humans")
    counts = paper_study.human_agreements.set_index(["likert", "choice"])["n"]
    agreed = sum(counts[kind, kind] for kind in ("context1", "context2", "none")) / counts.sum()
    assert f"{agreed:.0%} agree" in [text.get_text() for text in panel.texts]


def test_the_columns_that_tables_and_figures_read_hold_no_item_text():
    texts = {"context1", "context2", "target1", "target2", "text"}
    counted = {f"materials_{name}" for name in ("design", "sides", "words", "cues", "families")}
    counted |= {"sample_item", "sample_items"}  # of ours alone: tests/.../test_sample_items.py
    for display in EWOK.displays:
        for one in display.inputs if display.name not in counted else ():
            assert not texts & set(one.columns or one.contract.columns)


def test_concepts_of_one_or_two_items_are_no_extremes_and_the_report_says_so(small_study, tmp_path):
    few = small_study.summaries.copy()
    few.loc[few["grouping"] == "concept", "n"] = FEWEST_ITEMS - 1
    write_table(few, Summaries, tmp_path / "summaries.parquet", Provenance())
    svg = tmp_path / "concepts.svg"
    line = ["figure", "concepts", str(tmp_path / "summaries.parquet"), "--out", str(svg)]
    assert main([*line, str(svg.with_suffix(".csv"))]) == 0
    material = Material(tmp_path / "summaries.parquet", small_study.roster)
    page = render_report(ReportPage([build_part(EWOK, material, figures=[svg])]))
    assert "Concepts: not shown, as no concept has 8 items or more (at most 7)" in page
    assert 'id="figure-ewok-concepts"' not in page


def test_whole_names_of_concepts_are_drawn(small_study):
    frame = as_saved(tidy_of("concepts", small_study))
    name = "light enough for something that is hard to lift"
    frame["concept"] = frame["concept"].replace("alpha", name)
    figure = FIGURES["concepts"].draw(frame)
    labels = [label.get_text() for axes in figure.axes for label in axes.get_yticklabels()]
    assert any(label.startswith(f"{name} (") for label in labels)


def test_thin_lines_by_domain_are_the_intervals_of_the_text_and_the_axis_has_its_ends(small_study):
    frame, figure = drawn("accuracy_by_domain", small_study)
    whole = frame[(frame["condition"] == "all") & (frame["panel"] != "all domains")]
    trained = whole[whole["at_once_low"].notna()]
    assert len(trained) == (len(set(whole["model"]) - {"control_untrained", *BASELINES}) * 11)
    assert (trained["at_once_low"] < trained["ci_low"]).all()
    assert (trained["at_once_high"] > trained["ci_high"]).all()
    for axes in figure.axes:
        ticks = axes.get_xticks()
        assert (ticks[0], ticks[-1]) == axes.get_xlim()
    assert figure.axes[-1].get_xlabel() == "accuracy"


def test_a_correlation_has_its_interval_in_the_figure(small_study):
    frame, figure = drawn("n_words", small_study)
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    assert len(texts) == frame["model"].nunique()
    assert all(re.match(r"r = −?0\.\d\d\**\ \(.*(–| to ).*\)$", text) for text in texts)


def test_frequencies_that_a_language_lacks_are_a_figure_that_says_so(small_study):
    unknown = replace(
        small_study, feature_means=small_study.feature_means.assign(log_frequency=np.nan)
    )
    with pytest.raises(TooLittleError, match="word frequency is not known in the items' language"):
        tidy_of("log_frequency", unknown)


def test_ways_of_asking_of_one_version_have_intervals_and_of_several_ranges():
    """Of one version, dots without a line stood on an axis that was as wide as their differences."""
    row = {"model": "ant", "name": "Ant", "family": "ants", "colour": "#b2182b", "mean": 0.53}
    row |= {"paradigm": "logprobs", "eval_type": "logprobs", "ci_low": 0.4, "ci_high": 0.66}
    for low, high, ends in ((0.53, 0.53, (0.4, 0.66)), (0.5, 0.56, (0.5, 0.56))):
        figure = FIGURES["paradigms"].draw(pd.DataFrame([{**row, "low": low, "high": high}]))
        (line,) = [one for one in figure.axes[0].collections if isinstance(one, LineCollection)]
        assert line.get_segments()[0][:, 0].tolist() == pytest.approx(ends)
