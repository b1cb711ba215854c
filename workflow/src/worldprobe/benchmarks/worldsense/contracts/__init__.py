"""WorldSense's tables."""

from worldprobe.benchmarks.worldsense.contracts.responses import Responses
from worldprobe.benchmarks.worldsense.contracts.trials import Trials

__all__ = ["Responses", "Trials"]
