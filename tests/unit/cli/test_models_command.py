"""``models``: the registry is listed and planned without anything heavy, and fetching refuses in
words that can be acted on.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
import yaml

from worldprobe.cli import main
from worldprobe.errors import UserError
from worldprobe.models.checkpoint import Checkpoint, ensure_unchanged, fetch, locate, short_name
from worldprobe.models.registry import availability
from worldprobe.operations.resources import list_requests

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


def test_list_says_where_each_model_stands(registry, capsys):
    assert main(["models", "list", "--registry", str(registry)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["model", "tiny", "vast", "own"]
    assert lines[1].endswith("to be fetched")
    assert lines[3].endswith("trained by a study")


def test_plan_counts_gpus_and_their_share_of_the_weights(registry, capsys):
    assert main(["models", "plan", "--registry", str(registry), "--models", "vast,own"]) == 0
    out = capsys.readouterr().out
    assert "141.1" in out
    assert "35.3" in out
    [half] = list_requests(
        {"vast": {"parameters": 70_553_706_496, "dtype": "bfloat16", "engine": "vllm"}},
        ["vast"],
        gpu_memory_gb=40,
    )
    assert (half.gpus, half.tensor_parallel) == (8, 8)
    assert main(["models", "plan", "--registry", str(registry), "--models", "vats"]) == 2
    assert 'did you mean "vast"' in capsys.readouterr().err


def test_a_model_is_planned_for_as_many_attempts_as_the_profile_makes_each_longer_than_the_last(
    repository,
):
    [one] = list_requests({"one": {"parameters": 7e9}}, ["one"])
    assert (
        len(one.minutes)
        == yaml.safe_load((repository / "slurm" / "config.yaml").read_text())["retries"] + 1
    )
    assert sorted(set(one.minutes)) == list(one.minutes)


def hub_says(monkeypatch, error=None, files=()):
    """Put an answer in the place of the hub."""

    def model_info(self, name, revision=None):
        if error is not None:
            raise error
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=file) for file in files])

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", model_info)


def refusal(kind):
    import huggingface_hub.errors as errors

    kind_of_error = getattr(errors, kind)
    error = kind_of_error.__new__(kind_of_error)
    error.args = ("refused",)
    return error


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("GatedRepoError", ["https://huggingface.co/someone/tiny", "HF_TOKEN"]),
        ("RepositoryNotFoundError", ["spelling", "HF_TOKEN"]),
        ("RevisionNotFoundError", ["revision"]),
        ("OfflineModeIsEnabled", ["HF_HUB_OFFLINE"]),
        ("LocalEntryNotFoundError", ["reaches"]),
    ],
)
def test_a_model_that_cannot_be_fetched_says_what_to_do(registry, monkeypatch, kind, words):
    hub_says(monkeypatch, refusal(kind))
    with pytest.raises(UserError) as refused:
        fetch("someone/tiny", revision="main")
    assert all(word in str(refused.value) for word in words)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["gpt2"], "gpt2"),
        (["--checkpoint", "gpt2"], "gpt2"),
        (["hub:gpt2"], "hub:gpt2"),
        (["a/b"], "a/b"),
        (["tiny"], "someone/tiny"),
        (["--checkpoint", "tiny"], "tiny"),
    ],
)
def test_a_hub_id_needs_no_slash_and_a_name_of_the_registry_means_its_checkpoint(
    registry, monkeypatch, words, name
):
    asked = []

    def note(*given, **known):
        asked.append(given[0])
        raise UserError("the hub", "is not asked here.", "Stop.")

    monkeypatch.setattr("worldprobe.cli.models.fetch", note)
    assert main(["models", "fetch", *words, "--registry", str(registry)]) == 2
    assert asked == [name]


def test_a_model_on_a_server_is_not_said_to_be_fetched():
    assert availability({"engine": "openai", "checkpoint": "served"}) == "on a server"


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
    assert main(["models", "fetch", "tiny", "--registry", str(registry), "--out", str(out)]) == 0
    assert not any("bin" in pattern or "py" in pattern for pattern in asked["patterns"])
    facts = json.loads(out.read_text())
    assert facts["revision"] == commit
    assert locate("someone/tiny").digest() == facts["digest"]
    assert main(["models", "list", "--registry", str(registry)]) == 0
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


def test_a_revision_of_a_folder_is_ignored_with_a_warning(tmp_path, tiny_checkpoint, caplog):
    folder = str(tiny_checkpoint())
    locate(folder, "main")
    assert not caplog.records
    locate(folder, "v1.0")
    assert "revision v1.0 is ignored" in caplog.text


def test_a_folder_named_by_dots_has_its_own_name_in_tables(tmp_path, monkeypatch):
    (tmp_path / "mine/inner").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "mine")
    assert [short_name(name) for name in (".", "./", "inner/..", "inner", "hub:someone/tiny")] == [
        "mine"
    ] * 3 + ["inner", "tiny"]
