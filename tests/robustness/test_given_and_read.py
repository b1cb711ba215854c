"""What a person gives is what is read: a file that says something else than it seems to say is
refused, by its name and line.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from command_line import run
from worldprobe.benchmarks import find
from worldprobe.benchmarks.worldsense.skins.skins import FOLDER as SKINS
from worldprobe.commented_csv import read_rows
from worldprobe.contracts import read_table
from worldprobe.errors import UserError
from worldprobe.settings import read_site, read_yaml
from worldprobe_survey.contracts import ListKeys

Check = Callable[..., str]


def test_data_are_those_beside_their_yaml_whatever_signs_its_folder_has(tmp_path: Path) -> None:
    """W1: `[1]` in a folder's name was a pattern, and the data of run1 were read."""
    for folder, text in (("run[1]", "new"), ("run1", "old")):
        (tmp_path / folder).mkdir()
        rows = f"good,bad\n{text} falls down.,{text} falls up.\n"
        (tmp_path / folder / f"{text}.csv").write_text(rows)
    stated = 'title: T\nreference: R\ndata: ["*.csv"]\ntargets: [good, bad]\n'
    place = tmp_path / "run[1]" / "falling.yaml"
    place.write_text(stated)
    items = find(str(place)).asking.items({})
    assert items["targets"].tolist() == [("new falls down.", "new falls up.")]


def joined(path: Path) -> None:
    """A CSV file with its header once more at its end, as `cat a.csv b.csv` leaves it."""
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, next(line for line in lines if not line.startswith("#"))]))


def test_a_header_in_the_middle_is_no_item(tmp_path: Path) -> None:
    """W2."""
    (tmp_path / "pairs.csv").write_text("good,bad\nIt fell.,It rose.\n")
    joined(tmp_path / "pairs.csv")
    stated = "title: T\nreference: R\ndata: [pairs.csv]\ntargets: [good, bad]\n"
    (tmp_path / "pairs.yaml").write_text(stated)
    with pytest.raises(UserError, match="repeats the header"):
        find(str(tmp_path / "pairs.yaml")).asking.items({})


@pytest.mark.parametrize(
    ("text", "words"),
    [("sep=,\nitem,large\nthe box,true\n", "only Excel"), ('{"item": "the box"}\n', "is JSON")],
)
def test_what_is_called_csv_and_is_none_is_named(text: str, words: str) -> None:
    """D3."""
    with pytest.raises(UserError, match=words):
        list(read_rows("fillers.csv", text.encode()))


def semicolons(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(
        "".join(line if line.startswith("#") else line.replace(",", ";") for line in lines)
    )


def without_header(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    header = next(line for line in lines if not line.startswith("#"))
    path.write_text("".join(line for line in lines if line != header))


def total(path: Path) -> None:
    width = path.read_text().splitlines()[-1].count(",")
    path.write_text(path.read_text() + "Total" + ",12" * width + "\n")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (joined, "repeats the header"),
        (semicolons, "semicolons"),
        (without_header, 'no column "item"'),
        (total, '"Total" is a total'),
    ],
)
@pytest.mark.long
def test_fillers_that_are_none_are_refused_and_nothing_else_is_complained_of(
    check: Check, study: dict[str, Path], tmp_path: Path, spoil: Callable[[Path], None], words: str
) -> None:
    """W2 and the malformed inputs: `item` and `Total` were fillers; of a file that cannot be read,
    every slot was complained of.
    """
    mine = shutil.copytree(study["materials"], tmp_path / "mine")
    spoil(mine / "fillers" / "filler-object.csv")
    printed = check("materials check {mine}", words, mine=mine)
    assert printed.count("error: ") == 2, "the file's, and the sum of all"


@pytest.mark.parametrize(
    "line",
    [
        "human lists {mine} --key-out {folder}/key.parquet --out {out}",
        "items export {mine} --format lm-eval --out {folder}/task",
        "judge {mine} {scores_a} --out {out}",
    ],
)
def test_a_blank_sentence_reaches_nobody(
    check: Check, study: dict[str, Path], tmp_path: Path, line: str
) -> None:
    """W4."""
    table = parquet.read_table(study["items"])
    texts = table["target1"].to_pylist()
    at = table.schema.get_field_index("target1")
    field = table.schema.field(at)
    spoilt = table.set_column(at, field, [pa.array([" ", *texts[1:]], field.type)])
    parquet.write_table(spoilt, tmp_path / "mine.parquet")
    check(line, "target1", mine=tmp_path / "mine.parquet")


def test_a_skins_entity_has_no_placeholder(check: Check, tmp_path: Path) -> None:
    """W5: braces stood in 162 of 434 trials."""
    text = (SKINS / "tall_short.yaml").read_text()
    first = text.split("entities:\n")[1].splitlines()[0]
    (tmp_path / "mine.yaml").write_text(text.replace(first, '  - "{x} of {place}"'))
    check("worldsense skins check {folder}/mine.yaml", "has braces")


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE html>\n<html><body>Not found</body></html>\n",
        "<<<<<<< HEAD\nqos: a\n=======\nqos: b\n>>>>>>> theirs\n",
        "partition: !!python/object/apply:os.getcwd []\n",
        "false\n",
        "[]\n",
        'constraint: " "\n',
        'qos: "-0"\n',
    ],
)
def test_the_facts_of_a_cluster_are_checked_with_the_configuration(
    text: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`config check` did not read the file, and `false` counted as no facts."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "cluster.yaml").write_text(text)
    with pytest.raises(UserError, match=r"cluster\.yaml"):
        read_site(tmp_path / "config" / "cluster.yaml", {})
    monkeypatch.chdir(tmp_path)
    assert run(f"config check {shlex.quote(str(repository / 'config' / 'config.yaml'))}") == 2


def test_aliases_of_aliases_are_counted_before_they_are_followed(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    (tmp_path / "bomb.yaml").write_text("\n".join(lines))
    with pytest.raises(UserError, match="aliases of aliases"):
        read_yaml(tmp_path / "bomb.yaml")
    (tmp_path / "plain.yaml").write_text("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n")
    assert read_yaml(tmp_path / "plain.yaml").document["c"] == {"x": 1, "y": 2}


def test_lists_never_replace_the_key_of_others(
    study: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """newcomer3, 13: the key of a running survey cannot be made again once items have changed."""
    line = f"human lists {study['items']} --shortest 1 --key-out {tmp_path}/key.parquet"
    line += f" --out {tmp_path}/lists.parquet"
    assert run(line) == 0
    before = (tmp_path / "key.parquet").read_bytes()
    assert run(line) == 0, "the same lists"
    assert run(f"{line} --seed 7") == 2
    assert "the answer key of other lists" in capsys.readouterr().err
    assert (tmp_path / "key.parquet").read_bytes() == before
    assert len(read_table(tmp_path / "key.parquet", ListKeys))


def test_config_check_names_every_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """newcomer3, 9: the unknown model was named only when the others were mended."""
    stated = "study: mine\nmodels: [gpt2_xxl]\newok: {eval_types: [logprob]}\ncolour: red\n"
    (tmp_path / "mine.yaml").write_text(stated)
    assert run(f"config check {tmp_path / 'mine.yaml'}") == 2
    printed = capsys.readouterr().err
    assert all(word in printed for word in ("gpt2_xxl", "logprob", "colour"))
