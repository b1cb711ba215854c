"""What an edit makes again: each kind of thing is edited once in a study whose files are all there."""

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

Jobs = Callable[..., Counter[str]]
#: Rules that train or ask models, and what makes what these read.
EXPENSIVE = {"compile_templates", "compile_control_templates", "fill_items", "gather_items", "write_corpus", "train_tokenizer"}
EXPENSIVE |= {"train_control", "train_vectors", "score", "generate_set", "ask"}


@pytest.fixture(scope="module")
def clone(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what Snakemake reads of the repository, to be edited."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("workflow", "config", "resources", "envs", "notebooks", "slurm"):
        ignored = shutil.ignore_patterns("__pycache__", "downloads", ".snakemake")
        shutil.copytree(repository / name, folder / name, ignore=ignored, copy_function=shutil.copy2)
    shutil.copy2(repository / "Snakefile", folder)
    checkpoint = folder / "mine"
    checkpoint.mkdir()
    for name in ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json"):
        (checkpoint / name).write_text("{}")
    registry = yaml.safe_load((repository / ".test" / "config" / "models.yaml").read_text())
    registry |= {"mine": {"checkpoint": "./mine", "family": "mine", "display_name": "Mine", "parameters": 1}}
    (folder / "registry.yaml").write_text(yaml.safe_dump(registry))
    study = yaml.safe_load((repository / ".test" / "config" / "config.yaml").read_text())
    study |= {"registry": "registry.yaml", "models": ["reduced_gpt2", "mine"], "report": {"notebooks": []}}
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    return folder


@pytest.fixture(scope="module")
def planned(
    clone: Path,
    snakemake_command: Callable[..., list[str]],
    environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Jobs:
    """A function: the jobs that the finished study in the clone would do now, by rule."""

    def run(*arguments: str, newer: str = "") -> str:
        command = snakemake_command(clone, *arguments, configuration=(clone / "study.yaml",))
        command[command.index("--snakefile") + 1] = str(clone / "Snakefile")
        at = command.index("--configfile") + 1
        command[at] = str(clone / "config" / "config.yaml")
        done = subprocess.run(command, env=environment | {"PYTHONPATH": newer}, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout + done.stderr

    def jobs(*arguments: str, newer: str = "") -> Counter[str]:
        told = run("--dry-run", *arguments, newer=newer).partition("Job stats:")[2].partition("total")[0]
        return Counter({name: int(n) for name, n in re.findall(r"^(\w+) +(\d+)$", told, re.MULTILINE) if name != "all"})

    files = [line.split("\t")[0] for line in run("--summary").splitlines() if line.startswith("results/")]
    assert len(files) > 100
    for name in files:
        path = clone / name
        if path.suffix or path.name == "corpus":
            (path.mkdir if path.name == "corpus" else path.parent.mkdir)(parents=True, exist_ok=True)
            path.is_dir() or path.touch()
        else:
            path.mkdir(parents=True, exist_ok=True)
    run("--touch", "--forceall")
    return jobs


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


PACKAGE = "workflow/src/worldprobe"
CHEAP_EDITS = {
    "scoring code": (f"{PACKAGE}/models/chat.py", '"""', '"""Edited. '),
    "an R file": (f"{PACKAGE}/benchmarks/ewok/analysis/regression.R", "#", "# Edited."),
    "published numbers": ("resources/published/ewok.csv", "0.", "1."),
}


@pytest.mark.parametrize("edit", CHEAP_EDITS.values(), ids=CHEAP_EDITS)
def test_any_code_or_resource_makes_all_cheap_stages_again_and_asks_no_model(
    planned: Jobs, edited: Callable[..., None], edit: tuple[str, str, str]
) -> None:
    edited(*edit)
    found = planned()
    assert not set(found) & EXPENSIVE
    assert {"judge", "summarize", "summarize_trials", "measure_surface", "print_table", "build_report"} <= set(found)


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
    planned: Jobs, edited: Callable[..., None], number: str, rule: str, spared: set[str]
) -> None:
    edited(f"{PACKAGE}/methods.py", f"\n{number} = ", f"\n{number} = 9")
    found = planned()
    assert rule in found
    assert not set(found) & spared


def test_the_generation_settings_of_a_model_in_a_folder_ask_that_model_again(planned: Jobs, edited: Callable[..., None]) -> None:
    edited("mine/generation_config.json", "{}", '{"eos_token_id": 7}')
    found = planned()
    assert found["score"] == 1
    assert not set(found) & (EXPENSIVE - {"score", "ask"})


def test_another_version_of_torch_asks_no_model_again(planned: Jobs, tmp_path: Path) -> None:
    """Versions are recorded with every answer; where a library moves numbers, the stage gets a new number."""
    folder = tmp_path / "torch-99.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 99.0\n")
    assert not planned(newer=str(tmp_path))


def test_a_forced_rule_asks_again_and_says_from_when_on_kept_answers_count(planned: Jobs) -> None:
    assert planned("--forcerun", "score")["score"] == 2
