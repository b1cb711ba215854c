"""The control models' tokenizer and training: tiny models, a few steps."""

import pandas as pd
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from command_line import run
from worldprobe import cli
from worldprobe.benchmarks.ewok.contracts import ControlDocuments
from worldprobe.contracts import write_table
from worldprobe.files import digest_file
from worldprobe.provenance import Provenance
from worldprobe_training import scratch
from worldprobe_training.settings import ScratchSettings
from worldprobe_training.tokenizer import END_OF_TEXT, PADDING, train_tokenizer

PAIRS = (("The stove is on.", "The pot gets hot."), ("The stove is off.", "The pot gets cold."))
MODEL_FILES = {
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "README.md",
}
TINY = ("--layers", "1", "--width", "16", "--heads", "2", "--batch", "8", "--learning-rate", "0.01")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A corpus of two stories, and its tokenizer."""
    folder = tmp_path_factory.mktemp("controls")
    rows = [
        ("story", n, f"{context} {target}") for n, (context, target) in enumerate(PAIRS, 1)
    ] * 40
    documents = pd.DataFrame(rows, columns=["kind", "number", "text"]).assign(
        template_id="toy-world_1_1", start=0
    )
    documents["document"] = range(len(documents))
    write_table(documents, ControlDocuments, folder / "corpus" / "documents.parquet", Provenance())
    assert (
        run(
            f"controls train-tokenizer {folder / 'corpus'} --vocabulary 300 --out {folder / 'tokenizer'}"
        )
        == 0
    )
    return folder


def train(folder, name, *options, architecture="gpt2"):
    small = [
        word
        for pair in zip(TINY[::2], TINY[1::2], strict=True)
        if pair[0] not in options
        for word in pair
    ]
    command = [
        *f"controls train {folder / 'corpus'} {folder / 'tokenizer'} --architecture {architecture}".split(),
        *small,
        *options,
    ]
    return cli.main([*command, "--out", str(folder / name)])


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
@pytest.mark.long
def test_a_trained_model_is_an_ordinary_folder_that_prefers_the_right_target(folder, architecture):
    name = f"toy_{architecture}"
    assert (
        train(
            folder,
            name,
            "--layers",
            "2",
            "--width",
            "32",
            "--steps",
            "300",
            "--learning-rate",
            "0.004",
            architecture=architecture,
        )
        == 0
    )
    assert {path.name for path in (folder / name).iterdir()} >= MODEL_FILES
    tokenizer = AutoTokenizer.from_pretrained(folder / name)
    model = AutoModelForCausalLM.from_pretrained(folder / name).eval()
    assert model.config.model_type == architecture
    assert tokenizer.bos_token == END_OF_TEXT

    def log_probability(context, target):
        encoded = tokenizer(
            f"{END_OF_TEXT}{context} {target}", return_tensors="pt", return_offsets_mapping=True
        )
        is_target = encoded["offset_mapping"][0, 1:, 1] > len(END_OF_TEXT) + len(context)
        with torch.no_grad():
            logits = model(input_ids=encoded["input_ids"]).logits[0, :-1].log_softmax(-1)
        return logits.gather(-1, encoded["input_ids"][0, 1:, None])[is_target].sum().item()

    for number, (_, target) in enumerate(PAIRS):
        assert (
            log_probability(PAIRS[number][0], target)
            > log_probability(PAIRS[1 - number][0], target) + 1
        )


def test_the_same_settings_give_the_same_bytes_and_another_seed_gives_others(folder):
    for parent, seed in (("first", 1), ("second", 1), ("third", 2)):
        assert train(folder, f"{parent}/toy", "--steps", "5", "--seed", str(seed)) == 0
    first, second, third = (
        digest_file(folder / parent / "toy") for parent in ("first", "second", "third")
    )
    assert first == second != third


def test_an_interrupted_training_leaves_nothing_and_an_older_model_untouched(
    folder, monkeypatch, capsys
):
    assert train(folder, "stopped/old", "--steps", "10") == 0
    before = digest_file(folder / "stopped" / "old")

    def interrupt(progress):
        if progress.done == 3:
            raise KeyboardInterrupt
        progress.done += 1

    assert train(folder, "stopped/old", "--steps", "20") == 2
    assert "is not empty" in capsys.readouterr().err
    monkeypatch.setattr(scratch.Progress, "advance", interrupt)
    assert train(folder, "stopped/new", "--steps", "10") == 130
    assert [path.name for path in (folder / "stopped").iterdir()] == ["old"]
    assert digest_file(folder / "stopped" / "old") == before


def test_a_sentence_has_the_same_tokens_alone_and_after_another():
    tokenizer = train_tokenizer([f"{context} {target}" for context, target in PAIRS] * 5, 400)
    context, target = PAIRS[0]
    together = tokenizer.encode(f"{context} {target}").ids
    assert together == tokenizer.encode(context).ids + tokenizer.encode(target).ids


def test_every_document_comes_once_per_epoch_and_neither_padding_nor_what_is_given_counts(folder):
    documents = [([9] * length, 2 if length > 60 else 0) for length in range(2, 66)]
    settings = ScratchSettings(layers=1, width=16, heads=2, steps=7, batch=10)
    lengths = []
    for tokens, labels in scratch.batches(documents, settings, padding=7):
        given = 2 if (lengths_here := (tokens != 7).sum(1)).min() > 60 else 0
        if given or lengths_here.max() <= 60:
            assert (labels[:, :given] == scratch.IGNORED).all()
            assert ((tokens == 7) == (labels == scratch.IGNORED))[:, given:].all()
        assert set(labels[labels != scratch.IGNORED].tolist()) == {9}
        lengths += (tokens != 7).sum(1).tolist()
    assert sorted(lengths) == list(range(2, 66))


def test_special_tokens_do_not_meet_text():
    tokenizer = train_tokenizer(["The pot."], 300)
    ids = {tokenizer.token_to_id(END_OF_TEXT), tokenizer.token_to_id(PADDING)}
    assert len(ids) == 2
    assert not ids & set(tokenizer.encode("The pot.").ids)
