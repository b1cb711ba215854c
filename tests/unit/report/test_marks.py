"""What has no interval is drawn so, and never differs from chance; flags of many answers."""

import numpy as np
import pandas as pd
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from worldprobe.provenance import Provenance
from worldprobe.report import style
from worldprobe.report.model_names import Roster, ShownModel
from worldprobe.report.origins import LISTED, flags_note, flags_sheet

NAN = float("nan")
ROWS = pd.DataFrame(
    {"mean": [0.8, 0.8, 0.55, 1.0], "ci_low": [0.7, NAN, 0.4, NAN], "ci_high": [0.9, NAN, 0.7, NAN]}
)


def test_a_mean_without_interval_is_not_shown_to_differ_even_where_all_is_right():
    assert style.is_at(ROWS, 0.5).tolist() == [False, True, True, True]


def test_a_mark_without_interval_is_hollow_and_grey_and_one_without_mean_is_not_drawn():
    axes = Figure().add_subplot()
    rows = pd.concat([ROWS, pd.DataFrame({"mean": [NAN]})], ignore_index=True)
    style.dots(axes, np.arange(5), rows, "#0072b2")
    marks = axes.collections[-1]
    assert len(marks.get_offsets()) == 4
    faces = [to_hex(colour) for colour in marks.get_facecolors()]
    edges = [to_hex(colour) for colour in marks.get_edgecolors()]
    assert faces == ["#0072b2", "#ffffff", "#0072b2", "#ffffff"]
    assert edges == ["#ffffff", style.GREY.lower(), "#ffffff", style.GREY.lower()]
    assert [one.get_label() for one in style.hollow(ROWS)] == ["no interval"]
    assert style.hollow(ROWS.iloc[[0, 2]]) == []


def flagged(n_models):
    flags = {
        f"m{n}": {"Likert, free, no examples": {"of": 200, "no_numeral": 2 * n + 1}}
        for n in range(n_models)
    }
    roster = Roster(
        {name: ShownModel(name, name.upper(), position=n) for n, name in enumerate(flags)}
    )
    return Provenance(details={"flags": flags}), roster


def test_flags_of_few_answers_are_sentences_and_of_many_a_table_of_models_by_ways():
    few, many = flagged(LISTED), flagged(20)
    assert "M0, Likert, free, no examples: 1 of 200; M1" in flags_note(*few)
    assert flags_sheet(*few) is None
    note = flags_note(*many)
    assert note.startswith("No numeral: 400 of 4,000 of 20 models, the largest share in M19")
    assert len(note) < 150
    sheet = flags_sheet(*many)
    assert [column.heading for column in sheet.columns] == ["Model", "free, no examples"]
    assert sheet.cells()[:2] == [["M0", "0.5"], ["M1", "1.5"]]
    assert flags_note(Provenance(), Roster()) == ""
    assert flags_sheet(Provenance(), Roster()) is None
