"""What the words of a skin mean: clauses that say something else than their name, which would make gold answers wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWERS

#: Superlatives, and other words for an end of an order, that do not look like the comparative of the clause.
_ENDS = {
    "first": "before",
    "earliest": "before",
    "last": "after",
    "latest": "after",
    "top": "above",
    "highest": "above",
    "bottom": "below",
    "lowest": "below",
    "back": "behind",
    "rear": "behind",
    "most": "more",
    "least": "less",
}
_NOT = ("not", "cannot", "no", "nobody", "nothing", "none", "never", "neither", "nowhere")

#: Words by which what comes after them is where something is not.
_ELSEWHERE = ("outside", "beyond", "before", "after", "but", "except", "other", "elsewhere", "rather", "instead")
#: What {x} has, sees or leaves in a place is in that place, not {x}.
_OTHERS_ARE = re.compile(
    r"\{x\} (?:has|have|had|leaves?|left|keeps?|kept|sees?|saw) (?:all|each|every\w*|the (?:others?|rest))\b", re.IGNORECASE
)

#: Key (group and name), what is wrong, and the fix.
Finding = tuple[tuple[str, ...], str, str]


def meaning_faults(clauses: Mapping[str, str], foreign: Mapping[str, str], listing: str | None) -> Iterator[Finding]:
    """Clauses, and a listing, whose words contradict each other.

    Args:
        clauses: clause -> words, each with its placeholders.
        foreign: the foreign relation and its converse.
        listing: how an ordered list is introduced; None where there is none.
    """
    for group, texts in (("clauses", clauses), ("foreign", foreign)):
        for name in ("before", "after"):
            text = texts.get(name, "")
            if "{y}" in text and text.index("{y}") < text.index("{x}"):
                problem = f"{text!r} names {{y}} before {{x}}, its subject, so it would say the converse."
                yield (group, name), problem, "Make {x} the subject."
    for name in ("between", "outside"):
        text = clauses.get(name, "")
        if "{m}" in text and min(map(text.index, ("{x}", "{y}"))) < text.index("{m}"):
            problem = f"{text!r} does not begin with {{m}}, the entity in the middle."
            yield ("clauses", name), problem, "Make {m} the subject, and {x} and {y} the two ends."
    yield from _swapped_middle(clauses)
    yield from _swapped_lines(clauses)
    if "before" in clauses and "after" in clauses:
        yield from _swapped_ends(clauses, listing)
        yield from _tenses(clauses)


def words_of(text: str) -> list[str]:
    """The words of a text, without placeholders, small.

    >>> words_of("{x}'s car is Faster")
    ['s', 'car', 'is', 'faster']
    """
    return re.findall(r"[a-z]+", re.sub(r"\{\w+\}", " ", text).casefold())


def contains_word(text: str, words: Iterable[str]) -> bool:
    """Whether a text contains one of these words; *not* is also in *isn't*.

    >>> contains_word("{m} isn't there", ["not"]), contains_word("Ann went to {x}", ["not"])
    (True, False)
    """
    whole = re.sub(r"n['’]t\b", " not", text)
    return bool(re.search(rf"\b(?:{'|'.join(words)})\b", whole, re.IGNORECASE))


def _swapped_middle(clauses: Mapping[str, str]) -> Iterator[Finding]:
    between, outside = clauses.get("between", ""), clauses.get("outside", "")
    if contains_word(between.partition(",")[0], (*_NOT, "outside", "beyond")):
        yield (
            ("clauses", "between"),
            f"{between!r} says that {{m}} is not in between.",
            "Say that it is; outside says the opposite.",
        )
    if contains_word(outside, ("between",)) and not contains_word(outside, (*_NOT, *_ELSEWHERE)):
        yield (
            ("clauses", "outside"),
            f"{outside!r} says that {{m}} is in between.",
            "Say that it is not; between says the opposite.",
        )


def _swapped_lines(clauses: Mapping[str, str]) -> Iterator[Finding]:
    words = {"parallel": ("parallel",), "perpendicular": ("perpendicular", "angles?")}
    for name, other in (("parallel", "perpendicular"), ("perpendicular", "parallel")):
        text = clauses.get(name, "")
        if contains_word(text, words[other]) and not contains_word(text, (*words[name], *_NOT)):
            yield ("clauses", name), f"{text!r} says that lines are {other}.", f"Say that they are {name}."


def _swapped_ends(clauses: Mapping[str, str], listing: str | None) -> Iterator[Finding]:
    before, after = set(words_of(clauses["before"])), set(words_of(clauses["after"]))
    own = {"before": _stems(before - after), "after": _stems(after - before)}
    for name, side, other in (("first", "before", "after"), ("last", "after", "before")):
        text = clauses.get(name, "")
        if _OTHERS_ARE.match(text):
            continue
        said = _stems(words_of(text.partition("{x}")[2]))  # what {x} itself is, not what others are
        if said & own[other] and not said & own[side] and not contains_word(text, (*_NOT, "least")):
            end = "last" if name == "first" else "first"
            problem = f"{text!r} uses the words of clauses.{other}, so it says that {{x}} is the {end}."
            yield ("clauses", name), problem, f"Use the words of clauses.{side}."
    order = re.fullmatch(r"[Ff]rom (.+) to (.+)", listing or "")
    if order:
        first, last = (_stems([word, _ENDS.get(word, word)]) for word in (_end(order[1]), _end(order[2])))
        is_turned = bool(first & own["after"] or last & own["before"]) and not (first & own["before"] or last & own["after"])
        if is_turned:
            problem = f"{listing!r} is the order of clauses.after; a list begins with what comes before all others."
            yield ("listing",), problem, f'Write "From {order[2]} to {order[1]}", or exchange the clauses.'


def _end(words: str) -> str:
    """The word that names an end of an order: in "most expensive" the first, in "the tallest" the last."""
    found = words_of(words)
    return next((word for word in found if word in ("most", "least")), found[-1] if found else "")


def _stems(words: set[str] | list[str]) -> set[str]:
    return {re.sub(r"(?<=..)(?:most|iest|ier|est|er)$", "", word) for word in words}


def _tenses(clauses: Mapping[str, str]) -> Iterator[Finding]:
    tense = {name: _tense(clauses[name]) for name in ("before", "after", "first", "last") if name in clauses}
    for name in ("after", "first", "last"):
        if tense.get(name) and tense["before"] and tense[name] != tense["before"]:
            problem = f"{clauses[name]!r} is in the {tense[name]}, but clauses.before is in the {tense['before']}."
            yield ("clauses", name), problem, "Use one tense."


def _tense(text: str) -> str:
    verb = re.search(r"\b(?:(is|are)|(was|were))\b", text)
    return "" if verb is None else "present" if verb[1] else "past"


#: What is wrong, and the fix.
Fault = tuple[str, str]

_ASKING = re.compile(r"(?:Is|Are|Was|Were|Does|Do|Did|Has|Have|Can|Could|Would|Will|Which|What|Who|Whose|Where|When|Why|How)\b")
_OPTION = re.compile(r"(?:\(?[123][).:]|-) ")


def question_faults(kind: str, lines: Sequence[str]) -> Iterator[tuple[int | None, Fault]]:
    """What is wrong with one wording of a type of question, each with the number of its line where it is in one.

    Args:
        kind: Infer, Consist or Compl.
        lines: its lines, with their placeholders.
    """
    for number, line in enumerate(lines):
        if fault := text_fault(line) or _line_fault(line):
            yield number, fault
    text = "\n".join(lines)
    for answer in ANSWERS[kind]:
        if not re.search(rf"(?<!\w){answer}(?!\w)", text):
            yield None, (f"{answer} is not among the answers that the text names.", f"Name {', '.join(ANSWERS[kind])}.")
    if kind == "Compl" and not _names_alternatives(text):
        problem = "{query} is not alternative 1, or {opposite} is not alternative 2."
        yield None, (problem, "Write (1) {query}, (2) {opposite}.")


def text_fault(text: str) -> Fault | None:
    """Blanks and marks that no text of a skin may have: doubled, missing next to a placeholder, invisible, or braces."""
    if text != text.strip() or "  " in text or not text.isprintable():
        return f"{text!r} has doubled or outer blanks, or a character that cannot be seen.", "Remove them."
    if "{{" in text or "}}" in text:
        return f"{text!r} contains braces that would be printed.", "Write braces around placeholders only."
    glued = re.search(r"[^\s(‘“\"'{-](?=\{)|(?<=\})[^\s).,:;?!’”\"'}-]", text)
    if glued:
        return f"{text!r} has no blank between {glued.group()!r} and a placeholder.", "Put a blank there."
    return None


def same_wordings(wordings: Mapping[str, Sequence[str]]) -> bool:
    """Whether a type of question has the same words twice."""
    texts = [" ".join(" ".join(lines).split()).casefold() for lines in wordings.values()]
    return len(set(texts)) < len(texts)


def _line_fault(line: str) -> Fault | None:
    if line[0].islower():
        return f"{line!r} begins without a capital letter.", "Begin each line with one."
    if _ASKING.match(line) and "?" not in line:
        return f"{line!r} is a question without a question mark.", "Add it."
    end = line.rstrip("’”\"')")
    if not (end.endswith((".", "?", "!", ":", ";", ",", "{description}")) or ":" in line or _OPTION.match(line)):
        return f"{line!r} has no mark at its end.", "End it with a full stop, a question mark or a colon."
    return None


def _names_alternatives(text: str) -> bool:
    """Whether the number next to {query} is 1 and that next to {opposite} is 2, before them or after them."""
    before = [re.findall(r"[123]", text.partition(name)[0])[-1:] for name in ("{query}", "{opposite}")]
    after = [re.findall(r"[123]", text.partition(name)[2])[:1] for name in ("{query}", "{opposite}")]
    return [["1"], ["2"]] in (before, after)
