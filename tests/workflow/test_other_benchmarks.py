"""Benchmarks that are not in the repository: one in an installed package, one a YAML file.
Nothing that is shared changes.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
#: Minimal pairs in BLiMP's layout: whole sentences, the right one first.
PAIRS = [
    (
        "agreement",
        "morphology",
        "The keys on the shelf are rusty.",
        "The keys on the shelf is rusty.",
    ),
    ("agreement", "morphology", "My sister paints boats.", "My sister paint boats."),
    ("order", "syntax", "A storm sank the ferry.", "A storm the ferry sank."),
    ("order", "syntax", "He told us a story.", "He told a story us."),
]
YAML = """\
title: Small BLiMP
question: Does a language model prefer grammatical sentences?
reference: Invented.
data: ["data/*.jsonl"]
targets: [sentence_good, sentence_bad]
groups: {field: field, phenomenon: linguistics_term}
clusters: UID
id: "{{ UID }} {{ pairID }}"
"""


@pytest.fixture(scope="module")
def with_package(installed: Callable[[Path], dict[str, str]]) -> dict[str, str]:
    """The environment of a Python in which the package ``aaa`` is installed."""
    return installed(Path(__file__).parent / "aaa")


@pytest.fixture(scope="module")
def place(tiny_checkpoint: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two tiny models, one that cannot be loaded, and a study of both benchmarks."""
    folder = tmp_path_factory.mktemp("place")
    registry = {}
    for name, architecture in (("one", "gpt2"), ("two", "phi"), ("broken", "gpt2")):
        shutil.copytree(tiny_checkpoint(architecture), folder / name)
        registry[name] = {
            "family": "tiny",
            "display_name": name.capitalize(),
            "checkpoint": str(folder / name),
        }
    (folder / "broken" / "model.safetensors").write_bytes(b"none")
    (folder / "models.yaml").write_text(json.dumps(registry))
    (folder / "pairs").mkdir()
    (folder / "pairs" / "small_blimp.yaml").write_text(YAML)
    (folder / "pairs" / "data").mkdir()
    for number, (paradigm, field, good, bad) in enumerate(PAIRS):
        row = {
            "sentence_good": good,
            "sentence_bad": bad,
            "field": field,
            "linguistics_term": paradigm,
            "UID": paradigm,
        }
        with (folder / "pairs" / "data" / f"{paradigm}.jsonl").open("a") as stream:
            stream.write(json.dumps(row | {"pairID": str(number)}) + "\n")
    study = {
        "study": "others",
        "benchmarks": ["pairs/small_blimp.yaml", "aaa"],
        "aaa": {"per_domain": 2},
    }
    study |= {
        "registry": str(folder / "models.yaml"),
        "models": list(registry),
        "report": {"notebooks": []},
    }
    (folder / "study.yaml").write_text(json.dumps(study))
    return folder


