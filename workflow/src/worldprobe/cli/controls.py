"""``worldprobe controls``: the corpus, the tokenizer and the small models that are trained here as calibration controls."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe import methods
from worldprobe.cli.arguments import add_missing_argument, add_seed_argument, missing_models, number, share, whole_number
from worldprobe.cli.reading_materials import add_materials_arguments, read_and_check

ACCURACY_METHOD = 3

DOCUMENTS, TEMPLATES, FILLERS = "documents.parquet", "templates.parquet", "fillers.parquet"


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's commands."""
    parser = stages.add_parser("controls", help="small models of known behaviour, trained on a corpus of our own")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    corpus = actions.add_parser(
        "write-corpus",
        help="write the corpus, some templates and fillers held out",
        description="Stories join a context and its right target; held-out templates and fillers occur in single sentences only.",
    )
    corpus.add_argument("templates", type=Path, metavar="TEMPLATES", help="templates table")
    add_materials_arguments(corpus)
    corpus.add_argument("--compat", action="store_true", help="fill the templates as the original generator would")
    corpus.add_argument("--stories", type=whole_number(1), default=24000, metavar="N", help="approximate number of stories")
    corpus.add_argument(
        "--sentences",
        type=whole_number(0),
        default=7000,
        metavar="N",
        help="approximate number of single sentences",
    )
    corpus.add_argument(
        "--held-out-templates",
        type=share,
        default=0.25,
        metavar="SHARE",
        help="share of each domain's templates that is held out",
    )
    corpus.add_argument(
        "--held-out-fillers",
        type=share,
        default=0.25,
        metavar="SHARE",
        help="share of each class's fillers that is held out",
    )
    add_seed_argument(corpus, "the split, the fillings and the order")
    corpus.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help=f"folder for {DOCUMENTS}, {TEMPLATES} and {FILLERS}"
    )
    corpus.set_defaults(run=run_corpus)

    tokenizer = actions.add_parser("train-tokenizer", help="train a byte-level BPE tokenizer on the corpus")
    tokenizer.add_argument("corpus", type=Path, metavar="CORPUS", help="folder that `controls write-corpus` wrote")
    tokenizer.add_argument("--vocabulary", type=whole_number(1), default=3000, metavar="N", help="largest number of tokens")
    tokenizer.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="folder of the tokenizer, written whole or not at all"
    )
    tokenizer.set_defaults(run=run_tokenizer)

    train = actions.add_parser(
        "train",
        help="train one causal language model from scratch",
        description="Writes an ordinary Hugging Face folder, whole or not at all; the same settings give the same bytes.",
    )
    train.add_argument("corpus", type=Path, metavar="CORPUS", help="folder that `controls write-corpus` wrote")
    train.add_argument("tokenizer", type=Path, metavar="TOKENIZER", help="folder that `controls train-tokenizer` wrote")
    train.add_argument("--architecture", choices=["gpt2", "llama"], required=True, help="family of the model")
    train.add_argument("--layers", type=whole_number(1, 1000), default=2, metavar="N", help="number of layers")
    train.add_argument(
        "--width", type=whole_number(1, 1_000_000), default=64, metavar="N", help="hidden size, a multiple of the number of heads"
    )
    train.add_argument("--heads", type=whole_number(1, 1000), default=2, metavar="N", help="number of attention heads")
    train.add_argument("--steps", type=whole_number(0), default=1000, metavar="N", help="training steps")
    train.add_argument("--batch", type=whole_number(1), default=64, metavar="N", help="documents per step")
    train.add_argument("--learning-rate", type=number(1e-12, 100), default=2e-3, metavar="RATE", help="peak learning rate")
    add_seed_argument(train, "the weights and the order of documents")
    train.add_argument(
        "--threads",
        type=whole_number(1, 4096),
        default=1,
        metavar="N",
        help="number of threads of torch, on which the weights depend",
    )
    train.add_argument("--untrained", action="store_true", help="save the random initial weights without training")
    train.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="folder of the model, written whole or not at all"
    )
    train.set_defaults(run=run_train)

    accuracy = actions.add_parser(
        "measure",
        help="accuracy of each model by what the corpus had held out",
        description="Templates held in and held out, by items whose fillers all occurred in stories and by the others.",
    )
    accuracy.add_argument("items", type=Path, metavar="ITEMS", help="items table")
    accuracy.add_argument("corpus", type=Path, metavar="CORPUS", help="folder that `controls write-corpus` wrote")
    accuracy.add_argument(
        "judgements", type=Path, nargs="+", metavar="JUDGEMENTS", help="judgements of one eval_type, a file per model"
    )
    add_missing_argument(accuracy)
    accuracy.add_argument("--out", type=Path, required=True, metavar="FILE", help="control_accuracies table")
    accuracy.set_defaults(run=run_accuracy)


def run_corpus(args: argparse.Namespace) -> None:
    """Split, fill, write."""
    from worldprobe.benchmarks.ewok.contracts import ControlDocuments, ControlFillers, ControlTemplates, Templates
    from worldprobe.benchmarks.ewok.controls.corpus import build_corpus
    from worldprobe.contracts import read_table, write_table
    from worldprobe.files import whole_folder
    from worldprobe.provenance import made

    templates = read_table(args.templates, Templates)
    materials = read_and_check(args)
    corpus = build_corpus(
        templates, materials, args.held_out_templates, args.held_out_fillers, args.stories, args.sentences, args.seed
    )
    provenance = made(
        methods.CORPUS,
        {"templates": args.templates},
        ["numpy", "pandas"],
        digests={"materials": materials.source.digest()},
        seed=args.seed,
        canary=materials.canary,
        details={
            "held_out_templates": args.held_out_templates,
            "held_out_fillers": args.held_out_fillers,
            "compat": args.compat,
        }
        | corpus.counts(),
    )
    with whole_folder(args.out, "controls write-corpus") as folder:
        write_table(corpus.documents, ControlDocuments, folder / DOCUMENTS, provenance)
        write_table(corpus.templates, ControlTemplates, folder / TEMPLATES, provenance)
        write_table(corpus.fillers, ControlFillers, folder / FILLERS, provenance)


