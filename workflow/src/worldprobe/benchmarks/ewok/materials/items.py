"""Items: templates with their slots filled, with ids, decision traces and flagged duplicates; as a table or as they are made."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import tempfile
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as arrow

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.fillers import Fillers, fill
from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.benchmarks.ewok.materials.samplers import FixedSampler, IndependentSampler, ProductSampler, enough_for
from worldprobe.benchmarks.ewok.materials.slots import DESIGN, Slots
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.contracts import ROWS_TOGETHER, open_table
from worldprobe.errors import UserError
from worldprobe.files import whole_file
from worldprobe.log import LOGGER
from worldprobe.processes import stream_in_step
from worldprobe.provenance import Provenance

COLUMNS = ("item_id", "domain", "version", "meta_template", "template", *TEXTS, *DESIGN, "fillers", "tags")
#: Samples of each template that are made before the next template's.
_TOGETHER = 16
_FILTER_FIX = 'It is searched for in the slots, e.g. "agent1:sex=male,object1".'

Row = tuple[object, ...]


def fill_fixed(
    domains: Mapping[str, list[Slots]], fillers: Fillers, versions: Sequence[int], advance: Callable[[], None] = lambda: None
) -> list[Row]:
    """One item per template and version, with one constant filling per version and domain.

    A version for which some class has too few fillers loses items; a warning says which and why.

    Args:
        domains: from ``open_slots``.
        fillers: the fillers.
        versions: from 0.
        advance: called after each version of each domain.

    Raises:
        UserError: a version for which no slot has a filler left.
    """
    _refuse_exhausted(domains, fillers, versions)
    rows: list[Row] = []
    for domain, templates in domains.items():
        lost: dict[int, int] = {}
        short: dict[str, int] = {}
        for version in versions:
            sampler = FixedSampler(fillers, version, [template.keys for template in templates])
            writer = _Writer(fillers.rules)
            before = len(rows)
            for template in templates:
                fillings = sampler.fill(template.keys)
                if fillings is not None:
                    rows.append(writer.row(template, version, fillings))
            lost[version] = len(templates) - (len(rows) - before)
            short |= sampler.short
            advance()
        if any(lost.values()):
            _warn_of_lost_items(domain, lost, short)
    return rows


def _refuse_exhausted(domains: Mapping[str, list[Slots]], fillers: Fillers, versions: Sequence[int]) -> None:
    """Versions move through the fillers; beyond the largest class every slot is empty, however far one counts."""
    slot_keys = {key for templates in domains.values() for template in templates for key in template.keys}
    enough = max((enough_for(len(fillers.options(key))) for key in slot_keys), default=None)
    if enough is not None and versions and max(versions) >= enough:
        beyond = min(version for version in versions if version >= enough)
        raise UserError(
            f"version {beyond}",
            f"no filler is left for it: the largest set of fillers for a slot is enough for {enough} versions.",
            f"Use versions 0-{max(enough - 1, 0)}, or add fillers.",
        )


def _warn_of_lost_items(domain: str, lost: Mapping[int, int], short: Mapping[str, int]) -> None:
    versions_lost = ", ".join(f"version {version}: {count}" for version, count in lost.items() if count)
    reasons = ", ".join(f"{{{key}}} is met by {n}, enough for {enough_for(n)} versions" for key, n in sorted(short.items()))
    LOGGER.warning("%s: templates without an item (%s); %s", domain, versions_lost, reasons or "fillers are used up")


class IndependentRows:
    """Items that are sampled each on their own, in the order of the items table: sample by sample, template by template.

    In the original a template's sample depends on those of the domain before it, and the seed is called version.

    Args:
        domains: from ``open_slots``.
        fillers: the fillers.
        numbers: which of each template's samples, counted from 0; a sample depends on those before it.
        seed: the study's.
        advance: called after each sample of all templates.
        processes: how many share the domains; the rows are the same for any number.
    """

    def __init__(
        self,
        domains: Mapping[str, list[Slots]],
        fillers: Fillers,
        numbers: Sequence[int],
        seed: int,
        advance: Callable[[], None] = lambda: None,
        processes: int = 1,
    ) -> None:
        self.domains, self.fillers, self.numbers, self.seed = domains, fillers, frozenset(numbers), seed
        self.advance, self.processes = advance, processes
        #: Template id -> its number of items, once all rows were taken.
        self.counts = {template_name(template): 0 for rows in domains.values() for template in rows}

    def __iter__(self) -> Iterator[Row]:
        names = [template_name(template) for template in _in_order(self.domains)]
        for together, made in zip(_together(self.numbers), self._made(), strict=True):
            for number in together:
                for rows, name in zip(made, names, strict=True):
                    if number in rows:
                        self.counts[name] += 1
                        yield rows[number]
                self.advance()
        short = [f"{name} ({made})" for name, made in self.counts.items() if made < len(self.numbers)]
        if short:
            message = "%d templates have fewer than %d distinct fillings; all of them are used: %s"
            LOGGER.warning(message, len(short), len(self.numbers), ", ".join(short))

    def _made(self) -> Iterator[list[dict[int, Row]]]:
        """As ``_sample_together``, in one process or several."""
        parts = [(part, self.fillers, self.numbers, self.seed) for part in share_domains(self.domains, self.processes)]
        if len(parts) == 1:
            yield from _sample_together(*parts[0])
            return
        for made in stream_in_step(_sample_together, parts):
            yield [rows for part in made for rows in part]


def share_domains(domains: Mapping[str, list[Slots]], processes: int) -> list[dict[str, list[Slots]]]:
    """Domains in alphabetical order, in at most so many parts of about as many templates.

    >>> [list(part) for part in share_domains({"c": [1], "a": [1, 2], "b": [1]}, 2)]
    [['a'], ['b', 'c']]
    """
    n_templates = sum(map(len, domains.values()))
    parts: list[dict[str, list[Slots]]] = [{} for _ in range(max(processes, 1))]
    before = 0
    for domain in sorted(domains):
        middle = before + len(domains[domain]) / 2
        parts[min(int(middle * len(parts) / max(n_templates, 1)), len(parts) - 1)][domain] = domains[domain]
        before += len(domains[domain])
    return [part for part in parts if part] or [{}]


def _in_order(domains: Mapping[str, list[Slots]]) -> list[Slots]:
    """The templates in the order of the items table."""
    return sorted((template for rows in domains.values() for template in rows), key=lambda template: template[:3])


def _together(numbers: Collection[int]) -> Iterator[range]:
    """The samples up to the last one that is wanted, a few at a time."""
    count = max(numbers, default=-1) + 1
    return (range(start, min(start + _TOGETHER, count)) for start in range(0, count, _TOGETHER))


def _sample_together(
    domains: Mapping[str, list[Slots]], fillers: Fillers, numbers: Collection[int], seed: int
) -> Iterator[list[dict[int, Row]]]:
    """For a few samples at a time the rows of every template in order, by the sample's number."""
    count = max(numbers, default=-1) + 1
    samples = {template: sample for rows in domains.values() for template, sample in _sample(rows, fillers, count, seed)}
    ordered = _in_order(domains)
    for together in _together(numbers):
        yield [_rows(template, samples[template], together, numbers, fillers.rules) for template in ordered]


