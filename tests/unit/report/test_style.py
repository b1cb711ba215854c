"""Pictures do not depend on what a user's matplotlib is told."""

import subprocess
import sys

import pytest

from worldprobe.errors import UserError
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
