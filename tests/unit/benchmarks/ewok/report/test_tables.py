"""Printed tables: the numbers of the summaries, in three forms that can be trusted."""

from __future__ import annotations

import io
import re
import shutil
import subprocess

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from worldprobe.benchmarks.ewok.contracts import Reproduction
from worldprobe.benchmarks.ewok.selection import over_versions
from worldprobe.benchmarks.ewok.tables import accuracy, materials, statistics
from worldprobe.cli import main
from worldprobe.errors import UserError
from worldprobe.models.registry import BASELINES
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Model, Roster, read_roster
from worldprobe.report.sheet import Column, Sheet, decimals, latex, read_printed, span


def summary(model: str, condition: str, mean: float, **more) -> dict:
    row = {
        "model": model,
        "eval_type": "logprobs",
        "metric": "accuracy",
        "grouping": "overall",
        "group": "all",
        "condition": condition,
    }
    row |= {
        "mean": mean,
        "low": None,
        "high": None,
        "ci_low": None,
        "ci_high": None,
        "interval_over": "",
        "status": "ok" if condition == "all" else "none",
        "n_clusters": 3,
        "n": 10,
        "n_ties": 0,
        "n_near_ties": 0,
        "n_missing": 0,
    }
    return row | more


@pytest.fixture
def two_models() -> pd.DataFrame:
    """Numbers that the eye can check."""
    rows = [
        summary("gpt2_xl", "all", 0.655, low=0.645, high=0.662, ci_low=0.64, ci_high=0.67),
        summary("gpt2_xl", "0", 0.645),
        summary("gpt2_xl", "1", 0.662),
        summary("phi_1", "all", 0.5218, low=0.5171, high=0.5304, ci_low=0.5, ci_high=0.54),
        summary("phi_1", "0", 0.5171),
        summary("phi_1", "1", 0.5304),
        summary("human", "all", 0.951, low=0.942, high=0.957, eval_type="human_likert"),
        summary("human", "0", 0.942, eval_type="human_likert"),
        summary("human", "1", 0.957, eval_type="human_likert"),
    ]
    frame = pd.DataFrame(rows)
    return frame.astype(dict.fromkeys(("low", "high", "ci_low", "ci_high"), float))


ROSTER = Roster(
    {
        "gpt2_xl": Model("gpt2_xl", "GPT-2 XL", position=0),
        "phi_1": Model("phi_1", "Phi_1 & co", position=1),
    }
)


def test_table_1_prints_mean_and_range_as_the_paper_does(two_models):
    sheet = accuracy.mean_accuracy(two_models, ROSTER)
    assert [row[:3] for row in sheet.cells()] == [
        ["Humans", "0.951", "0.942–0.957"],
        ["GPT-2 XL", "0.655", "0.645–0.662"],
        ["Phi_1 & co", "0.522", "0.517–0.530"],
    ]


@pytest.mark.parametrize("table", [accuracy.mean_accuracy, accuracy.accuracy_by_paradigm])
def test_means_of_domains_are_named_and_state_no_interval(two_models, table):
    usual, by_domains = (
        table(two_models, ROSTER, Provenance()),
        table(two_models, ROSTER, Provenance(details={"average": "domains"})),
    )
    assert not any("every domain weighs the same" in note for note in usual.notes)
    assert any("every domain weighs the same" in note for note in by_domains.notes)
    assert not any("samples of more" in note for note in by_domains.notes)


def test_latex_escapes_names_and_sets_ranges_with_an_en_dash(two_models):
    text = accuracy.mean_accuracy(two_models, ROSTER).to_latex("t")
    assert r"Phi\_1 \& co & 0.522 & 0.517--0.530 & 0.500--0.540 \\" in text
    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 1
    assert r"\addlinespace" in text  # between the humans and the models


def test_the_csv_holds_the_summaries_numbers_unrounded(paper_study):
    sheet = accuracy.mean_accuracy(paper_study.summaries, paper_study.roster)
    read = pd.read_csv(io.StringIO(sheet.to_csv())).set_index("model")
    rows = paper_study.summaries.query(
        "grouping == 'overall' and metric == 'accuracy' and condition == 'all'"
    )
    rows = rows[rows.eval_type.isin(["logprobs", "human_likert", *BASELINES])].set_index("model")
    assert set(read.index) == set(rows.index)
    for name in ("mean", "low", "high", "ci_low", "ci_high"):
        assert (read[name] - rows[name]).abs().max() < 1e-8


