"""What a study fine-tunes, what it refuses, and how results stand next to the paper's."""

import copy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from worldprobe import benchmarks
from worldprobe.benchmarks.worldsense import tables
from worldprobe.benchmarks.worldsense.contracts import Summaries
from worldprobe.benchmarks.worldsense.outputs import asked_models
from worldprobe.benchmarks.worldsense.skins.vocabulary import LINEAR_PROBLEMS
from worldprobe.contracts import validate
from worldprobe.report.model_names import Roster, ShownModel
from worldprobe.settings import read_study
from worldprobe_training import displays, external, trainings
from worldprobe_training.contracts import Trainings
from worldprobe_training.training_files import first_tuples

FINETUNING = {
    "bases": ["reader", "big"],
    "start": {
        "reader": {
            "display_name": "Reader",
            "vocabulary_from": [{"set": "train-10k"}],
            "stages": [
                {
                    "name": "words",
                    "train": [{"lessons": "words"}],
                    "settings": {"steps": 10, "warm_up": 2},
                }
            ],
        }
    },
    "variants": {
        "10k": {"train": [{"set": "train-10k"}], "settings": {"learning_rate": 0.001}},
        "1M": {"train": [{"set": "train-1m"}]},
    },
}


def complete(settings: dict) -> dict:
    return read_study({"benchmarks": ["worldsense"], **settings}, [], benchmarks.settings_classes)


def study_of(**changes: object) -> dict:
    block = {
        "finetuning": {**copy.deepcopy(FINETUNING), **changes},
        "sets": ["test", "memorisation"],
    }
    return complete({"study": "s", "models": ["big"], "worldsense": block})


def test_variants_begin_with_their_base_and_small_bases_learn_their_stages_first() -> None:
    found = trainings.trainings(study_of())
    assert list(found) == ["reader.words", "reader+10k", "reader+1M", "big+10k", "big+1M"]
    assert found["reader.words"].before == "results/s/worldsense/finetuning/start/reader"
    assert found["reader+10k"].before == "results/s/worldsense/finetuning/models/reader.words"
    assert found["big+10k"].before is None
    assert found["big+10k"].settings["learning_rate"] == 0.001
    assert found["big+1M"].settings["learning_rate"] == 2e-6


def test_a_small_base_with_several_seeds_is_several_bases_each_with_its_seed_throughout() -> None:
    start = copy.deepcopy(FINETUNING["start"])
    start["reader"]["seeds"] = [3, 5]
    study = study_of(start=start, bases=["reader"])
    found = trainings.trainings(study)
    assert list(found) == [
        "reader-3.words",
        "reader-5.words",
        "reader-3+10k",
        "reader-3+1M",
        "reader-5+10k",
        "reader-5+1M",
    ]
    assert found["reader-5.words"].before == "results/s/worldsense/finetuning/start/reader-5"
    assert [one.settings["seed"] for one in found.values()] == [3, 5, 3, 3, 5, 5]
    assert trainings.block(study)["start"]["reader-3"]["seed"] == 3
    assert asked_models(study)[:4] == ["big", "reader-3", "reader-5", "reader-3+10k"]


def test_the_defaults_are_what_the_paper_states() -> None:
    settings = study_of()["worldsense"]["finetuning"]["settings"]
    stated = {
        "learning_rate": 2e-6,
        "batch": 64,
        "warm_up": None,
        "schedule": "cosine",
        "sequence_length": 4096,
        "epochs": 2,
    }
    assert {key: settings[key] for key in stated} == stated


def test_the_first_trials_are_whole_tuples() -> None:
    trials = pd.DataFrame({"tuple_id": ["a", "a", "b", "b", "b", "c", "c"]})
    assert [len(first_tuples(trials, number)) for number in (1, 2, 4, 5, 6, 7, 99)] == [
        2,
        2,
        2,
        5,
        5,
        7,
        7,
    ]
    assert len(first_tuples(trials, None)) == 7


