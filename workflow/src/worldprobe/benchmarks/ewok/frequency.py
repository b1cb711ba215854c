"""Words of the items: how many, and how frequent (EWoK, Section 4.3)."""

from __future__ import annotations

import json
import math
import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as arrow
import pyarrow.compute as compute
from pyarrow import csv

from worldprobe.benchmarks.ewok.vocabulary import TEXTS, slot_class
from worldprobe.errors import UserError
from worldprobe.log import LOGGER, Progress

FIELDS = ("ngram", "year", "match_count", "volume_count")
BLOCK = 1 << 24
#: The 1-gram files split words at hyphens and before these endings.
CONTRACTION = re.compile(r"(?<=\w)(n't|'\w+)$")


#: Languages whose list in wordfreq has pieces of words, by a program that we do not need.
_SPLIT_OTHERWISE = ("ja", "ko")


def frequencies_of_wordfreq(words: Collection[str], language: str = "en") -> dict[str, float]:
    """Occurrences per billion words of a language, whatever the case; 0 for a word that wordfreq
    does not know, and NaN for all words of a language of which it has no list that can be used.
    """
    from wordfreq import available_languages, get_frequency_dict, word_frequency

    if language not in available_languages() or language in _SPLIT_OTHERWISE:
        LOGGER.warning(
            "no word has a frequency: wordfreq has no list of the language %s that we can use",
            language,
        )
        return dict.fromkeys(sorted(words), math.nan)
    if language == "zh":  # words are split as this list has them, see ``split_han``
        listed = get_frequency_dict(language)
        return {word: listed.get(word, 0.0) * 1e9 for word in sorted(words)}
    return {word: word_frequency(word, language) * 1e9 for word in sorted(words)}


def frequencies_of_ngrams(words: Collection[str], paths: Sequence[Path | str]) -> dict[str, float]:
    """Occurrences of each word in the books of all years: the count of exactly this spelling.

    A contraction or hyphenated word, which the files contain in parts only, counts as its rarest
    part.

    Args:
        words: words as spelt.
        paths: 1-gram files of Google Books, ``googlebooks-eng-us-all-1gram-20120701-*.gz`` (as many
            as the words' first letters need) or those of 2020, ``1-*-of-*.gz``.

    Returns:
        word -> count; 0 for a word without a record.

    Raises:
        UserError: a file is missing or a line malformed.
    """
    counts: Counter[bytes] = Counter()
    wanted = {part for word in words for part in (word, *parts(word))}
    spellings = arrow.array(sorted(part.encode() for part in wanted), arrow.binary())
    for ngrams, _, totals in runs(paths):
        matches = np.flatnonzero(compute.is_in(ngrams, value_set=spellings))
        for ngram, total in zip(
            ngrams.take(matches).to_pylist(), totals[matches].tolist(), strict=True
        ):
            counts[ngram] += total

    def own(spelling: str) -> int:
        return counts[spelling.encode()]

    return {
        word: float(own(word) or min((own(part) for part in parts(word)), default=0))
        for word in sorted(words)
    }


