"""Files that can be read, and would give a wrong number: refused, counted or averaged as they
should be.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import run
from worldprobe.archives import encrypt
from worldprobe.benchmarks.ewok import contracts
from worldprobe.benchmarks.worldsense.skins.skins import FOLDER as SKINS
from worldprobe.benchmarks.worldsense.skins.skins import check_skins
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.errors import UserError
from worldprobe.missing import Missing, write_missing
from worldprobe.report.model_names import Roster
from worldprobe.report.origins import notes
from worldprobe_lab.contracts import ConditionComparisons

HEAD = "item_id,target,context,rating\n"
CELLS = [(target, context) for target in (1, 2) for context in (1, 2)]


@pytest.fixture
def rate(check, study, tmp_path: Path) -> Callable[..., str]:
    """Import a CSV of people's ratings to r.parquet; ITEM in its text is an item's id."""
    item = read_table(study["items"], contracts.Items)["item_id"].iloc[0]

    def rate_case(text: str, words: str = "", status: int = 2, options: str = "") -> str:
        (tmp_path / "r.csv").write_text(text.replace("ITEM", item), encoding="utf-8")
        line = f"import human-ratings {{items}} {{folder}}/r.csv {options} --out "
        return check(line + ("{out}" if status else "{folder}/r.parquet"), words, status)

    return rate_case


def ratings(tmp_path: Path) -> pd.DataFrame:
    table = read_table(tmp_path / "r.parquet", contracts.Ratings)
    return table.set_index(["target", "context"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEAD}ITEM,1,1,good\n", "line 2"),
        (f"{HEAD}ITEM,1,1,9999\n", "not on the scale from 1 to 5"),
        (f"{HEAD}ITEM,3,1,4\n", "is not a target"),
        (f"{HEAD}ITEM,1,9,4\n", "is not a context"),
        (f"{HEAD}ITEM,1,1\n", "line 2"),
        (f"{HEAD}ITEM,1,1,\n", "contains no rating"),
        (HEAD.strip() + ",Rating\nITEM,1,1,4,1\n", 'column "rating" twice'),
        (HEAD.strip() + ",rater\nITEM,1,1,4,P1\nITEM,1,1,5,P1\n", "the first time in line 2"),
        (HEAD.strip() + ",rater\nITEM,1,1,4,P1\nITEM,1,1,5,p1\n", "same rater twice"),
        (HEAD.strip() + ",rater\nITEM,1,1,4,Zo\u00eb\nITEM,1,1,5,Zoe\u0308\n", "same rater twice"),
        (HEAD.strip() + ",rater\nITEM,1,1,4,7\nITEM,1,1,5,7.0\n", "same rater twice"),
    ],
)
def test_a_bad_rating_is_named(rate, text: str, words: str) -> None:
    rate(text, words)


@pytest.mark.parametrize("name", ["participant", "ResponseId", "PROLIFIC_PID", "Rater ID", "id"])
def test_a_column_that_may_be_the_raters_is_asked_about(rate, name: str) -> None:
    """JATOS #233, Dallinger #407, psiTurk #190: two records of a person, counted as two people."""
    rows = "".join(f"ITEM,1,1,{cell},{person}\n" for cell, person in ((1, 7), (1, 7), (5, 8)))
    rate(f"{HEAD.strip()},{name}\n{rows}", f'Rename "{name.lower()}" to "rater"')


def test_raters_are_known_by_what_a_column_holds(rate, tmp_path: Path) -> None:
    rows = "".join(f"ITEM,{t},{c},3,{who}\n" for t, c in CELLS for who in ("ann", "bo"))
    rate(f"{HEAD.strip()},who\n{rows}", 'Rename "who" to "rater"')
    shown = rate(f"{HEAD.strip()},trial\nITEM,1,1,4,1\nITEM,1,1,2,1\n", status=0)
    assert ratings(tmp_path)["n_raters"].tolist() == [2]
    assert "ignored columns: trial" in shown


