"""Tables of other items with the same ids are refused, and missing models are named."""

import numpy as np
import pytest

from simulated_judgements import simulate_features, simulate_items, simulate_judgements
from worldprobe import cli
from worldprobe.benchmarks.ewok.contracts import Judgements, SurfaceFeatures
from worldprobe.contracts import read_provenance, write_table
from worldprobe.provenance import Provenance

ITEMS = simulate_items(30, 2, seed=1)


def write_judgements(path, model, eval_type="logprobs", items="a"):
    rows = simulate_judgements(
        ITEMS, np.full((1, len(ITEMS), 2), 0.5), [model], eval_type, len(model)
    )
    write_table(rows, Judgements, path, Provenance(model=model, inputs={"items": items}))
    return str(path)


@pytest.fixture
def surface(tmp_path):
    write_table(
        simulate_features(ITEMS, 1),
        SurfaceFeatures,
        tmp_path / "s.parquet",
        Provenance(inputs={"items": "a"}),
    )
    return str(tmp_path / "s.parquet")


@pytest.mark.parametrize(
    "command",
    [
        ["summarize"],
        ["compare"],
        ["plan"],
        ["agree"],
        ["fit", "fixed-effects", "--surface", "S"],
        ["correlate", "--surface", "S"],
    ],
)
def test_judgements_of_other_items_are_refused_and_the_output_is_left_alone(
    tmp_path, capsys, surface, command
):
    own, other = (
        write_judgements(tmp_path / "own.parquet", "ant"),
        write_judgements(tmp_path / "o.parquet", "bee", items="b"),
    )
    out = tmp_path / "out.parquet"
    out.write_bytes(b"precious")
    options = [surface if word == "S" else word for word in command]
    assert cli.main([*options, *f"--out {out} -- {own} {other}".split()]) == 2
    error = capsys.readouterr().err
    assert "o.parquet" in error
    assert "other items than" in error
    assert out.read_bytes() == b"precious"


def test_missing_models_are_in_the_provenance_with_their_reason(tmp_path):
    path, out = write_judgements(tmp_path / "a.parquet", "ant"), tmp_path / "out.parquet"
    missing = ["--missing", "llama=no token", "opt=out of memory"]
    assert cli.main(["summarize", path, *missing, "--out", str(out)]) == 0
    named = read_provenance(out).details["missing_models"]
    assert named == {"llama": "no token", "opt": "out of memory"}
