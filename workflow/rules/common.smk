# Configuration, look-ups and wildcards; no analysis. Everything is checked before the first rule is defined.

import os
import re
import shutil
import sys
from pathlib import Path
from shlex import quote

HOME = Path(workflow.current_basedir).parents[1]
SOURCE = HOME / "workflow" / "src" / "worldprobe"
sys.path.insert(0, str(SOURCE.parent))
# Jobs find the package in this repository, and without --sdm the Python beside Snakemake, activated or not.
BESIDE = "" if workflow.deployment_settings.deployment_method else f"{Path(sys.executable).parent}:"
shell.prefix(f"export PYTHONPATH={quote(str(SOURCE.parent))} PATH={quote(BESIDE)}$PATH; ")

from worldprobe.benchmarks import settings_checks
from worldprobe.config import check_models, read_registry, read_site, read_study
from worldprobe.errors import UserError
from worldprobe.imports import closure
from worldprobe.operations.needs import needs

# What the many small rules need, which run beside Snakemake, on a cluster too: nothing there is worth a job of its own.
SMALL = {"gpu": 0, "mem_mb": 4000, "runtime": 30}


def ours(path):
    """A file of this repository, as seen from the working directory (which --directory may move)."""
    return os.path.relpath(HOME / path)


def modules(*names):
    """The package's modules that a cheap stage depends on: those named and all that they import; a folder means its files."""
    return [os.path.relpath(path) for path in closure(names)]


def read_settings():
    """The study, the registry of models and its file, and the facts of the site, all checked.

    Raises:
        SystemExit: with three lines: where, what, and how to fix it.
    """
    try:
        study = read_study(config, workflow.configfiles, workflow.config_settings.config, settings_checks())
        path = study["registry"] if os.path.exists(study["registry"]) else ours(study["registry"])
        registry = read_registry(path)
        check_models(study, registry, workflow.configfiles, path)
        facts = "config/cluster.yaml" if os.path.exists("config/cluster.yaml") else ours("config/cluster.yaml")
        site = read_site(facts, os.environ)
    except UserError as error:
        sys.exit(error.lines())
    return {**study, **study["ewok"]}, registry, path, site


def card(field):
    """A function that looks a field up in the registry entry of a job's model."""

    def look_up(wildcards):
        return registry[wildcards.model][field]

    return look_up


def control(field):
    """A function that looks up how a control model is trained."""

    def look_up(wildcards):
        return registry[wildcards.model]["control"][field]

    return look_up


def control_models():
    """The study's control models."""
    return [model for model in study["models"] if "control" in registry[model]]


def trained_folders():
    """The folders of the control models, which state how many parameters each has."""
    return [registry[model]["checkpoint"] for model in control_models()]


def has_parameters(model):
    """Whether it is known how many parameters a model has: its card says so, or its training will."""
    return registry[model]["parameters"] is not None or "control" in registry[model]


def need(resource):
    """A function that says what a job's model needs of a machine: gpus, threads, and, more with each attempt, mem_mb and runtime."""

    def look_up(wildcards, attempt):
        wanted = needs(registry[wildcards.model], float(site["gpu_memory_gb"]))
        return getattr(wanted.in_attempt(attempt, site["longest_minutes"]), resource)

    return look_up


def gpus_asked_for(wildcards):
    """How many GPUs each model's job asks for, as an option of the report."""
    counts = {model: needs(registry[model], float(site["gpu_memory_gb"])).gpus for model in study["models"]}
    return flag("--gpus", [f"{model}={count}" for model, count in counts.items()])


def grows(amount):
    """A function that asks for more with each attempt."""

    def look_up(wildcards, attempt):
        return amount * attempt

    return look_up


def on_site(fact):
    """A function that says where a job's model is to run: partition, constraint, gpu_model; the last two only with GPUs."""

    def look_up(wildcards):
        if not needs(registry[wildcards.model], float(site["gpu_memory_gb"])).gpus:
            return site["partition"] if fact == "partition" else None
        return site["gpu_partition"] or site["partition"] if fact == "partition" else site[fact]

    return look_up


