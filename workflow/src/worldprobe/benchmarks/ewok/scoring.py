"""How a model is asked about items: targets' log probabilities, and prompts for Likert and Choice
(EWoK, Appendices A.3, A.4).
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pandas as pd
from pydantic import Field

from worldprobe.benchmarks.ewok.materials.language import PAPER, language_of
from worldprobe.benchmarks.ewok.study import PROMPTS, prompt_file
from worldprobe.benchmarks.ewok.vocabulary import Way, joint, normalize_text
from worldprobe.contracts import read_provenance
from worldprobe.errors import UserError, did_you_mean
from worldprobe.inference.dialogue import NO_REPLY, Exchange, OneRound, converse, first_numeral
from worldprobe.inference.requests import near_tie_of, run_requests
from worldprobe.inference.store import Store
from worldprobe.log import LOGGER
from worldprobe.models.engine import (
    FLAGS,
    NOT_FINITE,
    POSITIVE,
    SPECIAL_TOKEN,
    TRUNCATED,
    UNKNOWN_TOKEN,
    Decoding,
    Engine,
    Loglikelihood,
    Message,
    Scored,
)
from worldprobe.settings.blocks import Block, Distinct, Finding, absent, parse
from worldprobe.settings.documents import read_yaml

SLOT = r"\{(\w+)\}"
#: Two blank lines before a heading.
GAP = "\n\n\n"


class Prompt(Block):
    """How one paradigm asks."""

    SLOTS: ClassVar[tuple[str, ...]] = ()

    answers: Annotated[Distinct[Annotated[str, Field(pattern="^[0-9]+$")]], Field(min_length=2)]
    """The possible answers: numerals in quotes, such as "1" and "2"."""

    instructions: str
    """The opening."""

    trial_heading: str
    """The line above each trial example."""

    test_heading: str
    """The line above the item."""

    block: str
    """Text with slots; the model continues after it."""

    trials: Annotated[list[dict[str, str]], Field(min_length=1)]
    """Slot values and response of each trial example."""

    labels: list[str] = []
    """For people: the words beside the answers; the paper's where there are none."""

    catch: str = ""
    """For people: what asks for an {answer} to see whether they read; English where it is empty."""

    def findings(self) -> Iterator[Finding]:
        """Slots, answers and trial examples that do not fit each other."""
        for key in ("instructions", "trial_heading", "test_heading"):
            if slots := re.findall(SLOT, getattr(self, key)):
                yield (
                    (key,),
                    f"contains slots ({', '.join(slots)}), and only the block may.",
                    "Remove the braces.",
                )
        if set(re.findall(SLOT, self.block)) != set(self.SLOTS):
            yield (
                ("block",),
                f"must contain the slots {', '.join(self.SLOTS)}, and no other.",
                "Fix the block.",
            )
        if self.labels and len(self.labels) != len(self.answers):
            yield ("labels",), "are not as many as the answers.", 'Write one each, "" for none.'
        if self.catch and set(re.findall(SLOT, self.catch)) != {"answer"}:
            yield ("catch",), "must contain the slot answer, and no other.", "Fix it."
        for one, other in itertools.permutations(self.answers, 2):
            if other.startswith(one):
                yield (
                    ("answers",),
                    f'"{one}" is the beginning of "{other}".',
                    "Choose answers that do not begin alike.",
                )
        for number, trial in enumerate(self.trials):
            if set(trial) != {*self.SLOTS, "response"}:
                yield (
                    ("trials", number),
                    f"must have the keys {', '.join(self.SLOTS)} and response.",
                    "Fix the trial.",
                )
            elif trial["response"] not in self.answers:
                yield (
                    ("trials", number, "response"),
                    "is not one of the answers.",
                    "Fix the response.",
                )

    def text(self, slots: Mapping[str, str], shots: str) -> str:
        """The whole prompt, ending with a newline.

        Args:
            slots: the item's texts.
            shots: zero or two (the trials, however many there are).
        """
        parts = [self.instructions]
        if shots == "two":
            parts += [
                f"{self.trial_heading}\n\n{_fill(self.block, trial)}\n{trial['response']}"
                for trial in self.trials
            ]
        parts.append(f"{self.test_heading}\n\n{_fill(self.block, slots)}\n")
        return GAP.join(parts)


class LikertPrompt(Prompt):
    """How ratings of a target after a context are asked for."""

    SLOTS = ("context", "target")


