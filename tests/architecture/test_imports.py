"""Whatever the code imports is pinned."""

import ast
import importlib.metadata
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROVIDERS = importlib.metadata.packages_distributions()
#: Engines that a user installs by themselves, and that are imported only when asked for.
OPTIONAL = {"vllm", "openai", "rpy2", "selenium", "rocrate", "vaderSentiment"}
OPTIONAL |= {"minicons", "lm_eval", "xllamacpp", "inspect_ai"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported(folder: Path) -> dict[str, str]:
    """Third-party package -> a file that imports it."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += (
                [node.module]
                if isinstance(node, ast.ImportFrom) and node.module and not node.level
                else []
            )
            found |= {name.partition(".")[0]: str(path.relative_to(ROOT)) for name in names}
    local = {"worldprobe", *(path.stem for path in folder.rglob("*.py"))}
    return {
        name: path
        for name, path in found.items()
        if name not in sys.stdlib_module_names | local | {"__future__"}
    }


@pytest.mark.parametrize(
    ("folder", "locks"),
    [
        ("workflow/src", ["requirements.in"]),
        ("tests", ["requirements.in", "requirements-dev.in"]),
    ],
)
@pytest.mark.long
def test_every_package_that_is_imported_is_asked_for_with_a_version(
    folder: str, locks: list[str]
) -> None:
    pinned = {
        normal(name)
        for lock in locks
        for name in re.findall(r"^([\w.-]+)==", (ROOT / "envs" / lock).read_text(), re.MULTILINE)
    }
    for name, path in imported(ROOT / folder).items():
        if name.startswith("worldprobe_"):
            continue
        distributions = {normal(found) for found in PROVIDERS.get(name, [name])}
        assert distributions & pinned or name in OPTIONAL, (
            f"{path} imports {name}, which envs/ does not pin"
        )


@pytest.mark.parametrize("folder", ["workflow/src"])
def test_every_package_whose_version_is_written_into_results_is_asked_for(folder: str) -> None:
    pinned = {
        normal(name)
        for name in re.findall(
            r"^([\w.-]+)==", (ROOT / "envs" / "requirements.in").read_text(), re.MULTILINE
        )
    }
    for path in sorted((ROOT / folder).rglob("*.py")):
        for names in re.findall(r"versions\(\[([^\]]*)\]\)", path.read_text()):
            for name in re.findall(r'"([\w.-]+)"', names):
                assert normal(name) in pinned | {"rpy2"}, (
                    f"{path.name} states the version of {name}"
                )
