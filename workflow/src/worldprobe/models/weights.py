"""Which files of a model's folder are its weights, how they are quantised, and the digests of all
files that make the scores.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from worldprobe.errors import UserError
from worldprobe.files import digest_file, write_text
from worldprobe.models.packages import cache

#: What transformers and vLLM read: one file, or the parts that an index lists.
WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLED, PICKLED_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
#: Names of parts, which belong to an index.
PART = re.compile(r"(model|pytorch_model)-\d+-of-\d+\.(safetensors|bin)")
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
ADAPTER = "adapter_config.json"
ADAPTER_WEIGHTS = ("adapter_model.safetensors", "adapter_model.bin")
#: What git leaves in the place of a large file that was not downloaded.
POINTER = b"version https://git-lfs.github.com/spec/"
#: Mistral's name of a tensor -> that of transformers, where both hold the same numbers in the same
#: order.
MISTRAL = {
    "tok_embeddings.weight": "model.embed_tokens.weight",
    "norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
    "attention_norm.": "input_layernorm.",
    "ffn_norm.": "post_attention_layernorm.",
    "attention.wv.": "self_attn.v_proj.",
    "attention.wo.": "self_attn.o_proj.",
    "feed_forward.w1.": "mlp.gate_proj.",
    "feed_forward.w2.": "mlp.down_proj.",
    "feed_forward.w3.": "mlp.up_proj.",
}
#: Beginnings of transformers' names of the language part of a model.
OF_TEXT = re.compile(r"(language_model\.)?model\.(language_model\.)?")


@dataclass(frozen=True)
class Weights:
    """The files that are a model's weights, and other weights in its folder, which are not read."""

    files: tuple[Path, ...]
    others: tuple[Path, ...]

    def described(self) -> str | None:
        """Which are read and which are not, where there are others."""
        if not self.others:
            return None
        first = self.files[0].name + (f" and {len(self.files) - 1} more" if self.files[1:] else "")
        return f"{first}; not {', '.join(path.name for path in self.others)}"


def find_weights(folder: Path, name: str, allow_pickle: bool) -> Weights:
    """The weights of the model in a folder: safetensors, or pickles that are allowed.

    Raises:
        UserError: there are none, a part is missing, they are pickles that are not allowed, or the
            folder has several sets.
    """
    for index in sorted(folder.glob("*.safetensors.index.json")):
        parts = listed_files(index)
        if absent := sorted(part for part in parts if not (folder / part).is_file()):
            problem = f"{len(absent)} of {len(parts)} weight files are missing, e.g. {absent[0]}."
            raise UserError(
                name, problem, "Fetch it again, or remove the index if it is another model's."
            )
    tensors = sorted(
        path for path in folder.glob("*.safetensors") if path.name not in ADAPTER_WEIGHTS
    )
    pickles = sorted(
        {
            path
            for pattern in PICKLES
            for path in folder.glob(pattern)
            if path.name not in ADAPTER_WEIGHTS
        }
    )
    is_model_file = {path: path.name.startswith(("pytorch_model", "model")) for path in pickles}
    if not tensors and not pickles:
        raise UserError(
            name,
            "has no weights (no *.safetensors).",
            "Save or fetch the whole model into this folder.",
        )
    if tensors:
        files = _one_set(folder, name, WHOLE, INDEX)
        if not files:
            problem = f"has neither {WHOLE} nor {INDEX}, only {tensors[0].name}"
            problem += (
                ", which is Mistral's own format."
                if tensors[0].name.startswith("consolidated")
                else "."
            )
            fix = (
                "Save the model with save_pretrained, or fetch the files in the format of"
                " transformers."
            )
            raise UserError(name, problem, fix)
        others = [path for path in tensors if path not in files]
        for path in others:
            _refuse_competitor(name, files, path)
        return Weights(files, (*others, *(path for path in pickles if is_model_file[path])))
    if not allow_pickle:
        raise UserError(
            name,
            "has its weights as pickle files only, and reading a pickle can run any code.",
            "Convert it to safetensors, or, if you trust its source, set allow_pickle: true (or"
            " pass --allow-pickle).",
        )
    files = _one_set(folder, name, PICKLED, PICKLED_INDEX)
    return Weights(
        files or tuple(pickles),
        tuple(path for path in pickles if files and is_model_file[path] and path not in files),
    )


