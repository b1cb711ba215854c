"""English in the sentences of a skin: blanks, capitals, articles, agreement. Only what is surely wrong is a fault."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

#: What is wrong, and the fix.
Fault = tuple[str, str]

_REGULAR = (
    "live stand sit lie hang come go arrive run walk swim drive ride fly work sleep start begin end finish leave weigh earn own "
    "make take get look stay appear happen occur grow rise fall lead follow precede belong speak sing play rank need contain"
)


def _third_person(verb: str) -> str:
    if re.search("(?:s|sh|ch|x|z|o)$", verb):
        return f"{verb}es"
    return re.sub("(?<=[^aeiou])y$", "ie", verb) + "s"


_TO_BE = {"is": "are", "was": "were", "has": "have", "does": "do"}
_VERBS = _TO_BE | {_third_person(verb): verb for verb in _REGULAR.split()}
_BASES = {base: third for third, base in _VERBS.items()}
_FINITE = "|".join([*_TO_BE, *_TO_BE.values()])

_SPOKEN_WITH_AN = (
    r"hour|honest|hono|heir|herb|hors|hom[aá]ge|hist|hotel|(?-i:[FHLMNRSX](?![a-z]))|[fhlmnrsx]\b|mp\d|8|1[18](?!\d)"
)
_SPOKEN_WITH_A = (
    r"eu|ew|oui|uni(?!m|n)|unan|unar|u[ft]o|uta|uti|ute|ukr|ukul|uke\b|ubi|ugand|uvul|ur[aeiou]|us[aeiu]|one\b|once\b"
    r"|(?-i:U(?![a-z]))"
)
_WRONG_ARTICLE = re.compile(
    rf"\b(?:a (?!{_SPOKEN_WITH_A})(?=[aeiou]|8|1[18]\b)|an (?!{_SPOKEN_WITH_AN})(?=[b-df-hj-np-tv-z0-9]))[\w-]+", re.IGNORECASE
)
_DOUBLED = re.compile(r"\b([a-z]+) \1\b", re.IGNORECASE)
_DETERMINERS = ("the", "a", "an", "his", "her", "my", "our", "their", "its", "your", "this", "that")
#: Words that no name begins with; with a capital they belong to the beginning of a sentence.
_NO_NAMES = (*_DETERMINERS, "in", "on", "at", "it", "there", "between", "of", "if", "when", "he", "she", "they", "we", "one")
_CAPITAL = re.compile(rf"(?:{'|'.join(word.capitalize() for word in _NO_NAMES)})\b")
_CAPITAL_ARTICLE = re.compile(rf"(?:{'|'.join(word.capitalize() for word in _DETERMINERS)}) (?=[a-z])")
_IRREGULAR_PLURAL = re.compile(
    r"(?:(?:sales|sports|towns)?people|(?:wo|gentle|sports|fire|police|fisher)?men|(?:grand)?children|cattle|police|oxen|geese|feet"
    r"|teeth|criteria|phenomena)$",
    re.IGNORECASE,
)
#: Nouns whose number their end does not show: menus and campus, mice and price, sheep.
_EITHER = re.compile(
    r"(?:.*(?:us|is|ics|i|ae|ice|eaux|a|os|eps|ops)|.*(?:fish|craft)|sheep|deer|moose|bison|salmon|trout|cod|squid|shrimp|elk|swine"
    r"|fruit|dozen|series|species|folk|kin|means|works|headquarters|crossroads|barracks|gallows|innings|shambles|maths|molasses"
    r"|pancreas|measles|mumps|rabies|herpes|diabetes|darts|billiards|offspring|livestock|poultry|personnel|staff|crew|team|family"
    r"|couple|pair|audience|government|committee|class|group|majority|minority|rest)$",
    re.IGNORECASE,
)
_SINGULAR = re.compile(r"(?:.*ss|news|lens|gas|canvas|atlas|alias|bias|christmas|chaos|cosmos|rhinoceros|.*[^s])$", re.IGNORECASE)
_BEFORE_A_NOUN = (
    "of on in at with without from for to by near along per as than about against around above below under over behind before "
    "after during between among across through into"
)
_PREPOSITIONS = tuple(_BEFORE_A_NOUN.split())
#: What comes without an article: places where one is for what they are for, and words that take its place.
_PLACES = (
    "school church college university hospital prison court home work town bed class breakfast lunch dinner noon midnight some "
    "each one two three four five six seven eight nine ten every no"
)
_WITHOUT_ARTICLE = frozenset(_PLACES.split())
#: Words that end the noun after a number.
_AFTER_A_NOUN = {*_VERBS, *_BASES, *_PREPOSITIONS} | set(
    re.findall(r"\w+", "who which that whose all each both together now also")
)


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


def sentence_fault(text: str, document: dict[str, Any], *, is_clause: bool) -> Fault | None:
    """What is wrong with a clause, or with the beginning of a text (situation, listing).

    Args:
        text: the words, with placeholders.
        document: the whole skin.
        is_clause: it is a clause, which comes in the middle of a sentence.
    """
    if fault := text_fault(text):
        return fault
    if text[-1] in ".,:;?!":
        return f"{text!r} ends with a mark.", "Remove it; sentences are built from it."
    if mark := re.search(r"[:;?!‘“”\"]", text):
        return f"{text!r} contains the mark {mark.group()}, which breaks the sentence that is built from it.", "Reword it."
    if not is_clause and (text[0].islower() or text[0] == "{"):
        return f"{text!r} begins a sentence without a capital letter.", "Begin with a word that has one."
    if is_clause and _CAPITAL.match(text):
        return f"{text!r} begins with a capital, but comes in the middle of a sentence.", "Begin with a small letter."
    if fault := _words_fault(text, document["entities"], is_clause=is_clause):
        return fault
    return agreement_fault(text, document) if is_clause else _number_fault(text)


def _words_fault(text: str, entities: list[str], *, is_clause: bool) -> Fault | None:
    rendered = [text]
    if is_clause:
        rendered = [fill(text, entities[n:] + entities[:n]) for n in range(len(entities))]
        rendered += [fill(text, [entity] * 3) for entity in entities]
    for sentence in rendered:
        if wrong := _WRONG_ARTICLE.search(sentence):
            return f"{sentence!r} has the wrong article in {wrong.group()!r}.", "Write a or an as it is spoken."
    own = {match.group() for entity in entities for match in _DOUBLED.finditer(entity) if match[1] not in _DETERMINERS}
    for sentence in rendered[: len(entities)]:
        for doubled in _DOUBLED.finditer(sentence):
            if doubled.group() not in own and doubled[1] not in ("had", "that"):  # it had had two owners
                fix = "Write the article in the entities or in the clauses, not in both."
                return f"{sentence!r} repeats {doubled.group(1)!r}.", fix
    return None


def agreement_fault(text: str, document: dict[str, Any]) -> Fault | None:
    """A verb that does not agree with the entities, or with the noun that is their property."""
    is_plural = document["number"] == "plural"
    subject = re.match(r"\{[xm]\} (?:also |always |\w+ly )?(\w+)", text)
    verb = subject.group(1) if subject else ""
    wrong, right = (_VERBS, "plural") if is_plural else (_BASES, "singular")
    if verb in wrong:
        return f'{text!r}: "{verb}" does not agree with {right} entities.', f'Write "{wrong[verb]}", or change number.'
    if verb in _VERBS or verb in _BASES:
        for entity in document["entities"]:
            if _number_of(entity) == ("singular" if is_plural else "plural"):
                sentence = fill(text, [entity, *document["entities"]])
                fix = (
                    "Name several things, or remove number: plural." if is_plural else "Name one thing, or write number: plural."
                )
                return f"{sentence!r}: the verb does not agree with {entity!r}.", fix
    for noun, verb in _properties(text):
        if number_of_noun(noun) != ("singular" if verb in _TO_BE.values() else "plural"):
            continue
        right = _TO_BE.get(verb) or _BASES[verb]
        return f'{text!r}: "{verb}" does not agree with "{noun}".', f'Write "{noun} {right}", or change the noun.'
    return None


def _properties(text: str) -> Iterator[tuple[str, str]]:
    """Nouns that are the subject of a verb, with it: {m}'s height is, the size of {m} is."""
    owned = re.finditer(rf"\}}['’]s? ((?:[\w-]+ )*?[\w-]+) ({_FINITE})\b", text)
    first = re.match(rf"(?:{'|'.join(_DETERMINERS)}) ((?:[\w-]+ )*?[\w-]+) of \{{\w\}} ({_FINITE})\b", text, re.IGNORECASE)
    for match in [*owned, *([first] if first else [])]:
        # Of "number of legs", "height in inches" and "house with two doors", the subject is not the last word.
        if not contains_word(match.group(1), ("and", "or", "that", "who", "which", *_PREPOSITIONS)):
            yield match.group(1).split()[-1], match.group(2)


