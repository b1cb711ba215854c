"""Numbers and the picture of README.md and docs/ that are of the default study, written from a
finished one.

``python docs/numbers_from_study.py [results/default]`` photographs the report's first screen
(Chromium), writes the numbers to ``docs/pictures/study.json``, and from there into the marked
places of the pages, which look like ``<!--study:smollm2_135m.ewok.logprobs-->0.572 (0.545 to
0.599)<!---->``. The tables of ``make benchmark SIZE=page`` go the same way. A test compares pages
and picture with that file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "src"))

from worldprobe.benchmarks.ewok.contracts import Summaries  # noqa: E402
from worldprobe.benchmarks.worldsense.contracts import (  # noqa: E402
    Summaries as WorldSenseSummaries,
)
from worldprobe.contracts import read_table  # noqa: E402
from worldprobe.errors import UserError  # noqa: E402

PICTURE = "report.png"
MARK = re.compile(r"<!--study:([\w.]+)-->[^<]*<!---->")
#: What `make benchmark` found, by the name of its program.
TABLE = re.compile(r"(<!-- benchmark:(\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
#: Width and height of the report's first screen.
SCREEN = (1280, 1058)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def numbers_of(study: Path) -> dict[str, str]:
    """What pages print: MODEL.BENCHMARK.WAY is a mean accuracy with its 95% interval; WAY.prompted
    is of the items that all ways asked, WAY.pairing is the mean pairing.
    """
    numbers = {}
    for benchmark, contract in (("ewok", Summaries), ("worldsense", WorldSenseSummaries)):
        table = read_table(study / benchmark / "summaries.parquet", contract)
        rows = table[
            table["metric"].isin(["accuracy", "pairing"])
            & table["grouping"].isin(["overall", "prompted"])
            & table["mean"].notna()
        ]
        for row in rows[rows["condition"].isin(["all", "test"])].to_dict("records"):
            part = ".prompted" if row["grouping"] == "prompted" else ""
            part += ".pairing" if row["metric"] == "pairing" else ""
            ends = (
                ""
                if math.isnan(row["ci_low"])
                else f" ({row['ci_low']:.3f} to {row['ci_high']:.3f})"
            )
            numbers[f"{row['model']}.{benchmark}.{row['eval_type']}{part}"] = (
                f"{row['mean']:.3f}{ends}"
            )
    return numbers


def filled(page: str, numbers: Mapping[str, str]) -> str:
    """A page with the numbers in its marked places.

    >>> filled("<!--study:a.ewok-->0<!---->", {"a.ewok": "0.5"})
    '<!--study:a.ewok-->0.5<!---->'

    Raises:
        KeyError: a mark names no number.
    """
    return MARK.sub(lambda match: f"<!--study:{match[1]}-->{numbers[match[1]]}<!---->", page)


def with_tables(page: str, found: Mapping[str, Mapping[str, Any]]) -> str:
    """A page with the tables of the benchmarks that ran in their places."""

    def filled_in(match: re.Match[str]) -> str:
        start, name, end = match.groups()
        return start + table_of(name, found[name]) + end if name in found else match[0]

    return TABLE.sub(filled_in, page)


def table_of(name: str, found: Mapping[str, Any]) -> str:
    """A benchmark's rows, and below them what they were measured with.

    >>> print(
    ...     table_of(
    ...         "speed",
    ...         {"date": "2026", "settings": {"size": "page"}, "versions": {}}
    ...         | {"rows": [{"seconds": 1.5}], "machine": {"threads": 1}},
    ...     )
    ... )
    | seconds |
    |---|
    | 1.5 |
    <BLANKLINE>
    `docs/benchmarks/speed.py`, size: page; threads: 1; 2026
    <BLANKLINE>
    """
    names = list(found["rows"][0])
    lines = [names, *(row.values() for row in found["rows"])]
    table = [f"| {' | '.join(map(str, line))} |\n" for line in lines]
    facts = ({"size": found["settings"]["size"]}, found["machine"], found["versions"])
    stated = [", ".join(f"{key}: {value}" for key, value in part.items()) for part in facts if part]
    below = f"\n`docs/benchmarks/{name}.py`, {'; '.join([*stated, found['date']])}\n"
    return "".join([table[0], "|" + "---|" * len(names) + "\n", *table[1:], below])


def write_benchmarks(folder: Path, root: Path = ROOT) -> None:
    """The tables of benchmarks that ran in the size of the pages, into ``study.json`` and pages."""
    place = root / "docs" / "pictures" / "study.json"
    kept = json.loads(place.read_text(encoding="utf-8"))
    for path in sorted(folder.glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["settings"]["size"] == "page":
            kept.setdefault("benchmarks", {})[path.stem] = found
    _save(place, kept)
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        page.write_text(with_tables(text, kept.get("benchmarks", {})), encoding="utf-8")


def _save(place: Path, kept: Mapping[str, Any]) -> None:
    text = json.dumps(kept, indent=1, ensure_ascii=False) + "\n"
    place.write_text(text, encoding="utf-8")


def pages(root: Path) -> list[Path]:
    """The documents that may have marks."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def digest(picture: Path) -> str:
    """Of a picture's bytes."""
    return hashlib.sha256(picture.read_bytes()).hexdigest()


