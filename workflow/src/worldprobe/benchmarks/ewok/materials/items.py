"""From templates to items: slots filled, filtered and numbered, duplicates flagged; versions alone
or gathered.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as arrow

from worldprobe.analysis.sampling import stratified
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.compile import (
    compile_families,
    compile_templates,
    count_parts,
    without_template,
)
from worldprobe.benchmarks.ewok.materials.documents import Place, Problems
from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.materials import Materials, Source
from worldprobe.benchmarks.ewok.materials.opened import (
    DESIGN,
    MARKS,
    OpenTemplate,
    is_ambiguous,
    open_templates,
    parse_swaps,
)
from worldprobe.benchmarks.ewok.materials.original_quirks import Rules
from worldprobe.benchmarks.ewok.materials.samplers import (
    BalancedSampler,
    FixedSampler,
    IndependentSampler,
    ProductSampler,
    enough_for,
)
from worldprobe.benchmarks.ewok.materials.slots import fill
from worldprobe.benchmarks.ewok.vocabulary import FAMILY, OFFICIAL_TEXTS, TEXTS
from worldprobe.commented_csv import read_frame
from worldprobe.contracts import ROWS_TOGETHER, open_table
from worldprobe.errors import UserError
from worldprobe.files import whole_file
from worldprobe.log import LOGGER, Progress
from worldprobe.processes import stream_in_step
from worldprobe.provenance import Provenance

COLUMNS = (
    "item_id",
    "domain",
    "version",
    "meta_template",
    "template",
    *TEXTS,
    *DESIGN,
    *MARKS,
    "fillers",
    "tags",
)
#: Samples of each template that are made before the next template's.
_TOGETHER = 16

Row = tuple[object, ...]


def fill_fixed(
    domains: Mapping[str, list[OpenTemplate]],
    fillers: Fillers,
    versions: Sequence[int],
    advance: Callable[[], None] = lambda: None,
) -> list[Row]:
    """One item per template and version, with one constant filling per version and domain.

    A version for which some class has too few fillers loses items; a warning says which and why.

    Args:
        domains: from ``open_templates``.
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
            before = len(rows)
            for template in templates:
                fillings = sampler.fill(template.keys)
                if fillings is not None:
                    rows.append(item_row(template, version, fillings, fillers.rules))
            lost[version] = len(templates) - (len(rows) - before)
            short |= sampler.short
            advance()
        if any(lost.values()):
            _warn_of_lost_items(domain, lost, short)
    return rows


def _refuse_exhausted(
    domains: Mapping[str, list[OpenTemplate]], fillers: Fillers, versions: Sequence[int]
) -> None:
    """Versions move through the fillers; beyond the largest class every slot is empty, however far
    one counts.
    """
    slot_keys = {
        key for templates in domains.values() for template in templates for key in template.keys
    }
    enough = max((enough_for(len(fillers.options(key))) for key in slot_keys), default=None)
    if enough is not None and versions and max(versions) >= enough:
        beyond = min(version for version in versions if version >= enough)
        raise UserError(
            f"version {beyond}",
            "no filler is left for it: the largest set of fillers for a slot is enough for"
            f" {enough} versions.",
            f"Use versions 0-{max(enough - 1, 0)}, or add fillers.",
        )


def _warn_of_lost_items(domain: str, lost: Mapping[int, int], short: Mapping[str, int]) -> None:
    versions_lost = ", ".join(
        f"version {version}: {count}" for version, count in lost.items() if count
    )
    reasons = ", ".join(
        f"{{{key}}} is met by {n}, enough for {enough_for(n)} versions"
        for key, n in sorted(short.items())
    )
    LOGGER.warning(
        "%s: templates without an item (%s); %s",
        domain,
        versions_lost,
        reasons or "fillers are used up",
    )


