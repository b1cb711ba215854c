"""From an export to the answers that count: named steps, each of which can be left out, and each of
which is counted.

Excluding somebody's answers here says nothing about pay: that is decided by other rules, before any
of this.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from worldprobe.analysis.reliability import correlations, halve, step_up
from worldprobe.errors import UserError
from worldprobe_survey.contracts import ANSWERS
from worldprobe_survey.study_settings import Cleaning


def check_export(
    raw: pd.DataFrame, participants: pd.DataFrame, key: pd.DataFrame, lists_digest: str
) -> None:
    """Refuse an export that is not of these lists, or that is at odds with itself.

    Args:
        raw: contracts.RawRatings.
        participants: contracts.Participants.
        key: contracts.ListKeys.
        lists_digest: of the lists that the key belongs to.

    Raises:
        UserError: saying what does not fit.
    """
    for name, table in (("raw_ratings", raw), ("participants", participants)):
        strange = sorted(set(table["lists_digest"]) - {lists_digest})
        if strange:
            n_people = table.loc[table["lists_digest"] != lists_digest, "participant"].nunique()
            raise UserError(
                name,
                f"{n_people} people answered other lists (digest {strange[0][:12]}...) than the"
                f" key's ({lists_digest[:12]}...).",
                "Give the answer key that was made with the lists that the survey showed.",
            )
    questions = set(key["question"])
    unknown = raw.loc[~raw["question"].isin(questions), "question"]
    if len(unknown):
        raise UserError(
            "raw_ratings",
            f"the key does not have the question {unknown.iloc[0]}.",
            "Give the key of these lists.",
        )
    sessions = ["participant", "session"]
    facts = [*sessions, "list", "eval_type"]
    lost = raw[facts].drop_duplicates().merge(participants[facts], how="left_anti", on=facts)
    if len(lost):
        who = lost.iloc[0]
        problem = (
            f"{len(lost)} sessions with answers are not in participants (the first:"
            f" {who['participant']}, {who['list']})."
        )
        raise UserError("participants", problem, "Export both tables at once, and change neither.")


def read_answers(raw: pd.DataFrame, key: pd.DataFrame) -> pd.DataFrame:
    """The answers with what they mean, in an order of rows that does not depend on the export's.

    Args:
        raw: contracts.RawRatings, of questions that the key has.
        key: contracts.ListKeys.

    Returns:
        The columns of ``raw``, and: ``answer``, the number given (missing where it is not an answer
        to the question); ``expected``, the number that the design expects; ``cell``, the sub-item
        (``name_cells``); ``unit``; ``value``, the answer as it is compared between people: Likert
        the rating, Choice the context that was chosen (1 or 2, as the item has them, not as they
        were shown).
    """
    cells = name_cells(key).drop_duplicates("question").set_index("question")
    answers = raw.sort_values(["participant", "session", "presented", "position"]).reset_index(
        drop=True
    )
    text = answers["response"].astype("string").str.strip()
    given = {(way, str(number)): number for way, allowed in ANSWERS.items() for number in allowed}
    answers["answer"] = [
        given.get(pair, float("nan"))
        for pair in zip(answers["eval_type"], text.fillna(""), strict=True)
    ]
    for column in ("expected", "context", "cell", "unit"):
        answers[column] = answers["question"].map(cells[column])
    is_choice = (answers["eval_type"] == "choice") & (answers["kind"] == "test")
    chosen = (
        answers["context"]
        .where(answers["answer"] == 1, 3 - answers["context"])
        .where(answers["answer"].notna())
    )
    answers["value"] = answers["answer"].mask(is_choice, chosen)
    return answers.drop(columns="context")


def name_cells(key: pd.DataFrame) -> pd.DataFrame:
    """The key in order, with the sub-item of each row: what is counted together, and compared
    between people.

    Likert: the question. Choice: the target and its two contexts in either order, named after the
    first item that has them, so that the answers to both orders are about the contexts of one item.
    """
    ordered = key.sort_values(["question", "item_id", "target", "context"]).reset_index(drop=True)
    is_choice = (ordered["eval_type"] == "choice") & (ordered["kind"] == "test")
    first = ordered.drop_duplicates("question").set_index("question")
    names = first["item_id"] + "_t" + first["target"].astype(str)
    ordered["cell"] = ordered["question"].where(~is_choice, ordered["question"].map(names))
    return ordered


#: An answer that fewer people gave is not shown by itself.
FEWEST = 5
MERGED = "other answers"
UNKNOWN = "not said"
_AGES = (18, 30, 40, 50, 60, 121)


def count_people(participants: Iterable[str], demographics: pd.DataFrame | None) -> pd.DataFrame:
    """Counts of each answer (contracts.PeopleCounts): every attribute's add up to the number of
    people.

    Answers that differ in case or blanks alone are one, in the spelling that most people use:
    country and language are typed. Answers that fewer than five people gave are merged; if all
    merged together are still fewer than five, the next smallest count joins them, because otherwise
    it could be found by subtraction.

    Args:
        participants: keys of the people to count.
        demographics: contracts.Demographics; who is not in it said nothing, as if nobody had been
            asked (None).
    """
    columns = ["age", "gender", "country", "first_language"]
    rows = pd.DataFrame(columns=["participant", *columns]) if demographics is None else demographics
    demographics = rows.set_index("participant").reindex(pd.Index(list(participants)))[columns]
    parts = []
    for attribute in columns:
        column = demographics[attribute]
        labels = (
            _band(column)
            if attribute == "age"
            else column.astype("string").str.split().str.join(" ")
        )
        merged = merge_small(_count_spellings(labels.fillna(UNKNOWN).replace("", UNKNOWN)))
        parts += [
            {"attribute": attribute, "answer": answer, "n": n} for answer, n in merged.items()
        ]
    return pd.DataFrame(parts, columns=["attribute", "answer", "n"]).astype({"n": "int64"})


def merge_small(counts: dict[str, int]) -> dict[str, int]:
    """Counts in which no answer has fewer than five people, unless there are fewer than five in
    all.

    >>> merge_small({"a": 20, "b": 7, "c": 2, "d": 1})
    {'a': 20, 'other answers': 10}
    """
    rest = dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
    merged = rest.pop(MERGED, 0) + sum(n for n in rest.values() if n < FEWEST)
    rest = {answer: n for answer, n in rest.items() if n >= FEWEST}
    while 0 < merged < FEWEST and rest:
        merged += rest.pop(next(reversed(rest)))
    return rest | ({MERGED: merged} if merged else {})


def _count_spellings(labels: pd.Series) -> dict[str, int]:
    counts: dict[str, int] = {}
    shown: dict[str, str] = {folded: folded for folded in (UNKNOWN, MERGED)}
    spellings = labels.value_counts()
    for answer, n in sorted(spellings.items(), key=lambda pair: (-pair[1], str(pair[0]))):
        name = shown.setdefault(str(answer).casefold(), str(answer))
        counts[name] = counts.get(name, 0) + int(n)
    return counts


def _band(ages: pd.Series) -> pd.Series:
    """Ages in bands: 18-29, 30-39, ..., 60 and over."""
    names = [
        f"{low}-{high - 1}" if high < 100 else f"{low} and over"
        for low, high in itertools.pairwise(_AGES)
    ]
    bands = np.digitize(pd.to_numeric(ages).fillna(0).astype(float), _AGES) - 1
    return pd.Series(
        [names[p] if 0 <= p < len(names) else None for p in bands],
        index=ages.index,
        dtype="string",
    )


#: The steps in their order.
STEPS = (
    "returned",
    "incomplete",
    "duplicates",
    "invalid_answer",
    "failed_catch",
    "too_fast",
    "isc",
    "minimum",
)
_SESSION = ["participant", "session"]


@dataclass
class Cleaned:
    """The answers that count, and what became of the others.

    Attributes:
        answers: rows of ``read_answers`` that are left, test trials only.
        steps: contracts.CleaningSteps.
        raters: contracts.Raters.
        is_settled: whether the last pass of the correlation excluded nobody.
        sub_items: contracts.SubItems.
    """

    answers: pd.DataFrame
    steps: pd.DataFrame
    raters: pd.DataFrame
    is_settled: bool
    sub_items: pd.DataFrame


@dataclass
class _Run:
    """The answers on their way, and the record of each step."""

    answers: pd.DataFrame
    rules: Cleaning
    steps: list[dict[str, object]] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)

    def keep(self, step: str, is_kept: pd.Series | np.ndarray, pass_number: int = 0) -> None:
        """Keep these rows; count rows and people before and after; remember who went."""
        before = self.answers
        self.answers = before[np.asarray(is_kept, dtype=bool)].reset_index(drop=True)
        for name in sorted(set(before["participant"]) - set(self.answers["participant"])):
            self.reasons.setdefault(name, step)
        self.record(step, before, True, pass_number)

    def record(self, step: str, before: pd.DataFrame, is_on: bool, pass_number: int = 0) -> None:
        """One row of the table of steps; catch trials are no ratings and are not counted."""
        old, new = (frame[frame["kind"] == "test"] for frame in (before, self.answers))
        self.steps.append(
            {
                "position": len(self.steps) + 1,
                "step": step,
                "pass_number": pass_number,
                "is_on": is_on,
                "n_ratings_before": len(old),
                "n_ratings_after": len(new),
                "n_people_before": before["participant"].nunique(),
                "n_people_after": self.answers["participant"].nunique(),
            }
        )

    def is_on(self, step: str, is_set: bool = True) -> bool:
        """Whether a step is taken; one that is not is in the table of steps all the same."""
        if step in self.rules.skip or not is_set:
            self.record(step, self.answers, False)
            return False
        return True


def clean(
    answers: pd.DataFrame, participants: pd.DataFrame, key: pd.DataFrame, rules: Cleaning
) -> Cleaned:
    """Apply the steps.

    Args:
        answers: of ``read_answers``.
        participants: contracts.Participants of the same export.
        key: contracts.ListKeys, which says what was to be asked.
        rules: which steps, and their limits.

    Returns:
        What is left. The same for any order of rows.
    """
    facts = participants.set_index(_SESSION)["status"].rename("status")
    run = _Run(answers.join(facts, on=_SESSION), rules)
    if run.is_on("returned"):
        run.keep("returned", run.answers["status"] != "returned")
    if run.is_on("incomplete"):
        run.keep("incomplete", ~run.answers["status"].isin(["partial", "expired"]))
    if run.is_on("duplicates"):
        run.keep("duplicates", ~find_duplicates(run.answers))
    # Without this step nothing later could be computed, so an answer that is not a number goes in
    # any case.
    is_answered = run.answers["answer"].notna() | (run.answers["kind"] == "catch")
    if run.is_on("invalid_answer"):
        run.keep("invalid_answer", is_answered)
    else:
        run.answers = run.answers[is_answered].reset_index(drop=True)
    if run.is_on("failed_catch", rules.failed_catch > 0):
        run.keep("failed_catch", ~_fails_catch(run.answers, rules.failed_catch))
    if run.is_on("too_fast", rules.too_fast_ms > 0):
        run.keep("too_fast", ~_is_too_fast(run.answers, rules.too_fast_ms))
    run.answers = run.answers[run.answers["kind"] == "test"].reset_index(drop=True)
    raters, is_settled = _apply_isc(run)
    sub_items = means_of_sub_items(run.answers, key, rules.minimum)
    if run.is_on("minimum", rules.below_minimum == "drop"):
        full = sub_items.loc[sub_items["status"] == "ok", "cell"]
        run.keep("minimum", run.answers["cell"].isin(full))
    return Cleaned(
        run.answers,
        pd.DataFrame(run.steps),
        _complete(raters, participants, run.reasons),
        is_settled,
        sub_items,
    )


def find_duplicates(answers: pd.DataFrame) -> pd.Series:
    """Answers of sessions that repeat a unit of an earlier session of the same person, and
    questions answered twice in one.

    A later session in the other way of asking counts as a repetition: nobody is asked in both.
    """
    tests = answers[answers["kind"] == "test"]
    first = tests.groupby(["participant", "unit"])["session"].transform("min")
    is_late = pd.Series(False, index=answers.index)
    is_late[tests.index] = tests["session"] > first
    again = is_late.groupby([answers["participant"], answers["session"]]).transform("any")
    ways = answers.groupby("participant")["eval_type"].transform("first")
    is_test = answers["kind"] == "test"
    is_twice = is_test & answers[is_test].duplicated([*_SESSION, "question"]).reindex(
        answers.index, fill_value=False
    )
    return again | (answers["eval_type"] != ways) | is_twice


def _fails_catch(answers: pd.DataFrame, limit: int) -> pd.Series:
    is_failed = (answers["kind"] == "catch") & (answers["answer"] != answers["expected"])
    return is_failed.groupby([answers["participant"], answers["session"]]).transform("sum") >= limit


def _is_too_fast(answers: pd.DataFrame, limit: float) -> pd.Series:
    """Sessions whose median time is below the limit; a session without any time is not fast."""
    times = answers["rt_ms"].where(answers["kind"] == "test")
    return times.groupby([answers["participant"], answers["session"]]).transform("median") < limit


def _apply_isc(run: _Run) -> tuple[pd.DataFrame, bool]:
    """Leave out those below the threshold, again and again; everybody's last correlation."""
    rules = run.rules
    is_on = "isc" not in rules.skip
    outcomes: dict[str, dict[str, object]] = {}
    pass_number = 0
    while True:
        pass_number += 1
        table = measure_people(run.answers, rules.min_corated)
        outcomes.update(
            {
                str(name): {str(k): v for k, v in row.items()}
                for name, row in table.to_dict("index").items()
            }
        )
        is_out = (table["isc_status"] == CONSTANT) | (
            (table["isc_status"] == DEFINED) & (table["r"] < rules.isc)
        )
        is_limit = 0 < rules.passes < pass_number
        if not is_on or not is_out.any() or is_limit:
            break
        out = table.index[is_out]
        for name in out:
            outcomes[name]["pass_number"] = pass_number
        run.keep("isc", ~run.answers["participant"].isin(out), pass_number)
    if not is_on or pass_number == 1:
        run.record("isc", run.answers, is_on)
    raters = pd.DataFrame.from_dict(
        outcomes,
        orient="index",
        columns=["eval_type", "r", "n", "std_error", "isc_status", "pass_number"],
    )
    return raters, not (is_on and is_out.any())


