"""Which fast pass gives the plain pass's numbers for the loaded model: measured at load, never
assumed.

Whether a pass computes the same function is decided in float32, whatever the model's precision: in
bfloat16 a pass that reads a wrong position or another text's state may be as near to the plain pass
as rounding is. Each module's weights are widened while it runs, so that no second model is in
memory. What a sound pass may differ by in the model's own precision is measured too: it is hardly
farther from float32 than the plain pass is.

On a CPU each pass in float32 costs what reading and widening all weights does, so probes are few,
and what only written answers need (caches, padding) is checked when the first is asked for.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from worldprobe.errors import MachineError, UserError
from worldprobe.log import LOGGER
from worldprobe.models.answers import ensure_finite
from worldprobe.models.batching import is_out_of_memory
from worldprobe.models.forward import ForwardPasses, Sequenced
from worldprobe.models.generation import Batch, CutRows, one_by_one
from worldprobe.models.prefix_trie import pack_sequences, shared

#: Fast to slow. tries: shared prefixes once. batches: right padding, projection at targets only.
#: logits: the model's own logits.
MODES = ("tries", "batches", "logits", "plain")
#: Modes, and ways to keep and to pad what is read, as the log calls them.
TITLES = {
    "tries": "prefix sharing",
    "batches": "batching",
    "logits": "batching with the model's own logits",
    "gaps": "batching of gaps",
    "cache": "prefix cache",
    "padding": "left padding",
    "reading": "prefix sharing of prompts",
}
#: Largest difference of a token's log probability from the plain pass, both in float32, nats.
TOLERANCE = 2e-4
#: How much farther from float32 than the plain pass a fast one may be in half precision, on average
#: (docs/appendix/speed.md).
ROUNDING = 3.0
HALF = (torch.bfloat16, torch.float16)
#: Share of it by which what comes later may move a token's log probability: two passes of one shape
#: round alike.
CAUSAL_SHARE = 0.1
#: What a model's code raises when it does not take a mask, positions or a cache as we give them, or
#: memory lacks.
REFUSALS = (
    RuntimeError,
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
    ImportError,
    MemoryError,
)


def probes(vocabulary: int, longest: int) -> list[Sequenced]:
    """A few sequences of unequal length that share prefixes as real queries do, from tokens spread
    over the vocabulary.
    """
    length = max(min(24, longest) - 1, 3)
    base = tuple((7919 * (i + 1)) % vocabulary for i in range(length))
    other = tuple((104729 * (i + 3)) % vocabulary for i in range(length))
    third = length // 3
    # The first two have one length and differ in their last third only: see ``ensure_causal``.
    return [(base, third), (base[: 2 * third] + other[2 * third :], third), (other[: third + 1], 1)]


def cannot_compute(name: str, error: Exception) -> UserError:
    """The error of a model that was loaded and fails at its first pass."""
    reason = _first_line(error)
    if is_out_of_memory(error):
        return MachineError(
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
    """Raise UserError where memory lacks: what else a machine does must not decide how a model is
    computed.
    """
    if is_out_of_memory(error):
        problem = f"memory does not suffice to check the loaded model ({_first_line(error)})."
        raise MachineError(
            "self-check",
            problem,
            "Give it more GPUs, GPUs that nothing else uses, or a smaller dtype.",
        ) from error


@contextmanager
def in_float32(model: Any) -> Iterator[None]:
    """A model in half precision computes in float32 meanwhile; one in float32 is left as it is.

    A layer's weights are widened while it runs, all others (embeddings, head) until the end; then
    they are the same bits again. The layers take turns with the same memory.
    """
    listed = {
        layer
        for modules in model.modules()
        if isinstance(modules, torch.nn.ModuleList)
        for layer in modules
    }
    inside = {part for layer in listed for part in layer.modules() if part is not layer}
    kept: dict[Any, list[tuple[torch.Tensor, torch.Tensor]]] = {}
    spare: defaultdict[tuple[torch.Size, torch.device], list[torch.Tensor]] = defaultdict(list)
    hooks = []

    def wide(data: torch.Tensor) -> torch.Tensor:
        spares = spare[data.shape, data.device]
        return (spares.pop() if spares else torch.empty_like(data, dtype=torch.float32)).copy_(data)

    def widen(module: Any, arguments: tuple[Any, ...] = ()) -> tuple[Any, ...]:
        recurse = module in listed
        tensors = (*module.parameters(recurse=recurse), *module.buffers(recurse=recurse))
        with torch.inference_mode(False), torch.no_grad():
            kept[module] = [(tensor, tensor.data) for tensor in tensors if tensor.dtype in HALF]
            for tensor, data in kept[module]:
                tensor.data = wide(data)
        return tuple(
            a.float() if isinstance(a, torch.Tensor) and a.dtype in HALF else a for a in arguments
        )

    def narrow(module: Any, *_: Any) -> None:
        for tensor, data in kept.pop(module, ()):
            spare[data.shape, data.device].append(tensor.data)
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


class Reference:
    """The plain pass over the probes, in the model's own precision and in float32.

    Args:
        model: of transformers, in evaluation mode.
        plain: the plain pass over all probes.
        name: the model's name, for messages.

    Raises:
        UserError: the model cannot compute at all, e.g. for a configuration that contradicts
            itself.
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
                LOGGER.info("fast paths disabled: no float32 pass (%s)", type(error).__name__)

    def choose(
        self, ways: Mapping[str, Callable[[], list[list[float]]]]
    ) -> tuple[str, dict[str, str]]:
        """The first way that agrees with the plain pass, else "plain"; and the largest difference
        of each that was tried.
        """
        differences: dict[str, str] = {}
        for name, way in ways.items():
            agrees, difference = self.measure(name, way)
            differences[name] = f"{difference:.1g}"
            if agrees:
                return name, differences
        return "plain", differences

    def measure(self, name: str, fast: Callable[[], list[list[float]]]) -> tuple[bool, float]:
        """Is a fast pass the plain pass's equal, and by how much do they differ in float32,
        nats?
        """
        if not self.has_exact:
            return False, math.inf
        try:
            with in_float32(self.model):
                difference = largest_difference(self.exact, fast())
            farther = 0.0
            if self.is_half and difference <= TOLERANCE:
                farther = mean_difference(self.exact, fast()) / max(
                    mean_difference(self.exact, self.own), TOLERANCE
                )
        except REFUSALS as error:
            refuse_lack_of_memory(error)
            LOGGER.info(
                "%s is not supported by this model (%s)", TITLES[name], type(error).__name__
            )
            return False, math.inf
        agrees = difference <= TOLERANCE and farther <= ROUNDING  # both false of NaN
        half = f" in float32, {farther:.1f} times the plain pass's own in half precision"
        _log(name, agrees, f"{difference:.1e} nats{half if self.is_half else ''}")
        return agrees, difference


