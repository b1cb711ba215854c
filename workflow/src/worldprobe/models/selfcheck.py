"""Which fast pass gives the plain pass's numbers for the loaded model: measured at load, never assumed.

Whether a pass computes the same function is decided in float32, whatever the model's precision: in bfloat16 a pass that reads
a wrong position or another text's state may be as near to the plain pass as rounding is. Each module's weights are widened while
it runs, so that no second model is in memory. What a sound pass may differ by in the model's own precision is measured too: it
is hardly farther from float32 than the plain pass is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models.answers import ensure_finite
from worldprobe.models.batching import is_out_of_memory
from worldprobe.models.forward import Passes, Sequenced
from worldprobe.models.prefix_trie import pack

#: Fast to slow. tries: shared prefixes once. batches: right padding, projection at targets only. logits: the model's own logits.
MODES = ("tries", "batches", "logits", "plain")
#: Largest difference of a token's log probability from the plain pass, both in float32, nats.
TOLERANCE = 2e-4
#: How much farther from float32 than the plain pass, on average, a fast one may be in half precision (see docs/scoring.md).
ROUNDING = 3.0
HALF = (torch.bfloat16, torch.float16)
#: Share of it by which what comes later may move a token's log probability: two passes of one shape round alike.
CAUSAL_SHARE = 0.1
#: What a model's code raises when it does not take a mask, positions or a cache as we give them, or memory lacks.
REFUSALS = (RuntimeError, ValueError, TypeError, AttributeError, IndexError, ImportError, MemoryError)


def probes(vocabulary: int, longest: int) -> list[Sequenced]:
    """A few sequences of unequal length that share prefixes as real queries do, from tokens spread over the vocabulary."""
    length = max(min(24, longest) - 1, 3)
    base = tuple((7919 * (i + 1)) % vocabulary for i in range(length))
    other = tuple((104729 * (i + 3)) % vocabulary for i in range(length))
    third = length // 3
    return [
        (base, max(2 * third, 1)),
        (base[: 2 * third] + other[2 * third : -1], max(2 * third, 1)),
        (base[:third] + other[third : 2 * third + 1], max(third, 1)),
        (other, max(third, 1)),
        (other[: third + 1], 1),
    ]


def cannot_compute(name: str, error: Exception) -> UserError:
    """What to say of a model that was loaded and fails at its first pass."""
    reason = _first_line(error)
    if is_out_of_memory(error):
        return UserError(
            name,
            f"was loaded, but memory does not suffice for its first text ({reason}).",
            "Give it more GPUs, GPUs that nothing else uses, or a smaller dtype.",
        )
    return UserError(
        name,
        f"was loaded, but cannot compute ({type(error).__name__}: {reason}).",
        "Check config.json.",
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no message"])[0][:200]


def refuse_lack_of_memory(error: Exception) -> None:
    """Raise UserError where memory lacks: what else a machine does must not decide how a model is computed."""
    if is_out_of_memory(error):
        problem = f"memory does not suffice to check the loaded model ({_first_line(error)})."
        raise UserError("self-check", problem, "Give it more GPUs, GPUs that nothing else uses, or a smaller dtype.") from error


@contextmanager
def in_float32(model: Any) -> Iterator[None]:
    """A model in half precision computes in float32 meanwhile; one in float32 is left as it is.

    A layer's weights are widened while it runs, all others (embeddings, head) until the end; then they are the same bits again.
    """
    listed = {layer for modules in model.modules() if isinstance(modules, torch.nn.ModuleList) for layer in modules}
    inside = {part for layer in listed for part in layer.modules() if part is not layer}
    kept: dict[Any, list[tuple[torch.Tensor, torch.Tensor]]] = {}
    hooks = []

    def widen(module: Any, arguments: tuple[Any, ...] = ()) -> tuple[Any, ...]:
        recurse = module in listed
        own = (*module.parameters(recurse=recurse), *module.buffers(recurse=recurse))
        with torch.inference_mode(False), torch.no_grad():
            kept[module] = [(tensor, tensor.data) for tensor in own if tensor.dtype in HALF]
            for tensor, data in kept[module]:
                tensor.data = data.float()
        return tuple(a.float() if isinstance(a, torch.Tensor) and a.dtype in HALF else a for a in arguments)

    def narrow(module: Any, *_: Any) -> None:
        for tensor, data in kept.pop(module, ()):
            tensor.data = data

    try:
        for module in model.modules():
            if module in inside:
                continue
            if module in listed:
                hooks.append(module.register_forward_pre_hook(widen))
                hooks.append(module.register_forward_hook(narrow, always_call=True))
            else:
                widen(module)
        yield
    finally:
        for handle in hooks:
            handle.remove()
        for module in list(kept):
            narrow(module)


class Yardstick:
    """What the plain pass says of the probes, in the model's own precision and in float32.

    Args:
        model: of transformers, in evaluation mode.
        plain: the plain pass over all probes.
        name: the model's name, for messages.

    Raises:
        UserError: the model cannot compute at all, e.g. for a configuration that contradicts itself.
    """

    def __init__(self, model: Any, plain: Callable[[], list[list[float]]], name: str) -> None:
        self.model = model
        self.is_half = any(weight.dtype in HALF for weight in model.parameters())
        try:
            self.own = self.exact = plain()
        except Exception as error:  # a model's code fails in ways of its own
            raise cannot_compute(name, error) from error
        ensure_finite(self.own, name)
        self.has_exact = True
        if self.is_half:
            try:
                with in_float32(model):
                    self.exact = plain()
            except REFUSALS as error:
                refuse_lack_of_memory(error)
                self.has_exact = False
                LOGGER.info("self-check: this model cannot be computed in float32 (%s)", type(error).__name__)

    def measure(self, name: str, fast: Callable[[], list[list[float]]]) -> tuple[bool, float]:
        """Is a fast pass the plain pass's equal, and by how much do they differ in float32, nats?"""
        if not self.has_exact:
            return False, math.inf
        try:
            with in_float32(self.model):
                difference = largest_difference(self.exact, fast())
            farther = 0.0
            if self.is_half and difference <= TOLERANCE:
                farther = mean_difference(self.exact, fast()) / max(mean_difference(self.exact, self.own), TOLERANCE)
        except REFUSALS as error:
            refuse_lack_of_memory(error)
            LOGGER.info("self-check: %s is not supported by this model (%s)", name, type(error).__name__)
            return False, math.inf
        agrees = difference <= TOLERANCE and farther <= ROUNDING  # both false of NaN
        LOGGER.info(
            "self-check: %s differs from the plain pass by %.1e nats%s: %s",
            name,
            difference,
            f" in float32, and is {farther:.1f} times as far from it in half precision" if self.is_half else "",
            "used" if agrees else "not used",
        )
        return agrees, difference


