"""``worldsense``: generate and pass on trials, ask models about them, and analyse what they
answer.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from worldprobe import methods
from worldprobe.benchmarks.worldsense.settings import Asking, Part
from worldprobe.benchmarks.worldsense.skins.vocabulary import CANARY
from worldprobe.cli.engines import ModelOptions, refuse_to_prompt
from worldprobe.cli.options import (
    KEYS,
    Encrypt,
    Groups,
    Missing,
    OutFolder,
    Place,
    Processes,
    Seed,
    SkinFolder,
    Trials,
    between,
    export_password,
    missing_models,
)
from worldprobe.errors import UserError
from worldprobe.extensions import checks
from worldprobe.files import digest_file, whole_folder, write_members, write_text
from worldprobe.log import LOGGER
from worldprobe.models.checkpoint import made_by_model
from worldprobe.provenance import is_rehearsed, made

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.benchmarks.worldsense.analysis.answers import Series
    from worldprobe.benchmarks.worldsense.analysis.questions import Questions
    from worldprobe.benchmarks.worldsense.inference.prompts import Pool, PromptSet

app = App(
    name="worldsense", help="WorldSense: generate and audit trials, ask models, analyse answers."
)
skins = App(name="skins", help="Check skins: the words of relations and entities.")
app.command(skins)

#: Bumped when the numbers of the same answers change. Comparisons: 3 corrects pairs with rules
#: apart. 3 and 4: intervals are no wider than it takes.
METHOD, COMPARISONS = 3, 4

Size = Annotated[int, between(3, 8)]
Sets = Annotated[
    Groups,
    Parameter(
        name="--set",
        help="name of a set, its trials, and results or tables of responses; once for each set",
    ),
]


@skins.command(name="check")
def check_skins_(folder: Path | None = None, /) -> None:
    """Check skins: every fault by file and line.

    Args:
        folder: folder or file of skins (default: the skins of this repository)
    """
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, check_skins

    right, faults = check_skins(folder or FOLDER)
    faults += [fault for check in checks("skin") for skin in right if (fault := check(skin))]
    for fault in faults[:-1]:
        print(fault.lines(), file=sys.stderr)
    if faults:
        raise faults[-1]
    print(f"{len(right)} skins are right: {', '.join(skin.name for skin in right)}")


@app.command
def generate(
    set: str,
    /,
    *,
    part: Annotated[Part, KEYS] = Part(),
    processes: Processes = 1,
    sample: Annotated[int, between(1)] | None = None,
    dialogues_out: Path | None = None,
    out: Path,
) -> None:
    """Generate a set of trials.

    Args:
        sample: largest number of trials, sampled in proportion from each problem
        set: test, test-new, train-10k, train-100k, train-1m, memorisation, same-skins, ood-size,
            ood-query or ood-problem; test-hard, train-hard, memorisation-hard, same-skins-hard or
            ood-size-hard; or the same with motion
        dialogues_out: training dialogues to write as well (.jsonl.gz)
        out: table of trials (Parquet)
    """
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, read_skins
    from worldprobe.benchmarks.worldsense.trials import sets
    from worldprobe.benchmarks.worldsense.trials.files import write_set

    if out.suffix != ".parquet":
        raise UserError(
            f"--out {out}",
            "is not the name of a Parquet table.",
            "Name a .parquet file; `worldsense export` writes the official layout.",
        )
    folder = part.skin_folder or FOLDER
    plan = sets.plan_set(set, part.sizes, part.problems, part.per_cell)
    blocks = sets.blocks_of(plan, read_skins(folder, part.wording_version), part.skins)
    if Path(folder).resolve() != FOLDER.resolve():  # tests check the repository's own skins
        for skin in {block.skin.name: block.skin for block in blocks}.values():
            for fault in (check(skin) for check in checks("skin")):
                if fault:
                    raise fault
    n_all = sets.count_trials(plan, blocks)
    if sample and sample < n_all:
        blocks = sets.sample_blocks(blocks, sample // plan.per_cell)
    details = {
        "sample": {"of": n_all} if sample and sample < n_all else None,
        "set": plan.name,
        "sizes": plan.sizes,
        "problems": plan.problems,
        "per_cell": plan.per_cell,
        "skins": part.skins,
    }
    details["wording_version"] = part.wording_version
    stated = {key: value for key, value in details.items() if value}
    provenance = made(
        methods.TRIALS, {"skins": folder}, seed=part.seed, canary=CANARY, details=stated
    )
    batches = sets.stream_set(plan, blocks, part.seed, min(processes, os.cpu_count() or 1))
    n_trials = write_set(batches, out, provenance, dialogues_out)
    LOGGER.info("%s trials of %s: %s", f"{n_trials:,}", plan.name, out)


@app.command
def sample(trials: Trials, /, *, sample: Annotated[int, between(1)], out: Path) -> None:
    """Take a sample of trials in the official layout, as whole tuples, whatever their number.

    Args:
        sample: number of trials, at most, in proportion from each problem, but a tuple of each
        out: file in the official layout (.jsonl.bz2, .jsonl.gz or .jsonl)
    """
    from worldprobe.benchmarks.worldsense.trials.files import (
        is_official,
        read_official,
        sample_tuples,
        write_official,
    )

    for where, path in (("TRIALS", trials), ("--out", out)):
        if not is_official(path):
            problem = f"{path} is not the name of JSON lines."
            raise UserError(where, problem, "`worldsense generate --sample` samples our own.")
    n_trials = write_official([sample_tuples(read_official(trials), sample)], out)
    LOGGER.info("%s trials: %s", f"{n_trials:,}", out)


@app.command
def analyse(
    trials: Trials, results: list[Place], /, *, skin_folder: SkinFolder = None, out: OutFolder
) -> None:
    """Compute the paper's accuracy and bias for one set of trials, as CSV.

    By problem, size, domain and more, with the paper's weights, rebalancing and 95% intervals.
    Writes statistics.csv, and answers.csv with what was answered and what was invalid.

    Args:
        results: PROMPTING___MODEL___results.jsonl (also .bz2, .gz), or a table of responses
            (.parquet); any number
        out: folder of statistics.csv and answers.csv
    """
    from worldprobe.benchmarks.worldsense.analysis.answers import read_series
    from worldprobe.benchmarks.worldsense.analysis.questions import read_questions
    from worldprobe.benchmarks.worldsense.analysis.statistics import (
        compute_statistics,
        count_answers,
    )

    questions = read_questions(trials, skin_folder)
    series = read_series(results, questions)
    statistics, counts = compute_statistics(questions, series), count_answers(questions, series)
    for name, table in {"statistics": statistics, "answers": counts}.items():
        write_text(out / f"{name}.csv", table.to_csv(index=False, lineterminator="\n"))
    print(describe_analysis(statistics, counts))


@app.command(name="summarize")
def summarize_(
    *, sets: Sets, skin_folder: SkinFolder = None, seed: Seed = 0, missing: Missing = (), out: Path
) -> None:
    """Compute means for a study's tables, from one or more sets, with intervals over skins.

    Computes what analyse does, and also strict scores, invalid answers, agreement across skins
    and intervals over skins and abstract problems.

    Args:
        out: summaries table
    """
    import pandas as pd

    from worldprobe.benchmarks.worldsense.analysis.answers import told_of
    from worldprobe.benchmarks.worldsense.analysis.statistics import count_answers
    from worldprobe.benchmarks.worldsense.analysis.summarize import summarize
    from worldprobe.benchmarks.worldsense.contracts import Summaries
    from worldprobe.contracts import write_table
    from worldprobe.report.model_names import counted

    tables, counts, answered = [], [], {}
    for name, questions, series in _read_sets(sets, skin_folder):
        tables.append(summarize(name, questions, series, seed))
        counts += count_answers(questions, series).assign(set=name).to_dict("records")
        answered[name] = series
    table = pd.concat(tables, ignore_index=True).sort_values(
        list(Summaries.Config.key), ignore_index=True
    )
    lacking = missing_models(missing, table["model"].unique())
    details = {"answers": counts} | told_of(answered) | lacking
    write_table(
        table[list(Summaries.columns)],
        Summaries,
        out,
        made(METHOD, _inputs(sets), ["numpy", "pandas", "scipy"], seed=seed, details=details),
    )
    LOGGER.info("%d means of %s", len(table), counted(table["model"].nunique(), "model"))
    for model, reason in lacking.get("missing_models", {}).items():
        LOGGER.warning("%s is missing: %s", model, reason)


@app.command(name="compare")
def compare_(*, sets: Sets, skin_folder: SkinFolder = None, out: Path) -> None:
    """Compare every pair of models on the same tuples.

    Args:
        out: comparisons table
    """
    import pandas as pd

    from worldprobe.benchmarks.worldsense.analysis.summarize import compare_models
    from worldprobe.benchmarks.worldsense.contracts import Comparisons
    from worldprobe.contracts import write_table

    tables = [
        compare_models(name, questions, series)
        for name, questions, series in _read_sets(sets, skin_folder)
    ]
    table = pd.concat(tables, ignore_index=True).sort_values(
        list(Comparisons.Config.key), ignore_index=True
    )
    provenance = made(COMPARISONS, _inputs(sets), ["numpy", "pandas", "scipy"])
    write_table(table, Comparisons, out, provenance)


def _read_sets(
    sets: list[list[str]], skin_folder: Path | None
) -> Iterator[tuple[str, Questions, list[Series]]]:
    """Name, trials and answers of each set.

    Raises:
        UserError: a set without trials or answers, or two of one name.
    """
    from worldprobe.benchmarks.worldsense.analysis.answers import read_series
    from worldprobe.benchmarks.worldsense.analysis.questions import add_properties, from_frame
    from worldprobe.benchmarks.worldsense.trials.files import read_trials

    names = [given[0] for given in sets]
    for name, *paths in sets:
        if not name.strip() or name != name.strip() or not name.isprintable():
            raise UserError(
                f"--set {name!r}",
                "is not a name for a set.",
                "Choose a name such as test or ood-size.",
            )
        if len(paths) < 2:
            raise UserError(
                f"--set {name}", "names no trials, or no answers.", "Give NAME TRIALS RESULTS..."
            )
        if names.count(name) > 1:
            raise UserError(
                f"--set {name}", "is given twice.", "Give all results of a set at once."
            )
        trials = read_trials(paths[0])
        questions = add_properties(from_frame(trials, paths[0], skin_folder), trials)
        yield name, questions, read_series(paths[1:], questions)


def _inputs(sets: list[list[str]]) -> dict[str, str]:
    return {path: path for _, *paths in sets for path in paths}


def describe_analysis(statistics: pd.DataFrame, counts: pd.DataFrame) -> str:
    """The averages in print, and what was left out."""
    whole = statistics[
        (statistics["gold"] == "released")
        & (statistics.loc[:, "problemname":"intraining"] == "all").all(axis=1)
    ]
    lines = [f"{'prompting':<12} {'model':<20} {'accuracy':>14} {'bias':>14} {'invalid':>8}"]
    for row in counts.to_dict("records"):
        mine = whole[
            (whole["prompting"] == row["prompting"]) & (whole["model"] == row["model"])
        ].set_index("measure")
        if mine.empty:
            lines.append(
                f"{row['prompting']:<12} {row['model']:<20} no tuple was answered as a whole"
            )
            continue
        accuracy, bias = mine.loc["accuracy"], mine.loc["bias"]
        shown = (
            f"{100 * accuracy['mean']:8.1f} ± {100 * accuracy['conf95']:.1f} {bias['mean']:8.2f} ±"
            f" {bias['conf95']:.2f}"
        )
        lines.append(f"{row['prompting']:<12} {row['model']:<20} {shown} {row['invalid']:>8}")
    lines.append(
        "± is the paper's: 1.96 standard errors over tuples, for these skins only; `worldsense"
        " summarize` has others."
    )
    dropped, foreign = int(counts["incomplete_tuples"].sum()), int(counts["not_in_set"].sum())
    if dropped:
        lines.append(f"{dropped:,} tuples were left out, as some of their trials have no answer.")
    if foreign:
        lines.append(f"{foreign:,} answers were left out, as the set does not have their trials.")
    return "\n".join(lines)


def _prompt_sets(
    trials: Sequence[str], prompting: Sequence[str], out: Sequence[Path]
) -> list[list[PromptSet]]:
    """The strategies of each set of trials.

    Raises:
        UserError: there are neither one list of them nor as many as sets, or not one output for
            each set and strategy.
    """
    from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set

    if len(prompting) not in (1, len(trials)):
        problem = f"has {len(prompting)} values for {len(trials)} sets."
        raise UserError("--prompting", problem, "Give one value for all sets, or one per set.")
    found = []
    for text in prompting:
        named = [load_prompt_set(name.strip()) for name in text.split(",") if name.strip()]
        found.append(list({prompts.name: prompts for prompts in named}.values()))
    sets = found if len(found) == len(trials) else found * len(trials)
    needed = sum(map(len, sets))
    if not all(sets) or needed != len(out):
        raise UserError(
            "worldsense ask",
            f"{len(trials)} sets and their different strategies need {needed} --out files;"
            f" {len(out)} were given.",
            "Give one per set and strategy: all strategies of the first set, then the second's.",
        )
    return sets


@app.command(name="ask")
def ask_(
    trials: list[Place],
    /,
    *,
    model: ModelOptions,
    prompting: Annotated[Sequence[str], Parameter(consume_multiple=True)],
    how: Annotated[Asking, KEYS] = Asking(),
    examples: Sequence[Place] = (),
    skin_folder: SkinFolder = None,
    out: list[Path],
) -> None:
    """Ask a model about trials, by one or more prompting strategies, loading it once.

    Takes one --out per set of trials and strategy: all strategies of the first set, then those of
    the second.

    Args:
        trials: sets of trials: official (.jsonl, .jsonl.bz2, .jsonl.gz) or our table (.parquet)
        prompting: comma-separated strategies: sets of resources/prompts/worldsense, or YAML files,
            e.g. basic,cot; one list for all sets of trials, or one each
        examples: solved trials for examples, one file for all sets or one each (default: TRIALS)
        out: tables of responses: all strategies of the first set, then those of the second
    """
    from worldprobe.benchmarks.worldsense.contracts import Responses
    from worldprobe.benchmarks.worldsense.inference.ask import ask, write_prompts
    from worldprobe.benchmarks.worldsense.inference.reference_solvers import RuleEngine
    from worldprobe.benchmarks.worldsense.trials.files import canary_of, read_trials
    from worldprobe.contracts import write_table
    from worldprobe.inference.store import open_store

    prompt_sets = _prompt_sets(trials, prompting, out)
    refuse_to_prompt(model)
    tables = [read_trials(path) for path in trials]
    sources = _sources_of_examples(trials, examples)
    shows = [any(prompts.examples for prompts in of_set) for of_set in prompt_sets]
    pools = _pools(sources, tables, shows, how.examples_seed, skin_folder)
    for rows, of_set, pool in zip(tables, prompt_sets, pools, strict=True):
        # too few examples, or texts that a set cannot rewrite, are found before a model is loaded
        for prompts in of_set:
            write_prompts(rows, prompts, pool)
    since = time.monotonic()
    engine = model.open(skin_folder)
    if isinstance(engine, RuleEngine):
        for rows in tables:
            engine.know(rows)
    store = open_store(
        model.answers or out[0].parent / ".answers",
        engine,
        since=since,
        kept_since=model.kept_since,
    )
    for path, rows in zip(trials, tables, strict=True):
        store.add_canary(canary_of(path, rows))
    is_chat = how.chat_template == "always" or (
        how.chat_template == "auto" and engine.facts.has_chat
    )
    outs = iter(out)
    finished = []
    asked = zip(trials, tables, prompt_sets, pools, sources, strict=True)
    for path, rows, of_set, pool, source in asked:
        for prompts in of_set:
            frame, facts = ask(
                rows, engine, prompts, store, how, is_chat, pool, methods.ASK, model.name
            )
            inputs = {"trials": digest_file(path), "prompts": prompts.digest}
            if pool is not None and prompts.examples is not None:
                inputs["examples"] = digest_file(source)
            drawn = how.seed if how.temperature and not prompts.compares else None
            facts |= {"reading_method": methods.READING}
            canary = canary_of(path, rows)
            made = made_by_model(
                engine.facts, methods.ASK, model.name, inputs, facts, seed=drawn, canary=canary
            )
            finished.append((next(outs), frame, made))
    for place, frame, made in finished:
        write_table(frame, Responses, place, made)


def _sources_of_examples(trials: Sequence[str], examples: Sequence[Place]) -> list[str]:
    """For each set of trials the file of its examples.

    Raises:
        UserError: there are neither one nor as many as sets.
    """
    if examples and len(examples) not in (1, len(trials)):
        problem = f"has {len(examples)} files for {len(trials)} sets."
        raise UserError("--examples", problem, "Give one file, or one per set.")
    given = list(examples or trials)
    return given if len(given) == len(trials) else given * len(trials)


def _pools(
    sources: Sequence[str],
    tables: Sequence[pd.DataFrame],
    shows: Sequence[bool],
    seed: int,
    skin_folder: Path | None,
) -> list[Pool | None]:
    """Where the examples of each set come from; None where it is asked without."""
    if not any(shows):
        return [None] * len(tables)
    from worldprobe.benchmarks.worldsense.inference.prompts import Pool
    from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, KNOWN, read_skins
    from worldprobe.benchmarks.worldsense.trials.files import read_trials

    domains = {name: group.domain for name, group in KNOWN.items() if group.domain}
    domains |= {skin.name: skin.domain for skin in read_skins(skin_folder or FOLDER)}
    wanted = [path if shown else None for path, shown in zip(sources, shows, strict=True)]
    read = {path: read_trials(path) for path in dict.fromkeys(wanted) if path}
    return [Pool(read[path], seed, domains) if path else None for path in wanted]


@app.command
def export_results(responses: list[Path], /, *, out: OutFolder) -> None:
    """Write responses in the official layout.

    There is one file PROMPTING___MODEL___results.jsonl.bz2 per strategy and model.

    Args:
        responses: tables of responses
        out: folder for the files
    """
    from worldprobe.benchmarks.worldsense.contracts import Responses
    from worldprobe.benchmarks.worldsense.exports import results_name, write_results
    from worldprobe.contracts import read_provenance, read_table

    results: dict[str, tuple[Path, str, pd.DataFrame]] = {}
    for path in responses:
        if is_rehearsed(path):
            problem = "contains a stand-in's answers, of a rehearsal."
            raise UserError(path, problem, "Export a model's own.")
        model = read_provenance(path).model or path.stem
        rows = read_table(path, Responses)
        for prompting in sorted(set(rows["prompting"])):
            name = results_name(prompting, model)
            if name in results:
                problem = (
                    f"contains {prompting} answers of {model}, and so does {results[name][0]}."
                )
                raise UserError(path, problem, "Export each set of trials to a folder of its own.")
            results[name] = (path, model, rows[rows["prompting"] == prompting])
    for _, model, rows in results.values():
        write_results(rows, model, out)


@app.command
def export(
    trials: Trials,
    /,
    *,
    format: Literal["official", "lm-eval", "hf"] = "official",
    task: str | None = None,
    encrypt: Encrypt = False,
    out: OutFolder,
) -> None:
    """Write trials in the official layout, as a task of lm-evaluation-harness, or as a dataset.

    official: one file of JSON lines. lm-eval: a task folder for --include_path that asks as the
    prompting strategy constrained does. hf: a dataset folder of the Hugging Face hub, with a card
    and a Croissant description, of trials that were generated here only.

    Args:
        format: layout of the files
        task: lm-eval: the task's name (default: worldprobe_worldsense)
        out: official: a file, .jsonl.bz2, .jsonl.gz or .jsonl; lm-eval, hf: a folder
    """
    from worldprobe.benchmarks.worldsense.contracts import Trials
    from worldprobe.benchmarks.worldsense.trials.files import (
        is_official,
        read_batches,
        read_official,
        write_official,
    )
    from worldprobe.contracts import check_kind, read_provenance

    if format != "lm-eval":
        for option, is_given in (("task", task is not None), ("encrypt", encrypt)):
            if is_given:
                fix = "Leave it out, or take --format lm-eval."
                raise UserError(f"--{option}", f"does nothing with --format {format}.", fix)
    if format != "official":
        files = (
            _task_files(trials, task, encrypt) if format == "lm-eval" else _dataset_files(trials)
        )
        with whole_folder(out) as folder:
            write_members(folder, files)
        return
    if not is_official(out):
        raise UserError(
            f"--out {out}",
            "is not the name of JSON lines.",
            "Name a file that ends with .jsonl.bz2.",
        )
    if is_official(trials):
        write_official([read_official(trials)], out)
        return
    check_kind(trials, Trials)
    write_official(read_batches(trials), out, read_provenance(trials).canary)


def _task_files(trials: str, task: str | None, encrypt: bool) -> Iterator[tuple[str, bytes]]:
    from worldprobe.benchmarks.worldsense.exports import task_files
    from worldprobe.benchmarks.worldsense.trials.files import canary_of, read_trials
    from worldprobe.inference.lm_eval import check_task

    check_task(task)
    word = export_password(encrypt)
    rows = read_trials(trials)
    return task_files(rows, task or "worldprobe_worldsense", canary_of(trials, rows), word)


def _dataset_files(trials: str) -> Iterator[tuple[str, bytes]]:
    """Our own trials as a dataset, whose rows are the table itself, byte for byte.

    Raises:
        UserError: the trials may be the release's, or are not a whole table of ours.
    """
    from worldprobe.benchmarks.worldsense.contracts import Trials
    from worldprobe.benchmarks.worldsense.exports import describe_trials
    from worldprobe.benchmarks.worldsense.trials.files import is_official, read_batches
    from worldprobe.contracts import check_kind, read_provenance
    from worldprobe.report.dataset_folder import dataset_files

    provenance = None
    if not is_official(trials):
        check_kind(trials, Trials)
        provenance = read_provenance(trials)
    if provenance is None or provenance.canary != CANARY:
        problem = (
            "may be the release, which is not ours to pass on (CC BY-NC): it does not carry our"
            " canary."
        )
        raise UserError(trials, problem, "Export a set of `worldsense generate`.")
    n_rows = sum(len(batch) for batch in read_batches(trials))
    dataset = describe_trials(n_rows, provenance.details.get("set"), provenance.canary)
    return dataset_files(dataset, Path(trials).read_bytes())
