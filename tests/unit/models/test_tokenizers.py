"""The tokenizer is what the checkpoint's tokenizer.json describes, also where transformers
builds another from its class.
"""

from __future__ import annotations

import json
import logging
import shutil

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tokenizers import (  # noqa: E402
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from worldprobe.errors import UserError  # noqa: E402
from worldprobe.models import tokenizers as own_tokenizers  # noqa: E402
from worldprobe.models.engine import Loglikelihood, Message  # noqa: E402
from worldprobe.models.server.capabilities import load_encoder  # noqa: E402
from worldprobe.models.transformers_engine import open_engine  # noqa: E402

TEXTS = [
    f"Ana lifts {n} heavy crates near the door. Ben doesn't, in {1990 + n}." for n in range(40)
]
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
}
PROBES = (
    "Ana sees 31 cats, and 2024 dogs.",
    "The Crate is left of Ali.",
    "naïve café",
    "a\n\nb  c",
    "e\u0301 \U0001f642 日本",
)


def byte_level(*before):
    tokenizer = Tokenizer(models.BPE())
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = cut
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        TEXTS,
        trainers.BpeTrainer(
            vocab_size=420,
            special_tokens=["<|end|>"],
            initial_alphabet=alphabet,
            show_progress=False,
        ),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*before, cut])
    return tokenizer, {"bos_token": "<|end|>", "eos_token": "<|end|>"}


def cased_wordpiece():
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        TEXTS,
        trainers.WordPieceTrainer(vocab_size=200, special_tokens=special, show_progress=False),
    )
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=ends
    )
    return tokenizer, {
        f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")
    }


#: What is wrong with it -> model, tokenizer, the class that its tokenizer_config.json names.
HURT = {
    "llama_byte_level": ("LlamaConfig", byte_level, "LlamaTokenizerFast"),
    "qwen2_its_own": ("Qwen2Config", byte_level, "PreTrainedTokenizerFast"),
    "digits": (
        "LlamaConfig",
        lambda: byte_level(pre_tokenizers.Digits(individual_digits=True)),
        "GPT2Tokenizer",
    ),
    "bert_cased": ("BertConfig", cased_wordpiece, "BertTokenizer"),
}


def save(folder, case):
    config, make, named = HURT[case]
    tokenizer, special = make()
    size = {
        "vocab_size": tokenizer.get_vocab_size(),
        "bos_token_id": 0,
        "eos_token_id": 0,
        "pad_token_id": 0,
    }
    if case != "bert_cased":
        size["num_key_value_heads"] = 2
    loader = (
        transformers.AutoModelForMaskedLM
        if case == "bert_cased"
        else transformers.AutoModelForCausalLM
    )
    torch.manual_seed(0)
    loader.from_config(getattr(transformers, config)(**SIZES, **size)).save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": named, **special}))
    return folder


@pytest.mark.parametrize("case", HURT)
def test_texts_are_cut_as_the_checkpoints_file_says_and_that_is_told(tmp_path, caplog, case):
    folder = save(tmp_path, case)
    file = Tokenizer.from_file(str(folder / "tokenizer.json"))
    by_class = transformers.AutoTokenizer.from_pretrained(folder)
    assert any(
        by_class(text)["input_ids"] != file.encode(text).ids for text in PROBES
    )  # the case is one
    with caplog.at_level(logging.WARNING):
        engine = open_engine(str(folder), kind="masked" if case == "bert_cased" else "causal")
    tokenizer = engine.encoder.tokenizer
    for text in PROBES:
        assert tokenizer(text)["input_ids"] == file.encode(text).ids
        assert tokenizer.decode(file.encode(text).ids) == file.decode(
            file.encode(text).ids, skip_special_tokens=False
        )
    assert "the file's tokenizer is used" in caplog.text
    assert engine.facts.process()["tokenizer"].startswith("tokenizer.json, not transformers'")
    assert {getattr(tokenizer, key) for key in ("eos_token", "sep_token")} & {"<|end|>", "[SEP]"}


