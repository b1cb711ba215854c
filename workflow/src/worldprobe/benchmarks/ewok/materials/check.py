"""Checks that the parts of materials fit together: concepts, targets, contexts and fillers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from worldprobe.benchmarks.ewok.materials.documents import MaterialsLine, Problems
from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.materials import (
    KEYS,
    Domain,
    Materials,
    Probe,
    Segment,
    attributes_of,
)
from worldprobe.benchmarks.ewok.materials.opened import OpenTemplate
from worldprobe.benchmarks.ewok.materials.samplers import enough_for
from worldprobe.benchmarks.ewok.materials.slots import UNSEEN, split_form, split_restrictions
from worldprobe.benchmarks.ewok.vocabulary import slot_class
from worldprobe.errors import did_you_mean

_SLOT = re.compile(r"\[([^\[\]{}]*)\]")
_PLACE = re.compile(r"\{([^\[\]{}]*)\}")
_SEGMENT = re.compile(r"segment[1-9]\d?")
_UNSEEN = re.compile(f"[{UNSEEN}]")
_FORMS = tuple(key for key in KEYS["general"] if key.endswith("_form"))


def check_materials(materials: Materials) -> None:
    """Note in the materials' ``problems`` what the compiler or the filling would stumble over."""
    problems = materials.problems
    slots = _SlotCheck(Fillers(materials.fillers, materials.rules), problems)
    for domain in materials.domains:
        kinds = _check_concept_names(domain, problems)
        _check_targets(domain, kinds, slots, problems)
        seen: dict[tuple[object, ...], MaterialsLine] = {}
        for meta in domain.meta_templates:
            for probe in meta.probes:
                _check_probe(probe, slots, problems)
                for segment in probe.segments:
                    what = (
                        meta.concept_a,
                        meta.concept_b,
                        probe.pattern,
                        segment.texts_a,
                        segment.texts_b,
                    )
                    first = seen.setdefault(what, segment.place)
                    if first is not segment.place:
                        problems.refuse(
                            segment.place,
                            f"says the same as line {first.line} for the same concepts.",
                            "Remove one.",
                        )
    _check_families(materials, slots)


def _check_families(materials: Materials, slots: _SlotCheck) -> None:
    problems = materials.problems
    domains = [domain.name for domain in materials.domains]
    for bases in materials.families.values():
        for number, base in enumerate(bases):
            if base.domain not in domains:
                near = did_you_mean(base.domain, domains)
                problems.error(
                    base.place,
                    f'there is no domain "{base.domain}"{near}',
                    "Correct the name, or add the domain.",
                )
            if base.name in (other.name for other in bases[:number]):
                problems.error(
                    base.place,
                    f'the base "{base.name}" is there already.',
                    "Give it another name, or remove one.",
                )
            if len({level.level for level in base.levels}) < len(base.levels):
                problems.error(
                    base.place, "two of its levels are the same.", "Number them differently."
                )
            for pair, line in (
                (base.targets, base.place),
                *((level.contexts, level.place) for level in base.levels),
            ):
                if pair[0] == pair[1]:
                    problems.error(
                        line, "the two sentences are the same.", "Write two that differ."
                    )
                for text in pair:
                    slots.check(text, line)


def warn_of_few_fillers(
    domains: dict[str, list[OpenTemplate]], fillers: Fillers, versions: int, problems: Problems
) -> None:
    """Warn of slots that have too few fillers for so many versions of the fixed filling."""
    keys = sorted(
        {key for templates in domains.values() for template in templates for key in template.keys}
    )
    for key in keys:
        count = len(fillers.options(key))
        enough = enough_for(count)
        if count > 1 and enough < versions:
            line = MaterialsLine(fillers.classes[key.filler_class].place.file)
            problems.warn(
                line,
                f"{count} fillers meet {{{key}}}: enough for {enough} versions, not {versions}.",
                "Add more fillers.",
            )


