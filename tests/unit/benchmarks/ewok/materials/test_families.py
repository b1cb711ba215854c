"""Families of our second edition: levels of a base differ in one thing, words are matched, and no
rule of the surface works.
"""

from __future__ import annotations

import re

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.contracts import Items, Templates
from worldprobe.benchmarks.ewok.materials.compile import compile_families, compile_templates
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.cli import main
from worldprobe.contracts import read_table
from worldprobe.paths import EDITIONS
from worldprobe_authoring.balance import bag_of_words
from worldprobe_authoring.check import check_all

FOLDER = EDITIONS["builtin@2"]
LEVELS = {
    "belief": [0, 1, 2],
    "depth": [1, 2, 3],
    "distraction": [0, 1, 2],
    "entities": [2, 3, 4],
    "negation": [0, 1, 2],
    "ratio": [1, 3, 5, 7, 8],
}


@pytest.fixture(scope="module")
def templates() -> pd.DataFrame:
    return compile_families(read_materials(FOLDER, RIGHT))


def build(out, *options: str) -> pd.DataFrame:
    assert main(["items", "build", "builtin@2", *options, "--out", str(out / "items.parquet")]) == 0
    return read_table(out / "items.parquet", Items)


def test_every_family_has_twenty_bases_with_all_its_levels_and_one_pair_of_targets_each(templates):
    assert sorted(templates["family"].unique()) == sorted(LEVELS)
    for family, rows in templates.groupby("family"):
        assert rows["base"].nunique() >= 20
        assert set(rows.groupby("base")["level"].agg(tuple)) == {tuple(LEVELS[family])}
        assert (rows.groupby("base")[["target1", "target2", "domain"]].nunique() == 1).all(
            axis=None
        )


def test_families_cross_the_domains_and_share_no_template_and_no_context_with_them(templates):
    domains = templates.groupby("family")["domain"].nunique()
    assert domains.min() >= 10
    others = compile_templates(read_materials(FOLDER, RIGHT))
    assert not set(templates["template_id"]) & set(others["template_id"])
    theirs, own = ({*frame["context1"], *frame["context2"]} for frame in (others, templates))
    assert not own & theirs


def words(text: str) -> list[str]:
    return re.findall(r"[\w']+", re.sub(r"\{[^}]*\}", "X", text).lower())


def test_levels_have_as_many_words_but_for_the_level_that_has_no_distracting_sentence(templates):
    counted = templates.assign(
        n=[len(words(a)) + len(words(b)) for a, b in templates[["context1", "context2"]].to_numpy()]
    )
    counted = counted[(counted["family"] != "distraction") | (counted["level"] > 0)]
    n_of_base = counted.groupby(["family", "base"])["n"].agg(["min", "max"])
    assert (n_of_base["max"] - n_of_base["min"]).max() <= 4, "two words in each context"
    means = counted.groupby(["family", "level"])["n"].mean().groupby("family").agg(["min", "max"])
    assert (means["max"] - means["min"]).max() < 0.3


def test_both_contexts_of_a_pair_have_the_same_words_except_where_one_word_is_the_contrast(
    templates,
):
    rows = templates[templates["family"] != "distraction"]
    assert all(sorted(words(r.context1)) == sorted(words(r.context2)) for r in rows.itertuples())
    assert set(templates[templates["family"] == "distraction"]["context_contrast"]) == {"antonym"}


def test_neither_shared_words_nor_the_order_or_number_of_mentions_tells_which_context_fits_at_any_level(
    templates,
):
    for _, rows in templates.groupby(["family", "level"]):
        assert bag_of_words(rows).set_index("domain").loc["all", "shared_words"] == pytest.approx(
            0.5, abs=0.06
        )
    for (family, level), rows in templates[
        templates["family"].isin(["belief", "depth", "entities", "negation"])
    ].groupby(["family", "level"]):
        ahead = [is_ahead(r.context1, r.target1, r.target2) for r in rows.itertuples()]
        assert sum(ahead) / len(ahead) == pytest.approx(0.5, abs=0.04), (family, level)
    for level, rows in templates[templates["family"] == "depth"].groupby("level"):
        oftener = [how_much_oftener(r.context1, r.target1, r.target2) for r in rows.itertuples()]
        assert sum(n > 0 for n in oftener) == sum(n < 0 for n in oftener), ("depth", level)


