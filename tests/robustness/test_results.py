"""Tables that are each right but do not belong together, and models of which nothing could be computed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from worldprobe.benchmarks.ewok import contracts
from worldprobe.contracts import read_provenance, read_table, write_table


@pytest.mark.parametrize(
    "line",
    [
        "fit fixed-effects {judgements_a} {copy} {judgements_b} --surface {surface} --out {out}",
        "agree {judgements_choice} {judgements_likert} {judgements_choice} --out {out}",
        "summarize {judgements_a} {judgements_b} {copy} --out {out}",
        "compare {judgements_a} {judgements_b} {copy} --out {out}",
        "correlate {judgements_a} {copy} --surface {surface} --out {out}",
    ],
)
def test_a_table_given_twice_is_refused(study, tmp_path: Path, check: Callable[..., str], line: str) -> None:
    copy = tmp_path / "copy.parquet"
    shutil.copy(study["judgements_a"], copy)
    check(line, "a second time", copy=copy)


@pytest.mark.parametrize("name", ["human", "word2vec", "' '", "'a\nb'"])
def test_a_model_is_not_named_like_a_yardstick_nor_by_a_blank(check: Callable[..., str], name: str) -> None:
    check(f"judge {{items}} {{scores_a}} --model {name} --out {{out}}", "--model")


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("likert", "presentation", "t1c9"),
        ("likert", "presentation", "t1"),
        ("likert", "presentation", "x"),
        ("likert", "value", 2.5),
        ("likert", "value", 9.0),
        ("choice", "presentation", "t1c1"),
        ("choice", "presentation", "t3"),
        ("choice", "presentation", ""),
        ("choice", "value", 5.0),
    ],
)
def test_answers_that_were_never_asked_for_are_refused(study, tmp_path, check, table: str, column: str, value: object) -> None:
    rows = pq.read_table(study[table])
    cells = pa.array([value, *rows.column(column).to_pylist()[1:]], rows.schema.field(column).type)
    changed = rows.set_column(rows.schema.get_field_index(column), column, cells)
    pq.write_table(changed.replace_schema_metadata(rows.schema.metadata), tmp_path / "bad.parquet")
    check("judge {items} {bad} --out {out}", bad=tmp_path / "bad.parquet")


@pytest.fixture
def unscored(study, tmp_path: Path, check: Callable[..., str]) -> Path:
    """Judgements of a model without a single score."""
    scores, made = read_table(study["scores_a"], contracts.TargetScores), read_provenance(study["scores_a"])
    made.model = "model_nan"
    write_table(scores.assign(logprob=np.nan), contracts.TargetScores, tmp_path / "nan.parquet", made)
    check("judge {items} {folder}/nan.parquet --out {folder}/judged.parquet", status=0)
    return tmp_path / "judged.parquet"


def test_a_model_without_scores_does_not_keep_the_others_from_being_correlated(unscored, tmp_path, check) -> None:
    line = "correlate {judgements_a} {judgements_w} {unscored} --surface {surface} --points-out {folder}/p.parquet"
    check(line + " --out {folder}/c.parquet", status=0, unscored=unscored)
    table = read_table(tmp_path / "c.parquet", contracts.Correlations)
    of_model = table[table["model"] == "model_nan"]
    assert len(of_model) == len(table) / 2
    assert (of_model["n"] == 0).all()
    assert of_model["r"].isna().all()
    assert set(read_table(tmp_path / "p.parquet", contracts.FeatureMeans)["model"]) == {"model_a"}
    check("correlate {unscored} --surface {surface} --out {out}", "no model has an accuracy", unscored=unscored)


def test_a_model_without_scores_does_not_keep_the_others_from_being_compared(unscored, tmp_path, check) -> None:
    line = "compare {judgements_a} {judgements_b} {unscored} --permutations 50 --out {folder}/c.parquet"
    assert "not compared" in check(line, status=0, unscored=unscored)
    details = read_provenance(tmp_path / "c.parquet").details
    assert details["not_compared"] == [["model_a", "model_nan"], ["model_b", "model_nan"]]
    check("table comparisons {folder}/c.parquet --out {folder}/t.md", status=0)
    text = (tmp_path / "t.md").read_text(encoding="utf-8")
    assert "not compared" in text
    assert "over pairs of concepts" in text
    assert "over templates" not in text
    check("compare {judgements_a} {unscored} --out {out}", "on the same item", unscored=unscored)


@pytest.mark.parametrize(("cluster", "words"), [("concept_pair", "pairs of concepts"), ("template", "templates")])
def test_the_note_says_what_was_drawn(tmp_path, check, cluster: str, words: str) -> None:
    check(f"summarize {{judgements_a}} --bootstrap 5 --cluster {cluster} --out {{folder}}/s.parquet", status=0)
    check("table mean_accuracy {folder}/s.parquet --out {folder}/t.md", status=0)
    assert f"bootstrap over {words} and versions" in (tmp_path / "t.md").read_text(encoding="utf-8")


def test_correlations_of_a_way_that_was_not_asked_are_refused(check) -> None:
    check("table correlations {correlations} --eval-type choice_free_two --out {folder}/t.md", "They have: logprobs")


def test_every_reading_of_log_probabilities_has_its_column(tmp_path, check) -> None:
    check("judge {items} {scores_a} --compare-targets mean --out {folder}/j.parquet", status=0)
    check("summarize {judgements_a} {folder}/j.parquet --bootstrap 0 --out {folder}/s.parquet", status=0)
    check("table accuracy_by_paradigm {folder}/s.parquet --out {folder}/t.md", status=0)
    assert "targets, mean" in (tmp_path / "t.md").read_text(encoding="utf-8")


def test_ratings_that_are_equal_on_average_tie(study, tmp_path, check) -> None:
    item = read_table(study["items"], contracts.Items)["item_id"].iloc[0]
    lines = [f"{item},1,1,0.1", f"{item},1,1,0.5", f"{item},1,2,0.2", f"{item},1,2,0.4"]
    (tmp_path / "r.csv").write_text("item_id,target,context,rating\n" + "\n".join(lines) + "\n", encoding="utf-8")
    check("import human-ratings {items} {folder}/r.csv --scale 0 1 --out {folder}/r.parquet", status=0)
    check("judge {items} {folder}/r.parquet --out {folder}/j.parquet", status=0)
    judged = read_table(tmp_path / "j.parquet", contracts.Judgements)
    assert judged["is_tie"].sum() == 1
    assert judged["is_near_tie"].sum() == 0


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("ewok.csv", "0.6", "zero", "is not a number"),
        ("ewok.csv", ",3\n", ",x\n", "is not a number"),
        ("sources.yaml", "blocks:", "block:", "lacks"),
        ("sources.yaml", "official_items:", "items:", "lacks"),
        ("sources.yaml", "blocks:", "blocks: [", "cannot be read"),
    ],
)
def test_malformed_published_numbers_are_refused(tmp_path, check, name: str, old: str, new: str, words: str) -> None:
    published = shutil.copytree(Path(__file__).resolve().parents[2] / "resources" / "published", tmp_path / "published")
    text = (published / name).read_text(encoding="utf-8")
    (published / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    check("reproduction check {summaries} --published {folder}/published --out {out}", words)


def test_a_condition_needs_a_name_and_what_is_not_compared_is_said(unscored, check) -> None:
    line = "compare-conditions --permutations 10 --condition {name} {judgements_a} {unscored} --condition b {judgements_a}"
    check(line + " --out {out}", "no name", name=" ", unscored=unscored)
    assert "model_nan, logprobs: not compared" in check(line, status=0, name="a", unscored=unscored)
