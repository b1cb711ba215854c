"""The record of a study: what it was, in one file of its folder, so that its tables, figures and
report can be drawn again elsewhere, without what made it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldprobe import __version__
from worldprobe.benchmark import Study
from worldprobe.benchmarks import settings_classes
from worldprobe.errors import UserError, raise_all
from worldprobe.files import write_text
from worldprobe.missing import present
from worldprobe.settings import Source
from worldprobe.settings.blocks import check
from worldprobe.settings.registry import as_stated
from worldprobe.settings.study import study_class

#: The record's file in a study's folder (``StudyPaths.record``).
RECORD = "study.json"
#: Settings of a run, not of what is studied.
_OF_RUN = ("results", "kept_since", "fetch_again", "ask_again")
#: In place of a server's address, which is nobody else's business.
NO_ENDPOINT = "https://endpoint.invalid/v1"
#: What to give in place of what is no archive.
NO_ARCHIVE = (
    "Give the .zip of `worldprobe archive pack`, or the folder of a finished study in results/."
)


def recorded_settings(study: Study) -> dict[str, Any]:
    """A validated study as its record states it: whole, without passwords and blocks of benchmarks
    that it does not name.
    """
    unnamed = {name for name in settings_classes() if study.get(name) is None}
    stated = {key: value for key, value in study.items() if key not in {*unnamed, *_OF_RUN}}
    return without_passwords(stated)


def without_passwords(document: Any) -> Any:
    """A configuration with null in the place of every password.

    >>> without_passwords({"ewok": {"materials": {"password": "secret", "archive": "a.zip"}}})
    {'ewok': {'materials': {'password': None, 'archive': 'a.zip'}}}
    """
    if isinstance(document, dict):
        return {
            key: None if key == "password" else without_passwords(value)
            for key, value in document.items()
        }
    return (
        [without_passwords(value) for value in document] if isinstance(document, list) else document
    )


def recorded_cards(
    registry: Mapping[str, Mapping[str, Any]], study: Study, shown: Collection[str]
) -> dict[str, dict[str, Any]]:
    """What the cards state of the models that a study or its tables name; others are the user's
    own affair.

    Args:
        registry: model id -> card.
        study: its settings.
        shown: ids in its tables.
    """
    named = {*_texts(study), *shown}
    named |= {name.partition("+")[0] for name in named}
    cards = {model: as_stated(card) for model, card in registry.items() if model in named}
    return {
        model: card | ({"endpoint": NO_ENDPOINT} if card.get("endpoint") else {})
        for model, card in cards.items()
    }


def models_in(tables: Iterable[Path | str]) -> set[str]:
    """The ids of models in the rows of some tables, of those that are there."""
    from pyarrow import parquet

    models: set[str] = set()
    for path in present(map(Path, tables))[0]:
        columns = {"model", "model_a", "model_b"} & {*parquet.read_schema(path).names}
        for column in parquet.read_table(path, columns=sorted(columns)).columns:
            models |= {model for model in column.unique().to_pylist() if model is not None}
    return models


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


#: What the parts of a record have as values.
_PARTS: dict[str, type | tuple[type, ...]] = {
    **{"study": object, "cards": dict, "missing": str, "trained": int},
    **{"took": (dict, list), "definitions": dict},
}


@dataclass(frozen=True)
class Record:
    """A record of a study, by which its tables are drawn again.

    Attributes:
        release: of worldprobe.
        study: its settings; files that they name need not be here.
        cards: model id -> what its card states.
        missing: models without answers, and why.
        trained: control model -> number of its parameters.
        took: run times and what answers cost, as ``report.runtimes`` writes them.
        definitions: benchmark's YAML file -> what it says.
    """

    release: str
    study: Mapping[str, Any]
    cards: Mapping[str, Mapping[str, Any]]
    missing: Mapping[str, str] = field(default_factory=dict)
    trained: Mapping[str, int] = field(default_factory=dict)
    took: Mapping[str, Any] = field(default_factory=dict)
    definitions: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, content: bytes, name: str) -> Record:
        """The record in a file.

        Raises:
            UserError: it is none.
        """
        try:
            stated = json.loads(content)
            record = cls(**stated)
            named = [record.study["study"], *record.study["benchmarks"]]
            is_whole = all(isinstance(name, str) for name in named) and all(
                isinstance(value, kind)
                for part, kind in _PARTS.items()
                for value in getattr(record, part).values()
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            is_whole = False
        if not is_whole:
            raise UserError(
                name,
                f"is not the record of a study that worldprobe {__version__} reads.",
                NO_ARCHIVE,
            )
        return record

    def to_json(self) -> str:
        """The file's text."""
        return json.dumps(vars(self), indent=1, ensure_ascii=False) + "\n"

    def restore(self, results: str, folder: Path, name: str = RECORD) -> dict[str, Any]:
        """The validated study. Benchmarks without code, whose YAML files need not be here, are
        written to a folder and read from there.

        Args:
            results: folder of all studies' results.
            folder: for the benchmarks.
            name: of the record, in messages.

        Raises:
            UserError: this installation does not know a benchmark or a setting of it.
        """
        entries = []
        for entry in self.study["benchmarks"]:
            if entry in self.definitions:
                path = folder / f"{Path(entry).stem}.json"
                write_changed(path, json.dumps(self.definitions[entry], ensure_ascii=False))
                entry = str(path)
            entries.append(entry)
        stated = {**self.study, "benchmarks": entries}
        blocks = settings_classes(entries)
        named = {entry: blocks[entry] for entry in entries if entry in blocks}
        parsed, problems = check(study_class(named), stated, [Source(name, stated)])
        if parsed is None:  # otherwise they are about files that are not needed here
            raise_all(problems)
        assert parsed is not None
        unnamed = dict.fromkeys(settings_classes().keys() - named)
        return parsed.model_dump() | unnamed | {"results": results}


def write_changed(path: Path, text: str) -> None:
    """Write a file only where it says something else, as several processes read it."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)
