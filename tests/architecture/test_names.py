"""A name means one thing: what is imported under it from one module is not something else in
another.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "workflow" / "src"
#: Names that have one meaning wherever they are: what an extension or an engine defines.
SEAMS = {
    *("add_models", "made_models", "outputs", "rehearse", "trainings", "check_models"),
    *("open_engine", "main", "draw", "ask", "root", "complete_registry"),
    *("has_pairs", "prompt_file", "main_set", "responses", "task_files", "surface_features"),
    "Items",
}
#: Decorators of functions whose name is that of a table or figure.
DISPLAYS = {"table", "figure"}


def public_names(module: Path) -> set[str]:
    """Functions and classes of a module that others may import; without commands, tables and
    figures, whose names users type, and classes that inherit one of their name.
    """
    is_command = "cli" in module.parts[:-1] or module.stem.endswith(("cli", "commands"))
    found = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and not is_command:
            calls = {
                part.func.id
                for part in node.decorator_list
                if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
            }
            found |= set() if calls & DISPLAYS else {node.name}
        elif isinstance(node, ast.ClassDef):
            bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
            found |= set() if bases & {node.name, "Block"} else {node.name}
    return {name for name in found if not name.startswith("_")}


def place(module: Path) -> str:
    """A module's place, which benchmarks share: ``ewok/outputs.py`` and ``worldsense/outputs.py``
    answer the same questions.
    """
    parts = module.relative_to(SOURCES).parts
    if parts[:2] == ("worldprobe", "benchmarks"):
        return "benchmark/" + "/".join(parts[3:] or ("outputs.py",))
    return "/".join(parts)


def doubles() -> dict[str, list[str]]:
    """Public name -> the places that have it, where these are several."""
    found: dict[str, set[str]] = defaultdict(set)
    for module in sorted(SOURCES.rglob("*.py")):
        for name in public_names(module):
            found[name].add(place(module))
    return {name: sorted(places) for name, places in found.items() if len(places) > 1}


def test_a_name_means_one_thing() -> None:
    found = doubles()
    new = {name: places for name, places in found.items() if name not in SEAMS}
    assert not new, new
    assert not SEAMS - found.keys(), "take them off the list"


def test_nothing_is_imported_under_the_name_of_something_else() -> None:
    """``summarize as summarize_scores`` stood beside a ``summarize_scores``, ``password`` was called
    ``password_of`` where a parameter had its name.
    """
    modules = {path: path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")}
    known = {name for path in modules for name in public_names(path)}
    taken = {
        f"{path.relative_to(SOURCES)}: {name} as {other}"
        for path, text in modules.items()
        for home, name, other in re.findall(
            r"^ *from ([\w.]+) import (\w+) as (\w+)$", text, re.MULTILINE
        )
        if name in known and SOURCES / home.replace(".", "/") / f"{name}.py" not in modules
    }
    assert not taken


def test_one_command_summarizes() -> None:
    """Each benchmark had its own."""
    found = [
        path.name
        for path in SOURCES.rglob("*.py")
        if re.search(r"^def summarize", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert sorted(found) == ["analysis.py", "summaries.py"]
