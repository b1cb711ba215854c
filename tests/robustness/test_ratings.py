"""Malformed ratings of people: every bad cell is named with its line, and right ones are never
dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from worldprobe.benchmarks.ewok.contracts import Items, Ratings
from worldprobe.contracts import read_table

LINE = "import human-ratings {items} {csv} --out {out}"
HEAD = "item_id,target,context,rating\n"
WIDE = (
    "item_id,"
    + ",".join(f"response_mean_target{t}_context{c}" for t in (1, 2) for c in (1, 2))
    + "\n"
)


@pytest.fixture
def items(study):
    return read_table(study["items"], Items)


@pytest.fixture
def rate(check: Callable[..., str], tmp_path: Path) -> Callable[..., str]:
    """Import a CSV; ITEM in its text is an item's id."""

    def rate_case(text: str | bytes, words: str = "", options: str = "", status: int = 2) -> str:
        path = tmp_path / "r.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return check(
            LINE.replace("{out}", "{out}" if status else "{folder}/r.parquet") + options,
            words,
            status,
            csv=path,
        )

    return rate_case


@pytest.fixture
def one(items) -> str:
    return str(items["item_id"].iloc[0])


def grid(one: str, cell: str = "3.5", target: str = "1", context: str = "1") -> str:
    return f"{HEAD}{one},2,2,4\n{one},{target},{context},{cell}\n"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cell": "good"}, "line 3"),
        ({"cell": "inf"}, "is not a rating"),
        ({"cell": "9999"}, "not on the scale from 1 to 5"),
        ({"target": "3"}, "is not a target"),
        ({"target": ""}, "is not a target"),
        ({"context": "9"}, "is not a context"),
        ({"context": "nan"}, "is not a context"),
    ],
)
def test_a_bad_cell_is_named(
    rate: Callable[..., str], one: str, change: dict[str, str], words: str
) -> None:
    rate(grid(one, **change), words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "is empty"),
        (HEAD, "rates no item"),
        ("# only\n", "is empty"),
        ("ITEM,1,1,4\n", "has no column"),
        (HEAD.replace("rating", "ratting") + "ITEM,1,1,4\n", "has no column rating"),
        (HEAD.replace("item_id", "item") + "ITEM,1,1,4\n", "has no column item_id"),
        (HEAD.replace(",", ";") + "ITEM;1;1;4\n", "semicolons"),
        (HEAD.replace(",", "\t") + "ITEM\t1\t1\t4\n", "tabs"),
        ("sep=,\n" + HEAD + "ITEM,1,1,4\n", "line 2"),
        (HEAD.strip() + ",rating\nITEM,1,1,4,1\n", 'column "rating" twice'),
        (HEAD.strip() + ",Rating\nITEM,1,1,4,1\n", 'column "rating" twice'),
        (HEAD + "ITEM,1,1\n", "line 2"),
        (HEAD + "ITEM,1,1,4,5\n", "line 2"),
        (HEAD.encode() + b"ITEM,1,1,\xff\n", "not UTF-8"),
        ((HEAD + "ITEM,1,1,4\n").encode("utf-16"), "not UTF-8"),
        (HEAD + "nobody_1_1_v0,1,1,4\n", "rates no item"),
        (HEAD.strip() + ",rater\nITEM,1,1,4,ann\nITEM,1,1,5,ann\n", "the first time in line 2"),
        (WIDE + "ITEM,3,2,2,3\nITEM,1,1,1,1\n", "the first time in line 2"),
        (WIDE + "ITEM,3,2,2\n", "line 2"),
        (WIDE + "ITEM,3,2,2,x\n", "line 2"),
        (
            WIDE.replace("target2_context2", "target2_context3") + "ITEM,3,2,2,3\n",
            "has no column response_mean_target2_context2",
        ),
        (WIDE.replace("item_id", "name") + "ITEM,3,2,2,3\n", "has no column item_id, or"),
        (b"PAR1\x00\x00PAR1", ""),
        (HEAD + '"ITEM,1,1,4\n' + "x" * 200_000, ""),
    ],
)
def test_a_file_of_the_wrong_form_is_refused(
    rate: Callable[..., str], one: str, text: str | bytes, words: str
) -> None:
    rate(
        text.replace("ITEM", one) if isinstance(text, str) else text.replace(b"ITEM", one.encode()),
        words,
    )


@pytest.mark.parametrize(
    "name",
    [
        "participant",
        "worker_id",
        "ResponseId",
        "subject",
        "PROLIFIC_PID",
        "rater_id",
        "Rater ID",
        "annotator",
        "id",
        "WorkerId",
    ],
)
def test_a_column_that_may_be_the_raters_is_asked_about(
    rate: Callable[..., str], one: str, name: str
) -> None:
    """JATOS #233, Dallinger #407, psiTurk #190: two records of one person, which counted as two
    people.
    """
    rows = "".join(
        f"{one},1,1,{cell},{person}\n" for cell, person in ((1, "7"), (1, "7"), (5, "8"))
    )
    rate(HEAD.strip() + f",{name}\n{rows}", f'Rename "{name.lower()}" to "rater"')


