"""Fine-tuning by its command, with a model of some thousand weights and a few steps."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

import worldprobe
from worldprobe.benchmarks.worldsense.contracts import Trials
from worldprobe.cli import main
from worldprobe.contracts import read_table
from worldprobe.errors import UserError
from worldprobe.models.checkpoint import locate
from worldprobe.training.lessons import Material
from worldprobe.training.settings import Tuning
from worldprobe.training.tuning import (
    Curriculum,
    _run,
    add_matrices,
    last_checkpoint,
    lessons_per_pass,
    save_tuned,
)

TEXT = ("--chat", "never", "--prompt-set", "constrained")
SHORT = ("--steps", "8", "--warm-up", "2", "--learning-rate", "0.003")
FEW = {"batch": 8, "trials": 60}


def worldsense(*words: object) -> int:
    return main(["worldsense", *map(str, words)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A training set, also as dialogues, and an untrained model."""
    folder = tmp_path_factory.mktemp("tuning")
    some = (
        "--per-cell",
        "4",
        "--problems",
        "Infer.trivial",
        "--sizes",
        "3",
        "--skins",
        "train_trips",
        "train_race",
    )
    made = ("--dialogues-out", folder / "train.jsonl.gz", "--out", folder / "train.parquet")
    assert worldsense("generate", "train-10k", *some, *made) == 0
    start = (
        "--layers",
        "1",
        "--width",
        "32",
        "--heads",
        "2",
        "--vocabulary",
        "300",
        "--out",
        folder / "start",
    )
    assert worldsense("start-model", folder / "train.parquet", *start) == 0
    return folder


def tune(
    folder: Path, name: str, *options: object, train: str = "train.parquet", **settings: object
) -> Path:
    out = folder / name
    options = (*TEXT, *SHORT, *options, "--settings", json.dumps(FEW | settings), "--out", out)
    assert worldsense("finetune", folder / "start", folder / train, *options) == 0
    return out


@pytest.fixture(scope="module")
def tuned(folder: Path) -> Path:
    """The model fine-tuned with default options."""
    return tune(folder, "tuned")


