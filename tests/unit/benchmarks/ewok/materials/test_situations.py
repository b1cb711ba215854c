"""Contexts that say nearly the same are one situation, whatever the slots, the side and the
ending.
"""

import pandas as pd

from worldprobe.benchmarks.ewok.materials.situations import name_situations, number_situations

PAIRS = [
    ("{agent1} waters the roses", "{agent1} burns the roses"),
    ("{agent2} burns a rose", "{agent2} waters a rose"),  # sides, slots, articles and number differ
    ("{agent1} digs up the bed with {object1}", "{agent1} leaves the bed to {object1}"),
    ("{agent1} waters the roses again", "{agent1} burns the roses again"),  # near the first
]


def templates(pairs) -> pd.DataFrame:
    rows = [("garden-work", unit, one, other) for unit, (one, other) in enumerate(pairs, start=1)]
    return pd.DataFrame(rows, columns=["domain", "meta_template", "context1", "context2"])


def test_near_contexts_share_a_situation_and_others_do_not():
    assert number_situations(templates(PAIRS)).tolist() == [0, 0, 1, 0]
    assert name_situations(templates(PAIRS)) == [
        "garden-work_1",
        "garden-work_1",
        "garden-work_3",
        "garden-work_1",
    ]


def test_a_chain_of_near_contexts_is_one_situation():
    words = [f"w{i}" for i in range(8)]
    chain = [
        (" ".join(words[i : i + 5]), " ".join(words[i : i + 5])) for i in range(4)
    ]  # 4 of 6 shared with the next
    assert number_situations(templates(chain)).tolist() == [0, 0, 0, 0]
    assert number_situations(templates(chain[::3])).tolist() == [0, 1]
