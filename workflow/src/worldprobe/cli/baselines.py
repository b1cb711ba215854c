"""``worldprobe baselines``: yardsticks beside the models."""

from __future__ import annotations

import argparse
from pathlib import Path

#: Version of the computation: bumped when the same corpus gives other vectors.
VECTORS_METHOD = 1


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's commands."""
    parser = stages.add_parser("baselines", help="word2vec bag of words; number and frequency of words")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)

    vectors = actions.add_parser(
        "vectors",
        help="train word vectors on the pipeline's own corpus",
        description="Train skip-gram vectors with gensim; the same corpus and seed give the same file.",
    )
    vectors.add_argument("corpus", type=Path, metavar="CORPUS", help="folder that `controls corpus` wrote")
    vectors.add_argument("--size", type=int, default=100, help="dimensions (%(default)s)")
    vectors.add_argument("--epochs", type=int, default=5, help="passes over the corpus (%(default)s)")
    vectors.add_argument("--seed", type=int, default=0)
    vectors.add_argument("--out", type=Path, required=True, metavar="FILE", help="gensim KeyedVectors")
    vectors.set_defaults(run=run_vectors)

    word2vec = actions.add_parser(
        "word2vec",
        help="judge items by cosines of bags of words",
        description="A target is right when the context it fits lies nearer. The paper: Google News vectors, 300 dimensions.",
    )
    word2vec.add_argument("items", type=Path, metavar="ITEMS", help="items table")
    word2vec.add_argument(
        "--vectors",
        type=Path,
        required=True,
        metavar="FILE",
        help="word2vec binary or text, or a file gensim saved (a pickle: trust it)",
    )
    word2vec.add_argument("--skip", nargs="*", default=["agent"], metavar="CLASS", help="fillers that do not count (%(default)s)")
    word2vec.add_argument("--similarities-out", type=Path, metavar="FILE", help="also write the cosines")
    word2vec.add_argument("--out", type=Path, required=True, metavar="FILE", help="judgements table")
    word2vec.set_defaults(run=run_word2vec)

    surface = actions.add_parser(
        "surface",
        help="number of words and mean log word frequency of each item",
        description="Each is (C1 + C2) / 2 + T for both targets, as the paper's Appendix A.5 defines it.",
    )
    surface.add_argument("items", type=Path, metavar="ITEMS", help="items table")
    surface.add_argument("--frequency", choices=["wordfreq", "ngrams"], default="wordfreq", help="source (%(default)s)")
    surface.add_argument(
        "--ngrams", type=Path, nargs="*", default=[], metavar="FILE", help="googlebooks-eng-us-all-1gram-20120701-*.gz"
    )
    surface.add_argument(
        "--compat", action="store_true", help="words, and with ngrams their counts, as the paper's script takes them"
    )
    surface.add_argument("--out", type=Path, required=True, metavar="FILE", help="surface_features table")
    surface.set_defaults(run=run_surface)


def run_vectors(args: argparse.Namespace) -> None:
    """Train word vectors."""
    from worldprobe.benchmarks.ewok.baselines import word2vec
    from worldprobe.benchmarks.ewok.contracts import ControlDocuments
    from worldprobe.contracts import read_table
    from worldprobe.files import whole_file
    from worldprobe.log import LOGGER
    from worldprobe.provenance import Provenance, digests, versions

    documents = args.corpus / "documents.parquet"
    texts = read_table(documents, ControlDocuments).text
    vectors = word2vec.train_vectors(texts, args.seed, args.size, args.epochs)
    vectors.provenance = Provenance(
        method=VECTORS_METHOD,
        seed=args.seed,
        inputs=digests({"documents": documents}),
        packages=versions(["gensim", "numpy"]),
        details={"size": args.size, "epochs": args.epochs},
    ).to_json()
    with whole_file(args.out) as temporary:
        word2vec.save_vectors(vectors, temporary)
    LOGGER.info("%d vectors of %d dimensions from %d documents", len(vectors), args.size, len(texts))


def run_word2vec(args: argparse.Namespace) -> None:
    """Judge items by cosines."""
    from worldprobe.benchmarks.ewok.analysis.judge import judge_similarities
    from worldprobe.benchmarks.ewok.baselines import word2vec
    from worldprobe.benchmarks.ewok.contracts import Items, Judgements, Similarities
    from worldprobe.contracts import read_table, write_table
    from worldprobe.log import LOGGER
    from worldprobe.provenance import Provenance, digests, versions

    items = read_table(args.items, Items)
    vectors = word2vec.read_vectors(args.vectors)
    similarities, counts = word2vec.bag_similarities(items, vectors, args.skip)
    judged = judge_similarities(items, similarities, "word2vec")
    provenance = Provenance(
        model="word2vec",
        inputs=digests({"items": args.items, "vectors": args.vectors}),
        packages=versions(["gensim", "numpy"]),
        details={"skip": sorted(args.skip), "n_vectors": len(vectors)} | counts | judged.details,
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


def run_surface(args: argparse.Namespace) -> None:
    """Measure surface properties."""
    from functools import partial

    from worldprobe.benchmarks.ewok.baselines import frequency, surface
    from worldprobe.benchmarks.ewok.contracts import Items, SurfaceFeatures
    from worldprobe.contracts import read_table, write_table
    from worldprobe.errors import UserError
    from worldprobe.log import LOGGER
    from worldprobe.provenance import Provenance, digests, versions

    if (args.frequency == "ngrams") != bool(args.ngrams):
        raise UserError("--ngrams", "1-gram files go with --frequency ngrams, and only with it.", "Give both or neither.")
    items = read_table(args.items, Items)
    if args.frequency == "wordfreq":
        source, unit = frequency.frequencies_of_wordfreq, "ln(1 + occurrences per billion words)"
    elif args.compat:
        source = partial(frequency.records_that_begin_with, paths=args.ngrams)
        unit = "ln(1 + records that begin with the word)"
    else:
        source, unit = partial(frequency.frequencies_of_ngrams, paths=args.ngrams), "ln(1 + occurrences in books of all years)"
    measured = surface.surface_features(items, source, args.compat)
    provenance = Provenance(
        inputs=digests({"items": args.items} | {path.name: path for path in args.ngrams}),
        packages=versions(["wordfreq"] if args.frequency == "wordfreq" else ["pyarrow"]),
        details={"source": args.frequency, "unit": unit, "is_compat": args.compat} | measured.counts,
    )
    write_table(measured.features, SurfaceFeatures, args.out, provenance)
    LOGGER.info(
        "%d items; %d of %d distinct words have no frequency",
        len(items),
        measured.counts["n_distinct_words_without_frequency"],
        measured.counts["n_distinct_words"],
    )
