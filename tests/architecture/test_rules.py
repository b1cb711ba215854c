"""Every rule has the same shape. Snakemake itself reads the rules; nothing here reads their
text.
"""

import builtins
import io
import keyword
import os
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

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


#: Every file of rules, and the Snakefile.
SOURCES = [*ROOT.glob("workflow/**/*.smk"), ROOT / "workflow" / "Snakefile"]
#: What begins something of Snakemake's in a file of rules.
BLOCK = re.compile(
    r"(use )?rule .*|checkpoint .*|ruleorder: .*|(include|pathvars|wildcard_constraints|report"
    r"|configfile|onstart|onerror|onsuccess):.*"
)
#: What Snakemake and Python give to every file of rules.
GIVEN = {
    *("workflow", "rules", "config", "directory", "ancient", "temp", "touch", "update", "report"),
    *("expand", "subpath", "input", "output", "lookup", *dir(builtins)),
}


def lines_of(source: str) -> Iterator[tuple[str, bool]]:
    """Each line of a file of rules that says something, and whether it is Python outside rules."""
    block: int | None = None
    for line in source.splitlines():
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        depth = len(line) - len(line.lstrip())
        if block is None or depth <= block:
            block = depth if BLOCK.fullmatch(text) else None
            yield line, block is None
        else:
            yield line, False


def test_rules_are_rules_and_what_is_computed_for_them_is_a_module() -> None:
    lines = [is_python for path in SOURCES for _, is_python in lines_of(path.read_text())]
    assert sum(lines) / len(lines) < 0.12


def test_rules_ask_snakemake_for_what_is_public() -> None:
    hidden = re.compile(
        r"modifier|register_resource|dag_settings|workflow\._"
        r"|WORLDPROBE_(FORCED|MISSING|UNFETCHED|REST|WITHOUT)"
    )
    modules = sorted(ROOT.glob("workflow/src/**/*.py"))
    assert len(modules) > 200
    assert [path.name for path in [*SOURCES, *modules] if hidden.search(path.read_text())] == []


def names_used(path: Path) -> set[str]:
    """Names that a file of rules uses: none of attributes, keywords and texts."""
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
        if token.type in (tokenize.NAME, tokenize.OP, tokenize.NEWLINE)
    ]
    return {
        token.string
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if token.type == tokenize.NAME
        and before.string != "."
        and after.string not in ("=", ":")
        and not keyword.iskeyword(token.string)
        and before.string not in ("rule", "as", "import", "from", "use", "with")
        and not token.line.lstrip().startswith(("from ", "use rule", "rule "))
    }


@pytest.mark.parametrize(
    "package", sorted({path.parents[1].name for path in ROOT.glob("workflow/src/*/rules/*.smk")})
)
def test_rules_of_an_extension_import_what_they_use(package: str) -> None:
    files = sorted((ROOT / "workflow" / "src" / package / "rules").glob("*.smk"))
    stated: set[str] = set()
    for path in files:
        text = path.read_text()
        for line in re.findall(r"^from \S+ import (.+)$", text, re.MULTILINE):
            stated |= {part.split(" as ")[-1].strip(" ()") for part in line.split(",")}
        for line in re.findall(r"^([\w, ]+) = ", text, re.MULTILINE):
            stated |= set(line.split(", "))
        stated |= set(re.findall(r"\bfor (\w+) in\b", text))
    used = {name for path in files for name in names_used(path)}
    assert used - stated - GIVEN == set()


def test_rules_were_found(rules: dict[str, Any]) -> None:
    assert len(rules) > 30


@pytest.mark.parametrize(
    "path", sorted((ROOT / "workflow" / "rules").glob("*.smk")), ids=lambda path: path.stem
)
def test_shared_rules_know_no_benchmark(path: Path) -> None:
    assert not re.search("|".join(benchmarks.OWN), path.read_text(), re.IGNORECASE)


def test_rules_have_no_lambda() -> None:
    """What a rule looks up has a name that says what it is."""
    assert len(SOURCES) > 30
    assert [path.name for path in SOURCES if "lambda" in path.read_text()] == []


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
        assert re.search(r" --(out|note)( \{output\.\w+:q\})+ &> \{log:q\}$", rule.shellcmd), name
        assert rule.shellcmd.count("worldprobe ") == 1, name
        assert "--password" not in rule.shellcmd, name


def test_a_rule_is_called_like_its_command(rules: dict[str, Any]) -> None:
    """``fill_items`` is ``items fill``; of ``baselines train-vectors`` the action alone is the
    name. What a study can do without is attempted.
    """
    for name, rule in rules.items():
        command = re.sub(r"^worldprobe attempt .* -- ", "worldprobe ", rule.shellcmd)
        stage, action = [*re.sub(r"\{[^}]*\}", "{}", command).split()[1:3], ""][:2]
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
UNQUOTED = re.compile(
    r"params\.\w+|resources\.(devices|tries_left|kept_since)|wildcards\.(version|baseline)"
)


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
    edited = re.compile("material_files|baseline_files|notebook_file|weights|published")
    for name, rule in rules.items():
        if any(edited.search(function.__name__) for function in functions(rule.input)):
            assert "contents" in rule.params.keys(), name  # noqa: SIM118


def test_on_a_cluster_only_what_needs_the_network_or_is_made_once_runs_beside_snakemake(
    rules: dict[str, Any], workflow: Any
) -> None:
    """What is per model, condition or version is submitted, what is cheap of it in groups; a table
    or figure takes less time than to start a job.
    """
    beside = (
        r"fetch_|.*_server$|record_|build_report|draft_report|explore|write_|compile_control|train_(tok|vec)"
        r"|print_table|draw_figure|run_notebook"
    )
    once = r"|gather_|tabulate_|start_model|import_|(sample|simulate|clean)_human"
    local = workflow._localrules & set(rules)
    assert [name for name in local if not re.match(beside + once, name)] == []
    alone = {name for name, rule in rules.items() if name not in local and not rule._group}
    assert alone == {
        *("score", "score_series", "read_layers", "ask", "ask_external", "train_control"),
        *("finetune", "fit_mixed_model"),
    }
    for name in alone:
        assert {"mem_mb", "runtime"} <= set(rules[name].resources), name
    groups = {rule._group for name, rule in rules.items() if name not in local} - {None}
    profile = yaml.safe_load((ROOT / "slurm" / "config.yaml").read_text())
    assert groups == {one.partition("=")[0] for one in profile["group-components"]}


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
