"""Which engine runs a model: transformers, vLLM, or a server that speaks OpenAI's protocol; flags
and loading for every stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from worldprobe.cli.options import (
    Adapter,
    AllowPickle,
    Dtype,
    ModelName,
    Revision,
    TrustRemoteCode,
    between,
)
from worldprobe.errors import UserError, did_you_mean
from worldprobe.models.checkpoint import NO_ADAPTER, short_name
from worldprobe.models.registry import (
    CAUSAL,
    KINDS,
    MASKED,
    PSEUDO,
    WITHIN_WORD,
    check_name,
    refuse_prompting,
    with_article,
)
from worldprobe.operations.resources import claim_gpus

if TYPE_CHECKING:
    from worldprobe.models.engine import Engine

ENGINES = ("transformers", "vllm", "openai", "rule")
#: Flags that go with one engine only.
FLAGS = {
    "plain": "transformers",
    "kind": "transformers",
    "pseudo": "transformers",
    "threads": "transformers",
    "tensor_parallel": "vllm",
    "endpoint": "openai",
    "tokenizer": "openai",
    "concurrency": "openai",
    "max_requests": "openai",
    "max_tokens": "openai",
}
#: Flags about weights and devices of this machine; with the engine openai the server decides them.
OF_WEIGHTS = ("revision", "dtype", "device", "adapter", "allow_pickle", "gpus")
#: Flags about a tokenizer; with the engine openai they need one.
OF_TOKENIZERS = ("trust_remote_code", "bos")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Which model is loaded, how, and where its answers are kept.

    Attributes:
        checkpoint: model folder, or hub id that was fetched before
        engine: engine: transformers (default), vllm, openai (a server), or rule (WorldSense's
            controls)
        kind: how the model reads: causal (default), masked (BERT and its like:
            pseudo-log-likelihoods) or encoder-decoder (T5)
        pseudo: masked: what is hidden while a token is predicted: within_word_l2r (default: the
            rest of its word too), or original (that token alone)
        gpus: number of GPUs to take, waiting until no other worldprobe process uses them; 0:
            compute on the CPU (default: all that are visible)
        threads: transformers: cores to compute on (default: all)
        tensor_parallel: vllm: number of GPUs that share the model (default: all given)
        endpoint: openai: the server's base URL, e.g. http://127.0.0.1:8000/v1
        tokenizer: openai: folder of the model's tokenizer, so that token ids are sent instead of
            text
        concurrency: openai: number of requests in flight (default: 16)
        max_requests: openai: stop after so many requests of this run, retries included; finished
            answers are kept
        max_tokens: openai: stop after so many tokens of this run, read and written, as the server
            counts them
        device: device: auto (default: all GPUs given, else the CPU), cpu, or e.g. cuda:0
        bos: whether a start token precedes a text
        answers: store of answers (default: .answers next to --out)
        kept_since: ask again what was answered before this time, in seconds since 1970 (`date +%s`)
        plain: take one sequence at a time, as the original did (slow)
    """

    checkpoint: str
    model: ModelName = None
    engine: str = "transformers"
    kind: Annotated[str | None, Parameter(choices=KINDS)] = None
    pseudo: Annotated[str | None, Parameter(choices=PSEUDO)] = None
    revision: Revision = None
    adapter: Adapter = None
    dtype: Dtype = None
    device: str | None = None
    gpus: Annotated[int | None, between(0, 1024)] = None
    threads: Annotated[int | None, between(1, 4096)] = None
    tensor_parallel: Annotated[int | None, between(1, 1024)] = None
    endpoint: str | None = None
    tokenizer: str | None = None
    concurrency: Annotated[int | None, between(1, 10_000)] = None
    max_requests: Annotated[int | None, between(1, 1_000_000_000)] = None
    max_tokens: Annotated[int | None, between(1, 1_000_000_000_000)] = None
    bos: Literal["auto", "always", "never"] = "auto"
    allow_pickle: AllowPickle = False
    trust_remote_code: TrustRemoteCode = False
    answers: Path | None = None
    kept_since: Annotated[float, between(0, 1e12)] = 0.0
    plain: bool = False

    @property
    def name(self) -> str:
        """The model's name in tables.

        Raises:
            UserError: it cannot be one.
        """
        return model_name(self.model, self.checkpoint, self.adapter)


def model_name(given: str | None, checkpoint: str, adapter: str | None = None) -> str:
    """A model's name in tables: what is given, or the adapter's or the checkpoint's.

    Raises:
        UserError: it cannot be one.
    """
    named = checkpoint if adapter in (None, NO_ADAPTER) else str(adapter)
    return short_name(named) if given is None else check_name(given, "--model")


