"""WorldSense's part of the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from worldprobe.benchmarks.worldsense import selection
from worldprobe.benchmarks.worldsense.analysis.answers import read_series
from worldprobe.benchmarks.worldsense.analysis.questions import Questions, from_frame
from worldprobe.benchmarks.worldsense.analysis.statistics import score_tuples
from worldprobe.benchmarks.worldsense.contracts import Responses, Summaries, Trials
from worldprobe.benchmarks.worldsense.skins.skins import IN, OUT
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, CANARY, PROBLEMS, TRIVIAL
from worldprobe.contracts import read_provenance, read_table
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import (
    Roster,
    against_chance,
    counted,
    listed,
    ranging,
    who_took_part,
)
from worldprobe.report.origins import (
    Methods,
    TableOrigin,
    file_rows,
    model_rows,
    package_versions,
    read_origins,
)
from worldprobe.report.page import Cell, Material, Notice, Part, cell_of, notices, render_template

#: Rules of reading, and where they differ, in words.
RULES = {"explicit": "what they say", "last_word": "their last word, as in the paper"}
DIFFERENCES = {
    "another_answer": "another answer",
    "only_explicit": "an answer by what they say only",
    "only_last_word": "an answer by the last word only",
}
QUESTION = "Does a language model keep a small world in mind?"
#: Rule -> what it must come to.
RULE_WORDS = {
    "rule_solver": "The solver reads the text and must be right about everything.",
    "rule_random": "Random answers must be at chance.",
    "rule_positive": "One-sided answers must be at chance.",
    "rule_mention": "The order of mention shows what the wording gives away.",
    "rule_query": "The query alone shows what the question gives away.",
    "rule_counting": "Counting mentions shows how far one gets without chaining two clauses.",
    "rule_together": "Matching single clauses shows the same.",
    "rule_ngrams": "N-grams of words show what a classifier learns from other trials.",
    "rule_roles": (
        "N-grams of relations and roles show the same without names; they join clauses that stand"
        " side by side."
    ),
}
#: The rule that a model must beat.
COUNTING = "rule_counting"
CITE = "The measure: Benchekroun et al. (2023), WorldSense, arXiv 2311.15930."


def compose(material: Material) -> Part:
    """The part, from the summaries, and from trials and answers where the trials are our own."""
    summaries = read_table(material.summary, Summaries)
    roster = material.roster
    overall = selection.of_main(selection.pick(summaries, OVERALL))
    models = roster.in_order(overall["model"])
    asked = selection.language_models(models, roster)
    by_problem = selection.of_main(selection.pick(summaries, "problem", columns=("problem",)))
    own = read_origins([material.summary])
    origins = [
        *own,
        *(one for one in material.origins if one.path.resolve() != material.summary.resolve()),
    ]
    promptings = selection.main_promptings(summaries)
    examples = (
        read_examples(material.item_text, origins, promptings, roster, asked)
        if material.item_text
        else []
    )
    extras = {}
    if examples:
        extras["problems"] = render_template(
            "worldprobe.benchmarks.worldsense", "conversations.html.jinja", problems=examples
        )
    return Part(
        question=QUESTION,
        lead=_lead(overall, asked, roster),
        who=who_took_part(models, roster),
        points=[
            *_shallow(overall, asked, roster),
            *_bias(summaries, asked, roster),
            *_invalid(summaries, roster),
        ],
        more=[*_by_problem(by_problem, asked), *_seen(summaries, asked)],
        facts=_facts(summaries, models),
        methods=_methods(summaries, origins, roster),
        cite=CITE,
        notices=[
            *notices(own[0].provenance, roster),
            *_reading(own[0].provenance, asked, roster),
            *_rules(models, roster),
        ],
        overview=_overview(overall, by_problem, models, roster),
        apart=frozenset(roster[model].name for model in models if roster[model].is_rule),
        extras=extras,
        has_item_text=bool(examples),
    )


def _overview(
    overall: pd.DataFrame, by_problem: pd.DataFrame, models: Sequence[str], roster: Roster
) -> dict[str, dict[str, float]]:
    columns = {ALL: overall} | {
        selection.PROBLEM_NAMES[name]: by_problem[by_problem["problem"] == name]
        for name in selection.problems_of(by_problem)
    }
    return {
        heading: {
            roster[model].name: float(rows.set_index("model")["mean"][model])
            for model in models
            if model in set(rows["model"])
        }
        for heading, rows in columns.items()
    }


def _lead(overall: pd.DataFrame, asked: Sequence[str], roster: Roster) -> str:
    """Means against chance, by intervals that hold for all models at once."""
    rows = overall[overall["model"].isin(asked)]
    said = against_chance(
        rows.assign(name=[roster[model].name for model in rows["model"]]), over=" over skins"
    )
    if len(rows) == 1 and rows["ci_low"].isna().all():
        n_skins = int(rows["n_clusters"].iloc[0])
        said += (
            f" It is the same in all {n_skins} skins."
            if n_skins > 1
            else " One skin gives no interval."
        )
    return (
        f"{said} Prompting:"
        f" {listed(dict.fromkeys(selection.prompting_name(way) for way in rows['eval_type']))}."
    )


def _shallow(overall: pd.DataFrame, asked: Sequence[str], roster: Roster) -> list[str]:
    """What a rule has that never chains two clauses, and which models are not above it for other
    skins as well.
    """
    from worldprobe.analysis.comparisons import ABOVE, NO_INTERVAL, place

    rows = overall.set_index("model")
    if COUNTING not in rows.index:
        return []
    bar = float(rows["mean"][COUNTING])
    sentence = (
        "A rule that counts mentions and matches single clauses, and never chains two, has an"
        f" accuracy of {bar:.3f}"
    )
    others = rows.loc[[model for model in asked if model != COUNTING]]
    where = place(others, bar)
    is_alike = (where == NO_INTERVAL) & (others["n_clusters"] > 1)
    below, alike = (
        [roster[model].name for model in others.index[one]]
        for one in ((where != ABOVE) & ~is_alike, is_alike)
    )
    if below:
        sentence += (
            f"; {listed(below)} {'is' if len(below) == 1 else 'are'} not shown to be above it, and"
            " so not to reason"
        )
    if alike:
        verb = "is" if len(alike) == 1 else "are"
        sentence += (
            f"; whether {listed(alike)} {verb} above it for other skins nothing tells, as all are"
            " alike"
        )
    return [f"{sentence}."]


def _by_problem(by_problem: pd.DataFrame, asked: Sequence[str]) -> list[str]:
    """The range of the problems' means, and in how many models the ends differ for other skins as
    well.
    """
    rows = by_problem[by_problem["model"].isin(asked)]
    means = rows.groupby("problem")["mean"].mean()
    is_trivial = means.index.isin(TRIVIAL)
    normal, trivial = means[~is_trivial], means[is_trivial]
    found = []
    if len(normal) > 1:
        names = {str(name): selection.PROBLEM_NAMES[str(name)].lower() for name in normal.index}
        most, least = (
            rows[rows["problem"] == name].set_index("model")
            for name in (normal.idxmax(), normal.idxmin())
        )
        ends = _whose(most, least, _apart(most, least, len(normal)), rows["model"].nunique())
        said = (
            f"; the 95% intervals of the ends over skins (for all problems at once) {ends}"
            if ends
            else ""
        )
        found.append(f"{ranging(normal.rename(index=names), 'Means by problem')}{said}.")
    if len(normal) and len(trivial):
        found.append(f"The trivial controls, which need no world, come to {trivial.mean():.3f}.")
    return found


def _seen(summaries: pd.DataFrame, asked: Sequence[str]) -> list[str]:
    """Accuracy on the test skins whose relation the training sets have, and on the others."""
    rows = selection.of_main(selection.pick(summaries, "intraining", columns=("intraining",)))
    rows = rows[rows["model"].isin(asked)]
    means = rows.groupby("intraining")["mean"].mean()
    if not {IN, OUT} <= set(means.index):
        return []
    shared, other = (rows[rows["intraining"] == name].set_index("model") for name in (IN, OUT))
    where = _whose(
        shared, other, _apart(shared, other) | _apart(other, shared), rows["model"].nunique()
    )
    said = (
        f"Skins whose relation is in the training sets come to {means[IN]:.3f}, others to"
        f" {means[OUT]:.3f}"
    )
    said += " on average" if rows["model"].nunique() > 1 else ""
    return [f"{said}; the intervals over skins {where}." if where else f"{said}."]


def _whose(first: pd.DataFrame, second: pd.DataFrame, apart: pd.Series, n_asked: int) -> str:
    """In how many models the intervals of two means are apart, of those that have both; empty where
    none has.

    Args:
        first: rows by model.
        second: likewise.
        apart: of each model, whether they are.
        n_asked: models that the means are of.
    """
    known = [set(side.index[side["ci_low"].notna()]) for side in (first, second)]
    both = sorted(known[0] & known[1])
    if not both:
        return ""
    n_apart = int(apart[both].sum())
    if n_apart == 0 or n_asked == 1:
        return "are apart" if n_apart else "overlap"
    return f"are apart in {n_apart} of {counted(len(both), 'model')}" + (
        " that have them" if len(both) < n_asked else ""
    )


def _apart(higher: pd.DataFrame, lower: pd.DataFrame, n_compared: int = 1) -> pd.Series:
    """In which models one mean is above another for other skins as well; both by model, chosen
    among so many.
    """
    from worldprobe.analysis.comparisons import at_once

    below = at_once(lower, n_compared)["ci_high"]
    models = higher.index.union(below.index)
    return at_once(higher, n_compared)["ci_low"].reindex(models) > below.reindex(models)


def _bias(summaries: pd.DataFrame, asked: Sequence[str], roster: Roster) -> list[str]:
    """How many mean biases differ from 0, by intervals that hold for all of them at once, and their
    range.
    """
    from worldprobe.analysis.comparisons import ABOVE, BELOW, NO_INTERVAL, place  # SciPy

    rows = selection.of_main(selection.pick(summaries, "problem", "bias", columns=("problem",)))
    rows = rows[rows["model"].isin(asked)]
    where = place(rows, 0.0)
    shown, alike = (
        rows[where.isin([ABOVE, BELOW])],
        rows[(where == NO_INTERVAL) & (rows["mean"] != 0) & (rows["n_clusters"] > 1)],
    )
    said = []
    if len(shown):
        verb = "differs" if len(shown) == 1 else "differ"
        said.append(
            f"{len(shown)} of {counted(len(rows), 'mean response bias', 'mean response biases')}"
            f" {verb} from 0, by 95% intervals for all at once: {_ends(shown, roster)}."
        )
    if len(alike):
        said.append(
            "Mean response biases without an interval, as all skins are alike:"
            f" {_ends(alike, roster)}."
        )
    explained = "Above 0: towards TRUE, POSSIBLE, KNOWN; below: FALSE, IMPOSSIBLE, UNKNOWN."
    return [" ".join([*said, explained])] if said else []


def _ends(biases: pd.DataFrame, roster: Roster) -> str:
    """The lowest and the highest of some mean biases, and whose they are."""
    found = [
        f"{row['mean']:+.2f} ({roster[row['model']].name},"
        f" {selection.PROBLEM_NAMES[row['problem']].lower()})".replace("-", "−")
        for row in biases.sort_values("mean").iloc[[0, -1]].to_dict("records")
    ]
    return f"they run from {found[0]} to {found[1]}" if len(biases) > 1 else found[0]


def _invalid(summaries: pd.DataFrame, roster: Roster) -> list[str]:
    rows = selection.of_main(selection.pick(summaries, OVERALL, "invalid"))
    many = rows[rows["mean"] >= 0.01].sort_values("mean", ascending=False)
    if many.empty:
        return []
    named = [
        f"{roster[model].name} {share:.1%}"
        for model, share in zip(many["model"], many["mean"], strict=True)
    ]
    return [f"Answers that could not be read count as wrong: {listed(named)} of the trials."]


def _facts(summaries: pd.DataFrame, models: Sequence[str]) -> list[tuple[str, str]]:
    here = selection.pick(summaries, "problem", columns=("problem",))
    name = selection.main_set(summaries)
    whole = int(here[here["condition"] == name].groupby(["eval_type", "model"])["n"].sum().max())
    n_ways = summaries["eval_type"].nunique()
    found = [
        counted(len(models), "model or rule", "models and rules"),
        counted(len(selection.problems_of(here)), "problem"),
        counted(whole, f"tuple ({name})", f"tuples ({name})"),
        *([counted(n_ways, "way of asking", "ways of asking")] if n_ways > 1 else []),
    ]
    return [(number, noun) for number, noun in (one.split(" ", 1) for one in found)]


def _methods(summaries: pd.DataFrame, origins: Sequence[TableOrigin], roster: Roster) -> Methods:
    packages = package_versions(origins)
    made = origins[0].provenance
    sets = sorted(summaries["condition"].unique())
    how = [selection.prompting_name(name) for name in sorted(summaries["eval_type"].unique())]
    sentences = [
        f"Models answered the trials of {listed(sets)}, asked by {listed(how)} prompting.",
        (
            "A tuple's accuracy and bias are means over its trials with the paper's weights, after"
            " 1 and 2 are folded into one; tuples that were not answered as a whole are left out."
        ),
        (
            "Sizes weigh equally within a problem, and problems in an average; ± in tables is the"
            " paper's 1.96 standard errors over tuples, which hold for these skins only."
        ),
        (
            "Intervals in figures and sentences and p values are for other skins and abstract"
            " problems: Student's t with one degree of freedom less than skins."
        ),
    ]
    left_out = sum(int(row.get("incomplete_tuples", 0)) for row in made.details.get("answers", []))
    if left_out:
        sentences.append(f"{counted(left_out, 'tuple was', 'tuples were')} left out.")
    if any("calibrated_forms" in one.provenance.details for one in origins):
        sentences.append(
            "Constrained answers are those whose odds a text raises most, relative to the mean log"
            " odds over the tuples of its problem, wording and form of query, which have each"
            " answer (batch calibration, Zhou et al. 2024)."
        )
    models = _with_tokens(model_rows(origins, ("worldsense_responses",), roster), origins, roster)
    return Methods(sentences, packages, models, file_rows(origins))


def _reading(made: Provenance, asked: Sequence[str], roster: Roster) -> list[Notice]:
    """How replies were read, and how many the other rule reads otherwise."""
    found = {
        model: ways for model, ways in made.details.get("reading", {}).items() if model in asked
    }
    if not found:
        return []
    rules = {one["rule"] for ways in found.values() for one in ways.values()}
    shown = []
    for model, ways in found.items():
        for way, one in ways.items():
            kinds = [f"{one[key]:,} {words}" for key, words in DIFFERENCES.items() if one.get(key)]
            counted = f"{sum(one.get(key, 0) for key in DIFFERENCES):,} of {one['replies']:,}"
            shown.append(
                f"{roster[model].name}, {way}: {counted}" + (f" ({listed(kinds)})" if kinds else "")
            )
    text = (
        f"Replies were read by {listed(sorted(RULES[rule] for rule in rules))}. Replies that the"
        f" two rules, {RULES['explicit']} and {RULES['last_word']}, read otherwise:"
        f" {'; '.join(shown)}."
    )
    return [Notice("How replies were read", text)]


def _with_tokens(
    models: list[dict[str, str]], origins: Sequence[TableOrigin], roster: Roster
) -> list[dict[str, str]]:
    """The rows of models, with the tokens of each answer where answers were compared."""
    found: dict[str, str] = {}
    for one in origins:
        tokens = one.provenance.details.get("answer_tokens")
        if one.provenance.model and tokens:
            found[roster[one.provenance.model].name] = (
                f"tokens per answer: {selection.show_tokens(tokens)}"
            )
    return [row | {"notes": found.get(row["name"], "–")} for row in models] if found else models


def _rules(models: Sequence[str], roster: Roster) -> list[Notice]:
    rules = [roster[model].name for model in models if roster[model].is_rule]
    if not rules:
        return []
    known = [words for rule, words in RULE_WORDS.items() if rule in models]
    text = (
        f"{listed(rules)}: of known behaviour, so they stay out of averages over models."
        f" {' '.join(known)}".rstrip()
    )
    return [Notice("What the rules are", text)]


#: Which tuples of a problem are shown, by their place from the highest mean of the models to the
#: lowest.
SHARES = {"highest mean": 0.0, "middle": 0.5, "lowest mean": 1.0}


@dataclass(frozen=True)
class Reply:
    """A model's answer, and the conversation that led to it."""

    model: str
    answer: str
    is_right: bool
    messages: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Trial:
    """A question, its right answer and everybody's."""

    text: str
    gold: str
    replies: Sequence[Reply]

    @property
    def n_right(self) -> int:
        """How many are right."""
        return sum(reply.is_right for reply in self.replies)


