"""The balanced mode: in a version all fillers are used about equally often, and nothing goes
with a name's sex or origin.
"""

import json

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.materials.compile import compile_all
from worldprobe.benchmarks.ewok.materials.filling import Filling
from worldprobe.benchmarks.ewok.materials.items import fill_items
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.benchmarks.ewok.materials.slots import fill
from worldprobe.benchmarks.ewok.vocabulary import TEXTS, slot_class
from worldprobe.paths import BUILTIN, EDITIONS
from worldprobe_authoring.balance import cramers_v

FACTORS = ("version", "domain", "context_type", "context_contrast", "target_contrast", "other")
#: Cramer's V of an agent's sex and origin with each factor; fixed filling has 0.99 with version.
BOUND = 0.05


@pytest.fixture(scope="module")
def materials():
    return read_materials(EDITIONS[BUILTIN], RIGHT)


@pytest.fixture(scope="module")
def templates(materials):
    return compile_all(materials)


@pytest.fixture(scope="module")
def items(templates, materials):
    return fill_items(templates, materials, Filling("balanced"))[0]


def agents(items, materials):
    """Sex and origin of each item's agents, beside what they must not go with; ``other`` is the
    other agent's.
    """
    groups = {
        filler.text: f"{filler.columns['sex']} {filler.columns['western']}"
        for filler in materials.fillers["agent"].fillers
    }
    found = [
        {key.partition(":")[0]: text for key, text in json.loads(trace).items()}
        for trace in items["fillers"]
    ]
    names = pd.DataFrame(
        [
            {name: text for name, text in one.items() if slot_class(name) == "agent"}
            for one in found
        ],
        items.index,
    )
    columns = pd.concat(
        [items.fillna({"context_contrast": "none"}), names.apply(lambda name: name.map(groups))],
        axis=1,
    )
    two = columns.dropna(subset=["agent1", "agent2"])
    return {
        "agent1": columns.dropna(subset="agent1").assign(other=two["agent2"]),
        "agent2": columns.dropna(subset="agent2").assign(other=two["agent1"]),
    }


def association(items, materials):
    return {
        (agent, factor): cramers_v(pd.crosstab(rows[factor], rows[agent]).to_numpy(float))
        for agent, rows in agents(items, materials).items()
        for factor in FACTORS
    }


@pytest.mark.long
def test_sex_and_origin_of_an_agent_go_with_no_version_domain_design_feature_or_other_agent(
    items, materials
):
    found = association(items, materials)
    assert max(found.values()) < BOUND, found
    for version, rows in items.groupby("version"):
        within = {key: v for key, v in association(rows, materials).items() if key[1] != "version"}
        assert max(within.values()) < 2 * BOUND, (
            version,
            within,
        )  # A fifth of the items: chance alone goes further.


@pytest.mark.long
def test_each_version_of_a_domain_has_the_four_groups_of_names_equally_often_up_to_restrictions(
    items, materials
):
    for agent, rows in agents(items, materials).items():
        counts = pd.crosstab([rows["version"], rows["domain"]], rows[agent])
        assert (counts.max(axis=1) - counts.min(axis=1)).max() <= 1, agent


def test_the_measure_finds_what_is_wrong_with_the_fixed_filling(templates, materials):
    found = association(fill_items(templates, materials, Filling("fixed"))[0], materials)
    assert found["agent1", "version"] > 0.5
    assert found["agent1", "other"] > 0.5


@pytest.mark.long
def test_every_template_has_five_different_items_and_all_texts_of_an_item_share_its_fillings(
    items, templates
):
    assert len(items) == 5 * len(templates)
    assert not items.duplicated(TEXTS).any()
    texts = templates.set_index("template_id")
    for row in items.itertuples():
        fillings = json.loads(row.fillers)
        assert len(set(fillings.values())) == len(fillings)
        for text in TEXTS:
            assert getattr(row, text) == fill(
                texts.loc[row.item_id.rpartition("_v")[0], text], fillings, RIGHT
            )


def test_a_template_with_too_few_fillers_has_no_item_and_the_table_says_so(garden):
    garden.with_("fillers/filler-object.csv", "item,large\nthe pot,true\n")
    contrast = {"segmentA": "rise", "segmentB": "sink", "contrast": "antonym"}
    probes = [
        {"type": "direct", "pattern": f"[agent1] sees {what} {{segment1}}.", "segments": [contrast]}
        for what in ("[object1] and [object2]", "[object1]")
    ]
    garden.contexts({"conceptA": "lift", "conceptB": "lower", "probes": probes})
    materials = garden.read()
    items, fewer = fill_items(compile_all(materials), materials, Filling("balanced", [0]))
    assert len(items) == 1
    assert fewer == {"garden-work_1_1": 0}
