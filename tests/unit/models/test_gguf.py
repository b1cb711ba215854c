"""GGUF files: what one says is read, or the file is refused by name; the numbers are llama.cpp's.

Each fault is named after the public report in which others met it.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("gguf")
np = pytest.importorskip("numpy")

import gguf_files as files  # noqa: E402
from worldprobe.errors import UserError  # noqa: E402
from worldprobe.models import gguf, gguf_file, llama_cpp, tokenizers  # noqa: E402
from worldprobe.models.checkpoint import locate  # noqa: E402
from worldprobe.models.transformers_engine import open_engine  # noqa: E402

needs_llama_cpp = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None,
    reason="llama.cpp is not installed here (xllamacpp, pinned in envs/requirements-dev.txt)",
)
byte_level = functools.cache(files.byte_level)
sentencepiece = functools.cache(files.sentencepiece)
Write = Callable[..., Path]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of an architecture, with or without keys, tensors and parts of the tokenizer.

    ``model`` changes the model that its weights are of, ``keys`` and ``tokenizer`` what it says.
    """

    def build(
        architecture: str = "llama",
        model: dict[str, Any] | None = None,
        tokenizer: dict[str, Any] | None = None,
        vocabulary: dict[str, Any] | None = None,
        **more: Any,
    ) -> Path:
        words = {**(vocabulary or byte_level()), **(tokenizer or {})}
        made = files.build(architecture, len(words["tokens"]), **(model or {}))
        return files.write(tmp_path / "tiny.gguf", architecture, made, words, **more)

    return build


