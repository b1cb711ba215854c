"""``human``: a study with people, from lists of questions to accuracy. The survey's own commands
are in ``survey``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from worldprobe.cli.options import (
    KEYS,
    Draws,
    Missing,
    OutFolder,
    Seed,
    answered,
    between,
    missing_models,
)
from worldprobe.errors import TooLittleError, UserError, did_you_mean
from worldprobe.files import whole_folder
from worldprobe.log import LOGGER
from worldprobe.provenance import TOO_LITTLE, made
from worldprobe_survey import server_cli as survey
from worldprobe_survey.study_settings import Cleaning, Lists, Simulation

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe_survey.cleaning import Cleaned
    from worldprobe_survey.lists import DealtLists

app = App(
    name="human", help="Study with people: lists, survey, cleaning, agreement, likeness of models."
)
survey.add_commands(app)

#: Bumped when the same files and options give another table.
LISTS_METHOD, ANSWERS_METHOD, AGREEMENT_METHOD, LIKENESS_METHOD = 3, 2, 5, 1
Key = Annotated[Path, Parameter(help="answer key of the lists that were shown")]


@app.command(name="lists")
def lists_(
    items: Path,
    /,
    *,
    settings: Annotated[Lists, KEYS] = Lists(),
    plan: bool = False,
    ratings: Annotated[int, between(1, 1000)] = 5,
    wage: Annotated[float, between(0, 1e6)] = 12.0,
    prompts: str = "ewok",
    key_out: Path | None = None,
    balance_out: Path | None = None,
    out: Path | None = None,
) -> None:
    """Deal the questions to lists, one per person, and write the answer key.

    Every sentence is asked in one list of a round; nobody sees a template twice; each list has as
    many plausible as implausible trials (within 1), and its share of versions and domains. The
    survey needs the lists, but never the key.

    Args:
        items: items table
        plan: print the people, time and money needed; without --out nothing is written
        ratings: ratings that each sub-item should have, for --plan
        wage: pay per hour in your currency, for --plan
        prompts: prompts whose words are shown: a set in resources/prompts, or a file
        key_out: answer key; keep it away from the survey (needed with --out)
        balance_out: table of how balanced each list is
        out: lists table, for the survey (needed without --plan)
    """
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.materials.language import language_of
    from worldprobe.benchmarks.ewok.scoring import check_texts
    from worldprobe.contracts import read_provenance, read_table, write_table
    from worldprobe_survey.contracts import ListBalance, ListKeys, StudyLists
    from worldprobe_survey.lists import build_lists, digest_lists, plan_study
    from worldprobe_survey.people import ask_people, select_norms

    if out is None and not plan:
        raise UserError(
            "--out",
            "is missing.",
            "Name the file of the lists, or give --plan to see what they would be.",
        )
    if out is not None and key_out is None:
        raise UserError(
            "--key-out",
            "is missing.",
            "Name a file for the answer key, apart from the lists: cleaning needs it.",
        )
    if out is None and (key_out or balance_out):
        raise UserError(
            "--out",
            "is missing.",
            "Name the file of the lists as well, or leave out the other files.",
        )
    ways = sorted(settings.paradigms, reverse=True)  # Likert first
    asked = read_table(items, Items)
    check_texts(asked, items)
    asked = select_norms(asked) if settings.select == "context_pairs" else asked
    language = language_of(read_provenance(items).details)
    catch = _catch_texts(items, prompts, ways, language.is_english or not settings.catch)
    lists = build_lists(ask_people(asked, ways, settings.unit), settings, catch)
    _report_lists(lists, settings)
    if plan:
        for needed in plan_study(lists.balance, ratings, wage):
            print("\n".join(needed.lines()))
    if out is None:
        return
    digest = digest_lists(lists.trials)
    _keep_key(Path(str(key_out)), digest)
    details = {
        "lists_digest": digest,
        "paradigms": ways,
        "select": settings.select,
        "unit": settings.unit,
        "per_domain": settings.per_domain,
        "length": [settings.shortest, settings.longest],
        "n_catch": settings.catch,
        "rounds": settings.rounds,
        "n_shared_questions": lists.n_shared,
        "n_contradictory_questions": lists.n_contradictory,
    } | language.details()
    packages = ["numpy", "pandas"]
    without_texts = made(
        LISTS_METHOD, {"items": items}, packages, seed=settings.seed, details=details
    )
    with_texts = made(
        LISTS_METHOD,
        {"items": items},
        packages,
        seed=settings.seed,
        details=details,
        canary=read_provenance(items).canary,
    )
    write_table(lists.key, ListKeys, str(key_out), without_texts)
    if balance_out:
        write_table(lists.balance, ListBalance, balance_out, without_texts)
    write_table(lists.trials, StudyLists, out, with_texts)


def _catch_texts(
    items: Path, prompts: str, ways: Sequence[str], may_be_english: bool
) -> dict[str, tuple[str, str]]:
    """The texts of catch trials by way of asking; a warning where they are in English and may not
    be.
    """
    from worldprobe.benchmarks.ewok.scoring import load_prompts, prompts_of

    name = prompts_of(items, prompts)
    texts = {
        way: (prompt.catch, getattr(prompt, "catch_context", ""))
        for way, prompt in load_prompts(name).items()
        if way in ways
    }
    if not (may_be_english or all(text for text, _ in texts.values())):
        LOGGER.warning("Catch trials are in English: the prompts %s have no `catch`", name)
    return texts


def _keep_key(path: Path, digest: str) -> None:
    """Refuse to write over the key of other lists: when items or settings have changed, nothing
    makes it again.

    Raises:
        UserError: such a key is there.
    """
    from worldprobe_survey.lists import read_key

    try:
        is_other = path.exists() and read_key(path)[1] != digest
    except UserError:  # no key
        return
    if is_other:
        problem = "is the answer key of other lists, whose answers cannot be read without it."
        raise UserError(path, problem, "Move it away, or name another file with --key-out.")


def _report_lists(lists: DealtLists, layout: Lists) -> None:
    """Log how many lists there are, how even they are, and which are shorter than was wanted."""
    for way, table in lists.balance.groupby("eval_type", sort=True):
        length = table["n_trials"]
        LOGGER.info(
            "%s: %d lists of %s trials and %d catch trials; "
            "at most, expected answers differ by %d, versions by %d, domains by %d",
            way,
            len(table),
            " to ".join(map(str, sorted({length.min(), length.max()}))),
            layout.catch,
            (table["n_high"] - table["n_low"]).abs().max(),
            table["version_spread"].max(),
            table["domain_spread"].max(),
        )
        short = table[length < layout.shortest]
        if len(short):
            names = sorted(set(short["domains"])) if layout.per_domain else ["all domains"]
            LOGGER.warning(
                "%s: %d lists are shorter than %d, because there are too few templates: %s",
                way,
                len(short),
                layout.shortest,
                ", ".join(names),
            )
    if lists.n_shared:
        LOGGER.info(
            "%d questions have the same sentences in several items; each is asked once and counts"
            " for all",
            lists.n_shared,
        )
    if lists.n_contradictory:
        LOGGER.warning(
            "%d questions are plausible in one item and implausible in another",
            lists.n_contradictory,
        )


@app.command(name="simulate")
def simulate_(
    lists: Path,
    /,
    *,
    key: Key,
    settings: Annotated[Simulation, KEYS] = Simulation(),
    out: OutFolder,
) -> None:
    """Simulate people with known noise, and write their answers like an export.

    Good raters give the expected answer, except for a share of guesses; others guess, or give one
    answer to everything.

    Args:
        lists: lists table
        out: export, as `human export` writes it
    """
    from worldprobe_survey.lists import read_key, read_lists, write_export
    from worldprobe_survey.simulation import simulate

    trials, digest = read_lists(lists)
    answers, key_digest = read_key(key)
    if key_digest != digest:
        raise UserError(
            key, "is the key of other lists.", "Give the key that was made with these lists."
        )
    domains = set(trials["domain"].dropna())
    for domain in settings.domain_noise.keys() - domains:
        problem = f'there is no domain "{domain}"{did_you_mean(domain, domains)}'
        raise UserError("--domain-noise", problem, f"Choose among: {', '.join(sorted(domains))}.")
    export, people = simulate(trials, answers, digest, settings)
    dealt = {
        str(kind): int(n) for kind, n in people["person_kind"].value_counts().sort_index().items()
    }
    details = {
        "is_simulated": True,
        "lists_digest": digest,
        "noise": settings.noise,
        "domain_noise": settings.domain_noise,
        "kinds": dealt,
        "abandon": settings.abandon,
    }
    inputs = {"lists": lists, "key": key}
    with whole_folder(out) as folder:
        write_export(
            folder,
            export,
            made(ANSWERS_METHOD, inputs, ["numpy", "pandas"], seed=settings.seed, details=details),
        )
    kinds_in_words = ", ".join(f"{n} {kind}" for kind, n in dealt.items())
    LOGGER.info(
        "%d simulated people (%s) gave %d answers", len(people), kinds_in_words, len(export.raw)
    )


@app.command(name="clean")
def clean_(
    export: Path,
    /,
    *,
    key: Key,
    settings: Annotated[Cleaning, KEYS] = Cleaning(),
    steps_out: Path | None = None,
    raters_out: Path | None = None,
    excluded_out: Path | None = None,
    sub_items_out: Path | None = None,
    answers_out: Path | None = None,
    people_out: Path | None = None,
    out: Path,
) -> None:
    """Turn an export into ratings of items, in named and counted steps.

    Steps, in this order: returned, incomplete, duplicates, invalid_answer, failed_catch, too_fast,
    isc, minimum. Decide this after payment: that answers are left out here is not a reason to
    refuse anybody's pay.

    Args:
        export: folder that `human export` or `human simulate` wrote
        steps_out: table of what each step left out
        raters_out: table of each person's correlation and exclusion
        excluded_out: table of the people whose answers do not count, for `human reopen`
        sub_items_out: table of answers per sub-item
        answers_out: table of the answers that count, for `human agreement`
        people_out: table of people's age, gender, country and first language, as counts
        out: ratings table, which `judge` takes like scores
    """
    from worldprobe.benchmarks.ewok.analysis.provenances import items_of
    from worldprobe.benchmarks.ewok.contracts import Ratings
    from worldprobe.contracts import typed, write_table
    from worldprobe_survey.cleaning import STEPS, check_export, clean, count_people, read_answers
    from worldprobe_survey.contracts import (
        CleanAnswers,
        CleaningSteps,
        PeopleCounts,
        Raters,
        SubItems,
    )
    from worldprobe_survey.lists import read_export, read_key
    from worldprobe_survey.people import rate_items

    answered = read_export(export)
    answer_key, digest = read_key(key)
    check_export(answered.raw, answered.participants, answer_key, digest)
    cleaned = clean(
        read_answers(answered.raw, answer_key), answered.participants, answer_key, settings
    )
    _report_cleaning(cleaned, settings.minimum)
    if cleaned.answers.empty:
        fix = "See in the lines above which step leaves them out, and --skip it."
        raise UserError(export, "no answers are left after cleaning.", fix)
    inputs = {"export": export, "key": key}
    steps = [
        f"{row.step}: {row.n_ratings_before} to {row.n_ratings_after}"
        for row in cleaned.steps.itertuples()
    ]
    details = items_of([key]) | {
        "lists_digest": digest,
        "scale": [1, 5],
        "steps": steps,
        "isc": {
            "threshold": settings.isc,
            "passes": settings.passes,
            "min_corated": settings.min_corated,
            "is_settled": cleaned.is_settled,
        },
        "skipped": [step for step in STEPS if step in settings.skip],
        "minimum": settings.minimum,
        "n_ratings": len(cleaned.answers),
        "n_people": int(cleaned.answers["participant"].nunique()),
    }
    provenance = made(ANSWERS_METHOD, inputs, ["numpy", "pandas"], model="human", details=details)
    columns = list(CleanAnswers.columns)
    for path, frame, contract in (
        (steps_out, cleaned.steps, CleaningSteps),
        (raters_out, cleaned.raters, Raters),
        (excluded_out, cleaned.raters[cleaned.raters["excluded_by"] != ""], Raters),
        (sub_items_out, cleaned.sub_items, SubItems),
        (
            answers_out,
            cleaned.answers.astype({"answer": "int64", "value": "int64", "expected": "int64"})[
                columns
            ],
            CleanAnswers,
        ),
    ):
        if path:
            write_table(frame, contract, path, provenance)
    if people_out:
        kept = cleaned.answers["participant"].unique()
        write_table(count_people(kept, answered.demographics), PeopleCounts, people_out, provenance)
    try:
        ratings = rate_items(cleaned.answers, answer_key)
    except TooLittleError as error:
        LOGGER.warning("The table of ratings has no rows: %s %s", error.problem, error.fix)
        ratings = typed([], Ratings)
        provenance = replace(provenance, details={**details, TOO_LITTLE: error.problem})
    write_table(ratings, Ratings, out, provenance)


def _report_cleaning(cleaned: Cleaned, minimum: int) -> None:
    """Log every step, every correlation that is not defined, and every sub-item with too few
    answers, as counts.
    """
    for row in cleaned.steps.to_dict("records"):
        name = f"{row['step']}, pass {row['pass_number']}" if row["pass_number"] else row["step"]
        if row["is_on"]:
            n_people, n_ratings = row["n_people_after"], row["n_ratings_after"]
            people, ratings = row["n_people_before"] - n_people, row["n_ratings_before"] - n_ratings
            LOGGER.info(
                "%s: %d people and %d ratings left out, %d and %d kept",
                name,
                people,
                ratings,
                n_people,
                n_ratings,
            )
        else:
            LOGGER.info("%s: off", name)
    if not cleaned.is_settled:
        LOGGER.warning(
            "isc: the last pass still left somebody out; with more passes others might go too"
        )
    undefined = cleaned.raters.loc[
        ~cleaned.raters["isc_status"].isin(["defined", "not_measured"]), "isc_status"
    ].value_counts()
    if len(undefined):
        LOGGER.warning(
            "correlation not defined: %s", ", ".join(f"{n} {name}" for name, n in undefined.items())
        )
    states = cleaned.sub_items["status"].value_counts()
    few, none = int(states.get("below_minimum", 0)), int(states.get("missing", 0))
    if few or none:
        LOGGER.warning(
            "%d of %d sub-items have fewer than %d answers, and %d have none",
            few,
            len(cleaned.sub_items),
            minimum,
            none,
        )


@app.command
def agreement(
    items: Path,
    answers: Path,
    /,
    *,
    key: Key,
    draws: Draws = 200,
    seed: Seed = 0,
    matrix_out: Path | None = None,
    out: Path,
) -> None:
    """Measure people's accuracy and reliability, and compare Likert with Choice.

    The main numbers are printed.

    Accuracy by domain, version and design, with intervals over templates and the people asked;
    split-half reliability and what it lets a model reach; correlation with the labels; and, where
    people were asked both ways, the confusion matrix of Figure 7.

    Args:
        items: items table
        answers: answers that count, from `human clean --answers-out`
        matrix_out: confusion matrix of Likert and Choice (agreements table)
        out: table of statistics of people
    """
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items
    from worldprobe.benchmarks.ewok.contracts import Agreements, Items
    from worldprobe.contracts import read_provenance, read_table, write_table
    from worldprobe_survey.contracts import CleanAnswers, HumanStatistics
    from worldprobe_survey.lists import read_key
    from worldprobe_survey.people import Adder, confuse, measure

    item_rows = read_table(items, Items)
    check_items(items, [answers, key])
    answered = read_table(answers, CleanAnswers)
    answer_key, digest = read_key(key)
    if read_provenance(answers).details.get("lists_digest") != digest:
        raise UserError(
            key,
            "is the key of other lists than the answers'.",
            "Give the key that the answers were cleaned with.",
        )
    strange = sorted(set(answer_key["item_id"]) - {""} - set(item_rows["item_id"]))
    if strange:
        problem = f"does not have {len(strange)} items of the key, the first is {strange[0]}."
        raise UserError(items, problem, "Give the items that the lists were made from.")
    statistics = measure(item_rows, answered, answer_key, draws, seed)
    inputs = {"items": items, "answers": answers, "key": key}
    provenance = made(
        AGREEMENT_METHOD,
        inputs,
        ["numpy", "pandas"],
        seed=seed,
        model="human",
        details={"n_draws": draws},
    )
    if matrix_out:
        ordered = item_rows.sort_values("item_id").reset_index(drop=True)
        ways = {way: answered[answered["eval_type"] == way] for way in ("likert", "choice")}
        likert, choice = (Adder(ordered, part, answer_key, way).add() for way, part in ways.items())
        write_table(confuse(likert, choice), Agreements, matrix_out, provenance)
    _print_statistics(statistics)
    write_table(statistics, HumanStatistics, out, provenance)


def _print_statistics(statistics: pd.DataFrame) -> None:
    """The numbers next to which a model's are shown."""
    from worldprobe.report.model_names import counted

    named = {
        "accuracy": "accuracy (the paper: 0.951)",
        "split_half_r": "split-half reliability (Spearman-Brown)",
        "noise_ceiling_r": "correlation with people that a model without noise would reach",
        "label_r": "correlation of mean ratings with the labels",
        "label_r_binarised": "the same, with mean ratings binarised",
        "likert_choice_r": "Likert difference against share choosing context 1, Pearson's r",
    }
    by_quantity = {
        (row["eval_type"], row["quantity"]): row
        for row in statistics.to_dict("records")
        if row["grouping"] == "overall"
    }
    for way in sorted({way for way, _ in by_quantity}):
        for quantity, words in named.items():
            if row := by_quantity.get((way, quantity)):
                interval = (
                    ""
                    if math.isnan(row["ci_low"])
                    else f" ({row['ci_low']:.3f}-{row['ci_high']:.3f})"
                )
                print(f"{way}: {words}: {row['value']:.3f}{interval}")
        if (way, "accuracy") not in by_quantity:
            n_people = int(by_quantity[way, "n_people"]["value"])
            print(
                f"{way}: no accuracy: nobody answered a target in both contexts"
                f" ({counted(n_people, 'person')} took part)"
            )
        if (way, "split_half_r") not in by_quantity:
            print(f"{way}: no reliability: it takes several people who answer the same questions")
    versions = statistics.query(
        "quantity == 'accuracy' and eval_type == 'likert' and grouping == 'version'"
    )["value"]
    if len(versions):
        print(
            "likert: range over versions (the paper: 0.942-0.957):"
            f" {versions.min():.3f}-{versions.max():.3f}"
        )


