"""The settings of layer readouts."""

from __future__ import annotations

from worldprobe.settings.blocks import Block, Count, Distinct

#: Version of the computation of ``layers``: a higher number reads again.
METHOD = 1


class Layers(Block):
    """Models whose answers are read after their layers (docs/extras/layers.md)."""

    models: Distinct[str] = []
    """Models of the study whose layers are read: causal ones of the engine transformers."""

    every: Count = 3
    """Distance between layers that are read, counted from the last one; 1 reads each."""
