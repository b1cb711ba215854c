"""The page of items: its rows and numbers are those of the tables, and protected text stays out."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from command_line import run
from worldprobe import benchmarks
from worldprobe.benchmarks.ewok.contracts import Items, Ratings, Responses, TargetScores
from worldprobe.benchmarks.worldsense.contracts import Responses as Replies
from worldprobe.benchmarks.worldsense.contracts import Trials
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF
from worldprobe.benchmarks.worldsense.trials.files import read_trials
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.errors import UserError
from worldprobe.files import digest_file
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster
from worldprobe.settings import read_study
from worldprobe_authoring.search import Wordings, search_folder
from worldprobe_explorer import settings
from worldprobe_explorer.rows import LOGPROBS, Rows, Run, _again, read_page_rows
from worldprobe_explorer.worth import _p_below, worth_looking

OWN = "# worldprobe canary 1"
PAIRINGS = [(target, context) for target in (1, 2) for context in (1, 2)]


def data_of(page: Path) -> dict[str, Any]:
    """What the page's program unpacks."""
    found = re.search(r'id="data">([^<]*)<', page.read_text())
    assert found
    text = found[1] if found[1][0] == "{" else gzip.decompress(base64.b64decode(found[1]))
    data: dict[str, Any] = json.loads(text)
    return data


@pytest.fixture
def tables(item_table, tmp_path):
    """Items of ours, log probabilities of a model, ratings that it wrote, and people's."""
    items = read_table(item_table, Items)
    rng = np.random.default_rng(0)
    asked = pd.MultiIndex.from_product([items["item_id"], [1, 2], [1, 2]]).to_frame(index=False)
    asked.columns = pd.Index(["item_id", "target", "context"])
    scores = asked.assign(logprob=rng.normal(-20, 2, len(asked)), n_tokens=5, flags="")
    scores.loc[:3, "logprob"] = [-5.0, -9.0, -9.0, -5.5]
    replies = asked.assign(
        eval_type="likert_constrained_zero",
        presentation=[f"t{t}c{c}" for t, c in zip(asked["target"], asked["context"], strict=True)],
        prompt_digest="0" * 64,
        text="4",
        value=4.0,
        status="ok",
    ).drop(columns=["target", "context"])
    people = asked.assign(rating=3.5, n_raters=10.0, sd=1.0)
    details = {"prompts": "ewok", "chat": True, "swap": False}
    made = Provenance(canary=OWN, model="mine", checkpoint="folder", details=details)
    places = [tmp_path / f"{name}.parquet" for name in ("items", "scores", "replies", "ratings")]
    contracts = (Items, TargetScores, Responses, Ratings)
    for place, contract, frame in zip(
        places, contracts, (items, scores, replies, people), strict=True
    ):
        write_table(frame, contract, place, made)
    return places


def test_rows_have_the_numbers_of_the_tables(tables, tmp_path):
    page = tmp_path / "items.html"
    assert run(f"explore {' '.join(map(str, tables))} --title Mine --out {page}") == 0
    before = page.read_bytes()
    data = data_of(page)
    items, scores = read_table(tables[0], Items), read_table(tables[1], TargetScores)
    assert data["ids"] == items["item_id"].tolist()
    logprobs, likert = data["runs"]
    assert (logprobs["way"], likert["way"]) == (LOGPROBS, "likert_constrained_zero")
    assert [run["asked_by"] for run in data["runs"]] == [
        "LogProbs",
        "Likert, constrained, no examples",
    ], "as the reports say it"
    place = logprobs["rows"].index(0)
    assert logprobs["numbers"][place] == scores["logprob"].round(4).tolist()[:4]
    assert logprobs["right"][place] == 1
    assert logprobs["margin"][place] == 3.5, "the smaller of the item's two differences"
    assert set(likert["right"]) == {0.5}, "equal ratings are half right"
    grid = scores.sort_values(["item_id", "target", "context"])["logprob"].to_numpy().reshape(-1, 4)
    expected = dict(zip(sorted(set(scores["item_id"])), grid @ [1, -1, -1, 1] > 0, strict=True))
    assert logprobs["pairing"] == [expected[data["ids"][row]] for row in logprobs["rows"]]
    assert set(likert["pairing"]) == {0.5}
    assert likert["replies"][0] == ["4"] * 4
    assert data["people"]["0"] == [3.5] * 4
    texts = data["texts"]["context1"]
    assert texts["values"][texts["codes"][0]] == items["context1"][0]
    assert run(f"explore {' '.join(map(str, tables))} --title Mine --out {page}") == 0
    assert page.read_bytes() == before, "the same bytes"


