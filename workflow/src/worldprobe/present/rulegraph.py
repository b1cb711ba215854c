"""The workflow's rules as a layered picture, drawn from what ``snakemake --rulegraph`` prints; needs no Graphviz."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

from worldprobe.errors import UserError
from worldprobe.present.pictures import inline_svg

#: Sizes in SVG units, which are pixels at full size.
LINE, PAD, GAP_X, GAP_Y, LETTER = 15, 8, 14, 44, 6.4


def rulegraph_svg(path: Path | str) -> str:
    """The picture of a rule graph: an .svg is taken as it is, DOT text is laid out here.

    Raises:
        UserError: no such file, or neither SVG nor a rule graph.
    """
    path = Path(path)
    if path.suffix == ".svg":
        return inline_svg(path, "The workflow's rules")
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UserError(path, "there is no such file.", "Write it with `snakemake --rulegraph`, or leave it out.") from error
    names = dict(re.findall(r'^\s*(\d+)\s*\[\s*label\s*=\s*"([^"\\]+)', text, flags=re.MULTILINE))
    edges = re.findall(r"^\s*(\d+)\s*->\s*(\d+)", text, flags=re.MULTILINE)
    if not names:
        raise UserError(path, "is no rule graph.", "Write it with `snakemake --rulegraph`.")
    return draw(names, [(a, b) for a, b in edges if a in names and b in names])


def draw(names: dict[str, str], edges: list[tuple[str, str]]) -> str:
    """Boxes in layers from first inputs to last outputs, arrows downwards; arrows that a longer way implies are left out."""
    edges = _reduced(edges)
    layers, routes = _routed(_layers(names, edges), edges)
    layers = _ordered(layers, [step for route in routes for step in pairwise(route)])
    width_of = {node: max(52.0, LETTER * max(map(len, _lines(name))) + 2 * PAD) for node, name in names.items()}
    height_of = {node: float(LINE * len(_lines(name)) + 2 * PAD - 3) for node, name in names.items()}
    for node in (node for layer in layers for node in layer if node not in names):
        width_of[node], height_of[node] = 4.0, 0.0
    total = max(sum(width_of[n] for n in layer) + GAP_X * (len(layer) - 1) for layer in layers) + 2 * GAP_X
    spots: dict[str, tuple[float, float]] = {}
    top = 6.0
    for layer in layers:
        used = sum(width_of[n] for n in layer) + GAP_X * (len(layer) - 1)
        left = (total - used) / 2
        tall = max(height_of[n] for n in layer)
        for node in layer:
            spots[node] = (left + width_of[node] / 2, top + tall / 2)
            left += width_of[node] + GAP_X
        top += tall + GAP_Y
    height = top - GAP_Y + 6
    shapes = [_arrow([spots[node] for node in route], height_of[route[0]], height_of[route[-1]]) for route in routes]
    shapes += [_box(names[n], spots[n], width_of[n], height_of[n]) for n in names]
    label = "The workflow's rules and what each needs"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rulegraph" viewBox="0 0 {total:.0f} {height:.0f}" role="img" '
        f'aria-label="{label}" style="max-width:{total:.0f}px;width:100%">'
        '<defs><marker id="rulegraph-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0.8 L8 4 L0 7.2z" fill="#8a8a8a"/></marker></defs>' + "".join(shapes) + "</svg>"
    )


def _lines(name: str) -> list[str]:
    """A rule's name in one or two lines.

    >>> _lines("figure_accuracy_by_domain"), _lines("judge")
    (['figure accuracy', 'by domain'], ['judge'])
    """
    words = name.replace("_", " ").split(" ")
    if len(name) <= 16 or len(words) == 1:
        return [" ".join(words)]
    cut = min(range(1, len(words)), key=lambda i: abs(len(" ".join(words[:i])) - len(" ".join(words[i:]))))
    return [" ".join(words[:cut]), " ".join(words[cut:])]


def _reduced(edges: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The edges without those that a path of others implies."""
    after: dict[str, set[str]] = {}
    for a, b in edges:
        after.setdefault(a, set()).add(b)

    def reaches(start: str, goal: str) -> bool:
        waiting, seen = [n for n in after.get(start, ()) if n != goal], set()
        while waiting:
            node = waiting.pop()
            if node == goal:
                return True
            if node not in seen:
                seen.add(node)
                waiting.extend(after.get(node, ()))
        return False

    return sorted({(a, b) for a, b in edges if a != b and not reaches(a, b)}, key=lambda edge: (int(edge[0]), int(edge[1])))


