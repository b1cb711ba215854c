"""The overview tells done, running, waiting and failed apart, and says what to do next."""

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


def test_while_slurm_does_not_answer_nothing_is_called_lost(tmp_path: Path) -> None:
    log(tmp_path, "mine", "begun\n")
    told = steps(tmp_path, [], [7], silence="Unable to contact slurm controller")
    assert told.startswith("SLURM does not answer (Unable to contact slurm controller)")
    assert "lost" not in told
    assert (
        model_states(STUDY, REGISTRY, evidence, tmp_path, [], True, True, "no answer")[0].state
        == "unknown"
    )


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
