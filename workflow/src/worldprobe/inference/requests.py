"""The contract between what a study wants to know and what answers it: score a text, write after a
prompt, choose among options.

A question's id is a digest of all that it asks. Every benchmark asks through ``run_requests``,
which reuses what the store has, asks the engine the rest, and says which processes made the
answers.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from worldprobe.benchmark import Asking
from worldprobe.contracts import Table
from worldprobe.errors import UserError
from worldprobe.inference.preemption import Preemption
from worldprobe.inference.store import Kept, Store
from worldprobe.log import LOGGER, Progress
from worldprobe.models.engine import (
    Completion,
    Decoding,
    Engine,
    EngineFacts,
    Loglikelihood,
    Prompt,
    Scored,
)
from worldprobe.models.registry import ENCODER_DECODER, MASKED


@dataclass(frozen=True, slots=True)
class Generate:
    """What does the model write after the prompt?"""

    prompt: Prompt
    decoding: Decoding


@dataclass(frozen=True, slots=True)
class Choose:
    """Which of the options does the model choose after the prompt?"""

    prompt: Prompt
    options: tuple[str, ...]


Request = Loglikelihood | Generate | Choose


@dataclass(frozen=True)
class Answers:
    """Answers in the order of their questions.

    Attributes:
        values: ``Scored`` for a ``Loglikelihood``, ``Completion`` for the others.
        origins: which processes made them, for the provenance; see ``describe_origins``.
    """

    values: list[Any]
    origins: dict[str, Any]


def texts_asked(question: Request) -> list[tuple[str, int]]:
    """The texts that are read for a question, each with the tokens that may be written, for
    estimates.
    """
    if isinstance(question, Loglikelihood):
        return [(question.text, 0)]
    prompt = question.prompt
    text = prompt if isinstance(prompt, str) else " ".join(part.content for part in prompt)
    if isinstance(question, Generate):
        return [(text, question.decoding.most_tokens)]
    return [(f"{text} {option}", 0) for option in question.options]


def question_id(question: Request, engine: Engine, protocol: str = "1") -> str:
    """SHA-256 of kind, content, options, decoding and protocol; a conversation counts as it is
    sent, template and all.

    Args:
        question: the question.
        engine: who is asked; it renders conversations.
        protocol: version of how the question is asked, and what is kept of its answer.
    """
    content: list[Any]
    if isinstance(question, Loglikelihood):
        # A blank between context and target was once all there was, and ids stay.
        join = None if question.context is not None and question.join == " " else question.join
        content = ["score", question.context, question.target, join, None]
    else:
        kind = "text" if isinstance(question.prompt, str) else "conversation"
        asked = [kind, _as_sent(question, engine)]
        if isinstance(question, Generate):
            content = ["write", asked, None, question.decoding.described()]
        else:
            content = ["choose", asked, list(question.options), None]
    return hashlib.sha256(
        json.dumps([*content, protocol], sort_keys=True).encode("utf-8", "surrogatepass")
    ).hexdigest()


def _as_sent(question: Generate | Choose, engine: Engine) -> str:
    return engine.rendered(question.prompt, isinstance(question, Choose))


def digest_prompt(question: Generate | Choose, engine: Engine) -> str:
    """SHA-256 of a question's prompt as it is sent."""
    return hashlib.sha256(_as_sent(question, engine).encode("utf-8", "surrogatepass")).hexdigest()