def test_table_2_takes_best_and_average_over_trained_models_only(small_study):
    sheet = accuracy.accuracy_by_domain(small_study.summaries, small_study.roster)
    rows = small_study.summaries.query(
        "grouping == 'domain' and metric == 'accuracy' and condition == 'all' and eval_type =="
        " 'logprobs'"
    )
    trained = rows[rows.model != "control_untrained"]
    frame = sheet.frame.set_index("domain")
    assert frame.llm_average.to_dict() == pytest.approx(
        trained.groupby("group")["mean"].mean().to_dict()
    )
    assert frame.llm_best.to_dict() == pytest.approx(
        trained.groupby("group")["mean"].max().to_dict()
    )
    assert frame.llm_average.is_monotonic_decreasing
    assert "Human" not in [column.heading for column in sheet.columns]
    assert "Untrained" in " ".join(sheet.notes)


def test_the_adversarial_table_sets_inside_beside_outside_for_models_and_baselines(paper_study):
    rows = paper_study.summaries[paper_study.summaries.grouping == "context_type"]
    parts = rows.assign(
        grouping="adversarial", group=rows.group.map({"direct": "inside", "indirect": "outside"})
    )
    frame = accuracy.adversarial_part(parts, paper_study.roster).frame.set_index("model")
    assert {"human", "word2vec"} < set(frame.index)
    whole = parts[(parts.condition == "all") & (parts.metric == "accuracy")].set_index(
        ["model", "eval_type", "group"]
    )["mean"]
    inside, outside = (whole["word2vec", "word2vec", group] for group in ("inside", "outside"))
    found = frame.loc["word2vec", ["mean_inside", "mean_outside", "difference"]].tolist()
    assert found == pytest.approx([inside, outside, inside - outside])


def test_table_2_has_the_human_column_where_there_are_ratings(paper_study):
    sheet = accuracy.accuracy_by_domain(paper_study.summaries, paper_study.roster)
    human = paper_study.summaries.query(
        "model == 'human' and grouping == 'domain' and metric == 'accuracy' and condition == 'all'"
    )
    assert sheet.frame.set_index("domain").human.to_dict() == pytest.approx(
        human.set_index("group")["mean"].to_dict()
    )


def test_the_strict_likert_table_takes_the_strict_metric(paper_study):
    sheet = accuracy.likert_strict(paper_study.summaries, paper_study.roster)
    rows = paper_study.summaries.query(
        "grouping == 'overall' and metric == 'strict' and condition == 'all' and eval_type =="
        " 'likert_constrained_two'"
    ).set_index("model")["mean"]
    models = sheet.frame[sheet.frame.kind == "model"].set_index("model")["mean"]
    assert models.to_dict() == pytest.approx(rows.to_dict())
    assert "word2vec" not in set(sheet.frame.model)  # cosines have no Likert ratings


def test_a_paradigm_that_was_not_run_for_a_model_is_a_dash(paper_study):
    summaries = paper_study.summaries
    some = summaries[(summaries.model != "gpt2_xl") | (summaries.eval_type != "choice_free_two")]
    sheet = accuracy.accuracy_by_paradigm(some, paper_study.roster)
    row = next(row for row in sheet.cells() if row[0] == "GPT2-XL")
    headings = [f"{column.over} {column.heading}" for column in sheet.columns]
    assert row[headings.index("Choice free, 2 ex.")] == "–"
    assert row.count("–") == 1


def test_a_paradigm_that_nobody_ran_is_named_with_what_there_is(small_study):
    with pytest.raises(UserError, match=r"likert_constrained_two.*They have: logprobs"):
        accuracy.likert_strict(small_study.summaries, small_study.roster)


