"""Labels of the design that the compiler computes."""

from worldprobe.benchmarks.ewok.materials.compile import compile_templates
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
