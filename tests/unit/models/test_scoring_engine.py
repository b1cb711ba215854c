"""The transformers engine: right to the last token, whatever the architecture, the tokenizer,
the batch and the order.
"""

from __future__ import annotations

import math
import random

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tiny_models import ARCHITECTURES  # noqa: E402
from worldprobe.errors import UserError  # noqa: E402
from worldprobe.models import prefix_trie  # noqa: E402
from worldprobe.models.chat import Encoder  # noqa: E402
from worldprobe.models.engine import Decoding, Loglikelihood, Message  # noqa: E402
from worldprobe.models.forward import ForwardPasses, normalisers  # noqa: E402  # noqa: E402
from worldprobe.models.transformers_engine import open_engine  # noqa: E402

KINDS = ("byte_level", "sentencepiece")
CONTEXTS = [
    "Ana lifts the heavy crate near the door.",
    "Ana lifts the light crate.",
    "Ben hides the lamp under a tree. It is blue.",
]
TARGETS = [
    "Ana drops the crate.",
    "Ana is not tired at all.",
    "Ben paints the lamp in 1 of 5 rooms.",
]
QUERIES = [Loglikelihood(c, t) for c in (*CONTEXTS, "", None) for t in TARGETS]


def reference_scores(folder, queries, **how):
    """One sequence at a time, by transformers alone, the target found by the length of the
    tokens before it.
    """
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **how)
    scores = []
    for query in queries:
        if not query.context:
            ids = tokenizer(query.text)["input_ids"]
            ids, start = (
                (ids, 1)
                if ids[0] == tokenizer.bos_token_id
                else ([tokenizer.bos_token_id, *ids], 1)
            )
        else:
            ids = tokenizer(query.text)["input_ids"]
            start = len(tokenizer(query.context)["input_ids"])
        with torch.no_grad():
            logprobs = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
        scores.append(sum(logprobs[i - 1, ids[i]].item() for i in range(start, len(ids))))
    return scores


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_architecture_scores_as_one_sequence_at_a_time_does(
    tiny_checkpoint, architecture, kind
):
    folder = tiny_checkpoint(architecture, kind)
    engine = open_engine(str(folder))
    found = dict(engine.score(QUERIES))
    assert [found[i].logprob for i in range(len(QUERIES))] == pytest.approx(
        reference_scores(folder, QUERIES), abs=1e-4
    )
    assert engine.mode == ("batches" if architecture in ("mpt", "falcon_alibi") else "tries")
    assert engine.can_cache


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("bfloat16", 0.5)])
@pytest.mark.parametrize("fastest", ["tries", "batches", "logits"])
def test_scores_do_not_depend_on_batch_or_order(tiny_checkpoint, dtype, tolerance, fastest):
    engine = open_engine(
        str(tiny_checkpoint("llama", "sentencepiece")), dtype=dtype, fastest=fastest
    )
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
def test_a_sequence_has_exactly_one_start_token_where_the_tokenizer_adds_one_and_none_elsewhere(
    tiny_checkpoint, kind, starts
):
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_checkpoint("llama", kind))
    encoder = Encoder(tokenizer)
    [inside, bare] = encoder.encode(
        [Loglikelihood(CONTEXTS[0], TARGETS[0]), Loglikelihood("", TARGETS[0])]
    )
    [(prompt, _)] = encoder.encode_prompts(["Say a number.\n"], 4)
    assert (
        inside.ids.count(tokenizer.bos_token_id) == prompt.count(tokenizer.bos_token_id) == starts
    )
    assert bare.ids.count(tokenizer.bos_token_id) == 1
    assert bare.start == 1
    assert bare.ids[1:] == inside.ids[inside.start :], (
        "the bare target is the same tokens as behind a context"
    )
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


