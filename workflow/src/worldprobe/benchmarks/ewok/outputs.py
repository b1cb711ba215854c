"""The files that a study of EWoK makes, and which of them a step reads: plain lists of paths, for
rules and for status.

Everything follows from the validated study and the registry.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldprobe.benchmark import PageFiles, Registry, Study
from worldprobe.benchmarks.ewok.study import (
    EwokPaths,
    baselines,
    family_conditions,
    has_both_ways,
    has_comparisons,
    has_logprobs,
    has_mixed_model,
    has_people_rated,
    has_prompting,
    has_responses,
    has_word2vec,
    is_builtin,
    is_released,
    prompt_file,
    prompt_set,
)
from worldprobe.benchmarks.ewok.vocabulary import is_prompted
from worldprobe.models.registry import chat_template, refuse_prompted
from worldprobe.paths import DOWNLOADS, StudyPaths
from worldprobe.sources import shipped_files

#: Notebook -> models scored by LogProbs that it needs.
LEAST_MODELS = {"1_explore_failures_by_concept": 1, "2_compare_two_models": 2}


def paths(study: Study) -> EwokPaths:
    """The study's EWoK files."""
    return EwokPaths(StudyPaths.of(study).benchmark("ewok"))


def conditions(study: Study) -> list[str]:
    """Names of the conditions, the reference first."""
    return list(study["ewok"]["conditions"])


def reference(study: Study) -> str:
    """The condition that is analysed in full."""
    return conditions(study)[0]


def item_versions(study: Study, condition: str) -> list[int]:
    """The versions of a condition's items; in the independent mode, each template's samples from 0.

    >>> items = {"mode": "fixed", "versions": "2-4", "per_template": 2}
    >>> item_versions({"ewok": {"conditions": {"main": {"items": items}}}}, "main")
    [2, 3, 4]
    """
    items = study["ewok"]["conditions"][condition]["items"]
    if items["mode"] == "independent":
        return list(range(items["per_template"]))
    first, _, last = str(items["versions"]).partition("-")
    return list(range(int(first), int(last or first) + 1))


def version_tables(study: Study, condition: str) -> list[str]:
    """A condition's items, version by version."""
    return [paths(study).items(condition, version) for version in item_versions(study, condition)]


def item_table(study: Study) -> str:
    """The items of the reference condition."""
    return paths(study).items(reference(study))


def item_tables(study: Study) -> list[str]:
    """The items of all conditions."""
    return [paths(study).items(condition) for condition in conditions(study)]


def evidence(study: Study, model: str, condition: str | None = None) -> list[str]:
    """Scores and responses that a model is judged by, in the order in which it is asked: condition
    by condition, all ways of asking of each.

    Args:
        study: a validated study.
        model: its id.
        condition: one alone (all).
    """
    wanted = conditions(study) if condition is None else [condition]
    return [
        paths(study).evidence(chosen_condition, name, model)
        for chosen_condition in wanted
        for name in study["ewok"]["eval_types"]
    ]


def downloads(study: Study) -> dict[str, str]:
    """Downloads of a study: files of ``resources/sources.yaml`` that settings name, and baselines
    that are packages. Each has the file that its fetch makes; one that a study can do without has a
    note.
    """
    block, listed = study["ewok"], shipped_files()
    needed = [block["materials"]["source"], block["released"]["results"]]
    others = [
        block["baselines"]["word2vec"]["vectors"] if has_word2vec(study) else None,
        *block["baselines"]["frequency"]["files"],
        block["human"]["ratings"],
    ]
    packages = [
        name
        for name, source in block["baselines"].items()
        if isinstance(source, str) and source.startswith("pkg:") and name in baselines(study)
    ]
    return {
        **{file: file for file in needed if file in listed},
        **{file: note for file in others if file and (note := fetch_note(study, file))},
        **{name: f"{paths(study).root}/baselines/{name}.json" for name in packages},
    }


def fetch_note(study: Study, file: str) -> str | None:
    """The note on a file that is fetched and that a study can do without; None where it is the
    user's.
    """
    if file not in shipped_files():
        return None
    return f"{StudyPaths.of(study).root}/fetched/{file.removeprefix(f'{DOWNLOADS}/')}.json"


