"""The overview tells done, failed, unfinished and not begun apart."""

from pathlib import Path
from typing import Any

import pytest

from worldprobe.benchmarks.ewok.outputs import evidence
from worldprobe.operations.status import (
    REST,
    after_failure,
    after_success,
    missing_models,
    progress,
    rest_of_run,
    was_stopped,
    without_retries,
)

STUDY: dict[str, Any] = {
    "study": "trial",
    "models": ["mine", "other"],
    "allow_missing": True,
    "benchmarks": ["ewok"],
    "ewok": {
        "conditions": {"main": {}},
        "eval_types": ["logprobs", "likert_free_zero"],
        "released": {"results": None},
    },
}


def finish(folder: Path, model: str) -> None:
    for path in [folder / name for name in evidence(STUDY, model)]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def log(folder: Path, model: str, text: str, rule: str = "score") -> None:
    path = folder / "results" / "trial" / "logs" / rule / f"{model}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_model_is_done_only_when_every_way_of_asking_has_its_file(tmp_path: Path) -> None:
    finish(tmp_path, "mine")
    finish(tmp_path, "other")
    (tmp_path / evidence(STUDY, "other")[1]).unlink()
    assert progress(STUDY, tmp_path) == [
        ("mine", "done", ""),
        ("other", "not begun", ""),
    ]


def test_a_model_with_a_log_but_no_file_has_failed_or_is_unfinished(tmp_path: Path) -> None:
    log(
        tmp_path,
        "mine",
        "a\nb\nerror: org/mine\n  problem: there is no such model.\n  fix: fetch it.\n",
    )
    log(tmp_path, "other", "10 of 80 items\n20 of 80 items\n")
    assert progress(STUDY, tmp_path) == [
        ("mine", "failed", "there is no such model"),
        ("other", "unfinished", "20 of 80 items"),
    ]


def test_after_a_failure_the_reason_is_named_and_what_was_made_with_the_model_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("worldprobe.operations.status.outdated", lambda *_: ["old", "not there"])
    (tmp_path / "old").touch()
    finish(tmp_path, "mine")
    log(tmp_path, "other", "error: other\n  problem: is broken.\n  fix: Mend it.\n")
    why, line = missing_models(STUDY), "other has no answers: is broken"
    assert why == {"other": "is broken"}
    strict = STUDY | {"allow_missing": False}
    assert missing_models(strict) == {}
    assert [*after_failure(strict, {}, [])] == [line]
    removed = "Removed, as it was made with other: old"
    assert [*after_failure(STUDY, {}, why)] == [line, removed]
    assert not (tmp_path / "old").exists()
    _, fix = after_failure(STUDY, {}, [])
    assert fix.startswith("Run the same command again")


def test_after_a_success_models_that_are_not_in_the_tables_are_named() -> None:
    first, then, there = after_success(["a", "b"], {"a": "gone"})
    assert first == "Without a: gone."
    assert "next run" in then
    assert there.startswith("b: there now.")
    assert not [*after_success([], {})]


def test_the_rest_is_made_after_a_run_in_which_all_but_failed_models_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("worldprobe.operations.status.downloads", lambda _study: {})
    study = STUDY | {"fetch_again": True, "ask_again": True}

    def rest(*words: str, missing: tuple[str, ...] = (), **changes: object) -> list[str]:
        return rest_of_run(study | changes, missing, (), ["/bin/snakemake", *words])

    log(tmp_path, "other", "error: other\n  problem: is broken.\n  fix: Mend it.\n")
    assert rest("all") == [], "mine was interrupted"
    finish(tmp_path, "mine")
    assert rest("all")[3:] == ["all", "--nolock"]
    # What the command says of the study must not get lost: else a rehearsal's rest is the real run.
    for words in (
        ["--config", "a=1"],
        ["--config=rehearsal=true", "study=s", "-k"],
        ["-Crehearsal=true", "--configfile", "a.yaml", "my folder/b.yaml"],
        ["--profile", "slurm", "--until", "score"],
    ):
        assert rest(*words)[3:] == [*words, "--nolock"]
    assert rest("-k", "--", "all")[3:] == ["-k", "--nolock", "--", "all"]
    assert rest("all", missing=("other",)) == [], "nothing new failed"
    assert rest("all", fetch_again=False, ask_again=False) == [], "it is the rest itself"
    assert rest("all", allow_missing=False) == []
    assert rest("results/trial/ewok/scores/main/logprobs/other.parquet") == []
    assert rest_of_run(study, (), (), ["pytest", "all"]) == [], "not Snakemake's command"

    moved = ["--directory", "/there/sub"]
    command = ["snakemake", "--directory", "sub", "--", "all"]
    assert rest_of_run(study, (), (), command, moved)[3:] == [
        *["--directory", "sub", *moved, "--nolock", "--", "all"]
    ]
    command += ["--profile", "slurm"]
    assert rest_of_run(study, (), (), command, moved) == [], "the profile would not be found"


def test_the_rest_tries_nothing_again_and_its_study_is_otherwise_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = STUDY | {"fetch_again": True, "ask_again": True}
    assert without_retries(study) == study
    monkeypatch.setenv(REST, "1")
    assert without_retries(study) == study | {"fetch_again": False, "ask_again": False}


def test_a_run_that_somebody_stopped_is_known_by_its_log(tmp_path: Path) -> None:
    path = tmp_path / "snakemake.log"
    path.write_text("Error in rule score:\nExiting because a job execution failed.\n")
    assert not was_stopped([path])
    path.write_text("Terminating processes on user request, this might take some time.\n")
    assert was_stopped([path])
    assert not was_stopped([])