def test_raters_numbers_under_any_name_are_asked_about_unless_most_recur_in_a_question(
    rate, one: str
) -> None:
    raters = [*range(10), 0]
    columns = {"vp": raters, "confidence": [n % 3 for n in raters], "trial": raters}
    for name, cells in columns.items():
        rows = "".join(f"{one},1,{context},{1 + n % 5},{n}\n" for context in (1, 2) for n in cells)
        rate(
            HEAD.strip() + f",{name}\n{rows}",
            *([f'Rename "{name}"'] if name == "vp" else ["", "", 0]),
        )


@pytest.mark.parametrize(
    ("first", "second"), [("P1", "p1"), ("Zo\u00eb", "Zoe\u0308"), ("7", "7.0")]
)
def test_a_rater_whose_name_is_typed_in_two_ways_is_one_person(
    rate, one: str, first: str, second: str
) -> None:
    rate(HEAD.strip() + f",rater\n{one},1,1,4,{first}\n{one},1,1,5,{second}\n", "same rater twice")


def test_a_rater_of_any_name_is_known_by_what_the_column_holds(
    rate: Callable[..., str], one: str, tmp_path: Path
) -> None:
    cells = [
        (target, context, who) for target in (1, 2) for context in (1, 2) for who in ("ann", "bo")
    ]
    rows = "".join(f"{one},{target},{context},3,{who}\n" for target, context, who in cells)
    rate(HEAD.strip() + f",who\n{rows}", 'Rename "who" to "rater"')
    shown = rate(
        HEAD.strip() + ",trial,response_time\n" + f"{one},1,1,4,1,2.5\n{one},1,1,2,1,1.5\n",
        status=0,
    )
    assert read(tmp_path)["n_raters"].tolist()[0] == 2
    assert "not used: response_time, trial" in shown


@pytest.mark.parametrize("scale", ["5 1", "1 1", "nan 5", "1 inf", "a b"])
def test_a_scale_that_is_none_is_refused(rate: Callable[..., str], one: str, scale: str) -> None:
    rate(grid(one), options=f" --scale {scale}")


@pytest.mark.parametrize(
    "line",
    [
        LINE.replace("{csv}", "{folder}"),
        LINE.replace("{csv}", "{folder}/no.csv"),
        LINE.replace("{items}", "{templates}"),
    ],
)
def test_files_that_are_not_there_or_of_another_kind(
    check: Callable[..., str], tmp_path: Path, line: str
) -> None:
    (tmp_path / "sub").mkdir()
    path = tmp_path / "r.csv"
    path.write_text(HEAD)
    check(line.replace("{folder} ", "{folder}/sub "), csv=path)


def read(tmp_path: Path):
    return read_table(tmp_path / "r.parquet", Ratings).set_index(["target", "context"])


def test_ratings_of_the_same_question_are_averaged(
    rate: Callable[..., str], one: str, tmp_path: Path
) -> None:
    rate(
        HEAD
        + "".join(f"{one},1,1,{cell}\n" for cell in ("4.5", "1", "1", ""))
        + f"{one},1,2,3\n{one},2,1,\n",
        status=0,
    )
    ratings = read(tmp_path)
    assert ratings.loc[(1, 1), ["rating", "n_raters"]].tolist() == [pytest.approx(6.5 / 3), 3]
    assert ratings.loc[(1, 1), "sd"] == pytest.approx(2.0207, abs=1e-4)
    assert ratings.loc[(1, 2), ["rating", "n_raters"]].tolist() == [3, 1]
    assert ratings.loc[(2, 1), "n_raters"] == 0
    assert ratings["sd"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize(
    "head",
    [HEAD, HEAD.upper(), HEAD.replace(",", ", "), "# canary\n# note\n" + HEAD, "\ufeff" + HEAD],
)
@pytest.mark.parametrize("cell", ["4", "4.0", " 4 ", "04"])
def test_whole_numbers_and_headers_in_any_dress_are_right(
    rate, one: str, tmp_path: Path, head: str, cell: str
) -> None:
    shown = rate(f"{head}{one},1.0, 1,{cell}\nnobody_1_1_v0,1,1,2\nnobody_1_1_v0,1,2,2\n", status=0)
    assert read(tmp_path)["rating"].tolist() == [4.0]
    assert "1 items of the file are not in the items table" in shown


def test_the_wide_form_reaches_every_item_with_the_texts(
    check, study, items, tmp_path: Path
) -> None:
    from worldprobe.contracts import read_provenance, write_table

    texts = ["context1", "context2", "target1", "target2"]
    again = items.copy()
    again.loc[1, texts] = again.loc[0, texts]
    write_table(again, Items, tmp_path / "i.parquet", read_provenance(study["items"]))
    columns = [f"response_mean_target{t}_context{c}" for t in (1, 2) for c in (1, 2)]
    again.loc[[0], texts].assign(**dict(zip(columns, (3, 2, 2, 3), strict=True))).to_csv(
        tmp_path / "r.csv", index=False
    )
    check(
        "import human-ratings {folder}/i.parquet {folder}/r.csv --out {folder}/r.parquet", status=0
    )
    rated = read_table(tmp_path / "r.parquet", Ratings)
    assert set(rated["item_id"]) == set(again["item_id"][:2])
    assert rated["n_raters"].isna().all()
