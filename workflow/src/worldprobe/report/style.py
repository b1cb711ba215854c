"""The look of every figure: sizes for print, colours that colour-blind readers can distinguish,
files that repeat byte for byte.

Figures are drawn on ``matplotlib.figure.Figure`` objects, not through pyplot, so nothing global
survives a drawing. Lengths are inches unless they are called points. Text is DejaVu Sans, which
matplotlib brings along, or where that lacks a letter, a font that is installed. matplotlib is
imported where something is drawn: tidy tables need none.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from worldprobe.errors import UserError
from worldprobe.files import whole_file, write_text
from worldprobe.log import LOGGER
from worldprobe.models.registry import BASELINES
from worldprobe.report.model_names import (
    BASELINES_AND_PEOPLE,
    CONTROL_FAMILY,
    HUMAN,
    RULE_FAMILY,
    Roster,
    sort_by,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch


_SHAPES = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
#: Accuracy from failing (vermilion) over chance (white) to knowing (blue); both ends differ in
#: lightness from the middle.
AROUND_CHANCE = ("#A63A00", "#E58B4A", "#FBE3CF", "#FAFAFA", "#CFE3F1", "#5A9BCB", "#003F72")


def shape(number: int) -> str:
    """The marker of the series with this number."""
    return _SHAPES[number % len(_SHAPES)]


def blend_colours(stops: tuple[str, ...], share: float) -> str:
    """The colour at a share (0 to 1) of the way through evenly spaced stops.

    >>> (
    ...     blend_colours(("#000000", "#ffffff"), 0.5),
    ...     blend_colours(AROUND_CHANCE, 0.5),
    ...     blend_colours(AROUND_CHANCE, 1.0),
    ... )
    ('#808080', '#fafafa', '#003f72')
    """
    position = min(max(share, 0.0), 1.0) * (len(stops) - 1)
    first = min(int(position), len(stops) - 2)
    low, high = (
        tuple(int(stop[i : i + 2], 16) for i in (1, 3, 5)) for stop in stops[first : first + 2]
    )
    return "#" + "".join(
        f"{round(a + (b - a) * (position - first)):02x}" for a, b in zip(low, high, strict=True)
    )


def is_dark(colour: str) -> bool:
    """Whether white text reads better on it than black.

    >>> is_dark("#003f72"), is_dark("#fafafa")
    (True, False)
    """
    red, green, blue = ((int(colour[i : i + 2], 16) / 255) ** 2.2 for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.2  # WCAG's luminance


#: Column widths of common journals and conference papers.
WIDTHS = {"single": 3.35, "double": 7.0}

#: Okabe and Ito's set without black and its yellow, which is too pale for marks on white; then
#: three darker companions.
FAMILY_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#D55E00",
    "#56B4E9",
    "#7A5195",
    "#8C6D1F",
    "#4D4D4D",
)
INK = "#222222"
SOFT_INK = "#6B6B6B"
RULE = "#D5D5D5"
HUMAN_COLOUR = "#222222"
HUMAN_BAND = "#DADADA"
#: Beside published models: trained controls, from the first on, and untrained ones; rules.
CONTROL_COLOURS = ("#4F6272", "#7C8FA0")
UNTRAINED_COLOUR = "#AEBAC5"
RULE_COLOUR = "#9A9A9A"
#: What cannot be told from chance.
GREY = "#BDBDBD"
BASELINE_COLOUR = "#A9A9A9"


SMALL, BODY, TITLE = 5.6, 6.5, 7.2

FORMATS = (".pdf", ".svg", ".png", ".csv")
#: No dates and no software versions in the files: a rerun gives the same bytes.
FILE_METADATA: dict[str, dict[str, str | None]] = {
    ".pdf": {"CreationDate": None, "ModDate": None, "Creator": "worldprobe", "Producer": None},
    ".svg": {"Date": None, "Creator": "worldprobe"},
    ".png": {"Software": None},
}


def apply_settings() -> None:
    """Set matplotlib's defaults for this process; every drawing command calls it once, before it
    draws.

    Raises:
        UserError: the environment's SOURCE_DATE_EPOCH is no number of seconds.
    """
    # A backend that matplotlib does not know, or a file of settings that cannot be read, would stop
    # its import; neither counts here.
    os.environ |= {"MPLBACKEND": "agg", "MATPLOTLIBRC": os.devnull}
    import matplotlib as mpl
    import matplotlib.style

    mpl.use("agg")
    mpl.rcdefaults()
    mpl.style.use(Path(__file__).parent / "assets" / "figures.mplstyle")
    if not os.environ.setdefault("SOURCE_DATE_EPOCH", "0").isdecimal():
        problem = f'is "{os.environ["SOURCE_DATE_EPOCH"]}", and stands for seconds since 1970.'
        raise UserError("SOURCE_DATE_EPOCH", problem, "Unset it, or give a whole number.")


def letters_without_glyph(figure: Figure) -> str:
    """The letters that the figure's fonts lack, which would be drawn as boxes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.draw_without_rendering()
    numbers = {
        number
        for warning in caught
        for number in re.findall(r"^Glyph (\d+) ", str(warning.message))
    }
    return "".join(sorted(chr(int(number)) for number in numbers))


