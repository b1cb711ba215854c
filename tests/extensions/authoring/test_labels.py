"""Items whose label is contradicted, and fillings that turn plausibility."""

import numpy as np
import pandas as pd
import pytest

from command_line import run
from simulated_judgements import simulate_judgements
from worldprobe.benchmarks.ewok.contracts import Items, Judgements
from worldprobe.contracts import read_provenance, read_table, validate, write_table
from worldprobe.files import digest_file
from worldprobe.provenance import Provenance
from worldprobe_authoring.labels import LabelAudit, audit_labels, label_audit


def judged(model, accuracies, eval_type="logprobs"):
    """Judgements of both targets of one template in as many versions as there are pairs."""
    rows = [
        {"item_id": f"d-e_1_1_v{version}", "version": version, "target": target}
        | {"accuracy": accuracy, "status": "ok" if accuracy == accuracy else "missing_score"}
        for version, pair in enumerate(accuracies)
        for target, accuracy in enumerate(pair, start=1)
    ]
    design = {"domain": "d-e", "meta_template": 1, "template": 1, "context_type": "direct"}
    design |= {"concept_a": "hot", "concept_b": None, "context_contrast": "antonym"}
    design |= {"target_contrast": "concept swap", "model": model, "eval_type": eval_type}
    return pd.DataFrame(rows).assign(**design)


@pytest.fixture
def judgements():
    """Version 1 is contradicted by both models, version 2 by people."""
    return pd.concat(
        [
            judged("a", [(1, 1), (0, 0), (1, 1)]),
            judged("b", [(1, 0.5), (0, 0), (np.nan, 1)]),
            judged("human", [(1, 1), (1, 1), (0, 0)], "human_likert"),
            judged("word2vec", [(0, 0), (0, 0), (0, 0)], "word2vec"),
        ]
    )


def test_shares_against_the_label_are_those_of_models_and_of_people_apart(judgements):
    found = validate(audit_labels(judgements), LabelAudit)
    assert found["models_against"].tolist() == [1 - 3.5 / 4, 1, 0]
    assert found["people_against"].tolist() == [0, 0, 1]
    assert found["n_models"].tolist() == [2, 2, 2]
    assert found["elsewhere"].tolist() == [0.5, 0.0625, 0.5625]
    assert "fillers" not in found


def test_people_come_first_and_fillings_that_flip_are_counted(judgements):
    fillers = pd.DataFrame({"item_id": [f"d-e_1_1_v{v}" for v in range(3)]})
    fillers["fillers"] = ['{"object1": "the cup"}', '{"object1": "the car"}', '{"object1": "ice"}']
    sheet = label_audit(audit_labels(judgements, fillers))
    assert [row[0] for row in sheet.cells()] == ["d-e_1_1_v2", "d-e_1_1_v1"]
    assert [row[-1] for row in sheet.cells()] == ["ice", "the car"]
    assert "2 of 3" in sheet.title
    assert "other fillings: 1." in sheet.notes[0]


def test_one_version_has_no_other_fillings_and_a_model_without_answers_none_against(judgements):
    one = judgements[judgements["version"] == 0].assign(accuracy=np.nan)
    found = audit_labels(one)
    assert found[["models_against", "people_against", "elsewhere"]].isna().all(axis=None)
    assert label_audit(found).cells() == []


@pytest.mark.long
def test_fillers_are_shown_with_the_canary_by_which_archives_know_our_own(tmp_path):
    items, judged = tmp_path / "items.parquet", tmp_path / "judged.parquet"
    assert run(f"items build builtin --limit 13 --versions 0 --out {items}") == 0
    table = read_table(items, Items)
    odds = np.full((1, len(table), 2), 0.5)
    rows = simulate_judgements(table, odds, ["a"], "logprobs", seed=1)
    rows = rows[[name for name in Judgements.columns if name in rows]]
    made = Provenance(inputs={"items": digest_file(items)})
    write_table(rows, Judgements, judged, made)
    out = tmp_path / "audit.parquet"
    assert run(f"materials audit-labels {judged} --items {items} --out {out}") == 0
    assert read_table(out, LabelAudit)["fillers"].notna().all()
    assert read_provenance(out).canary == read_provenance(items).canary is not None
