"""An engine that is not in the repository: the one that CONTRIBUTING shows, as it stands there, in
an installed package. Nothing that is shared changes.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PAIRS = """\
title: Words
question: Does a language model prefer words?
reference: Invented.
data: [words.csv]
targets: [word, other]
clusters: word
id: "{{ word }}"
"""


@pytest.fixture(scope="module")
def with_engine(
    installed: Callable[[Path], dict[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """The environment of a Python in which CONTRIBUTING's engine is installed."""
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index("## Add an engine") : text.index("## Add a table or figure")]
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", section, re.S))
    source = tmp_path_factory.mktemp("source")
    (source / "short_engine.py").write_text(blocks["python"])
    build = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
    build += '[tool.hatch.build.targets.wheel]\nonly-include = ["short_engine.py"]\n'
    project = '[project]\nname = "short_engine"\nversion = "1"\n'
    (source / "pyproject.toml").write_text(build + project + blocks["toml"])
    return installed(source)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with minimal pairs, and a study of a model of the engine."""
    (tmp_path / "words.csv").write_text("word,other\nit,item\nan,another\nlonger,long\n")
    (tmp_path / "words.yaml").write_text(PAIRS)
    card = {"family": "short", "display_name": "Short", "checkpoint": "any", "engine": "short"}
    (tmp_path / "models.yaml").write_text(json.dumps({"brief": card}))
    study = {"study": "engines", "benchmarks": ["words.yaml"], "models": ["brief"]}
    study |= {"registry": str(tmp_path / "models.yaml"), "report": {"notebooks": []}}
    (tmp_path / "study.yaml").write_text(json.dumps(study))
    return tmp_path


@pytest.mark.long
def test_its_models_are_evaluated(place: Path, with_engine: dict[str, str]) -> None:
    command = [sys.executable, "-m", "worldprobe", "evaluate", "any", "--engine", "short"]
    command += ["--benchmark", "words.yaml", "--work", "work"]
    done = subprocess.run(command, cwd=place, env=with_engine, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads((place / "work" / "result.json").read_text())
    assert result["engine"] == "short"
    assert result["benchmarks"]["words"]["mean"] == pytest.approx(2 / 3)


@pytest.mark.long
def test_it_answers_no_prompt_and_takes_no_key_that_it_does_not_name(
    place: Path, with_engine: dict[str, str]
) -> None:
    def refused(*words: str) -> str:
        command = [sys.executable, "-m", "worldprobe", "evaluate", "any", "--engine", *words]
        done = subprocess.run(command, cwd=place, env=with_engine, capture_output=True, text=True)
        assert done.returncode == 2, done.stdout
        return done.stderr

    assert "only scored here" in refused("short", "--benchmark", "worldsense")
    assert "does nothing with the engine short" in refused("short", "--dtype", "bfloat16")
    assert 'did you mean "short"?' in refused("shirt")


@pytest.mark.long
def test_a_study_on_a_cluster_plans_no_gpu_and_no_download_for_it(
    place: Path,
    with_engine: dict[str, str],
    snakemake_command: Callable[..., list[str]],
) -> None:
    command = snakemake_command(place, "--dry-run", configuration=(place / "study.yaml",))
    profile = ["--profile", str(REPOSITORY / "slurm")]
    planned = subprocess.run(
        [*command, *profile], cwd=place, env=with_engine, capture_output=True, text=True
    )
    assert planned.returncode == 0, planned.stderr
    assert "ask_words" in planned.stdout
    assert "GPUs 0, 3000 MB" in planned.stdout
    assert "fetch_model" not in planned.stdout
