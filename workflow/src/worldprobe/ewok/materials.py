"""Materials in EWoK's official layout: concepts, contexts and targets (YAML) and fillers (CSV), with the lines they stand in.

Contexts drive everything: each ``contexts/context-<domain>-<subdomain>.yml`` needs the concept and target files of the same
domain; files of domains without contexts are not read, nor are ``*.spec.yml``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from worldprobe.errors import did_you_mean
from worldprobe.ewok import documents
from worldprobe.ewok.concepts import ALWAYS, KEYS, TEXT_KEYS, Concept, kind_of
from worldprobe.ewok.documents import Entry
from worldprobe.ewok.fillers import FillerClass, read_filler_class
from worldprobe.ewok.problems import Place, Problems
from worldprobe.ewok.rules import Rules
from worldprobe.ewok.source import Source


@dataclass(frozen=True)
class Target:
    """A target pattern, such as ``[agent1] can {CONCEPT} [object1]``.

    Attributes:
        criteria: attributes of concepts that call for this target, any one of them; none: it serves all concepts.
        tags: which form of the concept the sentence needs.
        is_swappable: whether its variables may be exchanged.
    """

    pattern: str
    criteria: tuple[str, ...]
    tags: tuple[str, ...]
    is_swappable: bool
    place: Place


@dataclass(frozen=True)
class Segment:
    """What fills a probe's ``{segment1}``, ... for concept A and for concept B (None: there is no second text)."""

    texts_a: tuple[str, ...] | None
    texts_b: tuple[str, ...] | None
    contrast: str | None
    context_type: str | None
    place: Place


@dataclass(frozen=True)
class Probe:
    """A context pattern with its pairs of segments."""

    pattern: str
    segments: tuple[Segment, ...]
    context_type: str | None
    is_swappable: bool
    place: Place


@dataclass(frozen=True)
class MetaTemplate:
    """The contexts for one concept, or for a pair of them."""

    concept_a: str
    concept_b: str | None
    probes: tuple[Probe, ...]
    place: Place


@dataclass(frozen=True)
class Domain:
    """All that one domain's templates are compiled from."""

    name: str
    meta_templates: tuple[MetaTemplate, ...]
    concepts: dict[str, Concept]
    targets: tuple[Target, ...]
    target_file: str


@dataclass
class Materials:
    """Everything that was read.

    Attributes:
        domains: sorted by name.
        fillers: by class.
        canary: the files' canary lines, to be carried wherever their text goes.
        problems: what is wrong with the files themselves; ``check.check`` adds what does not fit together.
    """

    source: Source
    domains: list[Domain]
    fillers: dict[str, FillerClass]
    canary: str | None
    problems: Problems = field(default_factory=Problems)


def read_materials(path: Path | str, rules: Rules, password: str | None = None) -> Materials:
    """Read all files; what is wrong inside them is collected in ``problems``, not raised.

    Raises:
        UserError: the materials cannot be opened at all.
    """
    source = Source(path, password)
    problems = Problems()
    canaries: dict[str, None] = {}

    def nodes(file: str) -> yaml.Node | None:
        content = source.read(file)
        canaries.update(dict.fromkeys(_canary_lines(content)))
        return documents.compose(file, content, problems)

    fillers = {}
    for file in source.names:
        if found := re.fullmatch(r"fillers/filler-(\w+)\.csv", file):
            content = source.read(file)
            canaries.update(dict.fromkeys(_canary_lines(content)))
            fillers[found[1]] = read_filler_class(file, found[1], content, problems, rules)
    domains = []
    for file in source.names:
        found = re.fullmatch(r"contexts/context-(.+)\.yml", file)
        if not found:
            if re.fullmatch(r"(contexts|concepts|targets)/[^/]+\.yaml", file):
                problems.error(Place(file), 'ends in ".yaml"; only ".yml" is read.', "Rename it.")
            continue
        name = found[1]
        if len(name.split("-")) != 2:
            problems.error(
                Place(file), "is not named context-<domain>-<subdomain>.yml.", "Rename it; neither part may hold a hyphen."
            )
            continue
        partners = {kind: f"{kind}s/{kind}-{name}.yml" for kind in ("concept", "target")}
        absent = [partner for partner in partners.values() if partner not in source.names]
        for partner in absent:
            known = [n for n in source.names if n.startswith(partner.partition("/")[0] + "/")]
            problems.error(
                Place(file), f"there is no {partner} for it;{did_you_mean(partner, known)}", "Add or rename that file."
            )
        meta_templates = _read_contexts(file, nodes(file), problems, rules)
        if absent:
            continue
        concepts = _read_concepts(partners["concept"], nodes(partners["concept"]), problems, rules)
        targets = _read_targets(partners["target"], name, nodes(partners["target"]), problems, rules)
        domains.append(Domain(name, tuple(meta_templates), concepts, tuple(targets), partners["target"]))
    return Materials(source, domains, fillers, "\n".join(canaries) or None, problems)


def _canary_lines(content: bytes) -> list[str]:
    lines = []
    for line in content.decode("utf-8-sig", errors="replace").splitlines():
        if not line.startswith("#"):
            break
        if "canary" in line.lower():
            lines.append(line.strip())
    return lines