def count_weights(files: Iterable[Path]) -> int | None:
    """The numbers in weights of safetensors, as their headers say; None for others. Packed ones are
    counted as they are stored.
    """
    total = 0
    for path in files:
        if path.suffix != ".safetensors":
            return None
        with path.open("rb") as stream:
            header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
        total += sum(
            prod(entry["shape"]) for name, entry in header.items() if name != "__metadata__"
        )
    return total


def has_weights(folder: Path) -> bool:
    """Whether a folder has weights of a whole model, beside an adapter's."""
    if (folder / INDEX).is_file() or (folder / PICKLED_INDEX).is_file():
        return True
    return any(
        re.match(r"((pytorch_)?model|consolidated).*\.(safetensors|bin)$", path.name)
        for path in folder.iterdir()
    )


def listed_files(index: Path) -> set[str]:
    """The files that an index of weights lists.

    Raises:
        UserError: it is not such an index.
    """
    weight_map = read_object(index).get("weight_map")
    if not isinstance(weight_map, dict) or not all(
        isinstance(part, str) for part in weight_map.values()
    ):
        raise UserError(
            index, "has no weight_map from weights to files.", "Fetch or save the model again."
        )
    return set(weight_map.values())


def _one_set(folder: Path, name: str, whole: str, index: str) -> tuple[Path, ...]:
    """The one file, or the parts that the index lists; transformers prefers the file, vLLM the
    index, so never both.
    """
    parts = listed_files(folder / index) if (folder / index).is_file() else set()
    if (folder / whole).is_file():
        stray = sorted(
            path.name
            for path in folder.iterdir()
            if PART.fullmatch(path.name) and path.suffix == Path(whole).suffix
        )
        if parts - {whole} or stray:
            competitors = (
                f"those that {index} lists ({min(parts - {whole})}, ...)"
                if parts - {whole}
                else ", ".join(stray)
            )
            raise _two_sets(name, whole, competitors)
        return (folder / whole,)
    return tuple(sorted(folder / part for part in parts))


def _two_sets(name: str, first: str, second: str) -> UserError:
    problem = (
        f"has two sets of weights, {first} and {second}: which are the model's is not certain."
    )
    return UserError(
        name, problem, "Move those that are not meant out of the folder, with their index."
    )


