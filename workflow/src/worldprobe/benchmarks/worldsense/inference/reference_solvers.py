"""Rules that answer without a model: what a score can be compared with."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from worldprobe.benchmarks.worldsense.inference.prompts import (
    PromptSet,
    known_sets,
    load_prompt_set,
)
from worldprobe.benchmarks.worldsense.known_rules import known_rules
from worldprobe.benchmarks.worldsense.problems import worlds
from worldprobe.benchmarks.worldsense.skins.rendering import read_planar_text
from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, Skin, read_all_wordings
from worldprobe.benchmarks.worldsense.skins.vocabulary import (
    ANSWERS,
    problem_type,
)
from worldprobe.errors import UserError, did_you_mean
from worldprobe.extensions import load
from worldprobe.models.engine import (
    Completion,
    Decoding,
    EngineFacts,
    Loglikelihood,
    Prompt,
    Scored,
)
from worldprobe.provenance import versions

if TYPE_CHECKING:
    import pandas as pd


class Statement(NamedTuple):
    """The statement and the question of a trial.

    Attributes:
        problem_type: ``Infer``, ``Consist`` or ``Compl``.
        wording: the question's wording.
        size: how many entities the situation announces.
        names: by index, the names of the entities that the description mentions.
        description: its relations, in the order of the text.
        query: what is asked; in a completeness problem what option 1 states, None in a consistency
            problem.
    """

    problem_type: str
    wording: str
    size: int
    names: tuple[str, ...]
    description: worlds.Description
    query: worlds.Relation | None

    def answer(self) -> str | None:
        """The exact solver's answer; None where a TRUE/FALSE question is undecided, or a question
        is about no world.
        """
        return worlds.gold_answer(
            self.problem_type, self.size, self.description, self.query or self.description[0]
        )


#: A list in a text.
LIST = re.compile(r"\n\s*- ")


def count_mentions(statement: Statement, text: str) -> str:
    """``counting``."""
    if statement.problem_type == "Consist":
        stated = statement.description
        return "IMPOSSIBLE" if contradict(stated) or _closes_a_circle(stated) else "POSSIBLE"
    query = statement.query
    assert query is not None
    if statement.problem_type == "Compl":
        return _decided(statement, query)
    if LIST.search(text):
        return answer_of_list(statement, query)
    mentions, positions = _mentions(statement.description), _places(statement.description)
    if query.kind != "between":
        first, *others = query.entities
        if query.kind in ("first", "last"):
            return truth(positions[first] < 0 if query.kind == "first" else positions[first] > 0)
        return truth(positions[first] <= positions[others[0]])
    middle, *ends = (mentions[entity] for entity in query.entities)
    return truth(middle > max(ends) if middle != max(ends) else middle > min(ends))


def at_first(statement: Statement) -> Statement:
    """The world in motion as a rule other than the solver sees it: without the changes, so that the
    state at first is the state.
    """
    still = (
        relation
        for relation in statement.description
        if relation.kind not in worlds.UPDATES and relation.kind not in worlds.MOMENTS
    )
    return statement._replace(description=tuple(still))


def truth(is_true: bool) -> str:
    """TRUE or FALSE."""
    return "TRUE" if is_true else "FALSE"


def answer_of_list(statement: Statement, query: worlds.Relation) -> str:
    """A list names the entities in order, which is how the statement numbers them."""
    return truth(worlds.holds(query, range(statement.size)))


def _mentions(description: worlds.Description) -> Counter[int]:
    return Counter(entity for clause in description for entity in clause.entities)


def _places(description: worlds.Description) -> Counter[int]:
    """How much oftener each entity is the later one of a pair than the earlier one."""
    counts: Counter[int] = Counter()
    for clause in description:
        if clause.kind == "before":
            counts[clause.entities[0]] -= 1
            counts[clause.entities[1]] += 1
    return counts


def contradict(description: worlds.Description) -> bool:
    """Whether two clauses about the same entities differ."""
    relations: dict[frozenset[int], worlds.Relation] = {}
    return any(
        relations.setdefault(frozenset(clause.entities), worlds.normalise(clause))
        != worlds.normalise(clause)
        for clause in description
    )


def _ends(description: worlds.Description) -> tuple[set[int], set[int]]:
    """The entities that are never the later one of a pair, and those that are never the earlier
    one.
    """
    earlier, later = (
        {clause.entities[side] for clause in description if clause.kind == "before"}
        for side in (0, 1)
    )
    return earlier - later, later - earlier


def _closes_a_circle(description: worlds.Description) -> bool:
    """Whether pairs alone look like a circle: nobody is first or last of all, or one is and is
    mentioned once among equals.
    """
    if any(clause.kind != "before" for clause in description):
        return False
    firsts, lasts = _ends(description)
    if not firsts or not lasts:
        return True
    mentions, positions = _mentions(description), _places(description)
    is_single = len(firsts) == len(lasts) == 1 and all(
        mentions[entity] == 1 for entity in firsts | lasts
    )
    return is_single and max(positions.values()) - min(positions.values()) <= 2


def _decided(statement: Statement, query: worlds.Relation) -> str:
    """1 where all that is asked about is described in a single order, or stands together in
    clauses; else 3.
    """
    if query.kind == "foreign" or worlds.UNKNOWN in query.entities:
        return "3"
    firsts, lasts = _ends(statement.description)
    if len(firsts) == len(lasts) == 1:
        return "1"
    near = {frozenset(pair) for clause in statement.description for pair in _pairs(clause)}
    asked = [*_pairs(query), query.entities[1:]] if query.kind == "between" else [query.entities]
    return "1" if sum(frozenset(pair) in near for pair in asked) >= min(2, len(asked)) else "3"


def _pairs(clause: worlds.Relation) -> Iterable[tuple[int, ...]]:
    first, *others = clause.entities
    return [(first, other) for other in others]


#: What a rule says of a text that it cannot read; it is no answer, so it is counted as invalid.
UNREADABLE = "I cannot read this."
#: Log probability of the answer that a rule gives, and of each other one, in nats.
LIKELY, UNLIKELY = math.log(0.98), math.log(0.01)
#: Bumped when a rule answers the same text otherwise.
METHOD = 3


def _coin(*words: object) -> int:
    """A number from 0 to 2**32 - 1 that depends on the words only."""
    return int.from_bytes(hashlib.sha256(repr(words).encode()).digest()[:4], "big")


def answer_exactly(statement: Statement, text: str) -> str:
    """``solver``: the exact answer."""
    return statement.answer() or UNREADABLE


def draw(statement: Statement, text: str) -> str:
    """``random``: KNOWN and UNKNOWN are drawn alike, so that the bias is 0; of a pair each with a
    half.
    """
    number = _coin("random", text)
    if statement.problem_type == "Compl":
        return ("1", "3", "2", "3")[number % 4]
    return ANSWERS[statement.problem_type][number % 2]


def affirm(statement: Statement, text: str) -> str:
    """``positive``: TRUE, POSSIBLE or 1."""
    return ANSWERS[statement.problem_type][0]


def believe_mention(statement: Statement, text: str) -> str:
    """``mention``: the world is the order of mention, which is the order in which the statement
    numbers its entities.
    """
    order = range(statement.size)
    if statement.problem_type == "Consist":
        return (
            "POSSIBLE"
            if all(worlds.holds(relation, order) for relation in statement.description)
            else "IMPOSSIBLE"
        )
    return _of_query(statement, lambda query: worlds.holds(query, order))


def read_query(statement: Statement, text: str) -> str:
    """``query``: whether the query is true depends on its own words: a number drawn from the names
    and the relation that it mentions last.
    """
    query = statement.query or statement.description[-1]
    named = [
        statement.names[entity] if entity < len(statement.names) else "?"
        for entity in query.entities
    ]
    if query.kind == "between":  # the two others may be said in either order
        named[-2:] = sorted(named[-2:], key=lambda name: _named_at(name, text)[-1])
    is_true = bool(_coin("query", query.kind, named) % 2)
    if statement.problem_type == "Consist":
        return "POSSIBLE" if is_true else "IMPOSSIBLE"
    return _of_query(statement, lambda _: is_true)


def _of_query(statement: Statement, judge: Callable[[worlds.Relation], bool]) -> str:
    """TRUE or FALSE, 1 or 2; 3 for what the description says nothing of."""
    query = statement.query
    assert query is not None
    if statement.problem_type == "Compl" and (
        query.kind == "foreign" or worlds.UNKNOWN in query.entities
    ):
        return "3"
    return ANSWERS[statement.problem_type][0 if judge(query) else 1]


class _Frame(NamedTuple):
    """How a prompt set wraps the texts of one kind of problem, and readers of the texts that it
    makes.
    """

    prompts: PromptSet
    kind: str
    pattern: re.Pattern[str]


class RuleEngine:
    """A rule as an engine: it answers in one word, and gives that answer nearly all probability.

    Args:
        name: which rule.
        skins: the words of the texts.
    """

    def __init__(self, name: str, skins: Sequence[Skin]) -> None:
        rule = known_rules()[name]
        self.rule = load(rule.function)(skins) if rule.learns else load(rule.function)
        self.facts = EngineFacts(
            checkpoint=name,
            revision=None,
            checkpoint_digest=_digest(name, skins),
            engine="rule",
            dtype="none",
            bos={},
            max_length=1_000_000,
            packages=versions([]),
            has_chat=True,
            notes={"mode": "rule", "device": "none"},
        )
        self._sets = [load_prompt_set(set_name) for set_name in known_sets()]
        self._frames = [_frame(prompt_set, kind) for prompt_set in self._sets for kind in ANSWERS]
        #: Text and what rewrote it -> what it states.
        self._known: dict[tuple[str, str], Statement] = {}

    def know(self, trials: pd.DataFrame) -> None:
        """Take what trials state from their abstract relations, before they are asked."""
        for problem, *facts in trials[list(STATED)].itertuples(index=False, name=None):
            kind, text = problem_type(problem), facts[-1]
            statement = read_statement(problem, *facts)
            for prompts in self._sets:
                body = prompts.model_copy(update={"question": "{text}"}).body(text, kind)
                if body is not None:
                    self._known[body.strip(), _rewriting(prompts)] = statement

    def score(
        self,
        queries: Sequence[Loglikelihood],
        *,
        skip: Collection[int] = (),
        per_token: bool = False,
    ) -> Iterator[tuple[int, Scored]]:
        """See ``Engine.score``: a target's probability as an answer to its context."""
        answers: dict[str, str] = {}
        for i, query in enumerate(queries):
            if i in skip:
                continue
            context = query.context or ""
            if context not in answers:
                answers[context] = self._answer(context)
            value = LIKELY if query.target == answers[context] else UNLIKELY
            yield (
                i,
                Scored(
                    value,
                    1,
                    (),
                    (value,) if per_token else None,
                    (query.target,) if per_token else None,
                ),
            )

    def generate(
        self, prompts: Sequence[Prompt], decoding: Decoding, *, skip: Collection[int] = ()
    ) -> Iterator[tuple[int, Completion]]:
        """See ``Engine.generate``."""
        for i, prompt in enumerate(prompts):
            if i not in skip:
                yield i, Completion(self._answer(_first_question(prompt)), "end", 1)

    def choose(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[Sequence[str]],
        *,
        skip: Collection[int] = (),
    ) -> Iterator[tuple[int, Completion]]:
        """See ``Engine.choose``; a text that cannot be read has no choice, so the first option is
        taken.
        """
        for i, prompt in enumerate(prompts):
            if i not in skip:
                answer = self._answer(_first_question(prompt))
                yield i, Completion(answer if answer in options[i] else options[i][0], "end", 1)

    def rendered(self, prompt: Prompt, chooses: bool = False) -> str:
        """See ``Engine.rendered``."""
        return (
            prompt
            if isinstance(prompt, str)
            else "\n".join(f"<{message.role}> {message.content}" for message in prompt)
        )

    def _answer(self, prompt: str) -> str:
        for prompts, kind, pattern in self._frames:
            match = pattern.fullmatch(prompt.rstrip())
            key = (match["text"].strip(), _rewriting(prompts)) if match else None
            statement = self._known.get(key) if key else None
            if match and statement is not None and statement.problem_type == kind:
                seen = statement if self.rule is answer_exactly else at_first(statement)
                return prompts.written(kind, self.rule(seen, match["text"]))
        return UNREADABLE


