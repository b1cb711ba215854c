"""The methods paragraph, ready for a paper: every number and version in it is read from the tables' provenance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as parquet

from worldprobe.benchmarks.ewok.report.examples import OWN_CANARY
from worldprobe.contracts import read_provenance
from worldprobe.present.roster import Roster, is_yardstick
from worldprobe.present.selection import OVER_VERSIONS, in_words
from worldprobe.provenance import Provenance

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


@dataclass
class Made:
    """What made a table: its kind, its file and its provenance."""

    kind: str
    path: Path
    provenance: Provenance


@dataclass
class Methods:
    """The paragraph's sentences and the tables behind it."""

    sentences: list[str]
    packages: dict[str, str]
    models: list[dict[str, str]]
    files: list[dict[str, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The paragraph."""
        return " ".join(self.sentences)


def read_made(paths: Iterable[Path | str]) -> list[Made]:
    """Kind and provenance of each table of ours.

    Raises:
        UserError: one of the files is not a table of worldprobe.
    """
    found = []
    for path in map(Path, paths):
        provenance = read_provenance(path)
        kind = (parquet.read_schema(path).metadata or {}).get(b"worldprobe.table", b"").decode()
        found.append(Made(kind, path, provenance))
    return found


def describe(summaries: pd.DataFrame, made: Sequence[Made], roster: Roster) -> Methods:
    """What was done, as far as the tables say so; what they do not say is left out rather than guessed.

    Args:
        summaries: the Summaries table.
        made: the tables whose provenance is told, the summaries among them.
        roster: names of the models.
    """
    packages = _packages(made)
    sentences = [
        *_materials(summaries, made),
        *_models(summaries, made, roster),
        *_accuracy(made),
        *_baselines(made),
        *_regression(made),
        _software(packages),
    ]
    return Methods([s for s in sentences if s], packages, _model_rows(made, roster), _file_rows(made))


def _of(made: Sequence[Made], kind: str) -> list[Made]:
    return [one for one in made if one.kind == kind]


def _packages(made: Sequence[Made]) -> dict[str, str]:
    """Every package named by any table; two versions of one are both told."""
    versions: dict[str, set[str]] = {}
    for one in made:
        for name, version in (one.provenance.packages | one.provenance.details.get("r_versions", {})).items():
            versions.setdefault(name, set()).add(str(version))
    return {name: " and ".join(sorted(found)) for name, found in sorted(versions.items())}


def _materials(summaries: pd.DataFrame, made: Sequence[Made]) -> list[str]:
    overall = summaries[
        (summaries.grouping == "overall") & (summaries.version == OVER_VERSIONS) & ~summaries.model.map(is_yardstick)
    ]
    n_items = int(overall.n_items.max()) if len(overall) else 0
    n_domains = summaries[summaries.grouping == "domain"].group.nunique()
    n_concepts = summaries[summaries.grouping == "concept"].group.nunique()
    items = _of(made, "items")
    origin = _origin(items[0].provenance) if items else "the materials named in the configuration"
    text = f"We used {n_items:,} items in {n_domains} domains"
    text += f" ({n_concepts} concepts)" if n_concepts else ""
    sentences = [f"{text}, compiled from {origin} in the format of EWoK (Ivanova et al., 2024)."]
    if items:
        details = items[0].provenance.details
        if details.get("mode") == "fixed":
            named = _listed([str(v) for v in details.get("versions", [])])
            sentences.append(f"Templates were filled with one constant set of fillers per version (versions {named}).")
        elif details.get("mode") == "independent":
            per, seed = details.get("per_template"), items[0].provenance.seed
            sentences.append(f"Each template was filled {per} times independently (seed {seed}).")
        if details.get("compat"):
            sentences.append("Compilation followed the original software in every detail, its known quirks included.")
        if details.get("swap"):
            sentences.append(f"Filler classes were swapped: {_listed(map(str, details['swap']))}.")
        if details.get("filter"):
            sentences.append(f"Only items matching the filter {details['filter']} were kept.")
        if details.get("release_filter"):
            sentences.append("Items were reduced to those of the official release.")
    return sentences


def _origin(provenance: Provenance) -> str:
    digest = provenance.inputs.get("materials", "")[:12]
    canary = provenance.canary or ""
    own = OWN_CANARY in canary
    name = (
        "worldprobe's own built-in materials"
        if own
        else "the official EWoK materials"
        if "EWoK canary" in canary
        else "a folder of materials"
    )
    return f"{name} (SHA-256 {digest}…)" if digest else name


def _models(summaries: pd.DataFrame, made: Sequence[Made], roster: Roster) -> list[str]:
    models = roster.in_order(m for m in summaries.model.unique() if not is_yardstick(m))
    controls = [m for m in models if roster[m].is_control]
    text = f"We evaluated {len(models)} language model{'s' if len(models) != 1 else ''}"
    if controls and len(controls) == len(models):
        text += ", all of them small calibration controls that the pipeline trained from scratch"
    elif controls:
        text += f", {len(controls)} of them small calibration controls that the pipeline trained from scratch"
    sentences = [text + "."]
    asked = [name for name in summaries.eval_type.unique() if name == "logprobs" or name.split("_")[0] in ("likert", "choice")]
    imported = [one.provenance for one in made if one.provenance.details.get("imported")]
    if imported:
        digest = imported[0].inputs.get("release", "")[:12]
        steps = [step["step"].replace("_", " ") for step in imported[0].details["steps"] if step["note"] != "switched off"]
        sentences.append(
            f"Their scores and answers are those that the authors of EWoK released (SHA-256 {digest}…), after these steps of the "
            f"released analysis: {_listed(steps) or 'none'}."
        )
        return sentences
    if "logprobs" in asked:
        dtypes = sorted(
            {one.provenance.dtype for one in made if one.kind in ("target_scores", "judgements") and one.provenance.dtype}
        )
        weights = f"; weights in {_listed(dtypes)}" if dtypes else ""
        sentences.append(
            "LogProbs: a target's score is the sum of the natural log probabilities of its tokens after its context, "
            f"tokenised once as a whole, with the joining space counted to the target (log-softmax in float32{weights})."
        )
    prompted = [name for name in sorted(asked) if name != "logprobs"]
    if prompted:
        sentences.append(
            f"Models were also prompted (Ivanova et al., Appendix A.4): {'; '.join(in_words(name) for name in prompted)}."
        )
    return sentences


def _accuracy(made: Sequence[Made]) -> list[str]:
    sentences = [
        "For each target, accuracy is 1 if its matching context scores higher, 0.5 on an exact tie and 0 otherwise; an item's "
        "accuracy is the mean of its two targets, a model's accuracy the mean over versions, reported with the range of the "
        "version means."
    ]
    summaries = _of(made, "summaries")
    if summaries:
        one = summaries[0].provenance
        draws = one.details.get("n_bootstrap")
        if draws:
            sentences.append(
                f"Intervals are 95% bootstrap intervals over templates and versions ({draws:,} draws, seed {one.seed})."
            )
    return sentences


def _baselines(made: Sequence[Made]) -> list[str]:
    sentences = []
    word2vec = [one for one in _of(made, "judgements") if one.provenance.model == "word2vec"]
    if word2vec:
        n_vectors = word2vec[0].provenance.details.get("n_vectors")
        counted = f" ({n_vectors:,} word vectors)" if isinstance(n_vectors, int) else ""
        sentences.append(f"A bag-of-words baseline compared summed word2vec vectors of target and context by cosine{counted}.")
    for one in _of(made, "surface_features"):
        unit = one.provenance.details.get("unit")
        source = one.provenance.details.get("source")
        sentences.append(
            f"Surface features are the number of words and the mean log word frequency of (C1 + C2)/2 + T (source: {source}"
            + (f", {unit})." if unit else ").")
        )
    return sentences


def _regression(made: Sequence[Made]) -> list[str]:
    sentences = []
    for one in _of(made, "coefficients"):
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


def _listed(words: Iterable[str]) -> str:
    """Words as a list in a sentence.

    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    found = list(words)
    return found[0] if len(found) == 1 else ", ".join(found[:-1]) + (" and " + found[-1] if found else "")


def _model_rows(made: Sequence[Made], roster: Roster) -> list[dict[str, str]]:
    """Checkpoint, revision, dtype and engine of every model that was scored, once each."""
    rows: dict[str, dict[str, str]] = {}
    for one in made:
        p = one.provenance
        if one.kind in ("target_scores", "responses", "judgements") and p.model and p.checkpoint:
            rows.setdefault(
                p.model,
                {
                    "name": roster[p.model].name,
                    "checkpoint": p.checkpoint,
                    "revision": p.revision or "–",
                    "dtype": p.dtype or "–",
                    "engine": p.engine or "–",
                },
            )
    return [rows[model] for model in roster.in_order(rows)]


def _file_rows(made: Sequence[Made]) -> list[dict[str, str]]:
    """What each table says about its own making."""
    rows = []
    for one in made:
        p = one.provenance
        inputs = ", ".join(f"{Path(name).name} {digest[:10]}" for name, digest in sorted(p.inputs.items())[:4])
        more = len(p.inputs) - 4
        rows.append(
            {
                "table": one.kind,
                "file": one.path.name,
                "model": p.model or "–",
                "seed": "–" if p.seed is None else str(p.seed),
                "method": str(p.method),
                "inputs": inputs + (f" and {more} more" if more > 0 else "") if inputs else "–",
            }
        )
    return rows
