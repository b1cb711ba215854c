"""Items as a task of lighteval: a file for ``--custom-tasks``, the questions next to it, and a check of the tokenizer.

lighteval tokenises context and target apart. With " T" as the target this is our question for byte-level and Metaspace
tokenizers, not for those that put a space of their own before every text, and a task cannot see the tokenizer: hence the check. A
document of lighteval has one context, so an item is four documents, which the metric brings together. Written against lighteval
0.13.0.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from worldprobe.inference.lm_eval import to_parquet
from worldprobe.paths import RESOURCES
from worldprobe.provenance import canary_comments

DATA = "questions/test.parquet"
#: The program that lighteval imports; it finds its questions beside it, and its task has its name.
_TASK = RESOURCES / "exports" / "lighteval_task.py"

_README = """{canary}
# {task}: {n_items} items for lighteval 0.13.0

```
python FOLDER/{task}.py MODEL
lighteval accelerate "model_name=MODEL,dtype=float32" "{task}|0" --custom-tasks FOLDER/{task}.py
```

It asks what worldprobe asks: each target after both contexts, log P(" target" | context). `acc` is worldprobe's accuracy, the
mean of the means of the items' versions, `acc_DOMAIN` that of a domain, `tie` the share of exact ties, which count 0.5, and
`n_missing` the number of targets without two finite log probabilities, which are left out.

It holds for byte-level and Metaspace tokenizers, not for Llama 1, Llama 2 or Mistral 0.1: lighteval tokenises context and target
apart, and there every target begins with a token too many. The first command says for the tokenizer of MODEL whether every target
tokenised apart is what it is in its context, and exits with 1 where it is not. With a chat template, few-shot examples or a
system prompt it is another question; half precision turns near ties over.

lighteval reads the questions with `datasets`, whose cache (HF_HOME) then contains them in plain text, as do saved details
(`--save-details`). Source and licence are those of the materials that the items were built from; worldprobe's own are CC BY 4.0.
"""


def question_rows(items: pd.DataFrame) -> pd.DataFrame:
    """Four rows per item, each a target after a context.

    Args:
        items: contracts.Items.
    """
    parts = [
        items[["item_id", "domain", "version"]].assign(
            target=target, context=context, target_text=items[f"target{target}"], context_text=items[f"context{context}"]
        )
        for target in (1, 2)
        for context in (1, 2)
    ]
    return pd.concat(parts).sort_values(["version", "item_id", "target", "context"], kind="stable").reset_index(drop=True)


def lighteval_files(items: pd.DataFrame, task: str, canary: str | None) -> Iterator[tuple[str, bytes]]:
    """The folder: name and content of each file.

    Args:
        items: contracts.Items, which may be read by everybody: lighteval cannot read encrypted ones.
        task: its name in lighteval.
        canary: of the items.
    """
    yield f"{task}.py", _TASK.read_bytes()
    yield "README.md", _README.format(canary=canary_comments(canary), task=task, n_items=len(items)).lstrip().encode()
    yield DATA, to_parquet(question_rows(items), canary)
