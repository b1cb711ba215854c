"""``worldsense start-model``: a small untrained model, on which fine-tuning begins."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe import methods
from worldprobe.cli.arguments import add_seed_argument, whole_number
from worldprobe.cli.finetuning_flags import TRAIN_HELP
from worldprobe.errors import UserError


def add_start_parser(actions: argparse._SubParsersAction) -> None:
    """``start-model``."""
    start = actions.add_parser(
        "start-model",
        help="make a small untrained model that knows the words of training files",
        description="Trains a tokenizer on the texts of training files, and writes a causal language model with random weights.",
    )
    start.add_argument("train", nargs="*", type=Path, metavar="TRAIN", help=TRAIN_HELP)
    start.add_argument("--architecture", choices=("gpt2", "llama"), default="llama", help="family of the model")
    start.add_argument("--layers", type=whole_number(1, 1000), default=4, metavar="N", help="number of layers")
    start.add_argument("--width", type=whole_number(1, 1_000_000), default=128, metavar="N", help="hidden size")
    start.add_argument("--heads", type=whole_number(1, 1000), default=4, metavar="N", help="number of attention heads")
    start.add_argument(
        "--positions", type=whole_number(8, 1_000_000), default=512, metavar="N", help="longest sequence, in tokens"
    )
    start.add_argument("--vocabulary", type=whole_number(258), default=1024, metavar="N", help="largest number of tokens")
    start.add_argument("--tokenizer", metavar="FOLDER", help="folder of a finished tokenizer, instead of TRAIN")
    add_seed_argument(start, "the weights")
    start.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="folder of the model, written whole or not at all"
    )
    start.set_defaults(run=run_start)


def run_start(args: argparse.Namespace) -> None:
    """Texts -> tokenizer; settings -> random weights."""
    from dataclasses import asdict

    from worldprobe.benchmarks.worldsense.finetuning import training_files
    from worldprobe.files import check_place, source_of, whole_folder
    from worldprobe.models import model_provenance
    from worldprobe.provenance import digests, made

    model_provenance.pin()
    from worldprobe.training import scratch
    from worldprobe.training.tokenizer import save_tokenizer, train_tokenizer

    settings = scratch.Settings(
        args.architecture, args.layers, args.width, args.heads, 0, 1, 1.0, args.seed, positions=args.positions
    )
    scratch.check_settings(settings)
    if bool(args.tokenizer) == bool(args.train):
        raise UserError("worldsense start-model", "takes training files or a tokenizer.", "Give TRAIN, or --tokenizer FOLDER.")
    if args.tokenizer:
        tokenizer = scratch.load_tokenizer(args.tokenizer)
        inputs = {"tokenizer": Path(args.tokenizer) / "tokenizer.json"}
    else:
        tokenizer = train_tokenizer(training_files.read_texts(args.train), args.vocabulary)
        inputs = {f"train {place}": path for place, path in enumerate(args.train, 1)}
    found = digests(inputs)
    source = source_of(found, asdict(settings), args.vocabulary)
    check_place(args.out, is_folder=True, command="worldsense start-model", source=source)
    model, _ = scratch.train([], tokenizer, settings, args.out.name)
    provenance = made(
        methods.START_MODEL,
        packages=["torch", "transformers", "tokenizers", "safetensors"],
        digests=found,
        seed=args.seed,
        model=args.out.name,
        dtype="float32",
        details={"n_parameters": model.num_parameters(), "vocabulary": tokenizer.get_vocab_size(), **model_provenance.facts()},
    )
    with whole_folder(args.out, "worldsense start-model", source) as folder:
        if not args.tokenizer:
            save_tokenizer(tokenizer, folder)
        scratch.save_model(model, args.tokenizer or folder, folder, args.out.name, settings, provenance)
