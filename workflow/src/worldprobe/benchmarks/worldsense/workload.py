"""How much WorldSense asks of a model: trials and tokens, before any trial is there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from worldprobe.benchmark import Evaluated, Study, Workload, count_rows
from worldprobe.benchmarks.worldsense import outputs
from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
from worldprobe.benchmarks.worldsense.problem_families import problem_families

#: Trials of whole sets, and tuples of each of their cells (docs/worldsense.md); sets that are not
#: here are as large as ``test``.
TRIALS = {
    "test": 87_048,
    "test-new": 58_032,
    "memorisation": 11_232,
    "ood-size": 9_360,
    "ood-query": 6_480,
    "ood-problem": 5_400,
    **{f"test-{family.name}": family.n_trials for family in problem_families()},
}
PER_CELL = 31
#: Tokens of a trial (68 words in the released test set), and of what a prompt says besides.
TRIAL = 90
#: Share of the tokens that a reply may have and that it has.
USED = 0.25
#: Answers whose log probabilities are compared, at most.
COMPARED = 3


_prompt_set = cache(load_prompt_set)  # it is asked for by every job of a run


def n_trials(study: Study, name: str) -> int:
    """Trials of a set: of its table, or as many as its settings let one expect."""
    block, table = study["worldsense"], Path(outputs.trial_table(study, name))
    if (n_rows := count_rows(table)) is not None:
        return n_rows
    whole = TRIALS.get(name, TRIALS["test"])
    if not block["released"] and block["per_cell"] is not None:
        whole = min(whole, whole * block["per_cell"] // PER_CELL)
    return min(whole, block["limit"] or whole)


def of_evaluation(model: Evaluated) -> Workload:
    """What ``evaluate`` asks a model, as if every reply needed the follow-up."""
    whole = TRIALS.get(model.options.trial_set, TRIALS["test"])
    trials = min(whole, whole * model.options.per_cell // PER_CELL)
    trials = min(trials, model.limit or trials)
    if model.offers.logprobs and not model.offers.chat():
        return Workload(trials * COMPARED, trials * COMPARED * TRIAL)
    prompts = _prompt_set("basic")
    turns = trials * (1 + bool(prompts.follow_up))
    return Workload(turns, turns * TRIAL, trials * int(prompts.tokens * USED))


def workload(study: Study, _card: Mapping[str, Any]) -> Workload:
    """Requests to a model in all sets and strategies, as if every reply needed the follow-up."""
    how = study["worldsense"]["asking"]
    requests = read = written = 0
    for name in outputs.asked_sets(study):
        trials = n_trials(study, name) * how["samples"]
        for prompting in outputs.prompting_places(study, name):
            prompts = _prompt_set(prompting)
            texts = 1 + (prompts.examples.number if prompts.examples else 0)
            is_written = prompts.ask == "write"
            asked = min(
                trials, (how["replies"] or trials) * how["samples"] if is_written else trials
            )
            turns = 1 + bool(prompts.follow_up) if is_written else COMPARED
            reply = int(prompts.tokens * USED) + how["thoughts"] if is_written else 0
            requests += asked * turns
            read += asked * turns * texts * TRIAL
            written += asked * reply
    return Workload(requests, read, written, how["max_requests"], how["max_tokens"])
