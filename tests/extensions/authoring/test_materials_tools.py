"""Counting, comparing, showing, starting and reviewing materials: what each tool must notice,
on small invented materials.
"""

from __future__ import annotations

import csv
from functools import partial

import numpy as np
import pandas as pd
import pytest

from command_line import run
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.frequency import frequencies_of_wordfreq
from worldprobe.benchmarks.ewok.materials.language import Language
from worldprobe.contracts import read_provenance, read_table
from worldprobe.provenance import Provenance
from worldprobe_authoring.balance import (
    NO_LIST,
    bag_of_words,
    compare_sides,
    count_templates,
    cramers_v,
    cross_design,
    overview,
    word_cues,
)
from worldprobe_authoring.check import check_all
from worldprobe_authoring.displays import materials_sides

CONTEXT, TARGET = "contexts/context-garden-work.yml", "targets/target-garden-work.yml"
PROBE = """\
    - type: indirect
      pattern: "{pattern}"
      segments:
        - segmentA: {a}
          segmentB: {b}
          contrast: {contrast}
"""
FINE = {
    "pattern": "[agent1] puts [object1] {segment1}",
    "a": "onto the cart",
    "b": "into the pit",
    "contrast": "place",
}

MOVES = "[agent1] moves [object1] {segment1}."


def add_probe(garden, **changes):
    """The garden with one more probe, fine but for the changes."""
    probe = PROBE
    for key, text in (FINE | changes).items():
        probe = probe.replace(f"{{{key}}}", text)
    return garden.with_(CONTEXT, garden.files[CONTEXT] + probe)


def problems(garden) -> list[str]:
    materials = garden.read()
    check_all(materials, 1)
    return [str(problem) for problem in materials.problems]


@pytest.mark.parametrize(
    ("sentence", "problem"),
    [
        ("[agent1] has more thick blankets than [agent2]", None),
        ("[agent1] has more jewelry than [agent2]", None),
        ("[agent1] is more fast than [agent2]", '"more fast" has a comparative'),
        ("[agent1] stands to the left of [agent2]", None),
        ("[agent1] takes a photo of [agent2]", None),
        ("[agent1] takes the boss of [agent2]", "no English possessive"),
        ("[agent1] takes two spoons of honey", "counts spoons"),
        ("[agent1] has spoons of silver", None),
        ("[agent1] shows [agent2] an X-ray", None),
        ("[agent1] shows [agent2] a SUV", '"a" does not suit "SUV"'),
        ("[agent1] shows [agent2] a UFO", None),
    ],
)
def test_a_faulty_wording_is_warned_of_and_a_sound_one_is_not(garden, sentence, problem):
    told = [
        one
        for one in problems(add_probe(garden, pattern=f"{sentence} {{segment1}}"))
        if "makes no template" not in one
    ]
    assert len(told) == (problem is not None)
    assert all(str(problem) in one for one in told)


def many_templates(rng, n_concepts=24, **columns) -> pd.DataFrame:
    """Templates of many concept pairs whose sentences are random words; columns: functions of
    the number of the pair.
    """
    words = np.array(
        [
            "alder",
            "birch",
            "cedar",
            "elm",
            "fir",
            "hazel",
            "larch",
            "maple",
            "oak",
            "pine",
            "rowan",
            "yew",
        ]
    )

    def sentence():
        return " ".join(rng.choice(words, 4, replace=False))

    rows = []
    for i in range(n_concepts):
        row = {
            text: f"{{agent1}} {sentence()}"
            for text in ("context1", "context2", "target1", "target2")
        }
        row |= {
            "domain": "garden-work",
            "concept_a": f"a{i}",
            "concept_b": f"b{i}",
            "template_id": f"garden-work_{i + 1}_1",
        }
        row |= {"situation": f"garden-work_{i + 1}"}
        row |= {
            "context_type": "direct",
            "context_contrast": "antonym",
            "target_contrast": "concept swap",
        }
        rows.append(row | {name: make(row) for name, make in columns.items()})
    return pd.DataFrame(rows)


def lengths(words) -> dict[str, float]:
    """Every word is as frequent as any other."""
    return dict.fromkeys(words, 1000.0)


