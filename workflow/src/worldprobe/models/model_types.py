"""The kinds of language models: how a model reads and what its score is. Imports nothing heavy.

A causal model gives log P(target | context). A masked model fills gaps: its score is a pseudo-log-likelihood, the
sum of the log probabilities of the target's tokens, each hidden in turn while the others can be read (Salazar et al., 2020,
https://doi.org/10.18653/v1/2020.acl-main.240). Where a word has several tokens, the later ones give away the earlier ones; the
default therefore hides the rest of the word as well (Kauf and Ivanova, 2023, https://doi.org/10.18653/v1/2023.acl-short.80).
An encoder-decoder reads the context in its encoder and scores the target in its decoder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from worldprobe.errors import UserError

CAUSAL, MASKED, ENCODER_DECODER = "causal", "masked", "encoder-decoder"
KINDS = (CAUSAL, MASKED, ENCODER_DECODER)
#: What is hidden while a masked model predicts a token: the rest of its word too (Kauf and Ivanova, 2023), or that token alone
#: (Salazar et al., 2020).
WITHIN_WORD, ORIGINAL = "within_word_l2r", "original"
PSEUDO = (WITHIN_WORD, ORIGINAL)
#: Kind -> how it is called in a sentence.
NAMES = {
    CAUSAL: "causal language model",
    MASKED: "masked language model",
    ENCODER_DECODER: "encoder-decoder model",
}
#: Families of masked models whose published configurations name no architecture.
MASKED_FAMILIES = ("albert", "bert", "deberta", "deberta-v2", "distilbert", "electra", "modernbert", "mpnet", "roberta")
_MASKED_ENDINGS = ("ForMaskedLM", "ForPreTraining")
_CAUSAL_ENDINGS = ("ForCausalLM", "LMHeadModel")


def stated_kind(config: Mapping[str, Any]) -> str:
    """The kind that a checkpoint's configuration states; causal where it states none.

    >>> stated_kind({"architectures": ["BertForMaskedLM"]}), stated_kind({"is_encoder_decoder": True}), stated_kind({})
    ('masked', 'encoder-decoder', 'causal')
    """
    if config.get("is_encoder_decoder") is True:
        return ENCODER_DECODER
    listed = config.get("architectures")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    if any(name.endswith(_CAUSAL_ENDINGS) for name in names):
        return CAUSAL
    if any(name.endswith(_MASKED_ENDINGS) for name in names):
        return MASKED
    is_masked = not names and config.get("model_type") in MASKED_FAMILIES and config.get("is_decoder") is not True
    return MASKED if is_masked else CAUSAL


def describe_kind(kind: str | None, pseudo: str | None = None) -> str:
    """A kind with its measure, as tables and figures state it.

    >>> describe_kind("masked", "original")
    'masked, pseudo-log-likelihood, each token hidden alone'
    """
    if kind == MASKED:
        how = "each token hidden alone" if pseudo == ORIGINAL else "each token hidden with the rest of its word"
        return f"{MASKED}, pseudo-log-likelihood, {how}"
    return f"{ENCODER_DECODER}, context in the encoder" if kind == ENCODER_DECODER else CAUSAL


def refuse_prompting(where: object, kind: str) -> UserError:
    """What to say where a model that is not causal is to write or to choose an answer."""
    return UserError(
        where,
        f"is asked to answer a prompt, but {with_article(kind)} is only scored here: it does not continue a text.",
        "Ask it by logprobs alone, and give prompts (Likert, Choice, WorldSense) to causal models.",
    )


def refuse_prompted(cards: Mapping[str, Mapping[str, Any]], models: Iterable[str], setting: str, fix: str) -> None:
    """Refuse settings by which models that are not causal would be prompted.

    Args:
        cards: the registry.
        models: those that are to be prompted.
        setting: the setting that says so.
        fix: how to change it.

    Raises:
        UserError: one of them is not causal.
    """
    for model in models:
        kind = cards.get(model, {}).get("kind") or CAUSAL
        if kind != CAUSAL:
            raise UserError(setting, f"would prompt {model}, {with_article(kind)}, which does not continue a text.", fix)


def with_article(kind: str) -> str:
    """The kind's name with its article."""
    return f"{'an' if NAMES[kind][0] in 'aeiou' else 'a'} {NAMES[kind]}"
