"""Models in llama.cpp's format GGUF: turned into checkpoint folders, whose weights are the
quantised ones in float32.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import io
import json
import re
import struct
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from worldprobe.errors import UserError
from worldprobe.files import digest_file, whole_folder
from worldprobe.log import LOGGER
from worldprobe.models.packages import alone, cache
from worldprobe.provenance import made, versions

METHOD = 1

SUFFIX = ".gguf"
PACKAGES = ("gguf", "torch", "transformers")
#: The file that says what a folder was made from.
NOTE = "provenance.json"


def imported(path: Path) -> Path:
    """The checkpoint folder of a GGUF file, in this user's cache; it is made on first use, and
    again after an upgrade.

    Raises:
        UserError: see ``import_file``.
    """
    _require(path)
    made_from = json.dumps([digest_file(path), METHOD, versions(PACKAGES)])
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

    Args:
        path: the file.
        out: the folder, written whole or not at all.

    Raises:
        UserError: transformers cannot read it.
    """
    _require(path)
    if re.search(r"-\d{5}-of-(?!00001)\d{5}$", path.stem):
        problem, fix = (
            "is one of several files of a model.",
            "Put them together: llama-gguf-split --merge FIRST_FILE WHOLE_FILE.",
        )
        raise UserError(path, problem, fix)
    import gguf
    import torch
    import transformers
    from transformers.integrations.ggml import GGUF_CONFIG_MAPPING
    from transformers.integrations.gguf.reader import read_gguf_metadata

    try:
        stated, _ = read_gguf_metadata(str(path))
        architecture = stated["general.architecture"]
    except (OSError, ValueError, LookupError, struct.error) as error:
        problem = f"is not a whole GGUF file of a model ({type(error).__name__}: {error})."
        raise UserError(path, problem, "Download it again.") from error
    types = {int(one): one.name.removeprefix("MOSTLY_") for one in gguf.LlamaFileType}
    kind = types.get(stated.get("general.file_type"), "of unstated type")
    LOGGER.info("%s: converting GGUF into %s", path, out)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        with contextlib.ExitStack() as stack:
            for name in (
                "GGUFReader",
                "get_tensor_name_map",
            ):  # the file is read once instead of three times
                stack.enter_context(
                    mock.patch.object(gguf, name, functools.cache(getattr(gguf, name)))
                )
            stack.enter_context(
                contextlib.redirect_stderr(io.StringIO())
            )  # a bar of progress that no setting turns off
            # Alone: a tokenizer beside the file would be preferred to the file's own.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="worldprobe-gguf-"))
            (Path(folder) / "model.gguf").symlink_to(path.resolve())
            where: Any = {"gguf_file": "model.gguf", "local_files_only": True}
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **where)
            model, loaded = transformers.AutoModelForCausalLM.from_pretrained(
                folder,
                dtype=torch.float32,
                quantization_config=transformers.GgufConfig(dequantize=True),
                output_loading_info=True,
                **where,
            )
        if absent := sorted(loaded["missing_keys"]):  # they would be random
            raise ValueError(f"it has no {absent[0]}, and lacks {len(absent)} tensors in all")
    except Exception as error:  # whatever a model that it does not know leads to
        known = sorted(set(GGUF_CONFIG_MAPPING) - {"general", "tokenizer"})
        problem = (
            f"transformers cannot read this GGUF model, whose architecture is {architecture}"
            f" ({error})."
        )
        fix = (
            f"It reads {', '.join(known)}. Give the model's own checkpoint, or serve the file"
            " (llama-server): --engine openai."
        )
        raise UserError(path, problem, fix) from error
    digest = digest_file(path)
    details = {"gguf": {"file": path.name, "quantisation": kind, "sha256": digest}}
    note = made(
        METHOD, packages=PACKAGES, digests={"gguf": digest}, dtype="float32", details=details
    )
    with whole_folder(out) as written:
        model.save_pretrained(written)
        tokenizer.save_pretrained(written)
        (written / NOTE).write_text(note.to_json() + "\n", encoding="utf-8")


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
        found = json.loads((folder / NOTE).read_text(encoding="utf-8"))["details"]["gguf"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, dict) else None
