"""EWoK's part of the report: what came out, and what kind of models it came out of."""

from __future__ import annotations

import math

import pandas as pd
from markupsafe import Markup

from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.eval_types import EVAL_TYPES
from worldprobe.benchmarks.ewok.report.drilldown import find_domains, read_examples
from worldprobe.benchmarks.ewok.report.methods import describe_methods
from worldprobe.benchmarks.ewok.selection import (
    domain_order,
    in_words,
    language_models,
    over_versions,
    pick,
    single_versions,
    trained_models,
)
from worldprobe.contracts import read_table
from worldprobe.errors import UserError
from worldprobe.paths import BUILTIN
from worldprobe.report.model_names import HUMAN, WORD2VEC, Roster
from worldprobe.report.origins import read_origins
from worldprobe.report.page import Material, Notice, Part, notices, render_template
from worldprobe.report.sentences import against_chance, counted, listed, ranging, who_took_part

QUESTION = "Does a language model know how the world works?"
CITE = "The measure: Ivanova et al. (2024), Elements of World Knowledge (EWoK), arXiv 2405.09605."


def compose(material: Material) -> Part:
    """The part, from the summaries and from what the tables say about their own making.

    Raises:
        UserError: the summaries have no rows of the way of asking, or the items may not be quoted.
    """
    summaries, roster = read_table(material.summary, Summaries), material.roster
    eval_type = material.eval_type or _first_eval_type(summaries)
    models, domains = find_domains(summaries, roster, eval_type)
    examples = read_examples(material.item_text) if material.item_text else []
    extras = {}
    if any(domain.concepts for domain in domains):
        extras["concepts"] = _render("concepts.html.jinja", models=models, domains=domains)
    if examples:
        extras["materials"] = _render("examples.html.jinja", examples=examples)
    own = read_origins([material.summary])
    origins = [*own, *(one for one in material.origins if one.path.resolve() != material.summary.resolve())]
    asked = language_models(pick(summaries, "overall", eval_type)).model.unique()
    return Part(
        question=QUESTION,
        lead=lead(summaries, roster, eval_type),
        who=who_took_part(asked, roster),
        more=more(summaries, roster, eval_type),
        facts=_facts(summaries, eval_type),
        methods=describe_methods(summaries, origins, roster),
        cite=CITE,
        notices=[*notices(own[0].provenance, roster), *_control_notice(summaries, roster)],
        overview=_overview(summaries, roster, eval_type),
        extras=extras,
        has_item_text=bool(examples),
    )


