"""Invented, seeded tables at both scales: six control models, and the paper's twenty models
with nine paradigms.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from simulated_judgements import simulate_items, simulate_judgements
from worldprobe.benchmarks.ewok import contracts
from worldprobe.benchmarks.ewok.analysis.summarize import METRICS, item_means
from worldprobe.benchmarks.ewok.vocabulary import (
    BASELINE_FEATURES,
    CONTEXT_CONTRASTS,
    CONTEXT_TYPES,
    EVAL_TYPES,
    TARGET_CONTRASTS,
    has_pairing,
)
from worldprobe.contracts import validate, write_table
from worldprobe.models.registry import BASELINES
from worldprobe.provenance import Provenance
from worldprobe.report.model_names import Roster, read_roster
from worldprobe_authoring.ewok_task import DOMAINS
from worldprobe_lab.contracts import FamilyLevels, Plans
from worldprobe_lab.power import Variances, plan
from worldprobe_survey.contracts import HumanStatistics
from worldprobe_training.contracts import ControlAccuracies

CONCEPTS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")

CONTROLS = {
    "control_untrained": ("Untrained", 0, 0.50),
    "control_gpt2_small": ("GPT-2 style, small", 300, 0.62),
    "control_gpt2_large": ("GPT-2 style, large", 300, 0.71),
    "control_llama_small": ("Llama style, small", 300, 0.66),
    "control_llama_large": ("Llama style, large", 300, 0.74),
    "control_llama_wide": ("Llama style, wide", 300, 0.75),
}
#: Display name, and billions of parameters; a family is the first word.
PAPER = {
    "gpt2_xl": ("GPT2-XL", 1.6),
    "phi_1": ("Phi 1", 1.3),
    "phi_1_5": ("Phi 1.5", 1.3),
    "phi_2": ("Phi 2", 2.7),
    "gemma_2b": ("Gemma 2B", 2.5),
    "gemma_7b": ("Gemma 7B", 8.5),
    "gemma_1.1_2b": ("Gemma 1.1 2B", 2.5),
    "gemma_1.1_7b": ("Gemma 1.1 7B", 8.5),
    "mpt_7b": ("MPT 7B", 6.6),
    "mpt_7b_chat": ("MPT 7B chat", 6.6),
    "mpt_30b": ("MPT 30B", 30),
    "mpt_30b_chat": ("MPT 30B chat", 30),
    "falcon_7b": ("Falcon 7B", 7.2),
    "falcon_7b_instruct": ("Falcon 7B instruct", 7.2),
    "falcon_40b": ("Falcon 40B", 41.8),
    "falcon_40b_instruct": ("Falcon 40B instruct", 41.8),
    "Mistral_7B": ("Mistral 7B", 7.2),
    "Mixtral_8x7B": ("Mixtral 8x7B", 46.7),
    "Llama_3_8B": ("Llama 3 8B", 8.0),
    "Llama_3_70B": ("Llama 3 70B", 70.6),
}


def registry(models: dict) -> dict:
    entries = {}
    for number, (model, facts) in enumerate(models.items()):
        if model in CONTROLS:
            entries[model] = {
                "display_name": facts[0],
                "family": "control",
                "parameters": 200_000 * (number + 1),
                "checkpoint": f"results/controls/models/{model}",
                "control": {
                    "architecture": "gpt2",
                    "layers": 1,
                    "width": 8,
                    "heads": 1,
                    "steps": facts[1],
                },
            }
        else:
            entries[model] = {
                "display_name": facts[0],
                "family": facts[0].split()[0],
                "parameters": int(facts[1] * 1e9),
                "checkpoint": "a/b",
            }
    return entries


@dataclass
class Study:
    """The tables of one invented study."""

    registry_path: Path
    roster: Roster
    summaries: pd.DataFrame
    coefficients: pd.DataFrame
    correlations: pd.DataFrame
    feature_means: pd.DataFrame
    agreements: pd.DataFrame
    control_accuracies: pd.DataFrame
    folder: Path

    @property
    def items(self) -> pd.DataFrame:
        """Of whoever's: nothing says that their text may be shown."""
        rows = simulate_items(12, 1, 17)
        texts = {
            f"{part}{n}": f"Nobody {part} {n}." for part in ("context", "target") for n in "12"
        }
        rows = rows.assign(**texts, fillers="{}", tags="", duplicate_of=None)
        keys = list(contracts.Items.Config.key)
        return validate(rows.sort_values(keys, ignore_index=True), contracts.Items)

    @property
    def plans(self) -> pd.DataFrame:
        """Of studies of half to four times 158 pairs of concepts."""
        variances = Variances(0.005, 0.01, 0.0008, 0.001, 0.1, sizes=np.full(158, 12), n_versions=5)
        return plan(variances, 0.02).assign(eval_type="logprobs", grouping="overall", group="all")

    @property
    def family_levels(self) -> pd.DataFrame:
        """Of our six families; levels are those of the materials."""
        at = {
            "negation": (0, 1, 2),
            "belief": (0, 1, 2),
            "distraction": (0, 1, 2),
            "entities": (2, 3, 4),
            "depth": (1, 2, 3),
        }
        rng, rows = np.random.default_rng(19), []
        for model in self.roster.models:
            for family, levels in (at | {"ratio": (1, 3, 5, 7, 8)}).items():
                for level in (*levels, np.nan):
                    mean = rng.normal(-0.05, 0.02) if np.isnan(level) else rng.uniform(0.4, 0.95)
                    rows.append(
                        (
                            model,
                            "logprobs",
                            family,
                            level,
                            mean,
                            mean - 0.05,
                            mean + 0.05,
                            0.1,
                            0.07,
                            "ok",
                            24,
                            72,
                            0,
                            0,
                        )
                    )
        table = pd.DataFrame(rows, columns=list(FamilyLevels.columns)).astype({"level": "Int64"})
        return validate(table, FamilyLevels)

    @property
    def human_agreements(self) -> pd.DataFrame:
        """Of people asked both ways: all but one cell are seen."""
        kinds = [kind for kind in contracts.PREFERENCES if kind != "missing"]
        cells = pd.MultiIndex.from_product([kinds, kinds], names=["likert", "choice"]).to_frame(
            index=False
        )
        counts = np.array([2105, 3, 153, 7, 2041, 169, 148, 165, 0])
        return cells.assign(model="human", setup="people", n=counts, share=counts / counts.sum())

    @property
    def human_statistics(self) -> pd.DataFrame:
        """The one number about people that a figure needs."""
        known = {
            "quantity": "likert_choice_r",
            "eval_type": "likert",
            "grouping": "overall",
            "group": "overall",
        }
        return pd.DataFrame(
            [known | {"value": 0.9612, "ci_low": np.nan, "ci_high": np.nan, "n": 5160}]
        )


