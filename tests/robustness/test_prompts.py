"""Prompt files with one thing wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

OWN = yaml.safe_load(
    (Path(__file__).resolve().parents[2] / "resources" / "prompts" / "ewok.yaml").read_text(
        encoding="utf-8"
    )
)
TEXTS = ("instructions", "trial_heading", "test_heading", "block")
NOT_TEXTS = (None, 5, 1.5, True, ["a"], {"a": "b"})
#: Key of the Choice prompt, what is put there, and a word of the message.
CHANGED: list[tuple[str, Any, str]] = [
    *((key, value, f"choice.{key}") for key in TEXTS for value in NOT_TEXTS),
    *(
        (key, "See {context1}.", "only the block may")
        for key in ("instructions", "trial_heading", "test_heading")
    ),
    *(
        ("block", text, "must contain the slots")
        for text in ("", "{context1}", "{context1} {context2} {target} {other}")
    ),
    *(
        ("answers", value, "choice.answers")
        for value in (*NOT_TEXTS, [], [1, 2], ["one", "two"], ["1", None], ["1"], ["1", "10"])
    ),
    *(
        ("answers", value, "choice.answers")
        for value in (["3", "4"], ["1", "1"], ["1", "2", "2"], ["1", "2", "3"], ["²", "1"])
    ),
    *(
        ("trials", value, "choice.trials")
        for value in (*NOT_TEXTS, [], [None], [[]], [{}], [{"response": "1"}])
    ),
    *(
        ("trials", [OWN["choice"]["trials"][0] | wrong], "choice.trials[0]")
        for wrong in (
            {"response": "3"},
            {"response": 1},
            {"response": None},
            {"target": 5},
            {"context1": None},
            {"extra": "x"},
        )
    ),
]
#: Whole files.
FILES = [
    *(
        b"",
        b"null",
        b"[]",
        b"5",
        b"text",
        b"choice: null",
        b"choice: []",
        b"choice: {}",
        b"choice: 5",
        b"5: {}",
        b"chioce: {}",
    ),
    *(
        b"\xff\xfe",
        b"choice: \xe9",
        b"choice: {",
        b"a: \0",
        b"choice: 2020-99-99",
        b"choice: !!python/name:os.system",
        b"&a [*a]",
    ),
]


def ask(check: Callable[..., str], prompts: Path | str, words: str = "") -> None:
    check(
        "score all {items} --checkpoint {folder}/nowhere --eval-types choice_free_two --prompts"
        " {prompts} --out {out}",
        words,
        prompts=prompts,
    )


@pytest.mark.parametrize(("key", "value", "words"), CHANGED)
def test_a_prompt_with_one_thing_wrong_is_named(
    check: Callable[..., str], tmp_path: Path, key: str, value: Any, words: str
) -> None:
    changed = copy.deepcopy(OWN)
    changed["choice"][key] = value
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(changed), encoding="utf-8")
    ask(check, path, words)


@pytest.mark.parametrize("key", [*TEXTS, "answers", "trials"])
def test_a_missing_or_unknown_key_is_named(
    check: Callable[..., str], tmp_path: Path, key: str
) -> None:
    changed = copy.deepcopy(OWN)
    changed["choice"][f"{key}s"] = changed["choice"].pop(key)
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(changed), encoding="utf-8")
    ask(check, path, key)


@pytest.mark.parametrize("content", FILES)
def test_a_file_that_is_not_a_set_of_prompts_is_named(
    check: Callable[..., str], tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "own.yaml"
    path.write_bytes(content)
    ask(check, path, "own.yaml")


def test_a_key_given_twice_a_folder_and_an_unknown_set_are_named(
    check: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(OWN) + "choice: {}\n", encoding="utf-8")
    ask(check, path, "line")
    (tmp_path / "folder.yaml").mkdir()
    ask(check, tmp_path / "folder.yaml", "is a directory")
    ask(check, "ewko", "did you mean")
    ask(check, tmp_path / "nowhere.yaml", "cannot be read")
