"""Any benchmark's scores to means and comparisons, by the shared commands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from worldprobe.analysis.clusters import crossed_means
from worldprobe.analysis.comparisons import compare_pairs, compare_scores, corrected
from worldprobe.analysis.summaries import Group, ScoreArrays, means_by_group, summarize_scores
from worldprobe.contracts import column, validate
from worldprobe.contracts.results import ALL, OVERALL, Comparisons, Scores, Summaries
from worldprobe.errors import TooLittleError, UserError
from worldprobe.report.page import render_template


class PairScores(Scores, name="pair_scores"):
    """Scores of minimal pairs, which have a phenomenon."""

    phenomenon: str = column(min_length=1)


@pytest.fixture(scope="module")
def scores() -> pd.DataFrame:
    """Three models; the worst one lacks a score."""
    rng = np.random.default_rng(0)
    rows = [
        {
            "model": model,
            "unit": f"p{number:02}",
            "value": float(rng.random() < right),
            "phenomenon": "ab"[number % 2],
        }
        for model, right in (("good", 0.9), ("middling", 0.7), ("poor", 0.4))
        for number in range(60)
    ]
    table = pd.DataFrame(rows).assign(
        eval_type="logprobs", condition="test", metric="accuracy", status="ok"
    )
    table["cluster"] = "c" + (table["unit"].str[1:].astype(int) // 4).astype(str)
    is_missing = (table["model"] == "poor") & (table["unit"] == "p00")
    return validate(
        table.assign(
            value=table["value"].mask(is_missing), status=np.where(is_missing, "failed", "ok")
        ),
        PairScores,
    )


def test_means_are_those_of_the_units_overall_and_by_group(scores: pd.DataFrame) -> None:
    table = validate(summarize_scores(scores, ["phenomenon"]), Summaries)
    plain = scores.groupby("model")["value"].mean()
    overall = table[table["grouping"] == "overall"].set_index("model")
    assert overall["mean"].to_dict() == pytest.approx(plain.to_dict())
    assert overall["n"].to_dict() == {"good": 60, "middling": 60, "poor": 60}
    assert set(overall["n_clusters"]) == {15}
    assert (overall["ci_low"] < overall["mean"]).all()
    by_group = table[table["grouping"] == "phenomenon"].set_index(["model", "group"])["mean"]
    assert by_group.to_dict() == pytest.approx(
        scores.groupby(["model", "phenomenon"])["value"].mean().to_dict()
    )


def test_comparisons_of_any_benchmark_are_printed(scores: pd.DataFrame) -> None:
    """The text is shared with EWoK's, whose tables have more columns."""
    rows = compare_scores(scores, ["phenomenon"]).assign(way="LogProbs").to_dict("records")
    said = render_template(
        "worldprobe.report", "assets/comparisons.txt.jinja", rows=rows, units="units"
    )
    assert said.count("A − B") == len(rows) > 0


def test_what_better_generalises_to_is_said_where_a_model_is_better_and_of_its_own_units(
    scores: pd.DataFrame,
) -> None:
    """It stood below "no difference shown" too, in the words of the first row."""

    def printed(rows: list[dict[str, Any]]) -> str:
        return render_template(
            "worldprobe.report", "assets/comparisons.txt.jinja", rows=rows, units="units"
        )

    alike, better = compare_scores(scores).assign(way="LogProbs").to_dict("records")[:2]
    alike |= {"finding": "no difference shown", "interval_over": "clusters and versions"}
    better |= {"finding": "good is better", "interval_over": "clusters"}
    assert "generalises" not in printed([alike])
    assert '"Better" generalises to other clusters of this kind' in printed([alike, better])


def test_comparisons_of_any_benchmark_say_which_model_is_better(scores: pd.DataFrame) -> None:
    """Those of minimal pairs had a difference and no sentence."""
    found = compare_scores(scores).set_index(["model_a", "model_b"])["finding"]
    assert found["good", "poor"] == "good is better"


def test_models_are_compared_on_the_units_that_both_have(scores: pd.DataFrame) -> None:
    table = validate(compare_scores(scores, ["phenomenon"]), Comparisons)
    row = table[
        (table["grouping"] == "overall")
        & (table["model_b"] == "poor")
        & (table["model_a"] == "good")
    ].iloc[0]
    wide = scores.pivot(index="unit", columns="model", values="value").dropna()
    assert (row["n"], row["difference"]) == (
        59,
        pytest.approx((wide["good"] - wide["poor"]).mean()),
    )
    assert row["p"] <= row["p_holm"] < 0.01
    with pytest.raises(UserError, match="fewer than two models"):
        compare_scores(scores[scores["model"] == "good"])
    apart = scores["unit"].where(scores["model"] == "good", "q" + scores["unit"])
    with pytest.raises(TooLittleError, match="no two models"):
        compare_scores(scores[scores["model"] != "poor"].assign(unit=apart))


def test_no_number_of_comparisons_makes_a_clear_difference_uncertain() -> None:
    """p has no smallest value: with fifty models every pair with a clear difference keeps it
    after the correction.
    """
    rng = np.random.default_rng(0)
    models = [f"m{n}" for n in range(50)]
    values = np.stack([rng.random(400) < (0.9 if n % 2 else 0.3) for n in range(50)]).astype(float)
    group = Group(OVERALL, ALL, np.arange(400), np.arange(400) // 20, "clusters")
    table = compare_pairs(
        models, values, [group], lambda v, g, tested: crossed_means(v, g.cluster, tested=tested)
    )
    table = corrected(table, ["grouping"])
    clear = table[table["difference"].abs() > 0.4]
    assert len(clear) == 625
    assert (clear["p_holm"] < 0.05).all()


def test_a_unit_is_the_same_for_every_model(scores: pd.DataFrame) -> None:
    with pytest.raises(UserError, match="p00 has two values"):
        summarize_scores(
            scores.assign(cluster=scores["cluster"].where(scores.index > 0, "another"))
        )


def test_means_of_many_groups_make_no_data_frame_for_each(monkeypatch):
    """newcomer3: summarize of 800 judgements was a tenth of the time of an evaluation."""
    units = np.arange(60)
    groups = [
        Group("concept", str(number), units[number : number + 5], units[:5], "pairs", False)
        for number in range(40)
    ]
    series = pd.DataFrame({"model": ["ant"], "eval_type": ["logprobs"]})
    values = np.random.default_rng(1).random((1, 1, 60))
    scored = ScoreArrays(
        series, ["accuracy"], values, np.zeros(60, int), {"n": np.ones((1, 60), bool)}
    )
    made, begin = [], pd.DataFrame.__init__
    monkeypatch.setattr(
        pd.DataFrame,
        "__init__",
        lambda frame, *args, **kwargs: (made.append(1), begin(frame, *args, **kwargs))[1],
    )
    table = means_by_group(scored, groups)
    assert len(made) < len(groups)
    assert table["mean"].tolist() == [values[0, 0, n : n + 5].mean() for n in range(40)]
