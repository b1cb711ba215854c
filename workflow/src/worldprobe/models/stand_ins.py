"""Stand-ins for models in a rehearsal: tiny, of the models' own architectures, with random weights.

They are made here, without a network. What they answer means nothing; their tokenizer learns from
the prompts, and what the prompts ask for is likelier than other tokens, so that answers are read in
every way: right, wrong, several at once, none.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from inspect import getattr_static
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe.engines import CAUSAL, ENCODER_DECODER, KINDS, MASKED
from worldprobe.errors import UserError, did_you_mean
from worldprobe.paths import RESOURCES
from worldprobe.provenance import is_rehearsed, made

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerFast

#: Architectures whose tokenizers are of SentencePiece's kind and put a start token before a text;
#: those of the others split into bytes and put none.
WITH_START = frozenset({"gemma", "gemma3_text", "llama", "mistral", "mixtral"})
#: What prompts ask for, as one token each where the tokenizer has it.
ANSWERS = frozenset(["1", "2", "3", "4", "5", "TRUE", "FALSE", "POSSIBLE", "IMPOSSIBLE"])
#: Says in a model's folder what made it.
PROVENANCE = "provenance.json"
#: Says in what is known of a server that it stands in for another.
STAND_IN = "stand_in"
#: How much larger the output weights of these tokens, and of the end, are.
BOOST = 6.0
VOCABULARY = 2000
#: Standard names of a configuration's sizes (a configuration maps them to its own), and those that
#: only some have.
SIZES = {
    **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    **{"num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 64, "d_ff": 64},
    **{"max_position_embeddings": 16_384, "max_seq_len": 16_384, "n_positions": 16_384},
    **{"encoder_layers": 2, "decoder_layers": 2, "num_layers": 2, "num_decoder_layers": 2},
    **{"num_local_experts": 4, "initializer_range": 0.3},
}
#: Messages in a row, and who speaks next.
CHAT_TEMPLATE = (
    "{% for message in messages %}<{{ message.role }}> {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant> {% endif %}"
)


def make_stand_in(architecture: str, kind: str, is_chat: bool, name: str, folder: Path) -> None:
    """Write a stand-in in Hugging Face format; the same arguments give the same bytes.

    Args:
        architecture: ``model_type`` of transformers, e.g. gpt2.
        kind: causal, masked or encoder-decoder.
        is_chat: whether its tokenizer has a chat template.
        name: the model that it stands for; the weights are drawn by it.
        folder: to be written; it exists and is empty.

    Raises:
        UserError: transformers knows no such architecture, or none of this kind.
    """
    import torch

    tokenizer = _tokenizer(architecture, kind, is_chat)
    torch.manual_seed(int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big"))
    models = _auto_class(architecture, kind)
    model = models.from_config(_config(architecture, kind, tokenizer, name))
    head = model.get_output_embeddings()
    likelier = [
        token
        for token in range(len(tokenizer))
        if tokenizer.decode([token]).strip() in ANSWERS or token == tokenizer.eos_token_id
    ]
    with torch.no_grad():
        head.weight[likelier] *= BOOST
    tokenizer.save_pretrained(folder)
    model.eval().save_pretrained(folder)
    details = {"stands_for": name, "architecture": architecture}
    note = made(1, packages=["torch", "transformers", "tokenizers"], details=details)
    (folder / PROVENANCE).write_text(f"{note.to_json()}\n", encoding="utf-8")


def _auto_class(architecture: str, kind: str) -> Any:
    """The class of transformers that makes a model of a kind from a configuration.

    Raises:
        UserError: it knows no such architecture, or none of this kind.
    """
    from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM
    from transformers.models.auto import modeling_auto as mappings

    classes = {
        CAUSAL: (AutoModelForCausalLM, mappings.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
        MASKED: (AutoModelForMaskedLM, mappings.MODEL_FOR_MASKED_LM_MAPPING_NAMES),
        ENCODER_DECODER: (
            AutoModelForSeq2SeqLM,
            mappings.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        ),
    }
    auto_class, architectures = classes[kind]
    if architecture not in architectures:
        raise UserError(
            f"architecture {architecture}",
            f"transformers has no {kind} model of it{did_you_mean(architecture, architectures)}",
            "Write the `model_type` of the checkpoint's config.json as `architecture` in the"
            " model's card.",
        )
    return auto_class


def _config(
    architecture: str, kind: str, tokenizer: PreTrainedTokenizerFast, name: str
) -> PretrainedConfig:
    from transformers import CONFIG_MAPPING

    config = CONFIG_MAPPING[architecture]
    plain = config()
    names = getattr(config, "attribute_map", {})
    sizes = {
        names.get(key, key): size
        for key, size in SIZES.items()
        if hasattr(plain, key) and not isinstance(getattr_static(config, key, None), property)
    }
    ids = {
        f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in ("bos", "eos", "pad")
    }
    if kind == ENCODER_DECODER:
        ids["decoder_start_token_id"] = tokenizer.pad_token_id
    return config(vocab_size=len(tokenizer), **sizes, **ids, stands_for=name)


def _tokenizer(architecture: str, kind: str, is_chat: bool) -> PreTrainedTokenizerFast:
    """A tokenizer that learned from the prompts, of the kind that the architecture's models have:
    with a start token (SentencePiece), between special tokens (masked models), or neither (bytes).
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    is_causal, has_start = kind == CAUSAL, architecture in WITH_START
    roles = {"eos_token": "</s>" if has_start or not is_causal else "<|endoftext|>"}
    roles["bos_token"] = roles["eos_token"] if not has_start and is_causal else "<s>"
    roles |= {"unk_token": "<unk>"} if has_start or not is_causal else {}
    if not is_causal:
        roles |= {"pad_token": "<pad>", "mask_token": "<mask>"}
        roles |= {"cls_token": "<s>", "sep_token": "</s>"} if kind == MASKED else {}
    special = list(dict.fromkeys(roles.values()))
    if has_start:
        special += [f"<0x{byte:02X}>" for byte in range(256)]
        tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
        tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
        alphabet = []
    else:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=special,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(), trainer)
    around = {CAUSAL: "<s> $A" if has_start else "", MASKED: "<s> $A </s>"}.get(kind, "$A </s>")
    if around:
        named = [(word, tokenizer.token_to_id(word)) for word in ("<s>", "</s>")]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=around, special_tokens=[token for token in named if token[0] in around]
        )
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **roles)
    if is_chat:
        wrapped.chat_template = CHAT_TEMPLATE
    return wrapped


