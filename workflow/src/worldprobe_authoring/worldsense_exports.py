"""Trials and responses for other programs: a dataset of the hub, a task folder of
lm-evaluation-harness, the official layout.
"""

from __future__ import annotations

import bz2
import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from worldprobe.benchmarks.worldsense.analysis.questions import WORDS
from worldprobe.benchmarks.worldsense.analysis.statistics import FOLDED, POLARITY, WEIGHT
from worldprobe.benchmarks.worldsense.contracts import Trials
from worldprobe.benchmarks.worldsense.inference.ask import write_prompts
from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, answers_of
from worldprobe.errors import UserError
from worldprobe.files import whole_file
from worldprobe.log import LOGGER
from worldprobe.provenance import canary_comments
from worldprobe_authoring.dataset_folder import Dataset, Licence
from worldprobe_authoring.task_folders import READING, questions, tasks, template, warning

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
    "MIT, by the worldprobe authors, in words of their own skins: none of the text is WorldSense's"
    " released data. Please keep the canary.",
)
_USE = """`worldprobe worldsense ask data/{split}.parquet --checkpoint MODEL --prompting basic --out
responses.parquet` asks a model. The column `gold` has the right answer in disguise, as the release
has it."""


def describe_trials(n_rows: int, of_set: str | None, canary: str | None) -> Dataset:
    """Description, for the card, of trials that were generated here.

    Args:
        n_rows: their number.
        of_set: the set that they are, e.g. ``test`` or ``train-10k``.
        canary: of the trials.
    """
    split = "train" if (of_set or "").startswith("train") else "test"
    return Dataset(
        name=f"worldprobe trials{f' ({of_set})' if of_set else ''}",
        about=(
            "Questions about the order of entities, in the scheme of WorldSense (arXiv 2311.15930)."
            " An exact solver decided each answer."
        ),
        use=_USE.format(split=split),
        table=Trials,
        n_rows=n_rows,
        split=split,
        licence=_LICENCE,
        citation=CITATION,
        tags=("reasoning", "evaluation", "synthetic", "worldsense"),
        canary=canary,
    )


BENCHMARK = "worldsense"
PROMPTING = "constrained_sum"

_UTILS = f'''"""Loads the trials of this folder and judges an answer: for lm-evaluation-harness."""
{READING}

#: The official disguise of the gold answers.
ANSWER_OF = {ANSWER_OF}
WEIGHT = {dict(zip(WORDS, WEIGHT.tolist(), strict=True))}
POLARITY = {dict(zip(WORDS, POLARITY.tolist(), strict=True))}
#: 1 and 2 are one answer to the paper: it is known.
FOLDED = {dict(zip(WORDS, FOLDED.tolist(), strict=True))}''' + template("worldsense_judge.py")

_README = template("worldsense_lm_eval.md")


def task_files(
    trials: pd.DataFrame, task: str, canary: str | None, password: str | None = None
) -> Iterator[tuple[str, bytes]]:
    """The task folder: name and content of each file.

    Args:
        trials: whole tuples, in our columns.
        task: the group's name.
        canary: of the trials.
        password: encrypts the trials; None leaves them readable.
    """
    rows = trials[["trial_id", "tuple_id", "problem", "size", "gold"]].copy()
    rows["prompt"] = write_prompts(trials, load_prompt_set(PROMPTING), None)
    rows["choices"] = [list(answers_of(problem)) for problem in rows["problem"]]
    ends = (
        rows["problem"].str.lower().str.replace(".", "_", regex=False)
        + "_"
        + rows["size"].astype(str)
    )
    rows["task"] = f"{task}_" + ends
    columns = {"doc_to_text": "prompt", "doc_to_choice": "choices", "doc_to_target": "label"}
    functions = {"custom_dataset": "load_trials", "process_results": "judge"}
    yield from tasks(
        task,
        BENCHMARK,
        sorted(rows["task"].unique()),
        columns,
        functions,
        ["acc", "bias", "tie", "missing"],
    )
    yield "utils.py", _UTILS.encode()
    sizes = rows.groupby("problem")["size"].nunique()
    group = ", and those of the group are worldprobe's averages" if sizes.nunique() == 1 else ""
    page = _README.format(
        canary=canary_comments(canary),
        task=task,
        n_trials=len(rows),
        group=group,
        secret=warning(password),
    )
    yield "README.md", page.lstrip().encode()
    yield questions(rows, canary, password)


def results_name(prompting: str, model: str) -> str:
    """The name of a file of results, from which official readers take prompting and model.

    Raises:
        UserError: a reader could not tell prompting and model apart in the name.

    >>> results_name("basic", "GPT4")
    'basic___GPT4___results.jsonl.bz2'
    """
    name = f"{prompting}___{model}___results.jsonl.bz2"
    if (
        not model
        or "/" in name
        or name.split("___")[:2] != [prompting, model]
        or model.endswith("_")
    ):
        problem = "cannot be parts of an official file's name, which are joined by ___."
        fix = "Rename it: letters, digits, dot, dash and single underscores, none of them last."
        raise UserError(f"prompting {prompting}, model {model}", problem, fix)
    return name


def write_results(responses: pd.DataFrame, model: str, folder: Path) -> list[Path]:
    """Write greedy responses, or the first sample of each trial, one file per prompting; no answer
    is an empty string.

    Args:
        responses: contract Responses.
        model: the model's name.
        folder: where the files go.

    Returns:
        The files.
    """
    written = []
    first = responses[responses["sample"] == 0]
    if len(first) < len(responses):
        LOGGER.warning(
            "%s: the layout has one answer per trial; of several samples, the first is written",
            model,
        )
    for prompting, rows in first.groupby("prompting", sort=True):
        lines = [
            json.dumps(
                {"Key": int(key), "resp": answer if isinstance(answer, str) else ""},
                separators=(",", ":"),
            )
            + "\n"
            for key, answer in zip(rows["trial_id"], rows["answer"], strict=True)
        ]
        content = "".join(lines).encode()
        path = folder / results_name(str(prompting), model)
        with whole_file(path) as temporary:
            temporary.write_bytes(bz2.compress(content))
        written.append(path)
    return written
