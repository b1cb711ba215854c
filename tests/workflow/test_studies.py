"""Studies next to each other, other ways into the workflow, and what a user changes or puts in
place.
"""

import html
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from worldprobe.contracts import read_provenance
from worldprobe.models.controls import with_checkpoints

Snakemake = Callable[..., subprocess.CompletedProcess[str]]


def said(run: subprocess.CompletedProcess[str]) -> str:
    return run.stdout + run.stderr


def planned(run: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Rule -> number of jobs."""
    assert run.returncode == 0, said(run)
    table = re.search(r"^job +count\n[- ]+\n(.*?)^total", said(run), re.MULTILINE | re.DOTALL)
    return (
        {name: int(count) for name, count in re.findall(r"^(\S+) +(\d+)$", table[1], re.MULTILINE)}
        if table
        else {}
    )


def test_another_study_plans_its_own_files_and_leaves_the_first_ones_alone(
    snakemake: Snakemake, finished: Path, reduced: tuple[Path, ...], tmp_path: Path
) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("study: other\newok:\n  items:\n    versions: 0-0\n")
    run = snakemake(finished, "--dry-run", "--printshellcmds", configuration=(*reduced, other))
    found = planned(run)
    assert found["score"] == 3
    assert not {"train_control", "write_corpus", "train_tokenizer"} & set(found), (
        "the same training is shared"
    )
    outputs = re.findall(r"--out (.*?) &>", said(run))
    assert outputs
    assert all(path.startswith("results/other/") for line in outputs for path in line.split())
    assert "Nothing to be done" in said(snakemake(finished, "--dry-run", configuration=reduced))


def test_one_more_version_fills_only_that_version(
    snakemake: Snakemake, finished: Path, reduced: tuple[Path, ...], tmp_path: Path
) -> None:
    more = tmp_path / "more.yaml"
    more.write_text("ewok:\n  items:\n    versions: 0-2\n")
    found = planned(snakemake(finished, "--dry-run", configuration=(*reduced, more)))
    assert found["fill_items"] == found["gather_items"] == 1


def test_conditions_are_filled_apart_and_asked_by_one_job_per_model(
    snakemake: Snakemake, repository: Path, tmp_path: Path
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        "models: [control_untrained, control_taught]\newok:\n  items: {versions: 0-1}\n "
        ' conditions:\n    real: {}\n    nonce:\n      items: {swap: ["object->nonword"]}\n'
    )
    run = snakemake(tmp_path, "--dry-run", "--printshellcmds", configuration=(study,))
    found = planned(run)
    assert found["fill_items"] == 4
    assert found["gather_items"] == found["score"] == 2
    assert found["judge"] == 4
    assert found["compare_conditions"] == 1
    lines = [line for line in said(run).splitlines() if " score all " in line]
    assert all(
        "items/real.parquet results/default/ewok/items/nonce.parquet" in line for line in lines
    )


def test_a_study_without_ewok_makes_what_the_other_benchmark_is_for_and_nothing_else(
    snakemake: Snakemake, tmp_path: Path
) -> None:
    study = tmp_path / "study.yaml"
    study.write_text(
        "study: other\nbenchmarks: [worldsense]\nworldsense: {sets: [test], promptings: []}\n"
    )
    assert planned(snakemake(tmp_path, "--dry-run", configuration=(study,))) == {
        "generate_set": 1,
        "all": 1,
    }


def test_an_archive_that_the_user_put_in_place_is_never_fetched_again(
    snakemake: Snakemake, repository: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "resources" / "downloads" / "ewok-config.zip"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"an archive")
    os.utime(archive, (0, 0))
    run = snakemake(tmp_path, "--dry-run", configuration=(repository / "config" / "paper.yaml",))
    assert "ewok-config.zip" not in re.findall(r"Downloading (\S+)", said(run))
    assert archive.read_bytes() == b"an archive"


@pytest.fixture
def local_model(
    finished: Path, reduced: tuple[Path, ...], tmp_path: Path
) -> tuple[Path, tuple[Path, ...]]:
    """A study with a model in a folder of the user's: its folder, and the configuration."""
    trained = next((finished / "results" / "controls").glob("*/models/*/reduced_gpt2"))
    shutil.copytree(trained, tmp_path / "mine")
    card = {
        "checkpoint": str(tmp_path / "mine"),
        "family": "own",
        "display_name": "Mine",
        "parameters": 10000,
        "dtype": "float32",
    }
    (tmp_path / "models.yaml").write_text(yaml.safe_dump({"mine": card}))
    study = tmp_path / "study.yaml"
    study.write_text(
        f"study: local\nregistry: {tmp_path / 'models.yaml'}\nmodels: [mine]\nreport: {{notebooks:"
        " []}\newok:\n  eval_types: [likert_constrained_two]\n  prompting: {prompts:"
        f" {tmp_path / 'prompts.yaml'}}}\n  baselines: {{word2vec: {{enabled: false}}}}\n"
    )
    return tmp_path / "mine", (*reduced, study)


def test_a_study_without_logprobs_runs_to_its_report_and_new_weights_or_prompts_ask_again(
    snakemake: Snakemake,
    repository: Path,
    tmp_path: Path,
    local_model: tuple[Path, tuple[Path, ...]],
) -> None:
    folder, configuration = local_model
    shutil.copy(repository / "resources" / "prompts" / "ewok.yaml", tmp_path / "prompts.yaml")
    study = tmp_path / "run"
    study.mkdir()
    done = snakemake(study, "--show-failed-logs", configuration=configuration)
    assert done.returncode == 0, said(done)[-4000:]
    assert (study / "results" / "local" / "report.html").exists()
    assert "Nothing to be done" in said(snakemake(study, "--dry-run", configuration=configuration))
    for changed in (folder / "model.safetensors", tmp_path / "prompts.yaml"):
        before, content = changed.stat().st_mtime_ns, changed.read_bytes()
        changed.write_bytes(content + b" ")
        os.utime(
            changed, ns=(before - 10**12, before - 10**12)
        )  # a copy of an older file keeps its date
        assert planned(snakemake(study, "--dry-run", configuration=configuration))["score"] == 1, (
            changed
        )
        changed.write_bytes(content)
        os.utime(changed, ns=(before, before))
    registry = (
        tmp_path / "models.yaml"
    )  # memory and time follow from it; they decide nothing but where a job runs
    registry.write_text(registry.read_text().replace("parameters: 10000", "parameters: 90000000"))
    assert "score" not in planned(snakemake(study, "--dry-run", configuration=configuration))


def test_knobs_of_speed_ask_nothing_again(
    snakemake: Snakemake, finished: Path, reduced: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLDPROBE_GPU_MEMORY_GB", "40")
    assert "Nothing to be done" in said(snakemake(finished, "--dry-run", configuration=reduced))


def test_a_model_that_cannot_be_loaded_does_not_keep_the_others_from_tables_and_report(
    snakemake: Snakemake, finished: Path, reduced: tuple[Path, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "study"
    shutil.copytree(finished, folder, copy_function=shutil.copy2)
    results = folder / "results" / "reduced"
    for path in (results / "ewok").glob("*/main/*/reduced_llama.parquet"):
        path.unlink()
    shutil.rmtree(results / "ewok" / "tables")  # what is there already needs no model
    (results / "ewok" / "summaries.parquet").unlink()
    (results / "report.html").unlink()
    (weights,) = (folder / "results" / "controls").glob(
        "*/models/*/reduced_llama/model.safetensors"
    )
    weights.write_bytes(weights.read_bytes()[:100])
    run = snakemake(folder, configuration=reduced)
    assert run.returncode == 0, said(run)[-4000:]
    assert "Without reduced_llama: cannot be loaded" in said(run)
    made = read_provenance(results / "ewok" / "summaries.parquet").details["missing_models"]
    assert list(made) == ["reduced_llama"]
    assert made["reduced_llama"].startswith("cannot be loaded")
    table = (results / "ewok" / "tables" / "mean_accuracy.md").read_text()
    rows = [line for line in table.splitlines() if line.startswith("|")]
    assert any("GPT-2 control" in row for row in rows)
    assert not any("Llama control" in row for row in rows)
    for text in (table, html.unescape((results / "report.html").read_text())):
        assert (
            "1 of the study's models have no answers and are left out: Llama control"
            " (cannot be loaded" in text
        )
    again = planned(snakemake(folder, "--dry-run", configuration=reduced))
    assert again["score"] == again["ask"] == 1, "the next run tries it again"


def test_what_is_trained_alike_is_shared_and_what_is_not_lies_apart() -> None:
    def folder(study: dict[str, Any], **control: int) -> str:
        return str(with_checkpoints(study, {"a": {"control": control}})["a"]["checkpoint"])

    study: dict[str, Any] = {"study": "one", "controls": {"seed": 1, "stories": 1}}
    here = folder(study, layers=1, steps=5)
    assert here == folder({"study": "two", "controls": dict(study["controls"])}, steps=5, layers=1)
    assert here != folder(study, layers=2, steps=5)
    assert here != folder({**study, "controls": study["controls"] | {"seed": 2}}, layers=1, steps=5)


EXPERIMENTS = sorted((Path(__file__).parents[2] / "config" / "experiments").glob("*.yaml"))


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
@pytest.mark.long
def test_every_experiment_plans_a_study_of_its_own(experiment: Snakemake, path: Path) -> None:
    run = experiment(path.stem)
    found = planned(run)
    assert "--per-template" not in said(run), (
        "one more version, or sample of each template, fills only that one"
    )
    settings = yaml.safe_load(path.read_text())
    assert settings["study"] == path.stem
    if settings.get("benchmarks") == ["worldsense"]:
        finetuning = settings["worldsense"]["finetuning"]
        n_variants = {name: len(finetuning["variants"]) for name in finetuning["bases"]}
        trained = [
            len(start["seeds"]) * (len(start["stages"]) + n_variants[name])
            for name, start in finetuning["start"].items()
        ]
        assert found["finetune"] == sum(trained)
        return
    assert found["score"] == len(settings.get("models", range(4)))
    assert found["build_report"] == 1
    n_conditions = len(settings["ewok"].get("conditions", {})) or 1
    assert found["gather_items"] == n_conditions
    compared = [
        one
        for one in settings["ewok"].get("conditions", {}).values()
        if not one.get("items", {}).get("families")
    ]
    for command in ("worldprobe table conditions ", "worldprobe figure conditions "):
        assert (command in said(run)) == (len(compared) > 1), (
            "families have no item in common with the others"
        )
