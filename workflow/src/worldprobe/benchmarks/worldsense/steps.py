"""The steps of ``worldprobe evaluate`` in WorldSense: commands, called one after the other."""

from __future__ import annotations

from contextlib import redirect_stdout
from pathlib import Path

from worldprobe.benchmark import COMPARISONS, Evaluated
from worldprobe.benchmarks.worldsense.cli import ask_, generate
from worldprobe.benchmarks.worldsense.engine import NAME
from worldprobe.benchmarks.worldsense.known_rules import baseline_rules
from worldprobe.benchmarks.worldsense.options import Options
from worldprobe.benchmarks.worldsense.settings import Subset
from worldprobe.cli.analysis import compare, summarize
from worldprobe.log import LOGGER

#: Trials of a sample for which rules that learn do so: it takes longer than to ask a small model.
ENOUGH_TO_LEARN_FOR = 300


def make_tables(model: Evaluated) -> tuple[Path, Path, Path]:
    """Trials, answers of the model and of rules, means, comparisons.

    Returns:
        The tables of trials, of the model's answers, and of means.
    """
    is_written = model.offers.chat() or not model.offers.logprobs
    prompting = "basic" if is_written else "constrained"
    trials, responses, summaries = (
        model.folder / f"{name}.parquet" for name in ("trials", "responses", "summaries")
    )
    chosen: Options = model.options
    part = Subset(per_cell=chosen.per_cell)
    model.step(
        "worldsense generate", generate, chosen.trial_set, part=part, sample=model.limit, out=trials
    )
    asked = {responses: model.model}
    for rule in baseline_rules():
        if rule.learns and model.limit and model.limit < ENOUGH_TO_LEARN_FOR:
            LOGGER.info("without %s, which learns first, in so small a sample", rule.model)
            continue
        stated = {"checkpoint": rule.name, "model": rule.model, "engine": NAME}
        answering = type(model.model)(**stated, answers=model.model.answers)
        asked[responses.with_name(f"{rule.model}.parquet")] = answering
    for out, one in asked.items():
        how = {"model": one, "prompting": [prompting]}
        model.step("worldsense ask", ask_, [str(trials)], **how, out=[out])
    answered, sets = list(asked), [str(trials)]
    model.step("summarize", summarize, answered, sets=sets, out=summaries)
    with redirect_stdout(None):  # the page has its sentences
        model.step("compare", compare, answered, sets=sets, out=model.folder / COMPARISONS)
    return trials, responses, summaries