def test_without_a_start_token_the_first_token_of_a_bare_target_is_unscored_and_flagged(
    tiny_checkpoint,
):
    engine = open_engine(str(tiny_checkpoint()))
    with_start = dict(engine.score([Loglikelihood(None, TARGETS[0])]))[0]
    engine.encoder.bare_prefix = ()
    without = dict(engine.score([Loglikelihood(None, TARGETS[0])]))[0]
    assert without.flags == ("first_unscored",)
    assert without.n_tokens == with_start.n_tokens - 1


def test_a_token_across_the_border_is_counted_to_the_target_and_flagged(tiny_checkpoint):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    crossing = Tokenizer(models.BPE())
    crossing.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    crossing.train_from_iterator(
        ["up. Dn up. Dn up. Dn a b"] * 3, trainers.BpeTrainer(vocab_size=60, show_progress=False)
    )
    crossing.add_special_tokens(["<s>"])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=crossing, bos_token="<s>")
    [encoded] = Encoder(tokenizer, bos="always").encode([Loglikelihood("a up.", "Dn b")])
    pieces = tokenizer.convert_ids_to_tokens(list(encoded.ids))
    border = pieces[encoded.start]
    assert "." in border
    assert "D" in border, f"the tokenizer should have learned a token across the border: {pieces}"
    assert encoded.flags == ("straddle",)
    [clean] = Encoder(tokenizer, bos="always").encode([Loglikelihood("b", "a")])
    assert clean.flags == ()


def test_context_and_target_together_make_the_whole_sequence(tiny_checkpoint):
    """Chain rule: log P(context) + log P(target | context) = log P(context + target), to the
    last token.
    """
    engine = open_engine(str(tiny_checkpoint("llama", "sentencepiece")))
    context, target = CONTEXTS[0], TARGETS[1]
    found = dict(
        engine.score(
            [
                Loglikelihood(None, context),
                Loglikelihood(context, target),
                Loglikelihood(None, f"{context} {target}"),
            ],
            per_token=True,
        )
    )
    assert found[0].logprob + found[1].logprob == pytest.approx(found[2].logprob, abs=1e-4)
    assert found[0].n_tokens + found[1].n_tokens == found[2].n_tokens
    assert found[0].tokens + found[1].tokens == found[2].tokens
    assert math.fsum(found[1].token_logprobs) == pytest.approx(found[1].logprob, abs=1e-9)
    n_start = found[0].n_read_tokens - found[0].n_tokens
    assert found[1].n_read_tokens == found[2].n_read_tokens == n_start + found[2].n_tokens


class Bigrams(torch.nn.Module):
    """A language model that can be computed by hand: the next token depends on the last one
    only.
    """

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
        return transformers.modeling_outputs.CausalLMOutput(
            logits=self.head(self.read(input_ids).last_hidden_state)
        )

    def get_output_embeddings(self):
        return self.head


def test_scores_of_a_model_made_by_hand_are_the_numbers_on_paper():
    passes = ForwardPasses(
        Bigrams([[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.2, 0.3, 0.5]]), torch.device("cpu")
    )
    sequences = [((0, 1, 1, 0), 1), ((0, 1, 2), 2), ((0, 1, 1, 2, 2), 3)]
    by_hand = [
        [math.log(0.25), math.log(0.5), math.log(0.125)],
        [math.log(0.375)],
        [math.log(0.375), math.log(0.5)],
    ]
    packed = dict(passes.rows(prefix_trie.pack_sequences(sequences, 16), sequences))
    for i, expected in enumerate(by_hand):
        assert passes.plain(*sequences[i]) == pytest.approx(expected, abs=1e-6)
        assert passes.padded(sequences)[i] == pytest.approx(expected, abs=1e-6)
        assert passes.padded(sequences, own_head=True)[i] == pytest.approx(expected, abs=1e-6)
        assert packed[i] == pytest.approx(expected, abs=1e-6)