def test_ratings_of_the_same_question_are_averaged(rate, tmp_path: Path) -> None:
    rows = "".join(f"ITEM,1,1,{cell}\n" for cell in ("4.5", "1", " 1 ", ""))
    rate(f"{HEAD}{rows}ITEM,1,2,3.0\nITEM,2,1,\nnobody_1_1_v0,1,1,2\n", status=0)
    found = ratings(tmp_path)
    assert found.loc[(1, 1), ["rating", "n_raters"]].tolist() == [pytest.approx(6.5 / 3), 3]
    assert found.loc[(1, 1), "sd"] == pytest.approx(2.0207, abs=1e-4)
    assert found.loc[(1, 2), ["rating", "n_raters"]].tolist() == [3, 1]
    assert found.loc[(2, 1), "n_raters"] == 0
    assert found["sd"].isna().tolist() == [False, True, True]


def test_ratings_that_are_equal_on_average_tie(rate, check, tmp_path: Path) -> None:
    cells = "ITEM,1,1,0.1\nITEM,1,1,0.5\nITEM,1,2,0.2\nITEM,1,2,0.4\n"
    rate(HEAD + cells, status=0, options="--scale 0 1")
    check("judge {items} {folder}/r.parquet --out {folder}/j.parquet", status=0)
    judged = read_table(tmp_path / "j.parquet", contracts.Judgements)
    assert (judged["is_tie"].sum(), judged["is_near_tie"].sum()) == (1, 0)


def test_the_wide_form_reaches_every_item_with_the_texts(check, study, tmp_path: Path) -> None:
    items = read_table(study["items"], contracts.Items)
    texts = ["context1", "context2", "target1", "target2"]
    items.loc[1, texts] = items.loc[0, texts]
    made = read_provenance(study["items"])
    write_table(items, contracts.Items, tmp_path / "i.parquet", made)
    rated = {
        f"response_mean_target{t}_context{c}": rating
        for (t, c), rating in zip(CELLS, (3, 2, 2, 3), strict=True)
    }
    items.loc[[0], texts].assign(**rated).to_csv(tmp_path / "r.csv", index=False)
    check(
        "import human-ratings {folder}/i.parquet {folder}/r.csv --out {folder}/r.parquet", status=0
    )
    assert set(ratings(tmp_path)["item_id"]) == set(items["item_id"][:2])
    assert ratings(tmp_path)["n_raters"].isna().all()


def test_the_archive_of_released_results_gives_the_ratings_of_its_csvs_once(
    study, tmp_path: Path, check
) -> None:
    items = read_table(study["items"], contracts.Items)
    texts = ["context1", "context2", "target1", "target2"]
    rated = {
        f"response_mean_target{t}_context{c}": 1 + 3 * (t == c) for t in (1, 2) for c in (1, 2)
    }
    rows = items.loc[[0], texts].assign(**rated)
    rows = rows.rename(columns={name: name.capitalize() for name in texts})
    csv = "# a canary line\n" + pd.concat([rows, rows]).to_csv(index=False)
    members = {
        "outputs_human/results_by_domain/one.csv": csv.encode(),
        "outputs/results/eval=logprobs/model=a/one.csv": b"a,b\n1,2\n",
        "notes.txt": b"nothing",
    }
    (tmp_path / "released.zip").write_bytes(encrypt(members, "a password"))
    line = "import human-ratings {items} {folder}/released.zip --out {folder}/r.parquet"
    check(line, "the password is wrong")
    (tmp_path / "released.zip").write_bytes(encrypt(members, "hunter2secret"))
    check(line, status=0)
    assert ratings(tmp_path)["rating"].tolist() == [4, 1, 1, 4]
    del members["outputs_human/results_by_domain/one.csv"]
    (tmp_path / "released.zip").write_bytes(encrypt(members, "hunter2secret"))
    check(line, "contains no CSV with people's mean ratings")


