"""Materials in EWoK's official layout, a folder or ZIP of YAML and CSV: domains with concepts, targets, contexts and fillers."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import yaml

from worldprobe.archives import Archive
from worldprobe.benchmarks.ewok.materials.documents import Document, Entry, Place, Problems, compose, members
from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.benchmarks.ewok.materials.slots import FillerClass, read_filler_class
from worldprobe.commented_csv import COMMENT
from worldprobe.errors import UserError, did_you_mean

PASSWORD_VARIABLE = "WORLDPROBE_MATERIALS_PASSWORD"
_PASSWORD_HINT = (
    f"Give --password, or set {PASSWORD_VARIABLE} or materials.password; for EWoK's own materials, their README states it."
)
#: Folders of the layout; nothing else in a folder of materials is read, or moves its digest.
_FOLDERS = ("concepts", "contexts", "fillers", "targets", "utils")


class Source:
    """The files below the folder that contains ``contexts/``, by relative name.

    Args:
        path: a folder in the official layout (or its parent), or such a folder in a ``.zip``.
        password: of the archive; never logged, never stored.

    Raises:
        UserError: no such place, no materials in it, or several.
    """

    def __init__(self, path: Path | str, password: str | None = None) -> None:
        self.path = Path(path)
        self._archive = Archive(path, password, _PASSWORD_HINT)
        self._contents: dict[str, bytes] = {}
        roots = {name[: -len(rest)] for name in self._archive.names for rest in [_below_root(name)] if rest}
        if len(roots) != 1:
            none = "contains no folder contexts/ with files context-<domain>-<subdomain>.yml"
            found = f"contains several materials: {', '.join(sorted(root or './' for root in roots))}" if roots else none
            raise UserError(self.path, f"{found}.", "Give the folder that contains contexts/, concepts/, targets/ and fillers/.")
        self._root = roots.pop()
        names = (name.removeprefix(self._root) for name in self._archive.names if name.startswith(self._root))
        self.names = sorted(name for name in names if name.partition("/")[0] in _FOLDERS)

    def read(self, name: str) -> bytes:
        """The bytes of one file; what was read once is kept.

        Raises:
            UserError: it cannot be read, or the password is missing or wrong.
        """
        if name not in self._contents:
            self._contents[name] = self._archive.read(self._root + name)
        return self._contents[name]

    def digest(self) -> str:
        """SHA-256 of the archive, or of the folder's files that belong to the layout."""
        return self._archive.digest(self._root + name for name in self.names)


def _below_root(name: str) -> str:
    """``contexts/context-x-y.yml`` for any name that ends so, else nothing."""
    parts = PurePosixPath(name).parts
    if len(parts) >= 2 and parts[-2] == "contexts" and parts[-1].startswith("context-") and parts[-1].endswith(".yml"):
        return "/".join(parts[-2:])
    return ""


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


@dataclass(frozen=True)
class Target:
    """A target pattern, such as ``[agent1] can {CONCEPT} [object1]``.

    Attributes:
        criteria: attributes of concepts that call for this target, any one of them; an empty one: it serves all concepts.
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


@dataclass(frozen=True)
class Materials:
    """Everything that was read, and how.

    Attributes:
        source: for the digest and the release lists.
        rules: which behaviours of the original are kept.
        domains: sorted by name; without those whose files could not be read.
        fillers: by class.
        canary: the files' canary lines, to be carried wherever their text goes.
        problems: what is wrong so far.
    """

    source: Source
    rules: Rules
    domains: tuple[Domain, ...]
    fillers: dict[str, FillerClass]
    canary: str | None
    problems: Problems


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