@pytest.fixture(scope="module")
def worldprobe(place: Path, with_package: dict[str, str]) -> Run:
    """Run a command in the folder of the study."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "worldprobe", *map(str, words)]
        return subprocess.run(command, cwd=place, env=with_package, capture_output=True, text=True)

    return run


@pytest.mark.slow
def test_a_study_of_them_runs_to_its_report_without_the_model_that_fails(
    snakemake_command: Callable[..., list[str]],
    place: Path,
    with_package: dict[str, str],
    worldprobe: Run,
) -> None:
    command = snakemake_command(place, configuration=(place / "study.yaml",))
    run = subprocess.run(command, env=with_package, capture_output=True, text=True)
    said = run.stdout + run.stderr
    assert run.returncode == 0, said
    assert "Without broken: cannot be loaded" in said
    assert said.count("Building DAG of jobs") == 1, "one run"
    results = place / "results" / "others"
    assert (results / "report.html").is_file(), said
    again = subprocess.run(
        [*command, "--dry-run"], env=with_package, capture_output=True, text=True
    )
    assert "Asking broken" in again.stdout, "the next run tries it again"
    groups = {
        "aaa": ["all", "place", "size", "time"],
        "small_blimp": ["all", "morphology", "syntax", "agreement", "order"],
    }
    for name, expected in groups.items():
        table = pd.read_csv(results / name / "tables" / "accuracy.csv")
        assert list(table["group"]) == expected * 2
        overall = table[table["grouping"] == "overall"].set_index("model")
        scores = pd.read_parquet(results / name / "scores" / "one.parquet")
        assert scores["value"].mean() == pytest.approx(overall["mean"]["one"])
        assert overall["n"].to_dict() == {"one": len(scores), "two": len(scores)}
        assert len(pd.read_parquet(results / name / "comparisons.parquet")) == len(expected)
        pairs = pd.read_csv(results / name / "tables" / "pairs_of_models.csv")
        assert sorted(pairs["group"]) == sorted(expected)
    assert (results / "aaa" / "tables" / "hardest_domain.tex").is_file()
    page = (results / "report.html").read_text()
    assert page.count("Pairs of models on the same items") == 2
    assert page.index('<div id="aaa" class="part">') < page.index(
        '<div id="small_blimp" class="part">'
    )
    assert "Broken (cannot be loaded" in page
    printed = worldprobe("status", "--configfile", "study.yaml").stdout
    states = {
        line.split()[0]: line.split()[1]
        for line in printed.splitlines()
        if line.startswith(("one", "two", "broken"))
    }
    assert states == {"one": "done", "two": "done", "broken": "failed"}, printed

    data = place / "pairs" / "data" / "order.jsonl"
    data.write_text(data.read_text().replace("ferry", "raft"))
    changed = [
        *command,
        "--dry-run",
        str((results / "aaa" / "scores" / "one.parquet").relative_to(place)),
    ]
    changed += [str((results / "small_blimp" / "scores" / "one.parquet").relative_to(place))]
    planned = subprocess.run(changed, env=with_package, capture_output=True, text=True).stdout
    assert "ask_small_blimp" in planned
    assert "ask_aaa" not in planned


@pytest.mark.slow
def test_they_evaluate_and_rank_models(worldprobe: Run, place: Path) -> None:
    named = ("--benchmark", "pairs/small_blimp.yaml,aaa", "--registry", "models.yaml")
    for model in ("one", "two"):
        done = worldprobe("evaluate", model, *named, "--work", f"evaluated/{model}")
        assert done.returncode == 0, done.stderr
        assert done.stdout.index(f"Opposites: accuracy of {model}") < done.stdout.index(
            f"Small BLiMP: accuracy of {model}"
        )
    assert (
        "small_blimp accuracy" in worldprobe("results", "check", "evaluated/one/result.json").stdout
    )
    assert worldprobe("leaderboard", "evaluated", "--out", "leaderboard.html").returncode == 0
    page = (place / "leaderboard.html").read_text()
    assert "<h2>Opposites: causal models</h2>" in page
    assert "<h2>Small BLiMP: causal models</h2>" in page
    refused = worldprobe("evaluate", "broken", *named)
    assert refused.returncode == 2
    assert "cannot be loaded" in refused.stderr


@pytest.mark.long
def test_a_package_adds_an_option_to_evaluate_and_a_command(worldprobe: Run, place: Path) -> None:
    named = ("evaluate", "one", "--registry", "models.yaml", "--work", "chosen")
    fewer = worldprobe(*named, "--benchmark", "aaa", "--aaa.per-domain", "1")
    assert fewer.returncode == 0, fewer.stderr
    result = json.loads((place / "chosen" / "result.json").read_text())
    assert result["benchmarks"]["aaa"]["n"] == 3
    assert result["options"]["aaa"] == {"per_domain": 1, "limit": 0}
    others = worldprobe(*named, "--benchmark", "aaa")
    assert "aaa --per-domain 1" in others.stderr, "numbers with other options are not replaced"
    refused = worldprobe(*named, "--benchmark", "pairs/small_blimp.yaml", "--aaa.per-domain", "1")
    assert "--aaa.per-domain" in refused.stderr
    assert "does nothing without the benchmark aaa" in refused.stderr
    assert "--aaa.per-domain" in worldprobe("evaluate", "--help").stdout
    assert "Opposites:\n  opposites " in worldprobe("--help").stdout
    assert worldprobe("opposites", "size", "--per-domain", "1").stdout == "big small\n"


@pytest.mark.slow
def test_an_installed_benchmark_changes_no_study_that_does_not_name_it(
    snakemake_command: Callable[..., list[str]],
    environment: dict[str, str],
    with_package: dict[str, str],
    tmp_path: Path,
) -> None:
    command = snakemake_command(tmp_path, "--dry-run", "--printshellcmds")
    planned = [
        subprocess.run(command, env=env, capture_output=True, text=True).stdout
        for env in (environment, with_package)
    ]
    without, with_it = (
        sorted(line for line in text.splitlines() if "worldprobe " in line) for text in planned
    )
    assert len(without) > 20
    assert with_it == without
