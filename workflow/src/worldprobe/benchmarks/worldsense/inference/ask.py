"""Asks a model about trials under one prompting strategy: answers, whole conversations, and counts
for the provenance.

Where the first written reply gives no answer, one second question is asked (paper, Section 4.2).
Where the answers' log probabilities are compared, they are calibrated, so that only what the text
says decides. A sum of log probabilities compares answers of different lengths and frequencies:
surface form competition (Holtzman et al. 2021, arXiv 2104.08315). So the log odds of two answers
are taken relative to what they are on average over all tuples of a form, as in batch calibration
(Zhou et al. 2024, arXiv 2309.17249). A tuple has each answer, so a model that knows all of them,
and leans to none, is usually halfway between: its border stays where it is. Texts without content
do not have this property: nonsense contradicts itself, and a model that sees it says so. All trials
of one form have the same border, so it cannot tell them apart.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from worldprobe.benchmarks.worldsense.inference.parse import count_rule_differences, reader_of
from worldprobe.benchmarks.worldsense.inference.prompts import SHARED, Pool, PromptSet
from worldprobe.benchmarks.worldsense.skins.vocabulary import DISGUISE, answers_of, problem_type
from worldprobe.engines import of_answers
from worldprobe.errors import UserError
from worldprobe.inference.dialogue import NO_REPLY, Exchange, Reader, Reading, converse, extend
from worldprobe.inference.requests import Generate, near_tie_of, run_requests
from worldprobe.inference.store import Store
from worldprobe.log import LOGGER
from worldprobe.models.engine import (
    Completion,
    Decoding,
    Engine,
    Loglikelihood,
    Message,
    Prompt,
    Scored,
)

if TYPE_CHECKING:
    from worldprobe.benchmarks.worldsense.settings import TrialAsking

#: Trials that have these in common have the same border between answers: problem, wording of the
#: question, form of the query.
FORM = ("problem", "wording", "arity")


def usual_odds(tuples: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """Average log odds over tuples, of each halfway between its largest and its smallest, in nats.

    Halfway, since two of a completeness tuple's three answers are known; so no gold answer is
    needed.

    Args:
        tuples: the ``log_odds`` of each trial, by tuple of one form.

    >>> usual_odds([[np.array([3.0]), np.array([1.0])], [np.array([2.5]), np.array([2.5])]])
    array([2.25])
    """
    halves = np.array([(np.max(trials, axis=0) + np.min(trials, axis=0)) / 2 for trials in tuples])
    usual: np.ndarray = halves[0] + np.mean(
        halves - halves[0], axis=0
    )  # exact where all are equal: these are ties
    return usual


def log_odds(logprobs: Sequence[float]) -> np.ndarray:
    """Log odds between answers, in nats: the first against the second; of three, known (1, 2)
    against 3, and 1 against 2.

    The paper folds 1 and 2 into one answer (Section 4.2). So must the decision: a model that draws
    one of three answers would say "known" twice as often as "unknown".

    >>> log_odds([-1.0, -3.0])
    array([2.])
    >>> log_odds([-1.0, -1.0, -1.0]).round(3)
    array([0.693, 0.   ])
    """
    if len(logprobs) == 2:
        return np.array([logprobs[0] - logprobs[1]])
    first, second, third = logprobs
    return np.array([np.logaddexp(first, second) - third, first - second])


def choose_answer(logprobs: Sequence[float], usual: np.ndarray) -> tuple[int, float]:
    """The answer that a text speaks for, by its place, and the nats by which the nearest other one
    is behind.

    Args:
        logprobs: of each answer after the text.
        usual: the ``usual_odds`` of its form.
    """
    first, *second = log_odds(logprobs) - usual
    if not second:
        return int(first < 0), abs(float(first))
    if first < 0:
        return 2, abs(float(first))
    return int(second[0] < 0), float(min(first, abs(second[0])))


def is_whole(reply: Completion) -> bool:
    """Can a reply be read? Not one that was cut or withheld, nor one to a question that was cut."""
    return reply.finish not in ("length", *NO_REPLY) and not reply.prompt_was_cut


@dataclass(frozen=True)
class TrialDialogue:
    """A reply, and a second question where it gives no answer; a ``Dialogue``.

    Attributes:
        reader: reads a reply.
        decoding: how the first reply is written.
        says: the second question; None for none.
        then: how its reply is written.
    """

    reader: Reader
    decoding: Decoding
    says: str | None
    then: Decoding

    def question(self, prompt: Prompt, replies: Sequence[Completion]) -> Generate:
        """See ``Dialogue.question``."""
        return Generate(prompt, self.then if replies else self.decoding)

    def follow_up(self, prompt: Prompt, replies: Sequence[Completion]) -> Prompt | None:
        """See ``Dialogue.follow_up``: one, where the first reply was cut or gives no answer for
        certain.
        """
        if (
            self.says is None
            or len(replies) > 1
            or self.read(replies).status in ("ok", "truncated", "not_finite")
        ):
            return None
        return extend(prompt, replies[-1], self.says)

    def read(self, replies: Sequence[Completion]) -> Reading:
        """See ``Dialogue.read``: the last reply counts; one that was cut is not read, as its end is
        not there.
        """
        last = replies[-1]
        if last.finish in NO_REPLY:
            return Reading(None, NO_REPLY[last.finish])
        if last.prompt_was_cut:
            return Reading(None, "truncated")
        if last.finish == "length":
            return Reading(None, "length")
        reading = self.reader(last.text)
        return Reading(
            reading.value,
            reading.status if reading.status in ("ok", "ambiguous", "refused") else "invalid",
        )


#: Columns of trials that asking reads; where answers are calibrated, also ``FORM``.
TRIAL_COLUMNS = ("trial_id", "tuple_id", *SHARED, "skin", "text")


def _decoding(
    asking: TrialAsking, is_chat: bool, tokens: int, stops: Sequence[str], sample: int
) -> Decoding:
    """How a reply is written; sample k is drawn with the seed plus k."""
    how = Decoding(
        tokens,
        () if is_chat else tuple(stops),
        asking.temperature,
        asking.seed + sample if asking.temperature else 0,
    )
    return replace(how, thoughts=asking.thoughts) if asking.thoughts else how


def write_prompts(trials: pd.DataFrame, prompts: PromptSet, pool: Pool | None) -> list[str]:
    """The text that asks each trial, examples and all, without the system message.

    Args:
        trials: columns ``TRIAL_COLUMNS``.
        prompts: the strategy.
        pool: where its examples come from, if it has any.

    Raises:
        UserError: a text contains nothing that the set rewrites, or there are too few examples.
    """
    written = []
    for _, tuple_id, *cell, skin, text in trials[list(TRIAL_COLUMNS)].itertuples(
        index=False, name=None
    ):
        kind = problem_type(cell[0])
        solved: list[tuple[str, str]] = []
        if prompts.examples is not None and pool is not None:
            drawn = pool.draw(
                prompts.examples.number, prompts.examples.other_domain, tuple(cell), skin, tuple_id
            )
            solved = [
                (
                    _body(prompts, example, kind, f"an example of {skin}"),
                    prompts.written(kind, gold),
                )
                for example, gold in drawn
            ]
        written.append(
            prompts.whole(
                _body(prompts, text, kind, f"a trial of {cell[0]}, {skin}, {cell[3]}"), solved
            )
        )
    return written


def _body(prompts: PromptSet, text: str, kind: str, what: str) -> str:
    body = prompts.body(text, kind)
    if body is None:
        problem = f"finds nothing to rewrite in the text of {what}."
        raise UserError(
            f"prompting {prompts.name}",
            problem,
            "Copy the set and add this wording to its list `rewrite`.",
        )
    return body


def ask(
    trials: pd.DataFrame,
    engine: Engine,
    prompts: PromptSet,
    store: Store,
    asking: TrialAsking,
    is_chat: bool = False,
    pool: Pool | None = None,
    method: int = 1,
    model: str = "",
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Ask about every trial.

    Args:
        trials: columns ``TRIAL_COLUMNS``.
        engine: a loaded model.
        prompts: the strategy.
        store: the engine's answers.
        asking: how replies are drawn and read.
        is_chat: whether to ask through the model's chat template; else as text that it continues.
        pool: where examples come from.
        method: version of the computation.
        model: the model's name, for the progress lines.

    Returns:
        responses (contract Responses, in the order of its key), and facts for the provenance.
    """
    kinds = [problem_type(problem) for problem in trials["problem"]]
    what = f"Asking {model or engine.facts.checkpoint} ({prompts.name})"
    protocol = f"worldsense {method}"
    facts: dict[str, Any] = {
        "prompting": prompts.name,
        "prompt_set": prompts.digest,
        "form": "chat" if is_chat and not prompts.compares else "text",
    }
    if prompts.compares:
        rows, origins, more = _compare(trials, engine, prompts, store, pool, protocol, what)
        facts |= more
    else:
        texts = write_prompts(trials, prompts, pool)
        rows, origins = _hold(
            texts, kinds, trials, engine, prompts, store, asking, is_chat, protocol, what
        )
        facts["reading"] = {"rule": asking.reading, **_differences(rows, texts, kinds, prompts)}
        facts |= {
            "samples": asking.samples,
            "temperature": asking.temperature,
            "thoughts": asking.thoughts,
        }
    if pool is not None and prompts.examples is not None:
        facts["examples_seed"] = pool.seed
    frame = responses(rows, prompts.name, facts["form"])
    n_prompt_tokens = sum(row.get("n_prompt_tokens", 0) for row in rows)
    return frame, {
        **facts,
        **_counts(frame, near_tie_of(engine.facts.dtype), n_prompt_tokens),
        "answers": origins,
    }