def measure_people(answers: pd.DataFrame, min_corated: int) -> pd.DataFrame:
    """Everybody's correlation with the others who were asked in the same way, all domains pooled.

    Who was asked in both ways, where repeated sessions are kept, has the correlation that speaks
    against them most: of one answer to everything, or the lowest.

    Returns:
        By participant: eval_type, r, n, std_error, isc_status, pass_number (0).
    """
    parts = []
    for way, rows in answers.groupby("eval_type", sort=True):
        names = np.unique(rows["participant"].to_numpy(str))
        # Where repeated sessions are kept, a person's first answer to a question is compared with
        # the others'.
        order = rows.drop_duplicates(["participant", "cell"]).sort_values(["participant", "cell"])
        person = np.searchsorted(names, order["participant"].to_numpy(str))
        cell = pd.factorize(order["cell"], sort=True)[0]
        measured = correlate_people(person, cell, order["value"].to_numpy(float), min_corated)
        parts.append(
            pd.DataFrame(
                {
                    "eval_type": str(way),
                    "r": measured.r,
                    "n": measured.n,
                    "std_error": measured.std_error,
                    "isc_status": measured.status,
                    "pass_number": 0,
                },
                index=names,
            )
        )
    columns = ["eval_type", "r", "n", "std_error", "isc_status", "pass_number"]
    if not parts:
        return pd.DataFrame(columns=columns)
    both = pd.concat(parts)
    worst = both.assign(is_varied=both["isc_status"] != CONSTANT).sort_values(
        ["is_varied", "r"], kind="stable"
    )
    return both if both.index.is_unique else worst[~worst.index.duplicated()].sort_index()[columns]


