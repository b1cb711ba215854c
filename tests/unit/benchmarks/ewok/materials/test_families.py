"""Families of our own materials: levels of a base differ in one thing, words are matched, and
no rule of the surface works.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.compile import compile_families, compile_templates
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.benchmarks.ewok.vocabulary import TEXTS
from worldprobe.cli import main
from worldprobe.contracts import read_table
from worldprobe.paths import BUILTIN, EDITIONS
from worldprobe_authoring.balance import bag_of_words
from worldprobe_authoring.check import check_all

FOLDER = EDITIONS[BUILTIN]
LEVELS = {
    "belief": [0, 1, 2, 3],
    "depth": [1, 2, 3],
    "distraction": [0, 1, 2],
    "entities": [2, 3, 4],
    "negation": [0, 1, 2],
    "ratio": [1, 2, 3, 4],
}


@pytest.fixture(scope="module")
def templates() -> pd.DataFrame:
    return compile_families(read_materials(FOLDER, RIGHT))


def build(out, *options: str) -> pd.DataFrame:
    assert main(["items", "build", BUILTIN, *options, "--out", str(out / "items.parquet")]) == 0
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


@pytest.mark.parametrize("family", LEVELS)
def test_neither_shared_words_nor_the_order_of_mentions_tells_which_context_fits(templates, family):
    for level, rows in templates[templates["family"] == family].groupby("level"):
        if (family, level) != ("distraction", 2):
            shared = bag_of_words(rows).set_index("domain").loc["all", "shared_words"]
            assert shared == pytest.approx(0.5, abs=0.06)
        mentions = [first_difference(r.context1, r.target1, r.target2) for r in rows.itertuples()]
        if family in ("belief", "depth", "entities", "negation"):
            ahead = [named.index(mine) < named.index(other) for mine, other, named in mentions]
            assert sum(ahead) / len(ahead) == pytest.approx(0.5, abs=0.04), level


def of(templates, family, level=None):
    """The contexts that fit the first targets of a family, with these."""
    rows = templates[templates["family"] == family]
    return rows if level is None else rows[rows["level"] == level]


def test_counting_who_is_above_how_many_tells_nothing_at_any_depth(templates):
    """Both names are once in the place of the greater and once in that of the lesser."""
    for row in of(templates, "depth").itertuples():
        wordings, places = {}, Counter()
        comparisons = re.split(r"\. |, and ", row.context1.lower())
        for comparison in comparisons:
            names = re.findall(r"\{(agent\d)", comparison)
            wording = re.sub(r"\{agent\d\}", "", comparison)
            wordings.setdefault(wording, len(wordings))
            for place, name in enumerate(names):
                places[name, (place + wordings[wording]) % 2] += 1
        assert len(comparisons) == 5
        assert len(wordings) == 2
        asked = set(re.findall(r"\{(agent\d)", row.target1))
        assert [places[name, place] for name in asked for place in (0, 1)] == [1, 1, 1, 1]


def test_each_not_and_the_state_decide(templates):
    """Who reads over any one "not", or does not read which state it is, is wrong or guesses."""
    form = re.compile(r"just one is (now|not) (.+), and it is (clearly|not) \{(agent\d)\}")
    rows = of(templates, "negation")
    flipped = []
    for row in rows.itertuples():
        adverb, state, verdict, name = form.search(row.context1).groups()
        asked = (state == row.concept_a) == (adverb == "now")
        right = re.search(r"\{(agent\d)", row.target1)[1]
        assert [adverb, verdict].count("not") == row.level
        assert ((name == right) == (verdict == "clearly")) == asked
        flipped.append((name == right) == (verdict == "clearly"))
    by_level = pd.Series(flipped).groupby(rows["level"].to_numpy()).mean()
    assert by_level.between(0.45, 0.55).all(), by_level


def test_half_of_the_neighbours_are_compared_in_the_wording_of_the_target(templates):
    """A rule of copying, or of turning round, is at chance where the comparison is stated."""
    rows = of(templates, "depth", 1)
    copied = [
        row.target1.removesuffix(".").lower() in row.context1.lower() for row in rows.itertuples()
    ]
    assert sum(copied) == len(copied) / 2


NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def test_the_larger_number_of_one_ratio_is_the_smaller_of_the_next_and_distance_is_apart(templates):
    rows = of(templates, "ratio")
    both = []
    for row in rows.itertuples():
        words = [re.findall(r"\w+", text) for text in (row.context1, row.context2)]
        exchanged = {a for a, b in zip(*words, strict=True) if a != b}
        both.append(sorted(NUMBERS.index(word) + 1 for word in exchanged))
    small, large = pd.DataFrame(both, rows.index, dtype=int).to_numpy().T
    assert (large * rows["level"] == small * (rows["level"] + 1)).all()
    assert set(large - small) == {1, 2}
    assert (pd.Series(large - small).groupby(rows["base"].to_numpy()).nunique() == 1).all()


def test_as_many_people_have_one_of_the_things_as_the_level_says(templates):
    for _, rows in of(templates, "entities").groupby("base"):
        plain = {re.sub(r"\{agent\d\}|[Nn]obody", "_", text) for text in rows["context1"]}
        assert len(plain) == 1
        people = [len(set(re.findall(r"agent\d", text))) for text in rows["context1"]]
        assert people == rows["level"].tolist()


def test_a_distractor_pulls_to_the_target_that_its_context_rules_out(templates):
    shared = [
        bag_of_words(of(templates, "distraction", level))
        .set_index("domain")
        .at["all", "shared_words"]
        for level in (0, 1, 2)
    ]
    assert shared[:2] == pytest.approx([0.5, 0.5], abs=0.06)
    assert shared[2] < 0.1


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


@pytest.mark.parametrize(
    ("text", "other", "problem"),
    [
        ("base: descent", "base: rank", 'the base "rank" is there already'),
        ("- level: 3", "- level: 2", "two of its levels are the same"),
        (
            "[agent1] outranks [agent2]",
            "[agent2] outranks [agent1]",
            "the two sentences are the same",
        ),
    ],
)
def test_a_mistake_in_a_family_is_named_with_its_line(tmp_path, text, other, problem):
    own = shutil.copytree(FOLDER, tmp_path / "own")
    file = own / "families/family-depth.yml"
    file.write_text(file.read_text().replace(text, other, 1))
    checked = read_materials(own, RIGHT)
    check_all(checked, 5)
    assert [
        str(p)
        for p in checked.problems
        if problem in str(p) and "families/family-depth.yml, line" in str(p)
    ]
