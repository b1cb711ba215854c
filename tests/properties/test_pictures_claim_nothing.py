"""Every figure and every printed table, of data in which nothing differs and nothing has an
interval: no picture may then claim a difference, and no cell print how sure a number is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
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
from worldprobe.errors import TooLittleError
from worldprobe.models.registry import BASELINES
from worldprobe.provenance import Provenance
from worldprobe.report import style
from worldprobe.report.model_names import Roster, ShownModel
from worldprobe.report.sheet import ABSENT
from worldprobe_lab import contracts as lab
from worldprobe_survey.contracts import HumanStatistics
from worldprobe_training import contracts as training

MODELS = "first,second,second+10k"
ROSTER = Roster(
    {
        name: ShownModel(
            name, name.capitalize(), family="fam", parameters=10**8 * (1 + n), position=n
        )
        for n, name in enumerate(MODELS.split(","))
    }
)
#: Numbers that a table must have, where nothing differs.
EQUAL: dict[str, Any] = dict.fromkeys(("mean", "accuracy", "mean_a", "mean_b", "low", "high"), 0.5)
EQUAL |= dict.fromkeys(("difference", "r", "estimate", "fall", "value", "n_ties", "n_missing"), 0.0)
EQUAL |= dict.fromkeys(("low_a", "high_a", "low_b", "high_b", "pooled"), 0.5)
EQUAL |= {"share": 1 / 16, "n_words": 9.0, "log_frequency": 5.0, "power": 0.05}
EQUAL |= {"status": "one_cluster", "stars": "", "label": "x", "term": "x"}
#: What is said of a mean, if it is said.
CERTAINTY = re.compile(r"(ci_|conf95|^p$|p_holm|std_error|detectable|stars|^sem$)")
#: How a cell says how sure a number is.
SAID = re.compile(r"±\s*\d|\d–\d|\d to |\*")


def rows_of(spec: str) -> pd.DataFrame:
    """A row for each combination of the values of some columns: "a=1,2; b=3"."""
    parts = dict(part.split("=") for part in spec.split("; "))
    return pd.DataFrame(product(*(part.split(",") for part in parts.values())), columns=[*parts])


def nothing(contract: type[Table], keys: str | pd.DataFrame, groups: str = "", **given: Any) -> Any:
    """A table whose numbers are all alike, and known without anything of how sure they are.

    Args:
        contract: of the table.
        keys: as ``rows_of`` takes them.
        groups: groupings and their groups, likewise.
        given: further columns.
    """
    table = rows_of(keys) if isinstance(keys, str) else keys
    if groups:
        parts = [part.split("=") for part in groups.split("; ")]
        pairs = [(name, one) for name, many in parts for one in many.split(",")]
        table = table.merge(pd.DataFrame(pairs, columns=["grouping", "group"]), how="cross")
    table = table.assign(**given)
    for name, column in contract.columns.items():
        if name not in table:
            known = {"str": min(column.isin or [""]), "float": np.nan, "bool": False, "int": 16}
            table[name] = EQUAL.get(name, known[column.kind])
        elif column.kind in ("int", "float") and not pd.api.types.is_numeric_dtype(table[name]):
            table[name] = pd.to_numeric(table[name])
    return table[[*contract.columns]]


def uneven(table: pd.DataFrame) -> pd.DataFrame:
    """The same with means as far apart as chance may put them: there is still no interval."""
    shared = {name: [0.2, 0.8, 0.5, 1.0, 0.0] for name in ("mean", "accuracy", "low", "high")}
    shared |= {name: [-0.3, 0.3, 0.1] for name in ("difference", "r")}
    return table.assign(**{n: np.resize(v, len(table)) for n, v in shared.items() if n in table})


def with_ranges(table: pd.DataFrame) -> pd.DataFrame:
    """The same where versions differ, too: a range is drawn, and is no interval."""
    ends = {"low": [0.1, 0.7, 0.4, 0.9, 0.0], "high": [0.3, 0.9, 0.6, 1.0, 0.1]}
    shared = {f"{name}{side}": ends[name] for name in ends for side in ("", "_a", "_b")}
    shared |= {name: [0.2, 0.8, 0.5, 1.0, 0.0] for name in ("mean_a", "mean_b")}
    found = {n: np.resize(v, len(table)) for n, v in shared.items() if n in table}
    return uneven(table).assign(**found)


def curve_tables(groups: str) -> dict[str, pd.DataFrame]:
    """Of trainings, checkpoints that all have one mean."""
    keys = rows_of("series=first,second; seed=0,1,all; eval_type=logprobs; unit=steps")
    keys["model"] = keys["series"] + keys["seed"].map({"0": ".0", "1": ".1", "all": ""})
    steps = keys.merge(pd.DataFrame({"step": [1.0, 10.0, 100.0]}), how="cross")
    pair = "model_a=first.0; seed_a=0; model_b=first.1; seed_b=1; eval_type=logprobs"
    return {
        "curves": nothing(lab.Curves, steps, groups),
        "onsets": nothing(lab.Onsets, keys, groups, status=lab.NONE, fall=np.nan),
        "order_agreements": nothing(
            lab.OrderAgreements, f"{pair}; grouping=domain,problem", same_series=True
        ),
    }


def ewok_tables() -> dict[str, pd.DataFrame]:
    """What EWoK's figures and tables are made from."""
    domains = "overall=all; domain=material-dynamics,social-relations; concept=a-b/c,a-b/d"
    groups = "; ".join(
        f"{name}={','.join(values)}"
        for name, values in (
            ("context_type", CONTEXT_TYPES),
            ("context_contrast", CONTEXT_CONTRASTS),
            ("target_contrast", TARGET_CONTRASTS),
        )
    )
    ways = "logprobs,likert_constrained_two,choice_constrained_two"
    series = [rows_of(f"model={MODELS}; eval_type={ways}")]
    series += [rows_of(f"model={one}; eval_type={one}") for one in BASELINES]
    conditions = rows_of("condition=0,all; metric=accuracy,strict,pairing")
    features, kinds = ",".join(BASELINES), ",".join(ewok.PREFERENCES)
    scored, whole = f"model={MODELS}; eval_type=logprobs", "overall=all"
    agreements = nothing(
        ewok.Agreements, f"model={MODELS}; setup=constrained_two; likert={kinds}; choice={kinds}"
    )
    compared = "eval_type=logprobs; model_a=first; model_b=second"
    levels = rows_of(f"{scored}; family=depth; level=1,2,")
    levels["level"] = pd.to_numeric(levels["level"]).astype("Int64")
    return curve_tables(domains) | {
        "summaries": nothing(
            ewok.Summaries, pd.concat(series).merge(conditions, how="cross"), f"{domains}; {groups}"
        ),
        "correlations": nothing(
            ewok.Correlations,
            f"{scored}; feature={features},n_words,log_frequency; unit=domain_version",
        ),
        "feature_means": nothing(
            ewok.FeatureMeans,
            f"{scored}; domain=a-b,c-d,e-f; version=0",
            **dict.fromkeys(BASELINES, 0.5),
        ),
        "agreements": agreements,
        "human_agreements": agreements[agreements["model"] == "first"],
        "human_statistics": nothing(
            HumanStatistics, "quantity=likert_choice_r; eval_type=likert", whole
        ),
        "comparisons": nothing(
            ewok.Comparisons, f"{compared}; condition_a=all; condition_b=all", whole
        ),
        "coefficients": nothing(
            ewok.Coefficients, "fit=mixed_model,fixed_effects; position=0,1; group=domain"
        ),
        "condition_comparisons": nothing(
            lab.ConditionComparisons, f"{compared}; condition_a=other; condition_b=main", whole
        ),
        "family_levels": nothing(lab.FamilyLevels, levels),
        "plans": nothing(
            lab.Plans,
            "eval_type=logprobs; n_replicates=1; n_clusters=10,20; n_versions=2,5",
            whole,
            difference=0.02,
        ),
        "control_accuracies": nothing(
            training.ControlAccuracies,
            "model=first; group=read,new_filling,new_concept; dose=0,1,4; targets=all,"
            + ",".join(TARGET_CONTRASTS),
        ),
    }


