"""Templates come from materials as the paper's Section 3 says; quirks of the original only on
demand.
"""

import pytest

from worldprobe.benchmarks.ewok.materials.check import check_materials
from worldprobe.benchmarks.ewok.materials.compile import is_compatible, variable_counts
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT, Rules
from worldprobe.benchmarks.ewok.materials.slots import parse_sentence

PUSH = {"conceptA": "lift", "conceptB": "lower"}


def probe(pattern, a, b, **more):
    segment = {"segmentA": a, "segmentB": b} | {
        k: more.pop(k) for k in ("contrast", "segment_type") if k in more
    }
    return {"pattern": pattern, "type": "direct", "segments": [segment]} | more


def test_two_concepts_and_two_segments_make_one_minimal_pair_of_pairs(garden):
    (row,) = garden.compile().itertuples()
    assert [row.target1, row.target2] == ["{agent1} lifts {object1}.", "{agent1} lowers {object1}."]
    assert [row.context1, row.context2] == [
        "{agent1} moves {object1} upward.",
        "{agent1} moves {object1} downward.",
    ]
    assert (row.template_id, row.concept_a, row.concept_b) == ("garden-work_1_1", "lift", "lower")
    assert (row.target_contrast, row.context_contrast, row.context_type) == (
        "concept swap",
        "antonym",
        "direct",
    )


def swappable(garden):
    """A target whose variables may be exchanged, and contexts with the same two variables."""
    garden.targets({"pattern": "[agent1] can {CONCEPT} [agent2].", "swappable_variables": True})
    garden.contexts(
        PUSH | {"probes": [probe("[agent1] is {segment1} [agent2].", "below", "above")]}
    )


def test_a_swappable_target_of_opposites_also_swaps_its_variables_for_each_concept(garden):
    swappable(garden)
    rows = garden.compile()
    assert rows["target_contrast"].tolist() == ["concept swap", "variable swap", "variable swap"]
    assert rows[["target1", "target2"]].to_numpy().tolist() == [
        ["{agent1} can lift {agent2}.", "{agent1} can lower {agent2}."],
        ["{agent1} can lift {agent2}.", "{agent2} can lift {agent1}."],
        ["{agent2} can lower {agent1}.", "{agent1} can lower {agent2}."],
    ]


@pytest.mark.parametrize(
    ("symmetric", "targets"),
    [
        ("lift", ["{agent1} can lower {agent2}."]),
        ("lower", ["{agent1} can lower {agent2}.", "{agent2} can lift {agent1}."]),
    ],
)
def test_variables_are_never_swapped_for_a_symmetric_concept(garden, symmetric, targets):
    opposites = (("lift", "lower"), ("lower", "lift"))
    garden.concepts(
        *(
            {"concept": one, "opposite_concepts": [other], "symmetric": one == symmetric}
            for one, other in opposites
        )
    )
    swappable(garden)
    assert garden.compile()["target2"].tolist() == targets


def test_a_swappable_context_also_swaps_its_variables_for_each_segment(garden):
    garden.targets({"pattern": "[agent1] can {CONCEPT} [agent2]."})
    garden.contexts(
        PUSH
        | {
            "probes": [
                probe(
                    "[agent1] is {segment1} [agent2].", "below", "above", swappable_variables=True
                )
            ]
        }
    )
    rows = garden.compile()
    assert rows["context_contrast"].tolist() == ["antonym", "variable swap", "variable swap"]
    assert rows[["context1", "context2"]].to_numpy().tolist()[1:] == [
        ["{agent1} is below {agent2}.", "{agent2} is below {agent1}."],
        ["{agent2} is above {agent1}.", "{agent1} is above {agent2}."],
    ]


def test_without_a_second_concept_only_variables_are_swapped(garden):
    swappable(garden)
    probes = [probe("[agent1] is {segment1} [agent2].", "below", "above")]
    garden.contexts({"conceptA": "lift", "conceptB": None, "probes": probes})
    assert garden.compile()["target_contrast"].tolist() == ["variable swap"]


@pytest.mark.parametrize(
    ("sentence", "swapped"),
    [
        ("{agent1} sees {agent2}.", "{agent2} sees {agent1}."),
        ("{agent1} shows {agent2} to {agent3}.", "{agent1} shows {agent3} to {agent2}."),
        ("{agent1} gives {object1} and {object2}.", "{agent1} gives {object2} and {object1}."),
        (
            "{object1:large=true} hits {object2:large=true}.",
            "{object2:large=true} hits {object1:large=true}.",
        ),
        (
            "{object1:large=true:rollable=true} hits {object2:rollable=true:large=true}.",
            "SAME NAMES",
        ),
        ("{object1:large=true} hits {object2}.", None),
        ("{agent1} sleeps.", None),
        ("{agent1} {agent2} {agent3} {agent4}", None),
        ("It rains.", None),
    ],
)
def test_variables_are_swapped_one_and_two_of_two_or_two_and_three_of_three(sentence, swapped):
    if swapped == "SAME NAMES":
        swapped = "{object2:large=true:rollable=true} hits {object1:rollable=true:large=true}."
    assert parse_sentence(sentence, RIGHT).swapped() == swapped


