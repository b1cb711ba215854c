"""Every mistake in materials is told with its file, line, entry and fix; folders and archives read
alike.
"""

import zipfile

import pytest

from worldprobe.benchmarks.ewok.materials.check import check_materials
from worldprobe.benchmarks.ewok.materials.materials import Source, read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT
from worldprobe.cli import main
from worldprobe.errors import UserError
from worldprobe_authoring.check import check_all

CONTEXT, TARGET, CONCEPT = (
    f"{kind}s/{kind}-garden-work.yml" for kind in ("context", "target", "concept")
)
AGENTS, OBJECTS = "fillers/filler-agent.csv", "fillers/filler-object.csv"

TWICE = "          contrast: antonym\n        - segmentA: upward\n          segmentB: downward\n"
TWO_SPELLINGS = "  non-agentive: true\n  non_agentive: false\n- "
AGAIN = (
    'garden-work:\n  - pattern: "[agent1] {CONCEPT} [object1]."\n    criteria: agentive\n    tags:'
    " present_3sg_form\n"
)
#: (file, what stands there, what is written instead, its line, part of what it says, part of the
#: fix)
MISTAKES = {
    "unknown concept": (CONTEXT, "conceptB: lower", "conceptB: lowr", 2, 'no concept "lowr"; did you mean "lower"?', "add"),
    "target without the concept": (TARGET, "{CONCEPT}", "raises", 3, "has no {CONCEPT}", "Put {CONCEPT}"),
    "class without a file": (TARGET, "[object1]", "[objct1]", 3, "no fillers/filler-objct.csv; did you mean", "add that file"),
    "unknown restriction column": (TARGET, "[object1]", "[object1:larg=true]", 3, 'column "larg"; did you mean "large"?', "add"),
    "value that no filler has": (CONTEXT, "[object1]", "[object1:large=True]", 6, 'did you mean "true"?', "filler with it"),
    "restriction without a value": (CONTEXT, "[object1]", "[object1:large]", 6, "is not a valid restriction", "column="),
    "slot that is none": (CONTEXT, "[object1]", "[object 1]", 6, "[object 1] is not a valid slot", "Write [class1]"),
    "open bracket": (CONTEXT, "[object1]", "[object1", 6, "brackets do not match", "Close"),
    "segment place without a text": (CONTEXT, "{segment1}", "{segment1} {segment2}", 8, "1 texts, the pattern 2", "one text"),
    "text without a segment place": (CONTEXT, "{segment1}", "up", 8, "0 places", "one text for each"),
    "strange braces in a context": (CONTEXT, "{segment1}", "{segment1} {CONCEPT}", 6, "{CONCEPT} means nothing", "segment1"),
    "strange braces in a target": (TARGET, "[object1]", "{object1}", 3, "{object1} means nothing", "square brackets"),
    "same segments": (CONTEXT, "downward", "upward", 8, "segments A and B are the same", "differ"),
    "same concepts": (CONTEXT, "conceptB: lower", "conceptB: lift", 2, "the same", "null"),
    "no pair of contexts": (CONTEXT, "segmentB: downward", "segmentB: null", 8, "no pair of contexts", "swappable_variables"),
    "null first segment": (CONTEXT, "segmentA: upward", "segmentA:", 8, "segmentA is null", "for concept A"),
    "truth value for text": (CONTEXT, "downward", "false", 9, "truth value false", "quotes"),
    "unknown type": (CONTEXT, "type: direct", "type: dirct", 5, 'did you mean "direct"?', "Choose direct"),
    "unknown key in a context": (CONTEXT, "contrast:", "contarst:", 10, 'did you mean "contrast"?', "remove"),
    "missing key in a context": (CONTEXT, "  conceptB: lower\n", "", 2, "conceptB: is missing", "Add the key"),
    "missing key in a target": (TARGET, "    criteria: agentive\n", "", 3, "criteria: is missing", "Add the key"),
    "unknown key in a target": (TARGET, "tags:", "tag:", 5, 'did you mean "tags"?', "remove"),
    "wrong top key in targets": (TARGET, "garden-work:", "garden:", 2, 'did you mean "garden-work"?', "Rename"),
    "unknown key in a concept": (CONCEPT, "agentive: true\n- ", "agentve: true\n- ", 6, 'did you mean "agentive"?', "remove"),
    "key of another kind of concept": (CONCEPT, "agentive: true\n- ", "directional: true\n- ", 6, "unknown key", "remove"),
    "flag that is none": (CONCEPT, "agentive: true\n- ", "agentive: maybe\n- ", 6, "neither true nor false", "Write true"),
    "concept twice": (CONCEPT, "- concept: lower", "- concept: lift", 7, '"lift" is already in line 2', "Keep one"),
    "key twice": (CONCEPT, "  domain: garden\n", "  domain: garden\n  domain: attic\n", 4, "is set twice (first on line", "Keep"),
    "key twice with a hyphen": (CONCEPT, "  agentive: true\n- ", TWO_SPELLINGS, 6, "are one key", "Keep"),
    "keys for texts": (CONCEPT, "agentive: true\n- ", "opposite_concepts: {a: b}\n- ", 6, "neither a text nor a list", "a dash"),
    "null for a text": (TARGET, '"[agent1] {CONCEPT} [object1]."', "null", 3, "null should be a valid string", "Write a text"),
    "null for a key": (CONCEPT, "agentive: true\n- ", "~: true\n- ", 6, "unknown key", "remove"),
    "null for the top key in targets": (TARGET, "garden-work:", "~:", 2, "unknown key", "Rename"),
    "list for the top key in targets": (TARGET, "garden-work:\n", "", 1, 'has no list "garden-work"', "below it"),
    "unknown criterion": (TARGET, "agentive", "agentiv", 3, 'did you mean "agentive"?', "attribute"),
    "unknown form": (TARGET, "present_3sg_form", "present_3s_form", 3, 'did you mean "present_3sg_form"?', "Correct"),
    "broken YAML": (CONTEXT, '"[agent1]', '[agent1]', 6, "is not valid YAML", "quotes"),
    "tab in YAML": (CONTEXT, "      segments:", "\tsegments:", 7, "is not valid YAML", "the one above"),
    "list for text": (CONTEXT, "conceptA: lift", "conceptA: [lift]", 2, "a list should be a valid string", "Write a text"),
    "text for a list": (CONTEXT, "  probes:\n", "  probes: none\n  x:\n", 4, "should be a valid list", "Write a list"),
    "empty pattern": (TARGET, '"[agent1] {CONCEPT} [object1]."', '""', 3, "at least 1 character", "Write a text"),
    "filler twice": (AGENTS, "Gardener3,true", "Gardener1,false", 5, "already in line 3", "Keep one"),
    "cell missing": (AGENTS, "Gardener3,true", "Gardener3", 5, "has 1 cells, the header 2", "Give every column"),
    "cell empty": (AGENTS, "Gardener3,true", "Gardener3,", 5, 'column "tall" is empty', "Fill it"),
    "no item column": (AGENTS, "item,tall", "name,tall", 1, 'no column "item"', "Name the columns"),
    "same contrast twice": (CONTEXT, "          contrast: antonym\n", TWICE, 11, "says the same as line 8", "Remove one"),
    "columns by semicolons": (AGENTS, "item,tall", "item;tall", 1, "by semicolons", "commas"),
    # TheCombine #3713, qsv PR #2436
    "decomposed filler": (AGENTS, "Gardener3", "Ga\u0308rdener3", 5, "NFD", "NFC"),
    "decomposed target": (TARGET, "[object1].", "[object1] sce\u0301ne.", 3, "NFD", "NFC"),
    "decomposed concept": (CONCEPT, "concept: lift", "concept: li\u0301ft", 2, "NFD", "NFC"),
    "target twice": (TARGET, "garden-work:\n", AGAIN, 6, "is the same target as in line 3", "Remove one"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_place_and_fix(garden, mistake):
    file, old, new, line, problem, fix = MISTAKES[mistake]
    materials = garden.replace(file, old, new).read()
    check_materials(materials)
    told = [
        p
        for p in materials.problems.errors()
        if p.place[:2] == (file, line) and problem in p.problem
    ]
    assert told, "\n".join(map(str, materials.problems))
    assert fix in told[0].fix


def test_sound_materials_have_no_problems_and_compile(garden):
    materials = garden.read()
    assert check_all(materials, versions=5) == 1
    assert materials.problems == []


def test_all_mistakes_are_told_at_once_and_a_build_names_the_first_and_their_number(garden, capsys):
    garden.replace(CONTEXT, "conceptB: lower", "conceptB: lowr").replace(
        TARGET, "{CONCEPT}", "raises"
    ).replace(AGENTS, "3,true", "3,")
    folder = str(garden.write())
    assert main(["materials", "check", folder]) == 2
    printed = capsys.readouterr()
    assert printed.out.count("error: ") == 3
    assert "3 errors are listed above" in printed.err
    assert main(["items", "build", folder, "--out", f"{folder}/items.parquet"]) == 2
    assert "(2 more: `worldprobe materials check` lists them all.)" in capsys.readouterr().err
    assert not (garden.folder / "items.parquet").exists()


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


def test_what_the_original_lets_pass_is_only_a_warning_in_compat_mode(garden):
    garden.replace(TARGET, "tags:", "symmetrical: true\n    tags:")
    assert garden.read(RIGHT).problems.errors()
    assert [p.is_error for p in garden.read(ORIGINAL).problems] == [False]


def test_files_of_a_domain_must_be_complete_and_well_named(garden):
    garden.without(TARGET).with_("contexts/context-garden-deep-work.yml", "[]").with_(
        "concepts/concept-attic-work.yaml", "[]"
    )
    told = {(p.place.file, p.problem) for p in garden.read().problems.errors()}
    assert told == {
        (CONTEXT, f"there is no {TARGET} for it."),
        ("contexts/context-garden-deep-work.yml", "is not named context-<domain>-<subdomain>.yml."),
        ("concepts/concept-attic-work.yaml", 'ends in ".yaml"; only ".yml" is read.'),
    }


def test_text_that_is_not_utf8_is_told_with_its_line(garden):
    garden.with_(AGENTS, "item\nZoë\n".encode("latin-1"))
    garden.with_(
        CONTEXT,
        garden.files[CONTEXT].replace("conceptB: lower", "conceptB: löwer").encode("latin-1"),
    )
    garden.with_(TARGET, garden.files[TARGET].replace("agentive", "ägen\x01tive"))
    told = {(problem.place.file, problem.place.line) for problem in garden.read().problems.errors()}
    assert {(AGENTS, 2), (CONTEXT, 3), (TARGET, 4)} <= told


def test_a_byte_order_mark_windows_line_ends_and_comment_lines_do_no_harm(garden):
    plain = garden.read()
    for name, text in list(garden.files.items()):
        garden.with_(name, ("\ufeff# GARDEN canary 0000\n" + text).replace("\n", "\r\n"))
    decorated = garden.read()
    assert decorated.problems == []
    assert decorated.fillers == plain.fillers
    assert decorated.canary == plain.canary == "# GARDEN canary 0000"


def test_what_a_spreadsheet_adds_to_fillers_is_no_part_of_them(garden):
    """opendidac #680, #681."""
    plain = garden.read()
    garden.with_(
        AGENTS, "".join(f"{line},,\n" for line in garden.files[AGENTS].splitlines()) + ",,,\n,,,\n"
    )
    assert garden.read().problems == []
    assert garden.read().fillers == plain.fillers


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


def test_only_the_files_of_the_layout_are_read_or_move_the_digest(garden):
    before = Source(garden.write()).digest()
    for name in ("README.md", ".git/objects/ab", "notes/fillers/filler-agent.csv"):
        (garden.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (garden.folder / name).write_text("x")
    assert Source(garden.folder).digest() == before
    (garden.folder / AGENTS).write_text("item\nAda\n")
    assert Source(garden.folder).digest() != before


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: None, "no such folder or file"),
        (lambda path: path.mkdir(), "no folder contexts/"),
        (lambda path: path.write_bytes(b"PK not really"), "not a readable ZIP"),
    ],
)
def test_what_is_no_materials_is_told_apart(tmp_path, make, problem):
    make(tmp_path / "m.zip")
    with pytest.raises(UserError, match=problem):
        Source(tmp_path / "m.zip")


def test_a_missing_and_a_wrong_password_are_told_apart_and_the_environment_may_hold_it(
    reference, monkeypatch, capsys, tmp_path
):
    archive = str(reference / "ewok-config.zip")
    monkeypatch.delenv("WORLDPROBE_MATERIALS_PASSWORD", raising=False)
    compile_ = ["templates", "compile", archive, "--out", str(tmp_path / "templates.parquet")]
    assert main(compile_) == 2
    assert "protected by a password" in capsys.readouterr().err
    assert main([*compile_, "--password", "wrong"]) == 2
    assert "password is wrong" in capsys.readouterr().err
    monkeypatch.setenv("WORLDPROBE_MATERIALS_PASSWORD", "ewok")
    assert main(compile_) == 0


def test_a_damaged_archive_is_no_wrong_password(garden):
    path = zipped(garden)
    content = path.read_bytes()
    at = content.index(b"Gardener3")
    path.write_bytes(content[:at] + b"Gardener4" + content[at + 9 :])
    with pytest.raises(UserError, match="is damaged"):
        read_materials(path, RIGHT)
