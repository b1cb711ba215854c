"""``score``: log probabilities and answers of one model about items."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe import methods
from worldprobe.cli.arguments import whole_number
from worldprobe.cli.asking_flags import CHAT, add_model_flags, model_name
from worldprobe.cli.engines import open_engine, refuse_to_prompt

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.benchmarks.ewok.eval_types import Way
    from worldprobe.contracts import Table
    from worldprobe.inference.store import Store
    from worldprobe.models.engine import Engine
    from worldprobe.provenance import Provenance

    #: A finished table: rows, contract, what made them, and its place.
    Finished = tuple[pd.DataFrame, type[Table], Provenance, Path]

SWAP = ("no", "yes")


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """``score logprobs``, ``score prompting``, ``score all``."""
    stage = stages.add_parser("score", help="score items, or prompt the model about them")
    actions = stage.add_subparsers(title="actions", metavar="ACTION", required=True)

    logprobs = actions.add_parser("logprobs", help="log P(target | context) of every item, and log P(target)")
    logprobs.add_argument("items", type=Path, metavar="ITEMS", help="items table")
    add_model_flags(logprobs)
    logprobs.add_argument("--tokens-out", type=Path, metavar="FILE", help="also write each target token's log probability")
    logprobs.add_argument("--out", type=Path, required=True, metavar="FILE", help="table of target scores")
    logprobs.set_defaults(run=run_logprobs)

    prompting = actions.add_parser("prompting", help="prompt the model: Likert or Choice, free or constrained, zero or two shots")
    prompting.add_argument("items", type=Path, metavar="ITEMS", help="items table")
    add_model_flags(prompting)
    prompting.add_argument("--eval-type", required=True, metavar="NAME", help="way of asking, for example likert_constrained_two")
    add_prompt_flags(prompting)
    prompting.add_argument("--out", type=Path, required=True, metavar="FILE", help="table of responses")
    prompting.set_defaults(run=run_prompting)

    every = actions.add_parser(
        "all",
        help="several item tables and eval types, loading the model once",
        description="One --out per item table and eval type: all eval types of the first table, then those of the second, and so "
        "on. --prompts, --both-orders, --chat and --thoughts take one value for all item tables, or one per table.",
    )
    every.add_argument("items", type=Path, nargs="+", metavar="ITEMS", help="items tables, one per condition")
    add_model_flags(every)
    every.add_argument(
        "--eval-types",
        required=True,
        metavar="NAMES",
        help="comma-separated ways of asking, for example logprobs,likert_free_two",
    )
    add_prompt_flags(every)
    every.add_argument(
        "--out", type=Path, nargs="+", required=True, metavar="FILE", help="one file per item table and eval type, in that order"
    )
    every.set_defaults(run=run_all)


def add_prompt_flags(parser: argparse.ArgumentParser) -> None:
    """How Likert and Choice ask."""
    parser.add_argument(
        "--prompts",
        default=["ewok"],
        nargs="+",
        metavar="PROMPTS",
        help="set of prompts in resources/prompts, or a YAML file (default: ewok)",
    )
    parser.add_argument(
        "--both-orders",
        default=["no"],
        nargs="*",
        choices=SWAP,
        help="ask Choice also with the contexts in the other order: yes (also --both-orders alone) or no (default)",
    )
    parser.add_argument(
        "--chat",
        default=["never"],
        nargs="*",
        choices=CHAT,
        help="use the chat template: never (default, as in the paper), auto (where there is one), always (also --chat alone)",
    )
    parser.add_argument(
        "--thoughts",
        type=whole_number(0, 1_000_000),
        default=[0],
        nargs="+",
        metavar="N",
        help="limit of tokens for thoughts before a free answer, for models that think first; thoughts are never read as answers",
    )


def run_logprobs(args: argparse.Namespace) -> None:
    """Items -> target scores."""
    model_name(args)  # refused before a model is loaded
    _refuse_rules(args)
    items = read_items(args.items)
    since = time.monotonic()
    engine = open_engine(args)
    store = open_answers(args, engine, since, [args.items], args.out)
    write_all(score_items(args, args.items, items, engine, store, args.out, args.tokens_out))


def _refuse_rules(args: argparse.Namespace) -> None:
    """Refuse WorldSense's rules, which would score items without an error, and mean nothing.

    Raises:
        UserError: the engine is a rule.
    """
    from worldprobe.errors import UserError

    if args.engine == "rule":
        problem = "answers WorldSense's trials only, and these are EWoK's items."
        raise UserError("--engine rule", problem, "Choose another engine, or `worldprobe worldsense ask`.")


def run_prompting(args: argparse.Namespace) -> None:
    """Items -> responses of one eval type."""
    args.items, args.out, args.eval_types = [args.items], [args.out], args.eval_type
    run_all(args, prompting_only=True)


def run_all(args: argparse.Namespace, prompting_only: bool = False) -> None:
    """Items of each condition -> one table per eval type; the model is loaded once, and tables are written at the end."""
    from worldprobe.benchmarks.ewok.eval_types import PROMPTED, WAYS, way_of
    from worldprobe.errors import UserError

    model_name(args)  # refused before a model is loaded
    _refuse_rules(args)
    eval_types = [name.strip() for name in args.eval_types.split(",") if name.strip()]
    ways = [way_of(name, PROMPTED if prompting_only else WAYS) for name in eval_types]
    if any(way.is_prompted for way in ways):
        refuse_to_prompt(args)
    wanted = len(eval_types) * len(args.items)
    if wanted != len(args.out) or len(set(eval_types)) != len(eval_types):
        raise UserError(
            "score all",
            f"{len(args.items)} item tables and {len(set(eval_types))} different eval types need {wanted} --out files; "
            f"{len(args.out)} were given.",
            "Give one --out file per item table and eval type: all eval types of the first table, then those of the second.",
        )
    conditions = list(read_conditions(args, {way.paradigm for way in ways if way.is_prompted}))
    outs = iter(args.out)
    since = time.monotonic()
    engine = open_engine(args)
    store = open_answers(args, engine, since, args.items, args.out[0])
    finished: list[Finished] = []
    for path, items, prompting in conditions:
        for way in ways:
            if way.is_prompted:
                finished.append(ask_items(args, path, items, engine, store, way, prompting, next(outs)))
            else:
                finished += score_items(args, path, items, engine, store, next(outs))
    write_all(finished)


def read_conditions(args: argparse.Namespace, paradigms: set[str]) -> Any:
    """For each item table its path, its rows and its prompting: prompts, swap, chat and thoughts.

    Raises:
        UserError: an unreadable table, unknown prompts, or a number of values that is neither one nor one per table.
    """
    from worldprobe.benchmarks.ewok.scoring.prompts import load_prompts
    from worldprobe.errors import UserError

    names = _one_per_table(args, "prompts", args.prompts)
    swaps = _one_per_table(args, "both_orders", args.both_orders or ["yes"])
    chats = _one_per_table(args, "chat", args.chat or ["always"])
    budgets = _one_per_table(args, "thoughts", args.thoughts)
    for path, name, swap, chat, thoughts in zip(args.items, names, swaps, chats, budgets, strict=True):
        prompts = load_prompts(name)
        for paradigm in sorted(paradigms - set(prompts)):
            raise UserError(f"prompts {name}", f"contains no prompt for {paradigm}.", "Add it, or choose another set.")
        prompting = {"name": name, "prompts": prompts, "swap": swap == "yes", "chat": chat, "thoughts": thoughts}
        yield path, read_items(path), prompting


def _one_per_table(args: argparse.Namespace, flag: str, values: list[Any]) -> list[Any]:
    from worldprobe.errors import UserError

    if len(values) not in (1, len(args.items)):
        raise UserError(
            "--" + flag.replace("_", "-"),
            f"has {len(values)} values for {len(args.items)} item tables.",
            "Give one value, or one per item table.",
        )
    return values if len(values) == len(args.items) else values * len(args.items)


def read_items(path: Path) -> pd.DataFrame:
    """The columns of the items table that scoring reads.

    Raises:
        UserError: not an items table, no rows, or a text that is missing or empty.
    """
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.scoring.logprobs import ITEM_COLUMNS, check_texts
    from worldprobe.contracts import read_table

    items = read_table(path, Items, columns=ITEM_COLUMNS)
    check_texts(items, path)
    return items


def open_answers(args: argparse.Namespace, engine: Engine, since: float, items: list[Path], out: Path) -> Store:
    """The store of the engine's answers; it names the canary of every item table, because answers may repeat an item's words."""
    from worldprobe.contracts import read_provenance
    from worldprobe.inference.store import open_store

    store = open_store(args.answers or out.parent / ".answers", engine, since=since, kept_since=args.kept_since)
    for path in items:
        store.add_canary(read_provenance(path).canary)
    return store


def score_items(
    args: argparse.Namespace,
    path: Path,
    items: pd.DataFrame,
    engine: Engine,
    store: Store,
    out: Path,
    tokens_out: Path | None = None,
) -> list[Finished]:
    """Target scores, and on request token scores, which contain item text and therefore its canary."""
    from worldprobe.benchmarks.ewok.contracts import TargetScores, TokenScores
    from worldprobe.benchmarks.ewok.scoring.logprobs import score_logprobs
    from worldprobe.contracts import read_provenance
    from worldprobe.models.model_provenance import made_by_model
    from worldprobe.provenance import digests

    per_token = tokens_out is not None
    scores, tokens, counts = score_logprobs(items, engine, store, methods.SCORE, model_name(args), per_token)
    made = made_by_model(engine.facts, methods.SCORE, model_name(args), digests({"items": path}), counts)
    finished: list[Finished] = []
    if tokens is not None and tokens_out is not None:
        finished.append((tokens, TokenScores, replace(made, canary=read_provenance(path).canary), tokens_out))
    return [*finished, (scores, TargetScores, made, out)]


def ask_items(
    args: argparse.Namespace,
    path: Path,
    items: pd.DataFrame,
    engine: Engine,
    store: Store,
    way: Way,
    prompting: dict[str, Any],
    out: Path,
) -> Finished:
    """Responses of one eval type; they may repeat an item's words, so they carry its canary."""
    from worldprobe.benchmarks.ewok.contracts import Responses
    from worldprobe.benchmarks.ewok.scoring.prompting import ask, uses_chat
    from worldprobe.contracts import read_provenance
    from worldprobe.models.model_provenance import made_by_model
    from worldprobe.provenance import digests

    is_swapped, is_chat = prompting["swap"] and way.paradigm == "choice", uses_chat(prompting["chat"], engine)
    responses, counts = ask(
        items,
        engine,
        way,
        prompting["prompts"][way.paradigm],
        store,
        methods.SCORE,
        model_name(args),
        is_swapped,
        is_chat,
        prompting["thoughts"],
    )
    counts |= {"reading_method": methods.READING, "prompts": prompting["name"], "chat": is_chat, "swap": is_swapped}
    inputs, canary = digests({"items": path}), read_provenance(path).canary
    made = made_by_model(engine.facts, methods.SCORE, model_name(args), inputs, counts, canary=canary)
    return responses, Responses, made, out


def write_all(finished: list[Finished]) -> None:
    """Write every table, once all of them are there."""
    from worldprobe.contracts import write_table

    for frame, contract, made, out in finished:
        write_table(frame, contract, out, made)
