"""The paper's printed numbers, with their sources (resources/published), next to ours."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worldprobe.analysis.reproduction import (
    FIX,
    REHEARSAL,
    Checked,
    Finding,
    compare_numbers,
    read_numbers,
    summary_line,
)
from worldprobe.benchmarks.ewok.analysis.provenances import check_items, check_same_items
from worldprobe.benchmarks.ewok.contracts import Coefficients, Items, Reproduction, Summaries
from worldprobe.benchmarks.ewok.materials.fillers import FillerClass
from worldprobe.benchmarks.ewok.materials.materials import read_materials
from worldprobe.benchmarks.ewok.materials.original_quirks import ORIGINAL
from worldprobe.benchmarks.ewok.vocabulary import is_rated
from worldprobe.contracts import read_provenance, read_table
from worldprobe.contracts.results import ALL, OVERALL
from worldprobe.errors import UserError
from worldprobe.provenance import is_rehearsed
from worldprobe.settings.documents import read_yaml

COLUMNS = ("block", "quantity", "model", "eval_type", "grouping", "group", "printed", "digits")
#: the authors' two sets of tables: the paper's block and its counterpart in the paper's repository.
COUNTERPARTS = {
    "table1": "mean_accuracy_allmodels",
    "table2": "mean_accuracy_bydomain",
    "mixed_model": "mixedmodel_coeffs_full",
    "likert_strict": "mean_accuracy_byevaltype",
}


@dataclass
class PublishedNumbers:
    """The numbers that were printed.

    Attributes:
        numbers: COLUMNS and condition, one row per printed number, in the papers' order.
        sources: block -> where it is printed.
        official_items: version -> digest of the official items' texts.
        release: digest of the official items' texts of all versions together.
    """

    numbers: pd.DataFrame
    sources: dict[str, str]
    official_items: dict[int, str]
    release: str

    @property
    def models(self) -> list[str]:
        """The paper's models in its order, human left out."""
        table = self.numbers[
            (self.numbers["block"] == "table1") & (self.numbers["model"] != "human")
        ]
        return list(dict.fromkeys(table["model"]))


def read_published(folder: Path) -> PublishedNumbers:
    """Read ewok.csv and sources.yaml.

    Raises:
        UserError: a file is missing or is not in their form.
    """
    numbers = read_numbers(folder / "ewok.csv", COLUMNS)
    path = folder / "sources.yaml"
    about = read_yaml(path).document
    try:
        published = PublishedNumbers(
            numbers=numbers.assign(condition=ALL),
            sources={name: block["source"] for name, block in about["blocks"].items()},
            official_items={
                int(version): digest for version, digest in about["official_items"].items()
            },
            release=str(about["official_release"]),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            path, "lacks the blocks with their sources, or the digests of the items.", FIX
        ) from error
    if unknown := set(numbers["block"]) - set(published.sources):
        raise UserError(
            path, f"names no source for {', '.join(sorted(unknown))}.", "Add the source."
        )
    return published


def people_of_paper(published: PublishedNumbers) -> pd.DataFrame:
    """Accuracy of the paper's participants (Tables 1 and 2): columns grouping, group, mean, and
    overall low and high.
    """
    table1, table2 = (
        published.numbers[published.numbers["block"] == name] for name in ("table1", "table2")
    )
    overall = table1[table1["model"] == "human"].set_index("quantity")["printed"].astype(float)
    domains = table2[table2["quantity"] == "human"]
    first = {"grouping": OVERALL, "group": ALL, **overall[["mean", "low", "high"]]}
    others = domains[["grouping", "group"]].assign(mean=domains["printed"].astype(float))
    return pd.concat([pd.DataFrame([first]), others], ignore_index=True)


def texts_digest(items: pd.DataFrame) -> str:
    """Digest of the items' distinct texts, whatever their order: the scheme of sources.yaml."""
    lines = (
        items["context1"]
        + "\t"
        + items["context2"]
        + "\t"
        + items["target1"]
        + "\t"
        + items["target2"]
    )
    distinct = sorted({line.encode() for line in lines})
    return hashlib.sha256(b"\n".join(distinct)).hexdigest()


def are_official(items: pd.DataFrame, published: PublishedNumbers) -> bool:
    """Whether every version with a known digest has the official items' texts."""
    digests = {v: texts_digest(items[items["version"] == v]) for v in published.official_items}
    return digests == published.official_items


def is_release(items: pd.DataFrame, published: PublishedNumbers) -> bool:
    """Whether the items are the release's, whatever versions and ids they have."""
    return are_official(items, published) or texts_digest(items) == published.release


