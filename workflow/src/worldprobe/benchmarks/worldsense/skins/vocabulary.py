"""WorldSense's terms: problems, sets, answers, the disguise of gold answers, our canary."""

from __future__ import annotations

from functools import cache

from worldprobe.benchmarks.worldsense.problem_families import SetPlan, problem_families

#: The six problems of the paper (Section 3.3), and the one problem of each of two
#: out-of-distribution sets (Appendix A.3).
NORMAL = ("Infer.normal", "Consist.normal", "Compl.normal")
TRIVIAL = ("Infer.trivial", "Consist.trivial", "Compl.trivial")
LINEAR_PROBLEMS = (
    "Infer.trivial",
    "Infer.normal",
    "Consist.trivial",
    "Consist.normal",
    "Compl.trivial",
    "Compl.normal",
)
#: Problem -> its family, of those that extensions add.
FAMILY_OF = {problem: family for family in problem_families() for problem in family.problems}
#: Problems in worlds that change.
MOVING = tuple(problem for problem, family in FAMILY_OF.items() if family.is_moving)
PROBLEMS = (*LINEAR_PROBLEMS, "Infer.extrema", "Infer.parallel", *FAMILY_OF)

#: Acceptable answers by problem type, in the official order; their number is the number of a
#: tuple's trials.
ANSWERS = {
    "Infer": ("TRUE", "FALSE"),
    "Consist": ("POSSIBLE", "IMPOSSIBLE"),
    "Compl": ("1", "2", "3"),
}

_SIZES = (3, 4, 5)
PLANS = {
    plan.name: plan
    for plan in (
        SetPlan("test", "test", "test", LINEAR_PROBLEMS, _SIZES, 31, 31),
        SetPlan("test-new", "test-new", "test-new", LINEAR_PROBLEMS, _SIZES, 31, 31),
        SetPlan("train-10k", "train", "train", LINEAR_PROBLEMS, _SIZES, 4, 4),
        SetPlan("train-100k", "train", "train", LINEAR_PROBLEMS, _SIZES, 36, 4),
        SetPlan("train-1m", "train", "train", LINEAR_PROBLEMS, _SIZES, 357, 4),
        SetPlan("memorisation", "train", "train", LINEAR_PROBLEMS, _SIZES, 4, 4),
        SetPlan("same-skins", "same-skins", "train", LINEAR_PROBLEMS, _SIZES, 31, 31),
        SetPlan("ood-size", "ood-size", "test", LINEAR_PROBLEMS, (6,), 10, 10),
        SetPlan("ood-query", "ood-query", "test", ("Infer.extrema",), _SIZES, 10, 10),
        SetPlan("ood-problem", "ood-problem", "ood-problem", ("Infer.parallel",), _SIZES, 150, 150),
        *(plan for family in problem_families() for plan in family.plans),
    )
}
#: Sets that are asked, in the order of tables: a study's main set is the first that it has.
SETS = tuple(name for name in PLANS if not name.startswith("train"))


def problems_of_set(name: str) -> tuple[str, ...]:
    """A set's problems by its name.

    >>> problems_of_set("ood-query"), problems_of_set("ood-size") == LINEAR_PROBLEMS
    (('Infer.extrema',), True)
    """
    kinds = {f"-{family.name}": family.problems for family in problem_families()} | {
        "ood-query": ("Infer.extrema",),
        "ood-problem": ("Infer.parallel",),
    }
    return next(
        (problems for end, problems in kinds.items() if name.endswith(end)), LINEAR_PROBLEMS
    )


def has_one_domain(name: str) -> bool:
    """Whether all skins of a set are of one domain: what runs parallel is a matter of space.

    >>> has_one_domain("ood-problem"), has_one_domain("test")
    (True, False)
    """
    return problems_of_set(name) == ("Infer.parallel",)


#: The official disguise, so that a crawl of a file does not learn answers in plain text
#: (specification, Section 2).
DISGUISE = {
    "TRUE": "Emmanuel",
    "FALSE": "Megi",
    "POSSIBLE": "Dieuwke",
    "IMPOSSIBLE": "Pascal",
    "1": "Mark",
    "2": "Youssef",
    "3": "Yoda",
}
DISGUISES = tuple(DISGUISE.values())
ANSWER_OF = {word: answer for answer, word in DISGUISE.items()}

#: In every file of trials of ours: whoever finds it in a training corpus knows that trials are in
#: it, too.
CANARY = "worldprobe-worldsense-canary-6f0b2f0e-6c0a-4e0f-9b57-1d1f7f5a9c3e"

#: The paper's, and what is neither in space or time nor on a scale.
DOMAINS = ("spatial", "temporal", "scalar", "other")
WORDINGS = ("directQ1", "directQ2")


@cache
def problem_type(problem: str) -> str:
    """``Infer``, ``Consist`` or ``Compl`` of a problem's name.

    >>> problem_type("Compl.normal")
    'Compl'
    """
    return problem.partition(".")[0]


def answers_of(problem: str) -> tuple[str, ...]:
    """A problem's acceptable answers.

    >>> answers_of("Infer.extrema")
    ('TRUE', 'FALSE')
    """
    return ANSWERS[problem_type(problem)]