def _rewriting(prompts: PromptSet) -> str:
    """The name of a set that rewrites texts; what these say may stand under another answer."""
    return prompts.name if prompts.rewrite else ""


def _digest(name: str, skins: Sequence[Skin]) -> str:
    """Digest of a rule and of all that it reads texts by: with other skins or prompt sets it may
    read what it could not.
    """
    parts = [repr(skin) for skin in sorted(skins, key=lambda skin: skin.name)]
    parts += [f"{set_name} {load_prompt_set(set_name).digest}" for set_name in known_sets()]
    return hashlib.sha256("\n".join([f"rule {name} {METHOD}", *parts]).encode()).hexdigest()


#: Columns of a trial that say what it states.
STATED = ("problem", "size", "wording", "description", "query", "entities", "text")


def read_statement(
    problem: str, size: int, wording: str, description: str, query: str, names: str, text: str
) -> Statement:
    """The statement of a trial, its entities numbered in the order in which the text names them."""
    kind, entities = problem_type(problem), json.loads(names)
    order = sorted(range(len(entities)), key=lambda entity: _named_at(entities[entity], text)[0])
    number = [order.index(entity) for entity in range(len(entities))]
    relations, last = (
        read_planar_text(text, entities)
        if problem == "Infer.parallel"
        else (worlds.read_description(description), worlds.read_relation(query))
    )
    stated = tuple(worlds.rename(relation, number) for relation in relations)
    asked = None if kind == "Consist" else worlds.rename(last, number)
    return Statement(
        kind, wording, size, tuple(entities[entity] for entity in order), stated, asked
    )


