"""Whether intervals of people's answers hold, and plans of raters."""

from dataclasses import replace

import numpy as np
import pandas as pd
from comparisons import unequal
from people_intervals import measure_coverage
from scipy.optimize import brentq
from scipy.special import expit
from studies import labels, mean_of, percent, table

from worldprobe.analysis.clusters import crossed_means
from worldprobe_lab.power import SOURCES, RaterModel, plan, variances_with_people
from worldprobe_survey.cleaning import reliability_of_answers

N_PAIRS, N_TEMPLATES, N_VERSIONS = 40, 400, 5
#: Ratings of each sentence, and versions, of pilots.
N_PILOT, N_PILOT_VERSIONS = 5, 20
#: Of a target's mean difference of ratings: its mean, and standard deviations by pair, template,
#: version and target; of one rating.
CLEAR, SD_PAIR, SD_TEMPLATE, SD_VERSION, SD_TARGET, SD_RATING = 1.6, 0.3, 0.5, 0.05, 0.5, 1.5
#: The model's log odds by such a difference, and their own parts by pair and version.
SLOPE, SD_OF_MODEL, SD_OF_VERSION = 0.8, 0.2, 0.05
PAIR = unequal(N_PAIRS, N_TEMPLATES)
_WHOLE = float(np.linalg.norm((SD_PAIR, SD_TEMPLATE, SD_VERSION, SD_TARGET)))


def _answers(
    rng: np.random.Generator, clear: np.ndarray, log_odds: np.ndarray, n_raters: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differences of people's mean ratings, their squared errors, and the model's answers."""
    sides = [
        np.clip(
            np.round(
                3
                + side * clear[..., None] / 2
                + SD_RATING * rng.standard_normal((*clear.shape, n_raters), dtype=np.float32)
            ),
            1,
            5,
        )
        for side in (1, -1)
    ]
    squares = sum(side.var(axis=-1, ddof=min(n_raters - 1, 1)) / n_raters for side in sides)
    right = (rng.random(clear.shape) < expit(log_odds)).astype(float)
    return sides[0].mean(axis=-1) - sides[1].mean(axis=-1), squares, right


def _study(
    rng: np.random.Generator, n_raters: int, shift: float, versions: int = N_VERSIONS
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``_answers`` of a study, shape (2 targets, templates, versions)."""
    normal = rng.standard_normal
    clear = CLEAR + SD_PAIR * normal(N_PAIRS)[PAIR][:, None] + SD_TEMPLATE * normal((len(PAIR), 1))
    clear = clear + SD_VERSION * normal(versions) + SD_TARGET * normal((2, len(PAIR), versions))
    own = SD_OF_MODEL * normal(N_PAIRS)[PAIR][:, None] + SD_OF_VERSION * normal(versions)
    return _answers(rng, clear, SLOPE * clear + own + shift, n_raters)


def _is_right(differences: np.ndarray) -> np.ndarray:
    return (np.sign(differences) + 1) / 2


def _shift(n_raters: int, difference: float) -> tuple[float, float]:
    """What moves the model so far below people, and people's accuracy."""
    rng = np.random.default_rng(1)
    clear = CLEAR + _WHOLE * rng.standard_normal(500_000)
    people = float(_is_right(_answers(rng, clear, clear, n_raters)[0]).mean())
    spread = float(np.linalg.norm((SLOPE * _WHOLE, SD_OF_MODEL, SD_OF_VERSION)))
    middle = brentq(lambda x: mean_of(x, spread) - people + difference, -20, 20)
    return middle - SLOPE * CLEAR, people


@table(quick=40, page=1000)
def raters(n: int) -> pd.DataFrame:
    """Whether the difference that a plan of raters promises for a power of 80% is found."""
    columns = {}
    for n_raters in (1, 2, 3, 5, 10, 20):
        rng, pilots = np.random.default_rng(n_raters), []
        for _ in range(min(n, 30)):
            pilot = _study(rng, N_PILOT, _shift(n_raters, 0.05)[0], N_PILOT_VERSIONS)
            values = np.stack([_is_right(pilot[0]).mean(axis=0), pilot[2].mean(axis=0)])
            model = RaterModel.of(pilot[0].ravel(), pilot[1].ravel(), N_PILOT)
            pilots.append(variances_with_people(values, PAIR, model, n_raters))
        means = {name: float(np.mean([getattr(one, name) for one in pilots])) for name in SOURCES}
        planned = plan(replace(pilots[0], **means), 0.02, [N_PAIRS], [N_VERSIONS])
        difference = float(planned["detectable"].iloc[0])
        shift, people = _shift(n_raters, difference)
        studies = (_study(rng, n_raters, shift) for _ in range(n))
        values = [(_is_right(d) - right).mean(axis=0).ravel() for d, _, right in studies]
        found = crossed_means(np.array(values), *labels(PAIR, N_VERSIONS), tested=False)
        columns[str(n_raters)] = [
            percent(people),
            f"{difference:.3f}",
            percent(np.mean(found.ci_low > 0), 0),
        ]
    names = ["people's accuracy", "difference planned for 80%", "studies that found it"]
    return pd.DataFrame(columns).assign(raters=names)[["raters", *columns]]


@table(quick=20, page=400)
def feldt(n: int) -> pd.DataFrame:
    """Coverage of the interval of a reliability of 0.8."""
    rows = []
    for people in (2, 5, 30):
        row = {"people": people}
        for cells in (15, 60, 300):
            rng, held = np.random.default_rng([people, cells]), 0
            noise = np.sqrt(people / 4)  # variance of the mean: a quarter of that of sentences
            for seed in range(n):
                value = rng.standard_normal(cells) + noise * rng.standard_normal((people, cells))
                answers = pd.DataFrame(
                    {
                        "participant": np.repeat([f"p{one:02}" for one in range(people)], cells),
                        "list": "a",
                        "cell": np.tile([f"c{one:03}" for one in range(cells)], people),
                        "value": value.ravel(),
                    }
                )
                found = reliability_of_answers(answers, 20, seed)
                held += bool(found and found.low <= 0.8 <= found.high)
            row[f"{cells} sentences"] = percent(held / n)
        rows.append(row)
    return pd.DataFrame(rows)


@table(quick=100, page=1000)
def people_coverage(n: int) -> pd.DataFrame:
    """Coverage of intervals of people's accuracy, of five people per list, who differ or not."""
    rows = []
    for accuracy in (0.7, 0.8, 0.9, 0.95):
        row = {"accuracy": accuracy}
        for differ, title in ((0.0, "people alike"), (0.15, "people differ")):
            covered, width = measure_coverage(accuracy, differ, 5, n)
            row[title] = f"{percent(covered)} (width {width:.2f})"
        rows.append(row)
    return pd.DataFrame(rows)