def test_a_form_that_a_concept_states_goes_before_the_regular_one(garden):
    garden.replace(
        "concept-garden",
        "opposite_concepts: [lower]",
        "opposite_concepts: [lower]\n  present_3sg_form: heaves up",
    )
    (row,) = garden.compile().itertuples()
    assert (row.target1, row.target2) == (
        "{agent1} heaves up {object1}.",
        "{agent1} lowers {object1}.",
    )


def test_a_target_serves_where_one_of_its_criteria_holds_for_both_concepts(garden):
    garden.concepts(
        {"concept": "lift", "agentive": True},
        {"concept": "lower", "non-agentive": True, "agentive": True},
    )
    garden.targets(
        {"pattern": "[agent1] will {CONCEPT} [object1].", "criteria": "non-agentive"},
        {"pattern": "[agent1] can {CONCEPT} [object1].", "criteria": ["agentive", "symmetric"]},
    )
    assert garden.compile()["target1"].tolist() == ["{agent1} can lift {object1}."]


def test_a_target_may_ask_for_a_flag_of_its_own(garden):
    """The materials' format promises "a target with a new flag"; flags were a closed list."""
    garden.concepts(
        {"concept": "lift", "opposite_concepts": ["lower"], "growth": True},
        {"concept": "lower", "opposite_concepts": ["lift"], "growth": True},
        {"concept": "sow", "growth": False},
    )
    grow = {"pattern": "[agent1] will {CONCEPT} [object1].", "criteria": "growth"}
    garden.targets(grow, {"pattern": "[agent1] can {CONCEPT} [object1]."})
    assert {text.split("}")[1].split()[0] for text in garden.compile()["target1"]} == {
        "will",
        "can",
    }
    garden.replace("concepts/", '"growth": true}, {"domain"', '"growth": false}, {"domain"')
    assert {text.split("}")[1].split()[0] for text in garden.compile()["target1"]} == {"can"}


@pytest.mark.parametrize("name", ["many_concepts", "model_config", "place", "__init__"])
def test_a_flag_whose_name_means_something_else_is_an_error(garden, name):
    garden.concepts({"concept": "lift", name: True}, {"concept": "lower", name: True})
    garden.targets({"pattern": "[agent1] will {CONCEPT} [object1].", "criteria": name})
    assert any(f"{name}: unknown key" in str(each) for each in garden.read().problems.errors())


def test_a_flag_that_no_target_asks_for_is_still_unknown(garden):
    garden.concepts({"concept": "lift", "growht": True}, {"concept": "lower", "growth": True})
    garden.targets({"pattern": "[agent1] will {CONCEPT} [object1].", "criteria": "growth"})
    [error] = [each for each in garden.read().problems.errors() if "growht" in str(each)]
    assert 'did you mean "growth"' in str(error)
    garden.concepts({"concept": "lift", "moisture": True}, {"concept": "lower", "growth": True})
    error = next(each for each in garden.read().problems.errors() if "moisture" in str(each))
    assert "as a flag it does nothing, since no target's criteria name it" in str(error)
    garden.concepts({"concept": "lift"}, {"concept": "lower"})
    materials = garden.read()
    check_materials(materials)
    assert any('the criterion "growth"' in str(each) for each in materials.problems.errors())


def test_a_target_that_meets_two_criteria_is_used_once_and_by_the_original_twice(garden):
    garden.concepts(
        {"concept": "lift", "agentive": True, "symmetric": True},
        {"concept": "lower", "agentive": True, "symmetric": True},
    )
    garden.targets(
        {"pattern": "[agent1] can {CONCEPT} [object1].", "criteria": ["agentive", "symmetric"]}
    )
    assert len(garden.compile(Rules(repeated_templates=True))) == 1
    assert len(garden.compile(Rules(repeated_templates=True, target_per_criterion=True))) == 2


def test_all_names_in_a_comma_separated_list_of_opposites_count_but_for_the_original_only_the_first(
    garden,
):
    garden.concepts(
        {"concept": "lift", "opposite_concepts": "drop, lower"},
        {"concept": "lower", "opposite_concepts": "lift"},
    )
    swappable(garden)
    assert len(garden.compile()) == 3
    assert len(garden.compile(ORIGINAL)) == 1


