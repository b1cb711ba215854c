"""Every rule has the same shape. Snakemake itself reads the rules; nothing here reads their
text.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from worldprobe import benchmarks
from worldprobe.settings.registry import LOADED, loading_words

ROOT = Path(__file__).resolve().parents[2]
#: Rules that only gather files under a name.
TARGETS = {"all", "tables", "figures", "report", "materials", "human_study"}
#: What trains or asks models, and what makes what they are trained on or asked.
EXPENSIVE = r"score(_series|_server)?$|ask|train_|finetune$|read_layers|start_model|compile_|(fill|gather)_items|generate_|write_(corpus|phrases|lessons)"


def read_workflow(folder: Path, snakefile: Path = ROOT / "Snakefile") -> Any:
    """The default study's workflow, as Snakemake sees it before it plans."""
    from snakemake.api import SnakemakeApi
    from snakemake.settings.types import (
        ConfigSettings,
        OutputSettings,
        ResourceSettings,
        WorkflowSettings,
    )

    environment, here = dict(os.environ), Path.cwd()
    try:
        with SnakemakeApi(OutputSettings()) as api:
            read = api.workflow(
                resource_settings=ResourceSettings(),
                config_settings=ConfigSettings(configfiles=[ROOT / "config" / "config.yaml"]),
                workflow_settings=WorkflowSettings(),
                snakefile=snakefile,
                workdir=folder,
            )
            return read._workflow
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(environment)


