"""``score``: four rows per item, the same bytes again, several eval types from one loading, and
clear refusals.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.analysis.summarize import summarize
from worldprobe.benchmarks.ewok.contracts import (
    Items,
    Judgements,
    Responses,
    TargetScores,
    TokenScores,
)
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.provenance import Provenance

torch = pytest.importorskip("torch")


def test_logprobs_writes_four_rows_per_item_and_says_how_they_were_made(
    item_table, tiny_checkpoint, tmp_path
):
    out, tokens = tmp_path / "scores.parquet", tmp_path / "tokens.parquet"
    command = [
        "score",
        "logprobs",
        str(item_table),
        "--checkpoint",
        str(tiny_checkpoint("llama", "sentencepiece")),
    ]
    assert (
        main(
            [
                *command,
                "--dtype",
                "float32",
                "--model",
                "tiny",
                "--tokens-out",
                str(tokens),
                "--out",
                str(out),
            ]
        )
        == 0
    )
    scores = read_table(out, TargetScores)
    assert len(scores) == 6 * 4
    assert (scores.n_tokens > 0).all()
    first, second = (
        scores[scores.item_id.str.endswith(v)].reset_index(drop=True) for v in ("v0", "v1")
    )
    assert (first.logprob == second.logprob).all(), (
        "both versions ask the same questions, which are computed once"
    )
    made = read_provenance(out)
    assert (made.model, made.dtype, made.engine) == ("tiny", "float32", "transformers")
    assert made.details["start"]["before_text"] == ["<s>"]
    assert made.details["distinct_queries"] == 12
    assert made.details["flags"]["straddle"] == 0
    assert made.packages.keys() >= {"torch", "transformers", "tokenizers", "worldprobe"}
    assert made.canary is None
    by_token = read_table(tokens, TokenScores)
    assert read_provenance(tokens).canary == "test canary"
    sums = by_token.groupby(["item_id", "target", "context"]).logprob.sum()
    assert sums.tolist() == pytest.approx(
        scores.set_index(["item_id", "target", "context"]).logprob.sort_index().tolist(), abs=1e-9
    )


def test_targets_are_scored_without_a_context_where_that_is_asked_which_pmi_needs(
    item_table, tiny_checkpoint, tmp_path
):
    out, judged = tmp_path / "scores.parquet", tmp_path / "judgements.parquet"
    command = [
        "score",
        "logprobs",
        str(item_table),
        "--checkpoint",
        str(tiny_checkpoint()),
        "--without-context",
    ]
    assert main([*command, "--out", str(out)]) == 0
    assert read_table(out, TargetScores)["context"].tolist() == [0, 1, 2] * 12
    assert (
        main(["judge", str(item_table), str(out), "--compare-targets", "pmi", "--out", str(judged)])
        == 0
    )
    assert (read_table(judged, Judgements)["status"] == "ok").all()


def test_a_model_is_asked_on_as_many_threads_as_are_named(item_table, tiny_checkpoint, tmp_path):
    before = torch.get_num_threads()
    command = ["score", "logprobs", str(item_table), "--checkpoint", str(tiny_checkpoint())]
    try:
        for threads in (2, 1):
            assert (
                main([*command, "--threads", str(threads), "--out", str(tmp_path / "out.parquet")])
                == 0
            )
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_the_same_command_gives_the_same_bytes_with_and_without_its_store(
    item_table, tiny_checkpoint, tmp_path
):
    command = [
        "score",
        "logprobs",
        str(item_table),
        "--checkpoint",
        str(tiny_checkpoint()),
        "--answers",
        str(tmp_path / "kept"),
    ]
    files = [tmp_path / f"{i}.parquet" for i in range(3)]
    assert main([*command, "--out", str(files[0])]) == 0
    assert main([*command, "--out", str(files[1])]) == 0
    shutil.rmtree(tmp_path / "kept")
    assert main([*command, "--out", str(files[2])]) == 0
    assert len({f.read_bytes() for f in files}) == 1


def test_one_loading_answers_several_eval_types_each_into_its_file(
    item_table, tiny_checkpoint, tmp_path, monkeypatch
):
    from worldprobe.models import loading

    loads = []
    load = loading.load
    monkeypatch.setattr(loading, "load", lambda *args: loads.append(1) or load(*args))
    outs = [
        tmp_path / "logprobs" / "m.parquet",
        tmp_path / "likert_constrained_zero" / "m.parquet",
        tmp_path / "c" / "m.parquet",
    ]
    command = [
        "score",
        "all",
        str(item_table),
        "--checkpoint",
        str(tiny_checkpoint()),
        "--answers",
        str(tmp_path / "kept"),
    ]
    types = "logprobs,likert_constrained_zero,choice_constrained_zero"
    assert main([*command, "--eval-types", types, "--both-orders", "--out", *map(str, outs)]) == 0
    assert len(loads) == 1
    assert len(read_table(outs[0], TargetScores)) == 24
    assert read_table(outs[1], Responses).presentation.value_counts().to_dict() == dict.fromkeys(
        ["t1c1", "t1c2", "t2c1", "t2c2"], 6
    )
    assert read_table(outs[2], Responses).presentation.value_counts().to_dict() == dict.fromkeys(
        ["t1", "t2", "t1s", "t2s"], 6
    )
    assert read_provenance(outs[2]).canary == "test canary", "responses may repeat an item's words"
    alone = tmp_path / "alone.parquet"
    assert main([*command, "--eval-types", "likert_constrained_zero", "--out", str(alone)]) == 0
    assert alone.read_bytes() == outs[1].read_bytes()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--checkpoint", "someone/unheard-of"], "models fetch --checkpoint someone/unheard-of"),
        (["--checkpoint", "{folder}/../nothing/here"], "no such model folder"),
        (["--dtype", "float23"], 'did you mean "float32"'),
        (["--device", "cuda:7"], "not a device of this machine"),
        (["--engine", "transfomers"], 'did you mean "transformers"'),
        (["--engine", "rule", "--checkpoint", "solver"], "answers WorldSense's trials only"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    item_table, tiny_checkpoint, tmp_path, capsys, change, words
):
    out = tmp_path / "out.parquet"
    checkpoint = str(tiny_checkpoint())
    change = [part.format(folder=checkpoint) for part in change]
    loaded = [] if "--checkpoint" in change else ["--checkpoint", checkpoint]
    assert main(["score", "logprobs", str(item_table), *loaded, *change, "--out", str(out)]) == 2
    assert words in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("remove", "add", "words"),
    [
        ("model.safetensors", None, "no weights"),
        ("model.safetensors", "pytorch_model.bin", "pickle"),
        ("tokenizer.json", None, "no tokenizer"),
        ("config.json", None, "no config.json"),
    ],
)
def test_an_incomplete_or_unsafe_model_folder_is_refused(
    item_table, tiny_checkpoint, tmp_path, capsys, remove, add, words
):
    folder = tmp_path / "model"
    shutil.copytree(tiny_checkpoint(), folder)
    (folder / remove).unlink()
    if add:
        (folder / add).write_bytes(b"")
    assert (
        main(
            [
                "score",
                "logprobs",
                str(item_table),
                "--checkpoint",
                str(folder),
                "--out",
                str(tmp_path / "o"),
            ]
        )
        == 2
    )
    assert words in capsys.readouterr().err


def test_foreign_code_and_absent_tensors_are_refused(item_table, tiny_checkpoint, tmp_path, capsys):
    folder = tmp_path / "model"
    shutil.copytree(tiny_checkpoint(), folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(
        json.dumps(config | {"model_type": "strange", "auto_map": {"AutoModelForCausalLM": "x.Y"}})
    )
    command = [
        "score",
        "logprobs",
        str(item_table),
        "--checkpoint",
        str(folder),
        "--out",
        str(tmp_path / "o"),
    ]
    assert main(command) == 2
    assert "its own Python code" in capsys.readouterr().err
    (folder / "config.json").write_text(json.dumps(config | {"n_layer": 3}))
    assert main(command) == 2
    assert "lacks" in capsys.readouterr().err


def test_items_of_another_schema_version_and_unpaired_outputs_are_refused(
    item_table, tiny_checkpoint, tmp_path, capsys, monkeypatch
):
    command = ["--checkpoint", str(tiny_checkpoint()), "--out", str(tmp_path / "o")]
    assert (
        main(
            ["score", "all", str(item_table), "--eval-types", "logprobs,choice_free_two", *command]
        )
        == 2
    )
    assert "2 different eval types need 2 --out files; 1 were given" in capsys.readouterr().err
    monkeypatch.setattr(Items, "Config", replace(Items.Config, version=99))
    assert main(["score", "logprobs", str(item_table), *command]) == 2
    assert "version 99" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("column", "text"), [("context1", None), ("target2", ""), ("target1", "  ")]
)
def test_an_item_without_a_text_is_refused(
    item_table, tiny_checkpoint, tmp_path, capsys, column, text
):
    frame = read_table(item_table, Items)
    frame.loc[1, column] = text
    path, out = tmp_path / "items.parquet", tmp_path / "out.parquet"
    import pyarrow
    import pyarrow.parquet

    kept = pyarrow.parquet.read_schema(item_table).metadata
    pyarrow.parquet.write_table(
        pyarrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(kept), path
    )
    assert (
        main(
            [
                "score",
                "logprobs",
                str(path),
                "--checkpoint",
                str(tiny_checkpoint()),
                "--out",
                str(out),
            ]
        )
        == 2
    )
    assert f"1 items have no {column}" in capsys.readouterr().err or text is None
    assert not out.exists()


def test_several_conditions_are_answered_from_one_loading_each_with_its_own_prompting(
    item_table, tiny_checkpoint, tmp_path, monkeypatch, capsys
):
    from worldprobe.models import loading

    loads = []
    load = loading.load
    monkeypatch.setattr(loading, "load", lambda *args: loads.append(1) or load(*args))
    other = tmp_path / "other.parquet"
    frame = read_table(item_table, Items)
    write_table(frame[frame.version == 0], Items, other, Provenance(canary="test canary"))
    outs = [
        tmp_path / condition / f"{way}.parquet"
        for condition in ("a", "b")
        for way in ("logprobs", "choice")
    ]
    command = ["score", "all", str(item_table), str(other), "--checkpoint", str(tiny_checkpoint())]
    command += [
        "--eval-types",
        "logprobs,choice_constrained_zero",
        "--answers",
        str(tmp_path / "answers"),
    ]
    assert main([*command, "--both-orders", "no", "yes", "--out", *map(str, outs)]) == 0
    assert len(loads) == 1
    assert [len(read_table(out, TargetScores)) for out in (outs[0], outs[2])] == [24, 12]
    assert [set(read_table(out, Responses).presentation) for out in (outs[1], outs[3])] == [
        {"t1", "t2"},
        {"t1", "t2", "t1s", "t2s"},
    ]
    assert main([*command, "--both-orders", "no", "yes", "no", "--out", *map(str, outs)]) == 2
    assert "--both-orders" in capsys.readouterr().err


def test_prompts_may_ask_about_a_share_which_is_judged_alone_and_beside_log_probabilities(
    item_table, tiny_checkpoint, tmp_path
):
    """One of the three templates, in both versions; what was not asked counts neither as right nor
    as wrong.
    """
    ways = ("logprobs", "choice_constrained_zero")
    outs = [tmp_path / f"{way}.parquet" for way in ways]
    command = [
        "score",
        "all",
        str(item_table),
        "--checkpoint",
        str(tiny_checkpoint()),
        "--eval-types",
        ",".join(ways),
    ]
    assert main([*command, "--limit", "1", "--out", *map(str, outs)]) == 0
    asked = set(read_table(outs[1], Responses).item_id)
    assert len(asked) == 2
    assert len({one.removesuffix("_v0").removesuffix("_v1") for one in asked}) == 1
    judged = [tmp_path / f"judged-{way}.parquet" for way in ways]
    assert main(["judge", str(item_table), *map(str, outs), "--out", *map(str, judged)]) == 0
    tables = [read_table(path, Judgements) for path in judged]
    assert [table.item_id.nunique() for table in tables] == [6, 2]
    summaries = summarize(pd.concat(tables, ignore_index=True))
    rows = summaries.query("metric == 'accuracy' and condition == 'all'").set_index(
        ["eval_type", "grouping", "group"]
    )
    assert rows["n"]["logprobs", "overall", "all"] == 6
    assert (
        rows["n"]["logprobs", "prompted", "all"]
        == rows["n"]["choice_constrained_zero", "prompted", "all"]
        == 2
    )
    only = tables[0][tables[0].item_id.isin(asked)]
    assert rows["mean"]["logprobs", "prompted", "all"] == pytest.approx(only.accuracy.mean())


def test_one_more_version_asks_only_what_is_new_and_plain_asks_all_again(
    item_table, tiny_checkpoint, tmp_path
):
    frame = read_table(item_table, Items)
    fewer, more = tmp_path / "fewer.parquet", tmp_path / "more.parquet"
    write_table(frame[frame.meta_template < 3], Items, fewer, Provenance(canary="test canary"))
    write_table(frame, Items, more, Provenance(canary="another canary"))
    out = tmp_path / "out.parquet"

    def made_by(items, *flags):
        command = [
            "score",
            "logprobs",
            str(items),
            "--checkpoint",
            str(tiny_checkpoint()),
            "--answers",
            str(tmp_path / "kept"),
        ]
        assert main([*command, *flags, "--out", str(out)]) == 0
        return read_provenance(out).details["answers"]

    first, second = made_by(fewer), made_by(more)
    assert [entry["answers"] for entry in first["made_by"]] == [8]
    assert sorted(entry["answers"] for entry in second["made_by"]) == [4, 8]
    assert made_by(fewer) == first
    plain = made_by(fewer, "--plain")
    assert plain["store"] != first["store"]
    assert plain["made_by"][0]["process"]["mode"] == "plain"
    identities = [
        json.loads(path.read_text()) for path in (tmp_path / "kept").glob("*/identity.json")
    ]
    assert sorted(identity["canary"] for identity in identities) == [
        ["another canary", "test canary"],
        ["test canary"],
    ]


def test_a_model_without_numbers_is_refused_before_anything_is_written(
    item_table, tiny_checkpoint, tmp_path, capsys
):
    import transformers

    folder, out = tmp_path / "model", tmp_path / "out.parquet"
    shutil.copytree(tiny_checkpoint(), folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        model.transformer.ln_f.weight[0] = float("nan")
    model.save_pretrained(folder)
    command = [
        "score",
        "all",
        str(item_table),
        "--checkpoint",
        str(folder),
        "--eval-types",
        "choice_constrained_zero",
    ]
    assert main([*command, "--out", str(out)]) == 2
    assert "NaN or infinite" in capsys.readouterr().err
    assert not out.exists()
