"""The compiler in compat mode repeats the original generator on the official archive, digest by
digest.
"""

import ast
import csv
import hashlib
import io
import itertools
import json
import math
import zipfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import pyzipper

from worldprobe.benchmarks.ewok.analysis.reproduction import (
    is_release,
    read_published,
    texts_digest,
)
from worldprobe.benchmarks.ewok.canaries import is_protected
from worldprobe.benchmarks.ewok.materials.compile import compile_templates
from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.filling import Filling, fill_rows, items_table
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.opened import DESIGN, open_templates, parse_swaps
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT
from worldprobe.benchmarks.ewok.materials.release_filter import apply_release_filter
from worldprobe.benchmarks.ewok.materials.slots import KEY, fill
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.errors import UserError
from worldprobe_authoring.official_items import official_files
from worldprobe_authoring.packing import check_members, read_notices, read_packed, write_release
from worldprobe_authoring.search import read_wordings
from worldprobe_lab import babylm

PASSWORD = "ewok"
OURS = Path(__file__).parents[2] / "resources" / "materials" / "ewok-builtin"


@pytest.fixture(scope="module")
def expected(reference):
    return json.loads((reference / "ewok-expected.json").read_text())


@pytest.fixture(scope="module")
def materials(reference):
    return read_materials(reference / "ewok-config.zip", ORIGINAL, PASSWORD, is_lenient=True)


@pytest.fixture(scope="module")
def templates(materials):
    return compile_templates(materials)


@pytest.fixture(scope="module")
def items(materials, templates):
    fillers = Fillers(materials.fillers, ORIGINAL)
    return items_table(fill_rows(open_templates(templates, fillers), fillers, Filling()))


@pytest.fixture(scope="module")
def filtered(items, materials):
    return apply_release_filter(items, materials.source, ORIGINAL)


def design(row):
    """The thirteen columns of an official file, from a row of ours."""
    concept_b = row.concept_b if isinstance(row.concept_b, str) else "-"
    contrast = row.context_contrast if isinstance(row.context_contrast, str) else ""
    ids = [str(row.meta_template), str(row.template), "", row.domain, row.concept_a, concept_b]
    return [
        *ids,
        row.target1,
        row.target2,
        row.target_contrast,
        row.context1,
        row.context2,
        contrast,
        row.context_type,
    ]


def full_digests(rows):
    """Domain -> digest of whole records, as ewok-expected.json defines it; ALL is every domain in
    alphabetical order.
    """
    by_domain = {}
    for record in rows:
        by_domain.setdefault(record[3], []).append("\t".join(record))
    lines = {domain: by_domain[domain] for domain in sorted(by_domain)}
    lines["ALL"] = [line for group in list(lines.values()) for line in group]
    return {
        domain: hashlib.sha256("\n".join(group).encode()).hexdigest()
        for domain, group in lines.items()
    }


def expected_digests(section):
    return {domain: entry["full_sha256"] for domain, entry in section.items()}


def test_the_official_archive_reads_without_errors(materials):
    assert materials.problems.errors() == []
    assert "canary UUID" in materials.canary


def test_all_910_templates_equal_the_originals_in_rows_order_and_text(templates, expected):
    assert len(templates) == expected["totals"]["templates"] == 910
    assert full_digests(map(design, templates.itertuples())) == expected_digests(
        expected["template_digests"]
    )


def test_templates_equal_the_original_files_cell_by_cell(templates, reference):
    with zipfile.ZipFile(reference / "ewok-expected.zip") as archive:
        for domain, rows in templates.groupby("domain"):
            text = archive.read(
                f"templates/template-{domain.replace('-', '_')}.csv", PASSWORD.encode()
            ).decode()
            original = list(csv.reader(io.StringIO(text.split("\n", 1)[1])))[1:]
            differing = [
                record[:2]
                for record, ours in zip(original, map(design, rows.itertuples()), strict=True)
                if record != ours
            ]
            assert differing == [], f"{domain}: these templates differ (MetaTemplateID, TemplateID)"


@pytest.mark.parametrize("version", range(5))
def test_each_version_has_the_originals_number_of_items_in_each_domain(
    items, filtered, expected, version
):
    for frame, section in ((items, "items_unfiltered"), (filtered, "items_filtered")):
        counts = frame[frame["version"] == version]["domain"].value_counts().to_dict()
        assert counts | {"ALL": sum(counts.values())} == expected[section][str(version)]


@pytest.mark.parametrize("version", [0, 1])
def test_items_equal_the_originals_before_and_after_the_release_filter(
    items, filtered, templates, expected, version
):
    index = {
        (row.domain, row.meta_template, row.template): number
        for _, rows in templates.groupby("domain")
        for number, row in enumerate(rows.itertuples())
    }

    def record(row):
        name = "template-" + row.domain.replace("-", "_")
        return [
            *design(row),
            name,
            str(index[row.domain, row.meta_template, row.template]),
            row.tags,
        ]

    for frame, kind in ((items, "unfiltered"), (filtered, "filtered")):
        rows = frame[frame["version"] == version].itertuples()
        assert full_digests(map(record, rows)) == expected_digests(
            expected["item_digests"][str(version)][kind]
        )


