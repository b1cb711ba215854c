"""A million items of the built-in materials: time, and memory below a gibibyte; compile time per
template does not grow.

Run with ``pytest --benchmark-enable -s tests/performance/test_items_at_scale.py`` on an idle
machine; it prints what it measures.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from worldprobe.benchmarks.ewok.materials.compile import compile_templates
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT

MATERIALS = Path(__file__).parents[2] / "resources" / "materials" / "ewok-builtin"
ITEMS = 1_000_000
pytestmark = pytest.mark.usefixtures("commands_are_measured")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_million_items_take_less_than_a_gibibyte(tmp_path: Path, processes: str) -> None:
    n_templates = len(compile_templates(read_materials(MATERIALS, RIGHT)))
    out = tmp_path / "items.parquet"
    options = [
        "--mode",
        "independent",
        "--per-template",
        str(ITEMS // n_templates * 3 // 2),
        "--processes",
        processes,
        "--out",
        str(out),
    ]
    before, since = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "worldprobe", "items", "build", str(MATERIALS), *options]
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    n_items = parquet.ParquetFile(out).metadata.num_rows
    passed = time.monotonic() - since
    memory = after.ru_maxrss / 1024  # of the largest process
    print(
        f"\n{n_items:,} items, {processes} processes: {passed:.0f} s, {seconds:.0f} s of processor"
        f" time, {memory:.0f} MiB"
    )
    assert n_items >= 0.95 * ITEMS  # templates with few slots have fewer fillings
    assert memory < 1024


def write_many(folder: Path, n_pairs: int) -> Path:
    """Materials of one domain with ten templates for each pair of concepts."""
    concepts, contexts = ["# canary 0"], ["# canary 0"]
    for number in range(n_pairs):
        for name, other in ((f"lift{number}", f"drop{number}"), (f"drop{number}", f"lift{number}")):
            key = (
                "{concept: %s, domain: garden, concept_type: action, opposite_concepts: [%s],"
                " agentive: true}"
            )
            concepts.append("- " + key % (name, other))
        contexts += [f"- conceptA: lift{number}", f"  conceptB: drop{number}", "  probes:"]
        for probe in range(10):
            contexts += [
                "    - type: direct",
                f'      pattern: "[agent1] moves [object1] {{segment1}} for the {probe}. time."',
                "      segments:",
                "        - {segmentA: upward, segmentB: downward, contrast: antonym}",
            ]
    target = (
        '{pattern: "[agent1] {CONCEPT} [object1].", criteria: agentive, tags: present_3sg_form}'
    )
    files = {
        "concepts/concept-garden-work.yml": "\n".join(concepts),
        "contexts/context-garden-work.yml": "\n".join(contexts),
        "targets/target-garden-work.yml": f"# canary 0\ngarden-work:\n  - {target}",
        "fillers/filler-agent.csv": "item\n" + "\n".join(f"Gardener{i}" for i in range(20)),
        "fillers/filler-object.csv": "item\n" + "\n".join(f"the pot{i}" for i in range(20)),
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    return folder


def test_compile_time_per_template_stays_the_same_up_to_twenty_thousand(tmp_path: Path) -> None:
    per_template = []
    for n_pairs in (200, 2000):
        folder = write_many(tmp_path / str(n_pairs), n_pairs)
        begin = time.process_time()
        n_templates = len(compile_templates(read_materials(folder, RIGHT)))
        per_template.append((time.process_time() - begin) / n_templates)
        print(f"\n{n_templates:,} templates: {1e6 * per_template[-1]:.0f} microseconds each")
    assert n_templates == 20_000
    assert per_template[1] < 1.5 * per_template[0]