@pytest.mark.parametrize(
    "line",
    [
        "fit fixed-effects {judgements_a} {copy} {judgements_b} --surface {surface} --out {out}",
        "summarize {judgements_a} {judgements_b} {copy} --out {out}",
        "compare {judgements_a} {judgements_b} {copy} --out {out}",
        "correlate {judgements_a} {copy} --surface {surface} --out {out}",
    ],
)
def test_a_table_given_twice_is_refused(study, tmp_path: Path, check, line: str) -> None:
    shutil.copy(study["judgements_a"], tmp_path / "copy.parquet")
    check(line, "a second time", copy=tmp_path / "copy.parquet")


#: What `baselines judge --by relatedness` is given beside a good table: change of its rows, and
#: what is said.
ODD_COSINES = [
    (lambda rows: rows.iloc[:0], "contains no rows of similarities"),
    (lambda rows: rows.assign(similarity=np.nan), "knows no item"),
    (lambda rows: rows.assign(similarity=0.5), "same for both contexts"),
    (lambda rows: rows.iloc[:-1], "lacks 1 of the"),
    (lambda rows: rows[(rows["target"] == 1) | (rows["context"] == 1)], "lacks"),
    (lambda rows: rows.assign(item_id=rows["item_id"] + "0"), "not among the items"),
]


@pytest.mark.parametrize(("change", "said"), ODD_COSINES)
def test_relatedness_of_odd_tables_is_refused(study, tmp_path, check, change, said) -> None:
    rows, made = (
        read_table(study["similarities"], contracts.Similarities),
        read_provenance(study["similarities"]),
    )
    odd, odder = tmp_path / "odd.parquet", tmp_path / "odder.parquet"
    write_table(change(rows), contracts.Similarities, odd, made)
    halves = change(rows.assign(similarity=rows["similarity"] / 2))
    write_table(halves, contracts.Similarities, odder, made)
    for given in ("{similarities} {odd}", "{odd} {similarities}", "{odd} {odder}"):
        line = f"baselines judge {{items}} --by relatedness --source {given} --out {{out}}"
        check(line, said, odd=odd, odder=odder)


def test_relatedness_is_not_judged_by_cosines_of_other_items_or_other_tables(
    study, tmp_path, check
) -> None:
    rows = read_table(study["similarities"], contracts.Similarities)
    made = read_provenance(study["similarities"])
    other, copy, mixed = (tmp_path / f"{name}.parquet" for name in ("other", "copy", "mixed"))
    write_table(
        rows.assign(similarity=rows["similarity"] / 2),
        contracts.Similarities,
        other,
        replace(made, inputs={"items": "another"}),
    )
    shutil.copy(study["similarities"], copy)
    line = "baselines judge {items} --by relatedness --source {similarities} "
    check(f"{line} {{other}} --out {{out}}", "from other items", other=other)
    check(f"{line} {{copy}} --out {{out}}", "given twice", copy=copy)
    check(f"{line} {{scores_a}} --out {{out}}", "not similarities")
    check(f"{line} {{folder}}/none.parquet --out {{out}}", "no such file")
    unknown = np.random.default_rng(0).random(len(rows)) < 0.3
    write_table(
        rows.assign(similarity=rows["similarity"].mask(unknown)),
        contracts.Similarities,
        mixed,
        made,
    )
    check(f"{line} {{mixed}} --out {{folder}}/j.parquet", status=0, mixed=mixed)
    judged = read_table(tmp_path / "j.parquet", contracts.Judgements)
    assert (judged["status"] == "ok").all(), "where one lacks a cosine, the other decides"


def test_the_agreement_of_models_is_not_taken_for_that_of_people(check) -> None:
    line = "agree {judgements_choice} {judgements_likert} --people {agreements} --out {out}"
    check(line, "contains the answers of models")


