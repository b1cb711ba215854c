"""The workflow as others find and use it: the catalog's rules, test data, modules of a hosted
repository, container recipes.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

from worldprobe import __version__


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


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ('config: config | {"results": "probe/results"}', "probe/results/default/report.html"),
        ('config: config\n    prefix: "probe"', 'give config: config | {"results"'),
    ],
)
@pytest.mark.long
def test_a_workflow_that_uses_this_one_names_its_results_and_a_prefix_is_refused(
    repository: Path, tmp_path: Path, how: str, words: str
) -> None:
    """A prefix would move the files of rules and not those that their commands read."""
    for name in ("config", "resources", "notebooks"):
        (tmp_path / name).symlink_to(repository / name)
    (tmp_path / "Snakefile").write_text(
        'configfile: "config/config.yaml"\nmodule probe:\n'
        f"    snakefile: '{repository}/workflow/Snakefile'\n    {how}\n"
        "use rule * from probe as probe_*\n"
    )
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--printshellcmds", "probe_all"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    printed = done.stdout + done.stderr
    assert words in printed
    elsewhere = re.search(r"--(out|answers)\S* results/", printed)
    assert not elsewhere, "what commands write is moved, too"


def test_one_version_is_stated_everywhere(repository: Path) -> None:
    stated = {
        "CITATION.cff": str(yaml.safe_load((repository / "CITATION.cff").read_text())["version"]),
        "CHANGELOG.md": re.search(
            r"^## (\d\S+)", (repository / "CHANGELOG.md").read_text(), re.MULTILINE
        )[1],
        "common.smk": re.search(
            r'^VERSION = "(.+)"',
            (repository / "workflow/rules/common.smk").read_text(),
            re.MULTILINE,
        )[1],
    }
    assert stated == dict.fromkeys(stated, __version__)
    if (repository / ".git").exists() and shutil.which("git"):
        tags = subprocess.run(
            ["git", "tag", "--list", "v*"], cwd=repository, capture_output=True, text=True
        ).stdout.split()
        assert all(Version(tag) <= Version(__version__) for tag in tags)
