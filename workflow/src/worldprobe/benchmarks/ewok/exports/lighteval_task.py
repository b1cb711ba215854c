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
from worldprobe.provenance import canary_comments

DATA = "questions/test.parquet"

_TASK = '''"""Asks worldprobe's questions in lighteval 0.13.0: P(" target" | context) of a target after both contexts of its item.

python {task}.py TOKENIZER says whether lighteval asks a model with this tokenizer the same question.
"""

import math
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent


def questions():
    """(context, " target") of every document."""
    import pyarrow.parquet as parquet

    rows = parquet.read_table(HERE / "{data}").to_pylist()
    return [(row["context_text"], " " + row["target_text"]) for row in rows]


def count_different(tokenizer, pairs):
    """How many targets, tokenised apart as lighteval does, are not the tokens that they are in their context."""

    def tokens(text, special=True):
        ids = list(tokenizer(text, add_special_tokens=special)["input_ids"])
        return ids[:-1] if special and ids and ids[-1] == tokenizer.eos_token_id else ids

    return sum(tokens(context) + tokens(target, False) != tokens(context + target) for context, target in pairs)


def accuracies(documents):
    """worldprobe's accuracy, the mean of the versions' means, and that of every domain; an exact tie counts 0.5.

    Without a logprob for both contexts, a target is left out and counted in n_missing.
    """
    pairs = defaultdict(dict)
    for one in documents:
        pairs[one["version"], one["domain"], one["item_id"], one["target"]][one["context"]] = one["logprob"]
    groups, ties, n_missing = defaultdict(lambda: defaultdict(list)), [], 0
    for (version, domain, _, target), found in pairs.items():
        fits, other = (found.get(context, math.nan) for context in (target, 3 - target))
        if not (math.isfinite(fits) and math.isfinite(other)):
            n_missing += 1
            continue
        ties.append(float(fits == other))
        for name in ("acc", "acc_" + domain):
            groups[name][version].append(0.5 if fits == other else float(fits > other))
    means = {{"acc": math.nan, "tie": mean(ties), "n_missing": n_missing}}
    return means | {{name: mean([mean(values) for values in versions.values()]) for name, versions in groups.items()}}


def mean(values):
    return math.fsum(values) / len(values) if values else math.nan


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python {task}.py TOKENIZER (a folder or a hub id)")
    from transformers import AutoTokenizer

    pairs = questions()
    n_different = count_different(AutoTokenizer.from_pretrained(sys.argv[1]), pairs)
    same = "every target is" if not n_different else f"{{n_different}} of {{len(pairs)}} targets are not"
    print(f"{{same}} tokenised apart as in its context: {{'not ' if n_different else ''}}the question that worldprobe asks.")
    sys.exit(1 if n_different else 0)

from lighteval.metrics.sample_preparator import Preparator
from lighteval.metrics.utils.metric_utils import CorpusLevelMetric
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod


def document(row, task_name=None):
    """One question: lighteval adds no space between a query and its choice."""
    known = {{name: row[name] for name in ("item_id", "domain", "version", "target", "context")}}
    return Doc(query=row["context_text"], choices=[" " + row["target_text"]], gold_index=0, specific=known)


class LogProbability(Preparator):
    """What the metric has to know of a document."""

    @staticmethod
    def prepare(doc, model_response, **_):
        return {{**doc.specific, "logprob": model_response.logprobs[0]}}


TASKS_TABLE = [
    LightevalTaskConfig(
        name="{task}",
        prompt_function=document,
        hf_repo=str(HERE / "questions"),
        hf_subset="default",
        hf_avail_splits=["test"],
        evaluation_splits=["test"],
        metrics=[
            CorpusLevelMetric(
                metric_name="acc",
                higher_is_better=True,
                category=SamplingMethod.LOGPROBS,
                sample_level_fn=LogProbability(),
                corpus_level_fn=accuracies,
            )
        ],
    )
]
'''
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
    yield f"{task}.py", _TASK.format(task=task, data=DATA).encode()
    yield "README.md", _README.format(canary=canary_comments(canary), task=task, n_items=len(items)).lstrip().encode()
    yield DATA, to_parquet(question_rows(items), canary)
