"""Lists of questions for people: every question once a round, no unit twice in a list, every list
balanced; and what they cost.

The paper's lists (Appendix A.1) contained each sub-item once, but in shuffled order: one list of 15
templates could be plausible in 13 % or in 87 % of its trials. Here the order rotates, and what
shared sentences remove is evened out again.
"""

from __future__ import annotations

import hashlib
import heapq
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.vocabulary import joint
from worldprobe.commented_csv import CsvError, read_rows
from worldprobe.contracts import Table, read_provenance, read_table, validate, write_table
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe_survey import study_settings
from worldprobe_survey.cleaning import add_catch_trials, key_of_catch_trials, write_catch_trials
from worldprobe_survey.contracts import Demographics, ListKeys, Participants, RawRatings, StudyLists

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
#: Groupings that are tried with as many groups as units, before units are dealt to groups without
#: regard to their answers.
_MOST_TRIES = 20
_TRIAL = [
    "question",
    "kind",
    "eval_type",
    "domain",
    "version",
    "first_context",
    "second_context",
    "target",
]


@dataclass(frozen=True)
class DealtLists:
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


def build_lists(
    questions: pd.DataFrame,
    layout: study_settings.Lists,
    catch: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> DealtLists:
    """Deal the questions of one or both ways of asking to lists.

    Args:
        questions: ``QUESTION_COLUMNS``, in any order of rows.
        layout: how they are dealt. The unit ``shared_text`` joins the units that share a sentence
            into one; otherwise the column ``unit`` is taken as it is.
        catch: way of asking -> texts of its catch trials, as ``write_catch_trials`` takes them.

    Returns:
        The lists, the same for the same questions and layout whatever the order of rows.
    """
    asked = questions.sort_values(
        ["eval_type", "item_id", "target", "context"], kind="stable"
    ).reset_index(drop=True)
    asked["question"] = name_questions(asked)
    asked["sentence"] = name_questions(asked, is_ordered=False)
    if layout.unit == "shared_text":
        asked["unit"] = join_units(asked["unit"], asked["sentence"])
    trials = pd.concat(list(_deal(asked, layout, catch)), ignore_index=True)
    key = asked[
        ["question", "eval_type", "item_id", "target", "context", "unit", "expected"]
    ].assign(kind="test")
    by_question = asked.groupby("question")
    return DealtLists(
        trials=trials,
        key=pd.concat([key, key_of_catch_trials(trials["question"])], ignore_index=True),
        balance=measure_balance(trials, asked),
        n_shared=int((by_question.size() > 1).sum()),
        n_contradictory=int((by_question["expected"].nunique() > 1).sum()),
    )


def name_questions(questions: pd.DataFrame, is_ordered: bool = True) -> pd.Series:
    """The id of each question: a digest of what is shown, so that items with the same sentences
    share it.

    Args:
        questions: ``QUESTION_COLUMNS``.
        is_ordered: False gives Choice the same id in both orders of its contexts.
    """
    first, second, target = (
        questions[name] for name in ("first_context", "second_context", "target_text")
    )
    second = second.fillna("")
    if not is_ordered:
        is_swapped = (second != "") & (second < first)
        first, second = first.where(~is_swapped, second), second.where(~is_swapped, first)
    # A rater sees context and target as one scenario: where one ends and the other begins makes no
    # difference.
    scenario = first + first.map(joint) + target
    shown = scenario.mask(
        questions["eval_type"] == "choice", first + _SEPARATOR + second + _SEPARATOR + target
    )
    named = questions["eval_type"] + _SEPARATOR + shown
    return named.map(
        lambda text: "q" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    )


def join_units(units: pd.Series, questions: pd.Series) -> pd.Series:
    """Units that share a question, directly or through others, as one unit named after the first of
    them.

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
    """SHA-256 of a set of lists: of the rows of contracts.StudyLists in the order of their key, not
    of a file.
    """
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
    table["domains"] = tests.groupby("list")["domain"].agg(
        lambda names: ",".join(sorted(set(names)))
    )
    table["n_trials"] = tests.groupby("list").size()
    table["n_catch"] = (trials["kind"] == "catch").groupby(trials["list"]).sum()
    table["n_high"] = is_high.groupby(tests["list"]).sum()
    table["n_low"] = table["n_trials"] - table["n_high"]
    table["version_spread"] = versions.max(axis=1) - versions.min(axis=1)
    table["domain_spread"] = 0
    for _, alike in table.groupby(["eval_type", "round", "domains"]).groups.items():
        counts = domains.loc[alike]
        table.loc[alike, "domain_spread"] = np.maximum(
            counts.max() - counts, counts - counts.min()
        ).max(axis=1)
    return table.reset_index().astype(
        {"n_high": "int64", "n_catch": "int64", "domain_spread": "int64", "version_spread": "int64"}
    )


def _deal(
    asked: pd.DataFrame, layout: study_settings.Lists, texts: Mapping[str, Sequence[str]]
) -> Iterator[pd.DataFrame]:
    """The trials of the lists, of one way of asking after the other."""
    for way, rows in asked.groupby("eval_type", sort=True):
        number = 0
        strata = _split_by_domain(rows, layout.seed) if layout.per_domain else [("mixed", rows)]
        for round_number in range(1, layout.rounds + 1):
            for index, (name, stratum) in enumerate(strata):
                random = np.random.default_rng([layout.seed, len(str(way)), round_number, index])
                cells = stratum.drop_duplicates(["unit", "question"]).reset_index(drop=True)
                tests = cells.rename(columns={"target": "side", "target_text": "target"}).assign(
                    kind="test"
                )[_TRIAL]
                trials = pd.concat(
                    [tests, write_catch_trials(str(way), *texts.get(str(way), ()))],
                    ignore_index=True,
                )
                catch = np.arange(len(tests), len(trials))
                lists = [
                    add_catch_trials(random.permutation(dealt), catch, layout.catch, random)
                    for dealt in _deal_cells(cells, layout, random)
                ]
                labels = [
                    f"{way}-r{round_number}-{name.lower()[:80]}-{number + k:03d}"
                    for k in range(1, len(lists) + 1)
                ]
                number += len(lists)
                sizes = [len(order) for order in lists]
                yield trials.iloc[np.concatenate(lists)].assign(
                    list=np.repeat(labels, sizes),
                    position=np.concatenate([np.arange(1, size + 1) for size in sizes]),
                    round=round_number,
                )


def _split_by_domain(rows: pd.DataFrame, seed: int) -> list[tuple[str, pd.DataFrame]]:
    """The questions of each domain; one that several domains share is asked in one of them."""
    cells = rows.drop_duplicates(["domain", "question"])
    is_home = choose_homes(cells.assign(unit=cells["domain"]), np.random.default_rng([seed, 3]))
    domains = cells[is_home].set_index("question")["domain"]
    asked = rows[rows["question"].map(domains) == rows["domain"]]
    return [(str(name), part) for name, part in asked.groupby("domain", sort=True)]


def _deal_cells(
    cells: pd.DataFrame, layout: study_settings.Lists, random: np.random.Generator
) -> Iterator[np.ndarray]:
    """The cells of each list, as positions in ``cells``; where lists are short, one that would have
    none is left out.
    """
    is_home = choose_homes(cells, random)
    n_lists = int(cells.groupby("unit").size().max())
    stratum = _Stratum(
        order_cycles(cells), count_features(cells), is_home, n_lists, _measure_units(cells[is_home])
    )
    proposals = _propose_groups(stratum, layout.longest, random)
    dealt = (_deal_groups(stratum, groups, layout.longest, random) for groups in proposals)
    for slots in next(fitting for fitting in dealt if fitting is not None):
        for column in slots.T[(slots.T >= 0).any(axis=1)]:
            yield column[column >= 0]


@dataclass(frozen=True)
class _Stratum:
    """Questions that are dealt together: their cells, which of them are asked, how many lists a
    group has, and its units.
    """

    cycles: dict[str, np.ndarray]
    features: CellFeatures
    is_home: np.ndarray
    n_lists: int
    units: pd.DataFrame


def _propose_groups(
    stratum: _Stratum, longest: int, random: np.random.Generator
) -> Iterator[list[list[str]]]:
    """Groups of units, more and more of them; in the last proposal no group can have a list that is
    too long.
    """
    n_units = len(stratum.cycles)
    n_groups = max(1, math.ceil(stratum.is_home.sum() / stratum.n_lists / longest))
    # Groups differ in size, and so do the lists of a group.
    while n_groups < n_units:
        yield group_units(stratum.units, n_groups, random)
        n_groups += max(1, n_groups // 20)
    # Even with as many groups as units, one may have two units of different domains, and be lucky
    # next time.
    for _ in range(_MOST_TRIES):
        yield group_units(stratum.units, n_units, random)
    # A unit has one question in a list, so groups of so many units fit; units in the order of
    # domains are dealt in turn.
    units = [str(unit) for unit in stratum.units["unit"].drop_duplicates()]
    n_groups = math.ceil(len(units) / longest)
    yield [units[first::n_groups] for first in range(n_groups)]


def _deal_groups(
    stratum: _Stratum, groups: list[list[str]], longest: int, random: np.random.Generator
) -> list[np.ndarray] | None:
    """The cell of each unit of a group in each list (shape (units, lists); -1: none), by group;
    None if a list is too long.
    """
    dealt = []
    for units in groups:
        slots = rotate_units(stratum.cycles, units, stratum.n_lists, random)
        slots = np.where((slots >= 0) & stratum.is_home[slots], slots, -1)
        if (slots >= 0).sum() > longest * stratum.n_lists:
            return None
        slots = balance_slots(slots, stratum.features)
        if (slots >= 0).sum(axis=0).max() > longest:
            return None
        dealt.append(slots)
    return dealt


def choose_homes(cells: pd.DataFrame, random: np.random.Generator) -> np.ndarray:
    """Mask of the cells that are asked of those that share a question: one each, of the unit that
    has the fewest like it so far.

    The two orders of a Choice question stay together, so that nobody sees both as questions of two
    units.

    Args:
        cells: rows with unit, question, sentence (the question without its order) and expected; a
            unit has each question once.
        random: breaks ties.

    Returns:
        True for the cells that are asked, one per question.
    """
    units, questions, answers = (
        cells[name].to_numpy() for name in ("unit", "question", "expected")
    )
    is_home = np.zeros(len(cells), dtype=bool)
    load: Counter[Any] = Counter()
    unit_rows = [
        rows for _, rows in sorted(cells.reset_index(drop=True).groupby("sentence").indices.items())
    ]
    settled = [rows for rows in unit_rows if len(set(units[rows])) == 1]
    shared = [rows for rows in unit_rows if len(set(units[rows])) > 1]
    for rows in [*settled, *(shared[number] for number in random.permutation(len(shared)))]:
        names = sorted(set(units[rows]))
        luck = dict(zip(names, random.permutation(len(names)), strict=True))
        weight = {
            u: (sum(load[u, a] for a in answers[rows[units[rows] == u]]), load[u], luck[u])
            for u in names
        }
        asked: set[str] = set()
        for unit in sorted(names, key=weight.__getitem__):
            for row in rows[units[rows] == unit]:
                if questions[row] not in asked:
                    asked.add(questions[row])
                    is_home[row] = True
                    load.update([(unit, answers[row]), unit])
    return is_home


def _measure_units(cells: pd.DataFrame) -> pd.DataFrame:
    """Domain, number of cells and net expected answers of each unit, in the order of domains and
    units.
    """
    net = np.where(cells["expected"] == cells["expected"].max(), 1, -1)
    return (
        cells.assign(net=net)
        .groupby(["domain", "unit"])
        .agg(n=("net", "size"), net=("net", "sum"))
        .reset_index()
    )


def group_units(sizes: pd.DataFrame, n_groups: int, random: np.random.Generator) -> list[list[str]]:
    """Units dealt to groups, domain by domain and the largest first, to the group that is most in
    need of them.

    In need are the groups with the fewest units of the domain. Of these a unit goes to the one
    whose expected answers it makes most even, then the one with the fewest cells, then the first.

    Args:
        sizes: domain, unit, n and net, from ``_measure_units``.
        n_groups: how many groups.
        random: breaks ties between units.
    """
    ordered = sizes.assign(luck=random.permutation(len(sizes))).drop_duplicates("unit")
    ordered = ordered.sort_values(["domain", "n", "luck"], ascending=[True, False, True])
    groups: list[list[str]] = [[] for _ in range(n_groups)]
    balance, size = [0] * n_groups, [0] * n_groups
    # The groups in need, as heaps of (cells, group) by their net expected answers: looking at each
    # group for each unit would take a time that grows with the product of both.
    needy: dict[int, list[tuple[int, int]]] = {}
    present = None
    for domain, unit, n, net in ordered[["domain", "unit", "n", "net"]].itertuples(index=False):
        if domain != present or not needy:
            present, needy = domain, {}
            for group in sorted(range(n_groups), key=lambda g: (size[g], g)):
                needy.setdefault(balance[group], []).append((size[group], group))
        nearest = min(needy, key=lambda held: (abs(held + net), needy[held][0]))
        _, chosen = heapq.heappop(needy[nearest])
        if not needy[nearest]:
            del needy[nearest]
        groups[chosen].append(str(unit))
        balance[chosen] += net
        size[chosen] += n
    return groups


#: How much an uneven length, expected answer, version and domain count, in this order.
_WEIGHTS = (4, 16, 1, 2)
#: Passes over all units; in practice fewer than ten change anything.
_MOST_PASSES = 100


@dataclass(frozen=True)
class CellFeatures:
    """Counted features of cells.

    Attributes:
        counts: whole numbers, of shape (cells + 1, features); the last row, which -1 points at,
            counts nothing.
        weights: how much each feature counts.
    """

    counts: np.ndarray
    weights: np.ndarray


def rotate_units(
    cycles: Mapping[str, np.ndarray],
    units: Sequence[str],
    n_lists: int,
    random: np.random.Generator,
) -> np.ndarray:
    """A rotation: each list has one cell of each unit, and consecutive units are at consecutive
    steps of their cycles.

    Args:
        cycles: the cells of each unit, from ``order_cycles``.
        units: those that are rotated; their order is drawn.
        n_lists: lists, at least as many as any unit has cells.
        random: draws the order and the first step.

    Returns:
        Positions of cells, of shape (units, lists); -1 where a unit with fewer cells has none.
    """
    slots = np.full((len(units), n_lists), -1)
    start = int(random.integers(n_lists))
    for step, number in enumerate(random.permutation(len(units))):
        cycle = cycles[units[number]]
        # A unit with fewer cells than there are lists has its gaps spread over the cycle.
        positions = (np.arange(len(cycle)) * n_lists) // len(cycle)
        slots[number, (positions - step - start) % n_lists] = cycle
    return slots


def order_cycles(cells: pd.DataFrame) -> dict[str, np.ndarray]:
    """The positions of each unit's cells in ``cells`` (unit, expected, version, target, context),
    in the order of its cycle.
    """
    facts = list(
        zip(cells["expected"], cells["version"], cells["target"], cells["context"], strict=True)
    )
    by_unit = pd.Series(np.arange(len(cells))).groupby(cells["unit"].to_numpy())
    return {
        str(unit): rows.to_numpy()[order_cycle([facts[row] for row in rows])]
        for unit, rows in by_unit
    }


def order_cycle(facts: Sequence[tuple[int, int, int, int]]) -> list[int]:
    """An order of a unit's cells in which expected answers alternate and versions take turns.

    Args:
        facts: expected answer, version, target and context of each cell.

    >>> order_cycle([(5, 0, 1, 1), (5, 0, 2, 2), (1, 0, 1, 2), (1, 0, 2, 1)])
    [0, 2, 1, 3]
    """
    rest = set(range(len(facts)))
    n_version: Counter[int] = Counter()
    n_both: Counter[tuple[int, int]] = Counter()
    n_answer: Counter[int] = Counter()
    order: list[int] = []
    # The most frequent answer first, so that none is left over at the end.
    left = Counter(fact[0] for fact in facts)
    while rest:
        answer = min(
            (a for a in left if left[a]),
            key=lambda a: (n_answer[a] / (n_answer[a] + left[a]), -left[a], -a),
        )
        alike = [cell for cell in rest if facts[cell][0] == answer]
        cell = min(
            alike, key=lambda c: (n_version[facts[c][1]], n_both[facts[c][:2]], facts[c][1:])
        )
        rest.remove(cell)
        order.append(cell)
        n_version[facts[cell][1]] += 1
        n_both[facts[cell][:2]] += 1
        n_answer[answer] += 1
        left[answer] -= 1
    return order


def balance_slots(slots: np.ndarray, features: CellFeatures) -> np.ndarray:
    """Exchange a unit's cells between two lists as long as this makes the lists more even.

    An exchange within a unit keeps every rule: each list still has one cell of the unit at most,
    and each cell its one list. The lists' lengths, expected answers, versions and domains are
    counted, and the sum of the squared counts falls with every exchange, so it ends.

    Args:
        slots: positions of cells, of shape (units, lists); -1: none.
        features: what is counted of each cell.

    Returns:
        The slots, of the same shape.
    """
    if len(slots) == 1:
        return slots  # lists of one question each: an exchange only renames them
    slots = slots.copy()
    totals = features.counts[slots].sum(axis=0)
    for _ in range(_MOST_PASSES):
        if not sum(
            _balance_unit(slots[unit], features.counts, totals, features.weights)
            for unit in range(len(slots))
        ):
            break
    return slots


def _balance_unit(
    row: np.ndarray, features: np.ndarray, totals: np.ndarray, weights: np.ndarray
) -> int:
    """The best exchanges of one unit, in place; ``totals`` are the lists' counts, of shape (lists,
    features).
    """
    n_changes = 0
    while True:
        row_features = features[row]
        product = (totals * weights) @ row_features.T
        here = np.diag(product)
        pairs = (row_features * weights) @ row_features.T
        squares = np.diag(pairs)
        # Half the change of the sum of squares if lists a and b exchange: (T_a - T_b) (x_b - x_a) +
        # |x_b - x_a|^2.
        change = (
            product
            + product.T
            - here[:, None]
            - here[None, :]
            + squares[:, None]
            + squares[None, :]
            - 2 * pairs
        )
        best = int(change.argmin())
        a, b = divmod(best, len(row))
        if change[a, b] >= 0:
            return n_changes
        difference = row_features[b] - row_features[a]
        totals[a] += difference
        totals[b] -= difference
        row[a], row[b] = row[b], row[a]
        n_changes += 1


def count_features(cells: pd.DataFrame) -> CellFeatures:
    """The features of cells with expected, version and domain."""
    high = np.where(cells["expected"] == cells["expected"].max(), 1, -1)
    versions = pd.get_dummies(cells["version"]).to_numpy(int)
    domains = pd.get_dummies(cells["domain"]).to_numpy(int)
    features = np.column_stack([np.ones(len(cells), int), high, versions, domains])
    length, answer, version, domain = _WEIGHTS
    weights = np.array(
        [length, answer, *[version] * versions.shape[1], *[domain] * domains.shape[1]]
    )
    return CellFeatures(np.vstack([features, np.zeros((1, features.shape[1]), int)]), weights)


#: Share of the people whom the paper excluded: 59 of the 1,197 whose data were released.
EXCLUDED_SHARE = 59 / 1197
#: Shares of guesses for which a plan states its power; the paper's people are like the first.
NOISES = (0.22, 0.5, 0.7)
#: The original's median time per answer was about eight seconds.
SECONDS_PER_TRIAL = 8.0
MINUTES_AROUND = 3.0


@dataclass(frozen=True)
class Plan:
    """One way of asking, planned.

    Attributes:
        eval_type: likert or choice.
        n_lists: lists in all rounds.
        n_per_list: people that each list needs.
        n_people: people who must be kept.
        n_recruited: people to recruit, if as many have to be excluded as in the paper.
        n_ratings: ratings that the kept people give, without catch trials.
        minutes: of the longest list.
        total_hours: of all recruited people.
        n_ratings_each: ratings that each sub-item has.
        wage: their pay per hour.
        cost: their pay, before the platform's fee, in the wage's currency.
    """

    eval_type: str
    n_lists: int
    n_per_list: int
    n_people: int
    n_recruited: int
    n_ratings: int
    minutes: float
    total_hours: float
    n_ratings_each: int
    wage: float
    cost: float

    def lines(self) -> list[str]:
        """The plan in words."""
        lines = [
            (
                f"{self.eval_type}: {self.n_lists} lists, each for {self.n_per_list} people:"
                f" {self.n_people} people, {self.n_ratings} ratings"
            ),
            (
                f"  to recruit: {self.n_recruited}, if {EXCLUDED_SHARE:.1%} have to be excluded as"
                " in the paper"
            ),
            f"  a list takes up to {self.minutes:.0f} minutes; {self.total_hours:.0f} hours in all",
            f"  pay: {self.cost:,.2f} before the platform's fee, at {self.wage:,.2f} an hour in"
            " your currency: --wage sets another rate, --ratings fewer people",
        ]
        if self.eval_type == "likert":
            lines += [
                f"  If {noise:.0%} of ratings are guesses, the mean favours the intended context"
                f" for {find_preference(noise, self.n_ratings_each):.1%} of targets."
                for noise in NOISES
            ]
        return lines


def find_preference(noise: float, n_ratings: int) -> float:
    """How often the mean rating after the right context is higher than after the wrong one, a tie
    counting one half.

    Args:
        noise: share of the ratings that are guesses, all five answers being equally likely; the
            rest are as the design expects.
        n_ratings: ratings of either sub-item.

    >>> (
    ...     round(find_preference(0.5, 5), 2),
    ...     find_preference(0.0, 1),
    ...     round(find_preference(1.0, 8), 9),
    ... )
    (0.98, 1.0, 0.5)
    """
    high = np.full(5, noise / 5) + np.array([0, 0, 0, 0, 1 - noise])
    sums = np.array([1.0])
    for _ in range(n_ratings):
        sums = np.convolve(sums, high)
    low = sums[::-1]
    below = np.concatenate([[0.0], np.cumsum(low)[:-1]])
    return float((sums * (below + 0.5 * low)).sum())


def plan_study(
    balance: pd.DataFrame,
    n_ratings: int,
    wage: float,
    seconds_per_trial: float = SECONDS_PER_TRIAL,
    minutes_around: float = MINUTES_AROUND,
) -> list[Plan]:
    """People, time and money for every way of asking.

    Args:
        balance: contracts.ListBalance.
        n_ratings: ratings that each sub-item should have at least. Choice asks each target in both
            orders, so a list of Choice needs half as many people; in several rounds each list needs
            fewer.
        wage: pay per hour.
        seconds_per_trial: time for one answer.
        minutes_around: consent, instructions and questions about the person.
    """
    plans = []
    for way, lists in balance.groupby("eval_type", sort=True):
        times = lists["round"].nunique() * (2 if way == "choice" else 1)
        n_per_list = math.ceil(n_ratings / times)
        n_people = n_per_list * len(lists)
        n_recruited = math.ceil(n_people / (1 - EXCLUDED_SHARE))
        minutes = (lists["n_trials"] + lists["n_catch"]) * seconds_per_trial / 60 + minutes_around
        total_hours = float(minutes.mean()) * n_recruited / 60
        plans.append(
            Plan(
                eval_type=str(way),
                n_lists=len(lists),
                n_per_list=n_per_list,
                n_people=n_people,
                n_recruited=n_recruited,
                n_ratings=int(lists["n_trials"].sum()) * n_per_list,
                minutes=float(minutes.max()),
                total_hours=total_hours,
                n_ratings_each=n_per_list * times,
                wage=wage,
                cost=total_hours * wage,
            )
        )
    return plans


#: File -> table; demographics may be missing where none were asked.
FILES: dict[str, type[Table]] = {
    "raw_ratings": RawRatings,
    "participants": Participants,
    "demographics": Demographics,
}


#: Where a spreadsheet would see the beginning of a formula (OWASP, CSV injection): in full width
#: too, and after a character that divides cells where it is set up for another language.
_FORMULA = re.compile("(?:^|(?<=[;,|\t\r\n]))(?=[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-])")


@dataclass(frozen=True)
class Export:
    """The tables that came back.

    Attributes:
        raw: contracts.RawRatings.
        participants: contracts.Participants.
        demographics: contracts.Demographics; None where the folder has none.
    """

    raw: pd.DataFrame
    participants: pd.DataFrame
    demographics: pd.DataFrame | None

    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables that are there, by their names."""
        named = {
            "raw_ratings": self.raw,
            "participants": self.participants,
            "demographics": self.demographics,
        }
        return {name: frame for name, frame in named.items() if frame is not None}


