"""What docstrings and comments refer to is there."""

import ast
import builtins
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
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


#: Packages of others, which need not be installed.
OTHERS = {"matplotlib", "openai", "vllm"}


def is_local(module: str, reference: str) -> bool:
    """Whether the first word is a parameter in the module, e.g. ``scored.counts``."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    parameters = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return reference.partition(".")[0] in parameters


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
    missing = [
        one
        for one in references(module)
        if one.rpartition(".")[2] not in FILES
        and one.partition(".")[0] not in {*sys.stdlib_module_names, *OTHERS}
        and not is_there(module, one)
        and not is_local(module, one)
    ]
    assert not missing


#: ``name``, as docstrings write it.
WORD = re.compile(r"``([A-Za-z_]\w*)``")
#: Words of other programs, and of files that are no Python.
FOREIGN = {
    "WORLDPROBE_PARTITION",
    "evaluation_data",
    "gelu_fast",
    "gelu_new",
    "rule_NAME",
    "torchrun",
}


def parts_of(node: ast.AST) -> Iterator[str]:
    """The names that a node states, and its text where it is one."""
    fields = ("id", "attr", "arg", "name", "asname", "module", "value")
    stated = (getattr(node, field, None) for field in fields)
    yield from (
        part for name in stated if isinstance(name, str) for part in [name, *name.split(".")]
    )


@cache
def nodes(module: str) -> tuple[list[ast.AST], set[int]]:
    """A module's nodes, and the ids of those that are docstrings and other free texts."""
    found = [*ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8")))]
    return found, {id(node.value) for node in found if isinstance(node, ast.Expr)}


@cache
def known_words() -> set[str]:
    """Names of all modules, and texts that are one word, such as columns and labels."""
    words = {part for module in MODULES for part in module.split(".")} | {*dir(builtins)}
    for module in MODULES:
        found, free = nodes(module)
        words |= {part for node in found if id(node) not in free for part in parts_of(node)}
    return words


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_word_that_a_docstring_refers_to_is_a_name_or_a_label(module: str) -> None:
    """``tidy`` was the name of figures' functions once; two docstrings sent a reader there."""
    found, free = nodes(module)
    texts = [
        node.value
        for node in found
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in free
    ]
    own = {word for text in texts for word in re.findall(r"\w+", text)}
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [ast.get_docstring(node) or "" for node in found if isinstance(node, documented)]
    named = {word for docstring in docstrings for word in WORD.findall(docstring)}
    assert not named - known_words() - own - FOREIGN


def documented_fields(docstring: str) -> set[str]:
    """The names that begin an entry of a docstring's ``Attributes``."""
    entries = re.findall(r"^    (\w+(?:, \w+)*)(?: \([^)]*\))?:", docstring, re.MULTILINE)
    return {name for entry in entries for name in entry.split(", ")}


def records(module: str) -> Iterator[tuple[str, set[str], set[str]]]:
    """The dataclasses and named tuples whose attributes are listed: name, fields, entries."""
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            kinds = map(ast.unparse, [*node.decorator_list, *node.bases])
            listed = (ast.get_docstring(node) or "").partition("Attributes:\n")[2]
            if listed and any("dataclass" in kind or "NamedTuple" in kind for kind in kinds):
                stated = [one.target for one in node.body if isinstance(one, ast.AnnAssign)]
                names = {one.id for one in stated if isinstance(one, ast.Name)}
                fields = {name for name in names if not name.startswith("_")}
                yield node.name, fields, documented_fields(listed)


@pytest.mark.parametrize("module", sorted(name for name in MODULES if ".cli." not in name))
def test_every_field_of_a_record_begins_a_line_of_its_attributes(module: str) -> None:
    """In commands an option's help may stand where its type is defined."""
    lacking = {name: fields - entries for name, fields, entries in records(module)}
    assert {name: fields for name, fields in lacking.items() if fields} == {}


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
