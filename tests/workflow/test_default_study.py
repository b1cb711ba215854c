"""The default study, whole, as `make reproduce` runs it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from command_line import check_success
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.contracts import read_provenance, read_table
from worldprobe_training.contracts import ControlAccuracies

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study(
    snakemake: Callable[..., subprocess.CompletedProcess[str]],
    reduced: tuple[Path, ...],
    repository: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The folder of a whole run, once for all tests of this module; without the mixed-effects model
    where R is missing.
    """
    folder = tmp_path_factory.mktemp("default")
    done = snakemake(
        folder,
        "--keep-going",
        "--show-failed-logs",
        configuration=(repository / "config" / "config.yaml", *reduced[1:]),
    )
    check_success(done)
    return folder


@pytest.fixture(scope="module")
def means(study: Path) -> pd.Series:
    """Model -> mean accuracy under LogProbs."""
    summaries = read_table(study / "results" / "default" / "ewok" / "summaries.parquet", Summaries)
    overall = summaries.query(
        "grouping == 'overall' and condition == 'all' and metric == 'accuracy' and eval_type =="
        " 'logprobs'"
    )
    return overall.set_index("model")["mean"]


def test_a_model_that_was_never_trained_sits_at_chance(means: pd.Series) -> None:
    assert abs(means["control_untrained"] - 0.5) < 0.03


def test_a_real_model_is_above_chance_and_comes_first(study: Path, means: pd.Series) -> None:
    assert 0.53 < means["smollm2_135m"] < 0.62
    table = pd.read_csv(
        study / "results" / "default" / "ewok" / "tables" / "accuracy_by_paradigm.csv"
    )
    assert table["name"].iloc[0] == "SmolLM2 135M"
    facts = read_provenance(
        study
        / "results"
        / "default"
        / "ewok"
        / "judgements"
        / "main"
        / "logprobs"
        / "smollm2_135m.parquet"
    )
    assert facts.details["gguf"]["quantisation"] == "Q4_1"


def test_the_control_models_know_what_they_had_read_and_nothing_else(study: Path) -> None:
    accuracies = read_table(
        study / "results" / "default" / "ewok" / "control_accuracies.parquet", ControlAccuracies
    )
    means = accuracies.set_index(["model", "group", "dose", "targets"])["mean"]
    assert means["control_heart", "read", 1, "all"] >= 0.97
    assert means["control_heart", "read", 1, "concept swap"] >= 0.9
    assert means["control_heart", "read", 1, "variable swap"] >= 0.9
    assert means["control_taught", "new_filling", 0, "all"] >= 0.9
    assert means["control_taught", "new_filling", 0, "concept swap"] >= 0.95
    assert means["control_taught", "new_filling", 0, "variable swap"] >= 0.75
    new = means[:, "new_concept", 0, "all"]
    assert (abs(new - 0.5) < 0.03).all(), new


def test_the_report_opens_offline_and_shows_every_model(study: Path) -> None:
    page = (study / "results" / "default" / "report.html").read_text()
    for name in ("SmolLM2 135M", "Untrained", "By heart", "Taught"):
        assert name in page
    assert 'src="http' not in page
    assert '<link rel="stylesheet" href="http' not in page