def test_scores_and_prompts_are_of_the_files_tokens_by_folder_by_hub_name_and_for_a_server(
    tmp_path, monkeypatch
):
    hub = tmp_path / "hub"
    name, commit = "deepseek-ai/deepseek-coder-1.3b-base", "a" * 40
    place = hub / f"models--{name.replace('/', '--')}"
    snapshot = place / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(commit)
    save(snapshot, "llama_byte_level")
    (snapshot / "chat_template.jinja").write_text(
        "{% for m in messages %}{{ m.content }}{% endfor %}"
    )
    folder = shutil.copytree(snapshot, tmp_path / "folder")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub))
    monkeypatch.setattr("transformers.utils.hub.constants.HF_HUB_CACHE", str(hub))
    file = Tokenizer.from_file(str(folder / "tokenizer.json"))
    query = Loglikelihood("Ana lifts 31 crates.", "Ben doesn't in 2024.")
    ids = file.encode(f"{query.context} {query.target}").ids
    start = len(file.encode(query.context).ids)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        logprobs = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
    expected = sum(logprobs[i - 1, ids[i]].item() for i in range(start, len(ids)))
    for checkpoint in (str(folder), f"hub:{name}"):
        engine = open_engine(checkpoint)
        score = dict(engine.score([query]))[0]
        assert (score.flags, score.n_tokens) == ((), len(ids) - start)
        assert score.logprob == pytest.approx(expected, abs=1e-4)
        for prompt in (TEXTS[0], (Message("user", TEXTS[0]),)):
            assert engine.encoder.encode_prompts([prompt], 1)[0][0] == tuple(
                file.encode(TEXTS[0]).ids
            )
    for tokenizer in (str(folder), name):
        assert load_encoder(tokenizer, "auto", False, 64).count(TEXTS[0]) == len(
            file.encode(TEXTS[0]).ids
        )


@pytest.mark.parametrize(
    ("states", "starts"),
    [({"add_bos_token": True}, (0,)), ({"add_bos_token": False}, ()), ({}, ())],
)
def test_a_start_token_that_only_the_configuration_states_is_put_before_texts_and_once(
    tmp_path, states, starts
):
    folder = save(tmp_path, "llama_byte_level")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(settings | states))
    (folder / "chat_template.jinja").write_text(
        "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"
    )
    encoder = open_engine(str(folder)).encoder
    query, file = (
        Loglikelihood("Ana lifts 31 crates.", "Ben doesn't."),
        Tokenizer.from_file(str(folder / "tokenizer.json")),
    )
    assert encoder.encode([query])[0].ids == (
        *starts,
        *file.encode("Ana lifts 31 crates. Ben doesn't.").ids,
    )
    conversation = encoder.encode_prompts([(Message("user", TEXTS[0]),)], 1)[0][0]
    assert conversation == (0, *file.encode(TEXTS[0]).ids)
    assert encoder.convention()["before_text"] == (["<|end|>"] if starts else [])


@pytest.fixture(scope="module")
def sentencepiece_model(tmp_path_factory):
    """A function: kind of model, normalization -> a file that SentencePiece wrote."""
    trainer = pytest.importorskip("sentencepiece").SentencePieceTrainer
    folder = tmp_path_factory.mktemp("sentencepiece")
    (folder / "texts").write_text("\n".join(TEXTS))

    def train(kind, normalization):
        trainer.train(
            input=str(folder / "texts"),
            model_prefix=str(folder / f"{kind}_{normalization}"),
            model_type=kind,
            normalization_rule_name=normalization,
            remove_extra_whitespaces=normalization != "identity",
            vocab_size=400,
            byte_fallback=True,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        return folder / f"{kind}_{normalization}.model"

    return train


@pytest.mark.parametrize("file", ["tokenizer.model", "spiece.model", "mine.model"])
@pytest.mark.parametrize(
    ("kind", "normalization", "named"),
    [
        ("unigram", "identity", "LlamaTokenizer"),
        ("bpe", "nmt_nfkc", "LlamaTokenizer"),
        ("bpe", "identity", None),
    ],
)
def test_a_sentencepiece_model_that_transformers_reads_otherwise_is_refused(
    tmp_path, sentencepiece_model, file, kind, normalization, named
):
    """huggingface/transformers #25611, #29774, #24569."""
    for name in {file, "tokenizer.model"}:
        shutil.copy(sentencepiece_model(kind, normalization), tmp_path / name)
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": named} if named else {})
    )
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    with pytest.raises(UserError, match=r"(tokenizer|mine|spiece)\.model") as refused:
        own_tokenizers.open_tokenizer(str(tmp_path), "mine")
    assert "not certain" in str(refused.value)


def test_a_cased_vocabulary_of_which_the_class_takes_small_letters_only_is_refused(tmp_path):
    """As in huggingface/transformers #25611, nothing compared the vocabulary with what the
    class makes of it.
    """
    tokenizer = cased_wordpiece()[0]
    (tmp_path / "vocab.txt").write_text(
        "\n".join(sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)) + "\n"
    )
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(UserError, match="do_lower_case"):
        own_tokenizers.open_tokenizer(str(tmp_path), "mine")
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": False})
    )
    assert (
        own_tokenizers.open_tokenizer(str(tmp_path), "mine").tokenize("Ana")
        == tokenizer.encode("Ana", add_special_tokens=False).tokens
    )
