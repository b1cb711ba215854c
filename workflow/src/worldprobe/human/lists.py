"""Lists of questions for people: every question once a round, no unit twice in a list, and every list balanced.

The paper's lists (Appendix A.1) contained each sub-item once, but in shuffled order: one list of 15 templates could be plausible
in 13 % or in 87 % of its trials. Here the order rotates, and what shared sentences remove is evened out again.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.human.balancing import balance_slots, rotate_units
from worldprobe.human.catch import add_catch_trials, key_of_catch_trials

#: What ``build_lists`` needs of every item and way of presenting it; a benchmark provides them.
QUESTION_COLUMNS = (
    "item_id",
    "target",
    "context",
    "unit",
    "domain",
    "version",
    "eval_type",
    "first_context",
    "second_context",
    "target_text",
    "expected",
)
UNITS = ("template", "meta_template", "shared_text")
_SEPARATOR = "\x1f"
_TRIAL = ["question", "kind", "eval_type", "domain", "version", "first_context", "second_context", "target"]


@dataclass(frozen=True)
class Layout:
    """How questions are dealt to lists.

    Attributes:
        per_domain: a list is of one domain, as in the paper; otherwise each has its share of all.
        shortest, longest: test trials of a list; none is longer, shorter ones are reported, not refused.
        n_catch: catch trials of each list.
        rounds: how often every question is asked, each time in other company.
        seed: of all that is random.
    """

    per_domain: bool = False
    shortest: int = 40
    longest: int = 80
    n_catch: int = 2
    rounds: int = 1
    seed: int = 0


@dataclass(frozen=True)
class Lists:
    """A set of lists.

    Attributes:
        trials: contracts.StudyLists.
        key: contracts.ListKeys.
        balance: contracts.ListBalance.
        n_shared: questions that stand for more than one sub-item.
        n_contradictory: questions that one item expects to be answered otherwise than another.
    """

    trials: pd.DataFrame
    key: pd.DataFrame
    balance: pd.DataFrame
    n_shared: int
    n_contradictory: int


def build_lists(questions: pd.DataFrame, layout: Layout, unit: str = "template") -> Lists:
    """Deal the questions of one or both ways of asking to lists.

    Args:
        questions: ``QUESTION_COLUMNS``, in any order of rows.
        layout: how they are dealt.
        unit: ``shared_text`` joins the units that share a sentence into one; otherwise the column ``unit`` is taken as it is.

    Returns:
        The lists, the same for the same questions and layout whatever the order of rows.
    """
    asked = questions.sort_values(["eval_type", "item_id", "target", "context"], kind="stable").reset_index(drop=True)
    asked["question"] = name_questions(asked)
    asked["sentence"] = name_questions(asked, is_ordered=False)
    if unit == "shared_text":
        asked["unit"] = join_units(asked["unit"], asked["sentence"])
    trials = pd.concat(list(_deal(asked, layout)), ignore_index=True)
    key = asked[["question", "eval_type", "item_id", "target", "context", "unit", "expected"]].assign(kind="test")
    catch = key_of_catch_trials(trials["question"])
    by_question = asked.groupby("question")
    return Lists(
        trials=trials,
        key=pd.concat([key, catch], ignore_index=True),
        balance=measure_balance(trials, asked),
        n_shared=int((by_question.size() > 1).sum()),
        n_contradictory=int((by_question["expected"].nunique() > 1).sum()),
    )


def name_questions(questions: pd.DataFrame, is_ordered: bool = True) -> pd.Series:
    """The id of each question: a digest of what is shown, so that items with the same sentences share it.

    Args:
        questions: ``QUESTION_COLUMNS``.
        is_ordered: False gives Choice the same id in both orders of its contexts.
    """
    first, second, target = (questions[name] for name in ("first_context", "second_context", "target_text"))
    second = second.fillna("")
    if not is_ordered:
        is_swapped = (second != "") & (second < first)
        first, second = first.where(~is_swapped, second), second.where(~is_swapped, first)
    # A rater sees context and target as one scenario: where one ends and the other begins makes no difference.
    scenario = first + " " + target
    shown = scenario.mask(questions["eval_type"] == "choice", first + _SEPARATOR + second + _SEPARATOR + target)
    named = questions["eval_type"] + _SEPARATOR + shown
    return named.map(lambda text: "q" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16])


def join_units(units: pd.Series, questions: pd.Series) -> pd.Series:
    """Units that share a question, directly or through others, as one unit named after the first of them.

    >>> join_units(pd.Series(["a", "b", "b", "c"]), pd.Series(["q1", "q1", "q2", "q3"])).tolist()
    ['a', 'a', 'a', 'c']
    """
    leader: dict[str, str] = {}

    def find(name: str) -> str:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    for _, sharing in units.groupby(questions, sort=True):
        names = sorted(find(name) for name in set(sharing))
        for name in names[1:]:
            leader[name] = names[0]
    return units.map(find)


def digest_lists(trials: pd.DataFrame) -> str:
    """SHA-256 of a set of lists: of the rows of contracts.StudyLists in the order of their key, not of a file."""
    columns = ["list", "position", *_TRIAL, "round"]
    rows = trials.sort_values(["list", "position"])[columns].astype(object)
    content = rows.where(rows.notna(), None).to_json(orient="values", force_ascii=True)
    return hashlib.sha256(content.encode()).hexdigest()


def measure_balance(trials: pd.DataFrame, asked: pd.DataFrame) -> pd.DataFrame:
    """How even each list is (contracts.ListBalance)."""
    expected = asked.drop_duplicates("question").set_index("question")["expected"]
    tests = trials[trials["kind"] == "test"]
    is_high = tests["question"].map(expected) > np.where(tests["eval_type"] == "likert", 3, 1)
    versions = tests.groupby(["list", "version"]).size().unstack(fill_value=0)
    domains = tests.groupby(["list", "domain"]).size().unstack(fill_value=0)
    table = trials.groupby("list").agg(eval_type=("eval_type", "first"), round=("round", "first"))
    table["domains"] = tests.groupby("list")["domain"].agg(lambda names: ",".join(sorted(set(names))))
    table["n_trials"] = tests.groupby("list").size()
    table["n_catch"] = (trials["kind"] == "catch").groupby(trials["list"]).sum()
    table["n_high"] = is_high.groupby(tests["list"]).sum()
    table["n_low"] = table["n_trials"] - table["n_high"]
    table["version_spread"] = versions.max(axis=1) - versions.min(axis=1)
    table["domain_spread"] = 0
    for _, alike in table.groupby(["eval_type", "round", "domains"]).groups.items():
        counts = domains.loc[alike]
        table.loc[alike, "domain_spread"] = np.maximum(counts.max() - counts, counts - counts.min()).max(axis=1)
    return table.reset_index().astype(
        {"n_high": "int64", "n_catch": "int64", "domain_spread": "int64", "version_spread": "int64"}
    )


def _deal(asked: pd.DataFrame, layout: Layout) -> Iterator[pd.DataFrame]:
    """The trials of every list, list by list."""
    for way, rows in asked.groupby("eval_type", sort=True):
        number = 0
        strata = (
            [(str(name), part) for name, part in rows.groupby("domain", sort=True)] if layout.per_domain else [("mixed", rows)]
        )
        for round_number in range(1, layout.rounds + 1):
            for place, (name, stratum) in enumerate(strata):
                random = np.random.default_rng([layout.seed, len(str(way)), round_number, place])
                for slots, cells in _deal_stratum(stratum, layout, random):
                    for column in slots.T[(slots.T >= 0).any(axis=1)]:  # where lists are short, one may have no question
                        number += 1
                        chosen = cells.iloc[random.permutation(column[column >= 0])]
                        tests = chosen.rename(columns={"target": "side", "target_text": "target"}).assign(kind="test")[_TRIAL]
                        whole = add_catch_trials(tests, str(way), layout.n_catch, random)
                        label = f"{way}-r{round_number}-{name.lower()[:80]}-{number:03d}"
                        yield whole.assign(list=label, position=np.arange(1, len(whole) + 1), round=round_number)


def _deal_stratum(rows: pd.DataFrame, layout: Layout, random: np.random.Generator) -> Iterator[tuple[np.ndarray, pd.DataFrame]]:
    """Groups of units that are rotated together: which cell each unit has in each list (-1: none), and the cells.

    Yields:
        slots of shape (units, lists), whose numbers are positions in the frame of cells that comes with them.
    """
    cells = rows.drop_duplicates(["unit", "question"]).reset_index(drop=True)
    is_home = choose_homes(cells, random)
    n_lists = int(cells.groupby("unit").size().max())
    n_groups = max(1, math.ceil(is_home.sum() / n_lists / layout.longest))
    # Groups differ in size, and so do the lists of a group: more groups until no list is too long, at the latest one per unit.
    while (dealt := _deal_groups(cells, is_home, n_lists, n_groups, layout.longest, random)) is None:
        n_groups = min(n_groups + max(1, n_groups // 20), cells["unit"].nunique())
    yield from dealt


def _deal_groups(
    cells: pd.DataFrame, is_home: np.ndarray, n_lists: int, n_groups: int, longest: int, random: np.random.Generator
) -> list[tuple[np.ndarray, pd.DataFrame]] | None:
    """The slots and cells of each group; None as soon as a list is too long."""
    dealt = []
    for units in _group_units(cells[is_home], n_groups, random):
        part = cells[cells["unit"].isin(units)].reset_index(drop=True)
        slots = rotate_units(part, units, n_lists, random)
        at_home = is_home[cells["unit"].isin(units).to_numpy()]
        slots = balance_slots(np.where((slots >= 0) & at_home[slots], slots, -1), part)
        if (slots >= 0).sum(axis=0).max() > longest:
            return None
        dealt.append((slots, part))
    return dealt


def choose_homes(cells: pd.DataFrame, random: np.random.Generator) -> np.ndarray:
    """Which of the cells that share a question is asked: one, of the unit that has the fewest like it so far.

    The two orders of a Choice question stay together, so that nobody sees both as questions of two units.

    Args:
        cells: rows with unit, question, sentence (the question without its order) and expected; a unit has each question once.
        random: breaks ties.

    Returns:
        True for the cells that are asked, one per question.
    """
    units, questions, answers = (cells[name].to_numpy() for name in ("unit", "question", "expected"))
    is_home = np.zeros(len(cells), dtype=bool)
    load: Counter[Any] = Counter()
    rows_of = [rows for _, rows in sorted(cells.reset_index(drop=True).groupby("sentence").indices.items())]
    settled = [rows for rows in rows_of if len(set(units[rows])) == 1]
    shared = [rows for rows in rows_of if len(set(units[rows])) > 1]
    for rows in [*settled, *(shared[number] for number in random.permutation(len(shared)))]:
        names = sorted(set(units[rows]))
        luck = dict(zip(names, random.permutation(len(names)), strict=True))
        weight = {u: (sum(load[u, a] for a in answers[rows[units[rows] == u]]), load[u], luck[u]) for u in names}
        asked: set[str] = set()
        for unit in sorted(names, key=weight.__getitem__):
            for row in rows[units[rows] == unit]:
                if questions[row] not in asked:
                    asked.add(questions[row])
                    is_home[row] = True
                    load.update([(unit, answers[row]), unit])
    return is_home


def _group_units(cells: pd.DataFrame, n_groups: int, random: np.random.Generator) -> list[list[str]]:
    """Units dealt to groups, domain by domain and the largest first, to the group that is most in need of them."""
    net = np.where(cells["expected"] == cells["expected"].max(), 1, -1)
    sizes = cells.assign(net=net).groupby(["domain", "unit"]).agg(n=("net", "size"), net=("net", "sum")).reset_index()
    sizes["luck"] = random.permutation(len(sizes))
    sizes = sizes.drop_duplicates("unit").sort_values(["domain", "n", "luck"], ascending=[True, False, True])
    groups: list[list[str]] = [[] for _ in range(n_groups)]
    n_domain: Counter[tuple[int, str]] = Counter()
    balance, size = np.zeros(n_groups, int), np.zeros(n_groups, int)
    for domain, unit, n, unit_net in sizes[["domain", "unit", "n", "net"]].itertuples(index=False):
        chosen = min(range(n_groups), key=lambda g: (n_domain[g, domain], abs(balance[g] + unit_net), size[g], g))
        groups[chosen].append(str(unit))
        n_domain[chosen, domain] += 1
        balance[chosen] += unit_net
        size[chosen] += n
    return groups
