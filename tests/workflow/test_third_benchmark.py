"""A third benchmark is new files: nothing that is shared has to change."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

#: A whole third benchmark of minimal pairs, which asks models; its files lie as they would in the
#: repository.
NEW = Path(__file__).parent / "third_benchmark"
#: What a working copy consists of; the rest is tests, documents and results.
COPIED = (
    "Snakefile",
    "workflow",
    "config",
    "envs",
    "resources",
    "notebooks",
    "slurm",
    "pyproject.toml",
)
#: Evaluates one model.
EVALUATE = ("evaluate", "--benchmark", "opposites", "--registry", "models.yaml")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def copy(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working copy to which the benchmark was added."""
    folder = tmp_path_factory.mktemp("copy")
    for source in (repository / name for name in COPIED):
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "downloads", ".snakemake")
            shutil.copytree(source, folder / source.name, ignore=ignored)
        else:
            shutil.copy(source, folder)
    for path in NEW.rglob("*.*"):
        if path.is_file():
            target = folder / path.relative_to(NEW)
            assert not target.exists()
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two tiny models, one that cannot be loaded, and a study of the benchmark."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("place")
    words = ["<end>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    torch.set_num_threads(1)
    registry = {}
    for seed, name in enumerate(("one", "two", "broken")):
        torch.manual_seed(seed)
        config = GPT2Config(
            vocab_size=len(words),
            n_embd=8,
            n_layer=1,
            n_head=1,
            n_positions=64,
            bos_token_id=0,
            eos_token_id=0,
        )
        GPT2LMHeadModel(config).save_pretrained(folder / name)
        PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, bos_token=words[0], eos_token=words[0]
        ).save_pretrained(folder / name)
        registry[name] = {
            "family": "tiny",
            "display_name": name.capitalize(),
            "checkpoint": str(folder / name),
        }
    (folder / "broken" / "model.safetensors").write_bytes(b"none")
    (folder / "models.yaml").write_text(json.dumps(registry))
    study = {
        "study": "third",
        "ewok": None,
        "worldsense": None,
        "opposites": {"per_domain": 2},
        "report": {"notebooks": []},
    }
    study |= {"registry": str(folder / "models.yaml"), "models": list(registry)}
    (folder / "study.yaml").write_text(json.dumps(study))
    return folder


@pytest.fixture(scope="module")
def worldprobe(copy: Path, place: Path, environment: dict[str, str]) -> Run:
    """Run a command of the copy, in the folder of the study."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "worldprobe", *map(str, words)]
        there = environment | {"PYTHONPATH": str(copy / "workflow" / "src")}
        return subprocess.run(command, cwd=place, env=there, capture_output=True, text=True)

    return run


@pytest.fixture(scope="module")
def runs(
    copy: Path, place: Path, environment: dict[str, str]
) -> list[subprocess.CompletedProcess[str]]:
    """Two runs of the study: the first finds that one model fails, the second summarises the
    others.
    """
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        str(copy / "Snakefile"),
        "--directory",
        str(place),
    ]
    command += ["--cores", "1", "--keep-going", "--configfile", str(place / "study.yaml")]
    return [
        subprocess.run(command, env=environment, capture_output=True, text=True) for _ in range(2)
    ]


def test_a_third_benchmark_has_fewer_than_a_hundred_lines() -> None:
    assert (
        sum(len(path.read_text().splitlines()) for path in NEW.rglob("*.*") if path.is_file()) < 100
    )


@pytest.mark.slow
def test_a_third_benchmark_runs_to_its_tables_and_report_without_the_model_that_fails(
    runs: list[subprocess.CompletedProcess[str]], place: Path, worldprobe: Run
) -> None:
    results = place / "results" / "third"
    assert "broken has no answers: cannot be loaded" in runs[0].stderr, (
        runs[0].stdout + runs[0].stderr
    )
    assert (results / "report.html").is_file(), runs[1].stdout + runs[1].stderr
    table = pd.read_csv(results / "opposites" / "tables" / "opposites_accuracy.csv")
    overall = table[table["grouping"] == "overall"].set_index("model")
    assert overall["n"].to_dict() == {"one": 6, "two": 6}
    assert list(table["group"]) == ["all", "place", "size", "time"] * 2
    scores = pd.read_parquet(results / "opposites" / "scores" / "one.parquet")
    assert scores["value"].mean() == pytest.approx(overall["mean"]["one"])
    assert (results / "opposites" / "tables" / "hardest_domain.tex").is_file()
    assert len(pd.read_parquet(results / "opposites" / "comparisons.parquet")) == 4
    page = (results / "report.html").read_text()
    assert "Does a language model know opposites?" in page
    assert "Without 1 of the study&#39;s models" in page
    assert "Broken (cannot be loaded" in page
    status = worldprobe("status", "--configfile", place / "study.yaml").stdout
    assert [
        line.split()[1] for line in status.splitlines() if line.startswith(("one", "two", "broken"))
    ] == [
        "done",
        "done",
        "failed",
    ], status


@pytest.mark.slow
def test_a_third_benchmark_evaluates_and_ranks_models(worldprobe: Run, place: Path) -> None:
    for model in ("one", "two"):
        done = worldprobe(
            "evaluate",
            model,
            "--benchmark",
            "opposites",
            "--registry",
            "models.yaml",
            "--work",
            f"evaluated/{model}",
        )
        assert done.returncode == 0, done.stderr
        assert f"Opposites: accuracy of {model}" in done.stdout
    assert (
        "opposites accuracy" in worldprobe("results", "check", "evaluated/one/result.json").stdout
    )
    assert worldprobe("leaderboard", "evaluated", "--out", "leaderboard.html").returncode == 0
    page = (place / "leaderboard.html").read_text()
    assert "<h2>Opposites: causal models</h2>" in page
    assert "one" in page
    refused = worldprobe(*EVALUATE, "broken")
    assert refused.returncode == 2
    assert "cannot be loaded" in refused.stderr


@pytest.mark.slow
def test_the_layers_hold_with_a_third_benchmark(copy: Path) -> None:
    lint = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    layers = subprocess.run(
        lint,
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy / "workflow" / "src")},
        capture_output=True,
    )
    assert layers.returncode == 0, layers.stdout.decode()[-2000:]