def test_the_blocked_normaliser_is_exact_even_where_later_logits_are_far_larger(monkeypatch):
    monkeypatch.setattr("worldprobe.models.forward.BLOCK", 7)
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
    scored = dict(
        engine.score([Loglikelihood(long, TARGETS[0]), Loglikelihood(CONTEXTS[0], TARGETS[0])])
    )
    assert scored[0].flags == ("truncated",)
    assert scored[0].n_tokens == scored[1].n_tokens
    with torch.no_grad():
        engine.model.transformer.ln_f.weight[0] = float("nan")
    broken = dict(engine.score([Loglikelihood(CONTEXTS[0], TARGETS[0])]))[0]
    assert broken.logprob is None
    assert broken.flags == ("not_finite",)

    llama = transformers.AutoTokenizer.from_pretrained(tiny_checkpoint("llama", "sentencepiece"))
    llama.backend_tokenizer.model.byte_fallback = False
    [encoded] = Encoder(llama).encode([Loglikelihood(CONTEXTS[0], "Ana drops the \u0416.")])
    assert "unknown_token" in encoded.flags


@pytest.mark.parametrize(
    ("context", "target"),
    [("A bird", "sings {} now."), ("{}A bird", "sings."), ("A {} bird", "sings."), (None, "{}A")],
)
def test_a_text_that_spells_a_special_token_is_flagged(tiny_checkpoint, context, target):
    """tokenizers #1850, #1347: read as a control token, without a word."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_checkpoint("gpt2", "byte_level"))
    encoder = Encoder(tokenizer)

    def flags(spelled):
        texts = (text and text.replace("{}", spelled) for text in (context, target))
        [encoded] = encoder.encode([Loglikelihood(*texts)])
        return encoded.flags

    assert "special_token" in flags(tokenizer.eos_token)
    assert "special_token" not in flags("s")


def test_a_fast_path_that_would_give_other_numbers_is_not_used(tiny_checkpoint, monkeypatch):
    folder = tiny_checkpoint("llama", "sentencepiece")
    monkeypatch.setattr(
        prefix_trie.PackedRow,
        "ancestors",
        lambda self, width: prefix_trie.np.tri(width, dtype=bool),
    )
    engine = open_engine(str(folder))
    assert engine.mode == "batches"
    monkeypatch.setattr(ForwardPasses, "project", lambda self, hidden, places: [0.0] * len(places))
    engine = open_engine(str(folder))
    assert engine.mode == "logits"
    found = dict(engine.score(QUERIES))
    assert [found[i].logprob for i in range(len(QUERIES))] == pytest.approx(
        reference_scores(folder, QUERIES), abs=1e-4
    )


def test_a_model_that_caps_its_logits_is_scored_by_its_own_logits(tiny_checkpoint, tmp_path):
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        tiny_checkpoint("gemma", "sentencepiece")
    )
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
    expected = reference_scores(tmp_path, QUERIES, attn_implementation="eager")
    assert [found[i].logprob for i in range(len(QUERIES))] == pytest.approx(expected, abs=1e-4)


def saved(folder, tokenizer, config):
    """A checkpoint of a family that the fixtures lack; its scores depend strongly on the
    context.
    """
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() > 1 and "norm" not in name:
                weight.mul_(4)
    model.save_pretrained(folder)
    return str(folder)


SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
}


def gemma2(vocabulary, cap):
    capped = {
        "head_dim": 8,
        "sliding_window": 512,
        "query_pre_attn_scalar": 8,
        "attn_logit_softcapping": cap,
    }
    return transformers.Gemma2Config(vocab_size=vocabulary, **SMALL, **capped)


def test_a_cap_on_attention_scores_is_kept_and_the_attention_is_part_of_the_identity(
    tiny_tokenizer, tmp_path
):
    tokenizer = tiny_tokenizer("byte_level")
    capped = saved(tmp_path / "capped", tokenizer, gemma2(len(tokenizer), 1.0))
    engine = open_engine(capped)
    found = dict(engine.score(QUERIES[:9]))
    expected, uncapped = (
        reference_scores(capped, QUERIES[:9], attn_implementation=how) for how in ("eager", "sdpa")
    )
    assert max(abs(a - b) for a, b in zip(expected, uncapped, strict=True)) > 0.01
    assert [found[i].logprob for i in range(9)] == pytest.approx(expected, abs=1e-4)
    assert engine.facts.identity()["attention"] == engine.facts.process()["attention"] == "eager"
    other = open_engine(saved(tmp_path / "other", tokenizer, gemma2(len(tokenizer), None)))
    assert other.facts.identity()["attention"] == "sdpa"


def test_factors_of_rotary_positions_do_not_depend_on_the_batch(tiny_tokenizer, tmp_path):
    tokenizer = tiny_tokenizer("byte_level")
    rope = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "short_factor": [1.0] * 4,
        "long_factor": [3.0, 4.0, 5.0, 6.0],
    }
    rope |= {"original_max_position_embeddings": 40, "partial_rotary_factor": 1.0}
    long = {"original_max_position_embeddings": 40, "rope_parameters": rope, "pad_token_id": 0}
    folder = saved(
        tmp_path, tokenizer, transformers.Phi3Config(vocab_size=len(tokenizer), **SMALL, **long)
    )
    engine = open_engine(folder)
    queries = [
        Loglikelihood("Ana lifts", "the crate."),
        Loglikelihood(" ".join(CONTEXTS * 3), "Ben."),
    ]
    alone, together = dict(engine.score(queries[:1]))[0], dict(engine.score(queries))
    assert together[0].logprob == pytest.approx(alone.logprob, abs=1e-4)
    assert alone.logprob == pytest.approx(reference_scores(folder, queries[:1])[0], abs=1e-4)
    assert (engine.facts.max_length, together[1].flags) == (40, ("truncated",))


def families(vocabulary):
    """Families whose states flow on along a packed row, or whose positions are columns of it."""
    t = transformers
    return {
        "mpt": t.MptConfig(
            d_model=32, n_heads=4, n_layers=3, vocab_size=vocabulary, max_seq_len=512
        ),
        "lfm2": t.Lfm2Config(**SMALL, vocab_size=vocabulary, full_attn_idxs=[1, 3]),
        "llama": t.LlamaConfig(**SMALL, vocab_size=vocabulary),
    }


@pytest.mark.parametrize(
    ("family", "mode"), [("mpt", "batches"), ("lfm2", "batches"), ("llama", "tries")]
)
def test_half_precision_takes_no_pass_that_float32_shows_to_be_wrong(
    tiny_tokenizer, tmp_path, family, mode
):
    tokenizer = tiny_tokenizer("byte_level")
    folder = saved(tmp_path, tokenizer, families(len(tokenizer))[family])
    exact, fast, plain = (
        open_engine(folder),
        open_engine(folder, "bfloat16"),
        open_engine(folder, "bfloat16", fastest="plain"),
    )
    assert (exact.mode, fast.mode) == (mode, mode)
    assert (exact.can_cache, exact.can_pad, exact.can_read_tries) == (
        fast.can_cache,
        fast.can_pad,
        fast.can_read_tries,
    )
    found = [
        [one.logprob for _, one in sorted(engine.score(QUERIES))] for engine in (exact, fast, plain)
    ]
    errors = [max(abs(a - b) for a, b in zip(found[0], half, strict=True)) for half in found[1:]]
    assert errors[0] < 2 * errors[1]


#: What PyTorch, the system and a GPU's libraries raise where memory lacks.
NO_MEMORY = (
    torch.cuda.OutOfMemoryError("CUDA out of memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("CUDA error: out of memory"),
    RuntimeError("unable to mmap 12 bytes from file <model.bin>: Cannot allocate memory (12)"),
    RuntimeError("std::bad_alloc"),
    MemoryError(),
)


@pytest.mark.parametrize("error", NO_MEMORY)
def test_out_of_memory_halves_the_batch_remembers_it_and_loses_nothing(
    tiny_checkpoint, monkeypatch, error
):
    engine = open_engine(str(tiny_checkpoint()))
    monkeypatch.setattr("worldprobe.models.transformers_engine.ROW_WIDTH", (30, 30))
    expected = dict(engine.score(QUERIES))
    rows = engine.passes.rows

    def scarce(batch, sequences):
        if len(batch) > 1:
            raise error
        return rows(batch, sequences)

    monkeypatch.setattr(engine.passes, "rows", scarce)
    before = engine.budget.tokens
    found = dict(engine.score(QUERIES))
    assert engine.budget.tokens < before
    assert {i: s.logprob for i, s in found.items()} == pytest.approx(
        {i: s.logprob for i, s in expected.items()}, abs=1e-4
    )
    monkeypatch.setattr(
        engine.passes, "rows", lambda batch, sequences: scarce([*batch, *batch], sequences)
    )
    with pytest.raises(UserError, match="cannot fit even the longest text"):
        list(engine.score(QUERIES))


def broken(tiny_checkpoint, tmp_path, value):
    """A checkpoint whose final norm contains a value that is not finite."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_checkpoint())
    model = transformers.AutoModelForCausalLM.from_pretrained(tiny_checkpoint())
    with torch.no_grad():
        model.transformer.ln_f.weight[0] = value
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return str(tmp_path)


