"""How much one forward pass takes: a first guess from free memory, halved whenever memory runs out, and remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import torch

from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models.passes import BLOCK

#: Tokens per forward pass on a CPU, where more brings nothing; the same on every machine, so that scores are too.
CPU_TOKENS = 1024
#: Most tokens per forward pass on a GPU.
GPU_TOKENS = 65_536
#: Share of a GPU's free memory that activations may take.
ACTIVATION_SHARE = 0.5

Unit = TypeVar("Unit")
Answer = TypeVar("Answer")


class Budget:
    """Cuts work into batches.

    Args:
        tokens: tokens per forward pass.
        bytes_per_token: what one of them takes while it is computed.
    """

    def __init__(self, tokens: int, bytes_per_token: int = 0) -> None:
        self.tokens, self.bytes_per_token = tokens, bytes_per_token

    @property
    def activation_bytes(self) -> int:
        """What one pass takes beside the model: activations, mask, and one block of logits."""
        return self.tokens * self.bytes_per_token

    @classmethod
    def for_model(cls, model: Any, device: torch.device, width: int) -> Budget:
        """A first guess, in powers of two; ``width`` is the length of a packed row."""
        config = model.config.get_text_config()
        # Five of a layer's widest set of values at a time, as measured; a row of the mask; a row of a block of logits.
        values = config.hidden_size * 4 + (getattr(config, "intermediate_size", None) or 4 * config.hidden_size)
        bytes_per_token = values * 5 * model.get_input_embeddings().weight.element_size() + 4 * (width + BLOCK)
        if device.type != "cuda":
            return cls(CPU_TOKENS, bytes_per_token)
        free, _ = torch.cuda.mem_get_info(device)
        tokens = int(free * ACTIVATION_SHARE / bytes_per_token)
        return cls(max(width, min(GPU_TOKENS, 1 << (max(tokens, 1).bit_length() - 1))), bytes_per_token)

    def batches(self, units: Sequence[Unit], size: Callable[[Unit], int]) -> Iterator[list[Unit]]:
        """Cut units, longest first, into batches that, padded to the first of each, stay within the budget."""
        at = 0
        while at < len(units):
            count = max(1, self.tokens // max(size(units[at]), 1))
            yield list(units[at : at + count])
            at += count

    def run(self, units: Sequence[Unit], work: Callable[[Sequence[Unit]], list[Answer]]) -> list[Answer]:
        """Do a batch; where memory runs out, do its halves, and take smaller batches from now on.

        Raises:
            UserError: memory does not suffice for the smallest batch.
        """
        try:
            return work(units)
        except (torch.cuda.OutOfMemoryError, MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if len(units) < 2:
                raise UserError(
                    "memory",
                    f"not enough for the longest text alone: {(str(error).splitlines() or ['no message'])[0]}",
                    "Give the model more GPUs (tensor_parallel in its card), or GPUs with more memory, or a smaller dtype.",
                ) from error
        self.tokens = max(1, self.tokens // 2)
        LOGGER.info("out of memory: from now on %d tokens per pass", self.tokens)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        middle = len(units) // 2
        return self.run(units[:middle], work) + self.run(units[middle:], work)


def is_out_of_memory(error: BaseException) -> bool:
    """Is this a lack of memory, on a GPU or on the CPU?"""
    return isinstance(error, (torch.cuda.OutOfMemoryError, MemoryError)) or "can't allocate memory" in str(error)
