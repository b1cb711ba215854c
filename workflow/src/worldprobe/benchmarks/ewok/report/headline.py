"""The report's first sentences: what came out, and what kind of models it came out of."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from worldprobe.present.roster import HUMAN, WORD2VEC, Roster
from worldprobe.present.selection import domain_order, in_words, language_models, over_versions, pick, single_versions


@dataclass(frozen=True)
class Fact:
    """A number and what it counts."""

    number: str
    label: str


@dataclass(frozen=True)
class Headline:
    """Sentences and facts for the head of the page."""

    sentence: str
    more: list[str]
    facts: list[Fact]
    controls: list[str]
    all_controls: bool


def headline(summaries: pd.DataFrame, roster: Roster, eval_type: str = "logprobs") -> Headline:
    """The best model against chance and, where present, humans; the easiest and the hardest domain; the untrained control."""
    overall = pick(summaries, "overall", eval_type)
    means = over_versions(overall)
    models = language_models(means)
    trained = models[~models.model.map(lambda m: roster[m].is_untrained)]
    pool = trained if len(trained) else models
    best = pool.iloc[int(pool["mean"].argmax())]
    sentence = f"{roster[best.model].name} does best: {best['mean']:.3f} of 1, where chance is 0.5"
    if not math.isnan(best.ci_low):
        sentence += f" (95% interval {best.ci_low:.3f} to {best.ci_high:.3f})"
        if best.ci_low <= 0.5:
            sentence += ", so not even it can be told from guessing"
    human = means[means.model == HUMAN]
    sentence += f"; humans reach {human['mean'].iloc[0]:.3f}." if len(human) else "."
    more = [f"The {len(pool)} trained models together average {pool['mean'].mean():.3f}."] if len(pool) > 1 else []
    more += _domains(summaries, roster, eval_type)
    more += _untrained(models, roster)
    word2vec = means[means.model == WORD2VEC]
    if len(word2vec):
        more.append(f"A bag of word vectors, which knows no word order, reaches {word2vec['mean'].iloc[0]:.3f}.")
    controls = [roster[m].name for m in roster.in_order(models.model) if roster[m].is_control]
    facts = [
        Fact(str(len(models)), "language models"),
        Fact(str(summaries[summaries.grouping == "domain"].group.nunique()), "domains"),
        Fact(str(summaries[summaries.grouping == "concept"].group.nunique()), "concepts"),
        Fact(f"{int(models.n_items.max()):,}", "items"),
        Fact(str(single_versions(overall).version.nunique()), "versions"),
    ]
    return Headline(sentence, more, [f for f in facts if f.number != "0"], controls, len(controls) == len(models))


def _domains(summaries: pd.DataFrame, roster: Roster, eval_type: str) -> list[str]:
    rows = over_versions(pick(summaries, "domain", eval_type))
    order = domain_order(rows, roster)
    if len(order) < 2:
        return []
    trained = language_models(rows)
    trained = trained[~trained.model.map(lambda m: roster[m].is_untrained)]
    means = (trained if len(trained) else language_models(rows)).groupby("group")["mean"].mean()
    first, last = order[0], order[-1]
    return [f"On average, {in_words(first)} are easiest ({means[first]:.3f}) and {in_words(last)} hardest ({means[last]:.3f})."]


def _untrained(models: pd.DataFrame, roster: Roster) -> list[str]:
    """Whether models that know nothing sit at chance, as they must if the measure is sound."""
    rows = models[models.model.map(lambda m: roster[m].is_untrained)]
    if rows.empty:
        return []
    row = rows.iloc[0]
    if math.isnan(row.ci_low):
        return [f"The untrained control reaches {row['mean']:.3f}; it should sit at 0.5."]
    inside = row.ci_low <= 0.5 <= row.ci_high
    verdict = (
        "as it should: it sits at chance" if inside else "so it does not sit at chance: look for a leak before you trust the rest"
    )
    interval = f"95% interval {row.ci_low:.3f} to {row.ci_high:.3f}"
    return [f"The control that was never trained reaches {row['mean']:.3f} ({interval}), {verdict}."]
