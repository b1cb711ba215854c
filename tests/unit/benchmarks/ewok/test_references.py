"""Results that the package brings, shown beside one's own on the same items only."""

import numpy as np
import pandas as pd
import pytest

from command_line import run
from simulated_judgements import simulate_items
from worldprobe.benchmarks.ewok import references, report
from worldprobe.benchmarks.ewok.contracts import Comparisons, Items, Judgements, References
from worldprobe.contracts import read_table, write_table
from worldprobe.provenance import made

MODELS = ("known", "wordnet", "mine")


@pytest.fixture(scope="module")
def items():
    """Items of two versions, with texts of their own."""
    table = simulate_items(60, 2, seed=1)
    for name in references.TEXTS:
        table[name] = name + " of " + table["item_id"]
    return table.assign(fillers="{}", tags="", duplicate_of=None)


@pytest.fixture(scope="module")
def judged(items):
    """Judgements of two references and of one's own model."""
    rng = np.random.default_rng(0)
    tables = []
    for model, share in zip(MODELS, (0.6, 0.55, 0.9), strict=True):
        right = rng.random((len(items), 2)) < share
        rows = items.loc[items.index.repeat(2), ["item_id"]].reset_index(drop=True)
        rows = rows.merge(
            items.drop(columns=[*references.TEXTS, "fillers", "tags", "duplicate_of"])
        )
        rows["target"] = [1, 2] * len(items)
        rows["accuracy"] = right.ravel().astype(float)
        rows["pairing"] = right.all(axis=1).repeat(2).astype(float)
        rows["model"] = model
        rows["eval_type"] = "wordnet" if model == "wordnet" else "logprobs"
        rows = rows.assign(is_tie=False, is_near_tie=False, is_near_pairing_tie=False, status="ok")
        rows.loc[rows.index < 2, ["is_near_tie"]] = True
        rows.loc[rows.index == 4, ["accuracy", "is_tie"]] = [0.5, True]
        rows.loc[rows.index == 5, ["accuracy", "status"]] = [None, "missing_score"]
        tables.append(rows.assign(dtype="float32", filling="shared"))
    return pd.concat(tables, ignore_index=True)


@pytest.fixture(scope="module")
def shipped(items, judged, tmp_path_factory):
    """The file of the first version's references."""
    place = tmp_path_factory.mktemp("references") / "ewok.parquet"
    asked = items[items["version"] == 0]
    known = judged[judged["model"].isin(MODELS[:2]) & (judged["version"] == 0)]
    facts = {name: {"name": name.title(), "dtype": "float32"} for name in MODELS[:2]}
    provenance = made(1, details={"references": facts})
    write_table(references.pack_references(asked, known), References, place, provenance)
    return place


def test_references_say_what_their_judgements_said(items, judged, shipped):
    answered = references.answered_by(items, path=shipped)
    columns = ["accuracy", "is_tie", "is_near_tie", "status", "pairing", "eval_type", "domain"]
    key = ["model", "item_id", "target"]
    before = judged[judged["model"].isin(MODELS[:2]) & (judged["version"] == 0)]
    pd.testing.assert_frame_equal(
        answered.set_index(key)[columns].sort_index(),
        before.set_index(key)[columns].sort_index(),
        check_dtype=False,
    )


def test_a_reference_of_other_items_is_never_shown(items, shipped):
    """An id is a coordinate: the same id is another text in other materials."""
    assert references.answered_by(items.head(10), path=shipped) is not None  # a sample
    edited = items.assign(target1=items["target1"].where(items.index != 4, "Another text."))
    assert references.answered_by(edited, path=shipped) is None
    assert references.answered_by(edited.head(2), path=shipped) is not None
    more = pd.concat([items, items.head(1).assign(item_id="new_1_1_v0")], ignore_index=True)
    assert references.answered_by(more, path=shipped) is None
    assert references.answered_by(items[items["version"] == 1], path=shipped) is None


def test_a_model_is_compared_with_each_reference_and_no_reference_with_another(
    items, judged, shipped
):
    mine = judged[judged["model"] == "mine"]
    pairs = references.compare_with(mine, items, path=shipped)
    overall = pairs[(pairs["grouping"] == "overall") & (pairs["metric"] == "accuracy")]
    assert set(map(frozenset, overall[["model_a", "model_b"]].to_numpy().tolist())) == {
        frozenset(["mine", "known"]),
        frozenset(["mine", "wordnet"]),
    }
    assert (overall["n"] == 60).all()
    stated = references.beside(pairs, "mine", {"known": "Known model"})
    assert [row["name"] for row in stated.values()] == ["Known model", "wordnet"]
    assert [row["is_baseline"] for row in stated.values()] == [False, True]
    assert all(row["difference"] > 0.2 and row["ci_low"] > 0 for row in stated.values())
    masked = references.compare_with(mine, items, "masked", shipped)
    assert "known" not in {*masked["model_a"], *masked["model_b"]}, "its scores measure another"
    itself = mine.assign(model="known")
    assert "known" not in references.beside(
        references.compare_with(itself, items, path=shipped), "known", {}
    )


def test_compare_takes_the_folder_of_a_result_and_the_name_of_a_reference(
    items, judged, shipped, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(references, "FILE", shipped)
    monkeypatch.setattr(references.answered_by, "__defaults__", (None, shipped))
    monkeypatch.setattr(references.made_by, "__defaults__", (shipped,))
    folder = tmp_path / "mine" / "ewok"
    folder.mkdir(parents=True)
    table = items[items["version"] == 0]
    write_table(table, Items, folder / "items.parquet", made(1))
    mine = judged[(judged["model"] == "mine") & (judged["version"] == 0)]
    inputs = {"items": folder / "items.parquet"}
    write_table(mine, Judgements, folder / "judgements.parquet", made(1, inputs))
    out = tmp_path / "pairs.parquet"
    assert run(f"compare {tmp_path / 'mine'} known --out {out}") == 0
    assert "A mine: 0.925, B known: 0.583" in capsys.readouterr().out
    pairs = read_table(out, Comparisons)
    assert {*pairs["model_a"], *pairs["model_b"]} == {"known", "mine"}
    assert run(f"compare {tmp_path / 'mine'} unknown --out {out}") == 2
    said = capsys.readouterr().err
    assert "References: known, wordnet." in said
    assert 'did you mean "known"?' in said
    (folder / "items.parquet").unlink()
    assert run(f"compare {tmp_path / 'mine'} known --out {out}") == 2
    assert "worldprobe references judge ITEMS" in capsys.readouterr().err


def test_people_and_the_papers_models_stand_beside_one_model_on_the_published_items_only():
    mine, two = pd.DataFrame({"model": ["mine"]}), pd.DataFrame({"model": ["mine", "other"]})
    printed = report._published(mine, True)["all"]
    assert printed["human"] == 0.951
    assert len(printed) == 21
    assert "gpt2_xl" not in report._published(pd.DataFrame({"model": ["gpt2_xl"]}), True)["all"]
    assert report._published(mine, False) == report._published(two, True) == {}
