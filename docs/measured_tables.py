"""Tables and numbers of docs/ that programs measured: those of docs/simulations and
docs/benchmarks, from the files that these wrote.

``python docs/measured_tables.py [results]`` reads ``results/simulations/*.json`` and
``results/benchmarks/*.json`` of the page's size and writes them into the marked places::

    <!--table:simulations/coverage-->

    | ... |

    <!--/table-->

and ``<!--measured:simulations/ten_models.holm-->0%<!---->``; ``.studies`` is their number. Places
whose program did not run stay as they are.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = re.compile(r"<!--table:([\w/]+)-->\n\n.*?\n\n<!--/table-->", re.DOTALL)
NUMBER = re.compile(r"<!--measured:([\w/]+)\.(\w+)-->[^<]*<!---->")


def read_measured(results: Path) -> dict[str, dict[str, Any]]:
    """What programs wrote at the page's size, by name, such as ``simulations/coverage``."""
    return {
        f"{path.parent.name}/{path.stem}": facts
        for kind in ("simulations", "benchmarks")
        for path in sorted((results / kind).glob("*.json"))
        if (facts := json.loads(path.read_text(encoding="utf-8")))["size"] == "page"
    }


def markdown(table: Mapping[str, Any]) -> str:
    """A table as pages show it: numbers to the right.

    Args:
        table: its ``columns`` and ``data``.

    >>> print(markdown({"columns": ["fillings", "n"], "data": [["own", 3]]}))
    | fillings | n |
    |---|---:|
    | own | 3 |
    """
    rows = [[str(value) for value in row] for row in table["data"]]
    is_number = [
        all(re.match(r"^(\*\*)?[−\d–]|^$", row[place]) for row in rows)
        for place in range(len(table["columns"]))
    ]
    rule = [("---:" if right else "---") for right in is_number]
    lines = [[str(name).strip() for name in table["columns"]], *rows]
    shown = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([shown[0], f"|{'|'.join(rule)}|", *shown[1:]])


def filled(page: str, measured: Mapping[str, Mapping[str, Any]]) -> str:
    """A page with what was measured in its marked places.

    >>> filled("<!--measured:a/b.c-->0<!---->", {"a/b": {"numbers": {"c": "5%"}}})
    '<!--measured:a/b.c-->5%<!---->'

    Raises:
        KeyError: a mark names a number that its program does not write.
    """

    def table(match: re.Match[str]) -> str:
        if match[1] not in measured:
            return match[0]
        text = markdown(measured[match[1]]["table"])
        return f"<!--table:{match[1]}-->\n\n{text}\n\n<!--/table-->"

    def number(match: re.Match[str]) -> str:
        if match[1] not in measured:
            return match[0]
        facts = measured[match[1]]
        shown = f"{facts['studies']:,}" if match[2] == "studies" else facts["numbers"][match[2]]
        return f"<!--measured:{match[1]}.{match[2]}-->{shown}<!---->"

    return NUMBER.sub(number, TABLE.sub(table, page))


def main(results: Path, root: Path = ROOT) -> None:
    """Write the marked places of all pages."""
    measured = read_measured(results)
    for page in sorted((root / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (new := filled(text, measured)) != text:
            page.write_text(new, encoding="utf-8")
            print(f"{page.relative_to(root)} is as measured.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "results"))