def _number_of(entity: str) -> str | None:
    """Whether an entity is one thing or several, where its words show it."""
    return number_of_noun(re.split(r" (?:of|from|on|in|with|for|at|to) ", entity)[0].split()[-1])


def number_of_noun(noun: str) -> str | None:
    """Whether a noun is singular or plural; None for a name, or where its end does not show it.

    >>> [number_of_noun(noun) for noun in ("ball", "glass", "balls", "women", "menus", "Smiths")]
    ['singular', 'singular', 'plural', 'plural', None, None]
    """
    if not noun.islower() or noun.endswith(("'s", "’s")):
        return None
    if _IRREGULAR_PLURAL.match(noun):
        return "plural"
    if _EITHER.match(noun):
        return None
    return "singular" if _SINGULAR.match(noun) else "plural"


def _number_fault(text: str) -> Fault | None:
    """The noun after {number}, at least three, and its verb."""
    found = re.search(r"\{number\} ([^,]+)", text)
    words = found.group(1).split() if found else []
    nouns = list(takewhile(lambda word: word not in _AFTER_A_NOUN, words))
    if nouns and all(number_of_noun(noun) == "singular" for noun in nouns):
        return f"{text!r}: no plural follows {{number}}, which is three or more.", f'Write the plural of "{nouns[-1]}".'
    rest = [word for word in words[len(nouns) :] if word not in ("all", "each", "both", "now", "also", "together")]
    if nouns and rest and rest[0] in _VERBS:
        return f'{text!r}: "{rest[0]}" does not agree with {{number}}.', f'Write "{_VERBS[rest[0]]}".'
    return None


