"""What an edit makes again: each kind of thing is edited once in a study whose files are all
there.
"""

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from command_line import check_success
from worldprobe import code_digest, methods

pytestmark = pytest.mark.long

Jobs = Callable[..., Counter[str]]
#: Rules that train or ask models, and what makes what these read.
EXPENSIVE = {
    "compile_templates",
    "compile_control_templates",
    "fill_items",
    "gather_items",
    "write_corpus",
    "train_tokenizer",
}
EXPENSIVE |= {"train_control", "train_vectors", "score", "generate_set", "ask"}


@pytest.fixture(scope="module")
def clone(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study, with a copy of what the digest of the code is made of, to be
    edited.
    """
    folder = tmp_path_factory.mktemp("clone")
    for name in ("workflow/src", "resources"):
        ignored = shutil.ignore_patterns("__pycache__", "downloads")
        shutil.copytree(repository / name, folder / name, ignore=ignored)
    checkpoint = folder / "mine"
    checkpoint.mkdir()
    for name in ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json"):
        (checkpoint / name).write_text("{}")
    registry = yaml.safe_load((repository / ".test" / "config" / "models.yaml").read_text())
    registry |= {
        "mine": {"checkpoint": "./mine", "family": "mine", "display_name": "Mine", "parameters": 1}
    }
    (folder / "registry.yaml").write_text(yaml.safe_dump(registry))
    study = yaml.safe_load((repository / ".test" / "config" / "config.yaml").read_text())
    study |= {
        "registry": "registry.yaml",
        "models": ["reduced_gpt2", "mine"],
        "report": {"notebooks": []},
    }
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    return folder


@pytest.fixture(scope="module")
def planned(
    clone: Path,
    snakemake_command: Callable[..., list[str]],
    plan: Callable[..., subprocess.CompletedProcess[str]],
) -> Iterator[Jobs]:
    """A function: the jobs that the finished study in the clone would do now, by rule."""

    def run(*arguments: str) -> str:
        code_digest.forget()
        done = plan(snakemake_command(clone, *arguments, configuration=(clone / "study.yaml",)))
        check_success(done)
        return done.stdout + done.stderr

    def jobs(*arguments: str) -> Counter[str]:
        whole = run("--dry-run", *arguments)
        told = whole.partition("Job stats:")[2].partition("total")[0]
        counted = re.findall(r"^(\w+) +(\d+)$", told, re.MULTILINE)
        of_benchmark = re.findall(r"Summarising accuracy \((\w+)\)", whole)
        return Counter(
            {name: int(n) for name, n in counted if name != "all"}
            | {f"summarize {name}": 1 for name in of_benchmark}
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code_digest, "PACKAGE", clone / "workflow/src/worldprobe")
        patch.setattr(code_digest, "RESOURCES", clone / "resources")
        files = [
            line.split("\t")[0]
            for line in run("--summary").splitlines()
            if line.startswith("results/")
        ]
        assert len(files) > 100
        for name in files:
            path = clone / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch() if path.suffix else path.mkdir(exist_ok=True)
        run("--touch", "--forceall")
        yield jobs
    code_digest.forget()


@pytest.fixture
def edited(clone: Path) -> Callable[[str, str, str], None]:
    """A function that replaces words in a file, which afterwards has its content and date again."""
    before: dict[Path, tuple[bytes, int]] = {}

    def edit(name: str, old: str, new: str) -> None:
        path = clone / name
        before.setdefault(path, (path.read_bytes(), path.stat().st_mtime_ns))
        text = path.read_text()
        assert old in text, name
        path.write_text(text.replace(old, new, 1))

    yield edit
    for path, (content, date) in before.items():
        path.write_bytes(content)
        os.utime(path, ns=(date, date))


def test_a_finished_study_does_nothing(planned: Jobs) -> None:
    assert not planned()


#: What is edited -> a file with old and new words, rules that run again, rules that do not.
CODE_EDITS = {
    "figures": (
        "worldprobe/benchmarks/ewok/figures/design.py",
        {"draw_figure", "print_table", "build_report", "draft_report"},
        {"judge", "summarize ewok", "summarize worldsense", "fit_mixed_model"},
    ),
    "a template of the page": (
        "worldprobe/report/assets/methods.html.jinja",
        {"build_report", "draft_report"},
        {"judge", "summarize ewok"},
    ),
    "a statistic": (
        "worldprobe/benchmarks/ewok/analysis/summarize.py",
        {"summarize ewok", "summarize worldsense", "judge", "pool_domains", "print_table"},
        {*()},
    ),
    "a script of R": (
        "worldprobe/benchmarks/ewok/analysis/regression.R",
        {"fit_mixed_model", "judge"},
        {*()},
    ),
    "an extension": (
        "worldprobe_lab/pooling.py",
        {"pool_domains"},
        {"judge", "summarize ewok", "summarize worldsense", "lay_out_lists"},
    ),
    "the page of items": (
        "worldprobe_explorer/worth.py",
        {"explore"},
        {"judge", "summarize ewok", "draw_figure", "pool_domains"},
    ),
}


@pytest.mark.parametrize(("name", "made", "spared"), CODE_EDITS.values(), ids=CODE_EDITS)
def test_an_edit_of_code_makes_the_cheap_stages_of_its_package_again(
    planned: Jobs, edited: Callable[..., None], name: str, made: set[str], spared: set[str]
) -> None:
    edited(f"workflow/src/{name}", "e", "ee")
    found = planned()
    assert not set(found) & (EXPENSIVE | spared)
    assert made <= set(found)


def test_an_edit_of_the_resources_makes_cheap_stages_again(
    planned: Jobs, edited: Callable[..., None]
) -> None:
    edited("resources/published/ewok.csv", "0.", "1.")
    found = planned()
    assert "check_worldsense_reproduction" in found
    assert not set(found) & EXPENSIVE


@pytest.mark.parametrize(
    ("number", "rule", "spared"),
    [
        ("SCORE", "score", {"ask", "fill_items"}),
        ("ASK", "ask", {"score", "generate_set"}),
        ("READING", "score", {"fill_items", "generate_set"}),
        ("TRAINING", "train_control", {"fill_items", "write_corpus"}),
        ("ITEMS", "fill_items", {"train_control", "compile_templates"}),
    ],
)
def test_the_number_of_an_expensive_stage_makes_it_again(
    planned: Jobs, monkeypatch: pytest.MonkeyPatch, number: str, rule: str, spared: set[str]
) -> None:
    monkeypatch.setattr(methods, number, 99)
    found = planned()
    assert rule in found
    assert not set(found) & spared


def test_the_generation_settings_of_a_model_in_a_folder_ask_that_model_again(
    planned: Jobs, edited: Callable[..., None]
) -> None:
    edited("mine/generation_config.json", "{}", '{"eos_token_id": 7}')
    found = planned()
    assert found["score"] == 1
    assert not set(found) & (EXPENSIVE - {"score", "ask"})


def test_another_version_of_torch_asks_no_model_again(
    planned: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions are recorded with every answer; where a library moves numbers, the stage gets a new
    number.
    """
    folder = tmp_path / "torch-99.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 99.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert version("torch") == "99.0"
    assert not planned()


def test_from_when_on_kept_answers_count_reruns_nothing_that_is_not_forced(planned: Jobs) -> None:
    """It is a resource: else the next run without it would ask once more."""
    since = ("--config", "kept_since=2026-11-29 15:00")
    assert not planned(*since)
    assert planned(*since, "--forcerun", "score")["score"] == 2


@pytest.mark.parametrize(
    ("new", "made"),
    [
        ('Mine\n  colour: "#123456"', {"draw_figure", "record_study", "build_report"}),
        (
            "Yours",
            {
                "draw_figure",
                "print_table",
                "record_study",
                "build_report",
                "draft_report",
                "explore",
            },
        ),
    ],
)
def test_a_colour_redraws_figures_and_a_name_prints_tables_again(
    planned: Jobs, edited: Callable[..., None], new: str, made: set[str]
) -> None:
    edited("registry.yaml", "display_name: Mine", f"display_name: {new}")
    assert set(planned()) == made
