"""Whether intervals of WorldSense's accuracies hold for other skins."""

import numpy as np
import pandas as pd
from studies import percent, table
from worldsense_calibration import make_trials

from worldprobe.benchmarks.worldsense.analysis.intervals import spread_of_means
from worldprobe.benchmarks.worldsense.analysis.questions import add_properties, from_frame
from worldprobe.benchmarks.worldsense.analysis.statistics import Z, average


@table(quick=100, page=1000)
def skins(n: int) -> pd.DataFrame:
    """Coverage of what is reported, and of 1.96 standard errors over tuples as in the paper."""
    trials = make_trials("test", sizes=[3, 4])
    tuples = add_properties(from_frame(trials, "test"), trials).tuples
    names, rows = tuples["skin"].astype(str).unique(), []
    for of_skin, of_core in ((0.0, 0.0), (0.08, 0.0), (0.08, 0.1), (0.0, 0.2)):
        row = {"skins differ by": of_skin, "abstract problems differ by": of_core}
        for number in (18, 6, 3, 2):
            here = tuples[tuples["skin"].astype(str).isin(names[:: 18 // number][:number])]
            here = here.reset_index(drop=True)
            rng = np.random.default_rng([number, int(100 * of_skin), int(100 * of_core)])
            share = np.full((n, len(here)), 0.6)
            for sd, names_of in (
                (of_skin, ["skin"]),
                (of_skin, ["skin", "problem"]),
                (of_core, ["core"]),
            ):
                code = here.groupby(names_of, observed=True).ngroup().to_numpy()
                share += rng.normal(0, sd, (n, code.max() + 1))[:, code]
            scores = (rng.random((2, *share.shape)) < share).mean(axis=0)
            found = spread_of_means(here, scores, [], lowest=np.zeros(n))
            held = (found.ci_low[:, 0] <= 0.6) & (found.ci_high[:, 0] >= 0.6)
            plain = average(here, scores, [])
            paper = np.abs(plain.mean - 0.6) <= Z * plain.sem
            row[f"{number} skins"] = f"{percent(held.mean(), 0)} (paper {percent(paper.mean(), 0)})"
        rows.append(row)
    return pd.DataFrame(rows)
