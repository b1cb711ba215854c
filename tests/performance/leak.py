"""What `worldprobe leak` detects: false alarms on items that were never read, and power by how
often items were read.

Small models (Llama's architecture, one layer of width 64) are trained here on neutral stories: a
template of each pair of concepts of builtin@2 with sixteen other fillings. Pairs of concepts are
drawn to have their given items in the stories 0, 1, 4 or 16 times, so one model gives all doses.
Four files of lines in random order are read 0, 1, 4 and 16 times besides. Prints, per dose, what
the given items have more than four parallel forms, and the power with so many pairs of concepts
(pairs of a dose drawn again, with replacement, over models); then false alarms, next to those of a
t-test: in 100 runs per model which form is "given" is drawn anew for each template among those that
no model has read. Half a minute of one core per model, and some minutes for power and false alarms;
models that the folder has are not trained again.

    python tests/performance/leak.py /tmp/leak [--seeds 3]
"""

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from worldprobe import load_model, score_texts
from worldprobe.benchmarks.ewok.materials.items import compile_all, fill_forms
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.paths import EDITIONS
from worldprobe.training import scratch
from worldprobe.training.tokenizer import save_tokenizer, train_tokenizer
from worldprobe_lab import leak
from worldprobe_lab.leak import (
    compare_forms,
    compare_orders,
    measure_items,
    questions_of,
    shuffled_shards,
)

DOSES = (0, 1, 4, 16)
SHARES = (0.625, 0.125, 0.125, 0.125)
#: Forms that are scored (the first is given), forms of the neutral stories, and one for each file.
SCORED, TOLD = 6, 16
PER_SHARD, SHUFFLES, N_LINES = 4, 10, 240
PAIR = ["domain", "concept_a", "concept_b"]


def make_forms(seed: int) -> list[pd.DataFrame]:
    """Forms of a template of each pair of concepts."""
    materials = read_materials(str(EDITIONS["builtin@2"]), RIGHT)
    templates = compile_all(materials)
    chosen = (
        templates.sample(frac=1, random_state=seed).groupby(PAIR, dropna=False).head(1).sort_index()
    )
    return fill_forms(chosen, materials, SCORED + TOLD + len(DOSES), seed, framed=False).tables


def stories(items: pd.DataFrame) -> list[str]:
    return [
        f"{row[f'context{n}']} {row[f'target{n}']}"
        for row in items.to_dict("records")
        for n in (1, 2)
    ]


def lines_of_files(forms: list[pd.DataFrame], seed: int) -> list[list[str]]:
    """The lines of the file of each dose, in random order."""
    rng = np.random.default_rng([seed, 2])
    return [
        [str(line) for line in rng.permutation(stories(form))[:N_LINES]]
        for form in forms[SCORED + TOLD :]
    ]


