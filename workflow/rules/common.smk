# Paths, environment and settings. Everything that can be checked is checked here, before the first rule is defined.

import os
import re
import shlex
import shutil
import sys
import time
from functools import cache, partial
from pathlib import Path

from snakemake.path_modifier import PathModifier
from snakemake.resources import Resource

#: The release that these rules are of.
VERSION = "0.1.0"

# The folder of these rules and of all that is next to them, in a clone or in the installed package; none where Snakemake has fetched
# single files for a module, e.g. by github(): the rest is in the package.
try:
    HOME = Path(workflow.current_basedir).parents[1]
    sys.path.insert(0, str(HOME / "workflow" / "src"))
except TypeError:
    HOME = None
try:
    from worldprobe import __version__ as installed
except ModuleNotFoundError:
    installed = "none"
if installed != VERSION:
    sys.exit(
        f"error: worldprobe\n  problem: these rules are of release {VERSION}; the Python that runs Snakemake has {installed}.\n"
        f'  fix: {sys.executable} -m pip install "worldprobe[workflow]=={VERSION}", or use the Snakefile of its own release.'
    )

from worldprobe import benchmarks, extensions, methods
from worldprobe.benchmark import FORMATS
from worldprobe.code_digest import CORE, digest_code
from worldprobe.errors import UserError, did_you_mean
from worldprobe.files import digest_state, files_below
from worldprobe.models.controls import MATERIALS, corpus
from worldprobe.operations import archived, costs, record, settings, status
from worldprobe.operations.environment import jobs_source, state_site
from worldprobe.operations.resources import job_resources, limits, needs, tuning_needs
from worldprobe.operations.rule_functions import by_wildcard, per_attempt, without_wildcards
from worldprobe.paths import DOWNLOADS, LISTING, REPOSITORY, RESULTS, StudyPaths, shipped_file
from worldprobe.report.model_names import roster_of
from worldprobe.settings.blocks import option_words

HOME = HOME or REPOSITORY
#: The conda environments, for rules of extensions.
ENVS = HOME / "envs"

# Jobs call `worldprobe`: workflow/bin runs the code that belongs to these rules, in the Python that runs Snakemake, activated or
# not, or with --sdm in that of the job's environment. Rules of a workflow that uses this one as a module see one more command.
DEPLOYED_BY = {method.name.lower() for method in workflow.deployment_settings.deployment_method}
if "apptainer" in DEPLOYED_BY:
    advice = "Build envs/worldprobe.def and run Snakemake inside it (docs/cluster.md), or take --sdm conda."
    sys.exit(
        UserError(
            "--sdm apptainer", "does nothing: no rule has a container of its own.", advice
        ).lines()
    )
HAS_ENVIRONMENTS = bool(DEPLOYED_BY)
SOURCE = jobs_source(HOME, HAS_ENVIRONMENTS)
shell.prefix(
    f"export WORLDPROBE_SOURCE={shlex.quote(SOURCE)}"
    f" WORLDPROBE_PYTHON={shlex.quote('' if HAS_ENVIRONMENTS else sys.executable)}"
    f" PATH={shlex.quote(str(HOME / 'workflow' / 'bin'))}:$PATH; "
)

#: The executor is not known while rules are read, but only one that submits jobs elsewhere has a number of nodes (--jobs).
ON_CLUSTER = workflow.resource_settings.nodes is not None or not workflow.is_main_process
#: When this run began, in seconds since 1970.
START = int(time.time())


def in_repository(path):
    """A file of this repository, as seen from the working directory (which --directory may change)."""
    return os.path.relpath(HOME / path) if HOME == Path.cwd() else str(HOME / path)


def as_seen(path):
    """A file's path as jobs see it: one of this repository as ``in_repository``."""
    return in_repository(path) if path.is_relative_to(HOME) else str(path)


def files_in(folder):
    """The paths of all files in a folder."""
    return [str(path) for path in files_below(Path(folder))]


def one_of(names):
    """A regular expression for some names; for none, one that nothing matches."""
    return "|".join(map(re.escape, names)) or "(?!)"


def options(settings={}, keys=None, /, **others):
    """A block of settings, or some keys of it, and others as options of a command: one for each that is set."""
    return shlex.join([*option_words(settings, keys), *option_words(others)])


def missing_option(models):
    """Those of some models whose answers could not be computed, and why, as an option."""
    return options(missing=[f"{one}={why}" for one, why in MISSING.items() if one in models])


