"""Faults that the author of a skin makes: each is named by file, line and key, with the fix; right English is left alone."""

from pathlib import Path

import pytest

from worldprobe.benchmarks.worldsense.skins.meaning import meaning_faults
from worldprobe.benchmarks.worldsense.skins.misreading import find_misreading
from worldprobe.benchmarks.worldsense.skins.skins import FOLDER, check_skins, read_skins
from worldprobe.cli import main
from worldprobe.errors import UserError

TALL, OBJECTS, STREETS, FAMILIES, RIVERS = (
    (FOLDER / f"{name}.yaml").read_text() for name in ("tall_short", "obj_LeftRight", "streets", "louder_quieter", "train_trips")
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


SENTENCES = {
    "two tenses": (change(TALL, ("{x} is shorter than {y}", "{x} was shorter than {y}")), "is in the past, but clauses.before"),
    "a listing that ends with a colon": (
        change(TALL, ('shortest"', 'shortest:"')),
        "listing: 'From tallest to shortest:' contains the mark :",
    ),
    "a listing with braces": (
        change(TALL, ('shortest"', 'shortest {x}"')),
        "listing: 'From tallest to shortest {x}' contains {x}",
    ),
    "a listing with a stray brace": (
        change(TALL, ('shortest"', 'shortest}"')),
        "listing: 'From tallest to shortest}' has an unp",
    ),
    "a listing with doubled blanks": (
        change(TALL, ("From tallest", "From  tallest")),
        "listing: 'From  tallest to shortest' has",
    ),
    "a situation with a colon": (change(TALL, ("team, {number}", "team: {number}")), "contains the mark :"),
    "a clause with quotation marks": (
        change(TALL, ("{x} is taller than {y}", "{x} is ‘taller’ than {y}")),
        "contains the mark ‘",
    ),
    "braces that would be printed": (change(TALL, ("{x} is taller than {y}", "{x} is {{much}} taller than {y}")), "be printed"),
    "no blank before a placeholder": (change(TALL, ("taller than {y}", "taller than{y}")), "no blank between 'n' and"),
    "no blank after a placeholder": (change(TALL, ("{x} is taller", "{x}is taller")), "no blank between 'i' and"),
    "a blank that cannot be seen": (change(TALL, ("taller than {y}", "taller\u00a0than {y}")), "cannot be seen"),
    "a blank of no width": (change(TALL, ("taller than {y}", "taller \u200bthan {y}")), "cannot be seen"),
    "an entity that reads as two": (change(OBJECTS, ("- the red ball", "- the red ball and bat")), 'contains "and"'),
}

MEANINGS = {
    "the converse with {y} as subject": (
        change(TALL, ('"{x} is shorter than {y}"', '"{y} is shorter than {x}"')),
        "clauses.after: '{y} is shorter than {x}' names {y} before {x}, its subject",
    ),
    "a relation with {y} as subject": (
        change(TALL, ('"{x} is taller than {y}"', '"{y} is taller than {x}"')),
        "clauses.before: '{y} is taller than {x}' names {y} before {x}",
    ),
    "a foreign relation with {y} as subject": (
        change(TALL, ('"{x} lives east of {y}"', '"{y} lives east of {x}"')),
        "foreign.before: '{y} lives east of {x}' names {y}",
    ),
    "a relation and its converse exchanged": (
        change(
            TALL,
            ("{x} is taller than {y}", "{x} is Q {y}"),
            ("{x} is shorter than {y}", "{x} is taller than {y}"),
            ("Q", "shorter than"),
        ),
        "listing: 'From tallest to shortest' is the order of clauses.after",
    ),
    "first and last exchanged": (
        change(TALL, ("taller than all", "Q all"), ("shorter than all", "taller than all"), ("Q", "shorter than")),
        "clauses.first: '{x} is shorter than all the others' uses the words of clauses.after, so it says that {x} is the last",
    ),
    "a listing the other way round": (
        change(TALL, ("From tallest to shortest", "From shortest to tallest")),
        'Write "From tallest to shortest"',
    ),
    "a listing in other words the other way round": (
        change(RIVERS, ("From first to last", "From latest to earliest")),
        "is the order of clauses.after",
    ),
    "{m} at an end": (
        change(TALL, ("{m}'s height is in between {x}'s height", "{x}'s height is in between {m}'s height")),
        "does not begin with {m}",
    ),
    "a between that says outside": (
        change(TALL, ("{m}'s height is in between {x}'s", "{m}'s height isn't between {x}'s")),
        "clauses.between: \"{m}'s height isn't between {x}'s height and {y}'s height\" says that {m} is not in between",
    ),
    "an outside that says between": (
        change(TALL, ("{m}'s height is not in between", "{m}'s height is somewhere between")),
        "says that {m} is in between",
    ),
    "parallel and perpendicular exchanged": (
        change(STREETS, ("parallel to", "Q to"), ("perpendicular to", "parallel to"), ("Q to", "perpendicular to")),
        "clauses.parallel: '{x} is perpendicular to {y}' says that lines are perpendicular",
    ),
    "a foreign relation of its own in other capitals": (
        change(TALL, ('"{x} lives east of {y}"', '"{x} is Shorter  than {y}"')),
        "foreign.before: is a relation of the skin itself",
    ),
    "a key that lines have no use for": (change(STREETS, ("use:", "listing: From left to right\nuse:")), "listing: planar skins"),
}

QUESTIONS = {
    "no question mark": (
        asks("Infer", "{description}", "Is ‘{query}’ TRUE or FALSE"),
        "is a question without a question mark",
        34,
    ),
    "no full stop": (asks("Infer", "{description}", "Say TRUE or FALSE of ‘{query}’"), "has no mark at its end", 34),
    "doubled blanks": (asks("Infer", "{description}", "Is  ‘{query}’ TRUE or FALSE?"), "has doubled or outer blanks", 34),
    "small letters": (asks("Infer", "{description}", "is ‘{query}’ TRUE or FALSE?"), "begins without a capital", 34),
    "an answer that is not named": (asks("Infer", "{description}", "Is ‘{query}’ TRUE or not?"), "FALSE is not among", 32),
    "IMPOSSIBLE only": (asks("Consist", "‘{description}’", "Is this IMPOSSIBLE?"), "POSSIBLE is not among the answers", 32),
    "alternatives exchanged": (
        asks("Compl", "{description}", "(1) {opposite}; (2) {query}; (3) it is impossible to decide."),
        "{query} is not alternative 1, or {opposite} is not alternative 2",
        32,
    ),
    "no blank": (asks("Compl", "{description}", "Choose (1){query}, (2) {opposite} or (3) neither."), "no blank between", 34),
    "two wordings alike": (
        asks("Consist", "Someone  says: ‘{description}’", "Is it POSSIBLE or IMPOSSIBLE?")
        + '    directQ2:\n      - "Someone says: ‘{description}’ Is it POSSIBLE or IMPOSSIBLE?"\n',
        "both wordings have the same words",
        None,
    ),
}


def faults(tmp_path: Path, text: str) -> list[UserError]:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return check_skins(path)[1]


@pytest.mark.parametrize(("text", "what"), [*SENTENCES.values(), *MEANINGS.values()], ids=[*SENTENCES, *MEANINGS])
def test_a_fault_in_a_sentence_is_named_with_its_key_and_line(tmp_path: Path, text: str, what: str) -> None:
    found = faults(tmp_path, text)
    said = [fault.lines() for fault in found]
    assert any(what in lines for lines in said), said
    assert all(fault.where.startswith(f"{tmp_path / 'mine.yaml'}, line ") for fault in found)
    assert all(fault.fix for fault in found)


@pytest.mark.parametrize(("text", "what", "line"), QUESTIONS.values(), ids=QUESTIONS)
def test_a_fault_in_a_question_is_named_with_its_line(tmp_path: Path, text: str, what: str, line: int | None) -> None:
    (fault, *_) = [fault for fault in faults(tmp_path, text) if what in fault.problem]
    assert line is None or fault.where == f"{tmp_path / 'mine.yaml'}, line {line}"


RIGHT = {
    "articles as they are spoken": change(
        OBJECTS,
        ("- the red ball", "- an X-ray"),
        ("- the blue box", "- a ukulele"),
        ("- the yellow chair", "- an 8-inch pipe"),
        ("- the orange table", "- a one-way sign"),
        ("- the purple bag", "- an FM radio"),
        ("- the brown mug", "- a USB stick"),
        ("- the green guitar", "- an hourglass"),
        ("- the white bicycle", "- a utensil"),
    ),
    "a name that repeats itself": change(TALL, ("- James", "- Bora Bora")),
    "a name that begins with an article": change(RIVERS, ("- the Amazon", "- The Hague")),
    "things whose number does not show": change(
        OBJECTS, ("- the red ball", "- the sheep"), ("- the blue box", "- the gas"), ("- the yellow chair", "- the taxi")
    ),
    "a verb that others are the subject of": change(TALL, ("{x} is shorter than all the others", "everybody is taller than {x}")),
    "the least of the other relation": change(TALL, ("{x} is shorter than all the others", "{x} is the least tall")),
    "places without an article": change(
        TALL, ("- James", "- the gym"), ("- David", "- school"), ("- Robert", "- the office"), ("- Michael", "- work")
    ),
    "a denied comparison": change(TALL, ("{x} is taller than all the others", "{x} is not shorter than anybody")),
    "a listing by the most and the least": change(
        TALL,
        ("taller", "more famous"),
        ("shorter", "less famous"),
        ("From tallest to shortest", "From most famous to least famous"),
    ),
    "an outside without that word": change(
        TALL, ("{m}'s height is not in between {x}'s height and {y}'s height", "{m} is either above or below both {x} and {y}")
    ),
    "plural properties": change(
        TALL, ("{m}'s height is in between {x}'s height and {y}'s height", "{m}'s wages are in between those of {x} and {y}")
    ),
    "a plural that does not end in s": change(TALL, ("players all", "sportsmen all")),
    "lines of Windows": TALL.replace("\n", "\r\n"),
    "questions of its own": asks(
        "Compl", "{description}", "If {query}, answer 1.", "If {opposite}, answer 2. Else answer 3.", "Possible answers: 1, 2, 3"
    )
    + '  Infer:\n    directQ2:\n      - "TRUE or FALSE: ‘{query}’?"\n      - "It is known: ‘{description}’"\n',
}


#: Right clauses of people, the first of the pair being the key.
RIGHT_CLAUSES = [
    *(
        ("before", clause)
        for clause in (
            "{x}'s height in inches is less than that of {y}",
            "{x}'s number of legs is less than that of {y}",
            "the number of legs of {x} is less than that of {y}",
            "the weight in grams of {x} is less than that of {y}",
            "{x}'s house with two doors is below {y}",
            "{x}'s offspring are younger than those of {y}",
            "{x}'s innings was shorter than that of {y}",
            "{x}'s maths is worse than that of {y}",
            "{x}'s ethos is older than that of {y}",
            "{x} owns an 18th-century vase and {y} does not",
            "{x} has an x-ray before {y}",
            "{x} plays an étude before {y}",
            "{x} met a Ugandan before {y}",
            "{x} pays an homage before {y}",
            "{x} got a unanimous vote before {y}",
            "{x} had had lunch before {y}",
        )
    ),
    ("outside", "{m} cannot be between {x} and {y}"),
    ("outside", "{m} is anywhere but between {x} and {y}"),
    ("between", "{m} is between {x} and {y}, no matter who is the first"),
    ("first", "{x} has all the others after them"),
]


@pytest.mark.parametrize(("clause", "words"), RIGHT_CLAUSES, ids=[words for _, words in RIGHT_CLAUSES])
def test_right_clauses_are_not_a_fault(clause: str, words: str) -> None:
    clauses = {"before": "{x} comes before {y}", "after": "{x} comes after {y}"} | {clause: words}
    assert [problem for keys, problem, _ in meaning_faults(clauses, {}, None) if keys[1] == clause] == []


@pytest.mark.parametrize("text", RIGHT.values(), ids=RIGHT)
def test_right_english_is_not_a_fault(tmp_path: Path, text: str) -> None:
    assert [fault.lines() for fault in faults(tmp_path, text)] == []
    (skin,) = check_skins(tmp_path / "mine.yaml")[0]
    assert find_misreading(skin) is None


def test_the_skins_of_the_repository_are_right_and_cannot_be_misread(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["worldsense", "skins", "check"]) == 0
    assert capsys.readouterr().out.startswith("51 skins are right: ")


def test_words_that_can_be_misread_are_refused_before_a_set_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(change((FOLDER / "activities.yaml").read_text(), ("  - fencing", "  - all the others")))
    for command in (
        ["skins", "check", str(path)],
        ["generate", "ood-query", "--per-cell", "1", "--skin-folder", str(tmp_path), "--out", str(tmp_path / "t.parquet")],
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


def test_two_skins_of_one_name_or_of_the_same_words(tmp_path: Path) -> None:
    write(tmp_path, a=TALL, b=change(TALL, ("name: tall/short", "name: Tall/short"), ("basketball", "football")))
    assert only_fault(tmp_path).startswith("b.yaml: name: Tall/short is also the name in")
    assert [skin.name for skin in check_skins(tmp_path)[0]] == ["tall/short"]
    write(tmp_path, b=change(TALL, ("name: tall/short", "name: mine")))
    assert only_fault(tmp_path) == "b.yaml: name: all its words are those of tall/short."
    assert [fault.where for fault in check_skins(tmp_path / "b.yaml")[1]] == [f"{tmp_path / 'b.yaml'}, line 2"]


def test_a_training_skin_shares_no_entity_with_a_test_skin(tmp_path: Path) -> None:
    test = change((FOLDER / "trips.yaml").read_text(), ("- Big Ben", "- the Seine"))
    write(tmp_path, test=test, train=RIVERS)
    assert only_fault(tmp_path) == "train.yaml: entities[1]: 'the Seine' is also an entity of the test skin trips."


def test_skins_of_either_suffix_are_read(tmp_path: Path) -> None:
    write(tmp_path, one=TALL)
    (tmp_path / "two.yml").write_text(OBJECTS)
    assert [skin.name for skin in read_skins(tmp_path)] == ["tall/short", "obj_LeftRight"]


def test_every_fault_is_printed_in_the_order_of_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = change(TALL, ("From tallest", "From  tallest"), ("{x} is shorter than all", "{x} is  shorter than all"))
    write(tmp_path, a=wrong, b=wrong)
    assert main(["worldsense", "skins", "check", str(tmp_path)]) == 2
    lines = [line.removeprefix(f"error: {tmp_path}/") for line in capsys.readouterr().err.splitlines() if "error:" in line]
    assert lines == ["a.yaml, line 19", "a.yaml, line 26", "b.yaml, line 19", "b.yaml, line 26"]
