"""Lists of materials: which templates depend on a culture, and on which the relatedness of
words misleads.
"""

from functools import partial

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.materials.compile import ADVERSARIAL, CULTURE_BOUND, template_keys
from worldprobe.benchmarks.ewok.materials.items import Filling, compile_all, fill_items
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.benchmarks.ewok.word2vec import (
    train_vectors,
)
from worldprobe.commented_csv import read_frame
from worldprobe.paths import EDITIONS
from worldprobe_authoring.split import SHARE, choose_adversarial, relatedness


@pytest.fixture(scope="module")
def templates():
    return compile_all(read_materials(EDITIONS["builtin@2"], RIGHT))


def test_a_template_is_bound_to_what_its_sentences_name_in_whole_words_whatever_the_slots(garden):
    listed = "kind,word\nclimate,move\nmoney,moves\nunits,object1\ncustom,Moves\n"
    bound = garden.with_(CULTURE_BOUND, listed).compile()["culture_bound"]
    assert bound.tolist() == ["custom,money"]


def test_materials_without_lists_say_nothing(garden):
    assert garden.compile()[["culture_bound", "adversarial"]].isna().all(axis=None)


def test_listed_templates_are_inside_in_templates_and_items(garden):
    plain = garden.targets(
        {"pattern": "[agent1] {CONCEPT} [object1]"},
        {"pattern": "It is [agent1] who is going to {CONCEPT} [object1]"},
    ).compile()
    garden.with_(ADVERSARIAL, f"domain,key\ngarden-work,{template_keys(plain)[1]}\n")
    materials = garden.read()
    marked = compile_all(materials)
    assert marked["adversarial"].tolist() == ["outside", "inside"]
    items, _ = fill_items(marked, materials, Filling("fixed", [0]))
    assert items["adversarial"].tolist() == ["outside", "inside"]


def test_the_adversarial_part_is_a_tenth_of_every_domain_and_its_keys_are_those_of_templates(
    templates,
):
    """An edited sentence takes its template out of the part: `worldprobe materials adversarial`
    chooses again.
    """
    source = read_materials(EDITIONS["builtin@2"], RIGHT).source
    listed = set(read_frame(ADVERSARIAL, source.read(ADVERSARIAL))["key"])
    assert len(listed & set(template_keys(templates))) > 0.8 * len(listed)
    inside = (templates["adversarial"] == "inside").groupby(templates["domain"]).mean()
    assert inside.between(0.7 * SHARE, 1.2 * SHARE).all(), inside


def test_vectors_find_a_planted_relatedness_and_the_part_is_where_it_points_the_wrong_way():
    """Words of one theme go together in all pairs of concepts but one, which is turned round."""
    rows = []
    for n in range(40):
        warm, cold = ("sun beach sand heat", "snow frost ice chill")
        targets = (f"summer swim {n}a", f"winter sled {n}a")
        contexts = (f"{warm} {n}b", f"{cold} {n}b")
        rows.append(
            (
                f"d-d_{n + 1}_1",
                "d-d",
                f"c{n}",
                None,
                *(contexts[::-1] if n < 4 else contexts),
                *targets,
                f"s{n}",
            )
        )
    columns = [
        "template_id",
        "domain",
        "concept_a",
        "concept_b",
        "context1",
        "context2",
        "target1",
        "target2",
        "situation",
    ]
    planted = pd.DataFrame(rows, columns=columns)
    margin = relatedness(planted, partial(train_vectors, seed=0, size=50, epochs=20)).sum(axis=1)
    assert (margin[4:] > 0).all()
    assert (margin[:4] < 0).all()
    assert choose_adversarial(planted).nonzero()[0].tolist() == [0, 1, 2, 3]
