"""The transformers engine: right to the last token, whatever the architecture, the tokenizer, the batch and the order."""

from __future__ import annotations

import math
import random

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from worldprobe.errors import UserError  # noqa: E402
from worldprobe.models import selfcheck, tries  # noqa: E402
from worldprobe.models.encoding import Encoder  # noqa: E402
from worldprobe.models.engine import Message, Query  # noqa: E402
from worldprobe.models.passes import Passes, normalisers  # noqa: E402
from worldprobe.models.transformers_engine import open_engine  # noqa: E402

ARCHITECTURES = ("gpt2", "phi", "gemma", "mpt", "falcon", "falcon_alibi", "mistral", "mixtral", "llama")
KINDS = ("byte_level", "sentencepiece")
CONTEXTS = [
    "Ana lifts the heavy crate near the door.",
    "Ana lifts the light crate.",
    "Ben hides the lamp under a tree. It is blue.",
]
TARGETS = ["Ana drops the crate.", "Ana is not tired at all.", "Ben paints the lamp in 1 of 5 rooms."]
QUERIES = [Query(c, t) for c in (*CONTEXTS, None) for t in TARGETS]


def reference_scores(folder, queries):
    """One sequence at a time, by transformers alone, the target found by the length of the tokens before it."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    scores = []
    for query in queries:
        if query.context is None:
            ids = tokenizer(" " + query.target)["input_ids"]
            ids, start = (ids, 1) if ids[0] == tokenizer.bos_token_id else ([tokenizer.bos_token_id, *ids], 1)
        else:
            ids = tokenizer(f"{query.context} {query.target}")["input_ids"]
            start = len(tokenizer(query.context)["input_ids"])
        with torch.no_grad():
            logprobs = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
        scores.append(sum(logprobs[i - 1, ids[i]].item() for i in range(start, len(ids))))
    return scores


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture_scores_as_one_sequence_at_a_time_does(tiny_checkpoint, architecture, kind):
    folder = tiny_checkpoint(architecture, kind)
    engine = open_engine(str(folder))
    found = dict(engine.score(QUERIES))
    assert [found[i].logprob for i in range(len(QUERIES))] == pytest.approx(reference_scores(folder, QUERIES), abs=1e-4)
    assert engine.mode == ("batches" if architecture in ("mpt", "falcon_alibi") else "tries")
    assert engine.can_cache


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("bfloat16", 0.5)])
@pytest.mark.parametrize("fastest", ["tries", "batches", "logits"])
def test_scores_do_not_depend_on_batch_or_order(tiny_checkpoint, dtype, tolerance, fastest):
    engine = open_engine(str(tiny_checkpoint("llama", "sentencepiece")), dtype=dtype, fastest=fastest)
    assert engine.mode == fastest
    together = {QUERIES[i]: s.logprob for i, s in engine.score(QUERIES)}
    shuffled = random.Random(3).sample(QUERIES, len(QUERIES))
    engine.budget.tokens = 40
    for i, scored in engine.score(shuffled):
        assert scored.logprob == pytest.approx(together[shuffled[i]], abs=tolerance)
    for query in QUERIES[:4]:
        [(_, alone)] = engine.score([query])
        assert alone.logprob == pytest.approx(together[query], abs=tolerance)


def test_a_resumed_run_gives_the_very_same_numbers(tiny_checkpoint):
    engine = open_engine(str(tiny_checkpoint()))
    whole = dict(engine.score(QUERIES))
    first_half = set(range(0, len(QUERIES), 2))
    rest = dict(engine.score(QUERIES, skip=first_half))
    assert set(rest) == set(range(len(QUERIES))) - first_half
    assert all(rest[i] == whole[i] for i in rest)


@pytest.mark.parametrize(("kind", "starts"), [("byte_level", 0), ("sentencepiece", 1)])
def test_a_sequence_has_exactly_one_start_token_where_the_tokenizer_adds_one_and_none_elsewhere(tiny_checkpoint, kind, starts):
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_checkpoint("llama", kind))
    encoder = Encoder(tokenizer)
    [inside, bare] = encoder.encode([Query(CONTEXTS[0], TARGETS[0]), Query(None, TARGETS[0])])
    [(prompt, _)] = encoder.encode_prompts(["Say a number.\n"], 4)
    assert inside.ids.count(tokenizer.bos_token_id) == prompt.count(tokenizer.bos_token_id) == starts
    assert bare.ids.count(tokenizer.bos_token_id) == 1
    assert bare.start == 1
    assert bare.ids[1:] == inside.ids[inside.start :], "the bare target is the same tokens as behind a context"
    tokenizer.chat_template = "{{ bos_token }}[{{ messages[0].content }}]"
    [(chat, _)] = encoder.encode_prompts([(Message("user", "Say a number.\n"),)], 4)
    assert chat.count(tokenizer.bos_token_id) == 1
    tokenizer.chat_template = "[{{ messages[0].content }}]"
    [(chat, _)] = encoder.encode_prompts([(Message("user", "Say a number.\n"),)], 4)
    assert chat.count(tokenizer.bos_token_id) == starts


def test_start_tokens_can_be_forced_or_forbidden_and_gemma_always_has_one(tiny_checkpoint):
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_checkpoint("gpt2", "byte_level"))
    assert Encoder(tokenizer, bos="always").prefix == (tokenizer.bos_token_id,)
    assert Encoder(tokenizer, model_type="gemma").prefix == ()
    tokenizer.add_special_tokens({"bos_token": "<bos>"})
    assert Encoder(tokenizer, model_type="gemma2").prefix == (tokenizer.bos_token_id,)
    assert Encoder(tokenizer, model_type="gemma", bos="never").prefix == ()
    tokenizer.bos_token = None
    with pytest.raises(UserError, match="no start token"):
        Encoder(tokenizer, bos="always")


def test_without_a_start_token_the_first_token_of_a_bare_target_is_unscored_and_flagged(tiny_checkpoint):
    engine = open_engine(str(tiny_checkpoint()))
    with_start = dict(engine.score([Query(None, TARGETS[0])]))[0]
    engine.encoder.bare_prefix = ()
    without = dict(engine.score([Query(None, TARGETS[0])]))[0]
    assert without.flags == ("first_unscored",)
    assert without.n_tokens == with_start.n_tokens - 1


def test_a_token_across_the_border_is_counted_to_the_target_and_flagged(tiny_checkpoint):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    crossing = Tokenizer(models.BPE())
    crossing.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    crossing.train_from_iterator(["up. Dn up. Dn up. Dn a b"] * 3, trainers.BpeTrainer(vocab_size=60, show_progress=False))
    crossing.add_special_tokens(["<s>"])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=crossing, bos_token="<s>")
    [encoded] = Encoder(tokenizer, bos="always").encode([Query("a up.", "Dn b")])
    pieces = tokenizer.convert_ids_to_tokens(list(encoded.ids))
    border = pieces[encoded.start]
    assert "." in border
    assert "D" in border, f"the tokenizer should have learned a token across the border: {pieces}"
    assert encoded.flags == ("straddle",)
    [clean] = Encoder(tokenizer, bos="always").encode([Query("b", "a")])
    assert clean.flags == ()


def test_context_and_target_together_make_the_whole_sequence(tiny_checkpoint):
    """Chain rule: log P(context) + log P(target | context) = log P(context + target), to the last token."""
    engine = open_engine(str(tiny_checkpoint("llama", "sentencepiece")))
    context, target = CONTEXTS[0], TARGETS[1]
    found = dict(engine.score([Query(None, context), Query(context, target), Query(None, f"{context} {target}")], per_token=True))
    assert found[0].logprob + found[1].logprob == pytest.approx(found[2].logprob, abs=1e-4)
    assert found[0].n_tokens + found[1].n_tokens == found[2].n_tokens
    assert found[0].tokens + found[1].tokens == found[2].tokens
    assert math.fsum(found[1].token_logprobs) == pytest.approx(found[1].logprob, abs=1e-9)


class Bigrams(torch.nn.Module):
    """A language model that can be computed by hand: the next token depends on the last one only."""

    def __init__(self, probabilities):
        super().__init__()
        size = len(probabilities)
        self.head = torch.nn.Linear(size, size, bias=False)
        self.head.weight = torch.nn.Parameter(torch.tensor(probabilities).log().T.contiguous())
        self.base_model = self.read

    def read(self, input_ids, **_):
        states = torch.nn.functional.one_hot(input_ids, self.head.in_features).float()
        return transformers.modeling_outputs.BaseModelOutputWithPast(last_hidden_state=states)

    def forward(self, input_ids, **_):
        return transformers.modeling_outputs.CausalLMOutput(logits=self.head(self.read(input_ids).last_hidden_state))

    def get_output_embeddings(self):
        return self.head


def test_scores_of_a_model_made_by_hand_are_the_numbers_on_paper():
    passes = Passes(Bigrams([[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.2, 0.3, 0.5]]), torch.device("cpu"))
    sequences = [((0, 1, 1, 0), 1), ((0, 1, 2), 2), ((0, 1, 1, 2, 2), 3)]
    by_hand = [[math.log(0.25), math.log(0.5), math.log(0.125)], [math.log(0.375)], [math.log(0.375), math.log(0.5)]]
    packed = dict(passes.rows(tries.pack(sequences, 16), sequences))
    for i, expected in enumerate(by_hand):
        assert passes.plain(*sequences[i]) == pytest.approx(expected, abs=1e-6)
        assert passes.padded(sequences)[i] == pytest.approx(expected, abs=1e-6)
        assert passes.padded(sequences, own_head=True)[i] == pytest.approx(expected, abs=1e-6)
        assert packed[i] == pytest.approx(expected, abs=1e-6)


def test_the_blocked_normaliser_is_exact_even_where_later_logits_are_far_larger(monkeypatch):
    monkeypatch.setattr("worldprobe.models.passes.BLOCK", 7)
    torch.manual_seed(0)
    states, weight, bias = torch.randn(5, 6), torch.randn(40, 6), torch.randn(40)
    expected = torch.logsumexp((states @ weight.T + bias).double(), -1)
    assert torch.allclose(normalisers(states, weight, bias).double(), expected, atol=1e-5)
    bias[30] = 500.0
    expected = torch.logsumexp((states @ weight.T + bias).double(), -1)
    assert torch.allclose(normalisers(states, weight, bias).double(), expected, atol=1e-3)


def test_what_is_cut_unknown_or_not_finite_is_flagged(tiny_checkpoint):
    engine = open_engine(str(tiny_checkpoint("gpt2", "byte_level")))
    long = " ".join(CONTEXTS * 60)
    scored = dict(engine.score([Query(long, TARGETS[0]), Query(CONTEXTS[0], TARGETS[0])]))
    assert scored[0].flags == ("truncated",)
    assert scored[0].n_tokens == scored[1].n_tokens
    with torch.no_grad():
        engine.model.transformer.ln_f.weight[0] = float("nan")
    broken = dict(engine.score([Query(CONTEXTS[0], TARGETS[0])]))[0]
    assert broken.logprob is None
    assert broken.flags == ("not_finite",)

    llama = transformers.AutoTokenizer.from_pretrained(tiny_checkpoint("llama", "sentencepiece"))
    llama.backend_tokenizer.model.byte_fallback = False
    [encoded] = Encoder(llama).encode([Query(CONTEXTS[0], "Ana drops the \u0416.")])
    assert "unknown_token" in encoded.flags


def test_a_tokenizer_without_character_offsets_is_refused():
    class Slow:
        is_fast = False

    with pytest.raises(UserError, match="character offsets"):
        Encoder(Slow())


def test_a_fast_path_that_would_give_other_numbers_is_not_used(tiny_checkpoint, monkeypatch):
    folder = tiny_checkpoint("llama", "sentencepiece")
    monkeypatch.setattr(tries.Row, "ancestors", lambda self, width: tries.np.tri(width, dtype=bool))
    engine = open_engine(str(folder))
    assert engine.mode == "batches"
    monkeypatch.setattr(Passes, "_project", lambda self, hidden, places: [0.0] * len(places))
    engine = open_engine(str(folder))
    assert engine.mode == "logits"
    found = dict(engine.score(QUERIES))
    assert [found[i].logprob for i in range(len(QUERIES))] == pytest.approx(reference_scores(folder, QUERIES), abs=1e-4)


def test_a_model_that_caps_its_logits_is_scored_by_its_own_logits(tiny_checkpoint, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_checkpoint("gemma", "sentencepiece"))
    tokenizer.save_pretrained(tmp_path)
    config = transformers.Gemma2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        final_logit_softcapping=2.0,
        initializer_range=0.3,
    )
    torch.manual_seed(1)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    engine = open_engine(str(tmp_path))
    assert engine.mode == "logits"
    found = dict(engine.score(QUERIES))
    assert [found[i].logprob for i in range(len(QUERIES))] == pytest.approx(reference_scores(tmp_path, QUERIES), abs=1e-4)


def test_out_of_memory_halves_the_batch_remembers_it_and_loses_nothing(tiny_checkpoint, monkeypatch):
    engine = open_engine(str(tiny_checkpoint()))
    monkeypatch.setattr("worldprobe.models.transformers_engine.ROW_WIDTH", (30, 30))
    expected = dict(engine.score(QUERIES))
    rows = engine.passes.rows

    def scarce(batch, sequences):
        if len(batch) > 1:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return rows(batch, sequences)

    monkeypatch.setattr(engine.passes, "rows", scarce)
    before = engine.budget.tokens
    found = dict(engine.score(QUERIES))
    assert engine.budget.tokens < before
    assert {i: s.logprob for i, s in found.items()} == pytest.approx({i: s.logprob for i, s in expected.items()}, abs=1e-4)
    monkeypatch.setattr(engine.passes, "rows", lambda batch, sequences: scarce([*batch, *batch], sequences))
    with pytest.raises(UserError, match="not enough for the longest text alone"):
        list(engine.score(QUERIES))


def test_probes_of_the_self_check_share_prefixes():
    sequences = selfcheck.probes(400, 512)
    nodes = sum(len(row.tokens) for row in tries.pack(sequences, 512))
    assert nodes < sum(len(ids) - 1 for ids, _ in sequences)
