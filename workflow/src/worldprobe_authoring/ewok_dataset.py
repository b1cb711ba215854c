"""The card of exported items."""

from __future__ import annotations

import pandas as pd

from worldprobe.benchmarks.ewok.canaries import is_own, is_protected
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.language import ENGLISH, Language
from worldprobe.provenance import language_name
from worldprobe_authoring.dataset_folder import Dataset, Licence

CC_BY = "https://creativecommons.org/licenses/by/4.0/"
CITATION = """@misc{ewok2024,
  title = {Elements of World Knowledge (EWoK): A cognition-inspired framework for
    evaluating basic world knowledge in language models},
  author = {Ivanova, Anna A. and Sathe, Aalok and Lipkin, Benjamin and others},
  year = {2024},
  eprint = {2405.09605},
  archivePrefix = {arXiv}
}"""
_OWN = Licence(
    "cc-by-4.0",
    CC_BY,
    "CC BY 4.0, by the worldprobe authors. Please keep the canary line, and do not train on these"
    " items. They are not EWoK-core-1.0, and scores on them must not be reported as EWoK scores.",
)
_OFFICIAL = Licence(
    "cc-by-4.0",
    CC_BY,
    "These items come from EWoK's own materials: CC BY 4.0, by the EWoK authors, with terms that go"
    " beyond it. They, and whatever is derived from them, may be passed on in encrypted archives or"
    " behind authentication only, and canary lines stay.",
)
_UNKNOWN = Licence(
    "unknown",
    None,
    "That of the materials that the items were built from, which state no canary that is known"
    " here.",
)
_CONDITIONS = (
    "I will not put these items, or anything derived from them, on the internet unprotected",
    "I will report any use of these items in training",
    "I will keep the canary lines",
)
_USE = """`worldprobe score logprobs data/test.parquet --checkpoint MODEL --out scores.parquet` asks
a model: does it find each target more probable after the context that it fits than after the
other?"""
_IMPORT = (
    "`worldprobe items import data/rows.zip --out items.parquet` writes the table for worldprobe's"
    " commands, the same bytes."
)


def describe_items(
    items: pd.DataFrame, canary: str | None, is_encrypted: bool, language: Language = ENGLISH
) -> Dataset:
    """Description of items for their card.

    Args:
        items: contracts.Items.
        canary: of the items.
        is_encrypted: whether the rows are, with access to ask for.
        language: of the items.
    """
    n_domains, versions = items["domain"].nunique(), items["version"].nunique()
    about = (
        "Minimal pairs of pairs for basic world knowledge, in the format of EWoK (arXiv"
        f" 2405.09605): {n_domains} domain{'s' * (n_domains > 1)}, {versions}"
        f" version{'s' * (versions > 1)}. Target 1 of an item fits its context 1, target 2 its"
        " context 2."
    )
    if name := language_name(language.details()):
        about += f" The items are in {name}."
    return Dataset(
        name="EWoK items, protected" if is_protected(canary) else "worldprobe items",
        about=about,
        use=_IMPORT if is_encrypted else _USE,
        table=Items,
        n_rows=len(items),
        split="test",
        licence=_OFFICIAL if is_protected(canary) else _OWN if is_own(canary) else _UNKNOWN,
        citation=CITATION,
        tags=("world-knowledge", "evaluation", "minimal-pairs", "ewok"),
        canary=canary,
        conditions=_CONDITIONS if is_encrypted else (),
        language=language.language,
    )
