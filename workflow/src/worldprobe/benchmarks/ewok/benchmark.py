"""EWoK as the shared parts see it: its tables, its figures and its part of the report."""

from __future__ import annotations

from worldprobe.benchmark import Benchmark, Input, Page, Section, find_displays
from worldprobe.benchmarks.ewok import figures, tables
from worldprobe.benchmarks.ewok.analysis.reproduction import reproduce
from worldprobe.benchmarks.ewok.contracts import Judgements, Summaries
from worldprobe.benchmarks.ewok.evaluation import EVALUATION
from worldprobe.benchmarks.ewok.outputs import (
    answers,
    downloads,
    outputs,
    page_files,
    refuse_models,
    without_downloads,
)
from worldprobe.benchmarks.ewok.report import compose
from worldprobe.benchmarks.ewok.results import ANALYSED, write_reference
from worldprobe.benchmarks.ewok.selection import in_words
from worldprobe.benchmarks.ewok.settings import Ewok
from worldprobe.benchmarks.ewok.study import rehearse
from worldprobe.benchmarks.ewok.tables.models import OF_PAGE
from worldprobe.benchmarks.ewok.workload import workload

SECTIONS = (
    Section(
        "accuracy",
        "Accuracy",
        "An item has two contexts and two targets. A model is right about a target if it finds it"
        " more likely after the matching context. Chance is 0.5.",
    ),
    Section(
        "concepts",
        "Concepts",
        "Accuracy for each concept, over the items that are about it. Single concepts have few"
        " items, so the highest and lowest means are partly chance.",
    ),
    Section("scale", "Model size"),
    Section("paradigms", "Ways of asking", "The same items, asked in several ways."),
    Section("people", "People", "The same items, asked of people."),
    Section("comparisons", "Pairwise comparisons", "Do two models differ on the same items?"),
    Section("reproduction", "Published numbers", "The EWoK paper's numbers next to ours."),
    Section(
        "design",
        "Design and surface features",
        "How accuracy varies with the design of the items and the surface of their sentences.",
        is_folded=True,
    ),
    Section("materials", "Materials", "How the items were built.", is_folded=True),
)


BENCHMARK = Benchmark(
    name="ewok",
    title="EWoK",
    settings=Ewok,
    outputs=outputs,
    answers=answers,
    workload=workload,
    analysed=ANALYSED,
    answer_tables=(Judgements,),
    rule="score",
    rules="rules/ewok/main.smk",
    downloads=downloads,
    without_downloads=without_downloads,
    complete=refuse_models,
    displays=find_displays(tables, figures),
    page=Page(SECTIONS, Input(Summaries), compose, page_files, OF_PAGE),
    references=write_reference,
    reproduce=reproduce,
    evaluation=EVALUATION,
    rehearse=rehearse,
    way_in_words=in_words,
)
