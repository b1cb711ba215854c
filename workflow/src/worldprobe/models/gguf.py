"""Models in llama.cpp's format GGUF: turned into checkpoint folders, whose weights are the
quantised ones in float32.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from worldprobe.errors import UserError
from worldprobe.files import whole_folder
from worldprobe.log import LOGGER
from worldprobe.models.gguf_file import GgufFile, read_gguf
from worldprobe.models.packages import alone, cache
from worldprobe.models.weights import digest_of
from worldprobe.provenance import made, versions

METHOD = 2

SUFFIX = ".gguf"
PACKAGES = ("gguf", "torch", "transformers")
#: The file that says what a folder was made from.
NOTE = "provenance.json"
#: Bytes of weights in one file of a folder; so much is in memory at a time.
SHARD = 1 << 28
#: Tensors that say what others say, too.
DUPLICATES = re.compile(r"blk\.\d+\.attn_rot_embd\.weight")


def imported(path: Path) -> Path:
    """The checkpoint folder of a GGUF file, in this user's cache; it is made on first use, and
    again after an upgrade.

    Raises:
        UserError: see ``import_file``.
    """
    if not all(map(importlib.util.find_spec, ("gguf", "transformers"))):  # without importing them
        _require(path)
    made_from = json.dumps([digest_of(path), METHOD, versions(PACKAGES)])
    digest = hashlib.sha256(made_from.encode()).hexdigest()
    folder = cache() / "models" / f"{path.stem}-{digest[:12]}"
    if not folder.is_dir():
        with alone(folder):
            if not folder.is_dir():
                import_file(path, folder)
    return folder


def import_file(path: Path, out: Path) -> None:
    """Write what a GGUF file contains as a folder in the format of transformers: weights in
    float32, tokenizer, chat template.

    Each key of the architecture and each tensor must find its place. Where llama.cpp is installed
    (xllamacpp), the folder's tokens and log probabilities are compared with its own.

    Args:
        path: the file.
        out: the folder, written whole or not at all.

    Raises:
        UserError: something in the file cannot be carried over.
    """
    _require(path)
    if re.search(r"-\d{5}-of-(?!00001)\d{5}$", path.stem):
        problem, fix = (
            "is one of several files of a model.",
            "Put them together: llama-gguf-split --merge FIRST_FILE WHOLE_FILE.",
        )
        raise UserError(path, problem, fix)
    import gguf
    import transformers

    from worldprobe.models import gguf_tokenizer, llama_cpp
    from worldprobe.models.gguf_config import ARCHITECTURES, config_of_file

    file = read_gguf(path)
    types = {
        int(file_type): file_type.name.removeprefix("MOSTLY_") for file_type in gguf.LlamaFileType
    }
    kind = types.get(file.stated.get("general.file_type", -1), "of unstated type")
    LOGGER.info("%s: converting GGUF into %s", path, out)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    digest = digest_of(path)
    details = {"gguf": {"file": path.name, "quantisation": kind, "sha256": digest}}
    note = made(
        METHOD, packages=PACKAGES, digests={"gguf": digest}, dtype="float32", details=details
    )
    with whole_folder(out) as written:
        try:
            if file.stated.get("general.type", "model") != "model":
                raise ValueError(f"it is no model but {file.stated['general.type']}")
            gguf_tokenizer.write_tokenizer(file, written)
            if file.architecture in ARCHITECTURES:
                tensors = {tensor.name: tensor for tensor in file.tensors}
                config = config_of_file(file, lambda name: file.values(tensors[name]))
                _write(file, config, written)
            else:
                _write_by_transformers(file, written)
        except Exception as error:  # whatever a model that is not known leads to
            problem = (
                f"is a GGUF model of the architecture {file.architecture} that cannot be read here"
                f" without loss: {error}."
            )
            fix = (
                f"Architectures that are read: {', '.join(sorted(ARCHITECTURES))}. Give the model's"
                " own checkpoint, or serve the file (llama-server): --engine openai."
            )
            raise UserError(path, problem, fix) from error
        llama_cpp.compare(path, written, kind)
        (written / NOTE).write_text(note.to_json() + "\n", encoding="utf-8")


def _write(file: GgufFile, config: Any, folder: Path) -> None:
    """Write the weights of a file, of which every tensor must find its place and every place its
    tensor; in memory is one tensor and one file at a time.
    """
    from unittest import mock

    import gguf
    import torch
    import transformers
    from transformers.modeling_gguf_pytorch_utils import (
        TENSOR_PROCESSORS,
        TensorProcessor,
        get_gguf_hf_weights_map,
    )

    from worldprobe.models.gguf_config import ROPE_TENSORS, UnreadError

    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    state = model.state_dict()
    processor = TENSOR_PROCESSORS.get(file.architecture, TensorProcessor)(config.to_dict())
    # The table of names is made once, not once for each part of the model.
    table = functools.cache(gguf.get_tensor_name_map)
    with mock.patch.object(gguf, "get_tensor_name_map", table):
        weight_names = get_gguf_hf_weights_map(model, processor)
    named = {
        tensor.name: weight_names.get(tensor.name)
        or weight_names.get(tensor.name.removesuffix(".weight"))
        for tensor in file.tensors
        if tensor.name not in ROPE_TENSORS and not DUPLICATES.fullmatch(tensor.name)
    }
    if unread := sorted(name for name, weight_name in named.items() if weight_name is None):
        others = f", and {len(unread) - 1} others are not either" if unread[1:] else ""
        raise UnreadError(f"its tensor {unread[0]} is not read here{others}")
    tied = set(getattr(model, "all_tied_weights_keys", None) or ())
    if absent := sorted(state.keys() - set(named.values()) - tied):
        raise UnreadError(f"it has no {absent[0]}, and lacks {len(absent)} tensors in all")
    shards = _Shards(folder)
    for name, value in _converted(file, named, weight_names, processor):
        if tuple(value.shape) != tuple(state[name].shape):
            raise UnreadError(
                f"its tensor for {name} has the shape {tuple(value.shape)}, where its keys say"
                f" {tuple(state[name].shape)}"
            )
        shards.add(name, value)
    shards.close()
    config.architectures = [type(model).__name__]
    config.save_pretrained(folder)
    if model.generation_config is not None:
        model.generation_config.save_pretrained(folder)


def _converted(
    file: GgufFile, named: dict[str, Any], weight_names: dict[str, str], processor: Any
) -> Iterator[tuple[str, Any]]:
    """The weights as transformers orders them, each once all of its tensors were read."""
    import numpy as np
    import torch

    wanted = Counter(weight_name for weight_name in named.values())
    done: dict[str, Any] = {}
    for tensor in file.tensors:
        if (weight_name := named.get(tensor.name)) is None:
            continue
        result = processor.process(
            weights=file.values(tensor),
            name=tensor.name,
            tensor_key_mapping=weight_names,
            parsed_parameters={"tensors": done},
        )
        if result.name is not None:
            done[weight_name] = torch.from_numpy(np.ascontiguousarray(result.weights))
        del result
        wanted[weight_name] -= 1
        if not wanted[weight_name]:
            yield weight_name, done.pop(weight_name)


class _Shards:
    """Weights in files of a bounded size, as transformers names them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.waiting, self.files = folder, dict[str, Any](), list[list[str]]()
        self.size = self.total = 0

    def add(self, name: str, value: Any) -> None:
        self.waiting[name] = value
        self.size += value.nbytes
        if self.size >= SHARD:
            self._flush()

    def _flush(self) -> None:
        from safetensors.torch import save_file

        if self.waiting:
            save_file(
                self.waiting, self.folder / f"{len(self.files)}.part", metadata={"format": "pt"}
            )
            self.files.append(list(self.waiting))
            self.total += self.size
            self.waiting, self.size = {}, 0

    def close(self) -> None:
        self._flush()
        count, weights = len(self.files), dict[str, str]()
        for number, names in enumerate(self.files):
            file = f"model-{number + 1:05d}-of-{count:05d}.safetensors"
            file = "model.safetensors" if count == 1 else file
            (self.folder / f"{number}.part").rename(self.folder / file)
            weights |= dict.fromkeys(names, file)
        if count > 1:
            index = {"metadata": {"total_size": self.total}, "weight_map": weights}
            text = json.dumps(index, indent=2, sort_keys=True) + "\n"
            (self.folder / "model.safetensors.index.json").write_text(text, encoding="utf-8")


