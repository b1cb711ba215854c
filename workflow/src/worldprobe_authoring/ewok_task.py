"""Items as a task folder of lm-evaluation-harness that asks our questions: a target after its own
and after the other context.

Two documents per item, each with both contexts and one target: P(" target" | context 1) and P("
target" | context 2) are compared, as in the paper (Section 4), and an exact tie counts 0.5. One
task per version and a group over them, because a model's accuracy is the mean over versions. A
folder for the gated dataset contains no text at all: lm-eval reads the dataset itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from worldprobe.benchmarks.ewok.canaries import is_protected
from worldprobe.benchmarks.ewok.vocabulary import joint
from worldprobe.provenance import canary_comments
from worldprobe_authoring import task_folders

BENCHMARK = "ewok"
#: The domains of EWoK-core-1.0, as its column Domain has them.
DOMAINS = (
    *(
        "agent-properties",
        "material-dynamics",
        "material-properties",
        "physical-dynamics",
        "physical-interactions",
    ),
    *(
        "physical-relations",
        "quantitative-properties",
        "social-interactions",
        "social-properties",
        "social-relations",
    ),
    "spatial-relations",
)

_JUDGE = task_folders.template("ewok_judge.py")
_ABOUT = '"""{}, and judges a target: for lm-evaluation-harness, which calls both functions."""\n'
_UTILS = _ABOUT.format("Loads the items of this folder") + task_folders.READING + _JUDGE
_FROM_HUB = task_folders.template("ewok_hub.py")

#: Metrics that are no means of targets, and the function that adds them up.
AGGREGATED = {"pairing": "pairing"}

_README = task_folders.template("ewok_lm_eval.md")
_MEANS = """`acc` of
the group {task} is worldprobe's accuracy, the mean of the means of the items' versions,
`acc_DOMAIN` that of a domain, and `tie` the share of exact ties, which count 0.5. Targets without
two finite log probabilities are left out; `missing` is their share. `pairing` is the share of items
whose contexts and targets fit better as they belong together than exchanged."""
_HUB_MEANS = """`acc` is
the mean over all items, `acc_DOMAIN` over those of a domain, and `tie` the share of exact ties,
which count 0.5. Targets without two finite log probabilities are left out; `missing` is their
share. `pairing` is the share of items whose contexts and targets fit better as they belong together
than exchanged. The dataset names no versions: the mean over versions, as in the paper, comes from
the samples, once they are read back."""
_SOURCE = """Source and licence are those of the materials
that the items were built from; worldprobe's own are CC BY 4.0."""
_HUB_SECRET = """
The items are read from {dataset}{revision}, to which you need access (`hf auth login`) under its
terms. No text of them is in this folder. Do not publish logged samples (`--log_samples`,
`--hf_hub_log_args`), nor the cache of datasets (HF_HOME): both contain the items in plain text.
"""


def task_rows(items: pd.DataFrame, task: str) -> pd.DataFrame:
    """Two rows per item: the target, both contexts, and the place of the context that it fits."""
    parts = []
    for target in (1, 2):
        part = items[["item_id", "domain", "version"]].assign(
            target=target, text=items[f"target{target}"]
        )
        part["contexts"] = [
            list(pair) for pair in zip(items["context1"], items["context2"], strict=True)
        ]
        part["label"] = target - 1
        parts.append(part)
    rows = (
        pd.concat(parts)
        .sort_values(["version", "item_id", "target"], kind="stable")
        .reset_index(drop=True)
    )
    return rows.assign(task=f"{task}_v" + rows["version"].astype(str))


def task_files(
    items: pd.DataFrame,
    task: str,
    canary: str | None,
    password: str | None = None,
    language: str = "",
) -> Iterator[tuple[str, bytes]]:
    """The task folder: name and content of each file.

    Args:
        items: contracts.Items.
        task: the group's name.
        canary: of the items.
        password: encrypts the items; None leaves them readable.
        language: its name, if the items are not in English.
    """
    rows, join = task_rows(items, task), joint(items["context1"].iloc[0])
    functions = {"custom_dataset": "load", "process_results": "judge"}
    yield from task_folders.tasks(
        task,
        BENCHMARK,
        list(rows["task"].unique()),
        {**_COLUMNS, "target_delimiter": join},
        functions,
        _metrics(sorted(rows["domain"].unique())),
        AGGREGATED,
        {"language": language} if language else {},
    )
    yield "utils.py", _UTILS.encode()
    means = _MEANS.format(task=task)
    what = f"{len(items)} items" + (f" in {language}" if language else "")
    if not is_protected(canary):
        what += ", EWoK's method on items that are not EWoK's,"
    page = _README.format(
        canary=canary_comments(canary),
        task=task,
        join=join,
        what=what,
        means=means,
        secret=task_folders.warning(password),
        source=_SOURCE,
    )
    yield "README.md", page.lstrip().encode()
    yield task_folders.questions(rows, canary, password)


def hub_files(dataset: str, revision: str | None, task: str) -> Iterator[tuple[str, bytes]]:
    """A task folder without any text of an item: lm-eval reads the gated dataset, with its user's
    own access.

    Args:
        dataset: its id on the hub, or a folder with the same columns.
        revision: of the dataset on the hub.
        task: the group's name.
    """
    source = {"dataset_path": dataset if revision else str(Path(dataset).absolute())}
    pinned = {"dataset_kwargs": {"revision": revision}} if revision else {}
    functions = {"process_docs": "double", "process_results": "judge"}
    yield from task_folders.tasks(
        task,
        BENCHMARK,
        [f"{task}_all"],
        source | pinned | _COLUMNS,
        functions,
        _metrics(DOMAINS),
        AGGREGATED,
    )
    yield (
        "utils.py",
        (
            _ABOUT.format("Turns the rows of the gated dataset into targets") + _FROM_HUB + _JUDGE
        ).encode(),
    )
    secret = _HUB_SECRET.format(
        dataset=dataset, revision=f" at revision {revision}" if revision else ""
    )
    page = _README.format(
        canary="",
        task=task,
        join=" ",
        what="EWoK's items",
        means=_HUB_MEANS,
        secret=secret,
        source="",
    ).lstrip()
    yield "README.md", (page.rstrip() + "\n").encode()


#: Which columns are the contexts, the target that is scored after each, and the place of the
#: context that it fits.
_COLUMNS = {"doc_to_text": "label", "doc_to_choice": "contexts", "doc_to_target": "text"}


def _metrics(domains: Sequence[str]) -> list[str]:
    return ["acc", "tie", "missing", *(f"acc_{domain}" for domain in domains), "pairing"]
