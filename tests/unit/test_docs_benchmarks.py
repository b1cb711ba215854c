"""The programs of docs/benchmarks, with a tiny model: each way gives the answers of the others."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

ROOT = Path(__file__).resolve().parents[2]
PAIRS = [("Ali opens the box.", "It is open."), ("The box is shut.", "Ali sees it.")]
PROMPTS = ["Is the box open?\n1. yes\n2. no\n", "Is it shut?\n1. yes\n2. no\n"]


@pytest.fixture(scope="module")
def programs() -> Iterator[dict[str, ModuleType]]:
    """By name; they import each other as they do when they are run."""
    names = ("common", "scoring", "prompting", "building")
    sys.path.insert(0, str(ROOT / "docs" / "benchmarks"))
    yield {name: importlib.import_module(name) for name in names}
    sys.path.pop(0)
    for name in names:
        del sys.modules[name]


@pytest.fixture(scope="module")
def folder(programs: dict[str, ModuleType], tmp_path_factory: pytest.TempPathFactory) -> str:
    texts = [" ".join(pair) for pair in PAIRS] + PROMPTS
    return programs["common"].build_model("tiny", texts, tmp_path_factory.mktemp("models"))


@pytest.mark.parametrize(
    ("name", "package"), [("original", None), ("minicons", "minicons"), ("lm_eval", "lm_eval")]
)
def test_log_probabilities_are_those_of_other_programs(
    programs: dict[str, ModuleType], folder: str, name: str, package: str | None
) -> None:
    if package:
        pytest.importorskip(package)
    scoring = programs["scoring"]
    expected = scoring.ours(folder, PAIRS)()
    assert getattr(scoring, name)(folder, PAIRS)() == pytest.approx(expected, abs=1e-4)
    assert scoring.farthest([1.0, 2.0], [1.0, 2.5]) == "0.5 nats"


@pytest.mark.parametrize(("name", "package"), [("original", None), ("lm_eval", "lm_eval")])
def test_constrained_answers_are_those_of_other_programs(
    programs: dict[str, ModuleType], folder: str, name: str, package: str | None
) -> None:
    if package:
        pytest.importorskip(package)
    prompting, options = programs["prompting"], [("1", "2")] * 2
    expected = prompting.ours(folder, PROMPTS, options)()
    assert set(expected) <= {"1", "2"}
    assert getattr(prompting, name)(folder, PROMPTS, options)() == expected


def test_chats_are_those_of_transformers(programs: dict[str, ModuleType], folder: str) -> None:
    prompting = programs["prompting"]
    (Path(folder) / "chat_template.jinja").write_text(prompting.CHAT)
    assert prompting.chats(folder, PROMPTS)() == prompting.generate(folder, PROMPTS)()


def test_ways_take_turns_and_one_that_is_missing_is_left_out(
    programs: dict[str, ModuleType], folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    common, scoring = programs["common"], programs["scoring"]
    ways = {"worldprobe": scoring.ours, "vLLM": scoring.vllm}
    if importlib.util.find_spec("vllm"):
        del ways["vLLM"]
    runs = common.take_turns(ways, (folder, PAIRS), 2)
    assert len(runs.pop("worldprobe")) == 2
    assert not runs
    assert ("vLLM: left out (No module named 'vllm')" in capsys.readouterr().out) == (
        "vLLM" in ways
    )


def test_a_table_has_medians_of_rounds_and_goes_to_its_page(
    programs: dict[str, ModuleType], tmp_path: Path
) -> None:
    runs = {
        "worldprobe": [(1.0, 1.0, 0.0, 10.0, ["1"]), (4.0, 4.0, 0.0, 12.0, ["1"])] * 2,
        "other": [(2.0, 2.0, 0.0, 30.0, ["2"]), (12.0, 9.0, 0.0, 30.0, ["2"])] * 2,
    }
    common = programs["common"]
    rows = common.compared("a case", runs, common.differing)
    assert [row["times worldprobe's"] for row in rows] == [1.0, 2.5]
    assert rows[1]["difference"] == "1 of 1"
    given = argparse.Namespace(
        size="page", settings={}, threads=1, out=tmp_path / "found", checkpoint=None
    )
    given.out.mkdir()
    common.write("scoring", given, rows)
    facts = json.loads((given.out / "scoring.json").read_text())
    measured = runpy.run_path(str(ROOT / "docs" / "measured_tables.py"))
    page = "<!--table:benchmarks/scoring-->\n\nold\n\n<!--/table-->"
    shown = measured["filled"](page, {"benchmarks/scoring": facts})
    assert "| a case | other | 7.0 |" in shown
    assert "old" not in shown
    assert "`docs/benchmarks/scoring.py`; processor: " in shown


@pytest.mark.long
def test_a_study_of_many_models_is_planned(programs: dict[str, ModuleType], tmp_path: Path) -> None:
    building = programs["building"]
    row = building.measured("planning", building.plan(2, tmp_path), tmp_path)
    assert row["seconds"] > 0
    assert re.search(r"^train_control +2$", (tmp_path / "log").read_text(), re.MULTILINE)


@pytest.mark.parametrize("name", ["scoring", "prompting", "building"])
def test_each_program_says_what_it_measures(name: str) -> None:
    words = [sys.executable, str(ROOT / "docs" / "benchmarks" / f"{name}.py"), "--help"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert f"python docs/benchmarks/{name}.py [--size page]" in said


@pytest.mark.whole_run
@pytest.mark.parametrize("name", ["scoring", "prompting", "building"])
def test_each_program_runs(name: str, tmp_path: Path) -> None:
    words = [str(ROOT / "docs" / "benchmarks" / f"{name}.py"), "--size", "tiny", "--threads", "1"]
    subprocess.run([sys.executable, *words, "--out", str(tmp_path)], check=True)
    assert json.loads((tmp_path / f"{name}.json").read_text())["rows"]
