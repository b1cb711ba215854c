"""Stores of answers that are damaged, foreign or shared: scoring gives the same bytes, and says
what it ignored.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from pathlib import Path

import pytest

from worldprobe.benchmarks.ewok import contracts
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.log import LOGGER

torch = pytest.importorskip("torch")


def run(line: str) -> int:
    """Exit status of a command."""
    return main(line.split())


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a few weights and a tokenizer of bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    words = ["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({word: number for number, word in enumerate(words)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    torch.manual_seed(7)
    torch.set_num_threads(1)
    tokens = {"bos_token_id": 0, "eos_token_id": 0}
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=len(words), n_embd=8, n_layer=1, n_head=1, n_positions=512, **tokens)
    )
    folder = tmp_path_factory.mktemp("model") / "tiny"
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=words[0], eos_token=words[0]
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def scored(
    study: dict[str, Path], checkpoint: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, Path]:
    """A command without its last words, its table, and the store that it filled."""
    folder = tmp_path_factory.mktemp("scored")
    items = folder / "items.parquet"
    write_table(
        read_table(study["items"], contracts.Items).head(2),
        contracts.Items,
        items,
        read_provenance(study["items"]),
    )
    line = f"score logprobs {items} --checkpoint {checkpoint}"
    assert run(f"{line} --answers {folder / 'answers'} --out {folder / 'scores.parquet'}") == 0
    return line, folder / "scores.parquet", folder / "answers"


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def one_character_else(path: Path) -> None:
    content = path.read_bytes()
    place = content.rindex(b"-") + 1
    path.write_bytes(
        content[:place]
        + (b"1" if content[place : place + 1] != b"1" else b"2")
        + content[place + 1 :]
    )


def another_digest(path: Path) -> None:
    path.rename(path.with_stem(path.stem[:-16] + "0" * 16))


DAMAGE = {
    function.__name__: function for function in (torn, empty, one_character_else, another_digest)
}


@pytest.fixture(autouse=True)
def _(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LOGGER, "propagate", True)


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_part_is_named_ignored_and_computed_again(
    scored, tmp_path, caplog, name: str
) -> None:
    line, table, store = scored
    shutil.copytree(store, tmp_path / "answers")
    (part,) = (tmp_path / "answers").rglob("part-*.jsonl")
    DAMAGE[name](part)
    caplog.clear()
    assert run(f"{line} --answers {tmp_path / 'answers'} --out {tmp_path / 'scores.parquet'}") == 0
    assert (tmp_path / "scores.parquet").read_bytes() == table.read_bytes()
    assert "damaged and ignored" in caplog.text
    assert "part-" in caplog.text


@pytest.mark.parametrize("name", sorted(DAMAGE.keys() - {"one_character_else"}))
def test_a_damaged_list_is_ignored(scored, tmp_path, name: str) -> None:
    line, table, store = scored
    shutil.copytree(store, tmp_path / "answers")
    for part in (tmp_path / "answers").rglob("part-*.jsonl"):
        part.unlink()
    (noted,) = (tmp_path / "answers").rglob("list-*.json")
    DAMAGE[name](noted)
    assert run(f"{line} --answers {tmp_path / 'answers'} --out {tmp_path / 'scores.parquet'}") == 0
    assert (tmp_path / "scores.parquet").read_bytes() == table.read_bytes()


@pytest.mark.parametrize("text", ["", "{"])
def test_a_damaged_identity_file_is_written_again(scored, tmp_path, caplog, text: str) -> None:
    line, table, store = scored
    shutil.copytree(store, tmp_path / "answers")
    (identity,) = (tmp_path / "answers").rglob("identity.json")
    right = identity.read_bytes()
    identity.write_text(text)
    assert run(f"{line} --answers {tmp_path / 'answers'} --out {tmp_path / 'scores.parquet'}") == 0
    assert (tmp_path / "scores.parquet").read_bytes() == table.read_bytes()
    assert identity.read_bytes() == right
    assert "identity.json is damaged" in caplog.text


def test_the_answers_of_another_engine_are_refused(scored, check, tmp_path) -> None:
    line, _, store = scored
    answers = tmp_path / "answers"
    shutil.copytree(store, answers)
    (identity,) = answers.rglob("identity.json")
    known = json.loads(identity.read_bytes())
    known["identity"]["dtype"] = "bfloat16"
    identity.write_text(json.dumps(known))
    check(f"{line} --answers {answers} --out {{out}}", "answers of another engine")


@pytest.mark.parametrize("place", ["root", "store", "identity"])
def test_a_store_that_cannot_be_written_is_refused(scored, check, tmp_path, place: str) -> None:
    line, _, store = scored
    answers = tmp_path / "answers"
    if place == "root":
        answers.write_text("not a folder")
    else:
        answers.mkdir()
        (folder,) = store.iterdir()
        if place == "store":
            (answers / folder.name).write_text("not a folder")
        else:
            (answers / folder.name / "identity.json").mkdir(parents=True)
    check(f"{line} --answers {answers} --out {{out}}", str(answers))


def test_two_processes_on_one_store_end_with_the_same_bytes(scored, tmp_path) -> None:
    line, table, _ = scored
    places = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    forks = multiprocessing.get_context(
        "fork"
    )  # torch is loaded already, which would take most of the time
    start = forks.Barrier(2, timeout=60)

    def score(place: Path) -> None:
        os.environ["TOKENIZERS_PARALLELISM"] = (
            "false"  # the tokenizer's threads are not there after a fork
        )
        torch.set_num_threads(1)
        start.wait()
        os._exit(run(f"{line} --answers {tmp_path / 'answers'} --out {place}"))

    both = [forks.Process(target=score, args=(place,)) for place in places]
    for process in both:
        process.start()
    for process in both:
        process.join(timeout=100)
        process.kill()
    assert [process.exitcode for process in both] == [0, 0]
    assert {place.read_bytes() for place in places} == {table.read_bytes()}
    assert not list(tmp_path.rglob(".*part*"))
