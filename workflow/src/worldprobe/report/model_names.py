"""How the models of a study are named, ordered and coloured wherever a reader meets them.

The registry (``config/models.yaml``) says who they are; this module only reads its display fields,
so that a new colour touches figures alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe.errors import UserError
from worldprobe.models.registry import BASELINES, CAUSAL
from worldprobe.settings import read_registry

if TYPE_CHECKING:
    import pandas as pd

HUMAN = "human"
#: Baselines are listed with the models in every table; they have no entry in the registry.
BASELINES_AND_PEOPLE = {
    HUMAN: "Humans",
    "relatedness": "Sentence vectors + WordNet",
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
class ShownModel:
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

    models: Mapping[str, ShownModel] = field(default_factory=dict)

    def __getitem__(self, model: str) -> ShownModel:
        if model in BASELINES_AND_PEOPLE:
            return ShownModel(model, BASELINES_AND_PEOPLE[model], family=model)
        return self.models.get(model) or ShownModel(model, model)

    def names(self, models: Iterable[str]) -> list[str]:
        """Their names, one by one."""
        return [self[model].name for model in models]

    def in_order(self, models: Iterable[str]) -> list[str]:
        """Unique ids in the registry's order: humans first, then models, then baselines."""
        among = set(models)
        listed = sorted(
            among - set(BASELINES_AND_PEOPLE), key=lambda model: (self[model].position, model)
        )
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

    def digest(self, colours: bool) -> str:
        """A digest of all that a reader sees of the models, with their colours or without."""
        shown = [
            model if colours else replace(model, colour=None) for model in self.models.values()
        ]
        return hashlib.sha256(repr(shown).encode()).hexdigest()[:16]


def sort_by(rows: pd.DataFrame, column: str, order: Iterable[str]) -> pd.DataFrame:
    """The rows in the order of a column's values, rows with one value as they are."""
    ranks = {value: rank for rank, value in enumerate(order)}
    return rows.sort_values(column, key=lambda values: values.map(ranks), kind="stable")


def is_baseline(model: str) -> bool:
    """Whether the rows belong to humans or a baseline rather than to a language model.

    >>> is_baseline("human"), is_baseline("gpt2_xl")
    (True, False)
    """
    return model in BASELINES_AND_PEOPLE


def read_roster(path: Path | str | None) -> Roster:
    """The display side of a model registry.

    Args:
        path: the registry, or None for no registry.

    Raises:
        UserError: the registry cannot be read, or breaks its schema.
    """
    return Roster() if path is None else roster_of(read_registry(path))


def roster_of(registry: Mapping[str, Mapping[str, Any]]) -> Roster:
    """The display side of the cards of a registry."""
    return Roster(
        {
            name: _model(name, entry, position)
            for position, (name, entry) in enumerate(registry.items())
        }
    )


def _model(name: str, entry: Mapping[str, Any], position: int) -> ShownModel:
    control, prices, kind = entry.get("control"), entry.get("prices"), entry.get("kind") or CAUSAL
    return ShownModel(
        id=name,
        name=str(entry.get("display_name", name)) + (f" ({kind})" if kind != CAUSAL else ""),
        family=str(entry.get("family", "other")),
        parameters=entry.get("parameters"),
        colour=entry.get("colour"),
        is_control=control is not None,
        is_untrained=control is not None and control.get("steps") == 0,
        position=position,
        prices=(float(prices["prompt"]), float(prices["completion"])) if prices else None,
    )


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and what it counts.

    >>> counted(1, "model"), counted(2580, "item"), counted(2, "match", "matches")
    ('1 model', '2,580 items', '2 matches')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
