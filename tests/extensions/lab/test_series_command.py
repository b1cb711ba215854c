"""``series``: checkpoints one after the other, kept, continued and left out; and where they are."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pandas as pd
import pytest

from command_line import run
from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table
from worldprobe.errors import UserError
from worldprobe.settings.registry import complete_card
from worldprobe_lab.contracts import CheckpointScores, Curves, Onsets
from worldprobe_lab.series import Revisions, add_trainings
from worldprobe_lab.settings import Series

torch = pytest.importorskip("torch")


@pytest.fixture
def training(tmp_path, tiny_checkpoint):
    for number in (1, 2, 10):
        shutil.copytree(tiny_checkpoint("gpt2"), tmp_path / "training" / f"chck_{number}M")
        (tmp_path / "training" / f"chck_{number}M" / "extra.json").write_text(
            f'{{"number": {number}}}'
        )
    return tmp_path / "training"


def score(items, training, out, *more: str) -> int:
    command = [*f"series score ewok {items} --checkpoint {training} --model mine".split(), *more]
    return main([*command, *f"--folders chck_{{n}}M --factor 1e6 --unit words --out {out}".split()])


def count_loads(monkeypatch) -> list[str]:
    from worldprobe.cli.engines import Model

    loaded: list[str] = []
    real = Model.open
    monkeypatch.setattr(Model, "open", lambda model: loaded.append(model.checkpoint) or real(model))
    return loaded


def test_checkpoints_are_scored_once_and_a_further_one_costs_one(
    item_table, training, tiny_checkpoint, tmp_path, monkeypatch
):
    loaded, out = count_loads(monkeypatch), tmp_path / "scores.parquet"
    assert score(item_table, training, out) == 0
    rows = read_table(out, CheckpointScores)
    assert sorted(rows["step"].unique()) == [1e6, 2e6, 1e7]
    assert "people" not in read_provenance(out).details, "these are not the paper's items"
    assert [one.rpartition("/")[2] for one in loaded] == ["chck_1M", "chck_2M", "chck_10M"]
    first = out.read_bytes()
    assert score(item_table, training, out) == 0
    assert len(loaded) == 3
    assert out.read_bytes() == first
    shutil.copytree(tiny_checkpoint("llama", "sentencepiece"), training / "chck_20M")
    assert score(item_table, training, out) == 0
    assert len(loaded) == 4
    curves, onsets, order = (tmp_path / f"{name}.parquet" for name in ("curves", "onsets", "order"))
    words = (
        f"series curves {out} --onsets-out {onsets} --agreements-out {order} --out {curves}".split()
    )
    assert main(words) == 0
    assert set(read_table(curves, Curves)["unit"]) == {"words"}
    assert (
        len(read_table(onsets, Onsets))
        == read_table(curves, Curves)[["grouping", "group"]].drop_duplicates().shape[0]
    )


def test_a_broken_checkpoint_is_named_and_left_out_and_a_killed_job_goes_on(
    item_table, training, tmp_path, monkeypatch
):
    from worldprobe.cli.engines import Model

    loaded, out = count_loads(monkeypatch), tmp_path / "scores.parquet"
    real = Model.open

    def killed(model):
        if model.checkpoint.endswith("chck_10M"):
            raise KeyboardInterrupt
        return real(model)

    monkeypatch.setattr(Model, "open", killed)
    assert score(item_table, training, out) == 130
    assert not out.exists()
    monkeypatch.setattr(Model, "open", real)
    (training / "chck_2M" / "model.safetensors").write_bytes(b"no weights")
    assert score(item_table, training, out) == 0
    assert [one.rpartition("/")[2] for one in loaded] == [
        "chck_1M",
        "chck_2M",
        "chck_2M",
        "chck_10M",
    ]
    assert list(read_provenance(out).details["left_out"]) == ["2"]
    assert sorted(read_table(out, CheckpointScores)["step"].unique()) == [1e6, 1e7]


class Hub:
    """A hub of one model: commits by revision, folders by commit; its cache is the library's
    own.
    """

    def __init__(self, cache, monkeypatch) -> None:
        self.cache = cache / "models--me--model"
        self.commits: dict[str, str] = {}
        self.folders: dict[str, Path] = {}
        self.fetched: list[str] = []
        self.most = 0
        self.is_reached = True
        local = huggingface_hub.snapshot_download

        def download(name, revision=None, local_files_only=False, **how):
            if local_files_only:
                return local(name, revision=revision, local_files_only=True, **how)
            return str(self.put(revision))

        def model_info(_api, _name, revision=None):
            self.ask()
            files = self.folders[self.commits[revision]].iterdir()
            return SimpleNamespace(
                siblings=[SimpleNamespace(rfilename=path.name) for path in files]
            )

        def refs(_api, _name):
            self.ask()
            found = [
                SimpleNamespace(name=name, target_commit=commit)
                for name, commit in self.commits.items()
            ]
            return SimpleNamespace(branches=found, tags=[])

        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(cache))
        monkeypatch.setattr("huggingface_hub.snapshot_download", download)
        monkeypatch.setattr("huggingface_hub.HfApi.model_info", model_info)
        monkeypatch.setattr("huggingface_hub.HfApi.list_repo_refs", refs)

    def ask(self) -> None:
        if not self.is_reached:
            raise OSError("no network")

    def set(self, revision: str, commit: str, folder) -> None:
        self.commits[revision], self.folders[commit] = commit, folder

    def put(self, revision: str):
        """Into the cache, as a download does."""
        commit = self.commits[revision]
        snapshot = self.cache / "snapshots" / commit
        for part in (snapshot, self.cache / "blobs", self.cache / "refs"):
            part.mkdir(parents=True, exist_ok=True)
        for file in self.folders[commit].iterdir():
            blob = self.cache / "blobs" / hashlib.sha256(file.read_bytes()).hexdigest()
            blob.write_bytes(file.read_bytes())
            (snapshot / file.name).unlink(missing_ok=True)
            (snapshot / file.name).symlink_to(f"../../blobs/{blob.name}")
        (self.cache / "refs" / revision).write_text(commit)
        self.fetched.append(revision)
        self.most = max(self.most, len(self.held()))
        return snapshot

    def held(self) -> list[str]:
        """Commits whose files are on disk."""
        return sorted(path.name for path in self.cache.glob("snapshots/*"))


@pytest.fixture
def model_hub(tmp_path, training, monkeypatch):
    found = Hub(tmp_path / "hub", monkeypatch)
    for number in (1, 2, 10):
        found.set(f"step{number}", f"{number:x}" * 40, training / f"chck_{number}M")
    return found


def score_hub(items, out, *more: str) -> int:
    command = f"series score ewok {items} --checkpoint me/model --revisions step{{n}}".split()
    return main([*command, *f"--numbers 1 2 10 --out {out}".split(), *more])


def test_checkpoints_of_the_hub_are_fetched_and_deleted_one_at_a_time(
    item_table, model_hub, tmp_path, capsys
):
    out = tmp_path / "scores.parquet"
    assert score_hub(item_table, out) == 2, "without --fetch nothing goes online"
    assert "cannot be fetched" in capsys.readouterr().err
    model_hub.put("step2")
    assert score_hub(item_table, out, "--fetch") == 0
    assert model_hub.fetched == ["step2", "step1", "step10"]
    assert (model_hub.most, model_hub.held()) == (2, ["2" * 40]), "what was there before stays"
    assert read_provenance(out).details["weights"] == {"1": "1" * 40, "2": "2" * 40, "10": "a" * 40}
    before = out.read_bytes()
    model_hub.is_reached = False
    assert score_hub(item_table, out) == 0, "all is kept"
    assert out.read_bytes() == before


def test_a_branch_that_has_moved_is_scored_again_and_no_other(
    item_table, model_hub, training, tiny_checkpoint, tmp_path
):
    out = tmp_path / "scores.parquet"
    assert score_hub(item_table, out, "--fetch") == 0
    model_hub.set("step2", "b" * 40, tiny_checkpoint("llama", "sentencepiece"))
    assert score_hub(item_table, out, "--fetch") == 0
    assert model_hub.fetched == ["step1", "step2", "step10", "step2"]
    assert read_provenance(out).details["weights"]["2"] == "b" * 40


def test_a_download_that_was_killed_is_finished_and_deleted_later(item_table, model_hub, tmp_path):
    out = tmp_path / "scores.parquet"
    if (child := os.fork()) == 0:
        with Revisions(
            "me/model", tmp_path / ".answers" / "checkpoints", fetch=True, keep=False
        ).at_hand("step1"):
            os._exit(9)  # as kill -9 does: nothing is put in order
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    (model_hub.cache / "snapshots" / ("1" * 40) / "model.safetensors").unlink()
    assert model_hub.held() == ["1" * 40]
    assert score_hub(item_table, out, "--fetch") == 0
    assert model_hub.fetched == ["step1", "step2", "step10"]
    assert model_hub.held() == []


def test_every_set_of_trials_has_a_curve_and_a_problem_that_of_the_first_set_that_has_it(
    training, tmp_path
):
    for part in (
        "test --problems Infer.trivial Infer.normal --sizes 3",
        "ood-size --problems Infer.normal Consist.normal",
    ):
        table = f"{tmp_path}/{part.split()[0]}.parquet"
        assert run(f"worldsense generate {part} --per-cell 1 --skins tall/short --out {table}") == 0
    out, trials = tmp_path / "scores.parquet", f"{tmp_path}/test.parquet"
    how = f"--checkpoint {training} --folders chck_{{n}}M --numbers 1 --out {out}"
    assert run(f"series score worldsense {trials} {tmp_path}/ood-size.parquet {how}") == 0
    rows = read_table(out, CheckpointScores)
    units = rows.groupby(["grouping", "group"])["n"].sum()
    assert list(units.index) == [
        ("overall", "all"),
        *(("problem", name) for name in ("Consist.normal", "Infer.normal", "Infer.trivial")),
        ("set", "ood-size"),
        ("set", "test"),
    ]
    assert (
        units["overall", "all"]
        == units["set", "test"]
        == units["problem"][["Infer.normal", "Infer.trivial"]].sum()
    )
    assert units["problem", "Consist.normal"] < units["set", "ood-size"]
    assert len(read_provenance(out).inputs) == 2
    assert run(f"series score worldsense {trials} {trials} {how}") == 2, "a set twice"


def test_seeds_become_trainings_of_one_series():
    card = complete_card("a", checkpoint="me/model", family="x", display_name="A")
    card |= {
        "series": Series(revisions="step{n}", n=[1], seeds=["me/model-seed{1-3}", "b"]).model_dump()
    }
    other = complete_card("b", checkpoint="me/other", family="x", display_name="B") | {
        "series": card["series"]
    }
    found = add_trainings({"series": ["a"], "controls": {"seed": 0}}, {"a": card, "b": other})
    trainings = pd.DataFrame([one for one in found.values() if one.get("series_of") == "a"])
    assert list(trainings["checkpoint"]) == [
        "me/model",
        "me/other",
        "me/model-seed1",
        "me/model-seed2",
        "me/model-seed3",
    ]
    assert trainings["seed"].is_unique


@pytest.mark.parametrize(
    "seeds",
    [["me/model"], ["a"], ["b", "me/other"], ["me/seed{1-2}", "me/seed2"], ["me/seed{3-1}"]],
)
def test_a_training_is_one_seed(seeds):
    card = complete_card("a", checkpoint="me/model", family="x", display_name="A")
    card |= {"series": Series(revisions="step{n}", n=[1], seeds=seeds).model_dump()}
    other = complete_card("b", checkpoint="me/other", family="x", display_name="B")
    other |= {"series": Series(revisions="step{n}", n=[1]).model_dump()}
    with pytest.raises(UserError, match=r"checkpoints of|no seed|already"):
        add_trainings({"series": ["a"], "controls": {"seed": 0}}, {"a": card, "b": other})
