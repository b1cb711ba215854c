"""The files that a study of EWoK makes, and which of them a step reads: plain lists of paths, for rules and for status.

Everything follows from the validated study and the registry. Imports nothing heavy: Snakemake reads it whenever it starts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from worldprobe.files import digest_file
from worldprobe.paths import FIGURE_FORMS, RESOURCES, TABLE_FORMS, BenchmarkPaths, ControlPaths, StudyPaths

Study = Mapping[str, Any]
Registry = Mapping[str, Mapping[str, Any]]

BUILTIN = RESOURCES / "materials" / "ewok-builtin"
#: Notebook -> models scored by LogProbs that it needs.
LEAST_MODELS = {"1_explore_failures_by_concept": 1, "2_compare_two_models": 2}
#: Settings that decide what the control models are trained on.
CORPUS = ("seed", "stories", "sentences", "held_out_templates", "held_out_fillers", "vocabulary")
FORMS = {"table": TABLE_FORMS, "figure": FIGURE_FORMS}


def has_logprobs(study: Study) -> bool:
    """Whether models are scored by LogProbs, which the regressions and most figures are about."""
    return "logprobs" in study["ewok"]["eval_types"]


def has_prompting(study: Study) -> bool:
    """Whether models are also prompted."""
    return any(name != "logprobs" for name in study["ewok"]["eval_types"])


def has_mixed_model(study: Study) -> bool:
    """Whether the mixed-effects model is fitted."""
    return has_logprobs(study) and bool(study["ewok"]["mixed_model"]["enabled"])


def has_word2vec(study: Study) -> bool:
    """Whether the bag-of-words baseline is scored."""
    return bool(study["ewok"]["baselines"]["word2vec"]["enabled"])


def has_conditions(study: Study) -> bool:
    """Whether there are several conditions to compare."""
    return len(study["ewok"]["conditions"]) > 1 and not is_released(study)


def is_builtin(study: Study) -> bool:
    """Whether the study uses the built-in materials."""
    return study["ewok"]["materials"]["source"] == "builtin"


def is_released(study: Study) -> bool:
    """Whether released results take the place of the models' own answers."""
    return bool(study["ewok"]["released"]["results"])


def prompting_setups(study: Study) -> list[str]:
    """The set-ups in which both Likert and Choice are asked, e.g. constrained_two."""
    asked = study["ewok"]["eval_types"]
    likert, choice = ({name.partition("_")[2] for name in asked if name.startswith(p)} for p in ("likert_", "choice_"))
    return sorted(likert & choice)


def control_models(study: Study, registry: Registry) -> list[str]:
    """The models of the study that this pipeline trains itself."""
    return [model for model in study["models"] if registry[model].get("control")]


def has_generalisation(study: Study, registry: Registry) -> bool:
    """Whether what control models had seen can be told from what is new to them."""
    return has_logprobs(study) and bool(control_models(study, registry)) and is_builtin(study) and not is_released(study)


def has_known_sizes(study: Study, registry: Registry) -> bool:
    """Whether the number of parameters is known, from the registry or from training, for two models or more."""
    known = [model for model in study["models"] if registry[model]["parameters"] or registry[model].get("control")]
    return len(known) > 1


def paths(study: Study) -> BenchmarkPaths:
    """The study's EWoK files."""
    return StudyPaths(study["study"]).benchmark("ewok")


def conditions(study: Study) -> list[str]:
    """Names of the conditions, the reference first."""
    return list(study["ewok"]["conditions"])


def reference(study: Study) -> str:
    """The condition that is analysed in full."""
    return conditions(study)[0]


def versions(study: Study, condition: str) -> list[int]:
    """The versions of a condition's items; in the independent mode, each template's samples from 0.

    >>> items = {"mode": "fixed", "versions": "2-4", "per_template": 2}
    >>> versions({"ewok": {"conditions": {"main": {"items": items}}}}, "main")
    [2, 3, 4]
    """
    items = study["ewok"]["conditions"][condition]["items"]
    if items["mode"] == "independent":
        return list(range(items["per_template"]))
    first, _, last = str(items["versions"]).partition("-")
    return list(range(int(first), int(last or first) + 1))


