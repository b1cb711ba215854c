"""SmolLM2 and Gemma behind llama.cpp's own server: both benchmarks, asked as a stranger's API is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import run
from llama_server import serve
from worldprobe.contracts import read_provenance
from worldprobe.models import packages
from worldprobe.settings.registry import read_registry

pytest.importorskip("openai")

pytestmark = pytest.mark.slow

CARDS = read_registry(Path(__file__).resolve().parents[2] / "config" / "models.yaml")


@pytest.mark.parametrize("model", ["smollm2_135m", "gemma3_270m"])
def test_evaluate_asks_both_benchmarks_over_a_real_server(model: str, tmp_path: Path) -> None:
    path = packages.parse_package_url(CARDS[model]["checkpoint"]).local_path
    if not path.exists():
        pytest.skip(f"{model} is not here: worldprobe models fetch {model} fetches it")
    own, work = tmp_path / "own", tmp_path / "work"
    assert run(f"materials new-domain {own} office-work") == 0
    with serve(path, model) as address:
        asked = f"--endpoint {address}/v1 --model {model} --benchmark ewok,worldsense"
        few = f"--materials {own} --versions 0 --limit 8"
        assert run(f"evaluate {asked} {few} --work {work}") == 0
    result = json.loads((work / "result.json").read_text())
    assert (result["model"], result["engine"]) == (model, "openai")
    ewok, worldsense = (result["benchmarks"][name] for name in ("ewok", "worldsense"))
    assert ewok["eval_type"] == "choice_free_zero", "llama.cpp gives no prompt's log probabilities"
    assert all(0 <= part["mean"] <= 1 for part in (ewok, worldsense))
    for table in work.glob("*/responses*.parquet"):
        assert read_provenance(table).engine == "openai"
