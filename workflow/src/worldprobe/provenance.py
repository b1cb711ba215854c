"""Provenance of a table, written into the file: a result can always say where it comes from."""

from __future__ import annotations

import importlib.metadata
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from worldprobe import __version__
from worldprobe.files import digest_file


def language_name(details: Mapping[str, Any]) -> str:
    """The English name of the language that a table's items are in, as its details say; empty where
    it is English.

    >>> language_name({"language": {"language": "de", "name": "German"}}), language_name({})
    ('German', '')
    """
    stated = details.get("language", {})
    code = stated.get("language", "en")
    return str(details.get("items_in", "" if code == "en" else stated.get("name", code)))


@dataclass
class Provenance:
    """No dates, hosts or durations: the same inputs give the same bytes.

    Attributes:
        method: version of the computation; bumped only when its numbers change.
        seed: seed of all randomness, or None where there is none.
        model: our name of the model.
        checkpoint: what was loaded.
        revision: of the checkpoint.
        dtype: what it computed in.
        engine: what loaded it.
        kind: masked or encoder-decoder; None: a causal language model, or no model.
        config_digest: digest of the configuration that the step depends on.
        inputs: name -> SHA-256 of every file read.
        packages: name -> version of the packages that can move the numbers.
        canary: the materials' canary line(s), where the table contains item text.
        details: anything else the step states (counts, tolerances, choices).
    """

    method: int = 1
    seed: int | None = None
    model: str | None = None
    checkpoint: str | None = None
    revision: str | None = None
    dtype: str | None = None
    engine: str | None = None
    kind: str | None = None
    config_digest: str | None = None
    canary: str | None = None
    inputs: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Canonical JSON: sorted keys, no absent values."""
        return json.dumps(
            {k: v for k, v in asdict(self).items() if v not in (None, {})},
            sort_keys=True,
            ensure_ascii=False,
        )

    def of_model(self) -> dict[str, Any]:
        """What was loaded, and how, as plain values: for results that are not tables."""
        return {
            "checkpoint": self.checkpoint,
            "revision": self.revision,
            "checkpoint_digest": self.inputs["checkpoint"],
            "dtype": self.dtype,
            "engine": self.engine,
            **{
                key: self.details[key]
                for key in ("quantisation", "adapter", "chat_template_kwargs")
                if key in self.details
            },
            "kind": self.kind or "causal",
            "packages": self.packages,
        }

    @classmethod
    def from_json(cls, text: str) -> Provenance:
        """The inverse of ``to_json``.

        Raises:
            ValueError: the text is not a provenance that this version of worldprobe knows; the
                message says why.
        """
        try:
            stated = json.loads(text)
        except ValueError as error:
            raise ValueError("is not valid JSON") from error
        if not isinstance(stated, dict):
            raise ValueError("is not a JSON object")
        kinds = {spec.name: _KINDS.get(spec.name, (str, type(None))) for spec in fields(cls)}
        for name, value in stated.items():
            if name not in kinds:
                raise ValueError(
                    f'has the key "{name}", which this version of worldprobe does not know'
                )
            if not isinstance(value, kinds[name]) or isinstance(value, bool):
                raise ValueError(f'has a value of the wrong type under "{name}"')
        for name in ("inputs", "packages"):
            if not all(isinstance(value, str) for value in stated.get(name, {}).values()):
                raise ValueError(f'has a value of the wrong type under "{name}"')
        return cls(**stated)


#: Types of the fields that are not text.
_KINDS: dict[str, tuple[type, ...]] = {
    "method": (int,),
    "seed": (int, type(None)),
    "inputs": (dict,),
    "packages": (dict,),
    "details": (dict,),
}


#: Of a table without rows: what its detail of this name says is why.
TOO_LITTLE = "too_little"
#: A file in the folder of the results of rehearsals; whatever is below is one's.
REHEARSAL_MARK = ".rehearsal"


def is_rehearsed(path: Path | str) -> bool:
    """Whether a file is of a rehearsal: it lies in such a folder, or is a table whose provenance
    says so.
    """
    file = Path(os.path.abspath(path))
    folders = {*file.parents, *file.resolve().parents}  # a link into a rehearsal is of it, too
    if any((folder / REHEARSAL_MARK).is_file() for folder in folders):
        return True
    if file.suffix != ".parquet" or not file.is_file():
        return False
    import pyarrow as arrow
    from pyarrow import parquet

    try:
        stated = (parquet.read_schema(file).metadata or {}).get(b"worldprobe.provenance", b"{}")
        return bool(json.loads(stated).get("details", {}).get("rehearsal"))
    except (arrow.ArrowException, OSError, ValueError, AttributeError):
        return False  # whoever reads the table says what is wrong with it


def of_rehearsal(paths: Iterable[Path | str]) -> dict[str, bool]:
    """Provenance details that mark what is made from, or written to, some files as a rehearsal's:
    ``{"rehearsal": True}``, or nothing.
    """
    return {"rehearsal": True} if any(map(is_rehearsed, paths)) else {}


def made(
    method: int,
    inputs: Mapping[str, Path | str] | None = None,
    packages: Iterable[str] = (),
    *,
    digests: Mapping[str, str] | None = None,
    details: Mapping[str, Any] | None = None,
    **known: Any,
) -> Provenance:
    """The provenance of a table that a command writes.

    Args:
        method: the command module's ``METHOD``: bumped when its numbers change.
        inputs: name -> file or folder that was read; their digests are taken here.
        packages: those whose version can move the numbers; worldprobe's own version is always
            stated.
        digests: name -> SHA-256 of inputs whose digest is known already.
        details: anything else the step states.
        **known: other fields of ``Provenance``: seed, model, dtype, canary, ...

    Raises:
        UserError: an input is missing or cannot be read.
    """
    return Provenance(
        method=method,
        inputs={name: digest_file(path) for name, path in (inputs or {}).items()}
        | dict(digests or {}),
        packages=versions(packages),
        details={**(details or {}), **of_rehearsal((inputs or {}).values())},
        **known,
    )


def canary_comments(canary: str | None) -> str:
    """A canary as comments of a Markdown page, one for each line.

    >>> canary_comments("# MINE canary GUID 1234")
    '<!-- # MINE canary GUID 1234 -->'
    """
    return "\n".join(
        f"<!-- {line.strip()} -->" for line in (canary or "").splitlines() if line.strip()
    )


def digests(paths: Mapping[str, Path | str]) -> dict[str, str]:
    """Name -> SHA-256 for the input files of a step."""
    return {name: digest_file(path) for name, path in paths.items()}


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Name -> installed version, worldprobe's own included."""
    return {"worldprobe": __version__} | {
        name: importlib.metadata.version(name) for name in packages
    }