def train(forms: list[pd.DataFrame], doses: dict, folder: Path, seed: int) -> None:
    """Train one model and write it."""
    rng = np.random.default_rng([seed, 1])
    given = forms[0]
    texts = [text for form in forms[SCORED : SCORED + TOLD] for text in stories(form)]
    for dose in DOSES[1:]:
        read = [
            doses[pair] == dose
            for pair in zip(*(given[column].fillna("") for column in PAIR), strict=True)
        ]
        texts += stories(given[read]) * dose
    files = lines_of_files(forms, seed)
    for dose, lines in zip(DOSES, files, strict=True):
        texts += [
            "\n".join(lines[i : i + PER_SHARD]) for i in range(0, len(lines), PER_SHARD)
        ] * dose
    tokenizer = train_tokenizer(texts, 3000)
    folder.mkdir(parents=True, exist_ok=True)
    save_tokenizer(tokenizer, folder)
    settings = scratch.Settings("llama", 1, 64, 2, len(texts) // 32, 32, 5e-3, seed, 1, 256)
    model, losses = scratch.train(
        [texts[i] for i in rng.permutation(len(texts))], tokenizer, settings, "leak"
    )
    scratch.write_weights(model, folder)
    print(
        f"seed {seed}: {len(texts)} texts, {settings.steps} steps, loss"
        f" {scratch.last_loss(losses)}",
        flush=True,
    )


def ask(engine, questions) -> np.ndarray:
    return score_texts(engine, [q.target for q in questions], [q.context for q in questions])[
        "logprob"
    ].to_numpy()


def measure_model(seed: int, folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measures of every item of the scored forms, with form and dose; and the gains of the files'
    orders.
    """
    forms = make_forms(seed)
    pairs = sorted({tuple(row) for row in forms[0][PAIR].fillna("").to_numpy()})
    drawn = dict(
        zip(
            pairs,
            np.random.default_rng(seed).choice(DOSES, len(pairs), p=SHARES).tolist(),
            strict=True,
        )
    )
    files = lines_of_files(forms, seed)
    if not (folder / "model.safetensors").exists():
        train(forms, drawn, folder, seed)
    engine = load_model(folder, dtype="float32")
    rows = []
    for number, form in enumerate(forms[:SCORED]):
        measured = measure_items(form, ask(engine, questions_of(form)))
        dose = ["\0".join(pair) for pair in pairs]
        measured["dose"] = measured["pair"].map(dict(zip(dose, drawn.values(), strict=True)))
        measured["template_id"] = f"{seed}_" + measured["template_id"]
        measured["pair"] = f"{seed}_" + measured["pair"]
        rows.append(measured.assign(form=number, seed=seed))
    orders = []
    for dose, lines in zip(DOSES, files, strict=True):
        logprobs = ask(engine, shuffled_shards(lines, PER_SHARD, SHUFFLES, seed)).reshape(
            -1, 1 + SHUFFLES
        )
        orders.append({"seed": seed, "dose": dose} | vars(compare_orders(logprobs)))
    return pd.concat(rows, ignore_index=True), pd.DataFrame(orders)


def effects(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each seed and dose, and over all seeds."""
    found = []
    for (seed, dose), part in pd.concat([rows, rows.assign(seed=-1)]).groupby(["seed", "dose"]):
        given, forms = part[part["form"] == 0], part[part["form"].between(1, 4)]
        for measure in ("logprob", "accuracy"):
            found.append(
                {"seed": "all" if seed < 0 else seed, "dose": dose, "measure": measure}
                | vars(compare_forms(given, forms, measure))
            )
        found[-1]["accuracy"] = given["accuracy"].mean()
    return pd.DataFrame(found)


def power(
    rows: pd.DataFrame, n_pairs: int, draws: int, rng: np.random.Generator
) -> dict[int, float]:
    """Share of draws of pairs of a dose, over all models, with p below 0.05."""
    found = {}
    for dose, part in rows[(rows["form"] <= 4) & (rows["dose"] > 0)].groupby("dose"):
        rows_of = list(part.groupby("pair").indices.values())
        alarms = 0
        for _ in range(draws):
            drawn = [rows_of[i] for i in rng.integers(len(rows_of), size=n_pairs)]
            number = np.repeat(np.arange(n_pairs), [len(places) for places in drawn]).astype(str)
            together = part.iloc[np.concatenate(drawn)].assign(pair=number, template_id=number)
            given = together["form"] == 0
            alarms += compare_forms(together[given], together[~given], "logprob").p < 0.05
        found[int(dose)] = alarms / draws
    return found


def false_alarms(
    rows: pd.DataFrame, n_pairs: int | None, runs: int, rng: np.random.Generator
) -> pd.DataFrame:
    """p of runs in which, template by template, one unread form is drawn as given and four others
    as its parallel forms.
    """
    found = []
    clean = rows[rows["dose"] == 0]
    seeds = sorted(clean["seed"].unique())
    for run in range(runs):
        part = clean[clean["seed"] == seeds[run % len(seeds)]]
        part = part[part["pair"].isin(rng.permutation(part["pair"].unique())[:n_pairs])]
        place = (
            part.assign(lot=rng.random(len(part))).groupby("template_id")["lot"].rank().to_numpy()
        )
        given, forms = part[place == 1], part[(place > 1) & (place <= 5)]
        gains = given.set_index("pair")["logprob"] - forms.groupby("pair")["logprob"].mean()
        of_t = stats.ttest_1samp(gains.dropna(), 0, alternative="greater").pvalue
        found.append({"leak": compare_forms(given, forms, "logprob").p, "t-test": of_t})
    return pd.DataFrame(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    measured = []
    for seed in range(options.seeds):
        rows, orders = measure_model(seed, options.folder / str(seed))
        measured.append(rows)
        print(orders.to_string(float_format="%.3f"), flush=True)
        rows.to_parquet(options.folder / f"rows{seed}.parquet")
    rows, rng = pd.concat(measured, ignore_index=True), np.random.default_rng(0)
    print(effects(rows).to_string(float_format="%.3f"), flush=True)
    leak.RELABELLINGS = 199
    for n_pairs in (20, 100, 366):
        print(
            "power with",
            n_pairs,
            "pairs of concepts:",
            json.dumps(power(rows, n_pairs, 100, rng)),
            flush=True,
        )
    for pairs in (20, None):
        alarms = false_alarms(rows, pairs, 100 * options.seeds, rng)
        print(f"false alarms in {len(alarms)} runs with {pairs or 'all'} pairs:", flush=True)
        print(
            pd.DataFrame({level: (alarms < level).sum() for level in (0.05, 0.01)}).to_string(),
            flush=True,
        )