def _check_concept_names(domain: Domain, problems: Problems) -> set[str]:
    """Note unknown names; the kinds of the concepts that contexts use."""
    kinds = set()
    for meta in domain.meta_templates:
        names = [name for name in (meta.concept_a, meta.concept_b) if name is not None]
        for name in names:
            if name in domain.concepts:
                kinds.add(domain.concepts[name].kind)
            else:
                near = did_you_mean(name, domain.concepts)
                problems.error(
                    meta.place,
                    f'there is no concept "{name}"{near}',
                    "Correct the name, or add the concept.",
                )
        if meta.concept_a == meta.concept_b:
            problems.refuse(
                meta.place,
                "concepts A and B are the same.",
                "Name two concepts, or write null for conceptB.",
            )
        concepts = [domain.concepts[name] for name in names if name in domain.concepts]
        if (
            len(concepts) == 2
            and sum(a.name in b.opposites for a, b in (concepts, concepts[::-1])) == 1
        ):
            problem = (
                "only one of the two concepts names the other as its opposite, so targets'"
                " variables are not swapped."
            )
            problems.warn(meta.place, problem, "Name each among the other's opposite_concepts.")
    return kinds


def _check_targets(domain: Domain, kinds: set[str], slots: _SlotCheck, problems: Problems) -> None:
    seen: dict[tuple[object, ...], MaterialsLine] = {}
    for target in domain.targets:
        if "{CONCEPT}" not in target.pattern:
            problems.refuse(
                target.place, "has no {CONCEPT}.", "Put {CONCEPT} where the concept belongs."
            )
        for other in _PLACE.findall(target.pattern):
            if other != "CONCEPT":
                problems.error(
                    target.place,
                    f"{{{other}}} means nothing in a target.",
                    "Write {CONCEPT}; slots go in square brackets.",
                )
        slots.check(target.pattern, target.place)
        for kind in sorted(kinds):
            for criterion in target.criteria:
                criteria = (*attributes_of(kind), *sorted(domain.flags))
                if criterion and criterion not in criteria:
                    near = did_you_mean(criterion, criteria, f"; known are {', '.join(criteria)}.")
                    problem = (
                        f'the criterion "{criterion}" is nothing that a concept of kind {kind}'
                        f" has{near}"
                    )
                    problems.error(
                        target.place,
                        problem,
                        "Use an attribute of this domain's concepts, or null; a new flag is stated"
                        " by at least one of them.",
                    )
        for tag in target.tags:
            if "form" in tag and tag not in _FORMS and slots.fillers.rules.language.is_english:
                near = did_you_mean(tag, _FORMS, f"; the forms are {', '.join(_FORMS)}.")
                problems.refuse(target.place, f'unknown form "{tag}"{near}', "Correct the tag.")
        first = seen.setdefault((target.pattern, target.criteria, target.tags), target.place)
        if first is not target.place:
            problems.refuse(
                target.place, f"is the same target as in line {first.line}.", "Remove one."
            )


def _check_probe(probe: Probe, slots: _SlotCheck, problems: Problems) -> None:
    slots.check(probe.pattern, probe.place)
    placeholders = _PLACE.findall(probe.pattern)
    for name in placeholders:
        if not _SEGMENT.fullmatch(name):
            problem = f"{{{name}}} means nothing in a context."
            problems.error(
                probe.place,
                problem,
                "Write {segment1}, {segment2}, ...; slots go in square brackets.",
            )
    needed = max((int(name[7:]) for name in placeholders if _SEGMENT.fullmatch(name)), default=0)
    if not probe.segments:
        problems.refuse(probe.place, "has no segments, so it yields no context.", "Add a segment.")
    for segment in probe.segments:
        _check_segment(probe, segment, needed, slots, problems)