#: Flags of scores that are a status of their own.
_STATUSES = {"truncated", "not_finite"}


def _compare(
    trials: pd.DataFrame,
    engine: Engine,
    prompts: PromptSet,
    store: Store,
    pool: Pool | None,
    protocol: str,
    what: str,
) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
    """The answer that each text speaks for, each answer after one space; and the answers' numbers
    of tokens.
    """
    texts = write_prompts(trials, prompts, pool)
    options = [answers_of(problem) for problem in trials["problem"]]
    queries = [
        Loglikelihood(text, option)
        for text, accepted in zip(texts, options, strict=True)
        for option in accepted
    ]
    results = run_requests(queries, engine, store, protocol, what=what, total=len(trials))
    values = iter(results.values)
    scores: list[list[Scored]] = [[next(values) for _ in accepted] for accepted in options]
    facts: dict[str, Any] = {"answer_tokens": _answer_tokens(options, scores)}
    flagged = Counter(
        flag
        for compared in scores
        for flag in {flag for score in compared for flag in score.flags} - _STATUSES
    )
    if flagged:
        facts["flags"] = dict(sorted(flagged.items()))
    usual: list[np.ndarray | None] = [None] * len(trials)
    # A rule gives its answer nearly all probability, whatever the answer's length: what it says
    # most often is no habit.
    if prompts.calibrated and of_answers(engine.facts.engine).is_model:
        by_form = _usual_odds(trials, scores)
        usual = [
            by_form.get(form) for form in trials[list(FORM)].itertuples(index=False, name=None)
        ]
        facts["calibrated_forms"] = len(by_form)
    rows = [
        choose(trial_id, text, problem, compared, prompts, before)
        for trial_id, text, problem, compared, before in zip(
            trials["trial_id"], texts, trials["problem"], scores, usual, strict=True
        )
    ]
    return rows, results.origins, facts


