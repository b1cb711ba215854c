"""What a reply answers: the paper's rule (its last word), and a reader of what chat models write, which flags what is not sure.

The reader looks, in this order, for an answer that is set apart (a box, a tag, JSON), for words that announce the answer, for an
answer with which the reply begins, and for what its last sentences claim. A negated answer of two is the other one. What is
supposed, quoted as a choice ("whether TRUE or FALSE") or rejected ("rather than FALSE") is no claim. Several claims without
a reason to prefer one are ambiguous; declining is a refusal, and so is "impossible to decide" where that is no alternative.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWERS
from worldprobe.inference.dialogue import Reader, Reading, last_word

#: Names of the rules, as a study's settings have them.
PAPER, EXPLICIT = "last_word", "explicit"
RULES = (EXPLICIT, PAPER)

_OTHER = {"TRUE": "FALSE", "FALSE": "TRUE", "POSSIBLE": "IMPOSSIBLE", "IMPOSSIBLE": "POSSIBLE"}
_NUMBERS = {"one": "1", "two": "2", "three": "3", "first": "1", "second": "2", "third": "3"}
#: What options are called.
_OPTION = r"(?:option|alternative|answer|choice|number|possibility|statement|response)"
_SPECIAL = re.compile(r"<\|[^<>|]*\|>|</?s>|<eos>|<end_of_turn>")
_LATEX = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathsf|texttt|textsf|mbox)\s*\{([^{}]*)\}")
#: Places that set an answer apart, each with its content.
_APART = re.compile(
    r"\\boxed\s*\{(?P<box>[^{}]*)\}|<(?P<tag>(?:final_?)?(?:answer|response|choice))>(?P<inside>.*?)</(?P=tag)>"
    r"|\[\[(?P<double>[^\[\]]*)\]\]|\[answer\](?P<square>.*?)\[/answer\]"
    r"|[\"'](?:final_?)?(?:answer|response|choice)[\"']\s*:\s*(?P<json>\"[^\"]*\"|'[^']*'|[\w()]+)",
    re.IGNORECASE | re.DOTALL,
)
#: Words that announce the answer, up to where it stands.
_ANNOUNCED = re.compile(
    r"(?:\b(?:final|correct|right|my|the)\s+(?:\w+\s+)?)?\b(?:answer|response|verdict|conclusion|solution|choice|chosen|alternative|option)s?"
    r"(?:\s+(?:is|would be|must be|has to be|should be))?\s*(?::|=|->|→|\bis\b)\s*"
    r"|\bfinal (?:answer|response)\b\s*\n+\s*|(?:^|\n)\s*A\s*:\s*|\bleaves\s+"
    r"|\bthe (?:final |correct |right )?(?:answer|response|alternative|option|choice) (?:is|must be|has to be|would be)\s+",
    re.IGNORECASE,
)
_NOT = r"(?:not|never|cannot|can't|isn't|aren't|wasn't|doesn't|don't|couldn't|won't|no|nor|neither|nothing|none)"
_NEGATED = re.compile(
    rf"\b{_NOT}(?:\s+(?:a|an|the|be|really|actually|necessarily|at|all|indeed|logically|always|possibly|in|fact|any|quite))*\s*$"
    r"|\b(?:nothing|none)\b[^.;]*$|\bnot the case that\b.*$|\bno way\b.*$|\bcannot be\s*$|\bun$",
    re.IGNORECASE,
)
#: What makes a mention no claim: before it in its clause, or anywhere in its sentence.
_SUPPOSED = re.compile(
    r"\b(?:would|were|might|may|could|whether|assum\w+|suppos\w+|thought|think that|consider\w*|seem\w*"
    r"|look(?:s|ed)?|was going to|otherwise|wrong|rather than|instead of|as opposed to|between|over"
    r"|options|alternatives|can't say|cannot say)\b",
    re.IGNORECASE,
)
_SAYS = re.compile(r"\bI(?: would|'d) (?:say|go|choose|pick|answer|opt|guess|conclude)\b", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:if|unless|suppose|assuming|assume)\b", re.IGNORECASE)
_CORRECTION = re.compile(r"\b(?:wait|sorry|actually|correction|on reflection|let me (?:re|check)|no,|hmm)", re.IGNORECASE)
_CONCLUDES = re.compile(
    r"\b(?:so|hence|thus|therefore|conclu\w+|final\w*|in fact|however|but|accordingly|consequently|in conclusion)\b|→|->",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"\b(?:can(?:no|')t|can not|unable to|not able to|won't|will not) (?:\w+ )?"
    r"(?:answer|assist|help|choose|say|decide|determine|tell|judge)"
    r"|\b(?:refuse|decline|rather not|prefer not)d?(?: to)? (?:\w+ )?(?:answer|choose|pick|decide|say|guess|judge)\b"
    r"|\b(?:don't|do not|cannot|can't) know\b|\bdo not have opinions\b|\bneither true nor false\b|^\W*unknown\W*$",
    re.IGNORECASE,
)
_UNDECIDED = re.compile(
    r"\b(?:impossible|not possible|unable|not able|no way|not enough information|insufficient information)"
    r"(?: \w+)? to (?:decide|say|tell|determine|know|conclude|judge)\b"
    r"|\b(?:can(?:no|')t|can not|could not|couldn't) (?:be )?(?:decide|determine|tell|know|say|conclude)\w*"
    r"|\b(?:not enough|insufficient) information\b|\bundecidable\b|\bundetermined\b|\bcannot be known\b",
    re.IGNORECASE,
)
_REJECTED = re.compile(
    r"(?:\s*(?:,|and|or|nor)\s*#?[123])*\s*(?:is|are|was)?\s*(?:both |also |therefore |clearly )?"
    r"(?:wrong|false|out|excluded|incorrect|ruled out|rejected|not|contradict\w*|says the opposite|do(?:es)? not"
    r"|isn't|aren't|doesn't|the reverse)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a clause says: an answer, that one is not right, or several answers (None)."""

    value: str | None
    is_denied: bool = False
    is_bare: bool = False
    sentence: str = ""


