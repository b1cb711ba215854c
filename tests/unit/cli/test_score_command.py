"""``score``: four rows per item, the same bytes again, several eval types from one loading, and
clear refusals.
"""

from __future__ import annotations

import json
import shutil

import pandas as pd
import pytest

from command_line import run
from worldprobe.benchmarks.ewok.analysis.summarize import item_means
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
from worldprobe.settings.registry import loading_words

torch = pytest.importorskip("torch")


def test_logprobs_writes_four_rows_per_item_and_says_how_they_were_made(
    item_table, tiny_checkpoint, tmp_path
):
    out, tokens = tmp_path / "scores.parquet", tmp_path / "tokens.parquet"
    how = f"--checkpoint {tiny_checkpoint('llama', 'sentencepiece')} --dtype float32 --model tiny"
    assert run(f"score logprobs {item_table} {how} --tokens-out {tokens} --out {out}") == 0
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
    command = f"score logprobs {item_table} --checkpoint {tiny_checkpoint()} --without-context"
    assert run(f"{command} --out {out}") == 0
    assert read_table(out, TargetScores)["context"].tolist() == [0, 1, 2] * 12
    assert run(f"judge {item_table} {out} --compare-targets pmi --out {judged}") == 0
    assert (read_table(judged, Judgements)["status"] == "ok").all()


def test_the_same_command_gives_the_same_bytes_with_and_without_its_store(
    item_table, tiny_checkpoint, tmp_path
):
    command = f"score logprobs {item_table} --checkpoint {tiny_checkpoint()} --answers {tmp_path / 'kept'}"
    files = [tmp_path / f"{i}.parquet" for i in range(3)]
    assert run(f"{command} --out {files[0]}") == 0
    assert run(f"{command} --out {files[1]}") == 0
    shutil.rmtree(tmp_path / "kept")
    assert run(f"{command} --out {files[2]}") == 0
    assert len({f.read_bytes() for f in files}) == 1


def test_several_conditions_are_answered_from_one_loading_each_with_its_own_prompting(
    item_table, tiny_checkpoint, tmp_path, monkeypatch, capsys
):
    from worldprobe.models import loading

    loads = []
    load = loading.load_checkpoint
    monkeypatch.setattr(loading, "load_checkpoint", lambda *args: loads.append(1) or load(*args))
    other = tmp_path / "other.parquet"
    frame = read_table(item_table, Items)
    write_table(frame[frame.version == 0], Items, other, Provenance(canary="test canary"))
    outs = [f"{tmp_path}/{one}.parquet" for one in ("a/logs", "a/choice", "b/logs", "b/choice")]
    command = f"score all {item_table} {other} --checkpoint {tiny_checkpoint()}"
    command += f" --eval-types logprobs,choice_constrained_zero --answers {tmp_path}/answers"
    command += f" --out {' '.join(outs)} --both-orders no yes"
    assert run(command) == 0
    assert len(loads) == 1
    assert [len(read_table(out, TargetScores)) for out in (outs[0], outs[2])] == [24, 12]
    assert [set(read_table(out, Responses).presentation) for out in (outs[1], outs[3])] == [
        {"t1", "t2"},
        {"t1", "t2", "t1s", "t2s"},
    ]
    assert run(f"{command} no") == 2
    assert "--both-orders" in capsys.readouterr().err


def test_prompts_may_ask_about_a_share_which_is_judged_alone_and_beside_log_probabilities(
    item_table, tiny_checkpoint, tmp_path
):
    """One of the three templates, in both versions; what was not asked counts neither as right
    nor as wrong.
    """
    ways = ("logprobs", "choice_constrained_zero")
    outs = [f"{tmp_path}/{way}.parquet" for way in ways]
    command = f"score all {item_table} --checkpoint {tiny_checkpoint()} --limit 1"
    assert run(f"{command} --eval-types {','.join(ways)} --out {' '.join(outs)}") == 0
    asked = set(read_table(outs[1], Responses).item_id)
    assert len(asked) == 2
    assert len({one.removesuffix("_v0").removesuffix("_v1") for one in asked}) == 1
    judged = [f"{tmp_path}/judged-{way}.parquet" for way in ways]
    assert run(f"judge {item_table} {' '.join(outs)} --out {' '.join(judged)}") == 0
    tables = [read_table(path, Judgements) for path in judged]
    assert [table.item_id.nunique() for table in tables] == [6, 2]
    summaries = item_means(pd.concat(tables, ignore_index=True))
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


def test_variables_of_the_chat_template_are_told_asked_with_and_part_of_what_is_kept(
    item_table, tiny_checkpoint, tmp_path
):
    """lm-eval #3118, #2941, #3576; evalscope #554."""
    folder = shutil.copytree(tiny_checkpoint(), tmp_path / "chat")
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}{{ enable_thinking }}")
    command = (
        f"score all {item_table} --eval-types choice_free_zero --limit 1 --checkpoint {folder}"
    )
    stores, digests = set(), set()
    for stated in ({}, {"enable_thinking": False}):
        out = tmp_path / "responses.parquet"
        words = loading_words({"chat_template_kwargs": stated})
        assert main([*command.split(), *words, "--chat-template", "always", "--out", str(out)]) == 0
        made = read_provenance(out)
        assert made.of_model().get("chat_template_kwargs", {}) == stated
        stores.add(made.details["answers"]["store"])
        digests |= set(read_table(out, Responses)["prompt_digest"])
    assert (len(stores), len(digests)) == (2, 4)


def test_one_more_version_asks_only_what_is_new_and_plain_asks_all_again(
    item_table, tiny_checkpoint, tmp_path
):
    frame = read_table(item_table, Items)
    fewer, more = tmp_path / "fewer.parquet", tmp_path / "more.parquet"
    write_table(frame[frame.meta_template < 3], Items, fewer, Provenance(canary="test canary"))
    write_table(frame, Items, more, Provenance(canary="another canary"))
    out = tmp_path / "out.parquet"

    def made_by(items, flags=""):
        command = f"score logprobs {items} --checkpoint {tiny_checkpoint()} {flags}"
        assert run(f"{command} --answers {tmp_path}/kept --out {out}") == 0
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