def _usual_odds(trials: pd.DataFrame, scores: Sequence[Sequence[Scored]]) -> dict[Any, np.ndarray]:
    """Form -> its usual odds, over the trials whose answers could be compared."""
    odds: dict[Any, dict[str, list[np.ndarray]]] = {}
    for tuple_id, *form, compared in zip(
        trials["tuple_id"], *(trials[name] for name in FORM), scores, strict=True
    ):
        logprobs, status = _logprobs(compared)
        if status == "ok":
            odds.setdefault(tuple(form), {}).setdefault(tuple_id, []).append(log_odds(logprobs))
    return {form: usual_odds(list(tuples.values())) for form, tuples in odds.items()}


def _logprobs(scores: Sequence[Scored]) -> tuple[list[float], str]:
    """Log probabilities of the compared answers that are finite, and ok, or why the answers cannot
    be compared.
    """
    finite = [score.logprob for score in scores if score.logprob is not None]
    was_cut = any("truncated" in score.flags for score in scores)
    return finite, "truncated" if was_cut else "ok" if len(finite) == len(scores) else "not_finite"


def _answer_tokens(
    options: Sequence[Sequence[str]], scores: Sequence[Sequence[Scored]]
) -> dict[str, list[int]]:
    """Answer -> the numbers of tokens that it has after the texts, usually one."""
    counts: dict[str, set[int]] = {}
    for accepted, compared in zip(options, scores, strict=True):
        for option, score in zip(accepted, compared, strict=True):
            counts.setdefault(option, set()).add(score.n_tokens)
    return {option: sorted(counts[option]) for option in DISGUISE if option in counts}


