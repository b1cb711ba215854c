"""The same weights on a lesser processor: its instructions are emulated by capping what the
libraries may use.
"""

import hashlib
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch")

TRAIN = """
import hashlib, sys
from worldprobe_training import arithmetic
assert arithmetic.pin()
from worldprobe_training import scratch
from worldprobe_training.tokenizer import train_tokenizer
texts = [f"{a} {b} the {c}." for a in ("Ana", "Ben") for b in ("lifts", "drops") for c in ("lamp", "rug", "crate")] * 4
settings = scratch.ScratchSettings(
    architecture="gpt2", layers=1, width=16, heads=2, steps=150, batch=4, learning_rate=0.005
)
model, _ = scratch.train(texts, train_tokenizer(texts, 300), settings, "tiny")
digest = hashlib.sha256()
for name, weight in model.state_dict().items():
    digest.update(weight.numpy().tobytes())
print(digest.hexdigest())
"""


def train(**capped: str) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": ":".join(path for path in sys.path if path),
        "OMP_NUM_THREADS": "1",
        **capped,
    }
    done = subprocess.run(
        [sys.executable, "-c", TRAIN], capture_output=True, text=True, env=environment, check=True
    )
    return done.stdout.strip()


@pytest.mark.slow
def test_training_gives_the_same_weights_where_a_processor_has_no_avx512() -> None:
    pytest.importorskip("transformers")
    here = train()
    assert len(here) == len(hashlib.sha256().hexdigest())
    assert train(MKL_ENABLE_INSTRUCTIONS="AVX2", DNNL_MAX_CPU_ISA="AVX2") == here
