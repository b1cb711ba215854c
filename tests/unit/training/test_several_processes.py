"""Several processes that train one model: how they end, and that they leave the weights of one process."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from worldprobe.asking.preemption import PREEMPTED
from worldprobe.errors import UserError
from worldprobe.training import processes

#: The first of two processes ends as told; the other one would wait for ever.
FIRST = "import os, sys, time\nif os.environ['RANK'] == '0':\n    {}\ntime.sleep(60)"


def launch(then: str) -> int:
    return processes.launch(2, [sys.executable, "-c", FIRST.format(then)], is_shared=False)


def test_the_status_of_the_process_that_failed_is_that_of_all_and_the_others_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_SECONDS_TO_TELL", 0.1)
    assert launch("sys.exit(2)") == 2


def test_a_process_that_the_system_killed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_SECONDS_TO_TELL", 0.1)
    with pytest.raises(UserError, match="SIGKILL, as the system does where memory does not suffice"):
        launch("os.kill(os.getpid(), 9)")


def test_a_request_to_stop_reaches_all_and_they_end_in_their_own_time(tmp_path: Path) -> None:
    code = "import os, signal, sys, time\nfrom pathlib import Path\n"
    code += "signal.signal(15, lambda *_: (time.sleep(0.3), Path(sys.argv[1], os.environ['RANK']).touch(), sys.exit(75)))\n"
    code += "Path(sys.argv[1], 'ready' + os.environ['RANK']).touch()\ntime.sleep(60)"

    def stop() -> None:
        while not all((tmp_path / f"ready{rank}").exists() for rank in range(2)):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    asking = threading.Thread(target=stop)
    asking.start()
    assert processes.launch(2, [sys.executable, "-c", code, str(tmp_path)], is_shared=False) == PREEMPTED
    asking.join()
    assert (tmp_path / "0").exists()
    assert (tmp_path / "1").exists()


def test_an_error_is_told_by_the_process_that_has_it_first(tmp_path: Path) -> None:
    told = {processes.TOLD: str(tmp_path / "told")}
    with pytest.raises(UserError), processes.told_once(told):
        raise UserError("a", "b", "c")
    with pytest.raises(SystemExit) as silent, processes.told_once(told):
        raise UserError("a", "b", "c")
    assert silent.value.code == 2