class ChoicePrompt(Prompt):
    """How a choice between two contexts is asked for."""

    SLOTS = ("context1", "context2", "target")

    catch_context: str = ""
    """What stands in the place of both contexts where ``catch`` is asked."""

    def findings(self) -> Iterator[Finding]:
        """Answers that are not the numbers of the contexts, besides."""
        yield from super().findings()
        if sorted(self.answers) != ["1", "2"]:
            yield (
                ("answers",),
                'must be "1" and "2", the numbers of the two contexts.',
                'Write ["1", "2"].',
            )


class Prompts(Block):
    """A set of prompts: a file of resources/prompts, or a user's own."""

    likert: LikertPrompt = absent()
    choice: ChoicePrompt = absent()


def _fill(block: str, slots: Mapping[str, str]) -> str:
    """Put texts into slots, each once; braces inside a text stay as they are."""
    return re.sub(SLOT, lambda match: slots[match[1]], block)


def load_prompts(name: str = PAPER) -> dict[str, Prompt]:
    """Paradigm -> prompt, of a set in resources/prompts or of a file.

    Raises:
        UserError: no such set, or something is missing, unknown or of the wrong type in it.
    """
    path = prompt_file(name)
    names = sorted(p.stem for p in PROMPTS.glob("*.yaml"))
    if path.parent == PROMPTS and path.stem not in names:
        problem = "there is no such set of prompts" + did_you_mean(name, names)
        raise UserError(
            f"prompts {name}", problem, f"Choose one of {', '.join(names)}, or give a YAML file."
        )
    source = read_yaml(path)
    prompts = parse(Prompts, source.document, [source])
    return {paradigm: prompt for paradigm, prompt in prompts if prompt is not None}


def prompts_of(items: Path | str, name: str) -> str:
    """The set of prompts that items are asked by: where the paper's are named, those of the items'
    language.

    Raises:
        UserError: the language states no prompts.
    """
    return language_of(read_provenance(Path(items)).details).prompt_set(name)


ITEM_COLUMNS = ["item_id", "context1", "context2", "target1", "target2"]
#: (target, context) of an item's questions; context 0 is none, whose two only the measure ``pmi``
#: reads.
QUESTIONS = ((1, 1), (1, 2), (2, 1), (2, 2))
WITHOUT_CONTEXT = ((1, 0), (2, 0))


def check_texts(items: pd.DataFrame, where: Path | str) -> None:
    """Every item needs both contexts and both targets: a missing context is not the question
    without a context.

    Raises:
        UserError: no items, or a text is missing or empty.
    """
    if items.empty:
        raise UserError(where, "contains no items.", "Build the items again.")
    for name in ITEM_COLUMNS[1:]:
        is_absent = items[name].isna() | (items[name].astype("str").str.strip() == "")
        if is_absent.any():
            raise UserError(
                where,
                f"{int(is_absent.sum())} items have no {name}, for example"
                f" {items.item_id[is_absent].iloc[0]}.",
                "Build the items again: each needs two contexts and two targets.",
            )
    n_odd = sum(
        text != normalize_text(text) for name in ITEM_COLUMNS[1:] for text in items[name].unique()
    )
    if n_odd:
        LOGGER.warning(
            "%s: %d texts have spaces or line breaks around them, spaces of fixed width, unseen"
            " characters, or letters in two characters (NFD), and are asked so: `worldprobe items"
            " import` normalizes texts",
            where,
            n_odd,
        )


def item_queries(
    items: pd.DataFrame, asked: Sequence[tuple[int, int]] = QUESTIONS
) -> tuple[list[Loglikelihood], list[int]]:
    """The distinct queries of all items, sorted, and for each question of each item (target,
    context) the query's index.
    """
    texts = {name: items[name].tolist() for name in ITEM_COLUMNS[1:]}
    wanted = [
        Loglikelihood(
            texts[f"context{context}"][row] if context else "",
            texts[f"target{target}"][row],
            joint(texts["context1"][row]),
        )
        for row in range(len(items))
        for target, context in asked
    ]
    distinct = sorted(set(wanted), key=lambda q: (q.context or "", q.target))
    index = {query: i for i, query in enumerate(distinct)}
    return distinct, [index[query] for query in wanted]