def open_engine(options: ModelOptions, skin_folder: Path | None = None) -> Engine:
    """Load the model, or reach the server, that the flags name.

    Raises:
        UserError: the engine is unknown, or a flag does not go with it.
    """
    check_options(options)
    claim_gpus(options.gpus)  # before torch looks for them
    if options.engine == "rule":
        from worldprobe.benchmarks.worldsense.inference import reference_solvers

        return reference_solvers.open_engine(options.checkpoint, skin_folder)
    return {"transformers": _transformers, "vllm": _vllm, "openai": _openai}[options.engine](
        options
    )


def check_options(options: ModelOptions) -> None:
    """Refuse options that contradict each other.

    Raises:
        UserError: the engine is unknown, or a flag does not go with it.
    """
    if options.engine not in ENGINES:
        raise UserError(
            f"--engine {options.engine}",
            f"is unknown{did_you_mean(options.engine, ENGINES)}",
            f"Choose one of {', '.join(ENGINES)}.",
        )
    for flag, engine in FLAGS.items():
        given = getattr(options, flag)
        if given is not None and given is not False and options.engine != engine:
            name = "--" + flag.replace("_", "-")
            raise UserError(
                name,
                f"does nothing with --engine {options.engine}.",
                f"Leave it out, or add --engine {engine}.",
            )
    if options.engine == "openai":
        _check_server_flags(options)
    _check_kind(options)


def _check_server_flags(options: ModelOptions) -> None:
    """Refuse what a server decides, rather than let it seem to have an effect.

    Raises:
        UserError: a flag that does nothing.
    """
    silent = [
        (flag, "the server decides it.", "Leave it out.")
        for flag in OF_WEIGHTS
        if getattr(options, flag) not in (None, False, 0, "", "auto")
    ]
    if not options.tokenizer:
        fix = "Leave it out, or name the model's tokenizer: --tokenizer FOLDER."
        silent += [
            (flag, "no tokenizer is loaded.", fix)
            for flag in OF_TOKENIZERS
            if getattr(options, flag) not in (False, "auto")
        ]
    for flag, reason, fix in silent:
        raise UserError(
            "--" + flag.replace("_", "-"), f"does nothing with --engine openai: {reason}", fix
        )


def _check_kind(options: ModelOptions) -> None:
    """Refuse options that do nothing with a kind of model.

    Raises:
        UserError: one of them is given.
    """
    kind = options.kind or CAUSAL
    if options.pseudo and kind != MASKED:
        raise UserError(
            "--pseudo",
            f"does nothing with {with_article(kind)}.",
            f"Leave it out, or add --kind {MASKED}.",
        )
    if kind == MASKED and options.bos != "auto":
        problem = (
            "does nothing with a masked language model, which reads a text between its tokenizer's"
            " own special tokens."
        )
        raise UserError("--bos", problem, "Leave it out.")


def refuse_to_prompt(options: ModelOptions) -> None:
    """Only causal models answer prompts: said before a model is loaded.

    Raises:
        UserError: the model is to be of another kind.
    """
    if (options.kind or CAUSAL) != CAUSAL:
        raise refuse_prompting(options.checkpoint, str(options.kind))


def _transformers(options: ModelOptions) -> Engine:
    if options.threads:
        import torch

        torch.set_num_threads(options.threads)
    from worldprobe.models.transformers_engine import open_engine

    return open_engine(
        options.checkpoint,
        dtype="float32" if options.dtype is None else options.dtype,
        revision=options.revision or None,
        device=options.device or "auto",
        bos=options.bos,
        allow_pickle=options.allow_pickle,
        trust_remote_code=options.trust_remote_code,
        fastest="plain" if options.plain else "tries",
        kind=options.kind or CAUSAL,
        pseudo=options.pseudo or WITHIN_WORD,
        adapter=options.adapter,
    )


def _vllm(options: ModelOptions) -> Engine:
    if options.device not in (None, "auto"):
        raise UserError(
            f"--device {options.device}",
            "is not for vLLM, which takes the GPUs that it sees.",
            "Set CUDA_VISIBLE_DEVICES instead.",
        )
    from worldprobe.models.vllm_engine import open_engine

    return open_engine(
        options.checkpoint,
        dtype="float32" if options.dtype is None else options.dtype,
        revision=options.revision or None,
        bos=options.bos,
        allow_pickle=options.allow_pickle,
        trust_remote_code=options.trust_remote_code,
        tensor_parallel=options.tensor_parallel,
        adapter=options.adapter,
    )


def _openai(options: ModelOptions) -> Engine:
    if not options.endpoint:
        raise UserError(
            "--engine openai",
            "needs the server's address.",
            "Add --endpoint URL, e.g. http://127.0.0.1:8000/v1.",
        )
    from worldprobe.models.server.endpoint import Spending
    from worldprobe.models.server.engine import open_engine

    return open_engine(
        options.endpoint,
        options.checkpoint,
        tokenizer=options.tokenizer,
        bos=options.bos,
        concurrency=options.concurrency,
        trust_remote_code=options.trust_remote_code,
        spending=Spending(max_requests=options.max_requests, max_tokens=options.max_tokens),
    )
