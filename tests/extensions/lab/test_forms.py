"""Parallel forms have the same templates, and share neither fillings nor frames."""

import json
from collections import Counter

from command_line import run
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.fillers import Fillers
from worldprobe.benchmarks.ewok.materials.opened import open_templates
from worldprobe.cli import main
from worldprobe.contracts import read_table
from worldprobe_lab.forms import FRAMES, FormSampler


def fillings(tables):
    """Per template the sets of fillers of its forms."""
    found = {}
    for table in tables:
        for item_id, filled in zip(table["item_id"], table["fillers"], strict=True):
            found.setdefault(item_id.rpartition("_v")[0], []).append(
                set(json.loads(filled).values())
            )
    return found


def make(garden, folder, *options):
    out = garden.folder.parent / folder
    assert main(["items", "forms", str(garden.write()), *options, "--out", str(out)]) == 0
    return [read_table(path, Items) for path in sorted(out.glob("form-*.parquet"))]


def test_forms_have_the_same_templates_and_share_no_filler(garden):
    tables = make(garden, "forms", "--forms", "4", "--seed", "1")
    assert len(tables) == 4
    assert [set(table["version"]) for table in tables] == [{1}, {2}, {3}, {4}]
    for sets in fillings(tables).values():
        assert len(sets) == 4
        assert len(set().union(*sets)) == sum(map(len, sets))


def test_forms_avoid_the_fillings_of_given_items(garden):
    given = garden.folder.parent / "given.parquet"
    assert run(f"items build {garden.write()} --versions 0-0 --out {given}") == 0
    tables = make(garden, "forms", "--forms", "3", "--besides", str(given))
    for sets in fillings([read_table(given, Items), *tables]).values():
        assert len(set().union(*sets)) == sum(map(len, sets))


def test_every_form_of_a_template_has_a_frame_of_its_own_or_none(garden):
    framed, bare = (
        make(garden, name, "--forms", f"{len(FRAMES)}", "--frames", name)
        for name in ("other", "same")
    )
    begun = Counter()
    for one, other in zip(framed, bare, strict=True):
        assert one[["target1", "target2", "fillers"]].equals(
            other[["target1", "target2", "fillers"]]
        )
        for context, plain in zip(one["context1"], other["context1"], strict=True):
            assert context.endswith(plain)
            begun[context.removesuffix(plain).strip()] += 1
    assert begun == Counter(dict.fromkeys(FRAMES, len(framed[0])))


def test_forms_of_a_template_can_be_exchanged(garden):
    """The first form is not drawn from more than the last: over seeds, each has each of few
    fillers equally often.
    """
    garden.with_(
        "fillers/filler-object.csv",
        "item,large,rollable\n" + "".join(f"the pot{i},true,true\n" for i in range(5)),
    )
    fillers = Fillers(garden.read().fillers, garden.read().rules)
    [template] = next(iter(open_templates(garden.compile(), fillers).values()))
    key = next(key for key in template.keys if key.startswith("object"))
    besides = [{key: "the pot0"}]
    counts = [Counter() for _ in range(3)]
    for seed in range(600):
        for count, filling in zip(
            counts, FormSampler(fillers, template, seed).sample(3, besides), strict=True
        ):
            count[filling[key]] += 1
    for count in counts:
        assert set(count) == {f"the pot{i}" for i in range(1, 5)}
        assert max(abs(n - 150) for n in count.values()) < 45
