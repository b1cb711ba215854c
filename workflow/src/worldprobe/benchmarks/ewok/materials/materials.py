"""Reading materials in EWoK's official layout (YAML and CSV), with the line of each entry.

Contexts drive everything: each ``contexts/context-<domain>-<subdomain>.yml`` needs the concept and target files of the same
domain; files of domains without contexts are not read, nor are ``*.spec.yml``.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import yaml

from worldprobe.benchmarks.ewok.materials.concepts import ALWAYS, CONCEPT_TYPES, KEYS, TEXT_KEYS, Concept, kind_of
from worldprobe.benchmarks.ewok.materials.documents import Document, Entry, compose, members
from worldprobe.benchmarks.ewok.materials.entries import Domain, Materials, MetaTemplate, Probe, Segment, Target
from worldprobe.benchmarks.ewok.materials.fillers import FillerClass, read_filler_class
from worldprobe.benchmarks.ewok.materials.problems import Place, Problems
from worldprobe.benchmarks.ewok.materials.rules import Rules
from worldprobe.benchmarks.ewok.materials.source import Source
from worldprobe.commented_csv import COMMENT
from worldprobe.errors import did_you_mean


def read_materials(path: Path | str | Source, rules: Rules, password: str | None = None, is_lenient: bool = False) -> Materials:
    """Read all files; what is wrong inside them is collected in ``problems``, not raised.

    Args:
        path: a folder, a ``.zip`` file, or a source that is open already.
        rules: which behaviours of the original are kept.
        password: of the ``.zip`` file.
        is_lenient: let pass, with a warning, what the original lets pass.

    Raises:
        UserError: the materials cannot be opened at all.
    """
    source = path if isinstance(path, Source) else Source(path, password)
    problems = Problems(is_lenient)
    canaries: dict[str, None] = {}

    def content(file: str) -> bytes:
        read = source.read(file)
        canaries.update(dict.fromkeys(canary_lines(read)))
        return read

    fillers: dict[str, FillerClass] = {}
    for file in source.names:
        if found := re.fullmatch(r"fillers/filler-(.+)\.csv", file):
            fillers[found[1]] = read_filler_class(file, found[1], content(file), problems, rules)
    domains = []
    spelt: dict[str, str] = {}
    for file in source.names:
        if re.fullmatch(r"(contexts|concepts|targets)/[^/]+\.yaml", file):
            problems.error(Place(file), 'ends in ".yaml"; only ".yml" is read.', "Rename it.")
        found = re.fullmatch(r"contexts/context-(.+)\.yml", file)
        if not found:
            continue
        name = found[1]
        if not re.fullmatch("[A-Za-z0-9]+-[A-Za-z0-9]+", name):
            fix = "Rename it; both parts consist of letters a-z and digits."
            problems.error(Place(file), "is not named context-<domain>-<subdomain>.yml.", fix)
            continue
        if (twin := spelt.setdefault(name.lower(), file)) != file:
            problem = f"differs from {twin} only in capitals, so some file systems take the two for one."
            problems.refuse(Place(file), problem, "Rename one of them, with its concepts and targets.")
        files = {"concepts": f"concepts/concept-{name}.yml", "targets": f"targets/target-{name}.yml", "contexts": file}
        for folder, partner in files.items():
            if partner not in source.names:
                near = did_you_mean(partner, [n for n in source.names if n.startswith(f"{folder}/")])
                problems.error(Place(file), f"there is no {partner} for it{near}", "Add or rename that file.")
        documents = {k: compose(f, content(f), problems, rules) for k, f in files.items() if f in source.names}
        concepts, targets, contexts = (documents.get(kind) for kind in files)
        meta_templates = tuple(_read_contexts(contexts)) if contexts else ()
        if concepts and targets and contexts:
            read_targets = tuple(_read_targets(targets, name))
            domains.append(Domain(name, meta_templates, _read_concepts(concepts), read_targets, files["targets"]))
    return Materials(source, rules, tuple(domains), fillers, "\n".join(canaries) or None, problems)


def canary_lines(content: bytes) -> list[str]:
    r"""The comment lines at the top of a file that speak of a canary.

    >>> canary_lines(b"# MINE canary GUID 1234\n- concept: lift\n")
    ['# MINE canary GUID 1234']
    >>> canary_lines(b'"# MINE canary, GUID 1234",,\nitem,tall,sex\n')  # a spreadsheet saved it
    ['# MINE canary, GUID 1234']
    """
    lines = []
    for line in content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace").splitlines():
        if not line.startswith(COMMENT):
            break
        text = next(csv.reader([line]))[0] if line.startswith('"') else line
        if "canary" in text.lower():
            lines.append(text.strip())
    return lines


def _read_contexts(document: Document) -> list[MetaTemplate]:
    meta_templates = []
    for number, node in members(document):
        entry = Entry(document, f"metatemplate {number}", node, ("conceptA", "conceptB", "probes"))
        if not entry.require("conceptA", "conceptB", "probes"):
            continue
        concept_a, concept_b = entry.needed_text("conceptA", "Name a concept."), entry.text("conceptB")
        if concept_a is None:
            continue
        name = f"metatemplate {number}, {concept_a}" + (f" and {concept_b}" if concept_b is not None else "")
        probes = [_read_probe(document, f"{name}, probe {n}", probe) for n, probe in enumerate(entry.members("probes"), 1)]
        place = Place(document.file, entry.line, name)
        meta_templates.append(MetaTemplate(concept_a, concept_b, tuple(probe for probe in probes if probe), place))
    return meta_templates


def _read_probe(document: Document, name: str, node: yaml.Node) -> Probe | None:
    entry = Entry(document, name, node, ("pattern", "segments", "type", "swappable_variables"))
    if not entry.require("pattern", "segments"):
        return None
    pattern = entry.needed_text("pattern", "Write the context's sentence.")
    segments = []
    for number, member in enumerate(entry.members("segments"), start=1):
        segment = Entry(document, f"{name}, segment {number}", member, ("segmentA", "segmentB", "contrast", "type"))
        if segment.require("segmentA", "segmentB"):
            texts_a, texts_b = segment.texts("segmentA"), segment.texts("segmentB")
            segments.append(
                Segment(
                    None if texts_a is None else tuple(texts_a),
                    None if texts_b is None else tuple(texts_b),
                    segment.text("contrast"),
                    _read_context_type(segment),
                    segment.place(),
                )
            )
    if pattern is None:
        return None
    return Probe(pattern, tuple(segments), _read_context_type(entry), entry.flag("swappable_variables"), entry.place("pattern"))


def _read_context_type(entry: Entry) -> str | None:
    context_type = entry.text("type")
    if context_type not in (None, "direct", "indirect"):
        problem = f'type "{context_type}" is neither direct nor indirect.'
        entry.problems.refuse(entry.place("type"), problem, "Write one of the two.")
    return context_type


def _read_concepts(document: Document) -> dict[str, Concept]:
    concepts: dict[str, Concept] = {}
    for number, node in members(document):
        name, kind = _name_and_kind(node)
        known = (*ALWAYS, *KEYS[kind])
        entry = Entry(document, f"concept {number}, {name}, of kind {kind}", node, known, hyphens=True)
        if entry.fields and (concept_type := entry.text("concept_type")) not in (None, *CONCEPT_TYPES):
            problem = f'unknown concept_type "{concept_type}"'
            known_types = f"; the types are {', '.join(CONCEPT_TYPES)}."
            problem += did_you_mean(concept_type, CONCEPT_TYPES, known_types)
            entry.problems.refuse(entry.place("concept_type"), problem, "Correct it.")
        if not entry.require("concept", "domain", "concept_type") or entry.needed_text("concept", "Name it.") is None:
            continue
        attributes: dict[str, str | bool] = {}
        for key in entry.fields:
            if key in TEXT_KEYS:
                text = None if key.endswith("_concepts") else entry.text(key)
                if text is not None:
                    attributes[key] = text
            elif key in known:
                attributes[key] = entry.flag(key)
        concept = Concept(name, kind, tuple(_opposites(entry)), attributes, entry.place())
        if name in concepts:
            complain = entry.problems.warn if concepts[name] == concept else entry.problems.refuse
            line = concepts[name].place.line
            complain(entry.place(), f'"{name}" is already in line {line}; the last one counts.', "Keep one of the two.")
        concepts[name] = concept
    return concepts


def _name_and_kind(node: yaml.Node) -> tuple[str, str]:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    head = {str(key.value): str(value.value) for key, value in pairs if isinstance(value, yaml.ScalarNode)}
    return head.get("concept", "?"), kind_of(head.get("concept_type", ""), head.get("domain", ""))


def _opposites(entry: Entry) -> list[str]:
    opposites = entry.texts("opposite_concepts") or []
    if isinstance(entry.fields.get("opposite_concepts"), yaml.ScalarNode):
        opposites = [part for text in opposites for part in text.split(",")]
        if not entry.rules.opposites_untrimmed:
            opposites = [part.strip() for part in opposites if part.strip()]
    return opposites


def _read_targets(document: Document, domain: str) -> list[Target]:
    top = Entry(document, "", document.root, (domain,))
    if not top.require(domain):
        return []
    targets = []
    for number, node in enumerate(top.members(domain), start=1):
        # "symmetric" occurs in official targets, without effect.
        entry = Entry(document, f"target {number}", node, ("pattern", "criteria", "tags", "swappable_variables", "symmetric"))
        if not entry.require("pattern", "criteria", "tags"):
            continue
        pattern = entry.needed_text("pattern", "Write the target's sentence, with {CONCEPT}.")
        if pattern is None:
            continue
        criteria = tuple(criterion.replace("-", "_") for criterion in entry.texts("criteria") or [""])
        tags = tuple(entry.texts("tags") or [])
        targets.append(Target(pattern, criteria, tags, entry.flag("swappable_variables"), entry.place("pattern")))
    return targets
