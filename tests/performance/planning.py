"""What Snakemake needs to plan a study of many models, next to what it needs for as many jobs that
look nothing up.

    python tests/performance/planning.py [--n-models 300] [--runs 3]

A study of models in folders of their own is planned (``snakemake --dry-run``), and so is a workflow
of plain rules: as many jobs, with the same numbers of inputs, outputs, parameters and resources,
all of them constants. The second is what no change of ours can save. Both are processes of their
own, in turn, in processor seconds; for 300 models ours takes at most 2.5 times as many.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Per model a job that scores, one that asks trials and one that judges, as a default study has,
#: and 38 of tables and figures.
PLAIN = """
MODELS = [f"m{i}" for i in range(N_MODELS)]
rule all:
    input: [f"table/{i}" for i in range(38)], [f"{done}/{m}" for m in MODELS for done in ("judged", "asked")]
rule items:
    output: "items"
    shell: "true"
rule table:
    input: [f"judged/{m}" for m in MODELS[:10]]
    output: "table/{number}"
    log: "logs/table/{number}"
    benchmark: "benchmarks/table/{number}"
    conda: "plain.yaml"
    params: code="x", options="y"
    message: "Table {wildcards.number}"
    shell: "true {input:q} {params.options} {output:q} &> {log:q}"
rule judge:
    input: "items", evidence="scored/{model}"
    output: "judged/{model}"
    log: "logs/judge/{model}"
    benchmark: "benchmarks/judge/{model}"
    conda: "plain.yaml"
    params: code="x"
    message: "Judging {wildcards.model}"
    shell: "true {input:q} {output:q} &> {log:q}"
"""
#: A rule that asks a model, twice.
ASKING = """
rule NAME:
    input: tables="items", weights=["w0", "w1", "w2"]
    output: "DONE/{model}"
    log: "logs/NAME/{model}"
    benchmark: "benchmarks/NAME/{model}"
    conda: "plain.yaml"
    threads: 4
    resources: gpu=0, gpu_model="", constraint="", slurm_partition="", mem_mb=4000, runtime=60, speed=""
    params: checkpoint="x", loading="y", ways="z", asking="a", answers="b", contents="c", method=1
    message: "Asking {wildcards.model} ({params.ways})"
    shell: "true {input.tables:q} {params.checkpoint:q} {params.asking} {params.answers} {output:q} &> {log:q}"
"""


def plain_workflow(n_models: int) -> str:
    """A Snakefile with as many jobs as a study of so many models, in which every value is a
    constant.
    """
    asking = (
        ASKING.replace("NAME", name).replace("DONE", done)
        for name, done in (("score", "scored"), ("ask", "asked"))
    )
    return PLAIN.replace("N_MODELS", str(n_models)) + "".join(asking)


def seconds(command: list[str]) -> float:
    """Processor seconds of a command and of what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        check=True,
        capture_output=True,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Write both workflows, plan them in turn, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n-models", type=int, default=300)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "plain.yaml").write_text("dependencies: []\n")
        for name in ("w0", "w1", "w2"):
            (folder / name).touch()
        (folder / "Snakefile").write_text(plain_workflow(args.n_models))
        cards = {}
        for number in range(args.n_models):
            weights = folder / "weights" / f"m{number}"
            weights.mkdir(parents=True)
            for name in ("config.json", "tokenizer.json", "model.safetensors"):
                (weights / name).write_text("{}")
            cards[f"m{number}"] = {
                "family": "gpt2",
                "display_name": f"Model {number}",
                "checkpoint": str(weights),
            }
        (folder / "models.yaml").write_text(json.dumps(cards))
        study = {
            "study": "many_models",
            "registry": str(folder / "models.yaml"),
            "models": list(cards),
        }
        (folder / "study.yaml").write_text(json.dumps(study))
        snakemake = [
            sys.executable,
            "-m",
            "snakemake",
            "--dry-run",
            "--quiet",
            "all",
            "--cores",
            "2",
            "--nolock",
        ]
        commands = {
            "study": [*snakemake, "--configfile", str(folder / "study.yaml"), "--", "all"],
            "plain": [
                *snakemake,
                "--snakefile",
                str(folder / "Snakefile"),
                "--directory",
                temporary,
                "--",
                "all",
            ],
        }
        found: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(args.runs):
            for name, command in commands.items():
                found[name].append(seconds(command))
    study_seconds, plain_seconds = (statistics.median(found[name]) for name in ("study", "plain"))
    print(
        f"{args.n_models} models: {study_seconds:.1f} processor seconds (goal for 300: 6); plain"
        f" jobs {plain_seconds:.1f}"
    )
    print(f"plain jobs take {plain_seconds / study_seconds:.0%} of it")


if __name__ == "__main__":
    main()
