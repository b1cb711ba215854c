"""Every command that the documents show is run here as it stands there, or is excused by name with
the reason.
"""

import glob
import json
import re
import shlex
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from command_line import run
from worldprobe.cli import build_app, main, parse
from worldprobe.cli.parsing import commands
from worldprobe.errors import UserError
from worldprobe_lab import babylm

ROOT = Path(__file__).resolve().parents[2]
LISTED = yaml.safe_load(
    Path(__file__).with_name("documented_commands.yaml").read_text(encoding="utf-8")
)
RUN = {name: steps for name, steps in LISTED.items() if name != "excused"}
DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    "config/README.md",
    "results/README.md",
    "resources/materials/README.md",
    "resources/materials/ewok-builtin-4/README.md",
]
#: What a line of a block begins with, if it is a command.
PROGRAMS = (
    "worldprobe|snakemake|make|pip|python3?|pytest|sudo|jupyter|lm-eval|inspect|envs/install|"
    r"RPY2_CFFI_MODE=ABI pip|\$EDITOR"
)
TEMPLATE = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt"
    " %}assistant: {% endif %}"
)


def blocks(language: str) -> dict[str, str]:
    """Document -> its fenced blocks of a language, one after the other."""
    names = [
        *DOCUMENTS,
        *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))),
    ]
    found = {
        name: re.findall(
            r"^ *```(\w*)\n(.*?)^ *```$", (ROOT / name).read_text(encoding="utf-8"), re.M | re.S
        )
        for name in names
    }
    return {
        name: "".join(text for written_in, text in parts if written_in == language)
        for name, parts in found.items()
    }


def shown() -> set[str]:
    """All commands that the documents show, without the comments behind them."""
    lines = [line.strip() for text in blocks("").values() for line in text.splitlines()]
    return {re.sub(r"\s+#.*", "", line) for line in lines if re.match(rf"({PROGRAMS})\b", line)}


def inline(program: str) -> list[str]:
    """Commands of a program in running text, in backticks; the documents' own blocks are looked at
    above.
    """
    names = [ROOT / name for name in DOCUMENTS] + sorted((ROOT / "docs").rglob("*.md"))
    texts = (
        re.sub(r"^ *```.*?^ *```$", "", name.read_text(encoding="utf-8"), flags=re.M | re.S)
        for name in names
    )
    return sorted({found for text in texts for found in re.findall(rf"`({program} [^`]+)`", text)})


@pytest.mark.parametrize("command", inline("worldprobe"))
def test_a_command_in_running_text_is_one(command: str) -> None:
    words = shlex.split(command.replace("...", ""))[1:]
    try:
        assert parse(words) is not None
        return
    except UserError as error:
        problem = error.problem
    # A command's name alone, or with an option that is explained, has no inputs.
    assert re.search("is missing|needs a subcommand", problem), problem
    known = [name for name, _ in commands(build_app(words[:1]))]
    called = next((name for name in known if words[: len(name.split())] == name.split()), words[0])
    for before, word in pairwise(words[len(called.split()) - 1 :]):
        assert word.isupper() or word.startswith("--") or before.startswith("--"), problem


@pytest.mark.parametrize("command", inline("snakemake"))
def test_a_call_of_snakemake_in_running_text_names_what_there_is(command: str) -> None:
    from snakemake.cli import get_argument_parser

    given = get_argument_parser().parse_args(shlex.split(command)[1:])
    files = [ROOT / "workflow" / "Snakefile", *(ROOT / "workflow").rglob("*.smk")]
    rules = "".join(path.read_text(encoding="utf-8") for path in files)
    assert all(name.endswith(".yaml") for name in map(str, given.configfile or ())), (
        "an option must not take the targets"
    )
    assert all(
        re.search(rf"^rule {name}:", rules, re.M) for name in given.targets if "/" not in name
    )


