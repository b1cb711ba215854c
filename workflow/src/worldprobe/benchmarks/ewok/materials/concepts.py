"""Concepts: what each kind may say about itself, opposites, and the form a concept takes in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from worldprobe.benchmarks.ewok.materials.problems import Place
from worldprobe.benchmarks.ewok.materials.rules import Rules

ALWAYS = ("concept", "domain", "concept_type", "opposite_concepts", "similar_concepts")
CONCEPT_TYPES = ("action", "interaction", "property", "relation")
_FORMS = ("ing_form", "present_3sg_form", "present_modal_form", "plural_form", "prepositional_form")
_FLAGS = (
    "symmetric",
    "directional",
    "agentive",
    "non_agentive",
    "comparative",
    "intent_based",
    "object_level",
    "surface_level",
    "checks_equality",
    "absolute_quantity_obj",
    "absolute_quantity_sub",
    "descriptive_obj",
    "descriptive_sub",
    "comparative_sub",
    "comparative_obj",
    "absolute_count_quantity_obj",
    "absolute_count_quantity_sub",
    "swappable_variables",
)
_AGENT_FLAGS = ("perception_based", "belief_based", "intent_based_comparative", "agent_as_object")
#: Kind of concept -> the further keys its entries may have.
KEYS: dict[str, tuple[str, ...]] = {
    "relation": ("directional", "plural_form", "prepositional_form", "symmetric"),
    "action": ("agentive", "non_agentive", "swappable_variables", "ing_form", "present_3sg_form", "symmetric"),
    "material property": ("object_level", "surface_level"),
    "agent property": (
        *("comparative", "intent_based", "symmetric"),
        *_AGENT_FLAGS,
        *("ing_form", "present_3sg_form", "present_modal_form"),
    ),
    "general": (*_FLAGS, *_FORMS),
}
#: Keys that contain text; all others are flags.
TEXT_KEYS = (*ALWAYS, *_FORMS)


@dataclass(frozen=True)
class Concept:
    """One entry of a concept file.

    Attributes:
        name: the concept, as sentences name it.
        kind: one of ``KEYS``; it follows from the entry's type and its own domain label.
        opposites: names of opposite concepts.
        attributes: flags and word forms that the entry states.
    """

    name: str
    kind: str
    opposites: tuple[str, ...] = ()
    attributes: dict[str, str | bool] = field(default_factory=dict)
    place: Place = field(default=Place(""), compare=False)

    def has(self, attribute: str, rules: Rules) -> bool:
        """Whether the concept meets a criterion of a target.

        Raises:
            KeyError: concepts of this kind have no such attribute.
        """
        if attribute in self.attributes:
            return bool(self.attributes[attribute])
        if attribute not in attributes_of(self.kind):
            raise KeyError(attribute)
        return attribute in ("concept", "domain", "concept_type") or (rules.forms_always_true and attribute in _FORMS)

    def is_symmetric(self) -> bool:
        """Whether exchanging the two variables changes nothing."""
        return bool(self.attributes.get("symmetric", False))

    def is_opposite_of(self, other: Concept) -> bool:
        """Whether each concept names the other as its opposite."""
        return other.name in self.opposites and self.name in other.opposites


def kind_of(concept_type: str, domain: str) -> str:
    """The kind of a concept; it fixes the keys its entry may have."""
    if concept_type == "relation":
        return "relation"
    if concept_type in ("action", "interaction"):
        return "action"
    if concept_type == "property" and domain == "material-properties":
        return "material property"
    if concept_type == "property" and domain == "agent":
        return "agent property"
    return "general"


def attributes_of(kind: str) -> tuple[str, ...]:
    """What targets may ask of concepts of a kind."""
    return (*ALWAYS, *_FLAGS, *_FORMS, *(_AGENT_FLAGS if kind == "agent property" else ()))


def surface_form(concept: Concept, tags: Sequence[str], rules: Rules) -> str:
    """The concept as a target's sentence needs it: the first tag that names a form decides.

    >>> eat = Concept("carry", "action")
    >>> surface_form(eat, ["present_3sg_form"], Rules()), surface_form(eat, ["ing_form"], Rules()), surface_form(eat, [], Rules())
    ('carries', 'carrying', 'carry')
    """
    tag = next((tag for tag in tags if "form" in tag), None)
    if tag is None:
        return concept.name
    stated = concept.attributes.get(tag)
    if stated and stated != "none":
        return str(stated)
    if tag == "plural_form":
        import inflection  # Rarely needed.

        return inflection.pluralize(concept.name)
    if tag == "ing_form":
        return concept.name + "ing"
    if tag == "present_3sg_form":
        return third_person(concept.name, rules)
    if tag == "present_modal_form":
        return f"can {concept.name}"
    return concept.name


def third_person(verb: str, rules: Rules) -> str:
    """The regular third person singular.

    >>> [third_person(verb, Rules()) for verb in ("push", "hurry", "enjoy", "see")]
    ['pushes', 'hurries', 'enjoys', 'sees']
    """
    if verb.endswith("y") and (rules.careless_plural_y or verb[-2:-1] not in tuple("aeiou")):
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("o", "ch", "s", "sh", "x", "z")) else "s")
