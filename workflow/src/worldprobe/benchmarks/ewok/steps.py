"""The steps of ``worldprobe evaluate`` in EWoK: commands, called one after the other."""

from __future__ import annotations

import os
from pathlib import Path

from worldprobe.benchmark import COMPARISONS, Evaluated
from worldprobe.benchmarks.ewok.cli.analysis import judge
from worldprobe.benchmarks.ewok.cli.items import FillingOptions, build
from worldprobe.benchmarks.ewok.cli.references import compare
from worldprobe.benchmarks.ewok.cli.score import all_, logprobs
from worldprobe.benchmarks.ewok.evaluation import PROMPTED
from worldprobe.benchmarks.ewok.options import Options
from worldprobe.cli.analysis import summarize
from worldprobe.cli.options import PASSWORD_VARIABLE


def make_tables(model: Evaluated) -> tuple[Path, Path, Path]:
    """Items, scores or answers, judgements, summaries; comparisons with references, where there are
    some of these items.

    Returns:
        The tables of items, of scores or answers, and of summaries.
    """
    names = ("items", "target_scores", "responses", "judgements", "summaries")
    items, scores, responses, judgements, summaries = (
        model.folder / f"{name}.parquet" for name in names
    )
    chosen: Options = model.options
    if chosen.password:
        os.environ[PASSWORD_VARIABLE] = chosen.password  # so that no printed command shows it
    how = FillingOptions(
        versions=chosen.versions or "0-4",
        compat=chosen.compat,
        release_filter=chosen.release_filter,
        sample=model.limit,
    )
    model.step("items build", build, chosen.materials, how=how, out=items)
    if model.offers.logprobs:
        model.step("score logprobs", logprobs, items, model=model.model, out=scores)
    else:
        scores = responses
        model.step(
            "score all",
            all_,
            [items],
            model=model.model,
            eval_types=PROMPTED,
            both_orders=["yes"],
            chat_template=["auto"],
            out=[responses],
        )
    model.step("judge", judge, items, [scores], out=[judgements])
    model.step("summarize", summarize, [judgements], out=summaries)
    if model.offers.logprobs:
        model.step("references compare", compare, judgements, items, out=model.folder / COMPARISONS)
    return items, scores, summaries
