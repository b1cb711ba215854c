"""Trials as a dataset of the Hugging Face hub: what its card says of them."""

from __future__ import annotations

from worldprobe.benchmarks.worldsense.contracts import Trials
from worldprobe.report.dataset_folder import Dataset, Licence

CITATION = """@misc{worldsense2023,
  title = {WorldSense: A Synthetic Benchmark for Grounded Reasoning in Large Language Models},
  author = {Benchekroun, Youssef and Dervishi, Megi and Ibrahim, Mark and others},
  year = {2023},
  eprint = {2311.15930},
  archivePrefix = {arXiv}
}"""
_LICENCE = Licence(
    "mit",
    "https://opensource.org/license/mit",
    "MIT, by the worldprobe authors, in words of their own skins: none of the text is WorldSense's released data. Please keep "
    "the canary.",
)
_USE = """`worldprobe worldsense ask data/{split}.parquet --checkpoint MODEL --prompting basic --out responses.parquet` asks a
model. The column `gold` has the right answer in disguise, as the release has it."""


def describe_trials(n_rows: int, of_set: str | None, canary: str | None) -> Dataset:
    """What the card says of trials that were generated here.

    Args:
        n_rows: their number.
        of_set: the set that they are, e.g. ``test`` or ``train-10k``.
        canary: of the trials.
    """
    split = "train" if (of_set or "").startswith("train") else "test"
    return Dataset(
        name=f"worldprobe trials{f' ({of_set})' if of_set else ''}",
        about="Questions about the order of entities, in the scheme of WorldSense (arXiv 2311.15930). An exact solver decided "
        "each answer.",
        use=_USE.format(split=split),
        table=Trials,
        n_rows=n_rows,
        split=split,
        licence=_LICENCE,
        citation=CITATION,
        tags=("reasoning", "evaluation", "synthetic", "worldsense"),
        canary=canary,
    )
