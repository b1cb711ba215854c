"""The report's first sentences: what came out, and what kind of models it came out of."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.exports.canaries import is_own
from worldprobe.benchmarks.ewok.selection import domain_order, in_words, language_models, over_versions, pick, single_versions
from worldprobe.contracts import read_provenance, read_table
from worldprobe.errors import UserError
from worldprobe.report.model_names import HUMAN, WORD2VEC, Roster


@dataclass(frozen=True)
class Headline:
    """Sentences for the head of the page.

    Attributes:
        sentence: the finding.
        more: further sentences.
        facts: number and what it counts.
        controls: names of the control models among the models.
        all_controls: whether there are no other models.
    """

    sentence: str
    more: list[str]
    facts: list[tuple[str, str]]
    controls: list[str]
    all_controls: bool


def find_headline(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> Headline:
    """Means against chance and, where present, humans; means by domain; the untrained control.

    No model or domain is called best or hardest: that is for the comparisons, which are corrected for their number.
    """
    overall = pick(summaries, "overall", eval_type)
    means = over_versions(overall)
    models = language_models(means)
    trained = models[~models.model.map(lambda m: roster[m].is_untrained)]
    pool = trained if len(trained) else models
    answered = pool[pool["mean"].notna()].sort_values("mean")
    if answered.empty:
        raise UserError("summaries", "no model has an accuracy.", "Check the judgements: every answer is missing.")
    sentence = _against_chance(answered, roster)
    human = means[means.model == HUMAN]
    sentence += f"; humans reach {human['mean'].iloc[0]:.3f}." if len(human) else "."
    more = [f"The mean over the {len(pool)} trained models is {pool['mean'].mean():.3f}."] if len(pool) > 1 else []
    more += _domains(summaries, roster, eval_type)
    more += _untrained(models, roster)
    word2vec = means[means.model == WORD2VEC]
    if len(word2vec):
        more.append(f"A bag-of-words baseline (word2vec), which ignores word order, reaches {word2vec['mean'].iloc[0]:.3f}.")
    controls = [roster[m].name for m in roster.in_order(models.model) if roster[m].is_control]
    facts = [
        (str(len(models)), "language models"),
        (str(summaries[summaries.grouping == "domain"].group.nunique()), "domains"),
        (str(summaries[summaries.grouping == "concept"].group.nunique()), "concepts"),
        (f"{int(models.n.max()):,}", "items"),
        (str(single_versions(overall).condition.nunique()), "versions"),
    ]
    return Headline(sentence, more, [f for f in facts if f[0] != "0"], controls, len(controls) == len(models))


def _against_chance(answered: pd.DataFrame, roster: Roster) -> str:
    """One model's mean, or the range of several, and how many intervals lie above chance; without the full stop."""
    first, last = (f"{row['mean']:.3f} ({roster[row.model].name})" for _, row in answered.iloc[[0, -1]].iterrows())
    with_interval = answered[answered.ci_low.notna()]
    n_above = int((with_interval.ci_low > 0.5).sum())
    if len(answered) > 1:
        sentence = f"Mean accuracies run from {first} to {last}; chance is 0.5"
        if len(with_interval):
            sentence += f", and {n_above} of {len(with_interval)} 95% intervals lie above it"
        return sentence
    row = answered.iloc[0]
    sentence = f"{roster[row.model].name} has a mean accuracy of {row['mean']:.3f}, where chance is 0.5"
    if len(with_interval):
        sentence += f" (95% interval {row.ci_low:.3f} to {row.ci_high:.3f})"
        sentence += "" if n_above else ", which is not distinguishable from chance"
    return sentence


def _domains(summaries: pd.DataFrame, roster: Roster, eval_type: str) -> list[str]:
    rows = over_versions(pick(summaries, "domain", eval_type))
    order = domain_order(rows, roster)
    if len(order) < 2:
        return []
    trained = language_models(rows)
    trained = trained[~trained.model.map(lambda m: roster[m].is_untrained)]
    means = (trained if len(trained) else language_models(rows)).groupby("group")["mean"].mean()
    first, last = (f"{means[domain]:.3f} ({in_words(domain)})" for domain in (order[-1], order[0]))
    return [f"Means by domain run from {first} to {last}; whether other items would give this order was not tested."]


def _untrained(models: pd.DataFrame, roster: Roster) -> list[str]:
    """Whether a model that knows nothing is at chance, as it must be if the measure is sound."""
    rows = models[models.model.map(lambda m: roster[m].is_untrained)]
    if rows.empty:
        return []
    row = rows.iloc[0]
    if math.isnan(row.ci_low):
        return [f"The untrained control reaches {row['mean']:.3f}; it should be at 0.5."]
    inside = row.ci_low <= 0.5 <= row.ci_high
    verdict = "at chance, as it should be" if inside else "not at chance: look for a leak before trusting the other numbers"
    interval = f"95% interval {row.ci_low:.3f} to {row.ci_high:.3f}"
    return [f"The untrained control reaches {row['mean']:.3f} ({interval}), {verdict}."]


@dataclass(frozen=True)
class Example:
    """One item per domain."""

    domain: str
    item_id: str
    concepts: str
    context1: str
    context2: str
    target1: str
    target2: str


def read_examples(path: Path | str) -> list[Example]:
    """The first direct item of each domain, from an items table of our own materials.

    Raises:
        UserError: the materials do not say that they are ours: their text must not appear in a report.
    """
    if not is_own(read_provenance(path).canary):
        raise UserError(
            "--item-text",
            "these items were not built from worldprobe's own materials, so their text must not be shown.",
            "Leave the option out: EWoK's terms allow its text only inside password-protected archives.",
        )
    items = read_table(path, Items)
    direct = items[items.context_type == "direct"] if (items.context_type == "direct").any() else items
    chosen = direct.sort_values(["domain", "version", "meta_template", "template"]).groupby("domain", sort=True).head(1)
    return [_example(row) for row in chosen.to_dict("records")]


def _example(row: dict[Hashable, Any]) -> Example:
    concepts = " / ".join(concept for concept in (row["concept_a"], row["concept_b"]) if isinstance(concept, str))
    texts = (row["context1"], row["context2"], row["target1"], row["target2"])
    return Example(in_words(row["domain"]), row["item_id"], concepts, *texts)
