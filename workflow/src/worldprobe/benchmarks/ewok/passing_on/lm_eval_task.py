"""Items as a task folder of lm-evaluation-harness that asks our questions: a target after its own and after the other context.

Two documents per item, each with both contexts and one target: P(" target" | context 1) and P(" target" | context 2) are
compared, as in the paper (Section 4), and an exact tie counts 0.5. One task per version and a group over them, because a model's
accuracy is the mean over versions. Written against lm-eval 0.4.13.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pandas as pd

from worldprobe.archives import EXPORT_VARIABLE as VARIABLE
from worldprobe.archives import encrypt

#: What the sources of the task are called in the folder, and where the items are.
TEMPLATE, DATA, ENCRYPTED = "_common_yaml", "data/items.parquet", "data/items.zip"

_UTILS = '''"""Loads the items of this folder and judges a target: for lm-evaluation-harness, which calls both functions."""

import os
from io import BytesIO
from pathlib import Path

import datasets
import pyarrow.parquet as parquet

HERE = Path(__file__).parent
VARIABLE = "{variable}"


def read():
    """The bytes of the table; encrypted ones are opened in memory and never written."""
    packed = HERE / "{encrypted}"
    if not packed.exists():
        return (HERE / "{data}").read_bytes()
    import pyzipper

    password = os.environ.get(VARIABLE)
    if not password:
        raise SystemExit(f"The items of this task are encrypted: set {{VARIABLE}} to their password.")
    with pyzipper.AESZipFile(packed) as archive:
        archive.setpassword(password.encode())
        try:
            return archive.read("items.parquet")
        except RuntimeError:
            raise SystemExit(f"{{VARIABLE}} is not the password of this task's items.") from None


def load(items_version=None, **_):
    """The items of one version, two rows per item. Not load_dataset, which would copy the texts into the cache of datasets."""
    rows = parquet.read_table(BytesIO(read())).to_pylist()
    return {{"test": datasets.Dataset.from_list([row for row in rows if row["version"] == items_version])}}


def judge(doc, results):
    """1, 0.5 on an exact tie, or 0; the same again under the domain's name."""
    fits, other = (results[place][0] for place in (doc["label"], 1 - doc["label"]))
    accuracy = 0.5 if fits == other else float(fits > other)
    return {{"acc": accuracy, "tie": float(fits == other), "acc_" + doc["domain"]: accuracy}}
'''

_README = """{canary}
# {task}: {n_items} items for lm-evaluation-harness 0.4.13

```
lm-eval run --model hf --model_args pretrained=MODEL,dtype=float32 --include_path FOLDER --tasks {task} \\
    --log_samples --output_path OUT
```

It asks what worldprobe asks: each target after both contexts, log P(" target" | context), once per version of the items. `acc` of
the group {task} is worldprobe's accuracy, `acc_DOMAIN` that of a domain, and `tie` the share of exact ties, which count 0.5.
With `--apply_chat_template`, `--num_fewshot` or `--system_instruction` it is another question; without `dtype=float32` half
precision turns near ties over. Where a tokenizer appends
an end token, lm-eval scores that token instead of the target's first.
{secret}
`worldprobe import lm-eval ITEMS OUT --out SCORES` reads the logged samples back. Source and licence are those of the materials
that the items were built from; worldprobe's own are CC BY 4.0.
"""


def task_rows(items: pd.DataFrame) -> pd.DataFrame:
    """Two rows per item: the target, both contexts, and the place of the context that it fits."""
    parts = []
    for target in (1, 2):
        part = items[["item_id", "domain", "version"]].assign(target=target, text=items[f"target{target}"])
        part["contexts"] = [list(pair) for pair in zip(items["context1"], items["context2"], strict=True)]
        part["label"] = target - 1
        parts.append(part)
    return pd.concat(parts).sort_values(["version", "item_id", "target"], kind="stable").reset_index(drop=True)


def task_files(items: pd.DataFrame, task: str, canary: str | None, password: str | None = None) -> Iterator[tuple[str, bytes]]:
    """The task folder: name and content of each file.

    Args:
        items: contracts.Items.
        task: the group's name.
        canary: of the items.
        password: encrypts the items; None leaves them readable.
    """
    rows = task_rows(items)
    domains, versions = sorted(rows["domain"].unique()), sorted(int(v) for v in rows["version"].unique())
    metrics = ["acc", "tie", *(f"acc_{domain}" for domain in domains)]
    common: dict[str, Any] = {
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "label",
        "doc_to_choice": "contexts",
        "doc_to_target": "text",
        "target_delimiter": " ",
        "num_fewshot": 0,
        "metric_list": [{"metric": name, "aggregation": "mean", "higher_is_better": name != "tie"} for name in metrics],
        "metadata": {"version": 1.0},
    }
    functions = "custom_dataset: !function utils.load\nprocess_results: !function utils.judge\n"
    yield TEMPLATE, (functions + _yaml(common)).encode()
    for version in versions:
        leaf = {"include": TEMPLATE, "task": f"{task}_v{version}", "dataset_kwargs": {"items_version": version}}
        yield f"version_{version}.yaml", _yaml(leaf).encode()
    group = {
        "group": task,
        "task": [f"{task}_v{version}" for version in versions],
        "aggregate_metric_list": [{"metric": name, "aggregation": "mean", "weight_by_size": False} for name in metrics],
        "metadata": {"version": 1.0},
    }
    yield "group.yaml", _yaml(group).encode()
    yield "utils.py", _UTILS.format(variable=VARIABLE, encrypted=ENCRYPTED, data=DATA).encode()
    secret = ""
    if password is not None:
        secret = f"The items are encrypted: set {VARIABLE}. Do not publish logged samples, which contain them in plain text.\n"
    marked = "\n".join(f"<!-- {line.strip()} -->" for line in (canary or "").splitlines() if line.strip())
    yield "README.md", _README.format(canary=marked, task=task, n_items=len(items), secret=secret).lstrip().encode()
    table = _parquet(rows, canary)
    yield (DATA, table) if password is None else (ENCRYPTED, encrypt({"items.parquet": table}, password))


def _yaml(document: dict[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120))


def _parquet(rows: pd.DataFrame, canary: str | None) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = pa.Table.from_pandas(rows, preserve_index=False)
    packed = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata({"canary": canary or ""}), packed)
    return packed.getvalue()
