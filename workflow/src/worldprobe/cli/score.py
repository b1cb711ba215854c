"""``score``: what a model makes of every item."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe.cli.engines import add_engine_flags, open_engine

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.models.engine import Engine


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``score logprobs``, ``score prompting``, ``score all``."""
    stage = stages.add_parser("score", help="score items with a language model, or ask it about them")
    actions = stage.add_subparsers(title="actions", metavar="ACTION", required=True)

    logprobs = actions.add_parser("logprobs", help="log P(target | context) of every item, and log P(target)")
    add_model_flags(logprobs)
    logprobs.add_argument("--tokens-out", type=Path, metavar="FILE", help="also write each target token's log probability")
    logprobs.add_argument("--out", type=Path, required=True, help="the target scores")
    logprobs.set_defaults(run=run_logprobs)

    prompting = actions.add_parser("prompting", help="ask the model: Likert or Choice, free or constrained, zero or two shots")
    add_model_flags(prompting)
    prompting.add_argument("--eval-type", required=True, help="e.g. likert_constrained_two")
    add_prompt_flags(prompting)
    prompting.add_argument("--out", type=Path, required=True, help="the responses")
    prompting.set_defaults(run=run_prompting)

    every = actions.add_parser("all", help="several eval types from one loading of the model")
    add_model_flags(every)
    every.add_argument("--eval-types", required=True, help="comma-separated, e.g. logprobs,likert_free_two; one --out for each")
    add_prompt_flags(every)
    every.add_argument("--out", type=Path, nargs="+", required=True, help="one file per eval type, in their order")
    every.set_defaults(run=run_all)


def add_model_flags(parser: argparse.ArgumentParser) -> None:
    """The items, and the flags that say which model is loaded and how."""
    parser.add_argument("items", type=Path, help="items table")
    parser.add_argument("--checkpoint", required=True, help="model folder, or hub id that was fetched before")
    parser.add_argument("--revision", help="branch, tag or commit of the hub id")
    parser.add_argument("--dtype", default="float32", help="float32 (default), bfloat16 or float16")
    add_engine_flags(parser)
    parser.add_argument("--device", default="auto", help="auto (default: all GPUs given, else the CPU), cpu, cuda:0, ...")
    parser.add_argument("--bos", default="auto", choices=("auto", "always", "never"), help="start token before a text")
    parser.add_argument("--allow-pickle", action="store_true", help="load weights that exist as pickles only (can run code)")
    parser.add_argument("--trust-remote-code", action="store_true", help="run the Python code that the model brings")
    parser.add_argument("--model", help="the model's name in tables (default: the checkpoint's)")
    parser.add_argument("--method", type=int, default=1, help="version of the computation")
    parser.add_argument("--shards", type=Path, help="folder for finished work (default: .shards beside --out)")
    parser.add_argument("--plain", action="store_true", help="take one sequence at a time, as the original did (slow)")


def add_prompt_flags(parser: argparse.ArgumentParser) -> None:
    """How Likert and Choice ask."""
    parser.add_argument("--prompts", default="ewok", help="set of prompts in resources/prompts, or a YAML file (default: ewok)")
    parser.add_argument("--swap", action="store_true", help="ask Choice also with the contexts in the other order")
    parser.add_argument("--chat", action="store_true", help="ask through the model's chat template (the paper did not)")


def model_name(args: argparse.Namespace) -> str:
    """The model's name in tables."""
    return args.model or Path(args.checkpoint).name


def run_logprobs(args: argparse.Namespace) -> None:
    """Items -> target scores."""
    items = read_items(args)
    write_logprobs(args, items, open_engine(args), args.out)


def run_prompting(args: argparse.Namespace) -> None:
    """Items -> responses of one eval type."""
    from worldprobe.benchmarks.ewok.asking.prompting import parse_eval_type
    from worldprobe.benchmarks.ewok.asking.prompts import load_prompts

    items = read_items(args)
    parse_eval_type(args.eval_type)
    prompts = load_prompts(args.prompts)
    write_responses(args, items, open_engine(args), args.eval_type, prompts, args.out)


