"""The wording of the sets: version 1 to the byte, version 2 as questions, and new words in the set
test-new.
"""

import hashlib
import re
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest

from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
from worldprobe.benchmarks.worldsense.skins.skins import (
    IN,
    KNOWN,
    NEW,
    OUT,
    Skin,
    group_skins,
    read_skins,
    relation_words,
)
from worldprobe.benchmarks.worldsense.skins.vocabulary import DOMAINS, problem_type
from worldprobe.benchmarks.worldsense.trials.sets import blocks_of, plan_set, stream_set
from worldprobe.cli import main

SKINS = read_skins()
#: Version -> set -> the first digits of the digest of one round as CSV. Versions 1 and 2 must never
#: change.
DIGESTS = {
    1: {
        "test-motion": "f7ae8ed5fdf4ef03",
        "train-motion": "0f6b3c36629da384",
        "test-hard": "19da14f6f8ebc9d7",
        "test": "7a1c4db90dec9f12",
        "train-10k": "a03cab4e5d777046",
        "ood-size": "dcc27b01483530d5",
        "ood-query": "23b3e1d9b7be6168",
        "ood-problem": "19010890c3a45888",
    },
    2: {
        "test-motion": "013b53d5352a2867",
        "train-motion": "8a419600ea1c95b3",
        "test-hard": "48a31e46b490c480",
        "test": "c77a3a2df6712d4e",
        "test-new": "4329626290a8cffb",
        "train-10k": "b9bd70725c636ec3",
        "ood-size": "d57ebccade897b1a",
        "ood-query": "916105a32ff37e0f",
        "ood-problem": "72e4364d50c201e5",
    },
}
#: Words that are of no relation: articles, verbs that any relation may have, prepositions, and what
#: stands for entities.
OF_NO_RELATION = {
    "a",
    "all",
    "an",
    "and",
    "at",
    "by",
    "did",
    "do",
    "does",
    "each",
    "from",
    "had",
    "has",
    "have",
    "he",
    "her",
    "his",
    "in",
    "is",
    "it",
    "its",
    "no",
    "not",
    "of",
    "on",
    "one",
    "or",
    "other",
    "others",
    "s",
    "she",
    "than",
    "that",
    "the",
    "to",
    "two",
    "up",
    "was",
    "were",
    "will",
    "with",
}


def one_round(name: str, version: int, sizes: Iterable[int] = ()) -> pd.DataFrame:
    plan = plan_set(name, sizes=tuple(sizes), per_cell=1)
    return pd.concat(
        stream_set(plan, blocks_of(plan, read_skins(version=version)), seed=0), ignore_index=True
    )


@pytest.mark.parametrize(
    ("version", "name"), [(version, name) for version, sets in DIGESTS.items() for name in sets]
)
def test_a_version_is_made_again_to_the_byte(version: int, name: str) -> None:
    columns = one_round(name, version).drop(columns="moment")  # a column that came later
    written = columns.to_csv(index=False, lineterminator="\n")
    assert hashlib.sha256(written.encode()).hexdigest()[:16] == DIGESTS[version][name]


@pytest.mark.parametrize(("version", "name"), [(1, "test"), (2, "test"), (2, "test-new")])
def test_chain_of_thought_keeps_the_question_and_its_answers(version: int, name: str) -> None:
    trials, prompts = one_round(name, version, [3]), load_prompt_set("cot")
    asked = {"Infer": "TRUE or FALSE?", "Consist": "POSSIBLE or IMPOSSIBLE?", "Compl": "right"}
    for problem, text in zip(trials["problem"], trials["text"], strict=True):
        kind = problem_type(problem)
        question = prompts.body(text, kind).partition("Reason step by step")[0]
        assert asked[kind] in question
        assert "?" in question
        assert not re.search("nothing else|Answer with|^\n", question)
        kept = re.findall(
            r"‘.*?’(?!\w)",
            text.replace("‘TRUE’ or ‘FALSE’", "").replace("‘POSSIBLE’ or ‘IMPOSSIBLE’", ""),
            re.S,
        )
        assert all(quoted in question for quoted in kept if len(quoted) > 3)


def test_every_text_of_version_2_asks_a_question() -> None:
    for problem, text in one_round("test", 2, [3])[["problem", "text"]].itertuples(index=False):
        asked = {
            "Infer": r"Is the .*TRUE or FALSE\?",
            "Consist": r"Is the .*POSSIBLE or IMPOSSIBLE\?",
            "Compl": r"Which .*\?",
        }
        assert re.search(rf"^{asked[problem_type(problem)]}", text, re.M)
        assert not re.search("outside of|what is the", text)


@pytest.mark.parametrize(
    "skin", [skin for skin in SKINS if skin.clauses.get("outside")], ids=lambda skin: skin.name
)
def test_outside_denies_between_in_its_own_words(skin: Skin) -> None:
    between, outside = (
        re.findall(r"\{\w\}|\w+", skin.clauses[name]) for name in ("between", "outside")
    )
    # "does not beat exactly one of two" may also mean that there is exactly one that it does not
    # beat, which says "between"
    assert ("neither" in outside) if "exactly" in between else ("not" in outside)
    assert not {"not", "exactly"} <= set(outside)
    ends = [word for word in between[-3:] if word != "not"]
    assert outside[-len(ends) :] == ends
    assert between.count("{m}") == outside.count("{m}") == 1


def words(*texts: str) -> set[str]:
    """The words of texts that may be of a relation, or of an entity."""
    found = {
        word
        for text in texts
        for word in re.findall("[a-z]+", re.sub(r"\{\w+\}", " ", text).casefold())
    }
    return found - OF_NO_RELATION


