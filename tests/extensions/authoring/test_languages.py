"""What leaves the house says its language."""

import json

from worldprobe.benchmarks.ewok.analysis.provenances import kinds_of
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.language import Language
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table, write_table
from worldprobe.provenance import Provenance, language_name
from worldprobe.report.model_names import Roster
from worldprobe.report.origins import notes
from worldprobe_authoring.exports_cli import _exported
from worldprobe_explorer.rows import as_data, read_page_rows


def test_exports_name_the_language_and_join_as_the_scorer_does(item_table, tmp_path):
    chinese = Language(language="zh", name="Chinese", ends="。")
    items = read_table(item_table, Items).assign(context1="箱子很重。", context2="箱子很轻。")
    path = tmp_path / "items.parquet"
    write_table(items, Items, path, Provenance(details=chinese.details()))
    files = dict(_exported("hf", str(path), None, "ewok", False, None))
    card, croissant = files["README.md"].decode(), json.loads(files["croissant.json"])
    assert croissant["inLanguage"] == "zh"
    assert "in Chinese" in croissant["description"]
    assert "language:\n- zh\n" in card
    assert "The items are in Chinese." in card
    for table, delimiter in ((path, "''"), (item_table, "' '")):
        files = dict(_exported("lm-eval", str(table), None, "ewok", False, None))
        yaml = next(text for name, text in files.items() if b"target_delimiter" in text).decode()
        assert f"target_delimiter: {delimiter}\n" in yaml
        about = files["README.md"].decode()
        assert ("language: Chinese" in yaml) == (" items in Chinese," in about) == (table == path)
        assert f'log P("{delimiter[1:-1]}target" | context)' in about


def test_tables_of_materials_and_the_page_of_items_say_the_language(item_table, tmp_path):
    chinese = Language(language="zh", name="Chinese")
    items, page = tmp_path / "items.parquet", tmp_path / "page.html"
    made = Provenance(details=chinese.details())
    write_table(read_table(item_table, Items), Items, items, made)
    assert notes(made, Roster({})) == ["The items are in Chinese."]
    for tables, sentence in (
        (f"{items}", "<p>The items are in Chinese.</p>"),
        (f"{items} {item_table}", f"<p>The items of {items} are in Chinese.</p>"),
    ):
        assert main(f"explore {tables} --out {page}".split()) == 0
        assert sentence in page.read_text()
    assert as_data(read_page_rows([items]), True, Roster({}))["languages"] == {str(items): "zh"}
    features = tmp_path / "features.parquet"
    assert main(f"baselines measure-surface {items} --out {features}".split()) == 0
    assert language_name(read_provenance(features).details) == "Chinese"
    assert kinds_of([items])["items_in"] == "Chinese"
