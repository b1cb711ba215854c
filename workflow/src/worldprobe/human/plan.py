"""What a study with people costs: lists, people, minutes, money."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

#: Share of the people whom the paper excluded: 59 of the 1,197 whose data were released.
EXCLUDED_SHARE = 59 / 1197
#: The original's median time per answer was about eight seconds.
SECONDS_PER_TRIAL = 8.0
MINUTES_AROUND = 3.0


@dataclass(frozen=True)
class Plan:
    """One way of asking, planned.

    Attributes:
        eval_type: likert or choice.
        n_lists: lists in all rounds.
        n_per_list: people that each list needs.
        n_people: people who must be kept.
        n_recruited: people to recruit, if as many have to be excluded as in the paper.
        n_ratings: ratings that the kept people give, without catch trials.
        minutes: of the longest list.
        total_hours: of all recruited people.
        cost: their pay, before the platform's fee, in the wage's currency.
    """

    eval_type: str
    n_lists: int
    n_per_list: int
    n_people: int
    n_recruited: int
    n_ratings: int
    minutes: float
    total_hours: float
    cost: float

    def lines(self) -> list[str]:
        """The plan in words."""
        return [
            f"{self.eval_type}: {self.n_lists} lists, each for {self.n_per_list} people: {self.n_people} people, "
            f"{self.n_ratings} ratings",
            f"  to recruit: {self.n_recruited}, if {EXCLUDED_SHARE:.1%} have to be excluded as in the paper",
            f"  a list takes up to {self.minutes:.0f} minutes; {self.total_hours:.0f} hours in all",
            f"  pay: {self.cost:,.2f} before the platform's fee",
        ]


def plan_study(
    balance: pd.DataFrame,
    n_ratings: int,
    wage: float,
    seconds_per_trial: float = SECONDS_PER_TRIAL,
    minutes_around: float = MINUTES_AROUND,
) -> list[Plan]:
    """People, time and money for every way of asking.

    Args:
        balance: contracts.ListBalance.
        n_ratings: ratings that each sub-item should have at least. Choice asks each target in both orders, so a list of
            Choice needs half as many people; in several rounds each list needs fewer.
        wage: pay per hour.
        seconds_per_trial: time for one answer.
        minutes_around: consent, instructions and questions about the person.
    """
    plans = []
    for way, lists in balance.groupby("eval_type", sort=True):
        times = lists["round"].nunique() * (2 if way == "choice" else 1)
        n_per_list = math.ceil(n_ratings / times)
        n_people = n_per_list * len(lists)
        n_recruited = math.ceil(n_people / (1 - EXCLUDED_SHARE))
        minutes = (lists["n_trials"] + lists["n_catch"]) * seconds_per_trial / 60 + minutes_around
        total_hours = float(minutes.mean()) * n_recruited / 60
        plans.append(
            Plan(
                eval_type=str(way),
                n_lists=len(lists),
                n_per_list=n_per_list,
                n_people=n_people,
                n_recruited=n_recruited,
                n_ratings=int(lists["n_trials"].sum()) * n_per_list,
                minutes=float(minutes.max()),
                total_hours=total_hours,
                cost=total_hours * wage,
            )
        )
    return plans
