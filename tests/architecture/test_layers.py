"""The package's shape: layers, light imports."""

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

from worldprobe import benchmarks
from worldprobe.engines import own_names

HEAVY = {
    "torch",
    "transformers",
    "pandas",
    "scipy",
    "statsmodels",
    "matplotlib",
    "gensim",
    "rpy2",
    "huggingface_hub",
}


def test_data_flows_one_way_through_the_layers(repository: Path) -> None:
    command = [
        str(Path(sys.executable).with_name("lint-imports")),
        "--config",
        "pyproject.toml",
        "--no-cache",
    ]
    environment = {
        "PYTHONPATH": str(repository / "workflow" / "src"),
        "PATH": str(Path(sys.executable).parent),
    }
    found = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def test_building_the_whole_parser_and_planning_import_nothing_heavy(repository: Path) -> None:
    code = (
        "import json, sys; from worldprobe import cli; cli.print_stages();"
        " list(cli.parsing.commands(cli.build_app()));"
        " [cli.main([stage, '--help']) for stage in ('evaluate', 'table', 'figure')];"
        " import worldprobe.operations.resources,"
        " worldprobe.models.registry,"
        " worldprobe.models.engine;print(json.dumps(sorted(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=repository / "workflow" / "src",
        capture_output=True,
        text=True,
        check=True,
    )
    assert not HEAVY & set(json.loads(found.stdout.splitlines()[-1]))


def test_help_of_evaluate_imports_neither_an_event_loop_nor_a_test_library(
    repository: Path,
) -> None:
    """They were a tenth of its time."""
    code = (
        "import sys; from worldprobe.cli import main; main(['evaluate', '--help']);"
        " print(sorted({'asyncio', 'unittest.mock'} & {*sys.modules}))"
    )
    command = [sys.executable, "-c", code]
    home = repository / "workflow" / "src"
    found = subprocess.run(command, cwd=home, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[]"


#: Shared modules that still name a benchmark beside their documentation -> why.
LEFT = {
    "cli/options.py": "help of options of several commands of one benchmark",
}


def named_in(path: Path, text: str, names: re.Pattern[str]) -> list[str]:
    """The lines of a file with one of the names, docstrings, comments and texts below settings
    left out.
    """
    if path.suffix != ".py":
        return [line for line in text.splitlines() if names.search(line)]
    bodies = [node.body for node in ast.walk(ast.parse(text)) if hasattr(node, "body")]
    said = {
        number
        for body in bodies
        if isinstance(body, list)
        for part in body
        if isinstance(part, ast.Expr) and isinstance(getattr(part.value, "value", None), str)
        for number in range(part.lineno, (part.end_lineno or part.lineno) + 1)
    }
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [
        token.line
        for token in tokens
        if token.type in (tokenize.NAME, tokenize.STRING)
        and token.start[0] not in said
        and names.search(token.string)
    ]


def test_shared_code_names_no_benchmark(repository: Path) -> None:
    """Nine commands, two engines, a report's defaults and options were chosen by their names."""
    package = repository / "workflow" / "src" / "worldprobe"
    names = re.compile("|".join(benchmarks.OWN), re.IGNORECASE)
    shared = ("cli", "report", "models", "settings", "analysis", "inference", "operations")
    found = {
        path.relative_to(package).as_posix()
        for folder in shared
        for path in (package / folder).rglob("*")
        if path.suffix in (".py", ".jinja", ".js", ".css", ".html", ".txt", ".R")
        and named_in(path, path.read_text(encoding="utf-8"), names)
    }
    assert found == LEFT.keys()


def goes_by_engine(text: str, names: set[str]) -> list[str]:
    """What a module compares with the name of an engine, and its lists of such names."""
    found = []
    for node in ast.walk(ast.parse(text)):
        parts = [
            part.value
            for part in ast.walk(node)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        is_list = isinstance(node, ast.Tuple | ast.List | ast.Set) and len(parts) > 1
        if (is_list and {*parts} <= names) or (
            isinstance(node, ast.Compare | ast.MatchValue) and {*parts} & names
        ):
            found.append(ast.unparse(node))
    return found


def test_a_comparison_with_an_engines_name_is_found() -> None:
    lines = ('card["engine"] != "vllm"', 'e in ("vllm", "openai")', 'x = ["vllm", "openai"]')
    for line in (*lines, "match e:\n case 'vllm': pass"):
        assert goes_by_engine(line, {*own_names()}), line
    assert not goes_by_engine('x = ["torch", "vllm"]', {*own_names()})


@pytest.mark.long
def test_what_an_engine_can_is_asked_of_its_type(repository: Path) -> None:
    """Eight places of the core went by engines' names, and four of the extensions."""
    package = repository / "workflow" / "src"
    modules = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    found = {
        name
        for name, path in modules.items()
        if not name.startswith("worldprobe/models/")  # the engines themselves
        and goes_by_engine(path.read_text(encoding="utf-8"), {*own_names()})
    }
    assert found == set()


def test_only_three_modules_name_the_packages_that_are_hard_to_install(repository: Path) -> None:
    package = repository / "workflow" / "src" / "worldprobe"
    homes = {
        "rpy2": {"benchmarks/ewok/analysis/regression.py"},
        "gensim": {"benchmarks/ewok/word2vec.py"},
    }
    for name, allowed in homes.items():
        lines = [
            (path, line) for path in package.rglob("*.py") for line in path.read_text().splitlines()
        ]
        found = {
            path.relative_to(package).as_posix()
            for path, line in lines
            if line.strip().startswith((f"import {name}", f"from {name}"))
        }
        assert found <= allowed, name