def read_export(folder: Path | str) -> Export:
    """Read the tables of an export.

    Raises:
        UserError: the folder or one of its tables is missing or damaged, or a CSV file in it does
            not say what its table says: somebody changed it, and expects the change to count.
    """
    directory = Path(folder)
    if not (directory / "raw_ratings.parquet").is_file():
        raise UserError(
            directory,
            "has no raw_ratings.parquet.",
            "Give the folder that `human export` or `human simulate` wrote.",
        )
    people = directory / "demographics.parquet"
    export = Export(
        read_table(directory / "raw_ratings.parquet", RawRatings),
        read_table(directory / "participants.parquet", Participants),
        read_table(people, Demographics, allow_empty=True) if people.is_file() else None,
    )
    for name, frame in export.tables().items():
        _check_csv(directory / f"{name}.csv", as_csv(validate(frame, FILES[name])))
    return export


def _check_csv(path: Path, expected: str) -> None:
    """A CSV file of an export says what its table says, whatever its quotes and ends of lines.

    Raises:
        UserError: it does not.
    """
    if not path.is_file():
        return
    try:
        given = list(read_rows(path, path.read_bytes()))
    except CsvError:
        given = []
    if given != list(read_rows(path, expected.encode())):
        problem = f"does not say what {path.stem}.parquet says, and that file alone is read."
        fix = (
            "Restore or delete it. To leave a person out, `human withdraw` and export again, or"
            " clean with other settings."
        )
        raise UserError(path, problem, fix)