def fill_balanced(
    domains: Mapping[str, list[OpenTemplate]],
    fillers: Fillers,
    versions: Sequence[int],
    seed: int,
    advance: Callable[[], None] = lambda: None,
) -> list[Row]:
    """One item per template and version, each with fillings of its own; a version uses what is
    listed about equally often.

    Args:
        domains: from ``open_templates``.
        fillers: the fillers.
        versions: from 0; a version depends on those before it.
        seed: the study's.
        advance: called after each domain.
    """
    rows: list[Row] = []
    for domain, templates in domains.items():
        sampler = BalancedSampler(fillers, domain, seed)
        lost: dict[int, int] = {}
        for version in range(max(versions, default=-1) + 1):
            filled = [(template, sampler.fill(template, version)) for template in templates]
            if version in versions:
                made = [
                    item_row(template, version, fillings, fillers.rules)
                    for template, fillings in filled
                    if fillings is not None
                ]
                lost[version] = len(filled) - len(made)
                rows += made
        if any(lost.values()):
            _warn_of_lost_items(domain, lost, {})
        advance()
    return rows


def fill_families(
    domains: Mapping[str, list[OpenTemplate]], fillers: Fillers, numbers: Sequence[int], seed: int
) -> list[Row]:
    """Items of families: each base is sampled on its own, and all its levels have the same fillers.

    Args:
        domains: from ``open_templates``, of templates of families alone.
        fillers: the fillers.
        numbers: which of each base's samples, counted from 0.
        seed: the study's.
    """
    rows = []
    for templates in domains.values():
        for unit, levels in itertools.groupby(
            templates, key=lambda template: template.meta_template
        ):
            base = list(levels)
            keys = sorted({key for level in base for key in level.keys})
            samples = IndependentSampler(fillers, keys, (seed, base[0].domain, unit, 0)).sample(
                max(numbers) + 1
            )
            rows += [
                item_row(level, number, {key: filling[key] for key in level.keys}, fillers.rules)
                for number, filling in enumerate(samples)
                if number in numbers
                for level in base
            ]
    return rows


class IndependentRows:
    """Items that are sampled each on their own, in the order of the items table: sample by sample,
    template by template.

    In the original a template's sample depends on those of the domain before it, and the seed is
    called version.

    Args:
        domains: from ``open_templates``.
        fillers: the fillers.
        numbers: which of each template's samples, counted from 0; a sample depends on those before
            it.
        seed: the study's.
        advance: called after each sample of all templates.
        processes: how many share the domains; the rows are the same for any number.
    """

    def __init__(
        self,
        domains: Mapping[str, list[OpenTemplate]],
        fillers: Fillers,
        numbers: Sequence[int],
        seed: int,
        advance: Callable[[], None] = lambda: None,
        processes: int = 1,
    ) -> None:
        self.domains, self.fillers, self.numbers, self.seed = (
            domains,
            fillers,
            frozenset(numbers),
            seed,
        )
        self.advance, self.processes = advance, processes
        #: Template id -> its number of items, once all rows were taken.
        self.counts = {template.template_id: 0 for rows in domains.values() for template in rows}

    def __iter__(self) -> Iterator[Row]:
        names = [template.template_id for template in in_order(self.domains)]
        for together, made in zip(_together(self.numbers), self._made(), strict=True):
            for number in together:
                for rows, name in zip(made, names, strict=True):
                    if number in rows:
                        self.counts[name] += 1
                        yield rows[number]
                self.advance()
        short = [
            f"{name} ({made})" for name, made in self.counts.items() if made < len(self.numbers)
        ]
        if short:
            message = "%d templates have fewer than %d distinct fillings; all of them are used: %s"
            LOGGER.warning(message, len(short), len(self.numbers), ", ".join(short))

    def _made(self) -> Iterator[list[dict[int, Row]]]:
        """As ``_sample_together``, in one process or several."""
        parts = [
            (part, self.fillers, self.numbers, self.seed)
            for part in share_domains(self.domains, self.processes)
        ]
        if len(parts) == 1:
            yield from _sample_together(*parts[0])
            return
        for made in stream_in_step(_sample_together, parts):
            yield [rows for part in made for rows in part]


def share_domains(
    domains: Mapping[str, list[OpenTemplate]], processes: int
) -> list[dict[str, list[OpenTemplate]]]:
    """Domains in alphabetical order, in at most so many parts of about as many templates.

    >>> [list(part) for part in share_domains({"c": [1], "a": [1, 2], "b": [1]}, 2)]
    [['a'], ['b', 'c']]
    """
    n_templates = sum(map(len, domains.values()))
    parts: list[dict[str, list[OpenTemplate]]] = [{} for _ in range(max(processes, 1))]
    before = 0
    for domain in sorted(domains):
        middle = before + len(domains[domain]) / 2
        parts[min(int(middle * len(parts) / max(n_templates, 1)), len(parts) - 1)][domain] = (
            domains[domain]
        )
        before += len(domains[domain])
    return [part for part in parts if part] or [{}]


