"""The report: what it says, what it must not say, and that it works in a browser without a
network.
"""

from __future__ import annotations

import html
import html.parser
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.benchmark import BENCHMARK as EWOK
from worldprobe.benchmarks.ewok.contracts import Items, TargetScores
from worldprobe.benchmarks.ewok.figures.paradigms import paradigms
from worldprobe.benchmarks.ewok.report import (
    compose,
    describe_methods,
    lead,
    more,
    points,
    read_examples,
)
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.tables import accuracy
from worldprobe.cli import main
from worldprobe.contracts import write_table
from worldprobe.errors import UserError
from worldprobe.inference.requests import collect, describe_origins
from worldprobe.inference.store import Store
from worldprobe.provenance import Provenance
from worldprobe.report.crate import TableOrigin, read_origins
from worldprobe.report.page import Material, Page, build_page, build_part, read_picture
from worldprobe.report.runtimes import Cost, RunTime, read_run_times, with_all_attempts
from worldprobe.report.style import render

CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)
OWN = "# worldprobe canary 0000: our own materials"
OFFICIAL = "# EWoK canary UUID 0000"

PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    ' width="10pt" height="9pt">{}</svg>'
)


def items_table(path: Path, canary: str) -> Path:
    """Two invented items."""
    row = {
        "version": 0,
        "meta_template": 1,
        "template": 1,
        "context1": "The zurple is warm.",
        "context2": "The zurple is cold.",
        "target1": "It melts the frim.",
        "target2": "It freezes the frim.",
        "concept_a": "warm",
        "concept_b": "cold",
        "context_contrast": "antonym",
        "context_type": "direct",
        "target_contrast": "concept swap",
        "fillers": "{}",
        "tags": "",
        "duplicate_of": None,
    }
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
    roster = small_study.roster
    for name in ("accuracy_by_domain", "concepts", "controls"):
        figure = next(one for one in EWOK.displays if one.kind == "figure" and one.name == name)
        frame = figure(*(getattr(small_study, table.name) for table in figure.inputs), roster)
        render(frame, figure.draw, [folder / f"{name}.svg"])
    accuracy.mean_accuracy(small_study.summaries, roster).write([folder / "mean_accuracy.json"])
    accuracy.accuracy_by_domain(small_study.summaries, roster).write(
        [folder / "accuracy_by_domain.json"]
    )
    (folder / "rules.svg").write_text(PICTURE.format("<title>rules</title>"))
    (folder / "benchmarks" / "score").mkdir(parents=True)
    for model, seconds in (("control_gpt2_small", 12.5), ("control_untrained", 30.0)):
        (folder / "benchmarks" / "score" / f"{model}.tsv").write_text(
            f"s\th:m:s\tmax_rss\n{seconds}\t0:00:12\t900.5\n"
        )
    (folder / "explore_failures.html").write_text(
        "<div class='cell'><p>Looked at failures.</p></div>"
    )
    command = [
        "report",
        "build",
        str(small_study.folder / "summaries.parquet"),
        "--registry",
        str(small_study.registry_path),
    ]
    command += [
        "--figures",
        *(str(folder / f"{name}.svg") for name in ("accuracy_by_domain", "concepts", "controls")),
    ]
    command += [
        "--tables",
        str(folder / "mean_accuracy.json"),
        str(folder / "accuracy_by_domain.json"),
    ]
    command += [
        "--made-from",
        str(items_table(folder / "items.parquet", OWN)),
        str(small_study.folder / "coefficients.parquet"),
    ]
    command += [str(interrupted_scores(folder, "control_gpt2_small"))]
    command += [
        "--benchmarks",
        str(folder / "benchmarks"),
        "--rulegraph",
        str(folder / "rules.svg"),
    ]
    command += ["--answers", str(folder / "answers")]
    command += [
        "--study",
        "trial",
        "--notebooks",
        str(folder / "explore_failures.html"),
        "--out",
        str(folder / "report.html"),
    ]
    assert main(command) == 0
    return folder / "report.html"


#: Attributes by which a browser fetches something.
FETCHING = {(tag, name) for tag in ("image", "use") for name in ("href", "xlink:href")} | {
    ("link", "href"),
    ("object", "data"),
}
FETCHING |= {
    (tag, "src") for tag in ("script", "img", "iframe", "source", "video", "audio", "embed")
}


