"""Which templates mislead whoever goes by the relatedness of words: word2vec that read the other parts of the materials alone."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.benchmarks.ewok.materials.balance import spelt
from worldprobe.benchmarks.ewok.materials.split import folds
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.benchmarks.ewok.word2vec import bag_similarities, train_vectors

#: Parts that share no situation and no concept: the vectors that judge one have read the others.
N_PARTS = 5
#: The share of each domain's templates that is adversarial.
SHARE = 0.1


def choose_adversarial(templates: pd.DataFrame, seed: int = 0) -> np.ndarray:
    """Whether each template is among the tenth of its domain on which relatedness points the wrong way most.

    Args:
        templates: a Templates table.
        seed: of the vectors.

    Returns:
        a truth value per row.
    """
    margin = relatedness(templates, partial(train_vectors, seed=seed, size=50, epochs=20)).sum(axis=1)
    chosen = np.zeros(len(templates), bool)
    for found in templates.groupby("domain").indices.values():
        rows = np.asarray(found)
        worst = rows[np.argsort(margin[rows], kind="stable")]
        chosen[worst[: round(SHARE * len(rows))]] = True
    return chosen


def relatedness(templates: pd.DataFrame, train: Callable[[Collection[str]], Any]) -> np.ndarray:
    """How much closer each template's targets are to their own contexts than to the others, slots left out.

    Args:
        templates: a Templates table.
        train: makes word vectors (KeyedVectors) from contexts that are followed by their targets; those that judge a part
            have not read it.

    Returns:
        shape (templates, 2): differences of cosines.
    """
    bare = {text: [" ".join(spelt(one)) for one in templates[text]] for text in TEXTS}
    items = pd.DataFrame({"item_id": templates["template_id"], "fillers": "{}", **bare})
    parts, margin = folds(templates, N_PARTS), np.zeros((len(items), 2))
    for part in range(N_PARTS):
        read = items[parts != part]
        texts = zip(*(read[text] for text in TEXTS), strict=True)
        stories = dict.fromkeys(story for c1, c2, t1, t2 in texts for story in (f"{c1} {t1}", f"{c2} {t2}"))
        similarities, _ = bag_similarities(items[parts == part], train(stories), ())
        cosine = similarities["similarity"].fillna(0).to_numpy().reshape(-1, 4)  # in the order of word2vec.PAIRS
        margin[parts == part] = cosine[:, [0, 3]] - cosine[:, [1, 2]]
    return margin