def in_order(domains: Mapping[str, list[OpenTemplate]]) -> list[OpenTemplate]:
    """The templates in the order of the items table."""
    return sorted(
        (template for rows in domains.values() for template in rows),
        key=lambda template: template[:3],
    )


def _together(numbers: Collection[int]) -> Iterator[range]:
    """The samples up to the last one that is wanted, a few at a time."""
    count = max(numbers, default=-1) + 1
    return (range(start, min(start + _TOGETHER, count)) for start in range(0, count, _TOGETHER))


def _sample_together(
    domains: Mapping[str, list[OpenTemplate]], fillers: Fillers, numbers: Collection[int], seed: int
) -> Iterator[list[dict[int, Row]]]:
    """For a few samples at a time the rows of every template in order, by the sample's number."""
    count = max(numbers, default=-1) + 1
    samples = {
        template: sample
        for rows in domains.values()
        for template, sample in _sample(rows, fillers, count, seed)
    }
    ordered = in_order(domains)
    for together in _together(numbers):
        yield [
            _rows(template, samples[template], together, numbers, fillers.rules)
            for template in ordered
        ]


def _rows(
    template: OpenTemplate,
    sample: Iterator[Mapping[str, str]],
    together: range,
    numbers: Collection[int],
    rules: Rules,
) -> dict[int, Row]:
    """The rows of a template's next samples, by number; one template at a time, because that is
    quicker.
    """
    return {
        number: item_row(template, number, filling, rules)
        for number, filling in zip(together, sample, strict=False)
        if number in numbers
    }


def fill_independent(
    domains: Mapping[str, list[OpenTemplate]],
    fillers: Fillers,
    numbers: Sequence[int],
    seed: int,
    advance: Callable[[], None] = lambda: None,
) -> list[Row]:
    """All rows of ``IndependentRows``, template by template in the order of the domains."""
    place = {
        name: number
        for number, name in enumerate(t.template_id for rows in domains.values() for t in rows)
    }
    rows = list(IndependentRows(domains, fillers, numbers, seed, advance))
    return sorted(rows, key=lambda row: place[str(row[0]).rpartition("_v")[0]])


def _sample(
    templates: Sequence[OpenTemplate], fillers: Fillers, count: int, seed: int
) -> Iterator[tuple[OpenTemplate, Iterator[Mapping[str, str]]]]:
    """A domain's templates with the fillings of each."""
    if fillers.rules.listed_products:
        products = ProductSampler(fillers, seed)
        # Taken at once: templates with the same slots share one order, which each of them shuffles.
        yield from [
            (template, iter(list(products.sample(template.keys, count)))) for template in templates
        ]
        return
    for template in templates:
        coordinates = (seed, template.domain, template.meta_template, template.template)
        yield template, IndependentSampler(fillers, template.keys, coordinates).sample(count)


def item_row(
    template: OpenTemplate, version: int, fillings: Mapping[str, str], rules: Rules
) -> Row:
    """One row, in the order of ``COLUMNS``."""
    numbers = (template.domain, version, template.meta_template, template.template)
    texts = (fill(text, fillings, rules) for text in template.texts)
    trace = json.dumps({key: fillings[key] for key in sorted(fillings)}, ensure_ascii=False)
    return (
        f"{template.template_id}_v{version}",
        *numbers,
        *texts,
        *template.design,
        trace,
        ",".join(template.keys),
    )


def items_table(rows: Sequence[Row]) -> pd.DataFrame:
    """The items table, without ``duplicate_of``.

    Args:
        rows: from ``fill_fixed`` or ``fill_independent``.

    Raises:
        UserError: there is no row.
    """
    if not rows:
        raise UserError(
            "items",
            "no template has an item.",
            "Check versions and swaps against the fillers; the log says which are too few.",
        )
    # Where no row has one, these would not be text.
    return pd.DataFrame(rows, columns=COLUMNS).astype(
        {"concept_b": "str", "context_contrast": "str"}
    )


