"""Our own materials: complete, well formed, never at odds with themselves, and
enough for five versions.

Whether a sentence makes sense is for readers to judge; what a program can see of it is held here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.analysis.reproduction import texts_digest
from worldprobe.benchmarks.ewok.contracts import Items, Templates
from worldprobe.benchmarks.ewok.frequency import frequencies_of_wordfreq
from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.filling import Filling
from worldprobe.benchmarks.ewok.materials.items import fill_items
from worldprobe.benchmarks.ewok.materials.materials import Materials, MaterialsFiles, read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT
from worldprobe.benchmarks.ewok.vocabulary import CONTEXT_CONTRASTS, CONTEXT_TYPES, contrast_group
from worldprobe.cli import main
from worldprobe.contracts import read_table
from worldprobe.paths import BUILTIN, EDITIONS
from worldprobe_authoring.balance import (
    bag_of_words,
    compare_sides,
    cross_design,
    word_cues,
)
from worldprobe_authoring.check import check_all
from worldprobe_authoring.ewok_task import DOMAINS

CANARY = "worldprobe canary 6f1d2c7a-3b58-4e0b-9a41-5d7e2f90c8b3"
OUR_DOMAINS = {*DOMAINS, "temporal-relations", "possession-transfer"}
FOLDER = EDITIONS[BUILTIN]
#: The digests of earlier editions and of their items of version 0, which results state.
EARLIER = {
    "builtin@1": (
        "734ebcf79a16130912e93981bef658022140af4a929ca8e4c101be5808ac55a5",
        "1ba7756c806f3882545ec14f968a6c341c5c5a78f5c122841a919f12dfc1e48a",
    ),
    "builtin@2": (
        "7657a235b7638ca8358dcdd1cf92618eb37c6f125e332858f9ee4590168437e5",
        "240c26030095903d685c30525b1c83754b6ea5e99ebcf55df744f5c8b23a4732",
    ),
    "builtin@3": (
        "1d417992cbc8f1ce7d97720137a4612984f0126bd3e13ff0eff2c31e9ee4461b",
        "5c1facc1fd0ac5d7fe509f5cceb62b18187fbbbd922738a0fe115b28a8509333",
    ),
}
TEXTS = ["context1", "context2", "target1", "target2"]
VERSIONS = range(5)

_SLOT = re.compile(r"\{[^}]*\}")
_COUPLE = re.compile(r"(\{[^}]*\}) and (\{[^}]*\})")
_AGENT = re.compile(r"\{(agent\d)((?::[^}]*)?)\}")


@pytest.fixture(scope="module")
def materials() -> Materials:
    return read_materials(FOLDER, RIGHT)


@pytest.fixture(scope="module")
def fillers(materials: Materials) -> Fillers:
    return Fillers(materials.fillers, RIGHT)


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Callable[..., tuple[pd.DataFrame, pd.DataFrame]]:
    """Runs ``worldprobe items build`` on the built-in materials; gives the templates and the
    items.
    """

    def run(*options: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        built = tmp_path_factory.mktemp("built")
        arguments = [
            "items",
            "build",
            BUILTIN,
            *options,
            "--templates-out",
            str(built / "t.parquet"),
        ]
        assert main([*arguments, "--out", str(built / "i.parquet")]) == 0
        return read_table(built / "t.parquet", Templates), read_table(built / "i.parquet", Items)

    return run


@pytest.fixture(scope="module")
def fixed(build) -> tuple[pd.DataFrame, pd.DataFrame]:
    return build("--mode", "fixed", "--versions", "0-4")


@pytest.fixture(scope="module")
def templates(fixed) -> pd.DataFrame:
    return fixed[0]


@pytest.fixture(scope="module")
def items(fixed) -> pd.DataFrame:
    """Versions 0 to 4 in fixed mode."""
    return fixed[1]


@pytest.fixture(scope="module")
def sampled(build) -> pd.DataFrame:
    """Ten items per template, each filled on its own: a wider look at the fillers than fixed
    mode takes.
    """
    return build("--mode", "independent", "--per-template", "10", "--seed", "1")[1]


def sentences(frame: pd.DataFrame) -> set[str]:
    return {text for column in TEXTS for text in frame[column]}


def impersonal(*texts: str) -> tuple[str, ...]:
    """The texts with their variables renumbered in the order in which they appear, and "X and
    Y" the same as "Y and X".
    """
    names: dict[str, str] = {}

    def rename(found: re.Match[str]) -> str:
        variable, _, restrictions = found[0][1:-1].partition(":")
        return names.setdefault(
            variable, f"{{{variable.rstrip('0123456789')}_{len(names)}:{restrictions}}}"
        )

    return tuple(
        _SLOT.sub(rename, _COUPLE.sub(lambda m: " and ".join(sorted(m.groups())), text))
        for text in texts
    )


@pytest.mark.long
def test_the_check_finds_neither_errors_nor_warnings():
    checked = read_materials(FOLDER, RIGHT)
    assert min(check_all(checked, len(VERSIONS))) > 0
    assert [str(problem) for problem in checked.problems] == []
    assert [str(problem) for problem in read_materials(FOLDER, ORIGINAL).problems] == []


@pytest.mark.parametrize("edition", EARLIER)
@pytest.mark.long
def test_earlier_editions_and_their_items_stay_as_they_are(edition, tmp_path):
    out = tmp_path / "items.parquet"
    assert main(f"items build {edition} --versions 0 --out {out}".split()) == 0
    items = (MaterialsFiles(EDITIONS[edition]).digest(), texts_digest(read_table(out, Items)))
    assert items == EARLIER[edition]


@pytest.mark.long
def test_no_design_feature_stands_for_a_domain(templates):
    _, strength = cross_design(templates)
    assert max(strength.values()) < 0.15, strength


def test_both_sides_are_alike_in_length_and_word_frequency_in_every_domain(templates):
    sides = compare_sides(templates, frequencies_of_wordfreq)
    assert sides[sides["p"] < 0.05].empty, sides[sides["p"] < 0.05]


def test_no_word_alone_tells_the_sides_apart_and_bare_words_are_at_chance(templates):
    cues = word_cues(templates).table
    assert cues[cues["pmi"] > cues["bound"]].empty
    scores = bag_of_words(templates).set_index("domain")
    assert scores.loc["all"].between(0.48, 0.52).all()
    assert (scores - 0.5).abs().to_numpy().max() < 0.06


def test_the_papers_eleven_domains_and_two_more_have_templates_of_every_kind(templates):
    counts = templates["domain"].value_counts()
    assert set(counts.index) == OUR_DOMAINS
    assert counts.min() >= 60, counts.to_dict()
    assert (templates.groupby("domain")[["context_type", "target_contrast"]].nunique() == 2).all(
        axis=None
    )
    groups = templates["context_contrast"].map(
        lambda label: contrast_group(label if isinstance(label, str) else None)
    )
    assert set(zip(groups, templates["context_type"], strict=True)) == {
        (c, t) for c in CONTEXT_CONTRASTS for t in CONTEXT_TYPES
    }


def test_no_template_loses_its_item_in_five_versions(templates, items):
    counts = items.groupby(["domain", "meta_template", "template"])["version"].agg(list)
    assert len(counts) == len(templates)
    assert counts.map(lambda versions: versions == list(VERSIONS)).all()


@pytest.mark.parametrize(
    "swap", ["agent->agent:western=false", "agent->description", "object->nonword"]
)
@pytest.mark.long
def test_swaps_lose_no_item_either(swap, templates, materials):
    filling = Filling("balanced", VERSIONS, swap=[swap])
    items, fewer = fill_items(templates, materials, filling)
    assert len(items) == len(templates) * len(VERSIONS)
    assert not fewer


@pytest.mark.long
def test_every_template_yields_ten_different_items_on_its_own(templates, sampled):
    assert len(sampled) == 10 * len(templates)
    assert not sampled.duplicated(["domain", "meta_template", "template", *TEXTS]).any()


@pytest.mark.long
def test_sentences_have_a_capital_and_a_full_stop_and_a_text_has_one_or_a_context_up_to_three(
    items, sampled
):
    clause = r"[A-Z][A-Za-z0-9' ,-]*[a-z0-9]"
    speech = rf'"{clause}[,?!.]"'
    sentence = rf"(?:{clause}|{speech}(?: [a-z][A-Za-z' ,-]*[a-z])?|{clause}[,:] {speech})\."
    several = rf"{sentence}( {sentence}){{0,2}}"
    for columns, form in ((["context1", "context2"], several), (["target1", "target2"], sentence)):
        texts = {text for frame in (items, sampled) for column in columns for text in frame[column]}
        assert {text for text in texts if not re.fullmatch(form, text) or "  " in text} == set()


def test_he_and_she_are_only_used_of_names_of_that_sex(templates):
    for sex, pronouns in (
        ("male", r"\b(he|him|his|himself)\b"),
        ("female", r"\b(she|her|hers|herself)\b"),
    ):
        for text in sentences(templates):
            if re.search(pronouns, text, re.IGNORECASE):
                assert any(
                    f"sex={sex}" in restrictions for _, restrictions in _AGENT.findall(text)
                ), text


def test_no_two_items_of_a_version_are_the_same(items):
    assert not items.duplicated(["version", *TEXTS]).any()
    mirrored = items.rename(
        columns={
            "context1": "context2",
            "context2": "context1",
            "target1": "target2",
            "target2": "target1",
        }
    )
    both = pd.concat([items, mirrored])
    assert not both.duplicated(["version", *TEXTS]).any(), (
        "an item repeats another with its two sides exchanged"
    )


def test_no_context_calls_for_a_target_in_one_template_and_rules_it_out_in_another(templates):
    """A swap of a symmetric relation, or the same context put on both sides, would show up here."""
    fits: dict[tuple[str, ...], str] = {}
    clashes: dict[tuple[str, ...], str] = {}
    for t in templates.itertuples():
        for book, pairs in (
            (fits, ((t.context1, t.target1), (t.context2, t.target2))),
            (clashes, ((t.context1, t.target2), (t.context2, t.target1))),
        ):
            book.update(dict.fromkeys((impersonal(*pair) for pair in pairs), t.template_id))
    assert {pair: (fits[pair], clashes[pair]) for pair in fits.keys() & clashes.keys()} == {}
    assert (templates["target1"] != templates["target2"]).all()
    assert (templates["context1"] != templates["context2"]).all()


def test_every_file_carries_our_canary():
    files = [*FOLDER.rglob("*.yml"), *FOLDER.glob("fillers/*.csv")]
    assert len(files) > 3 * len(OUR_DOMAINS)
    for file in files:
        assert file.read_text(encoding="utf-8").startswith(f"# {CANARY}: our own materials"), (
            file.name
        )


@pytest.mark.long
def test_compat_mode_makes_the_same_items_of_our_materials(build, items):
    """They lean on none of the original's quirks, so the two modes may be compared on them."""
    columns = ["item_id", *TEXTS]
    pd.testing.assert_frame_equal(
        build("--versions", "0-4", "--compat")[1][columns], items[columns]
    )


def test_only_the_readme_of_the_edition_that_builtin_means_says_so():
    """Three of them said it, and two were wrong."""
    texts = {name: (folder / "README.md").read_text() for name, folder in EDITIONS.items()}
    says_so = {name for name, text in texts.items() if re.search(r"`builtin`( now)? mean", text)}
    says_so |= {name for name, text in texts.items() if re.search(r"what `builtin` means", text)}
    assert says_so == {BUILTIN}