@pytest.fixture(scope="module")
def workflow(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return read_workflow(tmp_path_factory.mktemp("rules"))


@pytest.fixture(scope="module")
def rules(workflow: Any) -> dict[str, Any]:
    """Rule name -> rule, of those that run a command."""
    return {rule.name: rule for rule in workflow.rules if rule.name not in TARGETS}


def functions(*directives: Any) -> Iterator[Callable[..., Any]]:
    """The functions that are called for each job."""
    for directive in directives:
        values = directive.values() if isinstance(directive, dict) else directive or ()
        yield from (value for value in values if callable(value))


def test_rules_were_found(rules: dict[str, Any]) -> None:
    assert len(rules) > 30


@pytest.mark.parametrize(
    "path", sorted((ROOT / "workflow" / "rules").glob("*.smk")), ids=lambda path: path.stem
)
def test_shared_rules_know_no_benchmark(path: Path) -> None:
    assert not re.search("|".join(benchmarks.OWN), path.read_text(), re.IGNORECASE)


def test_rules_have_no_lambda() -> None:
    """What a rule looks up has a name that says what it is."""
    files = [*ROOT.glob("workflow/**/*.smk"), ROOT / "workflow" / "Snakefile"]
    assert len(files) > 40
    assert [path.name for path in files if "lambda" in path.read_text()] == []


def test_every_rule_says_in_a_docstring_what_it_makes(workflow: Any) -> None:
    assert [rule.name for rule in workflow.rules if not (rule.docstring or "").strip()] == []
    assert workflow.get_rule("all").message, "Snakemake prints every input where there is none"


def test_a_rule_has_log_benchmark_message_and_environment_with_its_wildcards(
    rules: dict[str, Any],
) -> None:
    from snakemake.io import get_wildcard_names

    for name, rule in rules.items():
        assert rule.message, name
        assert rule.shellcmd, name
        assert [rule.is_run, rule.is_script, rule.is_notebook] == [False, False, False], name
        assert callable(rule.conda_env) or (ROOT / "envs" / Path(rule.conda_env).name).is_file(), (
            name
        )
        for kind, path in (("logs", str(rule.log[0])), ("benchmarks", str(rule.benchmark))):
            # a rule for models on servers leaves the files of the one that it is made from
            assert f"/{kind}/{name.removesuffix('_server')}" in path, name
            assert get_wildcard_names(path) == rule.wildcard_names, (name, kind)


def test_inputs_and_outputs_are_named(rules: dict[str, Any]) -> None:
    for name, rule in rules.items():
        for files in (rule.input, rule.output):
            places = [
                range(first, first + 1 if end is None else end)
                for _, (first, end) in files._get_names()
            ]
            assert {place for one in places for place in one} == set(range(len(files))), name


def test_a_rule_is_one_command_that_ends_in_its_outputs_and_its_log(rules: dict[str, Any]) -> None:
    for name, rule in rules.items():
        assert rule.shellcmd.startswith("worldprobe "), name
        assert re.search(r" --out( \{output\.\w+:q\})+ &> \{log:q\}$", rule.shellcmd), name
        assert rule.shellcmd.count("worldprobe ") == 1, name
        assert "--password" not in rule.shellcmd, name


def test_a_rule_is_called_like_its_command(rules: dict[str, Any]) -> None:
    """``fill_items`` is ``items fill``; of ``baselines train-vectors`` the action alone is the
    name.
    """
    for name, rule in rules.items():
        stage, action = [*re.sub(r"\{[^}]*\}", "{}", rule.shellcmd).split()[1:3], ""][:2]
        verbs = [word for word in re.split("[-_]", action) if re.fullmatch(r"\w+", word)]
        words = (
            verbs
            if len(verbs) > 1 or stage in benchmarks.OWN
            else [*re.split("[-_]", stage), *verbs]
        )
        of_rule = {word.removesuffix("s") for word in name.split("_")}
        assert {word.removesuffix("s") for word in words} - {
            "all",
            "set",
        } <= of_rule, f"{name} runs {stage} {action}"


#: Values that are numbers, or options that ``flag`` has put together and quoted. That these are
#: whole, too, is shown by studies whose names have blanks in them (tests/workflow/test_dag.py).
UNQUOTED = re.compile(r"params\.\w+|resources\.devices|wildcards\.version")


def test_a_shell_line_quotes_every_file_and_name(rules: dict[str, Any]) -> None:
    for name, rule in rules.items():
        for value in re.findall(r"\{([^}]*)\}", rule.shellcmd):
            assert value.endswith(":q") or UNQUOTED.fullmatch(value), (
                f"{name}: {value} is not quoted"
            )


def test_how_many_gpus_a_job_has_is_a_resource_and_no_parameter(rules: dict[str, Any]) -> None:
    """A changed parameter reruns a rule, a changed resource does not."""
    assert "devices" in rules["score"].resources
    for rule in rules.values():
        assert not re.search("--(gpus {params|tensor-parallel)", rule.shellcmd)
    card = {
        "checkpoint": "a/b",
        "engine": "openai",
        "endpoint": "http://x/v1",
        "concurrency": 4,
        "tensor_parallel": 2,
    }
    assert loading_words(card, LOADED) == [
        "--engine=openai",
        "--endpoint=http://x/v1",
        "--concurrency=4",
    ]


def test_a_rule_reruns_when_code_that_moves_its_numbers_changes(
    rules: dict[str, Any],
) -> None:
    """Cheap rules have a digest of their code; what trains or asks, and what it reads, a number."""
    for name, rule in rules.items():
        if name.startswith("fetch_"):
            continue
        if re.match(EXPENSIVE, name):
            assert isinstance(rule.params.method, int), name
        else:
            code = rule.params.code
            digests = [code] if isinstance(code, str) else [] if callable(code) else code
            assert callable(code) or digests, name
            assert all(re.fullmatch("[0-9a-f]{12}", digest) for digest in digests), name


def test_a_rule_reruns_when_a_file_that_people_edit_is_replaced_by_an_older_one(
    rules: dict[str, Any],
) -> None:
    """Snakemake goes by dates; the content of such files is a parameter. The control models'
    folder names theirs.
    """
    edited = re.compile(
        "material_files|prompt_files|prompting_files|skin_files|notebook_file|weight_inputs|published"
    )
    for name, rule in rules.items():
        if any(edited.search(function.__name__) for function in functions(rule.input)):
            assert "contents" in rule.params.keys(), name  # noqa: SIM118


def test_only_models_and_r_are_jobs_of_a_cluster_and_these_say_what_they_need(
    rules: dict[str, Any], workflow: Any
) -> None:
    on_cluster = set(rules) - workflow._localrules
    assert on_cluster == {
        "score",
        "score_series",
        "read_layers",
        "ask",
        "ask_external",
        "train_control",
        "finetune",
        "fit_mixed_model",
    }
    for name in on_cluster:
        assert {"mem_mb", "runtime"} <= set(rules[name].resources), name


def test_in_another_workflow_the_same_rules_are_jobs_of_a_cluster(
    workflow: Any, tmp_path: Path
) -> None:
    snakefile = tmp_path / "Snakefile"
    snakefile.write_text(
        f"module probe:\n    snakefile: '{ROOT}/workflow/Snakefile'\n    config: config\n"
        "use rule * from probe as probe_*\n"
    )
    module = read_workflow(tmp_path, snakefile)
    assert module._localrules == {f"probe_{name}" for name in workflow._localrules}
