"""A table as a dataset folder of the Hugging Face hub: the Parquet file as it is, a card, and a
Croissant 1.0 description.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldprobe import __version__
from worldprobe.archives import EXPORT_VARIABLE, encrypt
from worldprobe.benchmarks.ewok.materials.official_files import EXPORTED_ROWS
from worldprobe.contracts import Column, Table
from worldprobe.provenance import canary_comments

#: Where the rows are in an encrypted dataset.
ARCHIVE = "data/rows.zip"
_CONTEXT = Path(__file__).with_name("croissant_context.json")
_KINDS = {"int": "sc:Integer", "float": "sc:Float", "bool": "sc:Boolean", "str": "sc:Text"}
_LOAD = """```python
from datasets import load_dataset

rows = load_dataset("FOLDER", split="{split}")  # this folder, or the dataset's id on the hub
```"""
_OPEN = f"""`datasets` cannot open these rows: they are encrypted with AES-256. In memory, so that
no plain copy is left:

```python
import io, os, pyarrow.parquet, pyzipper

with pyzipper.AESZipFile("{ARCHIVE}") as archive:
    archive.setpassword(os.environ["{EXPORT_VARIABLE}"].encode())
    rows = pyarrow.parquet.read_table(io.BytesIO(archive.read("{EXPORTED_ROWS}")))
```

On the hub, switch on gated access in the dataset's settings before the first upload:
only then are this card's fields asked."""


@dataclass(frozen=True)
class Licence:
    """Terms of a dataset.

    Attributes:
        identifier: as the hub writes it, e.g. ``cc-by-4.0``; ``unknown`` where nobody has said.
        url: of its text; None where it is unknown.
        sentence: what the card says of it.
    """

    identifier: str
    url: str | None
    sentence: str


@dataclass(frozen=True)
class Dataset:
    """Facts of a dataset's card beyond the rows.

    Attributes:
        name: of the dataset, in words.
        about: what the rows are, a paragraph.
        use: how worldprobe uses them, in Markdown.
        table: what the rows fit.
        n_rows: how many.
        split: of the hub.
        licence: its terms.
        citation: whom to cite, BibTeX.
        tags: for the hub's search.
        canary: of the texts.
        conditions: what somebody who asks for access has to agree to; none where access is open.
        language: of the texts, its code.
    """

    name: str
    about: str
    use: str
    table: type[Table]
    n_rows: int
    split: str
    licence: Licence
    citation: str
    tags: tuple[str, ...]
    canary: str | None
    conditions: tuple[str, ...] = ()
    language: str = "en"


def dataset_files(
    dataset: Dataset, rows: bytes, password: str | None = None
) -> Iterator[tuple[str, bytes]]:
    """The dataset's folder: name and content of each file.

    Args:
        dataset: what the card says.
        rows: the table's Parquet file, which goes into the folder as it is.
        password: encrypts the rows; None leaves them readable.
    """
    file = f"data/{dataset.split}.parquet" if password is None else ARCHIVE
    content = rows if password is None else encrypt({EXPORTED_ROWS: rows}, password)
    yield file, content
    yield "README.md", _card(dataset, file, hashlib.sha256(rows).hexdigest()).encode()
    croissant = json.dumps(_croissant(dataset, file, content), indent=2, ensure_ascii=False)
    yield "croissant.json", (croissant + "\n").encode()


def _card(dataset: Dataset, file: str, digest: str) -> str:
    import yaml

    is_open = file != ARCHIVE
    front: dict[str, Any] = {
        "license": dataset.licence.identifier,
        "language": [dataset.language],
        "pretty_name": dataset.name,
        "size_categories": [size_category(dataset.n_rows)],
        "tags": list(dataset.tags),
    }
    if is_open:
        front["configs"] = [
            {"config_name": "default", "data_files": [{"split": dataset.split, "path": file}]}
        ]
    else:
        front["viewer"] = False
    if dataset.conditions:
        front |= {
            "extra_gated_heading": "Please agree to the terms of use",
            "extra_gated_prompt": dataset.licence.sentence,
            "extra_gated_fields": dict.fromkeys(dataset.conditions, "checkbox"),
            "extra_gated_button_content": "I agree",
        }
    header = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=1000)
    columns = [
        f"| `{name}` | {column.description} |" for name, column in dataset.table.columns.items()
    ]
    parts = [
        f"---\n{header}---",
        f"{canary_comments(dataset.canary)}\n# {dataset.name}".lstrip(),
        dataset.about,
        (
            f"{dataset.n_rows} rows. SHA-256 of the table: `{digest}`. Written by worldprobe"
            f" {__version__}."
        ),
        _LOAD.format(split=dataset.split) if is_open else _OPEN,
        dataset.use,
        "\n".join(["| column | what it contains |", "|---|---|", *columns]),
        f"## Licence\n\n{dataset.licence.sentence}",
        f"## Citation\n\n```bibtex\n{dataset.citation.strip()}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def size_category(n_rows: int) -> str:
    """The hub's word for a number of rows.

    >>> size_category(999), size_category(1000), size_category(2_000_000)
    ('n<1K', '1K<n<10K', '1M<n<10M')
    """
    ends = ["1K", "10K", "100K", "1M", "10M", "100M"]
    for number, end in enumerate(ends):
        if n_rows < 10 ** (number + 3):
            return f"n<{end}" if number == 0 else f"{ends[number - 1]}<n<{end}"
    return f"n>{ends[-1]}"


def _croissant(dataset: Dataset, url: str, content: bytes) -> dict[str, Any]:
    is_open = url != ARCHIVE
    file = {
        "@type": "cr:FileObject",
        "@id": "rows",
        "name": "rows",
        "contentUrl": url,
        "contentSize": f"{len(content)} B",
        "encodingFormat": "application/x-parquet" if is_open else "application/zip",
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    described: dict[str, Any] = {
        "@context": json.loads(_CONTEXT.read_text(encoding="utf-8")),
        "@type": "sc:Dataset",
        "name": dataset.name,
        "description": " ".join([dataset.about, *(dataset.canary or "").split()]),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "version": __version__,
        "inLanguage": dataset.language,
        "citeAs": dataset.citation.strip(),
        "distribution": [file],
    }
    if dataset.licence.url:
        described["license"] = dataset.licence.url
    if is_open:
        described["recordSet"] = [
            {
                "@type": "cr:RecordSet",
                "@id": "items",
                "name": "items",
                "key": [{"@id": f"items/{column}"} for column in dataset.table.Config.unique],
                "field": [_field(name, column) for name, column in dataset.table.columns.items()],
            }
        ]
    return described


def _field(name: str, column: Column) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"items/{name}",
        "name": name,
        "description": column.description or name,
        "dataType": _KINDS[column.kind],
        "source": {"fileObject": {"@id": "rows"}, "extract": {"column": name}},
    }
