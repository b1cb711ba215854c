"""``worldprobe baselines``: word vectors, word2vec judgements and surface features, to compare the models with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe import methods
from worldprobe.cli.arguments import add_seed_argument, whole_number
from worldprobe.cli.extras import need

if TYPE_CHECKING:
    import pandas as pd

WORD2VEC_METHOD = 1
SURFACE_METHOD = 1


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's commands."""
    parser = stages.add_parser("baselines", help="word2vec bag of words; number and frequency of words")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    vectors = actions.add_parser(
        "train-vectors",
        help="train word vectors on the pipeline's own corpus",
        description="Train skip-gram vectors with gensim; the same corpus and seed give the same file.",
    )
    vectors.add_argument("corpus", type=Path, metavar="CORPUS", help="folder that `controls write-corpus` wrote")
    vectors.add_argument("--dimensions", type=whole_number(1, 100_000), default=100, metavar="N", help="length of a vector")
    vectors.add_argument("--epochs", type=whole_number(1, 100_000), default=5, metavar="N", help="passes over the corpus")
    add_seed_argument(vectors, "the vectors and the negative samples")
    vectors.add_argument("--out", type=Path, required=True, metavar="FILE", help="word vectors, as a NumPy archive")
    vectors.set_defaults(run=run_vectors)

    word2vec = actions.add_parser(
        "judge-word2vec",
        help="judge items by cosines of bags of words",
        description="A target is right when the context it fits lies nearer. The paper: Google News vectors, 300 dimensions.",
    )
    word2vec.add_argument("items", type=Path, metavar="ITEMS", help="items table")
    word2vec.add_argument(
        "--vectors",
        type=Path,
        required=True,
        metavar="FILE",
        help="word2vec binary or text, or what `baselines train-vectors` wrote",
    )
    word2vec.add_argument(
        "--allow-pickle", action="store_true", help="also read vectors that gensim saved; such a file can run any code"
    )
    word2vec.add_argument(
        "--skip-classes",
        nargs="*",
        default=["agent"],
        metavar="CLASS",
        help="filler classes whose words do not count (default: agent)",
    )
    word2vec.add_argument("--similarities-out", type=Path, metavar="FILE", help="also write the cosines")
    word2vec.add_argument("--out", type=Path, required=True, metavar="FILE", help="judgements table")
    word2vec.set_defaults(run=run_word2vec)

    surface = actions.add_parser(
        "measure-surface",
        help="number of words and mean log word frequency of each item",
        description="Each is (C1 + C2) / 2 + T for both targets, as the paper's Appendix A.5 defines it.",
    )
    surface.add_argument("items", type=Path, metavar="ITEMS", help="items table")
    surface.add_argument(
        "--frequency",
        choices=["wordfreq", "ngrams"],
        default="wordfreq",
        help="source of word frequencies (default: %(default)s)",
    )
    surface.add_argument(
        "--ngrams",
        type=Path,
        nargs="*",
        default=[],
        metavar="FILE",
        help="files of Google's 1-grams, googlebooks-eng-us-all-1gram-20120701-*.gz",
    )
    surface.add_argument(
        "--compat", action="store_true", help="words, and with ngrams their counts, as the paper's script takes them"
    )
    surface.add_argument("--out", type=Path, required=True, metavar="FILE", help="surface_features table")
    surface.set_defaults(run=run_surface)


def run_vectors(args: argparse.Namespace) -> None:
    """Train word vectors."""
    need("gensim")

    from worldprobe.benchmarks.ewok.baselines import word2vec
    from worldprobe.benchmarks.ewok.contracts import ControlDocuments
    from worldprobe.benchmarks.ewok.controls.corpus import check_documents
    from worldprobe.contracts import read_table
    from worldprobe.files import whole_file
    from worldprobe.log import LOGGER
    from worldprobe.provenance import made

    documents = args.corpus / "documents.parquet"
    texts = check_documents(read_table(documents, ControlDocuments), f"{documents}").text
    vectors = word2vec.train_vectors(texts, args.seed, args.dimensions, args.epochs)
    provenance = made(
        methods.VECTORS,
        {"documents": documents},
        ["gensim", "numpy"],
        seed=args.seed,
        details={"size": args.dimensions, "epochs": args.epochs},
    ).to_json()
    with whole_file(args.out) as temporary:
        word2vec.save_vectors(vectors, temporary, provenance)
    LOGGER.info("%d vectors of %d dimensions from %d documents", len(vectors), args.dimensions, len(texts))


