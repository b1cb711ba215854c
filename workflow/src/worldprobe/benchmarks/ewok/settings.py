"""EWoK's block of a study: every setting with its type, bounds, default and meaning, and what
contradicts what.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from worldprobe.benchmarks.ewok.study import chosen_mode, language_in, prompt_file, prompts_in
from worldprobe.errors import UserError
from worldprobe.paths import materials_place
from worldprobe.settings.blocks import (
    Block,
    Count,
    Distinct,
    Finding,
    Seed,
    Text,
    Whole,
    absent,
    name,
)
from worldprobe.sources import shipped_files

MOST_VERSIONS = 1000
#: Settings of items that a way of filling does not use.
_UNUSED = {
    "fixed": {"per_template", "seed"},
    "balanced": {"per_template"},
    "independent": {"versions"},
}


class Materials(Block):
    """Materials that templates are compiled from."""

    source: Text = "builtin"
    """Where the materials are: `builtin`, which is the newest edition of our own (`builtin@4`), or
    an earlier one, `builtin@1` to `builtin@3`; or a folder in the format of EWoK's config folder,
    or a .zip of one. Paper: Section 3.
    """

    password: Annotated[str | None, Field(json_schema_extra={"writeOnly": True})] = "ewok"
    """Password of the .zip, in quotes. The environment variable `WORLDPROBE_MATERIALS_PASSWORD`
    takes precedence, and is the better place for a secret.
    """

    compat: bool = False
    """Whether to compile exactly as the original did, its quirks included. Paper: Section 3."""

    release_filter: bool = False
    """Whether to keep only the items of the official release (official materials only). Paper:
    Section 4.
    """

    def findings(self) -> Iterator[Finding]:
        """Materials that are not there."""
        try:
            yield from missing(("source",), materials_place(self.source))
        except UserError as error:
            yield ("source",), f"{self.source}: {error.problem}", error.fix


#: The first and the last version, or one alone.
Versions = Annotated[
    str,
    Field(pattern=r"^\d+(-\d+)?$"),
    BeforeValidator(lambda value: str(value) if type(value) is int else value),
]


class FillingSettings(Block):
    """How templates are filled."""

    mode: Literal["auto", "fixed", "balanced", "independent"] = "auto"
    """How templates are filled. `fixed`: a version has one filling for all templates, as in the
    EWoK paper, so all of them use the same few names, of one sex and origin. `balanced`: each
    template has fillings of its own; all listed fillers occur about equally often in a version, and
    so do names of each sex and origin in each domain and role. `independent`: every item is sampled
    on its own. `auto`: `balanced` for `builtin@2` and later, otherwise `fixed`, as for the
    published numbers.
    """

    versions: Versions = "0-4"
    """Versions of the fixed or balanced filling, first and last, such as "0-4"."""

    per_template: Annotated[int, Field(ge=1, le=1000)] = 5
    """Number of items per template in the independent mode."""

    seed: Seed = 0
    """Seed of the balanced and the independent mode; with `compat`, what the original
    generator calls version.
    """

    swap: Distinct[Annotated[str, Field(pattern=r"^\s*[^\s,>-][^,>]*->\s*[^\s,>-][^,>]*$")]] = []
    """Filler swaps such as `agent->agent:western=false` or `object->nonword`."""

    filter: Text | None = None
    """Regular expression: keep only items whose list of variables, such as
    `agent1:sex=male,object1`, contains a match; by default all.
    """

    limit: Count | None = None
    """Number of templates to take, the same for each domain, spread over its pairs of concepts; by
    default all. Domains then weigh equally, so their mean does not estimate the mean over
    all templates.
    """

    def findings(self) -> Iterator[Finding]:
        """Versions that cannot be, and a filter that is no regular expression."""
        first, _, last = self.versions.partition("-")
        if last and int(last) < int(first):
            yield (
                ("versions",),
                f"{self.versions} ends before it begins.",
                f'Write "{last}-{first}".',
            )
        elif int(last or first) >= MOST_VERSIONS:
            problem = f"{self.versions} goes beyond version {MOST_VERSIONS - 1}."
            yield ("versions",), problem, "No set of fillers has enough of them: set fewer."
        try:
            re.compile(self.filter or "")
        except (re.error, OverflowError) as error:
            problem = f"{self.filter!r} is not a valid regular expression ({error})."
            yield (
                ("filter",),
                problem,
                "Put a backslash before characters that are meant as they are.",
            )


class Items(FillingSettings):
    """How templates are filled. Paper: Sections 3 and 4."""

    versions: Versions = "0-2"
    """Versions of the fixed or balanced filling, first and last, such as "0-4"."""

    families: bool = False
    """Whether these are items of the materials' families, whose templates differ only in the level
    of one factor (such as the number of negations), in place of the domains'. Each base is then
    filled on its own, with the same fillers at all levels, and `mode` says only how many times.
    """


class Prompting(Block):
    """How Likert and Choice ask."""

    prompts: Text = "ewok"
    """A set of prompts in `resources/prompts`, or a YAML file. Paper: Appendix A.4."""

    swap: bool = False
    """Whether Choice is asked also with the contexts in the other order."""

    chat_template: Literal["auto", "never", "always"] = "never"
    """Whether to ask through a model's chat template; auto follows `chat` of its card, never is the
    paper's way. Paper: Section 4.1.
    """

    thoughts: Whole = 0
    """Most tokens of thoughts before a free answer, for models that think before they answer. They
    are in addition to the answer's own limit.
    """

    limit: Count | None = None
    """Number of the items' templates that Likert and Choice ask about, chosen as by
    `items.limit`; by default all.
    """

    def findings(self) -> Iterator[Finding]:
        """Prompts that do not exist."""
        if not prompt_file(self.prompts).is_file():
            problem = f"there are no prompts {self.prompts}."
            yield ("prompts",), problem, "Name a set in resources/prompts, or a YAML file."


class Word2vec(Block):
    """Bag-of-words baseline. Paper: Section 4.3."""

    enabled: bool = True
    """Whether to score the bag-of-words baseline."""

    vectors: Text = "trained"
    """Word vectors, as `trained` (on the pipeline's own corpus) or a file (word2vec binary or
    text, gensim). The paper's are `resources/downloads/word2vec-google-news-300.gz`, which is
    fetched. Paper: Section 4.3.
    """

    allow_pickle: bool = False
    """Whether to read vectors that gensim saved; such a file is a pickle, which can run code."""

    def findings(self) -> Iterator[Finding]:
        """Vectors that are not there."""
        if self.enabled:
            yield from missing(("vectors",), self.vectors, ("trained",))


class Frequency(Block):
    """Word frequencies. Paper: Section 4.3."""

    source: Literal["wordfreq", "ngrams"] = "wordfreq"
    """Where word frequencies come from."""

    files: Distinct[str] = []
    """Google Books Ngram v2 1-gram files, for source ngrams. They are called
    `googlebooks-eng-us-all-1gram-20120701-*.gz`; the word `google_1grams` means all of
    them, which are fetched.
    """

    compat: bool = False
    """Whether to take words, and with ngrams their counts, as the paper's script did: the number of
    records (word and year) that begin with the word. Paper: Section 4.3.
    """

    @field_validator("files")
    @classmethod
    def _named_by_source(cls, files: list[str]) -> list[str]:
        """The files of a source in place of its name."""
        named = {
            name: [file.path for file in shipped_files().values() if file.source == name]
            for name in files
        }
        return [path for name in files for path in named[name] or [name]]

    def findings(self) -> Iterator[Finding]:
        """Files that are not named, or not there."""
        if self.source == "ngrams" and not self.files:
            problem = "ngrams needs the files that frequencies are counted from."
            yield (
                ("source",),
                problem,
                "Name them under baselines.frequency.files, or use wordfreq.",
            )
        for number, file in enumerate(self.files):
            yield from missing(("files", number), file)


class Baselines(Block):
    """Baselines without a model."""

    word2vec: Word2vec = Word2vec()

    wordnet: Text | None = None
    """Folder of WordNet's database, or a package URL of one, for bags of extended glosses; null
    leaves this baseline out.
    """

    sentence_vectors: Text | None = None
    """Folder of a sentence encoder (sentence-transformers), or a package URL of one; null
    leaves this baseline out. With WordNet as well, `relatedness` is judged, too: the mean of both
    cosines, weighted so that they count alike.
    """

    frequency: Frequency = Frequency()

    def findings(self) -> Iterator[Finding]:
        """Folders that are not there."""
        for key, path in (("wordnet", self.wordnet), ("sentence_vectors", self.sentence_vectors)):
            if path and not path.startswith("pkg:"):
                yield from missing((key,), path)


class Human(Block):
    """Answers of people."""

    ratings: Text | None = None
    """A CSV of people's ratings of the items; several ratings of one question are averaged. Its
    columns are `item_id, target, context, rating`, or it has a row per item with
    `response_mean_target1_context1` to `response_mean_target2_context2`. Or the .zip of the
    authors' results, `resources/downloads/ewok-results.zip`, which is fetched. Ratings are judged
    like Likert answers, and appear next to the models in tables and figures. Paper: Section 4.
    """

    def findings(self) -> Iterator[Finding]:
        """A file that is not there."""
        yield from missing(("ratings",), self.ratings)


class Released(Block):
    """Results that EWoK's authors released."""

    results: Text | None = None
    """A folder or .zip of the results that EWoK's authors released; no model is then asked. They
    are in their layout, and tables and figures are built from them. Paper: Appendix A.5.
    """

    skip: Distinct[
        Literal[
            "recode_contrasts",
            "check_versions",
            "drop_duplicates",
            "require_human",
            "exclude_flagged",
            "reverse_flagged",
            "drop_unreleased",
        ]
    ] = []
    """Steps of the released analysis to leave out. The log reports how many rows go into and come
    out of each. Paper: Appendix A.5.
    """

    def findings(self) -> Iterator[Finding]:
        """Results that are not there."""
        yield from missing(("results",), self.results)


