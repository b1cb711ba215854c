"""WorldSense's part of the report: its sentences, conversations about our own trials only, and
the summary of all benchmarks.
"""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from command_line import run
from worldprobe.benchmarks.worldsense import figures, model_tables, tables
from worldprobe.benchmarks.worldsense.analysis.answers import read_series
from worldprobe.benchmarks.worldsense.analysis.questions import add_properties, from_frame
from worldprobe.benchmarks.worldsense.analysis.summarize import compare_on_tuples, tuple_means
from worldprobe.benchmarks.worldsense.contracts import (
    Comparisons,
    Responses,
    Summaries,
    Trials,
)
from worldprobe.benchmarks.worldsense.evaluation import _compare_with_rule
from worldprobe.benchmarks.worldsense.report import compose
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWER_OF
from worldprobe.benchmarks.worldsense.trials.files import read_trials
from worldprobe.contracts import read_table, write_table
from worldprobe.errors import TooLittleError, UserError
from worldprobe.provenance import Provenance
from worldprobe.report import style
from worldprobe.report.lines import FEW, draw_lines
from worldprobe.report.model_names import Roster, ShownModel
from worldprobe.report.origins import read_origins
from worldprobe.report.page import Material, Part, render_template
from worldprobe_lab import trial_displays


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small set and the responses of two models: one that is right, one that always says the
    first answer.
    """
    root = tmp_path_factory.mktemp("study")
    path, out = root / "trials" / "test.parquet", root / "responses" / "test" / "basic"
    line = "worldsense generate test --sizes 3 --per-cell 1 --skins tall/short trips obj_LeftRight"
    assert run(f"{line} --out {path}") == 0
    trials = read_trials(path)
    gold = trials["gold"].map(ANSWER_OF)
    first = trials["problem"].str[:3].map({"Inf": "TRUE", "Con": "POSSIBLE", "Com": "1"})
    out.mkdir(parents=True)
    for model, answers in (("knows", gold), ("positive", first)):
        said = [
            json.dumps(
                [
                    {"role": "user", "content": text},
                    {"role": "assistant", "content": f"<b>I say</b> {word}"},
                ]
            )
            for text, word in zip(trials["text"], answers, strict=True)
        ]
        table = pd.DataFrame(dict.fromkeys(Responses.columns, None), trials.index)
        table = table.assign(
            trial_id=trials["trial_id"], prompting="basic", sample=0, answer=answers, status="ok"
        )
        table = table.assign(
            reply=answers, conversation=said, form="chat", finish="stop", n_tokens=1
        )
        table = table.assign(n_thought_tokens=0, margin=float("nan")).astype(
            {"follow_up": "str", "thoughts": "str"}
        )
        made = Provenance(model=model, checkpoint="made-up")
        write_table(
            table.sort_values("trial_id", ignore_index=True),
            Responses,
            out / f"{model}.parquet",
            made,
        )
    questions = add_properties(from_frame(trials, "test"), trials)
    summaries = tuple_means("test", questions, read_series(sorted(out.iterdir()), questions))
    write_table(
        summaries[list(Summaries.columns)],
        Summaries,
        root / "summaries.parquet",
        Provenance(seed=0),
    )
    return root


def material(folder: Path, item_text: Path | None) -> Material:
    origins = read_origins(sorted((folder / "responses").rglob("*.parquet")))
    return Material(folder / "summaries.parquet", Roster(), origins, item_text)


def test_the_part_states_the_means_and_the_biases_that_differ_from_none(folder: Path) -> None:
    part = compose(material(folder, None))
    assert "Accuracy is 0.500 to 1.000, 0.750 on average." in part.lead
    biases = model_tables.biases(
        read_table(folder / "summaries.parquet", Summaries), Roster()
    ).frame
    assert set(biases["name"]) == {"positive"}
    assert set(biases["mean"]) == {1.0}
    assert part.overview["all"] == {"knows": 1.0, "positive": 0.5}
    assert not part.has_item_text


@pytest.mark.parametrize(
    ("n_apart", "n_known", "said"),
    [(0, 1, "are not shown to differ."), (1, 1, "differ."), (1, 3, "differ in 1 of 3 models.")],
)
def test_of_one_model_it_says_whether_not_in_how_many(
    n_apart: int, n_known: int, said: str
) -> None:
    """It read "differ in 0 of 1 models"."""
    counted = {"n_apart": n_apart, "n_known": n_known}
    found = {"normal": 0.5, "trivial": 0.6, "ends": counted, "seen": counted}
    values = {"found": found, "asked": ["m"], "rules": {}}
    text = render_template("worldprobe.benchmarks.worldsense", "caveats.html.jinja", **values)
    assert f"The easiest and the hardest problem {said} Seen and new relations {said}<" in text


def test_a_draft_of_results_leads_to_the_cells_of_its_tables(folder: Path, tmp_path: Path) -> None:
    """Skins are said to be twelve: of three, a draft says nothing."""
    summary, table = tmp_path / "summaries.parquet", tmp_path / "worldsense_against_chance.json"
    rows = read_table(folder / "summaries.parquet", Summaries).assign(n_clusters=12)
    write_table(rows, Summaries, summary, Provenance(seed=0))
    printed = f"table worldsense_against_chance {summary} --out {table} {table.with_suffix('.csv')}"
    assert run(printed) == 0
    draft = tmp_path / "results_section.md"
    assert run(f"report draft {summary} --tables {table} --out {draft}") == 0
    cells = pd.read_csv(table.with_suffix(".csv"))
    text = draft.read_text()
    for number, name in (("0.500", "positive"), ("1.000", "knows")):
        line = cells.index[cells["model"] == name][0] + 2
        assert f'[{number}]({table.stem}.csv#L{line} "{name}, mean")' in text
    assert f'[0.750]({table.stem}.csv "mean of 2 rows, mean") on average' in text


def test_a_draft_says_which_response_biases_differ_from_none(folder: Path, tmp_path: Path) -> None:
    """It had no sentence on them."""
    rows = read_table(folder / "summaries.parquet", Summaries).assign(n_clusters=12)
    is_bias = (rows["metric"] == "bias") & (rows["grouping"] == "problem")
    numbers = {"mean": 0.0, "ci_low": -0.1, "ci_high": 0.1, "status": "ok", "std_error": 0.05}
    rows.loc[is_bias, list(numbers)] = list(numbers.values())
    off = is_bias & (rows["model"] == "knows") & (rows["group"] == "Infer.normal")
    rows.loc[off, ["mean", "ci_low", "ci_high"]] = [-0.4, -0.5, -0.3]
    summary, table = tmp_path / "summaries.parquet", tmp_path / "worldsense_biases.json"
    draft = tmp_path / "results_section.md"
    for shown, found in ((rows, 1), (rows[~off], 0)):
        write_table(shown, Summaries, summary, Provenance(seed=0))
        files = f"{table} {table.with_suffix('.csv')}"
        assert run(f"table worldsense_biases {summary} --out {files}") == 0
        assert run(f"report draft {summary} --tables {table} --out {draft}") == 0
        text = re.sub(r"\]\([^)]*\)|\[", "", draft.read_text())
        verb = "bias is" if found else "biases are"
        assert f"\nBy problem, {found} response {verb} shown to differ from 0." in text
        one = "\nknows has a response bias of −0.40 (95% interval over skins: −0.500 to −0.300)"
        said = f"{one} in Inference, towards FALSE, IMPOSSIBLE or UNKNOWN."
        assert (said in text) == bool(found)


def test_the_main_set_decides_by_which_way_of_asking_models_are_shown(
    folder: Path, tmp_path: Path
) -> None:
    """Where other sets were asked in another way, a sample of the main set was called whole."""
    summaries = read_table(folder / "summaries.parquet", Summaries)
    names = ("ood-problem", "ood-query", "ood-size")
    others = [summaries.assign(condition=name, eval_type="cot") for name in names]
    every = pd.concat([summaries, *others]).sort_values(
        list(Summaries.Config.key), ignore_index=True
    )
    write_table(every, Summaries, tmp_path / "summaries.parquet", Provenance(seed=0))
    details = {"prompting": "basic", "sample": {"of": 999}}
    origins = [
        replace(origin, provenance=replace(origin.provenance, details=details))
        for origin in material(folder, None).origins
    ]
    part = compose(Material(tmp_path / "summaries.parquet", Roster(), origins, None))
    assert "Accuracy over a sample of the trials is 0.500 to 1.000" in part.lead


def rows_of(folder: Path, tmp_path: Path, **values: tuple[float, float, float]) -> Part:
    """The part where each model has another accuracy and interval."""
    summaries = read_table(folder / "summaries.parquet", Summaries)
    models = []
    for name, numbers in values.items():
        one = summaries[summaries["model"] == "positive"].assign(model=name)
        is_meant = (one["grouping"] == "overall") & (one["metric"] == "accuracy")
        one.loc[is_meant, ["mean", "ci_low", "ci_high"]] = numbers
        models.append(one)
    both = pd.concat(models).sort_values(list(Summaries.Config.key), ignore_index=True)
    write_table(both, Summaries, tmp_path / "summaries.parquet", Provenance(seed=0))
    return compose(Material(tmp_path / "summaries.parquet", Roster(), read_origins([]), None))


def test_a_second_model_may_be_above_chance_where_the_first_is_not(
    folder: Path, tmp_path: Path
) -> None:
    part = rows_of(folder, tmp_path, wide=(0.6, 0.45, 0.75), narrow=(0.56, 0.558, 0.562))
    assert "Accuracy is 0.560 to 0.600" in part.lead
    assert "1 of 2 models is above chance (0.5), 0 below." in part.lead
    summaries = read_table(tmp_path / "summaries.parquet", Summaries)
    shown = model_tables.models_against_chance(summaries, Roster())
    against = shown.frame.set_index("name")["against"]
    assert against.to_dict() == {"wide": "not shown to differ", "narrow": "above"}


def test_one_of_several_models_is_above_chance_only_by_an_interval_for_all_of_them(
    folder: Path, tmp_path: Path
) -> None:
    """One of five models that know nothing has an interval above 0.5 in one of eight studies."""
    luck = {f"m{k}": (0.51, 0.501, 0.519) for k in range(5)}
    assert "0 of 5 models are above chance" in rows_of(folder, tmp_path, **luck).lead


def test_the_first_sentences_say_whether_a_model_beats_the_strongest_rule_that_chains_nothing(
    folder: Path, tmp_path: Path
) -> None:
    """The counting rule alone was named, also where another rule scored more."""
    path = folder / "trials" / "test.parquet"
    trials = read_trials(path)
    questions = add_properties(from_frame(trials, "test"), trials)
    knows, positive = read_series(sorted((folder / "responses").rglob("*.parquet")), questions)
    series = [
        replace(knows, model="solves"),
        replace(positive, model="guesses"),
        replace(knows, model="rule_roles", is_rule=True),
        replace(positive, model="rule_counting", is_rule=True),
    ]
    summaries, comparisons = (tmp_path / f"{name}.parquet" for name in ("summaries", "comparisons"))
    made = Provenance(seed=0)
    write_table(
        tuple_means("test", questions, series)[[*Summaries.columns]], Summaries, summaries, made
    )
    compared = compare_on_tuples("test", questions, series)
    assert "finding" in compared
    write_table(compared, Comparisons, comparisons, made)
    roster = Roster(
        {one: ShownModel(one, one, family="rule") for one in ("rule_roles", "rule_counting")}
    )
    said = compose(Material(summaries, roster, comparisons=comparisons)).findings
    assert said[1].startswith("solves ")
    assert said[2].startswith(
        "solves is not shown to beat its strongest baseline, rule_roles: 1.000"
    )
    assert said[3].startswith("guesses is ")
    assert "its strongest baseline, rule_roles: 0.500 against 1.000, −50.0 points" in said[3]


def test_figures_and_sentences_never_take_the_papers_intervals(folder: Path) -> None:
    """They hold for these skins only, and are up to six times narrower."""
    summaries = read_table(folder / "summaries.parquet", Summaries).assign(conf95=7.0)
    for tidy in (
        figures.problems,
        figures.sets,
        figures.promptings,
        figures.size,
        trial_displays.depth,
    ):
        frame = tidy(summaries, Roster())
        known = frame["ci_low"].notna()
        assert "conf95" not in frame
        assert known.any() or set(frame["mean"]) <= {0.0, 0.5, 1.0}
        assert (frame["ci_low"][known] <= frame["mean"][known] + 1e-12).all()
        assert (frame["ci_high"][known] >= frame["mean"][known] - 1e-12).all()


def test_a_bar_ends_where_the_interval_over_skins_does(folder: Path) -> None:
    rows = read_table(folder / "summaries.parquet", Summaries)
    wide = rows.assign(mean=0.6, ci_low=0.55, ci_high=0.7, conf95=0.001)
    drawn = (
        (figures.draw_problems(figures.problems(wide, Roster())), 0),
        (draw_lines(figures.size(wide, Roster())), 1),
    )
    for figure, across in drawn:
        lines = [one for one in figure.axes[0].collections if isinstance(one, LineCollection)]
        assert lines[0].get_segments()[0][:, across].tolist() == pytest.approx([0.55, 0.7])


def size_of(folder: Path, n_models: int, roster: Roster) -> pd.DataFrame:
    """Lines of models at chance, the first alone off it."""
    rows = read_table(folder / "summaries.parquet", Summaries)
    rows = rows[rows["model"] == "knows"].assign(mean=0.6, ci_low=0.45, ci_high=0.7)
    others = [rows.assign(model=f"other{n}") for n in range(n_models - 1)]
    return figures.size(pd.concat([rows.assign(ci_low=0.55), *others]), roster)


@pytest.mark.parametrize("n_models", [2, FEW + 1])
def test_of_many_models_only_what_is_off_chance_has_its_colour_and_its_name(
    folder: Path, n_models: int
) -> None:
    frame = size_of(folder, n_models, Roster())
    axes = draw_lines(frame).axes[0]
    of_model = dict(zip(frame["model"], frame["colour"], strict=True))
    colours = {line.get_color() for line in axes.lines}
    named = {text.get_text() for text in axes.texts}
    assert of_model["knows"] in colours
    if n_models > FEW:
        assert style.GREY in colours
        assert named == {"knows", f"not shown to differ: {FEW}"}
    else:
        assert of_model["other0"] in colours
        assert named == {"knows", "other0"}


def test_a_rule_is_thin_and_grey_beside_a_bold_model(folder: Path) -> None:
    roster = Roster({"other0": ShownModel("other0", "A rule", family="rule")})
    axes = draw_lines(size_of(folder, 2, roster)).axes[0]
    widths = {line.get_color(): line.get_linewidth() for line in axes.lines[1:]}
    model = next(colour for colour in widths if colour != style.RULE_COLOUR)
    assert widths[model] > 2 * widths[style.RULE_COLOUR]
    weights = {text.get_text(): text.get_fontweight() for text in axes.texts}
    assert weights == {"knows": "bold", "A rule": "normal"}


def test_maps_of_few_tuples_are_not_drawn(folder: Path) -> None:
    rows = read_table(folder / "summaries.parquet", Summaries)
    for show in (trial_displays.skins, trial_displays.places):
        with pytest.raises(TooLittleError, match="tuples on average"):
            show(rows.assign(n=trial_displays.FEWEST_TUPLES - 1), Roster())
        assert len(show(rows.assign(n=trial_displays.FEWEST_TUPLES), Roster()))


def test_a_mark_without_interval_is_hollow_in_a_line_that_is_off_chance(folder: Path) -> None:
    rows = read_table(folder / "summaries.parquet", Summaries)
    frame = figures.size(rows.assign(mean=0.6, ci_low=0.55, ci_high=0.7), Roster())
    frame = frame[frame["model"] == "knows"]
    last = frame["x"] == frame.groupby(["panel", "axis"])["x"].transform("max")
    frame.loc[last, ["ci_low", "ci_high"]] = np.nan
    for axes in draw_lines(frame).axes:
        joined = next(line for line in axes.lines[1:] if line.get_linestyle() == "-")
        hollow = next(line for line in axes.lines if line.get_markerfacecolor() == "white")
        assert joined.get_color() == frame["colour"].iloc[0]
        assert hollow.get_markerfacecolor() == "white"
        assert list(hollow.get_xdata()) == [max(joined.get_xdata())]


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
    ("gain", "said"),
    [
        ((0.12, 0.10, 0.14, 18), "beats it"),
        ((0.02, -0.01, 0.05, 18), "no evidence that it reasons"),
        ((0.12, np.nan, np.nan, 1), "is not compared with it"),
    ],
)
def test_a_model_beats_the_rule_that_counts_or_not_or_nobody_can_say(
    gain: tuple[float, ...], said: str
) -> None:
    row = pd.Series(dict(zip(("mean", "ci_low", "ci_high", "n_clusters"), gain, strict=True)))
    assert said in _compare_with_rule("knows", row, 0.878)


def test_conversations_about_our_own_trials_are_shown_whole_and_escaped(folder: Path) -> None:
    part = compose(material(folder, folder / "trials" / "test.parquet"))
    shown = str(part.extras["problems"])
    assert part.has_item_text
    assert "&lt;b&gt;I say&lt;/b&gt;" in shown
    assert "<b>I say" not in shown
    assert shown.count('class="tuple"') == 6 * 3
    assert "2 of the 2 answers below (models and rules) are right" in shown


def test_trials_without_our_canary_are_never_quoted(folder: Path, tmp_path: Path) -> None:
    trials = read_trials(folder / "trials" / "test.parquet")
    write_table(trials[list(Trials.columns)], Trials, tmp_path / "test.parquet", Provenance())
    with pytest.raises(UserError, match="must not be shown"):
        compose(material(folder, tmp_path / "test.parquet"))
