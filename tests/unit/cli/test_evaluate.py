"""One model, one command, one row next to the published ones."""

import json

import pytest
import yaml

from worldprobe import cli
from worldprobe.cli import evaluate
from worldprobe.errors import UserError


@pytest.fixture(scope="module")
def evaluated(tiny_checkpoint, tmp_path_factory):
    work = tmp_path_factory.mktemp("evaluate") / "work"
    assert cli.main(["evaluate", str(tiny_checkpoint()), "--versions", "0", "--work", str(work)]) == 0
    return work


def test_the_result_is_the_mean_of_its_own_judgements(evaluated):
    from worldprobe.benchmarks.ewok.contracts import Judgements
    from worldprobe.contracts import read_table

    result = json.loads((evaluated / "result.json").read_text())
    judged = read_table(evaluated / "judgements.parquet", Judgements)
    assert result["accuracy"]["mean"] == pytest.approx(judged["accuracy"].mean())
    assert (
        result["materials"]["n_items"]
        == judged["item_id"].nunique()
        == sum(domain["n_items"] for domain in result["accuracy_by_domain"].values())
    )
    assert result["dtype"] == "float32"
    assert len(result["checkpoint_digest"]) == 64


def test_the_published_row_is_beside_it_and_other_items_are_said_to_be_others(evaluated):
    from worldprobe.benchmarks.ewok.report.evaluation import describe_evaluation

    result = json.loads((evaluated / "result.json").read_text())
    text = describe_evaluation(result)
    assert result["published"]["human"] == 0.951
    assert not result["materials"]["is_official_release"]
    assert "a yardstick, not a comparison" in text
    rows = [line.split()[:2] for line in text.splitlines()[1 : len(result["published"]) + 2]]
    means = [float(mean) for _, mean in rows]
    assert means == sorted(means, reverse=True)
    assert [result["model"], f"{result['accuracy']['mean']:.3f}"] in rows


def test_a_name_that_is_no_model_gets_one_clear_error(tmp_path, capsys):
    assert cli.main(["evaluate", "no/such model", "--versions", "0", "--work", str(tmp_path)]) == 2
    assert "there is no such model folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("card", "options"),
    [
        (
            {"engine": "vllm", "dtype": "bfloat16", "revision": "v2", "tensor_parallel": 2, "trust_remote_code": True},
            "--revision v2 --dtype bfloat16 --engine vllm --trust-remote-code --tensor-parallel 2",
        ),
        (
            {"engine": "openai", "endpoint": "http://127.0.0.1:9/v1", "tokenizer": "folder", "concurrency": 3},
            "--engine openai --endpoint http://127.0.0.1:9/v1 --tokenizer folder --concurrency 3",
        ),
    ],
)
def test_the_card_says_by_which_engine_and_how_a_model_is_scored(tmp_path, monkeypatch, card, options):
    registry = tmp_path / "models.yaml"
    registry.write_text(yaml.safe_dump({"mine": {"checkpoint": "a/b", "family": "f", "display_name": "Mine"} | card}))
    lines = []

    def step(*words):
        lines.append(" ".join(map(str, words)))
        if words[0] == "score":
            raise UserError("score", "is not run here.", "Stop.")

    monkeypatch.setattr(evaluate, "step", step)
    assert cli.main(["evaluate", "mine", "--registry", str(registry), "--work", str(tmp_path / "work")]) == 2
    assert f" --model mine --checkpoint a/b {options} --answers" in lines[-1]


def test_a_password_is_in_no_printed_command(tmp_path, capsys, caplog, monkeypatch):
    monkeypatch.setenv("WORLDPROBE_MATERIALS_PASSWORD", "")  # restored afterwards
    archive = str(tmp_path / "none.zip")
    assert cli.main(["evaluate", "x", "--materials", archive, "--password", "s3cret", "--work", str(tmp_path)]) == 2
    assert "s3cret" not in capsys.readouterr().err + caplog.text


def test_a_number_that_is_missing_is_null_in_the_result(evaluated, tmp_path):
    """JSON has no NaN: a model without one readable score has no accuracy."""
    from worldprobe.benchmarks.ewok.contracts import Summaries
    from worldprobe.benchmarks.ewok.report.evaluation import collect_evaluation, describe_evaluation
    from worldprobe.contracts import read_provenance, read_table, write_table

    made = read_provenance(evaluated / "summaries.parquet")
    numbers = dict.fromkeys(["mean", "low", "high", "ci_low", "ci_high"], float("nan"))
    summaries = read_table(evaluated / "summaries.parquet", Summaries).assign(**numbers)
    write_table(summaries, Summaries, tmp_path / "summaries.parquet", made)
    found = collect_evaluation(
        "m", "builtin", evaluated / "items.parquet", evaluated / "target_scores.parquet", tmp_path / "summaries.parquet"
    )
    json.dumps(found, allow_nan=False)
    assert found["accuracy"]["mean"] is None
    assert ["m", "–"] in [line.split()[:2] for line in describe_evaluation(found).splitlines()]


def test_a_folder_of_the_same_name_elsewhere_does_not_replace_a_result(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for place in ("a", "b"):
        (tmp_path / place / "final").mkdir(parents=True)
    result = tmp_path / "results" / "evaluate" / "final" / "result.json"
    result.parent.mkdir(parents=True)
    result.write_text('{"checkpoint": "a/final"}')
    assert cli.main(["evaluate", "b/final", "--versions", "0"]) == 2
    assert "is the result of another model, a/final" in capsys.readouterr().err
    assert result.read_text() == '{"checkpoint": "a/final"}'
    evaluate.refuse_another_models_folder(result, str(tmp_path / "a" / "final"))


def test_a_control_model_of_the_registry_is_evaluated_by_its_folder(capsys):
    assert cli.main(["evaluate", "control_gpt2_small", "--versions", "0"]) == 2
    assert "is trained by a study" in capsys.readouterr().err