def uncompared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without llama.cpp, so that our own checks alone speak."""
    monkeypatch.setattr(llama_cpp, "compare", lambda *_: None)


def import_(path: Path) -> Path:
    out = path.with_suffix("")
    gguf.import_file(path, out)
    return out


def logits(folder: Path) -> Any:
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    with torch.inference_mode():
        return model(torch.arange(3, 60)[None]).logits


@needs_llama_cpp
@pytest.mark.parametrize("architecture", files.MODELS)
@pytest.mark.long
def test_tokens_and_log_probabilities_are_those_of_llama_cpp(
    architecture: str, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    is_gemma = architecture.startswith("gemma")
    path = write(
        architecture,
        vocabulary=sentencepiece() if is_gemma else byte_level(),
        tokenizer={"add_space_prefix": False} if is_gemma else {},
    )
    with caplog.at_level(logging.INFO, "worldprobe"):
        import_(path)
    assert "tokens equal to llama.cpp's" in caplog.text


SCALING = {
    "linear": {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0},
    "linear, as older files say it": {"rope.scale_linear": 4.0},
    "yarn": {
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 4.0,
        "rope.scaling.original_context_length": 64,
    },
}
FREQUENCIES = {"rope_freqs.weight": np.array([1, 1, 2, 4, 8, 8, 8, 8.0])}
#: The report -> a file that says what was dropped there.
REPORTS: dict[str, dict[str, Any]] = {
    "llama.cpp #13322, YaRN": {"keys": SCALING["yarn"]},
    "llama.cpp #13322, YaRN of Qwen 3": {"architecture": "qwen3", "keys": SCALING["yarn"]},
    "mobius #458, linear scaling": {"keys": SCALING["linear"]},
    "mobius #458, old key": {"keys": SCALING["linear, as older files say it"]},
    "mobius #458, Gemma 3's full layers": {
        "architecture": "gemma3",
        "keys": SCALING["linear"],
        "vocabulary": sentencepiece,
        "tokenizer": {"add_space_prefix": False},
    },
    "llama.cpp #8676, Llama 3.1's rope_freqs": {"tensors": FREQUENCIES},
    "transformers #42770, StarCoder 2's rope base": {
        "architecture": "starcoder2",
        "model": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
    },
    "lucebox #447, StableLM's rotary share": {
        "architecture": "stablelm",
        "model": {
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 1e4,
                "partial_rotary_factor": 0.5,
            }
        },
    },
    "llama with biases of attention": {"model": {"attention_bias": True}},
    "ferrox #40, Gemma 3 27B's attention scale": {
        "architecture": "gemma3",
        "model": {"num_hidden_layers": 62, "hidden_size": 32, "query_pre_attn_scalar": 8},
        "vocabulary": sentencepiece,
        "tokenizer": {"add_space_prefix": False},
    },
    "llama.cpp #8444, Gemma 2 27B's attention scale": {
        "architecture": "gemma2",
        "model": {"num_hidden_layers": 46, "hidden_size": 32, "query_pre_attn_scalar": 8},
        "vocabulary": sentencepiece,
        "tokenizer": {"add_space_prefix": False},
    },
    "llama.cpp #8197, Gemma 2's caps": {
        "architecture": "gemma2",
        "keys": {"attn_logit_softcapping": 5.0, "final_logit_softcapping": 3.0},
        "vocabulary": sentencepiece,
        "tokenizer": {"add_space_prefix": False},
    },
    "vllm #30118, Qwen 3's size of a head": {"architecture": "qwen3", "model": {"head_dim": 48}},
    "transformers #42770, Qwen 3 MoE's experts": {
        "architecture": "qwen3moe",
        "model": {"moe_intermediate_size": 48},
    },
    "Phi 3's LongRoPE": {
        "architecture": "phi3",
        "keys": {
            "rope.scaling.attn_factor": 1.2,
            "rope.scaling.original_context_length": 128,
        },
        "tensors": {
            "rope_factors_short.weight": np.linspace(1, 2, 8),
            "rope_factors_long.weight": np.linspace(1, 2, 8),
        },
    },
    "transformers #31630, add_space_prefix false": {
        "vocabulary": sentencepiece,
        "tokenizer": {"add_space_prefix": False},
    },
    "llama.cpp #4040, SentencePiece that says nothing of the start": {"vocabulary": sentencepiece},
    "llama.cpp #4040, a start token": {"tokenizer": {"pre": "qwen2", "add_bos_token": True}},
    "llama.cpp #3966, no start token": {"tokenizer": {"add_bos_token": False}},
}


@needs_llama_cpp
@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.long
def test_what_was_dropped_is_read_as_llama_cpp_reads_it(
    report: str, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    said = dict(REPORTS[report])
    if "vocabulary" in said:
        said["vocabulary"] = said["vocabulary"]()
    with caplog.at_level(logging.INFO, "worldprobe"):
        import_(write(**said))
    assert "tokens equal to llama.cpp's" in caplog.text


@pytest.mark.parametrize("report", [one for one in REPORTS if REPORTS[one].get("keys")])
def test_what_the_keys_say_changes_the_numbers(
    report: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    uncompared(monkeypatch)
    said = dict(REPORTS[report])
    if "vocabulary" in said:
        said["vocabulary"] = said["vocabulary"]()
    kept = import_(write(**said))
    values = logits(kept)
    said = {key: value for key, value in said.items() if key not in ("keys", "tensors")}
    (kept.parent / "other").mkdir()
    plain = kept.parent / "other" / "plain"
    gguf.import_file(write(**said), plain)
    assert not torch.allclose(values, logits(plain), atol=1e-3)


CUTTINGS = [
    "deepseek-llm",
    "deepseek-coder",
    "deepseek-v3",
    "exaone",
    "hunyuan",
    "hunyuan-dense",
    "minerva-7b",
    "seed-coder",
    "smollm",
    "stablelm2",
    "viking",
    "bloom",
    "glm4",
    "gpt-2",
    "starcoder",
    "falcon",
    "command-r",
    "tekken",
    "qwen2",
    "gpt-4o",
    "bailingmoe",
    "minicpm5",
    "chatglm-bpe",
]


@pytest.mark.slow
@needs_llama_cpp
@pytest.mark.parametrize("name", CUTTINGS)
def test_llama_cpp_7724_words_are_cut_as_llama_cpp_cuts_them(
    name: str, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "worldprobe"):
        import_(write(tokenizer={"pre": name}))
    assert "tokens equal to llama.cpp's" in caplog.text


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "llama.cpp #29211, an unknown cutting": (
        {"tokenizer": {"pre": "no-such-thing"}},
        "tokenizer.ggml.pre = no-such-thing names a cutting that is not known",
    ),
    "llama.cpp #7476, no cutting": (
        {"tokenizer": {"pre": None}},
        "does not say how texts are cut into words .*gguf-new-metadata --pre-tokenizer",
    ),
    "ollama #17698, the default cutting": (
        {"tokenizer": {"pre": "default"}},
        "does not say how texts are cut into words",
    ),
    "a tensor that nothing uses": (
        {"tensors": {"blk.0.attn_q_norm.weight": np.ones(16)}},
        r"its tensor blk\.0\.attn_q_norm\.weight is not read here",
    ),
    "a key that nothing uses": (
        {"keys": {"logit_scale": 0.5}},
        r"its key llama\.logit_scale = 0\.5 is not read here",
    ),
    "experts in the architecture llama": (
        {"keys": {"expert_count": 8}},
        r"its key llama\.expert_count = 8 is not read here",
    ),
    "an unknown scaling": (
        {"keys": {"rope.scaling.type": "spiral", "rope.scaling.factor": 2.0}},
        r"rope\.scaling\.type = spiral is not read here",
    ),
    "a share that the family cannot rotate": (
        {"architecture": "qwen2", "keys": {"rope.dimension_count": 8}},
        r"qwen2\.rope\.dimension_count = 8 is not the size of a head \(16\)",
    ),
    "Falcon 40B's order of weights": (
        {"architecture": "falcon", "keys": {"attention.head_count_kv": 2}},
        r"falcon\.attention\.head_count_kv = 2 is not read here",
    ),
    "a size that the weights contradict": (
        {"keys": {"feed_forward_length": 96}},
        r"its tensor for model\.layers\.0\.mlp\.\w+\.weight has the shape",
    ),
    "an unknown key of the tokenizer": (
        {"tokenizer": {"normalizer": "lower"}},
        r"tokenizer\.ggml\.normalizer is not read here",
    ),
    "Gemma with a space before texts": (
        {"architecture": "gemma2", "vocabulary": sentencepiece},
        "tokenizer.ggml.add_space_prefix is false",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_carried_over_is_refused_by_name_and_leaves_no_folder(
    case: str, write: Write, tmp_path: Path
) -> None:
    said, message = REFUSED[case]
    if "vocabulary" in said:
        said = said | {"vocabulary": said["vocabulary"]()}
    path = write(**said)
    with pytest.raises(UserError, match=message):
        locate(str(path))
    assert [one for one in tmp_path.rglob("*") if one.is_dir() and one.name != "cache"] == [
        tmp_path / "cache" / "worldprobe",
        tmp_path / "cache" / "worldprobe" / "models",
    ]


def test_another_architecture_is_refused_with_those_that_are_read(
    write: Write, tmp_path: Path
) -> None:
    path = write()
    content = path.read_bytes().replace(b"llama", b"lxama")
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"architecture lxama .* qwen3moe, stablelm, starcoder2"):
        import_(path)


@pytest.mark.parametrize(
    ("tokenizer", "vocabulary", "count"),
    [
        ({}, byte_level, 1),
        ({"add_bos_token": False}, byte_level, 0),
        ({"pre": "qwen2"}, byte_level, 0),
        ({"pre": "qwen2", "add_bos_token": True}, byte_level, 1),
        ({}, sentencepiece, 1),
        ({"add_bos_token": False}, sentencepiece, 0),
    ],
)
def test_llama_cpp_4040_every_tool_that_reads_the_folder_adds_the_same_start_token(
    tokenizer: dict[str, Any],
    vocabulary: Callable[[], dict[str, Any]],
    count: int,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    uncompared(monkeypatch)
    folder = import_(write(vocabulary=vocabulary(), tokenizer=tokenizer))
    start = vocabulary()["bos_token_id"]
    by_transformers = transformers.AutoTokenizer.from_pretrained(folder)
    ids = by_transformers("The piano")["input_ids"]
    assert ids.count(start) == count
    assert ids[:1] == [start][:count] or not count
    by_tokenizers = tokenizers.open_tokenizer(str(folder), "tiny")
    assert by_tokenizers("The piano")["input_ids"] == ids
    assert by_tokenizers.states_start is bool(count)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    assert settings["add_bos_token"] is bool(count)
    before = open_engine(str(folder)).facts.bos["before_text"]
    assert before == [vocabulary()["tokens"][start]] * count


@needs_llama_cpp
def test_a_folder_with_other_numbers_than_llama_cpp_is_refused(
    write: Write, tmp_path: Path
) -> None:
    path = write()
    folder = import_(path)
    config = json.loads((folder / "config.json").read_text())
    config["rope_parameters"]["rope_theta"] = 100.0
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"log probabilities that are \d\.\d+ nats from llama"):
        llama_cpp.compare(path, folder, "ALL_F32")
    settings = json.loads((folder / "tokenizer.json").read_text())
    settings["post_processor"] = None
    (folder / "tokenizer.json").write_text(json.dumps(settings))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "TokenizersBackend"}')
    with pytest.raises(UserError, match="has other tokens here than in llama"):
        llama_cpp.compare(path, folder, "ALL_F32")


def test_weights_in_several_files_are_the_same(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    uncompared(monkeypatch)
    path = write("qwen3moe")
    whole = logits(import_(path))
    monkeypatch.setattr(gguf, "SHARD", 50_000)
    other = path.parent / "other"
    gguf.import_file(path, other)
    assert len(list(other.glob("model-*-of-*.safetensors"))) > 3
    assert torch.equal(whole, logits(other))
    assert locate(str(other)).digest()


def test_a_tensor_is_read_piece_by_piece(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    file = gguf_file.read_gguf(write())
    tensor = next(one for one in file.tensors if one.name == "token_embd.weight")
    whole = file.values(tensor)
    monkeypatch.setattr(gguf_file, "PIECE", 1000)
    assert np.array_equal(file.values(tensor), whole)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_file_that_ends_too_early_is_refused(share: float, write: Write) -> None:
    path = write()
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(UserError, match="is not a whole GGUF file of a model"):
        import_(path)