def ensure_causal(passes: Passes, sequences: Sequence[Sequenced], name: str) -> None:
    """Refuse a model whose log probabilities of a token depend on later tokens, such as an encoder.

    The last third of a sequence is exchanged: what the model says of the first two thirds must stay, to a fraction of the
    tolerance, as both passes have the same shape.

    Raises:
        UserError: it does not stay.
    """
    ids, other = sequences[0][0], sequences[3][0]
    kept = max(2 * len(ids) // 3, 2)
    before = passes.plain(ids, 1)[: kept - 1]
    after = passes.plain((*ids[:kept], *other[kept:]), 1)[: kept - 1]
    if largest_difference([before], [after]) > TOLERANCE * CAUSAL_SHARE:
        raise UserError(
            name,
            "is not a causal language model: its log probabilities of a token depend on the tokens that follow.",
            "Give a model that continues a text, such as GPT-2 or Llama; or, if it is a decoder, set is_decoder in config.json; "
            "or, if it is a masked model such as BERT, say so: kind: masked (--kind masked).",
        )


def choose_mode(
    passes: Passes, sequences: Sequence[Sequenced], yardstick: Yardstick, fastest: str = "tries"
) -> tuple[str, dict[str, float]]:
    """The fastest mode that agrees with the plain pass, and the largest difference of each mode that was tried, in float32.

    Args:
        passes: the model's passes.
        sequences: the probes.
        yardstick: what the plain pass says of them.
        fastest: the first mode to try.
    """

    def by_tries() -> list[list[float]]:
        found = dict(passes.rows(pack(sequences, 4 * len(sequences[0][0])), sequences))
        return [found[i] for i in range(len(sequences))]

    ways: dict[str, Callable[[], list[list[float]]]] = {
        "tries": by_tries,
        "batches": lambda: passes.padded(sequences),
        "logits": lambda: passes.padded(sequences, own_head=True),
    }
    differences: dict[str, float] = {}
    for mode in MODES[MODES.index(fastest) : -1]:
        agrees, differences[mode] = yardstick.measure(mode, ways[mode])
        if agrees:
            return mode, differences
    return "plain", differences


def check_cache(passes: Passes, sequences: Sequence[Sequenced], mode: str) -> tuple[bool, float]:
    """Does a sequence whose beginning comes from a cache end in the same logits, and by how much do they differ?"""
    ids = sequences[0][0]
    tokens = sorted(set(ids))
    middle = len(ids) // 2
    own_head = mode == "logits"
    try:
        expected = passes.next_padded([ids], tokens, own_head)
        beginning = passes.prefix(ids[:middle])
        difference = largest_difference(expected, passes.next_cached([ids[middle:]], tokens, beginning, own_head))
        if mode == "tries":
            rows = pack([((*ids[middle:], 0), len(ids) - middle)], len(ids))
            difference = max(difference, largest_difference(expected, [passes.next_in_rows(rows, tokens, beginning)[0][1]]))
    except REFUSALS as error:
        refuse_lack_of_memory(error)
        LOGGER.info("self-check: prefix caching is not supported by this model (%s)", type(error).__name__)
        return False, float("inf")
    if difference > TOLERANCE:
        LOGGER.info("self-check: prefix caching moves logits by %.1e, so it is not used", difference)
    return difference <= TOLERANCE, difference


def mean_difference(one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> float:
    """Mean absolute difference of two sets of values, which one token that a router sends elsewhere hardly moves."""
    pairs = [(x, y) for a, b in zip(one, other, strict=True) for x, y in zip(a, b, strict=True)]
    return sum(abs(x - y) for x, y in pairs) / max(len(pairs), 1)


def largest_difference(one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> float:
    """Largest absolute difference of two sets of values; infinite where a value is not a number."""
    largest = 0.0
    for a, b in zip(one, other, strict=True):
        for x, y in zip(a, b, strict=True):
            if x != y:  # true of NaN, which agrees with nothing
                difference = abs(x - y)
                largest = max(largest, difference if difference == difference else float("inf"))
    return largest
