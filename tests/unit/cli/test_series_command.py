"""``series``: checkpoints one after the other, kept, continued and left out; and where they are."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest

from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table
from worldprobe.contracts.series import CheckpointScores, Curves, Onsets
from worldprobe.errors import UserError
from worldprobe.models import checkpoint as hub
from worldprobe.models.series import add_trainings, check_trainings, find_places
from worldprobe.settings.registry import Series, complete_card

torch = pytest.importorskip("torch")


@pytest.fixture
def training(tmp_path, tiny_checkpoint):
    for number in (1, 2, 10):
        shutil.copytree(tiny_checkpoint("gpt2"), tmp_path / "training" / f"chck_{number}M")
        (tmp_path / "training" / f"chck_{number}M" / "extra.json").write_text(f'{{"number": {number}}}')
    return tmp_path / "training"


def score(items, training, out, *more: str) -> int:
    command = ["series", "score", "ewok", str(items), "--checkpoint", str(training), "--model", "mine", *more]
    return main([*command, "--folders", "chck_{n}M", "--factor", "1e6", "--unit", "words", "--out", str(out)])


def count_loads(monkeypatch) -> list[str]:
    from worldprobe.cli import series

    loaded: list[str] = []
    real = series.open_engine
    monkeypatch.setattr(series, "open_engine", lambda options: loaded.append(options.checkpoint) or real(options))
    return loaded


def test_checkpoints_are_scored_once_and_a_further_one_costs_one(item_table, training, tiny_checkpoint, tmp_path, monkeypatch):
    loaded, out = count_loads(monkeypatch), tmp_path / "scores.parquet"
    assert score(item_table, training, out) == 0
    rows = read_table(out, CheckpointScores)
    assert sorted(rows["step"].unique()) == [1e6, 2e6, 1e7]
    assert [one.rpartition("/")[2] for one in loaded] == ["chck_1M", "chck_2M", "chck_10M"]
    first = out.read_bytes()
    assert score(item_table, training, out) == 0
    assert len(loaded) == 3
    assert out.read_bytes() == first
    shutil.copytree(tiny_checkpoint("llama", "sentencepiece"), training / "chck_20M")
    assert score(item_table, training, out) == 0
    assert len(loaded) == 4
    curves, onsets, order = (tmp_path / f"{name}.parquet" for name in ("curves", "onsets", "order"))
    words = ["series", "curves", str(out), "--onsets-out", str(onsets), "--agreements-out", str(order), "--out", str(curves)]
    assert main(words) == 0
    assert set(read_table(curves, Curves)["unit"]) == {"words"}
    assert len(read_table(onsets, Onsets)) == read_table(curves, Curves)[["grouping", "group"]].drop_duplicates().shape[0]


def test_a_broken_checkpoint_is_named_and_left_out_and_a_killed_job_goes_on(item_table, training, tmp_path, monkeypatch):
    from worldprobe.cli import series

    loaded, out = count_loads(monkeypatch), tmp_path / "scores.parquet"
    real = series.open_engine

    def killed(options):
        if options.checkpoint.endswith("chck_10M"):
            raise KeyboardInterrupt
        return real(options)

    monkeypatch.setattr(series, "open_engine", killed)
    assert score(item_table, training, out) == 130
    assert not out.exists()
    monkeypatch.setattr(series, "open_engine", real)
    (training / "chck_2M" / "model.safetensors").write_bytes(b"no weights")
    assert score(item_table, training, out) == 0
    assert [one.rpartition("/")[2] for one in loaded] == ["chck_1M", "chck_2M", "chck_2M", "chck_10M"]
    assert list(read_provenance(out).details["left_out"]) == ["2"]
    assert sorted(read_table(out, CheckpointScores)["step"].unique()) == [1e6, 1e7]


def test_checkpoints_of_the_hub_are_fetched_and_deleted_one_at_a_time(item_table, training, tmp_path, monkeypatch):
    places = {f"chck_{n}M": training / f"chck_{n}M" for n in (1, 2, 10)}
    cache: dict[str, hub.Checkpoint] = {}
    most: list[int] = []

    def fetch(name, revision, *_trust):
        cache[revision] = hub.Checkpoint(name, places[revision], revision)
        most.append(len(cache))

    monkeypatch.setattr(hub, "is_fetched", lambda _name, revision: revision in cache)
    monkeypatch.setattr(hub, "fetch", fetch)
    monkeypatch.setattr(hub, "forget", lambda found: cache.pop(found.revision))
    real = hub.locate
    monkeypatch.setattr(
        hub, "locate", lambda name, revision=None, *more: cache[revision] if revision in places else real(name, revision, *more)
    )
    from worldprobe.cli import series

    opened = series.open_engine

    def open_folder(options):
        from dataclasses import replace

        return opened(replace(options, checkpoint=str(places[options.revision]), revision=None))

    monkeypatch.setattr(series, "open_engine", open_folder)
    words = ["series", "score", "ewok", str(item_table), "--checkpoint", "me/model", "--revisions", "chck_{n}M"]
    words += ["--numbers", "1", "2", "10", "--out", str(tmp_path / "scores.parquet")]
    assert main(words) == 2, "without --fetch nothing goes online"
    assert main([*words, "--fetch"]) == 0
    assert most == [1, 1, 1]
    assert not cache
    assert main(words) == 0, "all is kept"


def test_a_snapshot_is_deleted_with_the_files_that_are_its_own(tmp_path):
    repository = tmp_path / "models--me--model"
    (repository / "blobs").mkdir(parents=True)
    (repository / "refs").mkdir()
    for commit, blobs in (("a" * 40, ("one", "both")), ("b" * 40, ("two", "both"))):
        folder = repository / "snapshots" / commit
        folder.mkdir(parents=True)
        for blob in blobs:
            (repository / "blobs" / blob).write_text(blob)
            (folder / f"{blob}.json").symlink_to(f"../../blobs/{blob}")
    hub.forget(hub.Checkpoint("me/model", repository / "snapshots" / ("a" * 40), "a" * 40))
    assert sorted(path.name for path in (repository / "blobs").iterdir()) == ["both", "two"]


def test_bad_series_are_refused_before_a_model_is_loaded(tmp_path):
    with pytest.raises(UserError, match="one pattern"):
        find_places("me/model", [1], revisions="step")
    with pytest.raises(UserError, match="contains no folder"):
        find_places(str(tmp_path), [], folders="step{n}")
    found = [[problem for _, problem, _ in Series(revisions="step{n}", n=n).findings()] for n in ([2, 1], [])]
    assert "ascending" in found[0][0]
    assert "missing" in found[1][0]
    assert "not a range" in next(problem for _, problem, _ in Series(revisions="step{n}", ranges=["x"]).findings())
    (tmp_path / "step1").mkdir()
    series = Series(folders="step{n}", n=[1, 2]).model_dump()
    registry = {"mine": complete_card("mine", checkpoint=str(tmp_path), family="x", display_name="Mine") | {"series": series}}
    study = {"series": ["mine"], "controls": {"seed": 0}}
    with pytest.raises(UserError, match="step2"):
        check_trainings(study, add_trainings(study, registry))
    with pytest.raises(UserError, match="not in the registry"):
        add_trainings({"series": ["mien"]}, registry)


def test_seeds_become_trainings_of_one_series():
    card = complete_card("a", checkpoint="me/model", family="x", display_name="A")
    card |= {"series": Series(revisions="step{n}", n=[1], seeds=["me/model-seed{1-3}", "b"]).model_dump()}
    other = complete_card("b", checkpoint="me/other", family="x", display_name="B") | {"series": card["series"]}
    found = add_trainings({"series": ["a"], "controls": {"seed": 0}}, {"a": card, "b": other})
    trainings = pd.DataFrame([one for one in found.values() if one.get("series_of") == "a"])
    assert list(trainings["checkpoint"]) == ["me/model", "me/other", "me/model-seed1", "me/model-seed2", "me/model-seed3"]
    assert trainings["seed"].is_unique