def filter_tags(items: pd.DataFrame, pattern: str) -> pd.DataFrame:
    """The items in whose tags (their slot keys, joined by commas) a regular expression is found.

    Raises:
        UserError: the pattern is broken, or nothing is left.
    """
    found = items[items["tags"].isin(matching_tags(items["tags"], pattern)).to_numpy(bool)]
    if found.empty:
        raise UserError(
            f"--filter {pattern}",
            "no item is left.",
            'It is searched for in the slots, e.g. "agent1:sex=male,object1".',
        )
    return found


def matching_tags(tags: Iterable[str], pattern: str) -> set[str]:
    """Those of some tags in which a regular expression is found.

    Raises:
        UserError: the pattern is broken.
    """
    try:
        expression = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UserError(
            f"--filter {pattern}", f"is not a valid regular expression ({error}).", "Correct it."
        ) from error
    return {text for text in set(tags) if expression.search(text) is not None}


def flag_duplicates(items: pd.DataFrame) -> pd.DataFrame:
    """Name, for each item whose four texts another item has, the first such item (by template, then
    version).
    """
    columns = [
        items[c].tolist()
        for c in ("domain", "meta_template", "template", "version", "item_id", *TEXTS)
    ]
    first: dict[tuple[str, ...], str] = {}
    for *_, item_id, context1, context2, target1, target2 in sorted(zip(*columns, strict=True)):
        first.setdefault((context1, context2, target1, target2), item_id)
    found = [first[texts] for texts in zip(*columns[5:], strict=True)]
    duplicate_of = [
        None if name == item_id else name for name, item_id in zip(found, columns[4], strict=True)
    ]
    return items.assign(duplicate_of=pd.Series(duplicate_of, index=items.index, dtype="str"))


def copied_versions(items: pd.DataFrame) -> dict[int, int]:
    """Versions whose texts are all those of an earlier version, template by template -> the earlier
    one.
    """
    known: dict[tuple[object, ...], int] = {}
    found = {}
    for version, rows in items.sort_values(["domain", "meta_template", "template"]).groupby(
        "version", sort=True
    ):
        first = known.setdefault(tuple(rows[list(TEXTS)].to_numpy().ravel()), int(str(version)))
        if first != version:
            found[int(str(version))] = first
    return found


def shortfalls(made: Mapping[str, int], templates: pd.DataFrame, asked: int) -> dict[str, int]:
    """Template id -> its number of items, for templates that have fewer than were asked for.

    Args:
        made: template id -> number of its items.
        templates: the templates table.
        asked: how many each was to have.
    """
    counts = {
        template: int(made.get(template, 0)) for template in templates["template_id"].tolist()
    }
    return {template: count for template, count in counts.items() if count < asked}


TAGS = COLUMNS.index("tags")
_PLACE = [COLUMNS.index(name) for name in ("domain", "meta_template", "template", "version")]
_TEXTS = [COLUMNS.index(name) for name in TEXTS]


def write_stream(
    rows: Iterable[Row], path: Path, provenance: Callable[[int], Provenance]
) -> tuple[int, int]:
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
    digests: list[bytes] = []  # of every row's texts
    first: dict[
        bytes, tuple[Any, ...]
    ] = {}  # digest -> place of the first item with these texts, by template, then version
    with whole_file(path) as temporary, tempfile.TemporaryFile(dir=temporary.parent) as spool:
        for batch in _batches(rows):
            for row in batch:
                texts, place = "\0".join(str(row[i]) for i in _TEXTS), tuple(row[i] for i in _PLACE)
                digests.append(hashlib.blake2b(texts.encode(), digest_size=16).digest())
                first[digests[-1]] = min(place, first.get(digests[-1], place))
            table = _as_arrow(batch)
            if not spool.tell():
                writer = arrow.ipc.new_stream(
                    spool, table.schema, options=arrow.ipc.IpcWriteOptions(compression="lz4")
                )
            writer.write_table(table)
        if not digests:
            raise UserError(
                "items",
                "no item is left.",
                "Check filter and swaps against the slots of the templates.",
            )
        writer.close()
        spool.seek(0)
        n_duplicates = len(digests) - len(first)
        with (
            open_table(Items, temporary, provenance(n_duplicates)) as write,
            arrow.ipc.open_stream(spool) as reader,
        ):
            of_row = iter(digests)
            for batch in reader:
                frame = batch.to_pandas()
                names = ["{}_{}_{}_v{}".format(*first[next(of_row)]) for _ in range(len(frame))]
                duplicate_of = [
                    None if name == own else name
                    for name, own in zip(names, frame["item_id"], strict=True)
                ]
                write(
                    frame.assign(
                        duplicate_of=pd.Series(duplicate_of, index=frame.index, dtype="str")
                    )
                )
    return len(digests), n_duplicates