@dataclass(frozen=True)
class TupleShown:
    """A tuple: questions about one description."""

    title: str
    trials: Sequence[Trial]


@dataclass(frozen=True)
class ProblemShown:
    """A problem with the mean, lowest and highest accuracy of its models, and some of its
    tuples.
    """

    name: str
    mean: Cell
    low: float
    high: float
    tuples: Sequence[TupleShown] = field(default_factory=tuple)


def read_examples(
    path: Path,
    origins: Sequence[TableOrigin],
    promptings: Mapping[str, str],
    roster: Roster,
    averaged: Sequence[str],
) -> list[ProblemShown]:
    """Three tuples of each problem, with every model's conversations under its main prompting.

    Args:
        path: trials of ours.
        origins: tables of the study; the responses among them are read.
        promptings: model -> the prompting that is shown.
        roster: names of the models.
        averaged: models that count in means; the others are shown only.

    Raises:
        UserError: the trials are not worldprobe's own: their text must not be shown.
    """
    if (read_provenance(path).canary or "") != CANARY:
        fix = (
            "Leave the option out: the licence of the released trials keeps their text out of a"
            " report."
        )
        raise UserError(
            "--item-text",
            "these trials were not generated by worldprobe, so their text must not be shown.",
            fix,
        )
    frame = read_table(path, Trials)
    questions = from_frame(frame, str(path))
    files = [
        one for one in origins if one.kind == Responses.Config.name and path.stem in one.path.parts
    ]
    shown = {
        one.provenance.model: one.path
        for one in files
        if one.path.parent.name == promptings.get(one.provenance.model or "")
    }
    if not set(shown) & set(averaged):
        return []
    series = read_series([shown[model] for model in shown], questions)
    scores = pd.DataFrame(
        {one.model: score_tuples(questions, one.answers)["accuracy"] for one in series}
    )
    scores = scores[roster.in_order(scores.columns)]
    counted = scores[[model for model in scores.columns if model in averaged]]
    chosen = _choose(questions, counted)
    wanted = frame[
        questions_in(questions, [number for numbers in chosen.values() for number in numbers])
    ]
    conversations = {
        model: _read_conversations(shown[model], wanted["trial_id"]) for model in scores.columns
    }
    found = []
    for problem in (name for name in PROBLEMS if name in chosen):
        inside = (questions.tuples["problem"] == problem).to_numpy()
        means = counted[inside].mean()
        tuples = []
        for title, number in zip(SHARES, chosen[problem], strict=True):
            rows = frame[questions.tuple_of == number]
            trials = [_trial(row, conversations, roster) for row in rows.to_dict("records")]
            tuples.append(
                TupleShown(
                    f"{title}, {rows['size'].iloc[0]} entities, {rows['skin'].iloc[0]}", trials
                )
            )
        found.append(
            ProblemShown(
                selection.PROBLEM_NAMES[problem],
                cell_of(means.mean(), places=3),
                means.min(),
                means.max(),
                tuples,
            )
        )
    return found