def choose(
    trial_id: int,
    text: str,
    problem: str,
    scores: Sequence[Scored],
    prompts: PromptSet,
    usual: np.ndarray | None = None,
) -> dict[str, Any]:
    """The row of a trial whose accepted answers were compared; where two are exactly as likely,
    none is chosen.

    Args:
        trial_id: the trial's.
        text: the prompt.
        problem: the trial's.
        scores: of each accepted answer, in their order.
        prompts: the strategy.
        usual: the usual odds of its form; None: the likeliest answer is chosen.
    """
    logprobs, status = _logprobs(scores)
    chosen, margin = "", None
    if status == "ok":
        index, margin = _likeliest(logprobs) if usual is None else choose_answer(logprobs, usual)
        status, chosen = ("ok", answers_of(problem)[index]) if margin > 0 else ("invalid", "")
    return {
        "trial_id": trial_id,
        "sample": 0,
        "answer": prompts.meant(problem_type(problem), chosen) if chosen else None,
        "status": status,
        "reply": chosen,
        "conversation": _conversation(text, [Completion(chosen)] if chosen else []),
        "finish": "not_finite" if status == "not_finite" else "end",
        "n_tokens": sum(score.n_tokens for score in scores),
        "n_prompt_tokens": sum(score.n_read_tokens for score in scores),
        "margin": margin,
    }


def _likeliest(logprobs: Sequence[float]) -> tuple[int, float]:
    """Place of the largest, and how far the second is behind."""
    *_, second, first = sorted(logprobs)
    return logprobs.index(first), first - second


