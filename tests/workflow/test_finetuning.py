"""The fine-tuning experiment in a study: what is planned, and a tiny one from skins to Table 9
and Figure 5.
"""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import yaml

from command_line import check_success

Snakemake = Callable[..., subprocess.CompletedProcess[str]]

TINY = {
    "study": "tiny",
    "models": ["reader"],
    "benchmarks": ["worldsense"],
    "report": {"notebooks": []},
    "worldsense": {
        "sets": ["test", "memorisation"],
        "sizes": [3],
        "problems": ["Infer.trivial", "Compl.trivial"],
        "controls": [],
        "finetuning": {
            "bases": ["reader"],
            "start": {
                "reader": {
                    "display_name": "Reader",
                    "layers": 1,
                    "width": 32,
                    "heads": 2,
                    "vocabulary": 400,
                    "vocabulary_from": [
                        {
                            "set": "train-10k",
                            "per_cell": 1,
                            "sizes": [3],
                            "problems": ["Infer.trivial"],
                        }
                    ],
                    "stages": [
                        {
                            "name": "words",
                            "train": [
                                {
                                    "set": "train-10k",
                                    "per_cell": 1,
                                    "sizes": [3],
                                    "problems": ["Infer.trivial"],
                                }
                            ],
                            "settings": {"loss": "all", "steps": 3},
                        }
                    ],
                }
            },
            "variants": {
                "100": {
                    "train": [
                        {
                            "set": "train-10k",
                            "per_cell": 1,
                            "sizes": [3],
                            "problems": ["Infer.trivial", "Compl.trivial"],
                        }
                    ],
                    "settings": {"trials": 100},
                }
            },
            "settings": {
                "prompt_set": "constrained",
                "chat": "never",
                "steps": 6,
                "warm_up": 1,
                "batch": 8,
                "learning_rate": 0.001,
            },
        },
    },
}
LARGE = {
    "study": "large",
    "models": ["gemma_1.1_2b", "gemma_1.1_2b+10k"],
    "worldsense": {
        "finetuning": {
            "bases": ["gemma_1.1_2b", "Llama2-chat-70B"],
            "variants": {"10k": {"train": [{"set": "train-10k"}]}},
            "external": ["mmlu:5"],
            "settings": {"minutes": 600},
        }
    },
}


def written(folder: Path, study: dict) -> tuple[Path]:
    path = folder / f"{study['study']}.yaml"
    path.write_text(yaml.safe_dump(study, sort_keys=False))
    return (path,)


def test_a_fine_tuned_model_is_asked_by_every_rule_and_its_job_asks_for_what_its_base_needs(
    snakemake: Snakemake, tmp_path: Path
) -> None:
    """The model that the study names is asked both benchmarks; the other one WorldSense alone."""
    done = snakemake(
        tmp_path, "--dry-run", "--printshellcmds", configuration=written(tmp_path, LARGE)
    )
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed[-3000:]
    commands = re.findall(r"worldprobe (?:attempt .*? -- )?(.*?) &> ", printed)
    tuned = [line for line in commands if line.startswith("worldsense finetune")]
    assert len(tuned) == 2
    for line in tuned:
        assert {"--learning-rate=2e-06", "--batch=64", "--schedule=cosine"} <= {*line.split()}
        assert "--warm-up" not in line  # the paper's share of the steps, which the command knows
    assert any(
        "finetune meta-llama/Llama-2-70b-chat-hf" in line and "--gpus 4" in line for line in tuned
    )
    assert all(
        re.search(
            r"--tests results/large/worldsense/trials/test\.parquet \S*ewok\S*items\S*\.parquet",
            line,
        )
        for line in tuned
    )
    asked = {line.split()[0] for line in commands if "--model=gemma_1.1_2b+10k" in line}
    assert {"score", "worldsense"} <= asked
    assert {line.split()[0] for line in commands if "--model=Llama2-chat-70B+10k" in line} == {
        "worldsense"
    }
    assert "ask-external" not in printed
    external = snakemake(
        tmp_path, "--dry-run", "gather_external", configuration=written(tmp_path, LARGE)
    )
    assert re.search(r"^ask_external +4$", external.stdout + external.stderr, re.MULTILINE)


def test_sets_in_the_words_of_training_are_no_tests_to_training(
    snakemake: Snakemake, tmp_path: Path
) -> None:
    """They are training data by design, or may be drawn for both; the others must not be
    trained on.
    """
    kinds = ("", "-hard", "-motion")
    block = {
        **LARGE["worldsense"],
        "sets": [
            f"{name}{kind}" for kind in kinds for name in ("test", "memorisation", "same-skins")
        ],
    }
    done = snakemake(
        tmp_path,
        "--dry-run",
        "--printshellcmds",
        configuration=written(tmp_path, {**LARGE, "worldsense": block}),
    )
    tests = set(re.findall(r"--tests (.*?) --", done.stdout + done.stderr))
    assert tests
    assert {name for line in tests for name in re.findall(r"trials/(\S+)\.parquet", line)} == {
        "test",
        "test-hard",
        "test-motion",
    }


@pytest.fixture(scope="module")
def finished_tiny(snakemake: Snakemake, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that makes a small model, teaches it in one stage, fine-tunes it, and asks it
    before and after.
    """
    folder = tmp_path_factory.mktemp("tiny")
    here = "results/tiny/worldsense"
    wanted = [f"{here}/tables/worldsense_finetuning.csv"]
    wanted += [f"{here}/figures/worldsense_{name}.svg" for name in ("finetuning", "training")]
    done = snakemake(folder, "--show-failed-logs", *wanted, configuration=written(folder, TINY))
    check_success(done)
    return folder / here


@pytest.mark.slow
def test_a_tiny_experiment_runs_from_skins_to_table_9_and_figure_5(finished_tiny: Path) -> None:
    table = pd.read_csv(finished_tiny / "tables" / "worldsense_finetuning.csv")
    ours = table[table["source"] == "this run"]
    assert set(ours["name"]) == {"Reader", "Reader +100"}
    assert set(ours["condition"]) == {"test", "memorisation"}
    assert (table["source"] == "paper").sum() > 20
    figure = pd.read_csv(finished_tiny / "figures" / "worldsense_finetuning.csv")
    assert {"0", "100", "1M"} <= set(figure["variant"].astype(str))
    curves = pd.read_csv(finished_tiny / "figures" / "worldsense_training.csv")
    assert curves.groupby("model")["step"].max().to_dict() == {"reader.words": 3, "reader+100": 6}
