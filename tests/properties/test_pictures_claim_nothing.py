"""Every figure and every printed table, of data in which nothing differs and nothing has an
interval: no picture may then claim a difference, and no cell print how sure a number is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from worldprobe import benchmarks
from worldprobe.benchmark import Display, taken_by
from worldprobe.benchmarks.ewok import contracts as ewok
from worldprobe.benchmarks.ewok.vocabulary import (
    CONTEXT_CONTRASTS,
    CONTEXT_TYPES,
    TARGET_CONTRASTS,
)
from worldprobe.benchmarks.worldsense import contracts as worldsense
from worldprobe.contracts import Table
from worldprobe.models.registry import BASELINES
from worldprobe.provenance import Provenance
from worldprobe.report import style
from worldprobe.report.model_names import Model, Roster
from worldprobe.report.sheet import ABSENT
from worldprobe_lab import contracts as lab
from worldprobe_training import contracts as training

MODELS = ("first", "second", "second+10k")
ROSTER = Roster(
    {
        name: Model(name, name.capitalize(), family="fam", parameters=10**8 * (1 + n), position=n)
        for n, name in enumerate(MODELS)
    }
)
DOMAINS = ("material-dynamics", "social-relations", "spatial-relations")
PROBLEMS = ("Infer.trivial", "Infer.normal", "Consist.normal", "Compl.normal", "Infer.motion")
#: Numbers that a table must have, where nothing differs.
EQUAL = {"mean": 0.5, "accuracy": 0.5, "mean_a": 0.5, "mean_b": 0.5, "share": 1 / 16, "n": 2}
EQUAL |= {"difference": 0.0, "r": 0.0, "estimate": 0.0, "fall": 0.0, "power": 0.05, "n_words": 9}
EQUAL |= {"power_low": np.nan, "power_high": np.nan, "log_frequency": 5.0, "pooled": 0.5}
#: What is said of a mean, if it is said.
CERTAINTY = re.compile(r"(ci_|conf95|^p$|p_holm|std_error|detectable|stars|^sem$)")
#: How a cell says how sure a number is.
SAID = re.compile(r"±\s*\d|\d–\d|\d to |\*")


def product_of(**columns: Sequence[Any]) -> pd.DataFrame:
    """A row for each combination."""
    return pd.DataFrame(list(product(*columns.values())), columns=list(columns))


def nothing(contract: type[Table], keys: pd.DataFrame, **given: Any) -> pd.DataFrame:
    """A table whose numbers are all alike, and known without anything of how sure they are."""
    table = keys.assign(**given)
    for name, column in contract.columns.items():
        if name in table:
            continue
        if name in EQUAL:
            table[name] = EQUAL[name]
        elif name in ("low", "high"):
            table[name] = table.get("mean", 0.5)
        elif column.kind == "float":
            table[name] = np.nan
        elif column.kind == "str":
            table[name] = "" if not column.isin else next(iter(sorted(column.isin)))
        else:
            table[name] = 0 if column.kind == "bool" else 2
    if "status" in table and "status" not in given:
        table["status"] = "one_cluster"
    if "stars" in table:
        table["stars"] = ""
    return table[list(contract.columns)]


def uneven(table: pd.DataFrame) -> pd.DataFrame:
    """The same with means as far apart as chance may put them: there is still no interval."""
    return table.assign(
        **{
            name: np.resize([0.2, 0.8, 0.5, 1.0, 0.0], len(table))
            for name in ("mean", "accuracy", "mean_a", "low", "high")
            if name in table and table[name].notna().any()
        }
        | {
            name: np.resize([-0.3, 0.3, 0.1], len(table))
            for name in ("difference", "r")
            if name in table
        }
    )


def ewok_tables() -> dict[str, pd.DataFrame]:
    """What EWoK's figures and tables are made from."""
    groups = [("overall", "all"), ("concept pairs", "all")]
    groups += [("domain", one) for one in DOMAINS]
    groups += [("concept", f"{one}/verb{n}") for one in DOMAINS for n in "ab"]
    groups += [("context_type", one) for one in CONTEXT_TYPES]
    groups += [("context_contrast", one) for one in CONTEXT_CONTRASTS]
    groups += [("target_contrast", one) for one in TARGET_CONTRASTS]
    ways = ["logprobs", "likert_constrained_two", "choice_constrained_two"]
    series = [(model, way) for model in MODELS for way in ways] + [(one, one) for one in BASELINES]
    metrics = ["accuracy", "strict", "pairing"]
    keys = product_of(series=series, condition=["0", "all"], group=groups, metric=metrics)
    keys = keys.assign(
        model=[one[0] for one in keys["series"]],
        eval_type=[one[1] for one in keys["series"]],
        grouping=[one[0] for one in keys["group"]],
        group=[one[1] for one in keys["group"]],
    ).drop(columns="series")
    pairs = {"model_a": ["first"], "model_b": ["second"], "eval_type": ["logprobs"]}
    shared = {"grouping": ["overall"], "group": ["all"]}
    kinds = list(ewok.PREFERENCES)
    levels = product_of(
        model=MODELS, eval_type=["logprobs"], family=["depth"], level=[1, 2, None]
    ).astype({"level": "Int64"})
    agreements = product_of(
        model=MODELS, setup=["constrained_two"], likert=kinds, choice=kinds
    ).assign(n=4)
    return {
        "summaries": nothing(ewok.Summaries, keys),
        "correlations": nothing(
            ewok.Correlations,
            product_of(
                model=MODELS,
                eval_type=["logprobs"],
                feature=[*BASELINES, "n_words", "log_frequency"],
                unit=["domain_version"],
            ),
        ),
        "feature_means": nothing(
            ewok.FeatureMeans,
            product_of(model=MODELS, eval_type=["logprobs"], domain=DOMAINS, version=[0]),
            **dict.fromkeys(BASELINES, 0.5),
        ),
        "agreements": nothing(ewok.Agreements, agreements),
        "human_agreements": nothing(ewok.Agreements, agreements[agreements["model"] == "first"]),
        "human_statistics": nothing(
            ewok.HumanStatistics,
            product_of(
                quantity=["likert_choice_r"], eval_type=["likert"], grouping=["overall"],
                group=["overall"],
            ),
            value=0.0,
        ),
        "comparisons": nothing(
            ewok.Comparisons,
            product_of(**pairs, condition_a=["all"], condition_b=["all"], **shared),
            metric="accuracy",
        ),
        "coefficients": nothing(
            ewok.Coefficients,
            product_of(fit=["mixed_model", "fixed_effects"], position=[0, 1]),
            group="domain",
            term="x",
            label="x",
        ),
        "condition_comparisons": nothing(
            lab.ConditionComparisons,
            product_of(
                model_a=MODELS, eval_type=["logprobs"], condition_a=["other"], condition_b=["main"],
                **shared,
            ).assign(model_b=MODELS),
            low_a=0.5, high_a=0.5, low_b=0.5, high_b=0.5,
        ),
        "family_levels": nothing(lab.FamilyLevels, levels),
        "plans": nothing(
            lab.Plans,
            product_of(
                eval_type=["logprobs"], n_replicates=[1], n_clusters=[10, 20],
                n_versions=[2, 5], **shared,
            ),
            difference=0.02,
            detectable=np.nan,
        ),
        "control_accuracies": nothing(
            training.ControlAccuracies,
            product_of(
                model=["first"], group=["read", "new_filling", "new_concept"], dose=[0, 1, 4],
                targets=["all", *TARGET_CONTRASTS],
            ),
        ),
    }  # fmt: skip


