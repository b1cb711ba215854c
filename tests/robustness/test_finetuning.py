"""Bad inputs of fine-tuning: one clear error before the first step, and nothing written."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from worldprobe.benchmarks.worldsense.contracts import Trials
from worldprobe.cli import main
from worldprobe.contracts import read_table
from worldprobe.errors import UserError
from worldprobe.training import tuning
from worldprobe.training.settings import Tuning

TEXT = ("--chat", "never", "--prompt-set", "constrained")
SHORT = ("--steps", "2", "--warm-up", "0", "--settings", '{"batch": 4, "trials": 8}')


def worldsense(*words: object) -> int:
    return main(["worldsense", *map(str, words)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Training and test sets, and an untrained model."""
    folder = tmp_path_factory.mktemp("tuning")
    some = ("--per-cell", "1", "--problems", "Infer.trivial", "--sizes", "3")
    made = ("--dialogues-out", folder / "train.jsonl.gz", "--out", folder / "train.parquet")
    assert worldsense("generate", "train-10k", *some, "--skins", "train_trips", *made) == 0
    made = ("--dialogues-out", folder / "test.jsonl.gz", "--out", folder / "test.parquet")
    assert worldsense("generate", "test", *some, "--skins", "trips", *made) == 0
    small = (
        "--layers",
        "1",
        "--width",
        "16",
        "--heads",
        "2",
        "--vocabulary",
        "300",
        "--out",
        folder / "start",
    )
    assert worldsense("start-model", folder / "train.parquet", *small) == 0
    return folder


def line(*messages: object, **more: object) -> str:
    roles = ("user", "assistant")
    return json.dumps(
        {"messages": [{"role": roles[n % 2], "content": text} for n, text in enumerate(messages)]}
        | more
    )


