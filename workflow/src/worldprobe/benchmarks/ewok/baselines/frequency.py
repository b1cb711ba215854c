"""How frequent words are in English: from the ``wordfreq`` package, or from Google Books 1-gram files (version 2, 2012)."""

from __future__ import annotations

import gzip
import json
import re
import string
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as arrow
import pyarrow.compute as compute
from pyarrow import csv

from worldprobe.benchmarks.ewok.vocabulary import slot_class
from worldprobe.errors import UserError
from worldprobe.log import Progress

FIELDS = ("ngram", "year", "match_count", "volume_count")
BLOCK = 1 << 24
#: The 1-gram files split words at hyphens and before these endings.
CONTRACTION = re.compile(r"(?<=\w)(n't|'\w+)$")


def frequencies_of_wordfreq(words: Collection[str]) -> dict[str, float]:
    """Occurrences per billion words of English, whatever the case; 0 for a word that wordfreq does not know."""
    from wordfreq import word_frequency

    return {word: word_frequency(word, "en") * 1e9 for word in sorted(words)}


def frequencies_of_ngrams(words: Collection[str], paths: Sequence[Path | str]) -> dict[str, float]:
    """Occurrences of each word in the books of all years: the count of exactly this spelling.

    A contraction or hyphenated word, which the files contain in parts only, counts as its rarest part.

    Args:
        words: words as spelt.
        paths: ``googlebooks-eng-us-all-1gram-20120701-*.gz``, as many as the words' first letters need.

    Returns:
        word -> count; 0 for a word without a record.

    Raises:
        UserError: a file is missing or a line malformed.
    """
    counts: Counter[bytes] = Counter()
    wanted = {part for word in words for part in (word, *parts(word))}
    spellings = arrow.array(sorted(part.encode() for part in wanted), arrow.binary())
    for ngrams, _, totals in runs(paths):
        found = np.flatnonzero(compute.is_in(ngrams, value_set=spellings))
        for ngram, total in zip(ngrams.take(found).to_pylist(), totals[found].tolist(), strict=True):
            counts[ngram] += total

    def own(spelling: str) -> int:
        return counts[spelling.encode()]

    return {word: float(own(word) or min((own(part) for part in parts(word)), default=0)) for word in sorted(words)}


def records_that_begin_with(words: Collection[str], paths: Sequence[Path | str]) -> dict[str, float]:
    """What the paper's script took for a frequency: the number of records (n-gram x year) that begin with the word.

    Args:
        words: words as spelt.
        paths: 1-gram files.

    Returns:
        word -> number of records.
    """
    counts: Counter[bytes] = Counter()
    wanted = {word.encode() for word in words}
    lengths = sorted({len(word) for word in wanted})
    for ngrams, n_records, _ in runs(paths):
        for ngram, n in zip(ngrams.to_pylist(), n_records.tolist(), strict=True):
            for length in lengths:
                if length > len(ngram):
                    break
                if ngram[:length] in wanted:
                    counts[ngram[:length]] += n
    return {word: float(counts[word.encode()]) for word in sorted(words)}


def parts(word: str) -> list[str]:
    """The pieces under which the 1-gram files contain a word that they split; none where they do not.

    >>> parts("doesn't"), parts("ice-cold"), parts("dog's"), parts("dog")
    (['does', "n't"], ['ice', 'cold'], ['dog'], [])
    """
    pieces = [piece for part in word.split("-") for piece in CONTRACTION.split(part) if piece and piece != "'s"]
    return pieces if pieces != [word] else []


def runs(paths: Iterable[Path | str]) -> Iterator[tuple[arrow.BinaryArray, np.ndarray, np.ndarray]]:
    """Records of the same n-gram that follow each other, taken together; the files list an n-gram's years in a row.

    Yields:
        n-grams, and for each its number of records and the sum of their match_count.
    """
    for batch in records(paths):
        if not batch.num_rows:
            continue
        encoded = compute.run_end_encode(batch["ngram"])
        ends = encoded.run_ends.to_numpy()
        starts = np.concatenate([[0], ends[:-1]])
        yield encoded.values, ends - starts, np.add.reduceat(batch["match_count"].to_numpy(), starts)


def records(paths: Iterable[Path | str]) -> Iterator[arrow.RecordBatch]:
    """Stream the n-gram and match_count of all records, file by file.

    Yields:
        batches of ngram (binary) and match_count (int64).

    Raises:
        UserError: no such file, not gzip, cut short, or a malformed line (named by its number).
    """
    files = [Path(path) for path in paths]
    for path in files:
        if not path.is_file():
            raise UserError(path, "there is no such file.", "Give the 1-gram files that you downloaded.")
    total = sum(path.stat().st_size for path in files)
    with Progress("Reading 1-grams", total >> 10, "KiB") as progress:
        before = 0
        for path in files:
            try:
                with arrow.OSFile(str(path), "rb") as raw, arrow.CompressedInputStream(raw, "gzip") as stream:
                    for batch in _open(stream):
                        yield batch
                        progress.advance(((before + raw.tell()) >> 10) - progress.done)
            except (arrow.ArrowInvalid, OSError) as error:
                raise _located(path, error) from error
            before += path.stat().st_size


