# Paths, environment and settings. Everything that can be checked is checked here, before the first rule is defined.

import os
import re
import shutil
import sys
import time
from functools import cache
from pathlib import Path
from shlex import quote

from snakemake.path_modifier import PathModifier
from snakemake.resources import Resource

#: The release that these rules are of.
VERSION = "0.1.0"


def find_home():
    """The folder of these rules and of all that is next to them: of a clone, or of the installed package."""
    try:
        home = Path(workflow.current_basedir).parents[1]
    except (
        TypeError
    ):  # a module of single files that Snakemake fetched, e.g. by github(): the rest is in the package
        from worldprobe.paths import REPOSITORY as home
    if (home / "workflow" / "src").is_dir():
        sys.path.insert(0, str(home / "workflow" / "src"))
    return home


def jobs_source(home, package, has_environments):
    """Where jobs find the code: in the clone, or, in environments of their own, by links to the installed packages alone."""
    source = home / "workflow" / "src"
    if not source.is_dir() and has_environments:
        source = Path(".snakemake", "worldprobe").absolute()
        source.mkdir(parents=True, exist_ok=True)
        for folder in (path.parent for path in package.parent.glob("worldprobe*/__init__.py")):
            link = source / folder.name
            if not link.is_symlink() or link.readlink() != folder:
                link.unlink(missing_ok=True)
                link.symlink_to(folder)
    return source if source.is_dir() else ""


try:
    HOME = find_home()
    import worldprobe
except ModuleNotFoundError:
    sys.exit(
        "error: worldprobe\n  problem: the package is not installed in the Python that runs Snakemake.\n"
        f'  fix: {sys.executable} -m pip install "worldprobe[workflow]=={VERSION}", or use the Snakefile of a clone.'
    )
if worldprobe.__version__ != VERSION:
    sys.exit(
        f"error: worldprobe\n  problem: these rules are of release {VERSION}, the installed package is {worldprobe.__version__}.\n"
        f'  fix: name the tag v{worldprobe.__version__}, or: pip install "worldprobe[workflow]=={VERSION}"'
    )

# Jobs call `worldprobe`: workflow/bin runs the code that belongs to these rules, in the Python that runs Snakemake, activated or
# not, or with --sdm in that of the job's environment. Rules of a workflow that uses this one as a module see one more command.
HAS_ENVIRONMENTS = bool(workflow.deployment_settings.deployment_method)
SOURCE = jobs_source(HOME, Path(worldprobe.__file__).parent, HAS_ENVIRONMENTS)
SAME_PYTHON = "" if HAS_ENVIRONMENTS else sys.executable
shell.prefix(
    f"export WORLDPROBE_SOURCE={quote(str(SOURCE))} WORLDPROBE_PYTHON={quote(SAME_PYTHON)}"
    f" PATH={quote(str(HOME / 'workflow' / 'bin'))}:$PATH; "
)

from worldprobe import benchmarks, extensions, methods
from worldprobe.benchmark import FORMATS
from worldprobe.stages import digest_code
from worldprobe.errors import UserError, did_you_mean
from worldprobe.files import digest_state
from worldprobe.models.controls import corpus
from worldprobe.operations.resources import limits, needs, tuning_needs
from worldprobe.operations.status import missing_models, not_fetched, share_with_jobs
from worldprobe.operations.settings import (
    as_written,
    is_folder,
    model_files,
    read_settings,
    shown_registry,
    source_key,
)
from worldprobe.paths import RESULTS, StudyPaths
from worldprobe.report.model_names import roster_of
from worldprobe.settings.blocks import option_words

#: The executor is not known while rules are read, but only one that submits jobs elsewhere has a number of nodes (--jobs).
ON_CLUSTER = workflow.resource_settings.nodes is not None or not workflow.is_main_process
#: When this run began, in seconds since 1970.
START = int(time.time())

#: The conda environments, for rules of extensions.
ENVS = HOME / "envs"


