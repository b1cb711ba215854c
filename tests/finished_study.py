"""A finished study of invented minimal pairs, made in a second without Snakemake, and its archive."""

import contextlib
import json
from pathlib import Path

import pandas as pd
import pytest

from command_line import run
from worldprobe.benchmarks import facts_of, find, settings_classes
from worldprobe.cli import main
from worldprobe.contracts import write_table
from worldprobe.operations.record import recorded_settings
from worldprobe.paths import RESOURCES
from worldprobe.provenance import Provenance
from worldprobe.settings import read_study

MODELS = {
    "one": {"family": "tiny", "display_name": "One", "checkpoint": "me/one", "colour": "#112233"},
    "two": {
        "family": "tiny",
        "display_name": "Two",
        "checkpoint": "gpt",
        "endpoint": "http://node17.internal:8000/v1",
    },
    "unpublished": {"family": "secret", "display_name": "Secret", "checkpoint": "me/secret"},
}
#: The printed table of the study of pairs.
FORMS = "--out " + " ".join(
    f"results/mine/small/tables/accuracy.{form}" for form in ("csv", "tex", "md", "json")
)
PAIRS = """\
title: Small pairs
reference: Invented.
data: ["pairs.csv"]
targets: [good, bad]
groups: {field: field}
"""


def record(folder, study, tables):
    """Write a study's record as its rule does."""
    settings = json.dumps(recorded_settings(study))
    words = ["archive", "record-study", *map(str, tables), "--settings", settings]
    assert main([*words, "--registry", "models.yaml", "--out", str(folder / "study.json")]) == 0


@pytest.fixture(scope="session")
def finished_pairs(tmp_path_factory):
    """A folder with a finished study of invented minimal pairs, made without Snakemake, and its
    archive.
    """
    home = tmp_path_factory.mktemp("pairs")
    folder, small = Path("results/mine"), Path("results/mine/small")
    with contextlib.chdir(home):
        Path("models.yaml").write_text(json.dumps(MODELS))
        Path("small.yaml").write_text(PAIRS)
        Path("pairs.csv").write_text(
            "good,bad,field\nIt is.,It are.,verbs\nWe go.,We goes.,verbs\n"
        )
        stated = {"study": "mine", "benchmarks": ["small.yaml"], "models": ["one", "two"]}
        stated |= {"registry": "models.yaml", "report": {"notebooks": []}}
        study = read_study(stated, [], settings_classes)
        scores = [write_scores(small, model) for model in ("one", "two")]
        both = " ".join(map(str, scores))
        assert run(f"summarize {both} --out {small}/summaries.parquet") == 0
        assert run(f"compare {both} --out {small}/comparisons.parquet") == 0
        means = f"{small}/summaries.parquet --registry models.yaml {FORMS}"
        for name in ("against_chance", "accuracy"):
            assert run(f"table {name} {means.replace('accuracy', name)}") == 0
        pairs = f"{small}/comparisons.parquet --registry models.yaml {FORMS}"
        assert run(f"table pairs_of_models {pairs.replace('accuracy', 'pairs_of_models')}") == 0
        shown = [small / f"{stem}.parquet" for stem in ("summaries", "comparisons")]
        record(folder, study, [*shown, *scores])
        line = f"report build {small}/summaries.parquet --registry models.yaml --study mine"
        line += f" --tables {small}/tables/accuracy.json {small}/tables/pairs_of_models.json"
        line += f" {small}/tables/against_chance.json"
        line += f" --made-from {both} --beside items.html"
        line += f" --rulegraph {RESOURCES}/rulegraph.svg --comparisons {small}/comparisons.parquet"
        assert run(f"{line} --record {folder}/study.json --out {folder}/report.html") == 0
        (folder / "items.html").write_text("the page of items")
        (folder / "logs").mkdir()
        (folder / "logs" / "a.log").write_text("a log")
        assert run(f"archive pack {folder} --out mine.zip") == 0
    return home


def write_scores(folder, model):
    """Scores of a model on two pairs."""
    benchmark = find("small.yaml")
    rows = [
        {
            "model": model,
            "eval_type": "logprobs",
            "condition": "main",
            "unit": f"pair {number}",
            "cluster": f"pair {number}",
            "metric": "accuracy",
            "value": float(number % 2),
            "status": "ok",
            "field": "verbs",
        }
        for number in range(2)
    ]
    path = folder / "scores" / f"{model}.parquet"
    made = Provenance(
        model=model,
        checkpoint="me/one",
        inputs={"items": "f" * 64},
        details=facts_of(benchmark),
    )
    frame = pd.DataFrame(rows)
    write_table(
        frame[[c for c in benchmark.scores.columns if c in frame]], benchmark.scores, path, made
    )
    return path