def test_answers_without_numbers_are_marked_in_every_way_of_asking(tiny_checkpoint):
    engine = open_engine(str(tiny_checkpoint()))
    with torch.no_grad():
        engine.model.transformer.ln_f.weight[0] = float("nan")
    prompts = ["Ana lifts\n", "Ben hides the rug\n"]
    for found in (
        engine.choose(prompts, [("1", "2")] * 2),
        engine.generate(prompts, Decoding(5)),
        engine.generate(prompts, DRAWN),
    ):
        written = dict(found)
        assert [written[i].finish for i in range(2)] == ["not_finite"] * 2
        assert {w.text for w in written.values()} == {""}
        assert {w.margin for w in written.values()} == {None}


WRITTEN_PROMPTS = [
    f"Ana paints the heavy lamp near the door. {end}\n"
    for end in ("Ben", "Cora drops the kettle under a tree", "Is")
]
DRAWN = Decoding(12, temperature=1.5, seed=4)


def greedy(folder, prompt, count):
    """Tokens that transformers alone writes after one prompt."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    inputs = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
    out = model.generate(**inputs, max_new_tokens=count, do_sample=False, pad_token_id=0)[0]
    return tokenizer, out[inputs["input_ids"].shape[1] :].tolist()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_prompts_of_unequal_length_are_continued_together_as_each_is_alone(
    tiny_checkpoint, architecture, kind
):
    folder = tiny_checkpoint(architecture, kind)
    engine = open_engine(str(folder))
    assert engine.can_pad or architecture in ("mpt", "falcon_alibi")
    sizes = []
    next_all = engine.passes.next_all
    engine.passes.next_all = lambda step, *rest: sizes.append(len(step)) or next_all(step, *rest)
    found = dict(engine.generate(WRITTEN_PROMPTS, Decoding(10)))
    for i, prompt in enumerate(WRITTEN_PROMPTS):
        tokenizer, expected = greedy(folder, prompt, 10)
        assert found[i].text.strip() == tokenizer.decode(expected, skip_special_tokens=True).strip()
        assert (found[i].finish, found[i].n_tokens) == (
            ("end", len(expected) - 1) if len(expected) < 10 else ("length", 10)
        )
    assert max(sizes) == (3 if engine.can_pad else 1), (
        "three lengths: one batch where padding was found right"
    )


def test_a_stop_an_end_and_the_limit_are_told_apart(tiny_checkpoint):
    folder = tiny_checkpoint()
    engine = open_engine(str(folder))
    tokenizer, tokens = greedy(folder, WRITTEN_PROMPTS[0], 10)
    piece = tokenizer.decode(tokens[3:5])
    (stopped,) = dict(engine.generate(WRITTEN_PROMPTS[:1], Decoding(10, (piece, "never")))).values()
    assert stopped.finish == "stop"
    assert piece not in stopped.text
    assert stopped.n_tokens < 10
    object.__setattr__(engine.facts, "ends", (tokens[4],))
    (ended,) = dict(engine.generate(WRITTEN_PROMPTS[:1], Decoding(10))).values()
    assert (ended.finish, ended.n_tokens) == ("end", tokens.index(tokens[4]))


@pytest.fixture
def chatty(tiny_checkpoint, tmp_path):
    """A model that soon writes <|im_end|>, which its template ends messages with, and its
    configuration does not name.
    """
    tokenizer, tokens = greedy(tiny_checkpoint(), WRITTEN_PROMPTS[0], 10)
    model = transformers.AutoModelForCausalLM.from_pretrained(tiny_checkpoint())
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_end|>"]})
    model.resize_token_embeddings(len(tokenizer))
    with torch.no_grad():
        rows = model.get_output_embeddings().weight
        rows[-1] = 1.5 * rows[tokens[4]]
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m.role }}: {{ m.content }}<|im_end|>\n{% endfor %}"
    )
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return tmp_path


def test_a_reply_ends_where_the_chat_template_ends_a_message(chatty):
    """LlamaFactory #7454, lighteval #867, llama-cookbook #640."""
    (reply,) = dict(open_engine(str(chatty)).generate(WRITTEN_PROMPTS[:1], Decoding(10))).values()
    assert (reply.finish, reply.n_dropped) == ("end", 0)


