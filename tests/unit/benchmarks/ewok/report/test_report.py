"""The report: what it says, what it must not say, and that it works in a browser without a
network.
"""

from __future__ import annotations

import html
import html.parser
import json
import re
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import run
from simulated_judgements import simulate_items, simulate_judgements
from worldprobe.benchmarks.ewok.analysis.compare import compare_on_items
from worldprobe.benchmarks.ewok.analysis.summarize import item_means
from worldprobe.benchmarks.ewok.benchmark import BENCHMARK as EWOK
from worldprobe.benchmarks.ewok.contracts import Comparisons, Items, Summaries, TargetScores
from worldprobe.benchmarks.ewok.figures.paradigms import paradigms
from worldprobe.benchmarks.ewok.report import compose, describe_methods
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.tables import accuracy
from worldprobe.benchmarks.ewok.tables.models import (
    contexts_by_model,
    domains_by_model,
    mean_accuracies,
    models_against_chance,
    ways_by_model,
)
from worldprobe.contracts import write_table
from worldprobe.inference.requests import collect, describe_origins
from worldprobe.inference.store import Store
from worldprobe.provenance import Provenance
from worldprobe.report.findings import lead_values
from worldprobe.report.model_names import Roster
from worldprobe.report.origins import TableOrigin, read_origins
from worldprobe.report.page import (
    Material,
    ReportPage,
    build_part,
    render_report,
    render_template,
)
from worldprobe.report.runtimes import Cost, RunTime, read_run_times
from worldprobe.report.sheet import DETECTABLE
from worldprobe.report.style import write_forms

OWN = "# worldprobe canary 0000: our own materials"
OFFICIAL = "# EWoK canary UUID 0000"


def items_table(path: Path, canary: str) -> Path:
    """Two invented items."""
    row = {name: "" for name, column in Items.columns.items() if not column.optional}
    row |= {"version": 0, "meta_template": 1, "template": 1, "fillers": "{}"}
    row |= {"context1": "The zurple is warm.", "context2": "The zurple is cold."}
    row |= {"target1": "It melts the frim.", "target2": "It freezes the frim."}
    row |= {"concept_a": "warm", "concept_b": "cold", "context_contrast": "antonym"}
    row |= {"context_type": "direct", "target_contrast": "concept swap", "duplicate_of": None}
    rows = [
        row | {"item_id": f"{domain}_1_1_v0", "domain": domain}
        for domain in ("material-properties", "spatial-relations")
    ]
    write_table(
        pd.DataFrame(rows),
        Items,
        path,
        Provenance(canary=canary, details={"mode": "fixed", "versions": [0]}),
    )
    return path


def interrupted_scores(folder: Path, model: str) -> Path:
    """Scores whose answers took two attempts on four GPUs: an hour before the first was
    interrupted, half an hour after that.
    """

    def stop_at(number):
        def ask(questions, skip):
            for place in range(len(questions)):
                if place == number:
                    raise KeyboardInterrupt
                if place not in skip:
                    yield place, 0

        return ask

    def store(seconds: float) -> Store:
        return Store(
            folder / "answers",
            {"model": model},
            {"device": "cuda"},
            4,
            since=time.monotonic() - seconds,
        )

    with pytest.raises(KeyboardInterrupt):
        collect(["q1", "q2"], stop_at(1), store(3600))
    second = store(1800)
    made = Provenance(
        model=model,
        details={"answers": describe_origins(collect(["q1", "q2"], stop_at(None), second), second)},
    )
    row = {
        "item_id": "domain_1_1_v0",
        "target": 1,
        "context": 1,
        "logprob": -1.0,
        "n_tokens": 1,
        "flags": "",
    }
    write_table(pd.DataFrame([row]), TargetScores, folder / "scores.parquet", made)
    return folder / "scores.parquet"