def missing_of_benchmark(wildcards):
    """The models that a benchmark asks and that have no answers, as an option."""
    answers = ANALYSED[wildcards.benchmark].answers
    return missing_option([model for model in MISSING if answers(study, model)])


def analysed_answers(command, benchmark):
    """What ``summarize`` or ``compare`` reads of a benchmark: what models answered."""
    return ANALYSED[benchmark].analysed[command].answers(ANSWERED, ALL_WITH_ANSWERS)


def analysed_others(command, benchmark):
    """What either reads besides."""
    return ANALYSED[benchmark].analysed[command].others(study)


def analysed_options(command, benchmark):
    """What the study states for either, as options."""
    return options(ANALYSED[benchmark].analysed[command].options(study))


def code_of_benchmark(wildcards):
    """What the code is that makes means and comparisons of a benchmark's answers."""
    return sorted(map(digest_code, CODE[wildcards.benchmark]))


def kept_since(rule):
    """From when on kept answers count, as an option: where the rule or its file is forced, from the start of this run.

    Its text never changes, so that a run after a forced one has nothing to do: the environment says it, to jobs on a cluster, too.
    In a workflow that uses this one as a module the rule has another name, but still this function among its parameters.
    """
    variable = f"WORLDPROBE_FORCED_{rule}"

    def look_up(wildcards):
        if workflow.is_main_process and (asked := workflow.dag_settings):
            forced = {*asked.forcerun, *(asked.targets if asked.forcetargets else ())}
            own = [one for one in workflow.rules if look_up in one.params] if forced else []
            is_forced = any(
                one.name == name or one.is_producer(name) for one in own for name in forced
            )
            os.environ[variable] = str(START if asked.forceall or is_forced else 0)
        return f"--kept-since ${{{variable}:-0}}"

    return look_up


def contents(*lists):
    """A function that digests files which people edit, given as lists or functions of the wildcards: dates alone do not show that
    one was replaced by an older one."""

    def look_up(wildcards):
        return digest_state(
            path for files in lists for path in (files(wildcards) if callable(files) else files)
        )

    return look_up


def checked(read, *arguments):
    """What a function reads of the settings; a mistake in them ends the run with its three lines."""
    try:
        return read(*arguments)
    except UserError as error:
        sys.exit(error.lines())


# Where results go: results, or where a workflow that uses this one as a module wants them (prefix, replace_prefix). Snakemake has no
# public name for that. It moves no path from here on: it would move files that the configuration names and that are not below the
# prefix, and it would not move the paths that are options of commands.
RESULTS_FOLDER = workflow.modifier.path_modifier.replace_prefix(f"{RESULTS}/").rstrip("/")
workflow.modifier.path_modifier = PathModifier(None, None, workflow)

GIVEN_OPTIONS = settings.as_written(workflow.config_settings.config, sys.argv)
#: The archive (--config archive=PATH) whose tables, figures and report alone are drawn again; None: the study is run.
ARCHIVED = checked(archived.open_given, GIVEN_OPTIONS, RESULTS_FOLDER)
study, registry, registry_file, site = (
    ARCHIVED.settings
    if ARCHIVED
    else checked(
        settings.read_settings,
        config,
        workflow.config_settings.configfiles or workflow.configfiles,
        GIVEN_OPTIONS,
        RESULTS_FOLDER,
    )
)
study = status.without_retries(study)
#: Files and baselines that an earlier run could not fetch, and why; the study is made without them, and they are tried again.
UNFETCHED = status.share_with_jobs(
    {} if ARCHIVED else status.unfetched(study),
    workflow.is_main_process,
    "WORLDPROBE_UNFETCHED",
)
#: The study as it was asked for.
ASKED_FOR = study
RETRIED = {name: path for name, path in benchmarks.downloads(study).items() if name in UNFETCHED}
study = benchmarks.without_downloads(study, UNFETCHED)
registry_file = settings.shown_registry(
    study, registry, registry_file, Path(".snakemake/registries")
)
#: What tables, and what figures show of the models; nothing else in their cards makes either again.
NAMES, NAMES_AND_COLOURS = (roster_of(registry).digest(colours) for colours in (False, True))
STUDY = StudyPaths.of(study)
if not ARCHIVED:
    checked(archived.refuse_unpacked, Path(STUDY.root))

#: Resources that --resources limits.
GIVEN = set(workflow.global_resources)


def limit_resources(models):
    """Keep the jobs that ask some models to this machine's GPUs and memory: Snakemake has no public way to set limits that nobody
    gave by --resources. A cluster has a scheduler of its own."""
    if not ON_CLUSTER:
        wanted = {model: needs(registry[model], site["gpu_memory_gb"]).gpus for model in models}
        for name, limit in checked(limits, wanted, GIVEN).items():
            workflow.register_resource(name, Resource(name, limit))


