"""Every mistake in materials is told with its file, line, entry and fix; folders and archives
read alike.
"""

import zipfile

import pytest

from worldprobe.benchmarks.ewok.materials.check import check_materials
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe_authoring.check import check_all

CONTEXT, TARGET, CONCEPT = (
    f"{kind}s/{kind}-garden-work.yml" for kind in ("context", "target", "concept")
)
AGENTS, OBJECTS = "fillers/filler-agent.csv", "fillers/filler-object.csv"

TWICE = "          contrast: antonym\n        - segmentA: upward\n          segmentB: downward\n"
AGAIN = (
    'garden-work:\n  - pattern: "[agent1] {CONCEPT} [object1]."\n    criteria: agentive\n    tags:'
    " present_3sg_form\n"
)
MISTAKES = {
    "unknown concept": (CONTEXT, "conceptB: lower", "conceptB: lowr", 2, 'no concept "lowr"'),
    "target without the concept": (TARGET, "{CONCEPT}", "raises", 3, "has no {CONCEPT}"),
    "unknown restriction column": (TARGET, "[object1]", "[object1:larg=true]", 3, 'column "larg"'),
    "value that no filler has": (CONTEXT, "[object1]", "[object1:large=True]", 6, "True"),
    "same segments": (CONTEXT, "downward", "upward", 8, "segments A and B are the same"),
    "truth value for text": (CONTEXT, "downward", "false", 9, "truth value false"),
    "unknown key": (CONTEXT, "contrast:", "contarst:", 10, 'did you mean "contrast"?'),
    "concept twice": (
        CONCEPT,
        "- concept: lower",
        "- concept: lift",
        7,
        '"lift" is already in line 2',
    ),
    "key twice": (
        CONCEPT,
        "  domain: garden\n",
        "  domain: garden\n  domain: attic\n",
        4,
        "is set twice",
    ),
    "broken YAML": (CONTEXT, '"[agent1]', "[agent1]", 6, "is not valid YAML"),
    "filler twice": (AGENTS, "Gardener3,true", "Gardener1,false", 5, "already in line 3"),
    "cell missing": (AGENTS, "Gardener3,true", "Gardener3", 5, "has 1 cells, the header 2"),
    "cell empty": (AGENTS, "Gardener3,true", "Gardener3,", 5, 'column "tall" is empty'),
    "same contrast twice": (
        CONTEXT,
        "          contrast: antonym\n",
        TWICE,
        11,
        "says the same as line 8",
    ),
    "decomposed letters": (
        TARGET,
        "[object1].",
        "[object1] sce\u0301ne.",
        3,
        "NFD",
    ),  # TheCombine #3713, qsv PR #2436
    "target twice": (TARGET, "garden-work:\n", AGAIN, 6, "is the same target as in line 3"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_its_place(garden, mistake):
    file, old, new, line, problem = MISTAKES[mistake]
    materials = garden.replace(file, old, new).read()
    check_materials(materials)
    told = [
        p
        for p in materials.problems.errors()
        if p.place[:2] == (file, line) and problem in p.problem
    ]
    assert told, "\n".join(map(str, materials.problems))


def test_sound_materials_have_no_problems_and_compile(garden):
    materials = garden.read()
    assert check_all(materials, versions=5) == (1, 0)
    assert materials.problems == []


def test_restrictions_that_meet_across_context_and_target_must_leave_a_filler(garden):
    garden.replace(OBJECTS, "the pot", "the jar")
    garden.with_(
        OBJECTS,
        "item,large,rollable\nthe jar,true,false\nthe ball,false,true\nthe cup,false,true\n",
    )
    garden.replace(CONTEXT, "[object1]", "[object1:large=true]").replace(
        TARGET, "[object1]", "[object1:rollable=true]"
    )
    materials = garden.read()
    check_all(materials, versions=1)
    (problem,) = materials.problems.errors()
    assert problem.place.entry == "garden-work_1_1"
    assert "{object1:large=true:rollable=true}" in problem.problem


def test_too_few_fillers_for_the_versions_are_warned_of(garden):
    garden.with_(OBJECTS, "item\nthe jar\nthe ball\nthe cup\n")
    materials = garden.read()
    check_all(materials, versions=5)
    (warning,) = materials.problems
    assert not warning.is_error
    assert "3 fillers meet {object1}: enough for 2 versions, not 5" in warning.problem


def test_a_byte_order_mark_windows_line_ends_and_comment_lines_do_no_harm(garden):
    plain = garden.read()
    for name, text in list(garden.files.items()):
        garden.with_(name, ("\ufeff# GARDEN canary 0000\n" + text).replace("\n", "\r\n"))
    decorated = garden.read()
    assert decorated.problems == []
    assert decorated.fillers == plain.fillers
    assert decorated.canary == plain.canary == "# GARDEN canary 0000"


def zipped(garden, folder="config/"):
    path = garden.folder.parent / "materials.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in garden.files.items():
            archive.writestr(folder + name, text)
    return path


@pytest.mark.parametrize("folder", ["config/", "", "deep/down/"])
def test_an_archive_reads_like_its_folder_wherever_the_materials_lie_in_it(garden, folder):
    from_archive = read_materials(zipped(garden, folder), RIGHT)
    assert from_archive.domains == garden.read().domains
    assert from_archive.fillers == garden.read().fillers