def run_word2vec(args: argparse.Namespace) -> None:
    """Judge items by cosines."""
    from worldprobe.benchmarks.ewok.analysis.judge import judge_similarities
    from worldprobe.benchmarks.ewok.baselines import word2vec
    from worldprobe.benchmarks.ewok.contracts import Items, Judgements, Similarities
    from worldprobe.contracts import read_table, write_table
    from worldprobe.log import LOGGER
    from worldprobe.provenance import made

    items = read_table(args.items, Items)
    _check_classes(args.skip_classes, items)
    vectors = word2vec.read_vectors(args.vectors, args.allow_pickle)
    similarities, counts = word2vec.bag_similarities(items, vectors, args.skip_classes)
    judged = judge_similarities(items, similarities, "word2vec")
    provenance = made(
        WORD2VEC_METHOD,
        {"items": args.items, "vectors": args.vectors},
        ["gensim", "numpy"],
        model="word2vec",
        details={"skip": sorted(args.skip_classes), "n_vectors": len(vectors)} | counts | judged.details,
    )
    if args.similarities_out:
        write_table(similarities, Similarities, args.similarities_out, provenance)
    write_table(judged.table, Judgements, args.out, provenance)
    LOGGER.info(
        "word2vec: accuracy %.3f over %d targets; %d ties, %d missing; %d distinct words are not in the vocabulary",
        judged.table.accuracy.mean(),
        len(judged.table),
        judged.table.is_tie.sum(),
        (judged.table.status != "ok").sum(),
        counts["n_distinct_out_of_vocabulary"],
    )


def _check_classes(skip: list[str], items: pd.DataFrame) -> None:
    """Refuse to skip a class that no item has a filler of; ``agent``, the default, may be absent.

    Raises:
        UserError: no item has a filler of the class.
    """
    from worldprobe.benchmarks.ewok.baselines.frequency import classes_of
    from worldprobe.errors import UserError

    known = {name for fillers in items["fillers"].unique() for name in classes_of(fillers)}
    if unknown := sorted(set(skip) - known - {"agent"}):
        fix = f"The items have: {', '.join(sorted(known)) or 'no fillers'}."
        raise UserError("--skip-classes", f'no item has a filler of class "{unknown[0]}".', fix)


def run_surface(args: argparse.Namespace) -> None:
    """Measure surface properties."""
    from functools import partial

    from worldprobe.benchmarks.ewok.baselines import frequency
    from worldprobe.benchmarks.ewok.contracts import Items, SurfaceFeatures
    from worldprobe.contracts import read_table, write_table
    from worldprobe.errors import UserError
    from worldprobe.log import LOGGER
    from worldprobe.provenance import made

    if (args.frequency == "ngrams") != bool(args.ngrams):
        raise UserError("--ngrams", "1-gram files go with --frequency ngrams, and only with it.", "Give both or neither.")
    if len({path.resolve() for path in args.ngrams}) < len(args.ngrams):
        raise UserError("--ngrams", "a file is given twice, so its counts would be doubled.", "Give each file once.")
    items = read_table(args.items, Items)
    if args.frequency == "wordfreq":
        source, unit = frequency.frequencies_of_wordfreq, "ln(1 + occurrences per billion words)"
    elif args.compat:
        source = partial(frequency.records_that_begin_with, paths=args.ngrams)
        unit = "ln(1 + records that begin with the word)"
    else:
        source, unit = partial(frequency.frequencies_of_ngrams, paths=args.ngrams), "ln(1 + occurrences in books of all years)"
    measured = frequency.surface_features(items, source, args.compat)
    if empty := measured.counts["n_texts_without_words"]:
        LOGGER.warning("%d texts have no words, so their items have no mean log frequency", empty)
    provenance = made(
        SURFACE_METHOD,
        {"items": args.items} | {path.name: path for path in args.ngrams},
        ["wordfreq"] if args.frequency == "wordfreq" else ["pyarrow"],
        details={"source": args.frequency, "unit": unit, "is_compat": args.compat} | measured.counts,
    )
    write_table(measured.features, SurfaceFeatures, args.out, provenance)
    LOGGER.info(
        "%d items; %d of %d distinct words have no frequency",
        len(items),
        measured.counts["n_distinct_words_without_frequency"],
        measured.counts["n_distinct_words"],
    )
