"""The reference results that the package brings: what known models and baselines answer to our own
items (``resources/references/ewok.parquet``).

``make references`` asks whatever is not answered yet, for the edition that ``builtin`` means, and
writes the file. It takes some minutes of two cores, and Gemma's terms. A test fails where the file
is of other items than the built-in ones.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "src"))

import pandas as pd  # noqa: E402
import yaml  # noqa: E402

from worldprobe import cli  # noqa: E402
from worldprobe.benchmarks.ewok.contracts import Items, Judgements, References  # noqa: E402
from worldprobe.benchmarks.ewok.references import FILE, pack_references  # noqa: E402
from worldprobe.contracts import read_provenance, read_table, write_table  # noqa: E402
from worldprobe.files import digest_file  # noqa: E402
from worldprobe.paths import BUILTIN, REGISTRY  # noqa: E402
from worldprobe.provenance import made  # noqa: E402
from worldprobe.report.model_names import read_roster  # noqa: E402
from worldprobe.settings.blocks import options  # noqa: E402
from worldprobe.settings.registry import read_registry  # noqa: E402

METHOD = 1
#: Published models of the registry, the control that has learnt nothing, and baselines.
MODELS, CONTROL = ("smollm2_135m", "gemma3_270m"), "control_untrained"
BASELINES = ("sentence_vectors", "wordnet")
#: The version that every run has: that of a sample, and the first of a whole one.
VERSIONS = "0-0"
#: What a reference states of its making.
FACTS = ("checkpoint", "revision", "dtype", "engine", "packages", "inputs", "method")


def run(*words: object) -> None:
    """One of our commands; one that fails ends the program."""
    line = list(map(str, words))
    print("worldprobe", *line, flush=True)
    if status := cli.main(line):
        sys.exit(status)


def judge_all(work: Path) -> list[Path]:
    """Judgements of every reference on the items; what is there of the same items is kept.

    Args:
        work: folder for all that is made.
    """
    registry = read_registry(ROOT / REGISTRY)
    settings = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
    items, judged = work / "items.parquet", []
    run("items", "build", BUILTIN, "--versions", VERSIONS, "--out", items)
    for name in BASELINES:
        judged.append(work / f"{name}.parquet")
        source = settings["ewok"]["baselines"][name]
        run("baselines", "fetch", source)
        run("baselines", "judge", items, "--by", name, "--source", source, "--out", judged[-1])
    for model in MODELS:
        if terms := registry[model].get("terms"):
            run("models", "fetch", model, "--accept-terms", terms)
        else:
            run("models", "fetch", model)
    control = train_control(work / "control", registry[CONTROL]["control"])
    asked = {**{model: [model] for model in MODELS}, CONTROL: [control, "--model", CONTROL]}
    for model, words in asked.items():
        how = ["--versions", VERSIONS, "--work", work / model, "--replace"]
        run("evaluate", *words, "--materials", BUILTIN, *how)
        judged.append(work / model / "ewok" / "judgements.parquet")
    return judged


def train_control(work: Path, settings: dict[str, Any]) -> Path:
    """The control model, made as in a study."""
    templates, corpus, tokenizer, model = (
        work / name for name in ("templates.parquet", "corpus", "tokenizer", CONTROL)
    )
    run("templates", "compile", BUILTIN, "--out", templates)
    run("controls", "write-corpus", templates, BUILTIN, "--out", corpus)
    run("controls", "train-tokenizer", corpus, "--out", tokenizer)
    how = options({"seed": 0, **settings}).split()
    run("controls", "train", corpus, tokenizer, *how, "--threads", 1, "--out", model)
    return model


def write_references(items: Path, judged: Sequence[Path], out: Path) -> None:
    """Pack judgements into the file that the package brings.

    Args:
        items: whose judgements they are.
        judged: a table for each reference.
        out: the file.
    """
    roster = read_roster(ROOT / REGISTRY)
    table = pd.concat([read_table(path, Judgements) for path in judged], ignore_index=True)
    facts = {}
    for path in judged:
        scores = path.with_name("target_scores.parquet")  # which say what computed them
        provenance = read_provenance(scores if scores.exists() else path)
        stated = {key: value for key in FACTS if (value := getattr(provenance, key))}
        if "checkpoint" in stated:  # nobody's folders
            stated["checkpoint"] = stated["checkpoint"].rpartition("results/")[2]
        quantisation = provenance.details.get("quantisation")
        stated |= {"quantisation": quantisation} if quantisation else {}
        facts[str(provenance.model)] = {"name": roster[str(provenance.model)].name, **stated}
    source = read_provenance(items)
    provenance = made(
        METHOD,
        digests={"items": digest_file(items), "materials": source.inputs["materials"]},
        details={"materials": BUILTIN, "versions": VERSIONS, "references": facts},
    )
    write_table(pack_references(read_table(items, Items), table), References, out, provenance)
    print(f"{out}: {len(facts)} references, {out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    work = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "results" / "references")
    write_references(work / "items.parquet", judge_all(work), FILE)
