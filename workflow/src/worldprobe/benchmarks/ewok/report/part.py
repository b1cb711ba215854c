"""EWoK's part of the report."""

from __future__ import annotations

import pandas as pd
from markupsafe import Markup

from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.eval_types import EVAL_TYPES
from worldprobe.benchmarks.ewok.report.drilldown import colour_rules, find_domains
from worldprobe.benchmarks.ewok.report.headline import Headline, find_headline, read_examples
from worldprobe.benchmarks.ewok.report.methods import describe_methods
from worldprobe.benchmarks.ewok.selection import domain_order, in_words, language_models, over_versions, pick
from worldprobe.contracts import read_table
from worldprobe.errors import UserError
from worldprobe.report.model_names import Roster
from worldprobe.report.origins import read_origins
from worldprobe.report.page import Material, Notice, Part, render_template, told

QUESTION = "Does a language model know how the world works?"
CITE = "The measure: Ivanova et al. (2024), Elements of World Knowledge (EWoK), arXiv 2405.09605."


def compose(material: Material) -> Part:
    """The part, from the summaries and from what the tables say about their own making.

    Raises:
        UserError: the summaries have no rows of the way of asking, or the items may not be quoted.
    """
    summaries = read_table(material.summary, Summaries)
    eval_type = material.eval_type or _first_eval_type(summaries)
    headline = find_headline(summaries, material.roster, eval_type)
    models, domains = find_domains(summaries, material.roster, eval_type)
    examples = read_examples(material.item_text) if material.item_text else []
    extras = {}
    if any(domain.concepts for domain in domains):
        rules = Markup(colour_rules())
        extras["concepts"] = _render("concepts.html.jinja", models=models, domains=domains, colour_rules=rules)
    if examples:
        extras["materials"] = _render("examples.html.jinja", examples=examples)
    own = read_origins([material.summary])
    origins = [*own, *(one for one in material.origins if one.path.resolve() != material.summary.resolve())]
    return Part(
        question=QUESTION,
        lead=headline.sentence,
        more=headline.more,
        facts=headline.facts,
        methods=describe_methods(summaries, origins, material.roster),
        cite=CITE,
        notices=[*told(own[0].provenance, material.roster), *_control_notice(headline)],
        overview=_overview(summaries, material.roster, eval_type),
        extras=extras,
        has_item_text=bool(examples),
    )


def _overview(summaries: pd.DataFrame, roster: Roster, eval_type: str) -> dict[str, dict[str, float]]:
    """Accuracy of every model, in all and by domain, in the order of the domains."""
    found = {}
    wanted = [("overall", ["all"])]
    if (summaries.grouping == "domain").any():
        wanted.append(("domain", domain_order(over_versions(pick(summaries, "domain", eval_type)), roster)))
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


def _control_notice(headline: Headline) -> list[Notice]:
    """What control models are, for readers who might take them for published ones."""
    if not headline.controls:
        return []
    all_controls = headline.all_controls
    text = (
        f"{'; '.join(headline.controls)}: small calibration models that this pipeline trained itself, from scratch, in minutes, "
        "on short stories generated from the same materials. They know nothing else; the untrained one learned nothing at all. "
        "They show what the measure reports for models whose knowledge is known: the untrained one must be at chance, the others "
        "must be better on what they were trained on, and pairings held out of training separate generalisation from memory."
    )
    emphasis = (
        "No published language model took part in this run: nothing here says how well such models know the world."
        if all_controls
        else "Their numbers say nothing about published language models: compare those with each other and with the human line."
    )
    return [Notice(f"What {'these models' if all_controls else 'the control models'} are", text, emphasis)]