@pytest.fixture(scope="module")
def page(small_study, tmp_path_factory) -> Path:
    """A report with everything in it, by the command line."""
    folder = tmp_path_factory.mktemp("report")
    roster, summaries = small_study.roster, small_study.folder / "summaries.parquet"
    concepts = next(one for one in EWOK.displays if (one.kind, one.name) == ("figure", "concepts"))
    write_forms(concepts(small_study.summaries, roster), concepts.draw, [folder / "concepts.svg"])
    accuracy.mean_accuracy(small_study.summaries, roster).write([folder / "mean_accuracy.json"])
    (folder / "benchmarks" / "score").mkdir(parents=True)
    for model, seconds in (("control_gpt2_small", 12.5), ("control_untrained", 30.0)):
        text = f"s\th:m:s\tmax_rss\n{seconds}\t0:00:12\t900.5\n"
        (folder / "benchmarks" / "score" / f"{model}.tsv").write_text(text)
    scores = interrupted_scores(folder, "control_gpt2_small")
    items = items_table(folder / "items.parquet", OWN)
    command = f"report build {summaries} --registry {small_study.registry_path}"
    command += f" --figures {folder}/concepts.svg --tables {folder}/mean_accuracy.json"
    took = f"--benchmarks {folder}/benchmarks --answers {folder}/answers"
    settings = "--settings '" + json.dumps({"study": "small", "benchmarks": ["ewok"]}) + "'"
    known = (
        f"archive record-study {items} {scores} {settings} --registry {small_study.registry_path}"
    )
    assert run(f"{known} {took} --out {folder}/study.json") == 0
    command += f" --made-from {items} {scores} --record {folder}/study.json"
    assert run(f"{command} --out {folder}/report.html") == 0
    return folder / "report.html"


def test_the_report_fetches_nothing(page):
    text = page.read_text()
    assert "default-src 'none'" in html.unescape(text)
    assert not re.search(r'\b(src|data)="(?!data:)', text)
    hosts = set(re.findall(r"https?://([^/\"'\s<]+)", text))
    assert hosts <= {"www.w3.org"}  # names of XML vocabularies, which nobody loads


def test_the_report_prints_the_tables_as_they_were_printed(page, small_study):
    text = page.read_text()
    for row in accuracy.mean_accuracy(small_study.summaries, small_study.roster).cells():
        assert all(f">{cell}</td>" in text for cell in row)


def test_without_the_switch_no_item_text_is_in_the_page(page):
    text = page.read_text()
    assert "zurple" not in text
    assert "This page contains no item text." in text


def test_every_domain_opens_to_its_concepts_lowest_mean_first(page, small_study):
    text = page.read_text()
    summaries = small_study.summaries
    rows = summaries.query(
        "grouping == 'concept' and metric == 'accuracy' and eval_type == 'logprobs' and condition"
        " == 'all'"
    )
    trained = rows[
        (rows.model != "control_untrained") & rows.group.str.startswith("agent-properties/")
    ]
    expected = (
        trained.groupby("group")["mean"].mean().sort_values().index.str.split("/").str[1].tolist()
    )
    block = re.search(r'id="domain-agent-properties".*?</details>', text, flags=re.DOTALL).group(0)
    assert re.findall(r'<th scope="row">([^<]+)</th>', block) == expected


def test_the_lead_counts_trained_controls_and_no_untrained_one(small_study):
    wanted = "grouping == 'overall' and metric == 'accuracy' and condition == 'all'"
    rows = small_study.summaries.query(f"{wanted} and eval_type == 'logprobs'")
    trained = rows[rows.model.str.startswith("control_") & (rows.model != "control_untrained")]
    found = lead_values(mean_accuracies(small_study.summaries, small_study.roster))
    assert (found["lowest"], found["highest"]) == (trained["mean"].min(), trained["mean"].max())
    assert found["n_models"] == found["n_above"] == len(trained)
    assert not found["has_published"]
    means = small_study.summaries["mean"].where(
        small_study.summaries.model != trained.model.iloc[0]
    )
    summaries = small_study.summaries.assign(mean=means)
    assert lead_values(mean_accuracies(summaries, small_study.roster))["n_models"] == (
        len(trained) - 1
    )


