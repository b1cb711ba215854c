"""The tokenizer that a GGUF file states, as a folder of transformers has it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worldprobe.models.gguf_config import UnreadError
from worldprobe.models.gguf_file import GgufFile

_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_END = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_GPT_2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_THREE_DIGITS = (
    rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_END}"
)
_ONE_DIGIT = _THREE_DIGITS.replace("{1,3}", "")
_CJK = "[一-龥\u3040-ゟ゠-ヿ]+"
_PUNCTUATED = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_END}"
)
_DEEPSEEK_LETTERS = (
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-"
    r"ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u1F7Dᾀ-ᾴᾶ-ᾼ\u1FBEῂ-ῄῆ-ῌῐ-\u1FD3ῖ-\u1FDBῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\u2126ℨ"
    r"\u212A-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]"
    r"+"
)
#: tokenizer.ggml.pre -> how texts are cut into words before merging, one expression after the
#: other, as in llama.cpp's llama-vocab.cpp (2026-10); beside those that transformers knows.
SPLITS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        [
            "gpt-2",
            "phi-2",
            "gigachat",
            "a.x-4.0",
            "mellum",
            "mpt",
            "olmo",
            "jais",
            "trillion",
            "granite-docling",
            "exaone4",
        ],
        (_GPT_2,),
    ),
    **dict.fromkeys(
        [
            "starcoder",
            "refact",
            "command-r",
            "smollm",
            "codeshell",
            "exaone",
            "minerva-7b",
            "mellum2",
        ],
        (r"\p{N}", _GPT_2),
    ),
    **dict.fromkeys(["stablelm2", "hunyuan", "solar-open", "grok-2"], (_ONE_DIGIT,)),
    **dict.fromkeys(["chatglm-bpe", "glm4", "glm5"], (_THREE_DIGITS,)),
    **dict.fromkeys(
        ["deepseek-v3", "hunyuan-dense", "joyai-llm"], (r"\p{N}{1,3}", _CJK, _PUNCTUATED)
    ),
    "deepseek-llm": (
        "[\r\n]",
        _DEEPSEEK_LETTERS,
        r"\s?[!-/:-~！-／：-～‘-‟\u3000-。]+",
        r"\s+$",
        "[一-龥ࠀ-一가-\ud7ff]+",
        r"\p{N}+",
    ),
    "deepseek-coder": ("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-\ud7ff]+", r"\p{N}"),
    "falcon": (r"[\p{P}\$\+<=>\^~\|`]+", _GPT_2, "[0-9][0-9][0-9]"),
    **dict.fromkeys(["bloom", "poro-chat", "gpt3-finnish"], (r" ?[^(\s|.,!?…。，、।۔،)]+",)),
    "viking": (r" ?[^(\s|.,!?…。，、।۔،)]+", r"\p{N}"),
    "seed-coder": (
        rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}"
        rf"| ?[^\s\p{{L}}\p{{N}}\r\n]+|{_END}",
    ),
    **dict.fromkeys(
        ["bailingmoe", "bailingmoe2", "llada-moe"],
        (_ONE_DIGIT.replace(r"\s*[\r\n]+", r"\s*[\r\n]"),),
    ),
    "minicpm5": (r"\p{N}{1,3}", _ONE_DIGIT.replace(r"|\p{N}|", r"|\p{N}+|")),
}
#: Those of which llama.cpp begins each text with the start token, where the file does not say.
STARTS = {
    "llama3",
    "llama-v3",
    "llama-bpe",
    "falcon3",
    "falcon-h1",
    "pixtral",
    "midm-2.0",
    "lfm2",
    "jina-v5-nano",
    "tekken",
}
#: Those of which a word that is a token is taken whole, whatever the merges lead to.
WHOLE_WORDS = STARTS | {"glm4", "glm5", "minicpm5"}
#: Files of the time before May 2024 do not say how texts are cut.
UNSAID = (None, "", "default")
ROLES = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
#: Keys of the tokenizer that are read here, or that ask for nothing in a text that is scored.
KEYS = {
    "model",
    "pre",
    "tokens",
    "scores",
    "token_type",
    "merges",
    "token_type_count",
    "precompiled_charsmap",
    "remove_extra_whitespaces",
    "add_bos_token",
    "add_eos_token",
    "add_sep_token",
    "add_space_prefix",
    "suppress_tokens",
}


def write_tokenizer(file: GgufFile, folder: Path) -> None:
    """Write the tokenizer, which adds the start token where llama.cpp does: as tokenizer.json says
    for what reads that, and as tokenizer_config.json says for what reads this.

    Raises:
        UnreadError: it cannot be carried over.
    """
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast
    from transformers.integrations.gguf import GGUF_TOKENIZER_MAPPING, convert_gguf_tokenizer

    stated = {
        key.removeprefix("tokenizer.ggml."): value
        for key, value in file.stated.items()
        if key.startswith("tokenizer.ggml.")
    }
    if unknown := sorted(key for key in stated.keys() - KEYS if not key.endswith("_token_id")):
        raise UnreadError(f"its key tokenizer.ggml.{unknown[0]} is not read here")
    kind, pre = stated.get("model"), stated.get("pre")
    if kind not in ("gpt2", "llama"):
        raise UnreadError(f"its key tokenizer.ggml.model = {kind} is not read here")
    spaced = stated.get("add_space_prefix", True)
    if spaced and kind == "llama" and file.architecture.startswith("gemma"):
        raise UnreadError("it does not say that tokenizer.ggml.add_space_prefix is false")
    splits = _splits(pre) if kind == "gpt2" else ()
    fields = {
        name: stated[key.removeprefix("ggml.")]
        for key, name in GGUF_TOKENIZER_MAPPING["tokenizer"].items()
        if key.removeprefix("ggml.") in stated
    }
    tokens = stated["tokens"]
    backend = _own(convert_gguf_tokenizer(file.architecture, fields)[0], len(tokens))
    if kind == "gpt2":
        _cut(backend, splits, pre in WHOLE_WORDS)
    elif not file.architecture.startswith("gemma"):
        _space(backend, spaced)
    named = {
        f"{role}_token": tokens[at]
        for role, key in ROLES.items()
        if (at := stated.get(f"{key}_token_id")) is not None and at < len(tokens)
    }
    begins = stated.get("add_bos_token", kind == "llama" or pre in STARTS)
    if begins and (at := stated.get("bos_token_id", 1 if kind == "llama" else None)) is not None:
        start = named["bos_token"] = tokens[at]
        backend.post_processor = processors.TemplateProcessing(
            single=f"{start}:0 $A:0",
            pair=f"{start}:0 $A:0 $B:1",
            special_tokens=[(start, at)],
        )
    if template := file.stated.get("tokenizer.chat_template"):
        named["chat_template"] = template
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, clean_up_tokenization_spaces=False, **named
    )
    tokenizer.save_pretrained(folder)
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["add_bos_token"] = backend.post_processor is not None
    path.write_text(json.dumps(settings, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _splits(pre: str | None) -> tuple[str, ...]:
    """How texts are cut into words, by the file's name for it."""
    from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

    if pre in UNSAID:
        raise UnreadError(
            "it does not say how texts are cut into words (tokenizer.ggml.pre), as files from"
            " before May 2024; `gguf-new-metadata --pre-tokenizer NAME` writes it into a copy"
        )
    split = GGUF_PRE_TOKENIZER_SPLITS.get(pre)
    splits = SPLITS.get(str(pre), (split,) if split else ())
    if not splits:
        raise UnreadError(
            f"its key tokenizer.ggml.pre = {pre} names a cutting that is not known here"
        )
    return splits


def _cut(backend: Any, splits: tuple[str, ...], whole_words: bool) -> None:
    from tokenizers import Regex, pre_tokenizers

    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            *(pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in splits),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    if whole_words:
        model = backend.model
        model.ignore_merges = True
        backend.model = model


def _space(backend: Any, is_spaced: bool) -> None:
    """A space before each text, also behind a special token, or none (SentencePiece's
    add_dummy_prefix).
    """
    from tokenizers import decoders, normalizers

    first = [normalizers.Prepend("▁")] if is_spaced else []
    backend.normalizer = normalizers.Sequence([*first, normalizers.Replace(" ", "▁")])
    backend.pre_tokenizer = None
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    backend.decoder = decoders.Sequence(steps + [decoders.Strip(" ", 1, 0)] * is_spaced)


def _own(backend: Any, count: int) -> Any:
    """The tokenizer without what a class of transformers adds to the file's tokens."""
    from tokenizers import Tokenizer

    stated = json.loads(backend.to_str())
    stated["added_tokens"] = [token for token in stated["added_tokens"] if token["id"] < count]
    stated["post_processor"] = None
    return Tokenizer.from_str(json.dumps(stated))
