"""Names and files of a study of EWoK, by its settings. Imports nothing heavy."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldprobe.archives import Archive
from worldprobe.benchmark import Registry, Study
from worldprobe.benchmarks.ewok.materials.language import (
    ENGLISH,
    FILE,
    PAPER,
    Language,
    read_language,
)
from worldprobe.benchmarks.ewok.vocabulary import PASSWORD_HINT, PASSWORD_VARIABLE, is_prompted
from worldprobe.errors import UserError
from worldprobe.models.registry import BASELINES, RELATEDNESS
from worldprobe.paths import BUILTIN, EDITIONS, RESOURCES, edition, materials_place
from worldprobe.settings.documents import parse_yaml

#: Sets of prompts.
PROMPTS = RESOURCES / "prompts"


def chosen_mode(mode: str, materials: str, compat: bool) -> str:
    """How templates are filled, where ``auto`` leaves it to the materials: our own since the second
    edition are made to be balanced; all others are filled as in the paper, so that numbers can be
    set beside printed ones.

    >>> [
    ...     chosen_mode("auto", materials, False)
    ...     for materials in ("builtin", "builtin@1", "mine.zip")
    ... ]
    ['balanced', 'fixed', 'fixed']
    """
    if mode != "auto":
        return mode
    folder = EDITIONS.get(BUILTIN if materials == "builtin" else materials) or Path(materials)
    suited = [EDITIONS[name].resolve() for name in EDITIONS if name != "builtin@1"]
    return "balanced" if folder.resolve() in suited and not compat else "fixed"


@dataclass(frozen=True)
class EwokPaths:
    """EWoK's files in one study.

    Attributes:
        root: their folder, e.g. ``results/default/ewok``.

    >>> paths = EwokPaths("results/default/ewok")
    >>> paths.evidence("main", "logprobs", "gpt2_xl")
    'results/default/ewok/scores/main/logprobs/gpt2_xl.parquet'
    >>> paths.items("nonce", 3)
    'results/default/ewok/items/nonce/version_3.parquet'
    """

    root: str

    def table(self, name: str) -> str:
        """A table of the whole study, e.g. ``summaries`` or ``regression/mixed_model``."""
        return f"{self.root}/{name}.parquet"

    def items(self, condition: str, version: int | None = None) -> str:
        """The items of a condition: all versions together, or one alone."""
        return self.table(
            f"items/{condition}" if version is None else f"items/{condition}/version_{version}"
        )

    def evidence(self, condition: str, eval_type: str, model: str) -> str:
        """The table that a model is judged by: its scores or its responses."""
        kind = "responses" if is_prompted(eval_type) else "scores"
        return self.table(f"{kind}/{condition}/{eval_type}/{model}")

    def judgements(self, condition: str, eval_type: str, model: str) -> str:
        """Right or wrong, for one model and way of asking."""
        return self.table(f"judgements/{condition}/{eval_type}/{model}")


def prompt_file(name: str) -> Path:
    """The file of a set of prompts, or the user's own."""
    return (
        PROMPTS / f"{name}.yaml"
        if "/" not in name and not name.endswith((".yaml", ".yml"))
        else Path(name)
    )


def language_in(materials: str, password: str | None = None) -> Language:
    """The language of materials: a folder, its parent or a .zip. Of what is not there, or no
    archive, English: the rule that reads it refuses it, and figures need no items.

    Raises:
        UserError: the password is missing or wrong, or ``language.yml`` is.

    >>> language_in("builtin-zh").name, language_in("builtin@1").name
    ('Chinese', 'English')
    """
    place = Path(materials_place(materials))
    if not place.is_dir() and not zipfile.is_zipfile(place):
        return ENGLISH
    archive = Archive(place, os.environ.get(PASSWORD_VARIABLE, password), PASSWORD_HINT)
    inside = (name for name in archive.names if "contexts/" in name)
    name = f"{next(inside, '').rpartition('contexts/')[0]}{FILE}"
    if name not in archive.names:
        return ENGLISH
    return read_language(parse_yaml(f"{materials}, {name}", archive.read(name)))


def _language(study: Study) -> Language:
    materials = study["ewok"]["materials"]
    return language_in(materials["source"], materials.get("password"))


def prompt_set(study: Study, name: str) -> str:
    """The prompts that a study asks by a name, as ``prompts_in`` its materials' language."""
    return prompts_in(_language(study), name) if name == PAPER else name


def prompts_in(language: Language, name: str) -> str:
    """The set of prompts that is asked by a name: the paper's are in the language.

    Raises:
        UserError: the language states none, or a file that is not there.
    """
    chosen = language.prompt_set(name)
    if chosen != name and not prompt_file(chosen).is_file():
        problem = f"prompts: there is no {chosen} in resources/prompts, and no such file."
        raise UserError(FILE, problem, "Write it (CONTRIBUTING.md), or correct the name.")
    return chosen


#: Templates of a rehearsal: three of each domain of our own materials.
REHEARSED = 39


