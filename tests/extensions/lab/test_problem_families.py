"""The problems that the lab adds to WorldSense, and that the core does not name."""

import re
from pathlib import Path

from worldprobe.benchmarks.worldsense.settings import WorldSense
from worldprobe.benchmarks.worldsense.skins.vocabulary import PLANS, PROBLEMS, SETS
from worldprobe.paths import PACKAGE
from worldprobe_lab.problem_families import HARD, MOTION


def test_the_core_names_no_problem_of_the_lab() -> None:
    names = re.compile(r"""["'][\w.-]*[.-](hard|motion)["']|Infer\.before""")
    told = [
        f"{path.relative_to(PACKAGE)}: {found.group()}"
        for path in sorted(Path(PACKAGE).rglob("*.py"))
        for found in names.finditer(path.read_text(encoding="utf-8"))
    ]
    # Examples of what functions do, which doctest runs.
    assert {line.partition(":")[0] for line in told} <= {
        "benchmarks/worldsense/problems/worlds.py",
        "benchmarks/worldsense/trial_tables.py",
    }


def test_a_study_knows_the_problems_and_sets_of_the_lab() -> None:
    assert PROBLEMS[-7:] == (*HARD.problems, *MOTION.problems)
    assert {plan.name for plan in (*HARD.plans, *MOTION.plans)} < {*PLANS}
    assert "test-motion" in SETS
    assert "train-motion" not in SETS
    chosen = WorldSense(sets=["ood-size-hard"], problems=["Infer.before"])
    assert chosen.sets == ["ood-size-hard"]
