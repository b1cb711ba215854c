"""Figures: drawn from their CSV, repeatable, readable."""

from __future__ import annotations

import io
import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PathCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.text import Text

from worldprobe.benchmark import taken_by
from worldprobe.benchmarks.ewok.benchmark import BENCHMARK as EWOK
from worldprobe.cli import main
from worldprobe.contracts import Table
from worldprobe.errors import UserError
from worldprobe.report import style
from worldprobe.report.model_names import HUMAN, Model, Roster, read_roster
from worldprobe.report.style import from_csv, text_columns, to_csv

SOURCE = Path(style.__file__).parents[2]
NEEDS_PROMPTING = {"paradigms", "agreement"}
FIGURES = {
    display.name: display
    for display in EWOK.displays
    if display.kind == "figure" and display.name != "conditions"
}


def tidy_of(name: str, study) -> pd.DataFrame:
    display = FIGURES[name]
    named = taken_by(display.build, roster=study.roster)
    return display(*(getattr(study, table.name) for table in display.inputs), **named)


def as_saved(frame: pd.DataFrame) -> pd.DataFrame:
    """The tidy table as it is drawn: read back from its CSV text."""
    return from_csv(to_csv(frame), text_columns(frame))


def drawn(name: str, study, width: str = "double") -> tuple[pd.DataFrame, Figure]:
    style.apply_settings()
    frame = as_saved(tidy_of(name, study))
    return frame, FIGURES[name].draw(frame, width=width)


def drawn_frame(agreements: pd.DataFrame, study) -> pd.DataFrame:
    """The tidy table of one model; drawn, so that a mistake in leaving out the pooled panel
    shows.
    """
    frame = FIGURES["agreement"](agreements, study.roster)
    assert len(FIGURES["agreement"].draw(frame).axes) == frame.model.nunique() - 1
    return frame


def texts_of(figure: Figure) -> list[tuple[str, Text]]:
    """Every visible piece of text; ticks beyond the ends of their axis are not drawn and do not
    count.
    """
    figure.draw_without_rendering()  # places everything, which is all that is looked at
    renderer = FigureCanvasAgg(figure).get_renderer()
    undrawn = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not low <= tick.get_loc() <= high:
                    undrawn |= {id(tick.label1), id(tick.label2)}
    shown = [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in undrawn
    ]
    return [(text.get_text(), text) for text in shown if text.get_window_extent(renderer).width > 0]


def corners(text: Text, renderer) -> np.ndarray:
    """The four corners of a text, rotation included, shrunk by a pixel so that touching is
    allowed.
    """
    rotation = text.get_rotation()
    flat = turned = text.get_window_extent(renderer)
    if rotation:
        text.set_rotation(0)
        flat = text.get_window_extent(renderer)
        text.set_rotation(rotation)
    angle = np.deg2rad(rotation)
    middle = np.array([(turned.x0 + turned.x1) / 2, (turned.y0 + turned.y1) / 2])
    half = np.array([max(flat.width / 2 - 1, 0), max(flat.height / 2 - 1, 0)])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return middle + (np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half) @ turn.T


