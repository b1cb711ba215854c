"""What `evaluate` says of a set other than the paper's."""

from __future__ import annotations

from worldprobe.benchmarks.worldsense.evaluation import describe_evaluation, list_scores


def result(of_set: str, published: dict[str, float]) -> dict[str, object]:
    mean = {
        "mean": 0.6,
        "conf95": 0.1,
        "ci_low": 0.5,
        "ci_high": 0.7,
        "stderr": 0.05,
        "n_clusters": 18,
        "n_tuples": 72,
    }
    asked = {
        "trials": {"digest": "d", "n_trials": 144, "set": of_set},
        "prompting": "constrained",
        "form": "text",
        "accuracy": mean,
        "bias": mean,
        "accuracy_by_problem": {"Infer.hard": mean},
        "baselines": {"counting": {**mean, "mean": 0.5}},
        "invalid": 0,
        "published": published,
        "published_source": "the paper",
    }
    return {"model": "tiny", "dtype": "float32", "worldsense": asked}


def test_a_set_that_was_never_published_stands_next_to_rules_alone() -> None:
    text = describe_evaluation(result("test-hard", {}))
    assert "144 trials of our own set test-hard" in text
    assert "counting (rule)" in text
    assert "ublished" not in text
    assert "the paper" not in text
    assert "yardstick" in describe_evaluation(result("test", {"GPT4": 0.756}))


def test_scores_name_the_set() -> None:
    assert {score.asked["items"] for score in list_scores(result("test-motion", {}))} == {
        "our own set test-motion"
    }
