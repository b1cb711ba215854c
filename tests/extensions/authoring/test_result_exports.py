"""Results in other forms: the readers of each form find the same numbers."""

import json

import pytest
import yaml

from command_line import run
from worldprobe.benchmarks.ewok.vocabulary import RELEASE
from worldprobe.cli import main
from worldprobe.report.results import check_result
from worldprobe_authoring.result_exports import to_lm_eval


@pytest.fixture
def result_file(make_result, tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(make_result("tiny")))
    return path


def export(path, form, *options):
    out = path.with_name(f"{form}.out")
    line = f"results export {path} --format {form} --date 2026-01-31 --out {out}"
    assert main([*line.split(), *options]) == 0
    return out


@pytest.mark.parametrize(
    "groups", [("overall", "tall"), ("A-b", "a_b"), ("a", "a_2", "A"), ("x", "X")]
)
def test_every_number_is_exported_under_a_name_of_its_own(make_result, groups):
    """Groups of minimal pairs are named by their data: one called overall took the overall
    accuracy's place.
    """
    result = make_result("tiny")
    ewok = result["benchmarks"]["ewok"]
    part = ewok["parts"][0]
    ewok["parts"] = [
        part | {"group": group, "mean": 0.69 + i / 100} for i, group in enumerate(groups)
    ]
    result["benchmarks"]["ewok_a"] = ewok | {"mean": 0.71, "parts": []}
    record = to_lm_eval(check_result(result), 0.0)
    assert record["groups"]["worldprobe_ewok"]["acc,none"] == 0.7
    assert record["groups"]["worldprobe_ewok_a"]["acc,none"] == 0.71
    found = [
        record["results"][task]["acc,none"] for task in record["group_subtasks"]["worldprobe_ewok"]
    ]
    assert sorted(found) == pytest.approx([0.69 + i / 100 for i in range(len(groups))])
    assert record["group_subtasks"]["worldprobe_ewok_a"] == []


def test_exports_say_nothing_that_nobody_said_and_no_folder(make_result, tmp_path):
    """The path of a local folder was published as the model's id."""
    made = {"revision": None, "checkpoint": "/home/ada/secret/tiny"}
    made["adapter"] = {
        "name": "/home/ada/adapters/mine",
        "revision": None,
        "digest": "a" * 64,
        "base": "/home/ada/base",
    }
    path = tmp_path / "result.json"
    path.write_text(json.dumps(make_result("tiny") | made))
    for form in (["lm-eval"], ["hub", "--dataset", "lab/items"]):
        text = export(path, *form).read_text()
        assert "/home" not in text
        assert "secret" not in text
    record = json.loads(export(path, "lm-eval").read_text())
    assert record["model_name"] == "tiny"
    path.write_text(
        json.dumps(make_result("tiny") | {"revision": "607a30d", "checkpoint": "lab/tiny"})
    )
    assert json.loads(export(path, "lm-eval").read_text())["model_name"] == "lab/tiny"


def test_the_hubs_own_reader_understands_the_entries(result_file):
    hub = pytest.importorskip("huggingface_hub")
    entries = yaml.safe_load(export(result_file, "hub", "--dataset", "lab/items").read_text())
    parsed = hub.parse_eval_result_entries(entries)
    assert [(entry.dataset_id, entry.value) for entry in parsed] == [
        ("lab/items", 0.7),
        ("lab/items", 0.55),
    ]
    assert [entry["dataset"]["task_id"] for entry in entries] == ["ewok", "worldsense"]
    assert hub.eval_result_entries_to_yaml(parsed) == entries
    assert "95% interval 0.6800 to 0.7200" in parsed[0].notes


def test_numbers_of_other_items_do_not_pass_for_those_of_the_release(
    result_file, make_result, tmp_path, capsys
):
    assert run(f"results export {result_file} --format hub --out {tmp_path / 'x.yaml'}") == 2
    assert "--dataset" in capsys.readouterr().err
    official = make_result("tiny")
    official["benchmarks"]["ewok"]["release"] = dict(RELEASE)
    del official["benchmarks"]["worldsense"]
    result_file.write_text(json.dumps(official))
    assert (
        yaml.safe_load(export(result_file, "hub").read_text())[0]["dataset"]["id"]
        == "ewok-core/ewok-core-1.0"
    )


def test_a_number_that_is_missing_stays_missing(make_result, tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(make_result("tiny", value=None)))
    record = json.loads(export(path, "lm-eval").read_text())
    assert record["results"]["worldprobe_ewok"]["acc,none"] is None
    assert record["results"]["worldprobe_ewok"]["acc_stderr,none"] == "N/A"
