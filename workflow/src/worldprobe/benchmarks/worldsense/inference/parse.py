"""The answer of a reply: by the paper's rule (its last word), and by a reader of what chat models
write, which flags what is not sure.

The reader looks, in this order (``_STEPS``), for an answer that is set apart (a box, a tag, JSON),
for words that announce the answer, for an answer with which the reply begins, and for what its last
sentences claim. A negated answer of two is the other one. What is supposed, quoted as a choice
("whether TRUE or FALSE") or rejected ("rather than FALSE") is no claim, nor is a list of the
options, unless it says which are wrong. Several claims without a reason to prefer one are
ambiguous, as is a number with the words of another option ("1. It is impossible to decide");
declining is a refusal, and so is "impossible to decide" where that is no alternative.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from worldprobe.inference.dialogue import Reader, Reading, last_word

#: Names of the rules, as a study's settings have them.
PAPER, EXPLICIT = "last_word", "explicit"
RULES = (EXPLICIT, PAPER)

#: In the place of an answer: several are given.
SEVERAL = "several"
_OTHER = {"TRUE": "FALSE", "FALSE": "TRUE", "POSSIBLE": "IMPOSSIBLE", "IMPOSSIBLE": "POSSIBLE"}
_NUMBERS = {"one": "1", "two": "2", "three": "3", "first": "1", "second": "2", "third": "3"}
#: What options are called.
_OPTION = r"(?:option|alternative|answer|choice|number|possibility|statement|response)"
_SPECIAL = re.compile(r"<\|[^<>|]*\|>|</?s>|<eos>|<end_of_turn>")
_LATEX = re.compile(
    r"\\(?:text|textbf|textit|mathrm|mathbf|mathsf|texttt|textsf|mbox)\s*\{([^{}]*)\}"
)
#: Places that set an answer apart, each with its content.
_APART = re.compile(
    r"\\boxed\s*\{(?P<box>[^{}]*)\}|<(?P<tag>(?:final_?)?(?:answer|response|choice))>(?P<inside>.*?)</(?P=tag)>"
    r"|\[\[(?P<double>[^\[\]]*)\]\]|\[answer\](?P<square>.*?)\[/answer\]"
    r"|[\"'](?:final_?)?(?:answer|response|choice)[\"']\s*:\s*(?P<json>\"[^\"]*\"|'[^']*'|[\w()]+)",
    re.IGNORECASE | re.DOTALL,
)
#: Words that announce the answer, up to where it stands.
_ANNOUNCEMENT = re.compile(
    r"(?:\b(?:final|correct|right|my|the)\s+(?:\w+\s+)?)?\b(?:answer|response|verdict|conclusion|solution|choice|chosen|alternative|option)s?"
    r"(?:\s+(?:is|would be|must be|has to be|should be))?\s*(?::|=|->|→|\bis\b)\s*"
    r"|\bfinal (?:answer|response)\b\s*\n+\s*|(?:^|\n)\s*A\s*:\s*|\bleaves\s+"
    r"|\bthe (?:final |correct |right )?(?:answer|response|alternative|option|choice) (?:is|must"
    r" be|has to be|would be)\s+",
    re.IGNORECASE,
)
_NOT = (
    r"(?:not|never|cannot|can't|isn't|aren't|wasn't|doesn't|don't|couldn't|won't|no|nor|neither"
    r"|nothing|none)"
)
_NEGATED = re.compile(
    rf"\b{_NOT}(?:\s+(?:a|an|the|be|really|actually|necessarily|at|all|indeed|logically|always|possibly|in|fact|any|quite"
    r"|entirely|completely|wholly|fully|totally|strictly|exactly|altogether))*\s*$"
    r"|\b(?:nothing|none)\b[^.;]*$|\bnot the case that\b.*$|\bno way\b.*$|\bcannot be\s*$|\bun$",
    re.IGNORECASE,
)
#: What makes a mention no claim: before it in its clause, or anywhere in its sentence.
_SUPPOSED = re.compile(
    r"\b(?:would|were|might|may|could|whether|assum\w+|suppos\w+|thought|think"
    r" that|consider\w*|seem\w*|sounds?"
    r"|look(?:s|ed)?|was going to|otherwise|wrong|rather than|instead of|as opposed to|between|over"
    r"|options|alternatives|can't say|cannot"
    r" say)\b|\b(?:partly|partially|half|almost|nearly|mostly)\s*$",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"\bI(?: would|'d) (?:say|go|choose|pick|answer|opt|guess|conclude)\b", re.IGNORECASE
)
_CONDITION = re.compile(r"\b(?:if|unless|suppose|assuming|assume)\b", re.IGNORECASE)
_CORRECTION = re.compile(
    r"\b(?:wait|sorry|actually|correction|on reflection|let me (?:re|check)|no,|hmm)", re.IGNORECASE
)
_CONCLUDES = re.compile(
    r"\b(?:so|hence|thus|therefore|conclu\w+|final\w*|in"
    r" fact|however|but|accordingly|consequently|in conclusion)\b|→|->",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"\b(?:can(?:no|')t|can not|unable to|not able to|won't|will not) (?:\w+ )?"
    r"(?:answer|assist|help|choose|say|decide|determine|tell|judge)"
    r"|\b(?:refuse|decline|rather not|prefer not)d?(?: to)? (?:\w+"
    r" )?(?:answer|choose|pick|decide|say|guess|judge)\b"
    r"|\b(?:don't|do not|cannot|can't) know\b|\bdo not have opinions\b"
    r"|\b(?:neither true nor false|not true or false)\b|^\W*unknown\W*$",
    re.IGNORECASE,
)
_UNDECIDED = re.compile(
    r"\b(?:impossible|not possible|unable|not able|no way|not enough information|insufficient"
    r" information)"
    r"(?: \w+)? to (?:decide|say|tell|determine|know|conclude|judge)\b"
    r"|\b(?:can(?:no|')t|can not|could not|couldn't) (?:be )?(?:\w+ly )?(?:be"
    r" )?(?:decide|determine|tell|know|say|conclude)\w*"
    r"|\b(?:not enough|insufficient) information\b|\bundecidable\b|\bundetermined\b|\bcannot be"
    r" known\b",
    re.IGNORECASE,
)
_REJECTED = re.compile(
    r"(?:\s*(?:,|and|or|nor)\s*#?[123])*\s*(?:is|are|was)?\s*(?:both |also |therefore |clearly )?"
    r"(?:wrong|false|out|excluded|incorrect|ruled out|rejected|not|contradict\w*|says the"
    r" opposite|do(?:es)? not"
    r"|isn't|aren't|doesn't|the reverse)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Claim:
    """The claim of a clause: an answer, that one is not right, or several answers (None)."""

    value: str | None
    is_denied: bool = False
    is_bare: bool = False
    sentence: str = ""


def reader_of(rule: str, kind: str, accept: Sequence[str], text: str = "") -> Reader:
    """The reader of a rule's name.

    Args:
        rule: ``PAPER`` or ``EXPLICIT``.
        kind: Infer, Consist or Compl.
        accept: the accepted answers, in the order in which they were listed.
        text: what was asked, for the words of options.
    """
    if rule == PAPER:
        return last_word(accept)
    return partial(read_explicit, kind, words=options_of(text) if kind == "Compl" else None)


_QUESTION = re.compile(
    r"\(1\) (?P<one>[^()\n]+?)[,;.]? (?:or )?\(2\) (?P<two>[^()\n]+?)[,;.]? (?:or )?\(3\)"
)


def options_of(text: str) -> dict[str, str]:
    """Number -> words of the two options that are about the world; empty where a text does not list
    them.

    >>> options_of(
    ...     "Which is right: (1) Ann is older than Bo, (2) Ann is younger than Bo,"
    ...     " or (3) it is impossible to decide?"
    ... )
    {'1': 'Ann is older than Bo', '2': 'Ann is younger than Bo'}
    """
    matches = list(_QUESTION.finditer(text))  # before the question there may be examples
    return {"1": matches[-1]["one"], "2": matches[-1]["two"]} if matches else {}


def count_rule_differences(
    kind: str, accept: Sequence[str], replies: Sequence[str], text: str = ""
) -> Counter[str]:
    """How often the two rules read a reply otherwise: another answer, or an answer where the other
    rule reads none.
    """
    counts: Counter[str] = Counter({"replies": len(replies)})
    for reply in replies:
        ours, papers = (reader_of(rule, kind, accept, text)(reply).value for rule in RULES)
        if ours != papers:
            counts[
                (
                    "only_last_word"
                    if ours is None
                    else "only_explicit"
                    if papers is None
                    else "another_answer"
                )
            ] += 1
    return counts


def read_explicit(kind: str, text: str, words: Mapping[str, str] | None = None) -> Reading:
    """The answer of a reply; status ok, ambiguous, refused or invalid.

    Args:
        kind: Infer, Consist or Compl.
        text: the reply.
        words: of Compl, number -> words of the option, where they are known.

    >>> [
    ...     read_explicit("Infer", text).value
    ...     for text in ("I would say TRUE, not FALSE.", "It is not true.", "TRUE or FALSE")
    ... ]
    ['TRUE', 'FALSE', None]
    >>> read_explicit("Compl", "(3) it is impossible to decide").value
    '3'
    >>> read_explicit("Consist", "It is impossible to decide.").status
    'refused'
    """
    text = _plain(text)
    if kind != "Compl":
        return _read(kind, _without_lists(text))
    text = re.sub(r"\(([123])\)", r"#\1", text)
    text = re.sub(r"(?<!\w)([123])[.:)]\s+#?\1(?!\w)", r"#\1", text)  # a number in a numbered line
    text = _numbered(text, words or {})
    options = _options(text)
    if options is None:
        return _read(kind, _without_lists(text))
    reading = _read(kind, _without_lists(options.rest))
    return _of_options(options) if reading.status in ("ambiguous", "invalid") else reading


def _numbered(text: str, words: Mapping[str, str]) -> str:
    """An option's words stand for its number, where they are the whole reply or stand behind the
    number of another one.

    >>> _numbered("1. Ann is younger than Bo.", {"2": "Ann is younger than Bo"})
    '1 or #2 .'
    """
    for number, phrase in words.items():
        phrase = re.escape(_plain(phrase)).replace(r"\ ", r"\s+")
        alone = rf"(^|\b(?:answer|response|conclusion)(?: is)?:?\s)\W*{phrase}\W*$"
        text = re.sub(alone, rf"\1#{number}", text, flags=re.IGNORECASE)
        others = "123".replace(number, "")
        text = re.sub(
            rf"((?<!\w)#?[{others}])\W{{1,4}}{phrase}\b",
            rf"\1 or #{number} ",
            text,
            flags=re.IGNORECASE,
        )
    return text


def _read(kind: str, text: str) -> Reading:
    """The reading of the first step that reads something."""
    claims = list(_claims(kind, text))
    return next(
        filter(None, (step(kind, text, claims) for step in _STEPS)), Reading(None, "invalid")
    )


_AMBIGUOUS = Reading(None, "ambiguous")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_TURN = re.compile(r"\bbut\s+(?:rather\s+)?#?(?P<value>[123])(?!\w)", re.IGNORECASE)
_OF_THIRD = re.compile(r"(?<!\w)3\b|\bthird\b|\b(?:if|unless|would|were)\b", re.IGNORECASE)


def _set_apart(kind: str, text: str, claims: list[_Claim]) -> Reading | None:
    contents = [
        next(filter(None, match.group("box", "inside", "double", "square", "json")), "")
        for match in _APART.finditer(text)
    ]
    values = {value for content in contents for value in [_single(kind, content)] if value}
    return None if not values else _reading(values.pop()) if len(values) == 1 else _AMBIGUOUS


def _announced(kind: str, text: str, claims: list[_Claim]) -> Reading | None:
    values = [
        value
        for match in _ANNOUNCEMENT.finditer(text)
        if (value := _lead(kind, text[match.end() :]))
    ]
    return _reading(values[-1]) if values else None


def _leading(kind: str, text: str, claims: list[_Claim]) -> Reading | None:
    """The answer with which the reply begins, unless it is corrected, or another one stands alone
    later.
    """
    lead = _lead(kind, text)
    if lead in (None, SEVERAL):
        return None if lead is None else _AMBIGUOUS
    turn = _TURN.search(text)
    if kind == "Compl" and turn and turn["value"] != lead:
        return _AMBIGUOUS  # "(1) ..., not (2) ..., but (3) ..." claims two
    _, *later = _SENTENCE.split(text)
    if (
        kind == "Compl"
        and lead != "3"
        and any(
            _UNDECIDED.search(sentence) and not _OF_THIRD.search(sentence) for sentence in later
        )
    ):
        return _AMBIGUOUS
    others = [
        claim for claim in claims[1:] if claim.value not in (lead, None) and not claim.is_denied
    ]
    if others and _CORRECTION.search(text):
        return Reading(others[-1].value if claims[-1].value != lead else lead, "ok")
    return _AMBIGUOUS if any(claim.is_bare for claim in others) else Reading(lead, "ok")


def _refused(kind: str, text: str, claims: list[_Claim]) -> Reading | None:
    is_answer = kind == "Compl" and _UNDECIDED.search(text) and not _declines(text)
    return Reading(None, "refused") if _REFUSED.search(text) and not is_answer else None


def _asserted(kind: str, text: str, claims: list[_Claim]) -> Reading | None:
    """The claim of the last sentence with one, where all say the same or it concludes."""
    asserted = [claim for claim in claims if not claim.is_denied]
    if not asserted:
        return None
    sentence = asserted[-1].sentence
    values = {claim.value for claim in asserted if claim.sentence == sentence}
    concludes = bool(_CONCLUDES.search(sentence))
    if None in values or (len(values) > 1 and not concludes):
        return _AMBIGUOUS
    is_sure = len({claim.value for claim in asserted}) == 1 or _lead(kind, sentence) is not None
    return (
        Reading(asserted[-1].value, "ok")
        if is_sure or concludes or _CORRECTION.search(text)
        else _AMBIGUOUS
    )


def _undecided(kind: str, text: str, claims: list[_Claim]) -> Reading | None:
    if not any(
        _UNDECIDED.search(sentence)
        for sentence in _SENTENCE.split(text)
        if not sentence.endswith("?")
    ):
        return None
    return Reading("3", "ok") if kind == "Compl" else Reading(None, "refused")


def _left_over(kind: str, text: str, claims: list[_Claim]) -> Reading | None:
    """The third option, where two are denied; of two, the one in a question; else what is mentioned
    is ambiguous.
    """
    denied = {claim.value for claim in claims}
    if kind == "Compl" and len(denied) == 2:
        return Reading(({"1", "2", "3"} - denied).pop(), "ok")
    values = {_value(match) for match in _mentions(kind, text)}
    if len(values) == 1 and not denied and kind != "Compl" and text.rstrip().endswith("?"):
        return Reading(values.pop(), "ok")
    return _AMBIGUOUS if values else None


_STEPS = (_set_apart, _announced, _leading, _refused, _asserted, _undecided, _left_over)


class _Options(NamedTuple):
    """A reply that goes through the options of a completeness problem.

    Attributes:
        contents: number -> what is said of that option.
        rest: the reply without this.
    """

    contents: dict[str, str]
    rest: str


#: An option's number with words of the option behind it.
_LABEL = re.compile(
    rf"(?:(?<=^)|(?<=\n)|(?<=[;,.:!?(])|\band\b|\bor\b)\s*(?:-\s+)?(?:{_OPTION}\s+)?"
    r"(?:#(?P<marked>[123])[.:)\]]*|(?P<plain>[123])[.:)\]])\s*-?\s+"
    r"(?=[^\W\d_])(?!(?:and|or|nor|not|is|are|was|isn't|aren't|does|do|doesn't|don't|holds?|contradict\w*|agrees?|follows?|says|can|"
    r"cannot|can't|could|would|must|may|might|because|since|as|rather|instead|over|but|if|so|hence|therefore|thus)\b)",
    re.IGNORECASE,
)
_OPTION_END = re.compile(r"[.;!?](?=\s|$)|\n|$")
_WRONG = re.compile(
    r"\b(?:(?:not|isn't|can't be|cannot be) (?:a |the"
    r" )?(?:possible|correct|right|true|valid|answer)"
    r"|incorrect|wrong|false|excluded|ruled out|contradict\w*|invalid)\b",
    re.IGNORECASE,
)
_CORRECT = re.compile(r"\b(?:correct|true|valid)\b|✓|✔|✅", re.IGNORECASE)
_IS_UNDECIDED = re.compile(
    r"\W*(?:(?:it|this|that|there|we|one|you|the order)(?:'s| is| are)?"
    rf" )?(?:{_UNDECIDED.pattern})",
    re.IGNORECASE,
)


def _options(text: str) -> _Options | None:
    """The last list of two options or more, in their order; the numbers of a list of anything else
    are no options.

    Such a list stands in one sentence or has "(1)", or ends with what option 3 says.
    """
    labels = list(_LABEL.finditer(text))
    runs: list[list[re.Match[str]]] = []
    for label in labels:
        if runs and _number(label) > _number(runs[-1][-1]):
            runs[-1].append(label)
        else:
            runs.append([label])
    for run in reversed(runs):
        ends = [label.start() for label in run[1:]]
        ends.append(_OPTION_END.search(text, run[-1].end()).end())  # type: ignore[union-attr]
        contents = {
            _number(label): text[label.end() : end] for label, end in zip(run, ends, strict=True)
        }
        is_list_of_lines = all(
            label["plain"] and (not label.start() or "\n" in label[0]) for label in run
        )
        if len(run) > 1 and (not is_list_of_lines or _IS_UNDECIDED.match(contents.get("3", ""))):
            return _Options(contents, text[: run[0].start()] + "\n" + text[ends[-1] :])
    return None


def _number(label: re.Match[str]) -> str:
    return label["marked"] or label["plain"]


def _of_options(options: _Options) -> Reading:
    """The only option that is called correct, or that is not called wrong."""
    right = {number for number, content in options.contents.items() if not _WRONG.search(content)}
    correct = {number for number in right if _CORRECT.search(options.contents[number])}
    (chosen,) = (
        correct
        if len(correct) == 1
        else right
        if len(right) == 1 and len(options.contents) > 2
        else (None,)
    )
    return Reading(chosen, "ok") if chosen else _AMBIGUOUS


def _plain(text: str) -> str:
    """Without markup, special tokens and typography."""
    text = unicodedata.normalize("NFKC", _SPECIAL.sub(" ", text)).translate(
        dict.fromkeys(map(ord, "\ufe0f\u20e3\u200b\u00ad"))
    )
    for curly, straight in (("\u2018", "'"), ("\u2019", "'"), ("\u201c", '"'), ("\u201d", '"')):
        text = text.replace(curly, straight)
    while (plain := _LATEX.sub(r"\1", text)) != text:
        text = plain
    text = re.sub(r"</?(?:b|i|strong|em|u|code)>|```\w*|[*`$#]|\\[()\[\]]", " ", text)
    text = re.sub(r"(?<!\w)_+|_+(?!\w)|(?<=[A-Z])_(?=[A-Z])", " ", text)
    return re.sub(r"\bim-possible\b", "impossible", text, flags=re.IGNORECASE)


def _without_lists(text: str) -> str:
    """The numbers of numbered lists are no answers."""
    lines = text.split("\n")
    numbered = [index for index, line in enumerate(lines) if re.match(r"\s*[1-9][.)]\s", line)]
    starts = [
        index
        for index in numbered
        if re.match(r"\s*1[.)]\s", lines[index]) and index + 1 in numbered
    ]
    for start in starts:
        index = start
        while index in numbered:
            lines[index] = re.sub(r"^\s*[1-9][.)]\s", "- ", lines[index])
            index += 1
    return "\n".join(lines)


_MENTIONS = {
    "Infer": re.compile(r"\b(?P<value>true|false)\b|(?<=\bun)(?P<untrue>true)\b", re.IGNORECASE),
    "Consist": re.compile(
        r"\b(?P<value>possible|impossible)\b(?! (?:answer|response|option|to"
        r" (?:decide|say|tell|determine|know)))",
        re.IGNORECASE,
    ),
    "Compl": re.compile(
        rf"(?:\b{_OPTION}s?\s+#?|#|\[)(?P<named>[123])\b|\b{_OPTION}\s+(?P<word>one|two|three)\b"
        rf"|\b(?P<ordinal>first|second|third)\s+(?:one\b|{_OPTION})"
        r"|(?<![\w.,/-])(?P<bare>[123])(?!\d)(?:\.0)?(?=\s*(?:$|[.,;:!?)\]/\"'–—-]|\n|and\b|or\b|nor\b|is\b|isn't\b|are\b|because\b|since\b|rather\b|"
        r"instead\b|not\b|does\b|do\b|holds\b|over\b|but\b|[123]\b|\())"
        r"|(?<=/)(?P<slash>[123])\b",
        re.IGNORECASE,
    ),
}
_NO_OPTION = re.compile(
    r"\b(?:clues?|steps?|facts?|sentences?|lines?|rules?|points?|in|of|to|all|conditions?|premises?)\s+(?:\d\s*(?:,|and|or|to)\s*)*$",
    re.IGNORECASE,
)


#: What is (im)possible to do: "it is impossible to have a possible order" says IMPOSSIBLE and
#: nothing else.
_INFINITIVE = re.compile(
    r"(\b(?:im)?possible (?:(?:for [^.,;]+ )?to|that)\b(?!"
    r" (?:decide|say|tell|determine|know)\b))[^.;!?\n]*",
    re.IGNORECASE,
)


_ANY = re.compile(
    r"\b(?:the|any|other|all|most|multiple|many|several|these|those|its|their|some|of) $",
    re.IGNORECASE,
)


def _mentions(kind: str, text: str) -> Iterator[re.Match[str]]:
    for match in _MENTIONS[kind].finditer(text):
        if kind != "Compl" or match["bare"] is None or not _NO_OPTION.search(text[: match.start()]):
            yield match


def _value(match: re.Match[str]) -> str:
    word = next(group for group in match.groups() if group).upper()
    return _NUMBERS.get(word.lower(), word)


def _single(kind: str, content: str) -> str | None:
    """The answer in a place of its own: the one with which it begins, or the only one."""
    lead = _lead(kind, content.strip("\"' "))
    values = {_value(match) for match in _mentions(kind, content)}
    return lead or (values.pop() if len(values) == 1 else None)


_LEADS = {
    "Infer": r"(?P<value>true|false)\b",
    "Consist": r"(?P<value>possible|impossible)\b",
    "Compl": (
        rf"(?:{_OPTION}\s+)?[(\[#'\"]*(?P<value>[123]|(?:one|two|three)(?=\W*$))(?:\.0)?\b[)\]'\"]*"
    ),
}
_AFTER_LEAD = (
    r"\W*$|\s*\n|\s*[.:;!?–—(\[}]|\s*\)|\s+-|\s*,"
    r"|\s+(?:because|since|as|for|rather|instead|not|and not|given|due|over|by|I)\b"
)


def _lead(kind: str, text: str) -> str | None:
    """The answer with which a text begins, None where it begins with none.

    ``SEVERAL`` where others follow it at once, or what follows is another option or says that this
    one is wrong.
    """
    match = re.match(rf"[\s\W]*?{_LEADS[kind]}", text, re.IGNORECASE)
    if match is None:
        return None
    value = _NUMBERS.get(match["value"].lower(), match["value"].upper())
    rest = text[match.end() :]
    is_marked = kind == "Compl" and "#" in match[0]
    bracket = r"(?:\s*\([^()]*\)(?=\s*(?:and|or)\b))?"
    other = re.match(
        bracket + r"['\")\]]*\s*(?:,|/|or\b|and\b|&|\n|\s)\s*" + _LEADS[kind] + r"(?!\.\s*\w)",
        rest,
        re.IGNORECASE,
    )
    if (other and _NUMBERS.get(other["value"].lower(), other["value"].upper()) != value) or _denies(
        kind, value, rest
    ):
        return SEVERAL
    if re.match(r"\s*\?", rest) and rest.strip("? \n"):
        return None
    is_lead = re.match(_AFTER_LEAD, rest) or (is_marked and re.match(r"\s+[A-Z]|\s+it\b", rest))
    return value if is_lead and not _REJECTED.match(rest) else None


def _denies(kind: str, value: str, rest: str) -> bool:
    """Says what follows an answer that nothing can be decided, or that this option is wrong ("...,
    which is not possible")?
    """
    claim = rest[: _OPTION_END.search(rest, len(rest) - len(rest.lstrip(" .:)\n"))).end()]  # type: ignore[union-attr]
    if value != "3" and _IS_UNDECIDED.match(claim):
        return True
    relative = re.search(
        r"(?:\b(?:which|that|this) (?:is|was|cannot|can't|isn't)|, not possible)\b.*",
        claim,
        re.IGNORECASE,
    )
    return kind == "Compl" and relative is not None and _WRONG.search(relative[0]) is not None


def _declines(text: str) -> bool:
    return re.search(r"\b(?:sorry|as an ai|assist|help)\b", text, re.IGNORECASE) is not None


def _reading(value: str) -> Reading:
    return _AMBIGUOUS if value == SEVERAL else Reading(value, "ok")


def _claims(kind: str, text: str) -> Iterator[_Claim]:
    """The claims of each clause of each sentence. Questions, conditions and suppositions claim
    nothing.
    """
    for sentence in _SENTENCE.split(_INFINITIVE.sub(r"\1", text) if kind == "Consist" else text):
        if sentence.rstrip(" \"')").endswith("?") or _CONDITION.search(sentence):
            continue
        before: _Claim | None = None
        supposed: str | None = None
        for clause in re.split(r"[,;:()\u2013\u2014]\s|\s-\s|\bbut\b|\bso\b|[()]$", sentence):
            mentions = list(_mentions(kind, clause))
            if (
                not mentions
                and supposed
                and re.search(r"\b(?:is|was|are) not\b|\bisn't\b|\bwasn't\b", clause)
            ):
                yield _Claim(_OTHER.get(supposed, supposed), kind == "Compl", False, sentence)
            is_bare = (
                bool(
                    re.fullmatch(r"\W*" + _LEADS[kind] + r"\W*(?:for\b.*)?", clause, re.IGNORECASE)
                )
                if mentions
                else False
            )
            claims = [
                claim
                for match in mentions
                for claim in [_claim(kind, clause, match, is_bare, sentence)]
                if claim
            ]
            supposed = _value(mentions[-1]) if mentions and not claims else None
            values = {claim.value for claim in claims if not claim.is_denied}
            if len(values) > 1:
                claims = [_Claim(None, False, is_bare, sentence)]
            for claim in claims:
                if claim != before:
                    yield claim
                before = claim


def _claim(
    kind: str, clause: str, match: re.Match[str], is_bare: bool, sentence: str
) -> _Claim | None:
    before, after, value = clause[: match.start()], clause[match.end() :], _value(match)
    if _SUPPOSED.search(_SAYS.sub("", before)):
        return None
    if kind == "Compl":
        is_denied = bool(
            re.search(rf"\b{_NOT}\b|\bexcluded\b", before, re.IGNORECASE) or _REJECTED.match(after)
        )
        return _Claim(value, is_denied, is_bare, sentence)
    if kind == "Consist" and _ANY.search(before) and re.match(r"\s+[a-z]", after):
        return None  # "the possible outcomes" are no claim
    is_denied = bool(_NEGATED.search(before)) or bool(
        re.match(r"\W*(?:does not|doesn't) hold", after)
    )
    return _Claim(_OTHER[value] if is_denied else value, False, is_bare, sentence)