def _rows(
    template: Slots, sample: Iterator[Mapping[str, str]], together: range, numbers: Collection[int], rules: Rules
) -> dict[int, Row]:
    """The rows of a template's next samples, by number; one template at a time, because that is quicker."""
    return {
        number: _row(template, number, filling, [fill(text, filling, rules) for text in template.texts])
        for number, filling in zip(together, sample, strict=False)
        if number in numbers
    }


def fill_independent(
    domains: Mapping[str, list[Slots]],
    fillers: Fillers,
    numbers: Sequence[int],
    seed: int,
    advance: Callable[[], None] = lambda: None,
) -> list[Row]:
    """All rows of ``IndependentRows``, template by template in the order of the domains."""
    place = {name: number for number, name in enumerate(template_name(t) for rows in domains.values() for t in rows)}
    rows = list(IndependentRows(domains, fillers, numbers, seed, advance))
    return sorted(rows, key=lambda row: place[str(row[0]).rpartition("_v")[0]])


def template_name(template: Slots) -> str:
    """The id of a template."""
    return f"{template.domain}_{template.meta_template}_{template.template}"


def _sample(
    templates: Sequence[Slots], fillers: Fillers, count: int, seed: int
) -> Iterator[tuple[Slots, Iterator[Mapping[str, str]]]]:
    """A domain's templates with the fillings of each."""
    if fillers.rules.listed_products:
        products = ProductSampler(fillers, seed)
        # Taken at once: templates with the same slots share one order, which each of them shuffles.
        yield from [(template, iter(list(products.sample(template.keys, count)))) for template in templates]
        return
    for template in templates:
        coordinates = (seed, template.domain, template.meta_template, template.template)
        yield template, IndependentSampler(fillers, template.keys, coordinates).sample(count)


