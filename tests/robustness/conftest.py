"""A small finished study, and one way to check a command with something malformed: ``check(line,
words, ...)``.

In a command line ``{items}``, ``{scores_a}``, ... stand for the study's files, ``{folder}`` for the
test's own folder and ``{out}`` for a file that already contains something precious.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from worldprobe.benchmarks.ewok import contracts
from worldprobe.cli import main
from worldprobe.contracts import read_table, write_table
from worldprobe.provenance import Provenance

#: Every test gives this word wherever a password, key or token may stand; it is never printed.
SECRET = "hunter2secret"
PRECIOUS = b"precious: what an earlier run wrote"
MATERIALS = Path(__file__).resolve().parents[2] / "resources" / "materials" / "ewok-builtin"
LIKERT = ("t1c1", "t1c2", "t2c1", "t2c2")


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Name -> file of a study of a tenth of our own materials, answered by invented models."""
    folder = tmp_path_factory.mktemp("study")
    names = (
        *("items", "templates", "scores_a", "scores_b", "choice", "likert", "similarities"),
        *("judgements_a", "judgements_b", "judgements_w", "judgements_choice", "judgements_likert"),
        *("surface", "summaries", "agreements"),
    )
    files = {name: folder / f"{name}.parquet" for name in names} | {"materials": MATERIALS}

    def make(line: str) -> None:
        assert main(shlex.split(line.format(**files))) == 0, line

    few = "--versions 0 --filter object2"
    make(f"items build {{materials}} {few} --templates-out {{templates}} --out {{items}}")
    items = read_table(files["items"], contracts.Items)["item_id"]
    digest = hashlib.sha256(files["items"].read_bytes()).hexdigest()
    random = np.random.default_rng(0)

    def rows(**columns: object) -> pd.DataFrame:
        keys = pd.MultiIndex.from_product([items, *columns.values()], names=["item_id", *columns])
        return keys.to_frame(index=False)

    def write(name: str, frame: pd.DataFrame, contract: type, model: str | None = None) -> None:
        made = Provenance(method=1, inputs={"items": digest}, model=model)
        write_table(frame, contract, files[name], made)

    for name in ("a", "b"):
        scores = rows(target=[1, 2], context=[0, 1, 2])
        scores = scores.assign(logprob=-random.uniform(1, 30, len(scores)), n_tokens=5, flags="")
        write(f"scores_{name}", scores, contracts.TargetScores, f"model_{name}")
    asked = {"choice": (("t1", "t2"), (1, 2)), "likert": (LIKERT, range(1, 6))}
    for name, (presentations, answers) in asked.items():
        said = rows(presentation=presentations)
        said = said.assign(
            eval_type=f"{name}_constrained_two",
            value=random.choice(list(answers), len(said)).astype(float),
            text="",
            prompt_digest="0" * 64,
            status="ok",
        )
        write(name, said, contracts.Responses, "model_a")
    near = rows(target=[1, 2], context=[1, 2])
    near = near.assign(similarity=random.uniform(-1, 1, len(near)))
    write("similarities", near, contracts.Similarities)
    evidence = {
        "scores_a": "a",
        "scores_b": "b",
        "similarities": "w",
        "choice": "choice",
        "likert": "likert",
    }
    for table, judged in evidence.items():
        make(f"judge {{items}} {{{table}}} --out {{judgements_{judged}}}")
    make("baselines measure-surface {items} --out {surface}")
    make("summarize {judgements_a} {judgements_b} {judgements_choice} --out {summaries}")
    make("agree {judgements_choice} {judgements_likert} --out {agreements}")
    return files


@pytest.fixture
def check(
    study: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., str]:
    """A function that runs one command and returns what it printed.

    Whatever is wrong, the command must end with status 2 and one message of three lines, nothing on
    disk changed, and no secret in what it printed. With ``status=0`` it must work. Names of
    ``**files`` go before the study's own.
    """

    def check_command(line: str, words: str = "", status: int = 2, **files: object) -> str:
        out = tmp_path / "out.parquet"
        out.write_bytes(PRECIOUS)
        monkeypatch.setenv("WORLDPROBE_MATERIALS_PASSWORD", SECRET)
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        named = study | {"folder": tmp_path, "out": out, "secret": SECRET} | files
        before = snapshot(tmp_path)
        capsys.readouterr()
        places = {name: shlex.quote(str(value)) for name, value in named.items()}
        found = main(shlex.split(line.format(**places)))
        printed = capsys.readouterr()
        shown = printed.out + printed.err
        assert found == status, shown
        assert SECRET not in shown
        assert "Traceback" not in shown
        if status == 2:
            without_log = [text for text in printed.err.splitlines() if not text[:2].isdigit()]
            heads = [text.split(":")[0].strip() for text in without_log[-3:]]
            assert heads == ["error", "problem", "fix"], shown
            assert words.lower() in shown.lower(), shown
            assert snapshot(tmp_path) == before, "a refusal changes nothing"
        return shown

    return check_command


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Name -> bytes of all files in a folder, None for folders."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