def test_table_3_shows_stars_and_the_fits_own_words(paper_study):
    made_by = Provenance(details={"notes": ["The model is singular: the variance of Item is 0."]})
    sheet = statistics.mixed_model(paper_study.coefficients, made_by)
    assert "singular: the variance of Item is 0" in sheet.to_markdown()
    assert "singular: the variance of Item is 0" in sheet.to_latex("t")
    first = paper_study.coefficients.sort_values("position").iloc[0]
    assert sheet.cells()[0][2] == f"{first.estimate:.2f} {first.stars}".replace("-", "−")
    lines = [line for line in sheet.to_latex("t").splitlines() if "Domain &" in line]
    assert len(lines) == 1  # named once, not in every line


def test_a_fit_that_the_table_does_not_have_is_named(paper_study):
    for coefficients in (
        paper_study.coefficients[paper_study.coefficients.fit == "none"],
        paper_study.coefficients,
    ):
        with pytest.raises(UserError, match="no fit"):
            statistics.mixed_model(coefficients, Provenance(), "other")


def test_the_dataset_table_counts_designs_and_reads_no_text(tmp_path):
    design = {
        "domain": "d",
        "concept_b": None,
        "context_type": "direct",
        "target_contrast": "concept swap",
        "situation": "d_1",
    }
    templates = pd.DataFrame(
        [
            design | {"concept_a": "warm", "concept_b": "cold", "context_contrast": "antonym"},
            design
            | {
                "concept_a": "warm",
                "context_contrast": "material",
                "context_type": "indirect",
            },
            design
            | {
                "domain": "e",
                "concept_a": "warm",
                "context_contrast": None,
                "target_contrast": "variable swap",
            },
        ]
    )
    items = pd.DataFrame({"domain": ["d", "d", "e"], "version": [0, 1, 0]})
    frame = materials.dataset(templates, items).frame.set_index("domain")
    assert frame.loc["d", ["n_concept_pairs", "n_situations"]].tolist() == [2, 1]
    assert frame.loc["all", ["n_concept_pairs", "n_situations"]].tolist() == [3, 1]
    assert frame.loc[
        "d", ["n_concepts", "n_templates", "n_items", "context_antonym", "context_other"]
    ].tolist() == [
        2,
        2,
        2,
        1,
        1,
    ]
    assert frame.loc[
        "all", ["n_concepts", "n_templates", "n_items", "target_variable_swap", "type_indirect"]
    ].tolist() == [
        2,
        3,
        3,
        1,
        1,
    ]


def test_the_control_models_table_says_what_each_knows_of_what_it_had_and_had_not_read(small_study):
    accuracies, roster = small_study.control_accuracies, small_study.roster
    sheet = accuracy.control_accuracy(accuracies, roster)
    row = accuracies.query("group == 'read' and targets == 'variable swap'").iloc[0]
    line = sheet.frame.set_index(["model", "group", "dose"]).loc[(row["model"], "read", 1)]
    assert line["mean_variable_swap"] == row["mean"]
    assert sheet.frame["group"].tolist()[:3] == ["read", "new_filling", "new_concept"]
    trained = set(sheet.frame["model"]) - {"control_untrained"}
    assert len(sheet.notes) == 1 + len(trained) + 1 + 1
    below = accuracies.query("ci_high < 0.5 and model in @trained")
    assert (
        f"Below chance, with {len(below)} of {len(accuracies.query('model in @trained'))} intervals"
        in sheet.notes[-2]
    )
    assert "on variable swaps of neither situation nor concept: 0.394" in sheet.notes[-2]
    total = int(accuracies.query("targets == 'all'").groupby("model")["n_items"].sum().max()) + 975
    rest = accuracy.control_accuracy(
        accuracies, roster, Provenance(details={"n_items": total})
    ).notes[0]
    assert " 975 to " in rest, "where 975 of 7,140 items are was not said"
    assert f"of {total:,} items are in no line" in rest
    one = accuracies.query("model == 'control_gpt2_small' and targets == 'all'").set_index("group")[
        "mean"
    ]
    assert sheet.notes[1].startswith(
        f"{roster['control_gpt2_small'].name} is right about {one['read']:.2f} ("
    )
    assert f"{one['new_concept']:.2f} (" in sheet.notes[1]
    assert not any("Untrained" in note for note in [*sheet.notes, sheet.headline])
    whole = (
        accuracies.query("targets == 'all' and model in @trained")
        .sort_values("dose")
        .groupby(["group", "model"])["mean"]
    )
    known, new = whole.last()["read"], whole.last()["new_concept"]
    for means in (known, new):
        assert f" from {means.min():.3f} (" in sheet.headline
        assert f" to {means.max():.3f} (" in sheet.headline
    assert "Times" in [column.heading for column in sheet.columns]
    means = accuracy.by_dose(accuracies).set_index(["group", "dose"])
    assert {("read", 1), ("read", 16), ("new_filling", 0), ("new_filling", 16)} < set(means.index)
    assert (means["n_models"] == 2).all(), "those that read items of several doses"
    read = accuracies.query("group == 'read' and dose == 16 and targets == 'all'")["mean"]
    assert means.loc[("read", 16), "mean"] == pytest.approx(read.mean())
    same = accuracies.query("group == 'new_filling' and dose == 16 and targets == 'all'")["mean"]
    gain = read.mean() - same.mean()
    assert means.loc[("gain", 16), "mean"] == pytest.approx(gain)
    assert f"{gain:.2f} (" in sheet.notes[-1]
    assert "if read 16 times (mean and 95% interval over 2 trainings)" in sheet.notes[-1]
    without = accuracies[(accuracies["group"] != "new_concept") & (accuracies["dose"] == 1)]
    sheet = accuracy.control_accuracy(without, roster)
    assert len(sheet.notes) == 1
    assert not sheet.headline, "nothing to compare with"
    assert "Times" not in [column.heading for column in sheet.columns]


