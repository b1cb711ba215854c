"""Settings of a study about people: lists of questions, whose answers count, simulated people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from worldprobe.benchmarks.ewok import settings
from worldprobe.settings.blocks import (
    Block,
    Count,
    Distinct,
    Finding,
    PartialShare,
    Seed,
    Share,
    Text,
    Whole,
)

SIMULATED = "simulated"
#: What the paper did with people (Appendix A.1), and what it did not do.
PAPER: Mapping[str, Mapping[str, Any]] = {
    "lists": {
        "select": "all",
        "unit": "template",
        "per_domain": True,
        "shortest": 1,
        "longest": 10_000,
        "catch": 0,
        "rounds": 1,
    },
    "cleaning": {
        "skip": [],
        "failed_catch": 0,
        "too_fast_ms": 0,
        "isc": 0.3,
        "passes": 0,
        "minimum": 5,
        "below_minimum": "keep",
    },
}


class Lists(Block):
    """Lists of questions for people. Paper: Appendix A.1."""

    paradigms: Annotated[Distinct[Literal["likert", "choice"]], Field(min_length=1)] = ["likert"]
    """Ways of asking people; nobody is asked in both."""

    select: Literal["all", "context_pairs"] = "all"
    """Which items people are asked about. `context_pairs` is one item for every pair of contexts,
    the one with the shortest targets: enough for norms of materials whose templates repeat
    contexts, or only put a frame around a target.
    """

    unit: Literal["template", "meta_template", "shared_text"] = "shared_text"
    """What nobody sees twice. `shared_text` is all templates that share a sentence, `meta_template`
    all of one target and context. `template` is one template with its versions, as in the paper; a
    sentence of two templates then counts for one.
    """

    per_domain: bool = False
    """Whether each list is of one domain, as in the paper. Otherwise each list has its share of all
    domains.
    """

    shortest: Count = 40
    """Fewest trials that a list should have; shorter lists are reported."""

    longest: Count = 80
    """Most trials that a list may have, catch trials not counted. Templates are dealt out to more
    lists until none is longer.
    """

    catch: Annotated[int, Field(ge=0, le=20)] = 2
    """Number of catch trials in each list, which say what to answer."""

    rounds: Annotated[int, Field(ge=1, le=100)] = 1
    """How often everything is asked, each time in other lists, so that the same people do not
    always meet.
    """

    seed: Seed = 0
    """Seed of the lists."""

    def findings(self) -> Iterator[Finding]:
        """Lengths that exclude each other."""
        if self.shortest > self.longest:
            problem = f"{self.shortest} is more than longest ({self.longest})."
            yield ("shortest",), problem, "Exchange the two, or lower it."


class Cleaning(Block):
    """Whose answers count. Paper: Appendix A.1."""

    skip: Distinct[
        Literal[
            "returned",
            "incomplete",
            "duplicates",
            "invalid_answer",
            "failed_catch",
            "too_fast",
            "isc",
            "minimum",
        ]
    ] = []
    """Steps of cleaning to leave out. In their order: `returned` (given back on the platform),
    `incomplete`, `duplicates` (the first session counts), `invalid_answer`, `failed_catch`,
    `too_fast`, `isc` (correlation with the others), `minimum` (answers per sub-item).
    """

    failed_catch: Annotated[int, Field(ge=0, le=20)] = 2
    """Number of failed catch trials from which a person is left out; 0 is no limit."""

    too_fast_ms: Annotated[float, Field(ge=0)] = 1000
    """Lowest median time per answer in milliseconds; 0 is no limit, as in the paper. Nobody reads
    these sentences in a second.
    """

    isc: Annotated[float, Field(ge=-1, le=1)] = 0.3
    """Lowest correlation of a person with the mean of the others (inter-subject correlation). Those
    who give one answer to everything are left out, too. Paper: Section 4.4.
    """

    passes: Whole = 0
    """How often the correlations are computed and people below the limit left out, at most; 0
    repeats this until nobody is below it, as in the paper.
    """

    min_corated: Annotated[int, Field(ge=3)] = 5
    """Number of answers in common with others that a correlation needs. With fewer, a person is
    kept and counted.
    """

    minimum: Count = 5
    """Number of answers that a sub-item should have; those with fewer are listed."""

    below_minimum: Literal["keep", "drop"] = "keep"
    """What becomes of sub-items with fewer answers. The paper kept them."""


class RaterKinds(Block):
    """Share of the people who are not good raters, by kind."""

    reversed: Share = 0
    """Share of people whose scale is upside down."""

    random: Share = 0
    """Share of people who guess."""

    constant: Share = 0
    """Share of people who give one answer to all."""

    straight_liner: Share = 0
    """Share of people who give one answer for a dozen trials, then another."""

    fast: Share = 0
    """Share of people who guess in no time."""

    def findings(self) -> Iterator[Finding]:
        """Shares of more than everybody."""
        if (total := sum(share for _, share in self)) > 1:
            yield (), f"the shares add up to {total:g}.", "Lower them to 1 or less in all."


class Simulation(Block):
    """Simulated people, for `responses: simulated`."""

    people_per_list: Annotated[int, Field(ge=1, le=1000)] = 5
    """Number of simulated people who take each list."""

    noise: Share = 0.22
    """Share of a good rater's answers that are guesses. With the default, the median correlation
    with the others is about 0.79, as in the paper.
    """

    domain_noise: dict[str, Share] = {}
    """Domains with another share of guesses, by name."""

    kinds: RaterKinds = RaterKinds()

    abandon: PartialShare = 0
    """Share of the people who leave before the end."""

    seed: Seed = 0
    """Seed of the simulated answers."""


class Human(settings.Human):
    """Answers of people."""

    responses: Text | None = None
    """A folder that `human export` wrote, to be cleaned and judged, or `simulated`. See
    [docs/extras/human_study.md](../docs/extras/human_study.md). Paper: Section 4.4."""

    key: Text | None = None
    """The answer key of the lists that people saw; null is the key of the lists that this study
    makes. These are the same as long as items and settings are.
    """

    study: Literal["configured", "paper"] = "configured"
    """Whether lists and cleaning follow the keys below, or are the paper's whatever these say. The
    paper had lists of one domain, no catch trials, and no limit except the correlation. Paper:
    Appendix A.1.
    """

    lists: Lists = Lists()
    cleaning: Cleaning = Cleaning()
    simulation: Simulation = Simulation()

    @model_validator(mode="after")
    def _as_in_the_paper(self) -> Human:
        if self.study == "paper":
            self.lists = self.lists.model_copy(update=PAPER["lists"])
            self.cleaning = self.cleaning.model_copy(update=PAPER["cleaning"])
        return self

    def findings(self) -> Iterator[Finding]:
        """People who would be judged twice, and files that are not there."""
        if self.ratings and self.responses:
            problem = "both ratings and responses are given, so people would be judged twice."
            yield ("responses",), problem, "Leave one of them null."
        yield from super().findings()
        for key in ("responses", "key"):
            yield from settings.missing((key,), getattr(self, key), (SIMULATED,))
