"""Reading people's finished ratings; all texts and numbers are invented."""

import pandas as pd
import pytest

from command_line import run
from invented_release import design, toy_release
from worldprobe import cli
from worldprobe.benchmarks.ewok.contracts import Items, Judgements, Ratings
from worldprobe.contracts import read_table, write_table
from worldprobe.provenance import Provenance
from worldprobe_survey.ratings import read_ratings


@pytest.fixture
def folder(tmp_path):
    for name, text in toy_release().items():
        path = tmp_path / "release" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "release"


def toy_items():
    columns = {"MetaTemplateID": "meta_template", "TemplateID": "template", "Domain": "domain"}
    columns |= {"ConceptA": "concept_a", "ConceptB": "concept_b", "TargetDiff": "target_contrast"}
    columns |= {"ContextDiff": "context_contrast", "ContextType": "context_type"}
    columns |= {name: name.lower() for name in ("Context1", "Context2", "Target1", "Target2")}
    items = pd.DataFrame([design(1, 1, 0), design(1, 1, 1)]).rename(columns=columns)
    ids = ["toy-world_1_1_v0", "toy-world_1_1_v1"]
    items = items.assign(item_id=ids, version=[0, 1], fillers="{}", tags="", duplicate_of=None)
    return items.astype({"duplicate_of": "str"})


def test_ratings_are_matched_by_texts_whatever_spaces_are_around_them(tmp_path, folder):
    """EleutherAI/lm-evaluation-harness #218, #4012."""
    wide = folder / "outputs_human" / "results_by_domain" / "toy.csv"
    frame = pd.read_csv(wide, comment="#")
    texts = [name for name in frame if name in ("Context1", "Context2", "Target1", "Target2")]
    odd = tmp_path / "odd.csv"
    frame.assign(**{name: " " + frame[name] + "\u00a0" for name in texts}).to_csv(odd, index=False)
    pd.testing.assert_frame_equal(
        read_ratings(odd, toy_items()).table, read_ratings(wide, toy_items()).table
    )


def test_human_ratings_are_matched_by_id_or_by_texts(tmp_path, folder, capsys):
    matched = read_ratings(folder / "outputs_human" / "results_by_domain" / "toy.csv", toy_items())
    assert (len(matched.table), matched.n_unknown, matched.n_unrated) == (8, 13, 0)
    long, ratings, judged = tmp_path / "long.csv", tmp_path / "r.parquet", tmp_path / "j.parquet"
    items = tmp_path / "items.parquet"
    write_table(toy_items(), Items, items, Provenance())
    command = f"import human-ratings {items} {long} --out {ratings}".split()
    rows = "item_id,target,context,rating\ntoy-world_1_1_v0,1,1,4.5\ntoy-world_1_1_v0,1,2,"
    long.write_text(f"{rows}\n")
    assert cli.main(command) == 0
    assert read_table(ratings, Ratings)["rating"].isna().tolist() == [False, True]
    assert run(f"judge {items} {ratings} --out {judged}") == 0
    found = read_table(judged, Judgements)
    assert set(found["status"]) == {"missing_response"}
    assert set(found["model"]) == {"human"}
    assert found["accuracy"].isna().all()
    long.write_text(f"{rows}good\n")
    assert cli.main(command) == 2
    assert '"good" is not a rating' in capsys.readouterr().err
