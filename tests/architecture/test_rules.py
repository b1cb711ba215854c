"""Every rule has the same shape."""

import argparse
import ast
import inspect
import re
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from worldprobe import benchmarks
from worldprobe.cli import STAGES
from worldprobe.models.registry import loading_options
from worldprobe.paths import PACKAGE

ROOT = Path(__file__).resolve().parents[2]
#: rule name -> its text
RULES = {
    name: body
    for path in sorted((ROOT / "workflow" / "rules").rglob("*.smk"))
    for name, body in re.findall(r"^rule (\w+):\n((?:(?:    .*)?\n)+)", path.read_text(), re.MULTILINE)
}
#: Rules that run next to Snakemake, on a cluster too.
LOCAL = {
    name
    for path in sorted((ROOT / "workflow" / "rules").rglob("*.smk"))
    for block in re.findall(r"^localrules:\n((?:    \w+,\n)+)", path.read_text(), re.MULTILINE)
    for name in re.findall(r"\w+", block)
}
#: Rules that only gather files under a name.
TARGETS = {"tables", "figures", "report", "paper", "materials", "human_study"}
COMMANDS = sorted(set(RULES) - TARGETS)


def directives(body: str) -> dict[str, str]:
    """Directive -> its block."""
    return dict(re.findall(r"^    (\w+):((?:.*\n(?:        .*\n|\n)*))", body, re.MULTILINE))


def test_rules_were_found() -> None:
    assert len(COMMANDS) > 15


@pytest.mark.parametrize("path", sorted((ROOT / "workflow" / "rules").glob("*.smk")), ids=lambda path: path.stem)
def test_shared_rules_know_no_benchmark(path: Path) -> None:
    assert not re.search("ewok|worldsense", path.read_text(), re.IGNORECASE)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_says_in_a_docstring_what_it_makes(name: str) -> None:
    assert re.match(r'    """\S.+\.?"""\n', RULES[name])


@pytest.mark.parametrize("name", COMMANDS)
def test_a_rule_has_log_benchmark_message_and_environment_with_its_wildcards(name: str) -> None:
    found = directives(RULES[name])
    assert {"output", "log", "benchmark", "conda", "message", "shell"} <= set(found)
    assert not {"run", "script"} & set(found)
    braces = r"\{\{(\w+)\}\}" if "expand(" in found["output"] else r"\{(\w+)\}"
    wildcards = {"model"} if name == "score" else set(re.findall(braces, re.sub(r"f\".*", "", found["output"])))
    for kind, folder in (("log", "<logs>/"), ("benchmark", "<benchmarks>/")):
        assert f'"{folder}{name}' in found[kind]
        assert set(re.findall(r"\{(\w+)\}", found[kind])) == wildcards, kind
    for environment in re.findall(r'"(?:\.\./)+(envs/\S+)"', found["conda"]):
        assert (ROOT / environment).is_file()


@pytest.mark.parametrize("name", COMMANDS)
def test_inputs_and_outputs_are_named(name: str) -> None:
    found = directives(RULES[name])
    for kind in ("input", "output") if "input" in found else ("output",):
        lines = [line for line in found[kind].splitlines() if re.match(r" {8}\S", line) and line.strip() not in (")", "),")]
        assert lines
        assert all(re.match(r" {8}\w+=", line) for line in lines), f"{name}: {kind}"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_rule_is_one_command_that_ends_in_its_outputs_and_its_log(name: str) -> None:
    shell = shell_of(name)
    assert shell.startswith("worldprobe ")
    assert re.search(r" --out( \{output\.\w+:q\})+ &> \{log:q\}$", shell)
    assert shell.count("worldprobe ") == 1
    assert "--password" not in shell


def shell_of(name: str) -> str:
    return "".join(ast.literal_eval(line.strip()) for line in directives(RULES[name])["shell"].strip().splitlines())


#: Parameters that are numbers by their schema, or options that a function has quoted already (``flag``).
SAFE = re.compile(r"resources\.(speed|kept_since)|wildcards\.version|params\.(method|code)")


