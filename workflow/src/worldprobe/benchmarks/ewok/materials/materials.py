"""Materials in EWoK's official layout, a folder or ZIP of YAML and CSV: domains with concepts,
targets, contexts and fillers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, create_model

from worldprobe.archives import Archive
from worldprobe.benchmarks.ewok.materials.documents import (
    E,
    Entry,
    Flag,
    MaterialsLine,
    OptionalText,
    OptionalTexts,
    Problems,
    Text,
    TextOrTexts,
    parse_entry,
    read_document,
    texts,
)
from worldprobe.benchmarks.ewok.materials.fillers import FillerClass, read_filler_class
from worldprobe.benchmarks.ewok.materials.language import FILE as LANGUAGE
from worldprobe.benchmarks.ewok.materials.language import read_language
from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.benchmarks.ewok.vocabulary import PASSWORD_HINT
from worldprobe.commented_csv import COMMENT, read_frame
from worldprobe.errors import UserError, did_you_mean
from worldprobe.settings.documents import Keys, Source, find_decomposed, parse_yaml

if TYPE_CHECKING:
    import pandas as pd

#: Folders and the file of the layout; nothing else there is read, or moves the digest.
_FOLDERS = (
    "concepts",
    "contexts",
    "families",
    "fillers",
    "targets",
    "utils",
    LANGUAGE,
    "language.yaml",
)


class MaterialsFiles:
    """The files below the folder that contains ``contexts/``, by relative name.

    Args:
        path: a folder in the official layout (or its parent), or such a folder in a ``.zip``.
        password: of the archive; never logged, never stored.

    Raises:
        UserError: no such place, no materials in it, or several.
    """

    def __init__(self, path: Path | str, password: str | None = None) -> None:
        self.path = Path(path)
        self._archive = Archive(path, password, PASSWORD_HINT)
        self._contents: dict[str, bytes] = {}
        roots = set()
        for name in self._archive.names:
            if rest := _below_root(name):
                roots.add(name[: -len(rest)])
        if len(roots) != 1:
            none = "contains no folder contexts/ with files context-<domain>-<subdomain>.yml"
            problem = (
                f"contains several materials: {', '.join(sorted(root or './' for root in roots))}"
                if roots
                else none
            )
            raise UserError(
                self.path,
                f"{problem}.",
                "Give the folder that contains contexts/, concepts/, targets/ and fillers/.",
            )
        self._root = roots.pop()
        names = (
            name.removeprefix(self._root)
            for name in self._archive.names
            if name.startswith(self._root)
        )
        self.names = sorted(name for name in names if name.partition("/")[0] in _FOLDERS)

    def read(self, name: str) -> bytes:
        """The bytes of one file; what was read once is kept.

        Raises:
            UserError: it cannot be read, or the password is missing or wrong.
        """
        if name not in self._contents:
            self._contents[name] = self._archive.read(self._root + name)
        return self._contents[name]

    def read_list(self, name: str, columns: Sequence[str]) -> pd.DataFrame:
        """A CSV file that lists something of the materials, all cells as text.

        Raises:
            UserError: as ``read_frame``.
        """
        return read_frame(f"{self.path}, {name}", self.read(name), columns)

    def digest(self) -> str:
        """SHA-256 of the archive, or of the folder's files that belong to the layout."""
        return self._archive.digest(self._root + name for name in self.names)


def _below_root(name: str) -> str:
    """``contexts/context-x-y.yml`` for any name that ends so, else nothing."""
    parts = PurePosixPath(name).parts
    if (
        len(parts) >= 2
        and parts[-2] == "contexts"
        and parts[-1].startswith("context-")
        and parts[-1].endswith(".yml")
    ):
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
#: How a concept reads that has one form, in another language than English.
FORM = "form"
#: Kind of concept -> the further keys its entries may have.
KEYS: dict[str, tuple[str, ...]] = {
    "relation": ("directional", "plural_form", "prepositional_form", "symmetric"),
    "action": (
        "agentive",
        "non_agentive",
        "swappable_variables",
        "ing_form",
        "present_3sg_form",
        "symmetric",
    ),
    "material property": ("object_level", "surface_level"),
    "agent property": (
        *("agentive", "comparative", "intent_based", "symmetric"),
        *_AGENT_FLAGS,
        *("ing_form", "present_3sg_form", "present_modal_form"),
    ),
    "general": (*_FLAGS, *_FORMS),
}
#: Keys that contain text; all others are flags.
TEXT_KEYS = (*ALWAYS, *_FORMS)


