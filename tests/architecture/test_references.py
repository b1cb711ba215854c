"""What docstrings and comments refer to is there."""

import ast
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).parents[2] / "workflow" / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in SOURCE.rglob("*.py")
}
#: ``module.name``, as docstrings write it.
REFERENCE = re.compile(r"``([a-z_]\w*(?:\.\w+)+)``")
#: Suffixes of files, which look the same.
FILES = {
    "py",
    "yaml",
    "yml",
    "csv",
    "json",
    "jsonl",
    "bz2",
    "smk",
    "md",
    "R",
    "parquet",
    "safetensors",
}
FILES |= {"toml", "html", "svg", "pdf", "tex", "txt", "zip", "gz", "db", "sql", "log", "lock"}


def references(module: str) -> Iterator[str]:
    """What a module's docstrings refer to."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield from REFERENCE.findall(ast.get_docstring(node) or "")


def is_there(module: str, reference: str) -> bool:
    """Whether something is found from the module on: in it, beside it, or in a package above."""
    home = module.split(".")
    words = reference.split(".")
    places = [".".join([*home[:depth], *words]) for depth in range(len(home), -1, -1)]
    places.append(f"worldprobe.{reference}")
    return any(resolves(place.split(".")) for place in places)


def resolves(words: list[str]) -> bool:
    """Whether a dotted name is a module, or something in one."""
    for depth in range(len(words), 0, -1):
        if (name := ".".join(words[:depth])) in MODULES:
            found: Any = import_module(name)
            for word in words[depth:]:
                fields = getattr(found, "model_fields", {}) | getattr(found, "__annotations__", {})
                if not hasattr(found, word) and word not in fields:
                    return False
                found = getattr(found, word, None)
            return True
    return False


@pytest.mark.parametrize("module", sorted(MODULES))
def test_what_a_docstring_refers_to_is_there(module: str) -> None:
    known = {name.split(".")[0] for name in MODULES} | {
        part for name in MODULES for part in name.split(".")
    }
    missing = [
        one
        for one in references(module)
        if one.split(".")[0] in known
        and one.rpartition(".")[2] not in FILES
        and not is_there(module, one)
    ]
    assert not missing


@pytest.mark.parametrize("notebook", sorted((SOURCE.parents[1] / "notebooks").glob("*.ipynb")))
def test_what_a_notebook_imports_is_there(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    imports = [
        f"{node.module}.{one.name}"
        for text in code
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("worldprobe")
        for one in node.names
    ]
    assert imports
    assert not [one for one in imports if not resolves(one.split("."))]