GROUPINGS = {
    "overall": ("all",),
    "domain": DOMAINS,
    "context_type": CONTEXT_TYPES,
    "context_contrast": CONTEXT_CONTRASTS,
    "target_contrast": TARGET_CONTRASTS,
    "concept": tuple(f"{domain}/{concept}" for domain in DOMAINS for concept in CONCEPTS),
}


def summaries_of(
    models: dict, eval_types: tuple[str, ...], versions: int, human: bool, seed: int = 7
) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ease = {group: rng.normal(0, 0.06) for groups in GROUPINGS.values() for group in groups} | {
        "all": 0.0
    }
    rows = []
    who = [(model, eval_type) for model in models for eval_type in eval_types] + [
        (name, name) for name in BASELINES[1:]
    ]
    who += [("human", "human_likert")] if human else []
    who += [("relatedness", "relatedness")]
    for model, eval_type in who:
        base = {
            "human": 0.93,
            "word2vec": 0.42,
            "wordnet": 0.52,
            "sentence_vectors": 0.55,
            "relatedness": 0.54,
        }.get(model)
        if base is None:
            base = CONTROLS[model][2] if model in CONTROLS else rng.uniform(0.55, 0.8)
            base -= {"logprobs": 0.0, "likert": 0.1, "choice": 0.14}[eval_type.split("_")[0]]
        for metric in METRICS if has_pairing(eval_type) else METRICS[:-1]:
            level = (
                base
                if metric == "accuracy" or eval_type in ("logprobs", *BASELINES)
                else base * 0.4
            )
            for grouping, groups in GROUPINGS.items():
                for group in groups:
                    per_version = np.clip(
                        level + ease[group] + rng.normal(0, 0.015, versions), 0, 1
                    )
                    mean = per_version.mean()
                    n = 80 if grouping == "domain" else 880 if grouping == "overall" else 40
                    key = {
                        "model": model,
                        "eval_type": eval_type,
                        "metric": metric,
                        "grouping": grouping,
                        "group": group,
                    }
                    key |= {
                        "interval_over": "pairs of concepts and versions",
                        "n_clusters": 9,
                        "n_missing": 0,
                    }
                    rows += [
                        key
                        | {
                            "condition": str(version),
                            "mean": value,
                            "status": "none",
                            "n": n,
                            "n_ties": 0,
                            "n_near_ties": 1,
                        }
                        for version, value in enumerate(per_version)
                    ]
                    ends = {"low": per_version.min(), "high": per_version.max()}
                    ends |= {
                        "ci_low": max(0, mean - 0.02),
                        "ci_high": min(1, mean + 0.02),
                        "status": "ok",
                    }
                    rows.append(
                        key
                        | ends
                        | {
                            "condition": "all",
                            "mean": mean,
                            "n": n * versions,
                            "n_ties": 3,
                            "n_near_ties": 5,
                        }
                    )
    columns = list(contracts.Summaries.columns)
    return validate(pd.DataFrame(rows, columns=columns), contracts.Summaries)


