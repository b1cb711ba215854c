"""Checks that a rule can make: unnatural sentences, templates that contradict one another, words
that give an answer away.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import pandas as pd
from wordfreq import available_languages, top_n_list

from worldprobe.benchmarks.ewok.frequency import words
from worldprobe.benchmarks.ewok.materials.check import check_materials, warn_of_few_fillers
from worldprobe.benchmarks.ewok.materials.compile import (
    compile_families,
    compile_templates,
    context_sentence,
    target_sentence,
    targets_for,
    without_template,
)
from worldprobe.benchmarks.ewok.materials.documents import MaterialsLine, Problems
from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.language import ENGLISH, Language
from worldprobe.benchmarks.ewok.materials.materials import Domain, Materials, MetaTemplate, Segment
from worldprobe.benchmarks.ewok.materials.opened import check_slots, open_templates
from worldprobe.benchmarks.ewok.materials.slots import KEY, braces, split_form
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.errors import UserError
from worldprobe_authoring.agreement import check_agreement

_COUPLE = re.compile(r"(\{[^}]*\}) and (\{[^}]*\})")


def check_templates(templates: pd.DataFrame, problems: Problems) -> None:
    """Warn of templates that contradict or repeat one another.

    Args:
        templates: a templates table, without missing texts.
        problems: where warnings go; they name template ids only.
    """
    asked: dict[tuple[str, ...], str] = {}
    fits: dict[tuple[str, ...], str] = {}
    clashes: dict[tuple[str, ...], str] = {}
    columns = [templates[column].tolist() for column in ("template_id", "domain", *TEXTS)]
    for template_id, domain, context1, context2, target1, target2 in zip(*columns, strict=True):
        for texts in (
            (context1, context2, target1, target2),
            (context2, context1, target2, target1),
        ):
            first = asked.setdefault((domain, *texts), template_id)
            if first != template_id:
                _warn(
                    problems,
                    template_id,
                    f"asks the same as {first}, perhaps with its two sides exchanged.",
                )
        for book, pairs in (
            (fits, ((context1, target1), (context2, target2))),
            (clashes, ((context1, target2), (context2, target1))),
        ):
            for context, target in pairs:
                book.setdefault(impersonal(context, target), template_id)
    for pair in fits.keys() & clashes.keys():
        fitting, clashing = fits[pair], clashes[pair]
        problem = (
            f"rules out a target after a context that calls for it in {fitting}: the sides of one"
            " of them are exchanged."
        )
        if fitting == clashing:
            problem = (
                "rules out a target after the context that calls for it: its two sides say the"
                " same."
            )
        _warn(problems, clashing, problem)


def _warn(problems: Problems, template_id: str, problem: str) -> None:
    problems.warn(
        MaterialsLine("templates", 0, template_id),
        problem,
        "Look at the contexts, and at symmetric, of these concepts.",
    )


def impersonal(*texts: str) -> tuple[str, ...]:
    """The texts with their variables renumbered in the order in which they appear, and "X and Y"
    the same as "Y and X".

    >>> impersonal("{agent2} sees {agent1}", "{agent1} waves")
    ('{agent_0:} sees {agent_1:}', '{agent_1:} waves')
    """
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        form, key = split_form(match[1])
        variable, _, restrictions = key.partition(":")
        name = names.setdefault(
            variable, f"{variable.rstrip('0123456789')}_{len(names)}:{restrictions}"
        )
        return f"{{{form} {name}}}" if form else f"{{{name}}}"

    return tuple(
        KEY.sub(rename, _COUPLE.sub(lambda m: " and ".join(sorted(m.groups())), text))
        for text in texts
    )


#: Spelled with a vowel but spoken with a consonant first, and the other way round.
_SPOKEN_CONSONANT = re.compile(r"(one(?!ro)|once|uni(?!n)|use|usual|eu|ewe)", re.IGNORECASE)
_SPOKEN_VOWEL = re.compile(r"(hour|honest|honor|heir)", re.IGNORECASE)
#: What is spelled out, and the letters whose names begin with a vowel.
_SPELLED = re.compile(r"\w|[A-Z]{2,3}")
_VOWEL_NAMES = "aefhilmnorsx"
_ARTICLE = re.compile(r"\b(an?) (?:\{([^}]*)\}|(\w+))", re.IGNORECASE)
_SECOND_ARTICLE = re.compile(r"\b(an?|the|every|each|this) \{([^}]*)\}", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(?:not|no|none|nobody|nothing|never|cannot|without|neither|nor)\b|n't\b", re.IGNORECASE
)
#: Share of words that two contexts of the same concepts may have in common, counted without the
#: words in which sides differ.
_NEAR = 0.8


def check_sentences(materials: Materials) -> None:
    """Note in the materials' ``problems`` what looks wrong in the fillers and in the sentences of
    all domains.
    """
    fillers = Fillers(materials.fillers, materials.rules)
    is_english = materials.rules.language.is_english

    def check(text: str, line: MaterialsLine) -> None:
        if not is_english:
            check_agreement(text, line, fillers, materials.problems)
            return
        _check_articles(text, line, fillers, materials.problems)
        check_wording(text, line, fillers, materials.problems)

    for filler_class in fillers.classes.values() if is_english else ():
        for filler in filler_class.fillers:
            check_wording(
                filler.text, MaterialsLine(filler_class.place.file), fillers, materials.problems
            )
    for domain in materials.domains:
        for line, text in dict.fromkeys(_sentences(domain, materials)):
            check(text, line)
        for meta in domain.meta_templates:
            if is_english:
                _check_labels(meta, materials.problems)
                _check_shared(meta, materials.problems)
            _check_likeness(meta, materials.problems)
    for base in (base for bases in materials.families.values() for base in bases):
        for pair, line in (
            (base.targets, base.place),
            *((level.contexts, level.place) for level in base.levels),
        ):
            for text in pair:
                check(braces(text), line)


def _sentences(domain: Domain, materials: Materials) -> Iterator[tuple[MaterialsLine, str]]:
    """All targets with all concepts that they serve, and all contexts, with their slots in
    braces.
    """
    for meta in domain.meta_templates:
        pair = [
            domain.concepts[name]
            for name in (meta.concept_a, meta.concept_b)
            if name in domain.concepts
        ]
        if pair:
            try:
                served = list(
                    targets_for(
                        domain.targets, pair[0], pair[1] if len(pair) > 1 else None, materials.rules
                    )
                )
            except UserError:
                served = []  # Noted elsewhere.
            yield from (
                (t.place, target_sentence(t.pattern, concept, t, materials.rules))
                for t in served
                for concept in pair
            )
        for probe in meta.probes:
            for segment in probe.segments:
                yield from ((segment.place, text) for text in _sides(probe.pattern, segment))


def _sides(pattern: str, segment: Segment) -> list[str]:
    """The contexts of a segment; none where texts are missing, which is noted elsewhere."""
    n_places = len(set(re.findall(r"\{segment\d+\}", pattern)))
    given = [
        texts
        for texts in (segment.texts_a, segment.texts_b)
        if texts is not None and len(texts) >= n_places
    ]
    return [context_sentence(pattern, texts, segment) for texts in given]


def begins_with_vowel_sound(word: str) -> bool:
    """Whether "an" goes before a word.

    >>> [
    ...     begins_with_vowel_sound(w)
    ...     for w in ("apple", "hour", "unicorn", "uninvited", "one", "house", "X", "SUV", "UFO")
    ... ]
    [True, True, False, True, False, False, True, True, False]
    """
    if _SPELLED.fullmatch(word):
        return word[0].lower() in _VOWEL_NAMES
    if _SPOKEN_CONSONANT.match(word):
        return False
    return word[0].lower() in "aeiou" or bool(_SPOKEN_VOWEL.match(word))


def _check_articles(text: str, line: MaterialsLine, fillers: Fillers, problems: Problems) -> None:
    for article, key, word in _ARTICLE.findall(text):
        followers = [f.text for f in fillers.options(key)] if key else [word]
        wrong = [w for w in followers if (article.lower() == "an") != begins_with_vowel_sound(w)]
        if wrong:
            count = f" and {len(wrong) - 1} other fillers" if len(wrong) > 1 else ""
            fix = "Write the other article, or restrict the slot to fillers that it suits."
            problems.warn(line, f'"{article}" does not suit "{wrong[0]}"{count}.', fix)
    for article, key in _SECOND_ARTICLE.findall(text):
        double = [
            f.text for f in fillers.options(key) if re.match(r"(?:an?|the) ", f.text, re.IGNORECASE)
        ]
        if double:
            problem = f'"{article}" is before {{{key}}}, whose fillers bring their own article.'
            problems.warn(line, problem, "Leave one of the two out.")


def _check_labels(meta: MetaTemplate, problems: Problems) -> None:
    """A typed label: a negation that is labelled as something else, something else labelled as a
    negation, and names that change places under another label. One that is left out is computed.
    """
    for probe, segment in ((p, s) for p in meta.probes for s in p.segments if s.texts_b):
        if "contrast" not in segment.model_fields_set:
            continue
        label, sides = (segment.contrast or "").replace("_", " "), _sides(probe.pattern, segment)
        both = list(zip(segment.texts_a or (), segment.texts_b or (), strict=False))
        negated = [bool(_NEGATION.search(a)) != bool(_NEGATION.search(b)) for a, b in both]
        if label == "negation" and len({len(_NEGATION.findall(side)) for side in sides}) == 1:
            if not any(_is_negated_inside(a, b) or _is_negated_inside(b, a) for a, b in both):
                problem = 'is labelled "negation", but neither side says "not" oftener.'
                problems.warn(segment.place, problem, "Name the contrast that it is.")
        elif label == "antonym" and any(negated) and all(_bare(a) == _bare(b) for a, b in both):
            problems.warn(
                segment.place,
                'is labelled "antonym", but one side only negates the other.',
                'Write "negation".',
            )
        words_and_names = {(KEY.sub("", side), *sorted(KEY.findall(side))) for side in sides}
        if label != "variable swap" and len(words_and_names) == 1:
            problem = "exchanges names, but is not labelled so."
            problems.warn(segment.place, problem, 'Write "variable_swap".')


#: What the two contexts of a pair share, though it can fit one of them only.
_ONE_SIDED = re.compile(
    r"(?<!just )\b(?:too|as well)(?=[.,]|$)|\b(?:al)?though\b|^After(?:ward| this| that)\b",
    re.IGNORECASE,
)


def _check_shared(meta: MetaTemplate, problems: Problems) -> None:
    """An additive or concessive word in what both contexts share, and an opening that refers to
    nothing.
    """
    for probe in meta.probes:
        if match := _ONE_SIDED.search(probe.pattern):
            problem = f'both contexts say "{match[0]}", which suits one of them at most.'
            problems.warn(probe.place, problem, "Leave it out, or move it into a segment.")


#: What is over, for a target that is going on.
_OVER = re.compile(
    r"^(?:A moment ago|After (?:they|the (?:crime|deal|drop|load|talk|throw)))\b"
    r"|\b(?:has been called off|has (?:ended|stopped))\b"
)
_GOING_ON = re.compile(r"\b(?:is|are) (?:\w+ly )?\w+ing\b")


def _check_tense(templates: pd.DataFrame, problems: Problems) -> None:
    """Targets in progress after their context has said that it is over."""
    columns = [templates[column].tolist() for column in ("template_id", *TEXTS)]
    for template_id, context1, context2, target1, target2 in zip(*columns, strict=True):
        over = _OVER.search(context1) or _OVER.search(context2)
        if over and _GOING_ON.search(target1) and _GOING_ON.search(target2):
            problem = f'is about something in progress after "{over[0]}".'
            problems.warn(
                MaterialsLine("templates", 0, template_id),
                problem,
                "Say what will be, or what is seen.",
            )


def _is_negated_inside(text: str, other: str) -> bool:
    """Whether a word of the text is a word of the other with a negating prefix, or one that hardly
    leaves anything.
    """
    plain = {word.lower() for word in words(other)}
    lower_words = {word.lower() for word in words(text)}
    return bool(lower_words & {"hardly", "few", "still"}) or any(
        word.startswith(prefix) and word.removeprefix(prefix) in plain
        for word in lower_words
        for prefix in ("un", "in", "im", "dis")
    )


def _bare(text: str) -> frozenset[str]:
    """Words without negation and auxiliaries, verbs without -s."""
    return frozenset(
        w.lower().removesuffix("s")
        for w in words(_NEGATION.sub(" ", text))
        if w.lower() not in {"do", "does", "did", "can"}
    )


def _check_likeness(meta: MetaTemplate, problems: Problems) -> None:
    """Two contexts of the same concepts that say nearly the same."""
    probes = []
    for probe in meta.probes:
        for segment in probe.segments:
            probes.append(
                (probe, segment, [_key_words(text) for text in _sides(probe.pattern, segment)])
            )
    for (probe_a, a, sides_a), (probe_b, b, sides_b) in combinations(probes, 2):
        if probe_a is probe_b or len(sides_a) != len(sides_b) or not sides_a:
            continue
        if min(_overlap(x, y) for x, y in zip(sides_a, sides_b, strict=True)) >= _NEAR:
            problem = f"says nearly the same as line {a.place.line} for the same concepts."
            problems.warn(b.place, problem, "Remove one, or describe another situation.")


def _key_words(text: str) -> Counter[str]:
    return Counter(
        w.lower().removesuffix("s") for w in words(text) if w.lower() not in {"a", "an", "the"}
    )


def _overlap(a: Counter[str], b: Counter[str]) -> float:
    return sum((a & b).values()) / max(sum((a | b).values()), 1)


def check_all(materials: Materials, versions: int) -> tuple[int, int]:
    """Everything that can be known without filling: the entries, then the templates that come of
    them.

    Returns:
        The number of templates of pairs of concepts and of families; 0 where errors keep them from
        being compiled.
    """
    check_materials(materials)
    if materials.problems.errors():
        return 0, 0
    fillers = Fillers(materials.fillers, materials.rules)
    templates = compile_templates(materials)
    slots = open_templates(templates, fillers)
    check_slots(slots, fillers, materials.problems)
    warn_of_few_fillers(slots, fillers, versions, materials.problems)
    check_sentences(materials)
    check_templates(templates, materials.problems)
    check_giveaways(templates, materials.problems, materials.rules.language)
    if materials.rules.language.is_english:
        _check_tense(templates, materials.problems)
    for line in without_template(materials):
        fix = (
            "Add a context with the target's slots; the target's criteria must hold for both"
            " concepts."
        )
        materials.problems.warn(line, "makes no template: no context fits a target.", fix)
    if not materials.families:
        return len(templates), 0
    of_families = compile_families(materials)
    check_slots(open_templates(of_families, fillers), fillers, materials.problems)
    check_templates(of_families, materials.problems)
    check_giveaways(of_families, materials.problems, materials.rules.language)
    return len(templates), len(of_families)


#: British word or spelling -> American one.
_AMERICAN = {
    **{
        "afterwards": "afterward",
        "aluminium": "aluminum",
        "backwards": "backward",
        "banknote": "bill",
        "bookshop": "bookstore",
    },
    **{
        "bouncy castle": "bounce house",
        "centre": "center",
        "cheque": "check",
        "cinema": "movie theater",
        "colour": "color",
    },
    **{
        "cosy": "cozy",
        "cotton wool": "cotton",
        "favourite": "favorite",
        "fill in a form": "fill out a form",
    },
    **{
        "fills in a form": "fills out a form",
        "flavour": "flavor",
        "fortnight": "two weeks",
        "forwards": "forward",
    },
    **{
        "grey": "gray",
        "hairdresser's": "hair salon",
        "harbour": "harbor",
        "jewellery": "jewelry",
        "kerb": "curb",
    },
    **{
        "learnt": "learned",
        "lorry": "truck",
        "metre": "meter",
        "mould": "mold",
        "neighbour": "neighbor",
    },
    **{
        "pavement": "sidewalk",
        "petrol": "gas",
        "plough": "plow",
        "pyjamas": "pajamas",
        "racing car": "race car",
    },
    **{"railway": "railroad", "rubbish": "trash"},
    **{
        "spilt": "spilled",
        "tea towel": "dish towel",
        "theatre": "theater",
        "towards": "toward",
        "tram": "streetcar",
    },
    **{"tyre": "tire", "upwards": "upward", "washing powder": "detergent", "whilst": "while"},
}
_BRITISH = re.compile(rf"\b({'|'.join(map(re.escape, _AMERICAN))})s?\b", re.IGNORECASE)
#: "the boss of NAME", but not "the back of NAME's head", "in front of NAME" or "all four sides of
#: NAME".
_PARTS = (
    "because|bottom|company|drawing|edge|fear|front|left|memory|middle|name|photo|picture|rest"
    "|right|sides?|sight|story|top|view|way"
)
_OF_NAME = re.compile(rf"\b(?:the|an?|one) (?:\w+ )?(?!(?:{_PARTS}) )\w+ of \{{agent[^}}]*\}}(?!')")
_HOLDERS = "bag|bowl|box|bucket|cup|full|glass|heap|jar|pan|pile|plate|pot|sack"
_OF_THE = re.compile(rf"\b(?:{_HOLDERS}) of \{{([^}}]*)\}}")
_SPOONS = re.compile(r"\bspoons? of (?!metal|plastic|silver|steel|wood)")
#: "more gloomy", but not "more money" or "more thick blankets"; "more slowly" ends in -ly.
_MORE = re.compile(
    r"\bmore (?!candy|energy|jewelry|money|study)"
    r"(\w*[^aeioul\W]y|big|calm|cold|dark|deep|fast|full|hard|high|kind|large|long|loud|old|quiet"
    r"|rich|short|slow|small|soft|strong|tall|thick|thin|warm|weak|wise|young)"
    r"(?=$|[.,]| (?:about|and|at|for|in|on|or|than|to|today|when|with)\b)"
)


def check_wording(text: str, place: MaterialsLine, fillers: Fillers, problems: Problems) -> None:
    """Warn of faults that readers found and that a pattern can see.

    Args:
        text: a sentence with its slots in braces.
        place: of the sentence.
        fillers: of the slots.
        problems: where warnings go.
    """
    for match in _BRITISH.finditer(KEY.sub("X", text)):
        problems.warn(
            place,
            f'"{match[0]}" is British.',
            f'Write "{_AMERICAN[match[1].lower()]}", or another American word.',
        )
    for match in _OF_NAME.finditer(text):
        problems.warn(
            place,
            f'"{KEY.sub("NAME", match[0])}" is no English possessive.',
            "Write {agent1}'s before the noun.",
        )
    for match in _OF_THE.finditer(text):
        if any(filler.text.startswith("the ") for filler in fillers.options(match[1])):
            problem = f'{{{match[1]}}} brings its own article: "a pot of the tea".'
            problems.warn(
                place,
                problem,
                "Say that it is in the pot, or use a class of fillers without articles.",
            )
    for match in _SPOONS.finditer(text):
        problems.warn(
            place,
            f'"{match[0].partition(" of")[0]} of" counts spoons.',
            'Write "spoonful" or "spoonfuls".',
        )
    for match in _MORE.finditer(text):
        problems.warn(place, f'"more {match[1]}" has a comparative in -er.', "Write it.")


#: Words that say nothing by themselves, or that any comparison needs.
_EMPTY = frozenset(
    words(
        "a all an and are as at be been but by for from had has have in into is it less more no not"
        " of on one out than that the to was were will with"
    )
)


def check_giveaways(
    templates: pd.DataFrame, problems: Problems, language: Language = ENGLISH
) -> None:
    """Warn of targets that differ in a word in which their contexts differ the same way: matching
    words then gives the answer.

    Args:
        templates: a templates table, without missing texts.
        problems: where warnings go; they name template ids only.
        language: of the templates; in others than English the hundred commonest words tell nothing.
    """
    empty = _EMPTY
    if not language.is_english and language.language in available_languages():
        empty = frozenset(top_n_list(language.language, 100))
    columns = [templates[column].tolist() for column in ("template_id", *TEXTS)]
    for template_id, *texts in zip(*columns, strict=True):
        context1, context2, target1, target2 = (dict(_stems(text, empty)) for text in texts)
        telling = [
            target[stem]
            for target, other, fits, clashes in (
                (target1, target2, context1, context2),
                (target2, target1, context2, context1),
            )
            for stem in target
            if stem in fits and stem not in other and stem not in clashes
        ]
        for word in telling:
            problem = f'has "{word}" in one target and in its context only.'
            problems.warn(
                MaterialsLine("templates", 0, template_id),
                problem,
                "Say one of them in another word.",
            )


def _stems(text: str, empty: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The words of a sentence that say something, by what is left of them without an ending."""
    for word in words(KEY.sub(" ", text)):
        if (lower := word.lower()) not in empty:
            stem = re.sub(r"(?<=\w{3})(?:ing|est|ed|en|er|ly|s)+$", "", lower)
            yield re.sub(r"(\w)\1$", r"\1", stem.removesuffix("e")), lower
