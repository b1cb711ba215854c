"""How fast the BabyLM challenge's EWoK is scored for many checkpoints, compared with its own loop,
with equal predictions.

    python tests/performance/babylm.py /path/to/babylm-eval [--items EWOK-CORE-1.0] [--checkpoints
    19] [--theirs 19]

Builds checkpoints of GPT-2's architecture with 10 million random weights, 16,384 tokens, float32.
With ``--items`` the data are the challenge's: its whole set, which the final model is asked, and
100 rows of each domain, drawn at random, for each checkpoint. Without, both are synthetic and of
the fast size, the hardest case for us: their texts are all of one length, so that theirs pads
nothing, and few share a beginning. Ours is one command. Theirs is what the challenge's scripts do
for EWoK: a process for each checkpoint. With fewer of ``--theirs``, the final model and some
checkpoints, which all take the same, their time is scaled up; the packages that it needs for images
alone are empty modules, which makes it start faster. The bar: at least 5 times as fast, in CPU
seconds (a busy machine stretches the others). How many predictions differ, as near ties may, is
printed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from io import BytesIO
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path[:0] = [
    str(HERE.parent),
    str(HERE.parents[2] / "workflow" / "src"),
]  # pytest looks for doctests here, too

from scoring import SOURCE, build_tokenizer  # noqa: E402

from worldprobe.benchmarks.ewok.materials.official_files import DESIGN, read_items  # noqa: E402
from worldprobe_lab import babylm as challenge  # noqa: E402

COMMIT = challenge.COMMITS["2026"]
#: Our command with as many checkpoints, and with a final model that is asked as many rows.
OURS = (
    "import sys; from worldprobe.cli import main; from worldprobe_lab import babylm as"
    " challenge; challenge.TRACKS['strict-small'] = {numbers}; challenge.ROWS[challenge.WHOLE] ="
    " {sizes}; sys.exit(main(sys.argv[1:]))"
)
PEOPLE = (
    "Ana",
    "Ben",
    "Cora",
    "Dov",
    "Eli",
    "Fay",
    "Gus",
    "Hana",
    "Ivo",
    "June",
    "Kai",
    "Lena",
    "Milo",
    "Nora",
    "Otto",
    "Pia",
)
DOES = (
    "lifts",
    "drops",
    "paints",
    "hides",
    "finds",
    "sells",
    "breaks",
    "cleans",
    "carries",
    "borrows",
    "throws",
    "wraps",
)
KINDS = (
    "heavy",
    "light",
    "blue",
    "round",
    "wooden",
    "broken",
    "shiny",
    "narrow",
    "empty",
    "soft",
    "loud",
    "dusty",
    "cold",
)
OBJECTS = (
    "crate",
    "lamp",
    "kettle",
    "rug",
    "chair",
    "ladder",
    "bottle",
    "drum",
    "basket",
    "mirror",
    "pillow",
    "bucket",
)
PLACES = (
    "near the door",
    "under a tree",
    "behind the house",
    "in the kitchen",
    "on the shelf",
    "beside the river",
)


def write_synthetic(folder: Path) -> dict[str, int]:
    """Items and their exchanges for the final model, single rows for checkpoints; returns how many
    the former are, by domain.
    """
    draw = random.Random(0)

    def sentence() -> str:
        return (
            f"{draw.choice(PEOPLE)} {draw.choice(DOES)} the {draw.choice(KINDS)}"
            f" {draw.choice(OBJECTS)} {draw.choice(PLACES)}."
        )

    for domain in challenge.SIZES:
        rows = []
        for _ in range(500):
            texts = [
                f"{sentence()} {sentence()}",
                f"{sentence()} {sentence()}",
                sentence(),
                sentence(),
            ]
            facts = {
                "Domain": domain,
                "ConceptA": draw.choice(DOES),
                "ConceptB": draw.choice(DOES),
                "ContextType": "direct",
            }
            facts |= {"ContextDiff": "antonym", "TargetDiff": "concept swap"}
            for one, other in ((0, 1), (1, 0)):
                keys = {
                    "Context1": texts[one],
                    "Context2": texts[other],
                    "Target1": texts[2 + one],
                    "Target2": texts[2 + other],
                }
                rows.append(facts | keys)
        write_rows(folder, domain, rows[:100], draw.sample(rows, 100))
    return challenge.ROWS[challenge.FAST]


def write_official(folder: Path, items: Path, words: Path) -> dict[str, int]:
    """The whole set, made of EWoK-core-1.0, and a random fast one; returns how many rows the former
    has, by domain.
    """
    rows = challenge.select_items(read_items(items).items, words)
    challenge.check_counts(rows, challenge.WHOLE, items)
    keys = {"domain": "Domain", **{column: key for key, column in DESIGN.items()}}
    draw = random.Random(0)
    for domain, some in rows.rename(columns=keys).groupby("Domain"):
        whole = some.to_dict("records")
        write_rows(folder, str(domain), whole, draw.sample(whole, 100))
    return challenge.SIZES


def write_rows(folder: Path, domain: str, whole: list[Any], fast: list[Any]) -> None:
    """A domain's files."""
    for name, rows in ((challenge.WHOLE, whole), (challenge.FAST, fast)):
        place = folder / challenge.PLACES[name] / name
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{domain}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def build_checkpoints(folder: Path, data: Path, names: list[str]) -> None:
    """GPT-2's architecture with 10.5 million random weights, which differ from checkpoint to
    checkpoint.
    """
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    rows = challenge.read_data(data, challenge.WHOLE)
    pairs = list(zip(rows["context1"], rows["target1"], strict=True))
    tokenizer = build_tokenizer(pairs)
    ends: dict[str, Any] = {
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    config = GPT2Config(
        vocab_size=16_384,
        n_embd=256,
        n_layer=8,
        n_head=8,
        n_positions=256,
        initializer_range=0.1,
        **ends,
    )
    for seed, name in enumerate(names):
        torch.manual_seed(seed)
        GPT2LMHeadModel(config).save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)


