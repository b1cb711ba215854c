"""Which model a command loads, how, and where its answers are kept."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from pydantic import Field

from worldprobe import engines
from worldprobe.benchmark import taken_by
from worldprobe.cli.parsing import missing_extra, need
from worldprobe.code_digest import digest_code
from worldprobe.engines import EngineType, Offers
from worldprobe.errors import UserError, did_you_mean
from worldprobe.models.checkpoint import NO_ADAPTER, short_name
from worldprobe.models.registry import MASKED, check_name, refuse_prompting
from worldprobe.models.remembered import open_remembered
from worldprobe.models.stand_ins import is_of_rehearsal
from worldprobe.operations.resources import claim_gpus, visible_gpus
from worldprobe.paths import REGISTRY, Place, shipped_file
from worldprobe.settings.blocks import Count, Finding, option_words, parse
from worldprobe.settings.documents import Source
from worldprobe.settings.registry import REHEARSAL_ENDPOINT, Kind, Loading, loading_words

if TYPE_CHECKING:
    from worldprobe.models.engine import Engine


#: Loaded models that stay for the next command, by how they were loaded; None: none stays.
_KEPT: ContextVar[dict[str, Engine] | None] = ContextVar("kept", default=None)


@contextmanager
def kept_loaded() -> Iterator[None]:
    """Commands of this process that take one model in one way load it once."""
    token = _KEPT.set({})
    try:
        yield
    finally:
        _KEPT.reset(token)


class Setup(Loading):
    """How a model is loaded and asked: the keys of its card, and those of this machine."""

    checkpoint: Annotated[str | None, Parameter(parse=False)] = None
    kind: Annotated[Kind, Parameter(show_default=False)] = "causal"
    """Type of model; by default `evaluate` takes it from card or checkpoint, and other commands
    take `causal`. Masked models (BERT) are scored by pseudo-log-likelihood, encoder-decoders (T5)
    by the target given the context; both by LogProbs only.
    """

    model: str | None = None
    """The model's name in tables, by default the checkpoint's; with --endpoint, what the server
    calls it.
    """

    gpus: Annotated[int, Field(ge=0, le=1024)] | None = None
    """Number of GPUs to take, waiting until no other worldprobe process uses them; 0: compute on
    the CPU; by default all that are visible.
    """

    device: str | None = None
    """Device: auto (all GPUs given, else the CPU), cpu, or e.g. cuda:0."""

    batch_size: Count | None = None
    """Largest batch: number of sequences, or of rows that pack several sequences; by default as
    many as fit into memory.
    """

    threads: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Cores to compute on; by default all."""

    bos: Literal["auto", "always", "never"] = "auto"
    """Whether a start token precedes a text."""

    plain: bool = False
    """Take one sequence at a time, as EWoK's original code did (slow)."""

    max_requests: Count | None = None
    """Stop after so many requests to a server, retries included; finished answers are kept."""

    max_tokens: Count | None = None
    """Stop after so many tokens in all, read and written, as a server counts them."""

    kept_since: Annotated[float, Field(ge=0, le=1e12), Parameter(show_default=False)] = 0.0
    """Ask again what was answered before this time, in seconds since 1970 (`date +%s`)."""

    def findings(self) -> Iterator[Finding]:
        """None yet: a card may say what is missing."""
        yield from ()


#: Where help lists how a model is loaded and asked.
MODEL_KEYS = Parameter(name="*", group="The model")
#: And where keys that are about a machine, or a model on a server.
_GROUPS = {
    "The model: machine": (
        *("gpus", "device", "batch_size", "threads", "tensor_parallel", "plain", "kept_since"),
    ),
    "The model: server": ("endpoint", "tokenizer", "concurrency", "max_requests", "max_tokens"),
}
for _group, _keys in _GROUPS.items():
    for _key in _keys:
        Setup.model_fields[_key].metadata.append(Parameter(group=_group))


