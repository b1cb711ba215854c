"""Slots that do not agree with their fillers."""

import pytest

from worldprobe_authoring.check import check_all

LANGUAGE = """\
language: xx
name: Gardenese
agreement: {kind: [a, b], count: [one, many]}
forms:
  ze: "(ze/zes|zu/zus) {item}"
  one: "one {measure}{item}"
  acc: "{kind}"
  n: "{item}n"
  measured: "{measure} {item}"
faults: {'\\[ze \\w+\\] is \\w+o$': "Write both."}
"""
FILLERS = "item,kind,count,measure\n" + "".join(
    f"pot{i},{'a' if i % 2 else 'b'},{'one' if i % 3 else 'many'},bit\n" for i in range(24)
)


@pytest.fixture
def problems_of(garden):
    garden.with_("language.yml", LANGUAGE).with_("fillers/filler-object.csv", FILLERS)
    garden.concepts(
        {"concept": "lift", "agentive": True, "opposite_concepts": ["lower"], "form": "lifta"},
        {"concept": "lower", "agentive": True, "opposite_concepts": ["lift"], "form": "lowa"},
    )

    def check(pattern):
        garden.targets({"pattern": pattern})
        materials = garden.read()
        check_all(materials, 1)
        return [p for p in materials.problems if p.place.file.startswith("targets")]

    return check


@pytest.mark.parametrize(
    "pattern",
    [
        "[agent1] {CONCEPT} [ze object1]",
        "[agent1] {CONCEPT} [ze object1], big(o/os|a/as)",
        "[agent1] {CONCEPT} [big(o|a) object1:count=one]",
        "[agent1] {CONCEPT} [ze object1], they fall(s/)",
        "[agent1] {CONCEPT} [acc object1] with [n object2]",
        "[agent1] {CONCEPT} [measured object1] for zu [agent2]",
    ],
)
def test_what_agrees_passes(problems_of, pattern):
    assert problems_of(pattern) == []


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        (
            "[agent1] {CONCEPT} [zo object1]",
            'there is no form "zo"; there are ze, one, acc, n, measured.',
        ),
        ("[agent1] {CONCEPT} [ze agent2] and [object1]", "has no column kind"),
        ("[agent1] {CONCEPT} [object1], big(o|a)", "is for one alone"),
        ("[agent1] {CONCEPT} ze [object1]", '"ze " is typed before the slot [object1]'),
        ("[agent1] {CONCEPT} zus [ze object1]", '"zus " is typed before the slot [ze object1]'),
        ("[agent1] {CONCEPT} one [object1]", '"one " is typed before'),
        ("[agent1] {CONCEPT} one bit[object1]", '"one bit" is typed before'),
        ("[agent1] {CONCEPT} [ze object1] big(o|a", "in no brackets"),
        ("Big(o|a) is [object1], and [agent1] {CONCEPT}", "stands before all slots"),
    ],
)
def test_what_does_not_agree_is_an_error_with_file_and_fix(problems_of, pattern, problem):
    found = problems_of(pattern)[0]
    assert found.is_error
    assert problem in found.problem
    assert found.fix
    assert found.place.file == "targets/target-garden-work.yml"
    assert found.place.line


def test_a_value_without_an_alternative_is_an_error(problems_of, garden):
    garden.replace("filler-object", "pot1,a", "pot1,c")
    found = problems_of("[agent1] {CONCEPT} [ze object1]")[0]
    assert '"pot1" has kind=c' in found.problem
    assert "filler-object.csv" in found.problem


def test_a_fault_of_the_language_is_a_warning(problems_of):
    found = problems_of("[agent1] {CONCEPT}, [ze object1] is broko")[0]
    assert not found.is_error
    assert found.fix == "Write both."