def without_downloads(block: Mapping[str, Any], names: Collection[str]) -> dict[str, Any] | None:
    """The settings without files or baselines that cannot be had: word frequencies are then
    wordfreq's. Without materials, or released results where these are the answers, nothing is left.
    """
    if block["materials"]["source"] in names or block["released"]["results"] in names:
        return None
    chosen = block["baselines"]
    baselines = {name: None if name in names else source for name, source in chosen.items()}
    if chosen["word2vec"]["vectors"] in names:
        baselines["word2vec"] = chosen["word2vec"] | {"enabled": False}
    if not set(names).isdisjoint(chosen["frequency"]["files"]):
        baselines["frequency"] = chosen["frequency"] | {"source": "wordfreq", "files": []}
    human = block["human"]
    if human["ratings"] in names:
        human = human | {"ratings": None}
    return dict(block) | {"baselines": baselines, "human": human}


def prompting(study: Study, card: Mapping[str, Any]) -> dict[str, Any]:
    """How a model is prompted, as settings of ``score``: one value per condition; nothing where
    none is.

    Args:
        study: a validated study.
        card: the model's.

    >>> how = {"prompts": "ewok", "swap": True, "chat_template": "auto", "thoughts": 9, "limit": 0}
    >>> block = {"eval_types": ["choice_free_zero"], "conditions": {"main": {"prompting": how}}}
    >>> block["materials"] = {"source": "builtin"}
    >>> [*prompting({"ewok": block}, {"chat": True}).values()]
    [[9], ['ewok'], ['yes'], ['always']]
    >>> prompting({"ewok": block | {"eval_types": ["logprobs"]}}, {"chat": True})
    {}
    """
    if not has_prompting(study):
        return {}
    how = [condition["prompting"] for condition in study["ewok"]["conditions"].values()]
    limits = {key: [settings[key] or 0 for settings in how] for key in ("thoughts", "limit")}
    return {key: values for key, values in limits.items() if any(values)} | {
        "prompts": [prompt_set(study, settings["prompts"]) for settings in how],
        "both_orders": ["yes" if settings["swap"] else "no" for settings in how],
        "chat_template": [chat_template(settings, card) for settings in how],
    }


def prompt_files(study: Study) -> set[Path]:
    """The files of the prompts, where models are prompted.

    >>> conditions = {name: {"prompting": {"prompts": "mine.yaml"}} for name in ("main", "nonce")}
    >>> block = {"eval_types": ["likert_free_zero"], "conditions": conditions}
    >>> prompt_files({"ewok": block})
    {PosixPath('mine.yaml')}
    """
    conditions = study["ewok"]["conditions"].values() if has_prompting(study) else ()
    return {
        prompt_file(prompt_set(study, condition["prompting"]["prompts"]))
        for condition in conditions
    }


def answers(study: Study, model: str) -> list[str]:
    """Tables of a model's answers. There are none of one that EWoK does not ask, or where released
    results take the place of answers.
    """
    return [] if is_released(study) or model not in study["models"] else evidence(study, model)


def judgements(
    study: Study,
    eval_types: Iterable[str] | None = None,
    condition: str | None = None,
    models: Iterable[str] | None = None,
) -> list[str]:
    """Judgements of a study's models; a release's, where it replaces them.

    Args:
        study: a validated study, without models that have no answers.
        eval_types: ways of asking (all).
        condition: whose items were asked about (the reference).
        models: whose (all).
    """
    where = condition or reference(study)
    if is_released(study):
        return [paths(study).judgements(where, "released", "released")]
    names = study["ewok"]["eval_types"] if eval_types is None else eval_types
    chosen = list(study["models"] if models is None else models)
    return [paths(study).judgements(where, name, model) for name in names for model in chosen]


def prompted_judgements(study: Study) -> list[str]:
    """Judgements of what models answered to prompts."""
    return judgements(study, filter(is_prompted, study["ewok"]["eval_types"]))


def baseline_judgements(study: Study, condition: str | None = None) -> list[str]:
    """Judgements of the baselines about the items of a condition (the reference)."""
    return [
        paths(study).judgements(condition or reference(study), name, name)
        for name in baselines(study)
    ]