FILES = {
    "no JSON": ("{", "line 1"),
    "no object": ("[1]", "is not a JSON object"),
    "one message": (line("Left?"), "no list of at least two messages"),
    "a question at the end": (
        line("Left?", "TRUE", "Why?"),
        "does not end with a message of the user and one of the assistant",
    ),
    "an empty answer": (line("Left?", " "), "empty answer"),
    "half a character": (line("Left \ud800?", "TRUE"), "line 1"),
    "an unknown role": (
        '{"messages": [{"role": "judge", "content": "a"}, {"role": "assistant", "content": "b"}]}',
        "judge",
    ),
    "a second line that is none": (line("Left?", "TRUE") + "\n{}", "line 2"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_training_file_that_is_none_is_named_with_its_line(
    case: str, folder: Path, tmp_path: Path, capsys
) -> None:
    text, problem = FILES[case]
    (tmp_path / "train.jsonl").write_text(text)
    assert (
        worldsense(
            "finetune",
            folder / "start",
            tmp_path / "train.jsonl",
            *TEXT,
            *SHORT,
            "--out",
            tmp_path / "out",
        )
        == 2
    )
    printed = capsys.readouterr().err
    assert problem in printed
    assert "Traceback" not in printed
    assert not (tmp_path / "out").exists()


def test_test_tuples_are_refused_with_their_ids(folder: Path, tmp_path: Path, capsys) -> None:
    """Trials by the skins that only tests use, without any test set at hand; dialogues by their
    words.
    """
    first = read_table(folder / "test.parquet", Trials)["tuple_id"].iloc[0]
    for train in ("test.parquet", "test.jsonl.gz"):
        assert (
            worldsense(
                "finetune",
                folder / "start",
                folder / train,
                *TEXT,
                *SHORT,
                "--out",
                tmp_path / "out",
            )
            == 2
        )
        printed = capsys.readouterr().err
        assert "test item" in printed
        assert "allow_contamination" in printed
        assert train != "test.parquet" or first in printed
    assert not (tmp_path / "out").exists()


def test_tuples_of_a_given_test_set_are_refused_whatever_their_words(
    folder: Path, tmp_path: Path, capsys
) -> None:
    first = read_table(folder / "train.parquet", Trials)["tuple_id"].iloc[0]
    for train in ("train.parquet", "train.jsonl.gz"):
        words = (
            "finetune",
            folder / "start",
            folder / train,
            *TEXT,
            *SHORT,
            "--tests",
            folder / "train.parquet",
        )
        assert worldsense(*words, "--out", tmp_path / "out") == 2
        assert first in capsys.readouterr().err


def test_mixed_dialogues_are_checked_too(folder: Path, tmp_path: Path, capsys) -> None:
    words = ("finetune", folder / "start", folder / "train.parquet", *TEXT, *SHORT)
    assert (
        worldsense(
            *words, "--mix", folder / "test.jsonl.gz", "--share", "0.5", "--out", tmp_path / "out"
        )
        == 2
    )
    assert "test item" in capsys.readouterr().err


def test_contamination_that_is_allowed_is_in_the_card_also_of_what_is_mixed_in(
    folder: Path, tmp_path: Path
) -> None:
    trials = read_table(folder / "test.parquet", Trials)
    mixed = (
        "--mix",
        folder / "test.jsonl.gz",
        "--share",
        "0.5",
        "--tests",
        folder / "test.parquet",
    )
    allowed = ("--settings", '{"batch": 4, "trials": 8, "allow_contamination": true}')
    words = (
        "finetune",
        folder / "start",
        folder / "train.parquet",
        *TEXT,
        *SHORT[:4],
        *mixed,
        *allowed,
    )
    assert worldsense(*words, "--out", tmp_path / "out") == 0
    card = (tmp_path / "out" / "README.md").read_text()
    assert "Contaminated" in card
    assert trials["tuple_id"].iloc[0] in card
    assert json.loads((tmp_path / "out" / "provenance.json").read_text())["details"][
        "contamination"
    ]


SETTINGS = {
    "no chat template": ({"chat": "always"}, "has no chat template"),
    "a share without a file": ({"share": 0.5}, "one does nothing without the other"),
    "a warm-up longer than the training": ({"warm_up": 2}, "never reach its peak"),
    "lessons longer than a row": ({"sequence_length": 8}, "have more than 8 tokens"),
    "modules that are not there": (
        {"tuning": "lora", "lora_targets": "nonsense"},
        "LoRA cannot be added",
    ),
    "an unknown schedule": ({"schedule": "cosinus"}, "cosine"),
    "an unknown key": ({"bacth": 8}, "batch"),
    "examples": ({"prompt_set": "icl_iid"}, "shows solved examples"),
    "a prompt set that is none": ({"prompt_set": "constraned"}, "constrained"),
    "a share of one": ({"share": 1}, "less than 1"),
    "a second beta of one": ({"beta_2": 1}, "less than 1"),
    "a module among others that is not there": (
        {"tuning": "lora", "lora_targets": "q_proj, kproj"},
        "no module 'kproj'",
    ),
    "weights that read and write words": (
        {"tuning": "lora", "lora_targets": "lm_head"},
        "by the same weights",
    ),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_that_cannot_be_trained_with_are_refused(
    case: str, folder: Path, tmp_path: Path, capsys
) -> None:
    settings, problem = SETTINGS[case]
    usual = {"steps": 2, "warm_up": 0, "chat": "never", "prompt_set": "constrained"}
    (tmp_path / "settings.yaml").write_text(json.dumps(usual | settings))
    words = (
        "finetune",
        folder / "start",
        folder / "train.parquet",
        "--settings",
        tmp_path / "settings.yaml",
    )
    assert worldsense(*words, "--out", tmp_path / "out") == 2
    printed = capsys.readouterr().err
    assert problem in printed
    assert "Traceback" not in printed
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".checkpoints/*"))


@pytest.mark.parametrize("inside", ["out", "out/checkpoints"])
def test_checkpoints_in_the_folder_that_is_replaced_are_refused_before_training(
    inside: str, folder: Path, tmp_path: Path, capsys
) -> None:
    words = ("--checkpoints", tmp_path / inside, "--out", tmp_path / "out")
    assert worldsense("finetune", folder / "start", folder / "train.parquet", *words) == 2
    assert "--checkpoints\n  problem: is in the folder of --out" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_share_of_which_no_lesson_would_be_seen_is_refused(
    folder: Path, tmp_path: Path, capsys
) -> None:
    words = (
        "finetune",
        folder / "start",
        folder / "train.parquet",
        *TEXT,
        *SHORT,
        "--mix",
        folder / "train.jsonl.gz",
    )
    assert worldsense(*words, "--share", "0.1", "--out", tmp_path / "out") == 2
    assert (
        "too small for any lesson of --mix to be among the 8 that are seen"
        in capsys.readouterr().err
    )


def test_a_second_run_is_kept_out_of_the_checkpoints_of_the_first(
    folder: Path, tmp_path: Path, capsys, monkeypatch
) -> None:
    words = (
        "finetune",
        folder / "start",
        folder / "train.parquet",
        *TEXT,
        *SHORT,
        "--out",
        tmp_path / "out",
    )
    check = tuning.check_pass
    statuses = []

    def check_while_another_begins(*known: object) -> None:
        monkeypatch.setattr(tuning, "check_pass", check)
        statuses.append(worldsense(*words))
        check(*known)

    monkeypatch.setattr(tuning, "check_pass", check_while_another_begins)
    assert worldsense(*words) == 0
    assert statuses == [2]
    assert "another process trains this model just now" in capsys.readouterr().err


def test_a_tokenizer_without_an_end_is_said(folder: Path, tmp_path: Path, capsys) -> None:
    base = changed_base(folder, tmp_path)
    settings = json.loads((base / "tokenizer_config.json").read_text())
    (base / "tokenizer_config.json").write_text(
        json.dumps({k: v for k, v in settings.items() if not k.endswith("_token")})
    )
    assert (
        worldsense(
            "finetune", base, folder / "train.parquet", *TEXT, *SHORT, "--out", tmp_path / "out"
        )
        == 0
    )
    assert "has no end token" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU trains in float16")
def test_a_cpu_does_not_train_in_float16(folder: Path, tmp_path: Path, capsys) -> None:
    words = (
        "finetune",
        folder / "start",
        folder / "train.parquet",
        *TEXT,
        "--settings",
        '{"precision": "float16"}',
    )
    assert worldsense(*words, "--out", tmp_path / "out") == 2
    assert "cannot be trained in on a CPU" in capsys.readouterr().err


def changed_base(folder: Path, tmp_path: Path, **config: object) -> Path:
    base = tmp_path / "base"
    shutil.copytree(folder / "start", base)
    document = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps(document | config))
    return base