def _row(template: Slots, version: int, fillings: Mapping[str, str], texts: Sequence[str]) -> Row:
    """One row, in the order of ``COLUMNS``."""
    name = template_name(template)
    trace = ", ".join(f"{_quoted(key)}: {_quoted(fillings[key])}" for key in sorted(fillings))
    numbers = (template.domain, version, template.meta_template, template.template)
    return (f"{name}_v{version}", *numbers, *texts, *template.design, f"{{{trace}}}", ",".join(template.keys))


@lru_cache(maxsize=1 << 16)
def _quoted(text: str) -> str:
    """As JSON writes it."""
    return json.dumps(text, ensure_ascii=False)


class _Writer:
    """Writes rows of the items table; texts that recur with the same fillings are filled once."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._filled: dict[tuple[str, tuple[str, ...], tuple[str, ...]], str] = {}

    def row(self, template: Slots, version: int, fillings: Mapping[str, str]) -> Row:
        """One row, in the order of ``COLUMNS``."""
        words = tuple(fillings.values())
        return _row(template, version, fillings, [self._fill(text, template.keys, words, fillings) for text in template.texts])

    def _fill(self, text: str, keys: tuple[str, ...], words: tuple[str, ...], fillings: Mapping[str, str]) -> str:
        known = (text, keys, words)
        if known not in self._filled:
            self._filled[known] = fill(text, fillings, self.rules)
        return self._filled[known]


def items_table(rows: Sequence[Row]) -> pd.DataFrame:
    """The items table, without ``duplicate_of``.

    Args:
        rows: from ``fill_fixed`` or ``fill_independent``.

    Raises:
        UserError: there is no row.
    """
    if not rows:
        raise UserError(
            "items", "no template has an item.", "Check versions and swaps against the fillers; the log says which are too few."
        )
    # Where no row has one, these would not be text.
    return pd.DataFrame(rows, columns=COLUMNS).astype({"concept_b": "str", "context_contrast": "str"})


def filter_tags(items: pd.DataFrame, pattern: str) -> pd.DataFrame:
    """The items in whose tags (their slot keys, joined by commas) a regular expression is found.

    Raises:
        UserError: the pattern is broken, or nothing is left.
    """
    matching = matching_tags(items["tags"], pattern)
    found = items[items["tags"].isin(matching).to_numpy(bool)]
    if found.empty:
        raise no_item_is_left(pattern)
    return found


def matching_tags(tags: Iterable[str], pattern: str) -> set[str]:
    """Those of some tags in which a regular expression is found.

    Raises:
        UserError: the pattern is broken.
    """
    try:
        expression = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UserError(f"--filter {pattern}", f"is not a valid regular expression ({error}).", "Correct it.") from error
    return {text for text in dict.fromkeys(tags) if expression.search(text) is not None}


def no_item_is_left(pattern: str) -> UserError:
    """The message for a filter that nothing passes."""
    return UserError(f"--filter {pattern}", "no item is left.", _FILTER_FIX)


def flag_duplicates(items: pd.DataFrame) -> pd.DataFrame:
    """Name, for each item whose four texts another item has, the first such item (by template, then version)."""
    columns = [items[c].tolist() for c in ("domain", "meta_template", "template", "version", "item_id", *TEXTS)]
    first: dict[tuple[str, ...], str] = {}
    for *_, item_id, context1, context2, target1, target2 in sorted(zip(*columns, strict=True)):
        first.setdefault((context1, context2, target1, target2), item_id)
    found = [first[texts] for texts in zip(*columns[5:], strict=True)]
    duplicate_of = [None if name == item_id else name for name, item_id in zip(found, columns[4], strict=True)]
    return items.assign(duplicate_of=pd.Series(duplicate_of, index=items.index, dtype="str"))


def shortfalls(made: Mapping[str, int], templates: pd.DataFrame, asked: int) -> dict[str, int]:
    """Template id -> its number of items, for templates that have fewer than were asked for.

    Args:
        made: template id -> number of its items.
        templates: the templates table.
        asked: how many each was to have.
    """
    counts = {template: int(made.get(template, 0)) for template in templates["template_id"].tolist()}
    return {template: count for template, count in counts.items() if count < asked}


TAGS = COLUMNS.index("tags")
_PLACE = [COLUMNS.index(name) for name in ("domain", "meta_template", "template", "version")]
_TEXTS = [COLUMNS.index(name) for name in TEXTS]


def write_stream(rows: Iterable[Row], path: Path, provenance: Callable[[int], Provenance]) -> tuple[int, int]:
    """Write the items table; duplicates are known at the end only, so rows wait in an unnamed file.

    Args:
        rows: in the order of the table.
        path: the table.
        provenance: called after the last row with the number of duplicates.

    Returns:
        Number of items, and how many of them have the texts of another.

    Raises:
        UserError: there is no row, or the table cannot be written.
    """
    copies = _Copies()
    with whole_file(path) as temporary, tempfile.TemporaryFile(dir=temporary.parent) as spool:
        for batch in _batches(rows):
            copies.add(batch)
            table = _as_arrow(batch)
            if not spool.tell():
                writer = arrow.ipc.new_stream(spool, table.schema, options=arrow.ipc.IpcWriteOptions(compression="lz4"))
            writer.write_table(table)
        if not copies.n_rows:
            raise UserError("items", "no item is left.", "Check filter and swaps against the slots of the templates.")
        writer.close()
        first = copies.first()
        spool.seek(0)
        with open_table(Items, temporary, provenance(len(first))) as write:
            start = 0
            for table in _tables(spool):
                frame = table.to_pandas()
                names = [first.get(number) for number in range(start, start + len(frame))]
                write(frame.assign(duplicate_of=pd.Series(names, index=frame.index, dtype="str")))
                start += len(frame)
    return copies.n_rows, len(first)


def _as_arrow(rows: list[Row]) -> arrow.Table:
    """``items_table`` without the way through pandas, which costs more than all else that is done with the rows here."""
    kinds = [arrow.int64() if isinstance(value, int) else arrow.large_string() for value in rows[0]]
    return arrow.table([arrow.array(values, kind) for values, kind in zip(zip(*rows, strict=True), kinds, strict=True)], COLUMNS)


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    taken = iter(rows)
    while batch := list(itertools.islice(taken, ROWS_TOGETHER)):
        yield batch


def _tables(spool) -> Iterator[arrow.Table]:  # type: ignore[no-untyped-def]
    """One table per batch that was written."""
    with arrow.ipc.open_stream(spool) as reader:
        for batch in reader:
            yield arrow.Table.from_batches([batch])


class _Copies:
    """Which items have the four texts of another, told by digests: 16 bytes an item instead of its texts."""

    def __init__(self) -> None:
        self.n_rows = 0
        self._digests = bytearray()
        self._templates: dict[tuple[object, ...], int] = {}
        self._template_of, self._version_of = array("l"), array("l")

    def add(self, rows: list[Row]) -> None:
        """The next rows."""
        for row in rows:
            texts = "\0".join(str(row[i]) for i in _TEXTS)
            self._digests += hashlib.blake2b(texts.encode(), digest_size=16).digest()
            *template, version = (row[i] for i in _PLACE)
            self._template_of.append(self._templates.setdefault(tuple(template), len(self._templates)))
            self._version_of.append(int(str(version)))
        self.n_rows += len(rows)

    def first(self) -> dict[int, str]:
        """Row -> id of the first item (by template, then version) with its texts, for every row that is not itself the first."""
        names = sorted(self._templates)
        rank = np.empty(len(names), dtype=int)
        rank[[self._templates[name] for name in names]] = np.arange(len(names))
        templates, versions = (
            rank[np.frombuffer(self._template_of, dtype=np.int_)],
            np.frombuffer(self._version_of, dtype=np.int_),
        )
        halves = np.frombuffer(bytes(self._digests), dtype=np.uint64).reshape(-1, 2)
        order = np.lexsort((versions, templates, halves[:, 1], halves[:, 0]))
        is_new = np.ones(len(order), dtype=bool)
        is_new[1:] = (halves[order[1:]] != halves[order[:-1]]).any(axis=1)
        starts = order[np.maximum.accumulate(np.where(is_new, np.arange(len(order)), 0))]
        found = {}
        for row, begin in zip(order[~is_new].tolist(), starts[~is_new].tolist(), strict=True):
            domain, meta_template, template = names[templates[begin]]
            found[row] = f"{domain}_{meta_template}_{template}_v{versions[begin]}"
        return found