def _layers(names: dict[str, str], edges: list[tuple[str, str]]) -> list[list[str]]:
    """Every node one layer below the lowest of its inputs; what only late rules use moves down to them."""
    before: dict[str, list[str]] = {node: [] for node in names}
    after: dict[str, list[str]] = {node: [] for node in names}
    for a, b in edges:
        before[b].append(a)
        after[a].append(b)
    depth: dict[str, int] = {}

    def settle(node: str) -> int:
        if node not in depth:
            depth[node] = 1 + max((settle(a) for a in before[node]), default=-1)
        return depth[node]

    for node in names:
        settle(node)
    for node in sorted(names, key=lambda n: -depth[n]):
        if after[node] and len(after[node]) <= max(len(before[node]), 1):
            depth[node] = min(depth[b] for b in after[node]) - 1
    return [[n for n in names if depth[n] == level] for level in range(max(depth.values()) + 1)]


def _routed(layers: list[list[str]], edges: list[tuple[str, str]]) -> tuple[list[list[str]], list[list[str]]]:
    """The layers with a waypoint in each layer that an arrow passes, and each arrow as its way through them."""
    level = {node: depth for depth, layer in enumerate(layers) for node in layer}
    grown = [list(layer) for layer in layers]
    routes = []
    for a, b in edges:
        route = [a]
        for depth in range(level[a] + 1, level[b]):
            route.append(f"{a}>{b}@{depth}")
            grown[depth].append(route[-1])
        routes.append([*route, b])
    return grown, routes


def _ordered(layers: list[list[str]], edges: list[tuple[str, str]]) -> list[list[str]]:
    """Each layer sorted by the mean place of its neighbours, a few times down and up, which untangles most crossings."""
    near: dict[str, list[str]] = {}
    for a, b in edges:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    for _sweep in range(6):
        for order in (range(len(layers)), range(len(layers) - 1, -1, -1)):
            for level in order:
                place = {n: i / max(len(layer) - 1, 1) for layer in layers for i, n in enumerate(layer)}
                means = {n: sum(place[m] for m in near.get(n, [n])) / len(near.get(n, [n])) for n in layers[level]}
                layers[level] = sorted(layers[level], key=lambda n, means=means: means[n])  # type: ignore[misc]
    return layers


def _arrow(spots: list[tuple[float, float]], from_height: float, to_height: float) -> str:
    """A smooth line from below the first box through the waypoints to the top of the last."""
    points = [(spots[0][0], spots[0][1] + from_height / 2), *spots[1:-1], (spots[-1][0], spots[-1][1] - to_height / 2 - 1)]
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x1, y1), (x2, y2) in pairwise(points):
        bend = (y2 - y1) / 2
        path += f" C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"
    return f'<path d="{path}" fill="none" stroke="#b0b0b0" stroke-width="1.1" marker-end="url(#rulegraph-head)"/>'


def _box(name: str, spot: tuple[float, float], width: float, height: float) -> str:
    x, y = spot
    lines = _lines(name)
    first = y - LINE * (len(lines) - 1) / 2 + 4
    texts = "".join(f'<text x="{x:.1f}" y="{first + LINE * i:.1f}">{line}</text>' for i, line in enumerate(lines))
    rect = f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}" rx="5"/>'
    return f"<g>{rect}{texts}</g>"