def test_an_import_knows_the_release_by_its_texts(filtered):
    published = read_published(OURS.parents[1] / "published")
    assert texts_digest(filtered) == published.release
    assert is_release(filtered.assign(version=0), published)
    assert not is_release(filtered.iloc[1:], published)


def test_the_release_filter_leaves_4374_items_and_4357_distinct_texts(filtered, expected):
    texts = filtered[["context1", "context2", "target1", "target2"]]
    assert len(filtered) == expected["totals"]["items_filtered"] == 4374
    assert (
        len(texts.drop_duplicates()) == expected["totals"]["distinct_item_texts_filtered"] == 4357
    )


def test_the_babylm_challenges_word_filter_leaves_as_many_rows_as_it_counts(
    filtered, babylm_challenge
):
    pipeline = babylm_challenge / "evaluation_pipeline"
    rows = babylm.select_items(filtered, pipeline / "ewok" / "vocab.txt")
    babylm.check_counts(rows, babylm.WHOLE, "the release")
    first, second = rows.iloc[0], rows.iloc[1]
    assert [first[name] for name in TEXTS] == [
        second[name] for name in ("context2", "context1", "target2", "target1")
    ]
    # The challenge's own counts and checkpoints, as they stand in its code.
    module = ast.parse((pipeline / "collate_preds.py").read_text(encoding="utf-8"))
    named = {one.targets[0].id: one.value for one in module.body if isinstance(one, ast.Assign)}
    assert ast.literal_eval(named["EWOK_SIZES"]) == babylm.SIZES
    assert (
        dict.fromkeys(babylm.SIZES, ast.literal_eval(named["EWOK_FAST_SIZE"]))
        == babylm.ROWS[babylm.FAST]
    )
    for name, track in (
        ("STRICT_SMALL_FAST_REVISIONS", "strict-small"),
        ("OTHER_FAST_REVISIONS", "strict"),
    ):
        theirs = eval(ast.unparse(named[name]), {})
        assert [babylm.CHECKPOINT.format(n=n) for n in babylm.TRACKS[track]] == theirs


@pytest.mark.parametrize("version", [0, 1])
def test_the_official_format_equals_the_originals_files_byte_by_byte(
    items, templates, materials, reference, version
):
    with zipfile.ZipFile(reference / "ewok-expected.zip") as archive:
        for name, text in official_files(
            items[items["version"] == version], templates, materials.canary
        ):
            folder, file = name.split("/")
            original = archive.read(f"items/{folder}/unfiltered/{file}", PASSWORD.encode())
            assert (
                hashlib.sha256(text.encode()).hexdigest() == hashlib.sha256(original).hexdigest()
            ), name


def test_items_of_the_official_materials_leave_in_an_encrypted_archive_only(
    materials, templates, items, reference, tmp_path
):
    assert is_protected(materials.canary)
    files = {
        name: text.encode()
        for name, text in official_files(items[items["version"] == 0], templates, materials.canary)
    }
    members = files | read_notices(None, None, reference / "ewok-config.zip", PASSWORD)
    check_members(members)
    write_release(members, tmp_path / "items.zip", "word")
    raw = (tmp_path / "items.zip").read_bytes()
    assert materials.canary.encode() not in raw
    with pyzipper.AESZipFile(tmp_path / "items.zip") as archive:
        assert all(member.flag_bits & 1 for member in archive.infolist())
        names = set(archive.namelist())
        assert names == {*files, "LICENSE.txt", "TERMS_OF_USE.txt", "README.txt"}
        differing = [name for name in files if archive.read(name, b"word") != files[name]]
        assert differing == []
    with pytest.raises(UserError, match="terms forbid"):
        dict(read_packed(tmp_path / "items.zip", "word", ""))


@pytest.mark.long
def test_every_released_item_is_recognised_and_none_of_ours(materials, filtered):
    """Of the official materials by both sides of an item together: a target alone may be four words
    that anybody writes.
    """
    wordings = read_wordings(materials.source)
    some = filtered.iloc[::25]
    missed = [
        row.item_id
        for row in some.itertuples()
        if not wordings.find(" ".join(getattr(row, text) for text in TEXTS))
    ]
    assert len(missed) / len(some) < 0.02
    ours = compile_templates(read_materials(OURS, RIGHT))
    fillers = Fillers(read_materials(OURS, RIGHT).fillers, RIGHT)
    texts = (
        items_table(fill_rows(open_templates(ours, fillers), fillers, Filling(numbers=[0])))[
            list(TEXTS)
        ]
        .to_numpy()
        .ravel()
    )
    assert len(wordings.find("\n".join(texts))) <= 5


def test_a_version_with_too_few_restricted_fillers_loses_the_items_that_the_original_loses(
    materials, templates
):
    fillers = Fillers(materials.fillers, ORIGINAL)
    slots = open_templates(
        templates, fillers, parse_swaps(["agent->agent:western=false"], list(materials.fillers))
    )
    assert len(items_table(fill_rows(slots, fillers, Filling(numbers=[4])))) == 906