def loading(wildcards):
    """How a model is loaded, as options: its engine with what only that engine takes, and what its checkpoint may do."""
    entry = registry[wildcards.model]
    options = [flag("--engine", entry["engine"])]
    if entry["engine"] == "vllm":
        options.append(flag("--tensor-parallel", needs(entry, float(site["gpu_memory_gb"])).gpus))
    if entry["engine"] == "openai":
        options += [flag(f"--{key}", entry[key]) for key in ("endpoint", "tokenizer", "concurrency")]
    options.append(trust(wildcards))
    return " ".join(option for option in options if option)


def engine_environment(wildcards):
    """The conda file of a model's engine, for --sdm conda: vLLM brings its own PyTorch."""
    return "../../envs/vllm.yaml" if registry[wildcards.model]["engine"] == "vllm" else "../../envs/scoring.yaml"


def trust(wildcards):
    """What a model's checkpoint may do, as options."""
    entry = registry[wildcards.model]
    options = [flag("--allow-pickle", entry["allow_pickle"]), flag("--trust-remote-code", entry["trust_remote_code"])]
    return " ".join(option for option in options if option)


def weights(wildcards):
    """What must be there before a model is loaded: a control model's folder, or the note that a hub model was fetched."""
    entry = registry[wildcards.model]
    if "control" in entry:
        return [entry["checkpoint"]]
    place = entry["checkpoint"]
    is_folder = os.path.isdir(place) or os.path.isabs(place) or place.startswith((".", "~"))
    is_local = entry["engine"] == "openai" or is_folder
    return [] if is_local else [f"results/models/{wildcards.model}.json"]


def flag(option, value):
    """A command line option: left out for False, empty lists and None, alone for True, else with its quoted value(s)."""
    if value is True:
        return option
    if value in (False, None, [], ""):
        return ""
    values = value if isinstance(value, list) else [value]
    return " ".join([option, *(quote(str(one)) for one in values)])


def builtin_files():
    """The files of the built-in materials."""
    folder = HOME / "resources" / "materials" / "ewok-builtin"
    return [os.path.relpath(path) for path in sorted(folder.rglob("*")) if path.is_file()]


def builtin_source(wildcards):
    """The folder of the built-in materials."""
    return ours("resources/materials/ewok-builtin")


def material_source(wildcards):
    """The materials' folder or archive, as the commands take it."""
    source = study["materials"]["source"]
    return builtin_source(wildcards) if source == "builtin" else source


def material_files(wildcards):
    """All files of the materials, so that an edit of any recompiles; a source that is not there yet must be made by a rule."""
    if study["materials"]["source"] == "builtin":
        return builtin_files()
    source = Path(study["materials"]["source"])
    return [str(path) for path in sorted(source.rglob("*")) if path.is_file()] if source.is_dir() else [str(source)]


def filling():
    """How slots are filled, as options."""
    items = study["items"]
    fixed = [flag("--versions", items["versions"])]
    independent = [
        flag("--per-template", items["per_template"]),
        flag("--seed", items["seed"]),
    ]
    options = [
        flag("--mode", items["mode"]),
        *(fixed if items["mode"] == "fixed" else independent),
    ]
    options += [
        *(flag("--swap", swap) for swap in items["swap"]),
        flag("--filter", items["filter"]),
    ]
    options += [
        flag("--compat", study["materials"]["compat"]),
        flag("--release-filter", study["materials"]["release_filter"]),
    ]
    return " ".join(option for option in options if option)


def vectors():
    """Word vectors: a file of the user's, or those that a rule trains."""
    vectors = study["baselines"]["word2vec"]["vectors"]
    return "results/controls/vectors.kv" if vectors == "trained" else vectors


def frequency():
    """Where word frequencies come from, as options."""
    frequency = study["baselines"]["frequency"]
    return " ".join([flag("--frequency", frequency["source"]), flag("--ngrams", frequency["files"])]).strip()


