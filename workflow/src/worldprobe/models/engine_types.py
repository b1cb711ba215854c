"""The engines of this package: what each takes, needs and offers. They are imported when one is
opened.

The figures are requests to a scheduler, so they err on the large side.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from worldprobe.engines import CAUSAL, LITTLE_MEMORY_MB, EngineType, Needs, Offers, Workload
from worldprobe.errors import UserError
from worldprobe.models.checkpoint import NO_ADAPTER, folder_of, locate, read_object
from worldprobe.models.registry import ENCODER_DECODER, MASKED
from worldprobe.models.server import KEY_VARIABLE
from worldprobe.models.stand_ins import STAND_IN
from worldprobe.models.weights import count_weights
from worldprobe.settings.registry import REHEARSAL_ENDPOINT

if TYPE_CHECKING:
    from worldprobe.models.checkpoint import Checkpoint
    from worldprobe.models.engine import Engine

#: Opens gated models of the hub.
TOKEN_VARIABLE = "HF_TOKEN"
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
#: Share of a GPU's memory that weights may take; activations, the cache of keys and values and the
#: workspace take the rest.
WEIGHT_SHARE = 0.55
#: Parameters of a model whose card says nothing.
PARAMETERS = 7_000_000_000
#: Operations per second that are expected of an A100, about half of what it can: float32 without
#: TF32, half precision on tensor cores at small batches.
FLOPS = {"float32": 1.2e13, "bfloat16": 1e14, "float16": 1e14}
#: Reading all weights for the next token: GB per second of an A100's memory.
GB_PER_SECOND = 1000.0
#: Weights of less than so many GB are read by one core.
SMALL_GB = 1.0
#: What an engine that loads weights takes of a card as it is.
_STATED = {
    *("dtype", "revision", "bos", "allow_pickle", "trust_remote_code", "adapter", "batch_size"),
    "chat_template_kwargs",
}


def is_small(card: Mapping[str, Any]) -> bool:
    """Whether a model is one of those that are made here, of a few million parameters at most."""
    return "control" in card or card.get("tuned") == "small" or bool(card.get("stand_in"))


def checkpoint_of(card: Mapping[str, Any], kind: str | None = CAUSAL) -> Checkpoint:
    """Where the files of a card's model are on this machine.

    Args:
        card: checkpoint, and what else is said of it.
        kind: as it is to be loaded; None: as it states itself.

    Raises:
        UserError: they are not there, or must not be loaded so.
    """
    trust = card.get("allow_pickle", False), card.get("trust_remote_code", False)
    name, revision = card["checkpoint"], card.get("revision")
    return locate(name, revision, *trust, kind=kind, adapter=card.get("adapter"))


def parameters_of(card: Mapping[str, Any]) -> int | None:
    """The number of a model's parameters, as its card says, or else its files on this machine; None
    where neither does.
    """
    if stated := card.get("parameters"):
        return int(stated)
    try:
        return count_weights(checkpoint_of(card, kind=None).weights().files)
    except (UserError, OSError, ValueError, KeyError):
        return None


class LoadedWeights(EngineType):
    """An engine that loads weights in Hugging Face format.

    Attributes:
        written_at_once: sequences that are continued at once.
    """

    keys = frozenset(
        {
            *("chat_template_kwargs", "revision", "dtype", "adapter", "allow_pickle", "gpus"),
            *("tensor_parallel", "batch_size"),
        }
    )
    credential = TOKEN_VARIABLE
    has_weights = True
    written_at_once = 16

    def sources(self, card: Mapping[str, Any]) -> list[str]:
        """See ``EngineType.sources``: the checkpoint and its adapter."""
        adapter = card.get("adapter")
        return [
            source for source in (card["checkpoint"], adapter) if source and source != NO_ADAPTER
        ]

    def files_state(self, model: Any) -> tuple[Any, ...]:
        """See ``EngineType.files_state``: names, sizes and times of change, also that of the inode,
        which copying with an older date does not set back.
        """
        state = checkpoint_of(model.model_dump(), kind=model.kind).state()
        return tuple((*entry, os.stat(entry[0]).st_ctime_ns) for entry in state)

    def needs(
        self, card: Mapping[str, Any], gpu_memory_gb: float = 80.0, work: Workload | None = None
    ) -> Needs:
        """See ``EngineType.needs``; ``parameters`` missing counts as ``PARAMETERS``.

        >>> TRANSFORMERS.needs({"parameters": 70_553_706_496, "dtype": "bfloat16"}).gpus
        4
        >>> TRANSFORMERS.needs({"parameters": 1_557_611_200, "dtype": "float32"}).gpus
        1
        >>> TRANSFORMERS.needs({"control": {"steps": 0}, "dtype": "float32"})
        Needs(gpus=0, threads=1, mem_mb=3000, runtime=30)
        """
        if is_small(card):
            return Needs(card.get("tensor_parallel") or 0, 1, LITTLE_MEMORY_MB, 30)
        parameters = card.get("parameters") or PARAMETERS
        weights_gb = parameters * BYTES[card["dtype"]] / 1e9
        gpus = card.get("tensor_parallel") or 1
        while not card.get("tensor_parallel") and weights_gb > gpus * gpu_memory_gb * WEIGHT_SHARE:
            gpus *= 2
        # Several cores wait for each other where matrices are small.
        threads = 4 * gpus if weights_gb >= SMALL_GB else 1
        minutes = self.minutes_for(weights_gb, parameters, card["dtype"], work, gpus)
        return Needs(gpus, threads, int(8_000 + 1.2e3 * weights_gb), minutes)

    def minutes_for(
        self,
        weights_gb: float,
        parameters: int,
        dtype: str,
        work: Workload | None,
        gpus: int = 1,
    ) -> int:
        """Minutes that a job asks for at first: to load a model, and half as long again as its
        answers should take on A100s.

        Args:
            weights_gb: size of the weights, GB (1e9 bytes).
            parameters: their number.
            dtype: their precision.
            work: what the model is asked; None: nobody can say, and size alone decides.
            gpus: that it has.

        >>> TRANSFORMERS.minutes_for(14, 7_000_000_000, "bfloat16", None)
        116
        >>> work = Workload(100_000, 10_000_000, 2_000_000)
        >>> TRANSFORMERS.minutes_for(14, 7_000_000_000, "bfloat16", work)
        122
        """
        if work is None:
            return int(60 + 4 * weights_gb)
        reading = 2 * parameters * (work.read + work.written) / FLOPS[dtype]
        writing = work.written / self.written_at_once * weights_gb / GB_PER_SECOND
        at_once = gpus if self.splits_layers else 1
        return int(30 + 0.5 * weights_gb + 1.5 * (reading + writing) / at_once / 60)

    def offers(self, model: Any) -> Offers:
        """See ``EngineType.offers``: a checkpoint with a chat template takes conversations."""
        return Offers(self.can.logprobs, self.can.prompts, self.can.options, lambda: _chats(model))

    def stand_in(self, card: Mapping[str, Any], folder: str) -> dict[str, Any]:
        """See ``EngineType.stand_in``: a tiny model of the same architecture."""
        made: dict[str, Any] = {
            "stand_in": architecture_of(card),
            "checkpoint": folder,
            "revision": "main",
        }
        made |= {"adapter": None, "engine": "transformers", "tensor_parallel": None}
        return made | {"trust_remote_code": False, "allow_pickle": False}

    def render(self, model: Any, prompt: Any, chooses: bool) -> str:
        """See ``EngineType.render``: by the tokenizer alone, without weights."""
        from worldprobe.models.chat import rendered
        from worldprobe.models.loading import load_tokenizer

        tokenizer = load_tokenizer(checkpoint_of(model.model_dump(), kind=model.kind))
        tokenizer.chat_template_kwargs = dict(model.chat_template_kwargs)
        return rendered(tokenizer, prompt, chooses)


def _chats(model: Any) -> bool:
    from worldprobe.models.chat import has_template
    from worldprobe.models.loading import load_tokenizer

    return has_template(load_tokenizer(checkpoint_of(model.model_dump())))


class Transformers(LoadedWeights):
    """Any model that transformers loads."""

    keys = LoadedWeights.keys | {"device", "threads", "plain"}
    packages = ("torch", "transformers")
    is_released = True
    has_layers = True

    def kind(self, card: Mapping[str, Any]) -> str:
        """See ``EngineType.kind``: what the checkpoint states."""
        return checkpoint_of(card, kind=None).kind

    def open(self, model: Any) -> Engine:
        """See ``EngineType.open``."""
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
            **model.model_dump(include=_STATED),
        )


class ScoredOnly(Transformers):
    """Masked models and encoder-decoders, which are scored and write nothing."""

    can = Offers(prompts=False, options=False)
    has_layers = False

    def offers(self, model: Any) -> Offers:
        """See ``EngineType.offers``."""
        return self.can


class Vllm(LoadedWeights):
    """Causal models in vLLM."""

    environment = "vllm"
    splits_layers = True
    written_at_once = 128

    def findings(self, card: Any) -> Iterator[tuple[tuple[Any, ...], str, str]]:
        """See ``EngineType.findings``."""
        if card.adapter not in (None, NO_ADAPTER):
            problem = "vLLM does not load adapters here."
            yield ("adapter",), problem, "Merge it into the base, or remove engine."

    def open(self, model: Any) -> Engine:
        """See ``EngineType.open``."""
        from worldprobe.models.vllm_engine import open_engine

        stated = model.model_dump(include={*_STATED, "tensor_parallel"})
        return open_engine(model.checkpoint, **stated)


class Openai(EngineType):
    """A server with OpenAI's protocol."""

    keys = frozenset(
        {
            *("chat_template_kwargs", "endpoint", "tokenizer", "concurrency", "max_requests"),
            "max_tokens",
        }
    )
    packages = ("openai",)
    state = "on a server"
    credential = KEY_VARIABLE
    is_remote = True

    def findings(self, card: Any) -> Iterator[tuple[tuple[Any, ...], str, str]]:
        """See ``EngineType.findings``."""
        if not card.endpoint:
            fix = "Add endpoint: the base URL of the server, e.g. http://127.0.0.1:8000/v1."
            yield ("engine",), "openai needs an endpoint.", fix
        for key in () if card.tokenizer else ("trust_remote_code", "bos"):
            if getattr(card, key, "auto") not in (False, "auto"):
                problem = "does nothing with the engine openai without a tokenizer."
                yield (key,), problem, "Remove it, or name a tokenizer."

    def open(self, model: Any) -> Engine:
        """See ``EngineType.open``."""
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

    def offers(self, model: Any) -> Offers:
        """See ``EngineType.offers``: the server is asked."""
        from worldprobe.models.server.engine import NO_LOGPROBS

        facts = model.open().facts
        return Offers(logprobs=facts.notes["mode"] != NO_LOGPROBS, chat=lambda: facts.has_chat)

    def stand_in(self, card: Mapping[str, Any], folder: str) -> dict[str, Any]:
        """See ``EngineType.stand_in``: a server that the job starts."""
        return {"endpoint": REHEARSAL_ENDPOINT, "tokenizer": None}