def is_ahead(context: str, target1: str, target2: str) -> bool:
    """Whether the context first names what the first target names where the two targets begin to
    differ.
    """
    mine, other, named = first_difference(context, target1, target2)
    return named.index(mine) < named.index(other)


def how_much_oftener(context: str, target1: str, target2: str) -> int:
    """How much oftener the context names what the first target names where the two targets begin to
    differ.
    """
    mine, other, named = first_difference(context, target1, target2)
    return named.count(mine) - named.count(other)


def first_difference(context: str, target1: str, target2: str) -> tuple[str, str, list[str]]:
    """The first word in which the targets differ, of each, and the words of the context."""
    words_of_context, *both = [
        re.findall(r"\{\w+|\w+", text) for text in (context, target1, target2)
    ]
    mine, other = next((a, b) for a, b in zip(*both, strict=False) if a != b)
    return mine, other, words_of_context


def test_sentences_are_well_formed_and_levels_of_a_base_have_the_same_fillers(tmp_path):
    items = build(tmp_path, "--families", "--versions", "0-2")
    assert (
        items.groupby(["family", "base", "level"])["version"]
        .agg(list)
        .map(lambda v: v == [0, 1, 2])
        .all()
    )
    sentence = r"[A-Z][A-Za-z0-9' ,-]*[a-z0-9]\."
    for column in TEXTS:
        form = rf"{sentence}( {sentence}){{0,2}}" if column.startswith("context") else sentence
        assert [
            text for text in items[column] if not re.fullmatch(form, text) or "  " in text
        ] == []
    assert (items.groupby(["family", "base", "version"])["target1"].nunique() == 1).all()
    assert items["duplicate_of"].isna().all()


def test_items_of_domains_have_no_family_and_need_no_value_for_it(tmp_path):
    items = build(
        tmp_path, "--versions", "0", "--templates-out", str(tmp_path / "templates.parquet")
    )
    assert items[["family", "base", "level"]].isna().all(axis=None)
    assert (
        read_table(tmp_path / "templates.parquet", Templates)[["family", "base", "level"]]
        .isna()
        .all(axis=None)
    )


def test_materials_without_families_are_one_error(tmp_path, capsys):
    assert (
        main(["items", "build", "builtin@1", "--families", "--out", str(tmp_path / "i.parquet")])
        == 2
    )
    assert "these materials have no families" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "other", "problem"),
    [
        (
            "domain: social-relations",
            "domain: social-relation",
            'there is no domain "social-relation"',
        ),
        ("base: descent", "base: rank", 'the base "rank" is there already'),
        ("- level: 3", "- level: 2", "two of its levels are the same"),
        (
            "[agent1] outranks [agent2]",
            "[agent2] outranks [agent1]",
            "the two sentences are the same",
        ),
        ("[agent3]", "[agnt3]", "there is no fillers/filler-agnt.csv"),
        ("concepts:", "concept:", "unknown key"),
    ],
)
def test_a_mistake_in_a_family_is_named_with_its_line(own_materials, text, other, problem):
    file = own_materials / "families/family-depth.yml"
    written = file.read_text()
    assert text in written
    file.write_text(written.replace(text, other, 1))
    checked = read_materials(own_materials, RIGHT)
    check_all(checked, 5)
    assert [
        str(p)
        for p in checked.problems
        if problem in str(p) and "families/family-depth.yml, line" in str(p)
    ]


@pytest.fixture
def own_materials(tmp_path):
    import shutil

    return shutil.copytree(FOLDER, tmp_path / "own")
