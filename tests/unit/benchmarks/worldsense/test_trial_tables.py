"""What trials are made of: problems, skins, samples; nothing of trials of others."""

import json

import pandas as pd
import pytest

from command_line import run
from worldprobe import benchmarks, settings
from worldprobe.benchmarks.worldsense.benchmark import BENCHMARK
from worldprobe.benchmarks.worldsense.contracts import Samples, Skins, Summaries, Trials
from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, TEST_SKINS, read_skins
from worldprobe.benchmarks.worldsense.skins.vocabulary import CANARY, LINEAR_PROBLEMS
from worldprobe.benchmarks.worldsense.trial_tables import samples, skins, trial_problems
from worldprobe.contracts import read_provenance, read_table, write_table


def summary(condition: str, grouping: str, group: str) -> dict[str, object]:
    row = dict.fromkeys(Summaries.columns, 0) | {"condition": condition, "metric": "accuracy"}
    return row | {"model": "m", "eval_type": "basic", "grouping": grouping, "group": group}


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """Two small sets, the samples of both, and all skins."""
    folder = tmp_path_factory.mktemp("sets")
    subset = "--sizes 3 4 --per-cell 1 --skins tall/short trips obj_LeftRight"
    lines = [
        f"generate test {subset} --out {folder}/test.parquet",
        f"generate ood-problem --sizes 3 --per-cell 1 --out {folder}/plane.parquet",
        f"tabulate-samples {folder}/plane.parquet {folder}/test.parquet --out {folder}/s.parquet",
        f"skins tabulate --out {folder}/skins.parquet",
    ]
    for line in lines:
        assert run(f"worldsense {line}") == 0
    return folder


def test_the_table_of_problems_says_what_each_asks_and_in_what_range():
    groups = ["Infer.normal|3|Complexity_0|bin", "Infer.normal|5|Complexity_2|tern"]
    grouping = "problem_size_complexity_query"
    rows = [summary("test", grouping, group) for group in groups]
    rows += [summary("test", grouping, "Infer.trivial|4|Complexity_0|bin")]
    rows += [summary("test-motion", grouping, "Infer.motion|4|Complexity_6|bin")]
    frame = trial_problems(pd.DataFrame(rows)).frame
    assert frame["problem"].tolist() == ["Infer.trivial", "Infer.normal", "Infer.motion"]
    assert frame["control"].tolist() == ["", "Infer.trivial", "Infer.before"]
    assert frame["sizes"].tolist() == ["4", "3, 5", "4"]
    assert frame["complexities"].tolist() == ["none", "none, all but one", "6"]
    assert frame["queries"].tolist() == ["binary", "binary, ternary", "binary"]
    assert set(frame["answers"]) == {"TRUE, FALSE"}


def test_tables_with_words_of_trials_carry_the_canary_by_which_archives_know_them(sets):
    for name in ("s", "skins", "test"):
        assert read_provenance(sets / f"{name}.parquet").canary == CANARY


def test_the_table_of_skins_has_the_relations_and_entities_of_those_asked(sets):
    words = read_table(sets / "skins.parquet", Skins)
    assert len(words) == len(read_skins(FOLDER))
    rows = [summary("test", "skin", "tall/short"), summary("ood-size", "skin", "tall/short")]
    rows += [summary("test", "skin", "obj_LeftRight"), summary("ood-problem", "skin", "streets")]
    sheet = skins(words, pd.DataFrame(rows))
    frame = sheet.frame.set_index("skin")
    assert frame["domain"].tolist() == ["spatial", "scalar", "planar"]
    assert frame["sets"].tolist() == ["test", "test, ood-size", "ood-problem"]
    tall = frame.loc["tall/short"]
    assert (tall["relation"], tall["converse"]) == ("X is taller than Y", "X is shorter than Y")
    assert tall["ternary"] == "M's height is in between X's height and Y's height"
    assert json.loads(tall["entities"])[:2] == ["James", "David"]
    assert sheet.cells()[1][5:] == ["yes", "test, ood-size"]


def test_half_of_the_papers_test_skins_of_time_and_scales_are_in_training(sets):
    words = read_table(sets / "skins.parquet", Skins).set_index("skin")
    assert (words.loc[list(TEST_SKINS), "training"] == "ind").sum() == 8


def test_the_samples_are_a_trial_of_each_problem_in_skins_that_differ(sets):
    chosen = read_table(sets / "s.parquet", Samples)
    trials = read_table(sets / "test.parquet", Trials).set_index("text")
    frame = samples(chosen).frame
    assert frame["problem"].tolist() == [*LINEAR_PROBLEMS, "Infer.parallel"]
    assert frame["set"].tolist() == ["test"] * 6 + ["ood-problem"]
    own = chosen[chosen["set"] == "test"]
    assert own["skin"].value_counts().tolist() == [2, 2, 2]
    assert trials.loc[own["text"], "gold"].tolist() == own["gold"].tolist()
    assert frame["gold"].isin(["TRUE", "FALSE", "POSSIBLE", "IMPOSSIBLE", "1", "2", "3"]).all()
    assert samples(chosen).quotes


def test_no_sample_is_taken_of_trials_of_others(sets, tmp_path, capsys):
    made = read_provenance(sets / "test.parquet")
    made = type(made)(**{**vars(made), "canary": None})
    write_table(read_table(sets / "test.parquet", Trials), Trials, tmp_path / "t.parquet", made)
    out = tmp_path / "samples.parquet"
    assert run(f"worldsense tabulate-samples {tmp_path / 't.parquet'} --out {out}") == 2
    assert not out.exists()
    assert "must not be shown" in capsys.readouterr().err


@pytest.mark.parametrize("released", [None, "data"])
def test_released_trials_have_the_table_of_problems_alone(released):
    block = {"sets": ["test"], "promptings": ["basic"]}
    whole = {"study": "s", "benchmarks": ["worldsense"], "models": ["m"], "worldsense": block}
    read = settings.read_study(whole, [], benchmarks.settings_classes)
    study = {**read, "worldsense": {**read["worldsense"], "released": released}}
    ours = [one for one in BENCHMARK.displays if one.section == "trials"]
    names = {one.name for one in ours if one.is_wanted(study, {})}
    texts = {"worldsense_entities", "worldsense_samples"}
    assert names == {"worldsense_trial_problems"} | (set() if released else texts)
