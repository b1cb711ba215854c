"""What the control models' corpus teaches, and what it leaves out."""

import numpy as np
import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.contracts import ControlDocuments
from worldprobe.benchmarks.ewok.materials.compile import compile_all
from worldprobe.benchmarks.ewok.materials.filling import Filling
from worldprobe.benchmarks.ewok.materials.items import fill_items
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.contracts import validate
from worldprobe.models.controls import MATERIALS
from worldprobe.settings.study import CorpusSettings
from worldprobe_training.contracts import ControlAccuracies, ControlTemplates
from worldprobe_training.corpus import (
    VERSIONS,
    Corpus,
    accuracy_by_group,
    build_corpus,
    group_items,
)

DOMAIN = "spatial-relations"
RIGHT_PAIRINGS = [("context1", "target1"), ("context2", "target2")]


def stories(items):
    return {
        f"{row[context]} {row[target]}"
        for row in items.to_dict("records")
        for context, target in RIGHT_PAIRINGS
    }


@pytest.fixture(scope="module")
def materials():
    return read_materials(str(MATERIALS), RIGHT)


@pytest.fixture(scope="module")
def templates(materials):
    every = compile_all(materials)
    return every[every["domain"] == DOMAIN].reset_index(drop=True)


@pytest.fixture(scope="module")
def corpus(templates, materials):
    return build_corpus(
        templates,
        materials,
        CorpusSettings(taught=0.2, fillings=6, doses=[0, 3], sentences=200, seed=5),
    )


@pytest.fixture(scope="module")
def items(templates, materials):
    return fill_items(templates, materials, Filling("balanced", VERSIONS))[0]


def test_what_is_taught_and_what_is_new_share_no_situation_and_no_concept(corpus, templates):
    validate(corpus.templates, ControlTemplates)
    validate(corpus.documents, ControlDocuments)
    status = templates["template_id"].map(corpus.templates.set_index("template_id")["status"])
    taught, new = (templates[status == name] for name in ("taught", "new_concept"))
    assert len(taught) == round(0.2 * 69) + round(
        0.2 * 8
    )  # of the training part's concept and variable swaps
    assert not set(taught["situation"]) & set(new["situation"])
    concepts = [{*part["concept_a"], *part["concept_b"].dropna()} for part in (taught, new)]
    assert not concepts[0] & concepts[1]
    read = corpus.documents[corpus.documents["kind"].isin(["story", "item"])]
    assert set(read["template_id"]) == set(taught["template_id"])


def test_items_occur_as_often_as_their_dose_and_no_story_is_one_of_them(corpus, items):
    documents = corpus.documents
    given = items[items["item_id"].str.endswith("_v0")]
    told = documents[documents["kind"] == "item"]
    assert set(told["text"]) <= stories(given)
    doses = corpus.templates.set_index("template_id")["dose"]
    taught = corpus.templates.loc[corpus.templates["status"] == "taught", "template_id"]
    assert set(doses[taught]) == {0, 3}
    assert told.groupby("template_id").size().to_dict() == {
        name: 2 * doses[name] for name in taught if doses[name]
    }
    assert not set(documents["text"][documents["kind"] == "story"]) & stories(
        items[items["item_id"].str[:-3].isin(taught)]
    )


def test_accuracies_are_told_apart_by_what_each_model_had_read(corpus, items):
    statuses = items["item_id"].str[:-3].map(corpus.templates.set_index("template_id")["status"])
    right = {"taught": 1.0, "new_template": 0.75, "new_concept": 0.5, "left_out": 0.0}
    judged = pd.DataFrame(
        {
            "item_id": items["item_id"].repeat(2),
            "target": [1, 2] * len(items),
            "eval_type": "logprobs",
        }
    )
    judged["accuracy"] = statuses.map(right).repeat(2).to_numpy()
    tables = [judged.assign(model=model) for model in ("heart", "taught")]
    found = validate(
        accuracy_by_group(tables, items, corpus, {"heart": ["item"]}), ControlAccuracies
    )
    every = found[found["targets"] == "all"].set_index(["model", "group", "dose"])
    assert every["mean"].loc[
        [("heart", "read", 3), ("heart", "new_filling", 3)]
    ].tolist() == pytest.approx([1, 1])
    assert ("heart", "read", 0) not in every.index
    assert every.loc[("taught", "new_concept", 0), "mean"] == pytest.approx(0.5)
    assert every.loc[("taught", "new_template", 0), "mean"] == pytest.approx(0.75)
    n_taught = (statuses == "taught").sum()
    assert every.loc[("taught", "new_filling", 0), "n_items"] == n_taught, "no story is an item"
    assert (
        every.loc[("heart", "read", 3), "n_items"] == (corpus.documents["kind"] == "item").sum() / 6
    )
    swaps = found[found["targets"] != "all"].groupby(["model", "group", "dose"])["n_items"].sum()
    assert (swaps == every["n_items"]).all()
    missing = judged.assign(model="heart", accuracy=np.nan)
    assert accuracy_by_group([missing], items, corpus, {})["mean"].isna().all()


def test_an_item_that_a_story_of_another_template_tells_counts_nowhere(corpus, items):
    new = items[
        items["item_id"]
        .str[:-3]
        .isin(corpus.templates.loc[corpus.templates["status"] == "new_template", "template_id"])
    ]
    one = new.iloc[[0]]
    taught = corpus.documents.loc[corpus.documents["kind"] == "story", "template_id"].iloc[0]
    told = pd.DataFrame(
        {
            "kind": "story",
            "template_id": taught,
            "text": sorted(stories(one)),
            "start": 0,
            "document": 0,
            "number": 1,
        }
    )
    read = Corpus(pd.concat([corpus.documents, told]), corpus.templates)
    assert group_items(one, corpus, ["story"])["group"].tolist() == ["new_template"]
    assert group_items(one, read, ["story"]).empty
