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
    assert cli.main([*options, "--out", str(out), "--", own, other]) == 2
    error = capsys.readouterr().err
    assert "o.parquet" in error
    assert "other items than" in error
    assert out.read_bytes() == b"precious"


def test_surface_features_of_other_items_are_refused(tmp_path, capsys, surface):
    own = write_judgements(tmp_path / "own.parquet", "ant", items="b")
    assert (
        cli.main(["correlate", own, "--surface", surface, "--out", str(tmp_path / "r.parquet")])
        == 2
    )
    assert "s.parquet" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["summarize", "agree"])
def test_missing_models_are_named_with_their_reason_in_the_provenance(tmp_path, capsys, command):
    paths = [
        write_judgements(tmp_path / f"{e}.parquet", "ant", e)
        for e in ("likert_free_two", "choice_free_two")
    ]
    out = tmp_path / "out.parquet"
    missing = ["--missing", "llama=no token", "opt=out of memory"]
    assert cli.main([command, *paths, *missing, "--out", str(out)]) == 0
    assert read_provenance(out).details["missing_models"] == {
        "llama": "no token",
        "opt": "out of memory",
    }
    assert cli.main([command, *paths, "--missing", "llama", "--out", str(out)]) == 2
    assert "MODEL=REASON" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--cluster=nothing", "--average=nothing"])
def test_options_without_sense_are_refused_before_anything_is_read(tmp_path, option):
    assert (
        cli.main(
            [
                "summarize",
                str(tmp_path / "absent.parquet"),
                option,
                "--out",
                str(tmp_path / "o.parquet"),
            ]
        )
        == 2
    )
