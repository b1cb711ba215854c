"""What materials contain: domains with concepts, targets and contexts, and classes of fillers."""

from __future__ import annotations

from dataclasses import dataclass

from worldprobe.benchmarks.ewok.materials.concepts import Concept
from worldprobe.benchmarks.ewok.materials.fillers import FillerClass
from worldprobe.benchmarks.ewok.materials.problems import Place, Problems
from worldprobe.benchmarks.ewok.materials.rules import Rules
from worldprobe.benchmarks.ewok.materials.source import Source


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