def _read_contexts(file: str, root: yaml.Node | None, problems: Problems, rules: Rules) -> list[MetaTemplate]:
    meta_templates = []
    for number, node in documents.members(file, root, problems):
        name = f"metatemplate {number}"
        entry = Entry(file, name, node, ("conceptA", "conceptB", "probes"), problems, rules)
        if not entry.require("conceptA", "conceptB", "probes"):
            continue
        concept_a, concept_b = entry.text("conceptA"), entry.text("conceptB")
        if concept_a is None:
            problems.error(entry.place("conceptA"), "conceptA is null.", "Name a concept.")
            continue
        name = f"metatemplate {number}, {concept_a}" + (f" and {concept_b}" if concept_b is not None else "")
        probes = [
            _read_probe(file, f"{name}, probe {n}", probe, problems, rules) for n, probe in enumerate(entry.members("probes"), 1)
        ]
        place = Place(file, entry.line, name)
        meta_templates.append(MetaTemplate(concept_a, concept_b, tuple(p for p in probes if p), place))
    return meta_templates


def _read_probe(file: str, name: str, node: yaml.Node, problems: Problems, rules: Rules) -> Probe | None:
    entry = Entry(file, name, node, ("pattern", "segments", "type", "swappable_variables"), problems, rules)
    if not entry.require("pattern", "segments"):
        return None
    pattern = entry.text("pattern")
    if pattern is None:
        problems.error(entry.place("pattern"), "the pattern is null.", "Write the context's sentence.")
        return None
    segments = []
    for member in entry.members("segments"):
        segment = Entry(file, name, member, ("segmentA", "segmentB", "contrast", "type"), problems, rules)
        if segment.require("segmentA", "segmentB"):
            texts_a, texts_b = segment.texts("segmentA"), segment.texts("segmentB")
            segments.append(
                Segment(
                    tuple(texts_a) if texts_a is not None else None,
                    tuple(texts_b) if texts_b is not None else None,
                    segment.text("contrast"),
                    _read_context_type(segment),
                    segment.place(),
                )
            )
    return Probe(pattern, tuple(segments), _read_context_type(entry), entry.flag("swappable_variables"), entry.place("pattern"))


def _read_context_type(entry: Entry) -> str | None:
    context_type = entry.text("type")
    if context_type not in (None, "direct", "indirect"):
        complain = entry.problems.warn if entry.rules.leaking_type else entry.problems.error
        complain(entry.place("type"), f'type "{context_type}" is neither direct nor indirect.', "Write one of the two.")
    return context_type


def _read_concepts(file: str, root: yaml.Node | None, problems: Problems, rules: Rules) -> dict[str, Concept]:
    concepts: dict[str, Concept] = {}
    for number, node in documents.members(file, root, problems):
        head = Entry(file, f"concept {number}", node, (), Problems(), rules, hyphens=True)
        name, concept_type, label = (head.text(key) for key in ("concept", "concept_type", "domain"))
        kind = kind_of(concept_type or "", label or "")
        known = (*ALWAYS, *KEYS[kind])
        entry = Entry(file, f"concept {number}, {name}, a {kind} concept", node, known, problems, rules, hyphens=True)
        if not entry.require("concept", "domain", "concept_type"):
            continue
        if name is None:
            problems.error(entry.place("concept"), "the concept has no name.", "Name it.")
            continue
        attributes: dict[str, str | bool] = {}
        for key in entry.fields:
            if key in TEXT_KEYS:
                text = None if key in ("opposite_concepts", "similar_concepts") else entry.text(key)
                if text is not None:
                    attributes[key] = text
            elif key in known:
                attributes[key] = entry.flag(key)
        concept = Concept(name, kind, tuple(_opposites(entry, rules)), attributes, entry.place())
        if name in concepts:
            first = concepts[name]
            is_same = (first.kind, first.opposites, first.attributes) == (kind, concept.opposites, attributes)
            complain = problems.warn if is_same or rules.repeated_fillers else problems.error
            complain(
                entry.place(), f'"{name}" stands in line {first.place.line} already; the last one holds.', "Keep one of the two."
            )
        concepts[name] = concept
    return concepts


def _opposites(entry: Entry, rules: Rules) -> list[str]:
    opposites = entry.texts("opposite_concepts") or []
    if isinstance(entry.fields.get("opposite_concepts"), yaml.ScalarNode):
        opposites = [part for text in opposites for part in text.split(",")]
        if not rules.opposites_untrimmed:
            opposites = [part.strip() for part in opposites if part.strip()]
    return opposites


def _read_targets(file: str, domain: str, root: yaml.Node | None, problems: Problems, rules: Rules) -> list[Target]:
    if root is None:
        problems.error(Place(file), "holds nothing.", f'Write the key "{domain}:" and below it the list of targets.')
        return []
    top = Entry(file, "", root, (domain,), problems, rules)
    if not top.require(domain):
        return []
    targets = []
    for number, node in enumerate(top.members(domain), start=1):
        # "symmetric" stands in official targets, without effect.
        keys = ("pattern", "criteria", "tags", "swappable_variables", "symmetric")
        entry = Entry(file, f"target {number}", node, keys, problems, rules)
        if not entry.require("pattern", "criteria", "tags"):
            continue
        pattern = entry.text("pattern")
        if pattern is None:
            problems.error(entry.place("pattern"), "the pattern is null.", "Write the target's sentence, with {CONCEPT}.")
            continue
        criteria = tuple((c.replace("-", "_") if c else c) for c in entry.texts("criteria") or [""])
        targets.append(
            Target(pattern, criteria, tuple(entry.texts("tags") or []), entry.flag("swappable_variables"), entry.place("pattern"))
        )
    return targets