def test_the_command_that_asks_again_asks_this_item(tables, tiny_checkpoint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    item = read_table(tables[0], Items)["item_id"][1]
    assert run(f"pick {tables[0]} {item} --out one.parquet") == 0
    assert read_table("one.parquet", Items)["item_id"].tolist() == [item]
    again = f"score logprobs one.parquet --checkpoint {tiny_checkpoint()} --model mine"
    assert run(f"{again} --out again.parquet") == 0
    assert run(f"pick {tables[0]} nope --out one.parquet") == 2


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"engine": "openai", "dtype": "the server's"}, ["--endpoint=URL"]),
        ({"engine": "rule", "dtype": "none"}, []),
        ({"engine": "vllm", "dtype": "bfloat16"}, ["--dtype=bfloat16"]),
        ({"engine": "not-installed", "dtype": "float32"}, []),
    ],
)
def test_the_command_that_asks_again_has_the_options_that_the_engine_takes(made, words):
    """A server's answers were to be asked again with the dtype "the server's", which is refused."""
    said = _again("score logprobs", Provenance(model="m", checkpoint="c", **made))
    assert f"--engine={made['engine']}" in said
    given = [word for word in said.split() if word.startswith(("--dtype", "--endpoint"))]
    assert given == words, said


#: The solver, asked about trials.
SOLVER = "--engine rule --checkpoint solver --model rule_solver --prompting basic"


@pytest.fixture
def solved(tmp_path, monkeypatch):
    """Trials of completeness and the solver's replies, in the working folder."""
    monkeypatch.chdir(tmp_path)
    made = "--sizes 3 --problems Compl.normal --per-cell 1 --skins race"
    assert run(f"worldsense generate test {made} --out test.parquet") == 0
    assert run(f"worldsense ask test.parquet {SOLVER} --out replies.parquet") == 0


@pytest.mark.usefixtures("solved")
def test_trials_show_conversations_and_a_tuple_can_be_asked_again(tmp_path):
    assert run("explore test.parquet replies.parquet --out items.html") == 0
    [solver] = data_of(tmp_path / "items.html")["runs"]
    assert set(solver["right"]) == {1.0}
    assert solver["tested"] is False, "a rule is no model under test"
    assert solver["replies"][0]["talk"][0][0] == "user"
    trial = str(read_table("test.parquet", Trials)["trial_id"][0])
    assert run(f"pick test.parquet {trial} --out one.parquet") == 0
    assert run(f"worldsense ask one.parquet {SOLVER} --out again.parquet") == 0


def test_protected_text_is_shown_on_request_only_and_outside_version_control(
    tables, tmp_path, monkeypatch
):
    items = read_table(tables[0], Items)
    items["context1"] = "Mehitabel slowly moves the hose downward with one hand."
    canary = "# EWoK canary 0000"
    write_table(items, Items, tables[0], Provenance(canary=canary))
    page, secret = tmp_path / "items.html", items["context1"][0]
    given = " ".join(map(str, tables))
    assert run(f"explore {given} --out {page}") == 0
    data = data_of(page)
    assert secret not in json.dumps(data)
    assert data["runs"][1]["replies"] is None
    assert len(data["ids"]) == len(items)
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    hidden = repository / "items.html"
    assert run(f"explore {given} --with-protected-text --out {hidden}") == 2
    assert not hidden.exists()
    assert run(f"explore {given} --with-protected-text --out {page}") == 0
    assert secret in json.dumps(data_of(page), ensure_ascii=False)
    assert "holds protected items" in page.read_text()
    terms = tmp_path / "TERMS.txt"
    terms.write_text("Terms of use.")
    monkeypatch.setenv("WORLDPROBE_RELEASE_PASSWORD", "word")
    packed = tmp_path / "packed.zip"
    assert run(f"release pack {page} --licence {terms} --terms {terms} --out {packed}") == 0
    assert run(f"release unpack {packed} --out {tmp_path / 'open'}") == 2, "it stays packed"
    wordings = Wordings([[items["context1"][0]]], [])
    (tmp_path / "folder").mkdir()
    page.rename(tmp_path / "folder" / "items.html")
    assert "items.html" in search_folder(tmp_path / "folder", wordings).sentences