def timed(words: list[str], place: Path, path: list[str]) -> dict[str, float]:
    """CPU and wall seconds of a process."""
    environment = os.environ | {
        "PYTHONPATH": ":".join(path),
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        words,
        cwd=place,
        env=environment,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "wall": time.monotonic() - began,
    }


def unpack(clone: str, folder: Path) -> list[str]:
    """The challenge's code, and modules in the place of packages that it imports for images."""
    packed = subprocess.run(
        ["git", "-C", clone, "archive", COMMIT, "strict/evaluation_pipeline"],
        capture_output=True,
        check=True,
    )
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as archive:
        archive.extractall(folder / "code", filter="data")
    stubs = folder / "stubs"
    stubs.mkdir()
    (stubs / "datasets.py").write_text("load_dataset = None\n")
    (stubs / "aiohttp.py").write_text("")
    return [str(folder / "code" / "strict"), str(stubs)]


def predictions(folder: Path) -> list[str]:
    """What was predicted, by domain."""
    found = json.loads((folder / "predictions.json").read_text())
    return [one["pred"] for domain in sorted(found) for one in found[domain]["predictions"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("clone", help="clone of https://github.com/babylm-org/babylm-eval")
    parser.add_argument("--items", type=Path, help="EWoK-core-1.0 (.csv, .parquet, folder or .zip)")
    parser.add_argument(
        "--checkpoints", type=int, default=19, help="how many, the final model included"
    )
    parser.add_argument(
        "--theirs",
        type=int,
        default=19,
        help="how many of them their loop scores; the others are scaled",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        data, training, path = (
            folder / "evaluation_data",
            folder / "training",
            unpack(options.clone, folder),
        )
        words = folder / "code" / "strict" / "evaluation_pipeline" / "ewok" / "vocab.txt"
        sizes = (
            write_official(data, options.items, words) if options.items else write_synthetic(data)
        )
        numbers = list(range(1, options.checkpoints))
        revisions = [challenge.MAIN, *(challenge.CHECKPOINT.format(n=n) for n in numbers)]
        build_checkpoints(training, data, revisions)
        ours_is = OURS.format(numbers=numbers, sizes=sizes)
        command = [
            sys.executable,
            "-c",
            ours_is,
            "babylm",
            str(training),
            "--track",
            "strict-small",
        ]
        ours = timed(
            [*command, "--data", str(data), "--out", str(folder / "ours")], folder, [str(SOURCE)]
        )
        print(json.dumps({"way": "ours", "checkpoints": len(revisions), **ours}), flush=True)
        scored = revisions[: max(options.theirs, 2)]
        theirs = {"cpu": 0.0, "wall": 0.0}
        differing = compared = 0
        for revision in scored:
            name = challenge.WHOLE if revision == challenge.MAIN else challenge.FAST
            command = [
                sys.executable,
                "-m",
                "evaluation_pipeline.sentence_zero_shot.run",
                "--task",
                "ewok",
                "--backend",
                "causal",
            ]
            command += [
                "--data_path",
                str(data / challenge.PLACES[name] / name),
                "--save_predictions",
            ]
            # For a folder the option revision_name does nothing, so each checkpoint is a model of
            # its own.
            command += [
                "--model_path_or_name",
                str(training / revision),
                "--output_dir",
                str(folder / "theirs"),
            ]
            took = timed(command, folder, path)
            print(json.dumps({"way": "theirs", "checkpoint": revision, **took}), flush=True)
            alike = 1 if revision == challenge.MAIN else (len(revisions) - 1) / (len(scored) - 1)
            theirs = {key: theirs[key] + took[key] * alike for key in theirs}
            places = (
                challenge.place_of(folder / "ours", "training", revision, "causal", name),
                challenge.place_of(folder / "theirs", revision, challenge.MAIN, "causal", name),
            )
            both = [predictions(place) for place in places]
            differing += sum(one != other for one, other in zip(*both, strict=True))
            compared += len(both[0])
        ratios = {f"{key}_ratio": round(theirs[key] / ours[key], 2) for key in ours}
        print(
            json.dumps(
                {
                    "theirs": theirs,
                    "ours": ours,
                    **ratios,
                    "bar": 5,
                    "differing": differing,
                    "compared": compared,
                }
            )
        )


if __name__ == "__main__":
    main()
