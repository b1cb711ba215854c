"""Command lines with one thing wrong: options, numbers, places."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from worldprobe.cli import main

SUMMARIZE = "summarize {judgements_a}"
COMPARE = "compare {judgements_a} {judgements_b}"
BUILD = "items build {materials} --versions 0 --filter object2"
WRONG = [
    *(
        "",
        "frobnicate",
        "itmes build",
        "items",
        "items bild",
        "table nothing x --out y.md",
        "figure nothing x --out y.svg",
    ),
    *(
        "--verison",
        "--password {secret} items build",
        "items build",
        "judge {items}",
        "judge {items} {scores_a}",
    ),
    *(
        f"{BUILD} {option} --out {{out}}"
        for option in ("--passwrod {secret}", "--passw {secret}", "--pasword={secret}", "--verbos")
    ),
    *(
        f"{BUILD} {option} --out {{out}}"
        for option in ("--seed -1", "--seed a", "--seed nan", "--seed 1 --seed 2")
    ),
    *(
        f"items build {{materials}} --versions 0 {option} --out {{out}}"
        for option in ("--filter '['", "--filter 'a{{99999999999}}'", "--filter no-tag-has-this")
    ),
    *(
        f"{BUILD} --swap '{swap}' --out {{out}}"
        for swap in ("->", "a", "nobody->object", "object->nobody")
    ),
    *(
        f"items build {{materials}} --versions {text} --out {{out}}"
        for text in ("4-0", "-5", "a", "0-", "1.5", "''", "0-4-5")
    ),
    *(
        f"items build {{materials}} --mode {text} --out {{out}}"
        for text in ("fixd", "independent --per-template 0", "5")
    ),
    *(
        f"{SUMMARIZE} --out {place}"
        for place in ("''", ".", "..", "/", "{folder}", "/dev/null", "{out}/x", "{judgements_a}")
    ),
    *(
        f"{COMPARE} --out {place}"
        for place in ("''", ".", "..", "/", "{folder}", "/dev/null", "{out}/x", "{judgements_b}")
    ),
    *(
        f"{BUILD} --out {place}"
        for place in ("''", ".", "/", "{folder}", "{out}/x", "{materials}", "{materials}/README.md")
    ),
    *(
        f"summarize {{judgements_a}} {option} --out {{out}}"
        for option in ("--cluster nothing", "--average nothing")
    ),
    *(
        f"{COMPARE} {option} --out {{out}}"
        for option in ("--cluster nothing", "--eval-type nothing")
    ),
    *(
        f"judge {{items}} {{scores_a}} {option} --out {{out}}"
        for option in ("--near-tie nan", "--near-tie -1", "--near-tie x")
    ),
    "judge {items} {scores_a} {scores_b} --out {out}",
    "judge {items} {scores_a} {scores_b} --out {out} {out}",
    "judge {items} {scores_a} --out {out} {folder}/second.parquet",
    "judge {items} {items} --out {out}",
    "judge {scores_a} {scores_b} --out {out}",
    f"{BUILD} --templates-out {{out}} --out {{out}}",
    "correlate {judgements_a} --surface {surface} --points-out {out} --out {out}",
    "compare {judgements_a} --out {out}",
    "compare {judgements_a} {judgements_a} --out {out}",
    "items export {items} {templates} --out {folder}",
    "items export {templates} {items} --out {folder}/x",
    *(
        "release pack --out {folder}/x.zip",
        "release pack {folder} --out {folder}/x",
        "release pack {folder} --out {folder}/x.zip",
    ),
    *(
        "release unpack {items} --out {folder}/x",
        "release unpack {folder} --out {folder}/x",
        "release check {folder}/nowhere",
    ),
    "items fill {templates} {folder} --out {out}",
    "items build {folder} --out {out}",
    "items build {out} --out {folder}/x.parquet",
    "materials check {folder}",
    "materials check {out}",
    "materials check {folder}/nowhere.zip --password {secret}",
    *(
        "table mean_accuracy {summaries} --out {folder}/t.doc",
        "figure accuracy_by_domain {summaries} --out {folder}/f.doc",
    ),
    *(
        "table mean_accuracy {summaries} --out {folder}/t",
        "table mean_accuracy {items} --out {folder}/t.md",
    ),
    "table mean_accuracy {summaries} --eval-type word2vce --out {folder}/t.md",
    "report build {summaries} --tables {folder} --out {folder}/r.html",
    "report build {summaries} --figures {folder}/nowhere.svg --out {folder}/r.html",
    "report build {summaries} --headlines auto logprobs --out {folder}/r.html",
    "notebook run {folder}/nowhere.ipynb --out {folder}/r.html",
    *(
        f"score logprobs {{items}} --checkpoint {{folder}} {option} --out {{out}}"
        for option in (
            "--dtype float23",
            "--engine magic",
            "--bos x",
            "--device cuda:99",
            "--concurrency 3",
            "--tokenizer x",
        )
    ),
    *(f"models plan --gpu-memory {text}" for text in ("0", "-1", "nan", "inf", "a")),
    *("models plan --models nobody", "models plan --models ''", "models list --registry {folder}"),
    *(
        "models fetch nobody",
        "models fetch",
        "models fetch gpt2 --checkpoint gpt2",
        "models fetch control_untrained",
    ),
    *(
        "models fetch ./nowhere",
        "models fetch 'a b'",
        "models fetch hub:",
        "models fetch --checkpoint {folder}",
    ),
    *(
        "controls train-tokenizer {folder} --out {folder}/t",
        "controls train-tokenizer {folder} --vocabulary 3 --out {folder}/t",
    ),
    *(
        "controls train {folder} {folder} --architecture bert --out {folder}/m",
        "fetch nothing --out {out}",
    ),
    "controls write-corpus {templates} {materials} --taught 2 --out {folder}/c",
    "controls write-corpus {templates} {materials} --taught nan --out {folder}/c",
]


#: What a server decides, and names that no table or file can have.
SERVER = (
    "score logprobs {items} --checkpoint m --engine openai --endpoint http://127.0.0.1:9/v1 --out"
    " {out}"
)
SILENT = [
    "--dtype bfloat16",
    "--revision v1",
    "--device cpu",
    "--allow-pickle",
    "--gpus 1",
    "--trust-remote-code",
    "--bos always",
]
NAMES = ["''", "' '", "' a'", "'a\nb'", "a/b", "../a", "'a\\b'", "..", "human", "wordnet"]


@pytest.mark.parametrize("option", SILENT)
def test_an_option_that_does_nothing_with_a_server_is_refused(check, option: str) -> None:
    assert f"error: {option.split()[0]}\n" in check(
        f"{SERVER} {option}", "does nothing with --engine openai"
    )


@pytest.fixture(scope="module")
def corpus(study, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("control") / "corpus"
    made_from = [str(study["templates"]), str(study["materials"])]
    little = ["--taught", "0.5", "--fillings", "2", "--sentences", "5"]
    assert main(["controls", "write-corpus", *made_from, *little, "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def tokenizer(corpus) -> Path:
    folder = corpus.with_name("tokenizer")
    assert (
        main(
            [
                "controls",
                "train-tokenizer",
                str(corpus),
                "--vocabulary",
                "400",
                "--out",
                str(folder),
            ]
        )
        == 0
    )
    return folder


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files cannot grow beyond 4 KB, as on a full disk."""
    monkeypatch.setattr(
        sys, "dont_write_bytecode", True
    )  # what is imported now would be kept cut short
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize(
    "line",
    [
        f"{BUILD} --out {{out}}",
        "items export {items} {templates} --out {folder}/new",
        "controls train-tokenizer {corpus} --out {folder}/new",
        (
            "controls write-corpus {templates} {materials} --taught 0.5 --fillings 2 --sentences 5"
            " --out {folder}/new"
        ),
        "report build {summaries} --out {folder}/r.html",
        (
            "controls train {corpus} {tokenizer} --architecture gpt2 --layers 1 --width 32 --heads"
            " 2 --steps 1 --out {folder}/new"
        ),
    ],
)
def test_a_full_disk_is_a_message_and_leaves_what_was_there(request, check, line: str) -> None:
    files = {
        name: request.getfixturevalue(name)
        for name in ("corpus", "tokenizer")
        if f"{{{name}}}" in line
    }
    if "tokenizer" in files:
        pytest.importorskip("transformers")
    request.getfixturevalue("little_room")
    assert ".part" not in check(line, "cannot be written", **files), (
        "the user's path is named, not a temporary one"
    )


