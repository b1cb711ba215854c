"""Tables that are each right but do not belong together, and models of which nothing could be
computed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
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
def test_a_table_given_twice_is_refused(
    study, tmp_path: Path, check: Callable[..., str], line: str
) -> None:
    copy = tmp_path / "copy.parquet"
    shutil.copy(study["judgements_a"], copy)
    check(line, "a second time", copy=copy)


@pytest.mark.parametrize(
    "line",
    [
        "table mean_accuracy",
        "table accuracy_by_domain",
        "figure accuracy_by_domain",
        "figure concepts",
    ],
)
def test_a_display_of_one_summary_row_says_what_it_lacks(
    study, tmp_path: Path, check: Callable[..., str], line: str
) -> None:
    summaries = read_table(study["summaries"], contracts.Summaries)
    other = summaries[summaries["grouping"] == "context_contrast"].head(1)
    write_table(
        other, contracts.Summaries, tmp_path / "one.parquet", read_provenance(study["summaries"])
    )
    check(
        f"{line} {{folder}}/one.parquet --out"
        f" {{folder}}/shown.{'svg' if 'figure' in line else 'csv'}",
        "there is no grouping",
    )


def test_the_agreement_of_models_is_not_taken_for_that_of_people(check: Callable[..., str]) -> None:
    check(
        "agree {judgements_choice} {judgements_likert} --people {agreements} --out {out}",
        "contains the answers of models",
    )


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
def test_answers_that_were_never_asked_for_are_refused(
    study, tmp_path, check, table: str, column: str, value: object
) -> None:
    rows = pq.read_table(study[table])
    cells = pa.array([value, *rows.column(column).to_pylist()[1:]], rows.schema.field(column).type)
    changed = rows.set_column(rows.schema.get_field_index(column), column, cells)
    pq.write_table(changed.replace_schema_metadata(rows.schema.metadata), tmp_path / "bad.parquet")
    check("judge {items} {bad} --out {out}", bad=tmp_path / "bad.parquet")


@pytest.fixture
def unscored(study, tmp_path: Path, check: Callable[..., str]) -> Path:
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


def test_a_model_without_scores_does_not_keep_the_others_from_being_correlated(
    unscored, tmp_path, check
) -> None:
    line = (
        "correlate {judgements_a} {judgements_w} {unscored} --surface {surface} --points-out"
        " {folder}/p.parquet"
    )
    check(line + " --out {folder}/c.parquet", status=0, unscored=unscored)
    table = read_table(tmp_path / "c.parquet", contracts.Correlations)
    of_model = table[table["model"] == "model_nan"]
    assert len(of_model) == len(table) / 2
    assert (of_model["n"] == 0).all()
    assert of_model["r"].isna().all()
    assert set(read_table(tmp_path / "p.parquet", contracts.FeatureMeans)["model"]) == {"model_a"}
    check(
        "correlate {unscored} --surface {surface} --out {out}",
        "no model has an accuracy",
        unscored=unscored,
    )


def test_a_model_without_scores_does_not_keep_the_others_from_being_compared(
    unscored, tmp_path, check
) -> None:
    line = "compare {judgements_a} {judgements_b} {unscored} --out {folder}/c.parquet"
    assert "not compared" in check(line, status=0, unscored=unscored)
    details = read_provenance(tmp_path / "c.parquet").details
    assert details["not_compared"] == [["model_a", "model_nan"], ["model_b", "model_nan"]]
    check("table comparisons {folder}/c.parquet --out {folder}/t.md", status=0)
    text = (tmp_path / "t.md").read_text(encoding="utf-8")
    assert "not compared" in text
    assert "pairs of concepts and versions are samples of more" in text
    check("compare {judgements_a} {unscored} --out {out}", "on the same item", unscored=unscored)


@pytest.mark.parametrize(
    ("cluster", "words"), [("concept_pair", "pairs of concepts"), ("template", "templates")]
)
def test_the_note_says_what_was_drawn(tmp_path, check, cluster: str, words: str) -> None:
    check(f"summarize {{judgements_a}} --cluster {cluster} --out {{folder}}/s.parquet", status=0)
    check("table mean_accuracy {folder}/s.parquet --out {folder}/t.md", status=0)
    assert f"{words} and versions are samples of more" in (tmp_path / "t.md").read_text(
        encoding="utf-8"
    )


def test_correlations_of_a_way_that_was_not_asked_are_refused(check) -> None:
    check(
        "table correlations {correlations} --eval-type choice_free_two --out {folder}/t.md",
        "They have: logprobs",
    )


def test_every_reading_of_log_probabilities_has_its_column(tmp_path, check) -> None:
    check("judge {items} {scores_a} --compare-targets mean --out {folder}/j.parquet", status=0)
    check("summarize {judgements_a} {folder}/j.parquet --out {folder}/s.parquet", status=0)
    check("table accuracy_by_paradigm {folder}/s.parquet --out {folder}/t.md", status=0)
    assert "targets, mean" in (tmp_path / "t.md").read_text(encoding="utf-8")


def test_ratings_that_are_equal_on_average_tie(study, tmp_path, check) -> None:
    item = read_table(study["items"], contracts.Items)["item_id"].iloc[0]
    lines = [f"{item},1,1,0.1", f"{item},1,1,0.5", f"{item},1,2,0.2", f"{item},1,2,0.4"]
    (tmp_path / "r.csv").write_text(
        "item_id,target,context,rating\n" + "\n".join(lines) + "\n", encoding="utf-8"
    )
    check(
        "import human-ratings {items} {folder}/r.csv --scale 0 1 --out {folder}/r.parquet", status=0
    )
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
        ("sources.yaml", "blocks:", "blocks: [", "is not valid YAML"),
    ],
)
def test_malformed_published_numbers_are_refused(
    tmp_path, check, name: str, old: str, new: str, words: str
) -> None:
    published = shutil.copytree(
        Path(__file__).resolve().parents[2] / "resources" / "published", tmp_path / "published"
    )
    text = (published / name).read_text(encoding="utf-8")
    (published / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    check("reproduction check {summaries} --published {folder}/published --out {out}", words)


def test_a_condition_needs_a_name_and_what_is_not_compared_is_said(unscored, check) -> None:
    line = (
        "compare-conditions --judgements {name} {judgements_a} {unscored} --judgements b"
        " {judgements_a}"
    )
    check(line + " --out {out}", "no name", name=" ", unscored=unscored)
    assert "model_nan, logprobs: not compared" in check(line, status=0, name="a", unscored=unscored)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("report build {summaries} {summaries} --out {out}.html", "a second summary table of ewok"),
        (
            "report build {summaries} --made-from {items} {items} --out {out}.html",
            "items.parquet twice",
        ),
        (
            "report build {summaries} --benchmarks {folder}/nowhere --out {out}.html",
            "no such folder",
        ),
        ("report build {summaries} --benchmarks {summaries} --out {out}.html", "no such folder"),
    ],
)
def test_a_report_shows_nothing_twice_and_leaves_nothing_out_silently(
    check, line: str, words: str
) -> None:
    check(line, words)


def test_a_store_of_answers_that_is_not_there_is_said(check) -> None:
    shown = check(
        "report build {summaries} --answers {folder}/nowhere --out {folder}/page.html", status=0
    )
    assert "what answers cost is left out" in shown


def test_benchmark_files_that_are_not_snakemakes_are_refused_and_odd_times_left_out(
    check, tmp_path: Path
) -> None:
    file = tmp_path / "times" / "score" / "a.tsv"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"s\tmax_rss\n\xff\xfe\t1\n")
    check("report build {summaries} --benchmarks {folder}/times --out {out}.html", "a.tsv")
    file.write_text("s\tmax_rss\nnan\tinf\n-1\t2\n-\t-\n")
    check("report build {summaries} --benchmarks {folder}/times --out {folder}/page.html", status=0)


@pytest.fixture
def other_items(check: Callable[..., str], tmp_path: Path) -> Path:
    """Items with the same ids and other texts, and their templates, written by a way that a user
    has.
    """
    line = (
        "items build {materials} --versions 0 --swap 'object->nonword' --out {folder}/other.parquet"
    )
    check(line, status=0)
    return tmp_path / "other.parquet"


def test_tables_of_other_items_with_the_same_ids_are_refused(
    study, check, tmp_path: Path, other_items: Path
) -> None:
    for name in ("items", "templates"):  # the same rows in another file are another table as well
        table = pq.read_table(study[name])
        pq.write_table(table.slice(0, len(table) - 1), tmp_path / f"{name}.parquet")
    check(
        "baselines measure-surface {other} --out {folder}/surface.parquet",
        status=0,
        other=other_items,
    )
    for line in (
        "judge {other} {scores_a} --out {out}",
        "judge {other} {similarities} --out {out}",
        (
            "fit fixed-effects {judgements_a} {judgements_b} --surface {folder}/surface.parquet"
            " --out {out}"
        ),
        "correlate {judgements_a} {judgements_w} --surface {folder}/surface.parquet --out {out}",
        "reproduction check {summaries} --items {other} --out {out}",
        "items export {items} {folder}/templates.parquet --out {folder}/new",
        "table dataset {folder}/templates.parquet {items} --out {folder}/t.md",
    ):
        check(line, " other " if "export" not in line else "was filled from", other=other_items)


def _with_texts(study: dict[str, Path], path: Path, **texts: object) -> Path:
    table = read_table(study["items"], contracts.Items)
    write_table(table.assign(**texts), contracts.Items, path, read_provenance(study["items"]))
    return path


def test_items_without_words_are_counted_or_refused_with_their_file(
    study, check, tmp_path: Path
) -> None:
    targets = [f"target{number}" for number in (1, 2)]
    some = _with_texts(study, tmp_path / "some.parquet", target1="...")
    shown = check("baselines measure-surface {some} --out {folder}/s.parquet", status=0, some=some)
    n_items = len(read_table(some, contracts.Items))
    assert f"{n_items} texts have no words" in shown
    assert read_provenance(tmp_path / "s.parquet").details["n_texts_without_words"] == n_items
    features = read_table(tmp_path / "s.parquet", contracts.SurfaceFeatures)
    assert features.groupby("target")["log_frequency"].count().to_dict() == {1: 0, 2: n_items}
    none = _with_texts(
        study, tmp_path / "none.parquet", **dict.fromkeys((*targets, "context1", "context2"), "?!")
    )
    shown = check("baselines measure-surface {none} --out {out}", "have no words", none=none)
    assert f"error: {none}\n" in shown


def test_vectors_by_which_no_target_can_be_compared_are_refused(
    study, check, tmp_path: Path
) -> None:
    (tmp_path / "vectors.txt").write_text("1 2\nthe 0.1 0.2\n")
    items = _with_texts(study, tmp_path / "items2.parquet", target1="Qqq.", target2="Zzq.")
    command = "baselines judge {mine} --by word2vec --source {folder}/vectors.txt --out {out}"
    check(command, "no target can be compared", mine=items)


def test_ratings_that_are_all_empty_are_refused(study, check, tmp_path: Path) -> None:
    item = read_table(study["items"], contracts.Items)["item_id"].iloc[0]
    (tmp_path / "r.csv").write_text(
        f"item_id,target,context,rating\n{item},1,1,\n", encoding="utf-8"
    )
    check("import human-ratings {items} {folder}/r.csv --out {out}", "contains no rating")


def test_flags_of_scores_and_unreadable_answers_travel_to_tables_and_to_the_head_of_the_report(
    study, tmp_path, check
) -> None:
    scores, made = (
        read_table(study["scores_a"], contracts.TargetScores),
        read_provenance(study["scores_a"]),
    )
    n_used = int((scores["context"] > 0).sum())
    write_table(
        scores.assign(flags="straddle,unknown_token"),
        contracts.TargetScores,
        tmp_path / "s.parquet",
        made,
    )
    pairs = [
        (item, name)
        for item in scores["item_id"].unique()
        for name in ("t1c1", "t1c2", "t2c1", "t2c2")
    ]
    answers = pd.DataFrame(pairs, columns=["item_id", "presentation"]).assign(
        eval_type="likert_free_two",
        prompt_digest="0" * 64,
        text="",
        value=np.nan,
        status="no_numeral",
    )
    write_table(
        answers[list(contracts.Responses.columns)],
        contracts.Responses,
        tmp_path / "r.parquet",
        made,
    )
    check(
        "judge {items} {folder}/s.parquet {folder}/r.parquet --out {folder}/js.parquet"
        " {folder}/jr.parquet",
        status=0,
    )
    check("summarize {folder}/js.parquet {folder}/jr.parquet --out {folder}/sum.parquet", status=0)
    check(
        "table accuracy_by_paradigm {folder}/sum.parquet --out {folder}/t.md {folder}/t.csv",
        status=0,
    )
    text = (tmp_path / "t.md").read_text(encoding="utf-8")
    assert "0.000 (100% unread)" in text
    told = (
        f"An unknown token in it: model\\_a, LogProbs: {n_used:,} of {n_used:,}",
        (
            f"No numeral in the answer: model\\_a, Likert, free, two examples: {len(answers):,} of"
            f" {len(answers):,}"
        ),
    )
    assert all(words in text for words in told)
    assert pd.read_csv(tmp_path / "t.csv")["likert_free_two_missing"].tolist() == [1.0]
    check("report build {folder}/sum.parquet --out {folder}/r.html", status=0)
    assert (
        "Answers with flags"
        in (tmp_path / "r.html").read_text(encoding="utf-8").partition("<section")[0]
    )