def score_logprobs(
    items: pd.DataFrame,
    engine: Engine,
    store: Store,
    method: int = 1,
    model: str = "",
    per_token: bool = False,
    without_context: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame | None, dict[str, Any]]:
    """Score every item.

    Args:
        items: columns ``ITEM_COLUMNS``, one row per item.
        engine: a loaded model.
        store: the engine's answers.
        method: version of the computation.
        model: the model's name, for the progress lines.
        per_token: also return each token's log probability.
        without_context: also score both targets without a context.

    Returns:
        target scores (contract TargetScores), token scores (contract TokenScores) or None, and
        facts for the provenance.
    """
    asked = sorted((*QUESTIONS, *WITHOUT_CONTEXT)) if without_context else QUESTIONS
    queries, wanted = item_queries(items, asked)
    LOGGER.info("%d items: %d distinct questions", len(items), len(queries))
    what = f"Scoring {model or engine.facts.checkpoint} (LogProbs)"
    answers = run_requests(
        queries, engine, store, f"ewok logprobs {method}", per_token, what, len(items)
    )
    scored: list[Scored] = [answers.values[i] for i in wanted]
    frame = target_scores(items, scored, asked)
    return (
        frame,
        _token_frame(frame, scored) if per_token else None,
        {
            **_count_flags(scored, len(queries)),
            "answers": answers.origins,
        },
    )


def target_scores(
    items: pd.DataFrame, scored: Sequence[Scored], asked: Sequence[tuple[int, int]] = QUESTIONS
) -> pd.DataFrame:
    """Answers as a table (contract TargetScores).

    Args:
        items: a row per item, with item_id.
        scored: the answers to each item's questions, item by item.
        asked: (target, context) of these.
    """
    ids = [item_id for item_id in items["item_id"] for _ in asked]
    return pd.DataFrame(
        {
            "item_id": pd.Series(ids, dtype="str"),
            "target": [target for target, _ in asked] * len(items),
            "context": [context for _, context in asked] * len(items),
            "logprob": pd.Series([s.logprob for s in scored], dtype="float64"),
            "n_tokens": pd.Series([s.n_tokens for s in scored], dtype="int64"),
            "flags": pd.Series([",".join(s.flags) for s in scored], dtype="str"),
        }
    )


def _count_flags(scored: Sequence[Scored], distinct: int) -> dict[str, Any]:
    """How many rows carry each flag; those that no study should contain are warned of."""
    flags = Counter(flag for s in scored for flag in s.flags)
    for flag in (TRUNCATED, NOT_FINITE, UNKNOWN_TOKEN, SPECIAL_TOKEN, POSITIVE):
        if flags[flag]:
            LOGGER.warning("%d of %d scores are flagged %s", flags[flag], len(scored), flag)
    return {"distinct_queries": distinct, "flags": {flag: flags[flag] for flag in FLAGS}}


def _token_frame(frame: pd.DataFrame, scored: Sequence[Scored]) -> pd.DataFrame:
    """One row per scored token of each row of ``frame``."""
    lengths = [len(s.token_logprobs or ()) for s in scored]
    repeated = frame.loc[frame.index.repeat(lengths), ["item_id", "target", "context"]].reset_index(
        drop=True
    )
    repeated["position"] = pd.Series([p for n in lengths for p in range(n)], dtype="int64")
    repeated["token"] = pd.Series([t for s in scored for t in s.tokens or ()], dtype="str")
    repeated["logprob"] = pd.Series(
        [v for s in scored for v in s.token_logprobs or ()], dtype="float64"
    )
    return repeated


#: Free answers: the paper's limit, and where they end in text that the model continues; a message
#: of a chat ends by itself.
FREE = Decoding(max_new_tokens=20, stops=("\n\n",))
#: (presentation, target, context) of the four Likert questions per item.
LIKERT = (("t1c1", 1, 1), ("t1c2", 1, 2), ("t2c1", 2, 1), ("t2c2", 2, 2))


def uses_chat(mode: str, engine: Engine) -> bool:
    """Is the model asked through its chat template? ``auto``: where it has one; ``never`` and
    ``always`` as they say.
    """
    return mode == "always" or (mode == "auto" and engine.facts.has_chat)


