"""Which model a command loads, how, and where its answers are kept."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from pydantic import Field

from worldprobe.errors import UserError, did_you_mean
from worldprobe.models.checkpoint import NO_ADAPTER, locate, short_name
from worldprobe.models.registry import CAUSAL, MASKED, check_name, refuse_prompting
from worldprobe.models.stand_ins import STAND_IN, is_of_rehearsal
from worldprobe.operations.resources import claim_gpus
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
    by the target given the context; both by logprobs only.
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

    kept_since: Annotated[float, Field(ge=0, le=1e12)] = 0.0
    """Ask again what was answered before this time, in seconds since 1970 (`date +%s`)."""

    def findings(self) -> Iterator[Finding]:
        """None yet: a card may say what is missing."""
        yield from ()


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

    def offers(self) -> tuple[bool, bool]:
        """Whether the model's server gives log probabilities of prompts, and takes
        conversations.
        """
        from worldprobe.models.server.engine import NO_LOGPROBS

        facts = self.open().facts
        return facts.notes["mode"] != NO_LOGPROBS, facts.has_chat

    def open(self, skin_folder: Path | None = None) -> Engine:
        """Load the model, or reach its server.

        Raises:
            UserError: it is not there, or is the id of a card; or cannot be loaded.
        """
        kept = _KEPT.get()
        loaded = self.model_dump_json(exclude={"model", "answers", "kept_since"})
        if kept and loaded in kept:
            return kept[loaded]
        claim_gpus(self.gpus)  # before torch looks for them
        if self.engine == "rule":
            from worldprobe.benchmarks.worldsense.inference import reference_solvers

            return reference_solvers.open_engine(self.checkpoint, skin_folder)
        try:
            load = {"transformers": _transformers, "vllm": _vllm, "openai": _openai}[self.engine]
            engine = load(self)
        except UserError as error:
            if not (card := look_up(self.checkpoint, REGISTRY)):
                raise
            words = shlex.join([card["checkpoint"], *loading_words(card)])
            problem = f"is the id of a card in {REGISTRY}, which this command does not read."
            raise UserError(self.checkpoint, problem, f"--checkpoint {words}") from error
        if kept is not None and self.engine != "openai":  # whose limits are of each command
            kept[loaded] = engine
        return engine


#: Where help lists how a model is loaded and asked.
MODEL_KEYS = Parameter(name="*", group="The model")
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
    from worldprobe.settings import read_registry

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
        stated["kind"] = given.get("kind") or card.get("kind") or kind_of(stated)
    except UserError as error:
        near = did_you_mean(checkpoint, read_registry(shipped_file(registry)), "")
        if not near or Path(checkpoint).exists():
            raise
        raise UserError(error.where, error.problem.rstrip(".") + near, error.fix) from error
    return parse(Model, stated, [Source(stated["model"], stated)])


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


def kind_of(entry: Mapping[str, Any]) -> str:
    """The kind of a model that has no card: what its checkpoint states."""
    if (entry.get("engine") or "transformers") != "transformers":
        return CAUSAL
    options = (
        entry.get("revision"),
        entry.get("allow_pickle", False),
        entry.get("trust_remote_code", False),
    )
    return locate(entry["checkpoint"], *options, kind=None, adapter=entry.get("adapter")).kind


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
    """Only causal models answer prompts: said before a model is loaded.

    Raises:
        UserError: the model is to be of another kind.
    """
    if model.kind != CAUSAL:
        raise refuse_prompting(model.checkpoint, model.kind)


#: What engines that load weights take of a model as it is.
_OF_WEIGHTS = {
    *("dtype", "revision", "bos", "allow_pickle", "trust_remote_code", "adapter", "batch_size"),
    "chat_template_kwargs",
}


def _transformers(model: Model) -> Engine:
    if model.threads:
        import torch

        torch.set_num_threads(model.threads)
    from worldprobe.models.transformers_engine import open_engine

    return open_engine(
        model.checkpoint,
        device=model.device or "auto",
        fastest="plain" if model.plain else "tries",
        kind=model.kind,
        pseudo=model.pseudo or "within_word_l2r",
        **model.model_dump(include=_OF_WEIGHTS),
    )


def _vllm(model: Model) -> Engine:
    from worldprobe.models.vllm_engine import open_engine

    stated = model.model_dump(include={*_OF_WEIGHTS, "tensor_parallel"})
    return open_engine(model.checkpoint, **stated)


def _openai(model: Model) -> Engine:
    from worldprobe.models.server.endpoint import Spending
    from worldprobe.models.server.engine import open_engine
    from worldprobe.models.server.stand_in import serve

    is_rehearsal = model.endpoint == REHEARSAL_ENDPOINT
    engine = open_engine(
        serve() if is_rehearsal else str(model.endpoint),
        model.checkpoint,
        tokenizer=model.tokenizer,
        bos=model.bos,
        concurrency=model.concurrency,
        trust_remote_code=model.trust_remote_code,
        chat_template_kwargs=model.chat_template_kwargs,
        spending=Spending(max_requests=model.max_requests, max_tokens=model.max_tokens),
    )
    if is_rehearsal:
        engine.facts.set_up[STAND_IN] = True  # its answers are kept apart, too
    return engine
