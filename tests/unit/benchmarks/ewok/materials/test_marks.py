"""Lists of materials: which templates depend on a culture, and on which the relatedness of
words misleads.
"""

from worldprobe.benchmarks.ewok.materials.compile import compile_all
from worldprobe.benchmarks.ewok.materials.filling import Filling
from worldprobe.benchmarks.ewok.materials.items import fill_items
from worldprobe.benchmarks.ewok.materials.marks import ADVERSARIAL, CULTURE_BOUND, digest_templates


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
    garden.with_(ADVERSARIAL, f"domain,key\ngarden-work,{digest_templates(plain)[1]}\n")
    materials = garden.read()
    marked = compile_all(materials)
    assert marked["adversarial"].tolist() == ["outside", "inside"]
    items, _ = fill_items(marked, materials, Filling("fixed", [0]))
    assert items["adversarial"].tolist() == ["outside", "inside"]
