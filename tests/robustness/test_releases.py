"""Malformed results of the authors' layout: one message that names the file, nothing written."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import pyzipper

LINE = "import released {release} --out {out}"
DESIGN = "MetaTemplateID,TemplateID,Domain,ConceptA,ConceptB,TargetDiff,ContextDiff,ContextType,Context1,Context2,Target1,Target2"
SCORES = ",".join(f"logp_target{t}_context{c}" for t in (1, 2) for c in (1, 2))
LIKERT = ",".join(f"text_likert_target{t}_context{c}" for t in (1, 2) for c in (1, 2))


def folder_of(version: int, kind: str) -> str:
    return f"results/dataset-cfg=x__vers={version}/eval={kind}/model=toy/testsuite-toy_world.csv"


def release() -> dict[str, str]:
    files = {}
    for version in range(5):
        texts = (
            f"1,1,toy-world,up,down,concept swap,antonym,direct,Kite {version} rises.,Kite"
            f" {version} falls.,It is up.,It is down."
        )
        files[folder_of(version, "logprobs")] = (
            f"# canary\n{DESIGN},{SCORES}\n{texts},-1,-2,-2,-1\n"
        )
        files[folder_of(version, "likert_free_original")] = (
            f"# canary\n{DESIGN},{LIKERT}\n{texts},4,2,2,none\n"
        )
    return files


LOGPROBS, ASKED = folder_of(0, "logprobs"), folder_of(0, "likert_free_original")


def write(files: dict[str, str | bytes], folder: Path) -> Path:
    for name, text in files.items():
        path = folder / "release" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / "release"


def test_the_release_itself_is_read(check: Callable[..., str], tmp_path: Path) -> None:
    check(LINE.replace("{out}", "{folder}/j.parquet"), status=0, release=write(release(), tmp_path))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("MetaTemplateID", "Meta", "has no column MetaTemplateID"),
        ("TemplateID,Domain", "Template,Domain", "has no column TemplateID"),
        (",Domain,", ",Dom,", "has no column Domain"),
        ("Context2,", "Con2,", "has no column Context2"),
        ("logp_target2_context1", "logp", "has no column logp_target2_context1"),
        ("\n1,1,toy", "\none,1,toy", 'MetaTemplateID: "one"'),
        ("\n1,1,toy", "\n1.0,1,toy", 'MetaTemplateID: "1.0"'),
        ("\n1,1,toy", "\n,1,toy", 'MetaTemplateID: ""'),
        ("\n1,1,toy", "\n0,1,toy", 'MetaTemplateID: "0"'),
        ("\n1,1,toy", "\n1,-1,toy", 'TemplateID: "-1"'),
        ("\n1,1,toy", "\n1," + "9" * 25 + ",toy", "TemplateID"),
        ("toy-world,", "toy world,", 'Domain: "toy world"'),
        ("toy-world,", ",", 'Domain: ""'),
        ("antonym", "negation", "another in an earlier file"),
        (",direct,", ",sideways,", "ContextType"),
        ("concept swap", "other swap", "TargetDiff"),
        (",up,", ",,", "ConceptA"),
        ("-1,-2,-2,-1", "5,-2,-2,-1", "above 0"),
        ("-1,-2,-2,-1", "-1,-2,-2", "cells"),
        ("-1,-2,-2,-1", "-1,-2,-2,-1,-3", "cells"),
        ("Kite 0 rises.", "Kite 9 rises.", "different texts"),
    ],
)
def test_a_fault_in_one_file_is_named_with_that_file(
    check, tmp_path: Path, old: str, new: str, words: str
) -> None:
    files = release()
    assert old in files[LOGPROBS]
    check(
        LINE,
        words,
        release=write(files | {LOGPROBS: files[LOGPROBS].replace(old, new, 1)}, tmp_path),
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({LOGPROBS: ""}, "is empty"),
        ({LOGPROBS: "# canary\n"}, "is empty"),
        ({LOGPROBS: b"\xff\xfe\x00\x01"}, "not UTF-8"),
        ({LOGPROBS: b"\x00" * 100}, ""),
        ({LOGPROBS: f"{DESIGN},{SCORES}\n"}, "a header but no rows"),
        ({LOGPROBS.replace("logprobs", "likert_weird_original"): "a\n1\n"}, ""),
        ({ASKED.replace("original", "odd"): f"{DESIGN},{LIKERT}\n"}, "not in the layout"),
        (
            {ASKED.replace("likert_free", "sorcery_free"): f"{DESIGN},{LIKERT}\n"},
            "not in the layout",
        ),
        ({LOGPROBS.replace("__vers=0", ""): "a\n1\n"}, "which version"),
        ({"lists/flagged_items_human.csv": "a\n1\n"}, "has no column problem"),
        ({"lists/remove_from_results.csv": "a\n1\n"}, "has no column Domain"),
        ({"people.csv": "response_mean_target1_context1\n3\n"}, "has no column"),
    ],
)
def test_files_that_are_not_what_their_names_say(
    check, tmp_path: Path, changes: dict[str, str | bytes], words: str
) -> None:
    check(LINE, words, release=write(release() | changes, tmp_path))


@pytest.mark.parametrize("cell", ["n/a", "inf", "", "nan"])
def test_scores_that_are_missing_are_counted(
    check: Callable[..., str], tmp_path: Path, cell: str
) -> None:
    files = release()
    files[LOGPROBS] = files[LOGPROBS].replace("-1,-2,-2,-1", f"{cell},-2,-2,-1")
    line = LINE.replace("{out}", "{folder}/j.parquet")
    assert "1 cells of" in check(line, status=0, release=write(files, tmp_path))


def test_steps_that_leave_nothing_or_do_not_exist(
    check: Callable[..., str], tmp_path: Path
) -> None:
    files = release()
    people = [f"Kat {n} rises.,Kat {n} falls.,It is up.,It is down.,4,2,2,4" for n in range(5)]
    means = ",".join(f"response_mean_target{t}_context{c}" for t in (1, 2) for c in (1, 2))
    files["people.csv"] = (
        "Context1,Context2,Target1,Target2," + means + "\n" + "\n".join(people) + "\n"
    )
    place = write(files, tmp_path)
    check(LINE, "step require_human", release=place)
    check(LINE + " --skip reverse", "there is no step", release=place)
    check(
        LINE + " --surface-out {folder}/s.parquet --skip require_human",
        "no surface features",
        release=place,
    )


def test_unreadable_answers_in_reversed_templates_are_counted(
    check: Callable[..., str], tmp_path: Path
) -> None:
    texts = "Kite 0 rises.,Kite 0 falls.,It is up.,It is down."
    files = release() | {
        "flagged_items_human.csv": f"Context1,Context2,Target1,Target2,problem\n{texts},reverse\n"
    }
    shown = check(
        LINE.replace("{out}", "{folder}/j.parquet"), status=0, release=write(files, tmp_path)
    )
    assert "5 unreadable answers now count as right" in shown


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"text"])
def test_what_is_not_an_archive(check: Callable[..., str], tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "release.zip"
    path.write_bytes(content)
    check(LINE, "not a readable ZIP", release=path)


@pytest.mark.parametrize("at", [0.05, 0.2, 0.4, 0.6])
@pytest.mark.parametrize("kind", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_damaged_archive(check: Callable[..., str], tmp_path: Path, kind: int, at: float) -> None:
    path = tmp_path / "release.zip"
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, text in release().items():
            archive.writestr(name, text)
    content = bytearray(path.read_bytes())
    for place in range(int(len(content) * at), int(len(content) * at) + 60):
        content[place] ^= 0xA5
    path.write_bytes(content)
    check(LINE, release=path)


def test_an_archive_with_aes(
    check: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "release.zip"
    with pyzipper.AESZipFile(path, "w", encryption=pyzipper.WZ_AES) as archive:
        archive.setpassword(b"right")
        for name, text in release().items():
            archive.writestr(name, text)
    check(LINE, "the password is wrong", release=path)
    check(LINE + " --password {secret}", "the password is wrong", release=path)
    check(LINE.replace("{out}", "{folder}/j.parquet") + " --password right", status=0, release=path)
