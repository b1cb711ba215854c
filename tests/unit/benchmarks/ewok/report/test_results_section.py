"""The draft of a results section: each number is its cell's, and a sentence whose condition fails is
not there.
"""

import csv
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import run
from simulated_judgements import simulate_items, simulate_judgements
from worldprobe.benchmarks.ewok.analysis.compare import compare_on_items
from worldprobe.benchmarks.ewok.analysis.summarize import item_means
from worldprobe.benchmarks.ewok.contracts import Comparisons, Summaries
from worldprobe.contracts import write_table
from worldprobe.provenance import Provenance
from worldprobe.report.results_section import why_left_out
from worldprobe.report.sentences import CitedCell, CitedSentence, quote, quote_rows

TABLES = ("models_against_chance", "comparisons", "domains_by_model", "contexts_by_model")
FORMS = ("md", "tex", "bib")


def drafted(folder: Path, odds: dict[str, float]) -> dict[str, str]:
    """The draft about models of these log odds, beside two baselines, in its forms."""
    items = simulate_items(24, 1, 0)
    strengths = odds | {"wordnet": 0.1, "sentence_vectors": 0.3}
    judged = [
        simulate_judgements(
            items,
            np.full((1, len(items), 2), odd),
            [name],
            "logprobs" if name in odds else name,
            seed,
        )
        for seed, (name, odd) in enumerate(strengths.items())
    ]
    rows = pd.concat(judged, ignore_index=True).assign(filling="own")
    files = [folder / "ewok" / f"{name}.parquet" for name in ("summaries", "comparisons")]
    files[0].parent.mkdir()
    write_table(item_means(rows), Summaries, files[0], Provenance())
    write_table(compare_on_items(rows), Comparisons, files[1], Provenance())
    printed = []
    for name in TABLES:
        printed += [folder / "ewok" / "tables" / f"{name}.{form}" for form in ("json", "csv")]
        source = files[name == "comparisons"]
        assert run(f"table {name} {source} --out {printed[-2]} {printed[-1]}") == 0
    out = [folder / f"results_section.{form}" for form in FORMS]
    words = f"--comparisons {files[1]} --tables {' '.join(map(str, printed[::2]))}"
    assert run(f"report draft {files[0]} {words} --out {' '.join(map(str, out))}") == 0
    return {form: path.read_text() for form, path in zip(FORMS, out, strict=True)}


def agrees(text: str, cell: str) -> bool:
    """Whether a printed number is a cell's, or hundred times it, as its last place has it."""
    text = text.replace("−", "-").replace("$-$", "-").replace("\\", "")
    if "<" in text or "less" in text:
        return float(cell) < 0.001
    half = 0.5 * 10 ** -len(text.partition(".")[2]) + 1e-9
    return any(abs(float(text) - times * float(cell)) <= half for times in (1, -1, 100, -100))


def test_every_number_is_that_of_the_cell_that_it_leads_to(tmp_path):
    draft = drafted(tmp_path, {"ant": 0.35, "bee": 2.0})
    linked = re.findall(r'\[([^\]]+)\]\(([^#") ]+)#L(\d+) "[^"]*, (\w+)"\)', draft["md"])
    marked = re.findall(r"\\fromcell\{([^}]*)\}\{(\d+)\}\{(\w+)\}\{(.*?)\}(?=\D)", draft["tex"])
    assert len(linked) == len(marked) > 12
    for text, file, line, column in linked:
        rows = list(csv.reader((tmp_path / file).open(encoding="utf-8")))
        assert agrees(text, rows[int(line) - 1][rows[0].index(column)]), (text, file, line, column)
    assert [place[1:] for place in linked] == [place[:3] for place in marked]
    assert "bee is better than ant: [" in draft["md"]
    said = re.search(r"^bee has .*(?= where contexts name the concept)", draft["md"], re.MULTILINE)
    assert "(ewok/tables/contexts_by_model.csv#L" in said[0]
    assert "## EWoK" in draft["md"]
    assert "### Methods" in draft["md"]
    assert r"(Table~\ref{tab:comparisons})." in draft["tex"]
    keys = re.search(r"\\nocite\{(.*)\}", draft["tex"]).group(1).split(",")
    assert keys == re.findall(r"^@\w+\{([^,]+),", draft["bib"], re.MULTILINE)
    assert {"ivanova2024", "worldprobe"} <= set(keys)


def test_a_draft_without_tables_is_refused(tmp_path, capsys):
    """It was written, and said nothing."""
    assert run(f"report draft {tmp_path}/summaries.parquet --out {tmp_path}/draft.md") == 2
    assert "worldprobe table models_against_chance" in capsys.readouterr().err
    assert not (tmp_path / "draft.md").exists()


