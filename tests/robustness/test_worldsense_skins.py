"""Faults that the author of a skin makes: each is named by file, line and key, with the fix."""

from pathlib import Path

import pytest

from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, check_skins, read_skins
from worldprobe.benchmarks.worldsense.trials.audit import find_misreading
from worldprobe.cli import main
from worldprobe.errors import UserError

TALL, OBJECTS, STREETS, FAMILIES, RIVERS = (
    (FOLDER / f"{name}.yaml").read_text()
    for name in ("tall_short", "obj_LeftRight", "streets", "louder_quieter", "train_trips")
)


def asks(kind: str, *lines: str, wording: str = "directQ1") -> str:
    """A skin with a question of its own."""
    listed = "".join(f'      - "{line}"\n' for line in lines)
    return f"{TALL}questions:\n  {kind}:\n    {wording}:\n{listed}"


def change(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


FAULTS = {
    "an unknown key": (change(TALL, ("situation:", "situatoin:")), 'did you mean "situation"'),
    "no number in the situation": (change(TALL, ("{number} players", "some players")), "situation"),
    "a domain that does not exist": (
        change(TALL, ("domain: scalar", "domain: scalr")),
        'did you mean "scalar"',
    ),
    "a listing that is missing": (change(TALL, ("listing:", "#")), "listing: missing."),
    "a clause that lines have no use for": (
        change(STREETS, ("clauses:", 'clauses:\n  first: "{x} is first"')),
        "no such clause",
    ),
    "a key that lines have no use for": (
        change(STREETS, ("use:", "listing: From left to right\nuse:")),
        "listing: planar skins",
    ),
    "entities of which one contains the other": (
        change(OBJECTS, ("- the blue box", "- the red ball and bat")),
        "'the red ball and bat' and 'the red ball' cannot be told apart",
    ),
    "a clause without an entity": (
        change(TALL, ("{x} is taller than {y}", "{x} is taller")),
        "does not contain {x}, {y}",
    ),
    "a clause with a stray brace": (
        change(TALL, ("taller than {y}", "taller than {y}}")),
        "does not contain {x}, {y}",
    ),
    "a clause with something else in braces": (
        change(TALL, ("taller than {y}", "taller than {y} {z}")),
        "nothing else in braces",
    ),
    "the converse with {y} as subject": (
        change(TALL, ('"{x} is shorter than {y}"', '"{y} is shorter than {x}"')),
        "clauses.after: '{y} is shorter than {x}' names {y} before {x}",
    ),
    "a foreign relation with {y} as subject": (
        change(TALL, ('"{x} lives east of {y}"', '"{y} lives east of {x}"')),
        "foreign.before: '{y} lives east of {x}' names {y}",
    ),
    "{m} at an end": (
        change(
            TALL,
            ("{m}'s height is in between {x}'s height", "{x}'s height is in between {m}'s height"),
        ),
        "names {x} before {m}",
    ),
    "a converse with the same words": (
        change(TALL, ("{x} is shorter than {y}", "{x} is taller than {y}")),
        "clauses.after: has the same words as clauses.before",
    ),
    "a foreign relation of its own in other capitals": (
        change(TALL, ('"{x} lives east of {y}"', '"{x} is Shorter  than {y}"')),
        "foreign.before: has the same words as clauses.after",
    ),
    "letters in two characters": (TALL + "# cafe\u0301\n", "NFD"),  # TheCombine #3713, qsv PR #2436
    "an answer that is not named": (
        asks("Infer", "{description}", "Is ‘{query}’ TRUE or not?"),
        "questions.Infer.directQ1: does not name the answer FALSE",
    ),
    "IMPOSSIBLE only": (
        asks("Consist", "‘{description}’", "Is this IMPOSSIBLE?"),
        "does not name the answer POSSIBLE",
    ),
    "alternatives exchanged": (
        asks(
            "Compl", "{description}", "(1) {opposite}; (2) {query}; (3) it is impossible to decide."
        ),
        "{query} is not alternative 1, or {opposite} is not alternative 2",
    ),
}


def faults(tmp_path: Path, text: str) -> list[UserError]:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return check_skins(path)[1]


@pytest.mark.parametrize(("text", "what"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_with_its_key_line_and_fix(tmp_path: Path, text: str, what: str) -> None:
    found = faults(tmp_path, text)
    assert any(what in fault.problem for fault in found), found
    assert all(
        fault.where.startswith(f"{tmp_path / 'mine.yaml'}, line ") and fault.fix for fault in found
    )


def test_a_skin_with_questions_of_its_own_is_right(tmp_path: Path) -> None:
    lines = (
        "{description}",
        "If {query}, answer 1.",
        "If {opposite}, answer 2. Else answer 3.",
        "Possible answers: 1, 2, 3",
    )
    text = (
        asks("Compl", *lines)
        + '  Infer:\n    directQ2:\n      - "TRUE or FALSE: ‘{query}’?"\n      -'
        ' "‘{description}’"\n'
    )
    assert faults(tmp_path, text) == []
    (skin,) = check_skins(tmp_path / "mine.yaml")[0]
    assert find_misreading(skin) is None


def test_the_skins_of_the_repository_are_right_and_cannot_be_misread(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["worldsense", "skins", "check"]) == 0
    assert capsys.readouterr().out.startswith("51 skins are right: ")


def test_words_that_can_be_misread_are_refused_before_a_set_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        change((FOLDER / "activities.yaml").read_text(), ("  - fencing", "  - all the others"))
    )
    for command in (
        ["skins", "check", str(path)],
        [
            "generate",
            "ood-query",
            "--per-cell",
            "1",
            "--skin-folder",
            str(tmp_path),
            "--out",
            str(tmp_path / "t.parquet"),
        ],
    ):
        assert main(["worldsense", *command]) == 2
        error = capsys.readouterr().err
        assert f"error: {path}\n" in error
        assert "the text can be read in several ways" in error
        assert "all the others" in error
    assert list(tmp_path.iterdir()) == [path]


def write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def only_fault(folder: Path) -> str:
    (fault,) = check_skins(folder)[1]
    return f"{Path(fault.where.partition(', line ')[0]).name}: {fault.problem}"


def test_two_skins_of_one_name(tmp_path: Path) -> None:
    write(
        tmp_path,
        a=TALL,
        b=change(TALL, ("name: tall/short", "name: Tall/short"), ("basketball", "football")),
    )
    assert only_fault(tmp_path).startswith("b.yaml: name: Tall/short is also the name in")
    assert [skin.name for skin in check_skins(tmp_path)[0]] == ["tall/short"]
    assert [fault.where for fault in check_skins(tmp_path / "b.yaml")[1]] == [
        f"{tmp_path / 'b.yaml'}, line 2"
    ]


def test_a_training_skin_shares_no_entity_with_a_test_skin(tmp_path: Path) -> None:
    test = change((FOLDER / "trips.yaml").read_text(), ("- Big Ben", "- the Seine"))
    write(tmp_path, test=test, train=RIVERS)
    assert (
        only_fault(tmp_path)
        == "train.yaml: entities[1]: 'the Seine' is also an entity of the test skin trips."
    )


def test_skins_of_either_suffix_are_read(tmp_path: Path) -> None:
    write(tmp_path, one=TALL)
    (tmp_path / "two.yml").write_text(OBJECTS)
    assert [skin.name for skin in read_skins(tmp_path)] == ["tall/short", "obj_LeftRight"]


def test_every_fault_is_printed_in_the_order_of_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = change(
        TALL,
        ("team, {number}", "team, {number} {z}"),
        ("{x} is shorter than all", "all are taller"),
    )
    write(tmp_path, a=wrong, b=wrong)
    assert main(["worldsense", "skins", "check", str(tmp_path)]) == 2
    lines = [
        line.removeprefix(f"error: {tmp_path}/")
        for line in capsys.readouterr().err.splitlines()
        if "error:" in line
    ]
    assert lines == ["a.yaml, line 18", "a.yaml, line 26", "b.yaml, line 18", "b.yaml, line 26"]