def reader_of(rule: str, kind: str, accept: Sequence[str]) -> Reader:
    """The reader of a rule's name.

    Args:
        rule: ``PAPER`` or ``EXPLICIT``.
        kind: Infer, Consist or Compl.
        accept: the accepted answers, in the order in which they were listed.
    """
    return last_word(accept) if rule == PAPER else partial(read_explicit, kind)


def differences(kind: str, accept: Sequence[str], replies: Sequence[str]) -> Counter[str]:
    """How often the two rules read a reply otherwise: another answer, or an answer where the other rule reads none."""
    found: Counter[str] = Counter({"replies": len(replies)})
    for reply in replies:
        ours, papers = (reader_of(rule, kind, accept)(reply).value for rule in RULES)
        if ours != papers:
            found["only_last_word" if ours is None else "only_explicit" if papers is None else "another_answer"] += 1
    return found


def read_explicit(kind: str, text: str) -> Reading:
    """What a reply answers; status ok, ambiguous, refused or invalid.

    >>> [read_explicit("Infer", text).value for text in ("I would say TRUE, not FALSE.", "It is not true.", "TRUE or FALSE")]
    ['TRUE', 'FALSE', None]
    >>> read_explicit("Compl", "(3) it is impossible to decide").value
    '3'
    >>> read_explicit("Consist", "It is impossible to decide.").status
    'refused'
    """
    text = _plain(text)
    if kind == "Compl":
        text = re.sub(r"\(([123])\)", r"#\1", text)
    if apart := [
        next(filter(None, match.group("box", "inside", "double", "square", "json")), "") for match in _APART.finditer(text)
    ]:
        found = {value for content in apart for value in [_single(kind, content)] if value}
        if found:
            return Reading(found.pop(), "ok") if len(found) == 1 else Reading(None, "ambiguous")
    announced = [value for match in _ANNOUNCED.finditer(text) if (value := _lead(kind, text[match.end() :]))]
    if announced:
        return _reading(announced[-1])
    claims = list(_claims(kind, text))
    lead = _lead(kind, text)
    if lead == "several":
        return Reading(None, "ambiguous")
    if lead is not None:
        others = [claim for claim in claims[1:] if claim.value not in (lead, None) and not claim.is_denied]
        if others and _CORRECTION.search(text):
            return Reading(others[-1].value if claims[-1].value != lead else lead, "ok")
        return Reading(None, "ambiguous") if any(claim.is_bare for claim in others) else Reading(lead, "ok")
    if _REFUSED.search(text) and not (kind == "Compl" and _UNDECIDED.search(text) and not _declines(text)):
        return Reading(None, "refused")
    asserted = [claim for claim in claims if not claim.is_denied]
    if asserted:
        last = [claim for claim in asserted if claim.sentence == asserted[-1].sentence]
        values = {claim.value for claim in last}
        if None in values or (len(values) > 1 and not _CONCLUDES.search(last[-1].sentence)):
            return Reading(None, "ambiguous")
        is_sure = len({claim.value for claim in asserted}) == 1 or _lead(kind, last[-1].sentence) is not None
        if is_sure or _CONCLUDES.search(last[-1].sentence) or _CORRECTION.search(text):
            return Reading(last[-1].value, "ok")
        return Reading(None, "ambiguous")
    if _UNDECIDED.search(text):
        return Reading("3", "ok") if kind == "Compl" else Reading(None, "refused")
    denied = {claim.value for claim in claims}
    if kind == "Compl" and len(denied) == 2:
        return Reading(({"1", "2", "3"} - denied).pop(), "ok")
    values = {_value(match) for match in _mentions(kind, text)}
    if len(values) == 1 and not denied and kind != "Compl":
        return Reading(values.pop(), "ok") if text.rstrip().endswith("?") else Reading(None, "ambiguous")
    return Reading(None, "ambiguous" if values else "invalid")


