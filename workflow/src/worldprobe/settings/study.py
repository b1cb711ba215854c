"""A study: the shared settings, its benchmarks, and a block of settings for each that has any."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, create_model

from worldprobe import extensions
from worldprobe.errors import UserError, raise_all
from worldprobe.paths import REGISTRY, REPOSITORY, RESULTS
from worldprobe.settings.blocks import (
    MADE,
    Block,
    Count,
    Distinct,
    Finding,
    Seed,
    Share,
    Text,
    Whole,
    check,
    parse,
    schema_at,
)
from worldprobe.settings.documents import Keys, Source, dotted, find_line, parse_yaml, read_yaml

#: The classes of the blocks that benchmarks have in a configuration, given the benchmarks that it
#: names, if it names any.
Blocks = Callable[..., Mapping[str, type[Block]]]
B = TypeVar("B", bound=Block)

#: Folders of results/ that all studies share.
_SHARED = ("models", "controls", "rehearsal")


def _as_text(value: Any) -> Any:
    """YAML reads a date as one."""
    return str(value) if isinstance(value, datetime.date) else value


def _is_date(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(datetime.datetime.fromisoformat(text))
    return False


class Report(Block):
    """Parts of the report besides tables and figures."""

    notebooks: Distinct[Text] = [
        "1_explore_failures_by_concept",
        "2_compare_two_models",
        "3_add_a_concept",
    ]
    """Notebooks of the folder `notebooks/` that are run and become part of the report."""

    def findings(self) -> Iterator[Finding]:
        """Notebooks that do not exist."""
        for number, name in enumerate(self.notebooks):
            if not _exists(f"notebooks/{name}.ipynb"):
                problem = f"there is no notebook {name}.ipynb in notebooks/."
                yield ("notebooks", number), problem, "Correct the name, or remove it."


class CorpusSettings(Block):
    """Corpus that the control models learn from."""

    seed: Seed = 0
    """Seed of the corpus, the control models and the word vectors."""

    taught: Share = 0.15
    """Share of the training part's templates that is taught, of each domain and contrast of
    targets.
    """

    fillings: Count = 100
    """Number of fillings of each taught template in the stories."""

    doses: Annotated[list[Whole], Field(min_length=1)] = [1]
    """How often the taught templates' items of the first version occur, drawn for each pair of
    concepts.
    """

    sentences: Whole = 7_000
    """About how many single sentences there are, from which only tokenizer and word vectors
    learn.
    """


class TokenizerSettings(Block):
    """Tokenizer of the control models."""

    vocabulary: Annotated[int, Field(ge=258)] = 2000
    """Most tokens that the control models' tokenizer may have; every byte is one."""


class Controls(TokenizerSettings, CorpusSettings):
    """Corpus and tokenizer of the control models."""


class SharedSettings(Block):
    """Settings of all benchmarks of a study."""

    study: str = Field("default", pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=60)
    """Name of the study, of letters, digits, dashes and underscores. Its results are in
    `results/NAME`, so studies never overwrite each other; `models`, `controls` and `rehearsal` are
    taken.
    """

    registry: Text = str(REGISTRY)
    """File of the model registry, which lists the models that a study may name, how to load and how
    to show them. Paper: A.2.
    """

    models: Annotated[Distinct[str], Field(min_length=1)] = [
        *("control_untrained", "control_heart", "control_half", "control_taught")
    ]
    """Models that are evaluated, by their names in the registry. `control_untrained` is never
    trained, so it must be at chance. Paper: A.2.
    """

    benchmarks: Annotated[Distinct[Text], Field(min_length=1)]
    """What models are asked: names of installed benchmarks, or YAML files of minimal pairs. Blocks
    of benchmarks that are not named have no effect.
    """

    allow_missing: bool = True
    """Whether the models that have answers are summarised when others failed. Tables, captions and
    the report name the missing ones.
    """

    fetch_again: bool = True
    """Whether the next run tries again what could not be fetched in this one (a model, a baseline,
    a file), and makes anew what was made without it. false leaves it missing.
    """

    ask_again: bool = True
    """Whether the next run asks again a model whose job failed in this one. false leaves it
    missing.
    """

    accept_terms: Distinct[Text] = []
    """Terms of models' owners that you have read and accept, by the name in the model's card, such
    as gemma. A study names a model whose terms it does not accept, and goes on without it.
    """

    kept_since: Annotated[str | None, BeforeValidator(_as_text)] = None
    """Date, or date and time: answers that were kept before it are not taken. A job that is forced
    (`--forcerun score`) takes kept answers where this is null.
    """

    results: Text = RESULTS
    """Folder of the results of all studies. A workflow that uses this one as a module names it here
    instead of by a prefix.
    """

    rehearsal: bool = False
    """Whether to rehearse: the whole study with a few items, and in the place of each model a tiny
    random one of its architecture, in minutes and without a network. Its results are in
    `results/rehearsal` and mean nothing.
    """

    controls: Controls = Controls()

    report: Report = Report()

    def findings(self) -> Iterator[Finding]:
        """A name that is taken, or a registry that does not exist."""
        if self.study in _SHARED:
            yield (
                ("study",),
                f"results/{self.study} is a folder of all studies.",
                "Choose another name.",
            )
        if self.kept_since is not None and not _is_date(self.kept_since):
            yield (
                ("kept_since",),
                f"{self.kept_since} is no date.",
                "Write it as 2026-11-29, or as 2026-11-29 15:00.",
            )
        if not _exists(self.registry):
            yield (
                ("registry",),
                f"there is no file {self.registry}.",
                "Correct the path, or put the file there.",
            )