def test_a_garden_without_faults_has_no_warning(garden):
    assert problems(add_probe(garden)) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"a": "onto an cart"}, '"an" does not suit "cart"'),
        ({"contrast": "negation"}, "neither side says"),
        (
            {"a": "not into the pit", "b": "not onto the cart", "contrast": "negation"},
            "neither side says",
        ),
        ({"pattern": FINE["pattern"] + " too"}, 'both contexts say "too"'),
        ({"pattern": "After this, " + FINE["pattern"]}, 'both contexts say "After this"'),
        (
            {
                "pattern": "{segment1}",
                "a": "'[agent1] sees [agent2]'",
                "b": "'[agent2] sees [agent1]'",
            },
            "exchanges names",
        ),
        ({"b": "not onto the cart", "contrast": "antonym"}, 'labelled "antonym"'),
        ({"pattern": "[agent1] moves the [object1] {segment1}"}, "bring their own article"),
        ({"pattern": MOVES[:-1] + " now", "a": "upward", "b": "downward"}, "says nearly the same"),
        ({"pattern": "[agent1] and [agent2] rest {segment1}"}, "makes no template"),
        ({"a": "onto the lifter"}, 'has "lifts" in one target and in its context only'),
        (
            {"pattern": MOVES, "a": "downward", "b": "upward", "contrast": "antonym"},
            "rules out a target",
        ),
    ],
)
def test_each_fault_of_a_sentence_is_told(garden, changes, said):
    assert any(said in problem for problem in problems(add_probe(garden, **changes)))


def test_a_target_in_progress_after_its_context_has_said_that_it_is_over_is_told(garden):
    garden.replace(CONTEXT, "[agent1] moves", "After the drop, [agent1] moves")
    garden.replace(TARGET, "[agent1] {CONCEPT} [object1].", "[agent1] is {CONCEPT} [object1].")
    garden.replace(TARGET, "present_3sg_form", "ing_form")
    garden.replace("concepts/", "agentive: true", "agentive: true\n  ing_form: lifting")
    assert any('in progress after "After the drop"' in problem for problem in problems(garden))


def test_templates_and_different_pairs_are_counted():
    templates = many_templates(np.random.default_rng(0), n_concepts=3)
    twice = pd.concat([templates, templates.assign(context1=templates["context1"] + " now")])
    counts = count_templates(twice).set_index("domain").loc["garden-work"]
    parts = {
        "concept_pairs": 3,
        "situations": 3,
        "context_pairs": 6,
        "target_pairs": 3,
        "concepts": 6,
        "templates": 6,
    }
    assert counts.to_dict() == parts


def test_a_feature_that_follows_the_domain_has_an_association_of_one():
    templates = many_templates(np.random.default_rng(0), n_concepts=8)
    half = ["garden-work"] * 4 + ["field-work"] * 4
    kind = ["direct"] * 4 + ["indirect"] * 4
    _, strength = cross_design(templates.assign(domain=half, context_type=kind))
    assert strength["context_type"] == pytest.approx(1)
    assert strength["target_contrast"] == 0


def test_cramers_v_is_the_one_of_the_textbook():
    assert cramers_v(np.array([[10.0, 20.0], [30.0, 40.0]])) == pytest.approx(
        0.0890870806, abs=1e-9
    )


def test_a_side_that_is_always_longer_is_found_and_chance_is_not():
    longer = many_templates(
        np.random.default_rng(0), context1=lambda row: row["context1"] + " indeed"
    )
    p = compare_sides(longer, lengths).set_index(["part", "domain", "measure"])["p"]
    assert p["context", "garden-work", "words"] < 0.01
    assert p["target", "garden-work", "words"] == 1


def test_a_language_without_a_list_of_words_has_dashes_and_no_equal_frequencies():
    templates = many_templates(np.random.default_rng(0), n_concepts=8)
    tables, text = overview(templates, partial(frequencies_of_wordfreq, language="xx"), 0)
    unknown = tables["sides"].set_index("measure").loc["log_frequency", ["difference", "p"]]
    assert unknown.isna().all(axis=None)
    assert f"concepts; {NO_LIST})" in text
    assert "–" in text
    assert "nan" not in text.lower()
    provenance = Provenance(details=Language(language="xx").details())
    assert f"A dash: {NO_LIST}." in materials_sides(templates, provenance).notes


def test_many_sentences_of_one_pair_of_concepts_are_one_piece_of_evidence():
    templates = many_templates(
        np.random.default_rng(0), context1=lambda row: row["context1"] + " indeed"
    )
    sides = compare_sides(templates.assign(concept_a="lift", concept_b="lower"), lengths)
    assert (
        sides.set_index(["part", "measure", "domain"])["p"]["context", "words", "garden-work"] == 1
    )


