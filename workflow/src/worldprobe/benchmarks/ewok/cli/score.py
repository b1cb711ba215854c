"""``score``: log probabilities and answers of one model about items."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from worldprobe import methods
from worldprobe.benchmarks.ewok.vocabulary import way_of
from worldprobe.cli.ask import open_answers
from worldprobe.cli.engines import ModelOptions, refuse_to_prompt
from worldprobe.cli.options import between
from worldprobe.engines import refuse_others
from worldprobe.errors import UserError
from worldprobe.models.checkpoint import made_by_model
from worldprobe.provenance import digests

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.benchmarks.ewok.vocabulary import Way
    from worldprobe.contracts import Table
    from worldprobe.inference.store import Store
    from worldprobe.models.engine import Engine
    from worldprobe.provenance import Provenance

    #: A finished table: rows, contract, what made them, and its place.
    Finished = tuple[pd.DataFrame, type[Table], Provenance, Path]

app = App(name="score", help="Score items, or prompt the model about them.")


@dataclass(frozen=True)
class Condition:
    """A table of items, and how Likert and Choice ask about them."""

    path: Path
    items: pd.DataFrame
    prompt_set: str
    prompts: Any
    is_swapped: bool
    chat: str
    thoughts: int
    limit: int | None


@app.command
def logprobs(
    items: Path,
    /,
    *,
    model: ModelOptions,
    without_context: bool = False,
    tokens_out: Path | None = None,
    out: Path,
) -> None:
    """Score log P(target | context) of every item.

    Args:
        items: items table
        without_context: also log P(target), for `worldprobe judge --compare-targets pmi`
        tokens_out: also write each target token's log probability
        out: table of target scores
    """
    name = model.name  # refused before a model is loaded
    refuse_others(model.model_dump(), "ewok", model.checkpoint)
    table = read_items(items)
    since = time.monotonic()
    engine = model.open()
    store = open_answers(model, engine, since, [items], out)
    write_all(score_items(name, items, table, engine, store, out, tokens_out, without_context))


@app.command(name="all")
def all_(
    items: list[Path],
    /,
    *,
    model: ModelOptions,
    eval_types: str,
    prompts: Sequence[str] = ("ewok",),
    both_orders: Annotated[Sequence[Literal["no", "yes"]], Parameter(consume_multiple=True)] = (
        "no",
    ),
    chat_template: Annotated[
        Sequence[Literal["never", "auto", "always"]], Parameter(consume_multiple=True)
    ] = ("never",),
    thoughts: Annotated[Sequence[int], between(0, 1_000_000)] = (0,),
    limit: Annotated[Sequence[int], between(0)] = (0,),
    out: list[Path],
) -> None:
    """Score one or more item tables by one or more eval types, loading the model once.

    One --out per item table and eval type: all eval types of the first table, then those of the
    second, and so on. --prompts, --both-orders, --chat-template, --thoughts and --limit take one
    value for all item tables, or one per table.

    Args:
        items: items tables, one per condition
        eval_types: comma-separated ways of asking, for example logprobs,likert_free_two
        prompts: set of prompts in resources/prompts, or a YAML file; ewok is the one of the items'
            language
        both_orders: ask Choice also with the contexts in the other order: yes (also --both-orders
            alone) or no
        chat_template: use the chat template: never (as in the paper), auto (where there is one),
            always (also --chat-template alone)
        thoughts: limit of tokens for thoughts before a free answer, for models that think first;
            thoughts are never read as answers
        limit: number of templates for Likert and Choice, spread evenly over domains; 0: all
        out: one file per item table and eval type, in that order
    """
    name = model.name  # refused before a model is loaded
    refuse_others(model.model_dump(), "ewok", model.checkpoint)
    names = [word.strip() for word in eval_types.split(",") if word.strip()]
    ways = [way_of(eval_type) for eval_type in names]
    if any(way.is_prompted for way in ways):
        refuse_to_prompt(model)
    wanted = len(names) * len(items)
    if wanted != len(out) or len(set(names)) != len(names):
        raise UserError(
            "score all",
            f"{len(items)} item tables and {len(set(names))} different eval types need {wanted}"
            f" --out files; {len(out)} were given.",
            "Give one --out file per item table and eval type: all eval types of the first table,"
            " then those of the second.",
        )
    options: dict[str, Sequence[Any]] = {
        "prompts": prompts,
        "both-orders": both_orders or ["yes"],
        "chat-template": chat_template or ["always"],
    }
    options |= {"thoughts": thoughts, "limit": limit}
    conditions = read_conditions(items, options, {way.paradigm for way in ways if way.is_prompted})
    outs = iter(out)
    since = time.monotonic()
    engine = model.open()
    store = open_answers(model, engine, since, items, out[0])
    finished: list[Finished] = []
    for condition in conditions:
        for way in ways:
            if way.is_prompted:
                finished.append(ask_items(name, condition, engine, store, way, next(outs)))
            else:
                finished += score_items(
                    name, condition.path, condition.items, engine, store, next(outs)
                )
    write_all(finished)


def read_conditions(
    paths: Sequence[Path], options: dict[str, Sequence[Any]], paradigms: Collection[str]
) -> list[Condition]:
    """Every item table with its prompting.

    Args:
        paths: item tables.
        options: option -> one value, or one per table.
        paradigms: those that need prompts.

    Raises:
        UserError: an unreadable table, unknown prompts, or a number of values that is neither one
            nor one per table.
    """
    from worldprobe.benchmarks.ewok.scoring import load_prompts, prompts_of

    for option, values in options.items():
        if len(values) not in (1, len(paths)):
            problem = f"has {len(values)} values for {len(paths)} item tables."
            raise UserError(f"--{option}", problem, "Give one value, or one per item table.")
    per_table = zip(
        *(list(values) * (len(paths) // len(values)) for values in options.values()), strict=True
    )
    conditions = []
    for path, (name, swap, chat, thoughts, limit) in zip(paths, per_table, strict=True):
        name = prompts_of(path, name) if paradigms else name
        prompts = load_prompts(name)
        for paradigm in sorted(set(paradigms) - set(prompts)):
            raise UserError(
                f"prompts {name}",
                f"contains no prompt for {paradigm}.",
                "Add it, or choose another set.",
            )
        conditions.append(
            Condition(
                path, read_items(path), name, prompts, swap == "yes", chat, thoughts, limit or None
            )
        )
    return conditions


def read_items(path: Path) -> pd.DataFrame:
    """The columns of the items table that scoring reads.

    Raises:
        UserError: not an items table, no rows, or a text that is missing or empty.
    """
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.scoring import ITEM_COLUMNS, check_texts
    from worldprobe.contracts import read_table

    items = read_table(path, Items, columns=ITEM_COLUMNS)
    check_texts(items, path)
    return items


def score_items(
    name: str,
    path: Path,
    items: pd.DataFrame,
    engine: Engine,
    store: Store,
    out: Path,
    tokens_out: Path | None = None,
    without_context: bool = False,
) -> list[Finished]:
    """Target scores, and on request token scores, which contain item text and therefore its
    canary.
    """
    from worldprobe.benchmarks.ewok.contracts import TargetScores, TokenScores
    from worldprobe.benchmarks.ewok.scoring import score_logprobs
    from worldprobe.contracts import read_provenance

    scores, tokens, counts = score_logprobs(
        items, engine, store, methods.SCORE, name, tokens_out is not None, without_context
    )
    made = made_by_model(engine.facts, methods.SCORE, name, digests({"items": path}), counts)
    finished: list[Finished] = []
    if tokens is not None and tokens_out is not None:
        finished.append(
            (tokens, TokenScores, replace(made, canary=read_provenance(path).canary), tokens_out)
        )
    return [*finished, (scores, TargetScores, made, out)]


def ask_items(
    name: str, condition: Condition, engine: Engine, store: Store, way: Way, out: Path
) -> Finished:
    """Responses of one eval type; they may repeat an item's words, so they carry its canary."""
    from worldprobe.benchmarks.ewok.contracts import Items, Responses
    from worldprobe.benchmarks.ewok.materials.subsets import in_share
    from worldprobe.benchmarks.ewok.scoring import ask, uses_chat
    from worldprobe.contracts import read_provenance, read_table

    is_swapped, is_chat = (
        condition.is_swapped and way.paradigm == "choice",
        uses_chat(condition.chat, engine),
    )
    prompt = condition.prompts[way.paradigm]
    items, limit = condition.items, condition.limit
    if limit:
        is_kept = in_share(read_table(condition.path, Items), limit)
        items, limit = (
            items[is_kept].reset_index(drop=True),
            None if is_kept.all() else limit,
        )  # all are no share
    responses, counts = ask(
        items,
        engine,
        way,
        prompt,
        store,
        methods.SCORE,
        name,
        is_swapped,
        is_chat,
        condition.thoughts,
    )
    counts |= {
        "reading_method": methods.READING,
        "prompts": condition.prompt_set,
        "chat": is_chat,
        "swap": is_swapped,
    }
    counts |= {"limit": limit} if limit else {}
    inputs, canary = digests({"items": condition.path}), read_provenance(condition.path).canary
    made = made_by_model(engine.facts, methods.SCORE, name, inputs, counts, canary=canary)
    return responses, Responses, made, out


def write_all(finished: list[Finished]) -> None:
    """Write every table, once all of them are there."""
    from worldprobe.contracts import write_table

    for frame, contract, made, out in finished:
        write_table(frame, contract, out, made)
