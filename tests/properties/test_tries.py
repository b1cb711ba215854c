"""Packed tries: whatever the sequences, each can be read off its row again, and nothing shared
is there twice within a row.
"""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from worldprobe.models.prefix_trie import ROW_WIDTH, pack_sequences, row_width

TOKENS = st.lists(st.integers(0, 3), min_size=1, max_size=12)
SEQUENCES = st.lists(
    TOKENS.flatmap(lambda ids: st.tuples(st.just(tuple(ids)), st.integers(1, len(ids)))),
    min_size=1,
    max_size=20,
)
WIDTHS = st.integers(4, 40)


@given(SEQUENCES, WIDTHS)
@example(
    [((0, 0, 0, 0), 1), ((0, 0, 0, 0, 0), 1), ((0, 0, 0, 0, 1), 1)], 4
)  # one is the beginning of the next
@example([((0, 0, 0, 0, 0), 1), ((0, 0, 0, 0, 0, 0), 1)], 4)
def test_every_sequence_is_in_one_row_and_can_be_read_off_it(sequences, width):
    rows = pack_sequences(sequences, width)
    assert sorted(m for row in rows for m in row.members) == list(range(len(sequences)))
    for row in rows:
        assert len(row.tokens) <= max(width, max(len(sequences[m][0]) - 1 for m in row.members))
        for member, path in zip(row.members, row.paths, strict=True):
            ids, start = sequences[member]
            assert len(path) == len(ids) - start
            for node, position in zip(path, range(start - 1, len(ids)), strict=False):
                read = []
                at = node
                while at >= 0:
                    read.append(row.tokens[at])
                    at = row.parents[at]
                assert tuple(reversed(read)) == ids[: position + 1]
                assert row.depths[node] == position


@given(SEQUENCES, WIDTHS)
def test_the_mask_shows_each_node_its_own_beginning_and_nothing_else(sequences, width):
    for row in pack_sequences(sequences, width):
        mask = row.ancestors(len(row.tokens) + 2)
        for node in range(len(row.tokens)):
            seen, at = set(), node
            while at >= 0:
                seen.add(at)
                at = row.parents[at]
            assert set(np.flatnonzero(mask[node])) == seen
        assert mask[len(row.tokens) :].sum() == 2, "padding sees itself only"


@given(SEQUENCES, WIDTHS, st.randoms())
def test_the_rows_do_not_depend_on_the_order_of_the_sequences(sequences, width, random):
    distinct = sorted(set(sequences))
    shuffled = random.sample(distinct, len(distinct))
    one, other = pack_sequences(distinct, width), pack_sequences(shuffled, width)
    assert [row.tokens for row in one] == [row.tokens for row in other]


@given(st.integers(1, 2000), st.integers(1, 8192))
def test_a_row_has_room_for_the_longest_sequence_and_is_no_wider_in_a_narrower_model(
    longest, hidden
):
    width = row_width(longest, hidden)
    assert longest <= width
    assert width <= max(longest, ROW_WIDTH[1])
    assert row_width(longest, hidden // 2) <= width