def sampled_to_the_letter(templates, fillers, version, count):
    """Section 11 of the description of the original as written: full products, shuffled as lists,
    again for each template.
    """
    for _, rows in templates.groupby("domain"):
        generator = np.random.RandomState(version)
        candidates = {}
        for row in rows.itertuples():
            texts = (row.context1, row.context2, row.target1, row.target2)
            keys = tuple(sorted({key for text in texts for key in KEY.findall(text)}))
            if keys not in candidates:
                options = [[filler.text for filler in fillers.options(key)] for key in keys]
                candidates[keys] = list(itertools.product(*options))
            generator.shuffle(candidates[keys])
            fillings = (filling for filling in candidates[keys] if len(set(filling)) == len(keys))
            for filling in itertools.islice(fillings, count):
                found = dict(zip(keys, filling, strict=True))
                yield (row.template_id, *(fill(text, found, ORIGINAL) for text in texts))


@pytest.mark.parametrize("version", [0, 3])
def test_the_sampling_mode_is_the_originals_as_described(materials, templates, version):
    """Of the domains with fewer than a million combinations for each template: lists of more would
    take minutes to shuffle.
    """
    fillers = Fillers(materials.fillers, ORIGINAL)
    slots = open_templates(templates, fillers)
    largest = {
        d: max(math.prod(len(fillers.options(k)) for k in t.keys) for t in rows)
        for d, rows in slots.items()
    }
    some = {domain: rows for domain, rows in slots.items() if largest[domain] < 1e5}
    assert len(some) >= 4, largest
    items = items_table(fill_rows(some, fillers, Filling("independent", range(3), version)))
    items = items.sort_values(["domain", "meta_template", "template", "version"])
    ours = zip(
        items["item_id"].str.rpartition("_v")[0], *(items[text] for text in TEXTS), strict=True
    )
    expected = sampled_to_the_letter(templates[templates["domain"].isin(some)], fillers, version, 3)
    assert [digest_row(row) for row in ours] == [digest_row(row) for row in expected]


def digest_row(row):
    """Text of the official materials is compared by digest, so that a failure does not print it."""
    return row[0], hashlib.sha256("\t".join(row[1:]).encode()).hexdigest()


def texts_of(reference, has_items=True, **fixed) -> tuple[dict, set]:
    """Templates by their texts (ids and labels), and the items' texts where they are wanted, of the
    original with some quirks fixed.
    """
    rules = replace(ORIGINAL, **fixed)
    read = read_materials(reference / "ewok-config.zip", rules, PASSWORD, is_lenient=True)
    compiled = compile_templates(read)
    found: dict[tuple, list[tuple]] = {}
    for row in compiled.fillna("").to_dict("records"):
        label = tuple(row[name] for name in DESIGN)
        found.setdefault((row["domain"], *(row[text] for text in TEXTS)), []).append(
            (row["template_id"], *label)
        )
    if not has_items:
        return found, set()
    fillers = Fillers(read.fillers, rules)
    built = items_table(fill_rows(open_templates(compiled, fillers), fillers, Filling(numbers=[0])))
    return found, set(map(tuple, built[["item_id", *TEXTS]].to_numpy().tolist()))


def only_in(some: dict, others: dict) -> list[str]:
    """Ids of templates whose texts the others lack; of repeated texts, the last ones."""
    return [row[0] for key, rows in some.items() for row in rows[len(others.get(key, [])) :]]


@pytest.mark.long
def test_fixing_the_originals_quirks_changes_what_the_specification_says(reference):
    original, original_items = texts_of(reference)
    names = {kept.metadata["quirk"]: kept.name for kept in fields(ORIGINAL) if kept.metadata}
    without_effect = ("Q5", "Q10", "Q12", "Q15", "Q16", "Q17", "Q18", "Q21")
    assert texts_of(reference, **{names.pop(quirk): False for quirk in without_effect}) == (
        original,
        original_items,
    )
    fixed = {
        quirk: texts_of(reference, has_items=quirk == "Q4", **{name: False})
        for quirk, name in names.items()
    }
    new = {quirk: only_in(templates, original) for quirk, (templates, _) in fixed.items()}
    gone = {quirk: only_in(original, templates) for quirk, (templates, _) in fixed.items()}
    relabelled = {
        quirk: sum(templates.get(key, rows)[0][1:] != rows[0][1:] for key, rows in original.items())
        for quirk, (templates, _) in fixed.items()
    }
    assert (len(new["Q1"]), len(gone["Q1"])) == (10, 0)
    assert new["Q2"] == ["physical-interactions_21_1"]
    assert [name.rpartition("-")[2] for name in gone["Q3"]] == [
        "properties_5_1",
        *(f"relations_{m}_{t}" for m in (5, 6) for t in (1, 2, 3)),
    ]
    assert len(new["Q3"]) == 2
    lost = {item_id for item_id, *_ in original_items - fixed["Q4"][1]}
    assert lost >= {f"physical-relations_6_{n}_v0" for n in (1, 2, 3)}
    assert len(gone["Q7"]) == 4
    assert relabelled["Q14"] == 3
