"""Malformed materials, templates, archives and options of filling: one message, nothing written."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import pyzipper

from worldprobe.benchmarks.ewok.contracts import Templates
from worldprobe.contracts import read_provenance, read_table, write_table

CONCEPT, CONTEXT = "concepts/concept-garden-work.yml", "contexts/context-garden-work.yml"
TARGET, OBJECT = "targets/target-garden-work.yml", "fillers/filler-object.csv"
FILES = {
    CONCEPT: """\
- {concept: lift, domain: garden, concept_type: action, opposite_concepts: [lower], agentive: true}
- {concept: lower, domain: garden, concept_type: action, opposite_concepts: [lift], agentive: true}
""",
    CONTEXT: """\
- conceptA: lift
  conceptB: lower
  probes:
    - type: direct
      pattern: "[agent1] moves [object1] {segment1}."
      segments:
        - segmentA: upward
          segmentB: downward
          contrast: antonym
""",
    TARGET: """\
garden-work:
  - pattern: "[agent1] {CONCEPT} [object1]."
    criteria: agentive
    tags: present_3sg_form
""",
    "fillers/filler-agent.csv": "item,tall\n"
    + "".join(f"Gardener{i},{'true' if i % 2 else 'false'}\n" for i in range(12)),
    OBJECT: "item,large\n"
    + "".join(f"the pot{i},{'true' if i % 2 else 'false'}\n" for i in range(24)),
}


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    """A folder of small, right materials."""
    for name, text in FILES.items():
        (tmp_path / "garden" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "garden" / name).write_text(text)
    return tmp_path / "garden"


def pack(garden: Path, kind: int = zipfile.ZIP_DEFLATED) -> Path:
    path = garden.parent / "m.zip"
    with zipfile.ZipFile(path, "w", kind) as archive:
        for file in sorted(garden.rglob("*.*")):
            archive.write(file, "config/" + file.relative_to(garden).as_posix())
    return path


#: file, what is replaced in it (None: everything), by what, words of the message
TEXTS: list[tuple[str, str | None, str | bytes, str]] = [
    (CONCEPT, None, "", "contains nothing|holds nothing|is empty"),
    (CONCEPT, None, "just words", "not a list"),
    (CONCEPT, None, "- a\n- b\n", "should be a valid block of keys"),
    (CONCEPT, "concept_type: action", "concept_type: acton", "unknown concept_type"),
    (CONCEPT, "agentive: true", "agentive: perhaps", "neither true nor false"),
    (CONCEPT, "agentive: true", "agentiv: true", "unknown key"),
    (CONCEPT, "concept: lift", "concept: raise", "no concept"),
    (CONCEPT, "concept: lift", "concept: null", "should be a valid string"),
    (CONCEPT, "concept: lift, ", "", "concept: is missing"),
    (CONCEPT, "- {concept: lift", "- {concept: 'lift", "is not valid YAML"),
    (CONCEPT, "concept: lift", "? [a, b]\n  : c", ""),
    (CONCEPT, "concept: lift", "concept: li\x07ft", "is not valid YAML"),
    (CONTEXT, None, "[]", "no template|no context"),
    (CONTEXT, None, b"\xff\xfe\x00", "is not UTF-8 text"),
    (CONTEXT, "conceptA: lift", "conceptA: lft", "no concept"),
    (CONTEXT, "conceptB: lower", "conceptB: lift", "are the same"),
    (CONTEXT, "  probes:", "  prob:", "probes: is missing"),
    (CONTEXT, "type: direct", "type: indirekt", 'did you mean "indirect"'),
    (CONTEXT, "{segment1}", "{segment2}", "2 places"),
    (CONTEXT, "{segment1}", "{segment" + "9" * 5000 + "}", "means nothing"),
    (CONTEXT, "{segment1}", "{segment1", "brackets do not match"),
    (CONTEXT, "{segment1}", "", "0 places"),
    (CONTEXT, "[object1]", "[object1", "brackets do not match"),
    (CONTEXT, "[object1]", "[objct1]", "no fillers/filler-objct.csv"),
    (CONTEXT, "[object1]", "[object1:large]", "not a valid restriction"),
    (CONTEXT, "[object1]", "[object1:large=huge]", "no object has"),
    (CONTEXT, "[object1]", "[object1:lrge=true]", "no column"),
    (CONTEXT, "[object1]", "[1object]", "not a valid slot"),
    (CONTEXT, "segmentA: upward", "segmentA: down\\\n          segmentB: x", ""),
    (CONTEXT, "segmentA: upward", "segmentA: downward", "are the same"),
    (CONTEXT, "segmentA: upward", "segmentA: null", "null"),
    (CONTEXT, "segmentA: upward", 'segmentA: "up {0} ward"', "means nothing in a segment"),
    (CONTEXT, "segmentA: upward", 'segmentA: "up\\nward"', "invisible character"),
    (CONTEXT, "segmentA: upward", 'segmentA: "up\\u202eward"', "invisible character"),
    (TARGET, "garden-work:", "garden_work:", "unknown key"),
    (TARGET, "{CONCEPT}", "CONCEPT", "no {CONCEPT}"),
    (TARGET, "{CONCEPT}", "{CONCEPT} {OTHER}", "means nothing in a target"),
    (TARGET, "criteria: agentive", "criteria: agntive", "criterion"),
    (TARGET, "criteria: agentive", "criteria: non_agentive", "no target"),
    (TARGET, "present_3sg_form", "present_4sg_form", "unknown form"),
    (TARGET, '"[agent1] {CONCEPT} [object1]."', '""', "at least 1 character"),
    (OBJECT, None, "", "no column"),
    (OBJECT, None, "item,large\n", "no filler"),
    (OBJECT, None, "itm,large\nthe pot,true\n", "no column"),
    (OBJECT, None, "item,item\nthe pot,the pot\n", "column twice"),
    (OBJECT, None, "item,large\nthe p\u00f6t,true\n".encode("latin-1"), "not UTF-8"),
    (OBJECT, None, "item,large\nthe " + "c" * 200_000 + ",true\n", "field larger"),
    (OBJECT, "the pot0,", "the {pot0},", "would be part of a sentence"),
    (OBJECT, "the pot0,", "the\u200bpot0,", "would be part of a sentence"),
    (OBJECT, "the pot0,", "the\0pot0,", ""),
    (OBJECT, "the pot0,", "the pot0 ,", "would be part of a sentence"),
    (OBJECT, "the pot0,", '"the pot0,', "cells"),
    (OBJECT, "the pot0,false", "the pot0", "cells"),
    (OBJECT, "the pot0,false", "the pot0,false,1", "cells"),
    (OBJECT, "the pot0,false", "the pot0,", "is empty"),
    (OBJECT, "the pot0,false", "the pot1,false", "already"),
]


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_a_fault_in_a_file_is_named(check: Callable[..., str], garden: Path, number: int) -> None:
    name, old, new, words = TEXTS[number]
    path = garden / name
    if old is None:
        path.write_bytes(new if isinstance(new, bytes) else new.encode())
    else:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, str(new), 1))
    shown = check("items build {garden} --versions 0 --out {out}", garden=garden)
    assert any(word.lower() in shown.lower() for word in words.split("|")), shown


def rename(garden: Path, domain: str) -> None:
    for kind in ("context", "concept", "target"):
        (garden / f"{kind}s/{kind}-garden-work.yml").rename(garden / f"{kind}s/{kind}-{domain}.yml")
    path = garden / f"targets/target-{domain}.yml"
    path.write_text(path.read_text().replace("garden-work:", f"{domain}:"))


SHAPES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a missing file": (lambda g: (g / TARGET).unlink(), "there is no targets/"),
    "no contexts": (lambda g: (g / CONTEXT).unlink(), "no folder contexts/"),
    "an underscore in a name": (lambda g: rename(g, "garden_2-work"), "is not named"),
    "an umlaut in a name": (lambda g: rename(g, "g\u00e4rten-work"), "is not named"),
    "a space in a name": (lambda g: rename(g, "gar den-work"), "is not named"),
    "a third part in a name": (lambda g: rename(g, "garden-work-shop"), "is not named"),
    "another ending": (lambda g: (g / CONTEXT).rename(g / "contexts/context-garden-work.yaml"), ""),
    "several materials": (
        lambda g: shutil.copytree(g / "contexts", g / "copy" / "contexts"),
        "several materials",
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_folder_of_the_wrong_shape_is_refused(
    check: Callable[..., str], garden: Path, shape: str
) -> None:
    change, words = SHAPES[shape]
    change(garden)
    check("templates compile {garden} --out {out}", words, garden=garden)


def test_files_that_belong_to_nothing_do_no_harm(check: Callable[..., str], garden: Path) -> None:
    (garden / "notes").write_bytes(b"\xff\0")
    os.mkfifo(garden / "contexts" / "pipe.yml")
    check("items build {garden} --versions 0 --out {folder}/i.parquet", status=0, garden=garden)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("name", ["contexts", OBJECT])
def test_what_cannot_be_read_is_named(check: Callable[..., str], garden: Path, name: str) -> None:
    (garden / name).chmod(0)
    check("items build {garden} --versions 0 --out {out}", "Permission denied", garden=garden)


def damage(path: Path, at: float) -> None:
    content = bytearray(path.read_bytes())
    for place in range(int(len(content) * at), int(len(content) * at) + 8):
        content[place] ^= 0xA5
    path.write_bytes(content)


@pytest.mark.parametrize("at", [0.1, 0.3, 0.5, 0.7])
@pytest.mark.parametrize(
    "kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, zipfile.ZIP_STORED]
)
def test_a_damaged_archive_never_ends_in_a_trace(
    check: Callable[..., str], garden: Path, kind: int, at: float
) -> None:
    path = pack(garden, kind)
    damage(path, at)
    check("items build {path} --versions 0 --out {out}", path=path)


def test_archives_that_are_none_or_twice_or_huge_are_refused(
    check: Callable[..., str], garden: Path, monkeypatch
) -> None:
    line = "items build {path} --versions 0 --out {out}"
    whole = pack(garden).read_bytes()
    path = garden.parent / "x.zip"
    for content, words in (
        (b"", "not a readable ZIP"),
        (b"PK", "not a readable ZIP"),
        (whole[:-30], "not a readable ZIP"),
    ):
        path.write_bytes(content)
        check(line, words, path=path)
    path.write_bytes(whole)
    monkeypatch.setattr("worldprobe.archives.LARGEST", 20)
    check(line, "at most 20", path=path)


def test_a_wrong_password_is_not_repeated(check: Callable[..., str], garden: Path) -> None:
    path = garden.parent / "aes.zip"
    with pyzipper.AESZipFile(path, "w", encryption=pyzipper.WZ_AES) as archive:
        archive.setpassword(b"right")
        for file in sorted(garden.rglob("*.*")):
            archive.write(file, file.relative_to(garden).as_posix())
    check(
        "items build {path} --password {secret} --versions 0 --out {out}",
        "password is wrong",
        path=path,
    )
    check(
        "items build {path} --password right --versions 0 --out {folder}/i.parquet",
        status=0,
        path=path,
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--versions 0-999", "no filler is left"),
        ("--versions 50", "no filler is left"),
        ("--swap 'object->'", "SOURCE->TARGET"),
        ("--swap 'objct->agent'", "no filler class"),
        ("--swap 'agent->agent:'", "empty restriction"),
        ("--swap 'agent->agent:tall=maybe'", "no filler meets"),
        ("--swap 'object->agent,object->agent'", "swapped already"),
        ("--swap 'object->agent' --swap 'object->object:large=true'", "swapped already"),
        ("--filter nothing", "no item is left"),
        ("--release-filter", "contains no utils/"),
        ("--version 0", ""),
    ],
)
def test_options_of_filling_that_cannot_work_are_refused(
    check: Callable[..., str], garden: Path, options: str, words: str
) -> None:
    check(
        "items build {garden} " + options.replace("{", "{{").replace("}", "}}") + " --out {out}",
        words,
        garden=garden,
    )


HEADER = "Context1,Context2,Target1,Target2\n"


@pytest.mark.parametrize(
    ("listed", "flagged", "words"),
    [
        (b"", HEADER, "is empty"),
        (b"# canary\n", HEADER, "is empty"),
        (HEADER, HEADER, "no item of these materials"),
        (HEADER + "a,b\n", HEADER, "cells"),
        (HEADER.encode("utf-16"), HEADER, "not UTF-8"),
        (HEADER.encode() + b"\xe4,b,c,d\n", HEADER, "not UTF-8"),
        (HEADER.replace("Target2", "Target3"), HEADER, "no column Target2"),
        (HEADER.replace(",", ";"), HEADER, "semicolons"),
        (HEADER, "", "is empty"),
    ],
)
def test_lists_of_released_items_are_checked(
    check: Callable[..., str], garden: Path, listed, flagged, words: str
) -> None:
    (garden / "utils").mkdir()
    for name, text in (("items_in_results", listed), ("flagged_reverse", flagged)):
        (garden / f"utils/{name}.csv").write_bytes(
            text if isinstance(text, bytes) else text.encode()
        )
    check("items build {garden} --versions 0 --release-filter --out {out}", words, garden=garden)


TEMPLATE_FAULTS: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = {
    "no rows": (lambda t: t.head(0), ""),
    "an unknown class": (lambda t: t.assign(context1="{foo1} falls."), "no filler class"),
}


@pytest.mark.parametrize("fault", TEMPLATE_FAULTS)
def test_templates_that_nobody_compiled_are_not_filled(
    check: Callable[..., str], study, tmp_path: Path, fault: str
) -> None:
    change, words = TEMPLATE_FAULTS[fault]
    path = tmp_path / "t.parquet"
    templates = read_table(study["templates"], Templates)
    write_table(change(templates), Templates, path, read_provenance(study["templates"]))
    check("items fill {path} {materials} --versions 0 --out {out}", words, path=path)


def test_templates_of_other_materials_are_not_filled_or_exported(
    check: Callable[..., str], garden: Path
) -> None:
    check(
        "items fill {templates} {garden} --versions 0 --out {out}", "other materials", garden=garden
    )
    check("templates compile {garden} --out {folder}/t.parquet", status=0, garden=garden)
    check(
        "items export {items} {folder}/t.parquet --out {folder}/new", "not the templates table that"
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("items gather {items} {items} --out {out}", "version 0"),
        ("items gather {templates} --out {out}", ""),
        ("items gather {folder}/nothing.parquet --out {out}", ""),
        ("items gather {items} --release-filter --out {out}", "--materials"),
        ("items gather {items} --materials {materials} --out {out}", "--release-filter"),
        (
            "items gather {items} --release-filter --materials {materials} --out {out}",
            "contains no utils/",
        ),
        (
            "items fill {templates} {materials} --version 0 --release-filter --out {out}",
            "items gather",
        ),
        ("items fill {templates} {materials} --version -1 --out {out}", ""),
        (
            "items fill {templates} {materials} --versions 0 --compat --out {out}",
            "without --compat",
        ),
        ("items fill {items} {materials} --versions 0 --out {out}", ""),
        ("items fill {folder} {materials} --versions 0 --out {out}", ""),
        ("items build {folder}/nowhere --versions 0 --out {out}", "no such folder"),
        ("materials check {folder}", "no folder contexts/"),
        ("release pack --items {items} --out {folder}/new.zip", "go together"),
        (
            "release pack --items {items} --templates {templates} --out {folder}/new.zip",
            "no file with a licence",
        ),
        ("release pack {materials} --out {folder}/new", "not a .zip"),
        ("items export {templates} {items} --out {folder}/new", ""),
    ],
)
def test_command_lines_that_do_not_fit_together_are_refused(
    check: Callable[..., str], line: str, words: str
) -> None:
    check(line, words)