MEANS = pd.DataFrame(
    {
        "model": ["ant", "nothing"],
        "kind": ["language model", "untrained control model"],
        "is_counted": ["True", "False"],
        "mean": ["0.61", "0.5"],
        "ci_low": ["0.55", "0.45"],
        "ci_high": ["0.67", "0.55"],
        "n_clusters": ["30", "30"],
        "against": ["above", "not shown to differ"],
    }
)
PAIRS = pd.DataFrame(
    {
        "model_a": ["ant"],
        "model_b": ["bee"],
        "difference": ["0.1"],
        "ci_low": ["0.05"],
        "p": ["0.01"],
        "p_holm": ["0.02"],
        "finding": ["ant is better"],
    }
)
OF_ANT = CitedSentence(f"ant has {quote('0.610', 'means', {'model': 'ant'}, 'mean')}.")
BETTER = CitedSentence(
    "ant is better than bee:"
    f" {quote('10.0', 'pairs', {'model_a': 'ant', 'model_b': 'bee'}, 'difference', 100)}."
)


@pytest.mark.parametrize(
    ("table", "row", "cells", "reason"),
    [
        ("means", 0, {}, ""),
        ("means", 0, {"ci_low": "", "ci_high": ""}, "no interval"),
        ("means", 0, {"n_clusters": "5"}, "fewer than 6 clusters"),
        ("means", 0, {"mean": "0,610"}, "0.610 is not what table means has"),
        ("means", 0, {"n_clusters": "thirty"}, ""),
        ("means", 0, {"reliability": "0.8"}, ""),
        ("means", 0, {"reliability": "0.3"}, "not shown to be reliable"),
        ("means", 0, {"reliability": ""}, "not shown to be reliable"),
        ("means", 0, {"against": "most targets are near ties"}, "near ties"),
        ("means", 0, {"mean": "0.62"}, "0.610 is not what table means has"),
        ("means", 1, {"against": "above"}, "untrained control is not at chance"),
        ("pairs", 0, {}, ""),
        ("pairs", 0, {"p_holm": "0.06"}, "Holm's correction"),
        ("pairs", 0, {"p_holm": "0,02"}, "Holm's correction"),
        ("pairs", 0, {"p_holm": ""}, "not corrected"),
        ("pairs", 0, {"finding": "most targets are near ties"}, "near ties"),
    ],
)
def test_a_sentence_whose_condition_fails_is_left_out(table, row, cells, reason):
    tables = {"means": ("means.csv", MEANS.copy()), "pairs": ("pairs.csv", PAIRS.copy())}
    for column, value in cells.items():
        tables[table][1].loc[row, column] = value
    why = why_left_out(OF_ANT if table == "means" else BETTER, tables)
    assert reason in why if reason else not why


def test_what_makes_one_mean_doubtful_is_asked_of_every_table_and_of_numbers_of_rows():
    """Three models of five clusters "beat their strongest baseline", and differences were printed
    beside an untrained control above chance.
    """
    tables = {"means": ("means.csv", MEANS.copy()), "pairs": ("pairs.csv", PAIRS.copy())}
    tables["means"][1].loc[1, "against"] = "above"
    assert "untrained control" in why_left_out(BETTER, tables)
    pairs = PAIRS.assign(n_clusters="5")
    counted = CitedSentence(f"{quote_rows(1, 'pairs', 'difference', 'count', model_a='ant')} of 1.")
    assert "fewer than 6 clusters" in why_left_out(counted, {"pairs": ("pairs.csv", pairs)})
    assert not why_left_out(counted, {"pairs": ("pairs.csv", PAIRS)})


def test_a_sentence_without_a_number_or_whose_table_is_not_printed_is_left_out():
    assert "no number" in why_left_out(CitedSentence("Not compared with a baseline."), {})
    assert "table means is not printed" in why_left_out(OF_ANT, {})
    for frame in (MEANS[1:], pd.DataFrame({"why": ["Nothing was asked."]})):
        assert "has no row of 0.610" in why_left_out(OF_ANT, {"means": ("means.csv", frame)})


def test_an_exchanged_comparison_leads_to_the_cells_of_the_printed_one():
    row = {"model_a": "bee", "model_b": "ant", "is_turned": True}
    numbers = {"difference": "−10.0", "ci_high": "−5.0"}
    said = CitedSentence(
        " ".join(quote(numbers[name], "pairs", row, name, 100) for name in numbers)
    )
    assert said == "−10.0 −5.0"
    assert [cell for _, cell in said.cells] == [
        CitedCell("pairs", {"model_a": "ant", "model_b": "bee"}, "difference", factor=-100),
        CitedCell("pairs", {"model_a": "ant", "model_b": "bee"}, "ci_low", factor=-100),
    ]
    assert not why_left_out(said, {"pairs": ("pairs.csv", PAIRS)})
    assert said.after("So: ").parts[0] == ("So: ", None)


def test_numbers_over_several_rows_are_counted_and_averaged_again():
    of_rows = {"means": ("means.csv", MEANS)}
    for text, what, why in (("0.555", "mean", ""), ("2", "count", ""), ("3", "count", "is not")):
        kinds = ["language model", "untrained control model"]
        sentence = CitedSentence(quote_rows(text, "means", "mean", what, kind=kinds))
        assert why in why_left_out(sentence, of_rows)
