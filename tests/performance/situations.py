"""Does a model know what fits a situation that it never read next to a target? Correctness, not
speed.

    python tests/performance/situations.py KIND [--seeds 0 1 2] [--pairs 60] [--steps 6000] [--width
    64]

Of each of some pairs of concepts (three situations at least, one pair of targets, concept swaps)
one situation is held out. A model (Llama's architecture, two layers) reads the others with their
targets, in 60 fillings each, and of all situations, the one that is held out too, KIND:

    none      nothing retell    "CONTEXT In other words: CONTEXT'", another situation of the same
    side, same filling (20 of each ordered pair) label     "CONTEXT It is about: CONCEPT." (60
    fillings) word      the same with a made-up word for each side of each pair of concepts, which
    no target contains +         several of these, e.g. word+retell

No context that is asked is read with the filling in which it is asked. Printed for each seed (of
pairs, situations, fillings and weights): accuracy on held-out situations and on taught ones in new
fillings, with standard errors over pairs of concepts; then the mean over seeds with a t interval.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy import stats

from worldprobe.benchmarks.ewok.materials.items import Filling, compile_all, fill_items
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.benchmarks.ewok.materials.split import PAIR
from worldprobe.models.engine import Loglikelihood
from worldprobe.models.transformers_engine import open_engine
from worldprobe.provenance import made
from worldprobe.training import scratch
from worldprobe.training.settings import MATERIALS
from worldprobe.training.tokenizer import save_tokenizer, train_tokenizer

CONCEPTS, TARGETS = ["concept_a", "concept_b"], ["target1", "target2"]


def choose(templates, n_pairs, seed):
    """Templates of the chosen pairs of concepts, with whether each is of the situation that is held
    out.
    """
    swaps = templates[
        (templates["target_contrast"] == "concept swap") & templates["concept_b"].notna()
    ]
    swaps = swaps[swaps.groupby([*PAIR, *TARGETS])["situation"].transform("nunique") >= 3]
    groups = (
        swaps[[*PAIR, *TARGETS]]
        .drop_duplicates()
        .sample(frac=1, random_state=seed)
        .drop_duplicates(PAIR)
        .head(n_pairs)
    )
    chosen = swaps.merge(groups).drop_duplicates("situation").reset_index(drop=True)
    held = chosen.groupby(PAIR)["situation"].transform(
        lambda names: names.sample(1, random_state=seed).iloc[0]
    )
    return chosen.assign(is_held=chosen["situation"] == held)


def bridges(chosen, kind, seed):
    """Templates whose targets are what KIND says of a context."""
    found, letters = [], random.Random(seed)
    if "retell" in kind:
        two = chosen.merge(
            chosen[[*PAIR, "situation", "context1", "context2"]], on=PAIR, suffixes=("", "_of")
        )
        two = two[two["situation"] != two["situation_of"]]
        told = {f"target{n}": "In other words: " + two[f"context{n}_of"] for n in (1, 2)}
        found.append(
            (two.drop(columns=["situation_of", "context1_of", "context2_of"]).assign(**told), 20)
        )
    if "label" in kind or "word" in kind:
        names = chosen[CONCEPTS].drop_duplicates().to_numpy().ravel()
        syllable = lambda: letters.choice("bdfgklmnprstvz") + letters.choice("aeiou")  # noqa: E731
        word = {
            name: name if "label" in kind else "".join(syllable() for _ in range(3))
            for name in names
        }
        said = {
            f"target{n}": "It is about: " + chosen[name].map(word) + "."
            for n, name in enumerate(CONCEPTS, start=1)
        }
        found.append((chosen.assign(**said), 60))
    return found


def filled(templates, materials, n, seed):
    """Items with fillings of their own, under new ids."""
    numbered = templates.assign(meta_template=range(1, len(templates) + 1), template=1)
    numbered["template_id"] = (
        numbered["domain"] + "_" + numbered["meta_template"].astype(str) + "_1"
    )
    return fill_items(
        numbered.reset_index(drop=True), materials, Filling("independent", range(n), seed)
    )[0]


def accuracy(items, pairs, engine):
    """Mean accuracy and its standard error over pairs of concepts."""
    rows = items.to_dict("records")
    asked = [
        Loglikelihood(row[f"context{c}"], row[f"target{t}"])
        for row in rows
        for t in (1, 2)
        for c in (1, 2)
    ]
    scores = dict(engine.score(asked))
    logprobs = np.array([scores[place].logprob for place in range(len(asked))]).reshape(-1, 2, 2)
    right = (
        (logprobs[:, 0, 0] > logprobs[:, 0, 1]) * 1.0 + (logprobs[:, 1, 1] > logprobs[:, 1, 0])
    ) / 2
    means = pd.Series(right).groupby(pairs[items["meta_template"].to_numpy() - 1]).mean()
    return means.mean(), means.sem()


def run(options, seed, templates, materials):
    """Teach and ask one model; what was found is printed."""
    chosen = choose(templates, options.pairs, seed)
    held, taught = (
        chosen[chosen["is_held"] == one].reset_index(drop=True) for one in (True, False)
    )
    asked = [(rows, filled(rows, materials, n, 100 + seed)) for rows, n in ((held, 6), (taught, 2))]
    new = {text for _, items in asked for name in ("context1", "context2") for text in items[name]}
    read = []
    for number, (rows, n) in enumerate([(taught, 60), *bridges(chosen, options.kind, seed)]):
        items = filled(rows, materials, n, 1000 * seed + number)
        for c in (1, 2):
            told = zip(items[f"context{c}"], items[f"target{c}"], strict=True)
            read += [
                (f"{context} {target}", len(context) + 1)
                for context, target in told
                if context not in new
            ]
    random.Random(seed).shuffle(read)
    texts, starts = [text for text, _ in read], [start for _, start in read]
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "tokenizer").mkdir()
        save_tokenizer(train_tokenizer(texts, 2000), place / "tokenizer")
        size = {"layers": 2, "width": options.width, "heads": options.width // 32}
        settings = scratch.Settings(
            architecture="llama",
            **size,
            steps=options.steps,
            batch=32,
            learning_rate=0.005,
            seed=seed,
        )
        model, losses = scratch.train(
            texts, scratch.load_tokenizer(place / "tokenizer"), settings, "situations", starts
        )
        (place / "model").mkdir()
        scratch.save_model(
            model, place / "tokenizer", place / "model", "situations", settings, made(1)
        )
        engine = open_engine(str(place / "model"))
        found = [accuracy(items, rows["concept_a"].to_numpy(), engine) for rows, items in asked]
    told = ", ".join(
        f"{what} {m:.3f} ({se:.3f})"
        for what, (m, se) in zip(("held out", "taught"), found, strict=True)
    )
    n_pairs = chosen["concept_a"].nunique()
    print(f"{options.kind} seed {seed}: {told}; {n_pairs} pairs, {len(texts)} texts, {options.steps} steps of width "
          f"{options.width}, loss {scratch.last_loss(losses)}, {time.process_time() - began:.0f} s", flush=True)  # fmt: skip
    return found[0][0]


def main():
    """All seeds, and their mean."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    for name, default in (("pairs", 60), ("steps", 6000), ("width", 64)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args(sys.argv[1:])
    torch.set_num_threads(1)
    materials = read_materials(str(MATERIALS), RIGHT)
    templates = compile_all(materials)
    means = [run(options, seed, templates, materials) for seed in options.seeds]
    half = stats.t.ppf(0.975, len(means) - 1) * stats.sem(means) if len(means) > 1 else float("nan")
    print(f"{options.kind}: {np.mean(means):.3f} ± {half:.3f} over {len(means)} seeds")


if __name__ == "__main__":
    main()