def curve_tables(groupings: Mapping[str, Sequence[str]]) -> dict[str, pd.DataFrame]:
    """Of trainings, checkpoints that all have one mean."""
    groups = [(grouping, one) for grouping, names in groupings.items() for one in names]
    keys = product_of(series=["first", "second"], seed=["0", "1", lab.ALL_SEEDS], at=groups)
    keys = keys.assign(
        model=keys["series"] + np.where(keys["seed"] == lab.ALL_SEEDS, "", ".seed-" + keys["seed"]),
        grouping=[one[0] for one in keys["at"]],
        group=[one[1] for one in keys["at"]],
        eval_type="logprobs",
        unit="steps",
    ).drop(columns="at")
    order = product_of(
        model_a=["first.seed-0"], seed_a=["0"], model_b=["first.seed-1"], seed_b=["1"],
        eval_type=["logprobs"], grouping=list(groupings),
    )  # fmt: skip
    return {
        "curves": nothing(
            lab.Curves, keys.merge(pd.DataFrame({"step": [1.0, 10.0, 100.0]}), how="cross")
        ),
        "onsets": nothing(lab.Onsets, keys, status=lab.NONE, fall=np.nan),
        "order_agreements": nothing(lab.OrderAgreements, order, same_series=True),
    }


def worldsense_tables() -> dict[str, pd.DataFrame]:
    """What WorldSense's figures and tables are made from."""
    groups = [("overall", "all")]
    groups += [("problem", one) for one in PROBLEMS]
    groups += [("domain", one) for one in ("spatial", "scalar")]
    groups += [("problem_domain", f"{p}|{d}") for p in PROBLEMS for d in ("spatial", "scalar")]
    groups += [("skin", one) for one in ("tall/short", "trips")]
    groups += [("problem_skin", f"{p}|{s}") for p in PROBLEMS for s in ("tall/short", "trips")]
    groups += [("intraining", one) for one in ("ind", "ood")]
    for grouping, first in (("variant_size", "345"), ("variant_ternary", "012")):
        groups += [(grouping, f"{v}|{n}") for v in ("normal", "trivial") for n in first]
    for grouping, numbers in (
        ("problem_depth", "123"),
        ("problem_worlds", "123"),
        ("problem_updates", "123"),
        ("problem_counted", "123"),
    ):
        groups += [(grouping, f"{p}|{n}") for p in PROBLEMS for n in numbers]
    groups += [
        ("problem_size_places", f"{p}|4|{a}-{b}")
        for p in ("Infer.normal", "Consist.normal")
        for a, b in ((1, 2), (2, 3), (1, 3))
    ]
    groups += [
        ("problem_size_complexity_query", f"{p}|{n}|Complexity_{c}|bin")
        for p in PROBLEMS
        for n in "34"
        for c in "01"
    ]
    keys = product_of(
        condition=["test", "ood-size"], eval_type=["basic", "cot"], model=MODELS,
        metric=["accuracy", "bias", "accuracy_corrected", "strict", "invalid"], at=groups,
    )  # fmt: skip
    keys = keys.assign(
        grouping=[one[0] for one in keys["at"]],
        group=[one[1] for one in keys["at"]],
        mean=np.where(keys["metric"].isin(["bias", "invalid"]), 0.0, 0.5),
    ).drop(columns="at")
    # Of two tuples, the paper's formula gives half widths of 0 or of all that is possible.
    half = np.resize([0.0, 0.98], len(keys))
    return {
        "summaries": nothing(worldsense.Summaries, keys, conf95=half, sem=half / 1.96),
        "comparisons": nothing(
            worldsense.Comparisons,
            product_of(
                model_a=["first"], model_b=["second"], eval_type=["basic"], condition_a=["test"],
                condition_b=["test"], grouping=["overall"], group=["all"],
            ),
        ),
        "trainings": nothing(
            training.Trainings, product_of(model=["second+10k"], step=[1, 2, 3]),
            loss=1.0, learning_rate=1e-3,
        ),
    }  # fmt: skip


