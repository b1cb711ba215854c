"""Bags of word2vec vectors: how similar are a target and a context (EWoK, Section 4.3)?

And which templates mislead whoever goes by that, by vectors that read the other parts of the
materials alone.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import shutil
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
from gensim.models import KeyedVectors, Word2Vec

from worldprobe.benchmarks.ewok import frequency
from worldprobe.benchmarks.ewok.baselines import similarities
from worldprobe.errors import UserError

#: Kinds of documents; models read stories, items or both.
DOCUMENT_KINDS = ("story", "item", "context", "target")

#: The first bytes of a pickle, of a ZIP (also a NumPy archive) and of compressed files.
PICKLE, ZIP = b"\x80", b"PK\x03\x04"
COMPRESSIONS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
MOST_DIMENSIONS = 100_000
LONGEST_LINE = 40 * MOST_DIMENSIONS
FIX = (
    "Give word2vec's binary or text format, GloVe's text (each also as .gz, .bz2, .xz or alone in a"
    " .zip), or what `worldprobe baselines train-vectors` wrote. Extract a tar archive; of fastText"
    " take the .vec file."
)


def bag_similarities(
    items: pd.DataFrame, vectors: KeyedVectors, skip: Collection[str] = ("agent",)
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Cosines of each item's targets with its contexts.

    Args:
        items: an Items table.
        vectors: word vectors of any dimension; words are looked up in lower case; one that is not
            there, without its possessive ending, then without inner punctuation.
        skip: filler classes whose words do not count (the paper leaves out the names of agents).

    Raises:
        UserError: no target and context have a known word each.

    Returns:
        a Similarities table, and counts of words: in all, out of vocabulary, distinct out of
        vocabulary. A text without any known word has no cosine.
    """
    tally: Counter[str] = Counter()
    unknown: set[str] = set()

    def add_up(texts: Sequence[str]) -> np.ndarray:
        sums = np.zeros((len(texts), vectors.vector_size))
        for row, text in zip(sums, texts, strict=True):
            known_forms = []
            for word in frequency.words(text.lower()):
                tally["n_words"] += 1
                forms = (
                    word,
                    frequency.without_possessive(word),
                    word.translate(frequency.DELETE_PUNCTUATION),
                )
                form = next((form for form in forms if form in vectors), None)
                if form is None:
                    tally["n_out_of_vocabulary"] += 1
                    unknown.add(word)
                else:
                    known_forms.append(form)
            if known_forms:
                row[:] = np.sum(
                    [vectors[word].astype(np.float64) for word in sorted(known_forms)], axis=0
                )
        return sums

    table = similarities(items, add_up, skip)
    return table, {
        "n_words_of_distinct_texts": tally["n_words"],
        "n_out_of_vocabulary": tally["n_out_of_vocabulary"],
        "n_distinct_out_of_vocabulary": len(unknown),
    }


def read_vectors(path: Path | str, allow_pickle: bool = False) -> KeyedVectors:
    """Read word vectors: what ``save_vectors`` wrote, word2vec binary or text, GloVe's text, or
    gensim's own files.

    Format and compression are recognised by the file's first bytes, not by its name.

    Args:
        path: the file; also compressed by gzip, bzip2 or xz, or the only file of a ZIP.
        allow_pickle: also read files that gensim saved. They are pickles, which can run any code
            when they are read.

    Raises:
        UserError: no such file, none of these formats, more or fewer words than the file states, or
            a pickle without consent.
    """
    path = Path(path)
    try:
        with open(path, "rb") as stream:
            begin = stream.read(6)
        if begin[:1] == PICKLE:
            return _read_pickle(path, allow_pickle)
        if begin.startswith(ZIP) and "vectors.npy" in zipfile.ZipFile(path).namelist():
            with np.load(path, allow_pickle=False) as arrays:
                vectors = KeyedVectors(int(arrays["vectors"].shape[1]))
                vectors.add_vectors(arrays["words"].tolist(), arrays["vectors"])
                return vectors
        with _decompressed(path, begin) as plain:
            return _read_word2vec(plain)
    except FileNotFoundError as error:
        raise UserError(path, f"there is no such file ({error.filename}).", FIX) from error
    except UserError:
        raise
    except Exception as error:  # a file of another kind fails in many ways
        raise UserError(
            path, f"cannot be read as word vectors ({type(error).__name__}: {error}).", FIX
        ) from error


def is_trained_here(path: Path) -> bool:
    """Whether ``save_vectors`` wrote the file, of vectors that read the control models' corpus."""
    with open(path, "rb") as stream:
        return (
            stream.read(len(ZIP)) == ZIP and "provenance.npy" in zipfile.ZipFile(stream).namelist()
        )


@contextmanager
def _decompressed(path: Path, begin: bytes) -> Iterator[Path]:
    """The file itself, or a temporary copy without its compression."""
    with ExitStack() as stack:
        stream: IO[bytes]
        if begin.startswith(ZIP):
            archive = stack.enter_context(zipfile.ZipFile(path))
            names = [
                name
                for name in archive.namelist()
                if not name.endswith("/") and not name.startswith("__MACOSX/")
            ]
            if len(names) != 1:
                raise ValueError(f"a ZIP with {len(names)} files")
            stream = stack.enter_context(archive.open(names[0]))
        elif opener := next(
            (opener for magic, opener in COMPRESSIONS.items() if begin.startswith(magic)), None
        ):
            stream = stack.enter_context(opener(path, "rb"))
        else:
            stream = stack.enter_context(open(path, "rb"))
            if path.suffix not in (
                ".gz",
                ".bz2",
                ".xz",
                ".zst",
            ):  # which gensim would decompress by the name alone
                yield path
                return
        copy = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "vectors"
        with open(copy, "wb") as target:
            shutil.copyfileobj(stream, target)
        yield copy


