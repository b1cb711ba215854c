"""The overview tells done, running, waiting and failed apart, and says what to do next."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from worldprobe.cli import main
from worldprobe.operations import status
from worldprobe.operations.status import Job, model_states, next_steps

STUDY = {"study": "trial", "models": ["mine", "other"]}
REGISTRY = {"mine": {"checkpoint": "org/mine"}, "other": {"checkpoint": "org/other"}}


def evidence(study: Mapping[str, Any], model: str) -> dict[str, list[str]]:
    return {
        "score": [
            f"results/{study['study']}/{way}/{model}.parquet" for way in ("scores", "responses")
        ]
    }


def evidence_of_both(study: Mapping[str, Any], model: str) -> dict[str, list[str]]:
    """As ``evidence``, where a second benchmark asks too."""
    return evidence(study, model) | {"ask": [f"results/{study['study']}/trials/{model}.parquet"]}


def finish(folder: Path, model: str) -> None:
    for path in [folder / name for name in evidence(STUDY, model)["score"]]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def log(folder: Path, model: str, text: str, rule: str = "score") -> None:
    path = folder / "results" / "trial" / "logs" / rule / f"{model}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def states(
    folder: Path, queue: list[Job] | None = None, running: bool = False
) -> dict[str, tuple[str, str]]:
    return {
        state.model: state[1:3]
        for state in model_states(STUDY, REGISTRY, evidence, folder, queue or [], running)
    }


def steps(
    folder: Path, queue: list[Job], pids: list[int], on_cluster: bool = True, silence: str = ""
) -> str:
    found = model_states(STUDY, REGISTRY, evidence, folder, queue, bool(pids), on_cluster, silence)
    return "\n".join(next_steps(found, folder, queue, pids, on_cluster, silence))


def test_a_model_is_done_only_when_every_way_of_asking_has_its_file(tmp_path: Path) -> None:
    finish(tmp_path, "mine")
    finish(tmp_path, "other")
    (tmp_path / evidence(STUDY, "other")["score"][1]).unlink()
    assert {model: state for model, (state, _) in states(tmp_path).items()} == {
        "mine": "done",
        "other": "not started",
    }


def test_a_running_job_shows_its_node_and_the_last_line_of_its_log(tmp_path: Path) -> None:
    log(tmp_path, "mine", "first\nasking: 10/20 items\n")
    queue = [
        Job("12", "RUNNING", "3:10", "node1", "rule_score_wildcards_mine"),
        Job("13", "PENDING", "0:00", "(Priority)", ""),
    ]
    state, detail = states(tmp_path, queue, running=True)["mine"]
    assert state == "running"
    assert "job 12 on node1" in detail
    assert detail.endswith("asking: 10/20 items")


def test_a_pending_job_says_what_it_waits_for(tmp_path: Path) -> None:
    queue = [Job("13", "PENDING", "0:00", "(Resources)", "rule_score_wildcards_other")]
    assert states(tmp_path, queue, running=True)["other"] == (
        "waiting",
        "job 13 is pending (Resources)",
    )


def test_a_model_with_a_log_but_no_file_has_failed_once_nobody_works_on_it(tmp_path: Path) -> None:
    log(
        tmp_path,
        "mine",
        "a\nb\nerror: org/mine\n  problem: there is no such model.\n  fix: fetch it.\n",
    )
    assert states(tmp_path)["mine"] == (
        "failed",
        "error: org/mine / problem: there is no such model. / fix: fetch it.",
    )
    assert states(tmp_path, running=True)["mine"][0] == "waiting"


def test_a_model_that_both_benchmarks_ask_shows_the_job_that_failed_or_runs_whichever_it_is(
    tmp_path: Path,
) -> None:
    finish(tmp_path, "mine")
    log(tmp_path, "mine", "all answers are there\n")
    log(tmp_path, "mine", "error: mine\n  problem: no memory.\n  fix: Find some.\n", rule="ask")
    log(tmp_path, "other", "error: other\n  problem: no disk.\n  fix: Find one.\n", rule="ask")

    def shown(queue: list[Job], running: bool) -> list[status.ModelState]:
        return model_states(STUDY, REGISTRY, evidence_of_both, tmp_path, queue, running)

    mine, other = shown([], running=False)
    assert (mine.state, mine.detail) == (
        "failed",
        "error: mine / problem: no memory. / fix: Find some.",
    )
    assert (other.state, other.rule) == ("failed", "ask")
    assert "results/default/logs/ask)" in next_steps([mine], tmp_path, [], [], False)[0]
    job = Job("9", "RUNNING", "1:00", "node1", "rule_ask_wildcards_mine")
    assert shown([job], running=True)[0].state == "running"


def test_a_model_that_could_not_be_fetched_a_moment_ago_is_told_from_others(tmp_path: Path) -> None:
    for name, text in (
        ("mine/0", "error: pkg\n  problem: pip cannot.\n  fix: Wait.\n"),
        ("other/0", "fetching\n"),
    ):
        log(tmp_path, name, text, "fetch_model")
    assert status.not_fetched(STUDY, ["mine", "other", "third"], tmp_path) == ["mine"]
    before = time.time() - status.JUST_TRIED - 1
    os.utime(
        tmp_path / "results" / "trial" / "logs" / "fetch_model" / "mine" / "0.log", (before, before)
    )
    assert status.not_fetched(STUDY, ["mine"], tmp_path) == []


def test_a_control_model_that_is_not_trained_is_looked_for_at_its_training(tmp_path: Path) -> None:
    log(tmp_path, "mine", "loss is not finite\n", rule="train_control/0123")
    registry = REGISTRY | {
        "mine": {"checkpoint": "results/controls/ab/models/0123/mine", "control": {"layers": 1}}
    }
    assert model_states(STUDY, registry, evidence, tmp_path, [], False)[0][1:3] == (
        "failed",
        "loss is not finite",
    )


def test_a_control_models_training_job_is_known_by_how_it_is_trained(tmp_path: Path) -> None:
    registry = REGISTRY | {
        "mine": {"checkpoint": "results/controls/ab/models/0123/mine", "control": {"layers": 1}}
    }
    job = Job("3", "RUNNING", "0:05", "node1", "rule_train_control_wildcards_0123_mine")
    others = job._replace(number="4", comment="rule_train_control_wildcards_4567_mine")
    state = model_states(STUDY, registry, evidence, tmp_path, [others, job], True)[0]
    assert (state.state, state.detail) == ("running", "job 3 on node1, training for 0:05")


ALIVE = Job("1", "PENDING", "", "(Priority)", "rule_score_wildcards_mine")


@pytest.mark.parametrize(
    ("queue", "pids", "on_cluster", "words"),
    [
        ([ALIVE], [7], True, "is at work here; nothing to do"),
        ([ALIVE], [], True, "scancel 1`, unless"),
        ([ALIVE._replace(state="CANCELLED")], [], True, "Fix what the logs say"),
        ([], [], True, "snakemake --profile slurm"),
        ([], [], False, "snakemake --cores all"),
    ],
)
def test_the_next_step_fits_the_situation(
    tmp_path: Path, queue: list[Job], pids: list[int], on_cluster: bool, words: str
) -> None:
    assert words in steps(tmp_path, queue, pids, on_cluster).splitlines()[0]


def test_a_model_that_snakemake_waits_for_without_a_job_in_the_queue_is_named_with_the_way_out(
    tmp_path: Path,
) -> None:
    log(tmp_path, "mine", "begun\n")
    finish(tmp_path, "other")
    told = steps(tmp_path, [], [7])
    assert told.startswith(
        "mine: Snakemake (process 7) is at work, but none of its jobs is in the queue for it."
    )
    assert "kill -INT 7" in told
    assert (
        steps(tmp_path, [], [7], on_cluster=False)
        == "Snakemake (process 7) is at work here; nothing to do."
    )


def test_a_job_that_ended_says_how_until_it_is_submitted_again(tmp_path: Path) -> None:
    ended = Job("4", "TIMEOUT", "1:00", "node1", "rule_score_wildcards_mine")
    assert states(tmp_path, [ended], running=True)["mine"] == (
        "waiting",
        "job 4 ended: TIMEOUT; queued for asking (retry)",
    )
    assert "submits again within three minutes" in steps(tmp_path, [ended], [7])
    again = [Job("5", "RUNNING", "0:02", "node2", ended.comment), ended]
    assert steps(tmp_path, again, [7]) == "Snakemake (process 7) is at work here; nothing to do."


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("(JobHeldUser)", "scontrol release 1"),
        ("(launch failed requeued held)", "scontrol release 1"),
        ("(PartitionTimeLimit)", "another partition in config/cluster.yaml"),
    ],
)
def test_a_job_that_will_not_start_by_itself_says_what_to_do(
    tmp_path: Path, reason: str, words: str
) -> None:
    assert words in steps(tmp_path, [ALIVE._replace(reason=reason)], [7])


def test_while_slurm_does_not_answer_nothing_is_called_lost(tmp_path: Path) -> None:
    log(tmp_path, "mine", "begun\n")
    told = steps(tmp_path, [], [7], silence="Unable to contact slurm controller")
    assert told.startswith("SLURM does not answer (Unable to contact slurm controller)")
    assert "lost" not in told
    assert (
        model_states(STUDY, REGISTRY, evidence, tmp_path, [], True, True, "no answer")[0].state
        == "unknown"
    )


def test_a_running_job_whose_log_stands_still_may_hang(tmp_path: Path) -> None:
    log(tmp_path, "mine", "begun\n")
    path = tmp_path / "results" / "trial" / "logs" / "score" / "mine.log"
    os.utime(path, (path.stat().st_mtime - 3600,) * 2)
    assert (
        "no new line for 60 min: if it hangs"
        in states(tmp_path, [ALIVE._replace(state="RUNNING")], running=True)["mine"][1]
    )


def test_a_stale_lock_is_told(tmp_path: Path) -> None:
    (tmp_path / ".snakemake" / "locks").mkdir(parents=True)
    (tmp_path / ".snakemake" / "locks" / "0.input.lock").touch()
    found = model_states(STUDY, REGISTRY, evidence, tmp_path, [], False)
    assert any("unlock" in step for step in next_steps(found, tmp_path, [], [], False))


def test_when_all_is_done_nothing_is_asked(tmp_path: Path) -> None:
    for model in STUDY["models"]:
        finish(tmp_path, model)
    found = model_states(STUDY, REGISTRY, evidence, tmp_path, [], False)
    assert next_steps(found, tmp_path, [], [], True) == ["All models are done."]


@pytest.fixture
def squeue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A stand-in for SLURM's squeue."""

    def install(script: str) -> None:
        (tmp_path / "squeue").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "squeue").chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path))
    return install


