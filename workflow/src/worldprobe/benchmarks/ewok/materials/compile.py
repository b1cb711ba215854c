"""From materials to templates: every concept pair's targets with every fitting context, and their
swaps (EWoK, Section 3).

Each has a situation (``situations``) and marks (``marks``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import pandas as pd

from worldprobe.benchmarks.ewok.materials.documents import MaterialsLine
from worldprobe.benchmarks.ewok.materials.language import ENGLISH, Language
from worldprobe.benchmarks.ewok.materials.marks import add_marks
from worldprobe.benchmarks.ewok.materials.materials import (
    Concept,
    Domain,
    Materials,
    MetaTemplate,
    Probe,
    Segment,
    Target,
    attributes_of,
    surface_form,
)
from worldprobe.benchmarks.ewok.materials.negations import negating, words_and_slots
from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.benchmarks.ewok.materials.situations import name_situations
from worldprobe.benchmarks.ewok.materials.slots import KEY, braces, parse_sentence, propagate
from worldprobe.benchmarks.ewok.vocabulary import FAMILY, slot_class
from worldprobe.errors import UserError, did_you_mean
from worldprobe.log import LOGGER

_QUANTITIES = ("quantObject", "quantSubstance")


def compile_all(materials: Materials, families: bool = False) -> pd.DataFrame:
    """All templates of materials that are free of errors: the domains', or the families'.

    Raises:
        UserError: there is none; or as ``compile_templates``.
    """
    if families:
        if not materials.families:
            problem = "these materials have no families."
            raise UserError(
                materials.source.path,
                problem,
                "Leave out --families, or add families/family-<name>.yml.",
            )
        return compile_families(materials)
    templates = compile_templates(materials)
    if templates.empty:
        fix = (
            "`worldprobe materials check` lists what is wrong; contexts need entries, and targets"
            " that fit them."
        )
        raise UserError(materials.source.path, "these materials yield no template.", fix)
    if unused := without_template(materials):
        message = (
            "%d concepts, pairs of concepts or contexts make no template, the first at %s;"
            " `worldprobe materials check` lists them"
        )
        LOGGER.warning(message, len(unused), unused[0])
    return templates


def of_families(templates: pd.DataFrame) -> bool:
    """Whether the templates are those of families."""
    return "family" in templates and bool(templates["family"].notna().all())


def targets_for(
    targets: Sequence[Target], concept_a: Concept, concept_b: Concept | None, rules: Rules
) -> Iterator[Target]:
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
                attributes = attributes_of(
                    kind := next(
                        c.kind
                        for c in concepts
                        if criterion not in (*attributes_of(c.kind), *c.attributes)
                    )
                )
                raise UserError(
                    target.place,
                    f'the criterion "{criterion}" is nothing that a {kind} concept'
                    f" has{did_you_mean(criterion, attributes)}",
                    "Use an attribute of this domain's concepts.",
                ) from error
            if serves:
                yield target
                if not rules.target_per_criterion:
                    break


def variable_counts(sentence: str, rules: Rules) -> Counter[str]:
    """Distinct variables by type; where there are quantities, they also count as the objects, in
    place of real ones.
    """
    by_type = parse_sentence(sentence, rules).by_type
    counts = Counter({kind: len(names) for kind, names in by_type.items()})
    if any(counts[quantity] for quantity in _QUANTITIES):
        counts["object"] = sum(counts[quantity] for quantity in _QUANTITIES)
    return +counts


def is_compatible(target: Counter[str], context: Counter[str]) -> bool:
    """Whether a context names about the same participants as a target does.

    No agent may be missing from the context (unless both speak of one object), no type of the
    target may differ by two, and no two types may differ at all.

    Args:
        target: the target sentence's variables by type.
        context: the context sentence's.
    """
    if target["agent"] > context["agent"] and not context["object"] == 1 == target["object"]:
        return False
    if any(abs(count - context[kind]) >= 2 for kind, count in target.items()):
        return False
    return sum(target[kind] != context[kind] for kind in target.keys() | context.keys()) < 2


_MISSING_LABELS = ("NA", "N/A", "")
_SEGMENT = re.compile(r"\{segment(\d+)\}")


class Pair(NamedTuple):
    """A minimal pair of targets or of contexts, and what differs between the two."""

    first: str
    second: str
    contrast: str | None


class Template(NamedTuple):
    """One row of the templates table, before it has an id."""

    concept_a: str
    concept_b: str | None
    target1: str
    target2: str
    target_contrast: str
    context1: str
    context2: str
    context_contrast: str | None
    context_type: str

    def texts(self) -> tuple[str, str, str, str]:
        """The four texts; two templates with the same ones ask the same."""
        return self.context1, self.context2, self.target1, self.target2


def compile_templates(materials: Materials) -> pd.DataFrame:
    """All templates of all domains.

    Returns:
        The templates table, sorted by domain, meta template and template.

    Raises:
        UserError: a concept is not known, a concept pair has no target, or a criterion asks for
            what concepts do not have.
    """
    rows: list[tuple[str | int | None, ...]] = []
    for domain in materials.domains:
        before = len(rows)
        rows += compile_domain(domain, materials.rules)
        if len(rows) == before:
            LOGGER.warning("%s yields no template: no context fits a target", domain.name)
    columns = ["template_id", "domain", "meta_template", "template", *Template._fields]
    frame = pd.DataFrame(rows, columns=columns)
    frame = frame.assign(situation=name_situations(frame)).astype(
        {"meta_template": "int64", "template": "int64"}
    )
    return add_marks(frame, materials.source)


def without_template(materials: Materials) -> list[MaterialsLine]:
    """The places of pairs of concepts, of contexts and of concepts that make no template."""
    lines = []
    for domain in materials.domains:
        unnamed = dict(domain.concepts)
        for meta in domain.meta_templates:
            fitting = {id(segment) for _, _, segment, *_ in _fitting(domain, meta, materials.rules)}
            contexts = [segment for probe in meta.probes for segment in probe.segments]
            unused = [segment.place for segment in contexts if id(segment) not in fitting]
            lines += unused if fitting else [meta.place]
            for name in (meta.concept_a, meta.concept_b):
                unnamed.pop(name or "", None)
        lines += [concept.place for concept in unnamed.values()]
    return lines


#: Where the numbers of bases begin, so that no template of a family has the id of another template
#: of its domain.
FIRST_BASE = 1001


def compile_families(materials: Materials) -> pd.DataFrame:
    """The templates of all families: one for each level of each base, whose two targets are the
    same at all levels.

    Returns:
        A templates table that also says family, base and level. The unit of a template is its base,
        counted per domain from ``FIRST_BASE`` and one situation, its number within the unit the
        place of its level.
    """
    rows: list[tuple[str | int | None, ...]] = []
    numbers: Counter[str] = Counter()
    for family, bases in materials.families.items():
        for base in bases:
            unit = FIRST_BASE + numbers[base.domain]
            numbers[base.domain] += 1
            target1, target2 = map(braces, base.targets)
            bare = {
                KEY.sub(lambda match: slot_class(match[1]), target) for target in (target1, target2)
            }
            contrast = "variable swap" if len(bare) == 1 else "concept swap"
            for number, level in enumerate(base.levels, start=1):
                context1, context2 = map(braces, level.contexts)
                label = contrast_label(base.contrast, materials.rules)
                template = Template(
                    *base.concepts,
                    target1,
                    target2,
                    contrast,
                    context1,
                    context2,
                    label,
                    base.context_type or "indirect",
                )
                identity = (f"{base.domain}_{unit}_{number}", base.domain, unit, number)
                rows.append(
                    (*identity, *template, f"{base.domain}_{unit}", family, base.name, level.level)
                )
    columns = [
        "template_id",
        "domain",
        "meta_template",
        "template",
        *Template._fields,
        "situation",
        *FAMILY,
    ]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"meta_template": "int64", "template": "int64", "level": "int64"})


def compile_domain(domain: Domain, rules: Rules) -> list[tuple[str | int | None, ...]]:
    """One domain's rows: id, domain, number of the unit, number within the unit, then the
    template's fields.

    A unit is one compatible combination of target, probe and segments. It uses up a number even if
    nothing comes of it.
    """
    rows: list[tuple[str | int | None, ...]] = []
    seen: set[tuple[str, ...]] = set()
    for unit_number, unit in enumerate(_units(domain, rules), start=1):
        number = 0
        for template in unit:
            if template.target1 == template.context1 or template.target2 == template.context2:
                continue  # The question contains the answer.
            if not rules.repeated_templates:
                if template.texts() in seen:
                    LOGGER.debug(
                        "%s: a template of unit %d repeats an earlier one and is left out",
                        domain.name,
                        unit_number,
                    )
                    continue
                seen.add(template.texts())
            number += 1
            rows.append(
                (
                    f"{domain.name}_{unit_number}_{number}",
                    domain.name,
                    unit_number,
                    number,
                    *template,
                )
            )
    return rows


def _units(domain: Domain, rules: Rules) -> Iterator[Iterator[Template]]:
    for meta in domain.meta_templates:
        yield from (_templates(*unit, rules) for unit in _fitting(domain, meta, rules))


def _fitting(
    domain: Domain, meta: MetaTemplate, rules: Rules
) -> Iterator[tuple[Target, Probe, Segment, str, Concept, Concept | None]]:
    """Each target of a pair of concepts with each context, and its type, that has its slots."""
    concept_a = _find(domain, meta.concept_a, meta)
    concept_b = None if meta.concept_b is None else _find(domain, meta.concept_b, meta)
    targets = list(targets_for(domain.targets, concept_a, concept_b, rules))
    if not targets:
        raise UserError(
            meta.place,
            f"no target in {domain.target_file} serves"
            f" {' and '.join(filter(None, (meta.concept_a, meta.concept_b)))}.",
            "Add a target whose criteria both concepts meet (null serves all).",
        )
    contexts = [
        (probe, segment, context_type, variable_counts(sentence, rules))
        for probe in meta.probes
        for segment, context_type in _segments(probe, rules)
        for sentence in [context_sentence(probe.pattern, segment.texts_a, segment)]
    ]
    for target in targets:
        needed = variable_counts(target_sentence(target.pattern, concept_a, target, rules), rules)
        for probe, segment, context_type, counts in contexts:
            if is_compatible(needed, counts):
                yield target, probe, segment, context_type, concept_a, concept_b


def _find(domain: Domain, name: str, meta: MetaTemplate) -> Concept:
    if name not in domain.concepts:
        raise UserError(
            meta.place,
            f'there is no concept "{name}"{did_you_mean(name, domain.concepts)}',
            "Correct the name, or add the concept.",
        )
    return domain.concepts[name]


def _segments(probe: Probe, rules: Rules) -> Iterator[tuple[Segment, str]]:
    """A probe's segments, each with its context type: its own, else the probe's."""
    context_type = probe.context_type
    for segment in probe.segments:
        kind = segment.context_type or context_type
        yield segment, "direct" if kind == "direct" else "indirect"
        if rules.leaking_type:
            context_type = kind


def _templates(
    target: Target,
    probe: Probe,
    segment: Segment,
    context_type: str,
    concept_a: Concept,
    concept_b: Concept | None,
    rules: Rules,
) -> Iterator[Template]:
    """All templates of one unit: each pair of targets with each pair of contexts."""
    target_pattern, probe_pattern = propagate(target.pattern, probe.pattern, rules)
    contexts = list(_context_pairs(probe_pattern, probe, segment, rules))
    for targets in _target_pairs(target_pattern, target, concept_a, concept_b, rules):
        for pair in contexts:
            yield Template(
                concept_a.name,
                concept_b.name if concept_b else None,
                targets.first,
                targets.second,
                targets.contrast or "",
                pair.first,
                pair.second,
                pair.contrast,
                context_type,
            )


def _target_pairs(
    pattern: str, target: Target, concept_a: Concept, concept_b: Concept | None, rules: Rules
) -> Iterator[Pair]:
    sentence_a = target_sentence(pattern, concept_a, target, rules)
    if concept_b is not None:
        sentence_b = target_sentence(pattern, concept_b, target, rules)
        yield Pair(sentence_a, sentence_b, "concept swap")
    if (
        not target.is_swappable
        or concept_a.is_symmetric()
        or (concept_b is not None and not concept_a.is_opposite_of(concept_b))
    ):
        return
    swapped = parse_sentence(sentence_a, rules).swapped()
    if swapped is None:
        return
    yield Pair(sentence_a, swapped, "variable swap")
    if (
        concept_b is not None
        and not concept_b.is_symmetric()
        and (swapped := parse_sentence(sentence_b, rules).swapped()) is not None
    ):
        yield Pair(swapped, sentence_b, "variable swap")


def _context_pairs(pattern: str, probe: Probe, segment: Segment, rules: Rules) -> Iterator[Pair]:
    context_a = context_sentence(pattern, segment.texts_a, segment)
    context_b = (
        None if segment.texts_b is None else context_sentence(pattern, segment.texts_b, segment)
    )
    if segment.texts_a is not None and context_b is not None:
        is_typed = rules.raw_contrasts or "contrast" in segment.model_fields_set
        label = contrast_label(segment.contrast, rules) if is_typed else None
        label = label if is_typed else contrast(context_a, context_b, rules.language)
        yield Pair(context_a, context_b, label)
    if not probe.is_swappable:
        return
    swapped = parse_sentence(context_a, rules).swapped()
    if swapped is None:
        return
    yield Pair(context_a, swapped, "variable swap")
    if (
        context_b is not None
        and (swapped := parse_sentence(context_b, rules).swapped()) is not None
    ):
        yield Pair(swapped, context_b, "variable swap")


def contrast(context: str, other: str, language: Language = ENGLISH) -> str:
    """How two contexts differ, where the materials do not say it: by the same words in another
    order (``variable swap``: what is said of two things changes places), by a negation in what one
    side alone says, by one word or phrase (``antonym``; from the first word that differs to the
    last one at most three on either side), or otherwise. Words and negations are those of the
    language; how words end is no matter.

    >>> contrast("{agent1} is out and {agent2} in", "{agent1} is in and {agent2} out")
    'variable swap'
    >>> contrast("The door is open.", "The door is closed.")
    'antonym'
    >>> (
    ...     contrast("It never rains here.", "It rains a lot here."),
    ...     contrast("It is wet.", "We all sing in here."),
    ... )
    ('negation', 'other')
    """
    sides = [words_and_slots(text) for text in (context, other)]
    if sorted(sides[0]) == sorted(sides[1]):
        return "variable swap"
    blocks = [
        b
        for b in SequenceMatcher(None, sides[0], sides[1], autojunk=False).get_opcodes()
        if b[0] != "equal"
    ]
    own = {number for _, low, high, _, _ in blocks for number in range(low, high)}
    others = {number for _, _, _, low, high in blocks for number in range(low, high)}
    negated, negated_other = (negating(side, language) for side in sides)
    if bool(own & negated) != bool(others & negated_other):
        return "negation"
    (_, low, _, low_other, _), (_, _, high, _, high_other) = blocks[0], blocks[-1]
    is_short = max(high - low, high_other - low_other) <= 3
    return "antonym" if own and others and is_short else "other"


def contrast_label(label: str | None, rules: Rules) -> str | None:
    """A segment's contrast label, in one spelling.

    >>> (
    ...     contrast_label("variable_swap", Rules()),
    ...     contrast_label("NA", Rules()),
    ...     contrast_label("NA", Rules(raw_contrasts=True)),
    ... )
    ('variable swap', None, 'NA')
    """
    if rules.raw_contrasts or label is None:
        return label
    return None if label in _MISSING_LABELS else label.strip().replace("_", " ")


def target_sentence(pattern: str, concept: Concept, target: Target, rules: Rules) -> str:
    """A target with a concept in its place and its slots in braces."""
    return braces(pattern.replace("{CONCEPT}", surface_form(concept, target.tags, rules)))


def context_sentence(pattern: str, texts: Sequence[str] | None, segment: Segment) -> str:
    """A context with its segments in their places and its slots in braces.

    Raises:
        UserError: the pattern has more places than the segment has texts.
    """

    def text(match: re.Match[str]) -> str:
        number = int(match[1])
        if texts is None or not 1 <= number <= len(texts):
            raise UserError(
                segment.place,
                f"the pattern has {{segment{number}}}, but there are {len(texts or ())} texts"
                " for it.",
                "Give a list with a text for each.",
            )
        return texts[number - 1]

    return braces(_SEGMENT.sub(text, pattern))