@cache
def concept_class(
    kind: str, flags: frozenset[str] = frozenset(), forms: frozenset[str] = frozenset()
) -> type[Entry]:
    """Schema of the entries of a kind of concepts, with the flags and forms that their materials
    add.
    """
    fields: dict[str, Any] = {
        key: (OptionalText if key in {*TEXT_KEYS, *forms} else Flag, None)
        for key in (*KEYS[kind], *flags, *forms)
    }
    fields |= {
        "concept": (Text, ...),
        "domain": (OptionalText, ...),
        "concept_type": (OptionalText, ...),
    }
    fields |= {"opposite_concepts": (TextOrTexts, None), "similar_concepts": (Any, None)}
    return create_model(kind, __base__=Entry, **fields)


@dataclass(frozen=True)
class Concept:
    """One entry of a concept file.

    Attributes:
        name: the concept, as sentences name it.
        kind: one of ``KEYS``; it follows from the entry's type and its own domain label.
        opposites: names of opposite concepts.
        attributes: flags and word forms that the entry states.
        place: file and line of the entry.
    """

    name: str
    kind: str
    opposites: tuple[str, ...] = ()
    attributes: dict[str, str | bool] = field(default_factory=dict)
    place: MaterialsLine = field(default=MaterialsLine(""), compare=False)

    def has(self, attribute: str, rules: Rules) -> bool:
        """Whether the concept meets a criterion of a target.

        Raises:
            KeyError: concepts of this kind have no such attribute.
        """
        if attribute in self.attributes:
            return bool(self.attributes[attribute])
        if attribute not in attributes_of(self.kind):
            raise KeyError(attribute)
        return attribute in ("concept", "domain", "concept_type") or (
            rules.forms_always_true and attribute in _FORMS
        )

    def is_symmetric(self) -> bool:
        """Whether exchanging the two variables changes nothing."""
        return bool(self.attributes.get("symmetric", False))

    def is_opposite_of(self, other: Concept) -> bool:
        """Whether each concept names the other as its opposite."""
        return other.name in self.opposites and self.name in other.opposites


def concept_kind(concept_type: str, domain: str) -> str:
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
    """Attributes of concepts of a kind that targets may ask for."""
    return (*ALWAYS, *_FLAGS, *_FORMS, *(_AGENT_FLAGS if kind == "agent property" else ()))


def surface_form(concept: Concept, tags: Sequence[str], rules: Rules) -> str:
    """The concept as a target's sentence needs it: the first tag that names a form decides. In
    another language than English each form is stated, and the name is the English one.

    >>> eat = Concept("carry", "action")
    >>> (
    ...     surface_form(eat, ["present_3sg_form"], Rules()),
    ...     surface_form(eat, ["ing_form"], Rules()),
    ...     surface_form(eat, [], Rules()),
    ... )
    ('carries', 'carrying', 'carry')
    """
    tag = next((tag for tag in tags if "form" in tag), None)
    if not rules.language.is_english:
        if not (form := concept.attributes.get(tag or FORM)):
            problem = f'"{concept.name}" has no {tag or FORM}, which a target needs.'
            fix = f"Write {tag or FORM}: and how the concept reads in its sentence."
            raise UserError(concept.place, problem, fix)
        return str(form)
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


ContextType = Annotated[Literal["direct", "indirect"] | None, OptionalText.__metadata__[0]]


def _criteria(value: Any, context: ValidationInfo) -> Any:
    criteria = texts(value, context) or [""]
    return [text.replace("-", "_") for text in criteria] if isinstance(criteria, list) else criteria


class Target(Entry):
    """A target pattern, such as ``[agent1] can {CONCEPT} [object1]``.

    Attributes:
        criteria: attributes of concepts that call for this target, any one of them; an empty one:
            it serves all concepts.
        tags: which form of the concept the sentence needs.
        is_swappable: whether its variables may be exchanged.
        symmetric: occurs in official targets, without effect.
    """

    pattern: Text
    criteria: Annotated[tuple[str, ...], BeforeValidator(_criteria)]
    tags: Annotated[
        tuple[str, ...], BeforeValidator(lambda value, context: texts(value, context) or [])
    ]
    is_swappable: Flag = Field(False, alias="swappable_variables")
    symmetric: Any = None


