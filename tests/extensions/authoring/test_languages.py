"""What leaves the house says its language."""

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.language import Language
from worldprobe.contracts import read_table, write_table
from worldprobe.provenance import Provenance
from worldprobe_authoring.exports_cli import _exported


def test_exports_name_the_language_and_join_as_the_scorer_does(item_table, tmp_path):
    chinese = Language(language="zh", name="Chinese", ends="。")
    items = read_table(item_table, Items).assign(context1="箱子很重。", context2="箱子很轻。")
    path = tmp_path / "items.parquet"
    write_table(items, Items, path, Provenance(details=chinese.details()))
    card = dict(_exported("hf", str(path), None, "ewok", False, None))["README.md"].decode()
    assert "language:\n- zh\n" in card
    for table, delimiter in ((path, "''"), (item_table, "' '")):
        files = dict(_exported("lm-eval", str(table), None, "ewok", False, None))
        yaml = next(text for name, text in files.items() if b"target_delimiter" in text).decode()
        assert f"target_delimiter: {delimiter}\n" in yaml
