"""The overview tells done, failed, unfinished and not begun apart."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worldprobe.operations.status import progress

STUDY: dict[str, Any] = {"study": "trial", "models": ["mine", "other"]}


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


def test_a_model_is_done_only_when_every_way_of_asking_has_its_file(tmp_path: Path) -> None:
    finish(tmp_path, "mine")
    finish(tmp_path, "other")
    (tmp_path / evidence(STUDY, "other")["score"][1]).unlink()
    assert progress(STUDY, evidence, STUDY["models"], tmp_path) == [
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
    assert progress(STUDY, evidence, STUDY["models"], tmp_path) == [
        ("mine", "failed", "there is no such model"),
        ("other", "unfinished", "20 of 80 items"),
    ]
