"""EWoK as the shared parts see it: its tables, its figures and its part of the report."""

from __future__ import annotations

from worldprobe.benchmark import Benchmark, Input, Page, Section, find_displays
from worldprobe.benchmarks.ewok import figures, tables
from worldprobe.benchmarks.ewok.analysis.reproduction import reproduce
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.evaluation import EVALUATION
from worldprobe.benchmarks.ewok.outputs import answers, outputs, page_files, refuse_models
from worldprobe.benchmarks.ewok.report import compose
from worldprobe.benchmarks.ewok.settings import Ewok

SECTIONS = (
    Section(
        "accuracy",
        "Accuracy",
        "An item has two contexts and two targets. A model is right about a target if it finds it"
        " more likely after the context that it belongs to. Chance is 0.5.",
    ),
    Section(
        "controls",
        "What the control models know",
        "What the control models know is known exactly: what they read. So this shows which"
        " accuracy the measure gives to ignorance, to items known by heart, and to what a model was"
        " taught with other fillings.",
    ),
    Section(
        "conditions",
        "Conditions",
        "The same models on differently built items or with different prompts. Differences are"
        " paired: template by template.",
    ),
    Section(
        "concepts",
        "Concepts",
        "Accuracy by concept and model.",
    ),
    Section(
        "families",
        "Families with a level",
        "Templates that differ in one thing alone, the level, with matched words. A model that"
        " knows what a family is about may still lose accuracy from level to level.",
    ),
    Section("scale", "Model size", "Accuracy against the number of parameters."),
    Section(
        "design",
        "Design and surface features",
        "How accuracy varies with the type of context, with the contrasts between contexts and"
        " between targets, and with surface features of the sentences.",
        is_folded=True,
    ),
    Section(
        "paradigms",
        "Ways of asking",
        "The same items scored by log probabilities, by Likert ratings and by a direct choice.",
    ),
    Section(
        "people",
        "People",
        "The same items asked of people. Whose answers count was decided in the steps that the"
        " table of cleaning lists.",
    ),
    Section("comparisons", "Pairwise comparisons", "Do two models differ on the same items?"),
    Section(
        "planning",
        "What a study can find",
        "How large a study must be to find a difference of this size.",
    ),
    Section(
        "reproduction",
        "Published numbers",
        "Numbers printed in the EWoK paper, next to ours where the same was run.",
    ),
    Section("materials", "Materials", "What the items were built from.", is_folded=True),
)


BENCHMARK = Benchmark(
    name="ewok",
    title="EWoK",
    settings=Ewok,
    outputs=outputs,
    answers=answers,
    rule="score",
    rules="rules/ewok/main.smk",
    complete=refuse_models,
    displays=find_displays(tables, figures),
    page=Page(SECTIONS, Input(Summaries), compose, page_files),
    reproduce=reproduce,
    evaluation=EVALUATION,
)
