"""How much EWoK asks of a model: texts and tokens, before any item is there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worldprobe.benchmark import Evaluated, Study, Workload, count_rows
from worldprobe.benchmarks.ewok import outputs
from worldprobe.benchmarks.ewok.study import is_released
from worldprobe.benchmarks.ewok.vocabulary import is_prompted
from worldprobe.paths import edition

#: Templates of our own editions; of the official release (4,374 items in five versions), which
#: other materials are taken for until their items are there.
TEMPLATES = {
    "builtin@1": 1906,
    "builtin@2": 2380,
    "builtin@3": 2497,
    "builtin@4": 2497,
    "builtin-es": 736,
    "builtin-zh": 712,
}
OTHER_TEMPLATES = 875
#: Tokens of a context with a target; of a question by each paradigm without examples; and of one
#: example in it. Words of the paper's prompts times 1.3.
PAIR = 25
QUESTION = {"likert": 150, "choice": 165}
EXAMPLE = {"likert": 65, "choice": 62}
#: Texts per item: both targets after both contexts; or one question for each target.
TEXTS = {"logprobs": 4, "likert": 4, "choice": 2}
#: Tokens that a free answer may have (Appendix A.3); a constrained one is read off the scores.
FREE = 20


def of_evaluation(model: Evaluated) -> Workload | None:
    """What ``evaluate`` asks a model; None for materials whose number of templates is not known."""
    templates = TEMPLATES.get(model.options.materials)
    if templates is None:
        return None
    first, _, last = model.options.versions.partition("-")
    texts = min(templates, model.limit or templates) * (int(last or first) - int(first) + 1) * 4
    if model.offers.logprobs:
        return Workload(texts, texts * PAIR)
    return Workload(texts, texts * QUESTION["choice"], texts * FREE)  # in both orders


def count_items(study: Study, condition: str) -> int:
    """Items of a condition: of its table, or as many as its settings let one expect."""
    if (n_rows := count_rows(Path(outputs.paths(study).items(condition)))) is not None:
        return n_rows
    source = edition(study["ewok"]["materials"]["source"])
    items = study["ewok"]["conditions"][condition]["items"]
    templates = TEMPLATES.get(source, OTHER_TEMPLATES)
    return min(templates, items["limit"] or templates) * len(
        outputs.item_versions(study, condition)
    )


def workload(study: Study, _card: Mapping[str, Any]) -> Workload | None:
    """Requests to a model in all conditions and ways of asking. The examples that prompts share are
    counted each time.
    """
    if is_released(study):
        return None
    total = Workload()
    for name, condition in study["ewok"]["conditions"].items():
        how, items = condition["prompting"], count_items(study, name)
        for eval_type in study["ewok"]["eval_types"]:
            paradigm = eval_type.partition("_")[0]
            texts = items * TEXTS[paradigm]
            read, written = PAIR, 0
            if is_prompted(eval_type):
                texts *= 2 if paradigm == "choice" and how["swap"] else 1
                read = QUESTION[paradigm] + 2 * EXAMPLE[paradigm] * eval_type.endswith("_two")
                written = (FREE + how["thoughts"]) * ("_free_" in eval_type)
            total = Workload(
                total.requests + texts, total.read + texts * read, total.written + texts * written
            )
    return total
