"""Test items in training data are found by what they say, without their ids, their layout or
their question.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from command_line import run
from generated_trials import make_trials
from worldprobe.benchmarks.worldsense.skins.skins import read_skins
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF
from worldprobe.benchmarks.worldsense.trials.files import read_trials
from worldprobe.models.engine import Message
from worldprobe_training.contamination import (
    in_dialogues,
    in_trials,
    read_tests,
)
from worldprobe_training.training_files import TrainingDialogue

SKINS = read_skins()


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    return make_trials("test", per_cell=1)


@pytest.fixture(scope="module")
def test_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tests") / "test.parquet"
    assert run(f"worldsense generate test --sizes 3 --per-cell 1 --out {path}") == 0
    return path


def dialogues(texts: list[str], answers: list[str] | None = None) -> list[TrainingDialogue]:
    said = answers or ["yes"] * len(texts)
    return [
        TrainingDialogue(f"line {k}", (Message("user", text),), said[k])
        for k, text in enumerate(texts)
    ]


CHANGES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "digits": lambda text: re.sub(
        r"\b(three|four|five)\b",
        lambda match: str(["three", "four", "five"].index(match[0]) + 3),
        text,
    ),
    "capitals": str.upper,
    "straight quotes, no marks": lambda text: re.sub(
        r"[.,:;()]", " ", text.replace("’", "'").replace("‘", '"')
    ),
    "another opening": lambda text: (
        text if "\n- " in text else "Puzzle of the day. " + text.partition(": ")[2]
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_our_test_trials_are_found_by_their_words_alone(trials: pd.DataFrame, change: str) -> None:
    tests = read_tests([], SKINS)
    texts = [CHANGES[change](text) for text in trials["text"]]
    found = set(in_dialogues(dialogues(texts), tests))
    assert len(found) == len(texts)


def test_descriptions_of_given_tests_are_found_whatever_is_asked_about_them(
    test_table: Path,
) -> None:
    tests = read_tests([test_table], [skin for skin in SKINS if skin.use == "train"])
    given = read_trials(test_table)
    asked = given[given["problem"].isin(["Infer.normal", "Compl.normal"])]
    texts = [f"So {text.partition(': ')[2].partition('.')[0]}, is it?" for text in asked["text"]]
    assert set(in_dialogues(dialogues(texts), tests)) == set(asked["tuple_id"])


@pytest.mark.parametrize("kind", ["hard", "motion"])
def test_hard_problems_and_worlds_in_motion_are_found_by_their_words_and_by_their_stories(
    kind: str,
) -> None:
    trials = (
        make_trials(f"test-{kind}", sizes=[5], per_cell=1)
        .groupby(["problem", "complexity", "skin"])
        .head(3)
    )
    by_words = in_dialogues(dialogues(trials["text"].tolist()), read_tests([], SKINS))
    assert len(by_words) == len(trials)
    train = (
        make_trials(f"train-{kind}", sizes=[5], per_cell=1)
        .groupby(["problem", "complexity", "skin"])
        .head(3)
    )
    assert not in_trials(train, read_tests([], SKINS))


def test_training_sets_and_ordinary_texts_are_not_found(
    trials: pd.DataFrame, test_table: Path
) -> None:
    tests = read_tests([test_table], SKINS)
    train = make_trials("train-10k", per_cell=1)
    assert not in_trials(train, tests)
    assert not in_dialogues(dialogues(train["text"].tolist()), tests)
    ordinary = [
        "Emily is older than James, she said. Michael smiled.",
        "Before the race, Alice and Robert had breakfast; after it they slept.",
        "Order these names: David, Emily, Frank, Grace.",
        "The red ball is on the orange table. The green guitar is above it, said nobody.",
        (
            "Which is bigger, three or four? Answer with one word, ‘TRUE’ or ‘FALSE’, and nothing"
            " else."
        ),
    ]
    assert not in_dialogues(dialogues(ordinary), tests)


@pytest.mark.long
def test_released_trials_written_as_dialogues_are_found(some_released: Path) -> None:
    some = read_trials(some_released)
    assert len(some) > 2000
    tests, answers = read_tests([], SKINS), some["gold"].map(ANSWER_OF).tolist()
    assert len(in_dialogues(dialogues(some["text"].tolist(), answers), tests)) > 0.95 * len(some)
    digits = [CHANGES["digits"](text).lower() for text in some["text"]]
    assert len(in_dialogues(dialogues(digits), tests)) > 0.95 * len(some)


@pytest.mark.long
def test_ewok_items_among_dialogues_are_found(tmp_path: Path) -> None:
    path = tmp_path / "items.parquet"
    assert run(f"items build builtin --versions 0-0 --filter object2 --out {path}") == 0
    item = pd.read_parquet(path).iloc[7]
    texts = [f"{item['context1'].lower()} So it is clear: {item['target2'].upper()}"]
    texts.append(f"{item['context1']} The weather was fine.")
    assert set(in_dialogues(dialogues(texts), read_tests([path], []))) == {item["item_id"]}


def _inside(text: str, put: str) -> str:
    return re.sub(r"(\w{3})(\w{3})", rf"\1{put}\2", text)


@pytest.mark.parametrize(
    "write",
    [
        lambda text: _inside(text, "\u200b"),
        lambda text: re.sub(r"\b(\w{4,})\b", r"<b>\1</b>", text).replace(" ", "&nbsp;"),
        lambda text: text.translate(
            {code: code + 0xFEE0 for code in range(ord("A"), ord("z") + 1)}
        ),
    ],
    ids=["zero-width spaces", "HTML", "wide letters"],
)
def test_no_markup_or_typography_hides_a_test_item(
    write: Callable[[str], str], test_table: Path
) -> None:
    trials = read_trials(test_table)[:100]
    texts = dialogues(list(map(write, trials["text"])))
    assert set(trials["tuple_id"]) <= set(in_dialogues(texts, read_tests([test_table], [])))
    assert len(in_dialogues(texts, read_tests([], SKINS))) == len(texts)
