"""What a rule can see of unnatural sentences, and of words that give a template's answer away."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pandas as pd

from worldprobe.benchmarks.ewok.frequency import words
from worldprobe.benchmarks.ewok.materials.documents import Place, Problems
from worldprobe.benchmarks.ewok.materials.slots import KEY, Fillers
from worldprobe.benchmarks.ewok.vocabulary import TEXTS

#: British word or spelling -> American one.
_AMERICAN = {
    **{"afterwards": "afterward", "aluminium": "aluminum", "backwards": "backward", "banknote": "bill", "bookshop": "bookstore"},
    **{"bouncy castle": "bounce house", "centre": "center", "cheque": "check", "cinema": "movie theater", "colour": "color"},
    **{"cosy": "cozy", "cotton wool": "cotton", "favourite": "favorite", "fill in a form": "fill out a form"},
    **{"fills in a form": "fills out a form", "flavour": "flavor", "fortnight": "two weeks", "forwards": "forward"},
    **{"grey": "gray", "hairdresser's": "hair salon", "harbour": "harbor", "jewellery": "jewelry", "kerb": "curb"},
    **{"learnt": "learned", "lorry": "truck", "metre": "meter", "mould": "mold", "neighbour": "neighbor"},
    **{"pavement": "sidewalk", "petrol": "gas", "plough": "plow", "pyjamas": "pajamas", "racing car": "race car"},
    **{"railway": "railroad", "rubbish": "trash"},
    **{"spilt": "spilled", "tea towel": "dish towel", "theatre": "theater", "towards": "toward", "tram": "streetcar"},
    **{"tyre": "tire", "upwards": "upward", "washing powder": "detergent", "whilst": "while"},
}
_BRITISH = re.compile(rf"\b({'|'.join(map(re.escape, _AMERICAN))})s?\b", re.IGNORECASE)
#: "the boss of NAME", but not "the back of NAME's head", "in front of NAME" or "all four sides of NAME".
_PARTS = "because|bottom|edge|front|middle|name|picture|sides?|sight|top|way"
_OF_NAME = re.compile(rf"\b(?:the|an?|one) (?:\w+ )?(?!(?:{_PARTS}) )\w+ of \{{agent[^}}]*\}}(?!')")
_HOLDERS = "bag|bowl|box|bucket|cup|full|glass|heap|jar|pan|pile|plate|pot|sack"
_OF_THE = re.compile(rf"\b(?:{_HOLDERS}) of \{{([^}}]*)\}}")
_SPOONS = re.compile(r"\bspoons? of (?:\{|salt|sugar)")
#: "more gloomy", but not "more money"; "more slowly" ends in -ly.
_MORE = re.compile(r"\bmore (?!energy|money|candy)(\w*[^aeioul\W]y|full|quiet|calm|kind|loud|short|tall|warm|cold|thick|thin)\b")


def check_wording(text: str, place: Place, fillers: Fillers, problems: Problems) -> None:
    """Warn of faults that readers found and that a pattern can see.

    Args:
        text: a sentence with its slots in braces.
        place: of the sentence.
        fillers: of the slots.
        problems: where warnings go.
    """
    for found in _BRITISH.finditer(KEY.sub("X", text)):
        problems.warn(place, f'"{found[0]}" is British.', f'Write "{_AMERICAN[found[1].lower()]}", or another American word.')
    for found in _OF_NAME.finditer(text):
        problems.warn(place, f'"{KEY.sub("NAME", found[0])}" is no English possessive.', "Write {agent1}'s before the noun.")
    for found in _OF_THE.finditer(text):
        if any(filler.text.startswith("the ") for filler in fillers.options(found[1])):
            problem = f'{{{found[1]}}} brings its own article: "a pot of the tea".'
            problems.warn(place, problem, "Say that it is in the pot, or use a class of fillers without articles.")
    for found in _SPOONS.finditer(text):
        problems.warn(place, f'"{found[0].partition(" of")[0]} of" counts spoons.', 'Write "spoonful" or "spoonfuls".')
    for found in _MORE.finditer(text):
        problems.warn(place, f'"more {found[1]}" has a comparative in -er.', "Write it.")


#: Words that say nothing by themselves, or that any comparison needs.
_EMPTY = frozenset(
    words(
        "a all an and are as at be been but by for from had has have in into is it less more no not of on one out than that the "
        "to was were will with"
    )
)


def check_giveaways(templates: pd.DataFrame, problems: Problems) -> None:
    """Warn of targets that differ in a word in which their contexts differ the same way: matching words then gives the answer.

    Args:
        templates: a templates table, without missing texts.
        problems: where warnings go; they name template ids only.
    """
    columns = [templates[column].tolist() for column in ("template_id", *TEXTS)]
    for template_id, *texts in zip(*columns, strict=True):
        context1, context2, target1, target2 = (dict(_stems(text)) for text in texts)
        telling = [
            own[stem]
            for own, other, fits, clashes in ((target1, target2, context1, context2), (target2, target1, context2, context1))
            for stem in own
            if stem in fits and stem not in other and stem not in clashes
        ]
        for word in telling:
            problem = f'has "{word}" in one target and in its context only.'
            problems.warn(Place("templates", 0, template_id), problem, "Say one of them in another word.")


def _stems(text: str) -> Iterator[tuple[str, str]]:
    """The words of a sentence that say something, by what is left of them without an ending."""
    for word in words(KEY.sub(" ", text)):
        if (lower := word.lower()) not in _EMPTY:
            stem = re.sub(r"(?<=\w{3})(?:ing|est|ed|en|er|ly|s)+$", "", lower)
            yield re.sub(r"(\w)\1$", r"\1", stem.removesuffix("e")), lower
