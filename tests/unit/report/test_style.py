"""Pictures do not depend on what a user's matplotlib is told."""

import subprocess
import sys

import pytest

from worldprobe.errors import UserError
from worldprobe.report import style
from worldprobe.report.model_names import Roster, ShownModel
from worldprobe.report.style import apply_settings


def test_settings_of_matplotlib_that_cannot_be_read_do_not_count(tmp_path, monkeypatch):
    """jcvi #21, matplotlib #17931: a file that is not UTF-8 was a traceback."""
    (tmp_path / "matplotlibrc").write_bytes(b"\xff\xfe")
    monkeypatch.setenv("MATPLOTLIBRC", str(tmp_path / "matplotlibrc"))
    code = "from worldprobe.report.style import apply_settings; apply_settings()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_date_that_is_no_number_is_told(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(UserError, match="yesterday"):
        apply_settings()


@pytest.mark.parametrize("is_alone", [False, True])
def test_a_hue_means_a_language_model_where_others_made_one(is_alone):
    models = [
        ShownModel("taught", "Taught", family="control", is_control=True),
        ShownModel("untrained", "Untrained", family="control", is_control=True, is_untrained=True),
        ShownModel("rule", "Rule", family="rule"),
        *([] if is_alone else [ShownModel("ant", "Ant", family="ant")]),
    ]
    roster = Roster({model.id: model for model in models})
    colours = style.model_colours(roster, roster.models)
    assert (colours["taught"] == style.CONTROL_COLOURS[0]) != is_alone
    assert (colours["rule"] == style.RULE_COLOUR) != is_alone
    assert colours["untrained"] == style.UNTRAINED_COLOUR
    assert is_alone or colours["ant"].upper() in style.FAMILY_COLOURS
