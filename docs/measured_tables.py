"""Tables and numbers of docs/ that programs measured: those of docs/simulations and
docs/benchmarks, from the files that these wrote.

``python docs/measured_tables.py [results]`` takes what ``results/simulations`` and
``results/benchmarks`` have of the page's size into ``docs/pictures/measured.json``, and from there
into the marked places, which look like ``<!--measured:simulations/ten_models.holm-->0%<!---->``
(``.studies`` is their number) or, for a table, ::

    <!--table:simulations/coverage-->

    | ... |

    <!--/table-->

A test compares the pages with that file.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KEPT = Path("docs/pictures/measured.json")
TABLE = re.compile(r"<!--table:([\w/]+)-->\n\n.*?\n\n<!--/table-->", re.DOTALL)
NUMBER = re.compile(r"<!--measured:([\w/]+)\.(\w+)-->[^<]*<!---->")
OPENED = re.compile(r"<!--(?:table|measured):[^>]*>")


def read_measured(results: Path) -> dict[str, dict[str, Any]]:
    """What programs wrote at the page's size, by name, such as ``simulations/coverage``."""
    return {
        f"{kind}/{path.stem}": facts
        for kind in ("benchmarks", "simulations")
        for path in sorted((results / kind).glob("*.json"))
        if (facts := json.loads(path.read_text(encoding="utf-8")))["settings"]["size"] == "page"
    }


def markdown(rows: list[dict[str, Any]]) -> str:
    """A table as pages show it: numbers to the right.

    >>> print(markdown([{"fillings": "own", "n": 3}]))
    | fillings | n |
    |---|---:|
    | own | 3 |
    """
    lines = [[str(row[name]) for name in rows[0]] for row in rows]
    is_number = [
        all(re.match(r"(\*\*)?[-−\d–]|$", cell) for cell in cells)
        for cells in zip(*lines, strict=True)
    ]
    rule = "|".join("---:" if right else "---" for right in is_number)
    shown = [f"| {' | '.join(line)} |" for line in [[name.strip() for name in rows[0]], *lines]]
    return "\n".join([shown[0], f"|{rule}|", *shown[1:]])


def measured_with(name: str, facts: Mapping[str, Any]) -> str:
    """The line below a benchmark's table: its program, machine and versions; nothing below a
    simulation's, which are the same anywhere.
    """
    if not (machine := facts.get("machine")):
        return ""
    stated = [
        ", ".join(f"{k}: {v}" for k, v in part.items()) for part in (machine, facts["versions"])
    ]
    return f"\n\n`docs/{name}.py`; {'; '.join([*stated, facts['date']])}"


def filled(page: str, measured: Mapping[str, Mapping[str, Any]]) -> str:
    """A page with what was measured in its marked places; those of programs that did not run stay.

    >>> filled("<!--measured:a/b.c-->0<!---->", {"a/b": {"numbers": {"c": "5%"}}})
    '<!--measured:a/b.c-->5%<!---->'

    Raises:
        KeyError: a mark names a number that its program does not write.
        ValueError: a mark is not closed as it must be, so what it shows would never change.
    """
    places = [match[0] for pattern in (TABLE, NUMBER) for match in pattern.finditer(page)]
    closed = Counter(place[: place.index(">") + 1] for place in places)
    if unclosed := Counter(OPENED.findall(page)) - closed:
        raise ValueError(f"not closed, or without empty lines around: {next(iter(unclosed))}")

    def table(match: re.Match[str]) -> str:
        if (facts := measured.get(match[1])) is None:
            return match[0]
        text = markdown(facts["rows"]) + measured_with(match[1], facts)
        return f"<!--table:{match[1]}-->\n\n{text}\n\n<!--/table-->"

    def number(match: re.Match[str]) -> str:
        if (facts := measured.get(match[1])) is None:
            return match[0]
        is_studies = match[2] == "studies"
        shown = f"{facts['settings']['studies']:,}" if is_studies else facts["numbers"][match[2]]
        return f"<!--measured:{match[1]}.{match[2]}-->{shown}<!---->"

    return NUMBER.sub(number, TABLE.sub(table, page))


def pages(root: Path) -> list[Path]:
    """The documents that may have marks."""
    return sorted((root / "docs").rglob("*.md"))


def differences(root: Path = ROOT) -> list[str]:
    """Pages that are not as ``measured.json`` has them."""
    kept = json.loads((root / KEPT).read_text(encoding="utf-8"))
    texts = {page: page.read_text(encoding="utf-8") for page in pages(root)}
    return [
        str(page.relative_to(root)) for page, text in texts.items() if filled(text, kept) != text
    ]


def main(results: Path, root: Path = ROOT) -> None:
    """Write the marked places of all pages."""
    kept = json.loads((root / KEPT).read_text(encoding="utf-8")) if (root / KEPT).is_file() else {}
    kept |= read_measured(results)
    text = json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False)
    (root / KEPT).write_text(f"{text}\n", encoding="utf-8")
    for page in pages(root):
        page.write_text(filled(page.read_text(encoding="utf-8"), kept), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "results"))