def coefficients_of() -> pd.DataFrame:
    terms = [("domain", name, name) for name in DOMAINS] + [
        ("context_contrast", "antonym", "antonym vs. rest"),
        ("target_contrast", "variable swap", "variable vs. concept swap"),
        ("context_type", "direct", "direct vs. indirect"),
        ("surface_features", "log_frequency", "word frequency"),
        ("surface_features", "n_words", "number of words"),
    ]
    frame = pd.DataFrame(terms, columns=["group", "term", "label"])
    estimate, error = np.random.default_rng(3).normal(0.5, 0.5, len(frame)), 0.05
    frame = frame.assign(
        fit="mixed_model", position=frame.index, estimate=estimate, std_error=error
    )
    frame = frame.assign(z=estimate / error, df=np.nan, p=1e-5, stars="***", detectable=2.8 * error)
    frame = frame.assign(ci_low=estimate - 0.1, ci_high=estimate + 0.1)
    return validate(frame[list(contracts.Coefficients.columns)], contracts.Coefficients)


def feature_means_of(models: dict, versions: int) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    words = {domain: rng.uniform(8, 16) for domain in DOMAINS}
    rows = []
    for model in [*models, "human"]:
        slope = rng.normal(0, 0.02)
        for domain in DOMAINS:
            for version in range(versions):
                n_words = words[domain] + rng.normal(0, 0.4)
                accuracy = float(np.clip(0.65 + slope * (n_words - 12) + rng.normal(0, 0.03), 0, 1))
                eval_type = "human_likert" if model == "human" else "logprobs"
                of_baselines = rng.uniform(0.3, 0.6, len(BASELINE_FEATURES))
                rows.append(
                    (
                        model,
                        eval_type,
                        domain,
                        version,
                        accuracy,
                        *of_baselines,
                        n_words,
                        rng.uniform(4, 6),
                        80,
                    )
                )
    return validate(
        pd.DataFrame(rows, columns=list(contracts.FeatureMeans.columns)), contracts.FeatureMeans
    )


