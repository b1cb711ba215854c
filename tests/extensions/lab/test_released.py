"""Reading results in the authors' layout, and each step of the released analysis; all texts and
numbers are invented.
"""

import shutil
import zipfile

import numpy as np
import pandas as pd
import pytest

from invented_release import toy_release
from worldprobe import cli
from worldprobe.benchmarks.ewok.contracts import Judgements, SurfaceFeatures
from worldprobe.contracts import read_provenance, read_table, validate
from worldprobe.errors import UserError
from worldprobe_lab.released import (
    STEPS,
    apply_steps,
    clean_numbers,
    read_release,
)


@pytest.fixture
def folder(tmp_path):
    for name, text in toy_release().items():
        path = tmp_path / "release" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "release"


def accuracies(judgements, model, eval_type, target):
    rows = judgements[
        (judgements["model"] == model)
        & (judgements["eval_type"] == eval_type)
        & (judgements["target"] == target)
    ]
    return rows.set_index("item_id")["accuracy"]


def test_every_eval_type_is_judged_as_the_released_analysis_does(folder):
    judgements = apply_steps(read_release(folder), skip=list(STEPS))[0]
    assert set(judgements["model"]) == {"Llama_3_8B", "gemma_1.1_2b", "word2vec", "human"}
    assert set(judgements["eval_type"]) == {
        "logprobs",
        "likert_constrained_two",
        "choice_free_zero",
        "word2vec",
        "human_likert",
    }
    expected = {
        ("Llama_3_8B", "logprobs"): (1, 0),
        ("gemma_1.1_2b", "logprobs"): (0.5, 0),
        ("gemma_1.1_2b", "likert_constrained_two"): (1, 0),
        ("gemma_1.1_2b", "choice_free_zero"): (1, 0),
        ("word2vec", "word2vec"): (0, 1),
        ("human", "human_likert"): (1, 1),
    }
    for (model, eval_type), values in expected.items():
        for target, value in enumerate(values, start=1):
            assert set(accuracies(judgements, model, eval_type, target)) == {value}
    paired = {
        ("Llama_3_8B", "logprobs"): 0.5,  # both targets are drawn to context 1 by 1 nat
        ("gemma_1.1_2b", "logprobs"): 0,
        ("gemma_1.1_2b", "likert_constrained_two"): np.nan,  # a rating is missing
        ("gemma_1.1_2b", "choice_free_zero"): np.nan,
        ("word2vec", "word2vec"): 1,  # 0.1 - 0.2 - 0.2 + 0.4
        ("human", "human_likert"): 1,
    }
    found = judgements.groupby(["model", "eval_type"])["pairing"]
    assert found.min().dropna().to_dict() == pytest.approx(
        {series: value for series, value in paired.items() if value == value}
    )
    assert found.max().equals(found.min())
    unread = judgements[
        (judgements["eval_type"] == "likert_constrained_two") & (judgements["target"] == 2)
    ]
    assert set(unread["status"]) == {"missing_response"}


def test_answers_are_read_as_the_released_analysis_reads_them():
    answers = pd.Series(["3", "Rating: 4.", "-2", "9", "", "12"])
    np.testing.assert_array_equal(clean_numbers(answers, 5), [3, 4, np.nan, np.nan, np.nan, 1])


def test_each_step_reports_its_effect_and_does_it(folder):
    judgements, surface, effects = apply_steps(read_release(folder))
    by_name = {e.step: e for e in effects}
    assert list(by_name) == list(STEPS)
    assert (by_name["drop_duplicates"].items_in, by_name["drop_duplicates"].items_out) == (20, 15)
    assert by_name["require_human"].rows_out - by_name["require_human"].rows_in == 2 * 15
    assert (by_name["drop_unreleased"].items_in, by_name["drop_unreleased"].items_out) == (15, 14)
    assert "toy-world_1_1_v4" not in set(judgements["item_id"])
    reversed_rows = accuracies(judgements, "human", "human_likert", 1)
    assert reversed_rows["toy-world_2_1_v2"] == 0
    assert reversed_rows["toy-world_1_1_v0"] == 1
    people = judgements[judgements["model"] == "human"].set_index("item_id")["pairing"]
    assert (people["toy-world_2_1_v2"] == 0).all()
    assert (people["toy-world_1_1_v0"] == 1).all()
    assert accuracies(judgements, "gemma_1.1_2b", "logprobs", 1)["toy-world_2_1_v0"] == 0.5
    assert set(judgements.loc[judgements["meta_template"] == 2, "context_contrast"]) == {"other"}
    assert judgements.loc[judgements["meta_template"] == 2, "concept_b"].isna().all()
    features = validate(surface, SurfaceFeatures).set_index(["item_id", "target"])
    assert features.loc[("toy-world_1_1_v0", 2)].tolist() == [5 + 7, 2 * (5 + 7)]
    assert not any(item.startswith("toy-world_2_1") for item, _ in features.index)


def test_a_step_can_be_switched_off(folder):
    judgements = apply_steps(read_release(folder), skip=["reverse_flagged", "drop_duplicates"])[0]
    assert "toy-world_4_1_v0" in set(judgements["item_id"])
    assert set(accuracies(judgements, "human", "human_likert", 1)) == {1.0}


def test_excluding_flagged_items_takes_their_whole_template(folder):
    path = folder / "scripts" / "flagged_items_human.csv"
    path.write_text(path.read_text().replace("reverse", "design"))
    judgements, _, effects = apply_steps(read_release(folder))
    assert not (judgements["meta_template"] == 2).any()
    assert {e.step: e.items_out - e.items_in for e in effects}["exclude_flagged"] == -5


def test_an_incomplete_template_stops_the_analysis(folder):
    for path in (folder / "outputs" / "results" / "toy").glob("*vers=4"):
        shutil.rmtree(path)
    with pytest.raises(UserError, match=r"toy-world 1_1.*has 4 versions, not 5"):
        apply_steps(read_release(folder))
    assert len(apply_steps(read_release(folder), skip=["check_versions"])[0])


def test_the_command_reads_an_archive_too_and_keeps_no_text(folder, tmp_path):
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", folder)
    out, surface = tmp_path / "judgements.parquet", tmp_path / "surface.parquet"
    command = f"import released {archive} --surface-out {surface} --out {out}".split()
    assert cli.main(command) == 0
    expected = validate(apply_steps(read_release(folder))[0], Judgements)
    pd.testing.assert_frame_equal(read_table(out, Judgements)[expected.columns], expected)
    assert len(read_table(surface, SurfaceFeatures)) == 2 * 9
    assert read_provenance(out).details["unread"] == ["notes/other.csv"]
    assert b"Kite" not in out.read_bytes()


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("", "logp_target1_context1", "x", "no column logp_target1"),
        ("", "likert_constrained_optimized", "likert_odd", "eval=likert_odd is not"),
        ("Llama", "of set 3", "of set 2", "different texts for"),
    ],
)
def test_broken_releases_are_refused(tmp_path, name, old, new, message):
    with zipfile.ZipFile(tmp_path / "broken.zip", "w") as stream:
        for path, text in toy_release().items():
            changed = text.replace(old, new) if name in path else text
            stream.writestr(path.replace(old, new), changed)
    with pytest.raises(UserError, match=message):
        read_release(tmp_path / "broken.zip")
