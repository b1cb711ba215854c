"""Faults in a set of trials: answers that the solver contradicts, texts that state something else
than their fields, and cues that give answers away.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from worldprobe.benchmarks.worldsense.inference.reference_solvers import Statement
from worldprobe.benchmarks.worldsense.problems import worlds
from worldprobe.benchmarks.worldsense.skins.skins import Skin
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, problem_type
from worldprobe.benchmarks.worldsense.trials.files import places, relations_of
from worldprobe.errors import UserError, did_you_mean
from worldprobe_authoring.misreading import does_state
from worldprobe_authoring.statements import StatementReader

#: Columns of the CSV: one row for each trial whose gold answer is wrong.
WRONG = ("Key", "tuple_ID", "problemname", "problemsize", "released_gold", "solver_gold", "reason")


@dataclass(frozen=True)
class Audit:
    """Findings of an audit.

    Attributes:
        agreement: by problem: trials, trials that agree, tuples, tuples with a wrong gold answer.
        wrong: one row for each trial whose gold answer is wrong, with the columns of ``WRONG``.
        stated: by problem and arguments of the query: tuples, and those whose query the description
            states literally.
        repeated: texts that occur more than once, and how many of these have different gold
            answers.
        mixed_arity: tuples whose trials differ in the number of the query's arguments, which gives
            the answer away.
        imbalance: by property: the least and the most trials of one value, and whether gold answers
            are equal in number.
    """

    agreement: pd.DataFrame
    wrong: pd.DataFrame
    stated: pd.DataFrame
    repeated: tuple[int, int]
    mixed_arity: int
    imbalance: pd.DataFrame


def audit_trials(trials: pd.DataFrame, name: str, skins: Sequence[Skin] | None = None) -> Audit:
    """Compare every gold answer with the solver's and look for shortcuts.

    Args:
        trials: trials in our columns (``read_official`` or our table).
        name: the file's name, for messages.
        skins: where given, every answer is decided by what the text states in the words of its skin
            (of several of one name, the first that can read it), not by the abstract fields; each
            text must state what they say.

    Raises:
        UserError: a trial whose relations cannot be read from its text.
    """
    released = trials["gold"].map(ANSWER_OF)
    if skins is None:
        solved, reasons = zip(*_solve_all(trials, released, name), strict=True)
    else:
        solved, reasons = zip(*_solve_texts(trials, released, name, skins), strict=True)
    checked = trials.assign(released_gold=released, solver_gold=solved, reason=reasons)
    checked["is_wrong"] = checked["reason"] != ""
    wrong = checked[checked["is_wrong"]].rename(
        columns={
            "trial_id": "Key",
            "tuple_id": "tuple_ID",
            "problem": "problemname",
            "size": "problemsize",
        }
    )
    return Audit(
        agreement=_agreement(checked),
        wrong=wrong[list(WRONG)].reset_index(drop=True),
        stated=_stated(checked),
        repeated=_repeated(checked),
        mixed_arity=int((trials.groupby("tuple_id", sort=False)["arity"].nunique() > 1).sum()),
        imbalance=_imbalance(checked),
    )


def _solve_all(trials: pd.DataFrame, released: pd.Series, name: str) -> Iterator[tuple[str, str]]:
    columns = [
        trials[column].tolist()
        for column in ("problem", "description", "query", "text", "entities")
    ]
    rows = zip(*columns, trials["size"].tolist(), released, places(trials, name), strict=True)
    for problem, described, query, text, entities, size, gold, where in rows:
        relations, asked = relations_of(problem, described, query, text, entities, where)
        yield _solve(problem, size, relations, asked, gold)


def _solve_texts(
    trials: pd.DataFrame, released: pd.Series, name: str, skins: Sequence[Skin]
) -> Iterator[tuple[str, str]]:
    readers: dict[str, list[StatementReader]] = {}
    for loaded in skins:
        readers.setdefault(loaded.name, []).append(StatementReader(loaded))
    columns = [
        trials[column].tolist()
        for column in ("problem", "skin", "text", "description", "query", "entities")
    ]
    rows = zip(*columns, released, places(trials, name), strict=True)
    for problem, skin, text, description, query, entities, gold, where in rows:
        if skin not in readers:
            raise UserError(
                where,
                f"{skin!r} is not a skin{did_you_mean(skin, readers)}",
                "Name the folder with --skin-folder.",
            )
        try:
            read = read_by_any(readers[skin], text)
            is_stated = does_state(read, problem, description, query, json.loads(entities))
        except ValueError as error:
            fix = (
                "Name the skins that the set was made with (--skin-folder), or audit it without"
                " --from-text."
            )
            raise UserError(where, f"{error}.", fix) from error
        if is_stated:
            yield _solve(
                problem, read.size, read.description, read.query or read.description[0], gold
            )
        else:
            yield read.answer() or "none", "the text does not state what the abstract fields say"


@lru_cache(maxsize=1 << 17)
def _solve(
    problem: str, size: int, description: worlds.Description, query: worlds.Relation, released: str
) -> tuple[str, str]:
    """The solver's answer, and why it is not the released one (empty where it is)."""
    answer = worlds.gold_answer(problem, size, description, query)
    if answer == released:
        return answer, ""
    n_worlds = worlds.count_worlds(size, description)
    if problem_type(problem) == "Consist":
        reason = (
            f"the description has {_worlds(n_worlds)}"
            if n_worlds
            else "the description contradicts itself: it has no world"
        )
        return str(answer), reason
    if not n_worlds:
        return "none", "the description contradicts itself: it has no world"
    verdict = worlds.decide_query(size, description, query)
    if verdict == "all":
        return answer or "none", f"the query is true in {_every(n_worlds)}"
    if verdict == "none":
        return answer or "none", f"the query is false in {_every(n_worlds)}"
    if query.kind == "foreign" or worlds.UNKNOWN in query.entities:
        return (
            answer or "none",
            "the query is about something that the description does not mention",
        )
    true = worlds.count_worlds(size, (*description, query))
    return (
        answer or "none",
        f"the query is undecided: true in {true} of the description's {_worlds(n_worlds)}",
    )


