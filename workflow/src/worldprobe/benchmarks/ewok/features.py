"""What a study of EWoK has, by its settings: which outputs, tables and figures it needs. Imports nothing heavy."""

from __future__ import annotations

from worldprobe.benchmark import Registry, Study
from worldprobe.benchmarks.ewok.eval_types import is_graded, is_prompted
from worldprobe.benchmarks.ewok.human.settings import has_people_rated


def has_logprobs(study: Study) -> bool:
    """Whether models are scored by LogProbs, which the regressions and most figures are about."""
    return "logprobs" in study["ewok"]["eval_types"]


def has_prompting(study: Study) -> bool:
    """Whether models are also prompted."""
    return any(is_prompted(name) for name in study["ewok"]["eval_types"])


def has_mixed_model(study: Study) -> bool:
    """Whether the mixed-effects model is fitted."""
    return has_logprobs(study) and bool(study["ewok"]["mixed_model"]["enabled"])


def has_word2vec(study: Study) -> bool:
    """Whether the bag-of-words baseline is scored."""
    return bool(study["ewok"]["baselines"]["word2vec"]["enabled"])


def has_likeness(study: Study) -> bool:
    """Whether models answered in degrees, as people's ratings do, so that the two can be correlated."""
    asked = any(is_graded(name) for name in study["ewok"]["eval_types"])
    return asked and has_people_rated(study) and bool(study["models"]) and not is_released(study)


def has_conditions(study: Study) -> bool:
    """Whether there are several conditions to compare."""
    return len(study["ewok"]["conditions"]) > 1 and not is_released(study)


def has_pairs(study: Study) -> bool:
    """Whether there are models to compare."""
    return len(study["models"]) > 1


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
    """Whether the study uses the built-in materials."""
    return study["ewok"]["materials"]["source"] == "builtin"


def is_released(study: Study) -> bool:
    """Whether the released results take the place of the models' own answers."""
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
    """Whether what control models had seen can be distinguished from what is new to them."""
    return has_logprobs(study) and bool(control_models(study, registry)) and is_builtin(study) and not is_released(study)


def has_known_sizes(study: Study, registry: Registry) -> bool:
    """Whether the number of parameters is known, from the registry or from training, for two models or more."""
    known = [model for model in study["models"] if registry[model]["parameters"] is not None or registry[model].get("control")]
    return len(known) > 1