def write_export(folder: Path, export: Export, provenance: Provenance) -> None:
    """Write the tables into a folder, each as Parquet and as CSV.

    Args:
        folder: an existing folder, e.g. of ``files.whole_folder``.
        export: the tables.
        provenance: what made them.
    """
    for name, frame in export.tables().items():
        write_table(frame, FILES[name], folder / f"{name}.parquet", provenance)
        (folder / f"{name}.csv").write_text(
            as_csv(validate(frame, FILES[name])), encoding="utf-8", newline=""
        )


def as_csv(frame: pd.DataFrame) -> str:
    """A table as CSV whose cells no spreadsheet takes for formulas."""
    safe = frame.copy()
    for name in safe.select_dtypes(exclude=["number", "bool"]):
        safe[name] = safe[name].map(neutralize, na_action="ignore")
    return str(safe.to_csv(index=False, lineterminator="\n"))


def neutralize(cell: object) -> str:
    """A cell with an apostrophe in front where a spreadsheet would compute it instead of showing
    it.

    >>> neutralize("=1+1"), neutralize("Chile;=1+1"), neutralize("Guinea-Bissau")
    ("'=1+1", "Chile;'=1+1", 'Guinea-Bissau')
    """
    return _FORMULA.sub("'", str(cell))


def read_lists(path: Path | str) -> tuple[pd.DataFrame, str]:
    """The lists and their digest.

    Returns:
        contracts.StudyLists, and the digest of the set.

    Raises:
        UserError: not a table of lists, or its rows are not those that the digest in its provenance
            is of.
    """
    trials = read_table(path, StudyLists)
    digest = digest_lists(trials)
    if read_provenance(path).details.get("lists_digest") != digest:
        raise UserError(
            path,
            "its rows do not have the digest that it states.",
            "Make the lists again with `human lists`.",
        )
    return trials, digest


def read_key(path: Path | str) -> tuple[pd.DataFrame, str]:
    """The answer key, and the digest of the lists that it belongs to.

    Returns:
        contracts.ListKeys, and the digest of the set of lists.

    Raises:
        UserError: not an answer key, or one whose answers were changed.
    """
    key = read_table(path, ListKeys)
    fits = key["target"] == key["context"]
    right = fits.map({True: 5, False: 1}).where(
        key["eval_type"] == "likert", fits.map({True: 1, False: 2})
    )
    if len(wrong := key[(key["kind"] == "test") & (key["expected"] != right)]):
        problem = (
            f"expects {len(wrong)} answers that are not those of the contexts and targets, first of"
            f" {wrong['item_id'].iloc[0]}."
        )
        raise UserError(path, problem, "Give the key as `human lists` wrote it.")
    digest = read_provenance(path).details.get("lists_digest")
    if not isinstance(digest, str):
        raise UserError(
            path,
            "does not say which lists it belongs to.",
            "Make lists and key again with `human lists`.",
        )
    return key, digest
