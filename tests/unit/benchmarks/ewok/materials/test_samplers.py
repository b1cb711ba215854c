"""The balanced mode: in a version all fillers are used about equally often, and nothing goes with a
name's sex or origin.
"""

import json
from collections import Counter

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.items import Filling, compile_all, fill_items
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.benchmarks.ewok.materials.slots import Fillers, fill
from worldprobe.benchmarks.ewok.vocabulary import TEXTS, slot_class
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table
from worldprobe.paths import EDITIONS
from worldprobe_authoring.balance import cramers_v

FACTORS = ("version", "domain", "context_type", "context_contrast", "target_contrast", "other")
#: Cramer's V of an agent's sex and origin with each factor; fixed filling has 0.99 with version.
BOUND = 0.05


@pytest.fixture(scope="module")
def materials():
    return read_materials(EDITIONS["builtin@2"], RIGHT)


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


def test_a_version_uses_all_names_and_five_versions_use_what_is_listed(items, templates, materials):
    """Of the fillers of a class that some slot may take, nine in ten, or as many as seven in ten of
    the slots there are.
    """
    fillers = Fillers(materials.fillers, RIGHT)
    asked = Counter(key for tags in items["tags"] for key in tags.split(","))
    used: dict[str, Counter[str]] = {}
    for trace in items["fillers"]:
        for key, text in json.loads(trace).items():
            used.setdefault(slot_class(key), Counter())[text] += 1
    for name, texts in used.items():
        own = [key for key in asked if slot_class(key) == name]
        possible = {filler.text for key in own for filler in fillers.options(key)}
        assert len(texts) >= min(0.9 * len(possible), 0.7 * sum(asked[key] for key in own)), name
    for version, rows in items.groupby("version"):
        names = {
            t
            for trace in rows["fillers"]
            for key, t in json.loads(trace).items()
            if slot_class(key) == "agent"
        }
        assert len(names) == len(materials.fillers["agent"].fillers), version


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


def test_it_is_what_builtin_2_is_filled_with_a_version_alone_is_the_same_and_a_seed_gives_another_filling(
    tmp_path,
):
    compiled, whole, other = (
        str(tmp_path / name) for name in ("t.parquet", "whole.parquet", "other.parquet")
    )
    build = ["items", "build", "builtin@2", "--versions", "0-1"]
    assert main([*build, "--templates-out", compiled, "--out", whole]) == 0
    made = read_provenance(whole)
    assert (made.details["mode"], made.seed) == ("balanced", 0)
    parts = [str(tmp_path / f"{version}.parquet") for version in (0, 1)]
    for version, part in enumerate(parts):
        assert (
            main(["items", "fill", compiled, "builtin@2", "--version", str(version), "--out", part])
            == 0
        )
    assert main(["items", "gather", *parts, "--out", str(tmp_path / "gathered.parquet")]) == 0
    assert (tmp_path / "gathered.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert main([*build, "--seed", "1", "--out", other]) == 0
    assert (
        read_table(whole, Items)["fillers"] != read_table(other, Items)["fillers"]
    ).mean() > 0.95


def test_a_template_with_too_few_fillers_has_no_item_and_the_table_says_so(garden):
    garden.with_("fillers/filler-object.csv", "item,large\nthe pot,true\n")
    garden.contexts(
        {
            "conceptA": "lift",
            "conceptB": "lower",
            "probes": [
                {
                    "type": "direct",
                    "pattern": "[agent1] sees [object1] and [object2] {segment1}.",
                    "segments": [{"segmentA": "rise", "segmentB": "sink", "contrast": "antonym"}],
                },
                {
                    "type": "direct",
                    "pattern": "[agent1] sees [object1] {segment1}.",
                    "segments": [{"segmentA": "rise", "segmentB": "sink", "contrast": "antonym"}],
                },
            ],
        }
    )
    materials = garden.read()
    templates = compile_all(materials)
    items, fewer = fill_items(templates, materials, Filling("balanced", [0]))
    assert len(items) == 1
    assert fewer == {"garden-work_1_1": 0}


def test_the_original_has_no_such_mode(garden, capsys):
    command = [
        "items",
        "build",
        str(garden.write()),
        "--mode",
        "balanced",
        "--compat",
        "--out",
        str(garden.folder / "i.parquet"),
    ]
    assert main(command) == 2
    assert "no mode of the original" in capsys.readouterr().err
