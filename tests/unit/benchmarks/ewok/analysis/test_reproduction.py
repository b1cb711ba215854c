"""Published numbers beside ours, and what is said where there is nothing to compare."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import run
from worldprobe import cli
from worldprobe.benchmarks.ewok.analysis.reproduction import (
    Results,
    are_official,
    check_reproduction,
    describe_reproduction,
    read_published,
    texts_digest,
)
from worldprobe.benchmarks.ewok.contracts import Items, Reproduction, Summaries
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL
from worldprobe.contracts import read_table, validate
from worldprobe.errors import UserError

FOLDER = Path(cli.__file__).parents[4] / "resources" / "published"


@pytest.fixture(scope="module")
def published():
    return read_published(FOLDER)


def summary(model, mean, low, high, eval_type="logprobs", metric="accuracy"):
    row = dict.fromkeys(Summaries.columns, 0) | {"interval_over": "", "status": "none"}
    row |= {"model": model, "eval_type": eval_type, "metric": metric, "condition": "all"}
    row |= {"grouping": "overall", "group": "all", "mean": mean, "low": low, "high": high}
    return row | dict.fromkeys(("std_error", "ci_low", "ci_high"), np.nan)


def whole_paper(published, shift=0.0):
    """Summaries that are exactly the numbers of the paper's own Table 1 and strict Likert table."""
    rows = []
    numbers = published.numbers
    for block, metric in (("table1", "accuracy"), ("likert_strict", "strict")):
        for (model, kind), part in numbers[numbers["block"] == block].groupby(
            ["model", "eval_type"], sort=False
        ):
            values = part.set_index("quantity")["printed"].astype(float) + shift
            rows.append(summary(model, values["mean"], values["low"], values["high"], kind, metric))
    return pd.DataFrame(rows)


def test_our_copy_of_the_published_numbers_is_the_reference(published):
    path = FOLDER.parents[2] / "shared" / "reference" / "published.json"
    if not path.exists():
        pytest.skip("the reference data are not next to the repository")
    source = json.loads(path.read_text())["ewok"]
    numbers = published.numbers.set_index(
        ["block", "quantity", "model", "eval_type", "grouping", "group"]
    )["printed"]
    for block, eval_type in (("table1", "logprobs"), ("likert_strict", "likert_constrained_two")):
        for row in source[block]["rows"]:
            kind = "human_likert" if row["model"] == "human" else eval_type
            found = [
                float(numbers.loc[(block, q, row["model"], kind, "", "")])
                for q in ("mean", "low", "high")
            ]
            assert found == [row["mean"], row["range"]["min"], row["range"]["max"]]
    for block, table in (
        ("table2", source["table2"]),
        ("mean_accuracy_bydomain", source["repository_tables"]["mean_accuracy_bydomain"]),
    ):
        for row in table["rows"]:
            for quantity in ("llm_average", "llm_best"):
                assert (
                    float(numbers.loc[(block, quantity, "", "logprobs", "domain", row["domain"])])
                    == row[quantity]
                )
    effects = (
        published.numbers.query("block == 'mixed_model' and quantity == 'estimate'")["printed"]
        .astype(float)
        .tolist()
    )
    assert effects == [row["effect"] for row in source["mixed_model"]["rows"]]
    stars = published.numbers.query("block == 'mixedmodel_coeffs_full' and quantity == 'stars'")[
        "printed"
    ].tolist()
    assert stars == [
        row["stars"] for row in source["repository_tables"]["mixedmodel_coeffs_full"]["rows"]
    ]


def test_the_papers_own_numbers_are_within_rounding_and_shifted_ones_are_not(published):
    table = validate(check_reproduction(published, Results(whole_paper(published))), Reproduction)
    mine = table[
        (table["compared_with"] == "ours") & table["block"].isin(["table1", "likert_strict"])
    ]
    assert (mine["status"] == "within_rounding").all()
    assert len(mine) == 21 * 3 + 12 * 3
    nearly = check_reproduction(published, Results(whole_paper(published, 0.00049)))
    assert (
        nearly[nearly["block"].eq("table1") & nearly["compared_with"].eq("ours")]["status"]
        == "within_rounding"
    ).all()
    shifted = check_reproduction(published, Results(whole_paper(published, 0.0011)))
    mine = shifted[shifted["block"].eq("table1") & shifted["compared_with"].eq("ours")]
    assert (mine["status"] == "differs").all()
    assert mine["reason"].str.contains("agrees with the authors' other table").any()


def test_what_was_not_run_says_so_and_is_not_counted_as_wrong(published):
    table = check_reproduction(
        published, Results(pd.DataFrame([summary("gpt2_xl", 0.655, 0.645, 0.662)]))
    )
    ours = table[table["compared_with"] == "ours"]
    assert set(ours.loc[ours["model"] == "phi_1", "status"]) == {"not_run"}
    assert (ours["status"] == "within_rounding").sum() == 3
    assert describe_reproduction(table).startswith("3 of 9 published numbers within rounding; ")
    unexplained = ours[
        ~ours["status"].isin(["within_rounding", "differs"]) & (ours["reason"] == "")
    ]
    assert unexplained.empty