def _read_word2vec(path: Path) -> KeyedVectors:
    """Word2vec binary or text, or GloVe's text, which has no line with the number of words and of
    dimensions.

    Raises:
        ValueError: none of these, or not as many words as the first line says.
    """
    with open(path, "rb") as stream:
        first = stream.readline(LONGEST_LINE)
        second = stream.readline(LONGEST_LINE)
    if first.startswith(codecs.BOM_UTF8):
        raise ValueError(
            "a byte order mark, which would be part of the first word; save it as UTF-8 without"
        )
    header = first.split()
    has_header = len(header) == 2 and all(number.isdigit() for number in header)
    is_binary = not _is_text(second if has_header else first)
    if is_binary and not has_header:
        raise ValueError(
            "neither text nor, in the first line, the number of words and of dimensions"
        )
    if has_header and not 0 < int(header[1]) <= MOST_DIMENSIONS:
        raise ValueError(f"{int(header[1])} dimensions")
    vectors = KeyedVectors.load_word2vec_format(
        str(path), binary=is_binary, no_header=not has_header
    )
    n = int(header[0]) if has_header else 0
    if is_binary:
        sizes = (
            len(first)
            + sum(len(word.encode()) for word in vectors.key_to_index)
            + n * (1 + 4 * vectors.vector_size)
        )
        # A line end may follow each vector, or each but the last. Of a word that is there twice
        # gensim drops the second.
        is_whole = len(vectors) < n or path.stat().st_size - sizes in (0, n - 1, n)
    else:
        with open(path, "rb") as stream:
            is_whole = not has_header or sum(bool(line.strip()) for line in stream) == n + 1
    if not is_whole:
        raise ValueError(f"the first line says {n} words, and more follow")
    if not vectors.vector_size:
        raise ValueError("no spaces between words and numbers")
    if not np.isfinite(vectors.vectors).all():
        raise ValueError("numbers that are not finite (NaN, inf)")
    return vectors


def _is_text(line: bytes) -> bool:
    """Whether a line is UTF-8 without control characters, which bytes of floats hardly ever are."""
    try:
        return not CONTROL.search(line.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _read_pickle(path: Path, allow_pickle: bool) -> KeyedVectors:
    if not allow_pickle:
        problem = (
            "is a file that gensim saved: word vectors as a pickle, which can run any code when it"
            " is read."
        )
        fix = (
            "Save it in word2vec format (save_word2vec_format), or, if you trust its source, set "
            "baselines.word2vec.allow_pickle: true (or pass --allow-pickle)."
        )
        raise UserError(path, problem, fix)
    loaded = KeyedVectors.load(str(path), mmap="r")
    vectors = getattr(loaded, "wv", loaded)
    if not isinstance(vectors, KeyedVectors):
        raise UserError(path, f"contains a {type(loaded).__name__}, not word vectors.", FIX)
    return vectors


def train_vectors(
    texts: Iterable[str], seed: int, size: int = 100, epochs: int = 5
) -> KeyedVectors:
    """Train skip-gram vectors on documents, the same for the same documents and seed.

    Args:
        texts: documents; a window spans a whole story, so that a context's words meet its target's.
        seed: seed of the vectors and of the negative samples.
        size: dimensions.
        epochs: passes over the documents.
    """
    model = Word2Vec(
        sentences=[[word.lower() for word in frequency.words(text)] for text in texts],
        vector_size=size,
        window=20,
        min_count=1,
        sg=1,
        negative=5,
        sample=1e-3,
        epochs=epochs,
        seed=seed,
        workers=1,
        hashfxn=_crc,
    )
    return model.wv


def save_vectors(vectors: KeyedVectors, path: Path, provenance: str = "") -> None:
    """Write vectors as a NumPy archive of words, vectors and provenance: no pickle, and the same
    bytes every time.
    """
    words_ = np.array(vectors.index_to_key, dtype=str)
    with open(path, "wb") as stream:
        np.savez(
            stream,
            words=words_,
            vectors=vectors.vectors.astype(np.float32),
            provenance=np.array(provenance),
        )


def _crc(text: str) -> int:
    """A hash that does not change between processes, as ``hash`` does."""
    return zlib.crc32(text.encode())


def read_by(documents: pd.DataFrame, reads: Sequence[str], where: str) -> pd.DataFrame:
    """The documents of these kinds, if there is anything to learn from.

    Raises:
        UserError: there is no document, or none with a text.
    """
    documents_read = documents[documents["kind"].isin(reads)]
    if not documents_read["text"].str.strip().astype(bool).any():
        problem = f"contains no document with a text ({', '.join(reads)})."
        raise UserError(
            where, problem, "Write the corpus again (worldprobe controls write-corpus)."
        )
    return documents_read
