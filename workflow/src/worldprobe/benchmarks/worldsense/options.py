"""Options of shared commands that are WorldSense's: their help is printed without its tables and
figures, which take long to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from cyclopts import Parameter

from worldprobe.benchmarks.worldsense.skins.vocabulary import PLANS
from worldprobe.settings.blocks import Block, Count

if TYPE_CHECKING:
    TestSet = str
else:  # those of extensions, too
    TestSet = Literal[tuple(name for name in PLANS if name.startswith("test"))]


@Parameter(name="*")
class Options(Block):
    """WorldSense's options of ``evaluate``."""

    per_cell: Count = 1
    """WorldSense: number of tuples for each combination of problem, size, complexity, skin and
    wording; 1 gives 2,808 trials, 31 all 87,048
    """

    trial_set: TestSet = "test"
    """WorldSense: set of trials"""