class Segment(Entry):
    """Texts of a probe's ``{segment1}``, ... for concept A and for concept B. None: there is no
    second text.
    """

    texts_a: OptionalTexts = Field(alias="segmentA")
    texts_b: OptionalTexts = Field(alias="segmentB")
    contrast: OptionalText = None
    context_type: ContextType = Field(None, alias="type")


class Probe(Entry):
    """A context pattern with its pairs of segments."""

    pattern: Text
    segments: tuple[Segment, ...]
    context_type: ContextType = Field(None, alias="type")
    is_swappable: Flag = Field(False, alias="swappable_variables")


class MetaTemplate(Entry):
    """The contexts for one concept, or for a pair of them."""

    concept_a: Text = Field(alias="conceptA")
    concept_b: OptionalText = Field(alias="conceptB")
    probes: tuple[Probe, ...]


class Level(Entry):
    """One level of a base: the two contexts, the first of which fits the first target."""

    level: int
    contexts: Annotated[tuple[Text, Text], BeforeValidator(texts)]


class Base(Entry):
    """Templates that differ in one thing only, the level: the same targets after other contexts.

    Attributes:
        name: of the base, distinct within its family.
        domain: one of the materials' domains.
        concepts: what the targets ask about.
        targets: the first fits the first context of each level.
        contrast: how the contexts of a level differ.
        levels: at least two.
    """

    name: Text = Field(alias="base")
    domain: Text
    concepts: Annotated[tuple[Text, Text], BeforeValidator(texts)]
    targets: Annotated[tuple[Text, Text], BeforeValidator(texts)]
    contrast: OptionalText = None
    context_type: ContextType = Field("indirect", alias="type")
    levels: Annotated[tuple[Level, ...], Field(min_length=2)]