def test_what_a_published_model_knows_is_in_numbers(small_study):
    """Its domains by where they lie, the order as far as it is sure, contexts, and ways of
    asking on the same items.
    """
    rows = small_study.summaries.replace({"model": {"control_gpt2_small": "real"}})
    rows = rows[rows.model.isin(["real", "control_untrained", "word2vec"])].copy()
    is_real = (rows.model == "real") & (rows.metric == "accuracy")
    first, *_, last = sorted(set(rows.loc[rows.grouping == "domain", "group"]))
    numbers = {"": (0.55, 0.45, 0.65), first: (0.9, 0.88, 0.92), last: (0.3, 0.28, 0.32)}
    for group, found in numbers.items():
        rows.loc[
            is_real & (rows.group.eq(group) | (group == "")), ["mean", "ci_low", "ci_high"]
        ] = found
    overall = rows[is_real & (rows.grouping == "overall")].assign(grouping="prompted", n=40)
    ways = {"choice_constrained_zero": 0.5, "logprobs": 0.6}
    prompted = [overall.assign(eval_type=way, mean=mean) for way, mean in ways.items()]
    rows = pd.concat([rows, *prompted], ignore_index=True)
    found = lead_values(mean_accuracies(rows, small_study.roster))
    assert (found["n_models"], found["first"]["name"]) == (1, "real")
    assert found["first"]["mean"] == 0.55
    domains = domains_by_model(rows, small_study.roster).frame.set_index("group")
    assert domains.loc[[first, last], "against"].tolist() == ["above", "below"]
    assert set(domains["against"].drop([first, last])) == {"not shown to differ"}
    assert in_words(last) in domains.loc[first, "lower"]
    assert domains.loc[last, "lower"] == ""
    contexts, asked = (
        shown(rows, small_study.roster) for shown in (contexts_by_model, ways_by_model)
    )
    assert ["real", "direct", "0.550", "0.450–0.650"] in [row[:4] for row in contexts.cells()]
    assert "40 items" in asked.title
    ways = asked.frame.set_index("asked")["mean"]
    assert ways["LogProbs"] == 0.6
    assert ways["Choice, constrained, no examples"] == 0.5
    rows.loc[rows.eval_type == "choice_constrained_zero", "n"] = 30
    contexts, asked = (
        shown(rows, small_study.roster) for shown in (contexts_by_model, ways_by_model)
    )
    assert len(contexts.frame)
    assert asked.frame.empty, "they are not the same items"


def test_domains_of_two_models_are_corrected_for_the_domains_of_both(small_study):
    """Each model's domains were corrected for its own number alone."""
    rows = small_study.summaries
    is_domain = (
        (rows.grouping == "domain") & (rows.metric == "accuracy") & (rows.condition == "all")
    )
    ends = {"mean": 0.6, "ci_low": 0.52, "ci_high": 0.68, "std_error": 0.0406, "n_clusters": 400}
    rows = rows.assign(**{name: rows[name].mask(is_domain, end) for name, end in ends.items()})
    first = sorted(rows.loc[is_domain, "group"].unique())[:3]
    rows = rows[~is_domain | rows["group"].isin(first)]
    models = ["control_gpt2_small", "control_gpt2_large"]
    for described, said in ((models[:1], "above"), (models, "not shown to differ")):
        shown = domains_by_model(rows[rows["model"].isin(described)], small_study.roster)
        assert set(shown.frame["against"]) == {said}


def test_what_was_asked_about_a_share_stands_beside_others_on_that_share(paper_study):
    """In figures, tables and sentences; the means over all items are those of log probabilities
    alone.
    """
    rows, roster = paper_study.summaries, paper_study.roster
    share = rows[rows.grouping == "overall"].assign(grouping="prompted", mean=0.625, n=40)
    rows = pd.concat([rows, share], ignore_index=True)
    shown = paradigms(rows, roster)
    assert set(shown["mean"]) == {0.625}
    assert {"logprobs", "human_likert"} <= set(shown.eval_type)
    people = mean_accuracies(rows, roster, "likert_constrained_two").set_index("model")
    assert people.loc["human", "mean"] == 0.625
    pd.testing.assert_frame_equal(
        mean_accuracies(rows, roster), mean_accuracies(paper_study.summaries, roster)
    )
    assert set(accuracy.accuracy_by_paradigm(rows, roster).frame["logprobs_mean"]) == {0.625}


def one_model(summaries, **numbers):
    """The summaries of the first trained control, with these numbers everywhere."""
    return summaries[summaries.model == "control_gpt2_small"].assign(**numbers)


def test_a_single_model_that_may_be_guessing_is_said_to(small_study):
    rows, roster = small_study.summaries, small_study.roster
    above = one_model(rows, mean=0.6, ci_low=0.55, ci_high=0.65)
    assert lead_values(mean_accuracies(above, roster))["first"]["against"] == "above"
    guessing = one_model(rows, mean=0.505, ci_low=0.49, ci_high=0.52)
    found = lead_values(mean_accuracies(guessing, roster))
    assert found["first"]["against"] == "not shown to differ"
    everyone = rows.assign(mean=0.5, ci_low=0.48, ci_high=0.52)
    assert lead_values(mean_accuracies(everyone, roster))["n_above"] == 0