def test_drawn_answers_depend_on_seed_and_prompt_and_not_on_company(tiny_checkpoint):
    engine = open_engine(str(tiny_checkpoint("llama", "sentencepiece")))
    together = dict(engine.generate(WRITTEN_PROMPTS, DRAWN))
    alone = [next(iter(engine.generate([prompt], DRAWN)))[1] for prompt in WRITTEN_PROMPTS]
    assert [together[i].text for i in range(3)] == [w.text for w in alone]
    other = dict(engine.generate(WRITTEN_PROMPTS, Decoding(12, temperature=1.5, seed=5)))
    assert [other[i].text for i in range(3)] != [w.text for w in alone]


def test_conversations_go_through_the_chat_template(tiny_checkpoint):
    engine = open_engine(str(tiny_checkpoint()))
    conversation = (
        Message("system", "Be brief."),
        Message("user", "Who?"),
        Message("assistant", "Ana."),
        Message("user", "Sure?"),
    )
    with pytest.raises(UserError, match="no chat template"):
        list(engine.generate([conversation], Decoding(3)))
    engine.encoder.tokenizer.chat_template = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}<assistant>"
    )
    text = "<system>Be brief.\n<user>Who?\n<assistant>Ana.\n<user>Sure?\n<assistant>"
    assert engine.rendered(conversation) == text
    ways = [list(engine.generate([prompt], Decoding(6))) for prompt in (conversation, text)]
    assert ways[0] == ways[1]
    options = [("1", "2")]
    assert list(engine.choose([conversation], options)) == list(engine.choose([text], options))
    engine.encoder.tokenizer.chat_template += "<think>\n{# </think> #}"
    closed = f"{text}<think>\n\n</think>\n\n"
    assert list(engine.choose([conversation], options)) == list(engine.choose([closed], options))


