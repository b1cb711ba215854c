"""Sentences that reports, pages and results share: none says more than its intervals do."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from worldprobe.report.model_names import Roster


def listed(words: Iterable[str]) -> str:
    """Words as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    found = list(words)
    return ", ".join(found[:-1]) + " and " + found[-1] if len(found) > 1 else "".join(found)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and what it counts.

    >>> counted(1, "model"), counted(2580, "item"), counted(2, "match", "matches")
    ('1 model', '2,580 items', '2 matches')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def ranging(means: pd.Series, what: str) -> str:
    """From the lowest to the highest of some means, each with the name that is its index; equal ones as one number.

    Args:
        means: at least one, none missing.
        what: what they are, as the plural that begins the sentence.

    >>> ranging(pd.Series({"A": 0.7, "B": 0.5}), "Mean accuracies")
    'Mean accuracies run from 0.500 (B) to 0.700 (A)'
    >>> ranging(pd.Series({"A": 0.5, "B": 0.5}), "Mean accuracies")
    'Mean accuracies are all 0.500'
    """
    texts = means.sort_values(kind="stable").map("{:.3f}".format)
    if len(texts) == 1:
        return f"{what} are {texts.iloc[0]} ({texts.index[0]})"
    if texts.nunique() == 1:
        return f"{what} are all {texts.iloc[0]}"
    first, last = (f"{text} ({listed(texts.index[texts == text].map(str))})" for text in texts.iloc[[0, -1]])
    return f"{what} run from {first} to {last}"


def against_chance(rows: pd.DataFrame, chance: float | None = 0.5, interval: str = "95% interval") -> str:
    """The mean accuracy of one model, or the range of several, and whose intervals lie above chance.

    Args:
        rows: of each model name, mean, ci_low and ci_high; the ends are missing where there is no interval.
        chance: what guessing reaches; None where it differs from item to item.
        interval: what the intervals are.
    """
    rows = rows[rows["mean"].notna()]
    if rows.empty:
        return "No model has a mean accuracy."
    known = rows[rows["ci_low"].notna()]
    guess = "" if chance is None else f"; chance is {chance:g}"
    if len(rows) == 1:
        row = rows.iloc[0]
        ends = f" ({interval} {row['ci_low']:.3f} to {row['ci_high']:.3f})" if len(known) else ""
        sentence = f"{row['name']} has a mean accuracy of {row['mean']:.3f}{ends}{guess}"
        if chance is None or known.empty:
            return f"{sentence}."
        if row["ci_low"] <= chance <= row["ci_high"]:
            return f"{sentence}, which the interval contains."
        return f"{sentence}, and the interval lies {'above' if row['ci_low'] > chance else 'below'} it."
    sentence = ranging(rows.set_index("name")["mean"], "Mean accuracies") + guess
    if chance is None or known.empty:
        return f"{sentence}."
    n_above, intervals = int((known["ci_low"] > chance).sum()), interval.replace("interval", "intervals", 1)
    models = f"{len(known)} models" + (" that have one" if len(known) < len(rows) else "")
    if len(known) == 1:
        whose = f"the one {interval}, that of {known['name'].iloc[0]}, {'lies' if n_above else 'does not lie'}"
    elif n_above == 0:
        whose = f"no model's {interval} lies"
    elif n_above == len(known):
        whose = f"the {intervals} of {models.replace('2', 'both', 1) if len(known) == 2 else f'all {models}'} lie"
    else:
        whose = f"the {interval if n_above == 1 else intervals} of {n_above} of {models} lie"
        whose += "s" if n_above == 1 else ""
    return f"{sentence}, and {whose} above it."


def who_took_part(models: Iterable[str], roster: Roster) -> str:
    """How many models were asked, which of them this pipeline made, and whether published ones are among them."""
    asked = list(dict.fromkeys(models))
    rules = [model for model in asked if roster[model].is_rule]
    controls = [model for model in asked if roster[model].is_control]
    others = len(asked) - len(rules) - len(controls)
    found = [counted(others, "language model")] if others else []
    found += [counted(len(controls), "small control model") + " that this pipeline made"] if controls else []
    found += [counted(len(rules), "rule") + " of known behaviour"] if rules else []
    said = f"Asked: {listed(found)}."
    return said if others else f"No published language model took part. {said}"
