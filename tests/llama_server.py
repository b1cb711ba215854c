"""llama.cpp's own server of a GGUF file, on loopback, as a process that a test starts and stops.

Run as a program, it serves a file until its standard input ends, as it does with the test.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def serve(path: Path, name: str) -> Iterator[str]:
    """The server's address.

    Args:
        path: the file.
        name: what the server calls the model.
    """
    pytest.importorskip("xllamacpp", reason="llama.cpp (envs/install-python brings it)")
    command = [sys.executable, __file__, str(path), name]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def main(path: str, name: str) -> None:
    """Serve a file."""
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path, settings.model_alias = path, {name}
    settings.hostnames, settings.port = ["127.0.0.1"], 0
    settings.n_ctx, settings.n_parallel, settings.verbosity, settings.warmup = 4096, 1, -1, False
    settings.cache_type_k = settings.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    settings.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    settings.n_gpu_layers, settings.fit_params, settings.swa_full = 0, False, False
    # Several threads wait for each other by spinning.
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