class MixedModel(Block):
    """Mixed-effects model. Paper: Appendix A.5."""

    enabled: bool = True
    """Whether to fit the mixed-effects model, the one step that needs R with lme4."""

    random_effects: Literal["intercepts", "maximal"] = "maximal"
    """What is random: `maximal`: items, models, templates, pairs of concepts, versions, and each
    model's slopes of domains, contrasts and surface features, as far as the answers show them;
    `intercepts` of items and models alone, the paper's formula, whose numbers can be set beside the
    published ones, and of whose stars up to 40% are false.
    """


class Condition(Block):
    """Changes of one condition."""

    title: Annotated[str, Field(pattern=r"^[^-\s]")] | None = absent()
    """Name of the condition in tables and figures, beginning with neither a blank nor a dash;
    if left out, its key.
    """

    items: Items = Items()
    prompting: Prompting = Prompting()


ConditionName = Annotated[
    str,
    name(
        "[a-z][a-z0-9_]*",
        "Use at most 60 lower-case letters, digits and underscores, a letter first.",
    ),
]


class Ewok(Block):
    """Settings of EWoK (arXiv 2405.09605)."""

    materials: Materials = Materials()
    items: Items = Items()

    eval_types: Annotated[
        Distinct[
            Literal[
                "logprobs",
                "likert_free_zero",
                "likert_free_two",
                "likert_constrained_zero",
                "likert_constrained_two",
                "choice_free_zero",
                "choice_free_two",
                "choice_constrained_zero",
                "choice_constrained_two",
            ]
        ],
        Field(min_length=1),
    ] = ["logprobs"]
    """How models are asked, as paradigm, generation and number of examples. Paper: Section 4.1,
    Appendices A.3 and A.4.
    """

    prompting: Prompting = Prompting()
    baselines: Baselines = Baselines()
    human: Human = Human()
    released: Released = Released()
    mixed_model: MixedModel = MixedModel()

    conditions: dict[ConditionName, Condition] = {}
    """Item sets of one study that differ in their items or prompts, the reference first; each says
    only what differs. All are scored with one loading of a model, and one table and figure compares
    them; `config/experiments` has some. Paper: Section 3.
    """

    @model_validator(mode="after")
    def _complete_conditions(self) -> Ewok:
        """Each condition complete; a study that names none has the single condition "main"."""
        self.items = self._choose_mode(self.items)
        for condition in self.conditions.values():
            for key in ("items", "prompting"):
                changes = getattr(condition, key).model_dump(exclude_unset=True)
                whole = getattr(self, key)
                setattr(condition, key, whole.model_copy(update=changes) if changes else whole)
            condition.items = self._choose_mode(condition.items)
        self.conditions = self.conditions or {
            "main": Condition(items=self.items, prompting=self.prompting)
        }
        return self

    def _choose_mode(self, items: Items) -> Items:
        mode = chosen_mode(items.mode, self.materials.source, self.materials.compat)
        return items if mode == items.mode else items.model_copy(update={"mode": mode})

    def findings(self) -> Iterator[Finding]:
        """A language that cannot be read or asked in, swaps of classes that the materials lack, and
        conditions that are alike.
        """
        yield from () if any(self.materials.findings()) else _of_language(self)
        # Nothing is known of an archive before it is opened, nor of an edition that there is not.
        folder = Path(
            self.materials.source
            if any(self.materials.findings())
            else materials_place(self.materials.source)
        )
        classes = any(folder.glob("fillers/filler-*.csv"))
        every = [self.items, *(condition.items for condition in self.conditions.values())]
        has_swaps = any(items.swap for items in every)
        values = _values_of_fillers(folder, self.materials.password) if has_swaps else {}
        yield from (
            ((*("items", "swap"), *keys), problem, fix)
            for keys, problem, fix in _wrong_swaps(self.items, values)
        )
        if self.materials.compat and any(
            condition.items.mode == "balanced" for condition in self.conditions.values()
        ):
            problem = "balanced is no mode of the original, which materials.compat repeats."
            yield ("items", "mode"), problem, "Set another mode, or compat: false."
        asked: dict[str, str] = {}
        is_prompted = self.eval_types != ["logprobs"]
        for key, condition in self.conditions.items():
            if condition.items is not self.items:
                for keys, problem, fix in _wrong_swaps(condition.items, values):
                    yield ("conditions", key, "items", "swap", *keys), problem, fix
            # What only one mode uses, and prompts where nobody is prompted, make no difference.
            questions = condition.items.model_dump_json(exclude=_UNUSED[condition.items.mode])
            questions += condition.prompting.model_dump_json() if is_prompted else ""
            if questions in asked:
                hint = (
                    ""
                    if is_prompted
                    else " (prompts count only where eval_types names Likert or Choice)"
                )
                problem = f"asks the same questions as {asked[questions]}{hint}."
                yield (
                    ("conditions", key),
                    problem,
                    "Change what it says of items or prompting, or remove it.",
                )
            asked.setdefault(questions, key)
        of_families = [
            key for key, condition in self.conditions.items() if condition.items.families
        ]
        if of_families and (of_families[0] == next(iter(self.conditions)) or len(of_families) > 1):
            problem = "only one condition may have families, and not the first."
            yield (
                ("conditions", of_families[-1], "items", "families"),
                problem,
                "Name a condition without families before it.",
            )
        if of_families and classes and not any(folder.glob("families/family-*.yml")):
            problem = "the materials have no families."
            yield (
                ("conditions", of_families[0], "items", "families"),
                problem,
                "Use builtin, or add families/family-<name>.yml.",
            )
        if len({condition.title or key for key, condition in self.conditions.items()}) < len(
            self.conditions
        ):
            yield ("conditions",), "two conditions have the same title.", "Give each its own."


