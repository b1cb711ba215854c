"""The released test set: read, audited, written again. Read at run time from outside the
repository, never quoted.
"""

import hashlib
import json
from pathlib import Path

import pandas as pd
import pytest

from worldprobe.benchmarks.worldsense.trials.files import read_official, write_official
from worldprobe_authoring.audit import WRONG, audit_trials

pytestmark = pytest.mark.slow  # tests/golden/test_worldsense_statistics.py reads the same trials


@pytest.fixture(scope="module")
def released(worldsense_release: Path) -> pd.DataFrame:
    return read_official(worldsense_release / "test_set" / "trials.jsonl.bz2")


@pytest.fixture(scope="module")
def audit(released: pd.DataFrame):
    return audit_trials(released, "trials.jsonl.bz2")


def test_what_is_written_again_has_the_same_bytes(
    released: pd.DataFrame, worldsense_release: Path, tmp_path: Path
) -> None:
    files = json.loads((worldsense_release / "expected.json").read_text())["files"]
    assert write_official([released], tmp_path / "trials.jsonl") == 87048
    digest = hashlib.sha256((tmp_path / "trials.jsonl").read_bytes()).hexdigest()
    assert digest == files[0]["sha256_uncompressed"]


def test_the_solver_agrees_with_all_but_282_tuples_of_one_problem(audit) -> None:
    by_problem = audit.agreement.set_index("problem")
    assert by_problem["trials"].sum() == 87048
    assert by_problem["agree"].sum() == 86484
    assert by_problem["wrong_tuples"].to_dict() == {
        problem: 282 * (problem == "Compl.normal") for problem in by_problem.index
    }
    assert tuple(audit.wrong.columns) == WRONG
    assert len(audit.wrong) == 564
    assert audit.wrong["tuple_ID"].nunique() == 282
    assert set(audit.wrong["solver_gold"]) == {"3"}
    sizes = audit.wrong.drop_duplicates("tuple_ID")["problemsize"].value_counts().to_dict()
    assert sizes == {4: 171, 5: 111}


def test_stated_queries_and_repeated_texts_are_counted(audit) -> None:
    stated = audit.stated.set_index(["problem", "arity"])["stated"]
    assert stated["Infer.normal", 2] == 0
    assert stated["Infer.normal", 3] == 1746
    assert stated["Consist.normal", 3] == 1764
    assert audit.repeated == (12, 0)
    assert audit.mixed_arity == 755
