"""Results: what follows the schema, and what a reader sees."""

import json
import re

import pytest

from command_line import run
from worldprobe.errors import UserError
from worldprobe.report.results import check_result, describe


@pytest.fixture
def result_file(make_result, tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(make_result("tiny")))
    return path


def test_a_result_that_follows_the_schema_is_read_and_summarised(result_file, capsys):
    assert run(f"results check {result_file}") == 0
    assert (
        "tiny: EWoK: accuracy 0.700; WorldSense: accuracy 0.550, bias -0.100"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"accurracy": 1}, "unknown key"),
        ({"benchmarks": {}}, "benchmarks"),
        ({"schema_version": 2}, "schema_version is 2; this release reads 1"),
    ],
)
def test_a_result_that_does_not_is_refused_with_the_key(
    make_result, tmp_path, capsys, change, said
):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(make_result("tiny", **change)))
    assert run(f"results check {path}") == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert str(path) in printed


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("n", -1, "n"),
        ("published", {"source": "", "is_comparable": True, "means": {"gpt2_xl": 65.5}}, "gpt2_xl"),
        ("ci_high", 0.6, "mean: 0.7 is above ci_high, 0.6"),
        ("ci_high", 1e308, "ci_high"),
        ("stderr", -0.1, "stderr"),
        ("ci_low", None, "ci_low: mean, ci_low and ci_high do not make an interval"),
        ("ci_high", None, "do not make an interval"),
        ("mean", None, "do not make an interval"),
    ],
)
def test_numbers_that_contradict_each_other_are_refused(make_result, key, value, said):
    result = make_result("tiny")
    check_result(result)
    result["benchmarks"]["ewok"][key] = value
    with pytest.raises(UserError, match=said):
        check_result(result)


def test_a_single_model_is_printed_with_interval_number_of_units_and_chance(make_result):
    text = describe(make_result("tiny"), "worldsense")
    rows = [line.split() for line in text.splitlines()]
    assert rows[2] == ["overall", "0.550", "0.500–0.600", "60"]
    assert rows[3] == ["Infer.trivial", "0.600", "0.550–0.650", "60"]
    assert rows[4][:2] == ["bias", "−0.100"]
    assert rows[5][:3] == ["Counting", "(rule)", "0.500"]
    assert rows[6] == ["chance", "0.500"]
    assert "counts: invalid 2" in text
    assert "GPT4" not in text, "a number of other items"
    assert text.rstrip().endswith(
        "The published numbers (Table 2) are of other items or kinds of model, so none is shown."
    )


def test_what_the_first_sentences_say_is_not_said_again_below(make_result):
    """ "This is a smoke test" stood twice."""
    result = make_result("tiny")
    result["benchmarks"]["ewok"]["notes"] = ["This is a smoke test.", "Few pairs."]
    text = describe(result, "ewok", ["tiny is above chance.", "This is a smoke test."])
    assert [text.count(note) for note in ("This is a smoke test.", "Few pairs.")] == [1, 1]


def test_what_others_reach_on_the_same_items_is_grey_on_a_terminal_and_names_its_source(
    make_result,
):
    result = make_result("tiny")
    stated = result["benchmarks"]["ewok"]
    stated["published"]["is_comparable"] = True
    reference = {"name": "SmolLM2 135M", "is_baseline": False, "mean": 0.57, "n": 150}
    reference |= {"pairing": None, "groups": {}, "difference": 0.13, "ci_low": 0.1}
    reference |= {"ci_high": 0.16, "p_holm": 0.001, "finding": "tiny is better"}
    stated["references"] = {"smollm2_135m": reference}
    check_result(result)
    plain, grey = (describe(result, "ewok", is_coloured=is_so) for is_so in (False, True))
    assert re.search(r"^SmolLM2 135M +0.570  13.0 \(10.0 to 16.0\)$", plain, re.MULTILINE)
    assert "on 150 of the same items" in plain
    assert re.search(r"published, of the same items \(Table 1\)\ngpt2_xl +0.655$", plain, re.M)
    assert "so none is shown" not in plain
    assert "\x1b" not in plain
    assert re.sub("\x1b\\[2?2m", "", grey) == plain
    assert re.search("\x1b\\[2mreferences[^\x1b]*SmolLM2[^\x1b]*\x1b\\[22m", grey)