def evidence(eval_type, model):
    """What a model is judged by: its scores or its responses."""
    if eval_type == "logprobs":
        return f"results/ewok/scores/logprobs/{model}.parquet"
    return f"results/ewok/responses/{eval_type}/{model}.parquet"


def asking(wildcards):
    """How Likert and Choice ask, as options."""
    prompting = study["prompting"]
    options = [
        flag("--prompts", prompting["prompts"]),
        flag("--swap", prompting["swap"]),
        flag("--chat", prompting["chat_template"] == "always"),
    ]
    return " ".join(option for option in options if option) if study["eval_types"] != ["logprobs"] else ""


def judgement_tables(eval_types=None, with_yardsticks=False):
    """The judgements of all models; those of all ways of asking, where none is named, with the yardsticks beside them."""
    if released():
        return ["results/ewok/judgements/released/released.parquet"]
    chosen = eval_types or study["eval_types"]
    tables = expand(
        "results/ewok/judgements/{eval_type}/{model}.parquet",
        eval_type=chosen,
        model=study["models"],
    )
    return tables + (yardstick_tables() if with_yardsticks or eval_types is None else [])


def yardstick_tables():
    """The judgements of what stands beside the models: word2vec, and people where their ratings are given."""
    tables = []
    if study["baselines"]["word2vec"]["enabled"]:
        tables.append("results/ewok/judgements/word2vec/word2vec.parquet")
    if human_ratings():
        tables.append("results/ewok/judgements/human_likert/human.parquet")
    return tables


def prompted_judgements():
    """The judgements of all models' answers to prompts."""
    return judgement_tables([name for name in study["eval_types"] if name != "logprobs"])


def surface_features():
    """Length and word frequency of the sentences: measured, or as they were released."""
    return "results/ewok/released/surface_features.parquet" if released() else "results/ewok/surface_features.parquet"


def released():
    """The released results that stand for the models' answers, where they are given."""
    return study["released"]["results"] or []


def skipped_steps():
    """The steps of the released analysis that are left out, as options."""
    return " ".join(flag("--skip", step) for step in study["released"]["skip"])


def human_ratings():
    """The file of people's ratings, where there is one."""
    return study["human"]["ratings"] or []


def published_folder(wildcards):
    """The folder of the published numbers."""
    return ours("resources/published")


def published_files():
    """The published numbers and where they come from."""
    return [
        ours("resources/published/ewok.csv"),
        ours("resources/published/sources.yaml"),
    ]


def mixed_model_coefficients():
    """The mixed model's coefficients, where it is fitted."""
    return ["results/ewok/regression/mixed_model.parquet"] if has_mixed_model() else []


def control_judgement_tables():
    """The LogProbs judgements of the control models."""
    return expand("results/ewok/judgements/logprobs/{model}.parquet", model=control_models())


def has_logprobs():
    """Whether models are scored by LogProbs, which the regressions and most figures are about."""
    return "logprobs" in study["eval_types"]


def has_mixed_model():
    """Whether the mixed-effects model is fitted."""
    return has_logprobs() and study["mixed_model"]["enabled"]


def set_ups():
    """The prompting set-ups in which both Likert and Choice ask, e.g. constrained_two."""
    likert, choice = (
        {name.partition("_")[2] for name in study["eval_types"] if name.startswith(p)} for p in ("likert", "choice")
    )
    return sorted(likert & choice)


def is_builtin():
    """Whether the study asks about the built-in materials."""
    return study["materials"]["source"] == "builtin"


def made_from():
    """The tables whose making the report tells."""
    tables = [
        "results/ewok/templates.parquet",
        "results/ewok/items.parquet",
        surface_features(),
    ]
    if released():
        tables += judgement_tables()
    else:
        tables += [evidence(eval_type, model) for eval_type in study["eval_types"] for model in study["models"]]
    if has_logprobs():
        tables += [
            "results/ewok/regression/fixed_effects.parquet",
            *mixed_model_coefficients(),
        ]
    if study["baselines"]["word2vec"]["enabled"] and not released():
        tables.append("results/ewok/judgements/word2vec/word2vec.parquet")
    return tables


