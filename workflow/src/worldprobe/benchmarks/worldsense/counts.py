"""How many trials a set has in each cell, next to the release's (specification, Section 5)."""

from __future__ import annotations

import pandas as pd

#: The released test set: problem, size, complexity -> trials with a binary and with a ternary query.
RELEASED = {
    ("Infer.trivial", 3, 0): (1142, 1090),
    ("Infer.trivial", 4, 0): (1096, 1136),
    ("Infer.trivial", 5, 0): (1126, 1106),
    ("Infer.normal", 3, 0): (1150, 1082),
    ("Infer.normal", 3, 1): (1130, 1102),
    ("Infer.normal", 3, 2): (1142, 1090),
    ("Infer.normal", 4, 0): (1142, 1090),
    ("Infer.normal", 4, 1): (1126, 1106),
    ("Infer.normal", 4, 2): (1124, 1108),
    ("Infer.normal", 5, 0): (1142, 1090),
    ("Infer.normal", 5, 1): (1094, 1138),
    ("Infer.normal", 5, 2): (1138, 1094),
    ("Consist.trivial", 3, 0): (2232, 0),
    ("Consist.trivial", 3, 1): (1110, 1122),
    ("Consist.trivial", 3, 2): (0, 2232),
    ("Consist.trivial", 4, 0): (2232, 0),
    ("Consist.trivial", 4, 1): (1666, 566),
    ("Consist.trivial", 4, 2): (0, 2232),
    ("Consist.trivial", 5, 0): (2232, 0),
    ("Consist.trivial", 5, 1): (1852, 380),
    ("Consist.trivial", 5, 2): (0, 2232),
    ("Consist.normal", 3, 0): (1088, 1144),
    ("Consist.normal", 3, 1): (1152, 1080),
    ("Consist.normal", 3, 2): (1144, 1088),
    ("Consist.normal", 4, 0): (1082, 1150),
    ("Consist.normal", 4, 1): (1100, 1132),
    ("Consist.normal", 4, 2): (1056, 1176),
    ("Consist.normal", 5, 0): (1090, 1142),
    ("Consist.normal", 5, 1): (1086, 1146),
    ("Consist.normal", 5, 2): (1184, 1048),
    ("Compl.trivial", 3, 0): (1722, 1626),
    ("Compl.trivial", 4, 0): (1593, 1755),
    ("Compl.trivial", 5, 0): (1740, 1608),
    ("Compl.normal", 3, 0): (2593, 755),
    ("Compl.normal", 4, 0): (1095, 2253),
    ("Compl.normal", 5, 0): (1038, 2310),
}


def count_cells(trials: pd.DataFrame) -> pd.DataFrame:
    """Trials by problem, size and complexity: with a binary and a ternary query, and the release's numbers."""
    counts = trials.groupby(["problem", "size", "complexity", "arity"]).size().unstack(fill_value=0)
    table = counts.reindex(columns=[2, 3], fill_value=0).set_axis(["binary", "ternary"], axis=1).reset_index()
    released = [RELEASED.get((p, s, c)) for p, s, c in zip(table["problem"], table["size"], table["complexity"], strict=True)]
    for number, form in enumerate(("binary", "ternary")):
        table[f"released_{form}"] = pd.array([pair[number] if pair else None for pair in released], dtype="Int64")
    return table
