"""WorldSense's block of a study: every setting with its type, bounds, default and meaning, and
what it means for the registry.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from worldprobe import engines
from worldprobe.benchmark import Study
from worldprobe.benchmarks.worldsense.engine import NAME, RULE
from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
from worldprobe.benchmarks.worldsense.known_rules import known_rules
from worldprobe.benchmarks.worldsense.outputs import (
    asked_models,
    asked_sets,
    main_set,
    released_trials,
)
from worldprobe.benchmarks.worldsense.skins.vocabulary import PLANS, PROBLEMS, has_one_domain
from worldprobe.errors import UserError, did_you_mean
from worldprobe.models.registry import refuse_prompted
from worldprobe.settings import Finding, complete_card
from worldprobe.settings.blocks import Block, Count, Distinct, Seed, Text, Whole
from worldprobe.sources import shipped_files

if TYPE_CHECKING:
    ProblemName = str
    SetName = str
else:  # those of extensions, too
    ProblemName, SetName = Literal[PROBLEMS], Literal[tuple(PLANS)]

#: Option of `worldsense generate` -> key of the block.
_OPTIONS = {
    "--skins": "skins",
    "--sizes": "sizes",
    "--problems": "problems",
    "--per-cell": "per_cell",
}
#: Tuples of a cell that every set has room for with the skins of the repository: as many as the
#: largest set contains.
_CERTAIN = 357


class TrialAsking(Block):
    """How trials are asked."""

    chat_template: Literal["auto", "never", "always"] = "auto"
    """Whether to ask through a model's chat template; auto does where the model's card says chat.
    Otherwise a trial is text that the model continues.
    """

    temperature: Annotated[float, Field(ge=0, le=100)] = 0
    """Sampling temperature; at 0 the likeliest token is taken, above it tokens are drawn."""

    samples: Count = 1
    """How often each trial is asked; more than once only with a temperature."""

    seed: Annotated[int, Field(ge=0, le=2**31)] = 0
    """Seed of the samples; sample k has this number plus k."""

    replies: Count | None = None
    """Largest number of trials of each set that are asked for a reply in words, sampled as whole
    tuples, in proportion from each problem, but one of each; by default all. Strategies that
    compare the answers' probabilities, such as `constrained`, ask about every trial.
    """

    thoughts: Whole = 0
    """Most tokens of thoughts, for models that think before they answer. They are in addition
    to each reply's own limit.
    """

    reading: Literal["explicit", "last_word"] = "explicit"
    """How replies are read: by what they say, with refusals and several answers flagged, or by
    their last word, the paper's rule. The report counts where the two differ. Paper: Section 4.2.
    """

    examples_seed: Seed = 0
    """Seed of the solved examples of `icl_iid` and `icl_ood`."""

    def findings(self) -> Iterator[Finding]:
        """Samples that would be alike."""
        if self.samples > 1 and not self.temperature:
            yield (
                ("samples",),
                "are all alike with temperature 0.",
                "Set a temperature above 0, or ask once.",
            )


class StudyAsking(TrialAsking):
    """How trials are asked in a study."""

    examples_per_cell: Count | None = None
    """Number of tuples of each kind from which examples are drawn; null takes each set's own, 31
    for `test`. They are generated with the seed after the study's.
    """

    max_requests: Count | None = None
    """Most requests to a server in one run of a model; null is no limit. Finished answers are kept,
    and the next run goes on.
    """

    max_tokens: Count | None = None
    """Most tokens that a server reads and writes in one run of a model; null is no limit."""


class Subset(Block):
    """Which trials of a set are generated, and in which words."""

    seed: Seed = 0
    """Seed of all draws."""

    sizes: Distinct[Annotated[int, Field(ge=3, le=8)]] = []
    """Numbers of entities that problems may have; an empty list leaves each set its own."""

    problems: Distinct[ProblemName] = []
    """Problems that are asked; an empty list leaves each set its own."""

    skins: Distinct[Text] = []
    """Skins that are used, as many of each domain; an empty list takes all of a set's."""

    per_cell: Count | None = None
    """Number of tuples for each problem, size, complexity, skin and wording; by default each
    set's own, 31 for `test`.
    """

    skin_folder: Text | None = None
    """Folder of skins; by default those of the repository."""

    wording_version: Annotated[int, Field(ge=1, le=4)] = 4
    """Version of the sets' wording; 1 to 3 make the sets of earlier releases again, byte for
    byte.
    """


