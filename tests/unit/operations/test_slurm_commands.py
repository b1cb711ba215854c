"""The two commands of SLURM's that stand before the site's own (slurm/bin) answer so that Snakemake
never waits for ever.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

#: As snakemake-executor-plugin-slurm 2.8.0 asks.
BY_SQUEUE = ("squeue", "--format=%i|%T", "--states=all", "--noheader", "--name", "run")
BY_SACCT = (
    "sacct",
    "-X",
    "--parsable2",
    "--noheader",
    "--format=JobIdRaw,State",
    "--endtime",
    "now",
    "--name",
    "run",
)

Ask = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def ask(tmp_path: Path, repository: Path) -> Ask:
    """Ask a site whose squeue and sacct are these shell scripts."""

    def run(
        *command: str, squeue: str = "exit 1", sacct: str = "exit 1"
    ) -> subprocess.CompletedProcess[str]:
        for name, script in (("squeue", squeue), ("sacct", sacct)):
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)
        path = f"{repository / 'slurm' / 'bin'}:{tmp_path}:/usr/bin:/bin"
        return subprocess.run(
            [str(repository / "slurm" / "bin" / command[0]), *command[1:]],
            env={"PATH": path},
            capture_output=True,
            text=True,
        )

    return run


def test_a_job_preempted_by_cancelling_is_called_cancelled(ask: Ask) -> None:
    assert (
        ask(*BY_SQUEUE, squeue="printf '1|PREEMPTED\\n2|RUNNING\\n'").stdout
        == "1|CANCELLED\n2|RUNNING\n"
    )
    assert ask("squeue", "--me", squeue="echo '1|PREEMPTED'").stdout == "1|PREEMPTED\n"


def test_a_queue_that_does_not_answer_stays_an_error(ask: Ask) -> None:
    assert ask(*BY_SQUEUE).returncode != 0
    assert ask(*BY_SACCT).returncode != 0


def test_where_no_accounts_are_kept_the_queue_answers_for_them(ask: Ask) -> None:
    told = ask(
        *BY_SACCT,
        squeue='[ "$*" = "--states=all --noheader --format=%i|%T --name run" ] && echo "1|RUNNING"',
    )
    assert (told.stdout, told.returncode) == ("1|RUNNING\n", 0)


@pytest.mark.parametrize("state", ["PREEMPTED", "CANCELLED by 1000"])
def test_both_ways_of_asking_call_a_job_that_slurm_gave_up_cancelled(ask: Ask, state: str) -> None:
    """The plugin asks sacct where MinJobAge is small or scontrol is silent:
    snakemake-executor-plugin-slurm #38, #157.
    """
    assert states(ask(*BY_SACCT, sacct=f"echo '1|{state}'", squeue="true")) == {"1": "CANCELLED"}


def test_of_a_job_that_waits_to_be_started_again_the_queue_knows_more_than_the_accounts(
    ask: Ask,
) -> None:
    accounts = r"printf '1|PREEMPTED\n2|NODE_FAIL\n3|COMPLETED\n'"
    told = states(ask(*BY_SACCT, sacct=accounts, squeue=r"printf '1|PENDING\n2|PENDING\n'"))
    assert told == {"1": "PENDING", "2": "PENDING", "3": "COMPLETED"}


def states(answer: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """As the plugin reads an answer: the last line of a job counts."""
    assert answer.returncode == 0
    return dict(line.split("|") for line in answer.stdout.splitlines() if "|" in line)


def test_accounts_that_are_kept_are_believed(ask: Ask) -> None:
    assert states(ask(*BY_SACCT, sacct="echo '1|COMPLETED'", squeue="true")) == {"1": "COMPLETED"}
    assert ask("sacct", "-j", "1", sacct='echo "$*"').stdout == "-j 1\n"
