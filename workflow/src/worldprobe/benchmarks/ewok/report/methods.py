"""The methods paragraph, ready for a paper: every number and version in it is read from the tables' provenance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from worldprobe.benchmarks.ewok.eval_types import EVAL_TYPES, is_prompted
from worldprobe.benchmarks.ewok.exports.canaries import is_own, is_protected
from worldprobe.benchmarks.ewok.materials.materials import Source
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.contracts.results import ALL
from worldprobe.models.model_types import ENCODER_DECODER, MASKED, ORIGINAL, WITHIN_WORD, describe_kind
from worldprobe.paths import EDITIONS
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster, is_yardstick
from worldprobe.report.origins import (
    Methods,
    TableOrigin,
    file_rows,
    model_rows,
    notes,
    package_versions,
)
from worldprobe.report.sentences import counted, listed

#: Packages named in the paragraph, in this order, where they took part.
NAMED_PACKAGES = (
    "torch",
    "transformers",
    "vllm",
    "gensim",
    "wordfreq",
    "R",
    "lme4",
    "rpy2",
    "statsmodels",
    "numpy",
    "pandas",
    "scipy",
)


def describe_methods(summaries: pd.DataFrame, origins: Sequence[TableOrigin], roster: Roster) -> Methods:
    """What was done, as far as the tables record it; what they do not record is left out rather than guessed.

    Args:
        summaries: the Summaries table.
        origins: the tables to describe, the summaries among them.
        roster: names of the models.
    """
    packages = package_versions(origins)
    sentences = [
        *_materials(summaries, origins),
        *_conditions(origins),
        *_models(summaries, origins, roster),
        *_accuracy(origins),
        *_baselines(origins),
        *_regression(origins),
        _software(packages),
    ]
    models = model_rows(origins, ("target_scores", "responses", "judgements"), roster)
    return Methods([s for s in sentences if s], packages, models, file_rows(origins))


def _of(origins: Sequence[TableOrigin], kind: str) -> list[TableOrigin]:
    return [one for one in origins if one.kind == kind]


def _materials(summaries: pd.DataFrame, origins: Sequence[TableOrigin]) -> list[str]:
    overall = summaries[(summaries.grouping == "overall") & (summaries.condition == ALL) & ~summaries.model.map(is_yardstick)]
    n_items = int(overall.n.max()) if len(overall) else 0
    n_domains = summaries[summaries.grouping == "domain"].group.nunique()
    items = _of(origins, "items")
    origin = _origin(items[0].provenance) if items else "the materials named in the configuration"
    text = f"The test set had {counted(n_items, 'item')}" + (f" in {counted(n_domains, 'domain')}" if n_domains else "")
    sizes = items[0].provenance.details if items else {}
    if "situations" in sizes:
        parts = counted(sizes["concept_pairs"], "pair"), counted(sizes["situations"], "situation")
        text += f", from templates of {parts[0]} of concepts and {parts[1]}"
    sentences = [f"{text}, compiled from {origin} in the format of EWoK (Ivanova et al., 2024)."]
    if items:
        details = items[0].provenance.details
        if details.get("mode") == "fixed":
            named = [str(version) for version in details.get("versions", [])]
            noun = "version" if len(named) == 1 else "versions"
            sentences.append(f"Each version filled all templates from one fixed set of fillers ({noun} {listed(named)}).")
        elif details.get("mode") == "balanced":
            n, seed = len(details.get("versions", [])), items[0].provenance.seed
            often = "once" if n == 1 else f"{n} times"
            balance = "so that names of each sex and origin and all listed fillers were used about equally often"
            sentences.append(f"Each template was filled {often}, {balance} in every version (seed {seed}).")
        elif details.get("mode") == "independent":
            per, seed = details.get("per_template"), items[0].provenance.seed
            often = "once" if per == 1 else f"{per} times"
            sentences.append(f"Each template was filled {often}, independently of the others (seed {seed}).")
        if details.get("compat"):
            sentences.append("Compilation reproduced the original software exactly, including its known quirks.")
        if details.get("swap"):
            sentences.append(f"Filler classes were swapped: {listed(map(str, details['swap']))}.")
        if details.get("filter"):
            sentences.append(f"Only items matching the filter {details['filter']} were kept.")
        if details.get("release_filter"):
            sentences.append("Only items of the official release were kept.")
    return sentences


def _conditions(origins: Sequence[TableOrigin]) -> list[str]:
    """Which conditions there are besides the one that is described; scores lie in folders named by condition and eval type."""
    scored = [one.path.parts for one in origins if one.kind in ("target_scores", "responses")]
    first, *others = dict.fromkeys(parts[-3] for parts in scored if parts[-4:-3] in (("scores",), ("responses",))) or ("",)
    if not others:
        return []
    noun = "condition" if len(others) == 1 else "conditions"
    return [f"These are the items of the condition {first}; the {noun} {listed(others)} differed in items or prompts."]


def _origin(provenance: Provenance) -> str:
    whole = provenance.inputs.get("materials", "")
    digest = whole[:12]
    name = "a folder of materials"
    if is_own(provenance.canary):
        known = [edition for edition, folder in EDITIONS.items() if Source(folder).digest() == whole]
        name = ", ".join(["worldprobe's own built-in materials", *known])
    elif is_protected(provenance.canary):
        name = "the official EWoK materials"
    return f"{name} (SHA-256 {digest}…)" if digest else name


def _models(summaries: pd.DataFrame, origins: Sequence[TableOrigin], roster: Roster) -> list[str]:
    models = roster.in_order(m for m in summaries.model.unique() if not is_yardstick(m))
    controls = [m for m in models if roster[m].is_control]
    text = f"We evaluated {counted(len(models), 'language model')}"
    if controls:
        rest = len(models) - len(controls)
        which = counted(len(controls), "small calibration control") if rest else "small calibration controls"
        text += f"{', among them' if rest else ':'} {which} that the pipeline made from scratch"
    sentences = [text + "."]
    for one in _of(origins, "summaries")[:1]:
        sentences += notes(one.provenance, roster)
    asked = [name for name in summaries.eval_type.unique() if name in EVAL_TYPES]
    imported = [one.provenance for one in origins if one.provenance.details.get("imported")]
    if imported:
        digest = imported[0].inputs.get("release", "")[:12]
        steps = [step["step"].replace("_", " ") for step in imported[0].details["steps"] if step["note"] != "switched off"]
        sentences.append(
            f"Their scores and answers are those that the authors of EWoK released (SHA-256 {digest}…), after these steps of the "
            f"released analysis: {listed(steps) or 'none'}."
        )
        return sentences
    if "logprobs" in asked:
        dtypes = sorted(
            {one.provenance.dtype for one in origins if one.kind in ("target_scores", "judgements") and one.provenance.dtype}
        )
        weights = f"; weights in {listed(dtypes)}" if dtypes else ""
        sentences.append(
            "LogProbs: a target's score is the sum of the natural log probabilities of its tokens after its context, "
            f"tokenised once as a whole, with the joining space counted to the target (log-softmax in float32{weights})."
        )
        sentences += _other_kinds(origins)
    prompted = [name for name in sorted(asked) if is_prompted(name)]
    if prompted:
        sentences.append(
            f"Models were also prompted (Ivanova et al., Appendix A.4): {'; '.join(in_words(name) for name in prompted)}."
        )
    return sentences


def _other_kinds(origins: Sequence[TableOrigin]) -> list[str]:
    """How masked and encoder-decoder models were scored."""
    kinds = {str(kind) for one in _of(origins, "summaries") for kind in one.provenance.details.get("kinds", {}).values()}
    sentences = []
    if any(kind.startswith(MASKED) for kind in kinds):
        alone = describe_kind(MASKED, ORIGINAL) in kinds
        way = "each token hidden alone (Salazar et al., 2020)" if alone else ""
        within = "each token hidden together with the rest of its word (Kauf and Ivanova, 2023)"
        ways = [one for one in (way, within if describe_kind(MASKED, WITHIN_WORD) in kinds else "") if one]
        sentences.append(f"Masked models were scored by the target's pseudo-log-likelihood in its context, {listed(ways)}.")
    if describe_kind(ENCODER_DECODER) in kinds:
        sentences.append("Encoder-decoder models read the context in the encoder, and the target was scored in the decoder.")
    return sentences


def _accuracy(origins: Sequence[TableOrigin]) -> list[str]:
    sentences = [
        "For each target, accuracy is 1 if its matching context scores higher, 0.5 on an exact tie and 0 otherwise; an item's "
        "accuracy is the mean of its two targets, and a model's accuracy is the mean over versions."
    ]
    summaries = _of(origins, "summaries")
    if summaries:
        one = summaries[0].provenance
        if drawn := one.details.get("drawn"):
            sentences.append(
                f"95% intervals take {drawn} as crossed samples: the half width is the standard error times a quantile between "
                "the normal one and Student's t of the part of the variance that is known from the fewest units."
            )
    return sentences


def _baselines(origins: Sequence[TableOrigin]) -> list[str]:
    sentences = []
    word2vec = [one for one in _of(origins, "judgements") if one.provenance.model == "word2vec"]
    if word2vec:
        n_vectors = word2vec[0].provenance.details.get("n_vectors")
        counted = f" ({n_vectors:,} word vectors)" if isinstance(n_vectors, int) else ""
        sentences.append(f"A bag-of-words baseline compared summed word2vec vectors of target and context by cosine{counted}.")
    for one in _of(origins, "surface_features"):
        unit = one.provenance.details.get("unit")
        source = one.provenance.details.get("source")
        sentences.append(
            f"Surface features are the number of words and the mean log word frequency of (C1 + C2)/2 + T (source: {source}"
            + (f", {unit})." if unit else ").")
        )
    return sentences


def _regression(origins: Sequence[TableOrigin]) -> list[str]:
    sentences = []
    for one in _of(origins, "coefficients"):
        details: dict[str, Any] = one.provenance.details
        formula, n_rows = details.get("formula"), details.get("n_rows")
        if not formula:
            continue
        is_mixed = "(1|" in str(formula)
        kind = (
            "A mixed-effects logistic regression"
            if is_mixed
            else "As a cross-check, a logistic regression without random effects"
        )
        text = f"{kind} was fitted to {n_rows:,} target rows: {formula}." if isinstance(n_rows, int) else f"{kind}: {formula}."
        sentences.append(text)
    return sentences


def _software(packages: dict[str, str]) -> str:
    own = packages.get("worldprobe")
    named = [f"{name} {packages[name]}" for name in NAMED_PACKAGES if name in packages]
    if not own:
        return ""
    return f"All steps were run with worldprobe {own}" + (f" ({', '.join(named)})." if named else ".")