def _as_arrow(rows: list[Row]) -> arrow.Table:
    """``items_table`` without the way through pandas, which costs more than all else that is done
    with the rows here.
    """
    kinds = [arrow.int64() if isinstance(value, int) else arrow.large_string() for value in rows[0]]
    return arrow.table(
        [
            arrow.array(values, kind)
            for values, kind in zip(zip(*rows, strict=True), kinds, strict=True)
        ],
        COLUMNS,
    )


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    taken = iter(rows)
    while batch := list(itertools.islice(taken, ROWS_TOGETHER)):
        yield batch


LISTED, REVERSED = "utils/items_in_results.csv", "utils/flagged_reverse.csv"


def apply_release_filter(items: pd.DataFrame, source: Source, rules: Rules) -> pd.DataFrame:
    """Keep the listed items; items are known by their four texts, whatever their ids.

    The list contains reversed items in their final form. We therefore first exchange the targets of
    every template of which some item is flagged (all its versions, as the paper's analysis does),
    then exclude. The original excludes first and exchanges single items, of which none is left by
    then.

    Raises:
        UserError: the materials have no such lists, or no item is left.
    """
    listed = set(_texts(source, LISTED))
    flagged = set(_texts(source, REVERSED))
    if rules.exclude_first:
        kept = _some(items[[texts in listed for texts in _texts_of(items)]], source)
        return _exchange_targets(kept, [texts in flagged for texts in _texts_of(kept)])
    names = list(
        zip(
            *(items[column].tolist() for column in ("domain", "meta_template", "template")),
            strict=True,
        )
    )
    templates = {
        name for name, texts in zip(names, _texts_of(items), strict=True) if texts in flagged
    }
    exchanged = _exchange_targets(items, [name in templates for name in names])
    return _some(exchanged[[texts in listed for texts in _texts_of(exchanged)]], source)


def _some(items: pd.DataFrame, source: Source) -> pd.DataFrame:
    if items.empty:
        problem = f"no item of these materials is in {LISTED}, the list of released items."
        raise UserError(
            source.path,
            problem,
            "Leave out --release-filter, or add --compat: it knows items by their exact texts.",
        )
    return items


def _exchange_targets(items: pd.DataFrame, where: list[bool]) -> pd.DataFrame:
    if not any(where):
        return items
    exchanged = items.copy()
    exchanged.loc[where, ["target1", "target2"]] = items.loc[
        where, ["target2", "target1"]
    ].to_numpy()
    return exchanged