def _check_segment(
    probe: Probe, segment: Segment, needed: int, slots: _SlotCheck, problems: Problems
) -> None:
    if segment.texts_a is None:
        problems.error(
            segment.place, "segmentA is null.", "Write what replaces {segment1} for concept A."
        )
    for name, texts in (("segmentA", segment.texts_a), ("segmentB", segment.texts_b)):
        for text in texts or ():
            for name_in_braces in _PLACE.findall(text):
                fix = "Write slots in square brackets; {segment1} belongs into the pattern."
                problems.error(
                    segment.place,
                    f"{name} contains {{{name_in_braces}}}, which means nothing in a segment.",
                    fix,
                )
            slots.check(text, segment.place)
        if texts is not None and len(texts) != needed:
            complain = problems.error if len(texts) < needed else problems.refuse
            problem = (
                f"{name} has {len(texts)} texts, the pattern {needed} places ({{segment1}}, ...)"
                " for them."
            )
            complain(segment.place, problem, "Give one text for each place.")
    if segment.texts_a == segment.texts_b:
        problems.refuse(
            segment.place,
            "segments A and B are the same, so both contexts are.",
            "Write two that differ.",
        )
    if segment.texts_b is None and not probe.is_swappable:
        problem = (
            "there is no segmentB, and the variables are not swappable: so it yields no pair of"
            " contexts."
        )
        problems.refuse(segment.place, problem, "Write segmentB, or set swappable_variables.")


class _SlotCheck:
    """Judges the slots of a pattern: brackets, names, classes, restrictions; each distinct slot is
    looked up once.
    """

    def __init__(self, fillers: Fillers, problems: Problems) -> None:
        self.fillers, self.problems = fillers, problems
        self._known: dict[str, list[tuple[bool, str, str]]] = {}

    def check(self, text: str, place: MaterialsLine) -> None:
        """Note what is wrong with a text's slots."""
        if odd := _UNSEEN.search(text):
            sign = odd[0].encode("unicode_escape").decode()
            fix = "Write the sentence in one line, with plain spaces."
            self.problems.refuse(place, f'contains the invisible character "{sign}".', fix)
        if re.search(r"[\[\]{}]", _PLACE.sub("", _SLOT.sub("", text))):
            self.problems.error(
                place, "the brackets do not match.", "Close each [ with ] and each { with }."
            )
        for slot in _SLOT.findall(text):
            if slot not in self._known:
                self._known[slot] = list(self._judge(slot))
            for is_fatal, problem, fix in self._known[slot]:
                (self.problems.error if is_fatal else self.problems.refuse)(place, problem, fix)

    def _judge(self, slot: str) -> Iterator[tuple[bool, str, str]]:
        variable, _, written = split_form(slot)[1].partition(":")
        name = slot_class(variable)
        classes = self.fillers.classes
        if not re.fullmatch(r"[A-Za-z_]\w*", variable):
            yield (
                True,
                f"[{slot}] is not a valid slot.",
                "Write [class1], or [class1:column=value].",
            )
            return
        if name not in classes:
            near = did_you_mean(name, classes, f"; the classes are {', '.join(sorted(classes))}.")
            yield (
                True,
                f"[{slot}]: there is no fillers/filler-{name}.csv{near}",
                "Correct the name, or add that file.",
            )
            return
        if classes[name].fillers:  # otherwise its file is complained of
            yield from self._judge_restrictions(slot, name, split_restrictions(written))

    def _judge_restrictions(
        self, slot: str, name: str, restrictions: Sequence[str]
    ) -> Iterator[tuple[bool, str, str]]:
        columns = self.fillers.classes[name].columns
        for restriction in restrictions:
            column, equals, value = restriction.partition("=")
            if not equals or not value:
                yield (
                    False,
                    f'[{slot}]: "{restriction}" is not a valid restriction.',
                    "Write column=value, several joined by colons.",
                )
                return
            if column not in columns:
                near = did_you_mean(column, columns, f"; it has {', '.join(columns) or 'none'}.")
                yield (
                    False,
                    f'[{slot}]: class {name} has no column "{column}"{near}',
                    "Correct it, or add the column.",
                )
                return
            values = {filler.columns[column] for filler in self.fillers.classes[name].fillers}
            if value not in values:
                near = did_you_mean(
                    value, values, f"; its values are {', '.join(sorted(values)[:8])}."
                )
                yield (
                    False,
                    f"[{slot}]: no {name} has {column}={value}{near}",
                    "Correct the value, or add a filler with it.",
                )
                return
        if not self.fillers.meeting(name, restrictions):
            yield (
                False,
                f"[{slot}]: no {name} meets all these restrictions.",
                "Loosen them, or add a filler that meets them.",
            )
