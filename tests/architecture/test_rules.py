"""Every rule has the same shape."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: rule name -> its text
RULES = {
    name: body
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk"))
    for name, body in re.findall(r"^rule (\w+):\n((?:(?:    .*)?\n)+)", path.read_text(), re.MULTILINE)
}
#: Rules that only gather files under a name.
TARGETS = {"tables", "figures", "report", "materials"}
COMMANDS = sorted(set(RULES) - TARGETS)


def directives(body: str) -> dict[str, str]:
    """Directive -> its block."""
    return dict(re.findall(r"^    (\w+):((?:.*\n(?:        .*\n|\n)*))", body, re.MULTILINE))


def test_rules_were_found() -> None:
    assert len(COMMANDS) > 15


@pytest.mark.parametrize("name", RULES)
def test_a_rule_says_in_a_docstring_what_it_makes(name: str) -> None:
    assert re.match(r'    """\S.+\.?"""\n', RULES[name])


@pytest.mark.parametrize("name", COMMANDS)
def test_a_rule_has_log_benchmark_message_and_environment_with_its_wildcards(name: str) -> None:
    found = directives(RULES[name])
    assert {"output", "log", "benchmark", "conda", "message", "shell"} <= set(found)
    assert not {"run", "script"} & set(found)
    braces = r"\{\{(\w+)\}\}" if "expand(" in found["output"] else r"\{(\w+)\}"
    wildcards = set(re.findall(braces, found["output"]))
    for kind, folder in (("log", "results/logs/"), ("benchmark", "results/benchmarks/")):
        assert f'"{folder}{name}' in found[kind]
        assert set(re.findall(r"\{(\w+)\}", found[kind])) == wildcards, kind
    for environment in re.findall(r'"\.\./\.\./(envs/\S+)"', found["conda"]):
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
    shell = "".join(ast.literal_eval(line.strip()) for line in directives(RULES[name])["shell"].strip().splitlines())
    assert shell.startswith("python -m worldprobe ")
    assert re.search(r" --out( \{output\.\w+\})+ &> \{log\}$", shell)
    assert shell.count("worldprobe ") == 1
    assert "--password" not in shell


@pytest.mark.parametrize("name", COMMANDS)
def test_a_rule_says_what_it_needs_of_a_machine_and_only_models_and_r_are_jobs_of_a_cluster(name: str) -> None:
    found = directives(RULES[name])
    assert {"threads", "resources"} <= set(found)
    if "localrule" in found:
        assert found["resources"].split() == ["**SMALL,"]
    else:
        assert {"gpu", "mem_mb", "runtime"} <= set(re.findall(r"(\w+)=", found["resources"]))
        assert name in ("score", "train_control", "fit_mixed_model")


def test_no_rule_hides_work_in_a_lambda() -> None:
    assert not [path.name for path in (ROOT / "workflow" / "rules").glob("*.smk") if re.search(r"\blambda\b", path.read_text())]


#: Captions of Snakemake's report: named by a rule's own output, or in the list of figures or tables that one rule makes.
CAPTIONS = {
    caption
    for path in (ROOT / "workflow" / "rules").glob("*.smk")
    for pattern in (r'caption="\.\./report/(\w+)\.rst"', r'(?m)^    "\w+": \("(\w+)", "[^"]+", "[^"]+"\),$')
    for caption in re.findall(pattern, path.read_text())
}


@pytest.mark.parametrize("name", [name for name in COMMANDS if re.match("(table|figure)s?_", name)])
def test_tables_and_figures_stand_in_snakemakes_report(name: str) -> None:
    assert re.search(r"\breport\(|=in_report\(", directives(RULES[name])["output"])


def test_every_caption_is_used_and_computes_its_numbers() -> None:
    folder = ROOT / "workflow" / "report"
    assert {path.stem for path in folder.glob("*.rst")} - {"workflow"} == CAPTIONS
    for caption in sorted(CAPTIONS):
        sources = r"Appendix \w\.\d|(?:Figure|Table) \d(?:, \w to \w)?|word2vec|lme4"
        text = re.sub(r"\{[{%].*?[%}]\}|" + sources, "", (folder / f"{caption}.rst").read_text())
        assert not re.search(r"\d", text), f"{caption} holds a typed number"