def means_of_sub_items(answers: pd.DataFrame, key: pd.DataFrame, minimum: int) -> pd.DataFrame:
    """Counts and statistics of every sub-item of the key, asked or not (contracts.SubItems)."""
    wanted = name_cells(key[key["kind"] == "test"])
    table = wanted.groupby(["eval_type", "cell"]).agg(n_items=("item_id", "nunique"))
    groups = answers.groupby(["eval_type", "cell"])
    means = groups["value"].agg(n="size", mean="mean", sd="std", min="min", max="max")
    table = table.join(means).join(groups["rt_ms"].median().rename("median_rt_ms"))
    table["n"] = table["n"].fillna(0).astype("int64")
    table["status"] = np.select(
        [table["n"] == 0, table["n"] < minimum], ["missing", "below_minimum"], "ok"
    )
    return table.reset_index().astype(
        dict.fromkeys(("mean", "sd", "min", "max", "median_rt_ms"), "float64")
    )


def _complete(
    raters: pd.DataFrame, participants: pd.DataFrame, reasons: dict[str, str]
) -> pd.DataFrame:
    """A row for everybody in the export (contracts.Raters), also those who went before the
    correlation, or never answered.
    """
    people = participants.sort_values(_SESSION).groupby("participant")
    asked = people["eval_type"].first()
    table = raters.reindex(asked.index)
    table["eval_type"] = table["eval_type"].fillna(asked)
    is_unknown = table["isc_status"].isna()
    table["isc_status"] = table["isc_status"].fillna("not_measured")
    table["n"] = table["n"].fillna(0).astype("int64")
    table["pass_number"] = table["pass_number"].fillna(0).astype("int64")
    missing = people["status"].first().where(lambda status: status == "returned", "incomplete")
    table["excluded_by"] = [
        reasons.get(name, missing[name] if is_unknown[name] else "") for name in table.index
    ]
    table = table.astype({"r": "float64", "std_error": "float64"})
    return table.rename_axis("participant").reset_index().rename(columns={"n": "n_corated"})