def _texts_of(frame: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    return zip(*(frame[text].tolist() for text in TEXTS), strict=True)


def _texts(source: Source, name: str) -> Iterator[tuple[str, ...]]:
    if name not in source.names:
        raise UserError(
            source.path,
            f"contains no {name}, which the release filter needs.",
            "Leave out --release-filter for these materials.",
        )
    where = f"{source.path}, {name}"
    frame = read_frame(where, source.read(name))
    absent = [column for column in OFFICIAL_TEXTS if column not in frame]
    if absent:
        raise UserError(
            where,
            f"has no column {absent[0]}.",
            f"It needs the columns {', '.join(OFFICIAL_TEXTS)}.",
        )
    return zip(*(frame[column].tolist() for column in OFFICIAL_TEXTS), strict=True)


#: What an items table states about its filling, as details of its provenance.
_SHARED = ("compat", "mode", "swap", "filter", "limit", "flags")
#: How large its templates are: these say more than their number, because templates of one pair of
#: concepts are alike.
SIZES = ("concept_pairs", "situations")


@dataclass(frozen=True)
class Filling:
    """How slots are filled.

    Attributes:
        mode: "fixed" (one constant filling per domain and version), "balanced" (a version uses all
            fillers about equally often) or "independent" (each item sampled on its own).
        numbers: versions; in the independent mode, which of a template's samples, counted from 0.
        seed: of the balanced and the independent mode.
        swap: other fillers, e.g. ``object->nonword``.
        tag_filter: keep items in whose tags this regular expression is found.
        limit: keep the items of so many templates, see ``in_share``.
    """

    mode: str = "fixed"
    numbers: Sequence[int] = (0, 1, 2, 3, 4)
    seed: int = 0
    swap: Sequence[str] = ()
    tag_filter: str | None = None
    limit: int | None = None


def in_share(table: pd.DataFrame, limit: int) -> np.ndarray:
    """Which rows are of a share of the templates, spread evenly over domains, and in these over
    pairs of concepts.

    It is the same in every version, a smaller share is part of a larger one, and which of a pair's
    templates it has is decided by a digest of their places, so by nothing that a model or an author
    could know.

    Args:
        table: templates or items.
        limit: number of templates.

    Returns:
        A mask of the rows, shape (n,).
    """
    place = ["domain", "meta_template", "template"]
    templates = table[[*place, "concept_a", "concept_b"]].drop_duplicates(place).fillna("")
    digests = [
        hashlib.sha256("/".join(map(str, row)).encode()).hexdigest()
        for row in templates[place].to_numpy()
    ]
    templates = templates.assign(digest=digests).sort_values("digest")
    templates["round"] = templates.groupby(["domain", "concept_a", "concept_b"]).cumcount()
    templates = templates.sort_values(["round", "digest"])
    templates["turn"] = templates.groupby("domain").cumcount()
    chosen = templates.sort_values(["turn", "domain"])[place].head(limit)
    return pd.MultiIndex.from_frame(table[place]).isin(pd.MultiIndex.from_frame(chosen))


def in_sample(table: pd.DataFrame, size: int) -> np.ndarray:
    """Which templates are in a sample that stands for all, shape (n,): every pair of concepts
    has at least one, see ``stratified``.

    Args:
        table: templates.
        size: number of templates.
    """
    pairs = table[["domain", "concept_a", "concept_b"]].fillna("").itertuples(index=False)
    places = table[["domain", "meta_template", "template"]].itertuples(index=False)
    return stratified(list(map(tuple, pairs)), ["/".join(map(str, row)) for row in places], size)


def fill_items(
    templates: pd.DataFrame, materials: Materials, filling: Filling
) -> tuple[pd.DataFrame, dict[str, int]]:
    """All items of the versions asked for, before the release filter and without ``duplicate_of``.

    Args:
        templates: the templates table, compiled from these materials.
        materials: where the fillers come from; free of errors.
        filling: how.

    Returns:
        The items, and for each template that has fewer items than were asked for (before
        ``tag_filter``) how many it has.

    Raises:
        UserError: templates that no compiler wrote, a slot that no filler can fill, a version
            without fillers, a bad swap or filter, or no item is left.
    """
    slots, fillers = ready_templates(templates, materials, filling)
    if of_families(templates):
        rows = fill_families(slots, fillers, filling.numbers, filling.seed)
    elif filling.mode == "fixed":
        with Progress(
            "Filling", len(slots) * len(filling.numbers), "domains' versions"
        ) as progress:
            rows = fill_fixed(slots, fillers, filling.numbers, progress.advance)
    elif filling.mode == "balanced":
        with Progress("Filling", len(slots), "domains") as progress:
            rows = fill_balanced(slots, fillers, filling.numbers, filling.seed, progress.advance)
    else:
        with Progress("Sampling", max(filling.numbers) + 1, "samples of each template") as progress:
            rows = fill_independent(slots, fillers, filling.numbers, filling.seed, progress.advance)
    items = items_table(rows)
    if of_families(templates):
        place = ["domain", "meta_template", "template"]
        items = items.merge(
            templates[[*place, *FAMILY]], on=place, how="left", validate="many_to_one"
        )
    made = Counter(items["item_id"].str.rpartition("_v")[0])
    fewer = shortfalls(made, templates, len(filling.numbers))
    if filling.tag_filter:
        items = filter_tags(items, filling.tag_filter)
    if filling.limit:
        items = items[in_share(items, filling.limit)].reset_index(drop=True)
    return items, fewer


def stream_items(
    templates: pd.DataFrame,
    materials: Materials,
    filling: Filling,
    path: Path,
    made: Provenance,
    processes: int = 1,
) -> tuple[int, int]:
    """Sample items each on their own and write the table, however long, in little memory; see
    ``fill_items``.

    Args:
        templates: the templates table, compiled from these materials.
        materials: where the fillers come from; free of errors.
        filling: how; its mode is independent.
        path: the table.
        made: what made it; shortfalls and duplicates are added.
        processes: how many sample; the table is the same for any number.

    Returns:
        Number of items, and how many of them have the texts of another.
    """
    slots, fillers = ready_templates(templates, materials, filling)
    tags = {",".join(template.keys) for rows in slots.values() for template in rows}
    wanted = matching_tags(tags, filling.tag_filter) if filling.tag_filter else tags

    def finish(n_duplicates: int) -> Provenance:
        fewer = shortfalls(rows.counts, templates, len(filling.numbers))
        made.details |= {
            key: value
            for key, value in {"fewer_items": fewer, "duplicates": n_duplicates}.items()
            if value
        }
        return made

    with Progress("Sampling", max(filling.numbers) + 1, "samples of each template") as progress:
        rows = IndependentRows(
            slots, fillers, filling.numbers, filling.seed, progress.advance, processes
        )
        n_items, n_duplicates = write_stream(
            (row for row in rows if row[TAGS] in wanted), path, finish
        )
    return n_items, n_duplicates


def ready_templates(
    templates: pd.DataFrame, materials: Materials, filling: Filling
) -> tuple[dict[str, list[OpenTemplate]], Fillers]:
    """The templates ready to be filled, if they can be."""
    fillers = Fillers(materials.fillers, materials.rules)
    if templates.empty:
        raise UserError(
            "templates",
            "the table has no rows.",
            "Compile the templates again from these materials.",
        )
    columns = {name: known.columns for name, known in materials.fillers.items()}
    slots = open_templates(
        templates, fillers, parse_swaps(filling.swap, list(materials.fillers), columns)
    )
    check_slots(slots, fillers, materials.problems)
    materials.problems.raise_first()
    return slots, fillers


def check_slots(
    domains: dict[str, list[OpenTemplate]], fillers: Fillers, problems: Problems
) -> None:
    """Note templates whose slots no filler can fill, after restrictions have met across context and
    target.
    """
    for templates in domains.values():
        checked: set[tuple[str, ...]] = set()
        for template in templates:
            if template.keys in checked:
                continue
            checked.add(template.keys)
            place = Place("templates", 0, template.template_id)
            for key in template.keys:
                if not fillers.options(key):
                    problems.refuse(
                        place,
                        f"no filler meets {{{key}}}.",
                        "Loosen its restrictions, or add a filler that meets them.",
                    )
            if not fillers.rules.loose_variables and is_ambiguous(template.keys):
                slots = ", ".join(f"{{{key}}}" for key in template.keys)
                problems.refuse(
                    place,
                    f"it is unclear which filler a slot without restriction means ({slots}).",
                    "Number them.",
                )


def of_families(templates: pd.DataFrame) -> bool:
    """Whether the templates are those of families."""
    return "family" in templates and bool(templates["family"].notna().all())


def compile_all(materials: Materials, families: bool = False) -> pd.DataFrame:
    """All templates of materials that are free of errors: the domains', or the families'.

    Raises:
        UserError: there is none; or as ``compile_templates``.
    """
    if families:
        if not materials.families:
            problem = "these materials have no families."
            raise UserError(
                materials.source.path,
                problem,
                "Leave out --families, or add families/family-<name>.yml.",
            )
        return compile_families(materials)
    templates = compile_templates(materials)
    if templates.empty:
        fix = (
            "`worldprobe materials check` lists what is wrong; contexts need entries, and targets"
            " that fit them."
        )
        raise UserError(materials.source.path, "these materials yield no template.", fix)
    if unused := without_template(materials):
        message = (
            "%d concepts, pairs of concepts or contexts make no template, the first at %s;"
            " `worldprobe materials check` lists them"
        )
        LOGGER.warning(message, len(unused), unused[0])
    return templates


def finish_items(items: pd.DataFrame, rules: Rules, source: Source | None) -> pd.DataFrame:
    """The items of all versions together, after the release filter, with duplicates flagged.

    Both look across versions: a template is reversed if any of its items is
    flagged, and an item may repeat one of another version.

    Args:
        items: of all versions.
        rules: which behaviours of the original are kept.
        source: materials with the release's lists; None keeps all items.

    Raises:
        UserError: the materials have no such lists, or no item is left.
    """
    if source is not None:
        if not rules.exclude_first:
            LOGGER.warning(
                "--release-filter knows items by their exact texts; without --compat many of the"
                " released items are not built"
            )
        items = apply_release_filter(items, source, rules)
    return flag_duplicates(items)


def filling_details(filling: Filling, is_part: bool) -> dict[str, Any]:
    """What an items table states about its filling.

    Args:
        filling: how it was filled.
        is_part: the table is one version (``--version``), to be gathered with others.
    """
    numbers = list(filling.numbers)
    counted = (
        {"per_template": len(numbers)}
        if filling.mode == "independent" and not is_part
        else {"versions": numbers}
    )
    options = {"swap": list(filling.swap), "filter": filling.tag_filter, "limit": filling.limit}
    return {
        "mode": filling.mode,
        **counted,
        **{key: value for key, value in options.items() if value},
    }


def sizes_of(templates: pd.DataFrame) -> dict[str, int]:
    """How many pairs of concepts and situations the templates are about."""
    counts = count_parts(templates)
    return {name: counts[name] for name in SIZES}


def gather_provenance(parts: Sequence[tuple[str, Provenance]]) -> Provenance:
    """What the versions' tables have in common, with the versions of all of them.

    Args:
        parts: paths of the tables and their provenance.

    Returns:
        The provenance that filling all these versions at once has, before the release filter and
        duplicates are counted.

    Raises:
        UserError: tables that do not belong together, a version twice, or a table to which the
            release filter was applied.
    """
    first_path, first = parts[0]
    for path, part in parts:
        if "mode" not in part.details:
            raise UserError(
                path, "does not say how it was filled.", "Give tables of `items fill --version N`."
            )
    numbers: dict[int, str] = {}
    missing: dict[str, int] = {}
    for path, part in parts:
        if "release_filter" in part.details:
            fix = (
                "Fill the versions without it and give it to `items gather`, which sees all"
                " versions."
            )
            raise UserError(path, "is already reduced by the release filter.", fix)
        for name, value, wanted in _differences(part, first):
            problem = f"differs from {first_path} in {name}: {value} here, {wanted} there."
            raise UserError(
                path,
                problem,
                "Fill all versions with the same options from the same templates and materials.",
            )
        own = _numbers(part)
        for number in own:
            if number in numbers:
                raise UserError(
                    path,
                    f"contains version {number}, as does {numbers[number]}.",
                    "Give each version once.",
                )
            numbers[number] = path
        for template, count in part.details.get("fewer_items", {}).items():
            missing[template] = missing.get(template, 0) + len(own) - count
    asked = sorted(numbers)
    details = {key: first.details[key] for key in (*_SHARED, *SIZES) if key in first.details}
    is_whole_sample = details["mode"] == "independent" and asked == list(range(len(asked)))
    details |= {"per_template": len(asked)} if is_whole_sample else {"versions": asked}
    if missing:
        details["fewer_items"] = {
            template: len(asked) - count for template, count in missing.items()
        }
    return replace(first, details=details)


def _numbers(part: Provenance) -> list[int]:
    return list(part.details.get("versions") or range(part.details.get("per_template", 0)))


def _differences(part: Provenance, first: Provenance) -> list[tuple[str, object, object]]:
    pairs: dict[str, tuple[object, object]] = {
        f"--{key}": (part.details.get(key), first.details.get(key)) for key in _SHARED
    }
    pairs |= {"--seed": (part.seed, first.seed), "method": (part.method, first.method)}
    pairs |= {
        "packages": (part.packages, first.packages),
        "canary": (bool(part.canary), bool(first.canary)),
    }
    pairs |= {
        f"the digest of {k}": (part.inputs.get(k), first.inputs.get(k))
        for k in sorted({*part.inputs, *first.inputs})
    }
    return [(name, here, there) for name, (here, there) in pairs.items() if here != there]
