"""How the models of a study are named, ordered and coloured wherever a reader meets them.

The registry (``config/models.yaml``) says who they are; this module only reads its display fields,
so that a new colour touches figures and never scores.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from worldprobe.errors import UserError
from worldprobe.models.registry import BASELINES, CAUSAL
from worldprobe.settings import read_registry

HUMAN = "human"
#: Yardsticks are listed with the models in every table; they have no entry in the registry.
YARDSTICKS = {
    HUMAN: "Humans",
    "sentence_vectors": "Sentence vectors",
    "wordnet": "WordNet (bag of words)",
    "word2vec": "word2vec (bag of words)",
}
CONTROL_FAMILY = "control"
#: Family of what answers by a rule, without weights.
RULE_FAMILY = "rule"


#: Families whose printed name is not just their id with a capital letter.
FAMILY_NAMES = {"gpt2": "GPT-2", "mpt": "MPT", "control": "controls"}


def family_name(family: str) -> str:
    """A family as a legend prints it.

    >>> family_name("gpt2"), family_name("falcon"), family_name("Llama")
    ('GPT-2', 'Falcon', 'Llama')
    """
    return FAMILY_NAMES.get(family, family[:1].upper() + family[1:])


@dataclass(frozen=True)
class Model:
    """One line of the registry as a reader sees it.

    Attributes:
        id: snake_case id, the key everywhere in the tables.
        name: display name; of a model that is not causal it says the kind.
        family: models that share a hue.
        parameters: number of parameters, or None where unknown.
        colour: "#rrggbb" if the registry sets one.
        is_control: trained by this pipeline as a calibration control.
        is_untrained: a control that never saw a training step.
        position: place in the registry, the paper's order there.
        prices: US dollars per million tokens read and written, where the registry states them.
    """

    id: str
    name: str
    family: str = "other"
    parameters: int | None = None
    colour: str | None = None
    is_control: bool = False
    is_untrained: bool = False
    position: int = 10**6
    prices: tuple[float, float] | None = None

    @property
    def is_rule(self) -> bool:
        """Whether it answers by a rule instead of being a language model."""
        return self.family == RULE_FAMILY


@dataclass(frozen=True)
class Roster:
    """The registry's display side; ids that it does not know keep their id as their name."""

    models: Mapping[str, Model] = field(default_factory=dict)

    def __getitem__(self, model: str) -> Model:
        if model in YARDSTICKS:
            return Model(model, YARDSTICKS[model], family=model)
        return self.models.get(model) or Model(model, model)

    def in_order(self, models: Iterable[str]) -> list[str]:
        """Unique ids in the registry's order: humans first, then models, then baselines."""
        among = set(models)
        listed = sorted(among - set(YARDSTICKS), key=lambda model: (self[model].position, model))
        return (
            [HUMAN] * (HUMAN in among) + listed + [model for model in BASELINES if model in among]
        )

    def with_trained(self, folders: Iterable[Path | str]) -> Roster:
        """The roster with the number of parameters that each control model's folder states.

        Args:
            folders: as ``worldprobe controls train`` writes them, named by their model.

        Raises:
            UserError: a folder does not say how many parameters its model has.
        """
        models = dict(self.models)
        for folder in map(Path, folders):
            try:
                made = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
                count = int(made["details"]["n_parameters"])
            except (OSError, ValueError, KeyError) as error:
                problem = "does not say how many parameters its model has."
                raise UserError(
                    folder / "provenance.json", problem, "Train the control model again."
                ) from error
            models[folder.name] = replace(self[folder.name], parameters=count)
        return Roster(models)


def is_yardstick(model: str) -> bool:
    """Whether the rows belong to humans or a baseline rather than to a language model.

    >>> is_yardstick("human"), is_yardstick("gpt2_xl")
    (True, False)
    """
    return model in YARDSTICKS


def read_roster(path: Path | str | None) -> Roster:
    """The display side of a model registry.

    Args:
        path: the registry, or None for no registry.

    Raises:
        UserError: the registry cannot be read, or breaks its schema.
    """
    if path is None:
        return Roster()
    return Roster(
        {
            name: _model(name, entry, place)
            for place, (name, entry) in enumerate(read_registry(path).items())
        }
    )


def _model(name: str, entry: Mapping[str, Any], place: int) -> Model:
    control, prices, kind = entry.get("control"), entry.get("prices"), entry.get("kind") or CAUSAL
    return Model(
        id=name,
        name=str(entry.get("display_name", name)) + (f" ({kind})" if kind != CAUSAL else ""),
        family=str(entry.get("family", "other")),
        parameters=entry.get("parameters"),
        colour=entry.get("colour"),
        is_control=control is not None,
        is_untrained=control is not None and control.get("steps") == 0,
        position=place,
        prices=(float(prices["prompt"]), float(prices["completion"])) if prices else None,
    )


