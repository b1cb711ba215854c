"""Figures as they stand inside the page: inline SVG that fetches nothing and cannot disturb its neighbours."""

from __future__ import annotations

import re
from pathlib import Path

from worldprobe.errors import UserError

#: Width of a figure that stands across a page's two columns, in points; narrower ones keep their proportion.
FULL_WIDTH = 504.0


def inline_svg(path: Path | str, title: str) -> str:
    """The file's ``<svg>`` element with its ids made unique by the file's name.

    Args:
        path: an SVG file.
        title: what a screen reader says.

    Raises:
        UserError: no such file, or no SVG, or one that would fetch something or run a script.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError(path, "there is no such file.", "Draw the figure first, or leave it out.") from error
    match = re.search(r"<svg\b.*</svg>", text, flags=re.DOTALL)
    if match is None:
        raise UserError(path, "holds no SVG picture.", "Give the .svg file that `worldprobe figure` wrote.")
    svg = re.sub(r"<metadata>.*?</metadata>|<style\b.*?</style>|<!--.*?-->", "", match.group(0), flags=re.DOTALL)
    if re.search(r"<(script|image|foreignObject)\b[^>]*(https?:)?", svg) and re.search(
        r"<script|<foreignObject|https?://(?!www\.w3\.org)", svg
    ):
        raise UserError(path, "holds a script or fetches something.", "Give a plain picture; the report opens offline.")
    prefix = re.sub(r"\W", "-", path.stem) + "-"
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', svg)
    svg = re.sub(r'((?:xlink:)?href)="#([^"]+)"', rf'\1="#{prefix}\2"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", svg)
    return _with_size(svg, title)


def _with_size(svg: str, title: str) -> str:
    """Width by style instead of attributes, so that the page can scale the picture; a title for those who cannot see it."""
    head, rest = svg.split(">", 1)
    points = re.search(r'\bwidth="([\d.]+)(pt|px)?"', head)
    width = float(points.group(1)) if points else FULL_WIDTH
    share = 100 if width >= 0.9 * FULL_WIDTH else 62
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    safe = title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return f'{head} role="img" aria-label="{safe}" style="width:{share}%">{rest}'
