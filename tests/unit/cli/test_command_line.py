"""What all commands share: paths are checked before any work, mistakes are brief and repeat no
secret, output may be closed.
"""

import os
import subprocess
import sys

import pytest

from worldprobe import cli


def run(capsys, *words):
    """Exit status and what was printed."""
    status = cli.main([str(word) for word in words])
    return status, capsys.readouterr().err


def test_an_unknown_option_is_named_without_its_value(capsys, tmp_path):
    for words in (
        ["--passwrod", "hunter2"],
        ["--passwrod=hunter2"],
        ["--passw=hunter2"],
        ["--passw", "hunter2"],
    ):
        status, message = run(capsys, "items", "build", tmp_path, *words, "--out", tmp_path / "o")
        assert status == 2
        assert "hunter2" not in message
        assert 'did you mean "--password"?' in message


@pytest.mark.parametrize("rest", [[], ["items"], ["items", "build"], ["--help"]])
def test_an_unknown_option_before_the_stage_is_named(capsys, rest):
    for option in ("--verison", "--verison=hunter2"):
        status, message = run(capsys, option, *rest)
        assert status == 2
        assert 'unknown option --verison; did you mean "--version"?' in message
        assert "hunter2" not in message
    assert run(capsys, "-q", *rest)[0] == 2
    assert run(capsys, "--verbose", "items", "--help")[0] == 0


def test_a_misplaced_password_is_not_taken_for_a_stage_and_printed(capsys):
    status, message = run(capsys, "--password", "hunter2", "items", "build")
    assert status == 2
    assert "hunter2" not in message


def test_an_option_given_twice_is_refused(capsys, tmp_path):
    status, message = run(
        capsys, "items", "build", tmp_path, "--seed", 1, "--seed", 2, "--out", tmp_path / "o"
    )
    assert (status, "given twice" in message) == (2, True)


@pytest.mark.parametrize("place", ["", ".", "..", "/", "folder", "file/inside", "/dev/null"])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(
    capsys, tmp_path, monkeypatch, place
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    status, message = run(capsys, "summarize", "no such table", "--out", place)
    assert status == 2
    assert "no such file" not in message, "the output comes first"


def test_an_output_that_is_an_input_is_refused(capsys, tmp_path):
    (tmp_path / "a").write_text("precious")
    (tmp_path / "link").symlink_to("a")
    for out in (tmp_path / "a", tmp_path / "." / "a", tmp_path / "link"):
        status, message = run(capsys, "summarize", tmp_path / "a", "--out", out)
        assert (status, "one of the inputs" in message) == (2, True)
    assert (tmp_path / "a").read_text() == "precious"


def test_an_output_inside_a_folder_that_is_read_whole_is_refused(capsys, tmp_path):
    (tmp_path / "materials").mkdir()
    (tmp_path / "materials" / "a.csv").write_text("precious")
    out = tmp_path / "materials" / "a.csv"
    status, message = run(capsys, "items", "build", tmp_path / "materials", "--out", out)
    assert (status, "input folder" in message) == (2, True)
    assert out.read_text() == "precious"


def test_two_outputs_of_one_name_are_refused(capsys, tmp_path):
    out = tmp_path / "x"
    status, message = run(capsys, "judge", "items", "a", "b", "--out", out, tmp_path / "." / "x")
    assert (status, "overwrite the other" in message) == (2, True)
    status, message = run(capsys, "items", "build", "m", "--templates-out", out, "--out", out)
    assert (status, "overwrite the other" in message) == (2, True)


def test_a_fault_in_one_commands_module_leaves_the_others_alone(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "worldprobe.cli.items", None)
    assert run(capsys, "judge", "--help")[0] == 0
    assert run(capsys, "--help")[0] == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["jugde"], 'unknown stage: "jugde"; did you mean "judge"?'),
        (["items", "biuld"], 'unknown action: "biuld"; did you mean "build"?'),
        (["items"], "needs an action."),
        ([], "needs a stage."),
        (["xyzzy"], "unknown stage."),
        (["plans"], 'unknown stage: "plans"; did you mean "plan"?'),
        (["summarize", "a", "--empty-missing", "--out", "x"], "unknown option --empty-missing"),
        (["items", "build", "builtin", "--no-compat", "--out", "x"], "unknown option --no-compat"),
        (
            ["summarize", "a", "--missing", "m=reason", "b.parquet", "--out", "x"],
            '"b.parquet" is not of the form MODEL=REASON.',
        ),
        (["summarize", "a", "--missing", "m=x", "m=y", "--out", "x"], "names m twice."),
        (
            ["human", "simulate", "a", "--key", "b", "--kinds", "random=2", "--out", "x"],
            '"2" is not a number from 0 to 1.',
        ),
        (["items", "build"], "MATERIALS is missing."),
        (["items", "build", "builtin"], "--out is missing."),
        (["items", "build", "builtin", "--out"], "--out needs a value."),
        (["items", "build", "builtin", "more", "--out", "o"], "too many arguments"),
    ],
)
def test_a_mistake_is_three_lines_and_status_2(capsys, words, problem):
    status, message = run(capsys, *words)
    assert (status, problem in message) == (2, True), message
    assert [line.split(":")[0].strip() for line in message.splitlines()] == [
        "error",
        "problem",
        "fix",
    ]


