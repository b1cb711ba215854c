"""What can be seen of sentences without understanding them: articles, agreement, capitals, wrong labels, near-duplicates.

All of these are warnings that name a place; they quote a word or two at most, since materials may be protected.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import combinations

from worldprobe.benchmarks.ewok.baselines.words import words
from worldprobe.benchmarks.ewok.materials.compile import context_sentence, target_sentence
from worldprobe.benchmarks.ewok.materials.concepts import third_person
from worldprobe.benchmarks.ewok.materials.entries import Domain, Materials, MetaTemplate, Segment
from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.matching import targets_for
from worldprobe.benchmarks.ewok.materials.placeholders import KEY
from worldprobe.benchmarks.ewok.materials.problems import Place, Problems
from worldprobe.errors import UserError

#: Spelled with a vowel but spoken with a consonant first, and the other way round.
_SPOKEN_CONSONANT = re.compile(r"(one(?!ro)|once|uni(?!n)|use|usual|eu|ewe)", re.IGNORECASE)
_SPOKEN_VOWEL = re.compile(r"(hour|honest|honor|heir)", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(an?) (?:\{([^}]*)\}|(\w+))", re.IGNORECASE)
_SECOND_ARTICLE = re.compile(r"\b(an?|the|every|each|this) \{([^}]*)\}", re.IGNORECASE)
_DISAGREEING = re.compile(
    r"\b(?:(?:he|she|it) (?:are|have|do|were)|(?:they|we|you) (?:is|has|does|was)|(?:I) (?:is|has|does|are))\b", re.IGNORECASE
)
#: A slot that begins a clause, and the word after it; after "{agent1}, {agent2}, and" it may be a verb of several.
_SINGLE = re.compile(r"(?:^|(?<!\}), (?:and |but |so )?)\{([^}]*)\} ([a-z]+)\b")
_PLURAL = frozenset(("are", "have", "were", "do"))
_SAME_IN_THE_PAST = frozenset(("cut", "hit", "hurt", "let", "put", "set", "shut", "split", "spread"))
_COUPLE = re.compile(r"^\{[^}]*\} and \{[^}]*\} (?:is|has|does|was)\b")
_FINITE = re.compile(r"\b(?:does not|do not|did not|cannot) (\w+s)\b")
#: Words in -s that may follow an auxiliary.
_NO_VERBS = re.compile(r"(?:always|perhaps|sometimes|.*(?:ss|us|is))$")
_NEGATION = re.compile(r"\b(?:not|no|none|nobody|nothing|never|cannot|without|neither|nor)\b|n't\b", re.IGNORECASE)
#: Share of words that two contexts of the same concepts may have in common, counted without the words in which sides differ.
_NEAR = 0.8
_CAPITAL_ARTICLE = re.compile("(?:The|An?|Some|My|Your|His|Her|Its|Our|Their) (?=[a-z])")
#: Fillers among which one that is spelt otherwise shows nothing.
_FEW = 3


def check_sentences(materials: Materials) -> None:
    """Note in ``materials.problems`` what looks wrong in the sentences of all domains."""
    fillers = Fillers(materials.fillers, materials.rules)
    _check_fillers(materials)
    sentences = {domain.name: list(_sentences(domain, materials)) for domain in materials.domains}
    singular = _singular_verbs(materials, (text for texts in sentences.values() for _, text in texts))
    for domain in materials.domains:
        texts = sentences[domain.name]
        usual = Counter(word for _, text in texts for word in words(KEY.sub("x", text))[1:] if word.islower())
        for place, text in dict.fromkeys(texts):
            _check_articles(text, place, fillers, materials.problems)
            _check_agreement(text, place, fillers, singular, materials.problems)
            _check_capitals(text, place, usual, materials.problems)
        for meta in domain.meta_templates:
            _check_labels(meta, materials.problems)
            _check_likeness(meta, materials.problems)


def _check_fillers(materials: Materials) -> None:
    """Fillers with a capital that only the beginning of a sentence has, or a small letter among names."""
    for known in materials.fillers.values():
        texts = [filler.text for filler in known.fillers]
        small = [text for text in texts if text[0].islower()]
        for text in texts:
            if article := _CAPITAL_ARTICLE.match(text):
                problem = f'the filler "{text}" has a capital that it would keep inside a sentence.'
                materials.problems.warn(known.place, problem, f'Write "{article[0].lower()}{text[article.end() :]}".')
        if len(small) == 1 and len(texts) > _FEW:
            problem = f'the filler "{small[0]}" begins with a small letter, all others with a capital.'
            materials.problems.warn(known.place, problem, "Write it like the others.")


def _sentences(domain: Domain, materials: Materials) -> Iterator[tuple[Place, str]]:
    """All targets with all concepts that they serve, and all contexts, with their slots in braces."""
    for meta in domain.meta_templates:
        pair = [domain.concepts[name] for name in (meta.concept_a, meta.concept_b) if name in domain.concepts]
        if pair:
            try:
                served = list(targets_for(domain.targets, pair[0], pair[1] if len(pair) > 1 else None, materials.rules))
            except UserError:
                served = []  # Noted elsewhere.
            yield from ((t.place, target_sentence(t.pattern, concept, t, materials.rules)) for t in served for concept in pair)
        for probe in meta.probes:
            for segment in probe.segments:
                yield from ((segment.place, text) for text in _sides(probe.pattern, segment))


def _sides(pattern: str, segment: Segment) -> list[str]:
    """The contexts of a segment; none where texts are missing, which is noted elsewhere."""
    n_places = len(set(re.findall(r"\{segment\d+\}", pattern)))
    given = [texts for texts in (segment.texts_a, segment.texts_b) if texts is not None and len(texts) >= n_places]
    return [context_sentence(pattern, texts, segment) for texts in given]


def begins_with_vowel_sound(word: str) -> bool:
    """Whether "an" goes before a word.

    >>> [begins_with_vowel_sound(w) for w in ("apple", "hour", "unicorn", "uninvited", "one", "house")]
    [True, True, False, True, False, False]
    """
    if _SPOKEN_CONSONANT.match(word):
        return False
    return word[0].lower() in "aeiou" or bool(_SPOKEN_VOWEL.match(word))


def _check_articles(text: str, place: Place, fillers: Fillers, problems: Problems) -> None:
    for article, key, word in _ARTICLE.findall(text):
        followers = [f.text for f in fillers.options(key)] if key else [word]
        wrong = [w for w in followers if (article.lower() == "an") != begins_with_vowel_sound(w)]
        if wrong:
            count = f" and {len(wrong) - 1} other fillers" if len(wrong) > 1 else ""
            fix = "Write the other article, or restrict the slot to fillers that it suits."
            problems.warn(place, f'"{article}" does not suit "{wrong[0]}"{count}.', fix)
    for article, key in _SECOND_ARTICLE.findall(text):
        double = [f.text for f in fillers.options(key) if re.match(r"(?:an?|the) ", f.text, re.IGNORECASE)]
        if double:
            problem = f'"{article}" is before {{{key}}}, whose fillers bring their own article.'
            problems.warn(place, problem, "Leave one of the two out.")


def _singular_verbs(materials: Materials, texts: Iterable[str]) -> frozenset[str]:
    """What these materials say of one person ("walks"), and the third persons of their actions."""
    said = {verb for text in texts for _, verb in _SINGLE.findall(text)}
    actions = (c.name for domain in materials.domains for c in domain.concepts.values() if c.kind == "action")
    return frozenset(said | {third_person(name, materials.rules) for name in actions})


def _check_agreement(text: str, place: Place, fillers: Fillers, singular: Collection[str], problems: Problems) -> None:
    fix = "Make subject and verb agree in number."
    for key, verb in _SINGLE.findall(text):
        is_bare = third_person(verb, fillers.rules) in singular and verb not in _SAME_IN_THE_PAST
        if verb not in _PLURAL and not is_bare:
            continue
        names = [filler.text for filler in fillers.options(key)]
        if names and all(name[0].isupper() and " " not in name for name in names):
            problems.warn(place, f'"{verb}" does not agree with {{{key}}}, one person.', fix)
    for pattern in (_DISAGREEING, _COUPLE):
        if found := pattern.search(text):
            problems.warn(place, f'"{" ".join(KEY.sub("...", found[0]).split()[-2:])}" does not agree.', fix)
    for verb in _FINITE.findall(text):
        if not _NO_VERBS.match(verb):
            problems.warn(place, f'"{verb}" follows a negated auxiliary, which takes the bare verb.', "Write it without the -s.")


def _check_capitals(text: str, place: Place, usual: Counter[str], problems: Problems) -> None:
    """A capital in a word that is written small elsewhere in the domain (two in a row are taken for a name), or inside a word."""
    spelt = words(KEY.sub("x", text))
    for number, word in enumerate(spelt):
        near = [other for other in (*spelt[1:number][-1:], *spelt[number + 1 : number + 2]) if other[0].isupper()]
        if number and word[0].isupper() and not near and usual[word.lower()]:
            problems.warn(place, f'"{word}" has a capital inside the sentence, but not elsewhere.', "Write it small.")
        if re.search(r"[a-z][A-Z]", word):
            problems.warn(place, f'"{word}" has a capital inside the word.', "Correct it.")


def _check_labels(meta: MetaTemplate, problems: Problems) -> None:
    """A negation that is labelled as something else, or something else labelled as a negation."""
    for segment in (s for probe in meta.probes for s in probe.segments if s.texts_a and s.texts_b):
        label = (segment.contrast or "").replace("_", " ")
        both = list(zip(segment.texts_a or (), segment.texts_b or (), strict=False))
        negated = [bool(_NEGATION.search(a)) != bool(_NEGATION.search(b)) for a, b in both]
        if label == "negation" and not any(negated):
            if not any(_is_negated_inside(a, b) or _is_negated_inside(b, a) for a, b in both):
                problem = 'is labelled "negation", but no side negates the other.'
                problems.warn(segment.place, problem, "Name the contrast that it is.")
        elif label == "antonym" and any(negated) and all(_bare(a) == _bare(b) for a, b in both):
            problems.warn(segment.place, 'is labelled "antonym", but one side only negates the other.', 'Write "negation".')


def _is_negated_inside(text: str, other: str) -> bool:
    """Whether a word of the text is a word of the other with a negating prefix, or one that hardly leaves anything."""
    plain = {word.lower() for word in words(other)}
    found = {word.lower() for word in words(text)}
    return bool(found & {"hardly", "few", "still"}) or any(
        word.startswith(prefix) and word.removeprefix(prefix) in plain for word in found for prefix in ("un", "in", "im", "dis")
    )


def _bare(text: str) -> frozenset[str]:
    """Words without negation and auxiliaries, verbs without -s."""
    return frozenset(
        w.lower().removesuffix("s") for w in words(_NEGATION.sub(" ", text)) if w.lower() not in {"do", "does", "did", "can"}
    )


def _check_likeness(meta: MetaTemplate, problems: Problems) -> None:
    """Two contexts of the same concepts that say nearly the same."""
    known = []
    for probe in meta.probes:
        for segment in probe.segments:
            known.append((probe, segment, [_key_words(text) for text in _sides(probe.pattern, segment)]))
    for (probe_a, a, sides_a), (probe_b, b, sides_b) in combinations(known, 2):
        if probe_a is probe_b or len(sides_a) != len(sides_b) or not sides_a:
            continue
        if min(_overlap(x, y) for x, y in zip(sides_a, sides_b, strict=True)) >= _NEAR:
            problem = f"says nearly the same as line {a.place.line} for the same concepts."
            problems.warn(b.place, problem, "Remove one, or describe another situation.")


def _key_words(text: str) -> Counter[str]:
    return Counter(w.lower().removesuffix("s") for w in words(text) if w.lower() not in {"a", "an", "the"})


def _overlap(a: Counter[str], b: Counter[str]) -> float:
    return sum((a & b).values()) / max(sum((a | b).values()), 1)
