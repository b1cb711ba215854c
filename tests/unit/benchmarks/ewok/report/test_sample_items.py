"""What an item is made of, and an item of each domain: with its text only where that is ours."""

import json
from pathlib import Path

import pandas as pd
import pytest

from command_line import run
from worldprobe.benchmark import FORMATS
from worldprobe.benchmarks.ewok.benchmark import BENCHMARK as EWOK
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.tables.materials import choose_items
from worldprobe.contracts import write_table
from worldprobe.provenance import Provenance
from worldprobe.report.page import (
    Material,
    ReportPage,
    ShownPart,
    ShownSection,
    build_part,
    render_report,
)
from worldprobe.report.sheet import read_printed

OWN = "# worldprobe canary 0000: our own materials"
OFFICIAL = "# EWoK canary UUID 0000"
#: Domain, and kind of item; of one domain the direct one is the second.
DESIGN = [
    ("garden-work", "indirect", "antonym", "variable swap"),
    ("garden-work", "direct", "antonym", "concept swap"),
    ("kitchen-work", "indirect", "antonym", "variable swap"),
    ("kitchen-work", "direct", "negation", "concept swap"),
]


def made_items(path: Path, canary: str | None) -> Path:
    """Invented items; all their text begins with a word that nothing else has."""
    rows = [
        {"item_id": f"{domain}_{number}_1_v0", "domain": domain, "version": 0, "template": 1}
        | {f"{part}{n}": f"Zurple {part} {n}." for part in ("context", "target") for n in (1, 2)}
        | {"meta_template": number, "concept_a": "warm", "concept_b": "cold", "tags": ""}
        | {"context_type": kind, "context_contrast": contrast, "target_contrast": swap}
        | {"fillers": '{"object1:large=true":"Zurple"}', "duplicate_of": None}
        for number, (domain, kind, contrast, swap) in enumerate(DESIGN, start=1)
    ]
    write_table(pd.DataFrame(rows), Items, path, Provenance(canary=canary))
    return path


def shown(folder: Path, canary: str | None) -> dict[str, Path]:
    """Both displays in every form, by file name."""
    items = made_items(folder / "items.parquet", canary)
    for kind, name in (("table", "sample_items"), ("figure", "sample_item")):
        out = " ".join(str(folder / f"{name}.{form}") for form in FORMATS[kind])
        assert run(f"{kind} {name} {items} --out {out}") == 0
    return {path.name: path for path in folder.iterdir() if path.stem.startswith("sample")}


def test_the_table_has_an_item_of_each_domain_and_of_kinds_that_differ(tmp_path):
    frame = pd.read_csv(shown(tmp_path, OWN)["sample_items.csv"])
    assert frame["domain"].tolist() == ["garden-work", "kitchen-work"]
    assert frame["item_id"].tolist() == ["garden-work_1_1_v0", "kitchen-work_4_1_v0"]
    assert frame["context_contrast"].tolist() == ["antonym", "negation"]
    assert frame["target2"].tolist() == ["Zurple target 2."] * 2
    rows = read_printed(tmp_path / "sample_items.json").rows
    assert rows[1][:3] == ["kitchen work", "warm / cold", "Zurple context 1. → Zurple target 1."]


def test_the_figure_shows_the_four_pairs_of_a_plain_item_and_which_fit(tmp_path):
    frame = pd.read_csv(shown(tmp_path, OWN)["sample_item.csv"])
    assert set(frame["item_id"]) == {"garden-work_2_1_v0"}, "direct, with a swap of concepts"
    assert (frame["pair"] == "fits").tolist() == (frame["context"] == frame["target"]).tolist()
    assert frame["context_text"].tolist() == [f"Zurple context {n}." for n in (1, 1, 2, 2)]
    assert set(frame["fillers"]) == {"object1: Zurple"}


@pytest.mark.parametrize("canary", [OFFICIAL, None, f"{OWN}\n{OFFICIAL}"])
def test_materials_of_others_are_shown_by_their_tags_alone(tmp_path, canary):
    files = shown(tmp_path, canary)
    texts = {name: path for name, path in files.items() if path.suffix not in (".png", ".pdf")}
    assert not [name for name, path in texts.items() if b"Zurple" in path.read_bytes()]
    assert b"kitchen-work" in files["sample_items.csv"].read_bytes()
    assert len(pd.read_csv(files["sample_item.csv"])) == 4


@pytest.mark.parametrize(("canary", "says"), [(OWN, False), (OFFICIAL, True)])
@pytest.mark.long
def test_a_page_says_that_it_has_no_item_text_only_if_no_table_has(
    tmp_path, small_study, canary, says
):
    printed = read_printed(shown(tmp_path, canary)["sample_items.json"])
    material = Material(small_study.folder / "summaries.parquet", small_study.roster)
    part = build_part(EWOK, material).part
    section = ShownSection("materials", "Materials", "", [], [printed], "")
    text = render_report(ReportPage([ShownPart("ewok", "EWoK", part, [section])]))
    assert ("This page contains no item text." in text) == says
    assert json.loads((tmp_path / "sample_items.json").read_text())["quotes"] != says


def test_of_one_domain_the_first_item_is_chosen(tmp_path):
    frame = pd.read_parquet(made_items(tmp_path / "items.parquet", OWN))
    assert choose_items(frame[:2])["item_id"].tolist() == ["garden-work_1_1_v0"]