def article_faults(entities: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Entities whose articles do not fit: their number, the problem, the fix."""
    without = [n for n, entity in enumerate(entities) if entity[:1].islower() and not _has_determiner(entity)]
    with_one = [entity for entity in entities if _has_determiner(entity)]
    for number, entity in enumerate(entities):
        if article := _CAPITAL_ARTICLE.match(entity):
            problem = f"{entity!r} begins with a capital, but comes in the middle of a sentence."
            yield number, problem, f'Write "{article.group().lower()}{entity[article.end() :]}".'
        elif (
            number in without and entity.split()[0] not in _WITHOUT_ARTICLE and 3 * len(without) <= len(with_one)
        ):  # but: the gym, school, the office
            article_of = with_one[0].split()[0]
            yield (
                number,
                f"{entity!r} has no article, but {with_one[0]!r} has one.",
                f'Write "{article_of} {entity}", or reword it.',
            )


def _has_determiner(entity: str) -> bool:
    first = entity.split()[0] if entity.split() else ""
    return first.casefold() in _DETERMINERS or first.endswith(("'s", "’s", "s'"))


def fill(text: str, entities: Sequence[str]) -> str:
    """A clause with entities in the places of its placeholders."""
    return text.format(**{name: entities[n % len(entities)] for n, name in enumerate("xym")})


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