#: numbers of the running text that describe people, settings or materials, which no table of
#: results can confirm.
DESCRIPTIONS = {
    "model_parameters_billions": "describes the models, not their results",
    "human_measurements": "describes the human study",
    "human_participants": "describes the human study",
    "participants_": "describes the human study",
    "min_inter_subject_correlation": "describes the human study",
    "min_responses_per_item": "describes the human study",
    "items_per_participant": "describes the human study",
    "pilot_": "describes the human pilot, whose answers are not released",
    "max_free_tokens": "a setting, not a result",
    "few_shot_examples": "a setting, not a result",
}
#: numbers of the running text that the items confirm.
ITEM_COUNTS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "items_abstract": len,
    "items_section3": len,
    "templates_section4": lambda items: len(
        items[["domain", "meta_template", "template"]].drop_duplicates()
    ),
    "domains": lambda items: items["domain"].nunique(),
    "versions": lambda items: items["version"].nunique(),
    "items_per_domain_min": lambda items: items["domain"].value_counts().min(),
    "items_per_domain_max": lambda items: items["domain"].value_counts().max(),
}
#: numbers of the running text that the materials confirm, and how they are counted.
FILLER_COUNTS: dict[str, Callable[[Mapping[str, FillerClass]], int]] = {
    "filler_items_over": lambda classes: sum(
        len(filler_class.fillers) for filler_class in classes.values()
    ),
    "filler_classes": len,
    "type_restrictions": lambda classes: sum(
        len(filler_class.columns) for filler_class in classes.values()
    ),
}
#: numbers that the paper itself gives in two ways, or that its released materials contradict.
KNOWN_DIFFERENCES = {
    "items_section3": "the paper rounds here; its abstract says 4374",
    "templates_section4": (
        "the text says 880 x 5; the released materials give 910 templates, 875 after the filter"
    ),
    "items_per_domain_max": (
        "the paper's Figure 3 says 1130; the released items of that domain are 1120"
    ),
}
NOT_THE_ITEMS = "scored on other items than EWoK-core-1.0, so the numbers answer another question"


@dataclass
class Results:
    """The results of a study, to be compared with the published ones.

    Attributes:
        summaries: contracts.Summaries.
        coefficients: contracts.Coefficients of the mixed model, or None.
        fitted_models: the models the mixed model was fitted to.
        target_coding: of the mixed model.
        items: contracts.Items, or None.
        fillers: classes of fillers of the materials, or None.
        is_official: whether the items are the official ones; None where it is not known.
        is_rehearsal: whether stand-ins answered in the models' places.
    """

    summaries: pd.DataFrame
    coefficients: pd.DataFrame | None = None
    fitted_models: list[str] = field(default_factory=list)
    target_coding: str = "deviation"
    items: pd.DataFrame | None = None
    fillers: Mapping[str, FillerClass] | None = None
    is_official: bool | None = None
    is_rehearsal: bool = False


def check_reproduction(published: PublishedNumbers, results: Results) -> pd.DataFrame:
    """Compare every published number with ours, and the paper's tables with those of its
    repository.

    Args:
        published: the printed numbers.
        results: ours.

    Returns:
        contracts.Reproduction.
    """
    means = results.summaries[results.summaries["condition"] == ALL]
    keys = ["model", "eval_type", "metric", "grouping", "group"]
    look_up = _LookUp(published, results, means.set_index(keys).sort_index())
    ours = compare_numbers(published.numbers, look_up.find)
    _name_the_other_table(ours, published.numbers)
    theirs = _between_the_authors(published)
    table = pd.concat(
        [ours.assign(compared_with="ours"), theirs.assign(compared_with="repository")],
        ignore_index=True,
    )
    return table.assign(position=np.arange(len(table)))


def describe_reproduction(table: pd.DataFrame) -> str:
    """The table in words."""
    authors = table[table["compared_with"] == "repository"]
    agreeing = int((authors["status"] == "within_rounding").sum())
    return (
        f"{summary_line(table[table['compared_with'] == 'ours'])} "
        f"The authors' own two sets of tables agree in {agreeing} of {len(authors)} numbers."
    )


_KEY = ["quantity", "model", "eval_type", "grouping", "group"]


def _between_the_authors(published: PublishedNumbers) -> pd.DataFrame:
    """The paper's tables against those in its repository."""
    printed = published.numbers.set_index(["block", *_KEY])["printed"].to_dict()

    def counterpart(number: dict[str, Any]) -> tuple[Any, ...]:
        return (COUNTERPARTS.get(number["block"]), *(number[key] for key in _KEY))

    def find(number: dict[str, Any]) -> Finding:
        theirs, reason = printed[counterpart(number)], "the authors' other run or item set"
        if (number["grouping"], number["quantity"]) == ("target_contrast", "estimate"):
            reason = "the repository codes target contrast as treatment, the paper as deviation"
        return (
            Finding(text=theirs, reason=reason)
            if pd.isna(number["digits"])
            else Finding(float(theirs), reason=reason)
        )

    blocks = [published.numbers[published.numbers["block"] == block] for block in COUNTERPARTS]
    numbers = pd.concat(blocks, ignore_index=True)
    return compare_numbers(
        numbers[[counterpart(dict(row)) in printed for _, row in numbers.iterrows()]], find
    )


