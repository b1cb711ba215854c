"""A finished study as an RO-Crate."""

import hashlib
import json
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from command_line import run
from worldprobe.provenance import Provenance


def write(path: Path, provenance: Provenance) -> str:
    """A table of one row with a provenance; its digest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    row = (
        {"text": ["The rug is near the door."]}
        if provenance.canary
        else {"accuracy": [0.5], "target": [1]}
    )
    table = pa.Table.from_pandas(pd.DataFrame(row))
    table = table.replace_schema_metadata(
        {"worldprobe.provenance": provenance.to_json(), "worldprobe.table": "any"}
    )
    pq.write_table(table, path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def study(tmp_path):
    folder = tmp_path / "results" / "small"
    judged = write(
        folder / "ewok" / "judgements" / "main" / "m.parquet",
        Provenance(inputs={"scores": "f" * 64}),
    )
    write(
        folder / "ewok" / "summaries.parquet",
        Provenance(seed=0, inputs={"judgements": judged}, packages={"numpy": "2"}),
    )
    write(folder / "ewok" / "templates.parquet", Provenance(canary="# a canary"))
    for name in (
        "report.html",
        "ewok/tables/mean.csv",
        "ewok/figures/mean.svg",
        "ewok/items/main.csv",
        "logs/a.log",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


@pytest.fixture
def crate(study, tmp_path):
    out = tmp_path / "crate.zip"
    assert run(f"crate {study} --out {out}") == 0
    with zipfile.ZipFile(out) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def graph(crate):
    return {
        entity["@id"]: entity for entity in json.loads(crate["ro-crate-metadata.json"])["@graph"]
    }


def test_tables_figures_report_and_workflow_are_in_it_and_item_text_is_not(crate):
    expected = {
        "report.html",
        "ewok/tables/mean.csv",
        "ewok/figures/mean.svg",
        "ewok/summaries.parquet",
        "ewok/judgements/main/m.parquet",
    }
    assert {
        name.removeprefix("results/") for name in crate if name.startswith("results/")
    } == expected
    assert {
        "workflow/Snakefile",
        "workflow/rules/report.smk",
        "config/config.yaml",
        "LICENSE",
    } <= set(crate)


def test_every_file_is_described_with_its_digest(crate):
    entities = graph(crate)
    files = set(crate) - {"ro-crate-metadata.json"}
    assert {part["@id"] for part in entities["./"]["hasPart"]} == files
    for name in files:
        assert entities[name]["sha256"] == hashlib.sha256(crate[name]).hexdigest()


def test_what_made_a_table_leads_to_its_inputs(crate):
    entities = graph(crate)
    (action,) = (
        one
        for one in entities.values()
        if one.get("result") == {"@id": "results/ewok/summaries.parquet"}
    )
    assert action["object"] == [{"@id": "results/ewok/judgements/main/m.parquet"}]
    assert "seed 0; numpy 2" in action["description"]
    (before,) = (one for one in entities.values() if one.get("result") == action["object"][0])
    assert entities[before["object"][0]["@id"]]["sha256"] == "f" * 64


def test_item_text_without_its_canary_is_left_out_and_links_out_of_the_folder_too(study, tmp_path):
    text = pa.Table.from_pandas(
        pd.DataFrame({"item_id": ["a"], "context1": ["The rug is near the door."]})
    )
    pq.write_table(
        text.replace_schema_metadata({"worldprobe.provenance": "{}", "worldprobe.table": "any"}),
        study / "ewok" / "a.parquet",
    )
    (tmp_path / "private.csv").write_text("not of the study")
    (study / "ewok" / "tables" / "private.csv").symlink_to(tmp_path / "private.csv")
    (study / "ewok" / "tables" / "same.csv").symlink_to("mean.csv")
    assert run(f"crate {study} --out {tmp_path / 'x.zip'}") == 0
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        names = set(archive.namelist())
    assert not {"results/ewok/a.parquet", "results/ewok/tables/private.csv"} & names
    assert "results/ewok/tables/same.csv" in names


def test_every_kind_of_table_with_item_text_has_a_column_by_which_it_is_left_out():
    from worldprobe.contracts import Table
    from worldprobe_authoring.crate import TEXTS
    from worldprobe_authoring.search import TABLES_WITH_TEXT

    every = {one.Config.name: one for one in all_below(Table)}
    for name in (*(TABLES_WITH_TEXT - {"control_templates"}), "worldsense_responses"):
        assert any(
            column in TEXTS and rules.kind == "str" for column, rules in every[name].columns.items()
        ), name
    for name in (
        "judgements",
        "summaries",
        "comparisons",
        "coefficients",
        "worldsense_summaries",
        "likeness",
    ):
        assert not [
            column
            for column, rules in every[name].columns.items()
            if column in TEXTS and rules.kind == "str"
        ], name


def all_below(kind):
    import worldprobe_survey.contracts  # noqa: F401

    for one in kind.__subclasses__():
        yield one
        yield from all_below(one)


@pytest.mark.parametrize(
    "line",
    [
        "    password: s3cret",
        "    password:\n      s3cret # mine",
        "    password: >-\n      s3cret",
        "    password: &it s3cret\n    # password: s3cret",
        '    "password": "s3cret"',
    ],
)
def test_no_password_of_a_configuration_is_in_it_and_files_of_one_name_are_both(
    study, tmp_path, monkeypatch, line
):
    monkeypatch.chdir(tmp_path)
    for folder, study_name in (("a", "one"), ("b", "two")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "study.yaml").write_text(
            f"study: {study_name}\newok:\n  materials:\n{line}\n"
        )
    (tmp_path / "b" / "study.yaml").write_text(
        "study: two\newok: {materials: {password: s3cret}}\n"
    )
    assert run(f"crate {study} --configfile a/study.yaml b/study.yaml --out x.zip") == 0
    with zipfile.ZipFile("x.zip") as archive:
        every = {name: archive.read(name) for name in archive.namelist()}
    assert not [name for name, content in every.items() if b"s3cret" in content]
    for folder, study_name in (("a", "one"), ("b", "two")):
        written = yaml.safe_load(every[f"config/{folder}/study.yaml"])
        assert written == {"study": study_name, "ewok": {"materials": {"password": None}}}