def records_that_begin_with(
    words: Collection[str], paths: Sequence[Path | str]
) -> dict[str, float]:
    """Frequency of a word as the paper's script took it: the number of records (n-gram x year) that
    begin with the word.

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
    """The pieces under which the 1-gram files contain a word that they split; none where they do
    not.

    >>> parts("doesn't"), parts("ice-cold"), parts("dog's"), parts("dog")
    (['does', "n't"], ['ice', 'cold'], ['dog'], [])
    """
    pieces = [
        piece
        for part in word.split("-")
        for piece in CONTRACTION.split(part)
        if piece and piece != "'s"
    ]
    return pieces if pieces != [word] else []


def runs(paths: Iterable[Path | str]) -> Iterator[tuple[arrow.BinaryArray, np.ndarray, np.ndarray]]:
    """Records of the same n-gram that follow each other, taken together; the files list an n-gram's
    years in a row.

    Yields:
        n-grams, and for each its number of records and the sum of their match_count.
    """
    for batch in records(paths):
        if not batch.num_rows:
            continue
        encoded = compute.run_end_encode(batch["ngram"])
        ends = encoded.run_ends.to_numpy()
        starts = np.concatenate([[0], ends[:-1]])
        yield (
            encoded.values,
            ends - starts,
            np.add.reduceat(batch["match_count"].to_numpy(), starts),
        )


def records(paths: Iterable[Path | str]) -> Iterator[arrow.RecordBatch]:
    """Stream the n-gram and match_count of all records, file by file.

    Yields:
        batches of ngram (binary) and match_count (int64).

    Raises:
        UserError: no such file, one that is given twice, not gzip, cut short, or a malformed line.
    """
    files = [Path(path) for path in paths]
    for path in files:
        if not path.is_file():
            raise UserError(
                path, "there is no such file.", "Give the 1-gram files that you downloaded."
            )
    repeated = [
        path for path, times in Counter(path.resolve() for path in files).items() if times > 1
    ]
    if repeated:
        raise UserError(
            repeated[0], "is given twice: its words would count double.", "Give each file once."
        )
    total = sum(path.stat().st_size for path in files)
    with Progress("Reading 1-grams", total >> 10, "KiB") as progress:
        before = 0
        for path in files:
            try:
                with (
                    arrow.OSFile(str(path), "rb") as raw,
                    arrow.CompressedInputStream(raw, "gzip") as stream,
                ):
                    reader = _open_lines(stream) if _has_years_in_one_line(path) else _open(stream)
                    for batch in reader:
                        yield (
                            batch if "ngram" in batch.schema.names else _split_years(batch["line"])
                        )
                        progress.advance(((before + raw.tell()) >> 10) - progress.done)
            except (arrow.ArrowInvalid, OSError) as error:
                problem = f"is not a whole gzip file of 1-grams ({' '.join(str(error).split())})."
                fix = (
                    "Download the file again; its name and size are on the page of the Google Books"
                    " Ngram datasets."
                )
                raise UserError(path, problem, fix) from error
            before += path.stat().st_size


def _has_years_in_one_line(path: Path) -> bool:
    """Whether this is a file of the edition of 2020: an n-gram, then year,match_count,volume_count
    for every year.
    """
    with arrow.OSFile(str(path), "rb") as raw, arrow.CompressedInputStream(raw, "gzip") as stream:
        return b"," in stream.read(1 << 12).partition(b"\n")[0].partition(b"\t")[2]


def _open_lines(stream: arrow.NativeFile) -> csv.CSVStreamingReader:
    return csv.open_csv(
        stream,
        read_options=csv.ReadOptions(column_names=["line"], block_size=BLOCK),
        parse_options=csv.ParseOptions(
            delimiter="\1", quote_char=False, escape_char=False, ignore_empty_lines=False
        ),
        convert_options=csv.ConvertOptions(column_types={"line": arrow.binary()}, null_values=[]),
    )


def _split_years(lines: arrow.BinaryArray) -> arrow.RecordBatch:
    """Lines of the edition of 2020 as records of the edition of 2012.

    Raises:
        ArrowInvalid: a line of another form.
    """
    cells = compute.split_pattern(lines, "\t")
    lengths = compute.list_value_length(cells).to_numpy()
    is_ngram = np.zeros(lengths.sum(), bool)
    is_ngram[np.cumsum(lengths) - lengths] = True
    values = cells.flatten()
    years = compute.split_pattern(values.filter(arrow.array(~is_ngram)), ",")
    if (
        lengths.min(initial=2) < 2
        or not compute.all(compute.equal(compute.list_value_length(years), 3)).as_py()
    ):
        raise arrow.ArrowInvalid(
            "a line is not an n-gram and year,match_count,volume_count for every year"
        )
    counts = (
        years.flatten()
        .take(np.arange(1, 3 * len(years), 3))
        .cast(arrow.string())
        .cast(arrow.int64())
    )
    ngrams = values.filter(arrow.array(is_ngram)).take(
        np.repeat(np.arange(len(lines)), lengths - 1)
    )
    return arrow.record_batch({"ngram": ngrams, "match_count": counts})


def _open(stream: arrow.NativeFile) -> csv.CSVStreamingReader:
    return csv.open_csv(
        stream,
        read_options=csv.ReadOptions(column_names=list(FIELDS), block_size=BLOCK),
        parse_options=csv.ParseOptions(
            delimiter="\t", quote_char=False, escape_char=False, ignore_empty_lines=False
        ),
        convert_options=csv.ConvertOptions(
            column_types={"ngram": arrow.binary()} | {field: arrow.int64() for field in FIELDS[1:]},
            null_values=[],
        ),
    )


EDGES = string.punctuation + "“”‘’«»…–—¿¡。，、；：？！「」『』《》（）"
_HAN = re.compile(r"([\u3400-\u9fff]+)")
#: Characters of the longest word that is looked for, and the frequency of what is none.
_LONGEST, _NO_WORD = 6, {1: 1e-9}
POSSESSIVE = re.compile(r"['’]s?$")
DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)


def words(text: str) -> list[str]:
    """The words of a text: split at white space, and within Chinese as ``split_han`` does,
    punctuation around them removed, apostrophes and hyphens inside kept.

    >>> words("Ira's well-worn hat doesn't fit, “alas”!")
    ["Ira's", 'well-worn', 'hat', "doesn't", 'fit', 'alas']
    """
    pieces = text.replace("’", "'").split()
    if _HAN.search(text):
        pieces = [word for piece in pieces for word in split_han(piece)]
    return [word for piece in pieces if (word := piece.strip(EDGES))]


def is_wide(text: str) -> bool:
    """Whether a text has Chinese characters, which are two letters wide.

    >>> is_wide("一个箱子"), is_wide("una caja")
    (True, False)
    """
    return bool(_HAN.search(text))


def split_han(text: str) -> list[str]:
    """The words of a text without blanks; Chinese characters are split into words by wordfreq's
    list, so that the product of their frequencies is the highest.

    >>> split_han("小明把书放在桌子上面"), split_han("the box")
    (['小明', '把', '书', '放在', '桌子', '上面'], ['the box'])
    """
    parts = _HAN.split(text)
    return [w for n, part in enumerate(parts) if part for w in (_split(part) if n % 2 else [part])]


@lru_cache(maxsize=1 << 14)
def _split(text: str) -> tuple[str, ...]:
    from wordfreq import get_frequency_dict

    listed = get_frequency_dict("zh")
    best: list[tuple[float, tuple[str, ...]]] = [(0.0, ())]
    for end in range(1, len(text) + 1):
        last = (text[start:end] for start in range(max(0, end - _LONGEST), end))
        best.append(
            max(
                (
                    best[end - len(word)][0]
                    + math.log(listed.get(word) or _NO_WORD.get(len(word), 1e-30)),
                    (*best[end - len(word)][1], word),
                )
                for word in last
            )
        )
    return best[-1][1]


def words_as_original(text: str) -> list[str]:
    """The words as the paper's scripts take them: all ASCII punctuation deleted, then split at
    white space.

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
    return {
        text
        for slot, text in _read(fillers).items()
        if classes is None or slot_class(slot) in classes
    }


