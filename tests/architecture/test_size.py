"""The house stays small enough to be learnt: what is new is paid for by what goes.

Measured in tokens of Python without comments and docstrings, which no formatting changes.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "workflow" / "src"
#: Tokens, and lines of rules: what is measured, and two per cent.
BOUNDS = {"worldprobe": 352_300, "packages": 556_600, "tests": 354_000, "rules": 1_917}
_SKIPPED = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def count_tokens(source: str) -> int:
    """Tokens of a module; docstrings and the texts below attributes, which explain, are free."""
    texts = {
        (node.value.lineno, node.value.col_offset)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
    return sum(
        token.type not in _SKIPPED and not (token.type == tokenize.STRING and token.start in texts)
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
    )


def count_rule_lines(source: str) -> int:
    """Lines of a file of rules that are neither blank nor comments."""
    lines = (line.strip() for line in source.splitlines())
    return sum(bool(line) and not line.startswith("#") for line in lines)


def _total(paths: Iterable[Path]) -> int:
    return sum(count_tokens(path.read_text(encoding="utf-8")) for path in paths)


def measure() -> dict[str, int]:
    """Tokens of each package and of the tests, and lines of the rules."""
    packages = {path.parent.name for path in SOURCES.glob("*/__init__.py")}
    sizes = {name: _total((SOURCES / name).rglob("*.py")) for name in sorted(packages)}
    rules = (ROOT / "workflow").rglob("*.smk")
    return sizes | {
        "packages": sum(sizes.values()),
        "tests": _total((ROOT / "tests").rglob("*.py")),
        "rules": sum(count_rule_lines(path.read_text(encoding="utf-8")) for path in rules),
    }


@pytest.fixture(scope="module")
def sizes() -> dict[str, int]:
    return measure()


@pytest.mark.parametrize("part", BOUNDS)
def test_size_is_within_its_bound(sizes: dict[str, int], part: str) -> None:
    assert sizes[part] <= BOUNDS[part]