def correlations_of(points: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for (model, eval_type), part in points.groupby(["model", "eval_type"]):
        for feature in ("word2vec", "wordnet", "sentence_vectors", "n_words", "log_frequency"):
            r = float(np.corrcoef(part.accuracy, part[feature])[0, 1])
            stars = "***" if abs(r) > 0.45 else "*" if abs(r) > 0.3 else ""
            low, high = np.tanh(np.arctanh(r) - 0.27), np.tanh(np.arctanh(r) + 0.27)
            rows.append(
                (
                    model,
                    eval_type,
                    feature,
                    "domain_version",
                    r,
                    0.01,
                    stars,
                    0.4,
                    low,
                    high,
                    0.001,
                    len(part),
                    11,
                )
            )
    return validate(
        pd.DataFrame(rows, columns=list(contracts.Correlations.columns)), contracts.Correlations
    )


def agreements_of(models: dict) -> pd.DataFrame:
    rng = np.random.default_rng(11)
    rows = []
    for model in models:
        for setup in ("constrained_two", "free_zero"):
            counts = rng.integers(5, 400, (4, 4))
            for i, likert in enumerate(contracts.PREFERENCES):
                for j, choice in enumerate(contracts.PREFERENCES):
                    rows.append(
                        (
                            model,
                            setup,
                            likert,
                            choice,
                            int(counts[i, j]),
                            counts[i, j] / counts.sum(),
                        )
                    )
    return validate(
        pd.DataFrame(rows, columns=list(contracts.Agreements.columns)), contracts.Agreements
    )


def control_accuracies_of(models: dict) -> pd.DataFrame:
    rng = np.random.default_rng(13)
    rows = []
    bases = {("read", 1): 0.95, ("new_filling", 1): 0.8, ("new_concept", 0): 0.5}
    for number, model in enumerate(models):
        with_doses = (
            {("read", 16): 0.98, ("new_filling", 16): 0.8, ("new_filling", 0): 0.7}
            if number >= len(models) - 2
            else {}
        )
        for (group, dose), base in (bases | with_doses).items():
            for targets, less in (("all", 0.0), ("concept swap", -0.05), ("variable swap", 0.1)):
                mean = min(
                    1.0, (0.5 if "untrained" in model else base) - less + rng.normal(0, 0.01)
                )
                rows.append(
                    (
                        model,
                        group,
                        dose,
                        targets,
                        mean,
                        mean - 0.02,
                        min(1.0, mean + 0.02),
                        200,
                        90,
                        0,
                    )
                )
    columns = list(ControlAccuracies.columns)
    return validate(pd.DataFrame(rows, columns=columns), ControlAccuracies)


def judgements_of(models: dict, versions: int) -> pd.DataFrame:
    """Every target judged by every model, whose level is its chance of being right."""
    items = simulate_items(6 * len(DOMAINS), versions, 17, DOMAINS)
    level = np.array([facts[2] for facts in models.values()])[:, None, None]
    log_odds = np.broadcast_to(np.log(level / (1 - level)), (len(models), len(items), 2))
    judged = simulate_judgements(items, log_odds, list(models), "logprobs", 17)
    return validate(judged.assign(filling="own"), contracts.Judgements)


def study_of(
    folder: Path, models: dict, eval_types: tuple[str, ...], versions: int, human: bool
) -> Study:
    registry_path = folder / "models.yaml"
    registry_path.write_text(yaml.safe_dump(registry(models), sort_keys=False), encoding="utf-8")
    points = feature_means_of(models, versions)
    study = Study(
        registry_path,
        read_roster(registry_path),
        summaries_of(models, eval_types, versions, human),
        coefficients_of(),
        correlations_of(points),
        points,
        agreements_of(models),
        control_accuracies_of(models),
        folder,
    )
    if human:  # as `agree --people` adds them
        study.agreements = pd.concat([study.agreements, study.human_agreements], ignore_index=True)
    made_by = Provenance(seed=7, details={"notes": ["The fit converged.", "It is not singular."]})
    names = ("summaries", "coefficients", "correlations", "feature_means", "agreements")
    for name in names:
        contract = getattr(contracts, "".join(word.capitalize() for word in name.split("_")))
        write_table(getattr(study, name), contract, folder / f"{name}.parquet", made_by)
    write_table(study.items, contracts.Items, folder / "items.parquet", made_by)
    for name, contract in (
        ("human_agreements", contracts.Agreements),
        ("human_statistics", HumanStatistics),
        ("plans", Plans),
        ("control_accuracies", ControlAccuracies),
        ("family_levels", FamilyLevels),
    ):
        write_table(getattr(study, name), contract, folder / f"{name}.parquet", made_by)
    return study


@pytest.fixture(scope="session")
def small_study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Six control models, LogProbs only, no humans: the shape of the default study."""
    return study_of(tmp_path_factory.mktemp("small"), CONTROLS, ("logprobs",), 2, human=False)


@pytest.fixture(scope="session")
def paper_study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Twenty models, nine paradigms, five versions, humans: the shape of the paper's study."""
    return study_of(tmp_path_factory.mktemp("paper"), PAPER, EVAL_TYPES, 5, human=True)


@pytest.fixture(params=["small_study", "paper_study"])
def study(request: pytest.FixtureRequest) -> Study:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory) -> Path:
    """A results folder as a finished run leaves it, from invented judgements."""
    folder = tmp_path_factory.mktemp("results")
    judgements = judgements_of(CONTROLS, versions=2)
    for model, rows in judgements.groupby("model"):
        write_table(
            rows,
            contracts.Judgements,
            folder / "judgements" / "main" / "logprobs" / f"{model}.parquet",
            Provenance(),
        )
    summaries = item_means(judgements)
    write_table(summaries, contracts.Summaries, folder / "summaries.parquet", Provenance())
    (folder / "models.yaml").write_text(yaml.safe_dump(registry(CONTROLS), sort_keys=False))
    return folder