def test_tables_of_other_items_with_the_same_ids_are_refused(check, tmp_path: Path) -> None:
    swapped = "items build {materials} --versions 0 --swap 'object->nonword'"
    check(f"{swapped} --out {{folder}}/other.parquet", status=0)
    surface = "baselines measure-surface {folder}/other.parquet --out {folder}/surface.parquet"
    check(surface, status=0)
    for line in (
        "judge {folder}/other.parquet {scores_a} --out {out}",
        "judge {folder}/other.parquet {similarities} --out {out}",
        "correlate {judgements_a} {judgements_w} --surface {folder}/surface.parquet --out {out}",
        "reproduction check {summaries} --items {folder}/other.parquet --out {out}",
    ):
        check(line, " other ")


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("likert", "presentation", "t1c9"),
        ("likert", "value", 2.5),
        ("likert", "value", 9.0),
        ("choice", "presentation", "t1c1"),
        ("choice", "value", 5.0),
        ("scores_a", "logprob", 5.0),
        ("scores_a", "item_id", None),
        ("similarities", "similarity", -7.5),
    ],
)
def test_answers_that_cannot_be_are_refused(study, tmp_path, check, table, column, value) -> None:
    rows = pq.read_table(study[table])
    kind = rows.schema.field(column).type
    cells = pa.array([value, *rows.column(column).to_pylist()[1:]], kind)
    changed = rows.set_column(rows.schema.get_field_index(column), column, cells)
    changed = changed.replace_schema_metadata(rows.schema.metadata)
    pq.write_table(changed, tmp_path / "bad.parquet")
    check("judge {items} {folder}/bad.parquet --out {out}")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        (b"worldprobe.table", b"recipes", "contains recipes"),
        (b"worldprobe.schema_version", b"99", "version 99"),
        (b"worldprobe.provenance", b"{", "not valid JSON"),
        (b"worldprobe.provenance", b'{"method": 1, "later": 2}', '"later"'),
    ],
)
def test_what_a_table_says_of_itself_is_checked(study, tmp_path, check, key, value, words) -> None:
    table = pq.read_table(study["scores_a"])
    changed = table.replace_schema_metadata(table.schema.metadata | {key: value})
    pq.write_table(changed, tmp_path / "bad.parquet")
    check("judge {items} {folder}/bad.parquet --out {out}", words)


