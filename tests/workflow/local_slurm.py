"""A real SLURM of several small nodes with make-believe GPUs on one machine, for tests; nothing
outside its folder is touched.

Its folder should be short (sockets). As root, ``install`` brings Debian's packages where SLURM is
missing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil

PACKAGES = ("munge", "slurmctld", "slurmd", "slurm-client")
PROGRAMS = (
    "munged",
    "slurmctld",
    "slurmd",
    "sbatch",
    "srun",
    "squeue",
    "scontrol",
    "scancel",
    "sinfo",
)
CLIENTS = ("sbatch", "srun", "squeue", "scontrol", "scancel", "sinfo")
N_GPUS = 8
SYSTEM = os.environ["PATH"] + ":/usr/sbin:/sbin"

CONFIGURATION = """\
ClusterName=local
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
# cred_expire is also how long a requeued job waits before it starts again
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmctldLogFile={folder}/log/slurmctld.log
StateSaveLocation={folder}/state
SlurmdPidFile={folder}/run/%n.pid
SlurmdLogFile={folder}/log/%n.log
SlurmdSpoolDir={folder}/spool/%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=100
MpiDefault=none
SwitchType=switch/none
PropagateResourceLimits=NONE
ReturnToService=2
SlurmdTimeout=10
KillWait=2
MinJobAge=3600
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/finished.txt
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=2
JobAcctGatherParams=OverMemoryKill
GresTypes=gpu
"""
PARTITIONS = """\
PartitionName=main Nodes=ALL Default=YES PriorityTier=10 PreemptMode=OFF DefaultTime=10 MaxTime=1-0 State=UP
PartitionName=low Nodes={last} PriorityTier=1 PreemptMode=CANCEL DefaultTime=10 MaxTime=1-0 State=UP
PartitionName=high Nodes=ALL PriorityTier=20 PreemptMode=OFF DefaultTime=10 MaxTime=1-0 State=UP
"""


class LocalSlurm:
    """The daemons of one cluster, told apart by their process id files.

    Args:
        folder: holds everything: configuration, state, sockets, logs.

    Its three nodes have 64 CPUs, 512 GB and 8 GPUs each; SLURM believes it whatever the machine
    has.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.nodes = ["node1", "node2", "node3"]
        self.parts = ["munged", "slurmctld", *self.nodes]

    @property
    def environment(self) -> dict[str, str]:
        """What a command needs to talk to this cluster: wrappers first on the path, as some
        callers drop SLURM_CONF.
        """
        return {
            "SLURM_CONF": f"{self.folder}/etc/slurm.conf",
            "PATH": f"{self.folder}/bin:{SYSTEM}",
        }

    def run(self, *command: str, check: bool = True) -> str:
        """Run a command on this cluster and return what it prints."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SLURM_", "SBATCH_"))
        }
        done = subprocess.run(command, env=kept | self.environment, capture_output=True, text=True)
        if check and done.returncode:
            raise RuntimeError(f"{command[0]}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def up(self) -> None:
        """Start what does not run: all parts, or those that were stopped or crashed."""
        if not (self.folder / "etc" / "slurm.conf").exists():
            self._configure()
        begun = time.time()
        started = [part for part in self.parts if not self.pid(part)]
        for part in started:
            if part == "munged":
                self._start_munged()
            elif part == "slurmctld":
                self.run("slurmctld", "-f", f"{self.folder}/etc/slurm.conf")
                self._until("slurmctld", lambda: "UP" in self.run("scontrol", "ping", check=False))
            else:
                self.run("slurmd", "-f", f"{self.folder}/etc/slurm.conf", "-N", part)
        for node in self.nodes:
            self._until(
                node, lambda node=node: self._is_ready(node, begun if node in started else 0)
            )

    def stop(self, part: str, kill: bool = False) -> None:
        """Stop one part; a killed node takes its jobs with it, as a dead machine does."""
        jobs = self._job_processes(part) if part in self.nodes else []
        if pid := self.pid(part):
            os.kill(pid, signal.SIGKILL if kill else signal.SIGTERM)
            self._until(f"the end of {part}", lambda: not self._is_alive(pid))
        (self.folder / "run" / f"{part}.pid").unlink(missing_ok=True)
        for pid in jobs:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def down(self) -> None:
        """Stop everything."""
        if (self.folder / "etc" / "slurm.conf").exists():
            self.run("scancel", "--full", "--user", self._user(), check=False)
            for part in reversed(self.parts):
                self.stop(part)
            self.end_what_is_left()

    def end_what_is_left(self) -> None:
        """End processes of this cluster's jobs that SLURM lost sight of: it kills those below a
        step's own process only.

        An inner Snakemake that was told to end waits for its job, and once its parent is gone, it
        is nobody's child.
        """
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                given = process.environ()
                if "SLURM_JOB_ID" in given and f"{self.folder}/bin" in given.get("PATH", "").split(
                    ":"
                ):
                    process.kill()

    def pid(self, part: str) -> int | None:
        """Process id of a part that runs."""
        try:
            pid = int((self.folder / "run" / f"{part}.pid").read_text())
        except (FileNotFoundError, ValueError):
            return None
        return pid if self._is_alive(pid) else None

    def _configure(self) -> None:
        for name in ("bin", "dev", "etc", "log", "munge", "run", "spool", "state"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "munge").chmod(0o700)
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.socket()) for _ in range(1 + len(self.nodes))]
            for one in sockets:
                one.bind(("127.0.0.1", 0))
            ports = [one.getsockname()[1] for one in sockets]
        host = socket.gethostname().split(".")[0]
        text = CONFIGURATION.format(folder=self.folder, host=host, user=self._user(), port=ports[0])
        for node, port in zip(self.nodes, ports[1:], strict=True):
            text += (
                f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=64"
                f" RealMemory=512000 Gres=gpu:a100:{N_GPUS} Feature=a100 State=UNKNOWN\n"
            )
            text += (
                f"PartitionName={node} Nodes={node} PriorityTier=1 PreemptMode=REQUEUE"
                " DefaultTime=10 MaxTime=1-0 State=UP\n"
            )
            (self.folder / "spool" / node).mkdir(exist_ok=True)
        devices = [self._device(number) for number in range(N_GPUS)]
        etc = self.folder / "etc"
        (etc / "gres.conf").write_text(
            f"NodeName={','.join(self.nodes)} Name=gpu Type=a100 File={','.join(devices)}\n"
        )
        # Named though none is used: to find out by itself slurmd needs a cgroup tree, which
        # containers lack.
        (etc / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        (etc / "plugstack.conf").write_text("")
        for name in CLIENTS:
            if real := shutil.which(name, path=SYSTEM):
                wrapper = self.folder / "bin" / name
                wrapper.write_text(f'#!/bin/sh\nSLURM_CONF="{etc}/slurm.conf" exec {real} "$@"\n')
                wrapper.chmod(0o755)
        (etc / "slurm.conf").write_text(text + PARTITIONS.format(last=self.nodes[-1]))

    def _device(self, number: int) -> str:
        """A GPU of gres.conf is a device file: a second /dev/null does."""
        path = self.folder / "dev" / f"gpu{number}"
        try:
            os.mknod(path, 0o666 | 0o020000, os.makedev(1, 3))
        except PermissionError:
            path.touch()
        return str(path)

    def _start_munged(self) -> None:
        key = self.folder / "munge" / "key"
        if not key.exists():
            key.touch(mode=0o600)
            key.write_bytes(os.urandom(128))
        self.run(
            "munged",
            "--force",
            f"--key-file={key}",
            f"--socket={self.folder}/munge/socket",
            f"--pid-file={self.folder}/run/munged.pid",
            f"--log-file={self.folder}/log/munged.log",
            f"--seed-file={self.folder}/munge/seed",
        )
        self._until("munged", lambda: self.pid("munged") is not None)

    def _is_ready(self, node: str, since: float) -> bool:
        shown = self.run("scontrol", "-o", "show", "node", node, check=False)
        fields = dict(field.split("=", 1) for field in shown.split() if "=" in field)
        begun = fields.get("SlurmdStartTime", "None")
        if begun == "None" or time.mktime(time.strptime(begun, "%Y-%m-%dT%H:%M:%S")) < int(since):
            return False
        return fields["State"].split("+")[0] in ("IDLE", "MIXED", "ALLOCATED")

    def _job_processes(self, node: str) -> list[int]:
        """The node's job steps, which have its log open, and all that they started."""
        log = f"{self.folder}/log/{node}.log"
        found: list[psutil.Process] = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                links = [os.readlink(link) for link in Path(f"/proc/{process.pid}/fd").iterdir()]
                if process.name() == "slurmstepd" and log in links:
                    found += [*process.children(recursive=True), process]
        return [process.pid for process in found]

    def _until(self, what: str, test: Callable[[], bool], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not test():
            if time.monotonic() > end:
                lines = [
                    line
                    for log in self.folder.glob("log/*.log")
                    for line in log.read_text(errors="replace").splitlines()
                ]
                raise RuntimeError(
                    f"{what} did not come:\n"
                    + "\n".join(line for line in lines if "error" in line or "fatal" in line)
                )
            time.sleep(0.1)

    @staticmethod
    def _is_alive(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    @staticmethod
    def _user() -> str:
        import pwd

        return pwd.getpwuid(os.geteuid()).pw_name


def missing() -> list[str]:
    """SLURM's programs that are not installed here."""
    return [name for name in PROGRAMS if not shutil.which(name, path=SYSTEM)]


def install() -> list[str]:
    """Install what is missing where that is allowed; returns what is missing still."""
    if missing() and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(["apt-get", "-qq", "update"], **quiet)
        frontend = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(
            ["apt-get", "-qq", "install", "-y", "--no-install-recommends", *PACKAGES],
            env=frontend,
            **quiet,
        )
    return missing()