@pytest.fixture(scope="module")
def summaries() -> pd.DataFrame:
    """Answers of a base and two variants to three sets."""
    groups = [("overall", "all"), *(("problem", problem) for problem in LINEAR_PROBLEMS)]
    rows = [
        (name, model, metric, grouping, group, 0.5 + 0.1 * place)
        for place, model in enumerate(("reader", "reader+2k", "reader+10k", "rule_random"))
        for name in ("test", "memorisation", "ood-size")
        for grouping, group in groups
        + [("intraining", one) for one in ("ind", "ood") if name == "test"]
        for metric in ("accuracy", "bias")
    ]
    frame = pd.DataFrame(
        rows, columns=["condition", "model", "metric", "grouping", "group", "mean"]
    )
    frame = frame.assign(eval_type="constrained", sem=0.01, conf95=0.0196, n=100, n_clusters=1)
    frame = frame.assign(std_error=np.nan, ci_low=np.nan, ci_high=np.nan, status="one_cluster")
    return validate(frame.assign(interval_over="skins"), Summaries)


def test_table_9_has_bases_variants_and_the_papers_models(summaries: pd.DataFrame) -> None:
    frame = tables.finetuning(summaries, Roster()).frame
    assert set(frame["model"]) >= {"reader", "reader+2k", "Llama2-7B-FT+0", "Llama2-70B-FT+1M"}
    assert "rule_random" not in set(frame["model"])
    here = frame[
        (frame["model"] == "Llama2-70B-FT+1M")
        & (frame["condition"] == "test")
        & (frame["metric"] == "accuracy")
    ]
    assert here["Infer.normal_mean"].tolist() == pytest.approx([0.806])
    ours = frame[
        (frame["model"] == "reader+2k")
        & (frame["condition"] == "test")
        & (frame["metric"] == "bias")
    ]
    assert ours["Infer.normal_mean"].tolist() == pytest.approx([0.6])


def test_figure_5_has_each_variant_in_its_order_and_the_papers_means(
    summaries: pd.DataFrame,
) -> None:
    order = ("reader", "reader+2k", "reader+10k")  # as a study's registry has them
    roster = Roster(
        {model: ShownModel(model, model, position=place) for place, model in enumerate(order)}
    )
    frame = displays.finetuning(summaries, roster)
    ours = frame[frame["base"] == "reader"]
    assert list(dict.fromkeys(ours["variant"])) == ["0", "2k", "10k"]
    assert set(ours["mark"]) == {
        "test",
        "test, seen relations",
        "test, new relations",
        "memorisation",
        "six entities",
    }
    theirs = frame[
        (frame["base"] == "Llama2-70B") & (frame["variant"] == "1M") & (frame["mark"] == "test")
    ]
    assert theirs.set_index("panel")["mean"]["accuracy"] == pytest.approx(
        np.mean([0.797, 0.806, 0.549, 0.528, 0.985, 0.978])
    )
    assert displays.draw_finetuning(frame).axes


def test_long_trainings_are_drawn_as_means_of_neighbouring_steps() -> None:
    steps = np.arange(1, 1001)
    rows = {
        "model": "a",
        "step": steps,
        "lessons": steps * 8,
        "loss": 1.0 * steps,
        "learning_rate": 0.1,
        "gradient_norm": 1.0,
    }
    frame = displays.training(validate(pd.DataFrame(rows), Trainings), Roster())
    assert len(frame) == 334
    assert frame["loss"].iloc[0] == 2


def test_the_papers_table_7_is_below_ours(tmp_path: Path) -> None:
    ours = [("reader", "gsm8k", 8, "exact_match,strict-match", 0.1, 0.01, "this run")]
    pd.DataFrame(ours, columns=list(external.COLUMNS)).to_csv(tmp_path / "ours.csv", index=False)
    both = external.next_to_published([tmp_path / "ours.csv"])
    assert both["model"].tolist() == [
        "reader",
        "Llama2-70B-FT+0",
        "Llama2-70B-FT+100k",
        "Llama2-70B-FT+1M",
    ]
    assert both["value"].tolist() == [0.1, 0.51, 0.50, 0.51]
    assert both["shots"].tolist() == [8, 8, 8, 8]