def test_the_folder_is_a_model_with_card_provenance_and_record(tuned: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(tuned)
    assert AutoTokenizer.from_pretrained(tuned).eos_token == "<|endoftext|>"
    assert model.num_parameters() > 0
    made = json.loads((tuned / "provenance.json").read_text())
    assert {"checkpoint", "prompts", "train 1"} <= set(made["inputs"])
    card = (tuned / "README.md").read_text()
    assert 'base_model: "start"' in card
    assert "trained on WorldSense" in card
    assert made["inputs"]["train 1"] in card
    assert "worldprobe-worldsense-canary" in card
    record = pd.read_csv(tuned / "training.csv")
    assert record["step"].tolist() == list(range(1, 9))
    assert record["lessons"].tolist() == [8 * step for step in range(1, 9)]
    assert record["learning_rate"].iloc[0] == 0
    assert record["learning_rate"].max() == pytest.approx(0.003)
    assert record["loss"].iloc[-1] < record["loss"].iloc[0]


def test_it_can_be_asked_like_any_other_model(tuned: Path, folder: Path) -> None:
    out = folder / "responses.parquet"
    assert (
        worldsense(
            "ask",
            folder / "train.parquet",
            "--checkpoint",
            tuned,
            "--prompting",
            "constrained",
            "--out",
            out,
        )
        == 0
    )


def test_only_the_answer_and_the_end_count(folder: Path, tuned: Path) -> None:
    """The first loss is that of the answers of the first batch, computed by hand."""
    trials = read_table(folder / "train.parquet", Trials)
    record = pd.read_csv(tune(folder, "given", order="given", precision="float32") / "training.csv")
    tokenizer = AutoTokenizer.from_pretrained(folder / "start")
    model = AutoModelForCausalLM.from_pretrained(folder / "start").eval()
    words = {"Emmanuel": "TRUE", "Megi": "FALSE"}
    total, number = 0.0, 0
    for text, gold in trials[["text", "gold"]].head(8).itertuples(index=False):
        prompt = tokenizer(f"{text}\nAnswer:").input_ids
        ids = [*tokenizer(f"{text}\nAnswer: {words[gold]}").input_ids, tokenizer.eos_token_id]
        with torch.no_grad():
            scores = torch.log_softmax(model(torch.tensor([ids])).logits[0], -1)
        for place in range(len(prompt), len(ids)):
            total -= float(scores[place - 1, ids[place]])
            number += 1
    assert record["loss"].iloc[0] == pytest.approx(total / number, abs=2e-5)


def test_the_same_settings_give_the_same_bytes_and_another_seed_others(
    folder: Path, tuned: Path
) -> None:
    again = tune(folder, "again")
    assert (again / "model.safetensors").read_bytes() == (tuned / "model.safetensors").read_bytes()
    assert (again / "training.csv").read_bytes() == (tuned / "training.csv").read_bytes()
    other = tune(folder, "other", seed=1)
    assert (other / "model.safetensors").read_bytes() != (tuned / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    "settings", [{"packing": False}, {"per_pass": 2}, {"gradient_checkpointing": True}], ids=min
)
def test_what_saves_time_or_memory_moves_no_loss(
    folder: Path, tuned: Path, settings: dict[str, object]
) -> None:
    precisely = {"precision": "float32"}  # a GPU takes bfloat16 by default
    other = pd.read_csv(
        tune(folder, f"saving_{min(settings)}", **precisely, **settings) / "training.csv"
    )
    expected = pd.read_csv(
        (tuned if not torch.cuda.is_available() else tune(folder, "precise", **precisely))
        / "training.csv"
    )
    assert other["loss"].to_numpy() == pytest.approx(expected["loss"].to_numpy(), abs=1e-4)


@pytest.mark.parametrize(
    ("error", "problem", "fix"),
    [
        (
            (
                "put_cuda_kernel does not have a deterministic implementation, but you set "
                "'torch.use_deterministic_algorithms(True)'. You can turn off determinism"
            ),
            (
                "other numbers each time on a GPU: put_cuda_kernel does not have a deterministic"
                " implementation[.]$"
            ),
            "--gpus 0",
        ),
        (
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            "memory does not suffice",
            "per_pass",
        ),
    ],
)
def test_what_a_gpu_cannot_do_is_a_message(error: str, problem: str, fix: str) -> None:
    def train(resume_from_checkpoint: str | None) -> None:
        raise RuntimeError(error)

    with pytest.raises(UserError) as raised:
        _run(SimpleNamespace(train=train), None, "mine")
    assert re.search(problem, raised.value.problem)
    assert fix in raised.value.fix


def test_dialogues_of_the_same_trials_give_the_same_weights(folder: Path, tuned: Path) -> None:
    other = tune(folder, "dialogues", train="train.jsonl.gz")
    assert (other / "model.safetensors").read_bytes() == (tuned / "model.safetensors").read_bytes()


def test_lora_leaves_an_ordinary_model_whose_weights_moved(folder: Path) -> None:
    lora = tune(folder, "lora", tuning="lora", lora_rank=4)
    before, after = (
        load_file(folder / "start" / "model.safetensors"),
        load_file(lora / "model.safetensors"),
    )
    assert set(before) == set(after)
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved
    assert all("proj" in name for name in moved)
    assert "peft" in json.loads((lora / "provenance.json").read_text())["packages"]
    assert (lora / "model.safetensors").stat().st_mode == (lora / "config.json").stat().st_mode


def test_matrices_under_other_names_are_never_left_out_silently(
    folder: Path, tmp_path: Path
) -> None:
    """As FSDP's way of gradient checkpointing would name them."""
    base = AutoModelForCausalLM.from_pretrained(folder / "start")
    add_matrices(base, Tuning(steps=1, tuning="lora", lora_targets="q_proj")).save_pretrained(
        tmp_path / "final"
    )
    named = tmp_path / "final" / "adapter_model.safetensors"
    save_file(
        {
            name.replace(".self_attn", ".wrapped.self_attn"): weight
            for name, weight in load_file(named).items()
        },
        named,
    )
    checkpoint = locate(str(folder / "start"), None, False, False)
    with pytest.raises(UserWarning, match="adapter keys"):
        save_tuned(tmp_path / "final", checkpoint, {}, True, tmp_path / "out")


def test_bfloat16_trains_weights_in_float32(folder: Path) -> None:
    tuned = tune(folder, "bf", precision="bfloat16")
    assert load_file(tuned / "model.safetensors")["model.norm.weight"].dtype == torch.float32


def test_other_dialogues_are_mixed_in_at_their_share(folder: Path) -> None:
    lines = [
        {
            "messages": [
                {"role": "user", "content": f"What is {n} and 1?"},
                {"role": "assistant", "content": str(n + 1)},
            ]
        }
        for n in range(5)
    ]
    (folder / "others.jsonl").write_text("\n".join(map(json.dumps, lines)))
    mixed = tune(folder, "mixed", "--mix", folder / "others.jsonl", "--share", "0.25")
    made = json.loads((mixed / "provenance.json").read_text())
    assert made["details"]["n_mixed"] == 5
    assert made["details"]["settings"]["share"] == 0.25
    assert "mix 1" in made["inputs"]
    assert (made["details"]["n_seen"], made["details"]["n_mixed_seen"]) == (48, 16)
    assert "48 times one of these, 16 times one of the others" in (mixed / "README.md").read_text()


def test_a_chat_model_is_trained_through_its_template(folder: Path) -> None:
    chat = folder / "chat"
    shutil.copytree(folder / "start", chat)
    template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{{ eos_token }}{% endfor %}"
    template += "{% if add_generation_prompt %}[assistant]{% endif %}"
    (chat / "chat_template.jinja").write_text(template)
    out = folder / "chat-tuned"
    assert (
        worldsense(
            "finetune",
            chat,
            folder / "train.parquet",
            *SHORT,
            "--settings",
            json.dumps(FEW),
            "--out",
            out,
        )
        == 0
    )
    assert (out / "chat_template.jinja").read_text() == template
    assert json.loads((out / "provenance.json").read_text())["details"]["form"] == "chat"


def test_a_chat_template_that_drops_the_question_is_refused(
    folder: Path, tmp_path: Path, capsys
) -> None:
    chat = tmp_path / "chat"
    shutil.copytree(folder / "start", chat)
    (chat / "chat_template.jinja").write_text(
        "[user]{% if add_generation_prompt %}[assistant]{% endif %}"
    )
    assert (
        worldsense("finetune", chat, folder / "train.parquet", *SHORT, "--out", tmp_path / "out")
        == 2
    )
    assert (
        "chat template that does not write the text of the user's message"
        in capsys.readouterr().err
    )


@pytest.mark.slow
def test_a_killed_run_continues_to_the_same_losses_and_weights(folder: Path, tuned: Path) -> None:
    out = folder / "killed"
    settings = ("--settings", json.dumps(FEW | {"checkpoint_every": 2}))
    command = [
        "finetune",
        folder / "start",
        folder / "train.parquet",
        *TEXT,
        *SHORT,
        *settings,
        "--out",
        out,
    ]
    slow = "import time, worldprobe.training.lessons as c; old = c.Collator.__call__\n"
    slow += "def new(self, lessons): time.sleep(0.3); return old(self, lessons)\n"
    slow += (
        "c.Collator.__call__ = new\nfrom worldprobe.cli import main; import sys;"
        " sys.exit(main(sys.argv[1:]))"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(worldprobe.__file__).parents[1])}
    process = subprocess.Popen(
        [sys.executable, "-c", slow, "worldsense", *map(str, command)],
        stderr=subprocess.PIPE,
        env=environment,
    )
    until = time.monotonic() + 120
    while not any(folder.glob(".checkpoints/killed-*/checkpoint-4/trainer_state.json")):
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < until
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not out.exists()
    half = (
        next(folder.glob(".checkpoints/killed-*")) / "checkpoint-99"
    )  # cut off while it was written
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    assert worldsense(*command) == 0
    assert (out / "training.csv").read_bytes() == (tuned / "training.csv").read_bytes()
    assert (out / "model.safetensors").read_bytes() == (tuned / "model.safetensors").read_bytes()
    assert not list(folder.glob(".checkpoints/killed-*"))


