"""What does not fit together in materials: concepts, targets, contexts and fillers judged against each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from worldprobe.benchmarks.ewok.materials.compile import compile_templates
from worldprobe.benchmarks.ewok.materials.concepts import KEYS, attributes_of
from worldprobe.benchmarks.ewok.materials.entries import Domain, Materials, Probe, Segment
from worldprobe.benchmarks.ewok.materials.fill_fixed import enough_for
from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.placeholders import split_restrictions
from worldprobe.benchmarks.ewok.materials.problems import Place, Problems
from worldprobe.benchmarks.ewok.materials.sentences import UNSEEN
from worldprobe.benchmarks.ewok.materials.sentences_check import check_sentences
from worldprobe.benchmarks.ewok.materials.slots import Slots, is_ambiguous, open_slots
from worldprobe.benchmarks.ewok.materials.templates_check import check_templates
from worldprobe.benchmarks.ewok.vocabulary import slot_class
from worldprobe.errors import did_you_mean

_SLOT = re.compile(r"\[([^\[\]{}]*)\]")
_PLACE = re.compile(r"\{([^\[\]{}]*)\}")
_SEGMENT = re.compile(r"segment[1-9]\d?")
_UNSEEN = re.compile(f"[{UNSEEN}]")
_FORMS = tuple(key for key in KEYS["general"] if key.endswith("_form"))


def check_all(materials: Materials, versions: int) -> int:
    """Everything that can be known without filling: the entries, then the templates that come of them.

    Returns:
        The number of templates; 0 where errors keep them from being compiled.
    """
    check_materials(materials)
    if materials.problems.errors():
        return 0
    fillers = Fillers(materials.fillers, materials.rules)
    templates = compile_templates(materials)
    slots = open_slots(templates, fillers)
    check_slots(slots, fillers, materials.problems)
    check_versions(slots, fillers, versions, materials.problems)
    check_sentences(materials)
    check_templates(templates, materials.problems)
    return len(templates)


def check_materials(materials: Materials) -> None:
    """Note in ``materials.problems`` what the compiler or the filling would stumble over."""
    problems = materials.problems
    slots = _SlotCheck(Fillers(materials.fillers, materials.rules), problems)
    for domain in materials.domains:
        kinds = _check_concept_names(domain, problems)
        _check_targets(domain, kinds, slots, problems)
        seen: dict[tuple[object, ...], Place] = {}
        for meta in domain.meta_templates:
            for probe in meta.probes:
                _check_probe(probe, slots, problems)
                for segment in probe.segments:
                    what = (meta.concept_a, meta.concept_b, probe.pattern, segment.texts_a, segment.texts_b)
                    first = seen.setdefault(what, segment.place)
                    if first is not segment.place:
                        problems.refuse(
                            segment.place, f"says the same as line {first.line} for the same concepts.", "Remove one."
                        )


def check_slots(domains: dict[str, list[Slots]], fillers: Fillers, problems: Problems) -> None:
    """Note templates whose slots no filler can fill, after restrictions have met across context and target."""
    file = "templates"
    for templates in domains.values():
        checked: set[tuple[str, ...]] = set()
        for template in templates:
            if template.keys in checked:
                continue
            checked.add(template.keys)
            place = Place(file, 0, f"{template.domain}_{template.meta_template}_{template.template}")
            for key in template.keys:
                if not fillers.options(key):
                    problems.refuse(
                        place, f"no filler meets {{{key}}}.", "Loosen its restrictions, or add a filler that meets them."
                    )
            if not fillers.rules.loose_variables and is_ambiguous(template.keys):
                slots = ", ".join(f"{{{key}}}" for key in template.keys)
                problems.refuse(place, f"it is unclear which filler a slot without restriction means ({slots}).", "Number them.")


def check_versions(domains: dict[str, list[Slots]], fillers: Fillers, versions: int, problems: Problems) -> None:
    """Warn of slots that have too few fillers for so many versions of the fixed filling."""
    keys = sorted({key for templates in domains.values() for template in templates for key in template.keys})
    for key in keys:
        count = len(fillers.options(key))
        enough = enough_for(count)
        if count > 1 and enough < versions:
            place = Place(fillers.classes[slot_class(key)].place.file)
            problems.warn(
                place, f"{count} fillers meet {{{key}}}: enough for {enough} versions, not {versions}.", "Add more fillers."
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
                problems.error(meta.place, f'there is no concept "{name}"{near}', "Correct the name, or add the concept.")
        if meta.concept_a == meta.concept_b:
            problems.refuse(meta.place, "concepts A and B are the same.", "Name two concepts, or write null for conceptB.")
        concepts = [domain.concepts[name] for name in names if name in domain.concepts]
        if len(concepts) == 2 and sum(a.name in b.opposites for a, b in (concepts, concepts[::-1])) == 1:
            problem = "only one of the two concepts names the other as its opposite, so targets' variables are not swapped."
            problems.warn(meta.place, problem, "Name each among the other's opposite_concepts.")
    return kinds


def _check_targets(domain: Domain, kinds: set[str], slots: _SlotCheck, problems: Problems) -> None:
    seen: dict[tuple[object, ...], Place] = {}
    for target in domain.targets:
        if "{CONCEPT}" not in target.pattern:
            problems.refuse(target.place, "has no {CONCEPT}.", "Put {CONCEPT} where the concept belongs.")
        for other in _PLACE.findall(target.pattern):
            if other != "CONCEPT":
                problems.error(
                    target.place, f"{{{other}}} means nothing in a target.", "Write {CONCEPT}; slots go in square brackets."
                )
        slots.check(target.pattern, target.place)
        for kind in sorted(kinds):
            for criterion in target.criteria:
                if criterion and criterion not in attributes_of(kind):
                    near = did_you_mean(criterion, attributes_of(kind), f"; known are {', '.join(attributes_of(kind))}.")
                    problem = f'the criterion "{criterion}" is nothing that a concept of kind {kind} has{near}'
                    problems.error(target.place, problem, "Use an attribute of this domain's concepts, or null.")
        for tag in target.tags:
            if "form" in tag and tag not in _FORMS:
                near = did_you_mean(tag, _FORMS, f"; the forms are {', '.join(_FORMS)}.")
                problems.refuse(target.place, f'unknown form "{tag}"{near}', "Correct the tag.")
        first = seen.setdefault((target.pattern, target.criteria, target.tags), target.place)
        if first is not target.place:
            problems.refuse(target.place, f"is the same target as in line {first.line}.", "Remove one.")


def _check_probe(probe: Probe, slots: _SlotCheck, problems: Problems) -> None:
    slots.check(probe.pattern, probe.place)
    places = _PLACE.findall(probe.pattern)
    for name in places:
        if not _SEGMENT.fullmatch(name):
            problem = f"{{{name}}} means nothing in a context."
            problems.error(probe.place, problem, "Write {segment1}, {segment2}, ...; slots go in square brackets.")
    needed = max((int(name[7:]) for name in places if _SEGMENT.fullmatch(name)), default=0)
    if not probe.segments:
        problems.refuse(probe.place, "has no segments, so it yields no context.", "Add a segment.")
    for segment in probe.segments:
        _check_segment(probe, segment, needed, slots, problems)


def _check_segment(probe: Probe, segment: Segment, needed: int, slots: _SlotCheck, problems: Problems) -> None:
    if segment.texts_a is None:
        problems.error(segment.place, "segmentA is null.", "Write what replaces {segment1} for concept A.")
    for name, texts in (("segmentA", segment.texts_a), ("segmentB", segment.texts_b)):
        for text in texts or ():
            for name_in_braces in _PLACE.findall(text):
                fix = "Write slots in square brackets; {segment1} belongs into the pattern."
                problems.error(segment.place, f"{name} contains {{{name_in_braces}}}, which means nothing in a segment.", fix)
            slots.check(text, segment.place)
        if texts is not None and len(texts) != needed:
            complain = problems.error if len(texts) < needed else problems.refuse
            problem = f"{name} has {len(texts)} texts, the pattern {needed} places ({{segment1}}, ...) for them."
            complain(segment.place, problem, "Give one text for each place.")
    if segment.texts_a == segment.texts_b:
        problems.refuse(segment.place, "segments A and B are the same, so both contexts are.", "Write two that differ.")
    if segment.texts_b is None and not probe.is_swappable:
        problem = "there is no segmentB, and the variables are not swappable: so it yields no pair of contexts."
        problems.refuse(segment.place, problem, "Write segmentB, or set swappable_variables.")


class _SlotCheck:
    """Judges the slots of a pattern: brackets, names, classes, restrictions; each distinct slot is looked up once."""

    def __init__(self, fillers: Fillers, problems: Problems) -> None:
        self.fillers, self.problems = fillers, problems
        self._known: dict[str, list[tuple[bool, str, str]]] = {}

    def check(self, text: str, place: Place) -> None:
        """Note what is wrong with a text's slots."""
        if odd := _UNSEEN.search(text):
            sign = odd[0].encode("unicode_escape").decode()
            fix = "Write the sentence in one line, with plain spaces."
            self.problems.refuse(place, f'contains the invisible character "{sign}".', fix)
        if re.search(r"[\[\]{}]", _PLACE.sub("", _SLOT.sub("", text))):
            self.problems.error(place, "the brackets do not match.", "Close each [ with ] and each { with }.")
        for slot in _SLOT.findall(text):
            if slot not in self._known:
                self._known[slot] = list(self._judge(slot))
            for is_fatal, problem, fix in self._known[slot]:
                (self.problems.error if is_fatal else self.problems.refuse)(place, problem, fix)

    def _judge(self, slot: str) -> Iterator[tuple[bool, str, str]]:
        variable, _, written = slot.partition(":")
        name = slot_class(variable)
        classes = self.fillers.classes
        if not re.fullmatch(r"[A-Za-z_]\w*", variable):
            yield True, f"[{slot}] is not a valid slot.", "Write [class1], or [class1:column=value]."
            return
        if name not in classes:
            near = did_you_mean(name, classes, f"; the classes are {', '.join(sorted(classes))}.")
            yield True, f"[{slot}]: there is no fillers/filler-{name}.csv{near}", "Correct the name, or add that file."
            return
        yield from self._judge_restrictions(slot, name, split_restrictions(written))

    def _judge_restrictions(self, slot: str, name: str, restrictions: Sequence[str]) -> Iterator[tuple[bool, str, str]]:
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
                yield False, f'[{slot}]: class {name} has no column "{column}"{near}', "Correct it, or add the column."
                return
            values = {filler.columns[column] for filler in self.fillers.classes[name].fillers}
            if value not in values:
                near = did_you_mean(value, values, f"; its values are {', '.join(sorted(values)[:8])}.")
                yield False, f"[{slot}]: no {name} has {column}={value}{near}", "Correct the value, or add a filler with it."
                return
        if not self.fillers.meeting(name, restrictions):
            yield False, f"[{slot}]: no {name} meets all these restrictions.", "Loosen them, or add a filler that meets them."
