"""WorldSense's tables."""

from worldprobe.benchmarks.worldsense.contracts.responses import Responses
from worldprobe.benchmarks.worldsense.contracts.statistics import Comparisons, Reproduction, Summaries, Trainings
from worldprobe.benchmarks.worldsense.contracts.trials import Trials

__all__ = ["Comparisons", "Reproduction", "Responses", "Summaries", "Trainings", "Trials"]
