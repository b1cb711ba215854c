"""What a package that is not installed stops, and what it does not."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from worldprobe.cli import main
from worldprobe.cli.parsing import EXTRAS, missing_extra

#: Modules whose package has another name.
PACKAGES = {"google": "protobuf", "jwt": "pyjwt"}


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """As if these packages were not installed, and nothing of ours that imports them had been
    imported before.
    """
    for name in list(sys.modules):
        if name.partition(".")[0] in names or (
            name.startswith("worldprobe.") and _has_imported(name, names)
        ):
            monkeypatch.delitem(sys.modules, name, raising=False)
    for name in names:
        monkeypatch.setitem(sys.modules, name, None)


def _has_imported(module: str, names: tuple[str, ...]) -> bool:
    held = vars(sys.modules[module]).values()
    return any(
        (getattr(value, "__module__", None) or getattr(value, "__name__", "")).partition(".")[0]
        in names
        for value in held
    )


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_brings_what_its_commands_need(repository: Path, extra: str) -> None:
    listed = tomllib.loads((repository / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ][extra]
    names = {re.match(r"[\w-]+", line)[0].lower().replace("-", "_") for line in listed}
    assert {PACKAGES.get(module, module) for module in EXTRAS[extra]} <= names


ANSWERS = "materials.yaml"
COMMANDS = [
    (
        "hf",
        "torch",
        [
            "score",
            "logprobs",
            "{items}",
            "--checkpoint",
            "{model}",
            "--out",
            "{folder}/scores.parquet",
        ],
    ),
    ("hf", "transformers", ["evaluate", "{model}", "--versions", "0", "--work", "{folder}/work"]),
    (
        "openai",
        "openai",
        [
            *(
                "score",
                "all",
                "{items}",
                "--engine",
                "openai",
                "--endpoint",
                "http://127.0.0.1:9/v1",
                "--checkpoint",
                "m",
            ),
            *("--eval-types", "likert_free_zero", "--out", "{folder}/answers.parquet"),
        ],
    ),
    (
        "workflow",
        "gensim",
        ["baselines", "train-vectors", "{folder}/corpus", "--out", "{folder}/vectors.kv"],
    ),
    (
        "workflow",
        "nbclient",
        [
            "notebook",
            "run",
            "{notebook}",
            "--results",
            "{folder}",
            "--registry",
            "{registry}",
            "--out",
            "{folder}/n.html",
        ],
    ),
]


@pytest.mark.parametrize(
    ("extra", "package", "line"), COMMANDS, ids=[package for _, package, _ in COMMANDS]
)
def test_a_command_without_its_package_names_the_extra_in_three_lines(
    extra, package, line, monkeypatch, capsys, tmp_path, repository, tiny_checkpoint, small_items
):
    places = {
        "items": small_items,
        "folder": tmp_path,
        "model": tiny_checkpoint(),
        "notebook": repository / "notebooks" / "2_compare_two_models.ipynb",
        "registry": repository / "config" / "models.yaml",
    }
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "stories.txt").write_text("A rug is near the door.\n")
    without(monkeypatch, package)
    assert main([word.format(**places) for word in line]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-3:]
    assert said[0].startswith("error: ")
    assert package in " ".join(said[:2])
    assert said[2] == f'  fix: pip install "worldprobe[{extra}]"'


@pytest.fixture(scope="module")
def small_items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("items") / "items.parquet"
    assert (
        main(
            [
                "items",
                "build",
                "builtin",
                "--versions",
                "0",
                "--filter",
                "object2",
                "--out",
                str(path),
            ]
        )
        == 0
    )
    return path


def test_without_any_extra_the_other_commands_work(monkeypatch, capsys, tmp_path, repository):
    """Materials, items, trials, models and configuration, in one process that can import none of
    the extras' packages.
    """
    lacking = {module for modules in EXTRAS.values() for module in modules}
    without(monkeypatch, *lacking)
    lines = [
        ["materials", "check", "builtin"],
        ["items", "build", "builtin", "--versions", "0", "--out", str(tmp_path / "items.parquet")],
        [
            "worldsense",
            "generate",
            "test",
            "--per-cell",
            "1",
            "--sizes",
            "3",
            "--out",
            str(tmp_path / "trials.parquet"),
        ],
        ["config", "check", str(repository / "config" / "config.yaml")],
        ["models", "list"],
        ["workflow"],
        [
            "table",
            "dataset",
            str(tmp_path / "templates.parquet"),
            str(tmp_path / "items.parquet"),
            "--out",
        ],
    ]
    lines.insert(
        1, ["templates", "compile", "builtin", "--out", str(tmp_path / "templates.parquet")]
    )
    lines[-1] += [str(tmp_path / name) for name in ("dataset.csv", "dataset.tex")]
    for line in lines:
        assert main(line) == 0, (line, capsys.readouterr().err)


def test_a_fault_of_our_own_is_not_taken_for_a_missing_extra():
    assert (
        missing_extra(
            ModuleNotFoundError("No module named 'worldprobe.nothing'", name="worldprobe.nothing")
        )
        is None
    )