def lead(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> str:
    """Means against chance, which models are not among them, and, where present, humans.

    No model is called best: that is for the comparisons, which are corrected for their number.
    """
    means = over_versions(pick(summaries, "overall", eval_type))
    answered = trained_models(means, roster)
    answered = answered[answered["mean"].notna()]
    if answered.empty:
        raise UserError("summaries", "no model has an accuracy.", "Check the judgements: every answer is missing.")
    sentence = against_chance(answered.assign(name=[roster[model].name for model in answered.model]))
    left_out = [roster[model] for model in language_models(means).model.unique() if model not in set(answered.model)]
    for reason, names in (
        ("which learned nothing", [model.name for model in left_out if model.is_untrained]),
        ("without an accuracy", [model.name for model in left_out if not model.is_untrained]),
    ):
        if names:
            sentence += f" Not counted here: {listed(names)}, {reason}."
    human = means[means.model == HUMAN]["mean"]
    return f"{sentence} Humans reach {human.iloc[0]:.3f}." if len(human) else sentence


def more(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> list[str]:
    """The mean over models, means by domain, the untrained control and the word2vec baseline."""
    means = over_versions(pick(summaries, "overall", eval_type)).dropna(subset="mean")
    pool = trained_models(means, roster)
    said = [f"The mean over these {len(pool)} models is {pool['mean'].mean():.3f}."] if len(pool) > 1 else []
    if (summaries.grouping == "domain").any():
        domains = (
            trained_models(over_versions(pick(summaries, "domain", eval_type)), roster).groupby("group")["mean"].mean().dropna()
        )
        if len(domains) > 1:
            found = ranging(domains.rename(index=in_words), "Means by domain")
            is_order = domains.map("{:.3f}".format).nunique() > 1
            said.append(f"{found}{'; whether other items would give this order was not tested' if is_order else ''}.")
    for row in language_models(means).to_dict("records"):
        if roster[row["model"]].is_untrained:
            said.append(_untrained(roster[row["model"]].name, row["mean"], row["ci_low"], row["ci_high"]))
    word2vec = means[means.model == WORD2VEC]["mean"]
    if len(word2vec):
        said.append(f"A bag-of-words baseline (word2vec), which ignores word order, reaches {word2vec.iloc[0]:.3f}.")
    return said


def _untrained(name: str, mean: float, low: float, high: float) -> str:
    """Whether a model that knows nothing is at chance, as it must be if the measure is sound.

    >>> _untrained("Untrained", 0.5, 0.48, 0.52)
    'Untrained, a control that knows nothing, reaches 0.500 (95% interval 0.480 to 0.520); 0.5 is expected.'
    """
    sentence = f"{name}, a control that knows nothing, reaches {mean:.3f}"
    if math.isnan(low):
        return f"{sentence}; 0.5 is expected."
    sentence += f" (95% interval {low:.3f} to {high:.3f})"
    if low <= 0.5 <= high:
        return f"{sentence}; 0.5 is expected."
    return f"{sentence}, where 0.5 is expected: look for a leak, unless this is the one interval in 20 that misses by chance."


def _facts(summaries: pd.DataFrame, eval_type: str) -> list[tuple[str, str]]:
    overall = pick(summaries, "overall", eval_type)
    models = language_models(overall)
    numbers = {
        "language model": models.model.nunique(),
        "domain": summaries[summaries.grouping == "domain"].group.nunique(),
        "concept": summaries[summaries.grouping == "concept"].group.nunique(),
        "item": int(over_versions(models).n.max()),
        "version": single_versions(overall).condition.nunique(),
    }
    pairs = (counted(number, noun).split(" ", 1) for noun, number in numbers.items() if number)
    return [(number, noun) for number, noun in pairs]


def _overview(summaries: pd.DataFrame, roster: Roster, eval_type: str) -> dict[str, dict[str, float]]:
    """Accuracy of every model, in all and by domain, in the order of the domains."""
    found = {}
    wanted = [("overall", ["all"])]
    if (summaries.grouping == "domain").any():
        wanted.append(("domain", domain_order(pick(summaries, "domain", eval_type), roster)))
    for grouping, groups in wanted:
        rows = language_models(over_versions(pick(summaries, grouping, eval_type)))
        for group in groups:
            means = rows[(rows.group == group) & rows["mean"].notna()].set_index("model")["mean"]
            found[in_words(group)] = {roster[model].name: float(means[model]) for model in roster.in_order(means.index)}
    return found


def _render(name: str, **values: object) -> Markup:
    return render_template("worldprobe.benchmarks.ewok.report", name, **values)


def _first_eval_type(summaries: pd.DataFrame) -> str:
    """LogProbs where they were scored, otherwise the first way of asking that was used.

    Raises:
        UserError: there are no rows of a model.
    """
    present = set(summaries.eval_type)
    asked = next((name for name in EVAL_TYPES if name in present), None)
    if asked is None:
        raise UserError("summaries", "contain no rows of a language model.", "Summarize the judgements of at least one model.")
    return asked


def _control_notice(summaries: pd.DataFrame, roster: Roster) -> list[Notice]:
    """What control models are, for readers who might take them for published ones."""
    models = roster.in_order(language_models(summaries).model.unique())
    controls = [roster[model] for model in models if roster[model].is_control]
    if not controls:
        return []
    text = (
        f"{'; '.join(model.name for model in controls)}: small calibration models that this pipeline made from scratch, in "
        f"minutes, of short stories generated from worldprobe's own materials ({BUILTIN}). They know nothing else."
    )
    if any(model.is_untrained for model in controls):
        text += " An untrained one learned nothing at all and must be at chance."
    if any(not model.is_untrained for model in controls):
        text += " Pairings held out of training separate generalisation from memory."
    everything = len(controls) == len(models)
    emphasis = (
        "Nothing here says how well published models know the world."
        if everything
        else "Their numbers say nothing about published language models."
    )
    return [Notice(f"What {'these models' if everything else 'the control models'} are", text, emphasis)]
