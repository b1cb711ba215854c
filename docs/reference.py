"""What is written from the classes of settings: JSON Schemas, ``config/config.yaml``, and
references in the documents.

``make settings`` writes the files anew; a test compares them.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow" / "src"))

from worldprobe import benchmarks  # noqa: E402
from worldprobe.benchmarks.worldsense.inference.prompts import PromptSet  # noqa: E402
from worldprobe.benchmarks.worldsense.skins.skins import SkinFile  # noqa: E402
from worldprobe.minimal_pairs import MinimalPairs  # noqa: E402
from worldprobe.report.results import Result  # noqa: E402
from worldprobe.settings.blocks import (  # noqa: E402
    Block,
    json_schema,
    meaning,
    schema_at,
    values_in_words,
)
from worldprobe.settings.registry import Card, registry_class  # noqa: E402
from worldprobe.settings.study import Site, extended, study_class  # noqa: E402
from worldprobe.sources import Sources  # noqa: E402
from worldprobe_survey.settings import Settings as Survey  # noqa: E402

STUDY = study_class(benchmarks.settings_classes())
#: File of workflow/schemas -> the class that it describes.
SCHEMAS: dict[str, type[BaseModel]] = {
    "config": STUDY,
    "models": registry_class(),
    "cluster": extended(Site),
    "survey": Survey,
    "prompting": PromptSet,
    "skin": SkinFile,
    "sources": Sources,
    "result": Result,
    "minimal_pairs": MinimalPairs,
}
#: Document -> its references: the name in the comments that enclose it, and the class.
REFERENCES: dict[str, dict[str, type[Block]]] = {
    "config/README.md": {
        "study": STUDY,
        **benchmarks.settings_classes(),
        "pairs": MinimalPairs,
        "card": extended(Card),
        "site": extended(Site),
    },
    "docs/extras/human_study.md": {"survey": Survey},
}
HEADER = """\
# The default study: both benchmarks, materials of our own, a small language model and small
# controls, no GPU. A file given by --configfile is run in place of this one; what it leaves out has
# the default that config/README.md states.
# `make settings` writes the comments, and keys that are not there yet.
"""
WIDTH = 100


def files() -> dict[Path, str]:
    """Every file that is written, with its content."""
    found = {
        ROOT / "workflow" / "schemas" / f"{name}.schema.yaml": schema(kind)
        for name, kind in SCHEMAS.items()
    }
    default_study = ROOT / "config" / "config.yaml"
    stated = yaml.safe_load(default_study.read_text(encoding="utf-8"))
    found[default_study] = HEADER + "\n".join(_configuration(STUDY, "", stated))
    for name, references in REFERENCES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        for label, kind in references.items():
            pattern = rf"(<!-- settings: {label} -->\n)(.*?)(<!-- end -->)"
            before, begin, _, end, after = re.split(pattern, text, flags=re.DOTALL)
            apart = set(references.values()) - {kind}
            text = f"{before}{begin}\n{reference(kind, apart)}\n{end}{after}"
        found[ROOT / name] = text
    return found


def schema(kind: type[BaseModel]) -> str:
    """A JSON Schema for editors."""
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_cleaned(json_schema(kind)),
    }
    return yaml.safe_dump(whole, sort_keys=False, allow_unicode=True, width=WIDTH)


def _cleaned(part: Any) -> Any:
    """A part without titles that repeat a key and defaults that repeat a block; names that do
    not match are refused.
    """
    if isinstance(part, list):
        return [_cleaned(one) for one in part]
    if not isinstance(part, dict):
        return part
    is_schema = (
        "type" in part or "$ref" in part or "anyOf" in part or "enum" in part or "const" in part
    )
    left_out = {"title"} if is_schema else set()
    if is_schema and isinstance(part.get("default"), dict):
        left_out.add("default")
    cleaned = {key: _cleaned(value) for key, value in part.items() if key not in left_out}
    if is_schema and isinstance(part.get("description"), str):
        cleaned["description"] = meaning(part, whole=True)
    return cleaned | ({"additionalProperties": False} if "patternProperties" in part else {})


def _configuration(kind: type[BaseModel], indent: str, stated: dict[str, Any]) -> Iterator[str]:
    """The lines of a block, each key with its meaning, and with its default where nothing is
    stated.
    """
    follows_block = False
    for key, field in kind.model_fields.items():
        block = _block_of(field.annotation)
        is_block = block is not None and isinstance(field.default, Block)
        line = (
            f"{indent}{key}:"
            if is_block
            else f"{indent}{key}: {_yaml(stated.get(key, _default(field)))}"
        )
        comment = f"# {meaning(schema_at(kind, (key,)))}"
        if not indent or (len(indent) == 2 and (is_block or follows_block)):
            yield ""
        follows_block = is_block
        if len(line) + len(comment) + 1 <= WIDTH:
            yield f"{line} {comment}"
        else:
            yield from textwrap.wrap(
                comment, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}# "
            )
            yield line
        if is_block and block is not None:
            yield from _configuration(block, indent + "  ", stated.get(key) or {})
    if not indent:
        yield ""


def reference(kind: type[BaseModel], apart: Collection[type[BaseModel]] = ()) -> str:
    """A nested list of the settings of a class, each block once, without those that have a list
    of their own.
    """
    return "\n".join(_entries(kind, "", {kind}, apart)) + "\n"


def _entries(
    kind: type[BaseModel],
    indent: str,
    shown: set[type[BaseModel]],
    apart: Collection[type[BaseModel]],
) -> Iterator[str]:
    for key, field in kind.model_fields.items():
        part, block = schema_at(kind, (field.alias or key,)), _block_of(field.annotation)
        if block in apart:
            continue
        is_new = block is not None and block not in shown
        stated = [] if block is not None else [values_in_words(part)]
        if isinstance(field.default, Block):
            stated = []
        elif field.is_required():
            stated.append("required")
        elif field.exclude_if is None:
            stated.append(f"default `{_yaml(_default(field))}`")
        again = "; keys as above" if block is not None and not is_new else ""
        detail = f" ({'; '.join(stated)}{again})" if stated else f" ({again[2:]})" if again else ""
        yield f"{indent}- `{field.alias or key}`{detail}: {meaning(part, whole=True)}"
        if is_new and block is not None:
            shown.add(block)
            yield from _entries(block, indent + "    ", shown, apart)


def _default(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True)


def _yaml(value: Any) -> str:
    """A value on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=1000, allow_unicode=True)
    return text.removesuffix("...\n").strip()


def _block_of(annotation: Any) -> type[Block] | None:
    """The class of a block, of the entries of a list of blocks, or of a mapping's values."""
    if isinstance(annotation, type) and issubclass(annotation, Block):
        return annotation
    return next(filter(None, map(_block_of, get_args(annotation))), None)


if __name__ == "__main__":
    for path, content in files().items():
        path.write_text(content, encoding="utf-8")