def test_only_our_jobs_of_this_folder_are_taken_from_the_queue(
    tmp_path: Path, squeue: Callable[[str], None]
) -> None:
    lines = (
        f"worldprobe_1|5|RUNNING|0:10|node1|rule_score_wildcards_mine|{tmp_path}\n"
        f"somebody|6|RUNNING|0:10|node1|x|{tmp_path}\n"
        "worldprobe_2|7|RUNNING|0:10|node1|rule_score_wildcards_mine|/another/study\n"
    )
    squeue(f"printf '%s' '{lines}'")
    assert status.read_queue(tmp_path) == (
        [Job("5", "RUNNING", "0:10", "node1", "rule_score_wildcards_mine")],
        "",
    )


def test_a_queue_that_does_not_answer_is_told_from_none(
    tmp_path: Path, squeue: Callable[[str], None]
) -> None:
    assert status.read_queue(tmp_path) is None
    squeue("echo 'squeue: fatal: Could not establish a configuration source' >&2; exit 1")
    assert status.read_queue(tmp_path) is None
    squeue("echo 'slurm_load_jobs error: Unable to contact' >&2; exit 1")
    assert status.read_queue(tmp_path) == ([], "slurm_load_jobs error: Unable to contact")


def test_a_lock_is_not_removed_while_jobs_of_the_killed_run_are_in_the_queue(
    tmp_path: Path, squeue: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    locks = tmp_path / ".snakemake" / "locks"
    locks.mkdir(parents=True)
    (locks / "0.input.lock").touch()
    squeue(f"echo 'worldprobe_1|5|RUNNING|0:10|node1|rule_score_wildcards_mine|{tmp_path}'")
    assert main(["unlock", str(tmp_path)]) == 2
    assert "scancel 5, or wait" in capsys.readouterr().err
    squeue("")
    assert main(["unlock", str(tmp_path)]) == 0
    assert not locks.exists()


def test_a_study_of_released_results_asks_no_model_and_says_so(
    tmp_path: Path,
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(repository)
    (tmp_path / "release").mkdir()
    (tmp_path / "study.yaml").write_text(
        f"benchmarks: [ewok]\newok: {{released: {{results: {tmp_path / 'release'}}}}}\n"
    )
    assert (
        main(["status", "--directory", str(tmp_path), "--configfile", str(tmp_path / "study.yaml")])
        == 0
    )
    printed = capsys.readouterr().out
    assert "No model is asked" in printed
    assert "not started" not in printed
    assert "snakemake" not in printed


def test_the_command_prints_a_line_per_model_and_the_next_step(
    tmp_path: Path,
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(repository)
    assert main(["status", "--directory", str(tmp_path), "--configfile", "config/config.yaml"]) == 0
    printed = capsys.readouterr().out
    assert f"--configfile config/config.yaml --directory {tmp_path}`" in printed
    assert "control_untrained  not started" in printed
    assert (
        "No run of this study is in progress, and no model has begun. Start it: `snakemake"
        in printed
    )


def test_an_empty_folder_says_how_a_study_begins_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["status"]) == 0
    assert (
        'Start it: `snakemake --cores all -s "$(worldprobe workflow)"`' in capsys.readouterr().out
    )


def test_the_run_of_another_study_is_not_taken_for_this_ones(
    tmp_path: Path,
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(repository)
    folder = tmp_path / "there"
    folder.mkdir()
    program = tmp_path / "snakemake"
    program.write_text("import time; time.sleep(600)")
    run = [
        sys.executable,
        str(program),
        "--cores",
        "1",
        "--configfile",
        "config/paper.yaml",
        "--keep-going",
    ]
    with subprocess.Popen(run, cwd=folder) as process:
        try:
            assert main(["status", "--directory", str(folder)]) == 0
            printed = capsys.readouterr().out
            assert "waiting" not in printed
            assert f"(process {process.pid}) is at work here on another one" in printed
            assert "`worldprobe status --configfile config/paper.yaml`" in printed
            assert status.of_other_studies([process.pid], ["config/paper.yaml"]) == {}
            both = [
                "config/config.yaml",
                "config/paper.yaml",
            ]  # a study of its own, as the files are laid over each other
            assert status.of_other_studies([process.pid], both) == {
                process.pid: ["config/paper.yaml"]
            }
        finally:
            process.kill()


def test_a_model_that_only_worldsense_asks_and_a_modules_prefix_are_known(
    tmp_path: Path,
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(repository)
    settings = tmp_path / "study.yaml"
    settings.write_text(
        "models: [control_taught]\nworldsense: {models: [control_untrained], sets: [test],"
        " promptings: [basic]}\n"
    )
    answers = (
        tmp_path / "probe" / "results" / "default" / "worldsense" / "responses" / "test" / "basic"
    )
    answers.mkdir(parents=True)
    (answers / "control_untrained.parquet").touch()
    command = ["status", "--directory", str(tmp_path), "--configfile", str(settings)]
    assert main(command) == 0
    assert "control_untrained  not started" in capsys.readouterr().out
    assert main([*command, "--prefix", "probe"]) == 0
    printed = capsys.readouterr().out
    assert "control_untrained  done" in printed
    assert "control_taught     not started" in printed