def _hold(
    texts: Sequence[str],
    kinds: Sequence[str],
    trials: pd.DataFrame,
    engine: Engine,
    prompts: PromptSet,
    store: Store,
    asking: TrialAsking,
    is_chat: bool,
    protocol: str,
    what: str,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A conversation about each trial and sample."""
    openings: list[tuple[Prompt, TrialDialogue]] = []
    for sample in range(asking.samples):
        first = _decoding(asking, is_chat, prompts.tokens, prompts.stops, sample)
        then = _decoding(asking, is_chat, prompts.follow_up_tokens, prompts.stops, sample)
        for text, kind in zip(texts, kinds, strict=True):
            reader = reader_of(asking.reading, kind, prompts.answers[kind], text)
            dialogue = TrialDialogue(reader, first, prompts.second_question(kind), then)
            openings.append((_opening(text, prompts, is_chat), dialogue))
    exchanges, origins = converse(
        openings, engine, store, protocol, what, len(trials) * asking.samples
    )
    rows = []
    for index, exchange in enumerate(exchanges):
        sample, trial = divmod(index, len(texts))
        rows.append(
            _row(exchange, int(trials["trial_id"].iloc[trial]), sample, kinds[trial], prompts)
        )
    return rows, origins


def _differences(
    rows: Sequence[dict[str, Any]], texts: Sequence[str], kinds: Sequence[str], prompts: PromptSet
) -> dict[str, int]:
    """How often the two rules of reading differ, on first and second replies that were not cut."""
    counts: Counter[str] = Counter()
    for index, row in enumerate(rows):
        kind = kinds[index % len(kinds)]
        counts.update(
            count_rule_differences(
                kind, prompts.answers[kind], row["read"], texts[index % len(texts)]
            )
        )
    return dict(sorted(counts.items()))


def _opening(text: str, prompts: PromptSet, is_chat: bool) -> Prompt:
    system = prompts.system
    if is_chat:
        return (*((Message("system", system),) if system else ()), Message("user", text))
    end = "" if prompts.ending else "\n"  # the model completes the line of the solution
    return f"{system}\n\n{text}{end}" if system else f"{text}{end}"


def _row(
    exchange: Exchange, trial_id: int, sample: int, kind: str, prompts: PromptSet
) -> dict[str, Any]:
    replies, reading = exchange.replies, exchange.reading
    assert reading is not None
    thoughts = [reply.thoughts for reply in replies if reply.thoughts]
    return {
        "trial_id": trial_id,
        "sample": sample,
        "answer": None if reading.value is None else prompts.meant(kind, reading.value),
        "status": reading.status,
        "reply": replies[0].text,
        "follow_up": replies[1].text if len(replies) > 1 else None,
        "read": [reply.text for reply in replies if is_whole(reply)],
        "thoughts": "\n\n".join(thoughts) if thoughts else None,
        "conversation": _conversation(exchange.prompt, replies[-1:]),
        "finish": replies[-1].finish,
        "n_tokens": sum(reply.n_tokens for reply in replies),
        "n_thought_tokens": sum(reply.n_thought_tokens for reply in replies),
        "n_prompt_tokens": sum(reply.n_prompt_tokens for reply in replies),
    }


def _conversation(prompt: Prompt, last: Sequence[Completion]) -> str:
    """All that was said, as JSON; of a text that a model continued, the text so far is one
    message.
    """
    if isinstance(prompt, str):
        messages = [{"role": "user", "content": prompt}]
    else:
        messages = [{"role": message.role, "content": message.content} for message in prompt]
    return json.dumps(
        [*messages, *({"role": "assistant", "content": reply.text} for reply in last)],
        ensure_ascii=False,
    )


def responses(rows: Sequence[dict[str, Any]], prompting: str, form: str) -> pd.DataFrame:
    """The rows as the contract Responses wants them.

    Args:
        rows: of trials that were asked.
        prompting: the strategy's name.
        form: chat or text.
    """

    def column(name: str, dtype: str, default: Any = None) -> pd.Series:
        return pd.Series([row.get(name, default) for row in rows], dtype=dtype)

    frame = pd.DataFrame(
        {
            "trial_id": column("trial_id", "int64"),
            "prompting": pd.Series([prompting] * len(rows), dtype="str"),
            "sample": column("sample", "int64"),
            **{
                name: column(name, "str")
                for name in ("answer", "status", "reply", "follow_up", "thoughts", "conversation")
            },
            "form": pd.Series([form] * len(rows), dtype="str"),
            "finish": column("finish", "str"),
            "n_tokens": column("n_tokens", "int64", 0),
            "n_thought_tokens": column("n_thought_tokens", "int64", 0),
            "margin": column("margin", "float64"),
        }
    )
    return frame.sort_values(["trial_id", "sample"], ignore_index=True)


def _counts(frame: pd.DataFrame, near: float, n_prompt_tokens: int) -> dict[str, Any]:
    """How often each status, answer and finish occurs, follow-ups, tokens, and ties within ``near``
    nats.

    Args:
        frame: the responses.
        near: nats.
        n_prompt_tokens: tokens that were read for all replies, 0 where not known.
    """
    counts: dict[str, Any] = {
        name: {str(value): int(n) for value, n in sorted(Counter(frame[name].dropna()).items())}
        for name in ("status", "answer", "finish")
    }
    counts["answer_values"] = counts.pop("answer")
    counts["follow_ups"] = int(frame["follow_up"].notna().sum())
    counts["tokens"] = {
        "prompts": n_prompt_tokens,
        "replies": int(frame["n_tokens"].sum()),
        "thoughts": int(frame["n_thought_tokens"].sum()),
    }
    if frame["margin"].notna().any():
        counts["near_ties"] = {"within_nats": near, "trials": int((frame["margin"] < near).sum())}
    wrong = len(frame) - counts["status"].get("ok", 0)
    if wrong:
        LOGGER.warning(
            "%d of %d responses contain no answer and count as wrong: %s",
            wrong,
            len(frame),
            counts["status"],
        )
    return counts
