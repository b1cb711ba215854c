"""What docs/extras/worldsense_training.md says of fine-tuning is run as it stands there, with a
tiny model and a few trials.
"""

import json
import re
from pathlib import Path

import pytest

from command_line import run
from worldprobe_training.finetune import decide
from worldprobe_training.trainings import FinetuningSettings

TEMPLATE = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt"
    " %}assistant: {% endif %}"
)
FEW = "--per-cell 1 --problems Infer.trivial --sizes 3"


@pytest.fixture(scope="module")
def section(repository: Path) -> str:
    text = (repository / "docs" / "extras" / "worldsense_training.md").read_text(encoding="utf-8")
    return text.partition("\n## Fine-tuning\n")[2].partition("\n### ")[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with a chat template, a part of the test set, and one of the training set."""
    folder = tmp_path_factory.mktemp("documented")
    for name in ("train-10k", "test"):
        assert run(f"worldsense generate {name} {FEW} --out {folder}/{name}.parquet") == 0
    small = "--layers 1 --width 16 --heads 2 --vocabulary 300 --positions 512"
    assert (
        run(f"worldsense start-model {folder}/train-10k.parquet {small} --out {folder}/base") == 0
    )
    (folder / "base" / "chat_template.jinja").write_text(TEMPLATE)
    return folder


@pytest.mark.long
def test_the_commands_run_one_after_the_other(
    section: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    lines = re.findall(r"^worldprobe (worldsense .+)$", section, re.M)
    assert [line.split()[1] for line in lines] == ["generate", "finetune", "ask"]
    lines[0] += f" {FEW}"
    for line in lines:
        assert run(line.replace("/path/to/folder", f"{folder}/base")) == 0
    settings = json.loads((folder / "tuned" / "provenance.json").read_text())["details"]["settings"]
    assert settings["warm_up"] == 0


@pytest.mark.parametrize(
    ("lessons", "steps", "warm_up"),
    [(11_232, 351, 4), (101_088, 3_159, 32), (6_400_000, 200_000, 2_000)],
)
def test_the_rate_rises_in_the_papers_share_of_the_steps(
    lessons: int, steps: int, warm_up: int
) -> None:
    how = decide(FinetuningSettings(), 1, lessons)
    assert (how.steps, how.warm_up) == (steps, warm_up)
