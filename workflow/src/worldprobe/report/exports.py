"""A result in the forms that others read: lm-evaluation-harness, Every Eval Ever, and the hub's ``.eval_results``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from worldprobe.errors import UserError
from worldprobe.report.results import Score

#: The version of Every Eval Ever's schema that records follow.
EEE_VERSION = "0.3.0"


def task_name(score: Score) -> str:
    """The name of a number among lm-eval's tasks: prefixed, so that it is never taken for another implementation's.

    >>> task_name(Score("ewok", "social-relations", "accuracy", 0.5, 0.4, 0.6, 9, "items", (0, 1), "", {}))
    'worldprobe_ewok_social_relations'
    """
    end = "" if score.group == "overall" else f"_{score.group}"
    return f"worldprobe_{score.benchmark}{end}".replace("-", "_").replace(".", "_").lower()


def to_lm_eval(result: Mapping[str, Any], scores: Sequence[Score], date: float) -> dict[str, Any]:
    """The keys of a results file of lm-evaluation-harness 0.4: one task per number, one group per benchmark.

    Args:
        result: a checked result.
        scores: its numbers.
        date: seconds since 1970.
    """
    tasks: dict[str, dict[str, Any]] = {}
    counts: dict[str, dict[str, int]] = {}
    configs: dict[str, dict[str, Any]] = {}
    for score in scores:
        name, metric = task_name(score), {"accuracy": "acc"}.get(score.metric, score.metric)
        entry = tasks.setdefault(name, {"alias": name, "name": name, "sample_len": score.n})
        entry |= {f"{metric},none": score.value, f"{metric}_stderr,none": "N/A" if score.stderr is None else score.stderr}
        counts[name] = {"original": score.n, "effective": score.n}
        configs[name] = {"task": name, "metadata": {"version": 1, "items": score.items, **score.asked}}
    benchmarks = dict.fromkeys(score.benchmark for score in scores)
    groups = {f"worldprobe_{name}": tasks[f"worldprobe_{name}"] for name in benchmarks}
    return {
        "results": tasks,
        "groups": groups,
        "group_subtasks": {name: sorted(task for task in tasks if task.startswith(f"{name}_")) for name in groups},
        "configs": configs,
        "versions": dict.fromkeys(tasks, 1),
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {name: {"acc": True} for name in tasks},
        "n-samples": counts,
        "config": {
            "model": result["engine"],
            "model_args": {"pretrained": result["checkpoint"], "dtype": result["dtype"]},
            "model_dtype": result["dtype"],
            "model_revision": result["revision"],
            "model_sha": result["checkpoint_digest"],
            "batch_size": None,
            "batch_sizes": [],
            "device": None,
            "use_cache": None,
            "limit": None,
            "bootstrap_iters": None,
            "gen_kwargs": {},
            "random_seed": None,
            "numpy_seed": None,
            "torch_seed": None,
            "fewshot_seed": None,
        },
        "git_hash": None,
        "date": date,
        "pretty_env_info": None,
        "transformers_version": result["packages"].get("transformers"),
        "lm_eval_version": f"worldprobe {result['worldprobe_version']}",
        "upper_git_hash": None,
        "task_hashes": {name: configs[name]["metadata"]["items"] for name in tasks},
        "model_source": result["engine"],
        "model_name": result["checkpoint"],
        "model_name_sanitized": result["model"],
        "system_instruction": None,
        "system_instruction_sha": None,
        "fewshot_as_multiturn": None,
        "chat_template": None,
        "chat_template_sha": None,
        "total_evaluation_time_seconds": None,
    }


def to_every_eval_ever(result: Mapping[str, Any], scores: Sequence[Score], date: float, organization: str) -> dict[str, Any]:
    """A record of Every Eval Ever (arXiv 2606.14516); numbers that are missing are left out, as it has no place for them.

    Args:
        result: a checked result.
        scores: its numbers.
        date: seconds since 1970.
        organization: who computed them.
    """
    return {
        "schema_version": EEE_VERSION,
        "evaluation_id": f"worldprobe/{result['model']}/{date:.0f}",
        "retrieved_timestamp": f"{date:.0f}",
        "source_metadata": {
            "source_name": "worldprobe",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": "third_party",
        },
        "eval_library": {"name": "worldprobe", "version": result["worldprobe_version"]},
        "model_info": {
            "name": result["model"],
            "id": result["checkpoint"],
            "inference_engine": {"name": str(result["engine"])},
            "additional_details": {
                "deployment_type": "externally_managed" if result["engine"] == "openai" else "self_deployed",
                "model_availability": "unknown" if result["engine"] == "openai" else "open_weights",
                "dtype": str(result["dtype"]),
                "checkpoint_digest": str(result["checkpoint_digest"]),
            },
        },
        "evaluation_results": [_every_eval_ever(score) for score in scores if score.value is not None],
    }


def _every_eval_ever(score: Score) -> dict[str, Any]:
    uncertainty: dict[str, Any] = {"num_samples": score.n}
    if score.low is not None and score.high is not None and score.stderr is not None:
        interval = {"lower": score.low, "upper": score.high, "confidence_level": 0.95, "method": score.interval}
        uncertainty |= {"confidence_interval": interval, "standard_error": {"value": score.stderr, "method": score.interval}}
    return {
        "evaluation_name": f"{task_name(score)}_{score.metric}",
        "source_data": {
            "dataset_name": score.benchmark,
            "source_type": "other",
            "additional_details": {"items": score.items, "is_official_release": str(score.release is not None).lower()},
        },
        "metric_config": {
            "metric_name": score.metric,
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": score.bounds[0],
            "max_score": score.bounds[1],
            "additional_details": {**score.asked, "best": "0" if score.bounds[0] < 0 else "1"},
        },
        "score_details": {
            "score": score.value,
            "details": {name: str(count) for name, count in score.counts.items()},
            "uncertainty": uncertainty,
        },
    }


def to_hub(result: Mapping[str, Any], scores: Sequence[Score], dataset: str | None) -> list[dict[str, Any]]:
    """Entries of ``.eval_results/*.yaml`` in a model's repository: the overall accuracies, as shares (never percent).

    Args:
        result: a checked result.
        scores: its numbers.
        dataset: the hub's dataset with these items; None: the benchmark's release, for its items only.

    Raises:
        UserError: the items are not the release's, and no dataset is named.
    """
    entries, is_of_several = [], len({score.benchmark for score in scores}) > 1
    for score in scores:
        if score.group != "overall" or score.metric != "accuracy" or score.value is None:
            continue
        if not (dataset or score.release):
            problem = f"the numbers of {score.benchmark} are for items that no dataset of the hub is known to contain."
            raise UserError("--dataset", problem, "Name the dataset on the hub with these items: --dataset OWNER/NAME.")
        task = score.benchmark if is_of_several else "default"
        place = {"id": dataset, "task_id": task} if dataset else dict(score.release or {})
        how = "; ".join(f"{name}: {text}" for name, text in score.asked.items())
        interval = "" if score.low is None else f"95% interval {score.low:.4f} to {score.high:.4f}; "
        notes = f"worldprobe {result['worldprobe_version']}, {score.metric}; {interval}{result['dtype']}; {how}"
        entries.append({"dataset": place, "value": score.value, "notes": notes})
    return entries