def run_requests(
    questions: Sequence[Request],
    engine: Engine,
    store: Store,
    protocol: str = "1",
    per_token: bool = False,
    what: str = "",
    total: int | None = None,
) -> Answers:
    """Answer questions: equal ones once, known ones from the store, the rest by the engine.

    Args:
        questions: of any kinds, in any order.
        engine: a loaded model.
        store: the engine's answers.
        protocol: version of how the questions are asked.
        per_token: keep each target token's log probability; such answers are kept apart.
        what: what is being done, for the progress lines; none without it.
        total: how many units (items, trials) the questions belong to, for the progress lines.
    """
    protocol = f"{protocol} tokens" if per_token else protocol
    ids = [question_id(question, engine, protocol) for question in questions]
    distinct = dict(zip(ids, questions, strict=True))
    kept: dict[str, Kept] = {}
    groups = _groups(distinct)
    for members in groups:
        units = total if total and len(groups) == 1 else len(members)
        # Texts are all cut and packed before the first is scored; what is written comes one by one,
        # and is long beside that.
        prepares = not isinstance(distinct[members[0]], Generate)
        progress = Progress(what, units, prepares=prepares) if what else None
        work = Work({key: distinct[key] for key in members}, engine.facts) if what else None

        def ask(
            chosen: Sequence[str], skip: Collection[int], work: Work | None = work
        ) -> Iterator[tuple[int, Any]]:
            return _ask([distinct[key] for key in chosen], engine, skip, per_token, work)

        kept |= dict(zip(members, collect(members, ask, store, progress, work), strict=True))
    values = [
        _from_json(question, kept[key].answer) for key, question in zip(ids, questions, strict=True)
    ]
    _warn_of_dropped(values, engine.facts.checkpoint)
    return Answers(values, describe_origins(kept.values(), store))


def _warn_of_dropped(answers: Sequence[Any], model: str) -> None:
    """Say how many replies contain special tokens, which their texts do not show: they may have
    ended there.
    """
    numbers = [
        answer.n_dropped
        for answer in answers
        if isinstance(answer, Completion) and answer.n_dropped
    ]
    if numbers:
        LOGGER.warning(
            "%s: %d of %d replies contain special tokens (%d in all) that are left out of their"
            " texts. If one of them ends a turn, add it to eos_token_id in generation_config.json",
            model,
            len(numbers),
            len(answers),
            sum(numbers),
        )


def describe_origins(answers: Iterable[Kept], store: Store) -> dict[str, Any]:
    """Which processes made answers: one entry per list of questions that were asked together and
    process that computed them.

    More than one list means that answers of earlier requests were reused. Nothing in it depends on
    interruptions or durations.
    """
    counted = Counter(
        (kept.part.questions, json.dumps(kept.part.process, sort_keys=True)) for kept in answers
    )
    made_by = [
        {"list": questions, "answers": count, "process": json.loads(process)}
        for (questions, process), count in sorted(counted.items())
    ]
    return {"store": store.name, "made_by": made_by}