def test_what_is_no_table_of_items_or_answers_is_refused(tables, tmp_path, capsys):
    assert run(f"explore {tables[1]} --out {tmp_path / 'items.html'}") == 2
    assert "no table of items" in capsys.readouterr().err


@pytest.mark.usefixtures("solved")
def test_one_and_two_are_one_answer_and_samples_are_averaged():
    first = read_table("replies.parquet", Replies)
    first["answer"] = first["answer"].map(lambda answer: {"1": "2", "2": "1"}.get(answer, answer))
    second = first.assign(sample=1, answer="3")
    both = pd.concat([first, second]).sort_values(["trial_id", "prompting", "sample"])
    write_table(both, Replies, "replies.parquet", read_provenance("replies.parquet"))
    [solver] = read_page_rows([Path("test.parquet"), Path("replies.parquet")]).runs
    gold = read_trials("test.parquet")["gold"].map(ANSWER_OF)
    assert solver.right.tolist() == [1.0 if answer == "3" else 0.5 for answer in gold]
    assert {reply["answer"] for reply in solver.replies} == {"1 | 3", "2 | 3", "3 | 3"}


def test_answers_find_their_table_by_its_digest(tables, tmp_path):
    """Two tables with equal ids: scores that state a digest belong to one of them."""
    items = read_table(tables[0], Items)
    twin = tmp_path / "twin.parquet"
    write_table(items.assign(domain="other"), Items, twin, Provenance(canary=OWN))
    with pytest.raises(UserError, match="ids are in several"):
        read_page_rows([tables[0], twin, tables[1]])
    scores = read_table(tables[1], TargetScores)
    inputs = {"items": digest_file(twin)}
    write_table(scores, TargetScores, tables[1], Provenance(model="mine", inputs=inputs))
    [scored] = read_page_rows([tables[0], twin, tables[1]]).runs
    assert sorted(scored.rows) == list(range(len(items), 2 * len(items)))


def test_answers_to_another_table_with_equal_ids_are_refused(tables, tmp_path):
    items, scores = read_table(tables[0], Items), read_table(tables[1], TargetScores)
    asked = {"items": digest_file(tables[0])}
    write_table(scores, TargetScores, tables[1], Provenance(model="mine", inputs=asked))
    twin = tmp_path / "twin.parquet"
    write_table(items.assign(context1="Other."), Items, twin, Provenance(canary=OWN))
    with pytest.raises(UserError, match="another table"):
        read_page_rows([twin, tables[1]])


@pytest.mark.parametrize("lacks", ["one way", "both ways"])
def test_what_was_not_answered_counts_as_judge_counts_it(tables, tmp_path, lacks):
    replies, made = read_table(tables[2], Responses), read_provenance(tables[2])
    again = replies.assign(
        eval_type="choice_constrained_zero", presentation=replies["presentation"].str[:2], value=1.0
    ).drop_duplicates(["item_id", "presentation"])
    item = replies["item_id"].iloc[0]
    kept = replies[replies["item_id"] != item]
    again = again if lacks == "one way" else again[again["item_id"] != item]
    both = pd.concat([kept, again]).sort_values(["item_id", "eval_type", "presentation"])
    write_table(both, Responses, tables[2], made)
    out = tmp_path / "judged.parquet"
    assert run(f"judge {tables[0]} {tables[2]} --out {out}") == 0
    rows = read_page_rows([tables[0], tables[2], out])
    choice, likert, *judged = rows.runs
    assert [one.way for one in judged] == [choice.way, likert.way]
    for answered, alone in zip((choice, likert), judged, strict=True):
        assert answered.rows.tolist() == alone.rows.tolist()
        assert answered.right.tolist() == alone.right.tolist()
        assert answered.numbers is not None
        assert len(answered.numbers) == len(answered.replies) == len(answered.rows)
    assert likert.right[rows.frame["id"].iloc[likert.rows] == item] == [0.0]


def test_answers_to_several_tables_are_one_run(tables, tmp_path):
    """So a model counts once, and an address names it."""
    items, scores = read_table(tables[0], Items), read_table(tables[1], TargetScores)
    paths = [tables[0], tables[1]]
    for place, frame in (("twin", items), ("twin_scores", scores)):
        contract = Items if frame is items else TargetScores
        frame = frame.assign(item_id="twin-" + frame["item_id"])
        paths.append(tmp_path / f"{place}.parquet")
        write_table(frame, contract, paths[-1], read_provenance(tables[frame is not items]))
    rows = read_page_rows(paths)
    [both] = rows.runs
    assert sorted(both.rows) == list(range(2 * len(items)))
    assert both.numbers is not None
    assert np.array_equal(both.numbers[: len(items)], both.numbers[len(items) :])
    assert both.pairing is not None
    assert np.array_equal(both.pairing[: len(items)], both.pairing[len(items) :])
    assert (
        worth_looking(rows, Roster())[0]["title"]
        == "Items where the model is wrong about both targets"
    )


