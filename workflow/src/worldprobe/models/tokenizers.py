"""The checkpoint's own tokenizer: what its ``tokenizer.json`` describes, whatever transformers
makes of its class.

A model was trained with the token ids of that file. transformers 5 builds a tokenizer of the class
that the checkpoint names, or that it holds right for the family, from the file's vocabulary alone,
and so may drop its normalizer and its pre-tokenizer; the checkpoints that it knows to be hurt by
this it recognizes by their names on the hub, never in a folder.

One kind of file is known not to describe what its model was trained with: those of Mistral that an
earlier transformers converted with Llama 3's way of cutting texts into words. They get Mistral's
own back.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldprobe.errors import UserError
from worldprobe.log import LOGGER

#: Texts in which tokenizers of one vocabulary differ: letters, digits, blanks, line breaks,
#: accents, other scripts, instructions.
SENTENCES = (
    "a",
    "The piano is left of Ali. Ali TURNS right, doesn't she? It's ÉCOLE.",
    "31 cats, 2024 dogs and 1234567 birds: 3.14, 10%.",
    "two  spaces   three, \ttab,\u00a0fixed",
    " lead",
    "trail ",
    "# INSTRUCTIONS\n\nIn this study.\n\n\n## Response\r\n",
    "don\u2019t \u201cquote\u201d (this) [or] {that}_x/y; a-b\u2014c",
    "HelloWorld, McDonald's iPhone",
    "naïve café, e\u0301 apart, \ufb01n, İstanbul",
    "日本語のテスト, 한국어, русский, العربية, हिन्दी",
    "\U0001f642 and \U0001f469\u200d\U0001f469\u200d\U0001f467",
)
#: How Llama 3 cuts texts into words, which files of Mistral's large tokenizer (Tekken) wrongly
#: state, and how that does: single digits, and a cut before a capital within a word. As in
#: transformers' ``fix_mistral_regex``, which knows such files by the configuration alone; here the
#: vocabulary decides too, as one that was trained with Llama 3's has tokens of several digits.
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN_FAMILIES = ("mistral", "mistral3", "voxtral", "ministral", "pixtral")
TEKKEN_TOKENS = 100_000
#: Special tokens that a class of transformers may know without the checkpoint's naming them.
NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


def open_tokenizer(place: str, name: str, trust_remote_code: bool = False) -> Any:
    """The tokenizer of transformers that turns texts into a checkpoint's own token ids, and these
    into texts.

    Its attribute ``origin`` says where it comes from: the class of transformers, or the file
    against that class, or Mistral's own cutting of words against the file. The attribute
    ``states_start``: does tokenizer_config.json say that texts begin with the start token
    (``add_bos_token``)? Files such as DeepSeek's leave that token to the class, and transformers 5
    no longer adds it.

    Args:
        place: a folder, or a hub id that was fetched before.
        name: what it is called in messages.
        trust_remote_code: the tokenizer's own code may run.

    Raises:
        UserError: its files cannot be loaded, or it cannot be decided which tokenizer is the
            checkpoint's.
    """
    from transformers import AutoTokenizer, TokenizersBackend
    from transformers.utils import cached_file

    how = {"local_files_only": True, "trust_remote_code": trust_remote_code}
    fix = "Save the tokenizer again: tokenizer.save_pretrained(folder)."
    try:
        path, settings, config = (
            cached_file(
                place, file, local_files_only=True, _raise_exceptions_for_missing_entries=False
            )
            for file in ("tokenizer.json", "tokenizer_config.json", "config.json")
        )
        pieces = (
            {}
            if path
            else _sentencepieces(Path(settings or config or f"{place}/config.json").parent)
        )
        loaded = _without_dropout(AutoTokenizer.from_pretrained(place, **how))
        states_start = (
            settings is not None
            and json.loads(Path(settings).read_text(encoding="utf-8")).get("add_bos_token") is True
        )
    except (
        Exception
    ) as error:  # transformers raises whatever a broken file makes of it, tokenizers bare Exception
        if isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] in (
            "sentencepiece",
            "google",
        ):
            raise  # the caller says which extra brings it
        raise UserError(
            name, f"has a tokenizer that cannot be loaded ({_reason(error)}).", fix
        ) from error
    loaded.origin, loaded.states_start = type(loaded).__name__, states_start
    if path is None:  # older files, such as vocab.txt: the class says how they are meant
        _compare(loaded, pieces, name)
        _check_capitals(loaded, name)
        return _knowing(loaded, name)
    try:
        file_tokenizer = _read(path)
        added = [token.content for token in file_tokenizer.get_added_tokens_decoder().values()]
        if not (differing := differing_texts(file_tokenizer, loaded, [*SENTENCES, *added])):
            return _as_mistral_cuts(_knowing(loaded, name), file_tokenizer, place, name)
        # Special tokens that only the class names, where the file has them.
        named = {
            key: token
            for key in NAMED
            if (token := getattr(loaded, key, None))
            and file_tokenizer.token_to_id(token) is not None
        }
        taken = _without_dropout(TokenizersBackend.from_pretrained(place, **named, **how))
        left = differing_texts(file_tokenizer, taken, SENTENCES)
    except UserError:
        raise
    except Exception as error:  # as above
        raise UserError(
            f"{name}/tokenizer.json", f"cannot be read as a tokenizer ({_reason(error)}).", fix
        ) from error
    if left:
        problem = (
            f"is not what transformers loads, e.g. for {left[0]!r}: which tokens the model was"
            " trained with is not certain."
        )
        raise UserError(f"{name}/tokenizer.json", problem, fix)
    LOGGER.warning(
        "%s: transformers' %s reads texts otherwise than the checkpoint's tokenizer.json, e.g. %r:"
        " the file's tokenizer is used",
        name,
        loaded.origin,
        differing[0],
    )
    taken.origin, taken.states_start = (
        f"tokenizer.json, not transformers' {loaded.origin}",
        states_start,
    )
    return _as_mistral_cuts(_knowing(taken, name), file_tokenizer, place, name)


def _sentencepieces(folder: Path) -> dict[str, Any]:
    """The SentencePiece models of a folder: name -> what SentencePiece itself reads."""
    models = sorted(
        path
        for path in folder.glob("*")
        if path.suffix in (".model", ".spm") and path.name != "target.spm"
    )
    if not models:
        return {}
    import google.protobuf  # noqa: F401  transformers misses it with advice on another package
    from sentencepiece import SentencePieceProcessor

    read = {}
    for path in models:
        try:
            read[path.name] = SentencePieceProcessor(model_file=str(path))
        except (RuntimeError, OSError):  # of another format
            continue
    return read


def _compare(loaded: Any, models: Mapping[str, Any], name: str) -> None:
    """Refuse what transformers makes of a SentencePiece model where that itself reads other pieces.

    Texts with spaces at their ends, which no question has, are read in two ways by designs of
    transformers that are right else.
    """
    texts = [text for text in SENTENCES if text == text.strip()]
    for file, piece_model in models.items():
        for text, ids in zip(
            texts, loaded(texts, add_special_tokens=False)["input_ids"], strict=True
        ):
            pieces = [
                loaded.unk_token
                if token == piece_model.unk_id()
                else piece_model.id_to_piece(token)
                for token in piece_model.encode(text)
            ]
            if loaded.convert_ids_to_tokens(ids) != pieces:
                raise UserError(
                    f"{name}/{file}",
                    f"is not what transformers' {loaded.origin} reads, e.g. {text!r}: which tokens"
                    " the model was trained with is not certain.",
                    "Add the model's tokenizer.json, or name the class of its tokenizer"
                    " (LlamaTokenizer, T5Tokenizer, ...) as tokenizer_class in"
                    " tokenizer_config.json.",
                )


def _check_capitals(loaded: Any, name: str) -> None:
    """Refuse a tokenizer that writes all in small letters, as BERT's class does by default, where
    the vocabulary has capitals.
    """
    special, normalizer = (
        special_tokens(loaded),
        getattr(getattr(loaded, "backend_tokenizer", None), "normalizer", None),
    )
    capitals = sum(
        token != token.lower()
        for token, index in loaded.get_vocab().items()
        if index not in special
    )
    if (
        normalizer is not None
        and normalizer.normalize_str("Ali") == "ali"
        and capitals > len(loaded) / 100
    ):
        problem = (
            f"has {capitals} tokens with capitals, but transformers' {loaded.origin} reads small"
            " letters only."
        )
        raise UserError(
            name,
            problem,
            "Set do_lower_case to false in tokenizer_config.json, or add a tokenizer.json.",
        )


def _knowing(tokenizer: Any, name: str) -> Any:
    """The tokenizer, if it knows anything of what it reads: where a class finds no file, it is one
    of three tokens.
    """
    rows = tokenizer(list(SENTENCES), add_special_tokens=False)["input_ids"]
    tokens = {token for row in rows for token in row} - special_tokens(tokenizer)
    if any(tokenizer.decode([token]).strip() for token in tokens):
        return tokenizer
    problem = (
        f"has no vocabulary that transformers' {tokenizer.origin} reads: every text is empty or"
        " unknown to its tokenizer."
    )
    fix = (
        "Name the class that reads the vocabulary's files as tokenizer_class in"
        " tokenizer_config.json."
    )
    raise UserError(name, problem, fix)


def special_tokens(tokenizer: Any) -> set[int]:
    """Tokens that decoding leaves out of a text."""
    added = getattr(tokenizer, "added_tokens_decoder", {})
    return set(tokenizer.all_special_ids) | {token for token, text in added.items() if text.special}


def ensure_embedded(tokenizer: Any, ids: Iterable[int], name: str = "") -> None:
    """Refuse tokens that the model has no embedding for, before it reads or is to write them.

    Args:
        tokenizer: its ``n_embedded`` says for how many tokens the model has embeddings, where that
            is known.
        ids: what is read or written.
        name: the model's name, for messages.
    """
    rows = getattr(tokenizer, "n_embedded", None)
    beyond = [token for token in set(ids) if token is not None and token >= rows] if rows else []
    if beyond:
        token = min(beyond)
        raise UserError(
            name or tokenizer.name_or_path,
            f"has embeddings for {rows} tokens only, but {tokenizer.convert_ids_to_tokens(token)!r}"
            f" in its prompts or replies has the id {token}.",
            "Train the model with an embedding for it (resize_token_embeddings), or remove it from"
            " tokenizer, chat template and generation_config.json.",
        )


def fingerprint(tokenizer: Any) -> str:
    """A digest of what a tokenizer makes of some plain and odd sentences: two of one vocabulary may
    cut texts otherwise.
    """
    cut = tokenizer(list(SENTENCES), add_special_tokens=False)["input_ids"]
    return hashlib.sha256(json.dumps([len(tokenizer), cut]).encode()).hexdigest()


def _as_mistral_cuts(tokenizer: Any, file_tokenizer: Any, place: str, name: str) -> Any:
    """The tokenizer, with Mistral's own cutting of words where the file wrongly states Llama
    3's.
    """
    from tokenizers import Regex, pre_tokenizers
    from transformers.utils import cached_file

    if file_tokenizer.get_vocab_size() <= TEKKEN_TOKENS or file_tokenizer.pre_tokenizer is None:
        return tokenizer
    stated = json.loads(file_tokenizer.pre_tokenizer.__getstate__())
    parts = stated.get("pretokenizers", [stated])
    if not any((part.get("pattern") or {}).get("Regex") == LLAMA_3 for part in parts):
        return tokenizer
    added = {token.content for token in file_tokenizer.get_added_tokens_decoder().values()}
    if any(re.search(r"\d\d", token) for token in file_tokenizer.get_vocab().keys() - added):
        return tokenizer
    path = cached_file(
        place, "config.json", local_files_only=True, _raise_exceptions_for_missing_entries=False
    )
    if (
        path is not None
        and json.loads(Path(path).read_text(encoding="utf-8")).get("model_type")
        not in TEKKEN_FAMILIES
    ):
        return tokenizer
    cut = pre_tokenizers.Split(Regex(TEKKEN), "isolated")
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.origin = (
        f"{tokenizer.origin}, words cut as by Mistral's Tekken, not as tokenizer.json states"
    )
    LOGGER.warning(
        "%s: tokenizer.json cuts texts into words as Llama 3 does, but its vocabulary is Mistral's"
        " (Tekken), so the model was not trained so: they are cut as Tekken does (transformers'"
        " fix_mistral_regex)",
        name,
    )
    return tokenizer


def differing_texts(own: Any, loaded: Any, texts: Sequence[str]) -> list[str]:
    """Texts of which two tokenizers make other tokens, or of whose tokens other texts.

    Args:
        own: of the library tokenizers, as the file describes it.
        loaded: of transformers.
        texts: what both are given.
    """
    if not getattr(loaded, "is_fast", False):
        return list(texts)
    bare, whole = (
        [encoding.ids for encoding in own.encode_batch(list(texts), add_special_tokens=special)]
        for special in (False, True)
    )
    expected = zip(bare, whole, own.decode_batch(bare, skip_special_tokens=False), strict=True)
    loaded_bare, loaded_whole = (
        loaded(list(texts), add_special_tokens=special)["input_ids"] for special in (False, True)
    )
    restored = loaded.backend_tokenizer.decode_batch(bare, skip_special_tokens=False)
    made = zip(loaded_bare, loaded_whole, restored, strict=True)
    return [
        text for text, ours, theirs in zip(texts, expected, made, strict=True) if ours != theirs
    ]


def _read(path: str) -> Any:
    """The tokenizer that a file describes, which neither cuts nor pads texts."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return _without_dropout(tokenizer)


def _without_dropout(tokenizer: Any) -> Any:
    """A tokenizer of either library without BPE dropout, which is for training and cuts a text
    otherwise each time.
    """
    model: Any = getattr(getattr(tokenizer, "backend_tokenizer", tokenizer), "model", None)
    if getattr(model, "dropout", None):
        model.dropout = None
    return tokenizer


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or ['no message'])[0][:300]}"