@pytest.mark.parametrize(
    "line",
    [
        "score logprobs {pipe} --checkpoint {folder} --out {out}",
        "score logprobs {items} --checkpoint {pipe} --out {out}",
        "judge {items} {pipe} --out {out}",
        "items build {pipe} --out {out}",
        "config check {pipe}",
        "status --configfile {pipe}",
    ],
)
def test_a_pipe_is_refused_where_it_would_be_waited_for(check, tmp_path_factory, line: str) -> None:
    pipe = tmp_path_factory.mktemp("pipe") / "pipe"
    os.mkfifo(pipe)
    check(line, "pipe", pipe=pipe)


@pytest.mark.parametrize("name", ["a\udced.parquet", "a\0.parquet"])
def test_a_name_that_no_file_can_have_is_refused(check, name: str) -> None:
    check(f"{BUILD} --out '{{folder}}/{name}'", "is not UTF-8 text")


def test_a_link_as_output_stays_one(study, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for name in ("items.parquet", "folder"):
        (tmp_path / name).symlink_to(tmp_path / "elsewhere" / name)
    (tmp_path / "elsewhere" / "folder").mkdir()
    for line in (
        f"items build {study['materials']} --versions 0 --out {tmp_path}/items.parquet",
        *2 * [f"items export {study['items']} --format lm-eval --out {tmp_path}/folder"],
    ):
        assert main(line.split()) == 0
    assert [(tmp_path / name).is_symlink() for name in ("items.parquet", "folder")] == [True, True]
    assert (tmp_path / "elsewhere" / "items.parquet").is_file()
    assert (tmp_path / "elsewhere" / "folder" / "group.yaml").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "elsewhere",
        "folder",
        "items.parquet",
    ]
    assert sorted(path.name for path in (tmp_path / "elsewhere").iterdir()) == [
        "folder",
        "items.parquet",
    ]


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_change_nothing(study, tmp_path: Path, closed: str) -> None:
    build = f"{sys.executable} -m worldprobe {BUILD.format(**study)}"
    line = f"{build} --out {tmp_path}/items.parquet {closed}"
    assert subprocess.run(line, shell=True, check=False, capture_output=True).returncode == 0
    assert (tmp_path / "items.parquet").read_bytes() == study["items"].read_bytes()


def test_sigterm_leaves_nothing_half_written_and_asks_for_the_same_command(
    study, tmp_path: Path, monkeypatch, caplog
) -> None:
    def stop(path: Path) -> None:
        assert path.stat().st_size
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("worldprobe.files._synchronize", stop)
    monkeypatch.setattr("worldprobe.log.LOGGER.propagate", True)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "items",
                "build",
                str(study["materials"]),
                "--versions",
                "0",
                "--out",
                str(tmp_path / "items.parquet"),
            ]
        )
    assert ended.value.code == 75
    assert "the same command continues" in caplog.text
    assert not list(tmp_path.iterdir())
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_no_model_can_have_is_refused(check, name: str) -> None:
    check(f"judge {{items}} {{scores_a}} --model {name} --out {{out}}", "--model")
    check(f"score logprobs {{items}} --checkpoint nowhere --model {name} --out {{out}}", "--model")


@pytest.mark.parametrize("line", WRONG)
def test_a_command_line_that_cannot_work_is_refused(
    check, repository, monkeypatch, line: str
) -> None:
    monkeypatch.chdir(repository)
    check(line)
