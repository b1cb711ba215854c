"""Results as files of other tools: lm-evaluation-harness and the hub."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import Any

from worldprobe.contracts.results import OVERALL
from worldprobe.errors import UserError
from worldprobe.report.results import (
    Score,
    is_public_id,
    list_scores,
    precision,
    public_adapter,
)

#: Keys of a results file of lm-eval, and of its run, that are null here.
UNSET = (
    *("git_hash", "upper_git_hash", "pretty_env_info", "total_evaluation_time_seconds"),
    *("system_instruction", "system_instruction_sha", "chat_template", "chat_template_sha"),
    "fewshot_as_multiturn",
)
UNSET_OF_RUN = (
    *("batch_size", "device", "use_cache", "bootstrap_iters"),
    *("random_seed", "numpy_seed", "torch_seed", "fewshot_seed"),
)


def task_name(score: Score) -> str:
    """The name of a number among lm-eval's tasks: prefixed, so that it is never taken for another
    implementation's.

    >>> task_name(Score("ewok", "social-relations", "accuracy", {}, {}))
    'worldprobe_ewok_social_relations'
    >>> stated = {"title": "EWoK's method, items builtin@4"}
    >>> task_name(Score("ewok", "overall", "accuracy", {}, stated))
    'worldprobe_ewok_method_items_builtin_4'
    """
    end = "" if score.group == "overall" else f"_{score.group}"
    _, has_own_items, items = str(score.stated.get("title", "")).partition("'s method, ")
    on = f"_method_{items}" if has_own_items else ""
    return re.sub("[^a-z0-9]+", "_", f"worldprobe_{score.benchmark}{on}{end}".lower())


def task_names(scores: Sequence[Score]) -> dict[tuple[str, str], str]:
    """The names of benchmarks' groups among lm-eval's tasks; of those that would have one name,
    later ones are numbered.
    """
    names: dict[tuple[str, str], str] = {}
    for score in sorted(scores, key=lambda score: score.group != OVERALL):
        if (score.benchmark, score.group) not in names:
            plain, taken = task_name(score), set(names.values())
            numbered = chain([plain], (f"{plain}_{number}" for number in count(2)))
            names[score.benchmark, score.group] = next(n for n in numbered if n not in taken)
    return names


def public_name(result: Mapping[str, Any]) -> str:
    """The model's id on the hub, or its name: where somebody keeps a folder is nobody else's
    business.

    >>> public_name(
    ...     {
    ...         "model": "mine",
    ...         "checkpoint": "/home/ada/mine",
    ...         "revision": None,
    ...         "engine": "transformers",
    ...     }
    ... )
    'mine'
    >>> public_name(
    ...     {
    ...         "model": "gpt2",
    ...         "checkpoint": "openai-community/gpt2",
    ...         "revision": "607a30d",
    ...         "engine": "transformers",
    ...     }
    ... )
    'openai-community/gpt2'
    """
    return str(
        result["checkpoint"]
        if result.get("revision") or is_public_id(result["checkpoint"])
        else result["model"]
    )


def to_lm_eval(result: Mapping[str, Any], date: float) -> dict[str, Any]:
    """The keys of a results file of lm-evaluation-harness 0.4: one task per number, one group per
    benchmark.

    Args:
        result: a checked result.
        date: seconds since 1970.
    """
    tasks: dict[str, dict[str, Any]] = {}
    counts: dict[str, dict[str, int]] = {}
    configs: dict[str, dict[str, Any]] = {}
    scores = list_scores(result)
    names = task_names(scores)
    for score in scores:
        name, metric = (
            names[score.benchmark, score.group],
            {"accuracy": "acc"}.get(score.metric, score.metric),
        )
        mean, stderr, n = (score.estimate[key] for key in ("mean", "stderr", "n"))
        entry = tasks.setdefault(name, {"alias": name, "name": name, "sample_len": n})
        entry |= {
            f"{metric},none": mean,
            f"{metric}_stderr,none": "N/A" if stderr is None else stderr,
        }
        counts[name] = {"original": n, "effective": n}
        items = {"version": 1, "items_digest": score.stated["items_digest"]}
        items["measured"] = score.stated["title"]
        configs[name] = {"task": name, "metadata": {**items, **score.stated["asked"]}}
    adapter = public_adapter(result["adapter"]) if result.get("adapter") else None
    options = (result.get("options") or {}).values()
    limits = [block.get("limit", 0) for block in options]
    wholes = {names[benchmark, OVERALL]: benchmark for benchmark in result["benchmarks"]}
    return {
        "results": tasks,
        "groups": {whole: tasks[whole] for whole in wholes},
        "group_subtasks": {
            whole: sorted(
                name for (owner, _), name in names.items() if owner == benchmark and name != whole
            )
            for whole, benchmark in wholes.items()
        },
        "configs": configs,
        "versions": dict.fromkeys(tasks, 1),
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {name: {"acc": True} for name in tasks},
        "n-samples": counts,
        "config": {
            "model": result["engine"],
            "model_args": {
                "pretrained": public_name(result),
                "dtype": result["dtype"],
                **({"pretrained": adapter["base"], "peft": adapter["name"]} if adapter else {}),
            },
            "model_dtype": result["dtype"],
            "model_revision": result["revision"],
            "model_sha": result["checkpoint_digest"],
            "limit": max(limits, default=0) or None,
            "batch_sizes": [],
            "gen_kwargs": {},
            **dict.fromkeys(UNSET_OF_RUN),
        },
        "date": date,
        "transformers_version": result["packages"].get("transformers"),
        "lm_eval_version": f"worldprobe {result['worldprobe_version']}",
        "task_hashes": {name: configs[name]["metadata"]["items_digest"] for name in tasks},
        "model_source": result["engine"],
        "model_name": public_name(result),
        "model_name_sanitized": result["model"],
        **dict.fromkeys(UNSET),
    }


def to_hub(result: Mapping[str, Any], dataset: str | None) -> list[dict[str, Any]]:
    """Entries of ``.eval_results/*.yaml`` in a model's repository: the overall accuracies, as
    shares (never percent).

    Args:
        result: a checked result.
        dataset: the hub's dataset with these items; None: the benchmark's release, for its items
            only.

    Raises:
        UserError: the items are not the release's, and no dataset is named.
    """
    entries = []
    for name, stated in result["benchmarks"].items():
        if stated["mean"] is None:
            continue
        if not (dataset or stated["release"]):
            problem = f"the numbers of {name} are for items that no known dataset of the hub has."
            raise UserError(
                "--dataset",
                problem,
                "Name the dataset on the hub with these items: --dataset OWNER/NAME.",
            )
        task = name if len(result["benchmarks"]) > 1 else "default"
        target = {"id": dataset, "task_id": task} if dataset else dict(stated["release"])
        how = "; ".join(f"{key}: {text}" for key, text in stated["asked"].items())
        low, high = stated["ci_low"], stated["ci_high"]
        interval = "" if low is None else f"95% interval {low:.4f} to {high:.4f}; "
        notes = (
            f"worldprobe {result['worldprobe_version']}, {stated['title']}: accuracy;"
            f" {interval}{', '.join(precision(result))}; {how}"
        )
        entries.append({"dataset": target, "value": stated["mean"], "notes": notes})
    return entries