@pytest.fixture
def garden_templates() -> pd.DataFrame:
    """Two domains of two pairs of concepts, in which domain and context type go together and one
    target is longer.
    """
    rows = []
    for domain, kind in (("garden-work", "direct"), ("kitchen-work", "indirect")):
        for number, (one, other) in enumerate(
            (("warm", "cold"), ("very much wet", "dry")), start=1
        ):
            rows.append(
                {
                    "template_id": f"{domain}_{number}_1",
                    "domain": domain,
                    "meta_template": number,
                    "template": 1,
                    "concept_a": one,
                    "concept_b": other,
                    "target1": f"{{object1}} is {one}.",
                    "target2": f"{{object1}} is {other}.",
                    "target_contrast": "concept swap" if number == 1 else "variable swap",
                    "context1": f"Nobody calls {{object1}} {other}.",
                    "context2": f"Nobody calls {{object1}} {one}.",
                    "context_contrast": "antonym",
                    "context_type": kind,
                    "situation": f"{domain}_{number}",
                }
            )
    return pd.DataFrame(rows)


def test_the_tables_of_the_materials_show_what_goes_with_what_and_no_text(garden_templates):
    design = materials.materials_design(garden_templates)
    last = design.frame.set_index("domain").loc["Cramér's V"]
    assert last["context_type: direct"] == 1.0
    assert last["target_contrast: concept swap"] == 0.0
    sides = materials.materials_sides(garden_templates).frame.set_index(["part", "domain"])
    assert sides.loc[("target", "all"), ["pairs", "words_difference"]].tolist() == [4, 1.0]
    assert sides.loc[("context", "garden-work"), "words_difference"] == -1.0
    assert [domain for _, domain in sides.index[:3]] == ["garden-work", "kitchen-work", "all"]
    words = materials.materials_words(garden_templates).frame.set_index("domain")
    assert words.loc[
        "all", ["templates", "target_pairs", "context_pairs", "shared_words"]
    ].tolist() == [4, 2, 2, 0.0]
    cues = materials.materials_cues(garden_templates).frame.set_index("part")
    assert cues.loc["target", ["n_words", "n_above"]].tolist() == [0, 0]
    for build in (
        materials.materials_design,
        materials.materials_sides,
        materials.materials_words,
        materials.materials_cues,
    ):
        sheet = build(garden_templates)
        assert "Nobody" not in sheet.to_csv() + sheet.to_markdown()


def test_a_word_that_goes_with_one_side_everywhere_is_counted(garden_templates):
    wet = pd.concat(
        [
            garden_templates.iloc[[0]].assign(
                concept_a=f"wet {number}", target1=f"{{object1}} is not {number}."
            )
            for number in range(12)
        ]
    )
    cues = materials.materials_cues(wet).frame.set_index("part")
    assert cues.loc["target", "n_above"] >= 1
    assert cues.loc["target", "largest_pmi"] == 1.0