def regressed(study: Study, registry: Registry) -> list[str]:
    """Judgements that the regressions explain: of published models, and of controls only where
    there is no other model, because what controls were taught hides what models know; in the
    fullest model, also those of baselines, which are features there.
    """
    is_full = study["ewok"]["mixed_model"]["random_effects"] == "maximal" and not is_released(study)
    published = [model for model in study["models"] if not registry[model].get("control")]
    return judgements(study, ["logprobs"], models=published or None) + (
        baseline_judgements(study) if is_full else []
    )


def judged_for_means(study: Study, _models: Sequence[str] = ()) -> list[str]:
    """Judgements of models, and of what they are compared with."""
    return judgements(study) + judgements_besides(study)


def judged_for_pairs(study: Study, _models: Sequence[str] = ()) -> list[str]:
    """Judgements by LogProbs of models, and of the baselines that each is compared with."""
    return judgements(study, ["logprobs"]) + (
        [] if is_released(study) else baseline_judgements(study)
    )


def judgements_besides(study: Study) -> list[str]:
    """Judgements of what models are compared with: baselines, and people where their ratings are
    given.
    """
    if is_released(study):
        return []
    files = baseline_judgements(study)
    if has_people_rated(study):
        files.append(paths(study).judgements(reference(study), "human_likert", "human"))
    return files


def human_ratings(study: Study) -> str:
    """People's mean ratings: cleaned here, or taken from a CSV."""
    return paths(study).table("human/ratings" if has_responses(study) else "ratings")


def human_matrix(study: Study) -> list[str]:
    """People's confusion matrix of Likert and Choice, where they were asked both ways."""
    return [paths(study).table("human/agreements")] if has_both_ways(study) else []


def surface_features(study: Study) -> str:
    """Length and word frequency of the sentences: measured, or as they were released."""
    return paths(study).table(
        "released/surface_features" if is_released(study) else "surface_features"
    )


def coefficients(study: Study) -> list[str]:
    """The mixed model's coefficients, where it is fitted."""
    return [paths(study).table("regression/mixed_model")] if has_mixed_model(study) else []


def notebooks(study: Study) -> list[str]:
    """Names of the study's notebooks: those for whose models there are enough."""
    n_scored = len(study["models"]) if has_logprobs(study) and not is_released(study) else 0
    return [name for name in study["report"]["notebooks"] if n_scored >= LEAST_MODELS.get(name, 0)]


def made_from(study: Study) -> list[str]:
    """The tables whose provenance the report describes."""
    layout = paths(study)
    files = [layout.table("templates"), item_table(study), surface_features(study)]
    if is_released(study):
        files += judgements(study)
    else:
        files += [
            layout.evidence(where, name, model)
            for where in conditions(study)
            for name in study["ewok"]["eval_types"]
            for model in study["models"]
        ]
    if has_logprobs(study):
        files += [layout.table("regression/fixed_effects"), *coefficients(study)]
    return files + ([] if is_released(study) else baseline_judgements(study))


def page_files(study: Study, models: Iterable[str]) -> PageFiles:
    """Input files of the report's part on EWoK."""
    study = {**study, "models": [model for model in models if model in study["models"]]}
    return PageFiles(
        summary=paths(study).table("summaries"),
        eval_type=study["ewok"]["eval_types"][0],
        made_from=tuple(made_from(study)),
        notebooks=tuple(StudyPaths.of(study).notebook(name) for name in notebooks(study)),
        comparisons=paths(study).table("comparisons")
        if has_logprobs(study) and has_comparisons(study)
        else "",
    )


def outputs(study: Study, registry: Registry) -> list[str]:
    """Every file that a study of EWoK is for, besides its tables and figures and the report."""
    return [] if is_builtin(study) else [paths(study).table("reproduction")]


def template_table(study: Study, condition: str) -> str:
    """The templates that a condition's items are filled from."""
    return paths(study).table(
        "family_templates" if condition in family_conditions(study) else "templates"
    )


def refuse_models(study: Study, registry: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The registry, if its models can be evaluated as the study says.

    Raises:
        UserError: Likert or Choice is asked of a model that does not continue a text.
    """
    if any(is_prompted(name) for name in study["ewok"]["eval_types"]):
        fix = (
            "Give models that are not causal a study of their own, with ewok.eval_types:"
            " [logprobs]."
        )
        refuse_prompted(registry, study["models"], "ewok.eval_types", fix)
    return registry
