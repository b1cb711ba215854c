"""``worldsense ask`` and ``export-results``: one model's answers to trials, and their official layout."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe import methods
from worldprobe.cli.arguments import LARGEST_SEED, add_skin_folder_argument, number, positive, whole_number
from worldprobe.cli.asking_flags import CHAT, add_model_flags, model_name
from worldprobe.cli.engines import open_engine, refuse_to_prompt
from worldprobe.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.benchmarks.worldsense.inference.ask import Asking
    from worldprobe.benchmarks.worldsense.inference.prompts import Pool, PromptSet
    from worldprobe.inference.store import Store
    from worldprobe.models.engine import Engine
    from worldprobe.provenance import Provenance


def add_asking_parsers(actions: argparse._SubParsersAction, trials_help: str) -> None:
    """``ask`` and ``export-results``."""
    ask = actions.add_parser(
        "ask",
        help="ask a model about trials, by one or more prompting strategies, loading it once",
        description="Asks a model about trials. Takes one --out per set of trials and strategy: all strategies of the first set, "
        "then those of the second.",
    )
    ask.add_argument("trials", nargs="+", metavar="TRIALS", help=trials_help)
    add_model_flags(ask)
    ask.add_argument(
        "--prompting",
        required=True,
        metavar="NAMES",
        help="comma-separated strategies: sets of resources/prompts/worldsense, or YAML files, e.g. basic,cot",
    )
    ask.add_argument(
        "--chat",
        default="auto",
        choices=CHAT,
        help="use the chat template: auto (where there is one), always, or never (as text that the model continues)",
    )
    ask.add_argument(
        "--examples",
        metavar="TRIALS",
        nargs="+",
        help="solved trials for examples, one file for all sets or one each (default: TRIALS)",
    )
    ask.add_argument("--examples-seed", type=whole_number(0, LARGEST_SEED), default=0, metavar="N", help="seed of the examples")
    ask.add_argument(
        "--temperature", type=number(0, 100), default=0.0, metavar="T", help="sampling temperature; 0 takes the likeliest token"
    )
    ask.add_argument("--samples", type=positive, default=1, metavar="K", help="how often each trial is asked")
    ask.add_argument(
        "--seed", type=whole_number(0, 2**31), default=0, metavar="N", help="seed of the samples; sample k has seed N + k"
    )
    ask.add_argument(
        "--thoughts",
        type=whole_number(0, 1_000_000),
        default=0,
        metavar="N",
        help="limit of tokens for thoughts, in addition to each reply's own limit, for models that think first",
    )
    ask.add_argument(
        "--reading",
        default="explicit",
        choices=("explicit", "last_word"),
        help="how replies are read: by what they say, flagging several answers and refusals, or by the last word, as in the "
        "paper (default: %(default)s)",
    )
    add_skin_folder_argument(ask)
    ask.add_argument(
        "--out",
        type=Path,
        nargs="+",
        required=True,
        metavar="FILE",
        help="tables of responses: all strategies of the first set, then those of the second",
    )
    ask.set_defaults(run=run_ask)

    export = actions.add_parser(
        "export-results",
        help="write responses in the official layout",
        description="Writes one file PROMPTING___MODEL___results.jsonl.bz2 per prompting strategy and model.",
    )
    export.add_argument("responses", type=Path, nargs="+", metavar="RESPONSES", help="tables of responses")
    export.add_argument("--uncompressed", action="store_true", help="write .jsonl, not compressed")
    export.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder for the files")
    export.set_defaults(run=run_export_results)


def run_ask(args: argparse.Namespace) -> None:
    """Trials -> one table of responses per set and strategy; the model is loaded once, and tables are written at the end."""
    from worldprobe.benchmarks.worldsense.inference.ask import Asking
    from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
    from worldprobe.benchmarks.worldsense.inference.reference_solvers import RuleEngine
    from worldprobe.benchmarks.worldsense.trials.files import read_trials
    from worldprobe.benchmarks.worldsense.trials.official import is_official
    from worldprobe.contracts import write_table
    from worldprobe.inference.store import open_store

    prompt_sets = [load_prompt_set(name.strip()) for name in args.prompting.split(",") if name.strip()]
    names = [one.name for one in prompt_sets]
    wanted = len(names) * len(args.trials)
    if wanted != len(args.out) or len(set(names)) != len(names) or not names:
        problem = f"{len(args.trials)} sets and {len(set(names))} different strategies need {wanted} --out files."
        raise UserError(
            "worldsense ask", problem, "Give one per set and strategy: all strategies of the first set, then the second's."
        )
    if args.samples > 1 and not args.temperature:
        raise UserError(f"--samples {args.samples}", "are all alike without a temperature.", "Add --temperature 1, or ask once.")
    refuse_to_prompt(args)
    tables = [read_trials(path) for path in args.trials]
    pools = _pools(args, tables) if any(one.examples for one in prompt_sets) else [None] * len(tables)
    _check_examples(tables, prompt_sets, pools)
    since = time.monotonic()
    engine = open_engine(args)
    if isinstance(engine, RuleEngine):
        for path, trials in zip(args.trials, tables, strict=True):
            if is_official(path):
                engine.know(trials)
    store = open_store(args.answers or args.out[0].parent / ".answers", engine, since=since, kept_since=args.kept_since)
    for path, trials in zip(args.trials, tables, strict=True):
        store.add_canary(canary_of(path, trials))
    is_chat = args.chat == "always" or (args.chat == "auto" and engine.facts.has_chat)
    asking = Asking(is_chat, args.samples, args.temperature, args.seed, args.thoughts, args.reading)
    outs = iter(args.out)
    finished = []
    for place, (path, trials, pool) in enumerate(zip(args.trials, tables, pools, strict=True)):
        for prompts in prompt_sets:
            examples = _examples_path(args, place) if pool is not None and prompts.examples is not None else None
            finished.append((next(outs), *_ask(args, path, trials, engine, store, prompts, pool, examples, asking)))
    from worldprobe.benchmarks.worldsense.contracts import Responses

    for out, frame, made in finished:
        write_table(frame, Responses, out, made)


def _ask(
    args: argparse.Namespace,
    path: str,
    trials: pd.DataFrame,
    engine: Engine,
    store: Store,
    prompts: PromptSet,
    pool: Pool | None,
    examples: str | None,
    asking: Asking,
) -> tuple[pd.DataFrame, Provenance]:
    from worldprobe.benchmarks.worldsense.inference.ask import ask
    from worldprobe.files import digest_file
    from worldprobe.models.model_provenance import made_by_model

    frame, facts = ask(trials, engine, prompts, store, asking, pool, methods.ASK, model_name(args))
    inputs = {"trials": digest_file(path), "prompts": prompts.digest}
    if examples is not None:
        inputs["examples"] = digest_file(examples)
    seed = asking.seed if asking.temperature and not prompts.compares else None
    return frame, made_by_model(
        engine.facts,
        methods.ASK,
        model_name(args),
        inputs,
        facts | {"reading_method": methods.READING},
        seed=seed,
        canary=canary_of(path, trials),
    )


def _pools(args: argparse.Namespace, tables: list[pd.DataFrame]) -> list[Any]:
    """Where the examples of each set come from."""
    from worldprobe.benchmarks.worldsense.inference.prompts import Pool
    from worldprobe.benchmarks.worldsense.skins.groups import KNOWN
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
    from worldprobe.benchmarks.worldsense.trials.files import read_trials

    if args.examples and len(args.examples) not in (1, len(args.trials)):
        problem = f"has {len(args.examples)} files for {len(args.trials)} sets."
        raise UserError("--examples", problem, "Give one file, or one per set.")
    domains = {name: group.domain for name, group in KNOWN.items() if group.domain}
    domains |= {skin.name: skin.domain for skin in read_skins(args.skin_folder or FOLDER)}
    read = {path: read_trials(path) for path in args.examples or []}
    return [
        Pool(read.get(_examples_path(args, place), trials), args.examples_seed, domains) for place, trials in enumerate(tables)
    ]


def _examples_path(args: argparse.Namespace, place: int) -> str:
    """Where the examples of a set come from."""
    if not args.examples:
        return str(args.trials[place])
    return str(args.examples[place if len(args.examples) > 1 else 0])


def _check_examples(tables: list[pd.DataFrame], prompt_sets: list[PromptSet], pools: list[Any]) -> None:
    """Write every prompt once before a model is loaded: too few examples, or texts that a set cannot rewrite, are found now."""
    from worldprobe.benchmarks.worldsense.inference.ask import write_prompts

    for trials, pool in zip(tables, pools, strict=True):
        for prompts in prompt_sets:
            write_prompts(trials, prompts, pool)


def canary_of(path: str, trials: pd.DataFrame) -> str | None:
    """The canary of trials of ours; the official layout has it in the tuples' ids."""
    from worldprobe.benchmarks.worldsense.skins.vocabulary import CANARY
    from worldprobe.benchmarks.worldsense.trials.official import is_official
    from worldprobe.contracts import read_provenance

    if is_official(path):
        return CANARY if trials["tuple_id"].str.startswith(CANARY).any() else None
    return read_provenance(path).canary


def run_export_results(args: argparse.Namespace) -> None:
    """Tables of responses -> official files; the names are checked before the first is written."""
    from worldprobe.benchmarks.worldsense.contracts import Responses
    from worldprobe.benchmarks.worldsense.exports import results_name, write_results
    from worldprobe.contracts import read_provenance, read_table

    found: dict[str, tuple[Path, str, pd.DataFrame]] = {}
    for path in args.responses:
        model = read_provenance(path).model or path.stem
        rows = read_table(path, Responses)
        for prompting in sorted(set(rows["prompting"])):
            name = results_name(prompting, model, not args.uncompressed)
            if name in found:
                problem = f"contains {prompting} answers of {model}, and so does {found[name][0]}."
                raise UserError(path, problem, "Export each set of trials to a folder of its own.")
            found[name] = (path, model, rows[rows["prompting"] == prompting])
    for _, model, rows in found.values():
        write_results(rows, model, args.out, not args.uncompressed)