def test_a_model_is_set_beside_the_strongest_baseline_by_the_same_metric(small_study, tmp_path):
    """Beside a model of 0.65 by pairing stood 0.55, what sentence vectors reach by another question."""
    rows = one_model(small_study.summaries)
    baselines = small_study.summaries.query("eval_type in ['wordnet', 'sentence_vectors']")
    rows = pd.concat([rows, baselines], ignore_index=True)
    is_overall = (rows["grouping"] == "overall") & (rows["metric"] == "pairing")
    for model, mean in {
        "control_gpt2_small": 0.648,
        "wordnet": 0.55,
        "sentence_vectors": 0.643,
    }.items():
        rows.loc[is_overall & (rows["model"] == model), "mean"] = mean
    write_table(rows, Summaries, tmp_path / "summaries.parquet", Provenance())
    part = compose(Material(tmp_path / "summaries.parquet", small_study.roster))
    assert "GPT-2 style, small 0.648; strongest baseline: Sentence vectors 0.643." in part.lead
    shown = models_against_chance(rows, small_study.roster)
    assert "Pairing" in [column.heading for column in shown.columns]
    assert "An item's pairing is 1" in part.methods.text


def first_screen(folder, odds):
    """The first sentences about models of these log odds, beside baselines near chance."""
    items = simulate_items(120, 2, 0)
    ways = dict.fromkeys(odds, "logprobs") | {
        name: name for name in ("wordnet", "sentence_vectors")
    }
    strengths = odds | {"wordnet": 0.1, "sentence_vectors": 0.3}
    judged = pd.concat(
        [
            simulate_judgements(items, np.full((1, len(items), 2), odd), [name], ways[name], seed)
            for seed, (name, odd) in enumerate(strengths.items())
        ],
        ignore_index=True,
    ).assign(filling="own")
    files = [folder / f"{name}.parquet" for name in ("summaries", "comparisons")]
    write_table(item_means(judged), Summaries, files[0], Provenance())
    write_table(compare_on_items(judged), Comparisons, files[1], Provenance())
    part = compose(Material(files[0], Roster({}), comparisons=files[1]))
    shown = str(part.lead).replace("&#39;", "'")
    assert all(html.escape(one, quote=False) in shown for one in part.findings)
    page = folder / "report.html"
    assert run(f"report build {files[0]} --comparisons {files[1]} --out {page}") == 0
    header = page.read_text().partition("</header>")[0].replace("&#39;", "'")
    assert all(html.escape(one, quote=False) in header for one in part.findings)
    return part.findings


@pytest.mark.long
def test_the_first_screen_says_which_of_two_models_is_better_and_whether_they_beat_baselines(
    tmp_path,
):
    """It stood in a folded table, as a count of pairs that differ."""
    _, better, *baselines = first_screen(tmp_path, {"ant": 0.35, "bee": 2.0})
    assert better.startswith("bee is better than ant: 0.8")
    assert re.search(r" points \(95% interval: [\d.]+ to [\d.]+; p < 0.001\)\.$", better)
    assert [one.partition(",")[0] for one in baselines] == [
        "bee beats its strongest baseline",
        "ant is not shown to beat its strongest baseline",
    ]
    assert all("Sentence vectors: 0." in one for one in baselines)
    _, alike, *_ = first_screen(tmp_path, {"ant": 1.0, "bee": 1.0})
    assert re.match("(ant and bee|bee and ant): no difference shown; 0[.]7.* p = 0[.]", alike)


def test_the_first_screen_says_which_of_many_models_differ_from_the_best(tmp_path):
    said = first_screen(tmp_path, {"ant": 2.0, "bee": 1.9, "cow": 0.0, "dog": 0.4})
    assert len(said) == 3
    assert re.match(r"(ant|bee) has the highest accuracy, 0\.8", said[1])
    assert "lower than it (p < 0.05 after Holm's correction): dog, cow; not shown" in said[1]
    assert said[2].startswith("2 of 4 models beat their strongest baseline (Sentence vectors; p <")
    assert said[2].endswith("not shown to: dog, cow.")