def test_no_flipped_bit_of_a_page_changes_a_number(study, tmp_path) -> None:
    content, bad = study["scores_a"].read_bytes(), tmp_path / "bad.parquet"
    whole = read_table(study["scores_a"], contracts.TargetScores)
    end = len(content) - int.from_bytes(content[-8:-4], "little") - 8
    for place in range(8, end, end // 40):
        bad.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        try:
            assert read_table(bad, contracts.TargetScores).equals(whole)
        except UserError:
            continue


@pytest.fixture
def unscored(study, tmp_path: Path, check) -> Path:
    """Judgements of a model without a single score."""
    scores, made = (
        read_table(study["scores_a"], contracts.TargetScores),
        read_provenance(study["scores_a"]),
    )
    made.model = "model_nan"
    write_table(
        scores.assign(logprob=np.nan), contracts.TargetScores, tmp_path / "nan.parquet", made
    )
    check("judge {items} {folder}/nan.parquet --out {folder}/judged.parquet", status=0)
    return tmp_path / "judged.parquet"


def test_a_model_without_scores_does_not_keep_others_from_being_correlated(
    unscored, tmp_path, check
) -> None:
    line = (
        "correlate {judgements_a} {judgements_w} {unscored} --surface {surface} --out"
        " {folder}/c.parquet"
    )
    check(line, status=0, unscored=unscored)
    table = read_table(tmp_path / "c.parquet", contracts.Correlations)
    of_model = table[table["model"] == "model_nan"]
    assert len(of_model) == len(table) / 2
    assert (of_model["n"] == 0).all()
    assert of_model["r"].isna().all()
    alone = "correlate {unscored} --surface {surface} --out {folder}/alone.parquet"
    check(alone, status=0, unscored=unscored)
    why = read_provenance(tmp_path / "alone.parquet").details["too_little"]
    assert "no model has an accuracy" in why


def test_a_model_without_scores_does_not_keep_others_from_being_compared(
    unscored, tmp_path, check
) -> None:
    line = "compare {judgements_a} {judgements_b} {unscored} --out {folder}/c.parquet"
    check(line, status=0, unscored=unscored)
    pairs = read_provenance(tmp_path / "c.parquet").details["not_compared"]
    assert pairs == [["model_a", "model_nan"], ["model_b", "model_nan"]]
    check("table comparisons {folder}/c.parquet --out {folder}/t.md", status=0)
    assert "not compared" in (tmp_path / "t.md").read_text(encoding="utf-8")
    alone = "compare {judgements_a} {unscored} --out {folder}/alone.parquet"
    check(alone, status=0, unscored=unscored)
    check("table comparisons {folder}/alone.parquet --out {folder}/t.md", status=0)
    assert "on the same item" in (tmp_path / "t.md").read_text(encoding="utf-8")


def test_flags_and_unreadable_answers_are_shown(study, tmp_path, check) -> None:
    scores, made = (
        read_table(study["scores_a"], contracts.TargetScores),
        read_provenance(study["scores_a"]),
    )
    flagged = scores.assign(flags="straddle,unknown_token")
    write_table(flagged, contracts.TargetScores, tmp_path / "s.parquet", made)
    unread = read_table(study["likert"], contracts.Responses)
    unread = unread.assign(eval_type="likert_free_two", value=np.nan, status="no_numeral")
    write_table(unread, contracts.Responses, tmp_path / "r.parquet", made)
    judged = "{folder}/js.parquet {folder}/jr.parquet"
    check(f"judge {{items}} {{folder}}/s.parquet {{folder}}/r.parquet --out {judged}", status=0)
    check(f"summarize {judged} --out {{folder}}/sum.parquet", status=0)
    check("table accuracy_by_paradigm {folder}/sum.parquet --out {folder}/t.md", status=0)
    text = (tmp_path / "t.md").read_text(encoding="utf-8")
    n_used = int((scores["context"] > 0).sum())
    assert "0.000 (100% unread)" in text
    assert f"Unknown token: model\\_a, LogProbs: {n_used:,} of {n_used:,}" in text
    assert f"{len(unread):,} of {len(unread):,}" in text
    check("report build {folder}/sum.parquet --out {folder}/r.html", status=0)
    head = (tmp_path / "r.html").read_text(encoding="utf-8").partition("<section")[0]
    assert "Doubtful answers" in head


def trial(**changes: Any) -> dict[str, Any]:
    return {
        "Key": 1,
        "problemname": "Infer.normal",
        "tuple_ID": "made_up_1",
        "text": "Three lamps: a is left of b and b is left of c. Is a left of c?",
        "expectedresp": ["TRUE", "FALSE"],
        "span": 2,
        "descr": "[(0, 1),(1, 2)]",
        "query": "(0, 2)",
        "objects": ["a", "b", "c"],
        "problemsize": 3,
        "skin": "lamps",
        "qskin": "directQ1",
        "complexity": "Complexity_0",
        "query_len": 2,
        "goldresp_obfusc": "Emmanuel",
    } | changes


#: The second trial of the pair, whose answer is the other one.
OTHER = {"Key": 2, "query": "(2, 0)", "goldresp_obfusc": "Megi"}


def write_trials(path: Path, *trials: dict[str, Any]) -> Path:
    path.write_text("\n".join(map(json.dumps, trials)))
    return path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"Key": 1}, "line 1"),
        ({"goldresp_obfusc": "Emanuel"}, 'did you mean "Emmanuel"'),
        ({"goldresp_obfusc": "Pascal"}, "Pascal"),
        ({"tuple_ID": "made_up_2"}, "1 trial"),
        ({"objects": ["a", "b", "a"]}, "different entities"),
        ({"query": "(0, 3)"}, "entity 3"),
        ({"expectedresp": ["TRUE"]}, "expectedresp"),
    ],
)
def test_a_malformed_trial_is_named_by_its_line(check, tmp_path, changes, words) -> None:
    path = write_trials(tmp_path / "trials.jsonl", trial(), trial(**(OTHER | changes)))
    check("worldsense audit {path} --out {out}", words, path=path)


