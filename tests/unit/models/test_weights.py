"""Which weights a folder means, whether all of them are there, and what is said of their precision.

Each test rebuilds a public report with tiny models: what is refused, or the numbers.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from safetensors.torch import load_file, save_file  # noqa: E402

from worldprobe.errors import UserError  # noqa: E402
from worldprobe.models import vllm_engine  # noqa: E402
from worldprobe.models.checkpoint import locate  # noqa: E402
from worldprobe.models.engine import Loglikelihood  # noqa: E402
from worldprobe.models.transformers_engine import open_engine  # noqa: E402

QUERIES = [
    Loglikelihood("Ana lifts the heavy crate.", "Ana drops the crate."),
    Loglikelihood(None, "Ben paints the lamp."),
]
Made = Callable[..., Path]


def scores(folder: Path, **how: Any) -> list[float | None]:
    engine = open_engine(str(folder), **how)
    return [one.logprob for _, one in sorted(engine.score(QUERIES), key=lambda pair: pair[0])]


def change(path: Path, **keys: Any) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(document | keys), encoding="utf-8")


@pytest.fixture
def base(tiny_checkpoint: Any, tmp_path: Path) -> Path:
    """A copy of a Llama of a few thousand weights."""
    return Path(shutil.copytree(tiny_checkpoint("llama"), tmp_path / "base"))


@pytest.fixture
def adapt(tmp_path: Path) -> Made:
    """Makes an adapter of a base; seeds make different ones. Its folder has no tokenizer, as
    most on the hub.
    """

    def make(
        base: Path, seed: int = 5, kind: str = "AutoModelForCausalLM", name: str = "adapter"
    ) -> Path:
        model = getattr(transformers, kind).from_pretrained(base)
        torch.manual_seed(seed)
        found = peft.get_peft_model(
            model, peft.LoraConfig(r=4, lora_alpha=32, target_modules="all-linear")
        )
        for key, weight in found.named_parameters():
            if "lora_B" in key:
                torch.nn.init.normal_(weight, std=0.3)
        found.save_pretrained(tmp_path / name)
        return tmp_path / name

    return make


def merged(base: Path, adapter: Path, out: Path, kind: str = "AutoModelForCausalLM") -> Path:
    shutil.copytree(base, out)
    model = peft.PeftModel.from_pretrained(
        getattr(transformers, kind).from_pretrained(base), adapter
    )
    model.merge_and_unload().save_pretrained(out)
    return out


def beside(whole: Path, adapter: Path) -> Path:
    """Put an adapter's files into the folder of a whole model, as trainings do."""
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        shutil.copy(adapter / name, whole)
    return whole


def test_an_adapter_alone_and_on_its_base_scores_as_the_two_merged(
    base: Path, adapt: Made, tmp_path: Path
) -> None:
    """huggingface/peft #309, nlp-uoregon/mlmm-evaluation #10."""
    adapter = adapt(base)
    expected = scores(merged(base, adapter, tmp_path / "merged"))
    assert scores(adapter) == pytest.approx(expected, abs=5e-3)
    assert scores(base, adapter=str(adapter)) == pytest.approx(expected, abs=5e-3)
    assert scores(base) != pytest.approx(expected, abs=0.1)