@dataclass(frozen=True)
class Domain:
    """All that one domain's templates are compiled from.

    Attributes:
        name: of the domain.
        meta_templates: the contexts of each concept or pair.
        concepts: name -> concept.
        targets: of its target file.
        target_file: the name of that file.
        flags: of concepts, beyond those of EWoK's own materials: any that a target asks for.
    """

    name: str
    meta_templates: tuple[MetaTemplate, ...]
    concepts: dict[str, Concept]
    targets: tuple[Target, ...]
    target_file: str
    flags: frozenset[str] = frozenset()


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
        families: bases by the family that they are of.
    """

    source: MaterialsFiles
    rules: Rules
    domains: tuple[Domain, ...]
    fillers: dict[str, FillerClass]
    canary: str | None
    problems: Problems
    families: dict[str, tuple[Base, ...]] = field(default_factory=dict)


def read_materials(
    path: Path | str | MaterialsFiles,
    rules: Rules,
    password: str | None = None,
    is_lenient: bool = False,
) -> Materials:
    """Read all files; what is wrong inside them is collected in ``problems``, not raised.

    Args:
        path: a folder, a ``.zip`` file, or a source that is open already.
        rules: which behaviours of the original are kept.
        password: of the ``.zip`` file.
        is_lenient: let pass, with a warning, what the original lets pass.

    Raises:
        UserError: the materials cannot be opened at all.
    """
    source = path if isinstance(path, MaterialsFiles) else MaterialsFiles(path, password)
    problems = Problems(is_lenient)
    canaries: dict[str, None] = {}

    def content(file: str) -> bytes:
        read = source.read(file)
        canaries.update(dict.fromkeys(canary_lines(read)))
        if decomposed := find_decomposed(file, read):
            problems.add(decomposed, problems.refuse)
        return read

    if LANGUAGE in source.names:
        language = read_language(parse_yaml(LANGUAGE, content(LANGUAGE)))
        rules = replace(rules, language=language)
    fillers: dict[str, FillerClass] = {}
    for file in source.names:
        if match := re.fullmatch(r"fillers/filler-(.+)\.csv", file):
            fillers[match[1]] = read_filler_class(file, match[1], content(file), problems, rules)
    domains = []
    spelt: dict[str, str] = {}
    for file in source.names:
        if re.fullmatch(r"((contexts|concepts|targets)/[^/]+|language)\.yaml", file):
            problems.error(
                MaterialsLine(file), 'ends in ".yaml"; only ".yml" is read.', "Rename it."
            )
        match = re.fullmatch(r"contexts/context-(.+)\.yml", file)
        if not match:
            continue
        name = match[1]
        if not re.fullmatch("[A-Za-z0-9]+-[A-Za-z0-9]+", name):
            fix = "Rename it; both parts consist of letters a-z and digits."
            problems.error(
                MaterialsLine(file), "is not named context-<domain>-<subdomain>.yml.", fix
            )
            continue
        if (twin := spelt.setdefault(name.lower(), file)) != file:
            problem = (
                f"differs from {twin} only in capitals, so some file systems take the two for one."
            )
            problems.refuse(
                MaterialsLine(file), problem, "Rename one of them, with its concepts and targets."
            )
        if domain := _read_domain(name, file, source, content, problems, rules):
            domains.append(domain)
    families = _read_families(source, content, problems, rules)
    return Materials(
        source, rules, tuple(domains), fillers, "\n".join(canaries) or None, problems, families
    )


def _read_domain(
    name: str,
    file: str,
    source: MaterialsFiles,
    content: Callable[[str], bytes],
    problems: Problems,
    rules: Rules,
) -> Domain | None:
    files = {
        "concepts": f"concepts/concept-{name}.yml",
        "targets": f"targets/target-{name}.yml",
        "contexts": file,
    }
    for folder, partner in files.items():
        if partner not in source.names:
            near = did_you_mean(partner, [n for n in source.names if n.startswith(f"{folder}/")])
            problem = f"there is no {partner} for it{near}"
            problems.error(MaterialsLine(file), problem, "Add or rename that file.")
    documents = [
        read_document(path, content(path), problems)
        for path in files.values()
        if path in source.names
    ]
    if len(documents) < len(files) or not all(documents):
        return None
    concepts, targets, contexts = (
        _Reader(document, problems, rules) for document in documents if document
    )
    meta_templates, read_targets = contexts.entries(MetaTemplate), targets.entries(Target, name)
    flags = concepts.added_flags({each for target in read_targets for each in target.criteria})
    read_concepts = concepts.concepts(flags)
    return Domain(name, meta_templates, read_concepts, read_targets, files["targets"], flags)


def _read_families(
    source: MaterialsFiles, content: Callable[[str], bytes], problems: Problems, rules: Rules
) -> dict[str, tuple[Base, ...]]:
    families = {}
    for file in source.names:
        if not file.startswith("families/"):
            continue
        named = re.fullmatch(r"families/family-([a-z]+)\.yml", file)
        if not named:
            problems.error(
                MaterialsLine(file),
                "is not named family-<name>.yml.",
                "Rename it; the name consists of letters a-z.",
            )
        elif document := read_document(file, content(file), problems):
            families[named[1]] = _Reader(document, problems, rules).entries(Base)
    return families


def canary_lines(content: bytes) -> list[str]:
    r"""The comment lines at the top of a file that speak of a canary.

    >>> canary_lines(b"# MINE canary GUID 1234\n- concept: lift\n")
    ['# MINE canary GUID 1234']
    >>> canary_lines(b'"# MINE canary, GUID 1234",,\nitem,tall,sex\n')  # a spreadsheet saved it
    ['# MINE canary, GUID 1234']
    """
    lines = []
    for line in (
        content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace").splitlines()
    ):
        if not line.startswith(COMMENT):
            break
        text = next(csv.reader([line]))[0] if line.startswith('"') else line
        if "canary" in text.lower():
            lines.append(text.strip())
    return lines


@dataclass(frozen=True)
class _Reader:
    """Reads the entries of one file."""

    source: Source
    problems: Problems
    rules: Rules

    def entries(self, kind: type[E], *above: str) -> tuple[E, ...]:
        """The entries of a list that fit their class; others are noted.

        Args:
            kind: their class.
            above: the only key of the file, if the list is below one.
        """
        parsed = (
            parse_entry(kind, self.source, keys, self.problems, self.rules)
            for keys in self._places(*above)
        )
        return tuple(entry for entry in parsed if entry is not None)

    def added_flags(self, criteria: Set[str]) -> frozenset[str]:
        """Flags that concepts state, targets ask for and EWoK's own materials do not have."""
        document = self.source.document if isinstance(self.source.document, list) else []
        entries = [entry for entry in document if isinstance(entry, dict)]
        stated = {str(key).replace("-", "_") for entry in entries for key in entry}
        keys = {*TEXT_KEYS, *_FLAGS, *_AGENT_FLAGS, *KEYS["relation"]}
        return frozenset(
            name
            for name in (stated & criteria) - keys
            if name.isidentifier() and not name.startswith("_")
            if not name.endswith(("_form", "_concepts")) and not hasattr(Entry, name)
            if name not in Entry.model_fields
        )

    def concepts(self, flags: frozenset[str]) -> dict[str, Concept]:
        """The concepts of a file, by name; of two with one name the last.

        Args:
            flags: those of ``added_flags``; a concept that does not state one has it not.
        """
        concepts: dict[str, Concept] = {}
        for keys in self._places():
            number = keys[0]
            fields = self.source.document[number]
            if not isinstance(fields, dict):
                fields = {}
            elif hyphens := [
                key for key in fields if "-" in key
            ]:  # ``non-agentive`` may be written for ``non_agentive``
                for key in hyphens:
                    if (twin := key.replace("-", "_")) in fields:
                        where = MaterialsLine(self.source.name, self.source.lines[number, key])
                        self.problems.refuse(
                            where,
                            f"{key} and {twin} are one key; the last one counts.",
                            "Keep one of the two.",
                        )
                self.source.document[number] = fields = {
                    key.replace("-", "_"): value for key, value in fields.items()
                }
            kind = concept_kind(str(fields.get("concept_type", "")), str(fields.get("domain", "")))
            forms = frozenset(
                key for key in fields if not self.rules.language.is_english and key.endswith(FORM)
            )
            entry: Any = parse_entry(
                concept_class(kind, flags, forms),
                self.source,
                keys,
                self.problems,
                self.rules,
                True,
            )
            if entry is None:
                continue
            concept_type = entry.concept_type
            if concept_type not in (None, *CONCEPT_TYPES):
                near = did_you_mean(
                    concept_type, CONCEPT_TYPES, f"; the types are {', '.join(CONCEPT_TYPES)}."
                )
                self.problems.refuse(
                    entry.place, f'unknown concept_type "{concept_type}"{near}', "Correct it."
                )
            stated = {key: getattr(entry, key) for key in fields if not key.endswith("_concepts")}
            attributes: dict[str, str | bool] = dict.fromkeys(sorted(flags), False)
            attributes |= {key: value for key, value in stated.items() if value is not None}
            concept = Concept(
                entry.concept,
                kind,
                self._opposites(entry.opposite_concepts),
                attributes,
                entry.place,
            )
            if concept.name in concepts:
                complain = (
                    self.problems.warn
                    if concepts[concept.name] == concept
                    else self.problems.refuse
                )
                line = concepts[concept.name].place.line
                complain(
                    entry.place,
                    f'"{concept.name}" is already in line {line}; the last one counts.',
                    "Keep one of the two.",
                )
            concepts[concept.name] = concept
        return concepts

    def _opposites(self, opposites: str | tuple[str, ...] | None) -> tuple[str, ...]:
        if not isinstance(opposites, str):
            return opposites or ()
        parts = opposites.split(",")
        return (
            tuple(parts)
            if self.rules.opposites_untrimmed
            else tuple(part.strip() for part in parts if part.strip())
        )

    def _places(self, *above: str) -> Iterator[Keys]:
        """Where the entries are."""
        entries = self.source.document
        if above:
            entries = entries if isinstance(entries, dict) else {}
            for key in [key for key in entries if key not in above]:
                where = MaterialsLine(self.source.name, self.source.lines[key,])
                self.problems.refuse(
                    where, f'unknown key "{key}"{did_you_mean(key, above)}', "Rename or remove it."
                )
            entries = entries.get(*above)
        if isinstance(entries, list):
            for number in range(len(entries)):
                keys: Keys = (*above, number)
                yield keys
        else:
            what, fix = "is not a list of entries.", "Start each entry with a dash."
            if above:
                what, fix = (
                    f'has no list "{above[0]}".',
                    f'Write "{above[0]}:", and below it the entries, each with a dash.',
                )
            self.problems.error(MaterialsLine(self.source.name, 1), what, fix)