def test_summaries_of_earlier_releases_have_no_empty_column_of_pairs_of_concepts(small_study):
    earlier = small_study.summaries
    overall = earlier[(earlier["grouping"] == "overall") & (earlier["condition"] == "all")]
    pairs = overall.assign(grouping="concept pairs")
    for summaries, is_shown in (
        (earlier, False),
        (pd.concat([earlier, pairs], ignore_index=True), True),
    ):
        sheet = models_against_chance(summaries, small_study.roster)
        headings = [column.heading for column in sheet.columns]
        assert ("Mean over pairs of concepts" in headings) == is_shown
        assert any("pair of concepts" in note for note in sheet.notes) == is_shown


@pytest.mark.long
def test_a_page_of_a_smoke_test_has_no_mean_over_pairs_of_concepts(small_study, tmp_path):
    """Its first lines say that it is no estimate, and a folded table printed one."""
    overall = small_study.summaries.query("grouping == 'overall' and condition == 'all'")
    pairs = [small_study.summaries, overall.assign(grouping="concept pairs")]
    key = list(Summaries.Config.key)
    summaries = pd.concat(pairs).sort_values(key, ignore_index=True)
    write_table(summaries, Summaries, tmp_path / "summaries.parquet", Provenance())
    for strata in ({}, {"strata": 389}):
        made = Provenance(details={"sample": {"of": 2000, **strata}})
        origins = [TableOrigin("items", tmp_path / "items.parquet", made)]
        material = Material(tmp_path / "summaries.parquet", small_study.roster, origins)
        shown = build_part(EWOK, material)
        headings = str([table.columns for table in shown.tables])
        assert ("Mean over pairs of concepts" in headings) == (not strata)


def test_of_what_is_only_scored_nothing_is_unreadable(small_study):
    """LogProbs had "Unreadable 0%", and so had types of context asked by LogProbs alone."""
    sheet = contexts_by_model(small_study.summaries, small_study.roster)
    assert not any("Unreadable" in column.heading for column in sheet.columns)
    assert sheet.frame["unread"].isna().all()


def test_an_untrained_control_off_chance_is_called_a_reason_for_doubt(small_study, tmp_path):
    summaries = small_study.summaries.copy()
    off = (summaries.model == "control_untrained") & (summaries.condition == "all")
    for numbers, is_off in (((0.6, 0.57, 0.63), True), ((0.5, 0.47, 0.53), False)):
        summaries.loc[off, ["mean", "ci_low", "ci_high"]] = numbers
        write_table(summaries, Summaries, tmp_path / "summaries.parquet", Provenance())
        said = compose(Material(tmp_path / "summaries.parquet", small_study.roster)).caveats
        assert ("where 0.5 is expected. Look for a leak" in said) == is_off


def test_the_methods_paragraph_takes_its_numbers_from_provenance(small_study, tmp_path):
    made = read_origins([items_table(tmp_path / "items.parquet", OFFICIAL)])
    scored = Provenance(
        model="word2vec",
        dtype="bfloat16",
        packages={"torch": "9.8.7", "worldprobe": "0.0.1"},
        details={"n_vectors": 9, "is_trained_here": True},
    )
    scores = TableOrigin("judgements", Path("t.parquet"), scored)
    said = describe_methods(small_study.summaries, [*made, scores], small_study.roster).text
    bare = describe_methods(small_study.summaries, [], small_study.roster).text
    for part in (
        "weights: bfloat16",
        "torch 9.8.7",
        "official EWoK materials",
        "(versions: 0)",
        "9, trained on",
    ):
        assert part in said
        assert part not in bare
    assert "zurple" not in said


def test_the_methods_say_that_items_are_a_share(small_study):
    made = {
        "items": Provenance(details={"limit": 600}),
        "responses": Provenance(details={"limit": 52}),
    }
    origins = [TableOrigin(kind, Path(f"{kind}.parquet"), one) for kind, one in made.items()]
    text = describe_methods(small_study.summaries, origins, small_study.roster).text
    assert "600 templates were taken" in text
    assert "about 52 of these templates" in text


def test_the_cost_of_answers_is_that_of_all_attempts(page):
    text = page.read_text()
    cells = re.search(r"<tr><td>GPT-2 style, small</td><td>cuda</td>(.*?)</tr>", text).group(1)
    answers, hours, gpu_hours = re.findall(r'<td class="n">([^<]*)</td>', cells)
    assert (answers, hours, gpu_hours) == ("2", "1.500", "6.000")
    (told,) = read_run_times(page.parent / "benchmarks")
    assert (told.rule, told.jobs, told.seconds, told.longest, told.peak) == (
        "score",
        2,
        42.5,
        30.0,
        900.5,
    )
    scoring = re.search(r"<tr><td>score</td>(.*?)</tr>", text).group(1)
    shown = [round(float(one)) for one in re.findall(r'<td class="n">([\d.]+)</td>', scoring)[:3]]
    assert shown == [2, 5400, 5400]


