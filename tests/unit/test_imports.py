"""A stage's code is found by what its modules import."""

import pytest

from worldprobe.imports import PACKAGE, closure


def names(*modules: str) -> set[str]:
    return {str(path.relative_to(PACKAGE)) for path in closure(modules)}


def test_a_command_depends_on_what_is_imported_inside_its_functions_and_on_what_that_imports():
    found = names("cli/summarize.py")
    analysis = "benchmarks/ewok/analysis"
    assert {"cli/summarize.py", f"{analysis}/summarize.py", f"{analysis}/panel.py", f"{analysis}/judge.py"} <= found
    assert not {f"{analysis}/compare.py", "cli/judge.py", "benchmarks/ewok/asking/logprobs.py"} & found


def test_what_only_says_things_is_no_dependency():
    assert not {"log.py", "errors.py"} & names("cli/judge.py")


def test_a_folder_means_its_files_and_not_what_they_import():
    folder = "benchmarks/ewok/materials"
    assert names(folder) == {f"{folder}/{path.name}" for path in (PACKAGE / folder).glob("*.py")}


def test_a_name_that_is_no_module_is_an_error():
    with pytest.raises(FileNotFoundError):
        closure(["cli/no_such_stage.py"])


def test_code_that_a_plan_only_names_counts_too():
    names = {path.name for path in closure(["cli/figure.py"])}
    assert {"by_domain.py", "scatter.py", "dataset.py", "drawing.py"} <= names