def in_repository(path):
    """A file of this repository, as seen from the working directory (which --directory may change)."""
    return os.path.relpath(HOME / path) if HOME == Path.cwd() else str(HOME / path)


def as_seen(path):
    """A file's path as jobs see it: one of this repository as ``in_repository``."""
    return in_repository(path.relative_to(HOME)) if path.is_relative_to(HOME) else str(path)


def missing_option(models):
    """Those of some models whose answers could not be computed, and why, as an option."""
    return options(missing=[f"{one}={why}" for one, why in MISSING.items() if one in models])


def kept_since(rule):
    """From when on kept answers count, as an option: where the rule or its file is forced, from the start of this run.

    Its text never changes, so that a run after a forced one has nothing to do: looking it up notes in the environment, for jobs on a
    cluster, too, what is forced. A workflow that uses this one as a module has other names of rules, and no ``onstart`` of ours.
    """
    variable = f"WORLDPROBE_FORCED_{rule}"
    names = {rule, (workflow.modifier.resolved_rulename_modifier or str)(rule)}
    if workflow.is_main_process:
        os.environ.pop(variable, None)

    def look_up(wildcards):
        if (asked := workflow.dag_settings) and workflow.is_main_process:
            forced = {*asked.forcerun, *(asked.targets if asked.forcetargets else ())}
            made = [
                one
                for one in workflow.rules
                if one.name in names
                for name in forced
                if one.is_producer(name)
            ]
            if asked.forceall or forced & names or made:
                os.environ[variable] = str(START)
        return f"--kept-since ${{{variable}:-0}}"

    return look_up


def contents(*lists):
    """A function that digests files which people edit: dates alone do not show that one was replaced by an older one.

    Args:
        lists: of files, or functions of the wildcards that give them.
    """

    def look_up(wildcards):
        return digest_state(
            path for files in lists for path in (files(wildcards) if callable(files) else files)
        )

    return look_up


def options(settings={}, keys=None, /, **others):
    """A block of settings, or some keys of it, and others as options of a command: one for each that is set."""
    return " ".join(map(quote, [*option_words(settings, keys), *option_words(others)]))


def per_attempt(amount):
    """A function that asks for more with each attempt."""

    def look_up(wildcards, attempt):
        return amount * attempt

    return look_up


#: Resources that --resources limits.
GIVEN = set(workflow.global_resources)


def limit_resources(models):
    """On one machine, keep to its GPUs and memory; a limit given by --resources is kept, a cluster has a scheduler of its own.

    Args:
        models: that jobs ask.
    """
    if ON_CLUSTER:
        return
    wanted = {model: needs(registry[model], site["gpu_memory_gb"]).gpus for model in models}
    try:
        found = limits(wanted, GIVEN)
    except UserError as error:
        sys.exit(error.lines())
    for name, limit in found.items():
        workflow.register_resource(name, Resource(name, limit))


def results_folder():
    """Where results go: results, or where a workflow that uses this one as a module wants them (prefix, replace_prefix).

    From here on Snakemake moves no path: it would move files that the configuration names and that are not below the prefix,
    and it would not move the paths that are options of commands.
    """
    folder = workflow.modifier.path_modifier.replace_prefix(f"{RESULTS}/")
    workflow.modifier.path_modifier = PathModifier(None, None, workflow)
    return folder.rstrip("/")


try:
    study, registry, registry_file, site = read_settings(
        config,
        workflow.config_settings.configfiles or workflow.configfiles,
        as_written(workflow.config_settings.config, sys.argv),
        HOME,
        benchmarks.settings_classes,
        benchmarks.complete_registry,
        results_folder(),
        benchmarks.add_models,
        benchmarks.all_models,
    )
    registry_file = shown_registry(study, registry, registry_file, Path(".snakemake/registries"))
except UserError as error:
    sys.exit(error.lines())
