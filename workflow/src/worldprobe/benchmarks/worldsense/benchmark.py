"""WorldSense as the shared parts see it."""

from __future__ import annotations

from worldprobe.benchmark import Benchmark, Page, Section, find_displays
from worldprobe.benchmarks.worldsense import figures, model_tables, tables, trial_tables
from worldprobe.benchmarks.worldsense.analysis.reproduction import reproduce
from worldprobe.benchmarks.worldsense.contracts import Responses
from worldprobe.benchmarks.worldsense.evaluation import EVALUATION
from worldprobe.benchmarks.worldsense.outputs import (
    answers,
    downloads,
    extra_models,
    outputs,
    page_files,
    rehearse,
    without_downloads,
)
from worldprobe.benchmarks.worldsense.report import compose
from worldprobe.benchmarks.worldsense.results import ANALYSED
from worldprobe.benchmarks.worldsense.selection import SUMMARIES, prompting_name
from worldprobe.benchmarks.worldsense.settings import WorldSense, complete_registry
from worldprobe.benchmarks.worldsense.workload import workload

SECTIONS = (
    Section(
        "problems",
        "Problems",
        "Can a model draw inferences from a description, find contradictions, and notice what the"
        " description leaves open? Each problem has a trivial variant that needs no reasoning."
        " Chance is 0.5.",
    ),
    Section("promptings", "Ways of asking", "The same trials, or a sample, asked in other ways."),
    Section("sets", "Sets", "The test set, the training set as a test, and sets unlike both."),
    Section(
        "finetuning",
        "Fine-tuning",
        "What models learn from training on such problems, and how far it carries.",
    ),
    Section(
        "difficulty",
        "Size, depth and open worlds",
        "More entities, more relations to combine, more worlds left open.",
    ),
    Section("skins", "Words and domains", "The same abstract problems in other words."),
    Section(
        "pairs",
        "Pairwise comparisons",
        "Do two models differ on the same tuples (groups of trials)?",
    ),
    Section("published", "Published numbers", "The WorldSense paper's numbers next to ours."),
    Section("trials", "Trials", "What the trials are made of.", is_folded=True),
)


BENCHMARK = Benchmark(
    name="worldsense",
    title="WorldSense",
    settings=WorldSense,
    outputs=outputs,
    answers=answers,
    workload=workload,
    analysed=ANALYSED,
    answer_tables=(Responses,),
    answer_files=(".jsonl", ".jsonl.bz2", ".jsonl.gz"),
    rule="ask",
    rules="rules/worldsense/main.smk",
    downloads=downloads,
    without_downloads=without_downloads,
    extra_models=extra_models,
    complete=complete_registry,
    displays=find_displays(tables, model_tables, figures, trial_tables),
    page=Page(SECTIONS, SUMMARIES, compose, page_files, model_tables.OF_PAGE),
    reproduce=reproduce,
    evaluation=EVALUATION,
    rehearse=rehearse,
    way_in_words=prompting_name,
    units="tuples",
)
