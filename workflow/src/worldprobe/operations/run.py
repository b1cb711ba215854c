"""One run of Snakemake over a study: what its rules ask of settings, cards and site.

Rules find it by ``current_run``; what Snakemake itself is asked for comes in through ``begin_run``.
"""

from __future__ import annotations

import datetime
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from worldprobe import benchmarks, engines
from worldprobe.code_digest import digest_code
from worldprobe.engines import LITTLE_MEMORY_MB, Needs
from worldprobe.errors import UserError
from worldprobe.files import digest_state, files_below
from worldprobe.missing import Stage
from worldprobe.models.controls import MATERIALS, corpus
from worldprobe.operations import archived, costs, settings, status
from worldprobe.operations.environment import state_site
from worldprobe.operations.resources import (
    ATTEMPTS,
    job_resources,
    needs,
    refuse_more_gpus,
    visible_gpus,
)
from worldprobe.paths import DOWNLOADS, RESULTS, StudyPaths, from_here
from worldprobe.report.model_names import roster_of
from worldprobe.settings.blocks import options
from worldprobe.settings.registry import LOADED, Packaging, loading_words
from worldprobe.sources import shipped_files

#: What must be known to fetch a model.
FETCHED = ("revision", "adapter", "allow_pickle", "trust_remote_code")
#: What a job needs that says why it has no results.
GIVING_UP = Needs(0, 1, LITTLE_MEMORY_MB, 10)
#: The resources of a job that loads a model (``job_resources``).
OF_MACHINE = (
    *("gpu", "gpu_model", "gres", "constraint", "slurm_partition", "mem_mb", "runtime"),
    "devices",
)


def digest_edited(*lists: Any) -> Callable[[Any], str]:
    """A function that digests files which people edit: dates alone do not show that one was
    replaced by an older one.

    Args:
        lists: files, or functions of the wildcards that give files.
    """

    def of_job(wildcards: Any) -> str:
        return digest_state(
            path for files in lists for path in (files(wildcards) if callable(files) else files)
        )

    return of_job


