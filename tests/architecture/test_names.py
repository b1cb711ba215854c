"""A name means one thing: what is imported under it from one module is not something else in
another.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "workflow" / "src"
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
    found: dict[str, set[str]] = defaultdict(set)
    for module in sorted(SOURCES.rglob("*.py")):
        for name in public_names(module):
            found[name].add(place(module))
    return {name: sorted(places) for name, places in found.items() if len(places) > 1}


if __name__ == "__main__":
    d = doubles()
    print(len(d))
    for k, v in sorted(d.items()): print(k, *v)
