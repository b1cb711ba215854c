"""A table of sampled items written piece by piece is the table written at once, duplicates
across the pieces included.
"""

import hashlib

import numpy as np
import pytest

from command_line import run
from worldprobe import contracts
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials import duplicates
from worldprobe.benchmarks.ewok.materials.documents import MaterialsLine
from worldprobe.benchmarks.ewok.materials.fillers import Filler, FillerClass, Fillers
from worldprobe.benchmarks.ewok.materials.original_quirks import RIGHT
from worldprobe.benchmarks.ewok.materials.samplers import IndependentSampler
from worldprobe.contracts import read_provenance, read_table


@pytest.fixture
def attic(garden):
    """Two domains with the same sentences, few fillers, one of them listed twice: many items
    have the texts of others.
    """
    for kind in ("concept", "context", "target"):
        garden.with_(
            f"{kind}s/{kind}-attic-work.yml",
            garden.files[f"{kind}s/{kind}-garden-work.yml"].replace("garden-work", "attic-work"),
        )
    garden.with_("fillers/filler-agent.csv", "item\nAda\nBo\nCyd\nAda\n")
    garden.with_("fillers/filler-object.csv", "item\nthe jar\nthe cup\n")
    return garden


@pytest.mark.parametrize("options", ["--compat", "--filter agent1"])
@pytest.mark.parametrize("together", [1, 3])
def test_pieces_make_the_bytes_of_the_whole(attic, monkeypatch, options, together):
    folder, sampled = attic.folder.parent, f"--mode independent --per-template 7 {options}"
    build = f"items build {attic.write()} {sampled} --out {folder}"
    assert run(f"{build}/once.parquet") == 0
    for module in (contracts, duplicates):
        monkeypatch.setattr(module, "ROWS_TOGETHER", together)
    assert run(f"{build}/pieces.parquet --templates-out {folder}/templates.parquet") == 0
    compat = "--compat" * ("--compat" in options)
    compiled = f"{folder}/fillers.parquet --out {folder}/compiled.parquet"
    assert run(f"templates compile {attic.folder} {compat} --fillers-out {compiled}") == 0
    tables = f"{folder}/templates.parquet {folder}/fillers.parquet"
    fill = f"items fill {tables} {sampled} --out {folder}"
    kept = " ".join(
        f"{folder}/{number}.parquet"
        for number in range(7)
        if run(f"{fill}/{number}.parquet --version {number}") == 0
    )
    assert run(f"items gather {kept} --out {folder}/gathered.parquet") == 0
    pieces, gathered, once = (folder / f"{name}.parquet" for name in ("pieces", "gathered", "once"))
    assert read_table(pieces, Items).equals(read_table(once, Items))
    if "--compat" in options:
        assert read_provenance(once).details["duplicates"] >= 7
        assert (
            hashlib.sha256(pieces.read_bytes()).digest()
            == hashlib.sha256(gathered.read_bytes()).digest()
        )


def sample_step_by_step(sampler, count):
    """What the sampler does, with a generator for each item and every filling that is left
    listed anew for each draw.
    """
    taken = {}
    for number in range(count):
        rng = np.random.default_rng([*sampler._seed, number])
        filling = None
        for _ in range(64):
            picks = rng.integers([len(texts) for texts in sampler.options]).tolist()
            drawn = tuple(texts[i] for texts, i in zip(sampler.options, picks, strict=True))
            if len(set(drawn)) == len(drawn) and drawn not in taken:
                filling = drawn
                break
        else:
            left = [one for one in sampler.all_fillings() if one not in taken][
                : 16 * (len(taken) + 64)
            ]
            filling = left[int(rng.integers(len(left)))] if left else None
        if filling is None:
            break
        taken[filling] = None
    return list(taken)


@pytest.mark.parametrize(
    "sizes", [(1,), (3, 3, 3), (4, 30), (1, 2, 2, 1), (1, 2, 4500), (7, 7, 7, 7)]
)
def test_items_are_those_of_a_generator_each_to_the_last_filling(sizes):
    """The two classes of each pair share their words, so that draws repeat a word within an
    item, too.
    """
    classes = {
        f"class{letter}": FillerClass(
            "c", (), tuple(Filler(f"{number // 2}-{i}", {}) for i in range(size)), MaterialsLine("")
        )
        for number, (letter, size) in enumerate(zip("abcd", sizes, strict=False))
    }
    sampler = IndependentSampler(
        Fillers(classes, RIGHT), [f"{name}1" for name in classes], (5, "garden-work", 3, 1)
    )
    count = min(1500, len(set(sampler.all_fillings())) + 5)
    wanted = sample_step_by_step(sampler, count)
    assert [tuple(filling.values()) for filling in sampler.sample(count)] == wanted
    assert wanted
