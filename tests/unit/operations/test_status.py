"""The overview tells done, failed, unfinished and not begun apart."""

from pathlib import Path
from typing import Any

import pytest

from worldprobe.benchmarks.ewok.outputs import evidence
from worldprobe.missing import Missing, read_missing, write_missing
from worldprobe.operations.status import after_run, progress, unfinished
from worldprobe.paths import StudyPaths

STUDY: dict[str, Any] = {
    "study": "trial",
    "models": ["mine", "other"],
    "allow_missing": True,
    "benchmarks": ["ewok"],
    "controls": {"seed": 0},
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


def give_up(folder: Path, model: str, reason: str, stage: str = "ask") -> Path:
    """What a job leaves that failed for the last time."""
    place = folder / evidence(STUDY, model)[0]
    write_missing(place, Missing(model, reason, stage))
    return place


def test_a_model_that_was_given_up_is_no_finished_one(tmp_path: Path) -> None:
    finish(tmp_path, "mine")
    finish(tmp_path, "other")
    give_up(tmp_path, "other", "has no weights")
    assert unfinished(STUDY, tmp_path) == {"mine": [], "other": ["score"]}
    assert progress(STUDY, tmp_path)[1] == ("other", "failed", "has no weights")


def test_what_a_run_lacks_is_named_at_its_end_and_tried_again_where_the_study_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = give_up(tmp_path, "mine", "has no weights")
    fetched = Path("results/models/other/0123456789ab.json")
    write_missing(fetched, Missing("other", "cannot be reached", "fetch"))
    folder = Path("results/trial/ewok/control")
    write_missing(folder, Missing("other", "cannot be reached", "fetch"), as_folder=True)
    strangers = Path("results/models/strange/0123456789ab.json")
    write_missing(strangers, Missing("strange", "is of another study", "fetch"))

    kept = [*after_run(STUDY, {"gated": "needs a token"}, [])]
    assert kept == [
        *("Without gated: needs a token.", "Without mine: has no weights."),
        "Without other: cannot be reached.",
    ]
    assert asked.is_file(), "the study leaves it alone"

    said = [*after_run(STUDY, {}, ["fetch"])]
    assert said[-1] == "The next run tries other again."
    assert not fetched.exists()
    assert not folder.exists()
    assert read_missing(asked) == ("mine", "has no weights", "ask")
    assert next(after_run(STUDY, {}, [])) == "Without mine: has no weights."
    assert [*after_run(STUDY, {}, ["ask"])]
    assert not asked.exists()
    assert [*after_run(STUDY, {}, ["ask"])] == []


def test_a_folder_that_was_given_up_goes_with_all_that_snakemake_and_its_command_left_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("results/trial/ewok/control")
    write_missing(folder, Missing("mine", "ran out of memory", "ask"), as_folder=True)
    (folder / ".snakemake_timestamp").touch()
    (folder / "half").mkdir()
    (folder / "half" / "weights").write_text("half of them")
    (folder.parent / "nowhere").symlink_to("nothing")
    said = list(after_run(STUDY, {}, ["ask"]))
    assert said[0] == "Without mine: ran out of memory."
    assert not folder.exists()


def test_every_reason_is_said_and_what_is_not_tried_again_is_not_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    give_up(tmp_path, "mine", "has no weights")
    for place, name, reason, stage in (
        ("worldsense/a", "mine", "has no chat template", "ask"),
        ("fetched/b", "norms", "cannot be reached", "fetch"),
    ):
        write_missing(Path("results/trial", place), Missing(name, reason, stage))
    strangers = Path("results/models/strange/0123456789ab.json")
    write_missing(strangers, Missing("strange", "is of another study", "fetch"))
    assert [*after_run(STUDY, {}, ["fetch"])] == [
        "Without mine: has no weights; has no chat template.",
        "Without norms: cannot be reached.",
        "The next run tries norms again.",
    ]
    assert read_missing(strangers), "its own study forgets it"
    assert read_missing(tmp_path / evidence(STUDY, "mine")[0])


def test_after_a_run_the_log_of_a_model_that_was_given_up_still_says_why(tmp_path: Path) -> None:
    log = tmp_path / StudyPaths.of(STUDY).log("score", "mine")
    log.parent.mkdir(parents=True)
    log.write_text(
        "error: mine\n  problem: has no weights.\n  fix: Get some.\n"
        "17:02:11 WARNING mine is missing: has no weights\n"
    )
    assert ("mine", "failed", "has no weights") in progress(STUDY, tmp_path)


@pytest.mark.parametrize("text", ['{"worldprobe": "missing"', '{"worldprobe": "missing"}'])
def test_a_note_that_somebody_edited_is_no_note(tmp_path: Path, text: str) -> None:
    (tmp_path / "note").write_text(text)
    assert read_missing(tmp_path / "note") is None
    assert read_missing(tmp_path / "note" / "in_a_file") is None
