"""worldprobe: does a language model know how the world works?

Two benchmarks over one set of parts: EWoK (arXiv 2405.09605) and WorldSense (arXiv 2311.15930).
Every stage is one module here, one command of ``worldprobe`` and one rule of the workflow.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
#: Functions for notebooks and scripts; they are in worldprobe.library, which is imported when one
#: of them is used.
__all__ = ["compare_models", "load_model", "score_items", "score_texts"]


def __getattr__(name: str) -> Any:
    """A function of the library."""
    if name not in __all__:
        raise AttributeError(f"module 'worldprobe' has no attribute '{name}'")
    return getattr(import_module("worldprobe.library"), name)
