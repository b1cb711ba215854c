"""Set-up: what the Makefile calls says what it cannot do, and how to go on."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def bare_path(folder: Path, *programs: str) -> str:
    """A PATH with these programs and nothing else."""
    for name in programs:
        (folder / name).symlink_to(shutil.which(name))
    return str(folder)


def test_without_r_and_without_a_way_to_install_it_three_ways_out_are_named(
    repository: Path, tmp_path: Path
) -> None:
    path = bare_path(tmp_path, "bash", "cat", "dirname", "env", "grep", "id")
    told = subprocess.run(
        [str(repository / "envs" / "install-r")], env={"PATH": path}, capture_output=True, text=True
    )
    assert told.returncode == 1
    ways = [
        line.split(":")[0].strip() for line in told.stderr.splitlines() if line.startswith("  ")
    ]
    assert ways == ["1. with root", "2. without root", "3. skip it"]
    for words in (
        "apt-get install r-base-core r-cran-lme4",
        "--sdm conda",
        "ewok={mixed_model: {enabled: false}}",
    ):
        assert words in told.stderr


def test_the_third_way_out_is_a_configuration_that_needs_no_r(snakemake, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    planned = snakemake(tmp_path, "--dry-run", "--config", "ewok={mixed_model: {enabled: false}}")
    assert planned.returncode == 0, planned.stderr
    assert "fit_fixed_effects" in planned.stdout + planned.stderr
    assert "fit_mixed_model" not in planned.stdout + planned.stderr


def test_without_a_python_that_fits_set_up_stops_with_the_fix(
    repository: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(repository / "envs", copy / "envs")
    shutil.copy(repository / "pyproject.toml", copy)
    path = bare_path(tmp_path, "bash", "cat", "cksum", "dirname", "env", "grep", "id")
    old = tmp_path / "python3"
    old.write_text("#!/bin/bash\nexit 1\n")
    old.chmod(0o755)
    told = subprocess.run(
        [str(copy / "envs" / "install-python")], env={"PATH": path}, capture_output=True, text=True
    )
    assert told.returncode == 2
    assert "3.11, 3.12 or 3.13" in told.stderr
    assert "python3-venv" in told.stderr
    assert not (copy / ".venv").exists()


def test_a_slurm_of_the_tests_leaves_no_process_of_its_jobs_behind(tmp_path: Path) -> None:
    pytest.importorskip("psutil")
    specification = importlib.util.spec_from_file_location(
        "local_slurm", Path(__file__).with_name("local_slurm.py")
    )
    local_slurm = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(local_slurm)
    in_cluster = os.environ | {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    # as a Snakemake in a job that was out of time: it waits, and its parent is gone
    job, another = (
        subprocess.Popen(["sleep", "60"], env=in_cluster | more)
        for more in ({"SLURM_JOB_ID": "7"}, {})
    )
    try:
        local_slurm.LocalSlurm(tmp_path).end_what_is_left()
        assert job.wait(10) < 0
        assert another.poll() is None
    finally:
        job.kill()
        another.kill()


#: As sbatch is told: one word a line.
SBATCH = """#!/bin/sh
for word; do case "$word" in --wrap*) ;; *) printf '%s\\n' "$word" ;; esac; done > "$JOBS/$$"
exit 1
"""


def test_names_of_a_site_reach_slurm_as_they_are_written(repository: Path, tmp_path: Path) -> None:
    """Snakemake evaluates a profile (snakemake/snakemake #1707, #2579); GPUs by --gres:
    snakemake-executor-plugin-slurm #466.
    """
    jobs, stubs = tmp_path / "jobs", tmp_path / "stubs"
    for folder in (jobs, stubs, tmp_path / "config"):
        folder.mkdir()
    for name in ("sbatch", "sacct", "sacctmgr", "scontrol", "sinfo", "squeue", "sshare"):
        (stubs / name).write_text(SBATCH if name == "sbatch" else "#!/bin/sh\n")
        (stubs / name).chmod(0o755)
    (tmp_path / "config" / "cluster.yaml").write_text(
        "gpu_partition: max\naccount: 22-1234\nqos: 1e3\nconstraint: 2024/3-12\n"
        "reservation: o'neill\ncluster: None\ngres: gpu:a100\n"
    )
    shutil.copytree(
        repository / "config",
        tmp_path / "config",
        dirs_exist_ok=True,
        ignore=lambda *_: ["cluster.yaml"],
    )
    (tmp_path / "Snakefile").write_text(
        f'include: "{repository}/Snakefile"\nrule on_cpus:\n    output: "cpus"\n    shell:'
        ' "true"\nrule on_gpus:\n    output: "{model}.gpus"\n    resources: gpu=need("gpus"),'
        ' gpu_model=on_site("gpu_model"), gres=on_site("gres"), constraint=on_site("constraint"),'
        ' slurm_partition=on_site("partition")\n    shell: "true"\n'
    )
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--profile",
        str(repository / "slurm"),
        "--retries",
        "0",
        "cpus",
        "phi_1.gpus",
    ]
    path = f"{stubs}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "WORLDPROBE_PARTITION": "all", "JOBS": str(jobs)}
    told = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert len(list(jobs.iterdir())) == 2, told.stdout + told.stderr
    on_cpus, on_gpus = sorted(
        (path.read_text().split("\n") for path in jobs.iterdir()), key=lambda words: "-C" in words
    )
    for words, partition in ((on_cpus, "all"), (on_gpus, "max")):
        assert words[words.index("-p") + 1] == partition, told.stderr
        assert words[words.index("-A") + 1] == "22-1234"
        assert words[words.index("--clusters") + 1] == "None"
        assert {"--qos=1e3", "--reservation=o'neill"} < set(words)
    assert on_gpus[on_gpus.index("-C") + 1] == "2024/3-12"
    assert [word for word in on_gpus if word.startswith(("--gres", "--gpus"))] == [
        "--gres=gpu:a100:1"
    ]