def fonts_with(letters: str) -> list[str]:
    """Names of installed fonts that have these letters between them, as far as there are any; the
    fewest first.
    """
    from matplotlib.font_manager import findSystemFonts, fontManager
    from matplotlib.ft2font import FT2Font

    for file in set(findSystemFonts()) - {
        font.fname for font in fontManager.ttflist
    }:  # installed since the list was cached
        with contextlib.suppress(Exception):  # whatever is wrong with a font
            fontManager.addfont(file)
    # The letters of a font are no setting of its entry: the file is opened. "Last Resort" has a box
    # for every letter.
    listed = sorted(
        fontManager.ttflist, key=lambda font: font.weight == 400
    )  # of a family's weights the regular one counts
    upright = {
        font.name: font.fname
        for font in listed
        if font.style == "normal" and "LastResort" not in font.fname
    }
    has: dict[str, set[str]] = {}
    for name, file in sorted(upright.items()):
        with contextlib.suppress(RuntimeError, OSError):
            has[name] = {chr(number) for number in FT2Font(file).get_charmap()}.intersection(
                letters
            )
    chosen, left = [], set(letters)
    while has and (best := max(has, key=lambda name: len(has[name] & left))) and has[best] & left:
        chosen.append(best)
        left -= has[best]
    return chosen


@cache
def text_width(text: str, points: float) -> float:
    """Width of a line of text in inches, so that margins fit their labels without a trial
    drawing.
    """
    if not text.strip():
        return 0.0
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    # Outline points instead of exact extents: the same but for hairs, and ten times as fast.
    across = TextPath(
        (0, 0), text, size=points, prop=FontProperties(family=rcParams["font.family"])
    ).vertices[:, 0]
    return float(across.max() - across.min()) / 72


def widest(texts: Iterable[str], points: float) -> float:
    """Width of the widest of several lines, in inches."""
    return max((text_width(text, points) for text in texts), default=0.0)


def shortened(text: str, points: float, inches: float) -> str:
    """The text, cut with an ellipsis where it is wider than it may be."""
    if text_width(text, points) <= inches:
        return text
    while text and text_width(text + "…", points) > inches:
        text = text[:-1]
    return text.rstrip(" ,-") + "…"


def fitting(texts: Iterable[str], points: float, inches: float, smallest: float = 4.6) -> float:
    """The size in points, at most ``points``, at which the widest of the texts fits."""
    width = widest(texts, points)
    return points if width <= inches else max(smallest, points * inches / width)


def names(frame: pd.DataFrame) -> dict[str, str]:
    """Model -> its name, of a tidy table."""
    return dict(zip(frame["model"], frame["name"], strict=True))


def label_size(width: str) -> float:
    """Points of the labels in a figure of a named column width."""
    return BODY if width == "double" else SMALL


def canvas(width: str, height: float) -> Figure:
    """An empty white figure of a named column width."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTHS[width], height), facecolor="white")


def axes_at(
    figure: Figure, left: float, top: float, width: float, height: float, **options: object
) -> Axes:
    """Axes at a place given in inches from the figure's upper left corner."""
    full_width, full_height = figure.get_size_inches()
    box = (
        left / full_width,
        1 - (top + height) / full_height,
        width / full_width,
        height / full_height,
    )
    return figure.add_axes(box, **options)  # type: ignore[call-overload]