def test_quantised_weights_are_refused(folder: Path, tmp_path: Path, capsys) -> None:
    base = changed_base(folder, tmp_path, quantization_config={"quant_method": "gptq", "bits": 4})
    assert (
        worldsense(
            "finetune", base, folder / "train.parquet", *TEXT, *SHORT, "--out", tmp_path / "out"
        )
        == 2
    )
    assert "quantised weights (gptq)" in capsys.readouterr().err


def test_weights_that_are_not_numbers_are_refused(folder: Path, tmp_path: Path, capsys) -> None:
    base = changed_base(folder, tmp_path)
    weights = load_file(base / "model.safetensors")
    weights["model.norm.weight"][0] = float("nan")
    save_file(weights, base / "model.safetensors", {"format": "pt"})
    assert (
        worldsense(
            "finetune", base, folder / "train.parquet", *TEXT, *SHORT, "--out", tmp_path / "out"
        )
        == 2
    )
    assert "computes no finite loss" in capsys.readouterr().err


LARGE = {"hidden_size": 8192, "num_hidden_layers": 80, "vocab_size": 32_000, "dtype": "bfloat16"}


@pytest.mark.parametrize(
    ("how", "processes", "fits"),
    [
        (Tuning(steps=1, precision="bfloat16", gradient_checkpointing=True), 1, False),
        (Tuning(steps=1, precision="bfloat16", gradient_checkpointing=True), 8, False),
        (Tuning(steps=1, precision="bfloat16", gradient_checkpointing=True), 32, True),
        (
            Tuning(steps=1, precision="bfloat16", gradient_checkpointing=True, tuning="lora"),
            4,
            True,
        ),
    ],
)
def test_too_little_memory_is_found_before_anything_is_loaded(
    how: Tuning, processes: int, fits: bool
) -> None:
    """A model of 70 billion parameters on GPUs of 80 GB."""
    known = ("base", LARGE, 69_000_000_000, how, 4096, processes, 79_000_000_000)
    if fits:
        tuning.check_memory(*known)
    else:
        with pytest.raises(UserError, match=r"needs about .* GB to be fine-tuned") as refused:
            tuning.check_memory(*known)
        assert "gradient_checkpointing" not in refused.value.fix  # it is on
        assert ("tuning: lora" in refused.value.fix) == (how.tuning == "full")


def test_a_model_in_which_packed_lessons_see_each_other_is_refused(
    folder: Path, monkeypatch
) -> None:
    import numpy as np
    from transformers import AutoModelForCausalLM

    from worldprobe.training.lessons import Material
    from worldprobe.training.tuning import Curriculum

    model = AutoModelForCausalLM.from_pretrained(folder / "start")
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(20)
    ids = np.arange(40, 80, dtype=np.int32)
    curriculum = Curriculum(
        Material(ids, np.array([8, 20, 40]), np.ones(40, bool), ("a", "b", "c")), None, np.arange(3)
    )
    tuning.check_pass("base", model, curriculum, 0, Tuning(steps=1))
    before = type(model).forward

    def blind(self, *args, position_ids=None, **more):
        return before(self, *args, **more)

    monkeypatch.setattr(type(model), "forward", blind)
    with pytest.raises(UserError, match="see each other"):
        tuning.check_pass("base", model, curriculum, 0, Tuning(steps=1))
    tuning.check_pass("base", model, curriculum, 0, Tuning(steps=1, packing=False))