def test_the_authors_two_sets_of_tables_are_compared_with_each_other(published):
    table = check_reproduction(published, Results(pd.DataFrame([summary("ant", 0.5, 0.5, 0.5)])))
    authors = table[table["compared_with"] == "repository"]
    assert len(authors) == 21 * 3 + 11 * 3 + 18 * 2 + 12 * 3
    means = authors[(authors["block"] == "table1") & (authors["quantity"] == "mean")]
    assert (means["status"] == "differs").sum() == 18  # of 21, as the reference's remark says
    assert (authors.loc[authors["block"] == "likert_strict", "status"] == "within_rounding").all()
    target = authors[
        (authors["group"] == "variable swap")
        & (authors["quantity"] == "estimate")
        & authors["reason"].str.contains("treatment")
    ]
    assert target["ours"].tolist() == [0.23]


def test_a_mixed_model_of_other_models_is_not_compared(published):
    numbers = published.numbers.query("block == 'mixed_model' and quantity == 'estimate'")
    stars = published.numbers.query("block == 'mixed_model' and quantity == 'stars'")[
        "printed"
    ].to_list()
    coefficients = pd.DataFrame(
        {
            "group": numbers["grouping"],
            "term": numbers["group"],
            "estimate": numbers["printed"].astype(float),
            "stars": stars,
        }
    )
    summaries = pd.DataFrame([summary("ant", 0.5, 0.5, 0.5)])
    other = check_reproduction(published, Results(summaries, coefficients, ["ant", "gpt2_xl"]))
    mine = other[(other["block"] == "mixed_model") & (other["compared_with"] == "ours")]
    assert set(mine["reason"]) == {
        "the paper's is fitted to its 20 models; ours to 2, 1 of them the paper's"
    }
    same = check_reproduction(published, Results(summaries, coefficients, published.models))
    mine = same[(same["block"] == "mixed_model") & (same["compared_with"] == "ours")]
    assert (mine["status"] == "within_rounding").all()
    coded = same[
        (same["block"] == "mixedmodel_coeffs_full")
        & same["reason"].str.contains("coded as treatment there")
    ]
    assert set(coded["quantity"]) == {"estimate", "stars"}


def items_like(*texts):
    items = pd.DataFrame({"version": range(len(texts)), "context1": texts})
    same = {"context2": "b", "target1": "c", "target2": "d", "meta_template": 1, "template": 1}
    return items.assign(domain="d", **same)


def test_other_items_make_every_number_answer_another_question(published):
    items = items_like("Ann sings.", "Bob sings.")
    assert not are_official(items, published)
    table = check_reproduction(
        published, Results(whole_paper(published), items=items, is_official=False)
    )
    ours = table[table["compared_with"] == "ours"]
    assert not ours["status"].isin(["within_rounding", "differs"]).any()
    assert ours["reason"].str.contains("other items than EWoK-core").any()
    assert texts_digest(items) == texts_digest(items.iloc[::-1])
    assert texts_digest(items) != texts_digest(items.iloc[:1])


def test_the_official_items_are_recognised_by_their_digest(published, reference, tmp_path):
    archive, out = str(reference / "ewok-config.zip"), str(tmp_path / "items.parquet")
    options = "--password ewok --versions 0-1 --mode fixed --compat"
    assert run(f"items build {archive} {options} --release-filter --out {out}") == 0
    assert are_official(read_table(out, Items), published)
    assert run(f"items build {archive} {options} --out {out}") == 0
    assert not are_official(read_table(out, Items), published)


def test_published_numbers_without_a_source_are_refused(tmp_path):
    shutil.copytree(FOLDER, tmp_path / "published")
    with open(tmp_path / "published" / "ewok.csv", "a") as stream:
        stream.write("table99,mean,ant,logprobs,,,0.5,3\n")
    with pytest.raises(UserError, match="names no source for table99"):
        read_published(tmp_path / "published")


def test_fillers_their_classes_and_restrictions_are_counted_in_the_materials(
    garden, published, tmp_path
):
    results = Results(whole_paper(published), fillers=garden.read().fillers)
    table = check_reproduction(published, results).set_index("quantity")
    found = table.loc[["filler_items_over", "filler_classes", "type_restrictions"], "ours"]
    assert found.tolist() == [12 + 24, 2, 1 + 2]


def test_the_official_fillers_are_as_many_as_the_paper_says(published, reference):
    archive = reference / "ewok-config.zip"
    materials = read_materials(archive, ORIGINAL, "ewok", is_lenient=True)
    results = Results(whole_paper(published), fillers=materials.fillers, is_official=True)
    table = check_reproduction(published, results).set_index("quantity")
    counted = table.loc[["filler_items_over", "filler_classes", "type_restrictions"]]
    assert counted["ours"].tolist() == [501, 13, 28]
    assert set(counted["status"]) == {"within_rounding"}