def test_a_wrong_gold_answer_is_listed(tmp_path: Path) -> None:
    right = write_trials(tmp_path / "right.jsonl", trial(), trial(**OTHER))
    assert run(f"worldsense audit {right}") == 0
    exchanged = trial(goldresp_obfusc="Megi"), trial(**OTHER | {"goldresp_obfusc": "Emmanuel"})
    wrong = write_trials(tmp_path / "wrong.jsonl", *exchanged)
    out = tmp_path / "w.csv"
    assert run(f"worldsense audit {wrong} --out {out}") == 1
    row = out.read_text().splitlines()[1]
    assert row.startswith("1,made_up_1,Infer.normal,3,FALSE,TRUE,the query is true in")


def skin(name: str, old: str, new: str) -> str:
    text = (SKINS / f"{name}.yaml").read_text(encoding="utf-8")
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (skin("tall_short", "shorter than {y}", "taller than {y}"), "has the same words as"),
        (
            skin("tall_short", '"{x} is shorter than {y}"', '"{y} is shorter than {x}"'),
            "names {y} before",
        ),
        (skin("tall_short", "taller than {y}", "taller than {y} {z}"), "nothing else in braces"),
        (skin("obj_LeftRight", "- the blue box", "- the red ball and bat"), "cannot be told apart"),
        (skin("activities", "  - fencing", "  - all the others"), "can be read in several ways"),
    ],
)
def test_a_skin_whose_texts_would_be_wrong_is_refused(
    check, tmp_path, text: str, words: str
) -> None:
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    check("worldsense skins check {folder}/mine.yaml", words)


def test_a_training_skin_shares_no_entity_with_a_test_skin(tmp_path: Path) -> None:
    test = skin("trips", "- Big Ben", "- the Seine")
    (tmp_path / "test.yaml").write_text(test, encoding="utf-8")
    shutil.copy(SKINS / "train_trips.yaml", tmp_path / "train.yaml")
    (fault,) = check_skins(tmp_path)[1]
    assert "'the Seine' is also an entity of the test skin trips" in fault.problem


def lacking(folder: Path, model: str, reason: str) -> Path:
    path = folder / f"{model} {len(reason)}.parquet"
    write_missing(path, Missing(model, reason, "ask"))
    return path


def test_a_model_that_answered_in_part_is_summarised_and_its_missing_answers_are_named(
    tmp_path, check
) -> None:
    a = lacking(tmp_path, "model_a", "has no chat template")
    b, c = (lacking(tmp_path, "model_b", why) for why in ("ran out of memory", "ran out of time"))
    line = "summarize {judgements_a} {a} {b} {c} --out {folder}/s.parquet"
    check(line, status=0, a=a, b=b, c=c)
    made = read_provenance(tmp_path / "s.parquet")
    assert made.details["partly_missing"] == {"model_a": "has no chat template"}
    assert made.details["missing_models"] == {"model_b": "ran out of memory; ran out of time"}
    told = "Some of the answers of these models are missing: model_a (has no chat template)."
    assert told in notes(made, Roster({}))
    named = "summarize {judgements_a} --missing model_a=gone --out {out}"
    check(named, "names model_a, but the tables contain it")


def test_a_condition_without_answers_does_not_keep_others_from_being_compared(
    tmp_path, check
) -> None:
    lost = lacking(tmp_path, "model_a", "ran out of memory")
    line = "compare-conditions --judgements main {judgements_a} --judgements lost {lost}"
    other = " --judgements other {judgements_a}"
    check(f"{line}{other} --out {{folder}}/c.parquet", status=0, lost=lost)
    made = read_provenance(tmp_path / "c.parquet")
    assert made.details["partly_missing"] == {"model_a": "ran out of memory"}
    assert made.details["conditions"] == ["main", "other"]
    assert len(read_table(tmp_path / "c.parquet", ConditionComparisons))
    check(f"{line} --out {{folder}}/d.parquet", status=0, lost=lost)
    why = read_provenance(tmp_path / "d.parquet").details["too_little"]
    assert why == "no model has answers in lost."