#: Actions that are about all of a kind.
ANY = {"all", "set"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_rule_is_called_like_its_command(name: str) -> None:
    """``fill_items`` is ``items fill`` in the stage ``items``; of ``baselines judge-word2vec`` the action alone is the name."""
    stage, action = [*re.sub(r"\{[^}]*\}", "{}", shell_of(name)).split()[1:3], ""][:2]
    verbs = [word for word in re.split("[-_]", action) if re.fullmatch(r"\w+", word)]
    words = verbs if len(verbs) > 1 or stage in benchmarks.MODULES else [*re.split("[-_]", stage), *verbs]
    of_rule = {word.removesuffix("s") for word in name.split("_")}
    assert {word.removesuffix("s") for word in words} - ANY <= of_rule, f"{name} runs {stage} {action}"
    assert stage in STAGES


@pytest.mark.parametrize("name", COMMANDS)
def test_a_shell_line_quotes_every_value(name: str) -> None:
    found = directives(RULES[name])
    for value in re.findall(r"\{([^}]*)\}", shell_of(name)):
        if value.endswith(":q") or SAFE.fullmatch(value):
            continue
        kind, _, key = value.partition(".")
        assert kind == "params", f"{value} is not quoted"
        given = re.search(rf"^        {key}=(.*),$", found["params"], re.MULTILINE)
        assert given, value
        number = re.match(r'ewok\["controls"\]|training\("(layers|width|heads|steps|batch|learning_rate)"\)', given[1])
        assert number or is_made_of_flags(given[1]), f"{value} is not quoted"


def is_made_of_flags(value: str) -> bool:
    """Whether a parameter is options that ``flag`` has put together, and quoted."""
    if value.startswith("flag("):
        return True
    if value.startswith('display("figure", '):
        value = value.removeprefix('display("figure", ').removesuffix(")")
    text = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").rglob("*.smk"))
    body = re.search(rf"^def {value}\(.*?(?=^\S)", text, re.MULTILINE | re.DOTALL)
    return body is not None and "flag" in body[0]


def test_options_that_change_speed_alone_are_a_resource_and_no_parameter() -> None:
    """A changed parameter reruns a rule, a changed resource does not."""
    text = (ROOT / "workflow" / "rules" / "models.smk").read_text()
    functions = dict(re.findall(r"^def (\w+)(.*?)(?=^(?:def|rule) |\Z)", text, re.MULTILINE | re.DOTALL))
    assert "speed=speed" in directives(RULES["score"])["resources"]
    assert "speed" not in directives(RULES["score"])["params"]
    for option in ("--gpus", "--tensor-parallel", "--concurrency"):
        assert [name for name, body in functions.items() if option in body] == ["speed"]
        assert option not in "".join(RULES.values())
    card = {"checkpoint": "a/b", "engine": "openai", "endpoint": "http://x/v1", "concurrency": 4, "tensor_parallel": 2}
    assert loading_options(card) == ["--engine", "openai", "--endpoint", "http://x/v1"]


#: What trains or asks models, and what makes what they are trained on or asked.
EXPENSIVE = r"score$|ask|train_|finetune$|start_model|compile_|(fill|gather)_items|generate_|write_(corpus|phrases|lessons)"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_rule_reruns_when_code_that_moves_its_numbers_changes(name: str) -> None:
    """Cheap rules have a digest of the whole package; what trains or asks, and what it reads, a number that reaches the file."""
    found = re.findall(r"^        (?:code|method)=(.*),$", directives(RULES[name])["params"], re.MULTILINE)
    is_fetched, is_numbered = name.startswith("fetch_"), re.match(EXPENSIVE, name) is not None
    assert len(found) == (not is_fetched)
    if not is_fetched:
        assert found[0].startswith("methods." if is_numbered else "CODE")
    if is_numbered and name not in ("ask_external", "write_lessons"):  # whose files say nothing of what made them
        module = STAGES[re.split("[ {]", shell_of(name))[1]][0].partition(":")[0]
        commands = [PACKAGE / "cli" / f"{one}.py" for one in (module, "materials", "finetuning")]
        assert any(found[0] in path.read_text() for path in commands)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_rule_reruns_when_a_file_that_people_edit_is_replaced_by_an_older_one(name: str) -> None:
    """Snakemake goes by dates; the content of such files is a parameter. The control models' folder names theirs."""
    found = directives(RULES[name])
    edited = r"material_files|prompt_files|prompting_files|skin_files|notebook_file|weight_inputs|published|ewok\["
    if re.search(edited, found.get("input", "")):
        assert "contents=contents(" in found["params"]


@pytest.mark.parametrize("name", COMMANDS)
def test_only_models_and_r_are_jobs_of_a_cluster_and_these_say_what_they_need(name: str) -> None:
    found = directives(RULES[name])
    if name in LOCAL:
        assert not {"threads", "resources"} & set(found)
    else:
        assert {"mem_mb", "runtime"} <= set(re.findall(r"(\w+)=", found["resources"]))
        assert name in ("score", "ask", "ask_external", "train_control", "finetune", "fit_mixed_model")


#: The functions that are defined in rules' files, with their decorators.
FUNCTIONS = {
    name: text
    for path in sorted((ROOT / "workflow" / "rules").rglob("*.smk"))
    for text, name in re.findall(r"^((?:@\w+\n)*def (\w+)\(.*\n(?:(?:[ )].*)?\n)+)", path.read_text(), re.MULTILINE)
}


def defined(*names: str) -> dict[str, Any]:
    """Functions of rules' files that need nothing but the standard library."""
    namespace: dict[str, Any] = {"inspect": inspect, "wraps": wraps}
    exec("".join(FUNCTIONS[name] for name in names), namespace)
    return namespace


def test_a_look_up_is_made_once_for_each_model_and_states_its_parameters() -> None:
    asked = []

    def look_up(wildcards: argparse.Namespace) -> list[str]:
        asked.append(wildcards.model)
        return [wildcards.model]

    once = defined("asked_often", "once_per_model")["once_per_model"](look_up)
    assert [once(argparse.Namespace(model=model)) for model in "aba"] == [["a"], ["b"], ["a"]]
    assert asked == ["a", "b"]
    assert list(once.__signature__.parameters) == ["wildcards"]


@pytest.mark.parametrize("name", ["score", "ask"])
def test_rules_of_every_model_look_up_nothing_twice(name: str) -> None:
    """With hundreds of models, what Snakemake needs to plan is what its rules look up."""
    found = directives(RULES[name])
    named = re.findall(
        r"(?:=|\n        |contents\()(\w+)[,\n]", "".join(found[key] for key in ("input", "resources", "params", "conda"))
    )
    per_model = [function for function in named if "(wildcards)" in FUNCTIONS.get(function, "")]
    assert len(per_model) >= 5
    assert [function for function in per_model if not FUNCTIONS[function].startswith("@once_per_model\n")] == []


def test_functions_that_look_something_up_state_their_parameters() -> None:
    text = "".join(FUNCTIONS.values())
    assert text.count("    def look_up(") == text.count("    @asked_often\n    def look_up(") > 5


def test_no_rule_hides_work_in_a_lambda() -> None:
    assert not [path.name for path in (ROOT / "workflow" / "rules").rglob("*.smk") if re.search(r"\blambda\b", path.read_text())]


@pytest.mark.parametrize("name", [name for name in COMMANDS if re.match("(table|figure)s?_", name)])
def test_tables_and_figures_stand_in_snakemakes_report(name: str) -> None:
    assert re.search(r"=(\w*report_files|regression_table)\(", directives(RULES[name])["output"])


def test_captions_use_only_the_setting_that_every_study_writes_at_the_top() -> None:
    for path in (ROOT / "workflow" / "report").glob("*.rst"):
        assert set(re.findall(r"snakemake\.config(\S+)", path.read_text())) <= {'["models"]'}, path.name