def test_tokens_and_money_are_shown_where_they_are_known():
    costs = [
        Cost(3600.0, {"cpu": 3600.0}, 10, name="a"),
        Cost(3600.0, {"the server's": 3600.0}, 10, 2_000_000, 1_500, "b", (0.5, 2.0)),
        Cost(3600.0, {"the server's": 3600.0}, 10, 1_000_000, 0, "c", (0.5, 2.0)),
    ]
    times = [RunTime("score", 2, 4.0, 3.0, None)]
    text = render_report(ReportPage(parts=[], run_times=times, answer_times=costs))
    rows = re.findall(r"<tr><td>[abc]</td>.*?</tr>", text)
    assert [re.findall(r'<td class="n">([^<]*)</td>', row)[-3:] for row in rows] == [
        ["–", "–", "–"],
        ["2,000,000", "1,500", "1.00"],
        ["1,000,000", "–", "0.50"],
    ]


def test_missing_models_are_named_with_their_reason(small_study, tmp_path):
    made_by = Provenance(
        details={"missing_models": {"control_llama_small": "out of memory", "gone": ""}}
    )
    summaries = tmp_path / "summaries.parquet"
    write_table(small_study.summaries, Summaries, summaries, made_by)
    outs = {name: tmp_path / f"x.{name}" for name in ("html", "md")}
    how = f"{summaries} --registry {small_study.registry_path} --out"
    assert run(f"report build {how} {outs['html']}") == 0
    assert run(f"table mean_accuracy {how} {outs['md']}") == 0
    for out in outs.values():
        assert "Llama style, small (out of memory), gone" in out.read_text()


def test_a_table_of_other_columns_is_answered_with_what_can_be_built(small_study, tmp_path, capsys):
    """Summaries of EWoK have the name of those of minimal pairs, and other columns."""
    summaries = tmp_path / "summaries.parquet"
    write_table(small_study.summaries, Summaries, summaries, Provenance())
    assert run(f"table accuracy {summaries} --out {tmp_path / 'x.md'}") == 2
    said = capsys.readouterr().err
    assert "is not built from" in said
    assert "mean_accuracy" in said
    assert "Make the file again" not in said
    assert not (tmp_path / "x.md").exists()


def test_the_kept_picture_of_the_rules_shows_the_kept_graph(request):
    folder = request.config.rootpath / "resources"
    rules = set(re.findall(r'label = "(\w+)', (folder / "rulegraph.dot").read_text()))
    drawn = set(re.findall(r">(\w+)</text>", (folder / "rulegraph.svg").read_text()))
    assert rules == drawn, "make rulegraph"


def test_a_difference_that_no_accuracies_can_have_is_not_called_detectable():
    assert [DETECTABLE.show(value) for value in (0.2, 1.252)] == ["0.200", "–"]
    numbers = dict.fromkeys(("difference", "ci_low", "ci_high", "p", "p_holm"), 0.5)
    for value, said in (
        (0.2, "20.0 points"),
        (1.252, "more than possible"),
        (np.nan, "– points"),
    ):
        row = numbers | {"detectable": value}
        text = render_template("worldprobe.report", "assets/difference.txt.jinja", row=row)
        assert f"in 80% of such studies: {said}" in text


def test_what_both_metrics_lack_is_said_once(tmp_path):
    items = simulate_items(120, 2, 0)
    judged = simulate_judgements(items, np.zeros((2, len(items), 2)), ["ant", "bee"], "logprobs", 0)
    files = [tmp_path / f"{name}.parquet" for name in ("summaries", "comparisons")]
    write_table(item_means(judged), Summaries, files[0], Provenance())
    both = pd.concat([compare_on_items(judged, metric=one) for one in ("accuracy", "pairing")])
    write_table(both, Comparisons, files[1], Provenance())
    found = compose(Material(files[0], Roster({}), comparisons=files[1])).findings
    assert sum("By pairing: " in one for one in found) == 1
    assert sum("Not compared with a baseline." in one for one in found) == 1
