"""EWoK as the shared parts see it: its tables, its figures and its part of the report."""

from __future__ import annotations

from worldprobe.benchmark import Benchmark, Input, Page, Section, find_displays
from worldprobe.benchmarks.ewok import figures, tables
from worldprobe.benchmarks.ewok.analysis.reproduction import reproduce
from worldprobe.benchmarks.ewok.contracts import Summaries
from worldprobe.benchmarks.ewok.learning import LEARNING
from worldprobe.benchmarks.ewok.outputs import answers, outputs, page_files, refuse_models
from worldprobe.benchmarks.ewok.report.evaluation import EVALUATION
from worldprobe.benchmarks.ewok.report.part import compose
from worldprobe.benchmarks.ewok.settings import Ewok
from worldprobe.report.learning_curves import SECTION as LEARNING_SECTION
from worldprobe.report.learning_curves import learning_displays

SECTIONS = (
    Section(
        "accuracy",
        "Accuracy",
        "An item has two contexts and two targets. A model is right about a target if it finds it more likely after the context "
        "that it belongs to. Chance is 0.5.",
    ),
    Section(
        "conditions",
        "Conditions",
        "The same models on differently built items or with different prompts. Differences are paired: template by template.",
    ),
    Section(
        "concepts",
        "Concepts",
        "Accuracy by concept and model.",
    ),
    Section(
        "controls",
        "What the control models learned",
        "Some pairings of context and target, and some fillers, were left out of the stories that the control models were "
        "trained on. Accuracy above chance on these shows generalisation; on the others it may be memory.",
    ),
    Section(
        "families",
        "Families with a level",
        "Templates that differ in one thing alone, the level, with matched words. A model that knows what a family is about may "
        "still lose accuracy from level to level.",
    ),
    Section("scale", "Model size", "Accuracy against the number of parameters."),
    Section(
        "design",
        "Design and surface features",
        "How accuracy varies with the type of context, with the contrasts between contexts and between targets, and with surface "
        "features of the sentences.",
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
        "The same items asked of people. Whose answers count was decided in the steps that the table of cleaning lists.",
    ),
    LEARNING_SECTION,
    Section("comparisons", "Pairwise comparisons", "Do two models differ on the same items?"),
    Section("planning", "What a study can find", "How large a study must be to find a difference of this size."),
    Section("reproduction", "Published numbers", "Every number printed in the EWoK paper, next to ours."),
    Section("materials", "Materials", "What the items were built from.", is_folded=True),
)

BENCHMARK = Benchmark(
    name="ewok",
    title="EWoK",
    settings=Ewok,
    outputs=outputs,
    answers=answers,
    rule="score",
    complete=refuse_models,
    displays=find_displays(tables, figures) + learning_displays("ewok", ["domain"], "concept", Summaries),
    page=Page(SECTIONS, Input(Summaries), compose, page_files),
    reproduce=reproduce,
    evaluation=EVALUATION,
    learning=LEARNING,
)