def test_official_results_find_their_set_and_a_trial_is_picked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("a", 1), ("b", 2)):
        made = f"--sizes 3 --problems Infer.trivial --per-cell 2 --skins race --seed {seed}"
        assert run(f"worldsense generate test {made} --out {name}.parquet") == 0
        assert run(f"worldsense export {name}.parquet --out {name}.jsonl") == 0
    trials = read_trials("a.parquet")
    lines = [
        json.dumps({"Key": int(key), "resp": ANSWER_OF[gold]})
        for key, gold in zip(trials["trial_id"], trials["gold"], strict=True)
    ]
    results = Path("basic___m___results.jsonl")
    results.write_text("\n".join(lines) + "\n")
    [answered] = read_page_rows([Path("b.jsonl"), Path("a.jsonl"), results]).runs
    assert answered.rows.tolist() == list(range(len(trials), 2 * len(trials)))
    assert set(answered.right) == {1.0}
    trial = trials["trial_id"][0]
    assert run(f"pick a.jsonl {trial} --out one.parquet") == 0
    assert trial in read_table("one.parquet", Trials)["trial_id"].tolist()


def test_people_rated_the_first_condition(tables, tmp_path):
    """Conditions of a study have equal ids, and ratings do not say which items they are about."""
    items, twin = read_table(tables[0], Items), tmp_path / "twin.parquet"
    write_table(items.assign(context1="Other."), Items, twin, Provenance(canary=OWN))
    rows = read_page_rows([tables[0], twin, tables[3]])
    assert sorted(rows.people) == list(range(len(items)))


def test_judgements_alone_are_a_run(tables, tmp_path):
    out = tmp_path / "judged.parquet"
    assert run(f"judge {tables[0]} {tables[1]} --out {out}") == 0
    scored, judged = read_page_rows([tables[0], tables[1], out]).runs
    assert judged.right.tolist() == scored.right.tolist()
    assert judged.numbers is None
    assert judged.pairing.tolist() == scored.pairing.tolist()


def test_prompts_are_those_that_were_sent(item_table, tiny_checkpoint, tmp_path):
    """Filled with an item's texts, the page's prompt has the digest of what the model read; with
    another file of prompts, none is shown.
    """
    out, page = tmp_path / "replies.parquet", tmp_path / "items.html"
    asked = f"score all {item_table} --checkpoint {tiny_checkpoint()} --model mine"
    ways = "--eval-types choice_constrained_two --both-orders yes"
    assert run(f"{asked} {ways} --out {out}") == 0
    replies, items = read_table(out, Responses), read_table(item_table, Items)
    assert run(f"explore {item_table} {out} --with-protected-text --out {page}") == 0
    data = data_of(page)
    [choice] = data["runs"]
    assert choice["asked"] == ["t1", "t1s", "t2", "t2s"]
    item = items.iloc[choice["rows"][0]]
    filled = choice["prompt"]
    for slot, text in {
        "context1": item["context2"],
        "context2": item["context1"],
        "target": item["target2"],
    }.items():
        filled = filled.replace(f"{{{slot}}}", text)
    is_meant = (replies["item_id"] == item["item_id"]) & (replies["presentation"] == "t2s")
    digest = hashlib.sha256(filled.encode()).hexdigest()
    assert replies.loc[is_meant, "prompt_digest"].tolist() == [digest]
    replies["prompt_digest"] = "0" * 64
    write_table(replies, Responses, out, read_provenance(out))
    assert read_page_rows([item_table, out]).runs[0].prompt == ""


