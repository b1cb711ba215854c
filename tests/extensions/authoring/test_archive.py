"""``archive pack``: what a finished study gives to others, and what it keeps."""

import contextlib
import hashlib
import json
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyarrow import parquet

import licensed_materials
from command_line import run
from finished_study import FORMS, MODELS, record
from worldprobe.archives import Archive
from worldprobe.benchmark import FORMATS
from worldprobe.benchmarks import settings_classes
from worldprobe.contracts import read_provenance, table_name
from worldprobe.errors import UserError
from worldprobe.operations.archived import (
    Archived,
    open_archive,
    open_given,
    refuse_unpacked,
    unpack,
)
from worldprobe.operations.record import recorded_settings
from worldprobe.settings import read_study
from worldprobe_authoring.search import open_content

#: Of the study.
TABLES = ("against_chance", "accuracy", "pairs_of_models")


@pytest.fixture
def pairs(finished_pairs, tmp_path, monkeypatch):
    """The study's folder in a copy of all, which is the working directory."""
    home = shutil.copytree(finished_pairs, tmp_path / "home")
    monkeypatch.chdir(home)
    monkeypatch.delenv("WORLDPROBE_RELEASE_PASSWORD", raising=False)
    return Path("results/mine")


@pytest.fixture
def packed(pairs):
    """What its archive holds."""
    with zipfile.ZipFile("mine.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def graph(packed):
    return {
        entity["@id"]: entity for entity in json.loads(packed["ro-crate-metadata.json"])["@graph"]
    }


def test_what_is_shown_and_what_it_is_drawn_from_is_packed_and_nothing_else(packed):
    inside = {name for name in packed if name.startswith("results/")}
    forms = ("csv", "tex", "md", "json")
    assert {name.removeprefix("results/mine/") for name in inside} == {
        "study.json",
        "report.html",
        "items.html",
        "small/comparisons.parquet",
        "small/summaries.parquet",
        "small/scores/one.parquet",
        "small/scores/two.parquet",
        *(f"small/tables/{name}.{form}" for name in TABLES for form in forms),
    }
    assert {"README.md", "provenance.json", "config/mine.yaml", "config/models.yaml"} <= set(packed)
    assert {"workflow/Snakefile", "workflow/rules/report.smk", "LICENSE"} <= set(packed)


def test_every_file_is_described_with_its_digest(packed):
    entities = graph(packed)
    files = set(packed) - {"ro-crate-metadata.json"}
    assert {part["@id"] for part in entities["./"]["hasPart"]} == files
    for name in files:
        assert entities[name]["sha256"] == hashlib.sha256(packed[name]).hexdigest()


def test_what_made_a_table_leads_to_its_inputs(packed):
    entities = graph(packed)
    made = {
        one["result"]["@id"]: one for one in entities.values() if one["@type"] == "CreateAction"
    }
    summaries = made["results/mine/small/summaries.parquet"]
    assert [one["@id"] for one in summaries["object"]] == [
        "results/mine/small/scores/one.parquet",
        "results/mine/small/scores/two.parquet",
    ]
    before = made["results/mine/small/scores/one.parquet"]["object"][0]["@id"]
    assert entities[before]["sha256"] == "f" * 64
    stated = json.loads(packed["provenance.json"])["small/scores/one.parquet"]
    assert json.loads(stated["worldprobe.provenance"])["model"] == "one"


def test_the_same_study_gives_the_same_bytes(pairs):
    before = Path("mine.zip").read_bytes()
    assert run(f"archive pack {pairs} --out mine.zip") == 0
    assert Path("mine.zip").read_bytes() == before


def test_servers_passwords_and_models_of_other_studies_are_not_in_it(packed):
    for secret in (b"node17", b"unpublished", b"me/secret"):
        assert not [name for name, content in packed.items() if secret in content]
    study = {"study": "x", "ewok": {"materials": {"password": "s3cret"}}, "worldsense": None}
    assert recorded_settings(study) == {"study": "x", "ewok": {"materials": {"password": None}}}


def test_an_unfinished_study_is_refused_and_leaves_no_archive(pairs, capsys):
    (pairs / "small" / "tables" / "accuracy.tex").unlink()
    assert run(f"archive pack {pairs} --out x.zip") == 2
    assert "accuracy.tex is not there" in capsys.readouterr().err
    (pairs / "study.json").unlink()
    assert run(f"archive pack {pairs} --out x.zip") == 2
    assert "has no study.json" in capsys.readouterr().err
    assert not Path("x.zip").exists()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder that becomes the working directory when it is called."""
    (tmp_path / "elsewhere").mkdir()
    return lambda: monkeypatch.chdir(tmp_path / "elsewhere")


def test_a_study_is_opened_without_its_benchmark_registry_and_models(pairs, elsewhere):
    elsewhere()
    archive = open_archive("../home/mine.zip")
    assert archive.settings.study["models"] == ["one", "two"]
    assert [(one.name, shown.name) for one, shown in archive.displays()] == [
        ("small", name) for name in TABLES
    ]
    assert archive.as_drawn() == []
    note = Path("results/mine/archive.json")
    unpack("../home/mine.zip", note)
    there = {str(path) for path in Path("results").rglob("[!.]*") if path.is_file()}
    assert there == {*archive.unpacked(), str(note)}
    assert "results/mine/small/scores/one.parquet" in there
    registry = archive.settings.registry_file
    line = f"table accuracy results/mine/small/summaries.parquet --registry {registry} {FORMS}"
    assert run(line) == 0
    drawn = json.loads(note.read_text())["drawn"]
    for path in FORMS.split()[1:]:
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        assert digest == drawn[path.removeprefix("results/mine/")]


def test_a_copy_of_the_folder_is_opened_where_it_belongs_and_nowhere_else(
    pairs, tmp_path, elsewhere
):
    elsewhere()
    shutil.copytree("../home/results/mine", "results/mine")
    archive = open_archive("results/mine")
    assert archive.as_drawn() == archive.unpacked() == []
    shutil.copytree("results/mine", "results/other")
    with pytest.raises(UserError, match="is not the folder of study mine"):
        open_archive("results/other")


def test_a_registry_beside_it_changes_names_colours_and_order_alone(pairs, elsewhere):
    own = {
        "two": MODELS["two"] | {"display_name": "Second"},
        "one": MODELS["one"] | {"colour": "#abcdef", "checkpoint": "you/other"},
    }
    elsewhere()
    Path("own.yaml").write_text(json.dumps(own))
    cards = open_archive("../home/mine.zip", own_registry="own.yaml").settings.registry
    assert list(cards) == ["two", "one"]
    assert cards["two"]["display_name"] == "Second"
    assert (cards["one"]["colour"], cards["one"]["checkpoint"]) == ("#abcdef", "me/one")


def test_results_of_a_folders_own_are_not_written_over(pairs):
    with pytest.raises(UserError, match="has results of its own"):
        open_archive("mine.zip")


def test_nothing_of_a_study_is_set_beside_an_archive(pairs, elsewhere):
    elsewhere()
    assert open_given({}) is None
    with pytest.raises(UserError, match="says nothing beside archive"):
        open_given({"archive": "../home/mine.zip", "models": ["one"]})


def changed(packed, path, **parts):
    """Write an archive whose record says something else in some parts."""
    record = json.loads(packed["results/mine/study.json"]) | parts
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {
            **packed,
            "results/mine/study.json": json.dumps(record).encode(),
        }.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    "parts",
    [
        {"study": {"study": "mine"}},
        {"study": {"study": "mine", "benchmarks": [5]}},
        {"cards": {"one": 5}},
        {"missing": {"one": 5}},
        {"trained": {"one": "many"}},
        {"took": {"run_times": 5}},
        {"definitions": {"small.yaml": 7}},
    ],
    ids=str,
)
def test_a_record_of_another_form_is_one_clear_error(packed, elsewhere, parts):
    changed(packed, "mine.zip", **parts)
    elsewhere()
    with pytest.raises(UserError, match="is not the record of a study"):
        open_archive("../home/mine.zip")


@pytest.mark.parametrize("name", ["../../x.parquet", "/tmp/x.parquet", "a\\..\\x", "small/scores"])
def test_what_an_archive_only_describes_is_written_nowhere_else_either(packed, elsewhere, name):
    some = next(iter(json.loads(packed["provenance.json"]).values()))
    packed["provenance.json"] = json.dumps({name: some}).encode()
    changed(packed, "mine.zip")
    elsewhere()
    assert run("archive unpack ../home/mine.zip --out results/mine/archive.json") == 2
    assert not [path for path in Path("..").rglob("x*") if path.suffix != ".zip"]


def test_a_trained_model_has_no_name_that_leads_elsewhere(packed, elsewhere):
    changed(packed, "mine.zip", trained={"../../../x": 5})
    elsewhere()
    with pytest.raises(UserError, match="outside the folder"):
        open_archive("../home/mine.zip")
    assert run("archive unpack ../home/mine.zip --out results/mine/archive.json") == 2
    assert not list(Path("..").rglob("x"))


def test_an_archive_for_which_the_disk_has_no_room_is_refused(elsewhere, pairs, monkeypatch):
    elsewhere()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(UserError, match="GB are free here"):
        unpack("../home/mine.zip", Path("results/mine/archive.json"))
    assert not [path for path in Path().rglob("*") if path.is_file()]


def test_nothing_of_an_earlier_archive_stays_beside_the_next_but_what_is_ones_own(
    packed, elsewhere
):
    packed["results/mine/small/tables/earlier.csv"] = b"x"
    packed["results/mine/small/earlier.parquet"] = b"x"
    changed(packed, "earlier.zip")
    elsewhere()
    note = Path("results/mine/archive.json")
    unpack("../home/earlier.zip", note)
    for name in ("small/tables/earlier.csv", "notes.txt"):
        Path("results/mine", name).parent.mkdir(exist_ok=True, parents=True)
        Path("results/mine", name).write_text("x")
    note.unlink()  # as Snakemake does before the job
    assert open_archive("../home/mine.zip").is_packed
    unpack("../home/mine.zip", note)
    there = {path.name for path in Path("results").rglob("*") if path.is_file()}
    assert not [name for name in there if "earlier" in name]
    assert {"notes.txt", "summaries.parquet"} <= there


def test_a_folder_of_ones_own_is_never_taken_for_an_unpacked_one(pairs):
    note = pairs / "archive.json"
    unpack("results/mine", note)
    refuse_unpacked(pairs)
    with pytest.raises(UserError, match="has results of its own"):
        open_archive("mine.zip")


def test_a_study_is_not_run_among_an_archives_results(pairs, elsewhere):
    elsewhere()
    unpack("../home/mine.zip", Path("results/mine/archive.json"))
    with pytest.raises(UserError, match=r"has the study of mine\.zip"):
        refuse_unpacked(Path("results/mine"))


@pytest.mark.parametrize("fault", ["foreign", "cut", "damaged", "newer", "outside"])
def test_a_broken_or_foreign_archive_is_one_clear_error_and_leaves_nothing(
    packed, elsewhere, capsys, fault
):
    path = Path("mine.zip").resolve()
    whole = path.read_bytes()
    if fault == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif fault == "damaged":
        with zipfile.ZipFile(path) as archive:
            at = archive.getinfo("results/mine/small/summaries.parquet").header_offset + 200
        path.write_bytes(whole[:at] + bytes(50) + whole[at + 50 :])
    else:
        changes = {
            "foreign": {name: None for name in packed if name.startswith("results/")},
            "newer": {"results/mine/study.json": b'{"release": "9", "shape": []}'},
            "outside": {"results/mine/../../x": b""},
        }[fault]
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in ({**packed} | changes).items():
                if content is not None:
                    archive.writestr(name, content)
    elsewhere()
    assert run(f"archive unpack {path} --out results/mine/archive.json") == 2
    assert len(capsys.readouterr().err.splitlines()) == 3
    assert not [path for path in Path().rglob("*") if path.is_file()]


class Guarded:
    """A study of protected materials, of which one table is drawn: the templates and items are real,
    all else stands for itself.
    """

    sentence = "slowly moves the hose upward with one hand"

    def __init__(self, folder):
        materials = licensed_materials.write(folder / "garden", "GARDEN canary")
        ewok = {"materials": {"source": str(materials)}, "eval_types": ["logprobs"]}
        stated = {"study": "guarded", "benchmarks": ["ewok"], "models": ["one"], "ewok": ewok}
        stated |= {"registry": "models.yaml", "report": {"notebooks": []}}
        self.folder = Path("results/guarded")
        home = self.folder / "ewok"
        with contextlib.chdir(folder):
            Path("models.yaml").write_text(json.dumps(MODELS))
            items = f"--templates-out {home}/templates.parquet --out {home}/items/main.parquet"
            assert run(f"items build {materials} --mode fixed --versions 0 {items}") == 0
            printed = [f"ewok/tables/dataset.{form}" for form in FORMATS["table"]]
            for name in ("report.html", "items.html", *printed):
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / name).write_text(name)
            self.write_summaries(home / "summaries.parquet")
            record(self.folder, read_study(stated, [], settings_classes), [])

    @staticmethod
    def write_summaries(path):
        table = pa.table({"model": ["one"], "mean": [0.5]})
        stated = {"worldprobe.table": "summaries", "worldprobe.provenance": "{}"}
        parquet.write_table(table.replace_schema_metadata(stated), path)


@pytest.fixture(scope="module")
def made_guarded(tmp_path_factory):
    home = tmp_path_factory.mktemp("guarded")
    return home, Guarded(home)


@pytest.fixture
def guarded(made_guarded, tmp_path, monkeypatch):
    """The study in a copy that is the working directory; it draws one table."""
    home, study = made_guarded
    monkeypatch.chdir(shutil.copytree(home, tmp_path / "home"))
    monkeypatch.delenv("WORLDPROBE_RELEASE_PASSWORD", raising=False)
    displays = Archived.displays

    def one_table(archive):
        return [one for one in displays(archive) if one[1].name == "dataset"]

    def drawn(archive):
        return [*DRAWN, archive.paths.report]

    monkeypatch.setattr(Archived, "displays", one_table)
    monkeypatch.setattr(Archived, "drawn", drawn)
    return study


#: The table that the guarded study draws.
DRAWN = [f"results/guarded/ewok/tables/dataset.{form}" for form in FORMATS["table"]]


def plain(path):
    """All that can be read in an archive without a password, compressed or not."""
    return "\n".join(piece.text or "" for piece in open_content(path.read_bytes(), path.name))


def test_protected_texts_are_left_out_and_their_tables_taken_over_as_drawn(guarded, elsewhere):
    assert guarded.sentence in plain(guarded.folder / "ewok" / "items" / "main.parquet")
    assert run(f"archive pack {guarded.folder} --out guarded.zip") == 0
    assert "with one hand" not in plain(Path("guarded.zip"))
    elsewhere()
    assert open_archive("../home/guarded.zip").as_drawn() == DRAWN
    unpack("../home/guarded.zip", Path("results/guarded/archive.json"), DRAWN)
    assert Path(DRAWN[0]).read_text() == "ewok/tables/dataset.csv"
    stub = Path("results/guarded/ewok/items/main.parquet")
    assert (table_name(stub), read_provenance(stub).canary) == ("items", "# GARDEN canary 0000")


def test_protected_texts_go_in_encrypted_with_licence_and_terms(
    guarded, elsewhere, monkeypatch, capsys
):
    monkeypatch.setenv("WORLDPROBE_RELEASE_PASSWORD", "open sesame")
    line = f"archive pack {guarded.folder} --encrypt --out guarded.zip"
    assert run(line) == 2
    assert "no file with a licence" in capsys.readouterr().err
    assert run(f"{line} --notices-from garden") == 0
    assert "with one hand" not in plain(Path("guarded.zip"))
    items = "results/guarded/ewok/items/main.parquet"
    whole = Path(items).read_bytes()
    assert Archive("guarded.zip", "open sesame").read(items) == whole
    elsewhere()
    assert open_archive("../home/guarded.zip").as_drawn() == []
    unpack("../home/guarded.zip", Path("results/guarded/archive.json"))
    assert Path(items).read_bytes() == whole
    monkeypatch.setenv("WORLDPROBE_RELEASE_PASSWORD", "wrong")
    with pytest.raises(UserError, match="the password is wrong"):
        open_archive("../home/guarded.zip")
    monkeypatch.delenv("WORLDPROBE_RELEASE_PASSWORD")
    assert open_archive("../home/guarded.zip").as_drawn() == DRAWN


def test_a_page_that_repeats_a_protected_sentence_is_protected_too(guarded, monkeypatch, capsys):
    page = guarded.folder / "report.html"
    page.write_text(f"<td>Mehitabel <b>slowly</b> {guarded.sentence.removeprefix('slowly ')}.</td>")
    line = f"archive pack {guarded.folder} --out guarded.zip"
    assert run(line) == 2
    assert "report.html" in (told := capsys.readouterr().err)
    assert "with one hand" not in told
    assert not Path("guarded.zip").exists()
    monkeypatch.setenv("WORLDPROBE_RELEASE_PASSWORD", "open sesame")
    assert run(f"{line} --encrypt --notices-from garden") == 0
    assert "with one hand" not in plain(Path("guarded.zip"))


def test_every_form_of_what_repeats_a_protected_sentence_is_protected(guarded, monkeypatch):
    """A picture's PDF and PNG cannot be searched as its SVG can."""
    (guarded.folder / "ewok/tables/dataset.md").write_text(f"Mehitabel {guarded.sentence}.")
    monkeypatch.setenv("WORLDPROBE_RELEASE_PASSWORD", "open sesame")
    line = f"archive pack {guarded.folder} --out guarded.zip"
    assert run(f"{line} --encrypt --notices-from garden") == 0
    with zipfile.ZipFile("guarded.zip") as archive:
        is_closed = {one.filename: bool(one.flag_bits & 1) for one in archive.infolist()}
    assert all(is_closed[name] for name in DRAWN)
    assert not is_closed["results/guarded/report.html"]


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
