"""Options of shared commands that are EWoK's: their help is printed without its tables and figures,
which take long to import.
"""

from __future__ import annotations

from cyclopts import Parameter

from worldprobe.benchmark import Option
from worldprobe.benchmarks.ewok.vocabulary import EVAL_TYPES, GENERATIONS, SHOTS
from worldprobe.cli.options import Compat, MaterialsPlace, Password, ReleaseFilter
from worldprobe.settings.blocks import Block


@Parameter(name="*")
class Options(Block):
    """EWoK's options of ``evaluate``."""

    materials: MaterialsPlace = "builtin"

    password: Password = None

    compat: Compat = False

    release_filter: ReleaseFilter = False

    versions: str | None = None
    """EWoK: first and last version, FIRST-LAST (default: 0-4; only version 0 if --limit is given)
    """


EVAL_TYPE = Option("eval_type", "way of asking, such as logprobs or likert_free_zero", EVAL_TYPES)
METRIC = Option(
    "metric",
    "whether targets are right, with ties one half (accuracy) or wrong (strict), or whether"
    " pairings are (pairing)",
    ("accuracy", "strict", "pairing"),
)
SETUP = Option(
    "setup",
    "prompting set-up, such as free_zero",
    tuple(f"{g}_{s}" for g in GENERATIONS for s in SHOTS),
)
#: What the points of a correlation are -> in words.
POINTS = {"domain_version": "one point per domain and version", "item": "one point per item"}
POINT = Option("points", "what the points are: domain_version or item", tuple(POINTS))
FIT = Option("fit", "which fit: mixed_model or fixed_effects", ("mixed_model", "fixed_effects"))
#: What tables and figures let one choose.
OF_DISPLAYS = (EVAL_TYPE, METRIC, SETUP, POINT, FIT)