def version_tables(study: Study, condition: str) -> list[str]:
    """A condition's items, version by version."""
    return [paths(study).items(condition, version) for version in versions(study, condition)]


def item_table(study: Study) -> str:
    """The items of the reference condition."""
    return paths(study).items(reference(study))


def item_tables(study: Study) -> list[str]:
    """The items of all conditions."""
    return [paths(study).items(condition) for condition in conditions(study)]


def evidence(study: Study, model: str, condition: str | None = None) -> list[str]:
    """What a model is judged by, in the order in which it is asked: condition by condition, all ways of asking of each.

    Args:
        study: a validated study.
        model: its id.
        condition: one alone (all).
    """
    wanted = conditions(study) if condition is None else [condition]
    return [paths(study).evidence(one, name, model) for one in wanted for name in study["ewok"]["eval_types"]]


def judgements(
    study: Study, models: Iterable[str], eval_types: Iterable[str] | None = None, condition: str | None = None
) -> list[str]:
    """Judgements of models; a release's, where it stands in for them.

    Args:
        study: a validated study.
        models: ids of those that have answers.
        eval_types: ways of asking (all).
        condition: whose items were asked about (the reference).
    """
    where = condition or reference(study)
    if is_released(study):
        return [paths(study).judgements(where, "released", "released")]
    names = study["ewok"]["eval_types"] if eval_types is None else list(eval_types)
    return [paths(study).judgements(where, name, model) for name in names for model in models]


def prompted_judgements(study: Study, models: Iterable[str]) -> list[str]:
    """Judgements of what models answered to prompts."""
    return judgements(study, models, [name for name in study["ewok"]["eval_types"] if name != "logprobs"])


def yardsticks(study: Study) -> list[str]:
    """Judgements of what models are compared with: word2vec, and people where their ratings are given."""
    if is_released(study):
        return []
    found = []
    if has_word2vec(study):
        found.append(paths(study).judgements(reference(study), "word2vec", "word2vec"))
    if study["ewok"]["human"]["ratings"]:
        found.append(paths(study).judgements(reference(study), "human_likert", "human"))
    return found


def surface_features(study: Study) -> str:
    """Length and word frequency of the sentences: measured, or as they were released."""
    return paths(study).table("released/surface_features" if is_released(study) else "surface_features")


def coefficients(study: Study) -> list[str]:
    """The mixed model's coefficients, where it is fitted."""
    return [paths(study).table("regression/mixed_model")] if has_mixed_model(study) else []


def tables(study: Study) -> list[str]:
    """Names of the study's printed tables."""
    names = ["dataset"]
    if has_logprobs(study):
        names += ["mean_accuracy", "accuracy_by_domain", "fixed_effects", "correlations"]
    if has_mixed_model(study):
        names.append("mixed_model")
    if has_logprobs(study) and len(study["models"]) > 1:
        names.append("comparisons")
    if not is_builtin(study):
        names.append("reproduction")
    if has_prompting(study):
        names.append("accuracy_by_paradigm")
    if "likert_constrained_two" in study["ewok"]["eval_types"]:
        names.append("likert_strict")
    return names


def figures(study: Study, registry: Registry) -> list[str]:
    """Names of the study's figures."""
    names = []
    if has_logprobs(study):
        names += ["accuracy_by_domain", "concepts", "design_features", "n_words", "log_frequency"]
        if has_word2vec(study):
            names.append("word2vec")
        if has_known_sizes(study, registry):
            names.append("scaling")
    if has_generalisation(study, registry):
        names.append("controls")
    if "constrained_two" in prompting_setups(study):
        names.append("agreement")
        if has_logprobs(study):
            names.append("paradigms")
    if has_prompting(study):
        names += ["setups_by_model", "setups_by_domain"]
    return names


