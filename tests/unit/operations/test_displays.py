"""What a run says of targets that nothing makes."""

from types import SimpleNamespace

import pytest

from worldprobe.operations.displays import Displays
from worldprobe.paths import REPOSITORY


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("repot --cores 1", 'is no rule; did you mean "report"?'),
        ("report nonsense -n", "is no rule."),
        ("report --cores repot", ""),
        ("", ""),
    ],
)
def test_a_target_that_is_no_rule_is_named_with_the_nearest_rule(words, problem, monkeypatch):
    """Snakemake named none, behind its own opening lines."""
    monkeypatch.setattr("sys.argv", ["bin/snakemake", *words.split()])
    rule = SimpleNamespace(name="report", is_producer=lambda _: False)
    workflow = SimpleNamespace(main_snakefile=REPOSITORY / "Snakefile", rules=[rule])
    displays = SimpleNamespace(run=SimpleNamespace(paths=SimpleNamespace(results="results")))
    said = ""
    try:
        Displays.refuse_mistyped(displays, workflow)
    except SystemExit as stopped:
        said = str(stopped)
    assert problem in said
    assert bool(problem) == bool(said)
