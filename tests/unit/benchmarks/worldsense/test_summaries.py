"""What is averaged beyond the paper's accuracy, on generated trials and answers of known
behaviour.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import run
from generated_trials import make_trials, other_answers
from worldprobe.analysis.reproduction import summary_line
from worldprobe.benchmark import find_displays
from worldprobe.benchmarks.worldsense import selection, tables
from worldprobe.benchmarks.worldsense.analysis.answers import AnswerSeries
from worldprobe.benchmarks.worldsense.analysis.questions import (
    ABSENT,
    INVALID,
    Questions,
    add_properties,
    from_frame,
)
from worldprobe.benchmarks.worldsense.analysis.reproduction import (
    RELEASED,
    check_reproduction,
    published_name,
    read_published,
    released_sets,
)
from worldprobe.benchmarks.worldsense.analysis.summarize import compare_on_tuples, tuple_means
from worldprobe.benchmarks.worldsense.benchmark import BENCHMARK
from worldprobe.benchmarks.worldsense.contracts import Comparisons, Reproduction, Summaries
from worldprobe.benchmarks.worldsense.tables import comparisons
from worldprobe.contracts import validate, write_table
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster, ShownModel
from worldprobe.report.page import draw_figure, print_table
from worldprobe_lab import trial_displays


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    return make_trials("test", per_cell=2, skins=("tall/short", "trips", "obj_LeftRight"))


@pytest.fixture(scope="module")
def questions(trials: pd.DataFrame) -> Questions:
    return add_properties(from_frame(trials, "test"), trials)


def answer(
    questions: Questions, model: str, share: float, prompting: str = "basic", seed: int = 0
) -> AnswerSeries:
    """Right answers in a share of the trials, otherwise another valid one; some are invalid."""
    rng = np.random.default_rng(seed)
    gold = questions.gold["corrected"]
    other = other_answers(gold)
    answers = np.where(rng.random(len(gold)) < share, gold, other).astype(np.int8)
    answers[rng.random(len(gold)) < 0.01] = INVALID
    return AnswerSeries(prompting, model, answers[None, :], {})


@pytest.fixture(scope="module")
def series(questions: Questions) -> list[AnswerSeries]:
    return [
        *[answer(questions, "GPT4", 0.9, name) for name in ("basic", "cot")],
        answer(questions, "middling", 0.7, seed=1),
        answer(questions, "poor", 0.5, seed=2),
    ]


@pytest.fixture(scope="module")
def summaries(questions: Questions, series: list[AnswerSeries]) -> pd.DataFrame:
    tables = [tuple_means(name, questions, series) for name in ("test", "ood-size")]
    table = pd.concat(tables, ignore_index=True).sort_values(
        list(Summaries.Config.key), ignore_index=True
    )
    return table[list(Summaries.columns)]


def mean_of(
    summaries: pd.DataFrame,
    model: str,
    metric: str,
    grouping: str = "overall",
    group: str = "all",
    **also: str,
) -> float:
    wanted = {
        "condition": "test",
        "eval_type": "basic",
        "grouping": "overall",
        "group": "all",
    } | also
    rows = summaries[(summaries["model"] == model) & (summaries["metric"] == metric)]
    for column, value in wanted.items():
        rows = rows[rows[column] == value]
    return float(rows["mean"].iloc[0])


@pytest.mark.long
def test_the_summaries_fit_their_contract_and_order_the_models(summaries: pd.DataFrame) -> None:
    validate(summaries, Summaries)
    means = [mean_of(summaries, model, "accuracy") for model in ("GPT4", "middling", "poor")]
    assert means == sorted(means, reverse=True)
    assert mean_of(summaries, "poor", "strict") < mean_of(summaries, "GPT4", "strict")
    assert 0 < mean_of(summaries, "GPT4", "invalid") < 0.03


def test_the_solvers_gold_answers_of_our_own_trials_are_the_released_ones(
    summaries: pd.DataFrame,
) -> None:
    wide = summaries.pivot_table(
        index=["model", "grouping", "group"], columns="metric", values="mean"
    )
    wide = wide[wide["accuracy"].notna()]
    assert (wide["accuracy"] == wide["accuracy_corrected"]).all()


def test_intervals_are_over_skins_and_say_where_there_are_none(
    summaries: pd.DataFrame, questions: Questions
) -> None:
    rows = summaries[~summaries["metric"].isin(["agreement", "consistency", "explained"])]
    drawn = rows[rows["status"] == "ok"]
    assert (
        (drawn["ci_low"] <= drawn["mean"] + 1e-12) & (drawn["mean"] <= drawn["ci_high"] + 1e-12)
    ).all()
    alike = rows["status"] == "no_spread"
    width = rows["ci_high"] - rows["ci_low"]
    assert (width[alike & ~rows["metric"].str.startswith("bias")] > 0.1).all()
    assert rows.loc[~alike & (rows["status"] != "ok"), ["ci_low", "ci_high"]].isna().all(axis=None)
    assert set(rows.loc[rows["grouping"].isin(["skin", "domain"]), "status"]) == {
        "one_cluster"
    }  # one skin of each domain
    assert set(rows.loc[rows["grouping"] == "overall", "n_clusters"]) == {
        questions.tuples["skin"].nunique()
    }


def test_depth_and_worlds_are_those_of_the_trials(
    trials: pd.DataFrame, questions: Questions
) -> None:
    by_tuple = trials.groupby("tuple_id", sort=False)
    assert questions.tuples["depth"].tolist() == by_tuple["depth"].min().tolist()
    assert questions.tuples["worlds"].tolist() == by_tuple["n_worlds"].max().tolist()
    without = add_properties(questions, trials.drop(columns=["depth", "n_worlds"])).tuples
    assert without["depth"].tolist() == questions.tuples["depth"].tolist()
    assert without["worlds"].tolist() == questions.tuples["worlds"].tolist()
    places = questions.tuples[questions.tuples["places"].notna()]
    assert not places["problem"].astype(str).str.startswith("Compl").any()
    assert (places["query"] == "bin").all()


def test_models_are_compared_on_the_tuples_that_both_answered(
    questions: Questions, series: list[AnswerSeries], summaries: pd.DataFrame
) -> None:
    table = compare_on_tuples("test", questions, series)
    validate(table, Comparisons)
    row = table[
        (table["grouping"] == "overall")
        & (table["model_a"] == "GPT4")
        & (table["model_b"] == "poor")
    ].iloc[0]
    assert row["difference"] > 0.2
    assert row["ci_low"] < row["difference"] < row["ci_high"]
    assert row["n_clusters"] == 3
    assert row["mean_b"] == pytest.approx(mean_of(summaries, "poor", "accuracy"))
    assert row["p"] <= row["p_holm"]
    assert compare_on_tuples("test", questions, series[:1]).empty


def test_rules_cost_the_comparisons_of_models_nothing(
    questions: Questions, series: list[AnswerSeries]
) -> None:
    rules = [
        replace(one, model=f"rule {n}", is_rule=True)
        for n in range(20)
        for one in series
        if one.model == "poor"
    ]
    tables = (compare_on_tuples("test", questions, found) for found in (series, [*series, *rules]))
    alone, beside = (table.query("grouping == 'overall'") for table in tables)
    key = ["eval_type", "model_a", "model_b"]
    both = alone.merge(beside, on=key, suffixes=("", "_beside"))
    assert len(both) == len(alone)
    assert both["p_holm"].tolist() == pytest.approx(both["p_holm_beside"].tolist())
    with_rules = beside[beside["model_b"].str.startswith("rule") & (beside["model_a"] == "GPT4")]
    assert (with_rules["p_holm"] > with_rules["p"]).all()
    roster = Roster({f"rule {n}": ShownModel(f"rule {n}", "", family="rule") for n in range(20)})
    shown = comparisons(beside, roster).frame[["model_a", "model_b"]]
    n_rules = shown.isin([*roster.models]).sum(axis=1)
    assert set(n_rules) == {0, 1}, "two rules say nothing of a model"


def test_every_published_number_is_found_or_has_a_reason(summaries: pd.DataFrame) -> None:
    published = read_published()
    sizes = {"table2": 8, "table6": 72, "table7": 18, "table8": 288, "table9": 504}
    sizes |= {"table10": 396, "table11": 126, "text": 2}
    assert published.groupby("block").size().to_dict() == sizes
    table = validate(check_reproduction(published, summaries, released=()), Reproduction)
    assert set(table["status"]) == {"not_run", "not_comparable"}
    assert (table["reason"] != "").all()
    asked = table[
        (table["model"] == "GPT4") & (table["eval_type"] == "basic") & (table["block"] == "table6")
    ]
    assert (asked["ours_printed"] != "").all()
    released = check_reproduction(published, summaries, released={"test"})
    assert {"differs", "not_run"} <= set(released["status"])


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("GPT4", "GPT4"),
        ("gpt_3.5", "GPT3.5"),
        ("Llama2-chat-70B", "Llama2-chat"),
        ("Llama2-FT+0", "Llama2-70B-FT+0"),  # as the release writes them
        ("Llama2-FT+1M", "Llama2-70B-FT+1M"),
        ("Llama2-7B-FT+1M", "Llama2-7B-FT+1M"),
        ("gpt2", None),
    ],
)
def test_a_model_is_known_in_many_spellings(name: str, known: str | None) -> None:
    assert published_name(name) == known


def test_what_the_text_says_of_a_way_of_asking_is_compared_too(summaries: pd.DataFrame) -> None:
    table = (
        check_reproduction(read_published(), summaries, released={"test"})
        .query("block == 'text'")
        .set_index("model")
    )
    assert table.loc["GPT4", "status"] == "differs"
    gain = mean_of(summaries, "GPT4", "accuracy", eval_type="cot") - mean_of(
        summaries, "GPT4", "accuracy"
    )
    assert table.loc["GPT4", "ours"] == pytest.approx(gain)
    assert table.loc["GPT3.5", "status"] == "not_run"


def test_only_sets_whose_trials_are_the_released_ones_are_compared(summaries: pd.DataFrame) -> None:
    digest = next(iter(RELEASED["memorisation"]))
    assert released_sets([digest, "another"]) == {"memorisation"}
    other = check_reproduction(read_published(), summaries, released={"memorisation"})
    assert not set(other.loc[other["condition"] == "test", "status"]) & {
        "within_rounding",
        "differs",
    }


#: Those of this study; fine-tuned models are tested with them.
SHOWN = [one for one in BENCHMARK.displays if one.section != "finetuning"]
SHOWN += find_displays(trial_displays)


def files(
    folder: Path, summaries: pd.DataFrame, questions: Questions, series: list[AnswerSeries]
) -> Path:
    write_table(summaries, Summaries, folder / "summaries.parquet", Provenance())
    compared = compare_on_tuples("test", questions, series)
    keys = list(Comparisons.Config.key)
    write_table(
        compared.sort_values(keys, ignore_index=True),
        Comparisons,
        folder / "comparisons.parquet",
        Provenance(),
    )
    checked = check_reproduction(read_published(), summaries, released={"test"})
    made = Provenance(details={"summary": summary_line(checked)})
    write_table(checked, Reproduction, folder / "reproduction.parquet", made)
    trials = folder / "trials.parquet"
    line = "worldsense generate test --sizes 3 --per-cell 1 --skins tall/short trips obj_LeftRight"
    assert run(f"{line} --out {trials}") == 0
    assert run(f"worldsense tabulate-samples {trials} --out {folder / 'samples.parquet'}") == 0
    assert run(f"worldsense skins tabulate --out {folder / 'skins.parquet'}") == 0
    return folder


@pytest.mark.long
def test_every_table_is_printed_and_every_figure_drawn(
    summaries: pd.DataFrame, questions: Questions, series: list[AnswerSeries], tmp_path: Path
) -> None:
    folder = files(tmp_path, summaries, questions, series)
    for display in SHOWN:
        inputs = [folder / one.path for one in display.inputs]
        write, suffixes = {"table": (print_table, ["md"]), "figure": (draw_figure, ["svg", "csv"])}[
            display.kind
        ]
        write(
            display,
            inputs,
            Roster(),
            [tmp_path / f"{display.name}.{suffix}" for suffix in suffixes],
        )
    assert (
        "0.903 ±0.007" in (tmp_path / "worldsense_problems.md").read_text()
    )  # the paper's GPT4, next to ours
    assert "0.756" in (tmp_path / "worldsense_mean_accuracy.md").read_text()
    assert len(pd.read_csv(tmp_path / "worldsense_problems.csv")) > 3


def test_a_sample_of_replies_is_not_what_a_model_is_shown_by() -> None:
    """The first prompting in order, unless it has a sample of the answers, were it half of them."""
    rows = [("a", "basic", 48), ("a", "constrained", 72), ("b", "basic", 71), ("b", "cot", 72)]
    summaries = pd.DataFrame(rows, columns=["model", "eval_type", "n"])
    assert selection.main_promptings(summaries) == {"a": "constrained", "b": "basic"}


@pytest.mark.long
def test_tables_of_ways_of_asking_say_that_they_are_not_about_the_same_trials(
    questions: Questions,
) -> None:
    """A sample of replies stood beside compared answers to all, under "The same trials"."""
    part, whole = answer(questions, "m", 0.9), answer(questions, "m", 0.9, "constrained")
    left_out = questions.tuple_of % 2 == 0
    sampled = replace(part, answers=np.where(left_out, ABSENT, part.answers).astype(np.int8))
    shown = Roster({"m": ShownModel("M", "#000000")})
    for given, are_told in (([part, whole], False), ([sampled, whole], True)):
        table = tuple_means("test", questions, given)
        for sheet in (tables.promptings(table, shown), tables.mean_accuracy(table, shown)):
            told = [note for note in sheet.notes if "Not all rows are about the same" in note]
            assert bool(told) == are_told
            assert all("basic" in note and "constrained" in note for note in told)
