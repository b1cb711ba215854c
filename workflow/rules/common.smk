# What all rules begin with. Everything that can be checked is checked here, before the first rule is defined.

import sys
from pathlib import Path

#: The release that these rules are of.
VERSION = "0.1.0"

# The code beside these rules, in a clone; where Snakemake has fetched single files for a module, e.g. by github(), it is the package's.
try:
    sys.path.insert(0, str(Path(workflow.current_basedir).parents[1] / "workflow" / "src"))
except TypeError:
    pass
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
from worldprobe.code_digest import digest_code
from worldprobe.operations.displays import Displays
from worldprobe.operations.environment import prepare_jobs
from worldprobe.operations.rule_functions import by_wildcard, one_of, per_attempt, without_wildcards
from worldprobe.operations.run import begin_run, digest_edited
from worldprobe.paths import ENVS, LISTING, from_here, shipped_file
from worldprobe.settings.blocks import options

# Only an executor that submits jobs elsewhere has a number of nodes (--jobs); which one it is, is not known while rules are read.
this_run = begin_run(
    config,
    workflow.config_settings.configfiles or workflow.configfiles,
    workflow.config_settings.config,
    on_cluster=workflow.resource_settings.nodes is not None or not workflow.is_main_process,
)
study, registry, paths = this_run.study, this_run.registry, this_run.paths

# Jobs call `worldprobe`: workflow/bin runs the code that belongs to these rules, in the Python that runs Snakemake, activated or
# not, or with --sdm in that of the job's environment. Rules of a workflow that uses this one as a module see one more command.
shell.prefix(
    prepare_jobs({method.name.lower() for method in workflow.deployment_settings.deployment_method})
)


pathvars:
    results=paths.root,
    logs=paths.logs,
    benchmarks=paths.benchmarks,
    models=paths.models,
    controls=this_run.controls,


wildcard_constraints:
    model=one_of(registry),
    eval_type="[a-z0-9_]+",
    version=r"\d+",