def files_of(study: Study, kind: str, names: Iterable[str], suffixes: Iterable[str] | None = None) -> list[str]:
    """Files of printed tables or figures.

    Args:
        study: a validated study.
        kind: "table" or "figure".
        names: which.
        suffixes: which forms (all).
    """
    forms = list(FORMS[kind] if suffixes is None else suffixes)
    place = paths(study).printed if kind == "table" else paths(study).figure
    return [place(name, suffix) for name in names for suffix in forms]


def notebooks(study: Study, models: Iterable[str]) -> list[str]:
    """Names of the study's notebooks: those for whose models there are enough."""
    n_scored = len(list(models)) if has_logprobs(study) and not is_released(study) else 0
    return [name for name in study["report"]["notebooks"] if n_scored >= LEAST_MODELS.get(name, 0)]


def made_from(study: Study, models: Iterable[str]) -> list[str]:
    """The tables whose provenance the report describes."""
    place = paths(study)
    found = [place.table("templates"), item_table(study), surface_features(study)]
    if is_released(study):
        found += judgements(study, [])
    else:
        names = study["ewok"]["eval_types"]
        found += [place.evidence(reference(study), name, model) for name in names for model in models]
    if has_logprobs(study):
        found += [place.table("regression/fixed_effects"), *coefficients(study)]
    if has_word2vec(study) and not is_released(study):
        found += [place.judgements(reference(study), "word2vec", "word2vec")]
    return found


def targets(study: Study, registry: Registry) -> list[str]:
    """Every file that a study of EWoK is for, without the report."""
    wanted = files_of(study, "table", tables(study)) + files_of(study, "figure", figures(study, registry))
    if not is_builtin(study):
        wanted.append(paths(study).table("reproduction"))
    if has_conditions(study):
        wanted.append(paths(study).table("conditions"))
    return wanted


def judgements_of_conditions(study: Study, models: Iterable[str]) -> list[str]:
    """Judgements of models under every condition, the reference first."""
    chosen = list(models)
    return [path for condition in conditions(study) for path in judgements(study, chosen, condition=condition)]


def pair_tables(study: Study) -> list[str]:
    """What tables of accuracy need besides the summaries: correlations, and comparisons of two models or more."""
    return [paths(study).table(name) for name in ("correlations", "comparisons") if name in tables(study)]


def prompt_file(name: str) -> Path:
    """The file of a set of prompts, or the user's own."""
    return RESOURCES / "prompts" / f"{name}.yaml" if "/" not in name and not name.endswith((".yaml", ".yml")) else Path(name)


def corpus(study: Study) -> ControlPaths:
    """The control models' corpus and what follows from it, by the materials' content and the settings."""
    settings = {name: study["ewok"]["controls"][name] for name in CORPUS}
    return ControlPaths(_key({"materials": digest_file(BUILTIN), "settings": settings}))


def control_checkpoint(study: Study, model: str, card: Mapping[str, Any]) -> str:
    """The folder of a control model: its name says what it is trained on and how, so that no study overwrites another's."""
    return corpus(study).model(_key(card["control"]), model)


def with_control_checkpoints(study: Study, registry: Registry) -> dict[str, dict[str, Any]]:
    """The registry with the folders of the control models as this study trains them."""
    return {
        model: {**card, "checkpoint": control_checkpoint(study, model, card)} if card.get("control") else dict(card)
        for model, card in registry.items()
    }


def trained(study: Study, registry: Registry, models: Iterable[str]) -> list[str]:
    """The folders of the study's control models."""
    wanted = set(models)
    return [registry[model]["checkpoint"] for model in control_models(study, registry) if model in wanted]


def control_judgements(study: Study, registry: Registry, models: Iterable[str]) -> list[str]:
    """Judgements of the control models' log probabilities."""
    wanted = [model for model in models if model in control_models(study, registry)]
    return judgements(study, wanted, ["logprobs"]) if has_generalisation(study, registry) else []


def _key(settings: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