def _worlds(number: int) -> str:
    return f"{number} world{'s' if number > 1 else ''}"


def _every(number: int) -> str:
    return (
        f"all of the description's {number} worlds"
        if number > 1
        else "the description's only world"
    )


def _agreement(checked: pd.DataFrame) -> pd.DataFrame:
    groups = checked.groupby("problem", sort=True)
    per_tuple = (
        checked.groupby(["problem", "tuple_id"], sort=True)["is_wrong"].any().groupby("problem")
    )
    table = pd.DataFrame(
        {
            "trials": groups.size(),
            "agree": groups["is_wrong"].agg(lambda wrong: int((~wrong).sum())),
        }
    )
    table["tuples"] = per_tuple.size()
    table["wrong_tuples"] = per_tuple.sum()
    return table.reset_index()


def _stated(checked: pd.DataFrame) -> pd.DataFrame:
    """Where the words of the description already contain the relation that is asked about."""
    kinds = checked["problem"].map(problem_type)
    asked = checked[
        ((kinds == "Infer") & (checked["released_gold"] == "TRUE"))
        | ((kinds == "Consist") & (checked["released_gold"] == "POSSIBLE"))
        | ((kinds == "Compl") & (checked["released_gold"] == "1"))
    ]
    asked = asked.assign(
        stated=list(
            map(
                _is_stated,
                *(asked[column].tolist() for column in ("problem", "description", "query")),
            )
        )
    )
    groups = asked.groupby(["problem", "arity"], sort=True)
    return pd.DataFrame({"tuples": groups.size(), "stated": groups["stated"].sum()}).reset_index()


@lru_cache(maxsize=1 << 17)
def _is_stated(problem: str, description: str, query: str) -> bool:
    relations = [worlds.normalise(relation) for relation in worlds.read_description(description)]
    asked = worlds.normalise(worlds.read_relation(query))
    if asked.kind in worlds.PLANAR and not any(
        relation.kind in worlds.PLANAR for relation in relations
    ):
        return False
    # In a consistency problem the relation itself is part of the description: stated means twice.
    return relations.count(asked) > (problem_type(problem) == "Consist")


def _repeated(checked: pd.DataFrame) -> tuple[int, int]:
    groups = checked[checked["text"].duplicated(keep=False)].groupby("text")["released_gold"]
    return groups.ngroups, int((groups.nunique() > 1).sum())


