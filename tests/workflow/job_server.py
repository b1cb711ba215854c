"""Jobs of a study, forked from one process that has imported their libraries: imports are most of a small job's time.

A program of its own (``conftest.py`` starts it). ``forked_python.py``, in the place of the Python that jobs are started with,
asks it for each job over a socket, and hands over all that a process inherits: arguments, environment, folder and open files.
"""

import contextlib
import gc
import os
import re
import runpy
import selectors
import signal
import socket
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

#: What functions of the package import, besides what its modules do.
LIBRARIES = (
    "gensim.models",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.pyplot",
    "nbclient",
    "nbconvert",
    "pyarrow.pandas_compat",
    "pyarrow.parquet",
    "scipy.stats",
    "statsmodels.api",
    "torch.fx.experimental.symbolic_shapes",
    "transformers.models.gpt2.modeling_gpt2",
    "transformers.models.llama.modeling_llama",
    "wordfreq",
)
#: Modules left out: R starts with its import, and the others are for jobs that are never forked, or are none of a study's.
LEFT_OUT = re.compile(r"\.(training|survey|exports|mixed_model|__main__)\b")
#: What a job sets before it imports a model's libraries.
SET_BEFORE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true"}
#: Arrow's allocator has this one, and starts it again in a forked process.
THREAD = "jemalloc_bg_thd"
#: Variables that are read when a job runs, and ours; all others may change what an import does.
READ_LATE = {"PATH", "PWD", "OLDPWD", "SHLVL", "_", "COLUMNS", "PYTEST_CURRENT_TEST"}
#: Jobs that choose the processor's instructions before torch is imported, or to go online before its libraries are.
NEVER_FORKED = {("controls", "train"), ("worldsense", "start-model"), ("worldsense", "finetune"), ("models", "fetch")}


def import_libraries() -> None:
    """Import, then make sure that nothing has started a thread: a forked process would lack it."""
    before = dict(os.environ)
    os.environ.update(SET_BEFORE)
    modules = walk_packages(import_module("worldprobe").__path__, "worldprobe.")
    for name in (*LIBRARIES, *(module.name for module in modules if not LEFT_OUT.search(module.name))):
        import_module(name)
    os.environ.clear()
    os.environ.update(before)
    threads = {path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")}
    assert threads <= {Path("/proc/self/comm").read_text().strip(), THREAD}, threads
    gc.collect()
    gc.freeze()


def receive(client: socket.socket) -> tuple[list[str], list[int]]:
    """The words of a request (``forked_python.py`` says which) and the files that belong to it."""
    length, files, _, _ = socket.recv_fds(client, 8, 3)
    text = b""
    while len(text) < int(length):
        text += client.recv(int(length) - len(text))
    return [os.fsdecode(word) for word in text.split(b"\0")], files


def enter(words: list[str], files: list[int], note: Path) -> None:
    """Make this process look as if ``python -m worldprobe`` had been started by the client."""
    folder, number, *rest = words
    arguments, environment = rest[: int(number)], dict(word.split("=", 1) for word in rest[int(number) :])
    for place, opened in enumerate(files):
        os.dup2(opened, place)
        os.close(opened)
    os.chdir(folder)
    differing = {name for name, _ in environment.items() ^ os.environ.items() if not name.startswith("WORLDPROBE_")}
    os.environ.clear()
    os.environ.update(environment)
    is_started = bool(differing - READ_LATE) or tuple(arguments[:2]) in NEVER_FORKED
    with note.open("a") as notes:
        print("started" if is_started else "forked", *arguments, file=notes)
    if is_started:
        os.execv(sys.executable, [sys.executable, "-m", "worldprobe", *arguments])
    sys.argv[1:] = arguments
    sys.path[0] = folder


def serve(folder: Path) -> bool:
    """Fork for each request, and tell its client how it ended, until the tests end.

    Args:
        folder: of the socket, and of the list of jobs.

    Returns:
        Whether this is a forked process, not the server at its end.
    """
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen(64)
    import_libraries()
    waiting = selectors.DefaultSelector()
    waiting.register(sys.stdin, selectors.EVENT_READ)  # the tests hold its other end
    waiting.register(listener, selectors.EVENT_READ)
    jobs: dict[int, tuple[int, socket.socket]] = {}
    while True:
        for key, _ in waiting.select():
            if key.fileobj is sys.stdin:
                for process, _ in jobs.values():
                    os.kill(process, signal.SIGKILL)
                return False
            if key.fileobj is listener:
                client, _ = listener.accept()
                words, files = receive(client)
                process = os.fork()
                if not process:
                    enter(words, files, folder / "jobs")
                    return True
                for opened in files:
                    os.close(opened)
                end = os.pidfd_open(process)
                waiting.register(end, selectors.EVENT_READ)
                jobs[end] = process, client
            else:
                process, client = jobs.pop(key.fd)
                waiting.unregister(key.fd)
                os.close(key.fd)
                status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
                with contextlib.suppress(OSError), client:  # it may have been killed
                    client.sendall(str(status).encode())


if __name__ == "__main__" and serve(Path(sys.argv[1])):
    runpy.run_module("worldprobe", run_name="__main__", alter_sys=True)