class WorldSense(Subset):
    """Settings of WorldSense (arXiv 2311.15930)."""

    sets: Annotated[Distinct[SetName], Field(min_length=1)] = ["test"]
    """Sets of trials that the study generates; models are asked about all except those for
    training. test-new has two thirds as many trials as test.
    """

    released: Text | None = None
    """Folder of the authors' release (data/worldsense), whose trials are asked instead of ours;
    `resources/downloads/worldsense/data/worldsense` is fetched; null generates ours. `per_cell`
    and `seed` have then no effect.
    """

    per_cell: Count | None = 1
    """Number of tuples for each problem, size, complexity, skin and wording; null leaves each
    set its own, 31 for `test`.
    """

    limit: Count | None = None
    """Largest number of trials of each set that are asked, sampled as whole tuples, in proportion
    from each problem; by default all. Numbers of a sample are not compared with the published.
    """

    promptings: Distinct[Text] = ["constrained"]
    """Prompting strategies, as names of sets in `resources/prompts/worldsense`, or YAML files; with
    none, no model is asked. `constrained` is what small models can do; `basic`, `cot`, `icl_iid`,
    `icl_ood` and `basic_exchanged` are for models that converse.
    """

    other_promptings: Distinct[Text] | None = None
    """Prompting strategies for the sets beside the main one (`test`, where it is asked); null takes
    `promptings`. The paper asks other sets by `basic` alone. Paper: Section 5.3, Table 9.
    """

    models: Distinct[str] | None = None
    """Models that are asked, also others than the study's; null takes those of the study."""

    controls: Distinct[str] = [rule.model for rule in known_rules().values()]
    """Rules of the registry (engine rule) that are asked as well. They have no weights and behave
    as it is known; `rule_counting` never chains two clauses, and is what a model must beat.
    """

    asking: StudyAsking = StudyAsking()

    def findings(self) -> Iterator[Finding]:
        """Sets, skins and prompts that cannot be made or read."""
        yield from self._released_findings()
        if self.skin_folder is not None and not Path(self.skin_folder).is_dir():
            yield (
                ("skin_folder",),
                f"there is no folder {self.skin_folder}.",
                "Correct the path, or remove the key.",
            )
        else:
            yield from self._set_findings()
        for key in ("promptings", "other_promptings"):
            yield from self._prompting_findings(key)

    def _prompting_findings(self, key: str) -> Iterator[Finding]:
        """Strategies that cannot be read, that share a name, or that show what a set cannot have:
        examples of another domain where all skins are of one.
        """
        named, names = getattr(self, key), set()
        asked = [name for name in self.sets if not name.startswith("train-")]
        main = main_set(asked)
        is_main = key == "promptings"
        sets = main if is_main and self.other_promptings is not None else asked
        sets = sets if is_main else [name for name in asked if name not in main]
        for number, prompting in enumerate(named or ()):
            try:
                prompts = load_prompt_set(prompting)
            except UserError as error:
                yield (key, number), f"{error.where}: {error.problem}", error.fix
                continue
            if prompts.name in names:
                yield (
                    (key, number),
                    f"is the second set named {prompts.name}.",
                    "Give the file another name.",
                )
            names.add(prompts.name)
            if prompts.examples and prompts.examples.other_domain:
                for name in (prompt_set for prompt_set in sets if has_one_domain(prompt_set)):
                    problem = (
                        f"{prompts.name} shows examples of another domain, and all skins of the set"
                        f" {name} are of one."
                    )
                    fix = "Set other_promptings, e.g. [basic], or leave the set out."
                    yield (key, number), problem, fix

    def _released_findings(self) -> Iterator[Finding]:
        """Released trials are asked as they are, so they must be there, and nothing can be
        chosen about them.
        """
        if self.released is None:
            return
        for key in ("sizes", "problems", "skins"):
            if getattr(self, key):
                problem = "has no effect on released trials, which are asked whole."
                yield (key,), problem, "Remove the key, or set released: null."
        for number, name in enumerate(self.sets):
            if name.startswith("train-"):
                problem = f"{name}: the released training sets have no trials."
                yield ("sets", number), problem, "Remove it, or set released: null."
            elif (
                not Path(file := released_trials(self.released, name)).is_file()
                and file not in shipped_files()
            ):
                problem = f"there is no file {file}."
                fix = (
                    "Clone github.com/facebookresearch/worldsense (CC BY-NC 4.0) and name its"
                    " folder data/worldsense."
                )
                yield ("released",), problem, f"{fix} Our own trials: config/worldsense_ours.yaml."

    def _set_findings(self) -> Iterator[Finding]:
        """Faults for which `worldsense generate` would refuse a set. All sets without choices of
        the user's can be made.
        """
        is_large = (self.per_cell or 0) > _CERTAIN
        is_former = self.wording_version == 1  # without test-new
        if not (
            is_large or is_former or self.skins or self.sizes or self.problems or self.skin_folder
        ):
            return
        # Every job of Snakemake reads the configuration; only those of such a study wait for
        # pandas.
        from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
        from worldprobe.benchmarks.worldsense.trials.sets import blocks_of, plan_set

        try:
            skins = read_skins(self.skin_folder or FOLDER, self.wording_version)
        except UserError as error:
            yield ("skin_folder",), f"{error.where}: {error.problem}", error.fix
            return
        for name in self.sets:
            try:
                blocks_of(
                    plan_set(name, self.sizes, self.problems, self.per_cell), skins, self.skins
                )
            except UserError as error:
                yield (
                    (_OPTIONS.get(str(error.where), "skins"),),
                    f"set {name}: {error.problem}",
                    error.fix,
                )


