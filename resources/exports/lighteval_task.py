"""Asks worldprobe's questions in lighteval 0.13.0: P(" target" | context) of a target after both
contexts of its item.

python FILE TOKENIZER, where FILE is this one, says whether lighteval asks a model with this
tokenizer the same question.
"""

import math
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent


def questions():
    """(context, " target") of every document."""
    import pyarrow.parquet as parquet

    rows = parquet.read_table(HERE / "questions" / "test.parquet").to_pylist()
    return [(row["context_text"], " " + row["target_text"]) for row in rows]


def count_different(tokenizer, pairs):
    """How many targets, tokenised apart as lighteval does, are not the tokens that they are in
    their context.
    """

    def tokens(text, special=True):
        ids = list(tokenizer(text, add_special_tokens=special)["input_ids"])
        return ids[:-1] if special and ids and ids[-1] == tokenizer.eos_token_id else ids

    return sum(
        tokens(context) + tokens(target, False) != tokens(context + target)
        for context, target in pairs
    )


def accuracies(documents):
    """Worldprobe's accuracy, the mean of the versions' means, and that of every domain; an exact
    tie counts 0.5.

    Without a logprob for both contexts, a target is left out and counted in n_missing.
    """
    pairs = defaultdict(dict)
    for one in documents:
        pairs[one["version"], one["domain"], one["item_id"], one["target"]][one["context"]] = one[
            "logprob"
        ]
    groups, ties, n_missing = defaultdict(lambda: defaultdict(list)), [], 0
    for (version, domain, _, target), found in pairs.items():
        fits, other = (found.get(context, math.nan) for context in (target, 3 - target))
        if not (math.isfinite(fits) and math.isfinite(other)):
            n_missing += 1
            continue
        ties.append(float(fits == other))
        for name in ("acc", "acc_" + domain):
            groups[name][version].append(0.5 if fits == other else float(fits > other))
    means = {"acc": math.nan, "tie": mean(ties), "n_missing": n_missing}
    return means | {
        name: mean([mean(values) for values in versions.values()])
        for name, versions in groups.items()
    }


def mean(values):
    """Nothing has no mean."""
    return math.fsum(values) / len(values) if values else math.nan


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {__file__} TOKENIZER (a folder or a hub id)")
    from transformers import AutoTokenizer

    pairs = questions()
    n_different = count_different(AutoTokenizer.from_pretrained(sys.argv[1]), pairs)
    same = (
        "every target is" if not n_different else f"{n_different} of {len(pairs)} targets are not"
    )
    print(
        f"{same} tokenised apart as in its context: {'not ' if n_different else ''}the question"
        " that worldprobe asks."
    )
    sys.exit(1 if n_different else 0)

from lighteval.metrics.sample_preparator import Preparator  # noqa: E402
from lighteval.metrics.utils.metric_utils import CorpusLevelMetric  # noqa: E402
from lighteval.tasks.lighteval_task import LightevalTaskConfig  # noqa: E402
from lighteval.tasks.requests import Doc, SamplingMethod  # noqa: E402


def document(row, task_name=None):
    """One question: lighteval adds no space between a query and its choice."""
    known = {name: row[name] for name in ("item_id", "domain", "version", "target", "context")}
    return Doc(
        query=row["context_text"], choices=[" " + row["target_text"]], gold_index=0, specific=known
    )


class LogProbability(Preparator):
    """What the metric has to know of a document."""

    @staticmethod
    def prepare(doc, model_response, **_):
        """The document's facts and its log probability."""
        return {**doc.specific, "logprob": model_response.logprobs[0]}


TASKS_TABLE = [
    LightevalTaskConfig(
        name=Path(__file__).stem,
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