def test_help_imports_neither_numbers_nor_models(repository):
    heavy = {"numpy", "pandas", "torch", "pyarrow", "psutil", "pydantic", "yaml"}
    code = (
        "import sys; from worldprobe import cli\ntry: cli.main({words!r})\nfinally:"
        " print(*sys.modules, file=sys.stderr)"
    )
    for words in (["--help"], ["evaluate", "--help"], ["worldsense", "ask", "--help"]):
        done = subprocess.run(
            [sys.executable, "-c", code.format(words=words)],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": str(repository / "workflow/src")},
        )
        assert "cyclopts" in done.stderr.split()
        assert not heavy & set(done.stderr.split())


def shell(line, repository, **settings):
    environment = os.environ | {"PYTHONPATH": str(repository / "workflow/src")} | settings
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        capture_output=True,
        text=True,
        env=environment,
        cwd=repository,
    )


def test_output_that_is_closed_early_or_full_or_ascii_is_no_traceback(repository):
    command = f"{sys.executable} -m worldprobe models list"
    closed = shell(f"{command} | true", repository, PYTHONUNBUFFERED="1")
    assert (closed.returncode, closed.stderr) == (0, "")
    full = shell(f"{command} > /dev/full", repository)
    assert full.returncode == 2
    assert "standard output" in full.stderr
    assert "Traceback" not in full.stderr
    assert shell(command, repository, PYTHONIOENCODING="ascii").returncode == 0
    closed_from_the_start = shell(f"{command} >&-", repository)
    assert (closed_from_the_start.returncode, closed_from_the_start.stderr) == (0, "")


@pytest.mark.parametrize(
    "words",
    [
        ["items", "build", "x.zip", "--password", "m\udcfchunter2"],
        ["items", "build", "x.zip", "--password", "--hunter2"],
        ["items", "build", "x.zip", "--password=hunter2", "--compat=hunter2"],
        ["items", "--password", "hunter2"],
        ["evaluate", "http://me:hunter2@127.0.0.1:1/v1"],
        ["evaluate", "http://127.0.0.1:1/v1?api_key=hunter2"],
        ["evaluate", "http://127.0.0.1:1/v1", "--password", "hunter2"],
    ],
)
def test_a_password_is_printed_in_no_form(capsys, words):
    """A Latin-1 password was repeated as what is not UTF-8 (CWE-209)."""
    status, message = run(capsys, *words)
    assert status == 2
    assert "hunter2" not in message
