"""The colours that figures and the report share."""

from __future__ import annotations

#: Accuracy from failing (vermilion) over chance (white) to knowing (blue); both ends differ in lightness from the middle.
AROUND_CHANCE = ("#A63A00", "#E58B4A", "#FBE3CF", "#FAFAFA", "#CFE3F1", "#5A9BCB", "#003F72")


def between(stops: tuple[str, ...], share: float) -> str:
    """The colour at a share (0 to 1) of the way through evenly spaced stops.

    >>> between(("#000000", "#ffffff"), 0.5), between(AROUND_CHANCE, 0.5), between(AROUND_CHANCE, 1.0)
    ('#808080', '#fafafa', '#003f72')
    """
    place = min(max(share, 0.0), 1.0) * (len(stops) - 1)
    first = min(int(place), len(stops) - 2)
    low, high = (tuple(int(stop[i : i + 2], 16) for i in (1, 3, 5)) for stop in stops[first : first + 2])
    return "#" + "".join(f"{round(a + (b - a) * (place - first)):02x}" for a, b in zip(low, high, strict=True))


def is_dark(colour: str) -> bool:
    """Whether white text reads better on it than black.

    >>> is_dark("#003f72"), is_dark("#fafafa")
    (True, False)
    """
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.42
