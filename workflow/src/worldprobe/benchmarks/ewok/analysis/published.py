"""The papers' printed numbers, as data of ours with their sources (resources/published)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml

from worldprobe.analysis.reproduction import FIX, read_numbers
from worldprobe.contracts.results import ALL
from worldprobe.errors import UserError

COLUMNS = ("block", "quantity", "model", "eval_type", "grouping", "group", "printed", "digits")
#: the authors' two sets of tables: the paper's block and its counterpart in the paper's repository.
COUNTERPARTS = {
    "table1": "mean_accuracy_allmodels",
    "table2": "mean_accuracy_bydomain",
    "mixed_model": "mixedmodel_coeffs_full",
    "likert_strict": "mean_accuracy_byevaltype",
}


@dataclass
class Published:
    """What was printed.

    Attributes:
        numbers: COLUMNS and condition, one row per printed number, in the papers' order.
        sources: block -> where it is printed.
        official_items: version -> digest of the official items' texts.
        release: digest of the official items' texts of all versions together.
    """

    numbers: pd.DataFrame
    sources: dict[str, str]
    official_items: dict[int, str]
    release: str

    @property
    def models(self) -> list[str]:
        """The paper's models in its order, human left out."""
        table = self.numbers[(self.numbers["block"] == "table1") & (self.numbers["model"] != "human")]
        return list(dict.fromkeys(table["model"]))


def read_published(folder: Path) -> Published:
    """Read ewok.csv and sources.yaml.

    Raises:
        UserError: a file is missing or is not in their form.
    """
    numbers = read_numbers(folder / "ewok.csv", COLUMNS)
    try:
        about = yaml.safe_load((folder / "sources.yaml").read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(error.filename, "there is no such file.", "Give the folder with ewok.csv and sources.yaml.") from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(folder / "sources.yaml", "cannot be read as YAML in UTF-8.", FIX) from error
    if not _are_sources(about):
        raise UserError(folder / "sources.yaml", "lacks the blocks with their sources, or the digests of the items.", FIX)
    unknown = set(numbers["block"]) - set(about["blocks"])
    if unknown:
        raise UserError(folder / "sources.yaml", f"names no source for {', '.join(sorted(unknown))}.", "Add the source.")
    return Published(
        numbers=numbers.assign(condition=ALL),
        sources={name: block["source"] for name, block in about["blocks"].items()},
        official_items={int(version): digest for version, digest in about["official_items"].items()},
        release=str(about["official_release"]),
    )


def _are_sources(about: object) -> bool:
    """Whether sources.yaml has a source for every block, and digests of the official items."""
    if not isinstance(about, dict):
        return False
    blocks, items = about.get("blocks"), about.get("official_items")
    if not isinstance(blocks, dict) or not isinstance(items, dict):
        return False
    return (
        all(isinstance(block, dict) and "source" in block for block in blocks.values())
        and all(str(version).isdecimal() for version in items)
        and "official_release" in about
    )


def texts_digest(items: pd.DataFrame) -> str:
    """Digest of the items' distinct texts, whatever their order: the scheme of sources.yaml."""
    lines = items["context1"] + "\t" + items["context2"] + "\t" + items["target1"] + "\t" + items["target2"]
    distinct = sorted({line.encode() for line in lines})
    return hashlib.sha256(b"\n".join(distinct)).hexdigest()


def are_official(items: pd.DataFrame, published: Published) -> bool:
    """Whether every version with a known digest has the official items' texts."""
    found = {v: texts_digest(items[items["version"] == v]) for v in published.official_items}
    return found == published.official_items


def is_release(items: pd.DataFrame, published: Published) -> bool:
    """Whether the items are the release's, whatever versions and ids they have."""
    return are_official(items, published) or texts_digest(items) == published.release
