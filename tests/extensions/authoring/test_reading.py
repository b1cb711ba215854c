"""Rendering, then reading: every text states exactly what the abstract fields say, and is
answered from its words alone.
"""

import json
import re
from pathlib import Path

import pytest

from command_line import run
from generated_trials import make_trials
from worldprobe.benchmarks.worldsense.inference.reference_solvers import Statement
from worldprobe.benchmarks.worldsense.problems.problems import cells, cores
from worldprobe.benchmarks.worldsense.problems.worlds import (
    Description,
    Relation,
    normalise,
    read_description,
    read_relation,
    rename,
)
from worldprobe.benchmarks.worldsense.skins.skins import Skin, entities_needed, read_skins
from worldprobe.benchmarks.worldsense.skins.vocabulary import (
    ANSWER_OF,
    LINEAR_PROBLEMS,
    WORDINGS,
    problem_type,
)
from worldprobe.benchmarks.worldsense.trials.trial_maker import (
    COLUMNS,
    Stratum,
    make_tuple,
    n_distinct,
)
from worldprobe.errors import UserError
from worldprobe_authoring.audit import audit_trials
from worldprobe_authoring.statements import StatementReader

SKINS = read_skins()


def trials_of(problem: str, size: int, skin: Skin, wording: str, draw: int) -> list[dict]:
    return [
        dict(zip(COLUMNS, row, strict=True))
        for cell in cells((size,), (problem,))
        if cores(cell)
        for row in make_tuple(
            Stratum(cell, skin, wording), draw % n_distinct(cell, len(skin.entities)), draw, 0
        )
    ]


def problems_of(skin: Skin) -> tuple[str, ...]:
    return ("Infer.parallel",) if skin.domain == "planar" else (*LINEAR_PROBLEMS, "Infer.extrema")


def as_in_the_fields(read: Statement, entities: list[str]) -> tuple[Description, Relation | None]:
    names = [entities.index(name) for name in read.names]
    query = None if read.query is None else normalise(rename(read.query, names))
    return tuple(normalise(rename(relation, names)) for relation in read.description), query


def check(trial: dict, read: Statement) -> None:
    description, query = as_in_the_fields(read, json.loads(trial["entities"]))
    assert description == tuple(map(normalise, read_description(trial["description"])))
    assert query == (
        None if trial["problem"].startswith("Consist") else normalise(read_relation(trial["query"]))
    )
    assert (read.problem_type, read.size, read.wording) == (
        problem_type(trial["problem"]),
        trial["size"],
        trial["wording"],
    )
    assert read.problem_type == problem_type(trial["problem"])
    assert read.answer() == ANSWER_OF[trial["gold"]]


@pytest.mark.parametrize("skin", SKINS, ids=lambda skin: skin.name)
def test_what_is_rendered_is_read_back_for_every_problem_and_wording(skin: Skin) -> None:
    reader = StatementReader(skin)
    for size in (3, 5, 8):
        if len(skin.entities) >= entities_needed(size):
            for problem in problems_of(skin) if size < 8 else problems_of(skin)[:2]:
                for wording in WORDINGS:
                    for trial in trials_of(problem, size, skin, wording, size):
                        check(trial, reader.read(trial["text"]))


def ask(skin: Skin, kind: str, description: str, query: str = "", opposite: str = "") -> str:
    situation = skin.situation.format(number="three")
    return skin.questions[kind]["directQ1"].format(
        description=f"{situation}: {description}.", query=query, opposite=opposite
    )


def test_answers_follow_from_words_alone() -> None:
    skin = next(skin for skin in SKINS if skin.name == "tall/short")
    chain = "James is shorter than David and Frank is taller than David"
    for kind, description, query, answer in (
        ("Infer", chain, "Frank is taller than James", "TRUE"),
        ("Infer", chain, "James is taller than Frank", "FALSE"),
        ("Infer", chain, "James is taller than Grace", None),
        ("Infer", chain, "Frank is taller than all the others", "TRUE"),
        ("Infer", chain, "David's height is in between Frank's height and James's height", "TRUE"),
        ("Consist", chain, "", "POSSIBLE"),
        ("Consist", f"Frank is shorter than James, {chain}", "", "IMPOSSIBLE"),
    ):
        read = StatementReader(skin).read(ask(skin, kind, description, query))
        assert read.answer() == answer
    for one, two, answer in (
        ("Frank is taller than James", "Frank is shorter than James", "1"),
        ("James is taller than Frank", "James is shorter than Frank", "2"),
        ("James is taller than Grace", "James is shorter than Grace", "3"),
        ("James lives east of Frank", "James lives west of Frank", "3"),
    ):
        assert StatementReader(skin).read(ask(skin, "Compl", chain, one, two)).answer() == answer


def refuse(skin: Skin, text: str, why: str = "is not a question in the words") -> None:
    with pytest.raises(ValueError, match=why):
        StatementReader(skin).read(text)


def test_texts_in_other_words_are_refused() -> None:
    skin, other = (
        next(skin for skin in SKINS if skin.name == name) for name in ("tall/short", "trips")
    )
    for problem in LINEAR_PROBLEMS:
        for trial in trials_of(problem, 4, skin, "directQ2", 1):
            refuse(other, trial["text"])
            refuse(skin, trial["text"][:-1])
            if problem != "Compl.trivial":  # which does not count
                refuse(skin, trial["text"].replace("four", "three"))
            refuse(skin, trial["text"].replace(json.loads(trial["entities"])[0], "Zoe"))
    refuse(skin, "")


@pytest.mark.parametrize("name", ["test", "train-10k", "ood-query", "ood-problem"])
def test_the_audit_decides_sets_by_their_texts_alone(tmp_path: Path, capsys, name: str) -> None:
    table = tmp_path / f"{name}.parquet"
    assert run(f"worldsense generate {name} --per-cell 1 --sizes 4 --out {table}") == 0
    assert run(f"worldsense audit {table} --from-text") == 0
    assert "agree with the solver, which read every text (100.000 %)" in capsys.readouterr().out


def test_a_text_that_says_something_else_than_its_fields_is_listed() -> None:
    trials = make_trials(
        "test", sizes=[3], problems=["Infer.normal"], per_cell=1, skins=("tall/short",)
    )
    words = {"taller": "shorter", "shorter": "taller"}
    turned = trials["text"].map(
        lambda text: re.sub("taller|shorter", lambda match: words[match.group()], text)
    )
    audit = audit_trials(trials.assign(text=turned), "turned", SKINS)
    binary = trials["text"].ne(turned).sum()
    assert len(audit.wrong) == binary > 2
    assert set(audit.wrong["reason"]) == {"the text does not state what the abstract fields say"}
    swapped = trials.assign(gold=trials["gold"].map({"Emmanuel": "Megi", "Megi": "Emmanuel"}))
    assert len(audit_trials(swapped, "swapped", SKINS).wrong) == len(trials)
    with pytest.raises(
        UserError, match="trial 0: the text is not a question in the words of the skin tall/short"
    ):
        audit_trials(trials.assign(text="Who is taller?"), "other", SKINS)
