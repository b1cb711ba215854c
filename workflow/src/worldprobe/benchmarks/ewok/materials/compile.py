"""From materials to templates: every concept pair's targets with every fitting context, and their
swaps (EWoK, Section 3).

Each has a situation, which contexts that say nearly the same share, whatever fills their slots and
whichever side they stand on; and marks, which materials list: which templates depend on a culture,
and on which the relatedness of words misleads.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.frequency import words
from worldprobe.benchmarks.ewok.materials.documents import Place
from worldprobe.benchmarks.ewok.materials.materials import (
    Concept,
    Domain,
    Materials,
    MetaTemplate,
    Probe,
    Segment,
    Source,
    Target,
    attributes_of,
    surface_form,
)
from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.benchmarks.ewok.materials.slots import KEY, braces, parse, propagate
from worldprobe.benchmarks.ewok.vocabulary import FAMILY, TEXTS, slot_class
from worldprobe.commented_csv import read_frame
from worldprobe.errors import UserError, did_you_mean
from worldprobe.log import LOGGER

_QUANTITIES = ("quantObject", "quantSubstance")


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
                known = attributes_of(
                    kind := next(
                        c.kind
                        for c in concepts
                        if criterion not in (*attributes_of(c.kind), *c.attributes)
                    )
                )
                raise UserError(
                    target.place,
                    f'the criterion "{criterion}" is nothing that a {kind} concept'
                    f" has{did_you_mean(criterion, known)}",
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
    by_type = parse(sentence, rules).by_type
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


def without_template(materials: Materials) -> list[Place]:
    """The places of pairs of concepts, of contexts and of concepts that make no template."""
    places = []
    for domain in materials.domains:
        unnamed = dict(domain.concepts)
        for meta in domain.meta_templates:
            fitting = {id(segment) for _, _, segment, *_ in _fitting(domain, meta, materials.rules)}
            contexts = [segment for probe in meta.probes for segment in probe.segments]
            unused = [segment.place for segment in contexts if id(segment) not in fitting]
            places += unused if fitting else [meta.place]
            for name in (meta.concept_a, meta.concept_b):
                unnamed.pop(name or "", None)
        places += [concept.place for concept in unnamed.values()]
    return places


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
                KEY.sub(lambda found: slot_class(found[1]), target) for target in (target1, target2)
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
                place = (f"{base.domain}_{unit}_{number}", base.domain, unit, number)
                rows.append(
                    (*place, *template, f"{base.domain}_{unit}", family, base.name, level.level)
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
        own = segment.context_type or context_type
        yield segment, "direct" if own == "direct" else "indirect"
        if rules.leaking_type:
            context_type = own


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
    swapped = parse(sentence_a, rules).swapped()
    if swapped is None:
        return
    yield Pair(sentence_a, swapped, "variable swap")
    if (
        concept_b is not None
        and not concept_b.is_symmetric()
        and (swapped := parse(sentence_b, rules).swapped()) is not None
    ):
        yield Pair(swapped, sentence_b, "variable swap")


def _context_pairs(pattern: str, probe: Probe, segment: Segment, rules: Rules) -> Iterator[Pair]:
    context_a = context_sentence(pattern, segment.texts_a, segment)
    context_b = (
        None if segment.texts_b is None else context_sentence(pattern, segment.texts_b, segment)
    )
    if segment.texts_a is not None and context_b is not None:
        yield Pair(context_a, context_b, contrast_label(segment.contrast, rules))
    if not probe.is_swappable:
        return
    swapped = parse(context_a, rules).swapped()
    if swapped is None:
        return
    yield Pair(context_a, swapped, "variable swap")
    if context_b is not None and (swapped := parse(context_b, rules).swapped()) is not None:
        yield Pair(swapped, context_b, "variable swap")


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

    def text(found: re.Match[str]) -> str:
        number = int(found[1])
        if texts is None or not 1 <= number <= len(texts):
            raise UserError(
                segment.place,
                f"the pattern has {{segment{number}}}, but there are {len(texts or ())} texts"
                " for it.",
                "Give a list with a text for each.",
            )
        return texts[number - 1]

    return braces(_SEGMENT.sub(text, pattern))


#: Two pairs of contexts that share at least this share of their words are of one situation
#: (Jaccard's index).
NEAR = 0.6
_ARTICLES = {"a", "an", "the"}


def number_situations(templates: pd.DataFrame) -> np.ndarray:
    """The number of each template's situation, counted from 0 in row order.

    A pair of contexts is the set of its words: in lower case, without slots, articles and a final
    s. Pairs with a Jaccard index of at least ``NEAR`` are of one situation, and so are chains of
    such pairs; hence pairs of two situations always share less.

    Args:
        templates: context1 and context2 of each template, slots in braces.

    Returns:
        int64, shape (templates,).
    """
    pairs = zip(templates["context1"], templates["context2"], strict=True)
    bags = [frozenset(_words(one) | _words(other)) for one, other in pairs]
    place = {bag: number for number, bag in enumerate(dict.fromkeys(bags))}
    count = Counter(word for bag in place for word in bag)
    situation = list(range(len(place)))

    def first(one: int) -> int:
        while situation[one] != one:
            one = situation[one]
        return one

    # Two near pairs share a word even among the rarest of each: the other one lacks at most 1 -
    # NEAR of its words.
    with_word: dict[str, list[frozenset[str]]] = defaultdict(list)
    for bag, number in place.items():
        rarest = sorted(bag, key=lambda word: (count[word], word))[
            : int((1 - NEAR) * len(bag) + 1e-9) + 1
        ]
        for other in {other for word in rarest for other in with_word[word]}:
            if len(bag & other) >= NEAR * len(bag | other) - 1e-9:
                one, two = sorted((first(number), first(place[other])))
                situation[two] = one
        for word in rarest:
            with_word[word].append(bag)
    return pd.factorize(np.array([first(place[bag]) for bag in bags], dtype=np.int64))[0].astype(
        np.int64
    )


def name_situations(templates: pd.DataFrame) -> list[str]:
    """The name of each template's situation: domain and unit of the first template that has it,
    e.g. ``garden-work_3``.

    Args:
        templates: domain, meta_template, context1 and context2 of each template.
    """
    numbers = number_situations(templates)
    first: dict[int, str] = {}
    for number, domain, unit in zip(
        numbers.tolist(), templates["domain"], templates["meta_template"], strict=True
    ):
        first.setdefault(number, f"{domain}_{unit}")
    return [first[number] for number in numbers.tolist()]


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in spelt(text) if word not in _ARTICLES}


#: Words and phrases that not all cultures share, each with its kind: units, money, climate, custom.
CULTURE_BOUND = "utils/culture_bound.csv"
#: The keys of the templates of the adversarial part.
ADVERSARIAL = "utils/adversarial.csv"
INSIDE, OUTSIDE = "inside", "outside"


def template_key(texts: Sequence[str]) -> str:
    """A short digest of a template's four texts.

    >>> template_key(("a", "b", "c", "d"))
    '1a84020153d6'
    """
    return hashlib.sha256("\x1f".join(texts).encode()).hexdigest()[:12]


def template_keys(templates: pd.DataFrame) -> list[str]:
    """The key of each template."""
    return [template_key(texts) for texts in zip(*(templates[text] for text in TEXTS), strict=True)]


def add_marks(templates: pd.DataFrame, source: Source) -> pd.DataFrame:
    """The templates with the columns ``culture_bound`` and ``adversarial``, missing where the
    materials have no such list.
    """
    bound = (
        _culture_bound(templates, source)
        if CULTURE_BOUND in source.names
        else [None] * len(templates)
    )
    part = (
        _adversarial(templates, source) if ADVERSARIAL in source.names else [None] * len(templates)
    )
    return templates.assign(
        culture_bound=pd.Series(bound, templates.index, dtype=object),
        adversarial=pd.Series(part, templates.index, dtype=object),
    )


def _culture_bound(templates: pd.DataFrame, source: Source) -> list[str | None]:
    """The kinds of listed words in a template, joined by commas; None: there is none."""
    listed = _read(source, CULTURE_BOUND, ("kind", "word"))
    words = {
        kind: "|".join(map(re.escape, rows["word"]))
        for kind, rows in listed.groupby("kind", sort=True)
    }
    patterns = {
        kind: re.compile(rf"\b(?:{either})\b", re.IGNORECASE) for kind, either in words.items()
    }
    texts = (
        KEY.sub(" ", " ".join(row))
        for row in zip(*(templates[text] for text in TEXTS), strict=True)
    )
    found = [
        [str(kind) for kind, pattern in patterns.items() if pattern.search(text)] for text in texts
    ]
    return [",".join(kinds) or None for kinds in found]


def _adversarial(templates: pd.DataFrame, source: Source) -> list[str]:
    listed = set(_read(source, ADVERSARIAL, ("key",))["key"])
    return [INSIDE if key in listed else OUTSIDE for key in template_keys(templates)]


def _read(source: Source, name: str, columns: Sequence[str]) -> pd.DataFrame:
    frame = read_frame(f"{source.path}, {name}", source.read(name))
    absent = [column for column in columns if column not in frame]
    if absent:
        raise UserError(
            f"{source.path}, {name}",
            f"has no column {absent[0]}.",
            f"It needs {' and '.join(columns)}.",
        )
    return frame


def count_parts(templates: pd.DataFrame) -> dict[str, int]:
    """What the templates consist of, each different part once."""
    return {
        "concept_pairs": len(templates[["domain", "concept_a", "concept_b"]].drop_duplicates()),
        "situations": templates["situation"].nunique(),
        "context_pairs": len(templates[["context1", "context2"]].drop_duplicates()),
        "target_pairs": len(templates[["target1", "target2"]].drop_duplicates()),
        "concepts": len({*templates["concept_a"], *templates["concept_b"].dropna()}),
        "templates": len(templates),
    }


def spelt(text: str) -> list[str]:
    """The words of a template's text in lower case, without its slots.

    >>> spelt("{agent1} can't lift {object1:large=true}.")
    ["can't", 'lift']
    """
    return [word.lower() for word in words(KEY.sub(" ", text))]
