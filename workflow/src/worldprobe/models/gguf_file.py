"""The format GGUF: what a file states, and the values of its tensors
(https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe.errors import UserError

if TYPE_CHECKING:
    import numpy as np

#: Number of a value's type -> how struct reads it; a string is 8, an array 9.
NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
#: Bytes of a tensor that are read at a time.
PIECE = 1 << 24


@dataclass(frozen=True)
class Tensor:
    """Where a tensor is.

    Attributes:
        name: llama.cpp's name.
        shape: in the order of numpy.
        kind: gguf.GGMLQuantizationType.
        offset: its first byte in the file.
    """

    name: str
    shape: tuple[int, ...]
    kind: Any
    offset: int


@dataclass(frozen=True)
class GgufFile:
    """The keys of a file and its tensors, without their values.

    Attributes:
        path: the file.
        stated: key -> value.
        tensors: of the model.
    """

    path: Path
    stated: Mapping[str, Any]
    tensors: tuple[Tensor, ...]

    @property
    def architecture(self) -> str:
        """llama.cpp's name of the model's architecture."""
        return str(self.stated["general.architecture"])

    def values(self, tensor: Tensor) -> np.ndarray:
        """A tensor in float32, read piece by piece, so that only the result is in memory whole."""
        import gguf
        import numpy as np

        block, size = gguf.GGML_QUANT_SIZES[tensor.kind]
        row = tensor.shape[-1] // block * size
        rows = math.prod(tensor.shape[:-1])
        values = np.empty((rows, tensor.shape[-1]), np.float32)
        step = max(1, PIECE // row)
        for start in range(0, rows, step):
            count = min(step, rows - start)
            packed = np.fromfile(
                self.path, np.uint8, count=count * row, offset=tensor.offset + start * row
            )
            values[start : start + count] = gguf.dequantize(packed.reshape(count, row), tensor.kind)
        return values.reshape(tensor.shape)


class _Cursor:
    """Reads numbers and strings one after the other."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content, self.at = content, 0

    def number(self, code: str) -> Any:
        [value] = struct.unpack_from(f"<{code}", self.content, self.at)
        self.at += struct.calcsize(f"<{code}")
        return value

    def string(self) -> str:
        length = self.number("Q")
        text = self.content[self.at : self.at + length]
        if len(text) != length:
            raise ValueError("it ends within a text")
        self.at += length
        return text.decode("utf-8")

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.string()
        if kind != ARRAY:
            return self.number(NUMBERS[kind])
        item, count = self.number("I"), self.number("Q")
        if item in NUMBERS:
            values = list(struct.unpack_from(f"<{count}{NUMBERS[item]}", self.content, self.at))
            self.at += struct.calcsize(f"<{count}{NUMBERS[item]}")
            return values
        return [self.value(item) for _ in range(count)]


def read_gguf(path: Path) -> GgufFile:
    """Read a file's keys, and names and shapes of its tensors.

    Raises:
        UserError: it is not a whole GGUF file of a model.
    """
    import gguf

    try:
        with path.open("rb") as file:
            cursor = _Cursor(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        if cursor.content[:4] != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        cursor.at = 4
        if (version := cursor.number("I")) not in (2, 3):
            raise ValueError(f"its version is {version}")
        n_tensors, n_keys = cursor.number("Q"), cursor.number("Q")
        stated = {}
        for _ in range(n_keys):
            key = cursor.string()
            stated[key] = cursor.value(cursor.number("I"))
        entries = []
        for _ in range(n_tensors):
            name = cursor.string()
            shape = tuple(cursor.number("Q") for _ in range(cursor.number("I")))[::-1]
            kind = gguf.GGMLQuantizationType(cursor.number("I"))
            entries.append((name, shape, kind, cursor.number("Q")))
        alignment = stated.get("general.alignment", 32)
        start = -(-cursor.at // alignment) * alignment
        tensors = tuple(Tensor(name, shape, kind, start + at) for name, shape, kind, at in entries)
        for tensor in tensors:
            block, size = gguf.GGML_QUANT_SIZES[tensor.kind]
            if tensor.offset + math.prod(tensor.shape) // block * size > len(cursor.content):
                raise ValueError(f"it ends before {tensor.name}")
        model_file = GgufFile(path, stated, tensors)
        model_file.architecture  # noqa: B018  there must be one
    except (OSError, ValueError, LookupError, struct.error, MemoryError) as error:
        problem = f"is not a whole GGUF file of a model ({type(error).__name__}: {error})."
        raise UserError(path, problem, "Download it again.") from error
    return model_file