def _plain(text: str) -> str:
    """Without markup, special tokens and typography."""
    text = unicodedata.normalize("NFKC", _SPECIAL.sub(" ", text)).translate(dict.fromkeys(map(ord, "\ufe0f\u20e3\u200b\u00ad")))
    for curly, straight in (("\u2018", "'"), ("\u2019", "'"), ("\u201c", '"'), ("\u201d", '"')):
        text = text.replace(curly, straight)
    while (plain := _LATEX.sub(r"\1", text)) != text:
        text = plain
    text = re.sub(r"</?(?:b|i|strong|em|u|code)>|```\w*|[*`$#]|\\[()\[\]]", " ", text)
    text = re.sub(r"(?<!\w)_+|_+(?!\w)|(?<=[A-Z])_(?=[A-Z])", " ", text)
    text = re.sub(r"\bim-possible\b", "impossible", text, flags=re.IGNORECASE)
    return _without_lists(text)


def _without_lists(text: str) -> str:
    """The numbers of numbered lists are no answers."""
    lines = text.split("\n")
    numbered = [place for place, line in enumerate(lines) if re.match(r"\s*[1-9][.)]\s", line)]
    starts = [place for place in numbered if re.match(r"\s*1[.)]\s", lines[place]) and place + 1 in numbered]
    for start in starts:
        place = start
        while place in numbered:
            lines[place] = re.sub(r"^\s*[1-9][.)]\s", "- ", lines[place])
            place += 1
    return "\n".join(lines)


_MENTIONS = {
    "Infer": re.compile(r"\b(?P<value>true|false)\b|(?<=\bun)(?P<untrue>true)\b", re.IGNORECASE),
    "Consist": re.compile(
        r"\b(?P<value>possible|impossible)\b(?! (?:answer|response|option|to (?:decide|say|tell|determine|know)))", re.IGNORECASE
    ),
    "Compl": re.compile(
        rf"(?:\b{_OPTION}s?\s+#?|#|\[)(?P<named>[123])\b|\b{_OPTION}\s+(?P<word>one|two|three)\b"
        rf"|\b(?P<ordinal>first|second|third)\s+(?:one\b|{_OPTION})"
        r"|(?<![\w.,/-])(?P<bare>[123])(?:\.0)?(?=\s*(?:$|[.,;:!?)\]/\"'–—-]|\n|and\b|or\b|nor\b|is\b|isn't\b|are\b|because\b|since\b|rather\b|"
        r"instead\b|not\b|does\b|do\b|holds\b|over\b|but\b|[123]\b|\())"
        r"|(?<=/)(?P<slash>[123])\b",
        re.IGNORECASE,
    ),
}
_NO_OPTION = re.compile(
    r"\b(?:clues?|steps?|facts?|sentences?|lines?|rules?|points?|in|of|to|all|conditions?|premises?)\s+(?:\d\s*(?:,|and|or|to)\s*)*$",
    re.IGNORECASE,
)


def _mentions(kind: str, text: str) -> Iterator[re.Match[str]]:
    for match in _MENTIONS[kind].finditer(text):
        if kind != "Compl" or match["bare"] is None or not _NO_OPTION.search(text[: match.start()]):
            yield match