def test_plain_never_shares_answers_with_the_fast_path_and_foreign_code_or_other_ends_are_apart(
    tiny_checkpoint,
):
    import dataclasses

    folder = str(tiny_checkpoint())
    fast, plain = open_engine(folder).facts, open_engine(folder, fastest="plain").facts
    assert fast.identity() != plain.identity()
    for change in (
        {"trust_remote_code": True},
        {"ends": (1,)},
        {"notes": {**fast.notes, "device": "another"}},
    ):
        assert dataclasses.replace(fast, **change).identity() != fast.identity()


def test_a_log_probability_clearly_above_zero_is_flagged_and_an_empty_target_scores_nothing():
    from worldprobe.models.answers import add_up

    assert add_up([-1.0, 1e-6], (), None, 0).logprob == -1.0
    assert (add_up([-1.0, 0.5], (), None, 0).logprob, add_up([-1.0, 0.5], (), None, 0).flags) == (
        None,
        ("positive",),
    )
    assert add_up([], (), None, 0).flags == ("nothing_scored",)


@pytest.mark.parametrize("kind", ["byte_level", "sentencepiece"])
def test_special_tokens_that_mark_thoughts_survive_and_a_stop_within_thoughts_ends_nothing(
    tiny_checkpoint, kind
):
    from worldprobe.models.answers import Transcript
    from worldprobe.models.reasoning import split_thoughts

    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_checkpoint("llama", kind))
    marks = ["[THINK]", "[/THINK]", "<|channel|>", "<|message|>", "<|end|>", "<|start|>"]
    tokenizer.add_tokens(
        [transformers.AddedToken(mark, special=True, normalized=False) for mark in marks]
    )
    prompt = tokenizer("Say:\n")["input_ids"]
    mistral = "[THINK]from 1 to 5\n\nor 2[/THINK]\n\n4\n\nBen"
    harmony = (
        "<|channel|>analysis<|message|>from 1 to 5\n\nor"
        " 2<|end|><|start|>assistant<|channel|>final<|message|>4\n\nBen"
    )
    for text in (mistral, harmony):
        new = tokenizer(text, add_special_tokens=False)["input_ids"]
        transcript = Transcript(tokenizer, prompt, ("\n\n",))
        ends = [place for place, token in enumerate(new) if transcript.add(token)]
        thoughts, reply = split_thoughts(transcript.text())
        assert (reply.strip(), "or 2" in thoughts) == ("4", True)
        assert ends
        assert "Ben" not in tokenizer.decode(new[: ends[0]]), (
            "the stop behind the reply ends it, and none before"
        )
    opened = tokenizer("Say:\n[THINK]", add_special_tokens=False)["input_ids"]
    transcript = Transcript(tokenizer, opened, ("\n\n",))
    assert not any(
        transcript.add(token)
        for token in tokenizer("1\n\n2", add_special_tokens=False)["input_ids"]
    )


