"""How large the house is: lines of code without docstrings, comments and blank lines.

python tests/architecture/size.py
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(text: str) -> int:
    """Lines of a Python file that have code on them."""
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _NOT_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(
        ast.parse(text)
    ):  # also the texts below attributes, which say what a setting means
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def rule_lines(text: str) -> int:
    """Lines of a file of rules that are neither blank nor comments."""
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("#"))


def main() -> None:
    """Print the sizes: of the package by folder, of the rules and of the tests."""
    package = ROOT / "workflow" / "src" / "worldprobe"
    modules = sorted(package.rglob("*.py"))
    rooms: Counter[str] = Counter()
    for path in modules:
        inner = path.relative_to(package)
        rooms["/".join(inner.parts[:-1][:2]) or "."] += code_lines(path.read_text(encoding="utf-8"))
    for room, lines in sorted(rooms.items()):
        print(f"{lines:7,}  {room}")
    rules = [
        ROOT / "Snakefile",
        ROOT / "workflow" / "Snakefile",
        *(ROOT / "workflow" / "rules").rglob("*.smk"),
    ]
    tests = sum(
        code_lines(path.read_text(encoding="utf-8")) for path in (ROOT / "tests").rglob("*.py")
    )
    print(f"package: {sum(rooms.values()):,} lines in {len(modules)} modules")
    print(f"rules: {sum(rule_lines(path.read_text(encoding='utf-8')) for path in rules):,} lines")
    print(f"tests: {tests:,} lines")


if __name__ == "__main__":
    main()