def classes_of(fillers: str) -> set[str]:
    """The filler classes of an item's slots.

    >>> sorted(classes_of('{"agent1": "Ada", "object2:large=true": "the piano"}'))
    ['agent', 'object']
    """
    return {slot_class(slot) for slot in _read(fillers)}


def without_phrases(text: str, phrases: Collection[str]) -> str:
    """The text without the given phrases, whatever their case, and without a possessive ending that
    follows one.

    >>> without_phrases("Ira's aunt sees the old dog. The old dog barks.", ["Ira", "the old dog"])
    ' aunt sees .  barks.'
    """
    for phrase in sorted(phrases, key=len, reverse=True):
        edges = ("", "") if _HAN.search(phrase) else (r"(?<!\w)", r"(?!\w)")
        text = re.sub(
            rf"{edges[0]}{re.escape(phrase)}(['’]s?)?{edges[1]}", "", text, flags=re.IGNORECASE
        )
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
        raise UserError(
            "items",
            "the column fillers is not a JSON object of texts.",
            "Build the items table again.",
        )
    return filled


#: Words -> how often each occurs, on any scale; 0: unknown; NaN: unknown of all words.
Frequencies = Callable[[Collection[str]], Mapping[str, float]]


@dataclass
class Surface:
    """Surface features and what was missing.

    Attributes:
        features: a SurfaceFeatures table.
        counts: number of distinct words, of those without a frequency, of their occurrences in the
            items, and of texts without a word, whose items have no mean log frequency.
    """

    features: pd.DataFrame
    counts: dict[str, int]