def study_class(blocks: Mapping[str, type[Block]]) -> type[SharedSettings]:
    """The class of a study's settings.

    Args:
        blocks: benchmark -> the class of its block; a configuration that names no benchmark has
            these.
    """
    fields: dict[str, Any] = {
        name: (
            Annotated[kind, BeforeValidator(_refuse_null)],
            Field(kind(), description=kind.__doc__),
        )
        for name, kind in blocks.items()
    }
    named = copy(SharedSettings.model_fields["benchmarks"])
    named.default = list(blocks)
    fields["benchmarks"] = (named.annotation, named)
    base = extended(SharedSettings, "")
    doc = "Configuration of a study."
    return create_model("Study", __base__=base, __doc__=doc, __cls_kwargs__=MADE, **fields)


@cache
@cache
def extended(kind: type[B], key: str | None = None) -> type[B]:
    """A class of settings with the keys that extensions add, and with their blocks in place of its
    own.

    Args:
        kind: the core's class.
        key: dotted key of the block in a study; empty: the study itself; None: it is of no study.
    """
    heirs = extensions.inheriting(kind.__name__)
    blocks = {} if key is None else extensions.settings_below(key)
    fields: dict[str, Any] = {
        name: (block, Field(block(), description=kind_of_field.description))
        if (kind_of_field := kind.model_fields.get(name))
        else (block, block())
        for name, block in blocks.items()
    }
    if not heirs and not blocks:
        return kind
    return create_model(
        kind.__name__,
        __base__=heirs or kind,
        __doc__=kind.__doc__,
        __cls_kwargs__=MADE,
        **fields,
    )


def _refuse_null(block: Any) -> Any:
    if block is None:
        problem = "null does not leave a benchmark out."
        raise ValueError(
            problem, "Remove the line, and name the study's benchmarks, `benchmarks: [NAME]`."
        )
    return block


def _class_for(
    settings: Mapping[str, Any], blocks: Blocks, sources: Sequence[Source]
) -> type[SharedSettings]:
    """The class of some settings, given the benchmarks that they name.

    Raises:
        UserError: one of the benchmarks cannot be used.
    """
    entries = settings.get("benchmarks")
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        return study_class(blocks())  # which says what is wrong, if there is something
    try:
        return study_class(
            blocks(dict.fromkeys(entries))
        )  # of an entry that is given twice, the class says so
    except UserError as error:
        named = [
            number for number, entry in enumerate(entries) if error.where == f"benchmark {entry}"
        ]
        if not named:
            raise
        keys = ("benchmarks", named[0])
        raise UserError(
            find_line(keys, sources),
            f"{dotted(keys)}: {entries[named[0]]} {error.problem}",
            error.fix,
        ) from error