def _name_the_other_table(ours: pd.DataFrame, numbers: pd.DataFrame) -> None:
    """Where ours differs from one of the authors' tables and agrees with the other, say so."""
    names = COUNTERPARTS | {other: block for block, other in COUNTERPARTS.items()}
    keys = list(numbers[["block", *_KEY]].itertuples(index=False, name=None))
    positions = {key: number for number, key in enumerate(keys)}
    for number, (block, *key) in enumerate(keys):
        twin = positions.get((names.get(block), *key))
        if twin is None or (ours["status"][number], ours["status"][twin]) != (
            "differs",
            "within_rounding",
        ):
            continue
        other = (
            f"agrees with the authors' other table ({ours['block'][twin]}: {ours['printed'][twin]})"
        )
        ours.loc[number, "reason"] = "; ".join(filter(None, [ours["reason"][number], other]))


class _LookUp:
    """Finds ours for a published number."""

    def __init__(self, published: PublishedNumbers, results: Results, means: pd.DataFrame) -> None:
        self.results = results
        self.means: Any = means.to_dict("index")
        self.paper_models = published.models
        series = results.summaries[["model", "eval_type"]].drop_duplicates()
        self.series = set(series.itertuples(index=False, name=None))
        self.run_models = [m for m in self.paper_models if (m, "logprobs") in self.series]
        self.finders: dict[str, Callable[[dict[str, Any]], Finding]] = {
            "table1": self._mean,
            "likert_strict": self._mean,
            "mean_accuracy_allmodels": self._mean,
            "mean_accuracy_byevaltype": self._mean,
            "table2": self._domain,
            "mean_accuracy_bydomain": self._domain,
            "mixed_model": self._coefficient,
            "mixedmodel_coeffs_full": self._coefficient,
            "text": self._text,
        }

    def find(self, number: dict[str, Any]) -> Finding:
        finding = self.finders[number["block"]](number)
        if self.results.is_rehearsal and not finding.status:
            return Finding(finding.value, finding.text, "not_comparable", REHEARSAL)
        if self.results.is_official is False and not finding.status:
            return Finding(finding.value, finding.text, "not_comparable", NOT_THE_ITEMS)
        return finding

    def _value(
        self,
        model: str,
        eval_type: str,
        grouping: str = "overall",
        group: str = "all",
        column: str = "mean",
    ) -> Finding:
        if (model, eval_type) not in self.series:
            who = (
                "no human ratings were given"
                if model == "human"
                else f"{model} was not run ({eval_type})"
            )
            return Finding(status="not_run", reason=who)
        metric = "strict" if is_rated(eval_type) else "accuracy"
        key = (model, eval_type, metric, grouping, group)
        if key not in self.means:
            return Finding(status="not_comparable", reason=f"no item is {group} here")
        row = self.means[key]
        note = f"{row['n_missing']} targets have no score" if row["n_missing"] else ""
        return Finding(float(row[column]), reason=note)

    def _mean(self, number: dict[str, Any]) -> Finding:
        return self._value(number["model"], number["eval_type"], column=number["quantity"])

    def _domain(self, number: dict[str, Any]) -> Finding:
        if number["quantity"] == "human":
            return self._value("human", "human_likert", "domain", number["group"])
        if len(self.run_models) < len(self.paper_models):
            reason = (
                f"is over the paper's {len(self.paper_models)} models, of which"
                f" {len(self.run_models)} were run"
            )
            return Finding(status="not_run", reason=reason)
        means = [
            self._value(model, "logprobs", "domain", number["group"]).value
            for model in self.run_models
        ]
        return Finding(
            float(np.mean(means) if number["quantity"] == "llm_average" else np.max(means))
        )

    def _coefficient(self, number: dict[str, Any]) -> Finding:
        table = self.results.coefficients
        if table is None:
            return Finding(status="not_run", reason="the mixed model was not fitted")
        inside = set(self.results.fitted_models) & set(self.paper_models)
        if set(self.results.fitted_models) != set(self.paper_models):
            n_paper, n_ours = len(self.paper_models), len(self.results.fitted_models)
            reason = (
                f"the paper's is fitted to its {n_paper} models; ours to {n_ours}, {len(inside)} of"
                " them the paper's"
            )
            return Finding(status="not_run", reason=reason)
        row = table[(table["group"] == number["grouping"]) & (table["term"] == number["group"])]
        if row.empty or pd.isna(row["estimate"].iloc[0]):
            return Finding(status="not_comparable", reason="the term could not be estimated")
        reason = ""
        coding = "treatment" if number["block"] == "mixedmodel_coeffs_full" else "deviation"
        if number["grouping"] == "target_contrast" and coding != self.results.target_coding:
            reason = (
                f"target contrast is coded as {coding} there, as {self.results.target_coding} here"
            )
        if number["quantity"] == "stars":
            return Finding(text=str(row["stars"].iloc[0]), reason=reason)
        return Finding(float(row["estimate"].iloc[0]), reason=reason)

    def _text(self, number: dict[str, Any]) -> Finding:
        name = number["quantity"]
        for start, reason in DESCRIPTIONS.items():
            if name.startswith(start):
                return Finding(status="not_comparable", reason=reason)
        finding = self._of_the_items(name) or self._of_the_models(name)
        if finding is None:
            return Finding(status="not_comparable", reason="none of our tables contains it")
        finding.reason = finding.reason or KNOWN_DIFFERENCES.get(name, "")
        return finding

    def _of_the_items(self, name: str) -> Finding | None:
        if name in FILLER_COUNTS:
            return self._of_the_fillers(name)
        if name not in ITEM_COUNTS:
            return None
        if self.results.items is None:
            return Finding(status="not_run", reason="the items table was not given")
        return Finding(float(ITEM_COUNTS[name](self.results.items)))

    def _of_the_fillers(self, name: str) -> Finding:
        if self.results.fillers is None:
            return Finding(status="not_run", reason="the materials were not given")
        count = FILLER_COUNTS[name](self.results.fillers)
        if name == "filler_items_over" and self.results.is_official:  # printed as a lower bound
            return Finding(float(count), status="within_rounding" if count > 500 else "differs")
        return Finding(float(count))

    def _of_the_models(self, name: str) -> Finding | None:
        all_run = len(self.run_models) == len(self.paper_models)
        waits = Finding(
            status="not_run",
            reason=(
                f"{len(self.run_models)} of the paper's {len(self.paper_models)} models were run"
            ),
        )
        stem, _, leaf = name.partition(".")
        if name == "models":
            return Finding(float(len(self.run_models))) if all_run else waits
        if name in ("best_model", "best_model_accuracy"):
            if not all_run:
                return waits
            best = max(self.run_models, key=lambda m: self._value(m, "logprobs").value)
            return (
                Finding(text=best.replace("_", "-"))
                if name == "best_model"
                else self._value(best, "logprobs")
            )
        if name == "human_accuracy":
            return self._value("human", "human_likert")
        if name == "human_range" or stem == "largest_range_models":
            model, kind = (
                ("human", "human_likert")
                if name == "human_range"
                else (leaf.replace("-", "_").replace(".", "_"), "logprobs")
            )
            high, low = (
                self._value(model, kind, column="high"),
                self._value(model, kind, column="low"),
            )
            return high if high.status else Finding(high.value - low.value)
        if name == "word2vec_baseline_accuracy":
            return self._value("word2vec", "word2vec")
        if stem == "strict_likert":
            return self._value(leaf, "likert_constrained_two")
        if stem in ("social_interactions", "spatial_relations"):
            quantity = "human" if leaf == "human" else leaf.replace("llm_mean", "llm_average")
            return self._domain({"quantity": quantity, "group": stem.replace("_", "-")})
        return None


