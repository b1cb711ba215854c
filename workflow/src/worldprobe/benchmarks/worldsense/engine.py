"""The rules that answer trials, as an engine: ``engine: rule`` in a card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe.engines import EngineType, Offers

if TYPE_CHECKING:
    from worldprobe.models.engine import Engine


#: Of the entry point.
NAME = "rule"


class Rule(EngineType):
    """A rule: no model, but what models are compared with."""

    can = Offers(chat=lambda: True)
    state = "a rule"
    benchmark = "worldsense"
    minutes = 30
    is_model = False

    def open(self, model: Any, skin_folder: Path | None = None) -> Engine:
        """The rule that is called like the checkpoint, for the words of a folder of skins."""
        from worldprobe.benchmarks.worldsense.inference.reference_solvers import open_engine

        return open_engine(model.checkpoint, skin_folder)


RULE = Rule()