def _of_language(block: Ewok) -> Iterator[Finding]:
    is_asked = block.eval_types != ["logprobs"] and not block.released.results
    try:
        language = language_in(block.materials.source, block.materials.password)
        for condition in block.conditions.values() if is_asked else ():
            prompts_in(language, condition.prompting.prompts)
    except UserError as error:
        yield ("materials", "source"), f"{error.where}: {error.problem}", error.fix


def missing(
    keys: tuple[str | int, ...], path: str | None, others: tuple[str, ...] = ()
) -> Iterator[Finding]:
    """A file or folder that is named, does not exist, and is not fetched. Snakemake itself would
    quietly use older results.

    Args:
        keys: of the setting.
        path: its value.
        others: values that are no path.
    """
    is_fetched = path in shipped_files()
    if path and not is_fetched and path not in others and not Path(path).exists():
        yield keys, f"there is no file or folder {path}.", "Correct the path, or put it there."


def _values_of_fillers(folder: Path, password: str | None) -> dict[str, dict[str, set[str]]]:
    """Values of the columns by which fillers of materials can be restricted. There are none where
    the materials cannot be opened; the step that reads them says so.
    """
    from worldprobe.benchmarks.ewok.materials.documents import Problems
    from worldprobe.benchmarks.ewok.materials.fillers import read_filler_class, values_of
    from worldprobe.benchmarks.ewok.materials.materials import MaterialsFiles
    from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT

    try:
        source, problems = MaterialsFiles(folder, password), Problems()
        files = [name for name in source.names if re.fullmatch(r"fillers/filler-.+\.csv", name)]
        classes = {name: name.removeprefix("fillers/filler-")[: -len(".csv")] for name in files}
        return values_of(
            {
                kind: read_filler_class(name, kind, source.read(name), problems, RIGHT)
                for name, kind in classes.items()
            }
        )
    except UserError:
        return {}


def _wrong_swaps(items: Items, values: dict[str, dict[str, set[str]]]) -> Iterator[Finding]:
    """Swaps of classes, or to restrictions, that the materials lack."""
    from worldprobe.benchmarks.ewok.materials.opened import parse_swaps

    for number, swap in enumerate(items.swap if values else ()):
        try:
            parse_swaps([swap], list(values), values)
        except UserError as error:
            yield (number,), error.problem, error.fix
