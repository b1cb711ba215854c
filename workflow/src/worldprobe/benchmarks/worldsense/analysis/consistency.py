"""How consistent a model is across skins: whether one abstract problem gets the same answer in other words.

Two trials are the same abstract trial when problem, size, description and query agree letter by letter. *Agreement* is the
share of pairs in different skins that got the same answer (1 and 2 apart), the mean over abstract trials. *Consistency* is
agreement beyond that of a model that answers with the same frequencies but whatever the question: (agreement - chance) /
(1 - chance), as Cohen's kappa. It needs no gold answer: a model can be consistently wrong.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from worldprobe.benchmarks.worldsense.analysis.answers import Series
from worldprobe.benchmarks.worldsense.analysis.questions import ABSENT, WORDS, Questions


def measure_consistency(name: str, questions: Questions, series: Series) -> pd.DataFrame:
    """Agreement and consistency by problem, and their means over problems, as rows of ``contracts.Summaries``.

    Args:
        name: of the set.
        questions: its trials.
        series: answers of one model; the first sample counts.
    """
    abstract = questions.abstract
    skin = questions.tuples["skin"].cat.codes.to_numpy()[questions.tuple_of]
    problem = questions.tuples["problem"].cat.codes.to_numpy()[questions.tuple_of]
    answers = series.answers[0].astype(np.int64)
    asked = answers != ABSENT
    rows = []
    for code, title in enumerate(questions.tuples["problem"].cat.categories):
        here = asked & (problem == code)
        agreement, chance, n_abstract = _agree(abstract[here], skin[here], answers[here] + 1)
        if n_abstract:
            beyond = (agreement - chance) / (1 - chance) if chance < 1 else np.nan
            rows.append(
                {"grouping": "problem", "group": title, "agreement": agreement, "consistency": beyond, "count": n_abstract}
            )
    if rows:
        whole = pd.DataFrame(rows)
        means = {measure: whole[measure].mean() for measure in ("agreement", "consistency")}
        rows.append({"grouping": "all", "group": "all", **means, "count": int(whole["count"].sum())})
    wide = pd.DataFrame(rows, columns=["grouping", "group", "agreement", "consistency", "count"])
    blocks = []
    for measure in ("agreement", "consistency"):
        block = wide[["grouping", "group", "count"]].assign(mean=wide[measure].astype(float), measure=measure, gold="released")
        blocks.append(block.assign(set=name, prompting=series.prompting, model=series.model))
    table = pd.concat(blocks, ignore_index=True)
    return table.assign(sem=np.nan, conf95=np.nan, ci_low=np.nan, ci_high=np.nan).astype({"count": int})


def _agree(abstract: np.ndarray, skin: np.ndarray, answers: np.ndarray) -> tuple[float, float, int]:
    """Agreement, what chance makes of it, and the number of abstract trials with several skins."""
    if not len(abstract):
        return np.nan, np.nan, 0
    _, trial = np.unique(abstract, return_inverse=True)
    n_words = len(WORDS) + 1
    n_skins = int(skin.max()) + 1

    def pairs(*parts: tuple[np.ndarray, int]) -> np.ndarray:
        """Pairs of trials that agree in all parts, by abstract trial."""
        code = trial.astype(np.int64)
        for part, size in parts:
            code = code * size + part
        _, first, counts = np.unique(code, return_index=True, return_counts=True)
        return np.bincount(trial[first], counts * (counts - 1) / 2, int(trial.max()) + 1)

    other_skin = pairs() - pairs((skin, n_skins))
    same_answer = pairs((answers, n_words)) - pairs((answers, n_words), (skin, n_skins))
    known = other_skin > 0
    if not known.any():
        return np.nan, np.nan, 0
    shares = np.bincount(answers, minlength=n_words) / len(answers)
    return float((same_answer[known] / other_skin[known]).mean()), float((shares**2).sum()), int(known.sum())
