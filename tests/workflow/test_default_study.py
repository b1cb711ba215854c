"""The default study, whole, as `make reproduce` runs it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.contracts import ControlAccuracies, Summaries
from worldprobe.contracts import read_table

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study(
    snakemake: Callable[..., subprocess.CompletedProcess[str]],
    reduced: tuple[Path, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The folder of a whole run, once for all tests of this module; without the mixed-effects model where R is missing."""
    folder = tmp_path_factory.mktemp("default")
    done = snakemake(folder, "--keep-going", "--show-failed-logs", configuration=reduced[1:])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    return folder


@pytest.fixture(scope="module")
def means(study: Path) -> pd.Series:
    """Model -> mean accuracy under LogProbs."""
    summaries = read_table(study / "results" / "default" / "ewok" / "summaries.parquet", Summaries)
    overall = summaries.query("grouping == 'overall' and condition == 'all' and metric == 'accuracy' and eval_type == 'logprobs'")
    return overall.set_index("model")["mean"]


def test_a_model_that_was_never_trained_sits_at_chance(means: pd.Series) -> None:
    assert abs(means["control_untrained"] - 0.5) < 0.03


def test_every_trained_control_model_is_clearly_better_than_chance(means: pd.Series) -> None:
    trained = means.drop(index=["control_untrained", "word2vec"], errors="ignore")
    assert len(trained) == 4
    assert (trained > 0.53).all(), trained


def test_the_control_models_know_best_what_their_stories_told(study: Path) -> None:
    accuracies = read_table(study / "results" / "default" / "ewok" / "control_accuracies.parquet", ControlAccuracies)
    trained = accuracies.query("model != 'control_untrained' and fillers == 'all' and targets == 'all'")
    by_status = trained.pivot(index="model", columns="templates", values="mean")
    assert len(by_status) == 4
    assert (by_status["held_in"] > by_status["held_out"]).all(), by_status


def test_the_report_opens_offline_and_shows_every_model(study: Path) -> None:
    page = (study / "results" / "default" / "report.html").read_text()
    for name in ("Untrained", "GPT-2 control, small", "GPT-2 control, large", "Llama control, small", "Llama control, large"):
        assert name in page
    assert 'src="http' not in page
    assert '<link rel="stylesheet" href="http' not in page
