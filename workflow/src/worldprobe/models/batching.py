"""How much one forward pass takes: a first guess from free memory, halved whenever memory runs out,
and remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import torch

from worldprobe.errors import MachineError, lacks_memory
from worldprobe.log import LOGGER
from worldprobe.models.forward import BLOCK

#: Tokens per forward pass on a CPU, where more brings nothing; the same on every machine, so that
#: scores are too. A narrow model's operations are too short at the first number, and still fit into
#: a processor's cache at the second.
CPU_TOKENS = (512, 2048)
#: Values of a state, times tokens, that one pass takes between the two.
CPU_VALUES = 512 * 768
#: Most tokens per forward pass on a GPU.
GPU_TOKENS = 65_536
#: Share of a GPU's free memory that activations may take, and that cached keys and values may take.
ACTIVATION_SHARE = 0.5
CACHE_SHARE = 0.35
#: Bytes of cached keys and values on a CPU.
CPU_CACHE_BYTES = 1 << 30
#: Most prompts that are continued together: a step's logits are as many rows of the vocabulary.
WRITERS = 256
#: Multiples of it, modulo 1, are spread evenly however many they are.
GOLDEN = (5**0.5 - 1) / 2
Unit = TypeVar("Unit")
Answer = TypeVar("Answer")


def spread(count: int, together: int = 1) -> list[int]:
    """An order of work that is sorted by length: the longest first, as memory does not suffice for
    it if for any, then from all lengths in turn, so that the time that the first tenth took tells
    how long the rest takes.

    Args:
        count: batches.
        together: neighbours that stay side by side.

    >>> spread(8), spread(8, together=3)
    ([0, 5, 2, 7, 4, 1, 6, 3], [0, 1, 2, 6, 7, 3, 4, 5])
    """
    blocks = range(-(-count // together))
    order = sorted(blocks, key=lambda block: block * GOLDEN % 1)
    return [
        index
        for block in order
        for index in range(block * together, min((block + 1) * together, count))
    ]


class Budget:
    """Cuts work into batches.

    Args:
        tokens: tokens per forward pass.
        bytes_per_token: what one of them takes while it is computed.
        cache_bytes: what cached keys and values may take.
        cache_bytes_per_token: what the keys and values of one token take.

    Attributes:
        sequences: most units of a batch.
    """

    def __init__(
        self,
        tokens: int,
        bytes_per_token: int = 0,
        cache_bytes: int = CPU_CACHE_BYTES,
        cache_bytes_per_token: int = 0,
    ) -> None:
        self.tokens, self.bytes_per_token = tokens, bytes_per_token
        self.cache_bytes, self.cache_bytes_per_token = cache_bytes, cache_bytes_per_token
        self.sequences = WRITERS * GPU_TOKENS  # no bound, unless the user sets one

    @property
    def activation_bytes(self) -> int:
        """What one pass takes in addition to the model: activations, mask, and one block of
        logits.
        """
        return self.tokens * self.bytes_per_token

    @classmethod
    def for_model(cls, model: Any, device: torch.device, width: int) -> Budget:
        """A first guess, in powers of two; ``width`` is the length of a packed row."""
        config = model.config.get_text_config()
        # Five of a layer's widest set of values at a time, as measured; a row of the mask; a row of
        # a block of logits.
        inner = (
            getattr(config, "intermediate_size", None) or 4 * config.hidden_size
        )  # one for all layers, or one for each
        values = config.hidden_size * 4 + (inner if isinstance(inner, int) else max(inner))
        bytes_per_token = values * 5 * model.get_input_embeddings().weight.element_size() + 4 * (
            width + BLOCK
        )
        cached = cache_bytes_per_token(config, model.get_input_embeddings().weight.element_size())
        if device.type != "cuda":
            least, most = CPU_TOKENS
            tokens = max(least, min(most, 1 << (CPU_VALUES // config.hidden_size).bit_length() - 1))
            return cls(tokens, bytes_per_token, CPU_CACHE_BYTES, cached)
        free, _ = torch.cuda.mem_get_info(device)
        tokens = int(free * ACTIVATION_SHARE / bytes_per_token)
        tokens = max(width, min(GPU_TOKENS, 1 << (max(tokens, 1).bit_length() - 1)))
        return cls(tokens, bytes_per_token, int(free * CACHE_SHARE), cached)

    def batches(
        self, units: Sequence[Unit], size: Callable[[Unit], int], together: int = 1
    ) -> Iterator[list[Unit]]:
        """Cut units into batches that, padded to the first of each, stay within the budget.

        Where the budget has become smaller, the units that are left are cut anew.

        Args:
            units: longest first.
            size: unit -> tokens.
            together: batches that stay side by side, see ``spread``.
        """
        left = list(units)
        while left:
            tokens, cut, at = self.tokens, list[list[Unit]](), 0
            while at < len(left):
                count = max(1, min(tokens // max(size(left[at]), 1), self.sequences))
                cut.append(left[at : at + count])
                at += count
            waiting = dict(enumerate(cut))
            for index in spread(len(cut), together):
                yield waiting.pop(index)
                if self.tokens != tokens:
                    break
            left = [unit for batch in waiting.values() for unit in batch]

    def writing(
        self, units: Sequence[Unit], read: Callable[[Unit], int] | None, kept: Callable[[Unit], int]
    ) -> Iterator[list[Unit]]:
        """Cut prompts, longest first, into batches that are continued together.

        Args:
            units: prompts.
            read: prompt -> tokens that the first pass reads; None where prompts are read in passes
                of their own.
            kept: prompt -> tokens whose keys and values are kept at the end, the shared beginning
                and the answer included.
        """
        at = 0
        while at < len(units):
            fitting = self.cache_bytes // max(kept(units[at]) * self.cache_bytes_per_token, 1)
            readable = WRITERS if read is None else self.tokens // max(read(units[at]), 1)
            count = max(1, min(readable, fitting, WRITERS, self.sequences))
            yield list(units[at : at + count])
            at += count

    def run(
        self, units: Sequence[Unit], work: Callable[[Sequence[Unit]], list[Answer]]
    ) -> list[Answer]:
        """Do a batch; where memory runs out, do its halves, and take smaller batches from now on.

        Raises:
            UserError: memory does not suffice for the smallest batch.
        """
        try:
            return work(units)
        except (torch.cuda.OutOfMemoryError, MemoryError, RuntimeError) as error:
            first, second = self._halves(units, error)
        return self.run(first, work) + self.run(second, work)

    def stream(
        self, units: Sequence[Unit], work: Callable[[Sequence[Unit]], Iterator[tuple[Unit, Answer]]]
    ) -> Iterator[tuple[Unit, Answer]]:
        """As ``run``, for work that has some answers before others: each comes as soon as it is
        there.

        Raises:
            UserError: memory does not suffice for the smallest batch.
        """
        left = list(units)
        try:
            for unit, answer in work(units):
                left.remove(unit)
                yield unit, answer
            return
        except (torch.cuda.OutOfMemoryError, MemoryError, RuntimeError) as error:
            halves = self._halves(left, error)
        for half in halves:
            yield from self.stream(half, work)

    def _halves(
        self, units: Sequence[Unit], error: BaseException
    ) -> tuple[Sequence[Unit], Sequence[Unit]]:
        """Where memory ran out: the two halves of a batch; smaller batches from now on.

        Raises:
            UserError: there is nothing smaller.
        """
        if not is_out_of_memory(error):
            raise error
        if len(units) < 2:
            raise MachineError(
                "memory",
                "cannot fit even the longest text on its own:"
                f" {(str(error).splitlines() or ['no message'])[0]}",
                "Give the model more GPUs (tensor_parallel in its card), or GPUs with more memory,"
                " or a smaller dtype.",
            ) from error
        self.tokens, self.cache_bytes = max(1, self.tokens // 2), self.cache_bytes // 2
        LOGGER.info("out of memory: batches of %d tokens from now on", self.tokens)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        middle = len(units) // 2
        return units[:middle], units[middle:]


def cache_bytes_per_token(config: Any, element_size: int) -> int:
    """Bytes of keys and values of one token in all layers; ``config`` is a text model's."""
    heads = getattr(config, "num_attention_heads", None) or 1
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    return (
        2
        * config.num_hidden_layers
        * (getattr(config, "num_key_value_heads", None) or heads)
        * size
        * element_size
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Is this a lack of memory, on a GPU or on the CPU?"""
    return isinstance(error, torch.cuda.OutOfMemoryError) or lacks_memory(error)
