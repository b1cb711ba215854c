"""Which engine runs a model: transformers, vLLM, or a server that speaks OpenAI's protocol; flags and loading for every stage."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from worldprobe.cli.arguments import whole_number
from worldprobe.errors import UserError, did_you_mean
from worldprobe.operations.devices import claim_gpus

if TYPE_CHECKING:
    from worldprobe.models.engine import Engine

ENGINES = ("transformers", "vllm", "openai", "rule")
#: Flags that go with one engine only.
FLAGS = {
    "plain": "transformers",
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
        "--gpus",
        type=whole_number(0, 1024),
        default=0,
        metavar="N",
        help="number of GPUs to take, waiting until no other worldprobe process uses them (default: all that are visible)",
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
    from worldprobe.models.endpoint import Spending
    from worldprobe.models.openai_engine import open_engine

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
    from worldprobe.benchmarks.worldsense.asking.rules import open_engine

    return open_engine(args.checkpoint, getattr(args, "skin_folder", None))