class Model(Setup):
    """A model as commands take it."""

    checkpoint: Annotated[Place, Field(pattern=r"^[^-\s]")]
    """Model folder, GGUF file, hub id that was fetched before, or name of a rule."""

    model: str | None = None
    """The model's name in tables; by default the checkpoint's."""

    answers: Path | None = None
    """Store of answers; by default .answers next to --out."""

    def findings(self) -> Iterator[Finding]:
        """As a card's, and a start token where there is none."""
        yield from Loading.findings(self)
        if self.kind == MASKED and self.bos != "auto":
            problem = (
                "does nothing with a masked language model, which reads a text between its"
                " tokenizer's own special tokens."
            )
            yield ("bos",), problem, "Leave it out."

    @property
    def name(self) -> str:
        """The model's name in tables.

        Raises:
            UserError: it cannot be one.
        """
        return model_name(self.model, self.checkpoint, self.adapter)

    def words(self) -> list[str]:
        """The options that say so: those that differ from the defaults, and the name."""
        stated = {
            key: value
            for key, value in self.model_dump(exclude={"model", "checkpoint"}).items()
            if value != type(self).model_fields[key].default
        }
        named = {"model": self.name, "checkpoint": self.checkpoint}
        return option_words(named | stated)

    @property
    def engine_type(self) -> EngineType:
        """The type of engine that runs the model."""
        return engines.find_engine(self.engine, self.kind)

    def offers(self) -> Offers:
        """The kinds of question that the model can be asked."""
        return self.engine_type.offers(self)

    def open(self, **offered: Any) -> Engine:
        """Load the model, or reach its server.

        Args:
            **offered: what its engine may need besides, as ``skin_folder``.

        Raises:
            UserError: it is not there, or is the id of a card; or cannot be loaded.
        """
        kept, engine_type = _KEPT.get(), self.engine_type
        loaded = self.model_dump_json(exclude={"model", "answers", "kept_since"})
        if kept and loaded in kept:
            return kept[loaded]
        self._need(engine_type.packages)
        taken = taken_by(engine_type.open, **offered)

        def load() -> Engine:
            claim_gpus(self.gpus)  # before torch looks for them
            opened: Engine = engine_type.open(self, **taken)
            return opened

        try:
            state = engine_type.files_state(self) if kept is not None and self.answers else ()
            engine = (
                open_remembered(
                    self.answers,
                    loaded,
                    state,
                    digest_code(),
                    visible_gpus(),
                    load,
                    partial(engine_type.render, self),
                )
                if state and self.answers
                else load()
            )
        except UserError as error:
            if not (card := look_up(self.checkpoint, REGISTRY)):
                raise with_nearest_id(error, self.checkpoint, REGISTRY) from error
            words = shlex.join([card["checkpoint"], *loading_words(card)])
            problem = f"is the id of a card in {REGISTRY}, which this command does not read."
            raise UserError(self.checkpoint, problem, f"--checkpoint {words}") from error
        if kept is not None and not (engine_type.is_remote or taken):  # its limits are a command's
            kept[loaded] = engine
        return engine

    def _need(self, packages: Iterable[str]) -> None:
        """Stop where a package of the engine is missing, before anything is read.

        Raises:
            ModuleNotFoundError: of a package that comes with an extra of ours.
            UserError: of another.
        """
        for package in packages:
            try:
                need(package)
            except ModuleNotFoundError as error:
                if missing_extra(error):
                    raise
                problem = f"needs the Python package {package}, which is not installed."
                fix = f"Install {package} in this environment, or choose another engine."
                raise UserError(f"engine {self.engine}", problem, fix) from error


#: The argument of a command that loads a model.
ModelOptions = Annotated[Model, MODEL_KEYS]


def model_name(given: str | None, checkpoint: str, adapter: str | None = None) -> str:
    """A model's name in tables: what is given, or the adapter's or the checkpoint's.

    Raises:
        UserError: it cannot be one.
    """
    named = checkpoint if adapter in (None, NO_ADAPTER) else str(adapter)
    return short_name(named) if given is None else check_name(given, "--model")


def set_up(model: str | None, registry: Path, setup: Setup) -> Model:
    """The model that is meant, with what its card says and what is said beside it instead.

    Args:
        model: folder, hub id, GGUF file, package URL, or id in the registry; None: what a server
            calls the model is its name.
        registry: model registry.
        setup: how it is loaded and asked, as far as that is said.

    Raises:
        UserError: no model is named, or what is said contradicts itself.
    """
    if model is None and not (setup.endpoint and setup.model):
        fix = "Give a folder, hub id or registry id, or a server's --endpoint URL --model NAME."
        raise UserError("MODEL", "is missing.", fix)
    checkpoint = str(model or setup.model)
    card = look_up(checkpoint, registry) if model else {}
    given = setup.model_dump(exclude_unset=True)
    stated = {
        "checkpoint": checkpoint,
        **{
            key: card[key]
            for key, field in Loading.model_fields.items()
            if card.get(key) not in (None, field.default)
        },
        **given,
    }
    named = given.get("model") or card.get("model") if model else None
    stated["model"] = check_name(
        named or model_name(None, checkpoint, stated.get("adapter")),
        checkpoint,
        "Rename the folder, or give --model NAME.",
    )
    try:
        stated["kind"] = given.get("kind") or card.get("kind") or engines.of(stated).kind(stated)
    except UserError as error:
        raise with_nearest_id(error, checkpoint, registry) from error
    return parse(Model, stated, [Source(stated["model"], stated)])


def with_nearest_id(error: UserError, model: str, registry: Path) -> UserError:
    """The error about a model that is not there, with the id of a card that it may mean.

    Args:
        error: as it was raised.
        model: as it is named.
        registry: model registry.
    """
    from worldprobe.settings import read_registry

    near = did_you_mean(model, read_registry(shipped_file(registry)), "")
    if not near or "/" in model or Path(model).exists() or "did you mean" in error.problem:
        return copy(error)  # an error that is its own cause has no end
    return type(error)(error.where, error.problem.rstrip(".") + near, error.fix)


def look_up(model: str, registry: Path) -> dict[str, Any]:
    """A model's card; empty where the registry does not have it, or a folder has its name.

    Raises:
        UserError: the registry is broken.
    """
    from worldprobe.settings import read_registry

    card = read_registry(shipped_file(registry)).get(model, {})
    if card.get("control"):
        problem = "is trained by a study, so the registry does not know its folder."
        raise UserError(
            f"model {model}", problem, "Give its folder, e.g. one of results/controls/*/models/*/."
        )
    return {} if Path(model).is_dir() else card


def refuse_stand_in(model: Model) -> None:
    """What answers in a rehearsal has no results, wherever its folder was put.

    Raises:
        UserError: the model is one.
    """
    is_server = model.endpoint == REHEARSAL_ENDPOINT
    if is_server or is_of_rehearsal(model.checkpoint, model.adapter):
        problem = "stands in for a model in a rehearsal, so its numbers are no results."
        raise UserError(model.checkpoint, problem, "Name the model itself.")


def refuse_to_prompt(model: Model) -> None:
    """Only some models answer prompts: said before a model is loaded.

    Raises:
        UserError: the model is only scored.
    """
    if not model.engine_type.can.prompts:
        raise refuse_prompting(model.checkpoint, model.kind)