def _refuse_competitor(name: str, files: tuple[Path, ...], competitor: Path) -> None:
    """Refuse further weights that could be meant: tensors of the model's own names, or other
    numbers in Mistral's format.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(competitor, "pt") as opened:
            renamed = {_as_transformers(tensor): tensor for tensor in sorted(opened.keys())}
            for path in files:
                with safe_open(path, "pt") as file:
                    named = {
                        OF_TEXT.sub("model.", tensor): tensor for tensor in sorted(file.keys())
                    }
                    for shared in sorted(renamed.keys() & named.keys()):
                        pair = file.get_slice(named[shared]), opened.get_slice(renamed[shared])
                        if not competitor.name.startswith("consolidated") or _differ(*pair):
                            raise _two_sets(
                                name, files[0].name if not files[1:] else INDEX, competitor.name
                            )
    except (SafetensorError, OSError):
        return  # a damaged file of the model's own is told when it is loaded


def _as_transformers(tensor: str) -> str:
    """Transformers' name of a tensor that may have Mistral's.

    >>> _as_transformers("layers.1.feed_forward.w2.weight"), _as_transformers("model.norm.weight")
    ('model.layers.1.mlp.down_proj.weight', 'model.norm.weight')
    """
    if tensor in MISTRAL:
        return MISTRAL[tensor]
    for theirs, ours in MISTRAL.items():
        if tensor.startswith("layers.") and theirs in tensor:
            return "model." + tensor.replace(theirs, ours)
    return tensor


def _differ(one: Any, other: Any) -> bool:
    """Whether two tensors of a name have other numbers, by their first rows; False where their
    precision is not the same.
    """
    if one.get_shape() != other.get_shape():
        return True
    first, second = one[:8], other[:8]
    return first.dtype == second.dtype and not bool((first == second).all())


def linked(folder: Path, hidden: set[str]) -> Path:
    """A folder without some files, for loaders that would read them: links, which stay until the
    process ends.
    """
    if not any((folder / name).exists() for name in hidden):
        return folder
    links = Path(tempfile.mkdtemp(prefix="worldprobe-model-"))
    atexit.register(shutil.rmtree, links, ignore_errors=True)
    for path in folder.iterdir():
        if path.name not in hidden:
            (links / path.name).symlink_to(path.resolve())
    return links


def refuse_pointers(name: str, folder: Path) -> None:
    """Refuse files of which git has the names only.

    Raises:
        UserError: there is one.
    """
    for path in files_of(folder):
        if _is_pointer(path):
            problem = f"{path.name} is a git-lfs pointer, which stands in the place of the file."
            raise UserError(
                name,
                problem,
                "Download the files themselves: git lfs pull, in the folder that was cloned.",
            )


def files_of(folder: Path) -> list[Path]:
    """The files of a model's (or tokenizer's) folder that make the scores, and weights in other
    folders that an index names.

    Raises:
        UserError: an index cannot be read.
    """
    files = {path for path in folder.iterdir() if path.is_file() and _makes_scores(path.name)}
    for index in folder.glob("*.index.json"):
        if _is_pointer(index):
            continue
        weight_map = read_object(index).get("weight_map")
        parts = weight_map.values() if isinstance(weight_map, dict) else ()
        files |= {
            path for part in parts if isinstance(part, str) and (path := folder / part).is_file()
        }
    return sorted(files)


def _is_pointer(path: Path) -> bool:
    return path.is_file() and path.stat().st_size < 1024 and path.read_bytes().startswith(POINTER)


def _makes_scores(name: str) -> bool:
    if name.startswith((".", "training_args", "optimizer", "scheduler", "README", "provenance")):
        return False
    return name.endswith(
        (".safetensors", ".json", ".model", ".txt", ".jinja", ".tiktoken", ".bin", ".pt", ".py")
    )


def read_object(path: Path) -> dict[str, Any]:
    """A file that contains one JSON object.

    Raises:
        UserError: it cannot be read, or contains something else.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise UserError(
            path, f"is not valid JSON ({error}).", "Fetch or save the model again."
        ) from error
    if not isinstance(document, dict):
        raise UserError(path, "is not a JSON object ({...}).", "Fetch or save the model again.")
    return document


def unreadable(path: object, error: OSError) -> UserError:
    """The error of a file that cannot be read."""
    return UserError(
        path,
        f"cannot be read ({error.strerror or type(error).__name__}).",
        "Check the file and its permissions.",
    )


def digest_of(path: Path) -> str:
    """SHA-256 of a file. A large one is read once for each state that it has (size, dates, inode):
    a note in this user's cache, in the folder ``verified``, has its digest; without that folder all
    are read again.

    Raises:
        UserError: it cannot be read, or the hub's cache has it under the name of another content.
    """
    blob = path.resolve()
    try:
        facts = blob.stat()
    except OSError:
        return digest_file(path)  # which says what is wrong
    state = f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ctime_ns} {facts.st_ino}"
    note = cache() / "verified" / hashlib.sha256(str(blob).encode()).hexdigest()[:32]
    digest, _, noted = _text(note).partition(" ") if facts.st_size > LARGE else ("", "", "")
    is_noted = noted == state and re.fullmatch(r"[0-9a-f]{64}", digest) is not None
    if not is_noted:
        digest = digest_file(blob)
    if path.is_symlink() and re.fullmatch(r"[0-9a-f]{64}", blob.name) and digest != blob.name:
        problem = (
            f"is not the file that was fetched: the hub's cache names it {blob.name[:12]}..., its"
            f" SHA-256 is {digest[:12]}...."
        )
        fix = (
            f"Delete {blob} and fetch the model again; weights of your own belong into a folder of"
            " their own."
        )
        raise UserError(path, problem, fix)
    # A file that was written a moment ago may be written again within the same tick of the clock.
    if not is_noted and facts.st_size > LARGE and time.time() - facts.st_ctime > TICK:
        with contextlib.suppress(
            OSError, UserError
        ):  # no place for the note: the next process reads the file again
            note.parent.mkdir(parents=True, exist_ok=True)
            write_text(note, f"{digest} {state}")
    return digest


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):  # none, or one that a crash or another program has damaged
        return ""