def _open(stream: arrow.NativeFile) -> csv.CSVStreamingReader:
    return csv.open_csv(
        stream,
        read_options=csv.ReadOptions(column_names=list(FIELDS), block_size=BLOCK),
        parse_options=csv.ParseOptions(delimiter="\t", quote_char=False, escape_char=False, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(
            column_types={"ngram": arrow.binary()} | {field: arrow.int64() for field in FIELDS[1:]},
            null_values=[],
        ),
    )


def _located(path: Path, error: Exception) -> UserError:
    """The error with the line it lies in, found by a slow second reading."""
    again = "Download the file again; its name and size are on the page of the Google Books Ngram datasets."
    number = 0
    try:
        with gzip.open(path, "rb") as stream:
            for number, line in enumerate(stream, start=1):
                fields = line.rstrip(b"\r\n").split(b"\t")
                if len(fields) != len(FIELDS):
                    return UserError(
                        f"{path}, line {number}", f"has {len(fields)} fields, not {len(FIELDS)} ({', '.join(FIELDS)}).", again
                    )
                for field, text in zip(FIELDS[1:], fields[1:], strict=True):
                    if not text.strip().isdigit():
                        return UserError(f"{path}, line {number}", f"{field} is not a whole number.", again)
    except (OSError, EOFError, zlib.error):
        return UserError(path, f"is not gzip, or is cut short after line {number}.", again)
    if number == 0:
        return UserError(path, "is empty.", again)
    return UserError(path, f"cannot be read ({error}).", again)


EDGES = string.punctuation + "“”‘’«»…–—"
POSSESSIVE = re.compile(r"['’]s?$")
DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)


def words(text: str) -> list[str]:
    """The words of a text: split at white space, punctuation around them removed, apostrophes and hyphens inside kept.

    >>> words("Ira's well-worn hat doesn't fit, “alas”!")
    ["Ira's", 'well-worn', 'hat', "doesn't", 'fit', 'alas']
    """
    return [word for piece in text.replace("’", "'").split() if (word := piece.strip(EDGES))]


def words_as_original(text: str) -> list[str]:
    """The words as the paper's scripts take them: all ASCII punctuation deleted, then split at white space.

    >>> words_as_original("Ira's well-worn hat doesn't fit!")
    ['Iras', 'wellworn', 'hat', 'doesnt', 'fit']
    """
    return text.strip().translate(DELETE_PUNCTUATION).split()


def without_possessive(word: str) -> str:
    """The word without a possessive ending.

    >>> without_possessive("Ira's"), without_possessive("Nils'"), without_possessive("hats")
    ('Ira', 'Nils', 'hats')
    """
    return POSSESSIVE.sub("", word)


def fillers_of(fillers: str, classes: Collection[str] | None = None) -> set[str]:
    """The texts that fill an item's slots, of some classes or of all.

    Args:
        fillers: the column of an Items table: a JSON object, slot -> text.
        classes: filler classes, or None for all.
    """
    return {text for slot, text in _read(fillers).items() if classes is None or slot_class(slot) in classes}


def classes_of(fillers: str) -> set[str]:
    """The filler classes of an item's slots.

    >>> sorted(classes_of('{"agent1": "Ada", "object2:large=true": "the piano"}'))
    ['agent', 'object']
    """
    return {slot_class(slot) for slot in _read(fillers)}


def without_phrases(text: str, phrases: Collection[str]) -> str:
    """The text without the given phrases, whatever their case, and without a possessive ending that follows one.

    >>> without_phrases("Ira's aunt sees the old dog. The old dog barks.", ["Ira", "the old dog"])
    ' aunt sees .  barks.'
    """
    for phrase in sorted(phrases, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(phrase)}(['’]s?)?(?!\w)", "", text, flags=re.IGNORECASE)
    return text


def _read(fillers: str) -> dict[str, str]:
    """The column ``fillers`` of one item.

    Raises:
        UserError: it is not a JSON object of texts.
    """
    try:
        filled = json.loads(fillers)
    except ValueError:
        filled = None
    if not isinstance(filled, dict) or not all(isinstance(text, str) for text in filled.values()):
        raise UserError("items", "the column fillers is not a JSON object of texts.", "Build the items table again.")
    return filled