def test_minimal_pairs_have_their_texts_where_their_file_is_given(tiny_checkpoint, tmp_path):
    (tmp_path / "data.csv").write_text("good,bad,field\nThe cat sits.,The cat sit.,agreement\n")
    pairs, scores = tmp_path / "pairs.yaml", tmp_path / "scores.parquet"
    keys = "title: Pairs\nquestion: Which?\nreference: none\ndata: [data.csv]\n"
    pairs.write_text(keys + "targets: [good, bad]\ngroups: {field: field}\n")
    assert run(f"ask {pairs} --checkpoint {tiny_checkpoint()} --model mine --out {scores}") == 0
    alone, texts = read_page_rows([scores]), read_page_rows([pairs, scores])
    assert alone.frame["domain"].tolist() == ["agreement"]
    assert "target1" not in alone.frame
    assert texts.frame["target1"].tolist() == ["The cat sits."]
    assert texts.runs[0].right.tolist() == alone.runs[0].right.tolist()
    (tmp_path / "data.csv").write_text("good,bad,field\nThe dog sits.,The dog sit.,agreement\n")
    with pytest.raises(UserError, match="another table"):
        read_page_rows([pairs, scores])


def test_a_protected_item_is_picked_outside_version_control_only(tables, tmp_path):
    write_table(read_table(tables[0], Items), Items, tables[0], Provenance(canary="# EWoK canary"))
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    item = read_table(tables[0], Items)["item_id"][0]
    assert run(f"pick {tables[0]} {item} --out {repository / 'one.parquet'}") == 2
    assert run(f"pick {tables[0]} {item} --out {tmp_path / 'one.parquet'}") == 0


def test_few_templates_near_the_ceiling_are_not_below_the_others_by_chance():
    """The only template that is wrong is one of these 4 of 32 with p 1/8, not 0.004 as by the
    normal approximation.
    """
    right = np.append(0.5, np.ones(31))
    assert _p_below(right, np.array([4, 28]), 10_000)[0] == pytest.approx(1 / 8, abs=0.02)


@pytest.mark.long
def test_a_pair_is_named_however_many_are_tested():
    """With 9,999 permutations each, the smallest p of 600 pairs was 0.06 after correction."""
    places = np.arange(1800)
    frame = pd.DataFrame({"benchmark": "ewok", "domain": "d", "template": places.astype(str)})
    frame["concept"] = [f"c{place // 3}" for place in places]
    right = np.where(places < 3, 0.0, 1.0)
    run = Run("a", LOGPROBS, places, right, right)
    below = worth_looking(Rows(frame, runs=[run]), Roster())[1]
    assert below["text"].startswith("1 of 600 pairs"), below
    assert [entry["filter"] for entry in below["entries"]] == ["domain=d&concept=c0"]


def test_planted_faults_are_listed():
    """A pair of concepts that is always wrong, an item that both models miss, and a template whose
    versions disagree.
    """
    frame = pd.DataFrame(
        {
            "id": [f"d_{pair}_{t}_v{v}" for pair in range(20) for t in range(8) for v in (0, 1)],
            "benchmark": "ewok",
            "domain": "d",
            "concept": [f"c{pair}" for pair in range(20) for _ in range(16)],
            "template": [f"{pair}_{t}" for pair in range(20) for t in range(8) for _ in (0, 1)],
        }
    )
    rng = np.random.default_rng(1)
    templates = rng.choice([0.5, 1.0], 160)
    right = np.repeat(templates, 2)
    right[:16] = 0.0
    right[-2:] = [0, 1]
    rows = np.arange(len(frame))
    runs = [Run(name, LOGPROBS, rows, right, right - 0.5) for name in ("a", "b")]
    wrong, below, apart = worth_looking(Rows(frame, runs=runs), Roster())
    assert wrong["text"].startswith("17 of 320; 1 if")
    filters = [entry["filter"] for entry in below["entries"]]
    assert filters == ["domain=d&concept=c0"], "though its templates do not differ at all"
    assert [entry["text"] for entry in apart["entries"]] == ["d_19_7"]
    fair = Run("a", LOGPROBS, rows, np.repeat(templates, 2), right)
    assert "None of" in worth_looking(Rows(frame, runs=[fair]), Roster())[1]["text"]


def test_a_study_of_released_trials_shows_its_answers(tmp_path):
    (tmp_path / "test_set").mkdir()
    trials = tmp_path / "test_set" / "trials.jsonl.bz2"
    trials.touch()
    asked = {"released": str(tmp_path), "sets": ["test"], "promptings": ["basic"]}
    stated = {"benchmarks": ["worldsense"], "models": ["mine"], "worldsense": asked}
    study = read_study(stated, [], benchmarks.settings_classes)
    trial_table, *answers = settings.tables(study, ["mine"])
    assert trial_table == str(trials)
    assert "results/default/worldsense/responses/test/basic/mine.parquet" in answers
