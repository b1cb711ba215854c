"""What is said of learning curves, in simulated trainings."""

import learning_curves
import numpy as np
import onset_order
import pandas as pd
from studies import percent, table


@table(quick=20, page=400)
def curves(n: int) -> pd.DataFrame:
    """Bands and onsets that contain the true ones, and falls that are none."""
    cases = {
        "60 pairs, 5 versions, onset at 20": (20.0, 60, 5),
        "the same at chance": (np.inf, 60, 5),
        "14 pairs, 1 version, onset at 20": (20.0, 14, 1),
        "6 pairs, 1 version, onset at 20": (20.0, 6, 1),
    }
    without_onset = ("the same at chance", "6 pairs, 1 version, onset at 20")
    rows = []
    for title, case in cases.items():
        found = learning_curves.simulate(n, *case)
        names = {"bands": "band", "onset intervals": "onset", "false falls": "forgets"}
        shares = {name: percent(float(found[key])) for name, key in names.items()}
        if title in without_onset:
            shares["onset intervals"] = "–"
        rows.append({"training": title} | shares)
    return pd.DataFrame(rows)


@table(quick=10, page=100)
def onsets(n: int) -> dict[str, str]:
    """Two trainings that learn thirteen groups alike in everything, scored on the same items."""
    found = onset_order.simulate(n)
    return {
        "same_items": f"{found['same_items']:.2f}",
        "claimed_of_same": percent(found["claimed_of_same"], 0),
        "correlation": f"{found['correlation']:.2f}",
        "claimed": percent(found["claimed"], 0),
    }
