"""What the documents promise exists."""

import re
import runpy
import shlex
import subprocess
from pathlib import Path

import pytest

from command_line import run
from worldprobe.cli import parse
from worldprobe_survey.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
#: Handbook of the configuration, and map of the results.
OTHERS = ["config/README.md", "results/README.md"]
DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    *OTHERS,
    *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")),
]


def test_the_page_on_the_workflow_names_every_rule() -> None:
    page = (ROOT / "docs" / "workflow.md").read_text().split("## ")[0]
    rules = [
        name
        for path in (ROOT / "workflow" / "rules").rglob("*.smk")
        for name in re.findall(r"^rule (\w+):", path.read_text(), re.MULTILINE)
        if not re.match(r"(table|figure)s?_", name)
    ]
    assert len(rules) > 15
    assert [name for name in rules if not re.search(rf"`{name}`", page)] == []


def shown_commands(text: str) -> list[str]:
    """What follows ``worldprobe`` on the lines of blocks of code, fenced or indented."""
    fenced = "".join(re.findall(r"^ *```\w*\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL))
    indented = "\n".join(re.findall(r"^(?: {4,}|\t).*$", text, re.MULTILINE))
    return list(
        dict.fromkeys(
            re.findall(r"^\s*worldprobe (.+?)(?:  +#.*)?$", f"{fenced}\n{indented}", re.MULTILINE)
        )
    )


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("https://") or ((ROOT / document).parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS)
def test_modules_that_are_named_are_there(document: str) -> None:
    """Pages named five that had moved to extensions, or were gone."""
    files = list(ROOT.glob("[dtw]*/**/*.*"))
    text = (ROOT / document).read_text()
    for name in re.findall(r"`([a-z_/]+/[a-z_]+\.(?:py|smk))`", text):
        assert any(path.match(name) for path in files), name


def anchors(text: str) -> set[str]:
    """The ends of the addresses of a page's headings, as GitHub and the site write them."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_to_a_section_lead_to_its_heading(document: str) -> None:
    text = (ROOT / document).read_text()
    for target, anchor in re.findall(r"\]\((?!https:)([^)#]*)#([^)]+)\)", text):
        page = (ROOT / document).parent / target if target else ROOT / document
        assert anchor in anchors(page.read_text()), f"{target}#{anchor}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_commands_that_are_shown_are_ones_that_the_parser_takes(document: str) -> None:
    for line in shown_commands((ROOT / document).read_text()):
        assert parse(shlex.split(line)) is not None or "--help" in line


def test_the_page_on_clusters_shows_what_models_plan_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert run("models plan --configfile config/paper.yaml") == 0
    printed = capsys.readouterr().out.splitlines()
    page = (ROOT / "docs" / "cluster.md").read_text()
    shown = page[page.index("\nmodel  ") + 1 :].partition("```")[0].splitlines()
    assert len(shown) > 5
    assert [line for line in shown if line not in printed] == []


def test_the_page_on_human_studies_names_every_setting() -> None:
    settings = (
        (ROOT / "docs" / "extras" / "human_study.md")
        .read_text()
        .split("## Settings")[1]
        .split("##")[0]
    )
    assert set(re.findall(r"^- `(\w+)`", settings, re.MULTILINE)) == set(Settings.model_fields)


def test_scripts_that_a_claim_cites_are_in_the_history() -> None:
    """Programs that ran once are named by file; `collate_preds.py` is the BabyLM challenge's."""
    pages = "".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    cited = set(re.findall(r"`(\w+\.py)[ `]", pages)) - {"collate_preds.py"}
    assert len(cited) > 8
    command = ["git", "ls-tree", "--name-only", "f3ae98a8:tests/performance"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("the history is not here")
    assert cited - set(done.stdout.split()) == set()


def test_the_documents_are_read_in_an_afternoon() -> None:
    """They had 49 thousand words beside what is generated."""
    texts = (
        (ROOT / name).read_text() for name in [*DOCUMENTS, "CHANGELOG.md"] if name not in OTHERS
    )
    written = (
        re.sub(r"<!-- (?:settings|benchmark).*?<!-- end -->", "", text, flags=re.S)
        for text in texts
    )
    assert sum(len(re.findall(r"\S*\w\S*", text)) for text in written) <= 23_500


def test_pages_and_picture_have_the_numbers_of_one_default_study() -> None:
    """controls.png and numbers.md said 0.485 and "below chance", `make reproduce` and
    report.png 0.506.
    """
    script = runpy.run_path(str(ROOT / "docs" / "numbers_from_study.py"))
    assert script["differences"]() == []
    assert "<!--study:smollm2_135m.ewok.logprobs-->" in (ROOT / "README.md").read_text()
