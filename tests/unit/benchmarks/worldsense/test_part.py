"""WorldSense's part of the report: its sentences, conversations about our own trials only, and the
summary of all benchmarks.
"""

import json
from pathlib import Path

import pandas as pd
import pytest
from markupsafe import Markup
from matplotlib.collections import LineCollection

from worldprobe.analysis.reproduction import summary_line
from worldprobe.benchmarks.worldsense import figures, tables
from worldprobe.benchmarks.worldsense.analysis.answers import read_series
from worldprobe.benchmarks.worldsense.analysis.questions import add_properties, from_frame
from worldprobe.benchmarks.worldsense.analysis.reproduction import (
    check_reproduction,
    read_published,
)
from worldprobe.benchmarks.worldsense.analysis.summarize import summarize
from worldprobe.benchmarks.worldsense.contracts import Responses, Summaries, Trials
from worldprobe.benchmarks.worldsense.evaluation import _judge
from worldprobe.benchmarks.worldsense.report import _apart, _whose, compose
from worldprobe.benchmarks.worldsense.skins.skins import IN, OUT
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF
from worldprobe.benchmarks.worldsense.trials.files import read_trials
from worldprobe.cli import main
from worldprobe.contracts import read_table, write_table
from worldprobe.errors import UserError
from worldprobe.provenance import Provenance
from worldprobe.report.crate import Methods, read_origins
from worldprobe.report.model_names import Model, Roster
from worldprobe.report.page import Material, Page, Part, ShownPart, build_page


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small set and the responses of two models: one that is right, one that always says the
    first answer.
    """
    root = tmp_path_factory.mktemp("study")
    path = root / "trials" / "test.parquet"
    skins = ["tall/short", "trips", "obj_LeftRight"]
    assert (
        main(
            [
                "worldsense",
                "generate",
                "test",
                "--sizes",
                "3",
                "--per-cell",
                "1",
                "--skins",
                *skins,
                "--out",
                str(path),
            ]
        )
        == 0
    )
    trials = read_trials(path)
    gold = trials["gold"].map(ANSWER_OF)
    first = trials["problem"].str[:3].map({"Inf": "TRUE", "Con": "POSSIBLE", "Com": "1"})
    responses = []
    for model, answers in (("knows", gold), ("positive", first)):
        responses.append(root / "responses" / "test" / "basic" / f"{model}.parquet")
        table = pd.DataFrame(
            {
                "trial_id": trials["trial_id"],
                "prompting": "basic",
                "sample": 0,
                "answer": answers,
                "status": "ok",
                "reply": answers,
                "follow_up": None,
                "thoughts": None,
                "conversation": [
                    json.dumps(
                        [
                            {"role": "user", "content": text},
                            {"role": "assistant", "content": f"<b>I say</b> {word}"},
                        ]
                    )
                    for text, word in zip(trials["text"], answers, strict=True)
                ],
                "form": "chat",
                "finish": "stop",
                "n_tokens": 1,
                "n_thought_tokens": 0,
                "margin": float("nan"),
            }
        ).astype({"follow_up": "str", "thoughts": "str"})
        table = table.sort_values("trial_id", ignore_index=True)
        made = Provenance(model=model, checkpoint="made-up")
        responses[-1].parent.mkdir(parents=True, exist_ok=True)
        write_table(table[list(Responses.columns)], Responses, responses[-1], made)
    questions = add_properties(from_frame(trials, "test"), trials)
    summaries = summarize("test", questions, read_series(responses, questions))
    columns = list(Summaries.columns)
    write_table(summaries[columns], Summaries, root / "summaries.parquet", Provenance(seed=0))
    return root


def material(folder: Path, item_text: Path | None) -> Material:
    origins = read_origins(sorted((folder / "responses").rglob("*.parquet")))
    return Material(folder / "summaries.parquet", Roster(), origins, item_text)


def test_the_part_says_whose_intervals_lie_above_chance_and_which_biases_differ_from_none(
    folder: Path,
) -> None:
    part = compose(material(folder, None))
    assert (
        part.lead
        == "Mean accuracies run from 0.500 (positive) to 1.000 (knows); chance is 0.5; no model has"
        " an interval. Prompting: basic."
    )
    assert any("positive" in sentence and "+1.00" in sentence for sentence in part.points)
    assert part.who == "Asked: 2 language models."
    assert (
        "Skins whose relation is in the training sets come to 0.750, others to 0.750 on average."
        in part.more
    )  # one skin each
    assert part.overview["all"] == {"knows": 1.0, "positive": 0.5}
    assert not part.has_item_text
    assert [row["name"] for row in part.methods.models] == ["knows", "positive"]


def test_of_a_single_model_nothing_is_said_to_be_highest_or_average(
    folder: Path, tmp_path: Path
) -> None:
    summaries = read_table(folder / "summaries.parquet", Summaries)
    alone = summaries[summaries["model"] == "positive"].reset_index(drop=True)
    write_table(alone, Summaries, tmp_path / "summaries.parquet", Provenance(seed=0))
    part = compose(Material(tmp_path / "summaries.parquet", Roster(), read_origins([]), None))
    assert (
        part.lead
        == "positive has a mean accuracy of 0.500; chance is 0.5. It is the same in all 3 skins."
        " Prompting: basic."
    )
    assert not any("average" in sentence or "models" in sentence for sentence in part.more)


def test_where_no_model_is_above_chance_the_part_says_so_with_the_interval(
    folder: Path, tmp_path: Path
) -> None:
    summaries = read_table(folder / "summaries.parquet", Summaries)
    alike = [
        summaries[summaries["model"] == "positive"].assign(model=name)
        for name in ("positive", "second")
    ]
    both = pd.concat(alike).sort_values(list(Summaries.Config.key), ignore_index=True)
    write_table(both, Summaries, tmp_path / "summaries.parquet", Provenance(seed=0))
    part = compose(Material(tmp_path / "summaries.parquet", Roster(), read_origins([]), None))
    assert (
        part.lead
        == "Mean accuracies are all 0.500; chance is 0.5; no model has an interval. Prompting:"
        " basic."
    )


def test_intervals_over_skins_that_training_has_and_others_are_compared(
    folder: Path, tmp_path: Path
) -> None:
    summaries = read_table(folder / "summaries.parquet", Summaries)
    for group, numbers in ((IN, (0.9, 0.8, 1.0)), (OUT, (0.5, 0.4, 0.6))):
        summaries.loc[
            (summaries["grouping"] == "intraining") & (summaries["group"] == group),
            ["mean", "ci_low", "ci_high"],
        ] = numbers
    write_table(summaries, Summaries, tmp_path / "summaries.parquet", Provenance(seed=0))
    part = compose(Material(tmp_path / "summaries.parquet", Roster(), read_origins([]), None))
    said = (
        "Skins whose relation is in the training sets come to 0.900, others to 0.500 on average;"
        " the intervals over skins are"
    )
    assert f"{said} apart in 2 of 2 models." in part.more


def test_only_models_with_both_intervals_are_counted() -> None:
    def rows(**ends: tuple[float, float]) -> pd.DataFrame:
        frame = pd.DataFrame(ends, index=["ci_low", "ci_high"]).T
        return frame.assign(mean=frame.mean(axis=1), n_clusters=20)

    none = (float("nan"), float("nan"))
    high, low = (
        rows(a=(0.8, 0.9), b=(0.8, 0.9), c=none),
        rows(a=(0.1, 0.2), b=(0.7, 0.9), d=(0.1, 0.2)),
    )
    apart = _apart(high, low) | _apart(low, high)
    assert _whose(high, low, apart, 4) == "are apart in 1 of 2 models that have them"
    assert _whose(high.loc[["a"]], low.loc[["a"]], apart, 1) == "are apart"
    assert _whose(high.loc[["b"]], low.loc[["b"]], apart, 1) == "overlap"
    assert _whose(high.loc[["c"]], low, apart, 4) == ""


@pytest.mark.parametrize("n_models", [1, 2])
def test_where_one_skin_gives_no_interval_nothing_is_said_of_intervals(
    folder: Path, tmp_path: Path, n_models: int
) -> None:
    summaries = read_table(folder / "summaries.parquet", Summaries).assign(
        n_clusters=1, ci_low=float("nan"), ci_high=float("nan")
    )
    few = summaries[summaries["model"].isin(["knows", "positive"][:n_models])].reset_index(
        drop=True
    )
    write_table(few, Summaries, tmp_path / "summaries.parquet", Provenance(seed=0))
    part = compose(Material(tmp_path / "summaries.parquet", Roster(), read_origins([]), None))
    assert [one for one in part.more if one.startswith(("Means by problem", "Skins whose"))]
    assert not [one for one in part.more if "overlap" in one or "apart" in one]


def rows_of(folder: Path, tmp_path: Path, **values: dict[str, tuple[float, float, float]]) -> Part:
    """The part where a statistic of each model has another mean and interval."""
    summaries = read_table(folder / "summaries.parquet", Summaries)
    models = []
    for name, (column, (mean, low, high)) in values.items():
        one = summaries[summaries["model"] == "positive"].assign(model=name)
        is_meant = (
            one["grouping"] == "overall" if column == "all" else one["grouping"] == "problem"
        ) & (one["metric"] == ("bias" if column == "bias" else "accuracy"))
        one.loc[is_meant, ["mean", "ci_low", "ci_high"]] = mean, low, high
        models.append(one)
    both = pd.concat(models).sort_values(list(Summaries.Config.key), ignore_index=True)
    write_table(both, Summaries, tmp_path / "summaries.parquet", Provenance(seed=0))
    return compose(Material(tmp_path / "summaries.parquet", Roster(), read_origins([]), None))


def test_a_second_model_may_be_above_chance_where_the_first_is_not(
    folder: Path, tmp_path: Path
) -> None:
    part = rows_of(
        folder, tmp_path, wide=("all", (0.6, 0.45, 0.75)), narrow=("all", (0.56, 0.558, 0.562))
    )
    assert (
        "from 0.560 (narrow) to 0.600 (wide); chance is 0.5, and the 95% interval over skins (for"
        " all at once) of 1 of 2" in part.lead
    )


def test_one_of_several_models_is_above_chance_only_by_an_interval_for_all_of_them(
    folder: Path, tmp_path: Path
) -> None:
    """One of five models that know nothing has an interval above 0.5 in one of eight studies."""
    luck = {f"m{k}": ("all", (0.51, 0.501, 0.519)) for k in range(5)}
    assert "no model's 95% interval" in rows_of(folder, tmp_path, **luck).lead


def test_a_model_that_is_right_in_all_skins_is_not_said_to_be_no_better_than_the_rule_that_counts(
    folder: Path, tmp_path: Path
) -> None:
    none = float("nan")
    rows = {
        "perfect": (1.0, none, none),
        "poor": (0.55, 0.5, 0.6),
        "rule_counting": (0.6, 0.5, 0.7),
    }
    sentence, *_ = rows_of(
        folder, tmp_path, **{name: ("all", row) for name, row in rows.items()}
    ).points
    assert sentence.endswith(
        "0.600; poor is not shown to be above it, and so not to reason; whether perfect is above it"
        " for other skins nothing tells, as all are alike."
    )


def test_no_bias_is_named_whose_interval_contains_none(folder: Path, tmp_path: Path) -> None:
    part = rows_of(
        folder, tmp_path, one=("bias", (0.12, -0.2, 0.44)), two=("bias", (0.1, -0.1, 0.3))
    )
    assert not any("response bias" in sentence for sentence in (*part.more, *part.points))


def test_figures_and_sentences_never_take_the_papers_intervals(folder: Path) -> None:
    """They hold for these skins only, and are up to six times narrower."""
    summaries = read_table(folder / "summaries.parquet", Summaries).assign(conf95=7.0)
    for tidy in (figures.problems, figures.sets, figures.promptings, figures.size, figures.depth):
        frame = tidy(summaries, Roster())
        known = frame["ci_low"].notna()
        assert "conf95" not in frame
        assert known.any() or set(frame["mean"]) <= {0.0, 0.5, 1.0}
        assert (frame["ci_low"][known] <= frame["mean"][known] + 1e-12).all()
        assert (frame["ci_high"][known] >= frame["mean"][known] - 1e-12).all()


def test_a_bar_ends_where_the_interval_over_skins_does(folder: Path) -> None:
    rows = read_table(folder / "summaries.parquet", Summaries)
    wide = rows.assign(mean=0.6, ci_low=rows["mean"] * 0 + 0.45, ci_high=0.7, conf95=0.001)
    axes = figures.draw_dots(figures.problems(wide, Roster())).axes[0]
    first, *_ = [one for one in axes.collections if isinstance(one, LineCollection)]
    assert first.get_segments()[0][:, 0].tolist() == [0.45, 0.7]
    bars = (
        figures.draw_lines(figures.size(wide, Roster()))
        .axes[0]
        .containers[0]
        .lines[2][0]
        .get_segments()
    )
    assert bars[0][:, 1].tolist() == pytest.approx([0.45, 0.7])


def test_the_size_of_a_bias_may_be_none_where_its_intervals_contain_none(folder: Path) -> None:
    rows = read_table(folder / "summaries.parquet", Summaries)
    bias = (rows["metric"] == "bias") & (rows["grouping"] == "problem")
    rows.loc[bias, ["mean", "ci_low", "ci_high"]] = -0.1, -0.3, 0.1
    sizes = figures.promptings(rows, Roster()).query("panel == 'size of the bias'")
    assert (
        sizes[["mean", "ci_low", "ci_high"]].to_numpy().tolist()
        == [pytest.approx([0.1, 0.0, 0.3])] * 2
    )
    rows.loc[bias, ["mean", "ci_low", "ci_high"]] = -0.3, -0.4, -0.2
    sizes = figures.promptings(rows, Roster()).query("panel == 'size of the bias'")
    assert (
        sizes[["mean", "ci_low", "ci_high"]].to_numpy().tolist()
        == [pytest.approx([0.3, 0.2, 0.4])] * 2
    )


def test_consistency_in_the_first_table_has_its_interval(folder: Path) -> None:
    rows = read_table(folder / "summaries.parquet", Summaries)
    one = rows[(rows["metric"] == "consistency") & (rows["grouping"] == "overall")]
    rows.loc[one.index, ["mean", "ci_low", "ci_high"]] = 0.37, 0.29, 0.45
    sheet = tables.mean_accuracy(rows, Roster())
    assert [row[-1] for row in sheet.cells()] == ["0.37 (0.29–0.45)"] * 2


@pytest.mark.parametrize(
    ("n_clusters", "said"),
    [
        (1, "knows is not shown to be above it, and so not to reason."),
        (18, "whether knows is above it for other skins nothing tells, as all are alike."),
    ],
)
def test_one_skin_shows_no_model_to_be_above_the_rule_that_counts(
    folder: Path, n_clusters: int, said: str
) -> None:
    """Without an interval nothing is said to be above, with one skin or with 18 that are all
    alike.
    """
    row = {
        "mean": 1.0,
        "conf95": 0.0,
        "ci_low": None,
        "ci_high": None,
        "stderr": None,
        "n_clusters": n_clusters,
        "n_tuples": 60,
    }
    (sentence,) = _judge(
        "knows", {"accuracy": row, "baselines": {"counting": row | {"mean": 0.878}}}
    )
    assert sentence.endswith(f"; {said}")


def test_no_problem_is_called_highest_where_intervals_overlap(folder: Path, tmp_path: Path) -> None:
    part = rows_of(
        folder, tmp_path, one=("problem", (0.5, 0.4, 0.6)), two=("problem", (0.5, 0.4, 0.6))
    )
    said = [sentence for sentence in part.more if sentence.startswith("Means by problem")]
    assert said == [
        "Means by problem are all 0.500; the 95% intervals of the ends over skins (for all problems"
        " at once) overlap."
    ]


def test_tokens_per_answer_and_calibration_are_in_the_methods(folder: Path, tmp_path: Path) -> None:
    table = read_table(next((folder / "responses").rglob("*.parquet")), Responses)
    details = {"answer_tokens": {"TRUE": [4], "FALSE": [5]}, "calibrated_forms": 24}
    write_table(
        table,
        Responses,
        tmp_path / "r.parquet",
        Provenance(model="knows", checkpoint="made-up", details=details),
    )
    part = compose(
        Material(
            folder / "summaries.parquet", Roster(), read_origins([tmp_path / "r.parquet"]), None
        )
    )
    assert part.methods.models[0]["notes"] == "tokens per answer: TRUE 4, FALSE 5"
    assert "batch calibration" in part.methods.text


def test_conversations_about_our_own_trials_are_shown_whole_and_escaped(folder: Path) -> None:
    part = compose(material(folder, folder / "trials" / "test.parquet"))
    shown = str(part.extras["problems"])
    assert part.has_item_text
    assert "&lt;b&gt;I say&lt;/b&gt;" in shown
    assert "<b>I say" not in shown
    assert shown.count('class="tuple"') == 6 * 3
    assert "2 of 2 are right" in shown
    assert "1 of 2 is right" in shown


def test_rules_are_shown_but_stay_out_of_means(folder: Path) -> None:
    own = material(folder, folder / "trials" / "test.parquet")
    roster = Roster({"knows": Model("knows", "Solver (rule)", family="rule")})
    shown = str(
        compose(Material(own.summary, roster, own.origins, own.item_text)).extras["problems"]
    )
    assert shown.count('<span class="value k10">0.500</span>') == 6
    assert "Solver (rule)" in shown


def test_trials_without_our_canary_are_never_quoted(folder: Path, tmp_path: Path) -> None:
    trials = read_trials(folder / "trials" / "test.parquet")
    write_table(trials[list(Trials.columns)], Trials, tmp_path / "test.parquet", Provenance())
    with pytest.raises(UserError, match="must not be shown"):
        compose(material(folder, tmp_path / "test.parquet"))


def part_of(overview: dict[str, dict[str, float]]) -> Part:
    return Part(
        "What?",
        "lead",
        "who",
        [],
        [],
        Methods([], {}, []),
        "cite",
        overview=overview,
        apart=frozenset({"<i>"}),
    )


def test_a_page_of_two_benchmarks_begins_with_what_each_model_knows() -> None:
    parts = [
        ShownPart("one", "One", part_of({"all": {"a": 0.91, "b": 0.5}}), []),
        ShownPart("two", "Two", part_of({"all": {"a": 0.62}, "half": {"<i>": 0.1}}), []),
    ]
    page = build_page(Page(parts))
    table = page.split('id="overview"')[1].split("</table>")[0]
    bodies = [body.split("<tr>")[1:] for body in table.split("<tbody>")[1:]]
    shown = [[Markup(row.split("</tr>")[0]).striptags() for row in rows] for rows in bodies]
    assert shown == [["a0.910.62–", "b0.50––"], ["<i>––0.10"]]
    assert '<th colspan="2" scope="colgroup" class="over">overall</th>' in table
    assert '<th colspan="1" scope="colgroup" class="over">Two</th>' in table
    assert "spans" not in build_page(Page(parts[:1])).split('id="overview"')[1].split("</table>")[0]


def test_a_study_of_models_that_the_paper_does_not_have_compares_nothing(folder: Path) -> None:
    summaries = read_table(folder / "summaries.parquet", Summaries)
    said = summary_line(check_reproduction(read_published(), summaries, released=()))
    assert said.startswith("No published number has one of ours to compare: 1396 not run")
