"""Trials as a task folder of lm-evaluation-harness, and its samples as responses: ``constrained_sum``, asked elsewhere.

Every accepted answer is scored after the prompt, log P(" answer" | prompt), and the likeliest is chosen. One task per problem and
size, whose means are the paper's (tuples weigh equally, Section 4.2), and a group over them. Gold answers stay in the official
disguise; only a run opens them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from worldprobe.benchmarks.worldsense.analysis.questions import WORDS
from worldprobe.benchmarks.worldsense.analysis.scoring import FOLDED, POLARITY, WEIGHT
from worldprobe.benchmarks.worldsense.inference.ask import choose, responses, write_prompts
from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, answers_of
from worldprobe.inference.lm_eval import READING, Run, Sample, questions, read_logprobs, tasks, warning
from worldprobe.models.engine import NOT_FINITE, Scored
from worldprobe.provenance import canary_comments

BENCHMARK = "worldsense"
PROMPTING = "constrained_sum"
FIX = "Export these trials again (`worldprobe worldsense export TRIALS --format lm-eval`) and log the samples of that task."

_UTILS = f'''"""Loads the trials of this folder and judges an answer: for lm-evaluation-harness, which calls both functions."""
{READING}

#: The official disguise of the gold answers.
ANSWER_OF = {ANSWER_OF}
WEIGHT = {dict(zip(WORDS, WEIGHT.tolist(), strict=True))}
POLARITY = {dict(zip(WORDS, POLARITY.tolist(), strict=True))}
#: 1 and 2 are one answer to the paper: it is known.
FOLDED = {dict(zip(WORDS, FOLDED.tolist(), strict=True))}


def load_trials(task_name=None, **_):
    """The trials of one problem and size, with the place of the right answer and the trial's share of its tuple."""
    rows = load(task_name)["test"].to_list()
    weights = {{}}
    for row in rows:
        weights.setdefault(row["tuple_id"], []).append(WEIGHT[ANSWER_OF[row["gold"]]])
    for row in rows:
        gold, tuple_weights = ANSWER_OF[row["gold"]], weights[row["tuple_id"]]
        row["label"] = row["choices"].index(gold)
        row["share"] = WEIGHT[gold] * len(tuple_weights) / sum(tuple_weights)
    return {{"test": datasets.Dataset.from_list(rows)}}


def judge(doc, results):
    """Whether the likeliest answer is right, and its polarity, by the trial's share; none where the best two are as likely.

    Neither is there one where a number is not finite: the trial then counts as wrong, and in ``missing``.
    """
    values = [value for value, _ in results]
    if not all(math.isfinite(value) for value in values):
        return {{"acc": 0.0, "bias": 0.0, "tie": 0.0, "missing": 1.0}}
    best = max(values)
    if values.count(best) > 1:
        return {{"acc": 0.0, "bias": 0.0, "tie": 1.0, "missing": 0.0}}
    chosen, gold = doc["choices"][values.index(best)], ANSWER_OF[doc["gold"]]
    acc, bias = doc["share"] * (FOLDED[chosen] == FOLDED[gold]), doc["share"] * POLARITY[chosen]
    return {{"acc": acc, "bias": bias, "tie": 0.0, "missing": 0.0}}
'''

_README = """{canary}
# {task}: {n_trials} trials of WorldSense for lm-evaluation-harness 0.4.13

```
lm-eval run --model hf --model_args pretrained=MODEL,dtype=float32 --include_path FOLDER --tasks {task} \\
    --log_samples --output_path OUT
```

It asks what worldprobe asks by the strategy `constrained_sum`: which of the accepted answers is the likeliest after the prompt.
`acc` and `bias` of a problem and size are the paper's, over whole tuples{group}; `tie` is the share of trials
without an answer because the best two are exactly as likely, `missing` of those without finite log
probabilities, which count as wrong. lm-eval's standard errors are not the paper's.
With `--apply_chat_template`, `--num_fewshot`, `--system_instruction` or `--limit` it is another question or another average.
{secret}
`worldprobe worldsense import-samples TRIALS OUT --out RESPONSES` reads the logged samples back; they contain the trials' text and
the gold answers.
"""


def task_files(trials: pd.DataFrame, task: str, canary: str | None, password: str | None = None) -> Iterator[tuple[str, bytes]]:
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
    ends = rows["problem"].str.lower().str.replace(".", "_", regex=False) + "_" + rows["size"].astype(str)
    rows["task"] = f"{task}_" + ends
    columns = {"doc_to_text": "prompt", "doc_to_choice": "choices", "doc_to_target": "label"}
    functions = {"custom_dataset": "load_trials", "process_results": "judge"}
    yield from tasks(task, BENCHMARK, sorted(rows["task"].unique()), columns, functions, ["acc", "bias", "tie", "missing"])
    yield "utils.py", _UTILS.encode()
    sizes = rows.groupby("problem")["size"].nunique()
    group = ", and those of the group are worldprobe's averages" if sizes.nunique() == 1 else ""
    page = _README.format(canary=canary_comments(canary), task=task, n_trials=len(rows), group=group, secret=warning(password))
    yield "README.md", page.lstrip().encode()
    yield questions(rows, canary, password)


def read_responses(run: Run, trials: pd.DataFrame) -> pd.DataFrame:
    """The answers that a run of such a task chose.

    Args:
        run: with samples of the task.
        trials: in our columns, all of which must have been asked, and no others.

    Returns:
        contracts.Responses; lm-eval does not log numbers of tokens, so n_tokens is 0.

    Raises:
        UserError: a line is not a sample of these trials, or some were not asked.
    """
    prompts = load_prompt_set(PROMPTING)
    asked = list(zip(trials["trial_id"].tolist(), write_prompts(trials, prompts, None), trials["problem"], strict=True))
    wanted = {str(trial): [(text, f" {option}") for option in answers_of(problem)] for trial, text, problem in asked}
    found = read_logprobs(run, wanted, _trial, "trial {}".format, "these trials", FIX)
    rows = [choose(trial, text, problem, [_scored(one) for one in found[str(trial)]], prompts) for trial, text, problem in asked]
    return responses(rows, PROMPTING, "text")


def _trial(sample: Sample) -> str:
    return str(sample.doc.get("trial_id"))[:60]


def _scored(logprob: float) -> Scored:
    return Scored(logprob, 0) if math.isfinite(logprob) else Scored(None, 0, (NOT_FINITE,))