def _log(name: str, agrees: bool, error: str) -> None:
    LOGGER.info("%s %s (max. error %s)", TITLES[name], "enabled" if agrees else "disabled", error)


def ensure_causal(reference: Reference, sequences: Sequence[Sequenced], name: str) -> None:
    """Refuse a model whose log probabilities of a token depend on later tokens, such as an encoder.

    The first two probes differ in their last third: what the model says of the tokens before it
    must be the same, to a fraction of the tolerance, as both passes have the same shape.

    Raises:
        UserError: it is not.
    """
    start = sequences[0][1]
    first, second = (
        values[: shared(sequences[0][0], sequences[1][0]) - start] for values in reference.exact[:2]
    )
    if largest_difference([first], [second]) > TOLERANCE * CAUSAL_SHARE:
        raise UserError(
            name,
            "is not a causal language model: its log probabilities of a token depend on the tokens"
            " that follow.",
            "Give a model that continues a text, such as GPT-2 or Llama; or, if it is a decoder,"
            " set is_decoder in config.json; or, if it is a masked model such as BERT, say so:"
            " kind: masked (--kind masked).",
        )


def choose_mode(
    passes: ForwardPasses,
    sequences: Sequence[Sequenced],
    reference: Reference,
    fastest: str = "tries",
) -> tuple[str, dict[str, str]]:
    """The fastest mode that agrees with the plain pass, and the largest difference of each mode
    that was tried, in float32.

    Args:
        passes: the model's passes.
        sequences: the probes.
        reference: what the plain pass says of them.
        fastest: the first mode to try.
    """

    def by_tries() -> list[list[float]]:
        # The last probe twice: next to others in their row, and in a row of its own, which is
        # padded.
        *_, last = sequences
        rows, [padded] = (
            pack_sequences(some, 4 * len(sequences[0][0])) for some in (sequences, [last])
        )
        padded.members = [len(sequences)]
        *others, beside, alone = (
            values for _, values in sorted(passes.rows([*rows, padded], [*sequences, last]))
        )
        return [
            *others,
            max(
                beside, alone, key=lambda values: largest_difference([values], reference.exact[-1:])
            ),
        ]

    ways: dict[str, Callable[[], list[list[float]]]] = {
        "tries": by_tries,
        "batches": lambda: passes.padded(sequences),
        "logits": lambda: passes.padded(sequences, own_head=True),
    }
    return reference.choose({mode: ways[mode] for mode in MODES[MODES.index(fastest) : -1]})