class StudyRun:
    """A run over a study, or over the archive of one.

    Args:
        config: the configuration as Snakemake has merged it.
        files: the files that it comes from, the strongest last.
        given: what ``--config`` says, as it is written.
        on_cluster: whether jobs are submitted elsewhere.

    Attributes:
        archive: whose tables, figures and report alone are drawn again; None: the study is run.
        study: validated, without what cannot be had (``left_out``).
        registry: model id -> card.
        registry_file: from which tables and figures take names.
        site: facts of the cluster.
        paths: of the study.
        on_cluster: whether jobs are submitted elsewhere.
        left_out: model or file -> why this run does not try to have it.
        missing: those of them that are models.
        as_drawn: tables and figures of an archive that are taken over as they were drawn: what they
            are drawn from is protected.
        models: the study's, and those that a benchmark asks besides.
        asked: the study without models that are left out.

    Raises:
        UserError: a mistake in the settings.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        files: Sequence[str | Path],
        given: Mapping[str, Any],
        on_cluster: bool,
    ) -> None:
        self.on_cluster = on_cluster
        study: Mapping[str, Any]
        results = str({**config, **given}.get("results", RESULTS))
        self.archive = archived.open_given(given, results)
        study, self.registry, registry_file, self.site = (
            self.archive.settings
            if self.archive
            else settings.read_settings(config, files, given, results)
        )
        self.paths = StudyPaths.of(study)
        if self.archive:
            self.missing = dict(self.archive.record.missing)
            self.left_out = dict(self.missing)
            self.as_drawn = self.archive.as_drawn()
        else:
            archived.refuse_unpacked(Path(self.paths.root))
            absent = status.not_rehearsed(study)
            study = benchmarks.without_downloads(study, absent)
            self.missing = status.refused(study, self.registry)
            self.left_out = {**self.missing, **absent}
        self.study = study
        self.registry_file = settings.shown_registry(
            study, self.registry, registry_file, Path(".snakemake/registries")
        )
        self.models = [model for model in benchmarks.all_models(study) if model not in self.missing]
        self.asked = benchmarks.without(study, self.missing)
        if not (self.archive or on_cluster):
            self.refuse_more_gpus(self.models)
        state_site(self.site, os.environ)

    # What tables and figures are of, and what code makes means and comparisons.

    def names(self, colours: bool = False) -> str:
        """A digest of the models' names, and of their colours where figures are drawn. Nothing else
        in their cards makes tables or figures again.
        """
        return roster_of(self.registry).digest(colours)

    @property
    def analysed(self) -> dict[str, Any]:
        """Name -> a benchmark with means and comparisons by the shared rules."""
        return {
            benchmark.name: benchmark
            for benchmark in benchmarks.of_study(self.study)
            if benchmark.analysed
        }

    def read_by(self, command: str) -> Callable[[Any], list[str]]:
        """The answers that ``summarize`` or ``compare`` reads of a benchmark."""

        def of_job(wildcards: Any) -> list[str]:
            analysis = self.analysed[wildcards.benchmark].analysed[command]
            return analysis.answers(self.asked, self.models)

        return of_job

    def read_besides(self, command: str) -> Callable[[Any], list[str]]:
        """The files that either reads besides."""

        def of_job(wildcards: Any) -> list[str]:
            return self.analysed[wildcards.benchmark].analysed[command].others(self.study)

        return of_job

    def stated_for(self, command: str) -> Callable[[Any], str]:
        """The study's settings of either, as options."""

        def of_job(wildcards: Any) -> str:
            return options(self.analysed[wildcards.benchmark].analysed[command].options(self.study))

        return of_job

    def code_of_benchmark(self, wildcards: Any) -> list[str]:
        """Digests of the code that makes means and comparisons of a benchmark's answers."""
        benchmark = self.analysed[wildcards.benchmark]
        parts = (benchmark.scores, *(analysis.compute for analysis in benchmark.analysed.values()))
        packages = {part.__module__.partition(".")[0] for part in parts if part}
        return sorted(map(digest_code, packages))

    def missing_option(self, models: Iterable[str] | None = None) -> str:
        """Models that are left out, and why, as an option.

        Args:
            models: those that are meant (the study's).
        """
        meant = self.study["models"] if models is None else models
        return options(
            missing=[f"{model}={why}" for model, why in self.missing.items() if model in meant]
        )

    def missing_of_benchmark(self, wildcards: Any) -> str:
        """The same of those that a benchmark would ask."""
        answers = self.analysed[wildcards.benchmark].answers
        return self.missing_option([model for model in self.missing if answers(self.study, model)])

    # Jobs.

    @property
    def may_give_up(self) -> bool:
        """Whether a job that failed as often as it may says why, so that the run goes on."""
        return bool(self.study["allow_missing"])

    @property
    def retries(self) -> int | None:
        """How often such a job is tried again; the last time, it gives up. On a cluster the profile
        says it: a rule's own number would be tried inside each job, too.
        """
        return 1 if self.may_give_up and not self.on_cluster else None

    def tries_left(self, wildcards: Any, attempt: int) -> int:
        """How often it may be tried, this time included; 0: it was ended each time."""
        tries = ATTEMPTS if self.on_cluster else 1
        return tries + 1 - attempt if self.may_give_up else 2

    def needed(self, wildcards: Any, rule: str | None = None) -> Needs:
        """What a job that loads a model asks of a machine; a rule that evaluates it knows what it
        is asked.
        """
        if rule:
            return costs.job_needs(self.study, self.registry, self.site, wildcards.model, rule)
        return needs(self.registry[wildcards.model], self.site["gpu_memory_gb"])

    def threads(self, wildcards: Any) -> int:
        """The threads of a job that loads a model."""
        return self.needed(wildcards).threads

    def machine(
        self, rule: str | None = None, needed: Callable[[Any], Needs] | None = None
    ) -> dict[str, Callable[[Any, int], Any]]:
        """Resources of a job with a model; each attempt asks for more, and the last gives up.

        Args:
            rule: that evaluates the model, if one does.
            needed: what the job asks for, if that is not what the model does.
        """

        def resource(name: str) -> Callable[[Any, int], Any]:
            def of_attempt(wildcards: Any, attempt: int) -> Any:
                wanted = needed(wildcards) if needed else self.needed(wildcards, rule)
                wanted = wanted if self.tries_left(wildcards, attempt) else GIVING_UP
                return job_resources(wanted, self.site, attempt, self.on_cluster)[name]

            return of_attempt

        return {name: resource(name) for name in OF_MACHINE} | self.patience()

    def patience(self) -> dict[str, Any]:
        """Resources of a job that may give up; what is no result reruns nothing."""
        since = self.study["kept_since"]
        seconds = datetime.datetime.fromisoformat(since).timestamp() if since else 0
        return {"tries_left": self.tries_left, "kept_since": int(seconds)}

    @property
    def request(self) -> str:
        """What such a job asks for, as its message says it."""
        asked = ": GPUs {resources.devices}, {resources.mem_mb} MB, {resources.runtime} min"
        return asked if self.on_cluster else ""

    def refuse_more_gpus(self, models: Iterable[str]) -> None:
        """Stop where a model needs more GPUs than this machine has.

        Raises:
            UserError: one does.
        """
        gpu_memory = self.site["gpu_memory_gb"]
        wanted = {model: needs(self.registry[model], gpu_memory).gpus for model in models}
        refuse_more_gpus(wanted, len(visible_gpus()))

    # Models and files.

    @property
    def served(self) -> list[str]:
        """Models on servers: they are asked from beside Snakemake, where there is a network, and
        not on a compute node.
        """
        return [model for model, card in self.registry.items() if engines.of(card).is_remote]

    @property
    def not_served(self) -> list[str]:
        """The others."""
        return [model for model in self.registry if model not in self.served]

    @property
    def stand_ins(self) -> dict[str, Mapping[str, Any]]:
        """The models that have stand-ins, in a rehearsal, and their cards."""
        return {model: card for model, card in self.registry.items() if card.get("stand_in")}

    def model_options(self, wildcards: Any) -> str:
        """A job's model, how it is loaded, and where its answers are kept, as options."""
        card = self.registry[wildcards.model]
        named = options(
            model=wildcards.model, checkpoint=card["checkpoint"], answers=self.paths.answers
        )
        return f"{named} {shlex.join(loading_words(card, LOADED))}"

    def source_words(self, model: str) -> str:
        """A model's checkpoint, and what else must be known to fetch it, as a command takes
        them.
        """
        card = self.registry[model]
        return f"{shlex.quote(card['checkpoint'])} {shlex.join(loading_words(card, FETCHED))}"

    def fetching_words(self, model: str) -> str:
        """The same of a model that is fetched, with what is known of its package."""
        card = self.registry[model]
        accepted = self.study["accept_terms"] if card["terms"] else []
        packaging = options(card, Packaging.model_fields, accept_terms=accepted)
        return " ".join(filter(None, (self.source_words(model), packaging)))

    def engine_environment(self, wildcards: Any) -> str:
        """The conda file of a model's engine, for --sdm conda: vLLM brings its own PyTorch."""
        name = engines.of(self.registry[wildcards.model]).environment
        return name if name.endswith(".yaml") else f"../../../envs/{name}.yaml"

    def own_weights(self, wildcards: Any) -> list[str]:
        """The files of a job's model in a folder of the user's; none of any other model."""
        return settings.model_files(self.registry[wildcards.model])

    def weights_of(self, model: str) -> list[str]:
        """What must be there before a model is loaded, and reruns its jobs when it changes."""
        return settings.weight_files(self.registry[model], f"{self.paths.models}/{model}")

    def weights(self, wildcards: Any) -> list[str]:
        """The same of a job's model."""
        return self.weights_of(wildcards.model)

    @property
    def sources(self) -> dict[str, Any]:
        """Path below resources/downloads -> the file of resources/sources.yaml."""
        return {file.path.removeprefix(f"{DOWNLOADS}/"): file for file in shipped_files().values()}

    def source_name(self, wildcards: Any) -> str:
        """Which file of the listing is downloaded, as the command takes it."""
        return self.sources[wildcards.download].name

    def source_identity(self, wildcards: Any) -> str:
        """Where it comes from and what it is: another one is downloaded again."""
        file = self.sources[wildcards.download]
        return f"{file.url} {file.sha256 or file.md5}"

    @property
    def builtin(self) -> str:
        """The materials that the control models learn from."""
        return from_here(MATERIALS)

    @property
    def builtin_files(self) -> list[str]:
        """Their files."""
        return [str(path) for path in files_below(Path(self.builtin))]

    @property
    def controls(self) -> str:
        """The folder of the control models' corpus and of what is made of it."""
        return corpus(self.study).root

    # What is said.

    def forecast(self) -> list[str]:
        """Models, GPUs, hours, downloads and requests of this run, line by line."""
        if self.archive:
            return []
        return costs.forecast(
            self.study, self.registry, self.site, self.left_out, on_cluster=self.on_cluster
        )

    def print_end(self) -> None:
        """Print what is not in the tables of a run that ended; the next run tries it again, if the
        study does not say otherwise. Of an archive: what was drawn anew.
        """
        again: list[Stage] = []
        again += ["fetch"] if self.study["fetch_again"] else []
        again += ["ask"] if self.study["ask_again"] else []
        lines = (
            archived.compared(Path(self.paths.root))
            if self.archive
            else status.after_run(self.study, self.left_out, again)
        )
        for line in lines:
            print(line, file=sys.stderr)


_current: list[StudyRun] = []


def begin_run(
    config: Mapping[str, Any],
    files: Sequence[str | Path],
    given: Mapping[str, Any],
    on_cluster: bool,
) -> StudyRun:
    """The run whose rules are read now (``StudyRun``); a mistake in its settings ends it with its
    lines.
    """
    try:
        _current[:] = [StudyRun(config, files, settings.as_written(given, sys.argv), on_cluster)]
    except UserError as error:
        sys.exit(error.lines())
    return _current[0]


def current_run() -> StudyRun:
    """The run whose rules are read now."""
    return _current[0]