def _named_at(name: str, text: str) -> list[int]:
    """Where a text mentions an entity; behind it, where it does not."""
    positions = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    return positions or [len(text)]


def _first_question(prompt: Prompt) -> str:
    """The first question of a prompt. A rule gives the same answer to a second one."""
    if isinstance(prompt, str):
        return prompt
    return next(message.content for message in prompt if message.role == "user")


def _frame(prompts: PromptSet, kind: str) -> _Frame:
    mark = "\N{OBJECT REPLACEMENT CHARACTER}"
    body = prompts.model_copy(update={"rewrite": [], "examples": None}).body(mark, kind)
    before, _, after = body.partition(mark)  # type: ignore[union-attr]
    begin = ""
    if prompts.examples is not None:
        begin = f"{re.escape(prompts.examples.opening)}.*{re.escape(prompts.examples.heading)}\n"
    after = after.rstrip() + prompts.ending
    return _Frame(
        prompts,
        kind,
        re.compile(f"{begin}{re.escape(before)}(?P<text>.+?){re.escape(after)}", re.DOTALL),
    )


def open_engine(name: str, skin_folder: Path | None = None) -> RuleEngine:
    """The rule of a name, for texts in the words of a folder's skins; those of the repository, if
    none is given.

    Raises:
        UserError: there is no such rule.
    """
    if name not in (names := known_rules()):
        raise UserError(
            f"--checkpoint {name}",
            f"is not a rule{did_you_mean(name, names)}",
            f"Choose one of {', '.join(names)}.",
        )
    return RuleEngine(name, read_all_wordings(skin_folder or FOLDER))
