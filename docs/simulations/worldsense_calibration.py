"""Does a model that knows nothing answer WorldSense without bias? What tests measure it with.

Untrained models of two architectures, with tokenizers of four kinds, are asked by constrained and
by constrained_sum. Their accuracy must be that of chance, and their biases small and of both signs:
what is left is a property of the way of asking.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.benchmarks.worldsense.skins.skins import read_skins
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF, problem_type
from worldprobe.benchmarks.worldsense.trials.sets import blocks_of, plan_set, stream_set

ARCHITECTURES = ("gpt2", "llama")
WAYS = ("constrained_sum", "constrained")


def make_trials(
    name: str, skins: Sequence[str] = (), sizes: Sequence[int] = (), problems: Sequence[str] = ()
) -> pd.DataFrame:
    """The first round of a set, or of a part of it."""
    plan = plan_set(name, sizes, problems, per_cell=1)
    return pd.concat(stream_set(plan, blocks_of(plan, read_skins(), skins), 0), ignore_index=True)


def make_tokenizer(kind: str) -> Any:
    """A tokenizer that has learned from descriptions, in which no answer occurs, and knows
    every letter and digit.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    lessons = (
        make_trials("train-10k", problems=["Infer.normal"])["text"].str.partition("\n")[0].tolist()
    )
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.,:;?!‘’'()-\n"
    special = ["<end>", "<unk>"]
    common: dict[str, Any] = {"special_tokens": special, "show_progress": False}
    if kind == "WordPiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
        tokenizer.pre_tokenizer, tokenizer.decoder = (
            pre_tokenizers.BertPreTokenizer(),
            decoders.WordPiece(),
        )
        trainer = trainers.WordPieceTrainer(
            vocab_size=700, initial_alphabet=list(letters), **common
        )
        lessons += [
            f"{a}{b}" for a in letters for b in letters if a.isalnum() and b.isalnum()
        ]  # each letter inside a word
    elif kind == "SentencePiece":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer, tokenizer.decoder = (
            pre_tokenizers.Metaspace(),
            decoders.Metaspace(),
        )
        trainer = trainers.UnigramTrainer(
            vocab_size=600, unk_token="<unk>", initial_alphabet=list(letters), **common
        )
    else:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        size = 258 if kind == "characters" else 700
        trainer = trainers.BpeTrainer(
            vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **common
        )
    tokenizer.train_from_iterator(lessons, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<end>", eos_token="<end>", unk_token="<unk>"
    )


def make_model(folder: Path, tokenizer: Any, architecture: str, seed: int) -> None:
    """An untrained model, as transformers initialises it."""
    import torch
    import transformers as t

    common = {"vocab_size": len(tokenizer), "bos_token_id": 0, "eos_token_id": 0}
    if architecture == "gpt2":
        config: Any = t.GPT2Config(n_embd=64, n_layer=2, n_head=4, n_positions=1024, **common)
    else:
        shape = {
            "hidden_size": 64,
            "intermediate_size": 176,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
        }
        config = t.LlamaConfig(max_position_embeddings=1024, **shape, **common)
    torch.manual_seed(seed)
    t.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def measure(folder: Path, trials: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, list[int]]]:
    """Accuracy and bias of a model, by way of asking and type of problem; and the answers'
    numbers of tokens.
    """
    from worldprobe.benchmarks.worldsense.inference.ask import ask
    from worldprobe.benchmarks.worldsense.inference.prompts import load_prompt_set
    from worldprobe.benchmarks.worldsense.settings import TrialAsking
    from worldprobe.inference.store import open_store
    from worldprobe.models.transformers_engine import open_engine

    engine = open_engine(str(folder))
    store = open_store(folder / "answers", engine)
    rows, tokens = [], {}
    for way in WAYS:
        frame, facts = ask(trials, engine, load_prompt_set(way), store, TrialAsking())
        tokens = facts["answer_tokens"]
        answers = trials[["trial_id", "problem", "gold"]].merge(frame, on="trial_id")
        for kind, group in answers.groupby(answers["problem"].map(problem_type)):
            accuracy, bias = score(group["answer"], group["gold"].map(ANSWER_OF))
            invalid = float((group["status"] != "ok").mean())
            rows.append(
                {"way": way, "kind": kind, "accuracy": accuracy, "bias": bias, "invalid": invalid}
            )
    return pd.DataFrame(rows), tokens


def score(answers: pd.Series, gold: pd.Series) -> tuple[float, float]:
    """Accuracy and bias with the paper's weights."""
    folded = {"1": "KNOWN", "2": "KNOWN"}
    weight = gold.map({"1": 0.25, "2": 0.25}).fillna(0.5).to_numpy()
    is_right = (answers.replace(folded) == gold.replace(folded)).to_numpy()
    polarity = np.where(
        answers.isna(), 0, np.where(answers.isin(["TRUE", "POSSIBLE", "1", "2"]), 1, -1)
    )
    return float(np.average(is_right, weights=weight)), float(np.average(polarity, weights=weight))
