"""The settings of one run of Snakemake: study, registry and site, all checked before the first
job.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from worldprobe import engines
from worldprobe.benchmarks import all_models, complete_registry, settings_classes
from worldprobe.errors import UserError, errors_of, raise_all
from worldprobe.extensions import add_models
from worldprobe.files import write_text
from worldprobe.models.checkpoint import NO_ADAPTER, base_folder, folder_of
from worldprobe.models.weights import files_of
from worldprobe.operations import rehearsal
from worldprobe.paths import REGISTRY, RESULTS, shipped_file
from worldprobe.settings import (
    check_models,
    merge,
    model_problems,
    read_registry,
    read_site,
    read_study,
    read_yaml,
)
from worldprobe.settings.registry import as_stated


class StudySettings(NamedTuple):
    """The settings of a run.

    Attributes:
        study: the validated study.
        registry: model id -> card.
        registry_file: where the cards are from.
        site: the facts of the cluster.
    """

    study: dict[str, Any]
    registry: dict[str, dict[str, Any]]
    registry_file: str
    site: dict[str, Any]


def read_settings(
    settings: Mapping[str, Any],
    files: Sequence[str | Path],
    options: Mapping[str, Any],
    results: str = RESULTS,
) -> StudySettings:
    """Read and check everything that a run is configured by.

    Args:
        settings: the configuration as merged by Snakemake.
        files: the files it comes from, the strongest last.
        options: what ``--config`` says.
        results: the folder of all studies' results.

    Raises:
        UserError: a mistake in any of the files, or a file that they name and that does not exist.
    """
    try:
        study = read_study(settings, files, settings_classes, options) | {"results": results}
    except UserError as error:
        raise_all([*errors_of(error), *_unknown_models(settings, files)])
        raise
    registry_file = str(shipped_file(Path(study["registry"])))
    registry = read_registry(registry_file)
    if study["rehearsal"]:
        study["results"] = rehearsal.folder_of_rehearsals(results)
        study, registry = rehearsal.reduce(study, registry)
    registry |= add_models(study, registry)
    check_models(study, registry, files, registry_file)
    registry = complete_registry(study, registry)
    if study["rehearsal"]:
        registry = rehearsal.with_stand_ins(study, registry)
    for model in all_models(study):
        check_folders(model, registry[model], registry_file)
    site = read_site(str(shipped_file(Path("config/cluster.yaml"))), os.environ)
    return StudySettings(study, registry, registry_file, site)


def _unknown_models(
    settings: Mapping[str, Any], files: Sequence[str | Path]
) -> Iterator[UserError]:
    """What is wrong with the names of models, where settings have other faults."""
    models, file = (
        settings.get("models"),
        shipped_file(Path(str(settings.get("registry", REGISTRY)))),
    )
    if (
        isinstance(models, list)
        and all(isinstance(name, str) for name in models)
        and file.is_file()
    ):
        try:
            registry = read_registry(file)
        except UserError as error:
            yield from errors_of(error)
        else:
            yield from model_problems(
                models, registry, [read_yaml(path) for path in files], str(file)
            )


def read_files(files: Sequence[str | Path], results: str = RESULTS) -> StudySettings:
    """The same of configuration files, each laid over the ones before it; without any, of the one
    that the Snakefile reads.

    Args:
        files: the strongest last.
        results: the folder of all studies' results.

    Raises:
        UserError: as ``read_settings``, or a file is no mapping.
    """
    merged: Mapping[str, Any] = {}
    files = list(files) or [Path("config", "config.yaml")]
    for path in files:
        document = read_yaml(path).document
        if not isinstance(document, dict | None):
            raise UserError(
                path,
                "contains no settings.",
                "Give a configuration file: a line `key: value` for each setting.",
            )
        merged = merge(merged, document or {})
    return read_settings(merged, files, {}, results)


def as_written(options: Mapping[str, Any], arguments: Iterable[str]) -> dict[str, Any]:
    """What ``--config`` says, with numbers as they are written: Snakemake reads 2024_01 as 202401,
    010 as 10 and 1e3 as 1000.0.

    Args:
        options: as Snakemake reads them.
        arguments: the command line's words.

    >>> as_written(
    ...     {"study": 202401, "models": ["a"]},
    ...     ["snakemake", "--config", "study=2024_01", "models=[a]"],
    ... )
    {'study': '2024_01', 'models': ['a']}
    """
    words = dict(word.split("=", 1) for word in arguments if "=" in word)
    return {
        key: words.get(key, value) if isinstance(value, int | float) else value
        for key, value in options.items()
    }


def model_files(card: Mapping[str, Any]) -> list[str]:
    """The files of a model (its base, its adapter, a server's tokenizer) in folders of the
    user's: new ones are scored again.
    """
    folders = [card["tokenizer"]] if card.get("tokenizer") else []
    if is_folder(card):
        folders.append(card["checkpoint"])
    if (adapter := card.get("adapter")) and adapter != NO_ADAPTER and folder_of(adapter):
        folders.append(adapter)
    files: list[Path] = []
    for folder in folders:
        with contextlib.suppress(
            UserError
        ):  # the job that loads the model says what is wrong with it
            for source in (folder, *base_folder(folder)):
                here = Path(os.path.expanduser(source))
                files += [here] if here.is_file() else files_of(here)
    return [str(path) for path in files]


def is_made(card: Mapping[str, Any]) -> bool:
    """Whether the workflow makes the model itself."""
    return bool(card.get("control") or card.get("tuned") or card.get("stand_in"))


def is_folder(card: Mapping[str, Any]) -> bool:
    """Whether a checkpoint is a folder, or a GGUF file, of the user's rather than to be fetched or
    made.
    """
    checkpoint = card["checkpoint"] or ""
    return bool(not is_made(card) and engines.of(card).sources(card)) and (
        checkpoint.startswith((".", "/", "~")) or os.path.exists(checkpoint)
    )


def weight_files(card: Mapping[str, Any], notes: str) -> list[str]:
    """What must be there before a model is loaded: a folder that is made here, the files of the
    user's, the note that a hub's model was fetched.

    Args:
        card: of the model.
        notes: folder of its notes.

    >>> card = {"checkpoint": "me/tiny", "revision": "main", "engine": "transformers"}
    >>> weight_files(card, "results/models/tiny")
    ['results/models/tiny/79c351d92763.json']
    >>> weight_files(card | {"engine": "openai"}, "results/models/tiny")
    []
    >>> weight_files(card | {"checkpoint": "results/small", "tuned": "small"}, "")
    ['results/small']
    """
    if is_made(card):
        return [card["checkpoint"]]
    files = model_files(card)
    if is_folder(card) or not engines.of(card).sources(card):
        return files
    return [*files, f"{notes}/{source_key(card)}.json"]


def source_key(card: Mapping[str, Any]) -> str:
    """What the note on a fetched model is named by: checkpoint and revision, so that two
    registries do not share one.
    """
    adapter = f"+{card['adapter']}" if card.get("adapter") else ""
    source = f"{card['checkpoint']}@{card['revision']}{adapter}"
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def check_folders(model: str, card: Mapping[str, Any], registry_file: str) -> None:
    """The folders that a model's card names exist.

    Raises:
        UserError: one does not.
    """
    named = [("tokenizer", card["tokenizer"])] if card.get("tokenizer") else []
    if is_folder(card):
        named.append(("checkpoint", card["checkpoint"]))
    for key, path in named:
        if not os.path.exists(os.path.expanduser(path)):
            raise UserError(
                f"{registry_file}: {model}.{key}",
                f"there is no folder or file {path}.",
                "Correct the path.",
            )


def shown_registry(
    study: Mapping[str, Any],
    registry: Mapping[str, Mapping[str, Any]],
    registry_file: str,
    folder: Path,
) -> str:
    """The file from which tables and figures take names: the user's, or one in ``folder`` that has
    models of the study, too.

    Args:
        study: a validated study.
        registry: complete.
        registry_file: the user's.
        folder: of such files; a new one is written only where it says something else.
    """
    if not any(card.get("tuned") for card in registry.values()):
        return registry_file
    cards = {model: as_stated(card) for model, card in registry.items()}
    text = yaml.safe_dump(cards, sort_keys=False, allow_unicode=True)
    path = folder / f"{study['study']}.yaml"
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        write_text(path, text)
    return str(path)
