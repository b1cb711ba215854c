"""What the documents promise exists."""

import math
import re
import runpy
import shlex
from pathlib import Path

import pandas as pd
import pytest
import yaml

from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.worldsense.contracts import Summaries as WorldSenseSummaries
from worldprobe.cli import main, parse
from worldprobe.contracts import write_table
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe_survey.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
#: Without the site's first page, whose links lead to pages that only the site has.
DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    "config/README.md",
    "results/README.md",
    *sorted(
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "docs").rglob("*.md")
        if path.name != "index.md"
    ),
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


def test_commands_are_found_in_the_documents() -> None:
    assert len(shown_commands((ROOT / "README.md").read_text())) >= 2
    assert len(shown_commands((ROOT / "docs" / "evaluate.md").read_text())) >= 12
    assert len(shown_commands((ROOT / "docs" / "human_study.md").read_text())) >= 10


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert target.startswith("https://") or ((ROOT / document).parent / target).exists(), target


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


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_shown_command_gives_snakemake_a_target_as_a_configuration_file(document: str) -> None:
    """``--configfile`` takes every word that follows it, up to the next option."""
    for line in re.findall(
        r"snakemake [^`#\n]*--configfile [^`#\n]*", (ROOT / document).read_text()
    ):
        words = line.split()[line.split().index("--configfile") + 1 :]
        named = words[
            : next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
        ]
        assert [word for word in named if not re.fullmatch(r"\S+\.yaml[;.,]?", word)] == [], line


def test_the_page_on_clusters_shows_what_models_plan_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["models", "plan"]) == 0
    printed = [
        line
        for line in capsys.readouterr().out.splitlines()
        if not line.startswith(("control", "rule"))
    ]
    assert len(printed) == 25
    assert "\n".join(printed) in (ROOT / "docs" / "cluster.md").read_text()


def test_the_page_on_human_studies_names_every_setting() -> None:
    settings = (ROOT / "docs" / "human_study.md").read_text().split("## Settings")[1].split("##")[0]
    assert set(re.findall(r"^- `(\w+)`", settings, re.MULTILINE)) == set(Settings.model_fields)


def test_the_citation_file_and_the_readme_name_both_papers() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())["references"]
    identifiers = {
        identifier["value"].removeprefix("arXiv:")
        for work in cited
        for identifier in work["identifiers"]
    }
    assert identifiers == {"2405.09605", "2311.15930"}
    assert all(number in (ROOT / "README.md").read_text() for number in identifiers)


def test_the_numbers_of_the_page_of_claims_are_written_by_its_script() -> None:
    """The script takes minutes, but not for what is given; the page has its numbers, and no other
    percentages than levels.
    """
    page = (ROOT / "docs" / "claims.md").read_text()
    script = (ROOT / "tests" / "performance" / "claims.py").read_text()
    numbers = re.findall(r"<!--(\w+)-->([^<]*)<!---->", page)
    assert len(numbers) > 12
    for name, number in numbers:
        assert f'"{name}"' in script
        assert re.search(r"\d", number), name
    given = runpy.run_path(str(ROOT / "tests" / "performance" / "claims.py"))["given"]()
    assert given.items() <= dict(numbers).items()
    typed = re.sub(r"<!--\w+-->[^<]*<!---->", "", page)
    assert set(re.findall(r"\d+%", typed)) <= {"5%", "80%", "95%"}  # levels, not findings


def test_pages_and_picture_have_the_numbers_of_one_default_study() -> None:
    """controls.png and numbers.md said 0.485 and "below chance", `make reproduce` and report.png
    0.506.
    """
    script = runpy.run_path(str(ROOT / "docs" / "numbers_from_study.py"))
    assert script["differences"]() == []
    assert "<!--study:smollm2_135m.ewok.logprobs-->" in (ROOT / "README.md").read_text()


def test_one_command_writes_numbers_and_picture_of_a_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = runpy.run_path(str(ROOT / "docs" / "numbers_from_study.py"))
    study, pictures, page = (
        tmp_path / "study",
        tmp_path / "docs" / "pictures",
        tmp_path / "docs" / "numbers.md",
    )
    pictures.mkdir(parents=True)
    (tmp_path / "README.md").write_text("")
    page.write_text(
        "<!--study:real.ewok.logprobs-->0.485<!---->, <!--study:real.worldsense.basic-->0.5<!---->"
    )
    browser = tmp_path / "bin" / "chromium"
    browser.parent.mkdir()
    browser.write_text(
        "#!/bin/sh\nfor word; do case $word in --screenshot=*) echo drawn > ${word#--screenshot=};;"
        " esac; done\n"
    )
    browser.chmod(0o755)
    monkeypatch.setenv("PATH", str(browser.parent), prepend=":")
    with pytest.raises(UserError, match=r"is not finished: .*report.html"):
        script["write"](study, tmp_path)
    row = {
        "model": "real",
        "eval_type": "logprobs",
        "condition": "all",
        "metric": "accuracy",
        "grouping": "overall",
        "group": "all",
    }
    row |= {"mean": 0.506, "ci_low": 0.494, "ci_high": 0.518, "std_error": 0.006, "n": 100}
    row |= {"interval_over": "pairs of concepts", "status": "ok", "n_clusters": 30}
    of_ewok = {"low": 0.5, "high": 0.51, "n_ties": 0, "n_near_ties": 0, "n_missing": 0}
    write_table(
        pd.DataFrame([row | of_ewok]), Summaries, study / "ewok" / "summaries.parquet", Provenance()
    )
    other = row | {
        "eval_type": "basic",
        "condition": "test",
        "ci_low": math.nan,
        "ci_high": math.nan,
        "sem": 0.1,
        "conf95": 0.2,
    }
    write_table(
        pd.DataFrame([other]),
        WorldSenseSummaries,
        study / "worldsense" / "summaries.parquet",
        Provenance(),
    )
    (study / "report.html").write_text("<p>The report.</p>")
    script["write"](study, tmp_path)
    whole = (
        "<!--study:real.ewok.logprobs-->0.506 (0.494 to 0.518)<!---->,"
        " <!--study:real.worldsense.basic-->0.506<!---->"
    )
    assert page.read_text() == whole
    assert (pictures / "report.png").read_bytes() == b"drawn\n"
    assert script["differences"](tmp_path) == []
    page.write_text(whole.replace("0.494", "0.495"))
    (pictures / "report.png").write_bytes(b"another picture")
    assert script["differences"](tmp_path) == ["report.png", "numbers.md"]


def test_a_target_comes_before_the_option_that_takes_every_word_after_it() -> None:
    """`snakemake --configfile X TARGET` takes TARGET for a configuration, and ends in a traceback
    of Snakemake's.
    """
    files = [ROOT / name for name in (*DOCUMENTS, "Makefile", "slurm/config.yaml")] + sorted(
        (ROOT / "config").rglob("*.yaml")
    )
    shown = [
        (path.name, words)
        for path in files
        for words in re.findall(r"snakemake ([^`\n]*?)--configfile ", path.read_text())
    ]
    assert len(shown) > 15
    for name, words in shown:
        targets = re.sub(
            r"(--(cores|profile|directory) |-s )(\"[^\"]*\"|\S+)|-\S+|\[", "", words
        ).split()
        assert targets, f"{name}: snakemake {words}"
