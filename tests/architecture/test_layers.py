"""The package's shape: layers, light imports."""

import json
import subprocess
import sys
from pathlib import Path

HEAVY = {
    "torch",
    "transformers",
    "pandas",
    "scipy",
    "statsmodels",
    "matplotlib",
    "gensim",
    "rpy2",
    "huggingface_hub",
}


def test_data_flows_one_way_through_the_layers(repository: Path) -> None:
    command = [
        str(Path(sys.executable).with_name("lint-imports")),
        "--config",
        "pyproject.toml",
        "--no-cache",
    ]
    environment = {
        "PYTHONPATH": str(repository / "workflow" / "src"),
        "PATH": str(Path(sys.executable).parent),
    }
    found = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def test_building_the_whole_parser_and_planning_import_nothing_heavy(repository: Path) -> None:
    # options of these three are those of all benchmarks, which are asked when one is called
    code = (
        "import json, sys; from worldprobe import cli;"
        " own = [one for one in cli.STAGES if one not in ('evaluate', 'table', 'figure')];"
        " cli.print_stages(); list(cli.parsing.commands(cli.build_app(own)));"
        " import worldprobe.operations.resources,"
        " worldprobe.models.registry,"
        " worldprobe.models.engine;print(json.dumps(sorted(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=repository / "workflow" / "src",
        capture_output=True,
        text=True,
        check=True,
    )
    assert not HEAVY & set(json.loads(found.stdout.splitlines()[-1]))


def test_only_three_modules_name_the_packages_that_are_hard_to_install(repository: Path) -> None:
    package = repository / "workflow" / "src" / "worldprobe"
    homes = {
        "rpy2": {"benchmarks/ewok/analysis/regression.py"},
        "gensim": {"benchmarks/ewok/word2vec.py"},
    }
    for name, allowed in homes.items():
        lines = [
            (path, line) for path in package.rglob("*.py") for line in path.read_text().splitlines()
        ]
        found = {
            path.relative_to(package).as_posix()
            for path, line in lines
            if line.strip().startswith((f"import {name}", f"from {name}"))
        }
        assert found <= allowed, name
