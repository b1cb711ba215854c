"""WorldSense's tables."""

from worldprobe.benchmarks.worldsense.contracts.responses import Responses
from worldprobe.benchmarks.worldsense.contracts.statistics import Comparisons, Reproduction, Summaries
from worldprobe.benchmarks.worldsense.contracts.trials import Trials

__all__ = ["Comparisons", "Reproduction", "Responses", "Summaries", "Trials"]