def photograph(report: Path, picture: Path) -> None:
    """The first screen of a report.

    Raises:
        UserError: there is no browser, or it draws nothing.
    """
    fix = "Install Chromium (envs/install-survey), and run the command again."
    if not (browser := next(filter(None, map(shutil.which, BROWSERS)), None)):
        raise UserError(picture, "is drawn by Chromium, which is not there.", fix)
    with tempfile.TemporaryDirectory() as folder:
        words = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
        ]
        shot = Path(folder, "report.png")
        size = f"--window-size={SCREEN[0]},{SCREEN[1]}"
        run = [*words, size, f"--screenshot={shot}", report.resolve().as_uri()]
        said = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False)
        if not shot.is_file():
            raise UserError(picture, f"was not drawn: {said.stderr.strip()[-300:]}", fix)
        shutil.copyfile(shot, picture)


def write(study: Path, root: Path = ROOT) -> None:
    """The picture, ``study.json`` and the marked places, of a finished study.

    Raises:
        UserError: the study is not finished, or pages have marks that it does not know.
    """
    sources = [
        study / name
        for name in ("report.html", "ewok/summaries.parquet", "worldsense/summaries.parquet")
    ]
    if missing := [str(path) for path in sources if not path.is_file()]:
        raise UserError(
            study,
            f"is not finished: {', '.join(missing)} is missing.",
            "Run the default study: make reproduce.",
        )
    numbers = numbers_of(study)
    texts = {page: page.read_text(encoding="utf-8") for page in pages(root)}
    marks = {key for text in texts.values() for key in MARK.findall(text)}
    if strange := sorted(marks - numbers.keys()):
        problem = f"has no number for the marks {', '.join(strange)}."
        raise UserError(
            study, problem, "Give the default study, with its real model, or correct the marks."
        )
    folder = root / "docs" / "pictures"
    photograph(sources[0], folder / PICTURE)
    kept = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    kept |= {
        "numbers": {key: numbers[key] for key in sorted(marks)},
        "pictures": {PICTURE: digest(folder / PICTURE)},
    }
    _save(folder / "study.json", kept)
    for page, text in texts.items():
        page.write_text(filled(text, numbers), encoding="utf-8")


def differences(root: Path = ROOT) -> list[str]:
    """Pages and the picture that are not as ``study.json`` has them."""
    kept = json.loads((root / "docs" / "pictures" / "study.json").read_text(encoding="utf-8"))
    found = [
        name
        for name, known in kept["pictures"].items()
        if digest(root / "docs" / "pictures" / name) != known
    ]
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        if (
            not set(MARK.findall(text)) <= kept["numbers"].keys()
            or filled(text, kept["numbers"]) != text
            or with_tables(text, kept.get("benchmarks", {})) != text
        ):
            found.append(page.name)
    return found


if __name__ == "__main__":
    try:
        write_benchmarks(ROOT / "results" / "benchmarks")
        write(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "results" / "default"))
    except UserError as error:
        sys.exit(str(error))