def check_caches(
    passes: ForwardPasses, ids: Sequence[int], mode: str
) -> Iterator[tuple[str, bool]]:
    """Ways to keep and to pad what is read while answers are written, and whether logits stay those
    of the plain pass.

    ``cache``: beginnings come from a cache. ``padding``: prompts of unequal length are padded on
    the left. ``reading``: they are read as tries. Each is tried when it is asked for, and only
    where the one before it agrees; none in plain mode.

    Args:
        passes: the model's passes.
        ids: a probe.
        mode: how the model is computed.
    """
    third, own_head = len(ids) // 3, mode == "logits"
    rows = [list(ids), [*ids[:third], *ids[-third:]]]
    if mode == "plain":
        return
    # Behind each row, and behind each row and its own first token again.
    with in_float32(passes.model):
        expected = list(
            zip(*(passes.logits_behind([*row, row[0]], 2) for row in rows), strict=True)
        )

    def cached() -> float:
        prefix = passes.prefix(ids[:third])
        rest = torch.tensor([list(ids[third:])], device=passes.device)
        pairs = [(passes.next_all(rest, prefix.cache(1), own_head)[0], expected[0][0])]
        if mode == "tries":
            tokens = sorted(set(ids))
            packed = pack_sequences([((*ids[third:], 0), len(ids) - third)], len(ids))
            values = torch.tensor(passes.next_in_rows(packed, tokens, prefix)[0][1])
            pairs.append((values, expected[0][0][tokens].cpu()))
        return farthest(pairs)

    def padded(cut: CutRows | None = None) -> float:
        pairs = []
        for prefix in (None, passes.prefix(ids[:third])):
            batch = Batch(rows, prefix, passes, True, own_head, cut)
            pairs += list(zip(batch.logits(), expected[0], strict=True))
            kept = [1] if prefix else [0, 1]  # the cache must also let go of a row
            batch.go_on(kept, [[rows[k][0]] for k in kept])
            pairs += list(zip(batch.logits(), [expected[1][k] for k in kept], strict=True))
        return farthest(pairs)

    ways: dict[str, Callable[[], float]] = {"cache": cached, "padding": padded}
    if mode == "tries":
        ways["reading"] = lambda: padded(one_by_one)
    for name, way in ways.items():
        try:
            with in_float32(passes.model), torch.inference_mode():
                difference = way()
        except REFUSALS as error:
            refuse_lack_of_memory(error)
            LOGGER.info(
                "%s is not supported by this model (%s)", TITLES[name], type(error).__name__
            )
            return
        agrees = difference <= TOLERANCE
        _log(name, agrees, f"{difference:.1e} in logits")
        yield name, agrees
        if not agrees:
            return


def farthest(pairs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> float:
    """Largest absolute difference of pairs of logits; infinite where something is not finite."""
    largest = max(float((first - second.to(first.device)).abs().max()) for first, second in pairs)
    return largest if math.isfinite(largest) else math.inf


def mean_difference(one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> float:
    """Mean absolute difference of two sets of values, which one token that a router sends elsewhere
    hardly moves.
    """
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
