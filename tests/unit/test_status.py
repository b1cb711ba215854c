"""The overview tells done, running, waiting and failed apart, and says what to do next."""

from pathlib import Path

import pytest

from worldprobe import status
from worldprobe.cli import main
from worldprobe.status import Job, model_states, next_steps

STUDY = {"models": ["mine", "other"], "eval_types": ["logprobs", "likert_free_two"]}
REGISTRY = {"mine": {"checkpoint": "org/mine"}, "other": {"checkpoint": "org/other"}}


def finish(folder: Path, model: str) -> None:
    for path in status.evidence_of(STUDY, model, folder):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def log(folder: Path, model: str, text: str, rule: str = "score") -> None:
    path = folder / "results" / "logs" / rule / f"{model}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def states(folder: Path, queue: list[Job] | None = None, running: bool = False) -> dict[str, tuple[str, str]]:
    return {state.model: state[1:] for state in model_states(STUDY, REGISTRY, folder, queue or [], running)}


def test_a_model_is_done_only_when_every_way_of_asking_has_its_file(tmp_path: Path) -> None:
    finish(tmp_path, "mine")
    finish(tmp_path, "other")
    status.evidence_of(STUDY, "other", tmp_path)[1].unlink()
    assert {model: state for model, (state, _) in states(tmp_path).items()} == {"mine": "done", "other": "not started"}


def test_a_running_job_shows_its_node_and_the_last_line_of_its_log(tmp_path: Path) -> None:
    log(tmp_path, "mine", "first\nasking: 10/20 items\n")
    queue = [Job("12", "RUNNING", "3:10", "node1", "rule_score_wildcards_mine"), Job("13", "PENDING", "0:00", "(Priority)", "")]
    state, detail = states(tmp_path, queue, running=True)["mine"]
    assert state == "running"
    assert "job 12 on node1" in detail
    assert detail.endswith("asking: 10/20 items")


def test_a_pending_job_says_what_it_waits_for(tmp_path: Path) -> None:
    queue = [Job("13", "PENDING", "0:00", "(Resources)", "rule_score_wildcards_other")]
    assert states(tmp_path, queue, running=True)["other"] == ("waiting", "job 13 is pending (Resources)")


def test_a_model_with_a_log_but_no_file_has_failed_once_nobody_works_on_it(tmp_path: Path) -> None:
    log(tmp_path, "mine", "a\nb\nerror: org/mine\n  what: there is no such model.\n  mend: fetch it.\n")
    assert states(tmp_path)["mine"] == ("failed", "error: org/mine / what: there is no such model. / mend: fetch it.")
    assert states(tmp_path, running=True)["mine"][0] == "waiting"


def test_a_control_model_that_is_not_trained_is_looked_for_at_its_training(tmp_path: Path) -> None:
    log(tmp_path, "mine", "loss is not finite\n", rule="train_control")
    registry = REGISTRY | {"mine": {"checkpoint": "results/controls/models/mine", "control": {}}}
    assert model_states(STUDY, registry, tmp_path, [], False)[0][1:] == ("failed", "loss is not finite")


@pytest.mark.parametrize(
    ("queue", "pids", "on_cluster", "words"),
    [
        ([], [7], True, "none of its jobs is in the queue"),
        ([Job("1", "PENDING", "", "", "")], [7], True, "is at work here"),
        ([Job("1", "PENDING", "", "", "")], [], True, "scancel 1"),
        ([], [], True, "snakemake --profile slurm"),
        ([], [], False, "snakemake --cores all"),
    ],
)
def test_the_next_step_fits_the_situation(
    tmp_path: Path, queue: list[Job], pids: list[int], on_cluster: bool, words: str
) -> None:
    found = model_states(STUDY, REGISTRY, tmp_path, queue, bool(pids))
    assert words in next_steps(found, tmp_path, queue, pids, on_cluster)[0]


def test_a_stale_lock_is_told(tmp_path: Path) -> None:
    (tmp_path / ".snakemake" / "locks").mkdir(parents=True)
    (tmp_path / ".snakemake" / "locks" / "0.input.lock").touch()
    found = model_states(STUDY, REGISTRY, tmp_path, [], False)
    assert any("unlock" in step for step in next_steps(found, tmp_path, [], [], False))


def test_when_all_is_done_nothing_is_asked(tmp_path: Path) -> None:
    for model in STUDY["models"]:
        finish(tmp_path, model)
    found = model_states(STUDY, REGISTRY, tmp_path, [], False)
    assert next_steps(found, tmp_path, [], [], True) == ["All models are done."]


def test_the_queue_is_read_from_squeue_and_only_our_jobs_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    squeue = tmp_path / "squeue"
    lines = "worldprobe_1|5|RUNNING|0:10|node1|rule_score_wildcards_mine\nsomebody|6|RUNNING|0:10|node1|x"
    squeue.write_text(f"#!/bin/sh\nprintf '%s\\n' '{lines}'\n")
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert status.read_queue() == [Job("5", "RUNNING", "0:10", "node1", "rule_score_wildcards_mine")]


def test_a_queue_that_does_not_answer_is_no_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "squeue").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "squeue").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert status.read_queue() is None


def test_the_command_prints_a_line_per_model_and_the_next_step(
    tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    assert main(["status", "--directory", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "control_untrained    not started" in printed
    assert "Run `snakemake" in printed
