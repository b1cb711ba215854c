"""Model folders and registries with one thing wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

#: File, change of its JSON (key -> value; None removes the key), and a word of the message.
CHANGED: list[tuple[str, dict[str, Any], str]] = [
    ("config.json", {"n_embd": "wide"}, "cannot be"),
    ("config.json", {"n_head": 3}, ""),
    ("config.json", {"n_layer": 2}, ""),
    ("config.json", {"vocab_size": 5}, ""),
    *(("config.json", {"model_type": value}, "") for value in ("gtp2", "bert")),
    ("config.json", {"n_embd": 16}, "shapes"),
    ("config.json", {"n_layer": 1_000_000_000}, "num_hidden_layers is 1000000000"),
    ("config.json", {"architectures": ["BertForMaskedLM"]}, "not a causal"),
    ("config.json", {"is_encoder_decoder": True}, "not a causal"),
    (
        "config.json",
        {"auto_map": {"AutoModelForCausalLM": "x.Y"}, "model_type": "own"},
        "Python code",
    ),
    ("tokenizer.json", {"model": {}}, "tokenizer"),
]
#: File and the whole of its new content; None removes it.
REPLACED: list[tuple[str, bytes | None, str]] = [
    *(
        (name, b"{", name)
        for name in (
            "config.json",
            "tokenizer.json",
            "tokenizer_config.json",
            "generation_config.json",
        )
    ),
    ("config.json", b"[]", "config.json"),
    ("model.safetensors.index.json", b'{"weight_map": {"a": "nowhere.safetensors"}}', "missing"),
    *(("model.safetensors", content, "cannot be loaded") for content in (b"", b"garbage")),
    ("config.json", None, "no config.json"),
    ("model.safetensors", None, "no weights"),
    ("tokenizer.json", None, "no tokenizer"),
]
NAMES = [
    "{folder}/nowhere",
    "./nowhere",
    "~/nowhere",
    "{out}",
    "a/b/c",
    "hub:",
    "a b",
    "''",
    "nobody/no-such-model",
    "{folder}",
]


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A GPT-2 of a few thousand weights in Hugging Face format."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("model")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=260, special_tokens=["<end>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(["the lamp is on"], trainer)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<end>", eos_token="<end>"
    ).save_pretrained(folder)
    size = tokenizer.get_vocab_size()
    config = GPT2Config(
        vocab_size=size,
        n_positions=256,
        n_embd=8,
        n_layer=1,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
    )
    torch.manual_seed(0)
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


@pytest.fixture
def model(whole: Path, tmp_path: Path) -> Path:
    """A copy to be changed."""
    return Path(shutil.copytree(whole, tmp_path / "model"))


def score(
    check: Callable[..., str], checkpoint: Path | str, words: str = "", options: str = ""
) -> str:
    return check(
        f"score logprobs {{items}} --checkpoint {{checkpoint}} {options} --out {{out}}",
        words,
        checkpoint=checkpoint,
    )


@pytest.mark.parametrize(("file", "change", "words"), CHANGED)
def test_a_changed_file_of_a_model_is_refused(
    check: Callable[..., str], model: Path, file: str, change: dict[str, Any], words: str
) -> None:
    document = json.loads((model / file).read_text(encoding="utf-8"))
    (model / file).write_text(json.dumps(document | change), encoding="utf-8")
    score(check, model, words)


@pytest.mark.parametrize(("file", "content", "words"), REPLACED)
def test_a_broken_or_missing_file_of_a_model_is_refused(
    check: Callable[..., str], model: Path, file: str, content: bytes | None, words: str
) -> None:
    if content is None:
        (model / file).unlink()
    else:
        (model / file).write_bytes(content)
    score(check, model, words)


def test_token_ids_without_an_embedding_are_refused(check: Callable[..., str], model: Path) -> None:
    document = json.loads((model / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = document["model"]["vocab"]
    document["model"]["vocab"] = {
        token: number + 3000 if number > 200 else number for token, number in vocabulary.items()
    }
    (model / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    score(check, model, "embeddings for")


def test_an_added_word_without_an_embedding_is_refused_and_an_added_special_token_is_not(
    check, model: Path
) -> None:
    document = json.loads((model / "tokenizer.json").read_text(encoding="utf-8"))
    token = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added, kept = (
        [
            token | {"id": 9000, "content": "the", "special": is_special}
            for is_special in (False, True)
        ],
        document,
    )
    for one, words in zip(added, ("embeddings for", ""), strict=True):
        changed = kept | {
            "added_tokens": [*kept["added_tokens"], one | ({} if words else {"content": "<pad>"})]
        }
        (model / "tokenizer.json").write_text(json.dumps(changed), encoding="utf-8")
        if words:
            score(check, model, words)
        else:
            check(
                "score logprobs {items} --checkpoint {checkpoint} --out {folder}/s.parquet",
                status=0,
                checkpoint=model,
            )


@pytest.mark.parametrize(("value", "options"), [(float("nan"), ""), (float("inf"), "--plain")])
def test_weights_that_are_not_numbers_are_refused(
    check: Callable[..., str], model: Path, value: float, options: str
) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(model / "model.safetensors")
    weights["transformer.ln_f.weight"][0] = value
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    score(check, model, "NaN", options)


def test_an_encoder_is_refused_also_where_its_configuration_hides_it(
    check: Callable[..., str], model: Path
) -> None:
    import torch
    from transformers import BertConfig, BertForMaskedLM

    size = {
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    torch.manual_seed(0)
    BertForMaskedLM(BertConfig(vocab_size=260, initializer_range=0.3, **size)).save_pretrained(
        model
    )
    score(check, model, "not a causal language model")
    document = json.loads((model / "config.json").read_text(encoding="utf-8")) | {
        "architectures": None
    }
    (model / "config.json").write_text(json.dumps(document), encoding="utf-8")
    score(check, model, "not a causal language model")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_no_model_is_refused(check: Callable[..., str], name: str) -> None:
    check(f"score logprobs {{items}} --checkpoint={name} --out {{out}}")
