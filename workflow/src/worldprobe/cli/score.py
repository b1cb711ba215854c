"""``score``: what a model makes of every item."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe.models.engine import Engine


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``score logprobs``."""
    stage = stages.add_parser("score", help="score items with a language model")
    actions = stage.add_subparsers(title="actions", metavar="ACTION", required=True)

    logprobs = actions.add_parser("logprobs", help="log P(target | context) of every item, and log P(target)")
    add_model_flags(logprobs)
    logprobs.add_argument("--tokens-out", type=Path, metavar="FILE", help="also write each target token's log probability")
    logprobs.add_argument("--out", type=Path, required=True, help="the target scores")
    logprobs.set_defaults(run=run_logprobs)


def add_model_flags(parser: argparse.ArgumentParser) -> None:
    """The items, and the flags that say which model is loaded and how."""
    parser.add_argument("items", type=Path, help="items table")
    parser.add_argument("--checkpoint", required=True, help="model folder, or hub id that was fetched before")
    parser.add_argument("--revision", help="branch, tag or commit of the hub id")
    parser.add_argument("--dtype", default="float32", help="float32 (default), bfloat16 or float16")
    parser.add_argument("--engine", default="transformers", help="transformers (default)")
    parser.add_argument("--device", default="auto", help="auto (default: all GPUs given, else the CPU), cpu, cuda:0, ...")
    parser.add_argument("--bos", default="auto", choices=("auto", "always", "never"), help="start token before a text")
    parser.add_argument("--allow-pickle", action="store_true", help="load weights that exist as pickles only (can run code)")
    parser.add_argument("--trust-remote-code", action="store_true", help="run the Python code that the model brings")
    parser.add_argument("--model", help="the model's name in tables (default: the checkpoint's)")
    parser.add_argument("--method", type=int, default=1, help="version of the computation")
    parser.add_argument("--shards", type=Path, help="folder for finished work (default: .shards beside --out)")
    parser.add_argument("--plain", action="store_true", help="score one sequence at a time, as the original did (slow)")


def open_engine(args: argparse.Namespace) -> Engine:
    """Load the model that the flags name; the inputs must have been checked before."""
    from worldprobe.models.transformers_engine import open_engine as open_transformers

    return open_transformers(
        args.checkpoint,
        dtype=args.dtype,
        revision=args.revision or None,
        device=args.device,
        bos=args.bos,
        allow_pickle=args.allow_pickle,
        trust_remote_code=args.trust_remote_code,
        fastest="plain" if args.plain else "tries",
    )


def model_name(args: argparse.Namespace) -> str:
    """The model's name in tables."""
    return args.model or Path(args.checkpoint).name


def shard_folder(args: argparse.Namespace, out: Path) -> Path:
    """Where finished work is kept."""
    return args.shards or out.parent / ".shards"


def run_logprobs(args: argparse.Namespace) -> None:
    """Items -> target scores."""
    from worldprobe.contracts import Items, TargetScores, TokenScores, read_provenance, read_table, write_table
    from worldprobe.files import digest_file
    from worldprobe.scoring.logprobs import ITEM_COLUMNS, provenance, score_logprobs

    items = read_table(args.items, Items, columns=ITEM_COLUMNS)
    engine = open_engine(args)
    scores, tokens, counts = score_logprobs(
        items, engine, shard_folder(args, args.out), args.method, model_name(args), per_token=args.tokens_out is not None
    )
    made = provenance(engine, digest_file(args.items), args.method, model_name(args), counts)
    if tokens is not None:
        made.canary = read_provenance(args.items).canary
        write_table(tokens, TokenScores, args.tokens_out, made)
        made.canary = None
    write_table(scores, TargetScores, args.out, made)
