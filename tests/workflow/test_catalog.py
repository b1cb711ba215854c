"""The workflow as others find and use it: the catalog's rules, test data, modules of a hosted
repository, container recipes.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

from worldprobe import __version__

OWNER = "example/worldprobe"


def files_of(repository: Path) -> list[str]:
    """The repository's files, by name."""
    if not (repository / ".git").exists() or not shutil.which("git"):
        pytest.skip("not a clone: which files belong to the repository is not known")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(
        command, cwd=repository, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [name for name in found if (repository / name).is_file()]


@pytest.fixture(scope="module")
def clone(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the working tree, committed, with the tag of its version."""
    folder = tmp_path_factory.mktemp("hosted") / OWNER
    for name in files_of(repository):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(repository / name, folder / name)
    git = [
        "git",
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.org",
        "-c",
        "init.defaultBranch=main",
    ]
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["commit", "-q", "-m", "all"],
        ["tag", f"v{__version__}"],
    ):
        subprocess.run([*git, *words], cwd=folder, check=True, capture_output=True)
    return folder


def planned(run: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Rule -> number of jobs."""
    assert run.returncode == 0, run.stdout + run.stderr
    table = re.search(
        r"^job +count\n[- ]+\n(.*?)^total", run.stdout + run.stderr, re.MULTILINE | re.DOTALL
    )
    return (
        {name: int(count) for name, count in re.findall(r"^(\S+) +(\d+)$", table[1], re.MULTILINE)}
        if table
        else {}
    )


def test_the_repository_meets_the_catalogs_rules(repository: Path) -> None:
    """What the catalog asks of a workflow with standardised usage; lint and format are checked
    elsewhere.
    """
    readme = (repository / "README.md").read_text().lower()
    assert "snakemake" in readme
    assert "workflow" in readme
    for name in ("workflow/Snakefile", "config/README.md", "LICENSE", ".test/config/config.yaml"):
        assert (repository / name).is_file(), name
    assert list((repository / "workflow" / "rules").rglob("*.smk"))
    usage = yaml.safe_load((repository / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert set(usage["mandatory-flags"]) == {"desc", "flags"}
    assert set(usage["software-stack-deployment"]) == {"conda", "apptainer", "apptainer+conda"}
    assert usage["software-stack-deployment"]["conda"] is bool(
        list((repository / "envs").glob("*.yaml"))
    )


def test_one_version_is_stated_everywhere(repository: Path) -> None:
    stated = {
        "CITATION.cff": str(yaml.safe_load((repository / "CITATION.cff").read_text())["version"]),
        "CHANGELOG.md": re.search(
            r"^## (\d\S+)", (repository / "CHANGELOG.md").read_text(), re.MULTILINE
        )[1],
        "setup.smk": re.search(
            r'^VERSION = "(.+)"',
            (repository / "workflow/rules/setup.smk").read_text(),
            re.MULTILINE,
        )[1],
    }
    assert stated == dict.fromkeys(stated, __version__)
    if (repository / ".git").exists() and shutil.which("git"):
        tags = subprocess.run(
            ["git", "tag", "--list", "v*"], cwd=repository, capture_output=True, text=True
        ).stdout.split()
        assert all(Version(tag) <= Version(__version__) for tag in tags)


def test_the_test_folder_plans_the_reduced_study_by_itself(
    clone: Path, plan: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    found = planned(plan(["snakemake", "--cores", "2", "--dry-run", "--directory", ".test"], clone))
    assert found["score"] == found["train_control"] == 3
    assert found["build_report"] == 1


HOST = """
configfile: "config.yaml"


module probe:
    snakefile: github("{owner}", path="workflow/Snakefile", tag="v{version}")
    config: config
    prefix: "probe"


use rule * from probe as probe_*
"""


@pytest.fixture
def host(
    clone: Path, repository: Path, environment: dict[str, str], tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess]:
    """Plan a workflow that takes ours from GitHub, where Git finds the clone instead; a folder of
    packages may come first.
    """
    shutil.copy(repository / ".test" / "config" / "config.yaml", tmp_path / "config.yaml")
    (tmp_path / "Snakefile").write_text(HOST.format(owner=OWNER, version=__version__))
    settings = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{clone.parents[1]}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }

    def plan(packages: Path) -> subprocess.CompletedProcess[str]:
        now = environment | settings | {"PYTHONPATH": str(packages)}
        command = [
            sys.executable,
            "-m",
            "snakemake",
            "--cores",
            "2",
            "--dry-run",
            "--printshellcmds",
            "probe_all",
        ]
        return subprocess.run(command, cwd=tmp_path, env=now, capture_output=True, text=True)

    return plan


def test_a_module_from_github_works_where_the_package_is_installed(host, repository: Path) -> None:  # type: ignore[no-untyped-def]
    run = host(repository / "workflow" / "src")
    found = planned(run)
    assert found["probe_score"] == found["probe_train_control"] == 3
    assert "--out probe/results/reduced/ewok/templates.parquet" in run.stdout + run.stderr


@pytest.mark.parametrize(
    ("package", "problem"),
    [
        (
            "raise ModuleNotFoundError('worldprobe')",
            "the package is not installed in the Python that runs Snakemake",
        ),
        (
            "__version__ = '0.0.9'",
            f"these rules are of release {__version__}, the installed package is 0.0.9",
        ),
    ],
    ids=["absent", "another"],
)
def test_a_module_from_github_without_its_package_says_how_to_get_it(
    host, package: str, problem: str, tmp_path: Path
) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path / "packages" / "worldprobe"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(package + "\n")
    (folder / "paths.py").write_text("from pathlib import Path\nREPOSITORY = Path('/nowhere')\n")
    run = host(folder.parent)
    assert run.returncode != 0
    said = run.stdout + run.stderr
    assert problem in said
    assert f"worldprobe[workflow]=={__version__}" in said
    assert "Traceback" not in said


def test_a_host_workflows_own_rules_see_their_environment_as_it_was(
    repository: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """One more command at the front of the path is all that a module adds."""
    (tmp_path / "Snakefile").write_text(
        'configfile: "config.yaml"\nmodule probe:\n    snakefile:'
        f' "{repository}/workflow/Snakefile"\n    config: config\n    prefix: "probe"\nuse rule *'
        " from probe as probe_*\nrule look:\n    output: 'seen.txt'\n    default_target: True\n "
        '   shell: \'echo "$PYTHONPATH" > {output}; command -v python >> {output}; echo'
        ' "$PATH" >> {output}\'\n'
    )
    shutil.copy(repository / ".test" / "config" / "config.yaml", tmp_path / "config.yaml")
    own = environment | {
        "PYTHONPATH": "/host/packages",
        "PATH": f"{tmp_path}{os.pathsep}{environment['PATH']}",
    }
    (tmp_path / "python").write_text("#!/bin/sh\n")
    (tmp_path / "python").chmod(0o755)
    run = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1"],
        cwd=tmp_path,
        env=own,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    packages, python, path = (tmp_path / "seen.txt").read_text().splitlines()
    assert packages == "/host/packages"
    assert python == str(tmp_path / "python")
    bin_folder = repository / "workflow" / "bin"
    assert path.removeprefix(f"{bin_folder}{os.pathsep}").endswith(own["PATH"])
    assert [entry.name for entry in bin_folder.iterdir()] == ["worldprobe"]


#: Answers what Snakemake asks of conda before it writes a recipe.
CONDA = """#!/bin/sh
case "$*" in
    *info*) echo '{"conda_version": "24.7.1", "conda_prefix": "/conda", "platform": "linux-64", "channels": [], "envs": []}' ;;
    *channel_priority*) echo '{"get": {"channel_priority": "strict"}}' ;;
    *--version*) echo "conda 24.7.1" ;;
    *) echo '{}' ;;
esac
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dockerfile", "apptainer"])
def test_a_recipe_of_a_container_has_every_environment_of_the_study(
    clone: Path, environment: dict[str, str], kind: str, tmp_path: Path
) -> None:
    (tmp_path / "conda").write_text(CONDA)
    (tmp_path / "conda").chmod(0o755)
    own = environment | {"PATH": f"{tmp_path}{os.pathsep}{environment['PATH']}"}
    command = [sys.executable, "-m", "snakemake", "--containerize", kind]
    run = subprocess.run(command, cwd=clone, env=own, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert re.search(r"^(FROM|From:) ", run.stdout, re.MULTILINE)
    for name in ("analysis", "scoring", "stats"):
        assert f"envs/{name}.yaml" in run.stdout, name