def presentations(
    items: pd.DataFrame, paradigm: str, swap: bool = False
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """(item_id, presentation, slots) of every prompt; ``swap`` also asks Choice with the contexts
    in the other order.
    """
    columns = (items[name].tolist() for name in ITEM_COLUMNS)
    for item, *texts in zip(*columns, strict=True):
        contexts, targets = texts[:2], texts[2:]
        if paradigm == "likert":
            for name, target, context in LIKERT:
                yield item, name, {"context": contexts[context - 1], "target": targets[target - 1]}
            continue
        for target in (1, 2):
            for name, order in ((f"t{target}", contexts), (f"t{target}s", contexts[::-1]))[
                : 2 if swap else 1
            ]:
                yield (
                    item,
                    name,
                    {"context1": order[0], "context2": order[1], "target": targets[target - 1]},
                )


def ask(
    items: pd.DataFrame,
    engine: Engine,
    way: Way,
    prompt: Prompt,
    store: Store,
    method: int = 1,
    model: str = "",
    swap: bool = False,
    chat: bool = False,
    thoughts: int = 0,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Ask about every item: a dialogue of one round for each presentation.

    Args:
        items: columns item_id, context1, context2, target1, target2.
        engine: a loaded model.
        way: which paradigm, whether answers are free, and how many examples.
        prompt: the paradigm's texts.
        store: the engine's answers.
        method: version of the computation.
        model: the model's name, for the progress lines.
        swap: ask Choice in both orders of the contexts.
        chat: ask through the model's chat template, as one user message.
        thoughts: tokens of thoughts at most before a free answer, in addition to its own.

    Returns:
        responses (contract Responses), and facts for the provenance.
    """
    read = first_numeral(prompt.answers)
    free = replace(FREE, stops=() if chat else FREE.stops, thoughts=thoughts)
    dialogue = (
        OneRound(read, free)
        if way.generation == "free"
        else OneRound(read, options=tuple(prompt.answers))
    )
    asked = [
        (item, name, prompt.text(slots, way.shots))
        for item, name, slots in presentations(items, way.paradigm, swap)
    ]
    openings = [((Message("user", text),) if chat else text, dialogue) for _, _, text in asked]
    what = f"Asking {model or engine.facts.checkpoint} ({way.name})"
    exchanges, origins = converse(
        openings, engine, store, f"ewok prompting {method}", what, len(items)
    )
    frame = _frame(asked, exchanges, way.name)
    counts = _counts(
        frame,
        exchanges,
        near_tie_of(engine.facts.dtype) if way.generation == "constrained" else None,
    )
    if thoughts and way.generation == "free":
        counts["thoughts"] = {"limit": thoughts, **counts.get("thoughts", {})}
    return frame, {
        **counts,
        "distinct_prompts": len({text for _, _, text in asked}),
        "answers": origins,
    }


def _frame(
    asked: Sequence[tuple[str, str, str]], exchanges: Sequence[Exchange], eval_type: str
) -> pd.DataFrame:
    readings = [exchange.reading for exchange in exchanges]
    values = [
        float(reading.value) if reading and reading.value is not None else None
        for reading in readings
    ]
    return pd.DataFrame(
        {
            "item_id": pd.Series([item for item, _, _ in asked], dtype="str"),
            "eval_type": pd.Series([eval_type] * len(asked), dtype="str"),
            "presentation": pd.Series([name for _, name, _ in asked], dtype="str"),
            "prompt_digest": pd.Series([exchange.sent[0] for exchange in exchanges], dtype="str"),
            "text": pd.Series([exchange.replies[-1].text for exchange in exchanges], dtype="str"),
            "value": pd.Series(values, dtype="float64"),
            "status": pd.Series(
                [reading.status if reading else "failed" for reading in readings], dtype="str"
            ),
        }
    )


def _counts(
    frame: pd.DataFrame, exchanges: Sequence[Exchange], tolerance: float | None
) -> dict[str, Any]:
    """How often each status, value and finish occurs, and near ties of constrained answers within
    ``tolerance`` nats.
    """
    replies = [exchange.replies[-1] for exchange in exchanges]
    values = Counter(frame["value"].dropna())
    counts: dict[str, Any] = {
        "status": dict(sorted(Counter(frame["status"]).items())),
        "values": {f"{value:g}": count for value, count in sorted(values.items())},
        "finish": dict(sorted(Counter(reply.finish for reply in replies).items())),
    }
    if any(reply.thoughts for reply in replies):
        unfinished = sum(bool(reply.thoughts) and not reply.text for reply in replies)
        counts["thoughts"] = {
            "tokens": sum(reply.n_thought_tokens for reply in replies),
            "unfinished": unfinished,
        }
        if unfinished:
            problem = (
                "%d of %d replies are thoughts only, so they have no answer: raise their limit of"
                " tokens (thoughts)"
            )
            LOGGER.warning(problem, unfinished, len(replies))
    none = {status: n for status, n in counts["status"].items() if status in NO_REPLY.values()}
    if none:
        LOGGER.warning(
            "%d of %d prompts have no reply and count as unread: %s",
            sum(none.values()),
            len(replies),
            none,
        )
    margins = [reply.margin for reply in replies if reply.margin is not None]
    if tolerance is not None and margins:
        counts["near_ties"] = {
            "within_nats": tolerance,
            "prompts": sum(margin < tolerance for margin in margins),
        }
    return counts