def test_every_command_is_run_or_excused_and_no_other_is_listed() -> None:
    run = [step["command"] for steps in RUN.values() for step in steps if "command" in step]
    excused = [command for commands in LISTED["excused"].values() for command in commands]
    assert len(run) > 40
    assert sorted(run + excused) == sorted(shown())


@pytest.fixture
def place(
    tmp_path: Path, tiny_checkpoint: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder with what the documents take for granted; of the BabyLM challenge's nineteen
    checkpoints three.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(babylm.TRACKS, "strict-small", [1, 10, 100])
    shutil.copytree(tiny_checkpoint(), "my_model")
    Path("my_model", "chat_template.jinja").write_text(TEMPLATE)
    for training in ("my_babylm", "other_seed"):
        Path("trainings", training).mkdir(parents=True)
        for revision in (
            "main",
            *(babylm.CHECKPOINT.format(n=n) for n in babylm.TRACKS["strict-small"]),
        ):
            Path("trainings", training, revision).symlink_to(Path("my_model").resolve())
    write_babylm_data(Path("evaluation_data"))
    assert run("materials new-domain own office-work") == 0
    Path("config").symlink_to(ROOT / "config")
    Path("my.yaml").write_text("study: mine\nmodels: [control_untrained]\n")
    Path("my_skins").mkdir()
    skin = (ROOT / "resources" / "skins" / "tall_short.yaml").read_text(encoding="utf-8")
    Path("my_skins", "mine.yaml").write_text(
        skin.replace("tall/short", "my/skin"), encoding="utf-8"
    )
    return tmp_path


def write_babylm_data(folder: Path) -> None:
    """As many rows as the BabyLM challenge counts, of a few texts."""
    for name, counts in babylm.ROWS.items():
        (folder / babylm.PLACES[name] / name).mkdir(parents=True)
        for domain, count in counts.items():
            texts = {
                "Context1": "Ana lifts it.",
                "Context2": "Ana drops it.",
                "Target1": "It is up.",
                "Target2": "It is down.",
            }
            facts = {
                "Domain": domain,
                "ConceptB": "down",
                "ContextType": "direct",
                "TargetDiff": "concept swap",
            }
            rows = [json.dumps(facts | texts | {"ConceptA": f"up {number}"}) for number in range(2)]
            lines = "\n".join(rows * (count // 2)) + "\n"
            (folder / babylm.PLACES[name] / name / f"{domain}.jsonl").write_text(lines)


@pytest.mark.parametrize("name", RUN)
@pytest.mark.long
def test_commands_run_one_after_the_other(name: str, place: Path) -> None:
    for step in RUN[name]:
        words = words_of(step)
        assert main(words) == 0, shlex.join(["worldprobe", *words])


def words_of(step: dict[str, Any]) -> list[str]:
    """A step's words as they are run: with what stands in their place, and patterns of files
    written out.
    """
    instead = {"/path/to/folder": "my_model", **step.get("instead", {})}
    given = shlex.split(step.get("command") or step["first"])[1:]
    unused = step.get("instead", {}).keys() - set(given)
    assert not unused, f"{unused} is no word of {given}"
    words = [str(instead.get(word, word)) for word in given] + shlex.split(step.get("add", ""))
    return [
        found for word in words for found in (sorted(glob.glob(word)) if "*" in word else [word])
    ]


def test_the_examples_in_python_run(
    place: Path, tiny_checkpoint: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree("my_model", "model_a")
    shutil.copytree(tiny_checkpoint("llama"), "model_b")
    assert run("items build own --versions 0-2 --out items.parquet") == 0
    shown = blocks("python")
    for name in ("README.md", "docs/library.md"):
        for part in shown[name].split("import worldprobe\n")[1:]:
            code = re.sub("/path/to/folder|smollm2_135m", "my_model", part)
            code = code.partition("import pandas")[0]
            exec(compile(f"import worldprobe\n{code}", name, "exec"), {})
    printed = capsys.readouterr().out
    assert "logprob" in printed
    assert "office-work" in printed
    assert "model_a" in printed
