"""Many generators at once give what NumPy's give one by one."""

import numpy as np
import pytest

from worldprobe.benchmarks.ewok.materials.many_generators import first_words

NUMBERS = [0, 1, 2, 63, 2**16, 2**31, 2**32 - 1]


@pytest.mark.parametrize("seed", [[0, 0, 0, 0], [7, 2**32 - 1, 12, 3], [2**32, 5, 1, 1], [2**63 + 11, 4, 2**40, 9, 8]])
def test_every_word_is_numpys(seed):
    found = first_words(seed, NUMBERS, 5)
    assert found.tolist() == [np.random.PCG64([*seed, number]).random_raw(5).tolist() for number in NUMBERS]


def test_thousands_of_generators_agree():
    seed = [3, 1_234_567_891, 17, 2]
    found = first_words(seed, range(3000), 2)
    assert found.tolist() == [np.random.PCG64([*seed, number]).random_raw(2).tolist() for number in range(3000)]


def test_no_number_and_no_word():
    assert first_words([1, 2, 3, 4], [], 2).shape == (0, 2)
    assert first_words([1, 2, 3, 4], [5], 0).shape == (1, 0)