@pytest.mark.parametrize(
    "name", ["mean_accuracy", "accuracy_by_domain", "accuracy_by_paradigm", "likert_strict"]
)
def test_the_commands_write_all_three_forms_and_repeat_them_byte_for_byte(
    name, paper_study, tmp_path
):
    written = []
    for run in "ab":
        paths = [tmp_path / run / f"{name}{suffix}" for suffix in (".csv", ".tex", ".md")]
        arguments = [
            "table",
            name,
            str(paper_study.folder / "summaries.parquet"),
            "--registry",
            str(paper_study.registry_path),
        ]
        assert main([*arguments, "--out", *map(str, paths)]) == 0
        written.append([path.read_bytes() for path in paths])
    assert written[0] == written[1]


def test_a_suffix_that_no_table_has_is_refused_before_anything_is_written(
    small_study, tmp_path, capsys
):
    out = [str(tmp_path / "x.csv"), str(tmp_path / "x.docx")]
    assert (
        main(
            ["table", "mean_accuracy", str(small_study.folder / "summaries.parquet"), "--out", *out]
        )
        == 2
    )
    assert "x.docx" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_the_report_reads_is_what_was_printed(paper_study, tmp_path):
    for sheet in (
        accuracy.mean_accuracy(paper_study.summaries, paper_study.roster),
        statistics.mixed_model(paper_study.coefficients, Provenance()),
        statistics.correlations(paper_study.correlations, paper_study.roster),
    ):
        sheet.write([tmp_path / "table.json"])
        printed = read_printed(tmp_path / "table.json")
        assert printed.rows == sheet.cells()
        assert printed.title == sheet.title
        assert printed.notes == " ".join(sheet.notes)
        assert [column.heading for column in printed.columns] == [
            column.heading for column in sheet.columns
        ]
        assert printed.breaks == sheet.breaks()


def test_shared_headings_span_their_columns(paper_study, tmp_path):
    accuracy.accuracy_by_paradigm(paper_study.summaries, paper_study.roster).write(
        [tmp_path / "table.json"]
    )
    assert read_printed(tmp_path / "table.json").spans() == [
        ("", 1),
        ("", 1),
        ("Likert", 4),
        ("Choice", 4),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1]",
        "not json",
        '{"title": "t"}',
    ],
)
def test_a_file_that_is_not_a_printed_table_is_refused(text, tmp_path):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UserError, match="not a printed table"):
        read_printed(tmp_path / "x.json")


def test_a_printed_table_that_cannot_be_read_is_one_message(tmp_path):
    (tmp_path / "latin.json").write_bytes(b'{"title": "caf\xe9"}')
    for path, words in (
        (tmp_path, "cannot be read"),
        (tmp_path / "latin.json", "not UTF-8"),
        (tmp_path / "no.json", "no such"),
    ):
        with pytest.raises(UserError, match=words):
            read_printed(path)


@given(
    st.text(
        alphabet=st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs")), max_size=30
    )
)
@example("a---b''c``")
def test_no_name_can_break_latex(name):
    text = latex(name)
    bare = re.sub(r"^\{\}|(?<=[-'`])\{\}|\\(text\w+\{\}|[&%$#_{}])", "", text)
    assert not set(bare) & set("&%$#_{}\\~^")
    assert not re.search("--|''|``", text), "which LaTeX joins"


@given(st.lists(st.text(alphabet="ab|\\*_ `", max_size=8), min_size=1, max_size=4))
def test_no_name_can_break_a_markdown_table(names):
    sheet = Sheet(
        "T", pd.DataFrame({"name": names}), (Column("Name", ("name",), str, is_number=False),)
    )
    body = sheet.to_markdown().splitlines()[4:]
    assert len(body) == len(names)
    assert all(len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 2 for line in body)


@given(st.floats(-10, 10), st.integers(1, 4))
def test_decimals_round_as_python_does_and_never_print_minus_zero(value, places):
    text = decimals(places)(value).replace("−", "-")
    assert float(text) == pytest.approx(round(value, places), abs=1e-9)
    assert not re.fullmatch(r"-0\.?0*", text)