def run_tokenizer(args: argparse.Namespace) -> None:
    """Train the tokenizer."""
    from worldprobe.benchmarks.ewok.contracts import ControlDocuments
    from worldprobe.benchmarks.ewok.controls.corpus import check_documents
    from worldprobe.contracts import read_table
    from worldprobe.errors import UserError
    from worldprobe.files import whole_folder
    from worldprobe.log import LOGGER
    from worldprobe.provenance import made
    from worldprobe.training.tokenizer import SMALLEST_VOCABULARY, save_tokenizer, train_tokenizer

    if args.vocabulary < SMALLEST_VOCABULARY:
        raise UserError(
            "--vocabulary", f"{args.vocabulary} is too few.", f"Give at least {SMALLEST_VOCABULARY}: every byte is a token."
        )
    texts = check_documents(read_table(args.corpus / DOCUMENTS, ControlDocuments), f"{args.corpus / DOCUMENTS}").text
    tokenizer = train_tokenizer(texts, args.vocabulary)
    provenance = made(
        methods.TOKENIZER,
        {"documents": args.corpus / DOCUMENTS},
        ["tokenizers"],
        details={"vocabulary": tokenizer.get_vocab_size()},
    )
    with whole_folder(args.out, "controls train-tokenizer") as folder:
        save_tokenizer(tokenizer, folder)
        (folder / "provenance.json").write_text(provenance.to_json() + "\n", encoding="utf-8")
    lengths = [len(encoding.ids) for encoding in tokenizer.encode_batch(list(texts[:2000]))]
    LOGGER.info("%d tokens; a document has %.1f on average", tokenizer.get_vocab_size(), sum(lengths) / len(lengths))


def run_train(args: argparse.Namespace) -> None:
    """Train one model."""
    from dataclasses import asdict

    from worldprobe.benchmarks.ewok.contracts import ControlDocuments
    from worldprobe.benchmarks.ewok.controls.corpus import check_documents
    from worldprobe.contracts import read_table
    from worldprobe.files import check_place, source_of, whole_folder
    from worldprobe.log import LOGGER
    from worldprobe.models import model_provenance
    from worldprobe.provenance import digests, made

    if not model_provenance.pin():
        LOGGER.warning("torch was loaded before: the weights may differ from those of another type of processor")
    from worldprobe.training import scratch

    settings = scratch.Settings(
        architecture=args.architecture,
        layers=args.layers,
        width=args.width,
        heads=args.heads,
        steps=0 if args.untrained else args.steps,
        batch=args.batch,
        learning_rate=args.learning_rate,
        seed=args.seed,
        threads=args.threads,
    )
    scratch.check_settings(settings)
    tokenizer = scratch.load_tokenizer(args.tokenizer)
    documents = check_documents(read_table(args.corpus / DOCUMENTS, ControlDocuments), f"{args.corpus / DOCUMENTS}")
    texts = documents.text.tolist()
    name, inputs = args.out.name, digests({"documents": args.corpus / DOCUMENTS, "tokenizer": args.tokenizer / "tokenizer.json"})
    source = source_of(inputs, asdict(settings))
    check_place(args.out, is_folder=True, command="controls train", source=source)
    model, losses = scratch.train(texts, tokenizer, settings, name)
    provenance = made(
        methods.TRAINING,
        packages=["torch", "transformers", "tokenizers", "safetensors", "numpy"],
        digests=inputs,
        seed=args.seed,
        model=name,
        dtype="float32",
        details={"n_parameters": model.num_parameters(), "loss": scratch.last_loss(losses), **model_provenance.facts()},
    )
    with whole_folder(args.out, "controls train", source) as folder:
        scratch.save_model(model, args.tokenizer, folder, name, settings, provenance)
    LOGGER.info("%s: %s parameters, loss %s", name, f"{model.num_parameters():,}", provenance.details["loss"])


def run_accuracy(args: argparse.Namespace) -> None:
    """Average accuracies by held-out status."""
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items, kinds_of
    from worldprobe.benchmarks.ewok.contracts import ControlAccuracies, ControlFillers, ControlTemplates, Items, Judgements
    from worldprobe.benchmarks.ewok.controls import corpus
    from worldprobe.contracts import read_table, write_table
    from worldprobe.provenance import made

    paths = {"items": args.items, "templates": args.corpus / TEMPLATES, "fillers": args.corpus / FILLERS}
    status = corpus.item_status(
        read_table(args.items, Items),
        read_table(paths["templates"], ControlTemplates),
        read_table(paths["fillers"], ControlFillers),
    )
    judgements = [read_table(path, Judgements) for path in args.judgements]
    check_items(args.items, args.judgements)
    accuracies = corpus.accuracy_by_split(judgements, status)
    missing = missing_models(args.missing, accuracies["model"].unique()) | kinds_of(args.judgements)
    inputs = paths | {str(path): path for path in args.judgements}
    provenance = made(ACCURACY_METHOD, inputs, ["numpy", "pandas"], details=missing)
    write_table(accuracies, ControlAccuracies, args.out, provenance)
