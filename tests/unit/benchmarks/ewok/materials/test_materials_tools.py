"""Counting, comparing, showing, starting and reviewing materials: what each tool must notice, on
small invented materials.
"""

from __future__ import annotations

import csv
import re

import numpy as np
import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table
from worldprobe_authoring.balance import (
    bag_of_words,
    compare_sides,
    count_templates,
    cramers_v,
    cross_design,
    word_cues,
)
from worldprobe_authoring.check import check_all

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


def many_templates(rng, n_concepts=24, **columns) -> pd.DataFrame:
    """Templates of many concept pairs whose sentences are random words; columns: functions of the
    number of the pair.
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
        ({"a": "onto a old cart"}, '"a" does not suit "old"'),
        ({"contrast": "negation"}, "no side negates the other"),
        ({"b": "not onto the cart", "contrast": "antonym"}, 'labelled "antonym"'),
        ({"pattern": "[agent1] moves the [object1] {segment1}"}, "bring their own article"),
        (
            {"pattern": "[agent1] moves [object1] the {segment1}", "a": "upward", "b": "downward"},
            "says nearly the same as line",
        ),
        (
            {"pattern": "[agent1] moves [object1] {segment1} now", "a": "upward", "b": "downward"},
            "says nearly the same",
        ),
        ({"a": "towards the cart"}, '"towards" is British'),
        ({"a": "onto the cart of [agent1]"}, '"the cart of NAME" is no English possessive'),
        ({"a": "onto a heap of [object1]"}, "{object1} brings its own article"),
        ({"a": "onto two spoons of salt"}, '"spoons of" counts spoons'),
        ({"a": "onto a more shaky cart"}, '"more shaky" has a comparative in -er'),
    ],
)
def test_each_fault_of_a_sentence_is_told_with_its_line(garden, changes, said):
    found = problems(add_probe(garden, **changes))
    assert len(found) == 1
    assert said in found[0]
    assert "context-garden-work.yml, line " in found[0]


@pytest.mark.parametrize(
    "kept",
    ["ahead of [agent1]", "onto the hat of [agent1]'s son", "with more energy", "more slowly"],
)
def test_what_only_resembles_a_fault_is_left_alone(garden, kept):
    assert problems(add_probe(garden, a=kept)) == []


def test_a_british_filler_is_told_with_its_file(garden):
    (found,) = problems(garden.replace("filler-object.csv", "the pot0,", "the washing powder,"))
    assert "filler-object.csv" in found
    assert '"washing powder" is British' in found


def test_a_target_with_a_word_of_its_own_context_only_is_told(garden):
    (found,) = problems(add_probe(garden, a="onto the lifter"))
    assert "templates (garden-work_2_1)" in found
    assert 'has "lifts" in one target and in its context only' in found


def test_a_word_that_both_contexts_have_gives_nothing_away(garden):
    assert problems(add_probe(garden, a="onto the lifter", b="off the lifter")) == []


def test_domains_that_differ_only_in_capitals_are_refused(garden, capsys):
    for name in list(garden.files):
        if "garden-work" in name:
            garden.with_(
                name.replace("garden-work", "Garden-Work"),
                garden.files[name].replace("garden-work:", "Garden-Work:"),
            )
    folder = str(garden.write())
    assert main(["materials", "check", folder]) == 2
    assert (
        f"{CONTEXT}\n  problem: differs from contexts/context-Garden-Work.yml only in capitals"
        in capsys.readouterr().out
    )
    assert main(["materials", "new-domain", folder, "GARDEN-work"]) == 2
    assert "differs from concept-GARDEN-work.yml only in capitals" in capsys.readouterr().err


def test_a_control_character_never_reaches_the_terminal(garden, capsys):
    assert main(["materials", "preview", str(garden.write()), "\x1b[31m"]) == 2
    assert 'no concept "\\x1b[31m" in these' in capsys.readouterr().err
    assert (
        main(
            [
                "materials",
                "check",
                str(garden.replace(CONTEXT, "contrast: antonym", 'type: "\\e[31m"').write()),
            ]
        )
        == 2
    )
    assert r"type: '\x1b[31m' should be 'direct' or 'indirect'" in capsys.readouterr().out


def test_sides_that_are_exchanged_are_told(garden):
    """The same context calls for one target in one entry and for the other in the next."""
    found = problems(add_probe(garden, pattern=MOVES, a="downward", b="upward", contrast="antonym"))
    assert any(
        "rules out a target after a context that calls for it" in problem for problem in found
    )


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


def test_stats_are_printed_and_written(garden, tmp_path, capsys):
    assert main(["materials", "stats", str(garden.write()), "--out", str(tmp_path / "stats")]) == 0
    assert "Cramer's V" in capsys.readouterr().out
    tables = ["associations", "bag_of_words", "counts", "design", "sides", "words"]
    assert sorted(p.stem for p in (tmp_path / "stats").glob("*.csv")) == tables


def test_a_concept_is_shown_filled_and_an_unknown_one_told(garden, capsys):
    folder = str(garden.write())
    assert main(["materials", "preview", folder, "lift"]) == 0
    shown = capsys.readouterr().out
    assert "garden-work_1_1  lift / lower  (direct context, antonym; concept swap)" in shown
    assert "{" not in shown
    assert main(["materials", "preview", folder, "lfit"]) == 2
    assert 'did you mean "lift"?' in capsys.readouterr().err


@pytest.mark.parametrize("has_others", [False, True])
def test_a_new_domain_compiles_as_it_is_and_is_never_written_over(
    garden, tmp_path, capsys, has_others
):
    folder = garden.write() if has_others else tmp_path / "empty"
    assert main(["materials", "new-domain", str(folder), "kitchen-work"]) == 0
    assert main(["materials", "check", str(folder)]) == 0
    assert f"{3 if has_others else 2} templates, no errors, 0 warnings" in capsys.readouterr().out
    first = (folder / "contexts" / "context-kitchen-work.yml").read_text()
    assert first.startswith("# GARDEN canary 0000\n") == has_others
    assert main(["materials", "new-domain", str(folder), "kitchen-work"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["materials", "new-domain", str(folder), "kitchen"]) == 2


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
    assert main(["materials", "review", folder, "--out", str(sheet)]) == 0
    return folder, sheet


def test_verdicts_come_back_as_flags_that_items_exclude_or_reverse(garden, tmp_path):
    folder, sheet = review(garden, tmp_path)
    flags, plain, reviewed = (
        tmp_path / "flags.csv",
        tmp_path / "plain.parquet",
        tmp_path / "reviewed.parquet",
    )
    fill_sheet(sheet, ["exclude", "Reverse "])
    assert main(["materials", "review", folder, "--read", str(sheet), "--out", str(flags)]) == 0
    assert main(["items", "build", folder, "--versions", "0-1", "--out", str(plain)]) == 0
    before = read_table(plain, Items)
    for given in (flags, sheet):
        assert (
            main(
                [
                    "items",
                    "build",
                    folder,
                    "--versions",
                    "0-1",
                    "--flags",
                    str(given),
                    "--out",
                    str(reviewed),
                ]
            )
            == 0
        )
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
    ("change", "said"),
    [
        (lambda rows: rows[0].update(verdict="revers"), 'did you mean "reverse"?'),
        (
            lambda rows: rows[0].update(template_id="garden-work_9_9"),
            'no template "garden-work_9_9"',
        ),
        (lambda rows: rows[0].update(key="0"), "have changed since the sheet was written"),
        (lambda rows: rows[1].update(rows[0]), "as is line"),
        (lambda rows: [row.pop("verdict") for row in rows], 'no column "verdict"'),
    ],
)
def test_a_sheet_that_does_not_fit_is_refused_with_its_line(garden, tmp_path, capsys, change, said):
    folder, sheet = review(garden, tmp_path)
    rows = fill_sheet(sheet, [])
    change(rows)
    pd.DataFrame(rows).to_csv(sheet, index=False)
    assert (
        main(
            ["materials", "review", folder, "--read", str(sheet), "--out", str(tmp_path / "f.csv")]
        )
        == 2
    )
    assert said in capsys.readouterr().err
    assert not (tmp_path / "f.csv").exists()


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            lambda rows: [[*rows[0], "verdict"], *([*row, "exclude"] for row in rows[1:])],
            'the column "verdict" twice',
        ),
        (lambda rows: [rows[0], rows[1][:3], *rows[2:]], "line 2: has 3 cells, the header 14"),
        (
            lambda rows: [rows[0], [*rows[1], "and more"], *rows[2:]],
            "line 2: has 15 cells, the header 14",
        ),
    ],
)
def test_cells_that_went_astray_are_never_taken_for_a_verdict_to_keep(
    garden, tmp_path, capsys, edit, said
):
    folder, sheet = review(garden, tmp_path)
    _, *lines = sheet.read_text().splitlines()
    with sheet.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(edit(list(csv.reader(lines))))
    assert (
        main(
            ["materials", "review", folder, "--read", str(sheet), "--out", str(tmp_path / "f.csv")]
        )
        == 2
    )
    assert said in capsys.readouterr().err.replace("\n  problem", "")
    assert not (tmp_path / "f.csv").exists()


def test_empty_rows_below_the_last_one_mean_nothing(garden, tmp_path):
    folder, sheet = review(garden, tmp_path)
    fill_sheet(sheet, ["exclude", ""])
    assert (
        main(
            ["materials", "review", folder, "--read", str(sheet), "--out", str(tmp_path / "f.csv")]
        )
        == 0
    )
    sheet.write_text(sheet.read_text() + "," * 13 + "\n", encoding="utf-8")
    assert (
        main(
            ["materials", "review", folder, "--read", str(sheet), "--out", str(tmp_path / "g.csv")]
        )
        == 0
    )
    assert (tmp_path / "f.csv").read_bytes() == (tmp_path / "g.csv").read_bytes()


def test_a_sheet_whose_canary_a_spreadsheet_has_quoted_is_read(garden, tmp_path):
    folder, sheet = review(garden, tmp_path)
    canary, *lines = sheet.read_text().splitlines()
    assert canary.startswith("#")
    sheet.write_text(
        "\n".join([f'"{canary}, a comma"' + "," * 13, *lines]) + "\n", encoding="utf-8"
    )
    assert (
        main(
            ["materials", "review", folder, "--read", str(sheet), "--out", str(tmp_path / "f.csv")]
        )
        == 0
    )


def test_a_sheet_of_ewoks_own_materials_is_not_written_in_the_open(garden, tmp_path, capsys):
    for name in list(garden.files):
        if name.endswith(".yml"):
            garden.replace(name, "GARDEN canary", "EWoK canary")
    assert main(["materials", "review", str(garden.write()), "--out", str(tmp_path / "s.csv")]) == 2
    assert "forbid plain-text" in capsys.readouterr().err


@pytest.mark.parametrize(
    "is_without_contexts", [False, True], ids=["no target fits its contexts", "without contexts"]
)
def test_a_concept_that_makes_no_template_is_told(
    garden, tmp_path, capsys, caplog, is_without_contexts
):
    """A concept whose contexts have a variable that no target has made nothing, and `check` said "0
    warnings".
    """
    garden.replace(
        "concept-garden",
        "opposite_concepts: [lift]\n  agentive: true\n",
        "opposite_concepts: [lift]\n  agentive: true\n" + MORE,
    )
    if not is_without_contexts:
        garden.files["contexts/context-garden-work.yml"] += MORE_CONTEXTS
    folder = str(garden.write())
    assert main(["materials", "check", folder]) == 0
    printed = capsys.readouterr().out
    file = "concept-garden-work.yml" if is_without_contexts else "context-garden-work.yml"
    assert re.search(rf"warning: .*{file}.*\n.*makes no template", printed)
    assert (
        main(
            ["items", "build", folder, "--versions", "0", "--out", str(tmp_path / "items.parquet")]
        )
        == 0
    )
    assert "make no template, the first at" in caplog.text
    assert file in caplog.text


MORE = """\
- concept: sow
  domain: garden
  concept_type: action
  opposite_concepts: [mow]
  agentive: true
- concept: mow
  domain: garden
  concept_type: action
  opposite_concepts: [sow]
  agentive: true
"""
MORE_CONTEXTS = """\
- conceptA: sow
  conceptB: mow
  probes:
    - type: direct
      pattern: "[agent1] shows [agent2] and [agent3] how to {segment1}."
      segments:
        - segmentA: begin
          segmentB: end
          contrast: antonym
"""


@pytest.mark.parametrize(("mode", "is_told"), [("fixed", True), ("balanced", False)])
def test_a_seed_that_does_nothing_is_told(garden, tmp_path, caplog, mode, is_told):
    """`--mode fixed --seed 3` and `--seed 4` gave identical items without a word."""
    folder = str(garden.write())
    how = [
        "--mode",
        mode,
        "--seed",
        "3",
        "--versions",
        "0",
        "--out",
        str(tmp_path / "items.parquet"),
    ]
    assert main(["items", "build", folder, *how]) == 0
    assert ("--seed 3 does nothing" in caplog.text) == is_told