def rehearse(block: dict[str, Any]) -> None:
    """Make a study's block that of a rehearsal, in place: a few templates of each domain; released
    results are about all.
    """
    if block["released"]["results"]:
        return
    conditions = [block, *block["conditions"].values()]
    for part in (condition[key] for condition in conditions for key in ("items", "prompting")):
        part["limit"] = min(part["limit"] or REHEARSED, REHEARSED)


def has_responses(study: Study) -> bool:
    """Whether people's answers are cleaned."""
    return bool(study["ewok"]["human"]["responses"])


def has_both_ways(study: Study) -> bool:
    """Whether people are asked by Likert and by Choice."""
    return has_responses(study) and len(study["ewok"]["human"]["lists"]["paradigms"]) == 2


def has_people_rated(study: Study) -> bool:
    """Whether people's ratings of the items are there: averaged by somebody else, or cleaned
    here.
    """
    by_likert = has_responses(study) and "likert" in study["ewok"]["human"]["lists"]["paradigms"]
    return bool(study["ewok"]["human"]["ratings"]) or by_likert


def has_logprobs(study: Study) -> bool:
    """Whether models are scored by LogProbs, which the regressions and most figures are about."""
    return "logprobs" in study["ewok"]["eval_types"]


def has_prompting(study: Study) -> bool:
    """Whether models are also prompted."""
    return any(is_prompted(name) for name in study["ewok"]["eval_types"])


def has_mixed_model(study: Study) -> bool:
    """Whether the mixed-effects model is fitted."""
    return has_logprobs(study) and bool(study["ewok"]["mixed_model"]["enabled"])


def baselines(study: Study) -> list[str]:
    """The baselines that are scored; in another language than English, none of those that the
    package brings or trains, which know English alone.
    """
    chosen = study["ewok"]["baselines"]
    if not _language(study).is_english:
        is_own = {"word2vec": chosen["word2vec"]["enabled"] and chosen["word2vec"]["vectors"]}
        is_own |= {"sentence_vectors": chosen["sentence_vectors"]}
        return [
            name
            for name, source in is_own.items()
            if source and source != "trained" and not source.startswith("pkg:")
        ]
    is_chosen = {
        "relatedness": all(chosen[name] for name in RELATEDNESS),
        "word2vec": chosen["word2vec"]["enabled"],
    }
    return [name for name in BASELINES if is_chosen.get(name, chosen.get(name))]


def has_word2vec(study: Study) -> bool:
    """Whether bags of word vectors are scored."""
    return "word2vec" in baselines(study)


def has_wordnet(study: Study) -> bool:
    """Whether the relatedness of words by WordNet is scored."""
    return "wordnet" in baselines(study)


def has_sentence_vectors(study: Study) -> bool:
    """Whether sentence vectors are scored."""
    return "sentence_vectors" in baselines(study)


def family_conditions(study: Study) -> list[str]:
    """The conditions whose items are the materials' families; at most one."""
    return [
        name
        for name, condition in study["ewok"]["conditions"].items()
        if condition["items"]["families"]
    ]


def has_families(study: Study) -> bool:
    """Whether models are asked about families of items."""
    return bool(family_conditions(study)) and not is_released(study)


def has_pairs(study: Study) -> bool:
    """Whether there are models to compare."""
    return len(study["models"]) > 1


def has_comparisons(study: Study) -> bool:
    """Whether there are models to compare, or one with baselines."""
    return has_pairs(study) or (
        bool(study["models"]) and bool(baselines(study)) and not is_released(study)
    )


def has_strict_likert(study: Study) -> bool:
    """Whether models rate as in the paper's Table 4."""
    return "likert_constrained_two" in study["ewok"]["eval_types"]


def has_both_paradigms(study: Study) -> bool:
    """Whether both Likert and Choice are asked in the paper's set-up."""
    return "constrained_two" in prompting_setups(study)


def has_other_materials(study: Study) -> bool:
    """Whether the items can be those of the published numbers."""
    return not is_builtin(study)


def is_builtin(study: Study) -> bool:
    """Whether the study uses an edition of the built-in materials."""
    return edition(study["ewok"]["materials"]["source"]) in EDITIONS


def is_released(study: Study) -> bool:
    """Whether the released results take the place of the models' own answers."""
    return bool(study["ewok"]["released"]["results"])


def prompting_setups(study: Study) -> list[str]:
    """The set-ups in which both Likert and Choice are asked, e.g. constrained_two."""
    asked = study["ewok"]["eval_types"]
    likert, choice = (
        {name.partition("_")[2] for name in asked if name.startswith(p)}
        for p in ("likert_", "choice_")
    )
    return sorted(likert & choice)


def has_known_sizes(study: Study, registry: Registry) -> bool:
    """Whether two numbers of parameters or more are known: of models of the registry, or by what
    control models are built of.
    """
    cards = [registry[model] for model in study["models"]]
    stated = {card["parameters"] for card in cards if card["parameters"] is not None}
    built = {
        tuple(str(card["control"].get(part)) for part in ("architecture", "layers", "width"))
        for card in cards
        if card.get("control")
    }
    return len(stated) > 1 or len(built) > 1
