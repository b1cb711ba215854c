"""Samples that lm-evaluation-harness logged of a task of ours: our questions, asked by another
tool.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from worldprobe.benchmarks.ewok.vocabulary import joint
from worldprobe.benchmarks.worldsense.inference.ask import choose, responses, write_prompts
from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
from worldprobe.benchmarks.worldsense.skins.vocabulary import answers_of
from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models.chat import Encoder, own_tokens
from worldprobe.models.checkpoint import locate
from worldprobe.models.engine import NOT_FINITE, Scored
from worldprobe.models.loading import load_tokenizer
from worldprobe.models.registry import CAUSAL
from worldprobe.models.weights import read_object
from worldprobe_authoring.task_folders import BENCHMARK
from worldprobe_authoring.worldsense_exports import PROMPTING

Key = TypeVar("Key", str, tuple[str, int])


#: What reading a file raises that is not lm-eval's: not JSON, or other keys, types or numbers.
NOT_OURS = (
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)


@dataclass(frozen=True)
class LmEvalRun:
    """The facts of a run of lm-eval.

    Attributes:
        results_file: its results file.
        files: its samples of the tasks that ask this benchmark.
        model: lm-eval's name of the checkpoint.
        revision: of a hub id.
        dtype: float32, bfloat16 or float16.
        packages: lm_eval and transformers, with their versions.
        arguments: --model_args.
    """

    results_file: Path
    files: tuple[Path, ...]
    model: str
    revision: str | None
    dtype: str | None
    packages: dict[str, str]
    arguments: dict[str, str]


@dataclass(frozen=True)
class Sample:
    """One logged question.

    Attributes:
        where: file and line, for messages.
        doc: the row of the table of questions.
        asked: context and continuation of each choice.
        logprobs: log P(continuation | context) of each, nats.
    """

    where: str
    doc: dict[str, Any]
    asked: list[tuple[str, str]]
    logprobs: list[float]


def read_run(folder: Path, benchmark: str) -> LmEvalRun:
    """The newest run in a folder that lm-eval wrote (``--output_path``, with ``--log_samples``).

    Args:
        folder: with one results_DATE.json and samples_TASK_DATE.jsonl, possibly in a folder of the
            model's.
        benchmark: whose samples are wanted; those of other tasks are left alone.

    Raises:
        UserError: there is no run with such samples, or it changed the questions.
    """
    runs = sorted(folder.rglob("results_*.json"), key=lambda path: path.name)
    if not runs:
        problem = "contains no results of lm-eval (results_DATE.json)."
        raise UserError(folder, problem, "Name the folder that --output_path named.")
    if len({path.parent for path in runs}) > 1:
        raise UserError(
            folder,
            "contains results of several models.",
            f"Name one model's folder, e.g. {runs[0].parent}.",
        )
    results, date = runs[-1], runs[-1].stem.removeprefix("results_")
    try:
        stated = json.loads(results.read_text(encoding="utf-8"))
        asked = [
            name
            for name, task in stated["configs"].items()
            if (task.get("metadata") or {}).get(BENCHMARK) == benchmark
        ]
        is_shot = any(int(stated["n-shot"].get(name) or 0) > 0 for name in asked)
        config = dict(stated.get("config") or {})
        model, revision, dtype = (
            stated.get("model_name"),
            config.get("model_sha"),
            config.get("model_dtype"),
        )
        packages = {name: stated.get(f"{name}_version") for name in ("lm_eval", "transformers")}
        given = config.get("model_args") or {}
        arguments = (
            {name: str(value) for name, value in given.items()}
            if isinstance(given, dict)
            else dict(part.split("=", 1) for part in given.split(",") if "=" in part)
        )
    except (OSError, *NOT_OURS) as error:
        raise UserError(
            results, "is not a results file of lm-eval.", "Run lm-eval again."
        ) from error
    if not asked:
        raise UserError(
            results,
            f"is of no task that worldprobe exported for {benchmark}.",
            "Name the folder of such a run.",
        )
    for is_given, option in (
        (bool(stated.get("chat_template")), "--apply_chat_template"),
        (bool(stated.get("system_instruction")), "--system_instruction"),
        (is_shot, "--num_fewshot"),
    ):
        if is_given:
            raise UserError(
                results,
                f"was asked with {option}, which is another question.",
                f"Run it again without {option}.",
            )
    wanted = {f"samples_{name}_{date}.jsonl" for name in asked}
    files = tuple(
        sorted(path for path in results.parent.glob("samples_*.jsonl") if path.name in wanted)
    )
    if not files:
        raise UserError(
            results, "has no samples next to it.", "Run lm-eval again with --log_samples."
        )
    versions = {name: version for name, version in packages.items() if version}
    return LmEvalRun(
        results,
        files,
        model or "lm-eval",
        revision or None,
        dtype.removeprefix("torch.") if dtype else None,
        versions,
        arguments,
    )


def check_start_token(run: LmEvalRun) -> None:
    """Refuse samples whose texts began otherwise than our own scoring of the model begins them.

    Samples do not log tokens, so the model's tokenizer is asked, as lm-eval asks it: for what it
    adds by itself, unless --model_args says add_bos_token.

    Raises:
        UserError: the start token was left out, or added, where ours is not.
    """
    try:
        checkpoint = locate(run.model, run.revision, kind=None)
        if checkpoint.kind != CAUSAL:
            return
        import transformers

        tokenizer = load_tokenizer(checkpoint)
        config = read_object(checkpoint.folder / "config.json")
        config = config.get("text_config") or config
        encoder = Encoder(tokenizer, config.get("model_type", ""), config.get("bos_token_id"))
        stated = run.arguments.get("add_bos_token")
        adds = {} if stated is None else {"add_bos_token": stated.lower() == "true"}
        asked = transformers.AutoTokenizer.from_pretrained(
            str(checkpoint.tokenizer_folder), local_files_only=True, **adds
        )
    except (UserError, ImportError, OSError, ValueError):
        LOGGER.warning(
            "%s: whether its texts began with the start token, as here, cannot be checked, as the"
            " model %s is not on this machine",
            run.results_file,
            run.model,
        )
        return
    theirs = () if adds.get("add_bos_token") is False else own_tokens(asked)[0]
    if theirs != encoder.prefix:
        began, begins = (
            ", ".join(tokenizer.convert_ids_to_tokens(list(ids))) or "nothing"
            for ids in (theirs, encoder.prefix)
        )
        raise UserError(
            run.results_file,
            f"is of texts that began with {began}, where worldprobe begins them with {begins}: the"
            " numbers cannot be compared.",
            "Run lm-eval again with --model_args that say so: add_bos_token is to be"
            f" {bool(encoder.prefix)}.",
        )


def read_samples(files: Sequence[Path], fix: str) -> Iterator[Sample]:
    """The samples of a run, one after the other.

    Args:
        files: of the run.
        fix: what to do where a line is not a sample of the task.

    Raises:
        UserError: such a line, by file and number.
    """
    for path in files:
        lines = path.read_bytes().split(
            b"\n"
        )  # not splitlines, which also splits at separators inside a text
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                sample = json.loads(line)
                answered = sample["filtered_resps"]
                pairs = [sample["arguments"][f"gen_args_{k}"] for k in range(len(answered))]
                asked = [(str(pair["arg_0"]), str(pair["arg_1"])) for pair in pairs]
                yield Sample(
                    where, dict(sample["doc"]), asked, [float(values[0]) for values in answered]
                )
            except NOT_OURS as error:
                raise UserError(where, "is not a sample of worldprobe's task.", fix) from error


def read_logprobs(
    run: LmEvalRun,
    wanted: Mapping[Key, list[tuple[str, str]]],
    key_of: Callable[[Sample], Key],
    name_of: Callable[[Key], str],
    whole: str,
    fix: str,
) -> dict[Key, list[float]]:
    """The log probabilities that a run logged of our questions, each of which must have been asked
    once, and no others.

    Args:
        run: of our task.
        wanted: a question's key -> context and continuation of each choice.
        key_of: the key of the question that a sample is about.
        name_of: the question in words, from its key.
        whole: what the questions are about, in words, e.g. ``these items``.
        fix: what to do where the run asked something else.

    Returns:
        key -> log P(continuation | context) of each choice, nats.

    Raises:
        UserError: a sample of something else, a second one of the same question, or a question that
            was not asked.
    """
    logprobs: dict[Key, list[float]] = {}
    for sample in read_samples(run.files, fix):
        key = key_of(sample)
        if key not in wanted:
            raise UserError(sample.where, f"{name_of(key)} is not among {whole}.", fix)
        if sample.asked != wanted[key]:
            raise UserError(
                sample.where,
                f"{name_of(key)} was asked with other texts than those of {whole}.",
                fix,
            )
        if key in logprobs:
            raise UserError(
                sample.where, f"{name_of(key)} occurs a second time.", "Name the folder of one run."
            )
        logprobs[key] = sample.logprobs
    if missing := sorted(wanted.keys() - logprobs.keys()):
        problem = (
            f"{len(missing)} of {len(wanted)} questions were not asked, e.g. {name_of(missing[0])}."
        )
        raise UserError(run.results_file.parent, problem, fix)
    return logprobs


ITEMS_FIX = (
    "Export these items again (`worldprobe items export ITEMS --format lm-eval`) and log the"
    " samples of that task."
)


#: An item and one of its targets.
ItemKey = tuple[str, int]


def read_target_scores(run: LmEvalRun, items: pd.DataFrame) -> pd.DataFrame:
    """The log probabilities of every item's targets under both contexts.

    Args:
        run: of our task.
        items: contracts.Items, all of which must have been asked, and no others. Samples of the
            gated dataset name no item, and are known by their texts.

    Returns:
        contracts.TargetScores; lm-eval does not log numbers of tokens, so n_tokens is 0.

    Raises:
        UserError: a line is not a sample of these items, or some were not asked.
    """
    wanted: dict[ItemKey, list[tuple[str, str]]] = {}
    by_texts: dict[tuple[str, str, str, int], list[ItemKey]] = {}
    for target in (1, 2):
        columns = ["item_id", "context1", "context2", f"target{target}"]
        for item, *texts in (
            items.sort_values("item_id", ascending=False)[columns]
            .astype(object)
            .to_numpy()
            .tolist()
        ):
            context1, context2, text = texts
            said = joint(context1) + text
            wanted[item, target] = [(context1, said), (context2, said)]
            by_texts.setdefault((context1, context2, text, target), []).append((item, target))
    return _frame(
        read_logprobs(
            run,
            wanted,
            lambda sample: _find_item(sample, by_texts),
            _name_item,
            "these items",
            ITEMS_FIX,
        )
    )


def _name_item(key: ItemKey) -> str:
    return f"target {key[1]} of {key[0][:60]!r}"


def _find_item(
    sample: Sample, by_texts: Mapping[tuple[str, str, str, int], list[ItemKey]]
) -> ItemKey:
    """The item and target that a sample is about: as it says, or the next one with its texts."""
    try:
        target = sample.doc["target"]
        if type(target) is not int or not isinstance(sample.doc.get("item_id", ""), str):
            raise TypeError
        if "item_id" in sample.doc:
            return sample.doc["item_id"], target
        (context1, text), (context2, _) = sample.asked
    except NOT_OURS as error:
        raise UserError(sample.where, "is not a sample of worldprobe's task.", ITEMS_FIX) from error
    same = by_texts.get((context1, context2, text.removeprefix(" "), target))
    if same is None:
        raise UserError(
            sample.where,
            "was asked about an item that is not among these.",
            "Give the items of the release.",
        )
    return same.pop() if len(same) > 1 else same[0]


def _frame(logprobs: Mapping[ItemKey, Sequence[float]]) -> pd.DataFrame:
    rows = [
        (
            (item, target, context, value, 0, "")
            if math.isfinite(value) and value <= 0
            else (item, target, context, None, 0, NOT_FINITE)
        )
        for (item, target), values in sorted(logprobs.items())
        for context, value in zip((1, 2), values, strict=True)
    ]
    columns = ["item_id", "target", "context", "logprob", "n_tokens", "flags"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"item_id": "str", "logprob": "float64", "flags": "str"})


TRIALS_FIX = (
    "Export these trials again (`worldprobe worldsense export TRIALS --format lm-eval`) and log the"
    " samples of that task."
)


def read_responses(run: LmEvalRun, trials: pd.DataFrame) -> pd.DataFrame:
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
    asked = list(
        zip(
            trials["trial_id"].tolist(),
            write_prompts(trials, prompts, None),
            trials["problem"],
            strict=True,
        )
    )
    wanted = {
        str(trial): [(text, f" {option}") for option in answers_of(problem)]
        for trial, text, problem in asked
    }
    logprobs = read_logprobs(run, wanted, _trial, "trial {}".format, "these trials", TRIALS_FIX)
    rows = [
        choose(trial, text, problem, [_scored(values) for values in logprobs[str(trial)]], prompts)
        for trial, text, problem in asked
    ]
    return responses(rows, PROMPTING, "text")


def _trial(sample: Sample) -> str:
    return str(sample.doc.get("trial_id"))[:60]


def _scored(logprob: float) -> Scored:
    return Scored(logprob, 0) if math.isfinite(logprob) else Scored(None, 0, (NOT_FINITE,))