def stems(found: set[str]) -> set[str]:
    """Words without their endings, and no longer than five letters: stricter than any stemmer."""
    return {(re.sub("(?<=..)(?:ing|ed|er|est|ly|es|s|y)$", "", word))[:5] for word in found}


NEWEST = [skin for skin in SKINS if skin.use == "test-new"]
TRAINED = [skin for skin in SKINS if skin.use == "train"]


def test_no_relation_word_of_test_new_is_in_any_text_of_a_training_skin() -> None:
    of_training = [
        (*s.clauses.values(), *s.foreign.values(), s.situation, s.listing, *s.entities)
        for s in TRAINED
    ]
    known = stems(set().union(*(words(*texts) for texts in of_training)))
    for skin in NEWEST:
        assert (
            not stems(words(*skin.clauses.values(), *skin.foreign.values(), skin.listing)) & known
        ), skin.name


def test_of_a_relation_that_is_not_trained_only_before_after_and_lives_are_in_training() -> None:
    trained = stems(
        words(
            *(text for skin in TRAINED for text in (*skin.clauses.values(), *skin.foreign.values()))
        )
    )
    for skin in SKINS:
        if skin.use == "test" and KNOWN[skin.name].training == OUT:
            shared = stems(set(relation_words(skin)) - OF_NO_RELATION) & trained
            assert shared <= stems({"before", "after", "lives"}), skin.name


def test_the_skins_of_test_new_share_no_names_or_objects_with_each_other_or_any_other_skin() -> (
    None
):
    others = stems(
        set().union(*(words(*skin.entities) for skin in SKINS if skin.use != "test-new"))
    )
    for skin in NEWEST:
        assert not stems(words(*skin.entities)) & others, skin.name
        assert len(skin.entities) == 12
    for one, other in combinations(NEWEST, 2):
        assert not stems(words(*one.entities)) & stems(words(*other.entities)), (
            one.name,
            other.name,
        )


def test_test_new_has_twelve_skins_or_more_as_many_in_each_domain() -> None:
    counts = pd.Series([skin.domain for skin in NEWEST]).value_counts()
    assert set(counts.index) == set(DOMAINS)
    assert counts.nunique() == 1
    assert counts.sum() >= 12


def test_whether_training_has_a_relation_is_computed_and_as_the_paper_says() -> None:
    computed = group_skins([*KNOWN, *(skin.name for skin in SKINS)])
    by_file = group_skins(["not/known", *KNOWN], None)
    assert {name: by_file[name] for name in KNOWN} == KNOWN
    assert sum(group.training == IN for group in KNOWN.values()) == 8
    assert {computed[skin.name].training for skin in NEWEST} == {NEW}


#: What version 3 says no longer: sentences with a second reading, or that read badly.
GONE = {
    "between what stands next to each other, or in space": (
        r"went to .* between the|saw .* in between"
    ),
    "not done in between, or not at all": (
        r"(?:did|does|will) not (?!lie|live|separate|beat)\w+ .*(?:between|in between)"
    ),
    "that of two": r"in between that of",
    "a river that is warmer, not its sample": r"(?<!from )the (?!sample)\w+ was (?:warmer|colder)",
    "a change that had not been made": r"had not been made",
    "a past moment and a present question": r"Consider how things were",
    "the first of one": r"there is one change.*\nFirst",
    "a storey that may be taken": r"floor directly|level directly|rank directly",
    "an age above an age": r"sets the|with an? \w+(?: \w+)? directly",
    "to each other's temperatures": r"each other's temp",
    "a birth that is moved, a relative that is removed": r"moves the birth|author removes \w+ \w+",
    "discoveries that are exchanged": r"exchanges the discoveries",
    "a row of neighbours that are not": r"run one behind another",
    "the time when": r"between the time when",
    "a quotation of several lines": r"‘[^’\n]*\n",
}


@pytest.mark.parametrize(
    "name", ["test", "test-motion", "train-10k", "train-motion", "test-new", "test-hard"]
)
def test_version_3_says_nothing_in_two_senses_and_version_2_still_does(name: str) -> None:
    former, now = ("\n\n".join(one_round(name, version)["text"]) for version in (2, 3))
    former, now = (re.sub(r"(?<=\w)’(?=\w)", "'", texts) for texts in (former, now))
    assert [what for what, words in GONE.items() if re.search(words, now)] == []
    found = {what for what, words in GONE.items() if re.search(words, former)}
    assert len(found) >= {"test-motion": 7, "train-motion": 7, "test-new": 0}.get(name, 2), found


def test_version_3_explains_directly_where_a_change_says_it_and_nowhere_else() -> None:
    for text in one_round("test-motion", 3)["text"]:
        explained, _, changes = text.partition("with none of the others in between):")
        if changes:
            assert "directly" in changes
        else:
            assert "directly" not in explained


def test_the_default_is_version_3_and_version_1_has_no_new_skins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["generate", "ood-query", "--per-cell", "1", "--sizes", "3"]
    texts = {}
    for options in ([], ["--wording-version", "3"], ["--wording-version", "1"]):
        out = tmp_path / f"{len(texts)}.parquet"
        assert main(["worldsense", *small, *options, "--out", str(out)]) == 0
        texts[len(texts)] = set(pd.read_parquet(out)["text"])
    assert texts[0] == texts[1] != texts[2]
    assert main(["worldsense", "audit", str(tmp_path / "2.parquet"), "--from-text"]) == 0
    capsys.readouterr()
    refused = [
        "generate",
        "test-new",
        "--wording-version",
        "1",
        "--out",
        str(tmp_path / "no.parquet"),
    ]
    assert main(["worldsense", *refused]) == 2
    assert "there is no skin for the set test-new" in capsys.readouterr().err
