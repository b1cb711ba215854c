"""What a study fine-tunes, what it refuses, and how results stand next to the paper's."""

import copy
import importlib.util
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from worldprobe import benchmarks
from worldprobe.benchmarks.worldsense import figures as figures
from worldprobe.benchmarks.worldsense import tables
from worldprobe.benchmarks.worldsense.contracts import Summaries, Trainings
from worldprobe.benchmarks.worldsense.outputs import asked_models
from worldprobe.benchmarks.worldsense.skins.vocabulary import LINEAR_PROBLEMS
from worldprobe.cli import main
from worldprobe.contracts import validate
from worldprobe.errors import UserError
from worldprobe.operations.settings import shown_registry
from worldprobe.report.model_names import Model, Roster, read_roster
from worldprobe.settings import check, complete_card, read_study
from worldprobe_training import external, trainings
from worldprobe_training.training_files import first_tuples
from worldprobe_training.trainings import Finetuning

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
REGISTRY = {
    "big": complete_card(
        "big", checkpoint="someone/big", family="big", display_name="Big", parameters=70_000_000_000
    ),
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


def test_models_that_are_made_are_asked_after_the_studys_and_enter_the_registry() -> None:
    study = study_of()
    assert asked_models(study)[:6] == [
        "big",
        "reader",
        "reader+10k",
        "reader+1M",
        "big+10k",
        "big+1M",
    ]
    registry = benchmarks.add_models(study, REGISTRY)
    card = registry["big+10k"]
    assert card["checkpoint"] == "results/s/worldsense/finetuning/models/big+10k"
    assert (card["parameters"], card["display_name"], card["tuned"]) == (
        70_000_000_000,
        "Big +10k",
        "base",
    )
    assert registry["reader+1M"]["tuned"] == "small"
    made = benchmarks.outputs(study, registry)
    assert "results/s/worldsense/finetuning/models/reader.words" in made
    assert "results/s/worldsense/finetuning/training.parquet" in made
    assert "results/s/worldsense/responses/test/constrained/big+1M.parquet" in made
    assert "results/s/worldsense/figures/worldsense_finetuning.svg" in made


def test_a_study_that_fine_tunes_nothing_is_as_before() -> None:
    study = complete({"study": "s", "models": ["big"]})
    assert benchmarks.add_models(study, REGISTRY) == REGISTRY
    assert not [
        path
        for path in benchmarks.outputs(study, REGISTRY)
        if "finetuning" in path or "training" in path
    ]
    assert (
        shown_registry(study, REGISTRY, "config/models.yaml", Path("nowhere"))
        == "config/models.yaml"
    )


def test_tables_name_made_models_after_their_bases(tmp_path: Path) -> None:
    study = study_of()
    registry = benchmarks.add_models(study, REGISTRY)
    path = shown_registry(study, registry, "config/models.yaml", tmp_path)
    roster = read_roster(path)
    assert roster["big+10k"].name == "Big +10k"
    assert roster["reader"].name == "Reader"
    before = Path(path).stat().st_mtime_ns
    shown_registry(study, registry, "config/models.yaml", tmp_path)
    assert Path(path).stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"bases": ["bigg"]}, "bigg is not a model of the registry"),
        (
            {"bases": ["big"], "start": {"big": FINETUNING["start"]["reader"]}},
            "is a model of the registry already",
        ),
    ],
)
def test_bases_that_cannot_be_are_refused(changes: dict, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        benchmarks.add_models(study_of(**changes), REGISTRY)


def complaints(**changes: object) -> list[UserError]:
    return check(Finetuning, copy.deepcopy(FINETUNING) | changes, [])[1]


def variant(**changes: object) -> dict:
    return {"variants": {"10k": {"train": [{"set": "train-10k"}]} | changes}}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (variant(settings={"learning_rat": 1}), 'did you mean "learning_rate"'),
        (variant(settings={"learning_rate": "fast"}), "should be a valid number"),
        (variant(settings={"steps": 10, "warm_up": 10}), "never reach its peak"),
        (variant(settings={"share": 0.5}), "mix and share"),
        (variant(train=[{"set": "train-10k", "file": "a"}]), "names set and file"),
        (variant(train=[{}]), "names nothing"),
        (variant(train=[{"file": "nowhere.jsonl"}]), "there is no file"),
        (variant(train=[{"lessons": "a", "seed": 1}]), "for sets that are generated"),
        ({"bases": []}, "names no model"),
        ({"start": {"reader": {"display_name": "R"}}}, "needs a tokenizer"),
        (
            {"start": {"reader": {"display_name": "R", "tokenizer": "nowhere"}}},
            "there is no folder",
        ),
        (
            {
                "start": {
                    "reader": {
                        "display_name": "R",
                        "vocabulary_from": [{"set": "train-10k"}],
                        "heads": 3,
                    }
                }
            },
            "cannot be divided",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_found(changes: dict, problem: str) -> None:
    assert any(problem in one.problem for one in complaints(**changes))


def test_right_settings_are_not_complained_about() -> None:
    assert complaints() == []


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
    rows = []
    for place, model in enumerate(("reader", "reader+2k", "reader+10k", "rule_random")):
        for name in ("test", "memorisation", "ood-size"):
            groups = [("overall", "all"), *(("problem", problem) for problem in LINEAR_PROBLEMS)]
            groups += [("intraining", "ind"), ("intraining", "ood")] if name == "test" else []
            for grouping, group in groups:
                for metric in ("accuracy", "bias"):
                    rows.append(
                        (name, "constrained", model, metric, grouping, group, 0.5 + 0.1 * place)
                    )
    frame = pd.DataFrame(
        rows, columns=["condition", "eval_type", "model", "metric", "grouping", "group", "mean"]
    )
    frame = frame.assign(
        sem=0.01,
        std_error=np.nan,
        conf95=0.0196,
        ci_low=np.nan,
        ci_high=np.nan,
        n=100,
        n_clusters=1,
        status="one_cluster",
        interval_over="skins",
    )
    return validate(frame, Summaries)


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
        {model: Model(model, model, position=place) for place, model in enumerate(order)}
    )
    frame = figures.finetuning(summaries, roster)
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
    assert figures.draw_finetuning(frame).axes


def test_no_table_or_figure_without_a_fine_tuned_model(summaries: pd.DataFrame) -> None:
    bare = summaries[~summaries["model"].str.contains("+", regex=False)]
    for make in (tables.finetuning, figures.finetuning):
        with pytest.raises(UserError, match="no fine-tuned model"):
            make(bare, Roster())


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
    frame = figures.training(validate(pd.DataFrame(rows), Trainings), Roster())
    assert len(frame) == 334
    assert frame["loss"].iloc[0] == 2
    loss, rate = figures.draw_training(frame).axes
    assert (loss.get_yscale(), rate.get_yscale()) == ("log", "linear")


def test_trainings_are_drawn_in_the_order_of_the_registry() -> None:
    order = ["reader", "reader+3k", "reader+18k"]
    roster = Roster(
        {model: Model(model, model, position=place) for place, model in enumerate(order)}
    )
    rows = {
        "model": order,
        "step": 1,
        "lessons": 8,
        "loss": 1.0,
        "learning_rate": 0.1,
        "gradient_norm": 1.0,
    }
    frame = figures.training(validate(pd.DataFrame(rows), Trainings), roster)
    assert frame["model"].tolist() == order


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


def test_other_benchmarks_are_asked_in_a_precision_that_exists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "worldsense",
        "ask-external",
        str(tmp_path),
        "--tasks",
        "mmlu",
        "--out",
        str(tmp_path / "mmlu.csv"),
    ]
    assert main([*words, "--dtype", "bfloat61"]) == 2
    assert (
        'error: dtype bfloat61\n  problem: is unknown; did you mean "bfloat16"?'
        in capsys.readouterr().err
    )


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("lm_eval") is None,
    reason="lm-evaluation-harness is not installed (envs/requirements-peers.txt)",
)
def test_the_harness_is_called_with_the_model_and_its_number_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An invented task of two questions with invented data, without any network."""
    lines = [{"question": f"What is {n} and 1?", "answer": n % 2} for n in range(4)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, lines)))
    task = {
        "task": "toy",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(tmp_path / "data.jsonl")}},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "{{question}}",
        "doc_to_choice": ["no", "yes"],
        "doc_to_target": "answer",
        "metric_list": [{"metric": "acc"}],
    }
    (tmp_path / "toy.yaml").write_text(json.dumps(task))
    (tmp_path / "train.jsonl").write_text(
        json.dumps(
            {
                "messages": [
                    {"role": "user", "content": "What is 1 and 1?"},
                    {"role": "assistant", "content": "yes"},
                ]
            }
        )
    )
    small = [
        "--layers",
        "1",
        "--width",
        "16",
        "--heads",
        "2",
        "--vocabulary",
        "300",
        "--out",
        str(tmp_path / "start"),
    ]
    assert main(["worldsense", "start-model", str(tmp_path / "train.jsonl"), *small]) == 0
    words = ["worldsense", "ask-external", str(tmp_path / "start"), "--include", str(tmp_path)]
    assert main([*words, "--tasks", "toy:0", "--out", str(tmp_path / "toy.csv")]) == 0, (
        capsys.readouterr().err
    )
    row = pd.read_csv(tmp_path / "toy.csv").iloc[0]
    assert (row["task"], row["metric"], row["shots"]) == ("toy", "acc,none", 0)
    assert row["value"] in (0, 0.25, 0.5, 0.75, 1)
    assert main([*words, "--tasks", "no_such_task", "--out", str(tmp_path / "none.csv")]) == 2
    assert "cannot measure it here" in capsys.readouterr().err
    assert not (tmp_path / "none.csv").exists()