def tables_of(benchmark: str) -> dict[str, pd.DataFrame]:
    """All tables of one benchmark that are filled here."""
    if benchmark == "ewok":
        domains = {"overall": ["all"], "domain": DOMAINS, "concept": ["left", "right"]}
        return ewok_tables() | curve_tables(domains)
    return worldsense_tables() | curve_tables({"overall": ["all"], "problem": PROBLEMS[:3]})


#: Displays of what is no measurement of models: materials, sentences, who took part, paper's own.
NO_CLAIMS = {"sample_item", "sample_items", "dataset", "label_audit", "reproduction"}
NO_CLAIMS |= {f"materials_{one}" for one in ("design", "sides", "words", "cues", "families")}
NO_CLAIMS |= {"human_cleaning", "human_people", "likeness_to_people", "human_accuracy"}
NO_CLAIMS |= {"worldsense_entities", "worldsense_samples", "worldsense_trial_problems"}
NO_CLAIMS |= {"worldsense_reproduction", "worldsense_consistency"}
#: Their numbers are estimates of a model's posterior, or of power, and always have an interval.
NO_CLAIMS |= {"pooled_domains", "study_power"}
#: The paper's own numbers stand in it, with the paper's intervals.
OF_PAPER = {"worldsense_finetuning"}


def displays(kind: str) -> list[Any]:
    """Each as a parameter."""
    return [
        pytest.param(name, display, id=f"{name}-{display.name}")
        for name, benchmark in benchmarks.benchmarks().items()
        if name in ("ewok", "worldsense")
        for display in benchmark.displays
        if display.kind == kind and display.name not in NO_CLAIMS
    ]