def worldsense_tables() -> dict[str, pd.DataFrame]:
    """What WorldSense's figures and tables are made from."""
    names = "Infer.trivial,Infer.normal,Consist.normal,Compl.normal,Infer.motion"
    problems = names.split(",")
    inner = {
        "problem_domain": "spatial scalar",
        "problem_skin": "tall/short trips",
        "problem_size": "3 4",
        "problem_size_places": "4|1-2 4|2-3",
        "problem_size_complexity_query": "3|Complexity_0|bin 4|Complexity_1|bin",
    }
    for counted in ("depth", "worlds", "updates", "counted"):
        inner[f"problem_{counted}"] = "1 2 3"
    groups = "overall=all; domain=spatial,scalar; skin=tall/short,trips; intraining=ind,ood"
    for name in ("variant_size", "variant_ternary"):
        groups += f"; {name}=normal|1,normal|2,trivial|1,trivial|2"
    groups += f"; problem={names}"
    for name, ends in inner.items():
        groups += f"; {name}={','.join('|'.join(one) for one in product(problems, ends.split()))}"
    keys = f"condition=test,ood-size; eval_type=basic,cot; model={MODELS}"
    keys += "; metric=accuracy,bias,accuracy_corrected,strict,invalid"
    summaries = nothing(worldsense.Summaries, keys, groups)
    # Of two tuples, the paper's formula gives half widths of 0 or of all that is possible.
    summaries["conf95"] = np.resize([0.0, 0.98], len(summaries))
    compared = "model_a=first; model_b=second; eval_type=basic; condition_a=test; condition_b=test"
    return curve_tables(f"overall=all; problem={','.join(problems[:3])}") | {
        "summaries": summaries,
        "comparisons": nothing(worldsense.Comparisons, compared, "overall=all"),
        "trainings": nothing(
            training.Trainings, "model=second+10k; step=1,2,3", loss=1.0, learning_rate=1e-3
        ),
    }


