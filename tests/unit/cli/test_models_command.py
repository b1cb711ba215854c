"""``models``: the registry is listed and planned without anything heavy, and fetching refuses
in words that can be acted on.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from safetensors.torch import load_file

from command_line import run
from worldprobe.errors import UserError
from worldprobe.models.checkpoint import Checkpoint, ensure_unchanged, fetch, locate
from worldprobe.models.engine_types import parameters_of

REGISTRY = """
tiny:
  checkpoint: someone/tiny
  family: gpt2
  parameters: 124000000
  display_name: Tiny
vast:
  checkpoint: someone/vast
  family: llama
  parameters: 70553706496
  dtype: bfloat16
  engine: vllm
  display_name: Vast
own:
  checkpoint: results/own
  family: control
  display_name: Own
  control: {architecture: gpt2, layers: 2, width: 64, heads: 2, steps: 0}
"""


@pytest.fixture
def registry(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    path = tmp_path / "models.yaml"
    path.write_text(REGISTRY)
    return path


def hub_says(monkeypatch, error=None, files=()):
    """Put an answer in the place of the hub."""

    def model_info(self, name, revision=None):
        if error is not None:
            raise error
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=file) for file in files])

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", model_info)


def test_fetch_takes_safetensors_only_and_scoring_finds_what_was_fetched(
    registry, monkeypatch, tmp_path, tiny_checkpoint, capsys
):
    hub_says(monkeypatch, files=["config.json", "pytorch_model.bin"])
    with pytest.raises(UserError, match="pickle"):
        fetch("someone/tiny")

    commit = "0123456789abcdef0123456789abcdef01234567"
    asked = {}

    def download(
        name, revision=None, local_files_only=False, allow_patterns=None, ignore_patterns=None
    ):
        snapshot = tmp_path / "hub" / "models--someone--tiny" / "snapshots" / commit
        if not local_files_only:
            asked.update(patterns=allow_patterns, revision=revision)
            snapshot.mkdir(parents=True)
            for file in tiny_checkpoint().iterdir():
                (snapshot / file.name).write_bytes(file.read_bytes())
        return str(snapshot)

    hub_says(monkeypatch, files=["config.json", "model.safetensors", "pytorch_model.bin"])
    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    out = tmp_path / "fetched.json"
    assert run(f"models fetch tiny --registry {registry} --out {out}") == 0
    assert not any("bin" in pattern or "py" in pattern for pattern in asked["patterns"])
    facts = json.loads(out.read_text())
    assert facts["revision"] == commit
    assert locate("someone/tiny").digest() == facts["digest"]
    assert run(f"models list --registry {registry}") == 0
    assert capsys.readouterr().out.splitlines()[2].endswith("fetched")


def test_a_snapshot_with_a_missing_part_is_refused(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "tokenizer.json").write_text("{}")
    parts = {"a": "model-1.safetensors", "b": "model-2.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": parts}))
    (tmp_path / "model-1.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match=r"1 of 2 weight files are missing, e.g. model-2"):
        locate(str(tmp_path))


def test_a_changed_weight_changes_the_digest_and_a_readme_does_not(tmp_path, tiny_checkpoint):
    for file in tiny_checkpoint().iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    before = locate(str(tmp_path)).digest()
    (tmp_path / "README.md").write_text("new")
    assert locate(str(tmp_path)).digest() == before
    weights = bytearray((tmp_path / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (tmp_path / "model.safetensors").write_bytes(weights)
    assert locate(str(tmp_path)).digest() != before


def test_weights_in_a_folder_of_their_own_are_part_of_the_digest(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/one.safetensors").write_bytes(b"old")
    (tmp_path / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": "parts/one.safetensors"}})
    )
    checkpoint = Checkpoint("here", tmp_path)
    before = checkpoint.digest()
    (tmp_path / "parts/one.safetensors").write_bytes(b"new")
    assert checkpoint.digest() != before


def test_weights_that_change_while_they_are_loaded_are_refused(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"old")
    checkpoint = Checkpoint("here", tmp_path)
    before = checkpoint.state()
    ensure_unchanged(checkpoint, before)
    (tmp_path / "model.safetensors").write_bytes(b"newer")
    with pytest.raises(
        UserError, match=r"model\.safetensors.*changed while the model was being loaded"
    ):
        ensure_unchanged(checkpoint, before)


def test_a_folder_is_planned_by_its_size(tiny_checkpoint, monkeypatch, capsys):
    """newcomer3, 11: it was taken for 7 billion parameters."""
    folder = tiny_checkpoint()
    assert run(f"models plan --models {folder}") == 0
    [row] = capsys.readouterr().out.splitlines()[1:]
    assert row.split()[:4] == [folder.name, "transformers", "float32", "0.0"]
    assert parameters_of({"checkpoint": str(folder)}) == sum(
        tensor.numel() for tensor in load_file(folder / "model.safetensors").values()
    )