def _imbalance(checked: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for problem, trials in checked.groupby("problem", sort=True):
        golds = trials["released_gold"].value_counts()
        for column in ("size", "complexity", "arity", "skin", "wording"):
            counts = trials[column].value_counts()
            crossed = trials.groupby([column, "released_gold"]).size().unstack(fill_value=0)
            rows.append(
                {
                    "problem": problem,
                    "property": column,
                    "least": int(counts.min()),
                    "most": int(counts.max()),
                    "gold_balanced": bool(
                        golds.nunique() == 1 and (crossed.nunique(axis=1) == 1).all()
                    ),
                }
            )
    return pd.DataFrame(rows)


_FORMS = {2: "binary", 3: "ternary"}


def write_audit(audit: Audit, name: str, *, is_from_text: bool = False) -> str:
    """A readable summary: agreement, wrong tuples with reasons, what gives answers away, imbalance.

    Args:
        audit: what was found.
        name: the file that was audited.
        is_from_text: whether the texts decided.
    """
    seen = ", which read every text" if is_from_text else ""
    table = audit.agreement
    n_trials, n_agree = int(table["trials"].sum()), int(table["agree"].sum())
    lines = [
        f"{name}: {n_trials:,} trials in {int(table['tuples'].sum()):,} tuples",
        "",
        (
            f"Gold answers: {n_agree:,} of {n_trials:,} agree with the solver{seen}"
            f" ({100 * n_agree / n_trials:.3f} %)"
        ),
        "",
        *_columns(
            ("problem", "trials", "agree", "tuples", "tuples with a wrong gold answer"),
            [
                (
                    row["problem"],
                    *(
                        f"{row[column]:,}"
                        for column in ("trials", "agree", "tuples", "wrong_tuples")
                    ),
                )
                for row in table.to_dict("records")
            ],
        ),
        *_write_wrong(audit.wrong),
        *_write_shortcuts(audit),
        *_write_imbalance(audit.imbalance),
    ]
    return "\n".join(lines)


def _write_wrong(wrong: pd.DataFrame) -> list[str]:
    if wrong.empty:
        return ["", "No gold answer is wrong."]
    counts = wrong.groupby(
        ["problemname", "problemsize", "released_gold", "solver_gold", "reason"], sort=True
    ).size()
    groups = counts.rename("trials").reset_index().to_dict("records")
    rows = [
        (
            g["problemname"],
            str(g["problemsize"]),
            f"{g['released_gold']} -> {g['solver_gold']}",
            f"{g['trials']:,}",
            g["reason"],
        )
        for g in groups
    ]
    first = wrong.drop_duplicates("tuple_ID")["tuple_ID"]
    return [
        "",
        (
            f"Wrong gold answers: {len(wrong):,} trials in {len(first):,} tuples (--out FILE.csv"
            " lists every trial)"
        ),
        "",
        *_columns(("problem", "size", "gold -> right", "trials", "reason"), rows),
    ]


def _write_shortcuts(audit: Audit) -> list[str]:
    stated = audit.stated[audit.stated["stated"] > 0]
    records = stated.to_dict("records")
    rows = [
        (row["problem"], _FORMS[row["arity"]], f"{row['stated']:,} of {row['tuples']:,}")
        for row in records
    ]
    lines = [
        "",
        (
            "Queries that the description states literally (consistency: inserted relations that"
            " repeat one)"
        ),
        "",
    ]
    lines += _columns(("problem", "query", "tuples"), rows) if rows else ["  none"]
    n_texts, n_contradictory = audit.repeated
    lines += [
        "",
        (
            f"Texts that occur more than once: {n_texts:,} ({n_contradictory:,} of them with"
            " different gold answers)"
        ),
    ]
    lines += [
        "Tuples whose trials differ in the query's form, which gives the answer away:"
        f" {audit.mixed_arity:,}"
    ]
    return lines


def _write_imbalance(table: pd.DataFrame) -> list[str]:
    uneven = table[(table["least"] != table["most"]) | ~table["gold_balanced"]]
    rows = [
        (
            r["problem"],
            r["property"],
            f"{r['least']:,}",
            f"{r['most']:,}",
            "equal" if r["gold_balanced"] else "NOT equal",
        )
        for r in uneven.to_dict("records")
    ]
    lines = [
        "",
        (
            "Imbalance: properties whose values have unequal numbers of trials, and gold answers"
            " within each value"
        ),
        "",
    ]
    return lines + (
        _columns(("problem", "property", "least", "most", "gold answers"), rows)
        if rows
        else ["  none"]
    )


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows under their header; columns of numbers to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    is_number = [
        all(row[i].replace(",", "").isdecimal() for row in rows) for i in range(len(header))
    ]
    return [
        "  "
        + "  ".join(
            f"{cell:>{w}}" if n else f"{cell:<{w}}"
            for cell, w, n in zip(row, widths, is_number, strict=True)
        ).rstrip()
        for row in [header, *rows]
    ]


def read_by_any(readers: Sequence[StatementReader], text: str) -> Statement:
    """The statement of a text, by the first reader that can read it.

    Raises:
        ValueError: none can; it says what the first one found.
    """
    for reader in readers:
        with suppress(ValueError):
            return reader.read(text)
    return readers[0].read(text)