#: Displays of what is no measurement of models: materials, sentences, who took part, paper's own.
NO_CLAIMS = {"sample_item", "sample_items", "dataset", "label_audit", "reproduction"}
NO_CLAIMS |= {f"materials_{one}" for one in ("design", "sides", "words", "cues", "families")}
NO_CLAIMS |= {"human_cleaning", "human_people", "likeness_to_people", "human_accuracy"}
NO_CLAIMS |= {"worldsense_entities", "worldsense_samples", "worldsense_trial_problems"}
NO_CLAIMS |= {"worldsense_reproduction", "worldsense_consistency", "worldsense_readings"}
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
    tables = {"ewok": ewok_tables, "worldsense": worldsense_tables}[benchmark]()
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


@pytest.mark.parametrize(
    "change", [pd.DataFrame.copy, uneven, with_ranges], ids=["equal", "by chance", "ranges"]
)
@pytest.mark.parametrize(("home", "display"), displays("figure"))
@pytest.mark.long
def test_a_picture_of_numbers_without_interval_claims_nothing(home, display, change):
    style.apply_settings()
    try:
        frame = build(home, display, change)
    except TooLittleError:
        assert (display.name, change) == ("setups_by_model", pd.DataFrame.copy)
        return  # all at chance: no picture
    if display.name in OF_PAPER:
        frame = frame[frame["base"].isin(MODELS.split(","))]
    figure = display.draw(style.from_csv(style.to_csv(frame), style.text_columns(frame)))
    ranges = {"an interval"} if change is with_ranges else set()
    assert [one for one in claims_of(figure) if one not in ranges] == []


@pytest.mark.parametrize("change", [pd.DataFrame.copy, uneven], ids=["equal", "by chance"])
@pytest.mark.parametrize(("home", "display"), displays("table"))
@pytest.mark.long
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