@pytest.fixture
def beyond(tiny_checkpoint, tmp_path):
    """A folder whose tokenizer has two tokens more than the model has embeddings."""
    folder = tmp_path / "beyond"
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_checkpoint())
    transformers.AutoModelForCausalLM.from_pretrained(tiny_checkpoint()).save_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.save_pretrained(folder)
    return folder


def test_special_tokens_without_an_embedding_are_refused_only_where_they_are_used(beyond):
    """huggingface/transformers #11102, #12763."""
    engine = open_engine(str(beyond))
    assert dict(engine.score(QUERIES[:1]))[0].flags == ()
    engine.encoder.tokenizer.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m.content }}\n{% endfor %}"
    )
    for ask in (
        lambda: engine.generate([(Message("user", "Who?"),)], Decoding(3)),
        lambda: engine.choose([(Message("user", "Who?"),)], [("1", "2")]),
        lambda: engine.score([Loglikelihood("Ana", "<|im_end|>")]),
    ):
        with pytest.raises(UserError, match=r"<\|im_(start|end)\|>"):
            list(ask())
    object.__setattr__(
        engine.facts, "ends", (engine.encoder.tokenizer.convert_tokens_to_ids("<|im_end|>"),)
    )
    with pytest.raises(UserError, match=r"<\|im_end\|>"):
        list(engine.generate(["Who?"], Decoding(3)))
