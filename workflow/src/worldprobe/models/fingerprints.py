"""A served model's set-up, as far as it shows: what the server tells, and how fixed prompts are answered.

The same set-up gives slightly different numbers after a restart. So numbers are compared with those of the first time, within a
tolerance: rounding them would make others of those near a border. What is told must be equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: How far a token's log probability may be from the kept one, in nats: the farthest, and on average.
FARTHEST = 0.2
AVERAGE = 0.05


def describe(told: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    """A set-up as plain values.

    Args:
        told: what the server says of the model.
        answers: name of a probe -> the server's answer.
    """
    return {
        "told": {**told, **{name: _told(answer) for name, answer in answers.items()}},
        "steps": {n: _steps(a) for n, a in answers.items()},
    }


def is_same_set_up(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Do two set-ups differ by nothing but noise?

    >>> steps = (["4", -0.1, 2], ["4", -0.12, 2], ["1", -0.1, 2])
    >>> first, again, other = ({"told": {}, "steps": {"chat": [step]}} for step in steps)
    >>> is_same_set_up(first, again), is_same_set_up(first, other)
    (True, False)
    """
    steps, others = one["steps"], other["steps"]
    is_told = one["told"] == other["told"] and steps.keys() == others.keys()
    return is_told and all(_are_alike(steps[name], others[name]) for name in steps)


def _are_alike(steps: Sequence[Sequence[Any]], others: Sequence[Sequence[Any]]) -> bool:
    """Are the tokens the same, up to a place where two were about equally likely, and their log probabilities near?"""
    differences = [0.0]
    for (token, value, lead), (other_token, other_value, other_lead) in zip(steps, others, strict=False):
        if token != other_token:
            if lead is None or other_lead is None or max(lead, other_lead) > 2 * FARTHEST:
                return False
            break  # what follows may be any other text
        if (value is None) != (other_value is None):
            return False
        differences += [] if value is None else [abs(value - other_value)]
    else:
        if len(steps) != len(others):
            return False
    return max(differences) <= FARTHEST and sum(differences) <= AVERAGE * len(differences)


def _told(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The prompt's number of tokens, as a chat template moves it, and the parts of the answer, as a parser of thoughts does."""
    message = answer["choices"][0].get("message") or {}
    n_tokens = (answer.get("usage") or {}).get("prompt_tokens")
    return {"prompt_tokens": n_tokens, "parts": sorted(name for name, value in message.items() if value and name != "role")}


def _steps(answer: Mapping[str, Any]) -> list[list[Any]]:
    """Token by token: the token, its log probability, and how far the second likeliest is behind; else the whole text alone."""
    choice = answer["choices"][0]
    logprobs, message = choice.get("logprobs") or {}, choice.get("message") or {}
    try:
        if logprobs.get("content"):
            found = [
                [one["token"], one["logprob"], _lead([t["logprob"] for t in one["top_logprobs"]])] for one in logprobs["content"]
            ]
        elif logprobs.get("tokens"):
            tops = logprobs.get("top_logprobs") or [None] * len(logprobs["tokens"])
            leads = [_lead(list(top.values()) if top else []) for top in tops]
            found = [list(one) for one in zip(logprobs["tokens"], logprobs["token_logprobs"], leads, strict=True)]
        else:
            found = []
        if found and all(isinstance(value, float | int | None) for _, value, _ in found):
            return found
    except (AttributeError, KeyError, TypeError, ValueError):  # numbers in a form of the server's own
        pass
    parts = [choice.get("text"), *(message.get(name) for name in ("reasoning", "reasoning_content", "content"))]
    return [["\n".join(str(part) for part in parts if part), None, None]]


def _lead(values: Sequence[float]) -> float | None:
    """How far the second best of the likeliest tokens is behind the best, in nats."""
    ranked = sorted(values, reverse=True)
    return ranked[0] - ranked[1] if len(ranked) > 1 else None
