"""Inputs of a run's tables, figures and report, as its benchmarks declare them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from worldprobe import benchmarks
from worldprobe.benchmark import FORMATS, Benchmark, Display
from worldprobe.code_digest import CORE, digest_code
from worldprobe.errors import UserError, did_you_mean
from worldprobe.operations import archived
from worldprobe.operations.run import StudyRun
from worldprobe.paths import DOWNLOADS, REPOSITORY
from worldprobe.settings.blocks import options


class Displays:
    """The tables and figures of a run, and what its report is made from.

    Args:
        run: the run.

    Attributes:
        declared: (benchmark, kind, name) -> a table or figure, and its benchmark.
        pages: what each part of the report is built from.
        compared: tables of pairs of models, for its first sentences; archives of earlier releases
            lack some.
        note: where an archive's tables are from: what is drawn is drawn anew.
    """

    def __init__(self, run: StudyRun) -> None:
        self.run, archive = run, run.archive
        self.declared: dict[tuple[str, str, str], tuple[Benchmark, Display]] = {
            (benchmark.name, shown.kind, shown.name): (benchmark, shown)
            for benchmark in benchmarks.of_study(run.study)
            for shown in benchmark.wanted(run.asked, run.registry)
        }
        self.pages = benchmarks.page_files(run.study, run.models)
        self.compared = [
            page.comparisons
            for page in self.pages
            if page.comparisons and (archive is None or archive.has(page.comparisons))
        ]
        self.note = [f"{run.paths.root}/{archived.NOTE}"] if archive else []
        self.facts = cache(self._facts)

    def _facts(self, home: str, kind: str, name: str) -> dict[str, Any]:
        """What the declaration of a table or figure says: its inputs, its place in Snakemake's
        report, digests of its code.
        """
        run = self.run
        if (home, kind, name) not in self.declared:
            self.refuse(f"{run.paths.root}/{home}/{kind}s/{name}.{FORMATS[kind][0]}")
        benchmark, shown = self.declared[home, kind, name]
        trained = [
            card["checkpoint"]
            for card in map(run.registry.get, run.asked["models"])
            if shown.shows_sizes and card and card.get("control")
        ]
        return {
            "inputs": shown.inputs_of(run.study, run.paths.benchmark(home)),
            "section": benchmark.section(shown).title,
            "label": {kind: shown.title},
            "caption": re.sub(r"([\\*`_|])", r"\\\1", shown.caption),  # nothing in it is markup
            "options": options(shown.chosen(run.study)),
            "code": digest_code(shown.build.__module__, displays=True),
            "trained": trained,
            # of an archive the very file, as no rule makes the folder
            "trained_files": (
                [f"{folder}/provenance.json" for folder in trained] if run.archive else trained
            ),
            "trained_option": options(trained=trained),
        }

    def look_up(self, kind: str, what: str) -> Callable[[Any], Any]:
        """A function of the wildcards that looks something up in the declaration of a table or
        figure.

        Args:
            kind: "table" or "figure".
            what: inputs, section, label, caption, options, code, trained_files or trained_option.
        """

        def of_job(wildcards: Any) -> Any:
            return self.facts(wildcards.benchmark, kind, wildcards.name)[what]

        return of_job

    @property
    def trained(self) -> list[str]:
        """Control models whose size a figure shows."""
        return sorted({path for key in self.declared for path in self.facts(*key)["trained"]})

    @property
    def made_from(self) -> list[str]:
        """The tables that anything shown is made from."""
        shown = {
            path
            for benchmark, display in self.declared.values()
            for path in display.inputs_of(self.run.study, self.run.paths.benchmark(benchmark.name))
        }
        of_pages = (path for page in self.pages for path in (page.summary, *page.made_from))
        return sorted(shown.union(self.compared, of_pages))

    def of_pages(self, what: str) -> list[str]:
        """Files of one kind of all parts of the report: notebooks, made_from or item_text."""
        values = [getattr(page, what) for page in self.pages]
        return [
            path
            for value in values
            for path in ([value] if isinstance(value, str) else value or ())
            if path
        ]

    @property
    def code_of_page(self) -> list[str]:
        """Digests of the code that composes the report."""
        pages = [
            benchmark.page for benchmark in benchmarks.of_study(self.run.study) if benchmark.page
        ]
        modules = [CORE, *(page.compose.__module__ for page in pages)]
        return [digest_code(name, displays=True) for name in modules]

    def files(self, kind: str, suffix: str = "") -> list[str]:
        """The files of all tables or figures (``benchmarks.display_files``)."""
        return benchmarks.display_files(self.run.asked, self.run.registry, kind, suffix)

    def refuse(self, target: str) -> None:
        """Stop with the name of the file that a mistyped target may mean."""
        outputs = [
            *benchmarks.outputs(self.run.asked, self.run.registry),
            self.run.paths.report,
        ]
        # Most of every two paths is the same.
        near = get_close_matches(target, outputs, cutoff=0.85)
        study = self.run.study["study"]
        advice = (
            f"This is study {study}: another one's configuration is named by --configfile, after"
            " the targets."
        )
        error = UserError(target, f"no rule makes this file{did_you_mean(target, near)}", advice)
        sys.exit(error.lines())

    def all_files(self, wildcards: Any) -> list[str]:
        """Everything that the configuration asks for."""
        run = self.run
        if run.archive:
            made = [*run.archive.unpacked(), *self.files("table"), *self.files("figure")]
        else:
            made = benchmarks.outputs(run.asked, run.registry)
            # what may be missing is named here, so that it is tried again where it is
            fetched = benchmarks.downloads(run.study).values()
            made += [path for path in fetched if path.startswith(f"{run.paths.root}/")]
            for benchmark in run.analysed.values():
                made += benchmark.analysed["summarize"].answers(run.asked, run.models)
            made += [run.paths.record] if self.pages else []
        return [*made, *([run.paths.report, *run.paths.drafts] if self.pages else [])]

    def refuse_prefix(self, report: Any) -> None:
        """Stop where a module's prefix moves the files of rules: their options would name others.

        Args:
            report: the report, as a rule names it.
        """
        if str(report) != self.run.paths.report:
            problem = f"moves {self.run.paths.report} to {report}, and not what commands read."
            fix = 'Take it out, and give config: config | {"results": "FOLDER/results"}.'
            sys.exit(UserError("module: prefix", problem, fix).lines())

    # What is said of the whole run. ``workflow`` is Snakemake's.

    def refuse_mistyped(self, workflow: Any) -> None:
        """Stop where a target of the command line is no rule, or is a file in the results that
        nothing makes: Snakemake would name no other.
        """
        snakefiles = (REPOSITORY / "Snakefile", REPOSITORY / "workflow" / "Snakefile")
        if Path(workflow.main_snakefile).resolve() not in snakefiles:
            return  # a workflow that uses this one has rules of its own
        rules = list(workflow.rules)
        names = [rule.name for rule in rules]
        is_typed = "snakemake" in Path(sys.argv[0]).parts[-2:]
        for word in takewhile(lambda word: is_typed and word[:1] != "-", sys.argv[1:]):
            is_named = word in names or any(rule.is_producer(word) for rule in rules)
            if "/" not in word and not (is_named or os.path.exists(word)):
                problem = f"is no rule{did_you_mean(word, names)}"
                fix = "Name a rule (snakemake --list-rules) or a file of the results."
                sys.exit(UserError(word, problem, fix).lines())
        for before, word in zip(sys.argv, sys.argv[1:], strict=False):
            is_target = word.startswith(f"{self.run.paths.results}/") and not before.startswith("-")
            is_made = os.path.exists(word) or any(rule.is_producer(word) for rule in rules)
            if is_target and not is_made:
                self.refuse(word)

    def print_opening(self, workflow: Any) -> None:
        """Print what the run takes, where the whole study is asked for."""
        names = {rule.name for rule in workflow.rules} - {"all"}
        files = (f"{self.run.paths.results}/", f"{DOWNLOADS}/")
        if not any(word in names or word.startswith(files) for word in sys.argv[1:]):
            for line in self.run.forecast():
                print(line, file=sys.stderr)

    def closing_words(self, workflow: Any) -> Callable[[Any], str]:
        """A function that says, at the end of a dry run, what the run would take."""

        def of_job(wildcards: Any) -> str:
            takes = self.run.forecast() if workflow.dryrun else []
            return "\n".join(takes) or "Everything that the configuration asks for is there"

        return of_job
