"""Labels of the design that the compiler computes."""

import pytest

from worldprobe.benchmarks.ewok.materials.compile import compile_templates, contrast
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.paths import EDITIONS


def test_a_label_that_is_left_out_is_computed_and_no_context_of_the_fourth_edition_has_one():
    edition = read_materials(str(EDITIONS["builtin@4"]), RIGHT)
    segments = [
        segment
        for domain in edition.domains
        for meta in domain.meta_templates
        for probe in meta.probes
        for segment in probe.segments
    ]
    assert not [segment for segment in segments if "contrast" in segment.model_fields_set]
    labels = set(compile_templates(edition)["context_contrast"])
    assert labels == {"antonym", "negation", "variable swap", "other"}


@pytest.mark.parametrize(
    ("context", "other", "label"),
    [
        ("Anna isn’t tall.", "Anna is tall.", "negation"),
        ("Nobody's home.", "Anna's home.", "negation"),
        ("Nothing’s wrong.", "Something’s wrong.", "negation"),
        ("Anna's dog bit Ben.", "Ben's dog bit Anna.", "variable swap"),
        ("{agent1}'s dog bit {agent2}.", "{agent2}'s dog bit {agent1}.", "variable swap"),
        ("It costs 1.5 euros.", "It costs 5.1 euros.", "antonym"),
        ("The red cup is hot.", "The blue cup is cold.", "other"),
        (
            "{agent1} cries, but {agent2} does not.",
            "{agent1} does not cry; {agent2} does.",
            "other",
        ),
    ],
)
def test_a_computed_label_is_what_its_definition_says(context, other, label):
    """Apostrophes are of either kind, an 's is a word, and two words apart are no phrase."""
    assert contrast(context, other) == contrast(other, context) == label