def overlap(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two convex quadrilaterals overlap (separating axes)."""
    for shape in (a, b):
        for start, end in zip(shape, np.roll(shape, -1, axis=0), strict=True):
            normal = np.array([end[1] - start[1], start[0] - end[0]])
            if (a @ normal).max() <= (b @ normal).min() or (b @ normal).max() <= (a @ normal).min():
                return False
    return True


def clashes(boxes: list[tuple[str, np.ndarray]]) -> list[tuple[str, str]]:
    """Pairs of labels that overlap; upright bounds rule most pairs out before the exact test."""
    shapes = np.array([box for _label, box in boxes])
    low, high = shapes.min(axis=1), shapes.max(axis=1)
    near = ((low[:, None] < high[None]) & (low[None] < high[:, None])).all(axis=2)
    pairs = zip(*np.nonzero(np.triu(near, k=1)), strict=True)
    return [(boxes[i][0], boxes[j][0]) for i, j in pairs if overlap(shapes[i], shapes[j])]


@pytest.mark.parametrize(
    ("scale", "width"),
    [
        ("small", "double"),
        ("paper", "double"),
        pytest.param("paper", "single", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("name", FIGURES)
def test_no_two_labels_of_a_figure_overlap_and_none_leaves_the_page(name, scale, width, request):
    if name in NEEDS_PROMPTING and scale == "small":
        pytest.skip("the small study has no prompted paradigm")
    _frame, figure = drawn(name, request.getfixturevalue(f"{scale}_study"), width)
    renderer = FigureCanvasAgg(figure).get_renderer()
    texts = texts_of(figure)
    boxes = [(label, corners(text, renderer)) for label, text in texts]
    page = figure.bbox
    inside = {
        label
        for label, box in boxes
        if (box >= -1).all() and (box <= [page.x1 + 1, page.y1 + 1]).all()
    }
    assert [label for label, _box in boxes if label not in inside] == []
    assert clashes(boxes) == []
    assert min(text.get_fontsize() for _label, text in texts) >= 4.2


def test_the_test_for_overlaps_finds_one():
    figure = Figure(figsize=(3, 1))
    figure.text(0.1, 0.5, "one label")
    figure.text(0.2, 0.5, "another", rotation=30)
    figure.text(0.7, 0.5, "apart")
    texts = texts_of(figure)
    renderer = FigureCanvasAgg(figure).get_renderer()
    assert clashes([(label, corners(text, renderer)) for label, text in texts]) == [
        ("one label", "another")
    ]


#: All figures are saved in one way; these have every kind of thing that is drawn.
DRAWN_AGAIN = {"accuracy_by_domain", "concepts"}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_written_in_each_format_and_again_with_the_same_bytes(name, request, tmp_path):
    study = request.getfixturevalue("paper_study" if name in NEEDS_PROMPTING else "small_study")
    display = FIGURES[name]
    inputs = [str(study.folder / f"{table.name}.parquet") for table in display.inputs]
    written = []
    for run in ("first", "second") if name in DRAWN_AGAIN else ("first",):
        paths = [tmp_path / run / f"{name}{suffix}" for suffix in (".pdf", ".svg", ".png", ".csv")]
        command = [
            "figure",
            name,
            *inputs,
            "--registry",
            str(study.registry_path),
            "--out",
            *map(str, paths),
        ]
        assert main(command) == 0
        written.append([path.read_bytes() for path in paths])
    assert written[0] == written[-1]
    pdf, svg, png, csv = written[0]
    assert pdf.startswith(b"%PDF")
    assert b"CreationDate" not in pdf
    assert b"<svg" in svg
    assert b"dc:date" not in svg
    assert png.startswith(b"\x89PNG")
    assert len(pd.read_csv(io.BytesIO(csv))) > 0


def test_the_dots_intervals_and_ticks_of_the_domain_panels_are_the_rows_of_the_csv(paper_study):
    frame, figure = drawn("accuracy_by_domain", paper_study)
    ticks, dots, intervals = [], [], []
    for axes in figure.axes:
        versions, means = (one for one in axes.collections if isinstance(one, PathCollection))
        ticks += list(versions.get_offsets()[:, 0])
        dots += list(means.get_offsets()[:, 0])
        (lines,) = [one for one in axes.collections if isinstance(one, LineCollection)]
        intervals += [tuple(segment[:, 0]) for segment in lines.get_segments()]
        low, high = axes.get_xlim()
        assert low < min(dots) <= max(dots) < high
    models = frame[frame.model != HUMAN]
    whole = models[models.condition == "all"]
    assert np.allclose(sorted(dots), sorted(whole["mean"]))
    assert np.allclose(sorted(ticks), sorted(models["mean"][models.condition != "all"]))
    assert np.allclose(sorted(intervals), sorted(zip(whole.ci_low, whole.ci_high, strict=True)))
    assert len(figure.axes) == frame.panel.nunique() == 12


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


def test_the_concept_map_shows_every_cell_of_its_csv(small_study):
    frame, figure = drawn("concepts", small_study)
    cells = [
        mesh.get_array()
        for axes in figure.axes
        for mesh in axes.collections
        if isinstance(mesh, QuadMesh)
    ][: frame.domain.nunique()]
    values = np.concatenate([np.ma.getdata(cell).ravel() for cell in cells])
    assert np.allclose(np.unique(values), np.unique(frame["mean"]))


def test_two_concepts_with_equal_numbers_share_a_row_and_others_do_not():
    numbers = {"warm": 0.6, "cold": 0.6, "wet": 0.6, "dry": 0.7, "old": 0.5}
    rows = [
        ("d", concept, model, model, mean + 0.1 * (model == "b" and concept == "wet"), 0.4, 0.8, 12)
        for concept, mean in numbers.items()
        for model in "ab"
    ]
    columns = ["domain", "concept", "model", "name", "mean", "ci_low", "ci_high", "n"]
    figure = FIGURES["concepts"].draw(pd.DataFrame(rows, columns=columns))
    assert {"warm, cold", "wet", "dry", "old"} <= {label for label, _ in texts_of(figure)}


def test_names_of_domains_that_are_wider_than_their_cells_stay_on_the_page():
    concepts = [f"a concept of quite some length {number}" for number in range(20)]
    domains = [f"quantitative properties {letter}" for letter in "abcdefgh"]
    rows = [
        (domain, concept, f"m{k}", f"Model {k}", 0.5, 0.4, 0.6, 12)
        for domain in domains
        for concept in concepts
        for k in range(5)
    ]
    columns = ["domain", "concept", "model", "name", "mean", "ci_low", "ci_high", "n"]
    figure = FIGURES["concepts"].draw(pd.DataFrame(rows, columns=columns))
    titles = [text for label, text in texts_of(figure) if label.startswith("quantitative")]
    assert len(titles) == 8
    renderer = FigureCanvasAgg(figure).get_renderer()
    assert max(title.get_window_extent(renderer).x1 for title in titles) <= figure.bbox.x1


def test_the_scaling_plot_leaves_out_models_of_unknown_size_and_joins_no_controls(small_study):
    entries = dict(small_study.roster.models)
    entries["control_gpt2_small"] = Model(
        "control_gpt2_small", "GPT-2 style, small", family="control", is_control=True
    )
    display = FIGURES["scaling"]
    frame = display(small_study.summaries, Roster(entries))
    assert "control_gpt2_small" not in set(frame.model)
    assert "control_llama_small" in set(frame.model)
    style.apply_settings()
    figure = display.draw(as_saved(frame))
    joined = [line for line in figure.axes[0].lines if len(line.get_xdata()) > 2]
    assert joined == []


def test_a_control_models_size_is_what_its_training_counted(tmp_path):
    roster = Roster({"ours": Model("ours", "Ours", family="control", is_control=True)})
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "provenance.json").write_text('{"details": {"n_parameters": 293632}}')
    counted = roster.with_trained([tmp_path / "ours"])["ours"]
    assert (counted.parameters, counted.name, counted.is_control) == (293632, "Ours", True)
    (tmp_path / "ours" / "provenance.json").write_text("{}")
    with pytest.raises(UserError, match="does not say how many parameters"):
        roster.with_trained([tmp_path / "ours"])


def test_a_lollipop_is_open_where_the_correlation_is_not_significant(paper_study):
    frame, figure = drawn("design_features", paper_study)
    rows = frame[frame.panel == "E"]
    axes = next(axes for axes in figure.axes if axes.get_xlabel() == "r with number of words")
    faces = [
        face
        for collection in axes.collections
        if isinstance(collection, PathCollection)
        for face in collection.get_facecolors()
    ]
    n_open = sum(np.allclose(face[:3], 1) for face in faces)
    assert n_open == (rows.stars == "").sum()
    assert len(faces) == len(rows)


def test_stars_that_are_all_empty_stay_empty_and_leave_every_lollipop_open(paper_study):
    correlations = paper_study.correlations.assign(stars="")
    frame = FIGURES["design_features"](paper_study.summaries, correlations, paper_study.roster)
    read = as_saved(frame)
    assert set(read.stars) == {""}
    figure = FIGURES["design_features"].draw(read)
    axes = next(axes for axes in figure.axes if axes.get_xlabel() == "r with number of words")
    faces = [
        face
        for collection in axes.collections
        if isinstance(collection, PathCollection)
        for face in collection.get_facecolors()
    ]
    assert all(np.allclose(face[:3], 1) for face in faces)


@pytest.mark.parametrize("name", FIGURES)
def test_every_column_of_a_tidy_table_survives_its_csv(name, paper_study):
    frame = tidy_of(name, paper_study).reset_index(drop=True)
    read = as_saved(frame)
    assert list(read.columns) == list(frame.columns)
    for column in frame:
        if pd.api.types.is_numeric_dtype(read[column]):
            assert np.allclose(
                read[column].astype(float), frame[column].astype(float), equal_nan=True, rtol=1e-8
            ), column
        else:
            assert read[column].tolist() == frame[column].astype(str).tolist(), column


def test_a_concept_called_null_keeps_its_name():
    frame = pd.DataFrame({"concept": ["null", "NA", "none"], "mean": [0.1, np.nan, 0.3]})
    read = as_saved(frame)
    assert read.concept.tolist() == ["null", "NA", "none"]
    assert read["mean"].isna().tolist() == [False, True, False]


def simulated(rgb: np.ndarray, kind: str) -> np.ndarray:
    """Linear-light simulation of a dichromat (Vienot, Brettel and Mollon 1999)."""
    matrix = {
        "protan": [[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]],
        "deutan": [[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]],
    }[kind]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.clip(np.array(matrix) @ linear, 0, 1)


@pytest.mark.parametrize("kind", ["protan", "deutan"])
def test_any_two_families_stay_apart_for_colour_blind_readers(kind):
    from matplotlib.colors import to_rgb

    seen = [np.cbrt(simulated(np.array(to_rgb(colour)), kind)) for colour in style.FAMILY_COLOURS]
    gaps = {
        (i, j): np.linalg.norm(a - b)
        for (i, a), (j, b) in itertools.combinations(enumerate(seen), 2)
    }
    assert min(gaps.values()) > 0.07, min(gaps, key=gaps.get)


@pytest.mark.parametrize("kind", ["protan", "deutan"])
def test_the_registry_gives_each_family_a_hue_of_its_own_for_colour_blind_readers(kind, repository):
    from matplotlib.colors import to_rgb

    roster = read_roster(repository / "config" / "models.yaml").models.values()
    models = [
        model for model in roster if model.family != "rule"
    ]  # rules, which EWoK does not ask, are told apart one by one
    largest = {
        m.family: m.colour
        for m in sorted(models, key=lambda m: m.parameters or 0)
        if m.colour and not m.is_control
    }
    seen = {
        family: np.cbrt(simulated(np.array(to_rgb(colour)), kind))
        for family, colour in largest.items()
    }
    gaps = {
        pair: np.linalg.norm(seen[pair[0]] - seen[pair[1]])
        for pair in itertools.combinations(seen, 2)
    }
    assert min(gaps.values()) > 0.07, min(gaps, key=gaps.get)


def test_a_figure_that_the_run_cannot_feed_says_what_is_missing(small_study):
    with pytest.raises(UserError, match="no model was prompted"):
        FIGURES["paradigms"](small_study.summaries, small_study.roster)
    empty = small_study.agreements.iloc[:0]
    with pytest.raises(UserError, match="was not run"):
        FIGURES["agreement"](empty, small_study.roster)


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
    alone = paper_study.agreements.query("model in ['gpt2_xl', 'human']")
    assert list(dict.fromkeys(drawn_frame(alone, paper_study).name)) == [
        "all models",
        "Humans",
        "GPT2-XL",
    ]


def test_a_path_that_is_no_figure_format_is_refused_before_anything_is_written(
    small_study, tmp_path, capsys
):
    command = [
        "figure",
        "controls",
        str(small_study.folder / "control_accuracies.parquet"),
        "--out",
        str(tmp_path / "x.svg"),
        str(tmp_path / "x.gif"),
    ]
    assert main(command) == 2
    assert "x.gif" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_every_table_and_figure_has_a_command_and_every_figure_is_drawn():
    from worldprobe.cli.report import DisplayOptions, find_display, options_of

    for display in EWOK.displays:
        assert (
            find_display(display.kind, display.name, ["x.parquet"] * len(display.inputs)) is display
        )
        chosen = {option.name: option.choices[-1] for option in display.options}
        assert options_of(display, DisplayOptions(**chosen)) == chosen
        assert display.kind == "table" or display.draw.__module__ == display.build.__module__


def test_no_two_of_them_share_a_command_and_each_is_in_a_section():
    from worldprobe.benchmarks import benchmarks

    names = [
        (display.kind, display.name)
        for benchmark in benchmarks().values()
        for display in benchmark.displays
    ]
    assert len(names) == len(set(names))
    assert all(
        benchmark.section(display)
        for benchmark in benchmarks().values()
        for display in benchmark.displays
    )


def test_declarations_are_read_without_matplotlib_scipy_or_torch():
    code = "import sys; from worldprobe.benchmarks import benchmarks; benchmarks(); "
    code += "print([name for name in ('matplotlib', 'scipy', 'torch') if name in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], cwd=SOURCE, capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


def test_the_columns_that_tables_and_figures_read_hold_no_item_text():
    texts = {"context1", "context2", "target1", "target2", "text"}
    counted = {
        "materials_design",
        "materials_sides",
        "materials_words",
        "materials_cues",
        "materials_families",
    }  # they read texts, and show counts of them
    for display in (display for display in EWOK.displays if display.name not in counted):
        for one in display.inputs:
            contract = one.contract
            assert issubclass(contract, Table)
            assert not texts & set(one.columns or contract.columns)


def test_two_models_of_one_display_name_keep_a_row_each(paper_study):
    entries = paper_study.roster.models | {
        "phi_1": replace(paper_study.roster.models["phi_1"], name="GPT2-XL")
    }
    for name, rows in (("setups_by_model", 20), ("agreement", 22)):
        tables = [getattr(paper_study, table.name) for table in FIGURES[name].inputs]
        frame = as_saved(FIGURES[name](*tables, Roster(entries)))
        assert (
            len(
                dict.fromkeys(frame[frame.columns[1]] if name == "setups_by_model" else frame.model)
            )
            == rows
        )
        FIGURES[name].draw(frame)


@pytest.mark.parametrize("name", FIGURES)
def test_a_dollar_sign_in_any_label_is_a_dollar_sign(name, paper_study):
    """matplotlib/matplotlib #20266: two of them made a formula, which lost words or was an
    error.
    """
    if name in NEEDS_PROMPTING:
        pytest.skip("no names of people's own")
    names = {
        model: f"Price $${{\\frac {number} $x and $y"
        for number, model in enumerate(paper_study.roster.models)
    }
    named = {
        model: replace(card, name=names[model]) for model, card in paper_study.roster.models.items()
    }
    study = replace(paper_study, roster=replace(paper_study.roster, models=named))
    _frame, figure = drawn(name, study)
    figure.draw_without_rendering()
    for text in figure.findobj(Text):
        assert not text.get_parse_math()
        assert not text.get_text().startswith(("$\\mathdefault", "$10^")), (
            "a formula that nobody reads"
        )


def test_a_backend_of_the_environment_that_is_unknown_stops_no_figure():
    """michaelgrupp/evo #352."""
    code = (
        "from worldprobe.report import style; style.apply_settings();"
        " print(style.text_width('Accuracy', 6.5) > 0)"
    )
    environment = os.environ | {"MPLBACKEND": "Qt4Agg"}
    told = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert told.stdout == "True\n", told.stderr


def font_of(letters: str, folder: Path) -> Path:
    """A font that has these letters, each a rectangle."""
    font = FontBuilder(1000, isTTF=True)
    names = [".notdef", *(f"letter{number}" for number in range(len(letters)))]
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 700), (900, 700), (900, 0)):
        pen.lineTo(corner)
    pen.closePath()
    font.setupGlyphOrder(names)
    font.setupCharacterMap(
        {ord(letter): name for letter, name in zip(letters, names[1:], strict=True)}
    )
    font.setupGlyf(dict.fromkeys(names, pen.glyph()))
    font.setupHorizontalMetrics(dict.fromkeys(names, (1000, 0)))
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": f"Invented {folder.name}", "styleName": "Regular"})
    font.setupOS2(sTypoAscender=800, usWinAscent=800, usWinDescent=200)
    font.setupPost()
    font.save(folder / "invented.ttf")
    return folder / "invented.ttf"


def test_letters_that_the_font_lacks_come_from_an_installed_one_or_are_told(
    paper_study, tmp_path, monkeypatch, caplog
):
    """Names in scripts that DejaVu Sans lacks were boxes: matplotlib/matplotlib #15062."""
    from matplotlib.font_manager import fontManager

    def render(letters: str) -> str:
        caplog.clear()
        frame = as_saved(tidy_of("accuracy_by_domain", paper_study))
        frame["name"] = frame["name"] + letters
        style.render(
            frame,
            FIGURES["accuracy_by_domain"].draw,
            [tmp_path / "x.svg", tmp_path / "x.pdf", tmp_path / "x.png"],
        )
        return (tmp_path / "x.svg").read_text()

    monkeypatch.setattr(fontManager, "ttflist", list(fontManager.ttflist))
    fontManager.addfont(font_of("\ue123", tmp_path))
    assert "boxes" not in render("\ue123") + caplog.text
    assert "boxes" in render(
        "\U000f1234"
    )  # matplotlib's own fonts have letters of the first private area
    assert "\U000f1234" in caplog.text
