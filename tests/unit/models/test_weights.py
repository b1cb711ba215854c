"""Which weights a folder means, whether all of them are there, and what is said of their precision.

Each test rebuilds a public report with tiny models: what is refused, or the numbers.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from safetensors.torch import load_file, save_file  # noqa: E402

from worldprobe.errors import UserError  # noqa: E402
from worldprobe.models import loading, vllm_engine  # noqa: E402
from worldprobe.models.checkpoint import locate  # noqa: E402
from worldprobe.models.engine import Loglikelihood  # noqa: E402
from worldprobe.models.transformers_engine import open_engine  # noqa: E402
from worldprobe.models.weights import quantisation_of  # noqa: E402

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
    """Makes an adapter of a base; seeds make different ones. Its folder has no tokenizer, as most
    on the hub.
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


@pytest.mark.parametrize(
    ("family", "kind", "loader"),
    [
        ("bert", "masked", "AutoModelForMaskedLM"),
        ("t5", "encoder-decoder", "AutoModelForSeq2SeqLM"),
    ],
)
def test_adapters_of_masked_and_encoder_decoder_models(
    gap_checkpoint: Any, adapt: Made, tmp_path: Path, family: str, kind: str, loader: str
) -> None:
    """huggingface/peft #1381, for the other kinds of models."""
    base = gap_checkpoint(family)
    adapter = adapt(base, kind=loader)
    whole = merged(base, adapter, tmp_path / "merged", loader)
    expected = scores(whole, kind=kind)
    assert scores(adapter, kind=kind) == pytest.approx(expected, abs=5e-3)
    with pytest.raises(UserError, match="beside the weights of a whole model"):
        scores(beside(whole, adapter), kind=kind)
    assert scores(whole, kind=kind, adapter="none") == pytest.approx(expected, abs=1e-3)


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


def test_an_adapter_whose_base_is_not_here_names_it(base: Path, adapt: Made) -> None:
    """nlp-uoregon/mlmm-evaluation #10."""
    adapter = adapt(base)
    for named, words in (("nobody/no-such-base", "nobody/no-such-base"), (None, "names no base")):
        change(adapter / "adapter_config.json", base_model_name_or_path=named)
        with pytest.raises(UserError, match=words) as raised:
            locate(str(adapter))
        assert f"--adapter {adapter}" in raised.value.fix
    assert locate(str(base), adapter=str(adapter)).base == str(base)


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


def refuses(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str, **how: Any) -> None:
    """Both engines refuse, with these words."""
    monkeypatch.setattr(vllm_engine, "installed_package", lambda: "vllm")
    for engine in (open_engine, vllm_engine.open_engine):
        with pytest.raises(UserError) as raised:
            engine(str(folder), **how)
        assert all(word in str(raised.value) for word in words), raised.value


