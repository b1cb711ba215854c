"""The model registry, read: names, selection, and kinds of models.
Imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from worldprobe import engines
from worldprobe.engines import CAUSAL, ENCODER_DECODER, MASKED
from worldprobe.errors import UserError, did_you_mean

#: What the baseline ``relatedness`` is the mean of.
RELATEDNESS = ("sentence_vectors", "wordnet")
#: Baselines that know which words are related, and no more.
BASELINES = ("relatedness", *RELATEDNESS, "word2vec")
#: Names of rows that are not models; the registry's schema refuses them as well.
RESERVED = ("human", *BASELINES, "released")


NAMING = "Choose a name such as gpt2-xl: letters, digits, dots, dashes and underscores."


def check_name(name: str, where: object, fix: str = NAMING) -> str:
    """A model's name for tables, as it was given.

    Raises:
        UserError: it is blank, cannot be shown or be part of a file's name, or is that of rows that
            are not a model's.
    """
    if not name.strip() or name != name.strip() or not name.isprintable():
        problem = (
            f"{name!r} is not a name for a model: it is blank, begins or ends with a space, or"
            " contains a line break or the like."
        )
        raise UserError(where, problem, fix)
    if "/" in name or "\\" in name or name in (".", ".."):
        raise UserError(where, f'"{name}" is not a name for a model: it looks like a path.', fix)
    if name in RESERVED:
        raise UserError(where, f'"{name}" is the name of rows that are not a model\'s.', fix)
    return name


def card(
    registry: Mapping[str, Mapping[str, Any]], model: str, registry_name: object = "the registry"
) -> Mapping[str, Any]:
    """A model's entry.

    Raises:
        UserError: the registry does not know it.
    """
    if model not in registry:
        raise UserError(
            f"model {model}",
            f"is not in {registry_name}{did_you_mean(model, registry)}",
            "Add an entry for it, or choose one of: " + ", ".join(registry) + ".",
        )
    return registry[model]


def select(registry: Mapping[str, Mapping[str, Any]], models: Iterable[str] | None) -> list[str]:
    """The named models, or all of the registry.

    Raises:
        UserError: one of them is unknown, or none is named.
    """
    chosen = list(registry) if models is None else [m.strip() for m in models if m.strip()]
    if not chosen:
        raise UserError(
            "--models", "names no model.", "Choose some of: " + ", ".join(registry) + "."
        )
    for model in chosen:
        card(registry, model)
    return chosen


#: What is hidden while a masked model predicts a token: the rest of its word too (Kauf and Ivanova,
#: 2023), or that token alone (Salazar et al., 2020).
WITHIN_WORD, ORIGINAL = "within_word_l2r", "original"
PSEUDO = (WITHIN_WORD, ORIGINAL)
#: Kind -> how it is called in a sentence.
NAMES = {
    CAUSAL: "causal language model",
    MASKED: "masked language model",
    ENCODER_DECODER: "encoder-decoder model",
}
#: Families of masked models whose published configurations name no architecture.
MASKED_FAMILIES = (
    "albert",
    "bert",
    "deberta",
    "deberta-v2",
    "distilbert",
    "electra",
    "modernbert",
    "mpnet",
    "roberta",
)
_MASKED_ENDINGS = ("ForMaskedLM", "ForPreTraining")
_CAUSAL_ENDINGS = ("ForCausalLM", "LMHeadModel")


def stated_kind(config: Mapping[str, Any]) -> str:
    """The kind that a checkpoint's configuration states; causal where it states none.

    >>> (
    ...     stated_kind({"architectures": ["BertForMaskedLM"]}),
    ...     stated_kind({"is_encoder_decoder": True}),
    ...     stated_kind({}),
    ... )
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
    is_masked = (
        not names
        and config.get("model_type") in MASKED_FAMILIES
        and config.get("is_decoder") is not True
    )
    return MASKED if is_masked else CAUSAL


def describe_kind(kind: str | None, pseudo: str | None = None) -> str:
    """A kind with its measure, as tables and figures state it.

    >>> describe_kind("masked", "original")
    'masked, pseudo-log-likelihood, each token hidden alone'
    """
    if kind == MASKED:
        how = (
            "each token hidden alone"
            if pseudo == ORIGINAL
            else "each token hidden with the rest of its word"
        )
        return f"{MASKED}, pseudo-log-likelihood, {how}"
    return f"{ENCODER_DECODER}, context in the encoder" if kind == ENCODER_DECODER else CAUSAL


def refuse_prompting(where: object, kind: str) -> UserError:
    """The error of a model that is not causal and is to write or to choose an answer."""
    return UserError(
        where,
        f"is asked to answer a prompt, but {with_article(kind)} is only scored here: it does not"
        " continue a text.",
        "Ask it by logprobs alone, and give prompts to causal models.",
    )


def refuse_prompted(
    cards: Mapping[str, Mapping[str, Any]], models: Iterable[str], setting: str, fix: str
) -> None:
    """Refuse settings by which models would be prompted that are only scored.

    Args:
        cards: the registry.
        models: those that are to be prompted.
        setting: the setting that says so.
        fix: how to change it.

    Raises:
        UserError: one of them is only scored.
    """
    for model in models:
        card = cards.get(model, {})
        if not engines.of(card).can.prompts:
            kind = with_article(card.get("kind") or CAUSAL)
            problem = f"would prompt {model}, {kind}, which does not continue a text."
            raise UserError(setting, problem, fix)


def with_article(kind: str) -> str:
    """The kind's name with its article."""
    return f"{'an' if NAMES[kind][0] in 'aeiou' else 'a'} {NAMES[kind]}"


def chat_template(prompting: Mapping[str, Any], card: Mapping[str, Any]) -> str:
    """Whether a model is asked through its chat template: ``auto`` follows its card.

    >>> [chat_template({"chat_template": "auto"}, {"chat": chat}) for chat in (True, False)]
    ['always', 'never']
    >>> chat_template({"chat_template": "never"}, {"chat": True})
    'never'
    """
    wanted = str(prompting["chat_template"])
    return wanted if wanted != "auto" else "always" if card["chat"] else "never"
