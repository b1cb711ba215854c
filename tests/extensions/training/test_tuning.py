"""Fine-tuning by its command, with a model of some thousand weights and a few steps."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

import worldprobe
from command_line import run
from worldprobe.benchmarks.worldsense.contracts import Trials
from worldprobe.contracts import read_table
from worldprobe.errors import UserError
from worldprobe_training import tuning
from worldprobe_training.lessons import TokenisedLessons
from worldprobe_training.settings import Tuning
from worldprobe_training.tuning import Curriculum, last_checkpoint, lessons_per_pass

TEXT = "--chat never --prompt-set constrained"
SHORT = "--steps 8 --warm-up 2 --learning-rate 0.003"
FEW = {"batch": 8, "trials": 60}


def worldsense(*words: object) -> int:
    return run(" ".join(map(str, ("worldsense", *words))))


def given(**settings: object) -> str:
    return f"--settings '{json.dumps(FEW | settings)}'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A training set, also as dialogues, and an untrained model."""
    folder = tmp_path_factory.mktemp("tuning")
    some = "--per-cell 4 --problems Infer.trivial --sizes 3 --skins train_trips train_race"
    made = f"--dialogues-out {folder}/train.jsonl.gz --out {folder}/train.parquet"
    assert worldsense("generate train-10k", some, made) == 0
    start = f"--layers 1 --width 32 --heads 2 --vocabulary 300 --out {folder}/start"
    assert worldsense("start-model", folder / "train.parquet", start) == 0
    return folder


def tune(
    folder: Path, name: str, *options: object, train: str = "train.parquet", **settings: object
) -> Path:
    out = folder / name
    options = (TEXT, SHORT, *options, given(**settings), "--out", out)
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


@pytest.mark.long
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
@pytest.mark.long
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
    mixed = tune(folder, "mixed", "--mix", folder / "others.jsonl", "--share 0.25")
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
    words = ("finetune", chat, folder / "train.parquet", SHORT, given(), "--out", out)
    assert worldsense(*words) == 0
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
        worldsense("finetune", chat, folder / "train.parquet", SHORT, "--out", tmp_path / "out")
        == 2
    )
    assert (
        "chat template that does not write the text of the user's message"
        in capsys.readouterr().err
    )


@pytest.mark.slow
def test_a_killed_run_continues_to_the_same_losses_and_weights(folder: Path, tuned: Path) -> None:
    out = folder / "killed"
    start = f"finetune {folder}/start {folder}/train.parquet {TEXT} {SHORT}"
    command = f"{start} {given(checkpoint_every=2)} --out {out}"
    slow = "import time, worldprobe_training.lessons as c; old = c.Collator.__call__\n"
    slow += "def new(self, lessons): time.sleep(0.3); return old(self, lessons)\n"
    slow += (
        "c.Collator.__call__ = new\nfrom worldprobe.cli import main; import sys;"
        " sys.exit(main(sys.argv[1:]))"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(worldprobe.__file__).parents[1])}
    process = subprocess.Popen(
        [sys.executable, "-c", slow, "worldsense", *shlex.split(command)],
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
    assert worldsense(command) == 0
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
    material = TokenisedLessons(
        np.arange(5, dtype=np.int32),
        np.array([2, 5]),
        np.array([False, True, False, False, True]),
        ("a", "b"),
    )
    assert Curriculum(material, None, np.array([1]))[0]["labels"].tolist() == [-100, -100, 4]


@pytest.fixture(scope="module")
def tests(folder: Path) -> Path:
    """A test set, also as dialogues."""
    some = "--per-cell 1 --problems Infer.trivial --sizes 3 --skins trips"
    made = f"--dialogues-out {folder}/test.jsonl.gz --out {folder}/test.parquet"
    assert worldsense("generate test", some, made) == 0
    return folder / "test.parquet"


@pytest.mark.parametrize(
    "words",
    [
        "test.parquet",
        "test.jsonl.gz",
        "train.parquet --tests train.parquet",
        "train.parquet --mix test.jsonl.gz --share 0.5",
    ],
)
def test_test_items_are_not_trained_on(
    words, folder: Path, tests: Path, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(folder)
    assert worldsense("finetune start", words, TEXT, SHORT, "--out contaminated") == 2
    assert "allow_contamination" in capsys.readouterr().err
    assert not Path("contaminated").exists()


def test_contamination_that_is_allowed_is_in_the_card(folder: Path, tests: Path) -> None:
    mixed = ("--mix", folder / "test.jsonl.gz", "--share 0.5 --tests", tests)
    card = (tune(folder, "allowed", *mixed, allow_contamination=True) / "README.md").read_text()
    assert "Contaminated" in card
    assert read_table(tests, Trials)["tuple_id"].iloc[0] in card


@pytest.mark.long
def test_a_second_run_is_kept_out_of_the_first_ones_checkpoints(folder: Path, monkeypatch) -> None:
    check, statuses = tuning.check_pass, []
    words = (
        "finetune",
        folder / "start",
        folder / "train.parquet",
        TEXT,
        SHORT,
        "--out",
        folder / "twice",
    )

    def check_while_another_begins(*known: object) -> None:
        monkeypatch.setattr(tuning, "check_pass", check)
        statuses.append(worldsense(*words))
        check(*known)

    monkeypatch.setattr(tuning, "check_pass", check_while_another_begins)
    assert worldsense(*words) == 0
    assert statuses == [2]


@pytest.mark.parametrize(
    ("processes", "how", "fits"), [(8, "full", False), (32, "full", True), (4, "lora", True)]
)
def test_too_little_memory_is_found_before_anything_is_loaded(processes, how, fits) -> None:
    """A model of 70 billion parameters on GPUs of 80 GB."""
    size = {"hidden_size": 8192, "num_hidden_layers": 80, "vocab_size": 32_000, "dtype": "bfloat16"}
    settings = Tuning(steps=1, precision="bfloat16", gradient_checkpointing=True, tuning=how)
    known = ("base", size, 69_000_000_000, settings, 4096, processes, 79_000_000_000)
    if fits:
        tuning.check_memory(*known)
    else:
        with pytest.raises(UserError, match=r"needs about .* GB to be fine-tuned"):
            tuning.check_memory(*known)


def test_a_model_in_which_packed_lessons_see_each_other_is_refused(
    folder: Path, monkeypatch
) -> None:
    model = AutoModelForCausalLM.from_pretrained(folder / "start")
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(20)
    ids = np.arange(40, 80, dtype=np.int32)
    material = TokenisedLessons(ids, np.array([8, 20, 40]), np.ones(40, bool), ("a", "b", "c"))
    curriculum = Curriculum(material, None, np.arange(3))
    tuning.check_pass("base", model, curriculum, 0, Tuning(steps=1))
    before = type(model).forward

    def blind(self, *args, position_ids=None, **more):
        return before(self, *args, **more)

    monkeypatch.setattr(type(model), "forward", blind)
    with pytest.raises(UserError, match="see each other"):
        tuning.check_pass("base", model, curriculum, 0, Tuning(steps=1))
    tuning.check_pass("base", model, curriculum, 0, Tuning(steps=1, packing=False))
