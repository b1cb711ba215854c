"""Stand-ins for models in a rehearsal: of their architectures, tiny, and never taken for a model."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from transformers import AutoConfig, AutoModelForCausalLM

import worldprobe
from command_line import run
from worldprobe.cli.engines import Model
from worldprobe.contracts import read_provenance
from worldprobe.errors import UserError
from worldprobe.models.checkpoint import made_by_model
from worldprobe.models.engine import Decoding, Loglikelihood, Message
from worldprobe.models.stand_ins import is_of_rehearsal, make_stand_in, read_stand_in
from worldprobe.models.transformers_engine import open_engine
from worldprobe.provenance import REHEARSAL_MARK, Provenance
from worldprobe.settings.registry import REHEARSAL_ENDPOINT

#: Those of the two papers, and some of users'.
CAUSAL = ("gpt2", "phi", "gemma+chat", "mpt", "falcon+chat", "mistral", "mixtral", "llama+chat")
OTHERS = ("bert+masked", "roberta+masked", "t5+encoder-decoder", "bart+encoder-decoder")
QUESTIONS = [Loglikelihood("The lamp fell.", f"It {word}.") for word in ("broke", "sang")]


def make(described: str, folder: Path) -> str:
    folder.mkdir()
    make_stand_in(*read_stand_in(described), name=folder.name, folder=folder)
    return str(folder)


@pytest.mark.parametrize("described", [*CAUSAL, "qwen2", "gemma3_text", *OTHERS])
def test_a_stand_in_is_of_its_architecture_and_scores_like_a_model(
    described: str, tmp_path: Path
) -> None:
    architecture, kind, is_chat = read_stand_in(described)
    folder = make(described, tmp_path / "model")
    assert AutoConfig.from_pretrained(folder).model_type == architecture
    engine = open_engine(folder, kind=kind)
    scores = [scored.logprob for _, scored in sorted(engine.score(QUESTIONS))]
    assert all(score < 0 for score in scores)
    assert scores[0] != scores[1]
    assert engine.facts.has_chat == is_chat
    assert is_of_rehearsal(folder)


@pytest.mark.parametrize("described", ["gpt2", "gemma+chat", "mixtral"])
def test_some_of_its_answers_can_be_read(described: str, tmp_path: Path) -> None:
    engine = open_engine(make(described, tmp_path / "model"))
    prompts = [f"How much sense does lamp {number} make, from 1 to 5?" for number in range(20)]
    replies = [reply.text for _, reply in engine.generate(prompts, Decoding(max_new_tokens=4))]
    assert sum(any(digit in reply for digit in "12345") for reply in replies) >= 5
    assert len(set(replies)) > 1


def test_the_same_model_has_the_same_bytes_and_another_has_others(tmp_path: Path) -> None:
    folders = [tmp_path / place / name for place, name in ("am", "bm", "an")]
    for folder in folders:
        folder.parent.mkdir(exist_ok=True)
        make("llama", folder)
    first, again, other = (
        {path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders
    )
    assert first == again
    assert first["model.safetensors"] != other["model.safetensors"]


def test_an_unknown_architecture_names_the_key_of_the_card(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"models stand-in gpt3 --out {tmp_path / 'm'}") == 2
    printed = capsys.readouterr().err
    assert "gpt3" in printed
    assert "`architecture` in the model's card" in printed
    assert not (tmp_path / "m").exists()


def test_a_stand_in_is_refused_where_its_numbers_could_be_taken_for_a_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make("gpt2", tmp_path / "m")
    assert run(f"evaluate {folder} --work {tmp_path / 'work'} --limit 2") == 2
    assert "stands in for a model in a rehearsal" in capsys.readouterr().err
    assert not (tmp_path / "work").exists()
    with pytest.raises(UserError, match="stands in for a model"):
        worldprobe.load_model(folder)
    served = f"--endpoint {REHEARSAL_ENDPOINT} --model gpt-4"
    assert run(f"evaluate {served} --work {tmp_path / 'work'} --limit 2") == 2
    assert not (tmp_path / "work").exists()


def test_what_is_saved_from_a_stand_in_is_still_one(tmp_path: Path) -> None:
    AutoModelForCausalLM.from_pretrained(make("gpt2", tmp_path / "m")).save_pretrained(
        tmp_path / "tuned"
    )
    assert is_of_rehearsal(None, str(tmp_path / "tuned"))
    assert not is_of_rehearsal(None, "openai-community/gpt2", str(tmp_path))


def test_a_model_that_a_rehearsal_trained_is_refused_also_once_it_is_moved(
    tmp_path: Path, tiny_checkpoint: Callable[..., Path]
) -> None:
    folder = shutil.copytree(tiny_checkpoint("gpt2"), tmp_path / "rehearsal" / "m")
    assert not is_of_rehearsal(str(folder))
    (folder.parent / REHEARSAL_MARK).touch()
    assert is_of_rehearsal(str(folder))
    scratch = pytest.importorskip("worldprobe_training.scratch")
    how = scratch.ScratchSettings()
    model = AutoModelForCausalLM.from_pretrained(folder)
    scratch.save_model(model, folder, folder, "m", how, Provenance(details={"loss": 1.0}))
    assert is_of_rehearsal(str(folder.rename(tmp_path / "moved")))


def test_scores_of_a_stand_in_say_so_wherever_they_are_written(
    tmp_path: Path, item_table: Path
) -> None:
    folder, items = make("gpt2", tmp_path / "m"), item_table
    assert run(f"score logprobs {items} --checkpoint {folder} --out {tmp_path / 's.parquet'}") == 0
    assert read_provenance(tmp_path / "s.parquet").details["rehearsal"] is True
    judged = f"judge {items} {tmp_path / 's.parquet'} --out {tmp_path / 'j.parquet'}"
    assert run(judged) == 0
    assert read_provenance(tmp_path / "j.parquet").details["rehearsal"] is True
    assert not read_provenance(items).details.get("rehearsal")


def test_a_served_model_is_answered_for_by_a_server_of_the_job_itself() -> None:
    engine = Model(checkpoint="gpt-4", engine="openai", endpoint=REHEARSAL_ENDPOINT).open()
    made = made_by_model(engine.facts, 1, "gpt-4", {}, {"answers": {"made_by": []}})
    assert made.details["rehearsal"] is True
    prompts = [(Message("user", f"Is lamp {number} TRUE or FALSE?"),) for number in range(40)]
    asked = dict(engine.generate(prompts, Decoding(max_new_tokens=4)))
    assert asked == dict(engine.generate(prompts, Decoding(max_new_tokens=4)))
    replies = {reply.text for reply in asked.values()}
    assert {"TRUE", "FALSE"} & replies
    assert any("not" in reply for reply in replies)
    scores = dict(engine.score(QUESTIONS))
    assert scores[0].logprob < 0
    assert scores[0].logprob != scores[1].logprob
    assert {one.text for _, one in engine.choose(["1 or 2?"] * 9, [["1", "2"]] * 9)} <= {"1", "2"}
