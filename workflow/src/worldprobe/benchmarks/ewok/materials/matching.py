"""Which targets serve a concept pair, and which contexts fit a target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from worldprobe.benchmarks.ewok.materials.concepts import Concept, attributes_of
from worldprobe.benchmarks.ewok.materials.entries import Target
from worldprobe.benchmarks.ewok.materials.placeholders import variable_type, variables
from worldprobe.benchmarks.ewok.materials.rules import Rules
from worldprobe.errors import UserError, did_you_mean

_QUANTITIES = ("quantObject", "quantSubstance")


def targets_for(targets: Sequence[Target], concept_a: Concept, concept_b: Concept | None, rules: Rules) -> Iterator[Target]:
    """The targets whose criteria both concepts meet, in file order.

    Raises:
        UserError: a criterion asks for what concepts of this kind do not have.
    """
    concepts = [c for c in (concept_a, concept_b) if c is not None]
    for target in targets:
        for criterion in target.criteria:
            try:
                serves = not criterion or all(concept.has(criterion, rules) for concept in concepts)
            except KeyError as error:
                known = attributes_of(
                    kind := next(c.kind for c in concepts if criterion not in (*attributes_of(c.kind), *c.attributes))
                )
                raise UserError(
                    target.place,
                    f'the criterion "{criterion}" is nothing that a {kind} concept has{did_you_mean(criterion, known)}',
                    "Use an attribute of this domain's concepts.",
                ) from error
            if serves:
                yield target
                if not rules.target_per_criterion:
                    break


def variable_counts(sentence: str, rules: Rules) -> Counter[str]:
    """Distinct variables by type; where there are quantities, they also count as the objects, in place of real ones."""
    counts = Counter(variable_type(name, rules) for name in variables(sentence, rules))
    if any(counts[quantity] for quantity in _QUANTITIES):
        counts["object"] = sum(counts[quantity] for quantity in _QUANTITIES)
    return +counts


def is_compatible(target: Counter[str], context: Counter[str]) -> bool:
    """Whether a context names about the same participants as a target does.

    No agent may be missing from the context (unless both speak of one object), no type of the target may differ by two, and no
    two types may differ at all.

    Args:
        target: the target sentence's variables by type.
        context: the context sentence's.
    """
    if target["agent"] > context["agent"] and not context["object"] == 1 == target["object"]:
        return False
    if any(abs(count - context[kind]) >= 2 for kind, count in target.items()):
        return False
    return sum(target[kind] != context[kind] for kind in target.keys() | context.keys()) < 2
