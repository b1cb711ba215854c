"""A small finished study, and one way to check a command with something malformed: ``check(words,
...)``.

A case is a command line in which ``{items}``, ``{scores_a}``, ... stand for the study's files,
``{folder}`` for the case's own folder and ``{out}`` for a file that already contains something
precious. Whatever is wrong, the command must end with status 2 and one message of three lines, no
traceback, nothing else on disk changed, and no secret in what it printed.
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

#: Every case gives this word wherever a password, key or token may stand; it is never printed.
SECRET = "hunter2secret"
PRECIOUS = b"precious: what an earlier run wrote"
#: About a tenth of the items, of several domains.
FEWER = "--versions 0 --filter object2"
MATERIALS = Path(__file__).resolve().parents[2] / "resources" / "materials" / "ewok-builtin"


def run(line: str) -> int:
    """Exit status of a command line, in this process."""
    return main(shlex.split(line))


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Name -> file of a study of our own materials, answered by two invented models."""
    folder = tmp_path_factory.mktemp("study")
    names = (
        *(
            "items",
            "templates",
            "scores_a",
            "scores_b",
            "choice",
            "likert",
            "similarities",
            "ratings",
        ),
        *("judgements_a", "judgements_b", "judgements_w", "judgements_choice", "judgements_likert"),
        *(
            "surface",
            "summaries",
            "correlations",
            "points",
            "comparisons",
            "coefficients",
            "agreements",
        ),
    )
    files = {name: folder / f"{name}.parquet" for name in names}
    files["materials"] = MATERIALS
    place = {name: shlex.quote(str(path)) for name, path in files.items()}

    def make(line: str) -> None:
        assert run(line.format(**place)) == 0, line

    make(f"items build {{materials}} {FEWER} --templates-out {{templates}} --out {{items}}")
    items = read_table(files["items"], contracts.Items)
    random = np.random.default_rng(0)
    made = Provenance(
        method=1, inputs={"items": hashlib.sha256(files["items"].read_bytes()).hexdigest()}
    )

    def grid(contexts: tuple[int, ...]) -> pd.DataFrame:
        keys = pd.MultiIndex.from_product(
            [items["item_id"], [1, 2], contexts], names=["item_id", "target", "context"]
        )
        return keys.to_frame(index=False)

    for name in ("a", "b"):
        scores = grid((0, 1, 2))
        scores = scores.assign(logprob=-random.uniform(1, 30, len(scores)), n_tokens=5, flags="")
        made.model = f"model_{name}"
        write_table(scores, contracts.TargetScores, files[f"scores_{name}"], made)
    made.model = "model_a"
    for name, presentations, answers in (
        ("choice", ["t1", "t2"], [1, 2]),
        ("likert", ["t1c1", "t1c2", "t2c1", "t2c2"], range(1, 6)),
    ):
        asked = pd.MultiIndex.from_product(
            [items["item_id"], presentations], names=["item_id", "presentation"]
        ).to_frame(index=False)
        value = random.choice(list(answers), len(asked)).astype(float)
        texts = {
            "text": [f"{number:g}" for number in value],
            "prompt_digest": "0" * 64,
            "status": "ok",
        }
        asked = asked.assign(eval_type=f"{name}_constrained_two", value=value, **texts)
        write_table(asked, contracts.Responses, files[name], made)
    made.model = None
    near = grid((1, 2))
    write_table(
        near.assign(similarity=random.uniform(-1, 1, len(near))),
        contracts.Similarities,
        files["similarities"],
        made,
    )
    _write_ratings(near.assign(rating=random.uniform(1, 5, len(near))), files["ratings"], made)
    for evidence, judged in (
        ("scores_a", "a"),
        ("scores_b", "b"),
        ("similarities", "w"),
        ("choice", "choice"),
        ("likert", "likert"),
    ):
        make(f"judge {{items}} {{{evidence}}} --out {{judgements_{judged}}}")
    make("baselines measure-surface {items} --out {surface}")
    make(
        "summarize {judgements_a} {judgements_b} {judgements_choice} {judgements_likert} --out"
        " {summaries}"
    )
    make(
        "correlate {judgements_a} {judgements_b} {judgements_w} --surface {surface} --points-out"
        " {points} --out {correlations}"
    )
    make("compare {judgements_a} {judgements_b} --out {comparisons}")
    make("agree {judgements_choice} {judgements_likert} --out {agreements}")
    make("fit fixed-effects {judgements_a} {judgements_b} --surface {surface} --out {coefficients}")
    return files


def _write_ratings(frame: pd.DataFrame, path: Path, made: Provenance) -> None:
    """Ratings with whatever columns their contract has besides the mean."""
    for name, column in contracts.Ratings.columns.items():
        if name not in frame:
            frame = frame.assign(**{name: 1 if column.kind == "int" else 0.0})
    write_table(frame, contracts.Ratings, path, made)


def snapshot(folder: Path) -> dict[str, bytes | str]:
    """Name -> bytes of all files in a folder."""
    return {
        path.relative_to(folder).as_posix(): (
            path.read_bytes() if path.is_file() else "folder or device"
        )
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def check(
    study: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., str]:
    """A function that runs one case and returns what the command printed.

    Args of the function:
        line: the command.
        words: what the message must contain.
        status: 2, or 0 where the input is right after all.
        **files: names for ``line`` besides the study's; they go before the study's own.
    """

    def check_case(line: str, words: str = "", status: int = 2, **files: object) -> str:
        out = tmp_path / "out.parquet"
        out.write_bytes(PRECIOUS)
        monkeypatch.setenv("WORLDPROBE_MATERIALS_PASSWORD", SECRET)
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        named = study | {"folder": tmp_path, "out": out, "secret": SECRET} | files
        before = snapshot(tmp_path)
        capsys.readouterr()
        found = run(line.format(**{name: shlex.quote(str(value)) for name, value in named.items()}))
        printed = capsys.readouterr()
        shown = printed.out + printed.err
        assert found == status, shown
        assert SECRET not in shown
        assert "Traceback" not in shown
        if status == 2:
            errors = [
                text for text in printed.err.splitlines() if not text[:2].isdigit()
            ]  # without the log's lines
            assert [text.split(":")[0].strip() for text in errors[-3:]] == [
                "error",
                "problem",
                "fix",
            ], shown
            assert words.lower() in shown.lower(), shown
            assert snapshot(tmp_path) == before, "a refusal changes nothing"
        assert not list(tmp_path.glob(".*.part*"))
        return shown

    return check_case