limit_resources(benchmarks.all_models(study))
#: What tables, and what figures show of the models; nothing else in their cards makes either again.
NAMES, NAMES_AND_COLOURS = (roster_of(registry).digest(colours) for colours in (False, True))

STUDY = StudyPaths.of(study)
#: Whether jobs ask SLURM for GPUs by --gres instead of --gpus.
ASKS_BY_GRES = ON_CLUSTER and bool(site["gres"])
#: Models whose answers could not be computed, and why; they are tried again, and the others summarised without them.
MISSING = share_with_jobs(
    missing_models(study, benchmarks.answers_by_rule, benchmarks.all_models(study)),
    workflow.is_main_process,
)
#: Those of them that `make reproduce` has just tried to fetch in vain: this run leaves them alone.
LEFT_OUT = not_fetched(study, MISSING)
MODELS_WITH_ANSWERS = [model for model in study["models"] if model not in MISSING]
#: As they are, and those that a benchmark asks besides the study's.
ALL_WITH_ANSWERS = [model for model in benchmarks.all_models(study) if model not in MISSING]
#: The study as its tables and figures see it: a model that is left alone is compared with none.
ANSWERED = benchmarks.without(study, MISSING)


pathvars:
    results=STUDY.root,
    logs=STUDY.logs,
    benchmarks=STUDY.benchmarks,
    models=STUDY.models,
    controls=corpus(study).root,


# Two commands of SLURM whose answers would make Snakemake wait for ever (slurm/bin says when).
if shutil.which("sbatch") and str(HOME / "slurm" / "bin") not in os.get_exec_path():
    os.environ.update(PATH=os.pathsep.join([str(HOME / "slurm" / "bin"), *os.get_exec_path()]))

# What slurm/config.yaml asks for; what is not there is left to the site. squeue and scancel look for SLURM_CLUSTERS, too.
for variable, text in {
    **{
        f"WORLDPROBE_SITE_{fact.upper()}": site[fact]
        for fact in ("partition", "account", "qos", "cluster")
    },
    "WORLDPROBE_SITE_EXTRA": site["reservation"] and f"--reservation={quote(site['reservation'])}",
    "SLURM_CLUSTERS": site["cluster"] or os.environ.get("SLURM_CLUSTERS"),
}.items():
    if text:
        os.environ[variable] = text
    else:
        os.environ.pop(variable, None)


wildcard_constraints:
    model="|".join(re.escape(model) for model in registry),
    eval_type="[a-z0-9_]+",
    version=r"\d+",


def say_what_is_missing():
    """After a run that failed: which models have no answers, and how to go on without them."""
    failed = missing_models(
        {**study, "allow_missing": True}, benchmarks.answers_by_rule, benchmarks.all_models(study)
    )
    for model, reason in failed.items():
        print(f"{model} has no answers: {reason}", file=sys.stderr)
    if failed and study["allow_missing"] and set(failed) - set(MISSING):
        fix = "Run the same command again: the other models are summarised, these are named as missing and tried again."
        print(fix, file=sys.stderr)


def remove_outdated():
    """After a run without models that are still missing: remove what an earlier run made with them, e.g. comparisons of a pair."""
    still = [
        model
        for model in missing_models(study, benchmarks.answers_by_rule, benchmarks.all_models(study))
        if model in MISSING
    ]
    for path in benchmarks.outdated(study, still, registry):
        if os.path.isfile(path):
            os.remove(path)
            print(f"Removed, as it was made with {' and '.join(still)}: {path}", file=sys.stderr)


def say_what_is_new():
    """After a run that succeeded: models that were tried again and are not in this run's tables."""
    for model in LEFT_OUT:
        print(
            f"{model} was left out: {MISSING[model]}. `make reproduce` tries again.",
            file=sys.stderr,
        )
    if new := sorted(set(MISSING) - set(LEFT_OUT)):
        print(
            f"{', '.join(new)}: answers are there now. Run the same command again to include them.",
            file=sys.stderr,
        )
