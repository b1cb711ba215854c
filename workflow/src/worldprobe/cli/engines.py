"""Which engine runs a model: transformers, vLLM, or a server that speaks OpenAI's protocol; flags and loading for every stage."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from worldprobe.cli.arguments import whole_number
from worldprobe.errors import UserError, did_you_mean
from worldprobe.models.model_types import CAUSAL, KINDS, MASKED, PSEUDO, WITHIN_WORD, refuse_prompting, with_article
from worldprobe.operations.devices import claim_gpus

if TYPE_CHECKING:
    from worldprobe.models.engine import Engine

ENGINES = ("transformers", "vllm", "openai", "rule")
#: Flags that go with one engine only.
FLAGS = {
    "plain": "transformers",
    "kind": "transformers",
    "pseudo": "transformers",
    "tensor_parallel": "vllm",
    "endpoint": "openai",
    "tokenizer": "openai",
    "concurrency": "openai",
    "max_requests": "openai",
    "max_tokens": "openai",
}
#: Flags about weights and devices of this machine; with the engine openai the server decides them.
OF_WEIGHTS = ("revision", "dtype", "device", "allow_pickle", "gpus")
#: Flags about a tokenizer; with the engine openai they need one.
OF_TOKENIZERS = ("trust_remote_code", "bos")


def add_engine_flags(parser: argparse.ArgumentParser) -> None:
    """The engine, and what only some engines need."""
    parser.add_argument(
        "--engine",
        default="transformers",
        metavar="ENGINE",
        help="engine: transformers (default), vllm, openai (a server), or rule (WorldSense's controls)",
    )
    parser.add_argument(
        "--kind",
        choices=KINDS,
        help="how the model reads: causal (default), masked (BERT and its like: pseudo-log-likelihoods) or encoder-decoder (T5)",
    )
    parser.add_argument(
        "--pseudo",
        choices=PSEUDO,
        help="masked: what is hidden while a token is predicted: within_word_l2r (default: the rest of its word too), or "
        "original (that token alone)",
    )
    parser.add_argument(
        "--gpus",
        type=whole_number(0, 1024),
        metavar="N",
        help="number of GPUs to take, waiting until no other worldprobe process uses them; 0: compute on the CPU "
        "(default: all that are visible)",
    )
    parser.add_argument(
        "--tensor-parallel",
        type=whole_number(1, 1024),
        metavar="N",
        help="vllm: number of GPUs that share the model (default: all given)",
    )
    parser.add_argument("--endpoint", metavar="URL", help="openai: the server's base URL, e.g. http://127.0.0.1:8000/v1")
    parser.add_argument(
        "--tokenizer",
        metavar="FOLDER",
        help="openai: folder of the model's tokenizer, so that token ids are sent instead of text",
    )
    parser.add_argument(
        "--concurrency", type=whole_number(1, 10_000), metavar="N", help="openai: number of requests in flight (default: 16)"
    )
    parser.add_argument(
        "--max-requests",
        type=whole_number(1, 1_000_000_000),
        metavar="N",
        help="openai: stop after so many requests of this run, retries included; finished answers are kept",
    )
    parser.add_argument(
        "--max-tokens",
        type=whole_number(1, 1_000_000_000_000),
        metavar="N",
        help="openai: stop after so many tokens of this run, read and written, as the server counts them",
    )


def open_engine(args: argparse.Namespace) -> Engine:
    """Load the model, or reach the server, that the flags name.

    Raises:
        UserError: the engine is unknown, or a flag does not go with it.
    """
    if args.engine not in ENGINES:
        raise UserError(
            f"--engine {args.engine}", f"is unknown{did_you_mean(args.engine, ENGINES)}", f"Choose one of {', '.join(ENGINES)}."
        )
    for flag, engine in FLAGS.items():
        given = getattr(args, flag)
        if given is not None and given is not False and args.engine != engine:
            name = "--" + flag.replace("_", "-")
            raise UserError(name, f"does nothing with --engine {args.engine}.", f"Leave it out, or add --engine {engine}.")
    if args.engine == "openai":
        _check_server_flags(args)
    _check_kind(args)
    claim_gpus(args.gpus)  # before torch looks for them
    return {"transformers": _transformers, "vllm": _vllm, "openai": _openai, "rule": _rule}[args.engine](args)


def _check_server_flags(args: argparse.Namespace) -> None:
    """Refuse what a server decides, rather than let it seem to have an effect.

    Raises:
        UserError: a flag that does nothing.
    """
    silent = [
        (flag, "the server decides it.", "Leave it out.")
        for flag in OF_WEIGHTS
        if getattr(args, flag) not in (None, False, 0, "", "auto")
    ]
    if not args.tokenizer:
        fix = "Leave it out, or name the model's tokenizer: --tokenizer FOLDER."
        silent += [(flag, "no tokenizer is loaded.", fix) for flag in OF_TOKENIZERS if getattr(args, flag) not in (False, "auto")]
    for flag, reason, fix in silent:
        raise UserError("--" + flag.replace("_", "-"), f"does nothing with --engine openai: {reason}", fix)


def _check_kind(args: argparse.Namespace) -> None:
    """Refuse options that do nothing with a kind of model.

    Raises:
        UserError: one of them is given.
    """
    kind = args.kind or CAUSAL
    if args.pseudo and kind != MASKED:
        raise UserError("--pseudo", f"does nothing with {with_article(kind)}.", f"Leave it out, or add --kind {MASKED}.")
    if kind == MASKED and args.bos != "auto":
        problem = "does nothing with a masked language model, which reads a text between its tokenizer's own special tokens."
        raise UserError("--bos", problem, "Leave it out.")


def refuse_to_prompt(args: argparse.Namespace) -> None:
    """Only causal models answer prompts: said before a model is loaded.

    Raises:
        UserError: the model is to be of another kind.
    """
    if (args.kind or CAUSAL) != CAUSAL:
        raise refuse_prompting(args.checkpoint, args.kind)


def _transformers(args: argparse.Namespace) -> Engine:
    from worldprobe.models.transformers_engine import open_engine

    return open_engine(
        args.checkpoint,
        dtype="float32" if args.dtype is None else args.dtype,
        revision=args.revision or None,
        device=args.device or "auto",
        bos=args.bos,
        allow_pickle=args.allow_pickle,
        trust_remote_code=args.trust_remote_code,
        fastest="plain" if args.plain else "tries",
        kind=args.kind or CAUSAL,
        pseudo=args.pseudo or WITHIN_WORD,
    )


def _vllm(args: argparse.Namespace) -> Engine:
    if args.device not in (None, "auto"):
        raise UserError(
            f"--device {args.device}", "is not for vLLM, which takes the GPUs that it sees.", "Set CUDA_VISIBLE_DEVICES instead."
        )
    from worldprobe.models.vllm_engine import open_engine

    return open_engine(
        args.checkpoint,
        dtype="float32" if args.dtype is None else args.dtype,
        revision=args.revision or None,
        bos=args.bos,
        allow_pickle=args.allow_pickle,
        trust_remote_code=args.trust_remote_code,
        tensor_parallel=args.tensor_parallel,
    )


def _openai(args: argparse.Namespace) -> Engine:
    if not args.endpoint:
        raise UserError("--engine openai", "needs the server's address.", "Add --endpoint URL, e.g. http://127.0.0.1:8000/v1.")
    from worldprobe.models.server.endpoint import Spending
    from worldprobe.models.server.engine import open_engine

    return open_engine(
        args.endpoint,
        args.checkpoint,
        tokenizer=args.tokenizer,
        bos=args.bos,
        concurrency=args.concurrency,
        trust_remote_code=args.trust_remote_code,
        spending=Spending(max_requests=args.max_requests, max_tokens=args.max_tokens),
    )


def _rule(args: argparse.Namespace) -> Engine:
    from worldprobe.benchmarks.worldsense.inference.reference_solvers import open_engine

    return open_engine(args.checkpoint, getattr(args, "skin_folder", None))