def run_all(args: argparse.Namespace) -> None:
    """Items -> one table per eval type, with the model loaded once."""
    from worldprobe.benchmarks.ewok.asking.prompting import parse_eval_type
    from worldprobe.benchmarks.ewok.asking.prompts import load_prompts
    from worldprobe.errors import UserError

    eval_types = [name.strip() for name in args.eval_types.split(",") if name.strip()]
    for eval_type in eval_types:
        if eval_type != "logprobs":
            parse_eval_type(eval_type)
    if len(eval_types) != len(args.out) or len(set(eval_types)) != len(eval_types):
        raise UserError(
            "score all",
            f"{len(eval_types)} eval types, {len(args.out)} files.",
            "Give one --out for each eval type, in their order.",
        )
    items = read_items(args)
    prompts = load_prompts(args.prompts)
    engine = open_engine(args)
    for eval_type, out in zip(eval_types, args.out, strict=True):
        if eval_type == "logprobs":
            write_logprobs(args, items, engine, out)
        else:
            write_responses(args, items, engine, eval_type, prompts, out)


def read_items(args: argparse.Namespace) -> pd.DataFrame:
    """The columns of the items table that scoring reads."""
    from worldprobe.benchmarks.ewok.asking.logprobs import ITEM_COLUMNS
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.contracts import read_table
    from worldprobe.errors import UserError

    items = read_table(args.items, Items, columns=ITEM_COLUMNS)
    if items.empty:
        raise UserError(args.items, "holds no items.", "Build the items again.")
    return items


def write_logprobs(args: argparse.Namespace, items: pd.DataFrame, engine: Engine, out: Path) -> None:
    """Score and write target scores, and on request token scores."""
    from worldprobe.benchmarks.ewok.asking.logprobs import provenance, score_logprobs
    from worldprobe.benchmarks.ewok.contracts import TargetScores, TokenScores
    from worldprobe.contracts import read_provenance, write_table
    from worldprobe.files import digest_file

    tokens_out: Path | None = getattr(args, "tokens_out", None)
    scores, tokens, counts = score_logprobs(
        items, engine, args.shards or out.parent / ".shards", args.method, model_name(args), per_token=tokens_out is not None
    )
    made = provenance(engine, digest_file(args.items), args.method, model_name(args), counts)
    if tokens is not None and tokens_out is not None:
        made.canary = read_provenance(args.items).canary
        write_table(tokens, TokenScores, tokens_out, made)
        made.canary = None
    write_table(scores, TargetScores, out, made)


def write_responses(
    args: argparse.Namespace, items: pd.DataFrame, engine: Engine, eval_type: str, prompts: dict[str, Any], out: Path
) -> None:
    """Ask and write responses; they may repeat an item's words, so they carry its canary."""
    from worldprobe.benchmarks.ewok.asking.logprobs import provenance
    from worldprobe.benchmarks.ewok.asking.prompting import ask
    from worldprobe.benchmarks.ewok.contracts import Responses
    from worldprobe.contracts import read_provenance, write_table
    from worldprobe.errors import UserError
    from worldprobe.files import digest_file

    paradigm = eval_type.split("_")[0]
    if paradigm not in prompts:
        raise UserError(f"prompts {args.prompts}", f"holds no prompt for {paradigm}.", "Add it, or choose another set.")
    responses, counts = ask(
        items,
        engine,
        eval_type,
        prompts[paradigm],
        args.shards or out.parent / ".shards",
        args.method,
        model_name(args),
        args.swap and paradigm == "choice",
        args.chat,
    )
    counts |= {"prompts": args.prompts, "chat": args.chat, "swap": args.swap and paradigm == "choice"}
    made = provenance(engine, digest_file(args.items), args.method, model_name(args), counts)
    made.canary = read_provenance(args.items).canary
    write_table(responses, Responses, out, made)