#: Bytes of a file whose digest is worth a note.
LARGE = 1 << 20
#: Seconds after which a file's dates tell whether it was written again.
TICK = 2.0

#: Method of quantisation -> the package that reads such weights with transformers, and its name for
#: Python.
PACKAGES = {
    "gptq": ("gptqmodel", "gptqmodel"),
    "awq": ("gptqmodel", "gptqmodel"),
    "compressed-tensors": ("compressed-tensors", "compressed_tensors"),
    "bitsandbytes": ("bitsandbytes", "bitsandbytes"),
    "aqlm": ("aqlm", "aqlm"),
    "auto-round": ("auto-round", "auto_round"),
    "eetq": ("kernels", "kernels"),
    "fp_quant": ("fp_quant", "fp_quant"),
    "hqq": ("hqq", "hqq"),
    "quanto": ("optimum-quanto", "optimum.quanto"),
    "quark": ("amd-quark", "quark"),
    "spqr": ("spqr_quant", "spqr_quant"),
    "torchao": ("torchao", "torchao"),
    "vptq": ("vptq", "vptq"),
}


@dataclass(frozen=True)
class Quantisation:
    """How weights are quantised, by a configuration.

    Attributes:
        method: as ``quant_method`` names it.
        bits: of a weight; None where the configuration does not say.
        computes: the precision that the configuration computes in, if it states one.
        is_int8: LLM.int8 of bitsandbytes with outliers, which are picked over all texts that are
            computed together.
    """

    method: str
    bits: int | None = None
    computes: str | None = None
    is_int8: bool = False

    def __str__(self) -> str:
        bits = f" {self.bits} bit" if self.bits and str(self.bits) not in self.method else ""
        return f"{self.method}{bits}" + (f", computes in {self.computes}" if self.computes else "")

    @property
    def package(self) -> tuple[str, str] | None:
        """The package that transformers needs, and its name for Python."""
        return PACKAGES.get(self.method)


def quantisation_of(config: Mapping[str, Any]) -> Quantisation | None:
    """How the weights that a configuration describes are quantised; None: not at all.

    >>> str(quantisation_of({"quantization_config": {"quant_method": "gptq", "bits": 4}}))
    'gptq 4 bit'
    """
    text = config.get("text_config")
    stated = config.get("quantization_config") or config.get("compression_config")
    if stated is None and isinstance(text, dict):
        stated = text.get("quantization_config")
    if not isinstance(stated, dict) or not stated:
        return None
    is_4bit, is_8bit = (bool(stated.get(f"load_in_{n}bit")) for n in (4, 8))
    method = str(
        stated.get("quant_method") or ("bitsandbytes" if is_4bit or is_8bit else "unknown method")
    )
    bits = stated.get("bits") or stated.get("w_bit") or (4 if is_4bit else 8 if is_8bit else None)
    if bits is None and method == "compressed-tensors":
        groups = stated.get("config_groups")
        schemes = (
            [group.get("weights") for group in groups.values()] if isinstance(groups, dict) else []
        )
        widths = {scheme.get("num_bits") for scheme in schemes if scheme}
        bits = widths.pop() if len(widths) == 1 else None
    computes = stated.get("bnb_4bit_compute_dtype") if is_4bit else None
    threshold = stated.get("llm_int8_threshold", 6.0)
    return Quantisation(
        method,
        bits if isinstance(bits, int) else None,
        computes,
        is_8bit and not is_4bit and bool(threshold),
    )