def test_a_bare_no_is_a_word_but_for_the_original_no_segment(garden):
    garden.replace(
        "context-garden",
        '"[agent1] moves [object1] {segment1}."',
        '"[agent1] moves {segment1} [object1]."',
    )
    garden.replace("context-garden", "segmentB: downward", "segmentB: no")
    assert garden.compile()["context2"].tolist() == ["{agent1} moves no {object1}."]
    assert garden.compile(ORIGINAL).empty


def test_restrictions_travel_between_context_and_target(garden):
    garden.replace("context-garden", "[object1]", "[object1:large=true]")
    (row,) = garden.compile().itertuples()
    assert row.target1 == "{agent1} lifts {object1:large=true}."


def test_two_restrictions_travel_too_but_the_original_does_not_see_them(garden):
    garden.replace("context-garden", "[object1]", "[object1:rollable=true:large=true]")
    assert garden.compile()["target1"].tolist() == [
        "{agent1} lifts {object1:large=true:rollable=true}."
    ]
    assert garden.compile(ORIGINAL)["target1"].tolist() == ["{agent1} lifts {object1}."]


def test_a_segments_own_type_holds_for_it_alone_but_leaks_in_the_original(garden):
    garden.replace(
        "context-garden",
        "          contrast: antonym\n",
        "          type: indirect\n        - segmentA: to the roof\n          segmentB: to the"
        " floor\n",
    )
    assert garden.compile()["context_type"].tolist() == ["indirect", "direct"]
    assert garden.compile(ORIGINAL)["context_type"].tolist() == ["indirect", "indirect"]


@pytest.mark.parametrize(
    "segments", [("lifts", "lowers"), ("lifts", "drops"), ("raises", "lowers")]
)
def test_a_template_that_answers_itself_is_dropped_and_its_unit_keeps_its_number(garden, segments):
    garden.contexts(
        PUSH
        | {
            "probes": [
                probe("[agent1] {segment1} [object1].", *segments),
                probe("[agent1] moves [object1] {segment1}.", "up", "down"),
            ]
        }
    )
    assert garden.compile()["template_id"].tolist() == ["garden-work_2_1"]


def test_templates_with_the_same_four_texts_are_made_once_but_kept_by_the_original(garden):
    garden.targets(
        *[
            {"pattern": "[agent1] can {CONCEPT} [object1].", "criteria": c}
            for c in ("agentive", None)
        ]
    )
    assert garden.compile()["template_id"].tolist() == ["garden-work_1_1"]
    assert garden.compile(ORIGINAL)["template_id"].tolist() == [
        "garden-work_1_1",
        "garden-work_2_1",
    ]


def test_contrast_labels_are_normalised_but_kept_as_written_in_the_original(garden):
    garden.replace("context-garden", "contrast: antonym", "contrast: variable_swap")
    assert garden.compile()["context_contrast"].tolist() == ["variable swap"]
    assert garden.compile(ORIGINAL)["context_contrast"].tolist() == ["variable_swap"]


def test_lists_of_segments_fill_their_places_in_order(garden):
    garden.contexts(
        PUSH
        | {
            "probes": [
                probe(
                    "{segment2}, [agent1] moves [object1] {segment1}.",
                    ["up", "Now"],
                    ["down", "Then"],
                )
            ]
        }
    )
    (row,) = garden.compile().itertuples()
    assert (row.context1, row.context2) == (
        "Now, {agent1} moves {object1} up.",
        "Then, {agent1} moves {object1} down.",
    )


@pytest.mark.parametrize(
    ("target", "context", "fits"),
    [
        ("{agent1} {object1}", "{agent1} {object1}", True),
        ("{agent1} {object1}", "{agent1}", True),
        ("{agent1} {agent2}", "{agent1}", False),
        ("{agent1}", "{agent1} {agent2}", True),
        ("{agent1}", "{agent1} {agent2} {agent3}", False),
        ("{agent1} {object1}", "{object1}", True),
        ("{agent1} {object1}", "{agent1} {agent2}", False),
        ("{object1} {object2}", "{agent1} {object1}", False),
        ("{object1}", "{location1} {object1}", True),
        ("{object1} {location1}", "{agent1} {object1}", False),
        ("{quantObject1}", "{object1}", True),
        ("{quantObject1} {quantSubstance1}", "{object1}", False),
    ],
)
def test_a_context_fits_a_target_if_it_names_about_the_same_participants(target, context, fits):
    assert is_compatible(variable_counts(target, RIGHT), variable_counts(context, RIGHT)) == fits