@app.command
def likeness(
    items: Path,
    ratings: Path,
    evidence: list[Path],
    /,
    *,
    draws: Draws = 1000,
    seed: Seed = 0,
    missing: Missing = (),
    out: Path,
) -> None:
    """Correlate models' preferences with people's, beside the noise ceiling.

    For every target, how much better one context fits than the other: people's mean ratings against
    a model's log probabilities or ratings. Pearson's r with a bootstrap interval over pairs of
    concepts, and the r that a model of people without noise would reach.

    Args:
        items: items table
        ratings: people's ratings, from `human clean` or `import human-ratings`
        evidence: target_scores and responses tables of models
        out: likeness table
    """
    from worldprobe.benchmarks.ewok.analysis.judge import read_evidence
    from worldprobe.benchmarks.ewok.analysis.panel import DEFAULT_CLUSTER
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items
    from worldprobe.benchmarks.ewok.contracts import Items, Ratings
    from worldprobe.contracts import read_table, write_table
    from worldprobe_survey.contracts import Likeness
    from worldprobe_survey.people import measure_likeness

    evidence, without = answered(evidence)
    check_items(items, [ratings, *evidence])
    people = read_table(ratings, Ratings)
    table = measure_likeness(
        read_table(items, Items), people, map(read_evidence, evidence), draws, seed
    )
    inputs = {"items": items, "ratings": ratings} | {str(path): path for path in evidence}
    details = {"cluster": DEFAULT_CLUSTER, "n_draws": draws} | missing_models(
        missing, table["model"].unique(), without
    )
    write_table(
        table,
        Likeness,
        out,
        made(LIKENESS_METHOD, inputs, ["numpy", "pandas"], seed=seed, details=details),
    )
