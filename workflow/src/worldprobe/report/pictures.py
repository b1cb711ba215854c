"""Figures inside the page: images in which nothing runs, nothing is fetched, and no id clashes with a neighbour's."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from worldprobe.errors import UserError
from worldprobe.report.markup import find_harm
from worldprobe.report.text_files import read_text

#: Width of a figure across a page's two columns, in points; narrower ones keep their proportion.
FULL_WIDTH = 504.0
SVG = "{http://www.w3.org/2000/svg}svg"
DESCRIPTION = "{http://purl.org/dc/elements/1.1/}description"


@dataclass(frozen=True)
class Picture:
    """A figure of the page.

    Attributes:
        name: stem of its file.
        caption: what a reader must know, also what a screen reader says.
        address: the picture itself, as a ``data:`` address.
        width: percent of the page's width.
    """

    name: str
    caption: str
    address: str
    width: int


def read_picture(path: Path | str, caption: str) -> Picture:
    """Read an SVG file; the note that it carries, such as which models are missing, is added to the caption.

    Raises:
        UserError: the file cannot be read, is not an SVG picture, or would run or fetch something.
    """
    path = Path(path)
    text = read_text(path, "Draw the figure first, or leave it out.")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise UserError(path, "is not an SVG picture.", "Give the .svg file that `worldprobe figure` wrote.") from error
    if root.tag != SVG:
        raise UserError(path, "is not an SVG picture.", "Give the .svg file that `worldprobe figure` wrote.")
    note = root.findtext(f".//{DESCRIPTION}", "").strip()
    # Read without namespace prefixes and with entities resolved, as a browser would.
    harm = find_harm(_plain(root))
    if harm:
        raise UserError(path, f"would run or fetch something: {harm}.", "Give a plain picture; the report opens offline.")
    points = re.fullmatch(r"([\d.]+)(pt|px)?", root.get("width", "").strip())
    width = float(points.group(1)) if points else FULL_WIDTH
    address = "data:image/svg+xml;base64," + base64.b64encode(text.encode("utf-8")).decode("ascii")
    return Picture(path.stem, f"{caption} {note}".strip(), address, 100 if width >= 0.9 * FULL_WIDTH else 62)


def _plain(root: ElementTree.Element) -> str:
    """The element as markup whose names have no namespaces."""
    for element in root.iter():
        if isinstance(element.tag, str):
            element.tag = element.tag.rpartition("}")[2]
        for name in list(element.attrib):
            element.attrib[name.rpartition("}")[2]] = element.attrib.pop(name)
    # Names of vocabularies that describe the file are no addresses.
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag == "metadata"]:
            parent.remove(child)
    return ElementTree.tostring(root, encoding="unicode")
