"""What extensions add to a study of any kind (``drawn_studies``): people's answers, families, and
curves over checkpoints or layers.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from drawn_studies import MODELS, Road, judgements_of
from worldprobe.benchmark import Display
from worldprobe.benchmarks.ewok import outputs
from worldprobe.benchmarks.ewok.contracts import Items, Judgements
from worldprobe.contracts import read_table, write_table
from worldprobe.files import digest_file
from worldprobe.provenance import Provenance
from worldprobe.settings.blocks import option_words
from worldprobe_authoring.displays import materials_families
from worldprobe_lab.contracts import ONE_SEED, CheckpointScores
from worldprobe_lab.ewok_series import DISPLAYS, accuracy_cells
from worldprobe_lab.families import families, family_accuracy
from worldprobe_layers.displays import layer_onsets, layers

CURVES = ("curves", "onsets", "order_agreements")

#: Settings of simulated people -> what is peculiar about them.
PEOPLE: dict[str, dict[str, Any]] = {
    "good": {},
    "one": {"people_per_list": 1},
    "alike": {"noise": 0},
    "guessing": {"noise": 1},
    "leaving": {"abandon": 0.9},
}
PARADIGMS = (["likert"], ["choice"], ["likert", "choice"])
LISTS = ({}, {"catch": 0, "per_domain": True, "shortest": 1, "longest": 10_000})


def ask_people(
    road: Road, paradigms: Sequence[str], kind: str, lists: dict[str, Any]
) -> list[Display]:
    """Lists, simulated answers, cleaning and agreement, by the commands of their rules.

    Args:
        road: that was walked.
        paradigms: ways of asking.
        kind: of people (``PEOPLE``).
        lists: settings of the lists.

    Returns:
        The displays that show them.
    """
    table = road.files.table
    human = {**road.study["ewok"]["human"], "responses": "simulated", "ratings": None}
    human["lists"] = {**human["lists"], **lists, "paradigms": list(paradigms)}
    study = {**road.study, "ewok": {**road.study["ewok"], "human": human}}
    items, key, answers = outputs.item_table(study), table("human/list_key"), table("human/answers")
    export = f"{road.files.root}/human/export"
    steps, people = table("human/cleaning_steps"), table("human/people")
    asked = shlex.join(option_words(human["lists"]))
    simulated = shlex.join(option_words({**human["simulation"], **PEOPLE[kind]}))
    cleaned = shlex.join(option_words(human["cleaning"]))
    matrix, statistics = table("human/agreements"), table("human/statistics")
    for line in (
        f"lists {items} {asked} --key-out {key} --out {table('human/lists')}",
        f"simulate {table('human/lists')} --key {key} {simulated} --out {export}",
        f"clean {export} --key {key} {cleaned} --steps-out {steps} --answers-out {answers}"
        f" --people-out {people} --out {table('human/ratings')}",
        f"agreement {items} {answers} --key {key} --matrix-out {matrix} --out {statistics}",
    ):
        road.do(f"human {line}")
    road.study = study
    if "likert" in paradigms:
        judged = road.files.judgements(outputs.reference(study), "human_likert", "human")
        road.do(f"judge {items} {table('human/ratings')} --out {judged}")
    names = {"human_accuracy", "human_cleaning", "human_people", "human_agreement"}
    return [display for display in road.wanted() if display.name in names]


def trace_curves(
    road: Road, trainings: Sequence[tuple[str, str, Sequence[float]]]
) -> list[Display]:
    """Curves of simulated checkpoints, by the command of its rule; as those of layers, too.

    Args:
        road: that was walked.
        trainings: of each a model of the study, its seed, and the numbers of its checkpoints; those
            of one model are one series.

    Returns:
        The displays that show them.
    """
    judge(road)
    road.do(
        f"summarize {' '.join(outputs.judged_for_means(road.study))} --out {road.files.table('summaries')}"
    )
    items = read_table(outputs.item_table(road.study), Items)
    paths = []
    for number, (series, seed, steps) in enumerate(trainings):
        right, tied, missing = MODELS[series]
        rng = np.random.default_rng(number)
        cells = []
        for step in steps:
            scores = items.loc[items.index.repeat(4), ["item_id"]].reset_index(drop=True)
            scores["target"] = np.tile([1, 1, 2, 2], len(items))
            scores["context"] = np.tile([1, 2], 2 * len(items))
            is_right = (scores["target"] == scores["context"]) == (rng.random(len(scores)) < right)
            scores["logprob"] = np.where(is_right, -1.0, -2.0)
            scores.loc[rng.random(len(scores)) < tied, "logprob"] = -1.0
            scores.loc[rng.random(len(scores)) < missing, "logprob"] = np.nan
            scores = scores.assign(n_tokens=3, flags="")
            cells.append(accuracy_cells(items, scores, series, "float32").assign(step=float(step)))
        model = series if seed == ONE_SEED else f"{series}.seed-{seed}"
        table = pd.concat(cells).assign(series=series, model=model, seed=seed)
        made = Provenance(
            model=model, details={"benchmark": "ewok", "series": series, "unit": "steps"}
        )
        paths.append(road.files.table(f"series/{model}/0"))
        write_table(table[list(CheckpointScores.columns)], CheckpointScores, paths[-1], made)
    for place in ("", "layers/"):
        made_here = {name: road.files.table(place + name) for name in CURVES}
        road.do(
            f"series curves {' '.join(paths)} --onsets-out {made_here['onsets']}"
            f" --agreements-out {made_here['order_agreements']} --out {made_here['curves']}"
        )
    several = [] if len(trainings) > 1 else ["ewok_onset_order"]
    return [one for one in (*DISPLAYS, layers, layer_onsets) if one.name not in several]


def measure_families(road: Road) -> list[Display]:
    """Levels of the materials' families, of simulated answers, by the commands of their rules.

    Returns:
        The displays that show them.
    """
    source, table = road.study["ewok"]["materials"]["source"], road.files.table
    templates, items = table("family_templates"), outputs.item_table(road.study)
    fillers = table("family_fillers")
    road.do(f"templates compile {source} --families --fillers-out {fillers} --out {templates}")
    road.do(f"items fill {templates} {fillers} --versions 0-0 --out {items}")
    judge(road)
    judged = " ".join(outputs.judgements(road.study))
    road.do(f"families {items} {judged} --out {table('families')}")
    return [family_accuracy, families, materials_families]


def judge(road: Road) -> None:
    """Simulated judgements of the study's models by LogProbs."""
    path = outputs.item_table(road.study)
    items = read_table(path, Items)
    for model in road.study["models"]:
        made = Provenance(model=model, inputs={"items": digest_file(path)})
        rows = judgements_of(items, model, "logprobs", road.seed)
        place = road.files.judgements(outputs.reference(road.study), "logprobs", model)
        write_table(rows, Judgements, place, made)


def show(road: Road, displays: Sequence[Display]) -> list[Path]:
    """Print and draw displays, by the command of their rules: the files."""
    return road.show({"table": ("csv", "md"), "figure": ("svg",)}, displays)
