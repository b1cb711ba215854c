"""Small invented materials that a test can bend to its purpose, and a few items."""

import copy
import json

import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.compile import compile_templates
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL, RIGHT
from worldprobe.contracts import write_table
from worldprobe.provenance import Provenance

FILES = {
    "concepts/concept-garden-work.yml": """\
# GARDEN canary 0000
- concept: lift
  domain: garden
  concept_type: action
  opposite_concepts: [lower]
  agentive: true
- concept: lower
  domain: garden
  concept_type: action
  opposite_concepts: [lift]
  agentive: true
""",
    "contexts/context-garden-work.yml": """\
# GARDEN canary 0000
- conceptA: lift
  conceptB: lower
  probes:
    - type: direct
      pattern: "[agent1] moves [object1] {segment1}."
      segments:
        - segmentA: upward
          segmentB: downward
          contrast: antonym
""",
    "targets/target-garden-work.yml": """\
# GARDEN canary 0000
garden-work:
  - pattern: "[agent1] {CONCEPT} [object1]."
    criteria: agentive
    tags: present_3sg_form
""",
    "fillers/filler-agent.csv": "item,tall\n"
    + "".join(f"Gardener{i},{'true' if i % 2 else 'false'}\n" for i in range(12)),
    "fillers/filler-object.csv": "item,large,rollable\n"
    + "".join(
        f"the pot{i},{'true' if i % 2 else 'false'},{'true' if i % 3 else 'false'}\n"
        for i in range(24)
    ),
}


class Garden:
    """A folder of materials whose files can be changed by replacing text in them."""

    def __init__(self, folder):
        self.folder = folder
        self.files = copy.deepcopy(FILES)

    def replace(self, file, old, new):
        """Change one file's text; ``file`` may be a part of its name."""
        name = next(name for name in self.files if file in name)
        assert old in self.files[name], f"{name} does not hold {old!r}"
        self.files[name] = self.files[name].replace(old, new)
        return self

    def with_(self, name, text):
        """Add or set a file."""
        self.files[name] = text
        return self

    def without(self, file):
        """Leave a file out."""
        del self.files[next(name for name in self.files if file in name)]
        return self

    def contexts(self, *meta_templates):
        """Set the contexts, as values."""
        return self.with_("contexts/context-garden-work.yml", json.dumps(meta_templates))

    def targets(self, *targets):
        """Set the targets, as values; absent criteria and tags are null."""
        full = [{"criteria": None, "tags": None} | target for target in targets]
        return self.with_("targets/target-garden-work.yml", json.dumps({"garden-work": full}))

    def concepts(self, *concepts):
        """Set the concepts, as values."""
        full = [{"domain": "garden", "concept_type": "action"} | concept for concept in concepts]
        return self.with_("concepts/concept-garden-work.yml", json.dumps(full))

    def write(self):
        """Write all files; the folder."""
        for name, text in self.files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return self.folder

    def read(self, rules=RIGHT):
        """The materials as read."""
        return read_materials(self.write(), rules, is_lenient=rules == ORIGINAL)

    def compile(self, rules=RIGHT):
        """The templates."""
        materials = self.read(rules)
        assert materials.problems.errors() == []
        return compile_templates(materials)


def an_item(item_id):
    """A row of contracts.Items whose texts say nothing."""
    domain, meta, template, version = item_id.rsplit("_", 3)
    row = {
        name: "A text." if column.min_length else ""
        for name, column in Items.columns.items()
        if not column.optional
    }
    row |= {"item_id": item_id, "domain": domain, "version": int(version[1:]), "fillers": "{}"}
    row |= {"meta_template": int(meta), "template": int(template), "duplicate_of": None}
    row |= {"concept_a": "on", "concept_b": "off", "target_contrast": "concept swap"}
    return row | {"context_contrast": "antonym", "context_type": "direct"}


@pytest.fixture
def garden(tmp_path):
    return Garden(tmp_path / "garden")


@pytest.fixture(scope="module")
def item_table(tmp_path_factory):
    """A table of a few items."""
    rows = [
        {
            "item_id": f"test-things_{i}_1_v{version}",
            "domain": "test-things",
            "version": version,
            "meta_template": i,
            "template": 1,
            "context1": f"{name} lifts the {thing}. It is heavy.",
            "context2": f"{name} lifts the {thing}. It is light.",
            "target1": f"{name} is tired now.",
            "target2": f"{name} is not tired at all.",
            "concept_a": "heavy",
            "concept_b": "light",
            "context_contrast": "antonym",
            "context_type": "direct",
            "target_contrast": "concept swap",
            "fillers": "{}",
            "tags": "",
        }
        for version in (0, 1)
        for i, (name, thing) in enumerate(
            [("Ana", "crate"), ("Ben", "lamp"), ("Cora", "rug")], start=1
        )
    ]
    frame = pd.DataFrame(rows)
    frame["duplicate_of"] = pd.Series([None] * len(frame), dtype="str")
    path = tmp_path_factory.mktemp("items") / "items.parquet"
    write_table(frame, Items, path, Provenance(canary="test canary"))
    return path
