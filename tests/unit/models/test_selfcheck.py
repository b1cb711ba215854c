"""What the check at load finds: each fault is planted in a model or in a pass, and no way of
computing that has it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from worldprobe.models.forward import ForwardPasses, Prefix  # noqa: E402
from worldprobe.models.generation import RoomyLayer  # noqa: E402
from worldprobe.models.prefix_trie import PackedRow  # noqa: E402
from worldprobe.models.transformers_engine import TransformersEngine, open_engine  # noqa: E402


def without(name: str) -> Callable[[Any, Any, dict[str, Any]], Any]:
    """A model that takes an argument and does not look at it."""
    return lambda module, arguments, options: (
        arguments,
        {key: value for key, value in options.items() if key != name},
    )


def by_batch(module: Any, arguments: Any, outputs: Any) -> Any:
    outputs["last_hidden_state"] = outputs[0] * (1 + 0.01 * (len(outputs[0]) - 1))
    return outputs


def pad_left(self: Any, rows: Any) -> Any:
    width = max(map(len, rows))
    return torch.tensor([[0] * (width - len(row)) + list(row) for row in rows])


def one_late(self: Any, batch: int) -> Any:
    cache = kept(self, batch)
    for layer in cache.layers:
        layer.keys = layer.keys.roll(1, dims=2)
    return cache


def first_rows(self: Any, rows: Any) -> None:
    chosen(self, torch.arange(len(rows)))


kept, chosen = Prefix.cache, RoomyLayer.batch_select_indices


def test_a_sound_model_is_computed_in_the_fastest_way(tiny_checkpoint) -> None:
    engine = open_engine(str(tiny_checkpoint("llama")))
    assert (engine.mode, engine.can_cache, engine.can_pad, engine.can_read_tries) == (
        "tries",
        True,
        True,
        True,
    )


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
@pytest.mark.parametrize(
    ("fault", "mode"),
    [("attention_mask", "batches"), ("position_ids", "batches"), ("batch", "plain")],
)
def test_a_model_that_ignores_a_mask_or_positions_or_looks_at_its_batch(
    tiny_checkpoint, architecture: str, fault: str, mode: str
) -> None:
    engine = open_engine(str(tiny_checkpoint(architecture)))
    body = engine.model.base_model
    if fault == "batch":
        body.register_forward_hook(by_batch)
    else:
        body.register_forward_pre_hook(without(fault), with_kwargs=True)
    engine = TransformersEngine(engine.model, engine.encoder, engine.facts)
    assert (engine.mode, engine.can_pad) == (mode, False)


@pytest.mark.parametrize(
    ("place", "name", "fault", "mode", "agree"),
    [
        (
            PackedRow,
            "ancestors",
            lambda self, width: np.ones((width, width), dtype=bool),
            "batches",
            ["cache", "padding"],
        ),
        (
            PackedRow,
            "depths",
            property(lambda self: list(range(len(self.tokens))), lambda *_: None),
            "batches",
            ["cache", "padding"],
        ),
        (ForwardPasses, "_pad", pad_left, "plain", []),
        (Prefix, "cache", one_late, "tries", []),
        (RoomyLayer, "batch_select_indices", first_rows, "tries", ["cache", "padding"]),
    ],
    ids=[
        "mask",
        "positions",
        "padding on the left",
        "keys of another place",
        "keys of another text",
    ],
)
def test_a_pass_that_is_wrong(
    tiny_checkpoint,
    monkeypatch: pytest.MonkeyPatch,
    place: Any,
    name: str,
    fault: Any,
    mode: str,
    agree: list[str],
) -> None:
    monkeypatch.setattr(place, name, fault, raising=False)
    engine = open_engine(str(tiny_checkpoint("llama")))
    assert engine.mode == mode
    can = {"cache": engine.can_cache, "padding": engine.can_pad, "reading": engine.can_read_tries}
    assert [way for way, is_right in can.items() if is_right] == agree
