"""WorldSense's part of the report."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from worldprobe.benchmarks.worldsense.contracts import Summaries
from worldprobe.benchmarks.worldsense.report.conversations import read_examples
from worldprobe.benchmarks.worldsense.selection import (
    PROBLEM_NAMES,
    interval_ends,
    language_models,
    main_promptings,
    main_set,
    of_main,
    pick,
    problems_of,
    prompting_name,
    show_tokens,
)
from worldprobe.benchmarks.worldsense.skins.skins import IN, OUT
from worldprobe.benchmarks.worldsense.skins.vocabulary import TRIVIAL
from worldprobe.contracts import read_table
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster
from worldprobe.report.origins import (
    Methods,
    TableOrigin,
    file_rows,
    listed,
    model_rows,
    package_versions,
    read_origins,
)
from worldprobe.report.page import Material, Notice, Part, render_template, told

#: Rules of reading, and where they differ, in words.
RULES = {"explicit": "what they say", "last_word": "their last word, as in the paper"}
DIFFERENCES = {
    "another_answer": "another answer",
    "only_explicit": "an answer by what they say only",
    "only_last_word": "an answer by the last word only",
}
QUESTION = "Does a language model keep a small world in mind?"
#: The rule that a model must beat.
COUNTING = "rule_counting"
CITE = "The measure: Benchekroun et al. (2023), WorldSense, arXiv 2311.15930."


def compose(material: Material) -> Part:
    """The part, from the summaries, and from trials and answers where the trials are our own."""
    summaries = read_table(material.summary, Summaries)
    roster = material.roster
    overall = of_main(pick(summaries, OVERALL))
    models = roster.in_order(overall["model"])
    asked = language_models(models, roster)
    by_problem = of_main(pick(summaries, "problem", columns=("problem",)))
    own = read_origins([material.summary])
    origins = [*own, *(one for one in material.origins if one.path.resolve() != material.summary.resolve())]
    promptings = main_promptings(summaries)
    examples = read_examples(material.item_text, origins, promptings, roster, asked) if material.item_text else []
    extras = {}
    if examples:
        package = "worldprobe.benchmarks.worldsense.report"
        extras["problems"] = render_template(package, "conversations.html.jinja", problems=examples)
    return Part(
        question=QUESTION,
        lead=_lead(overall, asked, roster),
        more=[
            *_shallow(overall, asked, roster),
            *_hardest(by_problem, asked),
            *_seen(summaries, asked),
            *_bias(summaries, asked, roster),
            *_invalid(summaries, roster),
        ],
        facts=_facts(summaries, models),
        methods=_methods(summaries, origins, roster),
        cite=CITE,
        notices=[*told(own[0].provenance, roster), *_reading(own[0].provenance, asked, roster), *_rules(models, asked, roster)],
        overview=_overview(overall, by_problem, models, roster),
        extras=extras,
        has_item_text=bool(examples),
    )


def _overview(
    overall: pd.DataFrame, by_problem: pd.DataFrame, models: Sequence[str], roster: Roster
) -> dict[str, dict[str, float]]:
    columns = {ALL: overall} | {
        PROBLEM_NAMES[name]: by_problem[by_problem["problem"] == name] for name in problems_of(by_problem)
    }
    return {
        heading: {
            roster[model].name: float(rows.set_index("model")["mean"][model]) for model in models if model in set(rows["model"])
        }
        for heading, rows in columns.items()
    }


def _bounds(rows: pd.DataFrame) -> pd.DataFrame:
    """The ends of intervals that hold for all rows at once, so that the most extreme of them may be named (Bonferroni).

    Args:
        rows: columns mean, ci_low, ci_high (95%, for other skins) and n_clusters.
    """
    from scipy.special import stdtrit  # Student's t, which Snakemake need not load

    degrees = (rows["n_clusters"] - 1).clip(lower=1)
    wider = pd.Series(stdtrit(degrees, 1 - 0.025 / max(1, len(rows))) / stdtrit(degrees, 0.975), rows.index)
    return interval_ends(rows).apply(lambda end: rows["mean"] + (end - rows["mean"]) * wider)


def _lead(overall: pd.DataFrame, asked: Sequence[str], roster: Roster) -> str:
    rows = overall[overall["model"].isin(asked)].sort_values(["mean", "model"], ascending=[False, True])
    best, is_above = rows.iloc[0], _bounds(rows)["ci_low"] > 0.5
    name, how = roster[best["model"]].name, prompting_name(best["eval_type"])
    interval = f"the same in all {best['n_clusters']} skins" if best["n_clusters"] > 1 else "one skin, so no interval"
    if pd.notna(best["ci_low"]):
        interval = f"95% interval over {best['n_clusters']} skins {best['ci_low']:.3f} to {best['ci_high']:.3f}"
    if len(rows) == 1:
        verb = "is above chance" if is_above.all() else "is not shown to be above chance"
        return f"{name} {verb} (0.5): its accuracy is {best['mean']:.3f} ({how}; {interval})."
    above = [roster[model].name for model in rows["model"][is_above]]
    who = f"{listed(above)} {'is' if len(above) == 1 else 'are'}" if above else "No model is shown to be"
    return f"{who} above chance (0.5): the highest accuracy is {best['mean']:.3f} ({name}, {how}; {interval})."


def _shallow(overall: pd.DataFrame, asked: Sequence[str], roster: Roster) -> list[str]:
    """What a rule has that never chains two clauses, and which models are not above it for other skins as well."""
    rows = overall.set_index("model")
    if COUNTING not in rows.index:
        return []
    bar = float(rows["mean"][COUNTING])
    sentence = f"A rule that counts mentions and matches single clauses, and never chains two, has an accuracy of {bar:.3f}"
    low = interval_ends(rows)["ci_low"]
    below = [roster[model].name for model in asked if model != COUNTING and not low[model] > bar]
    if not below:
        return [f"{sentence}."]
    return [f"{sentence}; {listed(below)} {'is' if len(below) == 1 else 'are'} not shown to be above it, and so not to reason."]


def _hardest(by_problem: pd.DataFrame, asked: Sequence[str]) -> list[str]:
    """The problems with the highest and the lowest accuracy, and in how many models the two differ for other skins as well."""
    rows = by_problem[by_problem["model"].isin(asked)]
    means = rows.groupby("problem")["mean"].mean()
    is_trivial = means.index.isin(TRIVIAL)
    normal, trivial = means[~is_trivial], means[is_trivial]
    found = []
    if len(normal) > 1:
        best, worst = (rows[rows["problem"] == name].set_index("model") for name in (normal.idxmax(), normal.idxmin()))
        apart = int(_apart(best, worst).sum())
        names = [PROBLEM_NAMES[str(name)].lower() for name in (normal.idxmax(), normal.idxmin())]
        average = " on average" if len(asked) > 1 else ""
        if apart:
            where = f" in {apart} of {len(best)} models" if len(best) > 1 else ""
            ends = f"in {names[0]} ({normal.max():.3f}) and lowest in {names[1]} ({normal.min():.3f})"
            found.append(f"Accuracy is highest{average} {ends}; the intervals over skins are apart{where}.")
        else:
            span = f"{normal.min():.3f} to {normal.max():.3f}{average}"
            found.append(f"Accuracy is not shown to differ between problems: {span}, and intervals over skins overlap.")
    if len(normal) and len(trivial):
        found.append(f"The trivial controls, which need no world, come to {trivial.mean():.3f}.")
    return found


def _seen(summaries: pd.DataFrame, asked: Sequence[str]) -> list[str]:
    """Accuracy on the test skins whose relation the training sets have, and on the others."""
    rows = of_main(pick(summaries, "intraining", columns=("intraining",)))
    rows = rows[rows["model"].isin(asked)]
    means = rows.groupby("intraining")["mean"].mean()
    if not {IN, OUT} <= set(means.index):
        return []
    shared, other = (rows[rows["intraining"] == name].set_index("model") for name in (IN, OUT))
    apart = _apart(shared, other) | _apart(other, shared)
    where = f" on average; the intervals over skins are apart in {apart.sum()} of {len(apart)} models."
    if len(asked) == 1:
        where = f"; the intervals over skins {'are apart' if apart.all() else 'overlap'}."
    return [f"Skins whose relation is in the training sets come to {means[IN]:.3f}, others to {means[OUT]:.3f}{where}"]


def _apart(higher: pd.DataFrame, lower: pd.DataFrame) -> pd.Series:
    """In which models one mean is above another for other skins as well; both by model."""
    return interval_ends(higher)["ci_low"] > interval_ends(lower)["ci_high"].reindex(higher.index)


def _bias(summaries: pd.DataFrame, asked: Sequence[str], roster: Roster) -> list[str]:
    rows = of_main(pick(summaries, "problem", "bias", columns=("problem",)))
    rows = rows[rows["model"].isin(asked)]
    bounds = _bounds(rows)
    rows = rows[(rows["mean"].abs() >= 0.1) & ((bounds["ci_low"] > 0) | (bounds["ci_high"] < 0))]
    if rows.empty:
        return []
    most = rows.iloc[int(rows["mean"].abs().argmax())]
    side = "positive (TRUE, POSSIBLE, KNOWN)" if most["mean"] > 0 else "negative (FALSE, IMPOSSIBLE, UNKNOWN)"
    shown = f"{most['mean']:+.2f}".replace("-", "−")
    whose, where = roster[most["model"]].name, PROBLEM_NAMES[most["problem"]].lower()
    return [f"The largest mean response bias is that of {whose} in {where}: {shown}, towards {side} answers."]


def _invalid(summaries: pd.DataFrame, roster: Roster) -> list[str]:
    rows = of_main(pick(summaries, OVERALL, "invalid"))
    many = rows[rows["mean"] >= 0.01].sort_values("mean", ascending=False)
    if many.empty:
        return []
    named = [f"{roster[model].name} {share:.1%}" for model, share in zip(many["model"], many["mean"], strict=True)]
    return [f"Answers that could not be read count as wrong: {listed(named)} of the trials."]


def _facts(summaries: pd.DataFrame, models: Sequence[str]) -> list[tuple[str, str]]:
    here = pick(summaries, "problem", columns=("problem",))
    name = main_set(summaries)
    whole = here[here["condition"] == name].groupby(["eval_type", "model"])["n"].sum().max()
    found = [(str(len(models)), "models and rules" if len(models) != 1 else "model")]
    found.append((str(len(problems_of(here))), "problems"))
    found.append((f"{int(whole):,}", f"tuples ({name})"))
    n_promptings = summaries["eval_type"].nunique()
    return [*found, (str(n_promptings), "ways of asking")] if n_promptings > 1 else found


def _methods(summaries: pd.DataFrame, origins: Sequence[TableOrigin], roster: Roster) -> Methods:
    packages = package_versions(origins)
    made = origins[0].provenance
    sets = sorted(summaries["condition"].unique())
    how = [prompting_name(name) for name in sorted(summaries["eval_type"].unique())]
    sentences = [
        f"Models answered the trials of {listed(sets)}, asked by {listed(how)} prompting.",
        "A tuple's accuracy and bias are means over its trials with the paper's weights, after 1 and 2 are folded into one; "
        "tuples that were not answered as a whole are left out.",
        "Sizes weigh equally within a problem, and problems in an average; ± in tables is the paper's 1.96 standard errors over "
        "tuples, which hold for these skins only.",
        "Intervals in figures and sentences and p values are for other skins and abstract problems: Student's t with one degree "
        "of freedom less than skins.",
    ]
    left_out = sum(int(row.get("incomplete_tuples", 0)) for row in made.details.get("answers", []))
    if left_out:
        sentences.append(f"{left_out:,} tuples were left out.")
    if any("calibrated_forms" in one.provenance.details for one in origins):
        sentences.append(
            "Constrained answers are those whose odds a text raises most, relative to the mean log odds over the tuples of its "
            "problem, wording and form of query, which have each answer (batch calibration, Zhou et al. 2024)."
        )
    models = _with_tokens(model_rows(origins, ("worldsense_responses",), roster), origins, roster)
    return Methods(sentences, packages, models, file_rows(origins))


def _reading(made: Provenance, asked: Sequence[str], roster: Roster) -> list[Notice]:
    """How replies were read, and how many the other rule reads otherwise."""
    found = {model: ways for model, ways in made.details.get("reading", {}).items() if model in asked}
    if not found:
        return []
    rules = {one["rule"] for ways in found.values() for one in ways.values()}
    shown = []
    for model, ways in found.items():
        for way, one in ways.items():
            kinds = [f"{one[key]:,} {words}" for key, words in DIFFERENCES.items() if one.get(key)]
            counted = f"{sum(one.get(key, 0) for key in DIFFERENCES):,} of {one['replies']:,}"
            shown.append(f"{roster[model].name}, {way}: {counted}" + (f" ({listed(kinds)})" if kinds else ""))
    text = (
        f"Replies were read by {listed(sorted(RULES[rule] for rule in rules))}. Replies that the two rules, {RULES['explicit']} "
        f"and {RULES['last_word']}, read otherwise: {'; '.join(shown)}."
    )
    return [Notice("How replies were read", text)]


def _with_tokens(models: list[dict[str, str]], origins: Sequence[TableOrigin], roster: Roster) -> list[dict[str, str]]:
    """The rows of models, with the tokens of each answer where answers were compared."""
    found: dict[str, str] = {}
    for one in origins:
        tokens = one.provenance.details.get("answer_tokens")
        if one.provenance.model and tokens:
            found[roster[one.provenance.model].name] = f"tokens per answer: {show_tokens(tokens)}"
    return [row | {"notes": found.get(row["name"], "–")} for row in models] if found else models


def _rules(models: Sequence[str], asked: Sequence[str], roster: Roster) -> list[Notice]:
    rules = [roster[model].name for model in models if model not in asked]
    if not rules:
        return []
    text = (
        f"{listed(rules)}: controls of known behaviour. A solver that reads the text must be right about everything; random and "
        "one-sided answers must be at chance; counting mentions, matching single clauses, and a classifier of word n-grams show "
        "how far one gets without chaining two clauses. They stay out of averages over models."
    )
    return [Notice("What the rules are", text)]