def complete_registry(
    study: Study, registry: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The registry with the rules that it lacks, once every model that is asked can be.

    Raises:
        UserError: a control is not in the registry, or has weights; or a model is not in the
            registry.
    """
    block = study["worldsense"]
    if not block["promptings"] or not asked_sets(study):
        return registry
    for rule in known_rules().values():  # every study knows them, also with a registry of its own
        name, shared = rule.model, {"engine": NAME, "family": "rule"}
        rule_card = complete_card(name, checkpoint=rule.name, display_name=name, **shared)
        registry = {**registry, name: registry.get(name, rule_card)}
    rules = [
        model for model, card in registry.items() if engines.of(card).benchmark == RULE.benchmark
    ]
    for model in block["controls"]:
        if model not in rules:
            problem = f"{model} is not a rule of the registry{did_you_mean(model, rules)}"
            raise UserError("worldsense.controls", problem, f"Choose from {', '.join(rules)}.")
    for model in study["models"]:
        if study["ewok"] is not None and model in rules:
            problem = (
                f"{model} is a rule for WorldSense's trials, and EWoK asks about other things."
            )
            raise UserError("models", problem, "Name it in worldsense.controls.")
    for model in asked_models(study):
        if model not in registry:
            problem = f"{model} is not in the registry{did_you_mean(model, registry)}"
            raise UserError(
                "worldsense.models", problem, "Correct the name, or add an entry to the registry."
            )
    fix = (
        "Leave it out of worldsense.models (null means all models of the study), or name other"
        " benchmarks."
    )
    refuse_prompted(registry, asked_models(study), "worldsense.models", fix)
    return registry