def test_a_word_that_goes_with_one_side_is_above_what_chance_does():
    telling = many_templates(
        np.random.default_rng(0), context2=lambda row: row["context2"] + " not"
    )
    cues = word_cues(telling)
    above = cues.table[cues.table["pmi"] > cues.table["bound"]]
    assert above["word"].tolist() == ["not"]
    assert word_cues(many_templates(np.random.default_rng(0))).table.eval("pmi > bound").sum() == 0


def test_counts_of_small_materials_say_none_where_there_is_nothing(garden, capsys):
    """pandas' "Empty DataFrame" with its columns was printed."""
    garden.read()  # writes its files
    assert run(f"materials stats {garden.folder}") == 0
    assert "Empty DataFrame" not in capsys.readouterr().out


def test_models_of_bare_words_find_what_leaks_and_are_at_chance_otherwise():
    rng = np.random.default_rng
    repeated = many_templates(
        rng(1),
        target1=lambda r: r["context1"] + " again",
        target2=lambda r: r["context2"] + " again",
    )
    assert bag_of_words(repeated).set_index("domain").loc["all", "shared_words"] > 0.95
    negated = many_templates(
        rng(1), context2=lambda r: r["context2"] + " not", target2=lambda r: r["target2"] + " badly"
    )
    assert bag_of_words(negated).set_index("domain").loc["all", "side_words"] > 0.7
    fair = bag_of_words(many_templates(rng(1), n_concepts=200)).set_index("domain").loc["all"]
    assert fair.between(0.4, 0.6).all()


def fill_sheet(sheet, verdicts):
    """Write verdicts into the rows of a spreadsheet, as a reader would."""
    canary, *lines = sheet.read_text().splitlines()
    rows = list(csv.DictReader(lines))
    for row, verdict in zip(rows, verdicts, strict=False):
        row["verdict"] = verdict
    with sheet.open("w", newline="") as file:
        file.write(canary + "\n")
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return rows


def review(garden, tmp_path):
    """The folder of a garden with two templates, and its spreadsheet."""
    folder, sheet = str(add_probe(garden).write()), tmp_path / "sheet.csv"
    assert run(f"materials review {folder} --out {sheet}") == 0
    return folder, sheet


def test_verdicts_come_back_as_flags_that_items_exclude_or_reverse(garden, tmp_path):
    folder, sheet = review(garden, tmp_path)
    flags, plain, reviewed = (
        tmp_path / "flags.csv",
        tmp_path / "plain.parquet",
        tmp_path / "reviewed.parquet",
    )
    fill_sheet(sheet, ["exclude", "Reverse "])
    assert run(f"materials review {folder} --read {sheet} --out {flags}") == 0
    assert run(f"items build {folder} --versions 0-1 --out {plain}") == 0
    before = read_table(plain, Items)
    for given in (flags, sheet):
        assert run(f"items build {folder} --versions 0-1 --flags {given} --out {reviewed}") == 0
        after = read_table(reviewed, Items)
        assert after["item_id"].tolist() == [
            i for i in before["item_id"] if i.startswith("garden-work_2_")
        ]
        both = before.merge(after, on="item_id", suffixes=("", "_now"))
        assert (both["target1"] == both["target2_now"]).all()
        assert (both["target2"] == both["target1_now"]).all()
        assert (both["context1"] == both["context1_now"]).all()
        assert read_provenance(reviewed).details["flags"] == {"exclude": 1, "reverse": 1}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"verdict": "revers"}, 'did you mean "reverse"?'),
        ({"template_id": "garden-work_9_9"}, 'no template "garden-work_9_9"'),
        ({"key": "0"}, "have changed since the sheet was written"),
    ],
)
def test_a_sheet_that_does_not_fit_is_refused(garden, tmp_path, capsys, changes, said):
    folder, sheet = review(garden, tmp_path)
    first = pd.read_csv(sheet, comment="#", dtype=str).head(1)
    first.assign(**changes).to_csv(sheet, index=False)
    assert run(f"materials review {folder} --read {sheet} --out {tmp_path / 'f.csv'}") == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "f.csv").exists()


def test_a_sheet_of_ewoks_own_materials_is_not_written_in_the_open(garden, tmp_path, capsys):
    for name in list(garden.files):
        if name.endswith(".yml"):
            garden.replace(name, "GARDEN canary", "EWoK canary")
    assert run(f"materials review {garden.write()} --out {tmp_path / 's.csv'}") == 2
    assert "forbid plain-text" in capsys.readouterr().err