def test_merged_weights_with_their_adapter_beside_them_are_refused_by_every_engine_until_one_is_meant(
    base: Path, adapt: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """huggingface/peft #1381, unslothai/unsloth #289: the adapter was applied a second time."""
    adapter = adapt(base)
    whole = merged(base, adapter, tmp_path / "merged")
    expected = scores(whole)
    beside(whole, adapter)
    monkeypatch.setattr(vllm_engine, "installed_package", lambda: "vllm")
    for engine in (open_engine, vllm_engine.open_engine):
        with pytest.raises(UserError, match=r"adapter_config.json.*--adapter"):
            engine(str(whole))
    with pytest.raises(UserError, match=r"adapter.*vLLM.*[Mm]erge"):
        vllm_engine.open_engine(str(base), adapter=str(adapter))
    assert scores(whole, adapter="none") == pytest.approx(expected, abs=1e-3)
    assert scores(beside(base, adapter), adapter=str(base)) == pytest.approx(expected, abs=5e-3)


@pytest.mark.parametrize("spoil", ["gap", "shape", "none"])
def test_base_weights_that_are_absent_are_refused_with_an_adapter_too(
    base: Path, adapt: Made, spoil: str
) -> None:
    """Variation of huggingface/transformers #36480: the adapter's report took the place of the
    base's.
    """
    adapter = adapt(base)
    weights = load_file(base / "model.safetensors")
    if spoil == "gap":
        weights = {name: weight for name, weight in weights.items() if "layers.1.mlp" not in name}
    elif spoil == "shape":
        weights["model.norm.weight"] = torch.ones(5)
    else:
        weights = {"other": torch.ones(2)}
    save_file(weights, base / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"lacks|other shapes"):
        scores(adapter)
    with pytest.raises(UserError, match=r"lacks|other shapes"):
        scores(beside(base, adapter), adapter=str(base))


@pytest.mark.parametrize("spoil", ["absent", "unknown", "shape"])
def test_adapter_weights_that_find_no_place_are_refused(
    base: Path, adapt: Made, spoil: str
) -> None:
    """huggingface/transformers #36480, huggingface/sentence-transformers #3865."""
    adapter = adapt(base)
    weights = load_file(adapter / "adapter_model.safetensors")
    first = next(name for name in sorted(weights) if "lora_B" in name)
    weight = weights.pop(first)
    if spoil != "absent":
        weights[first if spoil == "shape" else first.replace("layers.0", "layers.7")] = (
            weight[1:] if spoil == "shape" else weight
        )
    if spoil == "unknown":
        weights[first] = weight.clone()
    save_file(
        {name: one.contiguous() for name, one in weights.items()},
        adapter / "adapter_model.safetensors",
    )
    with pytest.raises(UserError, match="adapter"):
        scores(adapter)


def test_two_adapters_of_one_base_never_share_answers_and_one_named_in_two_ways_does(
    base: Path, adapt: Made
) -> None:
    """EleutherAI/lm-evaluation-harness #4063, for adapters."""
    one, other = adapt(base), adapt(base, seed=6, name="other")
    facts = [
        open_engine(str(base), adapter=adapter and str(adapter)).facts
        for adapter in (None, one, other)
    ]
    assert len({json.dumps(each.identity()) for each in facts}) == 3
    alone = open_engine(str(one)).facts
    assert alone.identity() == facts[1].identity()
    assert alone.adapter is not None
    assert (alone.adapter["base"], alone.adapter["name"]) == (str(base), str(one))
    assert alone.adapter["base_digest"] == facts[0].checkpoint_digest


def test_the_tokenizer_that_was_saved_with_an_adapter_is_the_models(
    base: Path, adapt: Made, tiny_checkpoint: Any
) -> None:
    """Trainings save the tokenizer with its chat template next to the adapter."""
    adapter = adapt(base)
    assert locate(str(adapter)).tokenizer_folder == base
    for path in base.glob("tokenizer*"):
        shutil.copy(path, adapter)
    (adapter / "chat_template.jinja").write_text("{{ messages[0].content }}")
    found = locate(str(base), adapter=str(adapter))
    assert found.tokenizer_folder == adapter
    assert found.digest() != locate(str(base)).digest()
    assert open_engine(str(adapter)).facts.has_chat


class Harmful:
    """What runs code where its pickle is read without care."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.place,)


def test_weights_in_a_pickle_are_read_where_a_setting_allows_it_and_never_run_code(
    base: Path, tmp_path: Path
) -> None:
    expected = scores(base)
    tensors = load_file(base / "model.safetensors")
    (base / "model.safetensors").unlink()
    torch.save(tensors, base / "pytorch_model.bin")
    with pytest.raises(UserError, match="pickle") as refused:
        scores(base)
    assert "allow_pickle: true" in refused.value.fix
    assert scores(base, allow_pickle=True) == expected
    harmful = tensors | {"more": Harmful(tmp_path / "code was run")}
    torch.save(harmful, base / "pytorch_model.bin")
    with pytest.raises(UserError):
        scores(base, allow_pickle=True)
    assert not (tmp_path / "code was run").exists()


def shards(folder: Path, ending: str = "safetensors") -> None:
    """Split the weights in two, with an index."""
    weights = load_file(folder / "model.safetensors")
    stem = "model" if ending == "safetensors" else "pytorch_model"
    parts = {
        name: f"{stem}-0000{1 + (number % 2)}-of-00002.{ending}"
        for number, name in enumerate(sorted(weights))
    }
    for part in sorted(set(parts.values())):
        held = {name: weights[name] + 0.1 for name in weights if parts[name] == part}
        if ending == "safetensors":
            save_file(held, folder / part, metadata={"format": "pt"})
        else:
            torch.save(held, folder / part)
    (folder / f"{stem}.{ending}.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": parts})
    )


@pytest.mark.parametrize("spoil", ["a layer more", "biases", "a bias in a folder of shards"])
def test_weights_of_a_larger_model_than_the_configuration_describes_are_refused(
    base: Path, spoil: str
) -> None:
    weights = load_file(base / "model.safetensors")
    if spoil == "a layer more":
        change(base / "config.json", num_hidden_layers=1)
    else:
        weights["model.layers.0.self_attn.q_proj.bias"] = torch.ones(32)
    if "shards" in spoil:
        (base / "model.safetensors").unlink()
        for number, names in enumerate((sorted(weights)[::2], sorted(weights)[1::2]), 1):
            parts = {name: weights[name] for name in names}
            save_file(
                parts, base / f"model-0000{number}-of-00002.safetensors", metadata={"format": "pt"}
            )
        index = {
            name: f"model-0000{1 + place % 2}-of-00002.safetensors"
            for place, name in enumerate(sorted(weights))
        }
        (base / "model.safetensors.index.json").write_text(
            json.dumps({"metadata": {}, "weight_map": index})
        )
    else:
        save_file(weights, base / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match="of a larger model than"):
        scores(base)


def test_a_changed_blob_of_the_hubs_cache_is_noticed_and_an_unchanged_one_is_read_once(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """huggingface/lighteval #1364, EleutherAI/lm-evaluation-harness #4063."""
    from worldprobe.files import digest_file

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("worldprobe.models.weights.LARGE", 0)
    monkeypatch.setattr("worldprobe.models.weights.TICK", -1.0)
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    shutil.copytree(base, snapshot)
    blob = blobs / digest_file(snapshot / "model.safetensors")
    shutil.move(snapshot / "model.safetensors", blob)
    (snapshot / "model.safetensors").symlink_to(blob)
    read: list[Path] = []
    monkeypatch.setattr(
        "worldprobe.models.weights.digest_file",
        lambda path: (read.append(Path(path)), digest_file(path))[1],
    )
    checkpoint = locate(str(snapshot))
    assert checkpoint.digest() == checkpoint.digest() == locate(str(base)).digest()
    assert read.count(blob) == 1
    weights = load_file(blob)
    save_file({key: weight + 1 for key, weight in weights.items()}, blob, metadata={"format": "pt"})
    with pytest.raises(UserError, match="not the file that was fetched"):
        checkpoint.digest()


def test_a_large_file_is_read_again_once_it_changed_or_notes_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each start read weights and GGUF file whole: 1.3 GB of Gemma 3 270M."""
    from worldprobe.models import weights

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(weights, "LARGE", 3)
    read: list[str] = []
    whole = weights.digest_file
    monkeypatch.setattr(
        weights, "digest_file", lambda path: (read.append(Path(path).name), whole(path))[1]
    )
    large, small = tmp_path / "large", tmp_path / "small"
    large.write_text("large")
    small.write_text("s")
    first = weights.digest_of(large)  # written a moment ago: not yet worth a note
    monkeypatch.setattr(weights, "TICK", -1.0)
    assert {first, *(weights.digest_of(large) for _ in range(2))} == {whole(large)}
    assert read == ["large", "large"]
    dates = large.stat()
    large.write_text("other")
    os.utime(large, ns=(dates.st_atime_ns, dates.st_mtime_ns))  # as its name, size and date are
    assert weights.digest_of(large) == whole(large) != first
    assert [weights.digest_of(small) for _ in range(2)] == [whole(small)] * 2
    shutil.rmtree(tmp_path / "cache" / "worldprobe" / "verified")
    assert weights.digest_of(large) == whole(large)
    assert read == ["large"] * 3 + ["small"] * 2 + ["large"]


def test_a_damaged_note_is_no_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are no text ended the run; the state alone stood for an empty digest."""
    from worldprobe.models import weights

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(weights, "LARGE", 3)
    monkeypatch.setattr(weights, "TICK", -1.0)
    large = tmp_path / "large"
    large.write_text("large")
    right = weights.digest_of(large)
    (note,) = (tmp_path / "cache" / "worldprobe" / "verified").iterdir()
    state = note.read_text().partition(" ")[2]
    for damaged in (b"\xff\xfe", f" {state}".encode(), f"{right[:9]} {state}".encode()):
        note.write_bytes(damaged)
        assert weights.digest_of(large) == right
        assert note.read_text() == f"{right} {state}"


@pytest.mark.long
def test_a_start_imports_no_statistics_and_looks_rarely_for_garbage(base: Path) -> None:
    """SciPy came with losses of object detection; the garbage of a large vocabulary, which has
    none, took a fifth of a start.
    """
    code = (
        "import gc, sys; from worldprobe.cli import main; main(['--version'])\n"
        "assert gc.get_threshold()[0] >= 100_000\n"
        "from worldprobe.models.transformers_engine import open_engine; open_engine(sys.argv[1])\n"
        "assert not {'scipy', 'sklearn'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code, str(base)], check=True)


def test_texts_of_full_length_fit_where_positions_begin_behind_the_padding(
    gap_checkpoint: Any, tmp_path: Path
) -> None:
    """huggingface/transformers #14243: RoBERTa as a decoder."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(gap_checkpoint("roberta"))
    size = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer),
        is_decoder=True,
        max_position_embeddings=34,
        pad_token_id=1,
        **size,
    )
    torch.manual_seed(0)
    transformers.RobertaForCausalLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    engine = open_engine(str(tmp_path))
    assert engine.facts.max_length == 32
    [(_, scored)] = engine.score(
        [Loglikelihood("Ana lifts the heavy crate. " * 20, "Ana drops it.")]
    )
    assert "truncated" in scored.flags
    assert scored.n_read_tokens == 32