def reproduce(
    summaries: Path,
    published: Path,
    coefficients: Path | None = None,
    items: Path | None = None,
    materials: str | None = None,
    password: str | None = None,
) -> Checked:
    """Every published number next to ours, from the files of a study.

    Args:
        summaries: summaries table.
        published: folder of the published numbers.
        coefficients: coefficients table of the mixed model.
        items: items table, to check whether the items are the official ones.
        materials: whose fillers are counted: a folder or archive.
        password: of the archive.
    """
    numbers, computed = (
        read_published(published),
        [summaries, *([coefficients] if coefficients else [])],
    )
    check_same_items(computed)
    results, inputs = (
        Results(read_table(summaries, Summaries), is_rehearsal=is_rehearsed(summaries)),
        {"summaries": summaries, "published": published},
    )
    if coefficients:
        details, inputs["coefficients"] = read_provenance(coefficients).details, coefficients
        results.coefficients = read_table(coefficients, Coefficients)
        results.fitted_models = details.get("models", [])  # none where there was too little
        results.target_coding = details.get("target_coding", results.target_coding)
    if items:
        check_items(items, computed)
        results.items, inputs["items"] = read_table(items, Items), items
        results.is_official = are_official(results.items, numbers)
    if materials:
        results.fillers = read_materials(materials, ORIGINAL, password, is_lenient=True).fillers
    table = check_reproduction(numbers, results)
    facts = {
        "summary": describe_reproduction(table),
        "sources": numbers.sources,
        "is_official": results.is_official,
    }
    return Checked(table, Reproduction, inputs, facts)