def merge_origins(several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The union of what made several sets of answers from one store."""
    counted: Counter[tuple[str, str]] = Counter()
    for origins in several:
        for entry in origins["made_by"]:
            counted[entry["list"], json.dumps(entry["process"], sort_keys=True)] += entry["answers"]
    made_by = [
        {"list": name, "answers": n, "process": json.loads(process)}
        for (name, process), n in sorted(counted.items())
    ]
    return {"store": several[0]["store"] if several else "", "made_by": made_by}


def _groups(distinct: Mapping[str, Request]) -> list[list[str]]:
    """Questions that one call of an engine can take, each group in an order that depends on the
    questions only.
    """
    groups: dict[str, list[str]] = {}
    for key, question in distinct.items():
        how = (
            json.dumps(question.decoding.described(), sort_keys=True)
            if isinstance(question, Generate)
            else ""
        )
        groups.setdefault(f"{type(question).__name__} {how}", []).append(key)
    return [sorted(groups[name]) for name in sorted(groups)]


def _ask(
    questions: Sequence[Request],
    engine: Engine,
    skip: Collection[int],
    per_token: bool,
    work: Work | None,
) -> Iterator[tuple[int, Any]]:
    """Ask the engine questions of one kind; answers as plain JSON."""
    first = questions[0]
    if isinstance(first, Loglikelihood):
        queries = [question for question in questions if isinstance(question, Loglikelihood)]
        for index, scored in engine.score(queries, skip=skip, per_token=per_token):
            yield index, _scored_to_json(scored)
        return
    if isinstance(first, Generate):
        written = engine.generate(
            [q.prompt for q in questions if isinstance(q, Generate)], first.decoding, skip=skip
        )
    else:
        asked = [question for question in questions if isinstance(question, Choose)]
        written = engine.choose([q.prompt for q in asked], [q.options for q in asked], skip=skip)
    for index, completion in written:
        if work:
            work.n_waiting = completion.n_waiting
        extras = [
            completion.thoughts,
            completion.n_thought_tokens,
            completion.n_prompt_tokens,
            *([completion.n_dropped] if completion.n_dropped else []),
        ]
        yield (
            index,
            [
                completion.text,
                completion.finish,
                completion.n_tokens,
                completion.prompt_was_cut,
                completion.margin,
                *(extras if any(extras) else ()),
            ],
        )


def tokens_of(plain: Any) -> tuple[int, int]:
    """Tokens that were read for an answer and written in it, thoughts included; 0 where that is not
    known.

    A score writes none. Where several scores share the beginning of a text, it counts with each of
    them.

    Args:
        plain: the answer as the store has it.

    >>> tokens_of(["four", "end", 2, False, None, "hm", 5, 30]), tokens_of([-1.5, 2, [], 32])
    ((30, 7), (32, 0))
    """
    if not isinstance(plain, list) or len(plain) < 3:
        return 0, 0
    if not isinstance(plain[0], str):
        return (plain[-1] if len(plain) in (4, 6) else 0), 0
    n_tokens, (_, n_thoughts, n_prompt) = plain[2], plain[5:8] or ("", 0, 0)
    return n_prompt, n_tokens + n_thoughts


#: Characters of English text per token.
CHARACTERS = 4.0


class Work:
    """How much of what is asked is done, as questions differ in what they take: in tokens that the
    model reads and writes.

    What it will read is told by numbers of characters well enough, without cutting the texts a
    second time; how much it will write by the answers so far. Prompts are read together before any
    is answered, so the share grows once all of them are.

    Args:
        questions: id -> question, all of one kind.
        facts: who is asked.
    """

    def __init__(self, questions: Mapping[str, Request], facts: EngineFacts) -> None:
        asked = list(questions.values())
        self.read = dict(zip(questions, characters_read(asked, facts), strict=True))
        self.expected = (
            float(asked[0].decoding.most_tokens) if isinstance(asked[0], Generate) else 0.0
        )
        self.n_left = self.n_done = self.n_written = self.n_waiting = 0
        self.done = self.left = self.share = 0.0

    def begin(self, ids: Collection[str]) -> None:
        """These are to be asked."""
        self.n_left, self.left = len(ids), sum(self.read[question] for question in ids)

    def finish(self, one: str, answer: Any) -> float:
        """A question is answered; returns the share of the work that is done."""
        read = self.read[one]
        self.done, self.left = self.done + read, self.left - read
        self.n_done, self.n_left = self.n_done + 1, self.n_left - 1
        if self.expected:
            self.n_written += tokens_of(answer)[1]
            self.expected = max(self.n_written / self.n_done, 1.0)
        done, left = (
            n + CHARACTERS * self.expected * count
            for n, count in ((self.done, self.n_done), (self.left, self.n_left))
        )
        if not self.n_waiting:
            self.share = done / max(done + left, 1.0)
        return self.share


def characters_read(questions: Sequence[Request], facts: EngineFacts) -> list[float]:
    """Characters that a model reads for each of some questions of one kind.

    >>> facts = EngineFacts(
    ...     "m", None, "", "transformers", "float32", {}, 99, {}, notes={"mode": "tries"}
    ... )
    >>> characters_read(
    ...     [
    ...         Loglikelihood("a cat", "sat"),
    ...         Loglikelihood("a cat", "ran"),
    ...         Loglikelihood(None, "sat"),
    ...     ],
    ...     facts,
    ... )
    [3.0, 9.0, 3.0]
    """
    scored = [question for question in questions if isinstance(question, Loglikelihood)]
    texts = [_whole(question) for question in questions]
    if facts.kind == MASKED:  # the whole text once for each token of the target
        return [
            len(text) * len(question.target) / CHARACTERS
            for text, question in zip(texts, scored, strict=True)
        ]
    if facts.kind == ENCODER_DECODER:  # a context once for all its targets
        shared = Counter(question.context for question in scored)
        return [
            len(question.target) + len(question.context or "") / shared[question.context]
            for question in scored
        ]
    keeps_beginnings = str(facts.notes.get("prefix_cache")).startswith("written") and not scored
    if facts.notes.get("mode") != "tries" and not keeps_beginnings:
        return [float(len(text)) for text in texts]
    new = [0.0] * len(texts)
    before = ""
    for i in sorted(range(len(texts)), key=texts.__getitem__):
        text = texts[i]
        common = bisect_left(
            range(1, len(text) + 1), True, key=lambda n: not before.startswith(text[:n])
        )
        new[i], before = float(len(text) - common), text
    return new


def _whole(question: Request) -> str:
    if isinstance(question, Loglikelihood):
        return question.text
    prompt = question.prompt
    return prompt if isinstance(prompt, str) else "\n".join(message.content for message in prompt)


def _scored_to_json(scored: Scored) -> list[Any]:
    plain: list[Any] = [scored.logprob, scored.n_tokens, list(scored.flags)]
    if scored.token_logprobs is not None:
        plain += [list(scored.token_logprobs), list(scored.tokens or ())]
    return [*plain, scored.n_read_tokens] if scored.n_read_tokens else plain


def _from_json(question: Request, plain: Sequence[Any]) -> Scored | Completion:
    """An answer as the engine gave it."""
    if not isinstance(question, Loglikelihood):
        return Completion(*plain)
    logprob, n_tokens, flags, *tokens = plain
    n_read = tokens.pop() if tokens and isinstance(tokens[-1], int) else 0
    values, names = map(tuple, tokens) if tokens else (None, None)
    return Scored(logprob, n_tokens, tuple(flags), values, names, n_read)


#: dtype -> nats. float16 has three more bits of precision than bfloat16.
NEAR_TIES = {"float64": 1e-3, "float32": 1e-3, "float16": 0.025, "bfloat16": 0.2}
#: tolerance where the precision is unknown (a server) or lower still (quantised weights).
UNKNOWN = 0.2


def near_tie_of(dtype: str | None) -> float:
    """The tolerance in nats for scores that were computed in a dtype.

    >>> near_tie_of("float32"), near_tie_of("bfloat16"), near_tie_of(None)
    (0.001, 0.2, 0.2)
    """
    return NEAR_TIES.get(dtype or "", UNKNOWN)


#: Seconds of work that a sudden end may cost; the environment variable changes it where ends are
#: more frequent.
SECONDS_PER_PART = 20.0
VARIABLE = "WORLDPROBE_SECONDS_PER_SHARD"
#: Answers per part at most, so that very fast engines do not hold many in memory.
ANSWERS_PER_PART = 50_000

#: Given questions that are asked together, and the places of those that are known, yields (place,
#: answer as plain JSON).
Ask = Callable[[Sequence[str], Collection[int]], Iterator[tuple[int, Any]]]


def collect(
    questions: Sequence[str],
    ask: Ask,
    store: Store,
    progress: Progress | None = None,
    work: Work | None = None,
) -> list[Kept]:
    """All answers in the order of the questions.

    What is not known is asked in lists that are noted on disk first; a list that an earlier run
    began and did not finish is finished as it was begun, so that an interrupted run gives the same
    bytes as one that was not.

    Args:
        questions: distinct ids of questions.
        ask: asks an engine.
        store: where answers are kept.
        progress: counts answers in units of its own total.
        work: how much each question is; all the same, if not given.

    Raises:
        Preempted: SIGTERM came; what was finished is on disk.
    """
    seconds = float(os.environ.get(VARIABLE) or SECONDS_PER_PART)
    stored = store.load()
    count = sum(question in stored for question in questions)
    if count == len(questions):
        LOGGER.info(
            "%s: all answers are on disk already", progress.what if progress else store.name
        )
        return [stored[question] for question in questions]
    if progress:
        progress.done = progress.already = progress.total * count // len(questions)
    if work:
        work.begin([question for question in questions if question not in stored])

    def report(question: str, answer: Any) -> None:
        nonlocal count
        count += 1
        if progress:
            now = progress.total * count // len(questions)
            progress.advance(now - progress.done, work.finish(question, answer) if work else None)

    with progress or contextlib.nullcontext(), Preemption() as preemption:
        for name, members in _lists(questions, store):
            _ask_list(name, members, ask, store, preemption, seconds, report)
    return [stored[question] for question in questions]


def _lists(questions: Sequence[str], store: Store) -> Iterator[tuple[str, Sequence[str]]]:
    """Lists to ask: those that were begun, then one of all that is in none of them."""
    yield from store.unfinished(questions)
    stored = store.load()
    rest = [question for question in questions if question not in stored]
    if rest:
        yield store.begin(rest), rest


def _ask_list(
    name: str,
    members: Sequence[str],
    ask: Ask,
    store: Store,
    preemption: Preemption,
    seconds: float,
    report: Callable[[str, Any], None],
) -> None:
    stored = store.load()
    fresh: dict[str, Any] = {}
    last = time.monotonic()
    try:
        for index, answer in ask(
            members, frozenset(k for k, question in enumerate(members) if question in stored)
        ):
            fresh[members[index]] = answer
            if len(fresh) >= ANSWERS_PER_PART or time.monotonic() - last >= seconds:
                with preemption.held():
                    store.write(name, fresh)
                    fresh = {}
                last = time.monotonic()
            report(members[index], answer)
    finally:
        with preemption.held():
            store.write(name, fresh)


#: The one condition of such a benchmark, and the metric of its scores.
CONDITION, METRIC = "items", "accuracy"


def list_items(asking: Asking, block: Mapping[str, Any]) -> pd.DataFrame:
    """The items of a benchmark.

    Raises:
        UserError: there are none, or two have one id.
    """
    items: pd.DataFrame = asking.items(block)
    if items.empty or items["unit"].duplicated().any():
        raise UserError(
            "items",
            "there are none, or two have the same unit.",
            "Correct the settings or the items.",
        )
    return items


def digest_items(items: pd.DataFrame) -> str:
    """SHA-256 of all items."""
    return hashlib.sha256(items.to_csv(index=False).encode()).hexdigest()


def score_responses(
    items: pd.DataFrame,
    asking: Asking,
    contract: type[Table],
    engine: Engine,
    store: Store,
    benchmark: str,
    model: str,
) -> tuple[pd.DataFrame, dict[str, str], dict[str, Any]]:
    """Ask a model about every item.

    Args:
        items: the benchmark's (``list_items``).
        asking: what is asked about them.
        contract: inherits ``contracts.results.Scores``.
        engine: a loaded model.
        store: the engine's answers.
        benchmark: its name.
        model: the model's name.

    Returns:
        its scores, the digest of what was asked, and facts for the provenance.
    """
    rows = list(items.itertuples(index=False))
    requests = [list(asking.requests(row)) for row in rows]
    wanted = [request for row_requests in requests for request in row_requests]
    answers = run_requests(
        wanted,
        engine,
        store,
        f"{benchmark} {asking.method}",
        what=f"Asking {model} ({benchmark})",
        total=len(items),
    )
    remaining = iter(answers.values)
    responses = [[next(remaining) for _ in row_requests] for row_requests in requests]
    values = [asking.score(row, replies) for row, replies in zip(rows, responses, strict=True)]
    logprobs = {
        column: pd.Series([replies[index].logprob for replies in responses], dtype="float64")
        for index, column in enumerate(asking.logprobs)
    }
    scores = items.assign(
        **logprobs,
        model=model,
        eval_type=asking.eval_type,
        condition=CONDITION,
        metric=METRIC,
        value=pd.Series(values, dtype="float64"),
        status=["ok" if value is not None else "not_scored" for value in values],
    )
    return (
        scores[list(contract.columns)],
        {"items": digest_items(items)},
        {"answers": answers.origins},
    )
