"""A benchmark that the shared parts ask and score: it says what it asks, and has everything else
from here.

Its scores, means and comparisons are made by the shared rules, ``worldprobe evaluate`` evaluates
single models in it, and the report has its part with tables of accuracies and of pairs of models;
tables and figures of its own come after that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pandas as pd

from worldprobe.benchmark import (
    TOP,
    Analysis,
    Asking,
    Benchmark,
    Computed,
    Display,
    Evaluated,
    Evaluation,
    Input,
    Page,
    PageFiles,
    Registry,
    Section,
    Study,
    table,
)
from worldprobe.contracts import Table, read_provenance, read_table
from worldprobe.contracts.results import (
    OVERALL,
    Comparisons,
    Scores,
    Summaries,
    read_distinct,
)
from worldprobe.engines import Workload, refuse_others
from worldprobe.errors import UserError
from worldprobe.extensions import load
from worldprobe.paths import StudyPaths
from worldprobe.provenance import Provenance
from worldprobe.report.findings import (
    against_chance,
    compared_in_words,
    count_kinds,
    counted_of,
    lead_in_words,
    lead_values,
    models_sheet,
    pairs_finding,
    read_overall,
    warn_of_few,
    which_tests,
)
from worldprobe.report.model_names import Roster, sort_by
from worldprobe.report.origins import (
    Methods,
    are_sampled,
    file_rows,
    model_rows,
    notes,
    package_versions,
)
from worldprobe.report.page import Material, Part, notices, render_template
from worldprobe.report.results import benchmark_result, no_estimate, sample_of
from worldprobe.report.sheet import (
    INTERVAL,
    MODEL_ONCE,
    MORE_THAN_POSSIBLE,
    PAIR_COLUMNS,
    Sheet,
    number_column,
    text_column,
    whole_number,
)
from worldprobe.settings.blocks import Block

_REQUESTS = "worldprobe.inference.requests"
#: For estimates.
TOKENS_OF_A_WORD = 1.3
#: Versions of means and comparisons of scores.
SUMMARIES, COMPARISONS = 7, 7
SECTION = Section("accuracy", "Accuracy", "The share of items that a model is right about.")
PAIRS = Section("pairs", "Pairwise comparisons", "Do two models differ on the same items?")


def asked(
    name: str,
    title: str,
    question: str,
    settings: type[Block],
    asking: Asking,
    scores: type[Table],
    cite: str,
    displays: Sequence[Display] = (),
    sections: Sequence[Section] = (),
    chance: float | None = None,
    source: str = "",
) -> Benchmark:
    """The benchmark.

    Args:
        name: that of its entry point or file.
        title: as it is written.
        question: what it asks, the heading of a report about nothing else.
        settings: the class of its block.
        asking: what a model is asked, and how responses become scores.
        scores: inherits ``contracts.results.Scores``; its ``groupings`` are what means are also
            taken by.
        cite: what to cite for it.
        displays: further tables and figures.
        sections: where they belong, besides "accuracy".
        chance: what guessing reaches; None where that differs from item to item.
        source: its YAML file, if it has one.
    """
    groupings = cast("type[Scores]", scores).groupings()

    def root(study: Study) -> str:
        return StudyPaths.of(study).benchmark(name)

    def answers(study: Study, model: str) -> list[str]:
        return [f"{root(study)}/scores/{model}.parquet"] if model in study["models"] else []

    def scored(study: Study, models: Sequence[str]) -> list[str]:
        return [path for model in models for path in answers(study, model)]

    def means_of(files: Sequence[Path]) -> Computed:
        from worldprobe.analysis.summaries import summarize_scores

        rows = read_distinct(files, scores)
        return Computed(summarize_scores(rows, groupings), rows["model"].unique())

    def pairs_of(files: Sequence[Path]) -> Computed:
        from worldprobe.analysis.comparisons import compare_scores

        rows = read_distinct(files, scores)
        return Computed(compare_scores(rows, groupings), rows["model"].unique())

    def outputs(study: Study, _registry: Registry) -> list[str]:
        stems = ["summaries", *["comparisons"] * (len(study["models"]) > 1)]
        return [
            *scored(study, study["models"]),
            *(f"{root(study)}/{stem}.parquet" for stem in stems),
        ]

    def page_files(study: Study, models: Sequence[str]) -> PageFiles | None:
        paths = tuple(scored(study, models))
        pairs = f"{root(study)}/comparisons.parquet" if len(paths) > 1 else ""
        return (
            PageFiles(f"{root(study)}/summaries.parquet", made_from=paths, comparisons=pairs)
            if paths
            else None
        )

    def compose(material: Material) -> Part:
        return _compose(material, title, question, cite, scores, chance, asking.stated)

    return Benchmark(
        name=name,
        title=title,
        settings=settings,
        outputs=outputs,
        answers=answers,
        analysed={
            "summarize": Analysis(means_of, Summaries, SUMMARIES, scored),
            "compare": Analysis(pairs_of, Comparisons, COMPARISONS, scored),
        },
        rule=f"ask_{name}",
        displays=(*DISPLAYS, *displays),
        page=Page(
            (SECTION, PAIRS, *sections),
            Input(Summaries),
            compose,
            page_files,
            (print_against_chance,),
            chance,
        ),
        scores=scores,
        evaluation=evaluation(name, title, chance, source, asking, settings),
        asking=asking,
        source=source,
    )


def _clusters(row: pd.Series) -> str:
    """What an interval is over; items that name no clusters are their own."""
    kind = "items" if row["n_clusters"] == row["n"] else "clusters of items"
    return f"{kind} ({row['n_clusters']})"


def _overall_first(summaries: pd.DataFrame) -> pd.DataFrame:
    return summaries.sort_values(
        "grouping", key=lambda names: names != OVERALL, kind="stable", ignore_index=True
    )


@table(
    inputs=[Summaries],
    section=SECTION.id,
    title="Accuracy",
    name="accuracy",
    caption="Accuracy; the 95% intervals take clusters of items as a random factor.",
)
def print_accuracy(summaries: pd.DataFrame, roster: Roster, provenance: Provenance) -> Sheet:
    """Mean accuracy of every model, overall and by group."""
    order = roster.in_order(summaries["model"])
    rows = _overall_first(summaries)
    rows = rows.assign(name=roster.names(rows["model"]))
    rows = sort_by(rows, "model", order).reset_index(drop=True)
    shown = rows[
        [
            "model",
            "name",
            "grouping",
            "group",
            "mean",
            "ci_low",
            "ci_high",
            "n",
            "n_clusters",
            "status",
        ]
    ]
    columns = (
        MODEL_ONCE,
        text_column("Items by", "grouping"),
        text_column("Group", "group"),
        number_column("Accuracy", "mean"),
        INTERVAL,
        number_column("Items", "n", whole_number),
    )
    title = f"Accuracy, {_title(provenance)}"
    return Sheet(title, shown, columns, notes=tuple(warn_of_few(rows)))


def means_against_chance(
    summaries: pd.DataFrame, roster: Roster, chance: float | None
) -> pd.DataFrame:
    """Overall accuracy of every model against chance.

    Args:
        summaries: the summary table.
        roster: names of the models.
        chance: what guessing reaches; None where that differs from item to item.
    """
    overall = summaries[summaries["grouping"] == OVERALL]
    counted = counted_of(list(overall.dropna(subset="mean")["model"]), roster)
    return against_chance(overall, counted, roster, chance)


@table(
    inputs=[Summaries],
    section=TOP.id,
    title="Against chance",
    name="against_chance",
    caption="Overall accuracy of every model, and whether it is above or below chance.",
)
def print_against_chance(
    summaries: pd.DataFrame, roster: Roster, chance: float | None = None
) -> Sheet:
    """Every model against chance."""
    means = means_against_chance(summaries, roster, chance)
    return models_sheet(means, chance, notes=warn_of_few(means))


def has_several_models(study: Study) -> bool:
    """Whether there are models to compare."""
    return len(study["models"]) > 1


@table(
    inputs=[Comparisons],
    section=PAIRS.id,
    title="Pairs of models",
    name="pairs_of_models",
    caption=(
        "Difference of accuracy on the same items for each pair of models; paired test over"
        " clusters of items, with Holm's correction within each grouping."
    ),
    when=has_several_models,
)
def print_pairs(comparisons: pd.DataFrame, roster: Roster, provenance: Provenance) -> Sheet:
    """Every pair of models, overall and by group."""
    rows = _overall_first(comparisons.sort_values(["grouping", "group"], kind="stable"))
    rows = rows.assign(**{f"name_{side}": roster.names(rows[f"model_{side}"]) for side in "ab"})
    columns = (
        text_column("Items by", "grouping", once=True),
        text_column("Group", "group", once=True),
        *PAIR_COLUMNS,
        number_column("Items", "n", whole_number),
    )
    return Sheet(
        f"Pairs of models on the same items, {_title(provenance)}",
        rows,
        columns,
        finding=pairs_finding(rows[rows["grouping"] == OVERALL]),
        notes=(
            f"95% intervals and two-sided p ({which_tests(rows)}).",
            MORE_THAN_POSSIBLE,
            *warn_of_few(rows),
        ),
        group="grouping",
    )


#: Tables that every such benchmark has.
DISPLAYS = (print_against_chance, print_accuracy, print_pairs)


def _title(provenance: Provenance) -> str:
    """The title of the benchmark that a table is of, or else its name."""
    stated = provenance.details
    return str(stated.get("definition", {}).get("title") or stated.get("benchmark", ""))


def _compose(
    material: Material,
    title: str,
    question: str,
    cite: str,
    scores: type[Table],
    chance: float | None,
    stated: Mapping[str, str],
) -> Part:
    """The part of the report."""
    summaries, roster = _overall_first(read_table(material.summary, Summaries)), material.roster
    means = means_against_chance(summaries, roster, chance)
    groupings = [name for name in summaries["grouping"].unique() if name != OVERALL]
    shown = summaries[
        summaries["grouping"].isin([OVERALL, *groupings[:1]])
    ]  # the table has the others
    overview = {
        str(group): {
            roster[model].name: float(mean)
            for model, mean in rows[["model", "mean"]].dropna().itertuples(index=False)
        }
        for (_, group), rows in shown.groupby(["grouping", "group"], sort=False)
    }
    origins = material.all_origins()
    n_items = int(means["n"].max())
    package = "worldprobe.report"
    text = render_template(
        package,
        "assets/methods.html.jinja",
        title=title,
        n_items=n_items,
        ways=list(summaries["eval_type"].unique()),
        groupings=groupings,
        stated=stated,
    )
    models = model_rows(origins, (scores.Config.name,), roster)
    pairs = read_overall(material.comparisons, Comparisons)
    table = print_against_chance.name
    compared = compared_in_words(pairs, means, roster, tables=(table, print_pairs.name))
    values = lead_values(means, chance, compared, "items" * are_sampled(origins), table)
    return Part(
        question=question,
        lead=render_template(package, "assets/lead.html.jinja", **values),
        findings=lead_in_words(values),
        facts=count_kinds(means) | {"items": n_items},
        methods=Methods(text, package_versions(origins), models, file_rows(origins)),
        cite=cite,
        notices=notices(origins[0].provenance, roster),
        overview=overview,
        apart=frozenset(roster[model].name for model in roster.models if roster[model].is_control),
    )


def evaluation(
    name: str,
    title: str,
    chance: float | None,
    source: str,
    asking: Asking,
    settings: type[Block],
) -> Evaluation:
    """How single models are evaluated: asked, then summarised.

    Args:
        name: the benchmark's.
        title: as it is written.
        chance: what guessing reaches; None where that differs from item to item.
        source: its YAML file, if it has one.
        asking: what it asks.
        settings: the class of its block, whose keys are its options.
    """

    def evaluate(model: Evaluated) -> dict[str, Any]:
        # commands, which nothing else here needs
        ask, summarize = load("worldprobe.cli.ask:ask"), load("worldprobe.cli.analysis:summarize")
        scores, summaries = (model.folder / f"{stem}.parquet" for stem in ("scores", "summaries"))
        block = json.dumps(model.options.model_dump()) if model.options else None
        how = {"settings": block, "sample": model.limit, "model": model.model}
        model.step("ask", ask, source or name, **how, out=scores)
        model.step("summarize", summarize, [scores], out=summaries)
        made, means = read_provenance(scores), _overall_first(read_table(summaries, Summaries))
        numbers = benchmark_result(
            means,
            title=title,
            unit="items",
            chance=chance,
            interval=_clusters(means.iloc[0]),
            eval_type=str(means["eval_type"].iloc[0]),
            asked={
                "way of asking": str(means["eval_type"].iloc[0]),
                **asking.stated,
                **sample_of(made, int(means["n"].iloc[0]), "items"),
            },
            items_digest=made.inputs["items"],
            notes=[
                *no_estimate(made, "clusters of items"),
                *notes(read_provenance(summaries), Roster({})),
                *warn_of_few(means[:1]),
            ],
        )
        return {"model": model.name, **made.of_model(), "benchmarks": {name: numbers}}

    def refuse(model: Evaluated) -> None:
        refuse_others(model.card, name, model.name)
        if asking.eval_type == "logprobs" and not model.offers.logprobs:
            raise UserError(
                model.card.get("endpoint") or model.name,
                f"gives no log probabilities of prompts, which {title} needs.",
                "Evaluate the weights themselves, or serve them with vLLM.",
            )

    def expect(model: Evaluated) -> Workload:
        texts_asked, list_items = map(load, (f"{_REQUESTS}:texts_asked", f"{_REQUESTS}:list_items"))
        block = model.options.model_dump() if model.options else {}
        rows = list(list_items(asking, block).itertuples(index=False))
        texts = [
            text
            for row in rows
            for request in asking.requests(row)
            for text in texts_asked(request)
        ]
        share = min(1, (model.limit or len(rows)) / max(len(rows), 1))
        read = sum(len(text.split()) for text, _ in texts) * TOKENS_OF_A_WORD
        written = sum(tokens for _, tokens in texts)
        return Workload(*(round(share * number) for number in (len(texts), read, written)))

    return Evaluation(
        evaluate, refuse, settings if settings.model_fields else None, workload=expect
    )