def listed(words: Iterable[str]) -> str:
    """Words as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    found = list(words)
    return ", ".join(found[:-1]) + " and " + found[-1] if len(found) > 1 else "".join(found)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and what it counts.

    >>> counted(1, "model"), counted(2580, "item"), counted(2, "match", "matches")
    ('1 model', '2,580 items', '2 matches')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def ranging(means: pd.Series, what: str) -> str:
    """From the lowest to the highest of some means, each with the name that is its index; equal
    ones as one number.

    Args:
        means: at least one, none missing.
        what: what they are, as the plural that begins the sentence.

    >>> ranging(pd.Series({"A": 0.7, "B": 0.5}), "Mean accuracies")
    'Mean accuracies run from 0.500 (B) to 0.700 (A)'
    >>> ranging(pd.Series({"A": 0.5, "B": 0.5}), "Mean accuracies")
    'Mean accuracies are all 0.500'
    """
    texts = means.sort_values(kind="stable").map("{:.3f}".format)
    if len(texts) == 1:
        return f"{what} are {texts.iloc[0]} ({texts.index[0]})"
    if texts.nunique() == 1:
        return f"{what} are all {texts.iloc[0]}"
    first, last = (
        f"{text} ({listed(texts.index[texts == text].map(str))})" for text in texts.iloc[[0, -1]]
    )
    return f"{what} run from {first} to {last}"


#: Said of intervals that hold for everything that they are said of, see
#: ``analysis.comparisons.at_once``.
AT_ONCE = " (for all at once)"


def against_chance(rows: pd.DataFrame, chance: float | None = 0.5, over: str = "") -> str:
    """The mean accuracy of one model, or the range of several, and whose intervals lie above
    chance, or below.

    Args:
        rows: of each model name, and what ``analysis.comparisons.place`` takes.
        chance: what guessing reaches; None where it differs from item to item.
        over: what the intervals are over, such as " over skins".
    """
    from worldprobe.analysis.comparisons import (
        ABOVE,
        BELOW,
        NEAR_TIES,
        place,
    )  # SciPy, which Snakemake need not load

    rows = rows[rows["mean"].notna()]
    if rows.empty:
        return "No model has a mean accuracy."
    where = place(rows, 0.5 if chance is None else chance)
    tied = rows["name"][where == NEAR_TIES]
    note = (
        f" Most targets of {listed(tied)} are near ties, where rounding decides."
        if len(tied)
        else ""
    )
    has_interval = rows["ci_low"].notna() & (where != NEAR_TIES)
    known, where = rows[has_interval], where[has_interval]
    guess = "" if chance is None else f"; chance is {chance:g}"
    if len(rows) == 1:
        row = rows.iloc[0]
        ends = (
            f" (95% interval{over} {row['ci_low']:.3f} to {row['ci_high']:.3f})"
            if len(known)
            else ""
        )
        sentence = f"{row['name']} has a mean accuracy of {row['mean']:.3f}{ends}{guess}"
        if chance is None or known.empty:
            return f"{sentence}.{note}"
        if where.iloc[0] in (ABOVE, BELOW):
            return f"{sentence}, and the interval lies {where.iloc[0]} it."
        return f"{sentence}, which the interval contains."
    sentence = ranging(rows.set_index("name")["mean"], "Mean accuracies") + guess
    if chance is None:
        return f"{sentence}."
    if known.empty:
        return (
            f"{sentence}; no model has an interval.{note}" if tied.empty else f"{sentence}.{note}"
        )
    n_above, below = int((where == ABOVE).sum()), known["name"][where == BELOW]
    note = (f"; that of {listed(below)} lies below" if len(below) else "") + "." + note
    interval, intervals = (
        f"95% {noun}{over}{AT_ONCE * (len(known) > 1)}" for noun in ("interval", "intervals")
    )
    models = f"{len(known)} models" + (" that have one" if len(known) < len(rows) else "")
    if len(known) == 1:
        whose = (
            f"the one {interval}, that of {known['name'].iloc[0]},"
            f" {'lies' if n_above else 'does not lie'}"
        )
    elif n_above == 0:
        whose = f"no model's {interval} lies"
    elif n_above == len(known):
        whose = (
            f"the {intervals} of"
            f" {models.replace('2', 'both', 1) if len(known) == 2 else f'all {models}'} lie"
        )
    else:
        whose = f"the {interval if n_above == 1 else intervals} of {n_above} of {models} lie"
        whose += "s" if n_above == 1 else ""
    return f"{sentence}, and {whose} above it{note}"


def who_took_part(models: Iterable[str], roster: Roster) -> str:
    """How many models were asked, which of them this pipeline made, and whether published ones are
    among them.
    """
    asked = list(dict.fromkeys(models))
    rules = [model for model in asked if roster[model].is_rule]
    controls = [model for model in asked if roster[model].is_control]
    others = len(asked) - len(rules) - len(controls)
    found = [counted(others, "language model")] if others else []
    found += (
        [counted(len(controls), "small control model") + " that this pipeline made"]
        if controls
        else []
    )
    found += [counted(len(rules), "rule") + " of known behaviour"] if rules else []
    said = f"Asked: {listed(found)}."
    return said if others else f"No published language model took part. {said}"