def _value(match: re.Match[str]) -> str:
    found = next(group for group in match.groups() if group).upper()
    return _NUMBERS.get(found.lower(), found)


def _single(kind: str, content: str) -> str | None:
    """The answer in a place of its own: the one with which it begins, or the only one."""
    lead = _lead(kind, content.strip("\"' "))
    values = {_value(match) for match in _mentions(kind, content)}
    return lead if lead in ANSWERS[kind] else values.pop() if len(values) == 1 else None


_LEADS = {
    "Infer": r"(?P<value>true|false)\b",
    "Consist": r"(?P<value>possible|impossible)\b",
    "Compl": rf"(?:{_OPTION}\s+)?[(\[#'\"]*(?P<value>[123]|(?:one|two|three)(?=\W*$))(?:\.0)?\b[)\]'\"]*",
}
_AFTER_LEAD = (
    r"\W*$|\s*\n|\s*[.:;!?–—(\[}]|\s*\)|\s+-|\s*,"
    r"|\s+(?:because|since|as|for|rather|instead|not|and not|given|due|over|by|I)\b"
)


def _lead(kind: str, text: str) -> str | None:
    """The answer with which a text begins; "several" where others follow it at once, None where it begins with none."""
    match = re.match(rf"[\s\W]*?{_LEADS[kind]}", text, re.IGNORECASE)
    if match is None:
        return None
    value = _NUMBERS.get(match["value"].lower(), match["value"].upper())
    rest = text[match.end() :]
    is_marked = kind == "Compl" and "#" in match[0]
    other = re.match(r"['\")\]]*\s*(?:,|/|or\b|and\b|&|\n|\s)\s*" + _LEADS[kind] + r"(?!\.\s*\w)", rest, re.IGNORECASE)
    if other:
        return "several"
    if re.match(r"\s*\?", rest) and rest.strip("? \n"):
        return None
    is_lead = re.match(_AFTER_LEAD, rest) or (is_marked and re.match(r"\s+[A-Z]|\s+it\b", rest))
    return value if is_lead and not _REJECTED.match(rest) else None


def _declines(text: str) -> bool:
    return re.search(r"\b(?:sorry|as an ai|assist|help)\b", text, re.IGNORECASE) is not None


def _reading(found: str) -> Reading:
    return Reading(None, "ambiguous") if found == "several" else Reading(found, "ok")


def _claims(kind: str, text: str) -> Iterator[_Claim]:
    """What each clause of each sentence claims; questions, conditions and suppositions claim nothing."""
    for sentence in re.split(r"(?<=[.!?;])\s+|\n+", text):
        if sentence.rstrip(" \"')").endswith("?") or _CONDITION.search(sentence):
            continue
        before: _Claim | None = None
        supposed: str | None = None
        for clause in re.split(r"[,;:()\u2013\u2014]\s|\s-\s|\bbut\b|\bso\b|[()]$", sentence):
            found = list(_mentions(kind, clause))
            if not found and supposed and re.search(r"\b(?:is|was|are) not\b|\bisn't\b|\bwasn't\b", clause):
                yield _Claim(_OTHER.get(supposed, supposed), kind == "Compl", False, sentence)
            is_bare = bool(re.fullmatch(r"\W*" + _LEADS[kind] + r"\W*(?:for\b.*)?", clause, re.IGNORECASE)) if found else False
            claims = [claim for match in found for claim in [_claim(kind, clause, match, is_bare, sentence)] if claim]
            supposed = _value(found[-1]) if found and not claims else None
            values = {claim.value for claim in claims if not claim.is_denied}
            if len(values) > 1:
                claims = [_Claim(None, False, is_bare, sentence)]
            for claim in claims:
                if claim != before:
                    yield claim
                before = claim


def _claim(kind: str, clause: str, match: re.Match[str], is_bare: bool, sentence: str) -> _Claim | None:
    before, after, value = clause[: match.start()], clause[match.end() :], _value(match)
    if _SUPPOSED.search(_SAYS.sub("", before)):
        return None
    if kind == "Compl":
        is_denied = bool(re.search(rf"\b{_NOT}\b|\bexcluded\b", before, re.IGNORECASE) or _REJECTED.match(after))
        return _Claim(value, is_denied, is_bare, sentence)
    is_denied = bool(_NEGATED.search(before)) or bool(re.match(r"\W*(?:does not|doesn't) hold", after))
    return _Claim(_OTHER[value] if is_denied else value, False, is_bare, sentence)
