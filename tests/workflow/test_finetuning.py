"""The fine-tuning experiment in a study: what is planned."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import yaml

Snakemake = Callable[..., subprocess.CompletedProcess[str]]

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
    done = snakemake(tmp_path, "--dry-run", "--printshellcmds", configuration=written(tmp_path, LARGE))
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed[-3000:]
    commands = re.findall(r"worldprobe (.*?) &> ", printed)
    tuned = [line for line in commands if line.startswith("worldsense finetune")]
    assert len(tuned) == 2
    assert all("--learning-rate 2e-06 --batch 64" in line and "--warm-up 2000 --schedule cosine" in line for line in tuned)
    assert any("finetune meta-llama/Llama-2-70b-chat-hf" in line and "--gpus 4" in line for line in tuned)
    assert all("--tests results/large/worldsense/trials/test.parquet" in line for line in tuned)
    asked = {line.split()[0] for line in commands if "--model gemma_1.1_2b+10k" in line}
    assert {"score", "worldsense"} <= asked
    assert {line.split()[0] for line in commands if "--model Llama2-chat-70B+10k" in line} == {"worldsense"}
    assert "ask-external" not in printed
    external = snakemake(tmp_path, "--dry-run", "gather_external", configuration=written(tmp_path, LARGE))
    assert re.search(r"^ask_external +4$", external.stdout + external.stderr, re.MULTILINE)


def test_a_mistake_in_the_settings_stops_the_study_before_any_job(snakemake: Snakemake, tmp_path: Path) -> None:
    wrong = {**LARGE, "worldsense": {"finetuning": {**LARGE["worldsense"]["finetuning"], "bases": ["gemma_1.1_2bb"]}}}
    done = snakemake(tmp_path, "--dry-run", configuration=written(tmp_path, wrong))
    assert done.returncode != 0
    assert "gemma_1.1_2bb is not a model of the registry" in done.stdout + done.stderr