def surface_features(
    items: pd.DataFrame, frequencies: Frequencies, is_compat: bool = False
) -> Surface:
    """Number of words and mean log word frequency of each target with its contexts.

    The log frequency of a word is ln(1 + f), so that an unknown word has 0; unknown words are
    counted.

    Args:
        items: an Items table.
        frequencies: f of all words, asked once.
        is_compat: take words as the paper's script does (punctuation inside words deleted).

    Raises:
        UserError: a target and its contexts have no word at all.
    """
    names = _agents(items) if is_compat else set()
    spelt: dict[tuple[str, str], list[str]] = {}
    for item_id, fillers, *texts in zip(
        *(items[column].tolist() for column in ("item_id", "fillers", *TEXTS)), strict=True
    ):
        for text, sentence in zip(TEXTS, texts, strict=True):
            spelt[item_id, text] = list(
                _spelt_as_original(sentence, names) if is_compat else _spelt(sentence, fillers)
            )
    by_word = frequencies({word for sentence in spelt.values() for word in sentence})
    log_frequency = {word: math.log1p(frequency) for word, frequency in by_word.items()}
    rows = []
    for item_id in items.item_id:
        length, mean = {}, {}
        for text in TEXTS:
            sentence = spelt[item_id, text]
            length[text] = len(sentence)
            mean[text] = (
                sum(log_frequency[word] for word in sentence) / len(sentence)
                if sentence
                else math.nan
            )
        for target in (1, 2):
            n_words, log_mean = (
                (measure["context1"] + measure["context2"]) / 2 + measure[f"target{target}"]
                for measure in (length, mean)
            )
            if not n_words:
                fix = "Correct the texts: each should be a sentence."
                raise UserError(
                    "items", f"target {target} of {item_id} and its contexts have no words.", fix
                )
            rows.append((item_id, target, float(n_words), log_mean))
    missing = {word for word, frequency in by_word.items() if not frequency > 0}
    return Surface(
        features=pd.DataFrame(rows, columns=["item_id", "target", "n_words", "log_frequency"]),
        counts={
            "n_distinct_words": len(by_word),
            "n_distinct_words_without_frequency": len(missing),
            "n_texts_without_words": sum(not sentence for sentence in spelt.values()),
            "n_occurrences_without_frequency": sum(
                word in missing for sentence in spelt.values() for word in sentence
            ),
        },
    )


def _spelt(text: str, fillers: str) -> Iterator[str]:
    """Words in lower case, but those that a filler writes with a capital as the filler writes them,
    never possessive.
    """
    capitals = {
        word for filler in fillers_of(fillers) for word in words(filler) if not word.islower()
    }
    for word in words(text):
        name = without_possessive(word)
        yield name if name in capitals else word.lower()


def _spelt_as_original(text: str, names: Collection[str]) -> Iterator[str]:
    for word in words_as_original(text):
        yield (
            word[:-1]
            if word[-1] == "s" and word[:-1] in names
            else word
            if word in names
            else word.lower()
        )


def _agents(items: pd.DataFrame) -> set[str]:
    """The names of agents in all items."""
    return {name for fillers in items.fillers.unique() for name in fillers_of(fillers, {"agent"})}
