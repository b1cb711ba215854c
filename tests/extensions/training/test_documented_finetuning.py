"""What docs/extras/worldsense_training.md says of fine-tuning is run as it stands there, with a
tiny model and a few trials.
"""

import json
import re
import shlex
from pathlib import Path

import pytest

from worldprobe.cli import main
from worldprobe_training.finetune import decide
from worldprobe_training.trainings import FinetuningSettings

TEMPLATE = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt"
    " %}assistant: {% endif %}"
)
FEW = ["--per-cell", "1", "--problems", "Infer.trivial", "--sizes", "3"]


@pytest.fixture(scope="module")
def section(repository: Path) -> str:
    text = (repository / "docs" / "extras" / "worldsense_training.md").read_text(encoding="utf-8")
    return text.partition("\n## Fine-tuning\n")[2].partition("\n### ")[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with a chat template, a part of the test set, and one of the training set."""
    folder = tmp_path_factory.mktemp("documented")
    for name in ("train-10k", "test"):
        assert (
            main(["worldsense", "generate", name, *FEW, "--out", str(folder / f"{name}.parquet")])
            == 0
        )
    start = [
        "--layers",
        "1",
        "--width",
        "16",
        "--heads",
        "2",
        "--vocabulary",
        "300",
        "--positions",
        "512",
    ]
    made = [str(folder / "train-10k.parquet"), *start, "--out", str(folder / "base")]
    assert main(["worldsense", "start-model", *made]) == 0
    (folder / "base" / "chat_template.jinja").write_text(TEMPLATE)
    return folder


def test_the_commands_run_one_after_the_other(
    section: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    commands = [
        shlex.split(line)[1:] for line in re.findall(r"^(worldprobe worldsense .+)$", section, re.M)
    ]
    assert [words[1] for words in commands] == ["generate", "finetune", "ask"]
    for words in commands:
        few = FEW if words[1] == "generate" else []
        assert (
            main(
                [
                    *(
                        str(folder / "base") if word == "/path/to/folder" else word
                        for word in words
                    ),
                    *few,
                ]
            )
            == 0
        )
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
