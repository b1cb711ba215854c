"""Bootstrap means and paired tests of clusters and strata, whatever a benchmark means by them."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from worldprobe.analysis.comparisons import correct_for_number
from worldprobe_survey.people import percentile_interval


def test_an_interval_is_that_of_numpy_and_leaves_missing_draws_out():
    drawn = np.random.default_rng(3).normal(size=(501, 3)).astype(np.float32)
    np.testing.assert_allclose(
        percentile_interval(drawn), np.quantile(drawn, [0.025, 0.975], axis=0), atol=1e-6
    )
    drawn[:3, 0], drawn[:, 1] = np.nan, np.nan
    low, high = percentile_interval(drawn)
    assert [low[0], high[0]] == pytest.approx(np.nanquantile(drawn[:, 0], [0.025, 0.975]))
    assert np.isnan([low[1], high[1]]).all()


def test_holms_correction_is_monotone_and_at_most_one():
    p = pd.Series([0.04, 0.01, 0.5, 0.03], index=list("abcd"))
    found = correct_for_number(p)
    assert found.to_dict() == pytest.approx({"a": 0.09, "b": 0.04, "c": 0.5, "d": 0.09})


@pytest.mark.long
def test_holms_correction_gives_statsmodels_numbers_to_the_last_bit():
    rng = np.random.default_rng(11)
    for size in (1, 2, 7, 200):
        p = rng.integers(1, 51, size) / 50  # with ties, as p values of few flips have
        expected = multipletests(p, method="holm")[1]
        np.testing.assert_array_equal(correct_for_number(pd.Series(p)), expected)
