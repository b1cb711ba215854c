"""Multiplications of scoring (tests/performance/scoring_counts.py), counted by hand."""

import pytest


@pytest.fixture(scope="module")
def counts(measurement):
    return measurement("scoring_counts")


def test_what_is_read_and_what_is_shared_is_counted_as_by_hand(counts) -> None:
    sequences = [((5, 1, 2), 1), ((5, 1, 3), 2), ((5, 1, 3, 4), 3), ((5, 1, 2), 1)]
    projection = counts.WIDTH * counts.VOCABULARY
    first, second, third = (counts.body(place) for place in range(3))
    # Four rows of three tokens: the last token of each is not read, and three rows are padded by
    # one.
    assert counts.padded(sequences) == (4 * (first + second + third + 3 * projection), 12)
    # Read: 5, 5 1, 5 1 3. Predicting: 5 and 5 1 in the first, 5 1 in the second, 5 1 3 in the
    # third.
    assert counts.shared(sequences) == (first + second + third + 3 * projection, 3, 3)