def build(benchmark: str, display: Display, change: Callable[[pd.DataFrame], Any]) -> Any:
    """The tidy table or the sheet."""
    tables = tables_of(benchmark)
    offered = {"roster": ROSTER, "provenance": Provenance()}
    inputs = [change(tables[one.name]) for one in display.inputs]
    return display(*inputs, **taken_by(display.build, **offered))


def claims_of(figure: Figure) -> list[str]:
    """What a drawing claims: bands, intervals, marks that are filled or coloured."""
    found = []
    for axes in figure.axes:
        for one in axes.collections:
            if isinstance(one, PolyCollection):
                found += ["a band" for path in one.get_paths() if _has_area(path.vertices)]
            elif isinstance(one, LineCollection):
                found += [
                    "an interval"
                    for segment in one.get_segments()
                    if len(segment) and np.isfinite(segment).all() and np.ptp(segment, axis=0).any()
                ]
            elif isinstance(one, PathCollection) and len(one.get_offsets()):
                found += _marks(one)
        for line in axes.lines:
            is_marked = line.get_marker() not in ("None", None, "", " ")
            is_filled = to_hex(line.get_markerfacecolor()) != "#ffffff"
            if is_marked and is_filled and not _is_covered(line, axes):
                found.append(f"a filled mark {line.get_label()}")
    return found


def _has_area(vertices: np.ndarray) -> bool:
    return bool(np.isfinite(vertices).all() and np.ptp(vertices, axis=0).all())


def _marks(marks: PathCollection) -> list[str]:
    if {to_hex(one) for one in marks.get_edgecolors()} == {style.SOFT_INK.lower()}:
        return []  # ticks of single versions, points of data
    faces = [to_hex(one) for one in marks.get_facecolors()]
    edges = [to_hex(one) for one in marks.get_edgecolors()]
    return [
        f"a mark {face}/{edge}"
        for face, edge in product(dict.fromkeys(faces), dict.fromkeys(edges))
        if face != "#ffffff" or edge != style.GREY.lower()
    ]


def _is_covered(line: Line2D, axes: Any) -> bool:
    """Whether hollow marks lie over all of a line's own."""
    over = [
        (float(x), float(y))
        for other in axes.lines
        if other.get_zorder() >= line.get_zorder()
        and other is not line
        and to_hex(other.get_markerfacecolor()) == "#ffffff"
        and to_hex(other.get_markeredgecolor()) == style.GREY.lower()
        for x, y in zip(other.get_xdata(), other.get_ydata(), strict=True)
    ]
    own = zip(line.get_xdata(), line.get_ydata(), strict=True)
    return all((float(x), float(y)) in over for x, y in own)


@pytest.mark.parametrize("change", [pd.DataFrame.copy, uneven], ids=["equal", "by chance"])
@pytest.mark.parametrize(("home", "display"), displays("figure"))
def test_a_picture_of_numbers_without_interval_claims_nothing(home, display, change):
    style.apply_settings()
    frame = build(home, display, change)
    if display.name in OF_PAPER:
        frame = frame[frame["base"].isin(MODELS)]
    figure = display.draw(style.from_csv(style.to_csv(frame), style.text_columns(frame)))
    assert claims_of(figure) == []


@pytest.mark.parametrize("change", [pd.DataFrame.copy, uneven], ids=["equal", "by chance"])
@pytest.mark.parametrize(("home", "display"), displays("table"))
def test_a_table_of_numbers_without_interval_prints_dashes(home, display, change):
    sheet = build(home, display, change)
    if display.name in OF_PAPER:
        return
    for row in sheet.cells():
        for column, text in zip(sheet.columns, row, strict=True):
            told = [name for name in column.cells if CERTAINTY.search(name)]
            assert not (told and SAID.search(text)), (column.heading, text)
            if told and len(told) == len(column.cells):
                assert text == ABSENT, (column.heading, text)