class Reader(html.parser.HTMLParser):
    """Collects tags, ids and everything a browser would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (tag, name) in FETCHING and value and not value.startswith(("#", "data:")):
                self.fetched.append(value)
            if name == "id" and value:
                self.ids.append(value)
            if tag == "a" and name == "href" and value:
                self.links.append(value)


def test_the_report_fetches_nothing(page):
    text = page.read_text()
    reader = Reader(text)
    assert reader.fetched == []
    assert "@import" not in text
    assert not re.search(r"url\(\s*['\"]?(?!#)", text)
    assert "default-src 'none'" in html.unescape(text)
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|sendBeacon", text)
    hosts = set(re.findall(r"https?://([^/\"'\s<]+)", text))
    assert hosts <= {"www.w3.org"}  # names of XML vocabularies, which nobody loads


def test_style_and_script_are_not_escaped(page):
    text = page.read_text()
    for element in ("style", "script"):
        inside = text.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
        assert len(inside) > 1000
        assert not re.search(r"&(#\d+|gt|lt|amp);", inside), element


def test_ids_are_unique_and_links_lead_somewhere(page):
    reader = Reader(page.read_text())
    assert len(reader.ids) == len(set(reader.ids))
    assert {link[1:] for link in reader.links} <= set(reader.ids)
    assert all(link.startswith("#") for link in reader.links)


def test_the_report_says_plainly_what_control_models_are(page):
    text = page.read_text()
    assert "this pipeline made from scratch" in text
    assert "No published language model took part" in text


def test_the_report_prints_the_tables_as_they_were_printed(page, small_study):
    text = page.read_text()
    for row in accuracy.mean_accuracy(small_study.summaries, small_study.roster).cells():
        assert all(f">{cell}</td>" in text for cell in row)


def test_without_the_switch_no_item_text_is_in_the_page(page):
    text = page.read_text()
    assert "zurple" not in text
    assert "This page contains no item text." in text


def test_item_text_is_shown_for_our_own_materials_only(tmp_path):
    shown = read_examples(items_table(tmp_path / "own.parquet", OWN))
    assert [example.target1 for example in shown] == ["It melts the frim."] * 2
    for canary in (OFFICIAL, "", f"{OWN}\n{OFFICIAL}"):
        with pytest.raises(UserError, match="must not be shown") as caught:
            read_examples(items_table(tmp_path / "other.parquet", canary))
        assert "zurple" not in caught.value.lines()


def test_examples_stand_in_the_page_when_asked_for(small_study, tmp_path):
    items = items_table(tmp_path / "own.parquet", OWN)
    material = Material(
        small_study.folder / "summaries.parquet", small_study.roster, item_text=items
    )
    text = build_page(Page([build_part(EWOK, material)]))
    assert "The zurple is warm." in text
    assert "contains no item text" not in text


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


def test_the_lead_gives_the_range_of_means_and_the_untrained_control_is_at_chance(small_study):
    rows = small_study.summaries.query(
        "grouping == 'overall' and metric == 'accuracy' and condition == 'all' and eval_type =="
        " 'logprobs'"
    )
    trained = rows[rows.model.str.startswith("control_") & (rows.model != "control_untrained")]
    said = lead(small_study.summaries, small_study.roster)
    assert said.startswith(f"Mean accuracies run from {trained['mean'].min():.3f} (")
    assert f"to {trained['mean'].max():.3f} (" in said
    assert said.endswith(
        f"intervals (for all at once) of all {len(trained)} models lie above it. Not counted here:"
        " Untrained, which learned nothing."
    )
    unanswered = small_study.summaries.assign(
        mean=small_study.summaries["mean"].where(
            small_study.summaries.model != trained.model.iloc[0]
        )
    )
    assert lead(unanswered, small_study.roster).endswith(
        f"of {'both' if len(trained) == 3 else f'all {len(trained) - 1}'} models lie above it. Not"
        " counted here: Untrained, which learned nothing. Not counted here:"
        f" {small_study.roster[trained.model.iloc[0]].name}, without an accuracy."
    )
    sentences = more(small_study.summaries, small_study.roster)
    assert any(
        "Untrained, a control that knows nothing" in one and one.endswith("0.5 is expected.")
        for one in sentences
    )


def test_no_model_or_domain_is_called_best_or_hardest(page, small_study):
    text = " ".join(
        [
            lead(small_study.summaries, small_study.roster),
            *more(small_study.summaries, small_study.roster),
        ]
    )
    assert not re.search("best|worst|highest|lowest|easiest|hardest", text)
    assert not re.search("best:|easiest|hardest|biased", page.read_text())


def test_what_a_published_model_knows_comes_before_the_controls(small_study):
    """Its domains by where they lie, the order as far as it is sure, contexts, and ways of asking
    on the same items.
    """
    renamed = small_study.summaries.replace({"model": {"control_gpt2_small": "real"}})
    rows = renamed[renamed.model.isin(["real", "control_untrained", "word2vec"])].copy()
    is_real = (rows.model == "real") & (rows.metric == "accuracy")
    rows.loc[is_real, ["mean", "ci_low", "ci_high"]] = (0.55, 0.45, 0.65)
    first, *_, last = sorted(set(rows.loc[rows.grouping == "domain", "group"]))
    rows.loc[is_real & (rows.group == first), ["mean", "ci_low", "ci_high"]] = (0.9, 0.88, 0.92)
    rows.loc[is_real & (rows.group == last), ["mean", "ci_low", "ci_high"]] = (0.3, 0.28, 0.32)
    overall = rows[is_real & (rows.grouping == "overall")]
    prompted = [
        overall.assign(grouping="prompted", eval_type=way, mean=mean, n=40)
        for way, mean in WAYS.items()
    ]
    rows = pd.concat([rows, *prompted], ignore_index=True)
    roster = small_study.roster
    said = lead(rows, roster)
    assert said.startswith("real has a mean accuracy of 0.550")
    assert "Untrained" not in said
    domains, contexts, ways, baselines = points(rows, roster)
    assert re.fullmatch(
        r"Relatedness of target and context alone reaches 0\.\d{3} \(word2vec \(bag of words\)\)\.",
        baselines,
    )
    assert f"above chance: {in_words(first)} 0.90; not shown to differ from chance: " in domains
    assert (
        f"below chance: {in_words(last)} 0.30. Order that is sure: {in_words(first)} above "
        in domains
    )
    assert contexts.startswith("Contexts that name the concept (direct): 0.550 (0.450 to 0.650); ")
    assert (
        ways == "Ways of asking, on the same 40 items: LogProbs 0.600 (0.450 to 0.650); Choice,"
        " constrained, no examples 0.500 (0.450 to 0.650)."
    )
    is_choice = rows.eval_type == "choice_constrained_zero"
    rows.loc[is_choice, "n_missing"] = 80
    assert "no examples 0.500 (0.450 to 0.650), 100% of targets unread." in points(rows, roster)[2]
    rows.loc[is_choice, "n"] = 30
    assert not any("Ways of asking" in point for point in points(rows, roster)), (
        "they are not the same items"
    )


def test_what_was_asked_about_a_share_stands_beside_others_on_that_share(paper_study):
    """In figures, tables and sentences; the means over all items are those of log probabilities
    alone.
    """
    rows = paper_study.summaries
    share = rows[rows.grouping == "overall"].assign(grouping="prompted", mean=0.625, n=40)
    rows = pd.concat([rows, share], ignore_index=True)
    shown = paradigms(rows, paper_study.roster)
    assert set(shown["mean"]) == {0.625}
    assert {"logprobs", "human_likert"} <= set(shown.eval_type)
    assert "Humans reach 0.625" in lead(rows, paper_study.roster, "likert_constrained_two")
    assert "Humans" not in lead(
        rows.assign(mean=rows["mean"].mask(rows.model == "human")), paper_study.roster
    )
    assert lead(rows, paper_study.roster) == lead(paper_study.summaries, paper_study.roster)
    sheet = accuracy.accuracy_by_paradigm(rows, paper_study.roster)
    assert set(sheet.frame["logprobs_mean"]) == {0.625}
    assert "On the items that all models were prompted about." in sheet.notes


WAYS = {"choice_constrained_zero": 0.5, "logprobs": 0.6}


def one_model(summaries, **numbers):
    """The summaries of the first trained control, with these numbers everywhere."""
    return summaries[summaries.model == "control_gpt2_small"].assign(**numbers)


def test_a_single_model_that_may_be_guessing_is_said_to(small_study):
    roster = small_study.roster
    above = one_model(small_study.summaries, mean=0.6, ci_low=0.55, ci_high=0.65)
    assert lead(above, roster).endswith("chance is 0.5, and the interval lies above it.")
    guessing = one_model(small_study.summaries, mean=0.505, ci_low=0.49, ci_high=0.52)
    assert lead(guessing, roster).endswith("chance is 0.5, which the interval contains.")
    assert more(guessing, roster) == ["Means by domain are all 0.505."]
    everyone = small_study.summaries.assign(mean=0.5, ci_low=0.48, ci_high=0.52)
    assert lead(everyone, roster).startswith(
        "Mean accuracies are all 0.500; chance is 0.5, and no model's 95% interval (for all at"
        " once) lies above it."
    )


def test_without_domains_nothing_is_said_of_them(small_study):
    few = small_study.summaries.query("grouping == 'overall'").reset_index(drop=True)
    assert not any("domain" in sentence for sentence in more(few, small_study.roster))


def test_an_untrained_control_off_chance_is_called_a_reason_for_doubt(small_study):
    summaries = small_study.summaries.copy()
    off = (summaries.model == "control_untrained") & (summaries.condition == "all")
    summaries.loc[off, ["mean", "ci_low", "ci_high"]] = [0.6, 0.57, 0.63]
    said = more(summaries, small_study.roster)
    assert any("where 0.5 is expected: look for a leak" in sentence for sentence in said)


@pytest.mark.parametrize(
    ("models", "said", "unsaid"),
    [
        (["control_untrained"], "must be at chance", "had read"),
        (["control_gpt2_small"], "They know nothing else.", "untrained"),
        (
            ["control_gpt2_small", "control_untrained"],
            "They know nothing else. An untrained one",
            "human line",
        ),
    ],
)
def test_the_notice_about_controls_mentions_only_those_that_are_there(
    small_study, tmp_path, models, said, unsaid
):
    from worldprobe.benchmarks.ewok.contracts import Summaries

    rows = small_study.summaries[small_study.summaries.model.isin(models)].reset_index(drop=True)
    write_table(rows, Summaries, tmp_path / "summaries.parquet", Provenance())
    part = compose(Material(tmp_path / "summaries.parquet", small_study.roster))
    assert said in part.notices[-1].text
    assert unsaid not in part.notices[-1].text
    assert part.who.startswith("No published language model took part. Asked: ")
    assert part.facts[0] == (
        str(len(models)),
        "language model" if len(models) == 1 else "language models",
    )


def test_the_methods_paragraph_takes_its_numbers_from_provenance(small_study, tmp_path):
    items = items_table(tmp_path / "items.parquet", OFFICIAL)
    made = read_origins([items])
    summaries = TableOrigin(
        "summaries",
        Path("s.parquet"),
        Provenance(details={"drawn": "pairs of concepts and versions"}),
    )
    scores = TableOrigin(
        "target_scores",
        Path("t.parquet"),
        Provenance(model="m", dtype="bfloat16", packages={"torch": "9.8.7"}),
    )
    details = {"formula": "y ~ x + (1|Item)", "n_rows": 1717, "r_versions": {"lme4": "1.1.99"}}
    fitted = TableOrigin("coefficients", Path("c.parquet"), Provenance(details=details))
    own = TableOrigin("items", Path("i.parquet"), Provenance(packages={"worldprobe": "0.0.1"}))
    text = describe_methods(
        small_study.summaries, [*made, summaries, scores, own, fitted], small_study.roster
    ).text
    for part in (
        "95% intervals take pairs of concepts and versions as crossed samples",
        "weights in bfloat16",
        "torch 9.8.7",
        "worldprobe 0.0.1",
        "official EWoK materials",
        "(version 0)",
    ):
        assert part in text
    assert "zurple" not in text


def test_the_methods_name_the_other_conditions(small_study):
    def scored(*conditions):
        paths = [Path(f"results/x/ewok/scores/{name}/logprobs/m.parquet") for name in conditions]
        origins = [TableOrigin("target_scores", path, Provenance(model="m")) for path in paths]
        return describe_methods(small_study.summaries, origins, small_study.roster).text

    assert "condition" not in scored("main")
    assert (
        "items of the condition main; the condition nonce differed in items or prompts."
        in scored("main", "nonce", "nonce")
    )
    assert "the conditions nonce and western differed" in scored("main", "nonce", "western")


def test_the_methods_say_that_items_are_a_share_and_what_its_mean_is_not(small_study):
    made = {
        "items": Provenance(details={"limit": 600}),
        "responses": Provenance(details={"limit": 52}),
    }
    origins = [TableOrigin(kind, Path(f"{kind}.parquet"), one) for kind, one in made.items()]
    text = describe_methods(small_study.summaries, origins, small_study.roster).text
    assert "A share of 600 templates was taken" in text
    assert "does not estimate the mean over all templates" in text
    assert "about 52 of these templates" in text
    assert "share of" not in describe_methods(small_study.summaries, [], small_study.roster).text


def test_a_paragraph_without_provenance_claims_no_version(small_study):
    text = describe_methods(small_study.summaries, [], small_study.roster).text
    assert "crossed samples" not in text
    assert "torch" not in text


def test_run_times_add_up_by_rule(page):
    times = read_run_times(page.parent / "benchmarks")
    assert [(time.rule, time.jobs, time.seconds, time.longest, time.peak) for time in times] == [
        ("score", 2, 42.5, 30.0, 900.5)
    ]


def test_the_cost_of_answers_is_that_of_all_attempts(page):
    text = page.read_text()
    cells = re.search(r"<tr><td>GPT-2 style, small</td><td>cuda</td>(.*?)</tr>", text).group(1)
    answers, hours, gpu_hours = re.findall(r'<td class="n">([^<]*)</td>', cells)
    assert (answers, hours, gpu_hours) == ("2", "1.500", "6.000")
    scoring = re.search(r"<tr><td>score</td>(.*?)</tr>", text).group(1)
    assert [
        round(float(one)) for one in re.findall(r'<td class="n">([\d.]+)</td>', scoring)[:3]
    ] == [
        2,
        5400,
        5400,
    ]  # its benchmark files say 42.5 s


def test_tokens_and_money_are_shown_where_they_are_known():
    plain = Cost(3600.0, {"cpu": 3600.0}, 10, name="a")
    served = Cost(3600.0, {"the server's": 3600.0}, 10, 2_000_000, 1_500, "b", (0.5, 2.0))
    times = [RunTime("score", 2, 4.0, 3.0, None)]
    without = build_page(Page(parts=[], run_times=times, answer_times=[plain]))
    assert "Tokens read" not in without
    assert "US$" not in without
    with_both = build_page(Page(parts=[], run_times=times, answer_times=[plain, served]))
    cells = [
        re.findall(r'<td class="n">([^<]*)</td>', row)
        for row in re.findall(r"<tr><td>[ab]</td>.*?</tr>", with_both)
    ]
    assert [row[-3:] for row in cells] == [["–", "–", "–"], ["2,000,000", "1,500", "1.00"]]
    assert "1.00 US$ in total" in with_both
    compared = Cost(3600.0, {"the server's": 3600.0}, 10, 1_000_000, 0, "c", (0.5, 2.0))
    row = re.search(
        r"<tr><td>c</td>.*?</tr>",
        build_page(Page(parts=[], run_times=times, answer_times=[compared])),
    )
    assert row is not None
    assert re.findall(r'<td class="n">([^<]*)</td>', row[0])[-3:] == ["1,000,000", "–", "0.50"]


def test_the_time_of_a_rule_that_computes_no_answers_is_left_alone():
    times = [RunTime("judge", 2, 9.0, 5.0, None), RunTime("score", 2, 4.0, 3.0, None)]
    answers = [Cost(7.0, {"cpu": 7.0}, 1, name="a"), Cost(8.0, {"the server's": 8.0}, 1, name="b")]
    assert with_all_attempts(times, []) == times
    assert with_all_attempts(times, answers) == [RunTime("score", 2, 15.0, 8.0, None), times[0]]
    assert [one.gpu_seconds for one in answers] == [0, 0]


def test_a_study_without_logprobs_has_a_report(paper_study, tmp_path):
    from worldprobe.benchmarks.ewok.contracts import Summaries

    summaries = paper_study.summaries[paper_study.summaries.eval_type == "choice_constrained_two"]
    write_table(summaries, Summaries, tmp_path / "summaries.parquet", Provenance())
    assert (
        main(
            [
                "report",
                "build",
                str(tmp_path / "summaries.parquet"),
                "--out",
                str(tmp_path / "r.html"),
            ]
        )
        == 0
    )
    assert "Mean accuracies run from" in (tmp_path / "r.html").read_text()


def test_missing_models_are_named_with_their_reason(small_study, tmp_path):
    from worldprobe.benchmarks.ewok.contracts import Summaries

    made_by = Provenance(
        details={"missing_models": {"control_llama_small": "out of memory", "gone": ""}}
    )
    write_table(small_study.summaries, Summaries, tmp_path / "summaries.parquet", made_by)
    command = [
        "report",
        "build",
        str(tmp_path / "summaries.parquet"),
        "--registry",
        str(small_study.registry_path),
    ]
    assert main([*command, "--out", str(tmp_path / "r.html")]) == 0
    sentence = (
        "Without 2 of the study&#39;s models, whose answers could not be computed: Llama style,"
        " small (out of memory), gone."
    )
    assert (tmp_path / "r.html").read_text().count(sentence) == 2  # the notice and the methods
    table = [
        "table",
        "mean_accuracy",
        str(tmp_path / "summaries.parquet"),
        "--out",
        str(tmp_path / "mean_accuracy.md"),
    ]
    assert main(table) == 0
    assert "Without 2 of the study's models" in (tmp_path / "mean_accuracy.md").read_text()
    figures = [str(tmp_path / f"accuracy_by_domain.{suffix}") for suffix in ("svg", "png", "pdf")]
    assert (
        main(
            ["figure", "accuracy_by_domain", str(tmp_path / "summaries.parquet"), "--out", *figures]
        )
        == 0
    )
    caption = read_picture(figures[0], "Accuracy.").caption
    assert caption.startswith(
        "Accuracy. Without 2 of the study's models, whose answers could not be computed: "
    )
    assert main([*command, "--figures", figures[0], "--out", str(tmp_path / "r.html")]) == 0
    assert re.search(
        r"<figcaption>Accuracy by domain,[^<]*Without 2 of the study",
        (tmp_path / "r.html").read_text(),
    )


def test_two_benchmarks_share_a_page(small_study):
    from dataclasses import replace

    part = build_part(EWOK, Material(small_study.folder / "summaries.parquet", small_study.roster))
    text = build_page(Page([part, replace(part, name="other", title="Other")], study="both"))
    reader = Reader(re.sub(r'id="(domain-|concept-search|open-all)', 'data-x="', text))
    assert {"ewok-methods", "other-methods", "ewok", "other"} <= set(reader.ids)
    assert "What do language models know about the world?" in text


def test_the_kept_picture_of_the_rules_shows_the_kept_graph(request):
    folder = request.config.rootpath / "resources"
    rules = set(re.findall(r'label = "(\w+)', (folder / "rulegraph.dot").read_text()))
    drawn = set(re.findall(r">(\w+)</text>", (folder / "rulegraph.svg").read_text()))
    assert rules == drawn, "make rulegraph"


def in_browser(page: Path, profile: Path, *options: str) -> str:
    """What headless Chromium prints for a page; no network, a profile of its own."""
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    flags += [
        "--no-first-run",
        "--disable-dev-shm-usage",
        f"--user-data-dir={profile}",
        "--virtual-time-budget=3000",
    ]
    environment = {
        name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")
    }
    done = subprocess.run(
        [CHROMIUM, *flags, *options, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-1500:]
    return done.stdout


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (apt-get install chromium)")
def test_the_page_sorts_zooms_and_searches_in_a_browser(page, tmp_path):
    probe = """<script>{
    window.onerror = message => { document.title = "ERROR " + message; };
    const out = {};
    const table = document.querySelector("table.sortable"), heading = table.tHead.rows[0].cells[1];
    const column = () => [...table.tBodies[0].rows].map(row => parseFloat(row.cells[1].textContent));
    heading.querySelector("button").click();
    out.down = column();
    heading.querySelector("button").click();
    out.up = column();
    document.querySelector(".canvas").click();
    out.zoomed = document.getElementById("zoom").open;
    const before = document.querySelector("#zoom img").style.transform;
    document.querySelector('[data-zoom="in"]').click();
    out.grew = document.querySelector("#zoom img").style.transform !== before;
    document.querySelector('[data-zoom="close"]').click();
    const search = document.getElementById("concept-search");
    search.value = "epsilon";
    search.dispatchEvent(new Event("input"));
    const rows = [...document.querySelectorAll("details.domain tbody tr")];
    out.found = rows.filter(row => !row.hidden).map(row => row.cells[0].textContent);
    out.wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
    const sink = Object.assign(document.createElement("pre"), {id: "probe", textContent: JSON.stringify(out)});
    document.body.append(sink);
    }</script></body>"""
    probed = tmp_path / "probed.html"
    without_policy = re.sub(
        r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text()
    )
    probed.write_text(without_policy.replace("</body>", probe))
    for width in ("1300", "420"):
        text = in_browser(
            probed, tmp_path / f"profile{width}", "--dump-dom", f"--window-size={width},900"
        )
        assert "<title>ERROR" not in text
        out = json.loads(re.search(r'<pre id="probe">(.*?)</pre>', text, flags=re.DOTALL).group(1))
        assert out["down"] == sorted(out["down"], reverse=True)
        assert out["up"] == sorted(out["up"])
        assert out["zoomed"]
        assert out["grew"]
        assert set(out["found"]) == {"epsilon"}
        assert len(out["found"]) == 11
        assert not out["wide"], f"the page scrolls sideways at {width} pixels"


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (apt-get install chromium)")
def test_the_page_is_painted_in_a_browser(page, tmp_path):
    from matplotlib.image import imread

    in_browser(
        page,
        tmp_path / "profile",
        f"--screenshot={tmp_path / 'page.png'}",
        "--window-size=1300,1600",
        "--hide-scrollbars",
    )
    picture = imread(tmp_path / "page.png")
    assert picture.shape[1] == 1300
    colours = {
        tuple(colour) for colour in (picture[::4, ::4, :3] * 255).round().astype(int).reshape(-1, 3)
    }
    assert (0, 114, 178) in colours  # the bars of the figure that stands first


def test_chance_on_the_page_is_the_benchmarks_own():
    from worldprobe.report.crate import Methods
    from worldprobe.report.page import Part, ShownPart, overview_of

    def part(name: str, chance: float | None) -> ShownPart:
        known = Part(
            "What?",
            "",
            "",
            [],
            [],
            Methods([], {}, []),
            "",
            overview={name: {"ant": 0.5}},
            chance=chance,
        )
        return ShownPart(name, name, known, [])

    both = overview_of([part("Pairs", 0.5), part("Blimp", 0.5)])
    assert both.chance == "Chance is 0.5 (white)."
    three = overview_of([part("Pairs", 0.5), part("Quads", 0.25), part("Mixed", None)])
    assert (
        three.chance
        == "Chance is 0.5 (white) in Pairs, 0.25 (white) in Quads, not one number in Mixed."
    )
    assert [cell.step for cell in three.groups[0]["ant"]] == [10, 13, -1]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (apt-get install chromium)")
def test_the_overview_of_all_domains_and_problems_fits_into_1280_pixels(tmp_path):
    from worldprobe.report.crate import Methods
    from worldprobe.report.page import Page, Part, ShownPart, build_page

    def part(name: str, n_columns: int) -> ShownPart:
        cells = {f"a model with a long name {number}": 0.5 for number in range(20)}
        overview = {f"quantitative heading {column}": cells for column in range(n_columns)}
        return ShownPart(
            name,
            name,
            Part("What?", "Lead.", "Who.", [], [], Methods([], {}, []), "cite", overview=overview),
            [],
        )

    script = """<script>{
    const table = document.querySelector(".overview .scroll");
    const sink = Object.assign(document.createElement("pre"), {id: "probe", textContent: table.scrollWidth - table.clientWidth});
    document.body.append(sink);
    }</script></body>"""
    text = build_page(Page([part("EWoK", 14), part("WorldSense", 7)], title="Both"))
    probed = tmp_path / "probed.html"
    probed.write_text(
        re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text).replace(
            "</body>", script
        )
    )
    found = in_browser(probed, tmp_path / "profile", "--dump-dom", "--window-size=1280,900")
    assert re.search(r'<pre id="probe">(.*?)</pre>', found).group(1) == "0"
