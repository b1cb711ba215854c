"""The situations of templates: contexts that say nearly the same share one, whatever fills their
slots and whichever side they stand on.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.frequency import words
from worldprobe.benchmarks.ewok.materials.slots import KEY

#: Two pairs of contexts that share at least this share of their words are of one situation
#: (Jaccard's index).
NEAR = 0.6
_ARTICLES = {"a", "an", "the"}


def name_situations(templates: pd.DataFrame) -> list[str]:
    """The name of each template's situation: domain and unit of the first template that has it,
    e.g. ``garden-work_3``.

    Args:
        templates: domain, meta_template, context1 and context2 of each template.
    """
    numbers = number_situations(templates)
    first: dict[int, str] = {}
    for number, domain, unit in zip(
        numbers.tolist(), templates["domain"], templates["meta_template"], strict=True
    ):
        first.setdefault(number, f"{domain}_{unit}")
    return [first[number] for number in numbers.tolist()]


def number_situations(templates: pd.DataFrame) -> np.ndarray:
    """The number of each template's situation, counted from 0 in row order.

    A pair of contexts is the set of its words: in lower case, without slots, articles and a final
    s. Pairs with a Jaccard index of at least ``NEAR`` are of one situation, and so are chains of
    such pairs; hence pairs of two situations always share less.

    Args:
        templates: context1 and context2 of each template, slots in braces.

    Returns:
        int64, shape (templates,).
    """
    pairs = zip(templates["context1"], templates["context2"], strict=True)
    bags = [frozenset(_words(one) | _words(other)) for one, other in pairs]
    numbers = {bag: number for number, bag in enumerate(dict.fromkeys(bags))}
    count = Counter(word for bag in numbers for word in bag)
    situation = list(range(len(numbers)))

    def first(one: int) -> int:
        while situation[one] != one:
            one = situation[one]
        return one

    # Two near pairs share a word even among the rarest of each: the other one lacks at most 1 -
    # NEAR of its words.
    with_word: dict[str, list[frozenset[str]]] = defaultdict(list)
    for bag, number in numbers.items():
        rarest = sorted(bag, key=lambda word: (count[word], word))[
            : int((1 - NEAR) * len(bag) + 1e-9) + 1
        ]
        for other in {other for word in rarest for other in with_word[word]}:
            if len(bag & other) >= NEAR * len(bag | other) - 1e-9:
                one, two = sorted((first(number), first(numbers[other])))
                situation[two] = one
        for word in rarest:
            with_word[word].append(bag)
    return pd.factorize(np.array([first(numbers[bag]) for bag in bags], dtype=np.int64))[0].astype(
        np.int64
    )


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in spelt(text) if word not in _ARTICLES}


def spelt(text: str) -> list[str]:
    """The words of a template's text in lower case, without its slots.

    >>> spelt("{agent1} can't lift {object1:large=true}.")
    ["can't", 'lift']
    """
    return [word.lower() for word in words(KEY.sub(" ", text))]


def count_parts(templates: pd.DataFrame) -> dict[str, int]:
    """Numbers of the different parts of the templates."""
    return {
        "concept_pairs": len(templates[["domain", "concept_a", "concept_b"]].drop_duplicates()),
        "situations": templates["situation"].nunique(),
        "context_pairs": len(templates[["context1", "context2"]].drop_duplicates()),
        "target_pairs": len(templates[["target1", "target2"]].drop_duplicates()),
        "concepts": len({*templates["concept_a"], *templates["concept_b"].dropna()}),
        "templates": len(templates),
    }


#: How large its templates are: these say more than their number, because templates of one pair of
#: concepts are alike.
SIZES = ("concept_pairs", "situations")


def sizes_of(templates: pd.DataFrame) -> dict[str, int]:
    """How many pairs of concepts and situations the templates are about."""
    counts = count_parts(templates)
    return {name: counts[name] for name in SIZES}
