"""Every setting has a meaning, what is written from the classes is up to date, and messages are
plain.
"""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from worldprobe import settings
from worldprobe.paths import REPOSITORY

_SPEC = importlib.util.spec_from_file_location("reference", REPOSITORY / "docs" / "reference.py")
reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference)


def test_what_is_written_from_the_classes_is_up_to_date() -> None:
    written = reference.files()
    assert len(written) > 3
    for path, text in written.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make settings`"


def objects(schema: object, where: str = "") -> Iterator[tuple[str, dict]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object" or "properties" in schema:
            yield where, schema
        for key, inner in schema.items():
            yield from objects(inner, f"{where}.{key}")


@pytest.mark.parametrize("name", reference.SCHEMAS)
def test_every_object_of_a_schema_refuses_unknown_keys(name: str) -> None:
    schema = yaml.safe_load(
        (REPOSITORY / "workflow" / "schemas" / f"{name}.schema.yaml").read_text()
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    found = list(objects(schema))
    assert found
    for where, part in found:
        extra = part.get("additionalProperties", True)
        assert extra is False or (isinstance(extra, dict) and extra), f"{name}{where} is open"


def test_the_default_study_states_every_key(repository: Path) -> None:
    stated = yaml.safe_load((repository / "config" / "config.yaml").read_text())
    whole = reference.STUDY.model_validate(stated).model_dump()

    def left_out(part: dict[str, Any], known: dict[str, Any], where: str = "") -> list[str]:
        here = [f"{where}{key}" for key in known.keys() - part.keys()]
        blocks = [
            key
            for key in part
            if isinstance(part[key], dict) and isinstance(known.get(key), dict) and part[key]
        ]
        return here + [
            one for key in blocks for one in left_out(part[key], known[key], f"{where}{key}.")
        ]

    assert left_out(stated, whole) == []


def test_the_site_file_states_every_fact(repository: Path) -> None:
    stated = yaml.safe_load((repository / "config" / "cluster.yaml").read_text())
    assert set(stated) == set(settings.read_site(repository / "config" / "cluster.yaml", {}))


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).parents[2].glob("config/**/*.yaml")), ids=lambda path: path.name
)
def test_every_file_of_the_folder_is_valid(path: Path) -> None:
    source = settings.read_yaml(path)
    kind = reference.SCHEMAS[path.stem if path.stem in ("models", "cluster") else "config"]
    # Files that a user downloads are not there.
    assert [
        str(one)
        for one in settings.check(kind, source.document, [source])[1]
        if "there is no f" not in one.problem
    ] == []