def questions_in(questions: Questions, numbers: Sequence[int]) -> pd.Series:
    """Which trials belong to tuples of these numbers."""
    return pd.Series(questions.tuple_of).isin(numbers)


def _choose(questions: Questions, scores: pd.DataFrame) -> dict[str, list[int]]:
    """Numbers of a problem's tuples, at the shares of ``SHARES`` in the order of the models'
    mean.
    """
    means = scores.mean(axis=1, skipna=True)
    found = {}
    for problem, numbers in questions.tuples.groupby("problem", observed=True).groups.items():
        ranked = means.loc[numbers].dropna().sort_values(ascending=False, kind="stable").index
        if len(ranked):
            found[str(problem)] = [
                int(ranked[round(share * (len(ranked) - 1))]) for share in SHARES.values()
            ]
    return found


def _read_conversations(
    path: Path, trials: pd.Series
) -> dict[int, tuple[str, list[tuple[str, str]]]]:
    """Trial -> answer and messages, of the first sample."""
    table = read_table(path, Responses, ["trial_id", "sample", "answer", "status", "conversation"])
    here = table[table["trial_id"].isin(trials) & (table["sample"] == 0)]
    return {
        int(row["trial_id"]): (
            str(row["answer"]) if row["status"] == "ok" else f"none ({row['status']})",
            [
                (str(message["role"]), str(message["content"]))
                for message in json.loads(row["conversation"])
            ],
        )
        for row in here.to_dict("records")
    }


def _trial(
    row: dict[object, object],
    conversations: Mapping[str, dict[int, tuple[str, list[tuple[str, str]]]]],
    roster: Roster,
) -> Trial:
    gold = ANSWER_OF[str(row["gold"])]
    replies = []
    for model, found in conversations.items():
        answer, messages = found.get(int(str(row["trial_id"])), ("not asked", []))
        folded = {"1": "KNOW", "2": "KNOW"}
        replies.append(
            Reply(
                roster[model].name,
                answer,
                folded.get(answer, answer) == folded.get(gold, gold),
                messages,
            )
        )
    return Trial(str(row["text"]), gold, replies)