def item_text():
    """The items, of which the report shows one per domain where they are our own."""
    return "results/ewok/items.parquet" if is_builtin() else []


def table_names():
    """The tables of this study."""
    names = [
        "mean_accuracy",
        "accuracy_by_domain",
        "fixed_effects",
        "correlations",
    ] * has_logprobs()
    names += ["mixed_model"] * has_mixed_model()
    names += ["comparisons"] * (has_logprobs() and len(study["models"]) > 1)
    names += ["reproduction"] * (not is_builtin())
    names += ["accuracy_by_paradigm"] * (study["eval_types"] != ["logprobs"])
    names += ["likert_strict"] * ("likert_constrained_two" in study["eval_types"])
    return ["dataset", *names]


def figure_names():
    """The figures of this study."""
    names = [
        "accuracy_by_domain",
        "concepts",
        "design_features",
        "n_words",
        "log_frequency",
    ] * has_logprobs()
    names += ["word2vec"] * (has_logprobs() and study["baselines"]["word2vec"]["enabled"])
    names += ["scaling"] * (has_logprobs() and sum(map(has_parameters, study["models"])) > 1)
    names += ["controls"] * has_generalisation()
    names += ["agreement"] * ("constrained_two" in set_ups())
    names += ["paradigms"] * (has_logprobs() and "constrained_two" in set_ups())
    names += ["setups_by_model", "setups_by_domain"] * (study["eval_types"] != ["logprobs"])
    return names


def pair_tables():
    """What tables of accuracy need beside the summaries: correlations, and comparisons of two models or more."""
    names = ["correlations", "comparisons"]
    return [f"results/ewok/{name}.parquet" for name in names if name in table_names()]


def in_report(kind, suffix, shown, names):
    """The files of a study's figures or tables that stand in Snakemake's own report, each with caption, chapter and title."""
    files = []
    for name in [name for name in shown if name in names]:
        caption, chapter, title = shown[name]
        place = f"results/ewok/{kind}s/{name}.{suffix}"
        files.append(report(place, caption=f"../report/{caption}.rst", category=chapter, labels={kind: title}))
    return files


def beside(kind, suffixes, shown, names):
    """The other forms of the same figures or tables."""
    chosen = [name for name in shown if name in names]
    return [f"results/ewok/{kind}s/{name}.{suffix}" for name in chosen for suffix in suffixes]


def has_generalisation():
    """Whether what the control models had seen can be told from what is new to them."""
    return bool(has_logprobs() and control_models() and is_builtin() and not released())


def notebook_names():
    """The notebooks of this study; one needs a model that was scored by LogProbs here, another two of them."""
    least = {"1_explore_failures_by_concept": 1, "2_compare_two_models": 2}
    n_scored = len(study["models"]) if has_logprobs() and not released() else 0
    return [name for name in study["report"]["notebooks"] if n_scored >= least.get(name, 0)]


def notebooks(wildcards, input):
    """The notebooks that were run for the report, as an option."""
    return flag("--notebooks", list(input.notebooks))


study, registry, registry_file, site = read_settings()

# Inherited by every job, on this machine and on a cluster; never part of a command line or a log.
if study["materials"]["password"] is not None:
    os.environ.setdefault("WORLDPROBE_MATERIALS_PASSWORD", study["materials"]["password"])

# Two commands of SLURM's whose answers would make Snakemake wait for ever (slurm/bin says when).
if shutil.which("sbatch") and str(HOME / "slurm" / "bin") not in os.get_exec_path():
    os.environ.update(PATH=os.pathsep.join([str(HOME / "slurm" / "bin"), *os.get_exec_path()]))

# What slurm/config.yaml asks for; "None" leaves it to the site.
for fact in ("partition", "account", "qos"):
    os.environ[f"WORLDPROBE_SITE_{fact.upper()}"] = str(site[fact])


wildcard_constraints:
    model="|".join(re.escape(model) for model in registry),
    eval_type="[a-z0-9_]+",