def _texts() -> Iterator[str]:
    """The texts that the tokenizers learn from: the English prompts."""
    for path in sorted((RESOURCES / "prompts").rglob("*.yaml")):
        if re.search("_[a-z]{2}$", path.stem):
            continue
        yield from path.read_text(encoding="utf-8").splitlines()


def is_of_rehearsal(*checkpoints: str | None) -> bool:
    """Whether any of some models is a rehearsal's: a stand-in, what was tuned from one, or anything
    else that a rehearsal trained.

    Args:
        checkpoints: folders, or anything else that names a model; None: no model.
    """
    for name in filter(None, checkpoints):
        folder = Path(os.path.expanduser(name))
        if folder.is_dir() and (
            is_rehearsed(folder)
            or _stated(folder / "config.json").get("stands_for")
            or _stated(folder / PROVENANCE).get("details", {}).get("rehearsal")
        ):
            return True
    return False


def _stated(path: Path) -> dict[str, Any]:
    """A JSON file's object; empty where it has none: who loads the model says what is wrong."""
    try:
        stated = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stated if isinstance(stated, dict) else {}


def described(card: dict[str, Any]) -> str:
    """A card's stand-in as the command `models stand-in` takes it: architecture, kind, and whether
    it chats.

    >>> described({"stand_in": "gemma", "kind": "causal", "chat": True})
    'gemma+chat'
    """
    kind = [] if card["kind"] == CAUSAL else [card["kind"]]
    return "+".join([card["stand_in"], *kind, *(["chat"] if card["chat"] else [])])


def read_stand_in(text: str) -> tuple[str, str, bool]:
    """Architecture, kind, and whether it chats: the inverse of ``described``.

    >>> read_stand_in("bert+masked"), read_stand_in("gemma+chat")
    (('bert', 'masked', False), ('gemma', 'causal', True))

    Raises:
        UserError: a word is unknown.
    """
    architecture, *words = text.split("+")
    if unknown := [word for word in words if word not in (*KINDS, "chat")]:
        raise UserError(
            text, f"{unknown[0]} is no kind of model.", f"Choose from {', '.join(KINDS)}, chat."
        )
    kind = next((word for word in words if word in KINDS), CAUSAL)
    return architecture, kind, "chat" in words
