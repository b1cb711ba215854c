"""How much one forward pass takes: a first guess from free memory, halved whenever memory runs out, and remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import torch

from worldprobe.errors import UserError
from worldprobe.log import LOGGER

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
    """

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens

    @classmethod
    def for_model(cls, model: Any, device: torch.device, width: int) -> Budget:
        """A first guess, in powers of two; ``width`` is the length of a packed row."""
        if device.type != "cuda":
            return cls(CPU_TOKENS)
        config = model.config.get_text_config()
        values = config.hidden_size * 4 + (getattr(config, "intermediate_size", None) or 4 * config.hidden_size)
        bytes_per_token = values * 3 * model.get_input_embeddings().weight.element_size() + 4 * width
        free, _ = torch.cuda.mem_get_info(device)
        tokens = int(free * ACTIVATION_SHARE / bytes_per_token)
        return cls(max(width, min(GPU_TOKENS, 1 << (max(tokens, 1).bit_length() - 1))))

    def batches(self, units: Sequence[Unit], size: Callable[[Unit], int]) -> Iterator[list[Unit]]:
        """Cut units, longest first, into batches that, padded to the first of each, stay within the budget."""
        at = 0
        while at < len(units):
            count = max(1, self.tokens // max(size(units[at]), 1))
            yield list(units[at : at + count])
            at += count

    def run(self, units: Sequence[Unit], work: Callable[[Sequence[Unit]], list[Answer]]) -> list[Answer]:
        """Do a batch; where memory runs out, do its halves, and take smaller batches from now on."""
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