def test_a_range_of_negative_numbers_is_not_written_with_a_dash():
    assert span(-0.24, 0.29, 2) == "−0.24 to 0.29"


@pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="needs pdflatex (apt-get install texlive-latex-recommended)",
)
def test_every_latex_table_compiles_with_booktabs(paper_study, tmp_path):
    sheets = {
        "mean": accuracy.mean_accuracy(paper_study.summaries, ROSTER),
        "domain": accuracy.accuracy_by_domain(paper_study.summaries, paper_study.roster),
        "paradigm": accuracy.accuracy_by_paradigm(paper_study.summaries, paper_study.roster),
        "mixed": statistics.mixed_model(paper_study.coefficients, Provenance()),
        "correlations": statistics.correlations(paper_study.correlations, paper_study.roster),
    }
    long = pd.concat([sheets["mean"].frame] * 5, ignore_index=True)
    sheets["long"] = Sheet("A table of several pages", long, sheets["mean"].columns, ("A note.",))
    for name, sheet in sheets.items():
        sheet.write([tmp_path / f"{name}.tex"])
    inputs = "".join(f"\\input{{{name}}}\\clearpage" for name in sheets)
    (tmp_path / "paper.tex").write_text(
        f"\\documentclass{{article}}\\usepackage{{booktabs,longtable}}\\usepackage[margin=2cm]{{geometry}}\\begin{{document}}{inputs}\\end{{document}}"
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "- just\n- a list\n",
        "a: [1",
        "a: {checkpoint: x, family: f, display_name: A, colour: reddish}",
        "a: {control: [1]}",
    ],
)
def test_a_registry_that_breaks_its_schema_is_refused(text, tmp_path):
    (tmp_path / "models.yaml").write_text(text)
    with pytest.raises(UserError):
        read_roster(tmp_path / "models.yaml")


def test_people_are_named_with_the_ways_of_asking_and_with_the_domains_only_where_they_are_known(
    small_study, paper_study
):
    people = over_versions(
        paper_study.summaries.query(
            "model == 'human' and grouping == 'overall' and metric == 'accuracy'"
        )
    )
    text = accuracy.accuracy_by_paradigm(paper_study.summaries, paper_study.roster).to_markdown()
    assert f"Humans, by their mean ratings: {people['mean'].iloc[0]:.3f}." in text
    assert (
        "Humans"
        not in accuracy.accuracy_by_paradigm(
            small_study.summaries, small_study.roster
        ).to_markdown()
    )
    assert (
        "models and humans by domain"
        in accuracy.accuracy_by_domain(paper_study.summaries, paper_study.roster).title
    )
    assert (
        "models by domain"
        in accuracy.accuracy_by_domain(small_study.summaries, small_study.roster).title
    )


def test_intervals_of_correlations_are_in_one_style_and_explained(small_study):
    """0.21–0.62 beside −0.47 to 0.51, both of 39 points, without a word on why they differ in
    width.
    """
    sheet = statistics.correlations(small_study.correlations, small_study.roster)
    intervals = [column for column in sheet.columns if column.heading == "95% interval"]
    shown = [
        column.show(*row)
        for column in intervals
        for row in sheet.frame[list(column.cells)].to_numpy()
    ]
    assert any(" to " in text for text in shown)
    assert not any("–" in text.strip("–") for text in shown)
    assert "jackknife" in " ".join(sheet.notes)


def test_published_numbers_of_models_that_were_not_run_are_no_comparison(small_study):
    """A title of every number that the paper prints stood above a table without rows."""
    row = {
        "block": "table1",
        "model": "phi_1",
        "grouping": "overall",
        "group": "all",
        "quantity": "mean",
        "printed": "0.522",
    }
    table = pd.DataFrame(
        [dict.fromkeys(Reproduction.columns) | row | {"status": "not_run", "compared_with": "ours"}]
    )
    sheet = statistics.reproduction(table.assign(position=1), Provenance(), small_study.roster)
    assert not len(sheet.printed)
    assert sheet.title == "No published number can be compared."
    assert any("ran none of the paper's models" in note for note in sheet.notes)