def grid(
    width: str,
    count: int,
    columns: int,
    tall: float,
    left: float,
    gap: float = 0.14,
    head: float = 0.24,
    foot: float = 0.3,
    right: float = 0.1,
    top: float | None = None,
) -> tuple[Figure, list[Axes], float]:
    """A figure with panels of one size in reading order, and how wide they are; sizes in inches.

    Args:
        width: named column width.
        count: of the panels.
        columns: panels side by side at most.
        tall: height of a panel.
        left: room for the labels of the first column.
        gap: between columns.
        head: above each panel, with what is below the one above it.
        foot: below the last row.
        right: room beside the last column.
        top: above the first row; by default ``head``.
    """
    top = head if top is None else top
    columns = min(count, columns)
    across = (WIDTHS[width] - left - right - gap * (columns - 1)) / columns
    figure = canvas(width, -(-count // columns) * (head + tall) + top - head + foot)
    corners = [
        (left + number % columns * (across + gap), top + number // columns * (head + tall))
        for number in range(count)
    ]
    return figure, [axes_at(figure, x, y, across, tall) for x, y in corners], across


def dots(
    axes: Axes,
    y: Any,
    rows: pd.DataFrame,
    colour: Any,
    x: str = "mean",
    ends: tuple[str, str] = ("ci_low", "ci_high"),
    marker: str = "o",
    size: float = 16,
    faces: Any = None,
    certain: tuple[str, str] | None = None,
    lw: float = 0.9,
) -> None:
    """Marks with intervals; those without are hollow and grey.

    Args:
        axes: where.
        y: vertical places, one per row.
        rows: with the numbers.
        colour: one, or one per row.
        x: column of the marks.
        ends: columns of the intervals' ends.
        marker: form of the marks.
        size: of the marks.
        faces: their inner colours, where these differ.
        certain: columns of the intervals' ends, where lines show something else, as ranges over
            versions do.
        lw: width of the intervals.
    """
    axes.hlines(y, rows[ends[0]], rows[ends[1]], color=colour, lw=lw, zorder=2)
    is_known = rows[x].notna().to_numpy()
    is_hollow = lacks_interval(rows, certain or ends).to_numpy()[is_known]
    edges = _of_each(colour, is_known)
    inner = edges if faces is None else _of_each(faces, is_known)
    rims = edges if faces is not None else _of_each("white", is_known)
    axes.scatter(
        rows[x][is_known],
        np.asarray(y)[is_known],
        s=size,
        marker=marker,
        zorder=3,
        c=np.where(is_hollow, "white", inner).tolist(),
        edgecolors=np.where(is_hollow, GREY, rims).tolist(),
        linewidths=np.where(is_hollow | (faces is not None), 0.8, 0.3).tolist(),
    )


def _of_each(colour: Any, is_known: np.ndarray) -> np.ndarray:
    """The colour of each mark that is drawn, from one colour or one per row."""
    each = [colour] * len(is_known) if isinstance(colour, str) else list(colour)
    return np.array(each, dtype=object)[is_known]


def line(
    axes: Axes,
    x: Any,
    rows: pd.DataFrame,
    colour: str,
    marker: str,
    size: float = 3,
    zorder: float = 2,
    lw: float = 0.8,
    cap: float = 0,
) -> None:
    """Means with intervals, and caps of so many points, that a line joins."""
    ends = np.nan_to_num([rows["mean"] - rows["ci_low"], rows["ci_high"] - rows["mean"]])
    looks: dict[str, Any] = {
        "ms": size,
        "mec": "white",
        "mew": 0.3,
        "lw": lw,
        "elinewidth": 0.75 * lw,
        "capsize": cap,
        "capthick": 0.75 * lw,
        "zorder": zorder,
    }
    axes.errorbar(x, rows["mean"], ends, color=colour, marker=marker, **looks)
    blank(axes, x, rows, marker, size, zorder + 0.1)


def blank(
    axes: Axes,
    x: Any,
    rows: pd.DataFrame,
    marker: str,
    size: float,
    zorder: float = 3,
    ends: tuple[str, str] = ("ci_low", "ci_high"),
) -> None:
    """Hollow marks over those of a line's means that have no interval."""
    is_hollow = lacks_interval(rows, ends).to_numpy()
    positions = np.asarray(x, dtype=float)[is_hollow]
    looks: dict[str, Any] = {"ls": "", "mfc": "white", "mec": GREY, "mew": 0.6, "ms": size}
    axes.plot(positions, rows["mean"][is_hollow], marker=marker, zorder=zorder, **looks)


def lacks_interval(
    rows: pd.DataFrame, ends: tuple[str, str] = ("ci_low", "ci_high")
) -> pd.Series[bool]:
    """Which numbers have no interval, so that nothing is known of how sure they are; such a mark is
    hollow and grey.
    """
    return rows[list(ends)].isna().any(axis=1)


def is_at(rows: pd.DataFrame, value: float) -> pd.Series[bool]:
    """Which means are not shown to differ from a value: their interval contains it, or they have
    none.
    """
    inside = rows["ci_low"].le(value) & rows["ci_high"].ge(value)
    return inside | lacks_interval(rows)


def hollow(*parts: pd.DataFrame, ends: tuple[str, str] = ("ci_low", "ci_high")) -> list[Line2D]:
    """The legend's entry of marks without interval, where there are any."""
    is_any = any(lacks_interval(rows, ends).any() for rows in parts)
    return [mark("o", "white", "no interval", mec=GREY, mew=0.8)] if is_any else []


def name_rows(axes: Axes, labels: Sequence[str], size: float, is_first: bool = True) -> None:
    """A row for each label, downwards; only the first panel shows them."""
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_yticks(range(len(labels)), list(labels) if is_first else [], fontsize=size)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=size)
    axes.spines["left"].set_visible(False)


def dash(axes: Axes, at: float = 0.5, across: bool = False) -> None:
    """A dashed line at chance, upright or across."""
    draw = axes.axhline if across else axes.axvline
    draw(at, color=INK, lw=0.6, dashes=(3, 2), zorder=1)


def people(axes: Axes, rows: pd.DataFrame, across: bool = False) -> None:
    """People's mean in the band of their range, where the rows have them, upright or across."""
    for row in rows[rows.model == HUMAN].to_dict("records"):
        (axes.axhspan if across else axes.axvspan)(
            row["low"], row["high"], color=HUMAN_BAND, lw=0, zorder=0
        )
        (axes.axhline if across else axes.axvline)(
            row["mean"], color=HUMAN_COLOUR, lw=0.7, zorder=0.5
        )


def fitting_limits(
    rows: pd.DataFrame, columns: Sequence[str], around: float = 0.5
) -> tuple[float, float]:
    """The ends of an axis that shows all numbers of some columns and the value that they are
    compared with.
    """
    values = rows[list(columns)].to_numpy(dtype=float)
    low, high = float(np.nanmin(values, initial=around)), float(np.nanmax(values, initial=around))
    pad = max(0.06 * (high - low), 0.015)
    return low - pad, high + pad


def panel_letter(
    axes: Axes,
    letter: str,
    left: float = 0.0,
    up: float = 0.05,
    title: str = "",
    size: float = TITLE,
) -> None:
    """A bold letter at the panel's upper left corner, ``left`` and ``up`` inches outside it, and a
    title right after it.
    """
    from matplotlib.transforms import ScaledTranslation

    for text, right, looks in (
        (letter, 0.0, {"fontsize": 8.5, "fontweight": "bold"}),
        (title, 0.14, {"fontsize": size}),
    ):
        shift = ScaledTranslation(right - left, up, axes.figure.dpi_scale_trans)
        axes.text(0, 1, text, transform=axes.transAxes + shift, ha="left", va="bottom", **looks)


def diverging() -> Colormap:
    """White at chance."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("around_chance", AROUND_CHANCE)


def sequential() -> Colormap:
    """White at nothing."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        "share", ["#FAFAFA", "#CFE3F1", "#5A9BCB", "#00518F", "#002B50"]
    )


def handle(**looks: Any) -> Line2D:
    """An entry of a legend: a line or a mark."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **looks)


def mark(marker: str, colour: str, label: str, **looks: Any) -> Line2D:
    """The legend's entry of a mark."""
    return handle(
        **{
            "marker": marker,
            "ms": 4,
            "color": colour,
            "mec": "white",
            "mew": 0.3,
            "ls": "",
            "label": label,
        }
        | looks
    )


def legend(figure: Figure, handles: Sequence[Any], columns: int, size: float) -> None:
    """The legend below all panels."""
    columns = min(columns, len(handles))
    figure.legend(
        handles=handles,
        loc="lower center",
        ncols=columns,
        fontsize=size,
        bbox_to_anchor=(0.5, 0),
        borderaxespad=0.2,
    )


def corner_note(figure: Figure, text: str, size: float) -> None:
    """A soft line in the lower right corner."""
    figure.text(
        0.995, 0.05 / figure.get_size_inches()[1], text, fontsize=size, ha="right", color=SOFT_INK
    )


AROUND_CHANCE_WORDS = "white: chance (0.5), blue: above, orange: below"


def chance_line(label: str) -> Line2D:
    """The legend's entry of the line at chance."""
    return handle(color=INK, lw=0.6, dashes=(3, 2), label=label)


def human_patch(label: str) -> Patch:
    """The legend's entry of people's band."""
    from matplotlib.patches import Patch

    return Patch(facecolor=HUMAN_BAND, edgecolor=HUMAN_COLOUR, lw=0.5, label=label)


def family_colours(families: Sequence[str]) -> dict[str, str]:
    """A hue for each family, in the order given; from the tenth family on the hues repeat darker,
    and darker still.
    """
    colours = {}
    for number, family in enumerate(dict.fromkeys(families)):
        colour = FAMILY_COLOURS[number % len(FAMILY_COLOURS)]
        colours[family] = with_lightness(colour, 0.75 ** (number // len(FAMILY_COLOURS)) - 1)
    return colours


def looks(colours: Mapping[str, str], by_marks: bool = True) -> dict[str, tuple[str, str]]:
    """Colour and marker of each series; no two series have both in common.

    Args:
        colours: series -> the colour that it should have.
        by_marks: series of one colour keep it and have different markers; else there are no
            markers, and all but the first have other shades, or other hues where there are many.

    >>> looks({"a": "#0072b2", "b": "#0072b2"})
    {'a': ('#0072b2', 'o'), 'b': ('#0072b2', 's')}
    >>> looks({"a": "#0072b2", "b": "#0072b2"}, by_marks=False)
    {'a': ('#0072b2', 'o'), 'b': ('#66aad1', 'o')}
    """
    chosen: dict[str, tuple[str, str]] = {}
    for number, (series, colour) in enumerate(colours.items()):
        others = [
            with_lightness(hue, change)
            for change in (0, -0.25, 0.4, -0.5)
            for hue in FAMILY_COLOURS
        ]
        shades = [colour, with_lightness(colour, 0.4), with_lightness(colour, -0.4), *others]
        marks = (
            [shape(number + offset) for offset in range(len(_SHAPES))] if by_marks else [shape(0)]
        )
        taken = set(chosen.values())
        chosen[series] = next(
            (look for look in product(shades, marks) if look not in taken), (colour, marks[0])
        )
    return chosen


def with_lightness(colour: str, change: float) -> str:
    """A colour mixed with white (positive) or black (negative).

    >>> with_lightness("#808080", 0.5), with_lightness("#808080", -1)
    ('#c0c0c0', '#000000')
    """
    from matplotlib.colors import to_hex, to_rgb

    toward = 1.0 if change > 0 else 0.0
    red, green, blue = (part + abs(change) * (toward - part) for part in to_rgb(colour))
    return to_hex((red, green, blue))


def model_colours(roster: Roster, models: Iterable[str]) -> dict[str, str]:
    """A colour per model: the registry's own, else its family's hue, the smaller the model the
    lighter.

    A model that no registry knows has a hue of its own. Where others made a model, controls are
    slate and rules grey, so that a hue always means a language model.
    """
    models = [model for model in dict.fromkeys(models) if model not in BASELINES_AND_PEOPLE]
    apart = [model for model in models if roster[model].is_control or roster[model].is_rule]
    plain = {}
    if len(apart) < len(models):
        trained = [model for model in apart if roster[model].is_control]
        trained = [model for model in trained if not roster[model].is_untrained]
        plain = {
            model: CONTROL_COLOURS[trained.index(model) % 2] if model in trained else RULE_COLOUR
            for model in apart
        }
        models = [model for model in models if model not in plain]
    families = {
        model: roster[model].family if model in roster.models else model for model in models
    }
    hues = family_colours(list(families.values()))
    colours = {HUMAN: HUMAN_COLOUR} | dict.fromkeys(BASELINES, BASELINE_COLOUR)
    colours |= {
        model: roster[model].colour or (UNTRAINED_COLOUR if roster[model].is_untrained else colour)
        for model, colour in plain.items()
    }
    for family, hue in hues.items():
        members = [model for model in models if families[model] == family]
        sizes = sorted({roster[model].parameters or 0 for model in members}, reverse=True)
        for model in members:
            step = sizes.index(roster[model].parameters or 0)
            lighter = 0.5 * step / max(len(sizes) - 1, 1) if step else 0.0
            shade = UNTRAINED_COLOUR if roster[model].is_untrained else with_lightness(hue, lighter)
            colours[model] = roster[model].colour or shade
    return colours


def model_order(roster: Roster, models: Iterable[str]) -> list[str]:
    """Models in blocks of one family, in the registry's order of families, from small to large;
    controls last.
    """
    inside = [model for model in dict.fromkeys(models) if model not in BASELINES_AND_PEOPLE]
    position = {
        family: min(roster[m].position for m in inside if roster[m].family == family)
        for family in {roster[m].family for m in inside}
    }

    def rank(model: str) -> tuple[bool, bool, int, str, int, int, str]:
        entry = roster[model]
        is_mixed = entry.family == CONTROL_FAMILY
        size = 0 if is_mixed else entry.parameters or 0
        return (
            is_mixed,
            not entry.is_untrained,
            position[entry.family],
            entry.family,
            size,
            entry.position,
            model,
        )

    return sorted(inside, key=rank)


def with_identity(rows: pd.DataFrame, roster: Roster) -> pd.DataFrame:
    """The rows with each model's name, family, parameters and colour added, sorted into the models'
    order.

    Humans come first and baselines last, where they are present.
    """
    present = set(rows.model)
    baselines = [model for model in BASELINES if model in present]
    order = [HUMAN] * (HUMAN in present) + model_order(roster, rows.model) + baselines
    colours = model_colours(roster, order)
    named = rows.assign(
        name=roster.names(rows.model),
        family=rows.model.map(lambda model: roster[model].family),
        parameters=pd.array([roster[model].parameters for model in rows.model], dtype="Int64"),
        colour=rows.model.map(colours),
    )
    return sort_by(named, "model", order).reset_index(drop=True)


def are_rules(frame: pd.DataFrame) -> pd.Series[bool]:
    """Which rows of ``with_identity`` are of rules beside models: these are thin and grey."""
    is_rule = frame["family"] == RULE_FAMILY
    return is_rule & (not is_rule.all())


def write(figure: Figure, csv: str, paths: Sequence[Path | str]) -> None:
    """Write the figure and the CSV it was drawn from, each path in the form its suffix names.

    Args:
        figure: to be written.
        csv: the numbers in it.
        paths: outputs.

    Raises:
        UserError: a suffix other than .pdf, .svg, .png, .csv.
    """
    targets = [Path(path) for path in paths]
    for path in targets:
        if path.suffix not in FORMATS:
            raise UserError(
                path,
                f'"{path.suffix}" is not a form of a figure.',
                f"Give names that end in {', '.join(FORMATS)}.",
            )
    for path in targets:
        if path.suffix == ".csv":
            write_text(path, csv)
            continue
        with whole_file(path) as temporary:
            figure.savefig(
                temporary,
                format=path.suffix[1:],
                metadata=FILE_METADATA[path.suffix],
            )


def to_csv(frame: pd.DataFrame) -> str:
    """The tidy table as text, nine significant digits."""
    return frame.to_csv(index=False, float_format="%.9g", lineterminator="\n")


def from_csv(text: str, is_text: Mapping[str, bool]) -> pd.DataFrame:
    """The tidy table as the drawing functions take it.

    A text field is taken letter by letter: a concept named "null" is not missing, and a column of
    empty fields is text too.

    Args:
        text: of the CSV file.
        is_text: column -> whether it contains text; all others contain numbers, or nothing.
    """
    frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    numbers = {
        column: pd.to_numeric(frame[column]) for column in frame.columns if not is_text[column]
    }
    return frame.assign(**numbers)


def text_columns(frame: pd.DataFrame) -> dict[str, bool]:
    """Which columns of a tidy table contain text; yes and no are text."""
    types = pd.api.types
    return {
        str(name): not types.is_numeric_dtype(kind) or types.is_bool_dtype(kind)
        for name, kind in frame.dtypes.items()
    }


def write_forms(
    frame: pd.DataFrame,
    draw: Callable[..., Figure],
    paths: Sequence[Path | str],
    mark: Mapping[str, str] | None = None,
    **options: object,
) -> None:
    """Write a figure in every form that ``paths`` names by suffix (.pdf, .svg, .png, .csv).

    Args:
        frame: the tidy table; only what its CSV text contains reaches the drawing.
        draw: a drawing function of this package.
        paths: outputs.
        mark: words across the whole figure, and a column of the CSV with them; none by default.
        options: passed to ``draw``.
    """
    apply_settings()
    from matplotlib import rcParams

    text, kinds = to_csv(frame), text_columns(frame)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph ")  # told below, once
        figure = draw(from_csv(text, kinds), **options)
        if (letters := letters_without_glyph(figure)) and (fonts := fonts_with(letters)):
            rcParams["font.family"] = [*rcParams["font.family"], *fonts]
            text_width.cache_clear()
            figure = draw(from_csv(text, kinds), **options)
            letters = letters_without_glyph(figure)
        if letters:
            LOGGER.warning(
                "Letters that no installed font has are boxes: %s. Install a font that has them,"
                " e.g. of Noto (fonts-noto-core, fonts-noto-cjk).",
                letters[:20],
            )
        for column, words in (mark or {}).items():
            figure.text(0.5, 0.5, f"{column}: {words}", **WATERMARK)
        write(figure, to_csv(frame.assign(**mark)) if mark else text, paths)


#: How words across a figure look.
WATERMARK: dict[str, Any] = {
    **{"ha": "center", "va": "center", "fontsize": 30, "rotation": 20, "alpha": 0.18},
    **{"color": "#B2182B", "zorder": 1000},
}
MISSING_COLOUR = "#E4E4E4"


def draw_matrix(
    axes: Axes,
    matrix: pd.DataFrame,
    size: float,
    texts: Sequence[Sequence[str]] | None = None,
    text_size: float | None = None,
    colours: Colormap | None = None,
    limits: tuple[float, float] = (0.0, 1.0),
) -> None:
    """Fill the axes with a matrix: rows downwards, column labels on top; missing cells are grey.

    Args:
        axes: empty axes.
        matrix: numbers, with the labels of rows and columns.
        size: points of all labels.
        texts: of the cells.
        text_size: their size in points, by default that of the labels.
        colours: colour map over ``limits``; by default the one around chance.
        limits: values of the map's two ends.
    """
    from matplotlib.colors import Normalize, to_hex

    values = matrix.to_numpy(dtype=float)
    height, width = values.shape
    scale = Normalize(*limits)
    palette = (colours or diverging()).with_extremes(bad=MISSING_COLOUR)
    axes.pcolormesh(
        np.arange(width + 1),
        np.arange(height + 1),
        np.ma.masked_invalid(values),
        cmap=palette,
        norm=scale,
        edgecolors="white",
        linewidth=0.35,
    )
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.xaxis.tick_top()
    axes.set_xticks(np.arange(width) + 0.5, list(matrix.columns), fontsize=size)
    axes.set_yticks(np.arange(height) + 0.5, list(matrix.index), fontsize=size)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for (i, j), value in np.ndenumerate(values):
        if texts is not None and not np.isnan(value):
            axes.text(
                j + 0.5,
                i + 0.53,
                texts[i][j],
                ha="center",
                va="center",
                fontsize=text_size or size,
                color="white" if is_dark(to_hex(palette(scale(value)))) else INK,
            )


#: How the picture of a figure begins that has nothing to show; the reason follows.
NOTHING = "Nothing to draw: "


def draw_sentence(frame: pd.DataFrame, width: str = "double") -> Figure:
    """Why there is nothing to draw.

    Args:
        frame: its only cell, ``why``, says so.
        width: "single" or "double".
    """
    size = label_size(width)
    lines = textwrap.wrap(f"{NOTHING}{frame['why'].iloc[0]}", 95 if width == "double" else 45)
    figure = canvas(width, 0.3 + 1.5 * size / 72 * len(lines))
    figure.text(0.02, 0.5, "\n".join(lines), fontsize=size, va="center", color=SOFT_INK)
    return figure


def numbers(matrix: pd.DataFrame) -> list[list[str]]:
    """The numbers of a matrix as they are printed in its cells."""
    return [[f"{value:.2f}" for value in row] for row in matrix.to_numpy(dtype=float)]