TRANSFORMERS, TRANSFORMERS_SCORED, VLLM, OPENAI = Transformers(), ScoredOnly(), Vllm(), Openai()

#: The architecture of a model whose card and checkpoint name none, where its family is none.
USUAL = {CAUSAL: "llama", MASKED: "bert", ENCODER_DECODER: "t5"}
#: Families of the registry that are named like the architecture of their models.
FAMILIES = frozenset({"gpt2", "phi", "gemma", "mpt", "falcon", "mistral", "llama", "bert", "t5"})


def architecture_of(card: Mapping[str, Any]) -> str:
    """The architecture of a model's stand-in: what its card states, or the config.json of a folder
    of the user's; else its family where families are named like architectures, as gpt2.

    >>> architecture_of({"architecture": "mixtral", "checkpoint": "a/b", "family": "mistral"})
    'mixtral'
    >>> architecture_of({"checkpoint": "a/b", "family": "falcon", "kind": "causal"})
    'falcon'
    """
    if card.get("architecture"):
        return str(card["architecture"])
    names = [card["checkpoint"], card.get("adapter")]
    for name in (source for source in names if source and source != NO_ADAPTER):
        folder = folder_of(name)
        if folder and (folder / "config.json").is_file():
            try:
                stated = read_object(folder / "config.json").get("model_type")
            except UserError:  # the study would say what is wrong; its rehearsal need not
                stated = None
            if isinstance(stated, str):
                return stated
    return str(card["family"]) if card["family"] in FAMILIES else USUAL[card["kind"]]