def test_a_checkpoint_that_was_cut_off_is_removed_and_the_one_before_taken(tmp_path: Path) -> None:
    for step, state in ((2, "{}"), (4, '{"cut'), (16, None)):
        place = tmp_path / f"checkpoint-{step}"
        place.mkdir()
        if state is not None:
            (place / "trainer_state.json").write_text(state)
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-2"
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-2"]


@pytest.mark.parametrize("name", ["optimizer.pt", "model.safetensors"])
def test_a_checkpoint_with_half_a_file_is_removed(name: str, tmp_path: Path) -> None:
    place = tmp_path / "checkpoint-2"
    place.mkdir()
    torch.save({"a": torch.zeros(99)}, place / "optimizer.pt")
    save_file({"a": torch.zeros(99)}, place / "model.safetensors")
    (place / "trainer_state.json").write_text("{}")
    assert last_checkpoint(tmp_path) == place
    (place / name).write_bytes((place / name).read_bytes()[:200])
    assert last_checkpoint(tmp_path) is None
    assert not place.exists()


def test_a_pass_takes_as_many_lessons_as_memory_is_meant_for() -> None:
    assert lessons_per_pass(64, 10_000) == 1
    assert lessons_per_pass(12, 2_000) == 6


def test_the_plan_masks_what_does_not_count() -> None:
    import numpy as np

    material = Material(
        np.arange(5, dtype=np.int32),
        np.array([2, 5]),
        np.array([False, True, False, False, True]),
        ("a", "b"),
    )
    assert Curriculum(material, None, np.array([1]))[0]["labels"].tolist() == [-100, -100, 4]
