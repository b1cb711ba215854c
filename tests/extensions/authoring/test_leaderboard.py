"""A folder of results as one page."""

import json
import re

import pandas as pd
import pytest

from command_line import run
from worldprobe.report.results import check_result
from worldprobe_authoring.leaderboard import build_page, build_rankings, print_rankings


@pytest.fixture
def folder(make_result, tmp_path):
    models = [
        make_result("best", 0.8),
        make_result("close", 0.79),
        make_result("worst", 0.5),
        make_result("other", 0.9, items="b" * 64),
    ]
    for result in models:
        (tmp_path / result["model"]).mkdir()
        (tmp_path / result["model"] / "result.json").write_text(json.dumps(result))
    return tmp_path


def test_models_that_cannot_be_told_apart_share_a_rank(make_result):
    results = [
        make_result("a", 0.8),
        make_result("b", 0.79),
        make_result("c", 0.5, half=0.01),
        make_result("d", None),
    ]
    ewok, _ = build_rankings(results)
    assert [(row.model, row.rank, row.is_tied) for row in ewok.rows] == [
        ("a", 1, True),
        ("b", 1, True),
        ("c", 3, False),
        ("d", None, False),
    ]


def test_a_model_without_an_interval_has_no_rank_and_takes_none(make_result):
    """Of few items there is a mean and no interval: nothing says that one model is above
    another.
    """
    results = [make_result("a", 0.8), make_result("b", 0.7), make_result("c", 0.6)]
    for result in results[:2]:
        result["benchmarks"]["ewok"] |= {"ci_low": None, "ci_high": None, "stderr": None}
    ewok, _ = build_rankings(results)
    assert [(row.model, row.rank, row.is_tied) for row in ewok.rows] == [
        ("a", None, False),
        ("b", None, False),
        ("c", 1, False),
    ]


def test_models_that_were_asked_other_items_are_in_a_ranking_of_their_own(folder, make_result):
    results = [
        make_result("a"),
        make_result("b", items="b" * 64),
        make_result("c"),
    ]
    rankings = build_rankings(results)
    assert [(ranking.stated["title"], len(ranking.rows)) for ranking in rankings] == [
        ("EWoK", 2),
        ("EWoK", 1),
        ("WorldSense", 3),
    ]


def test_kinds_are_ranked_apart_and_published_numbers_stand_below_those_of_the_same_items(
    make_result,
):
    masked = make_result("m", kind="masked", pseudo_log_likelihood="original")
    release = make_result("r", items="b" * 64)
    release["benchmarks"]["ewok"]["published"]["is_comparable"] = True
    results = [make_result("a"), masked, release]
    rankings = [one for one in build_rankings(results) if one.stated["title"] == "EWoK"]
    beside = [{line["name"]: line["mean"] for line in one.beside} for one in rankings]
    assert list(zip((one.kind for one in rankings), beside, strict=True)) == [
        ("causal", {"chance": 0.5}),
        ("masked", {"chance": 0.5}),
        ("causal", {"chance": 0.5, "gpt2_xl (published)": 0.655}),
    ]


def test_references_of_the_same_items_stand_below_the_models_but_not_those_that_are_among_them(
    make_result, tmp_path
):
    """Is 0.569 good? No ranking had anything beside one's own models."""
    facts = {"is_baseline": True, "n": 200, "pairing": 0.61, "groups": {"social-relations": 0.58}}
    facts |= {"difference": 0.1, "ci_low": 0.05, "ci_high": 0.15, "p_holm": 0.01, "finding": "a"}
    results = [make_result("a"), make_result("smollm2_135m")]
    references = {
        "smollm2_135m": facts | {"name": "SmolLM2 135M", "mean": 0.57},
        "wordnet": facts | {"name": "WordNet", "mean": 0.53},
        "few": facts | {"name": "On few", "mean": 0.52, "n": 100},
    }
    for result in results:
        result["benchmarks"]["ewok"]["references"] = references
        check_result(result)
    ranking = build_rankings(results)[0]
    assert [line["name"] for line in ranking.beside] == [
        "WordNet",
        "On few (on 100 of these items)",
        "chance",
    ]
    page = build_page([ranking], "Board")
    row = page.partition("<th>WordNet</th>")[2].partition("</tr>")[0]
    assert re.findall(r">(0\.\d+)<", row) == ["0.530", "0.580"]
    print_rankings([ranking], "Board").write([tmp_path / "board.csv"])
    lines = pd.read_csv(tmp_path / "board.csv").query("loaded == 'for comparison'")
    assert lines["mean"].tolist() == [0.53, 0.52, 0.5]


def test_the_page_has_every_number_and_loads_nothing(folder):
    out = folder / "board.html"
    assert run(f"leaderboard {folder} --title 'Four <models>' --out {out}") == 0
    page = out.read_text()
    assert page.count("<table") == 3
    assert page.count('scope="row"') == 8
    assert page.count("<th>chance</th>") == 3
    assert page.count("EWoK: causal models") == 2
    assert "Four &lt;models&gt;" in page
    assert "1=" in page
    assert "0.780 to 0.820" in page
    assert not re.search(r"https?://|src=|@import|url\(", page)
    again = folder / "again.html"
    assert run(f"leaderboard {folder} --title 'Four <models>' --out {again}") == 0
    assert again.read_bytes() == out.read_bytes()


def test_start_tokens_are_said_of_the_model_that_has_them(make_result):
    results = [make_result("a"), make_result("b")]
    results[1]["benchmarks"]["ewok"]["asked"]["start tokens"] = "<bos>"
    ewok = build_rankings(results)[0]
    assert "start tokens" not in ewok.asked
    assert ["<bos>" in row.facts for row in ewok.rows] == [False, True]


@pytest.mark.parametrize("form", ["csv", "md", "tex", "json", "html"])
def test_the_leaderboard_has_the_form_that_its_name_says(folder, form):
    out = folder / f"board.{form}"
    assert run(f"leaderboard {folder} --title Models --out {out}") == 0
    text = out.read_text()
    begins = {"csv": "ranking,of,rank", "md": "Models", "tex": "% needs", "json": "{"}
    begins["html"] = "<!DOCTYPE html>"
    assert text.startswith(begins[form]) or begins[form] in text.splitlines()[0]
    assert all(name in text for name in ("best", "close", "worst", "other"))


def test_a_leaderboard_of_an_unknown_form_is_refused(folder, capsys):
    assert run(f"leaderboard {folder} --out {folder / 'board.docx'}") == 2
    assert ".docx" in capsys.readouterr().err
    assert not (folder / "board.docx").exists()


def test_a_ranking_calls_the_way_of_asking_as_reports_do(make_result):
    """Minimal pairs were asked by "logprobs", EWoK's items by "LogProbs"."""
    result = make_result("a", 0.8)
    result["benchmarks"]["ewok"]["asked"] = {"way of asking": "logprobs"}
    assert "; way of asking: LogProbs." in build_rankings([result])[0].asked
