"""A stage's code is found by what its modules import."""

import pytest

from worldprobe import imports
from worldprobe.imports import PACKAGE, closure, code_digest


def names(*modules: str) -> set[str]:
    return {str(path.relative_to(PACKAGE)) for path in closure(modules)}


def test_a_command_depends_on_what_is_imported_inside_its_functions_and_on_what_that_imports():
    found = names("cli/summarize.py")
    analysis = "benchmarks/ewok/analysis"
    assert {"cli/summarize.py", f"{analysis}/summarize.py", f"{analysis}/panel.py"} <= found
    assert not {f"{analysis}/compare.py", "cli/judge.py", "benchmarks/ewok/asking/logprobs.py"} & found


def test_what_only_says_things_is_no_dependency():
    assert not {"log.py", "errors.py"} & names("cli/judge.py")


def test_a_folder_means_its_files_and_not_what_they_import():
    folder = "benchmarks/ewok/materials"
    assert names(folder) == {f"{folder}/{path.name}" for path in (PACKAGE / folder).glob("*.py")}


def test_a_name_that_is_no_module_is_an_error():
    with pytest.raises(FileNotFoundError):
        closure(["cli/no_such_stage.py"])


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ("def f():\n    return 1\n", 'def f():\n    """Words."""\n    return 1  # why\n', True),
        ('def f():\n    """Words."""\n    return 1\n', 'def f():\n    """Other words."""\n\n    return 1  # why\n', True),
        ("def f():\n    return 1\n", "def f():\n    return 2\n", False),
    ],
)
def test_the_digest_of_code_follows_what_the_code_does(tmp_path, monkeypatch, before, after, is_same):
    digests = []
    for text in (before, after):
        (tmp_path / "module.py").write_text(text)
        monkeypatch.setattr(imports, "PACKAGE", tmp_path)
        imports._facts.cache_clear()
        imports._imported.cache_clear()
        digests.append(code_digest("module.py"))
    assert (digests[0] == digests[1]) is is_same


def test_a_digest_of_code_is_short_and_the_same_in_every_process():
    assert code_digest("cli/judge.py") == code_digest("cli/judge.py")
    assert len(code_digest("cli/judge.py")) == 12


def test_code_that_a_plan_only_names_counts_too():
    names = {path.name for path in closure(["cli/figure.py"])}
    assert {"by_domain.py", "scatter.py", "dataset.py", "drawing.py"} <= names


def test_what_was_parsed_is_kept_between_processes_and_follows_the_content(tmp_path, monkeypatch):
    monkeypatch.setattr(imports, "PACKAGE", tmp_path)
    (tmp_path / "module.py").write_text("x = 1\n")
    first = code_digest("module.py")
    place = imports._place()
    assert place.is_relative_to(tmp_path)

    def as_new_process() -> None:
        imports._facts.cache_clear()
        imports._imported.cache_clear()
        imports._kept.cache_clear()

    as_new_process()
    with monkeypatch.context() as nothing_is_parsed:
        nothing_is_parsed.setattr(imports, "_parse", None)
        assert code_digest("module.py") == first
    (tmp_path / "module.py").write_text("x = 2\n")
    as_new_process()
    assert code_digest("module.py") != first
    for damaged in ("", "[]", '{"a": 1}'):
        place.write_text(damaged)
        as_new_process()
        assert code_digest("module.py") not in ("", first)
