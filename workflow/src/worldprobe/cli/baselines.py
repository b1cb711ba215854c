"""``baselines``: word vectors, word2vec judgements and surface features, to compare the models with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from worldprobe import methods
from worldprobe.cli.options import Seed, between
from worldprobe.cli.parsing import need
from worldprobe.errors import UserError
from worldprobe.files import whole_file
from worldprobe.log import LOGGER
from worldprobe.provenance import made

if TYPE_CHECKING:
    import pandas as pd

app = App(name="baselines", help="Word2vec bag of words; number and frequency of words.")

WORD2VEC_METHOD = 1
SURFACE_METHOD = 1


@app.command(name="train-vectors")
def train_vectors(
    corpus: Path,
    /,
    *,
    dimensions: Annotated[int, between(1, 100_000)] = 100,
    epochs: Annotated[int, between(1, 100_000)] = 5,
    seed: Seed = 0,
    out: Path,
) -> None:
    """Train skip-gram vectors with gensim on the pipeline's own corpus; the same corpus and seed give the same file.

    Args:
        corpus: folder that `controls write-corpus` wrote
        dimensions: length of a vector
        epochs: passes over the corpus
        out: word vectors, as a NumPy archive
    """
    need("gensim")

    from worldprobe.benchmarks.ewok import word2vec
    from worldprobe.benchmarks.ewok.contracts import ControlDocuments
    from worldprobe.benchmarks.ewok.controls import DOCUMENT_KINDS, read_by
    from worldprobe.contracts import read_table

    documents = corpus / "documents.parquet"
    texts = read_by(read_table(documents, ControlDocuments), DOCUMENT_KINDS, f"{documents}").text
    vectors = word2vec.train_vectors(texts, seed, dimensions, epochs)
    provenance = made(
        methods.VECTORS,
        {"documents": documents},
        ["gensim", "numpy"],
        seed=seed,
        details={"size": dimensions, "epochs": epochs},
    ).to_json()
    with whole_file(out) as temporary:
        word2vec.save_vectors(vectors, temporary, provenance)
    LOGGER.info("%d vectors of %d dimensions from %d documents", len(vectors), dimensions, len(texts))


@app.command
def judge_word2vec(
    items: Path,
    /,
    *,
    vectors: Path,
    allow_pickle: bool = False,
    skip_classes: Annotated[Sequence[str], Parameter(consume_multiple=True)] = ("agent",),
    similarities_out: Path | None = None,
    out: Path,
) -> None:
    """Judge items by cosines of bags of words.

    A target is right when the context it fits lies nearer. The paper: Google News vectors, 300 dimensions.

    Args:
        items: items table
        vectors: word2vec binary or text, or what `baselines train-vectors` wrote
        allow_pickle: also read vectors that gensim saved; such a file can run any code
        skip_classes: filler classes whose words do not count
        similarities_out: also write the cosines
        out: judgements table
    """
    from worldprobe.benchmarks.ewok import word2vec
    from worldprobe.benchmarks.ewok.analysis.judge import judge_similarities
    from worldprobe.benchmarks.ewok.contracts import Items, Judgements, Similarities
    from worldprobe.contracts import read_table, write_table

    item_rows = read_table(items, Items)
    _check_classes(skip_classes, item_rows)
    words = word2vec.read_vectors(vectors, allow_pickle)
    similarities, counts = word2vec.bag_similarities(item_rows, words, skip_classes)
    judged = judge_similarities(item_rows, similarities, "word2vec")
    provenance = made(
        WORD2VEC_METHOD,
        {"items": items, "vectors": vectors},
        ["gensim", "numpy"],
        model="word2vec",
        details={"skip": sorted(skip_classes), "n_vectors": len(words)} | counts | judged.details,
    )
    if similarities_out:
        write_table(similarities, Similarities, similarities_out, provenance)
    write_table(judged.table, Judgements, out, provenance)
    LOGGER.info(
        "word2vec: accuracy %.3f over %d targets; %d ties, %d missing; %d distinct words are not in the vocabulary",
        judged.table.accuracy.mean(),
        len(judged.table),
        judged.table.is_tie.sum(),
        (judged.table.status != "ok").sum(),
        counts["n_distinct_out_of_vocabulary"],
    )


def _check_classes(skip: Sequence[str], items: pd.DataFrame) -> None:
    """Refuse to skip a class that no item has a filler of; ``agent``, the default, may be absent.

    Raises:
        UserError: no item has a filler of the class.
    """
    from worldprobe.benchmarks.ewok.frequency import classes_of

    known = {name for fillers in items["fillers"].unique() for name in classes_of(fillers)}
    if unknown := sorted(set(skip) - known - {"agent"}):
        fix = f"The items have: {', '.join(sorted(known)) or 'no fillers'}."
        raise UserError("--skip-classes", f'no item has a filler of class "{unknown[0]}".', fix)


@app.command
def measure_surface(
    items: Path,
    /,
    *,
    frequency: Literal["wordfreq", "ngrams"] = "wordfreq",
    ngrams: Annotated[Sequence[Path], Parameter(consume_multiple=True)] = (),
    compat: bool = False,
    out: Path,
) -> None:
    """Measure the number of words and the mean log word frequency of each item.

    Each is (C1 + C2) / 2 + T for both targets, as the paper's Appendix A.5 defines it.

    Args:
        items: items table
        frequency: source of word frequencies
        ngrams: files of Google's 1-grams, googlebooks-eng-us-all-1gram-20120701-*.gz
        compat: words, and with ngrams their counts, as the paper's script takes them
        out: surface_features table
    """
    from worldprobe.benchmarks.ewok import frequency as frequencies
    from worldprobe.benchmarks.ewok.contracts import Items, SurfaceFeatures
    from worldprobe.contracts import read_table, write_table

    if (frequency == "ngrams") != bool(ngrams):
        raise UserError("--ngrams", "1-gram files go with --frequency ngrams, and only with it.", "Give both or neither.")
    if len({path.resolve() for path in ngrams}) < len(ngrams):
        raise UserError("--ngrams", "a file is given twice, so its counts would be doubled.", "Give each file once.")
    item_rows = read_table(items, Items)
    if frequency == "wordfreq":
        source, unit = frequencies.frequencies_of_wordfreq, "ln(1 + occurrences per billion words)"
    elif compat:
        source = partial(frequencies.records_that_begin_with, paths=ngrams)
        unit = "ln(1 + records that begin with the word)"
    else:
        source, unit = partial(frequencies.frequencies_of_ngrams, paths=ngrams), "ln(1 + occurrences in books of all years)"
    measured = frequencies.surface_features(item_rows, source, compat)
    if empty := measured.counts["n_texts_without_words"]:
        LOGGER.warning("%d texts have no words, so their items have no mean log frequency", empty)
    provenance = made(
        SURFACE_METHOD,
        {"items": items} | {path.name: path for path in ngrams},
        ["wordfreq"] if frequency == "wordfreq" else ["pyarrow"],
        details={"source": frequency, "unit": unit, "is_compat": compat} | measured.counts,
    )
    write_table(measured.features, SurfaceFeatures, out, provenance)
    LOGGER.info(
        "%d items; %d of %d distinct words have no frequency",
        len(item_rows),
        measured.counts["n_distinct_words_without_frequency"],
        measured.counts["n_distinct_words"],
    )