#: No memory is needed, nothing is hidden, and no opinion is asked: what Prolific requires of an
#: attention check.
_TEXTS = {
    "likert": (
        "This is not a scenario but a check that you are reading. Please answer with {answer}."
    ),
    "choice": (
        "This is not a scenario but a check that you are reading. Please choose context {answer}."
    ),
}
#: Shown in place of the contexts of a Choice trial.
_CONTEXT = "Please read the scenario."


def write_catch_trials(eval_type: str, text: str = "", context: str = "") -> pd.DataFrame:
    """A catch trial for each answer, in the order of the answers.

    Args:
        eval_type: likert or choice.
        text: what asks for an {answer}; English where it is empty.
        context: what is shown in place of the contexts of a Choice trial.
    """
    shown = (context or _CONTEXT) if eval_type == "choice" else None
    answers = list(ANSWERS[eval_type])
    return pd.DataFrame(
        {
            "question": [f"catch-{eval_type}-{answer}" for answer in answers],
            "kind": "catch",
            "eval_type": eval_type,
            "domain": None,
            "version": -1,
            "first_context": shown,
            "second_context": shown,
            "target": [(text or _TEXTS[eval_type]).format(answer=answer) for answer in answers],
        }
    )


def add_catch_trials(
    tests: np.ndarray, catch: np.ndarray, n_catch: int, random: np.random.Generator
) -> np.ndarray:
    """A list's trials with catch trials at spread positions, each asking for another answer as far
    as there are others.

    Args:
        tests: numbers of the list's test trials.
        catch: numbers of the catch trials, one for each answer.
        n_catch: catch trials to add.
        random: draws which answers they ask for.
    """
    turns = [
        number for _ in range(-(-n_catch // len(catch))) for number in random.permutation(catch)
    ][:n_catch]
    positions = (np.arange(1, n_catch + 1) * len(tests)) // (n_catch + 1)
    return np.insert(tests, positions, turns)


def key_of_catch_trials(questions: pd.Series) -> pd.DataFrame:
    """Rows of contracts.ListKeys for the catch trials among these questions."""
    names = sorted({name for name in questions if name.startswith("catch-")})
    return pd.DataFrame(
        {
            "question": names,
            "kind": "catch",
            "eval_type": [name.split("-")[1] for name in names],
            "item_id": "",
            "target": 0,
            "context": 0,
            "unit": "",
            "expected": [int(name.split("-")[2]) for name in names],
        }
    ).astype({"expected": "int64"})  # also where there are none


@dataclass(frozen=True)
class Reliability:
    """Of the mean answers of all people.

    Attributes:
        r: correlation of two halves' means, stepped up by Spearman and Brown to all people; the
            mean over splits.
        low, high: 95 % interval, for other people and other sub-items (Feldt 1965, Psychometrika
            30: 357).
        ceiling: square root of r: the correlation with the mean answers that a rater without any
            noise would reach, and so what can be expected of a model at most.
        ceiling_low, ceiling_high: roots of the interval's ends.
        n_cells: sub-items that both halves answered, on average.
    """

    r: float
    low: float
    high: float
    ceiling: float
    ceiling_low: float
    ceiling_high: float
    n_cells: int


def group_people(answers: pd.DataFrame) -> pd.Series:
    """Group of each person, by the lists that they took: people of one group can stand for each
    other. By participant, in order.
    """
    return (
        answers.groupby("participant")["list"]
        .agg(lambda names: ",".join(sorted(set(names))))
        .sort_index()
    )


def halve_people(groups: pd.Series, random: np.random.Generator) -> np.ndarray:
    """Half of each person, 0 or 1: as many of each group in either as possible; the odd one is
    drawn.
    """
    return halve(pd.factorize(groups, sort=True)[0], 1, random)[0].astype(np.int64)


def reliability_of_answers(answers: pd.DataFrame, n_splits: int, seed: int) -> Reliability | None:
    """Reliability of the mean answers to the sub-items; None where fewer than three have two
    answers.

    Args:
        answers: contracts.CleanAnswers of one way of asking.
        n_splits: random splits of the people.
        seed: of the splits.
    """
    from scipy.special import fdtri  # displays are declared without SciPy

    groups = group_people(answers)
    person = groups.index.get_indexer(pd.Index(answers["participant"]))
    cell, names = pd.factorize(answers["cell"], sort=True)
    value = answers["value"].to_numpy(float)
    random = np.random.default_rng([seed, 3])
    reliabilities, sizes = [], []
    for _ in range(n_splits):
        half = halve_people(groups, random)[person]
        sums = np.stack(
            [np.bincount(cell[half == side], value[half == side], len(names)) for side in (0, 1)]
        )
        counts = np.stack(
            [np.bincount(cell[half == side], minlength=len(names)) for side in (0, 1)]
        )
        is_both = (counts > 0).all(axis=0)
        if is_both.sum() < 3:
            return None
        first, second = sums[:, is_both] / counts[:, is_both]
        r = pearson(first, second)
        reliabilities.append(step_up(r))
        sizes.append(int(is_both.sum()))
    mean, n_cells = float(np.mean(reliabilities)), round(float(np.mean(sizes)))
    answered = np.bincount(cell)
    raters = 1 / np.mean(1 / answered[answered > 1])
    low, high = (
        1 - (1 - mean) * float(fdtri(n_cells - 1, (n_cells - 1) * (raters - 1), tail))
        for tail in (0.975, 0.025)
    )
    ceiling, ceiling_low, ceiling_high = (
        float(np.sqrt(max(bound, 0.0))) for bound in (mean, low, high)
    )
    return Reliability(
        mean, low, high, ceiling if mean >= 0 else float("nan"), ceiling_low, ceiling_high, n_cells
    )


def pearson(first: np.ndarray, second: np.ndarray) -> float:
    """Pearson's r; NaN where either side does not vary.

    >>> pearson(np.array([1.0, 2, 3]), np.array([2.0, 4, 6]))
    1.0
    """
    return float(np.clip(correlations(first[None], second[None])[0], -1, 1))


#: What is known of a person's correlation.
DEFINED, CONSTANT, TOO_FEW, NO_CO_RATER, CONSTANT_OTHERS = (
    "defined",
    "constant",
    "too_few",
    "no_co_rater",
    "constant_others",
)
#: Sums of squares below this are rounding: ratings are whole numbers and their means.
_ZERO = 1e-9


@dataclass(frozen=True)
class PersonCorrelations:
    """A person each.

    Attributes:
        r: Pearson's r of the own answers with the mean of the others'; NaN where it is not defined.
        n: questions that someone else answered too.
        std_error: of r, sqrt((1 - r^2) / (n - 2)).
        status: why r is not defined, or ``defined``.
    """

    r: np.ndarray
    n: np.ndarray
    std_error: np.ndarray
    status: np.ndarray


def correlate_people(
    person: np.ndarray, question: np.ndarray, value: np.ndarray, min_corated: int
) -> PersonCorrelations:
    """Every person's correlation with the mean of the others on the questions that both answered,
    all pooled.

    Args:
        person: whose answer, from 0; each answers a question once. Shape (answers,), as the others.
        question: to which question, from 0.
        value: the answer.
        min_corated: with fewer questions that others answered too, r is not defined.

    Returns:
        One entry per person.
    """
    n_people = int(person.max()) + 1 if len(person) else 0
    total = np.bincount(question, value)
    count = np.bincount(question)
    is_shared = count[question] > 1
    who, answers = person[is_shared], value[is_shared].astype(float)
    asked = question[is_shared]
    others = (total[asked] - answers) / (count[asked] - 1)
    n = np.bincount(who, minlength=n_people)
    divisor = np.maximum(n, 1)
    answers = answers - (np.bincount(who, answers, n_people) / divisor)[who]
    others = others - (np.bincount(who, others, n_people) / divisor)[who]
    own_squares = np.bincount(who, answers * answers, n_people)
    other_squares = np.bincount(who, others * others, n_people)
    product = np.bincount(who, answers * others, n_people)
    status = np.select(
        [n == 0, n < min_corated, own_squares < _ZERO, other_squares < _ZERO],
        [NO_CO_RATER, TOO_FEW, CONSTANT, CONSTANT_OTHERS],
        DEFINED,
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.where(
            status == DEFINED,
            np.clip(product / np.sqrt(own_squares * other_squares), -1, 1),
            np.nan,
        )
        std_error = np.where(n > 2, np.sqrt((1 - r * r) / (n - 2)), np.nan)
    return PersonCorrelations(r, n, std_error, status)