def test_a_stray_file_beside_the_shards_of_an_index_is_refused(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blaizzy/mlx-vlm #1464: transformers took model.safetensors, vLLM the index."""
    shards(base)
    refuses(base, monkeypatch, "model.safetensors", "index.json", "two sets")
    (base / "model.safetensors.index.json").unlink()
    refuses(base, monkeypatch, "model.safetensors", "00001-of-00002", "two sets")
    (base / "model.safetensors").rename(base / "model.part")
    refuses(base, monkeypatch, "neither model.safetensors nor")


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


def test_tensors_that_scores_do_not_need_are_ignored(base: Path) -> None:
    expected = scores(base)
    weights = load_file(base / "model.safetensors")
    harmless = (
        "model.layers.0.self_attn.rotary_emb.inv_freq",
        "model.layers.1.self_attn.bias",
        "score.weight",
        "v_head.0.bias",
    )
    for name in harmless:
        weights[name] = torch.ones(4)
    save_file(weights, base / "model.safetensors", metadata={"format": "pt"})
    assert scores(base) == expected


def test_an_adapter_beside_shards_of_any_name_is_refused_until_one_is_meant(
    base: Path, adapt: Made
) -> None:
    expected, adapter = scores(base), adapt(base)
    whole = Path(shutil.copytree(base, base.parent / "whole"))
    (whole / "model.safetensors").rename(whole / "part.safetensors")
    index = dict.fromkeys(load_file(whole / "part.safetensors"), "part.safetensors")
    (whole / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": index})
    )
    for path in adapter.glob("adapter_*"):
        shutil.copy(path, whole)
    with pytest.raises(UserError, match="beside the weights of a whole model"):
        scores(whole)
    assert scores(whole, adapter="none") == expected


def test_the_shards_alone_are_scored(base: Path) -> None:
    """Blaizzy/mlx-vlm #1464."""
    before = scores(base)
    shards(base)
    (base / "model.safetensors").unlink()
    assert scores(base) != pytest.approx(before, abs=0.1)


@pytest.mark.parametrize(
    "name", ["old.safetensors", "model.fp16.safetensors", "consolidated.safetensors"]
)
def test_further_safetensors_with_the_models_tensors_are_refused(
    base: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Variations of Blaizzy/mlx-vlm #1464: vLLM reads all files where there is no index."""
    weights = load_file(base / "model.safetensors")
    save_file({key: weight + 0.1 for key, weight in weights.items()}, base / name)
    refuses(base, monkeypatch, "model.safetensors", name)


def test_mistrals_own_format_beside_that_of_transformers_is_refused_where_it_has_other_numbers(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mistral publishes each model in both formats; a fine-tuned one may lie beside the base's
    consolidated file.
    """
    before, weights = scores(base), load_file(base / "model.safetensors")
    theirs = {"norm.weight": weights["model.norm.weight"], "rope": torch.ones(2)}
    theirs["layers.1.feed_forward.w2.weight"] = weights["model.layers.1.mlp.down_proj.weight"]
    save_file(theirs, base / "consolidated.safetensors")
    assert scores(base) == pytest.approx(before, abs=1e-3)
    folder = locate(str(base)).folder_to_load()
    assert [path.name for path in folder.glob("*.safetensors")] == ["model.safetensors"]
    save_file(
        theirs | {"layers.1.feed_forward.w2.weight": theirs["layers.1.feed_forward.w2.weight"] + 1},
        base / "consolidated.safetensors",
    )
    refuses(base, monkeypatch, "model.safetensors", "consolidated.safetensors")
    (base / "model.safetensors").unlink()
    refuses(base, monkeypatch, "Mistral's own format")


def test_pickles_beside_safetensors_are_not_read_and_this_is_said(
    base: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """CoSER #3: a pytorch_model.bin of another model in the folder."""
    before = scores(base)
    torch.save({"other": torch.ones(2)}, base / "pytorch_model.bin")
    with caplog.at_level(logging.WARNING, "worldprobe"):
        assert scores(base, allow_pickle=True) == pytest.approx(before, abs=1e-3)
    assert "model.safetensors; not pytorch_model.bin" in caplog.text
    assert "pytorch_model.bin" in open_engine(str(base)).facts.notes["weights"]


def test_two_sets_of_pickles_are_refused(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blaizzy/mlx-vlm #1464, for pickles."""
    shards(base, "bin")
    torch.save(load_file(base / "model.safetensors"), base / "pytorch_model.bin")
    (base / "model.safetensors").unlink()
    refuses(
        base, monkeypatch, "pytorch_model.bin", "pytorch_model.bin.index.json", allow_pickle=True
    )


def test_a_changed_blob_of_the_hubs_cache_is_noticed_and_an_unchanged_one_is_read_once(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """huggingface/lighteval #1364, EleutherAI/lm-evaluation-harness #4063."""
    from worldprobe.files import digest_file

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("worldprobe.models.weights.LARGE", 0)
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


@pytest.mark.parametrize("prefix", ["_orig_mod.", "module."])
def test_a_prefix_that_wrappers_write_is_named(base: Path, prefix: str) -> None:
    """torch.compile and DataParallel rename all weights when a wrapped model is saved
    (pytorch/pytorch #101107).
    """
    weights = {
        prefix + name: weight for name, weight in load_file(base / "model.safetensors").items()
    }
    save_file(weights, base / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=prefix):
        scores(base)


QUANTISED = {
    "gptq": ({"quant_method": "gptq", "bits": 4}, "gptqmodel", "4 bit"),
    "awq": ({"quant_method": "awq", "bits": 4}, "gptqmodel", "4 bit"),
    "compressed": (
        {
            "quant_method": "compressed-tensors",
            "config_groups": {"g": {"weights": {"num_bits": 4}}},
        },
        "compressed-tensors",
        "4 bit",
    ),
    "nf4": (
        {
            "quant_method": "bitsandbytes",
            "load_in_4bit": True,
            "bnb_4bit_compute_dtype": "bfloat16",
        },
        "bitsandbytes",
        "4 bit",
    ),
}


@pytest.mark.parametrize("method", QUANTISED)
def test_quantised_weights_name_the_package_that_reads_them(
    base: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """ModelCloud/GPTQModel #1561, casper-hansen/AutoAWQ #47."""
    config, package, bits = QUANTISED[method]
    change(base / "config.json", quantization_config=config)
    monkeypatch.setattr(loading, "_is_installed", lambda module: False)
    with pytest.raises(UserError, match=f"pip install {package}") as raised:
        scores(base)
    assert bits in raised.value.problem


def test_llm_int8_is_refused_for_its_batches_not_called_masked(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bitsandbytes 8 bit: outliers are picked over all that is computed together."""
    change(
        base / "config.json",
        quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True},
    )
    refuses(base, monkeypatch, "LLM.int8", "batch", "bitsandbytes")
    assert (
        quantisation_of(
            {"quantization_config": {"load_in_8bit": True, "llm_int8_threshold": 0.0}}
        ).is_int8
        is False
    )


def test_a_library_s_message_ends_before_the_advice_begins(base: Path) -> None:
    change(base / "config.json", hidden_act="none such")
    with pytest.raises(UserError, match="none such") as raised:
        scores(base)
    assert raised.value.problem.endswith(".")


def test_a_method_of_quantisation_that_transformers_does_not_know_is_named(base: Path) -> None:
    """ModelCloud/GPTQModel #1561: weights of an unknown method were taken as they are."""
    change(base / "config.json", quantization_config={"quant_method": "squeezellm"})
    with pytest.raises(UserError, match="squeezellm"):
        scores(base)


def test_git_lfs_pointers_are_named(base: Path) -> None:
    """huggingface/transformers #27923."""
    for name in ("tokenizer.json", "model.safetensors", "config.json"):
        kept = (base / name).read_bytes()
        (base / name).write_text(
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
        )
        with pytest.raises(UserError, match=r"git lfs pull"):
            locate(str(base))
        (base / name).write_bytes(kept)


def test_a_folder_of_the_hubs_cache_names_the_hub_id_and_the_snapshot(
    base: Path, tmp_path: Path
) -> None:
    """facebookresearch/oumi #2523."""
    snapshot = tmp_path / "models--acme--tiny" / "snapshots" / "abc"
    shutil.copytree(base, snapshot)
    for place in (snapshot.parent, snapshot.parents[1]):
        with pytest.raises(UserError) as raised:
            locate(str(place))
        assert "acme/tiny" in raised.value.fix
        assert str(snapshot) in raised.value.fix


def test_mxfp4_is_said_and_computed_in_the_precision_that_is_asked_for(
    tiny_checkpoint: Any, tmp_path: Path
) -> None:
    """huggingface/transformers #39993: experts stayed in bfloat16 where float32 was asked for and
    stated.
    """
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_checkpoint())
    torch.manual_seed(0)
    config = transformers.GptOssConfig(
        **{
            "vocab_size": len(tokenizer),
            "hidden_size": 64,
            "intermediate_size": 64,
            "num_hidden_layers": 1,
        },
        **{
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "num_local_experts": 2,
        },
        **{"num_experts_per_tok": 1, "max_position_embeddings": 128, "initializer_range": 0.3},
        **{"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0},
    )
    model = transformers.GptOssForCausalLM(config).eval()
    packed, plain = {}, {}
    for name, weight in model.state_dict().items():
        if "experts" in name and name.endswith("_proj"):
            # 0x22 is twice 1.0 in four bits; the scale 127 means 2 to the power of 0, 126 half of
            # it.
            experts, rows, columns = weight.shape
            packed[f"{name}_blocks"] = torch.full(
                (experts, columns, rows // 32, 16), 0x22, dtype=torch.uint8
            )
            packed[f"{name}_scales"] = torch.randint(
                121, 124, (experts, columns, rows // 32), dtype=torch.uint8
            )
            values = (packed[f"{name}_scales"].float() - 127).exp2().repeat_interleave(32, 2)
            plain[name] = values.transpose(1, 2).contiguous()
        else:
            packed[name] = plain[name] = weight.contiguous()
    folders = [tmp_path / "plain", tmp_path / "packed"]
    for folder, weights in zip(folders, (plain, packed), strict=True):
        tokenizer.save_pretrained(folder)
        model.save_pretrained(folder)
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    skipped = [
        "model.layers.*.self_attn",
        "model.layers.*.mlp.router",
        "model.embed_tokens",
        "lm_head",
    ]
    change(
        folders[1] / "config.json",
        quantization_config={"quant_method": "mxfp4", "modules_to_not_convert": skipped},
    )
    engine = open_engine(str(folders[1]))
    assert {weight.dtype for weight in engine.model.parameters()} == {torch.float32}
    assert engine.facts.quantisation == "mxfp4, dequantised"
    assert "quantisation" in engine.facts.identity()
    assert scores(folders[1]) == pytest.approx(scores(folders[0]), abs=1e-4)


def test_weights_in_another_precision_than_asked_for_are_said(
    gap_checkpoint: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """T5 keeps some weights in float32 (huggingface/transformers #20287)."""
    with caplog.at_level(logging.WARNING, "worldprobe"):
        engine = open_engine(str(gap_checkpoint("t5")), dtype="float16", kind="encoder-decoder")
    assert engine.facts.notes["precision"] == "float16, float32"
    assert "asked for in float16" in caplog.text


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


def mistral3(vocabulary: int) -> Any:
    size = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "head_dim": 8,
    }
    text = transformers.MistralConfig(
        vocab_size=vocabulary, num_key_value_heads=2, bos_token_id=0, eos_token_id=0, **size
    )
    text.initializer_range = 0.3
    vision = transformers.PixtralVisionConfig(**(size | {"image_size": 28, "patch_size": 14}))
    config = transformers.Mistral3Config(
        text_config=text, vision_config=vision, image_token_index=vocabulary - 1
    )
    return transformers.Mistral3ForConditionalGeneration(config)


def gemma3(vocabulary: int) -> Any:
    size = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    text = {
        "vocab_size": vocabulary,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "initializer_range": 0.3,
        **size,
    }
    vision = {**size, "image_size": 28, "patch_size": 14}
    ids = {
        "image_token_index": vocabulary - 1,
        "boi_token_index": vocabulary - 2,
        "eoi_token_index": vocabulary - 3,
    }
    config = transformers.Gemma3Config(
        text_config=text, vision_config=vision, mm_tokens_per_image=1, **ids
    )
    config.text_config.bos_token_id = config.text_config.eos_token_id = 0
    return transformers.Gemma3ForConditionalGeneration(config)


@pytest.mark.parametrize("build", [mistral3, gemma3])
def test_text_of_a_model_of_texts_and_images_is_scored_as_its_own_class_does(
    tiny_checkpoint: Any, tmp_path: Path, build: Callable[[int], Any]
) -> None:
    """EleutherAI/lm-evaluation-harness #3483, UKGovernmentBEIS/inspect_ai #4438."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_checkpoint())
    torch.manual_seed(0)
    model = build(len(tokenizer)).eval()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    ids = tokenizer("Ana lifts the heavy crate. Ana drops the crate.")["input_ids"]
    start = len(tokenizer("Ana lifts the heavy crate.")["input_ids"])
    with torch.no_grad():
        expected = torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0].double(), -1)
    engine = open_engine(str(tmp_path))
    [(_, scored)] = engine.score(QUERIES[:1])
    assert scored.logprob == pytest.approx(
        sum(expected[i - 1, ids[i]].item() for i in range(start, len(ids))), abs=1e-3
    )


def test_tokens_that_were_added_before_an_adapter_was_trained_have_their_embeddings(
    base: Path, tmp_path: Path
) -> None:
    """Chat tokens in adapters, huggingface/peft #1381 and #325: embeddings are saved with the
    adapter.
    """
    model = transformers.AutoModelForCausalLM.from_pretrained(base)
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    model.resize_token_embeddings(len(tokenizer))
    found = peft.get_peft_model(model, peft.LoraConfig(target_modules="all-linear"))
    for place in (tmp_path / "adapter", tmp_path / "merged"):
        (found if place.name == "adapter" else found.merge_and_unload()).save_pretrained(place)
        tokenizer.save_pretrained(place)
    assert scores(tmp_path / "adapter") == pytest.approx(scores(tmp_path / "merged"), abs=1e-3)
    path = tmp_path / "adapter" / "adapter_model.safetensors"
    kept = {name: weight for name, weight in load_file(path).items() if "lm_head" not in name}
    save_file(kept, path)
    with pytest.raises(UserError, match="size mismatch"):
        scores(tmp_path / "adapter")


def test_tables_and_results_name_adapter_and_quantisation(
    base: Path, adapt: Made, tmp_path: Path
) -> None:
    """huggingface/transformers #39993 and huggingface/peft #309, as a reader sees them."""
    from worldprobe.models.checkpoint import made_by_model
    from worldprobe.report.crate import TableOrigin, model_rows
    from worldprobe.report.model_names import Roster

    facts = open_engine(str(base), adapter=str(adapt(base))).facts
    facts = replace(facts, quantisation="mxfp4", notes={"precision": "bfloat16, float32"})
    made = made_by_model(facts, 1, "tiny", {}, {"answers": {"made_by": []}})
    assert {"checkpoint", "adapter", "base"} <= made.inputs.keys()
    stated = made.of_model()
    assert (stated["quantisation"], stated["adapter"]["name"]) == (
        "mxfp4",
        str(tmp_path / "adapter"),
    )
    [row] = model_rows([TableOrigin("scores", tmp_path, made)], ("scores",), Roster())
    assert row["dtype"] == "float32, mxfp4, weights in bfloat16, float32"
    assert row["checkpoint"] == f"{base} + adapter {tmp_path / 'adapter'}"


def test_a_card_and_a_command_name_the_adapter(base: Path, adapt: Made, tmp_path: Path) -> None:
    """huggingface/peft #309: whatever takes a checkpoint takes its adapter."""
    from worldprobe.cli.engines import ModelOptions
    from worldprobe.cli.engines import open_engine as opened
    from worldprobe.models.registry import loading_options
    from worldprobe.operations.settings import model_files
    from worldprobe.settings import read_registry

    adapter = adapt(base)
    card = {
        "checkpoint": str(base),
        "adapter": str(adapter),
        "family": "tiny",
        "display_name": "Tiny",
    }
    (tmp_path / "models.yaml").write_text(
        json.dumps({"tiny": card, "alone": card | {"checkpoint": str(adapter), "adapter": None}})
    )
    registry = read_registry(tmp_path / "models.yaml")
    assert loading_options(registry["tiny"])[-2:] == ["--adapter", str(adapter)]
    for model in ("tiny", "alone"):
        files = {Path(path) for path in model_files(registry[model])}
        assert {adapter / "adapter_model.safetensors", base / "model.safetensors"} <= files
    options = ModelOptions(checkpoint=str(base), adapter=str(adapter))
    assert options.name == "adapter"
    assert opened(options).facts.checkpoint_digest == locate(str(adapter)).digest()
    (tmp_path / "models.yaml").write_text(json.dumps({"tiny": card | {"engine": "vllm"}}))
    with pytest.raises(UserError, match=r"vLLM.*Merge"):
        read_registry(tmp_path / "models.yaml")


def test_adapter_and_base_are_found_in_the_hubs_cache_and_fetched_together(
    base: Path, adapt: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nlp-uoregon/mlmm-evaluation #10: the base of an adapter was looked for on the hub while
    scoring.
    """
    from worldprobe.models import checkpoint

    adapter = adapt(base)
    change(adapter / "adapter_config.json", base_model_name_or_path="acme/base")
    places = {"acme/base": base, "acme/lora": adapter}
    fetched = []
    monkeypatch.setattr(checkpoint, "_cached_snapshot", lambda name, revision: places[name])
    monkeypatch.setattr(
        checkpoint, "_download", lambda name, *rest: (fetched.append(name), places[name])[1]
    )
    assert checkpoint.fetch("acme/lora").base == "acme/base"
    assert checkpoint.fetch("acme/base", adapter="acme/lora").base == "acme/base"
    assert fetched == ["acme/lora", "acme/base", "acme/base", "acme/lora"]
    assert (
        open_engine("acme/lora").facts.checkpoint_digest
        == open_engine("acme/base", adapter="acme/lora").facts.checkpoint_digest
    )