limit_resources([] if ARCHIVED else benchmarks.all_models(study))
#: Models that cannot be had before somebody sets a token or a key, and why.
REFUSED = status.refused(study, registry)
#: Models whose answers could not be computed, and why; they are tried again, and the others summarised without them.
MISSING = status.share_with_jobs(
    status.missing_models(study, without=REFUSED), workflow.is_main_process
)
#: What this run leaves alone: models that are refused, and, where the study says so, what could not be fetched.
LEFT_OUT = status.left_out(study, MISSING, REFUSED, UNFETCHED)
if ARCHIVED:
    REFUSED, MISSING, LEFT_OUT = {}, ARCHIVED.record.missing, ARCHIVED.record.missing
#: The others: the study's, and those that a benchmark asks besides.
ALL_WITH_ANSWERS = [model for model in benchmarks.all_models(study) if model not in MISSING]
#: The study as its tables and figures see it: a model that is left alone is compared with none.
ANSWERED = benchmarks.without(study, MISSING)

#: Name -> a benchmark with means and comparisons by the shared rules, and the packages of what its scores are and of what computes them.
ANALYSED = {one.name: one for one in benchmarks.of_study(study) if one.analysed}
CODE = {
    name: {
        part.__module__.partition(".")[0]
        for part in (one.scores, *(analysis.compute for analysis in one.analysed.values()))
        if part
    }
    for name, one in ANALYSED.items()
}
#: The materials that the control models learn from, and their files.
BUILTIN = in_repository(MATERIALS)
BUILTIN_FILES = files_in(BUILTIN)


def retried(wildcards):
    """What earlier runs lacked and this one tries again: answers of models, files and baselines."""
    models = [model for model in MISSING if model not in LEFT_OUT]
    again = [path for model in models for path in benchmarks.answers(study, model)]
    return again + [path for name, path in RETRIED.items() if name not in LEFT_OUT]


def what_it_takes():
    """Models, GPUs, hours, downloads and requests of this run, line by line."""
    if ARCHIVED:
        return []
    again = {name: why for name, why in {**MISSING, **UNFETCHED}.items() if name not in LEFT_OUT}
    return costs.forecast(study, registry, site, LEFT_OUT, again, ON_CLUSTER)


def opening_words():
    """The same at the start of a run of the whole study; nothing where parts are asked for."""
    return what_it_takes() if {*workflow.dag_settings.targets} <= {"all"} else []


def go_on_without_what_failed(logs):
    """Say what a run that failed has not got; a run that kept going makes the rest without it, unless somebody stopped it, or forced
    rules, which the rest would ask again."""
    if ARCHIVED:
        return
    asked, places = workflow.dag_settings, []
    if workflow.overwrite_workdir is not None:
        files = [str(path) for path in workflow.config_settings.configfiles]
        places = ["--snakefile", str(workflow.main_snakefile), "--directory", os.getcwd()]
        places += ["--configfile", *files] if files else []
    is_forced = asked.forceall or asked.forcetargets or asked.forcerun
    goes_on = (
        workflow.execution_settings.keep_going and not is_forced and not status.was_stopped(logs)
    )
    rest = status.rest_of_run(ASKED_FOR, MISSING, UNFETCHED, sys.argv, places) if goes_on else []
    for line in status.after_failure(ASKED_FOR, registry, MISSING, UNFETCHED, bool(rest)):
        print(line, file=sys.stderr)
    if rest:
        print("The rest is made now, without what is named here.", file=sys.stderr)
        status.make_rest(rest)


def closing_words(wildcards):
    """At the end of a dry run, what the run would take."""
    takes = what_it_takes() if workflow.dryrun else []
    return "\n".join(takes) or "Everything that the configuration asks for is there"


pathvars:
    results=STUDY.root,
    logs=STUDY.logs,
    benchmarks=STUDY.benchmarks,
    models=STUDY.models,
    controls=corpus(study).root,


# Two commands of SLURM whose answers would make Snakemake wait for ever (slurm/bin says when).
if shutil.which("sbatch") and str(HOME / "slurm" / "bin") not in os.get_exec_path():
    os.environ.update(PATH=os.pathsep.join([str(HOME / "slurm" / "bin"), *os.get_exec_path()]))
state_site(site, os.environ)


wildcard_constraints:
    model=one_of(registry),
    eval_type="[a-z0-9_]+",
    version=r"\d+",
