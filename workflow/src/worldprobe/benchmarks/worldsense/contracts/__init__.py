"""WorldSense's tables."""

from worldprobe.benchmarks.worldsense.contracts.trials import Trials

__all__ = ["Trials"]
