"""The site of the documentation: it builds without a warning, loads nothing from elsewhere, and
its references are whole.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import check_success
from worldprobe.cli import build_app
from worldprobe.cli.parsing import commands as commands_of
from worldprobe.report.results import Result
from worldprobe.settings.study import SharedSettings

pytestmark = pytest.mark.long

pytest.importorskip(
    "mkdocs", reason="mkdocs is not installed (pinned in envs/requirements-dev.txt)"
)


@pytest.fixture(scope="module")
def site(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; `strict` makes every link that leads nowhere an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(folder),
    ]
    done = subprocess.run(
        command,
        cwd=repository,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    check_success(done)
    return folder


def test_every_page_is_in_the_menu(site: Path, repository: Path) -> None:
    menu = (site / "index.html").read_text()
    pages = [path.stem for path in (repository / "docs").rglob("*.md")] + [
        "handbook",
        "results",
        "contributing",
        "changelog",
    ]
    assert len(pages) > 12
    assert [page for page in pages if f"{page}.html" not in menu and page != "index"] == []


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|img|iframe)[^>]* src=\"?(https?:[^\""
            r" >]+)|<link[^>]*stylesheet[^>]*href=\"?(https?:[^\" >]+)",
            path.read_text(),
        )
        assert not loaded, f"{path.name}: {loaded}"


def test_links_and_pictures_between_the_built_pages_lead_somewhere(site: Path) -> None:
    checked = 0
    for path in site.rglob("*.html"):
        if path.name == "404.html":  # its links begin at the site's root
            continue
        for target in re.findall(r"<(?:a|img)[^>]* (?:href|src)=\"?([^\" >#]+)", path.read_text()):
            if not re.match(r"[a-z]+:", target):
                assert (path.parent / target).exists(), f"{path.name}: {target}"
                checked += 1
    assert checked > 200


def test_the_references_have_every_command_and_every_key(site: Path) -> None:
    commands = (site / "reference" / "commands.html").read_text()
    found = re.findall(r"<h2 id=\"?[^>]*>([^<]+)", commands)
    assert set(found) == {words for words, _ in commands_of(build_app())}
    handbook, formats = (
        (site / f"{name}.html").read_text() for name in ("handbook", "reference/formats")
    )
    assert [key for key in SharedSettings.model_fields if f"<code>{key}" not in handbook] == []
    assert [key for key in Result.model_fields if f"<code>{key}" not in formats] == []