def read_study(
    settings: Mapping[str, Any],
    files: Iterable[Path | str],
    blocks: Blocks,
    options: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The validated study: the merged settings with every default filled in.

    Args:
        settings: the settings as merged by the caller.
        files: the files they come from, the strongest last; only to name lines.
        blocks: gives the classes of the blocks of benchmarks.
        options: settings given on the command line, stronger than any file. Snakemake passes their
            inner values as text, so ``ewok={materials: {compat: true}}`` is read again here.

    Raises:
        UserError: an unknown key, a wrong type, a value outside its bounds, settings that
            contradict each other.
    """
    sources = [_part_for(settings, read_yaml(path)) for path in files]
    kind = _class_for(
        settings, blocks, [*sources, *([Source("--config", options)] if options else [])]
    )
    typed = _typed(options or {}, kind, ())
    # Snakemake has merged the options into the settings as text already; the typed ones replace
    # them.
    study, problems = check(
        kind, merge(settings, typed), [*sources, *([Source("--config", typed)] if typed else [])]
    )
    raise_all(problems)
    assert study is not None
    return study.model_dump() | dict.fromkeys(blocks().keys() - study.benchmarks)


def study_problems(sources: Sequence[Source], blocks: Blocks) -> list[UserError]:
    """Every problem of some configuration files, each laid over the ones before it."""
    settings: dict[str, Any] = {}
    for source in sources:
        if not isinstance(source.document, Mapping | None):
            return [
                UserError(
                    source.name, "does not consist of keys and values.", "Write `key: value` lines."
                )
            ]
        settings = merge(settings, source.document or {})
    try:
        return check(_class_for(settings, blocks, sources), settings, sources)[1]
    except UserError as error:
        return [error]


def merge(base: Mapping[str, Any], stronger: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with stronger ones laid over them: mappings are merged, everything else is replaced.

    >>> merge({"items": {"seed": 0, "mode": "fixed"}}, {"items": {"seed": 1}})
    {'items': {'seed': 1, 'mode': 'fixed'}}
    """
    merged = dict(base)
    for key, value in stronger.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def _part_for(settings: Mapping[str, Any], source: Source) -> Source:
    """The part of a file that settings come from: the whole, or one block where a workflow
    keeps a module's settings in it.
    """
    document = source.document
    if document is None:
        return Source(source.name, {}, source.lines)
    if not isinstance(document, Mapping):
        raise UserError(
            source.name, "does not consist of keys and values.", "Write `key: value` lines."
        )
    if document.keys() <= settings.keys():
        return source
    for name, block in document.items():
        if isinstance(block, Mapping) and merge(settings, block) == settings:
            return Source(
                source.name,
                block,
                {keys[1:]: line for keys, line in source.lines.items() if keys[:1] == (name,)},
            )
    return Source(source.name, {})


def _typed(value: Any, kind: type[BaseModel], keys: Keys) -> Any:
    """Values of the command line in the types that the settings have: text where they are text."""
    if isinstance(value, Mapping):
        return {key: _typed(inner, kind, (*keys, key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_typed(inner, kind, (*keys, number)) for number, inner in enumerate(value)]
    part = schema_at(kind, keys)
    is_text = part.get("type") == "string"
    if isinstance(value, str) and (not is_text or (value == "null" and part.get("nullable"))):
        with contextlib.suppress(
            UserError
        ):  # what is no YAML stays a text, which the check refuses with its key
            return parse_yaml("--config", value.encode()).document
        return value
    return str(value) if is_text and isinstance(value, int | float) else value


def _exists(path: str) -> bool:
    return any((folder / path).is_file() for folder in (Path(), REPOSITORY))


#: A name that SLURM can have; one that begins with a dash would be an option of sbatch.
SlurmName = Annotated[str, Field(pattern=r"^[^\s-]\S*$")]


class Site(Block):
    """Facts of one SLURM site, for `snakemake --profile slurm`. Each key can also be set in the
    environment, e.g. as `WORLDPROBE_PARTITION`. Names are passed to SLURM as they are written.
    """

    partition: SlurmName | None = None
    """Partition of jobs without a GPU; null takes the site's default."""

    gpu_partition: SlurmName | None = None
    """Partition of jobs with GPUs; null takes the same as `partition`."""

    account: SlurmName | None = None
    """Account that pays; null takes the user's default."""

    qos: SlurmName | None = None
    """Quality of service; null takes the default."""

    constraint: SlurmName | None = None
    """Node features that jobs with GPUs need, e.g. a100-80gb."""

    reservation: SlurmName | None = None
    """Reservation that jobs run in."""

    cluster: SlurmName | None = None
    """Cluster that jobs are sent to, where SLURM has several; null takes the one of the login
    node.
    """

    gpu_model: str | None = Field(None, pattern=r"^[A-Za-z0-9_.]+$")
    """GPU type as the site's GRES calls it, e.g. a100; null takes any."""

    gres: str | None = Field(
        None, pattern=r"^[A-Za-z0-9_]+(:[A-Za-z0-9_.]*[A-Za-z_.][A-Za-z0-9_.]*)?$"
    )
    """For sites whose SLURM has no `--gpus`: what to request instead, e.g. gpu, or gpu:a100, which
    becomes `--gres=gpu:a100:2` for a model on two GPUs. The number follows from the model;
    `gpu_model` is then unused.
    """

    gpu_memory_gb: float = Field(80, ge=1)
    """Memory of one GPU in GB; models are spread over as many as they need."""

    longest_minutes: Count | None = None
    """The longest time that the partitions give a job, in minutes; later attempts request no
    more. null means no limit.
    """


def read_site(path: Path | str, environment: Mapping[str, str]) -> dict[str, Any]:
    """The facts of a SLURM site; ``WORLDPROBE_PARTITION`` and its like in the environment override
    the file.

    Raises:
        UserError: the file is missing, or it or the environment contains something else.
    """
    source, kind = read_yaml(path), extended(Site)
    stated = {} if source.document is None else source.document
    site = parse(kind, stated, [source]).model_dump()
    given = {fact: text for fact in site if (text := environment.get(f"WORLDPROBE_{fact.upper()}"))}
    overrides = parse(
        kind, given, [Source("the environment's WORLDPROBE_...", given)], strict=False
    )
    return site | overrides.model_dump(exclude_unset=True)