def _write_by_transformers(file: GgufFile, folder: Path) -> None:
    """Write the weights of one of the architectures that transformers converts by itself, where it
    says which keys it reads.
    """
    import torch
    import transformers
    from transformers.integrations.gguf import GGUF_CONFIG_ARCHS, get_gguf_config

    from worldprobe.models.gguf_config import HARMLESS, NEUTRAL, UnreadError

    if file.architecture not in GGUF_CONFIG_ARCHS:
        raise UnreadError("nobody here knows what its keys mean")
    stated = _Recorded(
        {k: len(v) if k == "tokenizer.ggml.tokens" else v for k, v in file.stated.items()}
    )
    get_gguf_config(stated, tuple(tensor.name for tensor in file.tensors))
    for key in sorted(key for key in stated if key.startswith(f"{file.architecture}.")):
        short = key.removeprefix(f"{file.architecture}.")
        is_neutral = short in NEUTRAL and stated[key] == NEUTRAL[short]
        if key not in stated.read and short not in HARMLESS and not is_neutral:
            raise UnreadError(f"its key {key} is not read here")
    with tempfile.TemporaryDirectory(prefix="worldprobe-gguf-") as scratch:
        (Path(scratch) / "model.gguf").symlink_to(file.path.resolve())
        model, loaded = transformers.AutoModelForCausalLM.from_pretrained(
            scratch,
            gguf_file="model.gguf",
            local_files_only=True,
            dtype=torch.float32,
            quantization_config=transformers.GgufConfig(dequantize=True),
            output_loading_info=True,
        )
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if names := sorted(loaded[kind], key=str):
            raise UnreadError(f"{kind.replace('_', ' ')}: {names[0]}")
    model.save_pretrained(folder)


class _Recorded(dict[str, Any]):
    """Keys and values, and which of them were asked for."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)


def _require(path: Path) -> None:
    """Refuse to go on without the packages that read the format."""
    for module in ("gguf", "transformers.integrations.gguf"):
        if importlib.util.find_spec(module) is None:
            problem = (
                "reading GGUF needs the packages gguf and transformers 5.19 or newer (there is no"
                f" {module})."
            )
            raise UserError(path, problem, 'pip install --upgrade "worldprobe[hf]"')


def origin(folder: Path) -> dict[str, str] | None:
    """Name, quantisation and SHA-256 of the GGUF file that a folder was made from; None of any
    other folder.
    """
    try:
        stated = json.loads((folder / NOTE).read_text(encoding="utf-8"))["details"]["gguf"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return stated if isinstance(stated, dict) else None
