"""``series``: checkpoints one after the other, kept, continued and left out; and where they are."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pandas as pd
import pytest
from safetensors.torch import load_file, save_file

from worldprobe.cli import main
from worldprobe.contracts import read_provenance, read_table
from worldprobe.contracts.series import CheckpointScores, Curves, Onsets
from worldprobe.errors import MachineError, UserError
from worldprobe.models import checkpoint as hub
from worldprobe.models.series import Revisions, add_trainings, check_trainings, find_places
from worldprobe.settings.registry import Series, complete_card

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
    command = [
        "series",
        "score",
        "ewok",
        str(items),
        "--checkpoint",
        str(training),
        "--model",
        "mine",
        *more,
    ]
    return main(
        [
            *command,
            "--folders",
            "chck_{n}M",
            "--factor",
            "1e6",
            "--unit",
            "words",
            "--out",
            str(out),
        ]
    )


def count_loads(monkeypatch) -> list[str]:
    from worldprobe.cli import series

    loaded: list[str] = []
    real = series.open_engine
    monkeypatch.setattr(
        series, "open_engine", lambda options: loaded.append(options.checkpoint) or real(options)
    )
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
    words = [
        "series",
        "curves",
        str(out),
        "--onsets-out",
        str(onsets),
        "--agreements-out",
        str(order),
        "--out",
        str(curves),
    ]
    assert main(words) == 0
    assert set(read_table(curves, Curves)["unit"]) == {"words"}
    assert (
        len(read_table(onsets, Onsets))
        == read_table(curves, Curves)[["grouping", "group"]].drop_duplicates().shape[0]
    )


def test_a_broken_checkpoint_is_named_and_left_out_and_a_killed_job_goes_on(
    item_table, training, tmp_path, monkeypatch
):
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
    assert [one.rpartition("/")[2] for one in loaded] == [
        "chck_1M",
        "chck_2M",
        "chck_2M",
        "chck_10M",
    ]
    assert list(read_provenance(out).details["left_out"]) == ["2"]
    assert sorted(read_table(out, CheckpointScores)["step"].unique()) == [1e6, 1e7]


def test_a_part_of_a_series_in_which_every_checkpoint_is_broken_has_no_rows_and_names_them(
    item_table, training, tmp_path, capsys
):
    for number in (2, 10):
        (training / f"chck_{number}M" / "model.safetensors").write_bytes(b"no weights")
    parts = [tmp_path / f"{number}.parquet" for number in (0, 1, 2)]
    for number, part in zip((1, 2, 10), parts, strict=True):
        assert score(item_table, training, part, "--part", "--numbers", str(number)) == 0
    assert read_table(parts[1], CheckpointScores, allow_empty=True).empty
    assert score(item_table, training, tmp_path / "alone.parquet", "--numbers", "2") == 2
    out = [tmp_path / f"{name}.parquet" for name in ("onsets", "order", "curves")]
    words = ["--onsets-out", str(out[0]), "--agreements-out", str(out[1]), "--out", str(out[2])]
    assert main(["series", "curves", *map(str, parts), *words]) == 0
    assert set(read_provenance(out[2]).details["left_out"]["mine"]) == {"2", "10"}
    capsys.readouterr()
    assert main(["series", "curves", *map(str, parts[1:]), *words]) == 2
    assert "none of the checkpoints of its seed one can be scored" in capsys.readouterr().err
    other = tmp_path / "other.parquet"
    assert (
        score(item_table, training, other, "--part", "--numbers", "2", "--training-seed", "two")
        == 0
    )
    assert main(["series", "curves", str(parts[0]), str(other), *words]) == 2
    assert "none of the checkpoints of its seed two can be scored" in capsys.readouterr().err


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
    command = [
        "series",
        "score",
        "ewok",
        str(items),
        "--checkpoint",
        "me/model",
        "--revisions",
        "step{n}",
    ]
    return main([*command, "--numbers", "1", "2", "10", "--out", str(out), *more])


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


def test_a_commit_that_is_here_under_another_name_is_neither_fetched_nor_deleted(
    item_table, model_hub, training, tmp_path
):
    model_hub.set("main", "a" * 40, training / "chck_10M")  # the last step's
    model_hub.put("main")
    assert score_hub(item_table, tmp_path / "scores.parquet", "--fetch") == 0
    assert model_hub.fetched == ["main", "step1", "step2"]
    assert model_hub.held() == ["a" * 40]


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


def test_a_revision_that_is_not_there_is_left_out_and_a_lost_connection_stops_the_series(
    item_table, model_hub, tmp_path, capsys
):
    out = tmp_path / "scores.parquet"
    del model_hub.commits["step2"]
    assert score_hub(item_table, out, "--fetch") == 0
    assert list(read_provenance(out).details["left_out"]) == ["2"]
    model_hub.is_reached = False
    assert score_hub(item_table, tmp_path / "others.parquet", "--fetch", "--dtype", "bfloat16") == 2
    assert "cannot be fetched" in capsys.readouterr().err
    assert not (tmp_path / "others.parquet").exists()


@pytest.mark.parametrize(
    "error",
    [
        MachineError("memory", "does not suffice.", "Give it more."),
        UserError("chck_2M", "looks damaged.", "Save it again."),
    ],
)
def test_where_memory_lacks_no_checkpoint_is_left_out(
    item_table, training, tmp_path, monkeypatch, error
):
    from worldprobe.cli import series

    if not isinstance(error, MachineError):
        error.__cause__ = MemoryError()
    real = series.open_engine

    def fails(options):
        if options.checkpoint.endswith("chck_2M"):
            raise error
        return real(options)

    monkeypatch.setattr(series, "open_engine", fails)
    assert score(item_table, training, tmp_path / "scores.parquet") == 2
    assert not (tmp_path / "scores.parquet").exists()


def test_options_that_do_nothing_are_refused_before_a_checkpoint_is_left_out(
    item_table, training, tmp_path
):
    assert score(item_table, training, tmp_path / "scores.parquet", "--tensor-parallel", "2") == 2
    assert not (tmp_path / "scores.parquet").exists()


def test_checkpoints_with_equal_tokenizer_files_share_one_tokenizer(
    item_table, training, tmp_path, monkeypatch
):
    from worldprobe.models import loading, tokenizers

    loaded: list[str] = []
    real = tokenizers.load
    monkeypatch.setattr(
        tokenizers, "load", lambda place, *more: loaded.append(place) or real(place, *more)
    )
    monkeypatch.setattr(loading, "_LATEST", {})
    for number in (1, 2, 10):
        (training / f"chck_{number}M" / "extra.json").unlink()
    weights = training / "chck_2M" / "model.safetensors"
    save_file(
        {name: tensor * 0.9 for name, tensor in load_file(weights).items()},
        weights,
        {"format": "pt"},
    )
    settings = training / "chck_10M" / "tokenizer_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"model_max_length": 77}))
    assert score(item_table, training, tmp_path / "scores.parquet") == 0
    assert [Path(place).name for place in loaded] == ["chck_1M", "chck_10M"]


def test_every_set_of_trials_has_a_curve_and_a_problem_that_of_the_first_set_that_has_it(
    training, tmp_path
):
    generated = []
    for name, problems in (
        ("test", ("Infer.trivial", "Infer.normal")),
        ("ood-size", ("Infer.normal", "Consist.normal")),
    ):
        generated.append(str(tmp_path / f"{name}.parquet"))
        size = ["--sizes", "3"] if name == "test" else []
        words = [
            "worldsense",
            "generate",
            name,
            "--per-cell",
            "1",
            "--problems",
            *problems,
            *size,
            "--out",
            generated[-1],
        ]
        assert main(words) == 0
    out = tmp_path / "scores.parquet"
    words = [
        "series",
        "score",
        "worldsense",
        *generated,
        "--checkpoint",
        str(training),
        "--folders",
        "chck_{n}M",
    ]
    assert main([*words, "--numbers", "1", "--out", str(out)]) == 0
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
    assert main([*words[:4], generated[0], *words[5:], "--numbers", "1", "--out", str(out)]) == 2, (
        "a set twice"
    )


def test_a_snapshot_is_deleted_with_the_files_that_are_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--me--model"
    (repository / "blobs").mkdir(parents=True)
    (repository / "refs").mkdir()
    for commit, blobs in (("a" * 40, ("one", "both")), ("b" * 40, ("two", "both"))):
        folder = repository / "snapshots" / commit
        folder.mkdir(parents=True)
        for blob in blobs:
            (repository / "blobs" / blob).write_text(blob)
            (folder / f"{blob}.json").symlink_to(f"../../blobs/{blob}")
    hub.forget("me/model", "a" * 40)
    assert sorted(path.name for path in (repository / "blobs").iterdir()) == ["both", "two"]


def test_folders_are_found_by_their_numbers_with_leading_zeros_too(tmp_path):
    for name in ("step_000100", "step_001000", "step_20", "step_x", "step_5.old"):
        (tmp_path / name).mkdir()

    def found(*numbers):
        return [
            (one.number, one.step, Path(one.checkpoint).name)
            for one in find_places(str(tmp_path), numbers, None, "step_{n}", 2)
        ]

    here = [(20, 40, "step_20"), (100, 200, "step_000100"), (1000, 2000, "step_001000")]
    assert found() == here
    assert found(20, 100, 1000) == here
    assert found(7) == [(7, 14, "step_7")], "it is named, and left out as one that is not there"
    (tmp_path / "step_100").mkdir()
    for numbers in ((), (100,)):
        with pytest.raises(UserError, match="step_000100 and step_100 have the same number"):
            found(*numbers)
    assert found(20, 1000) == [here[0], here[2]]


def test_bad_series_are_refused_before_a_model_is_loaded(tmp_path):
    with pytest.raises(UserError, match="one pattern"):
        find_places("me/model", [1], revisions="step")
    with pytest.raises(UserError, match="contains no folder"):
        find_places(str(tmp_path), [], folders="step{n}")
    found = [
        [problem for _, problem, _ in Series(revisions="step{n}", n=n).findings()]
        for n in ([2, 1], [])
    ]
    assert "ascending" in found[0][0]
    assert "missing" in found[1][0]
    for numbers in ("3000-1000/1000", "0-10/0"):
        assert "no number" in next(
            problem for _, problem, _ in Series(revisions="step{n}", ranges=[numbers]).findings()
        )
    with pytest.raises(UserError, match="needs numbers"):
        find_places("me/model", [], revisions="step{n}")
    with pytest.raises(UserError, match="twice"):
        find_places("me/model", [1, 1], revisions="step{n}")
    assert "not a range" in next(
        problem for _, problem, _ in Series(revisions="step{n}", ranges=["x"]).findings()
    )
    (tmp_path / "step1").mkdir()
    series = Series(folders="step{n}", n=[1, 2]).model_dump()
    registry = {
        "mine": (
            complete_card("mine", checkpoint=str(tmp_path), family="x", display_name="Mine")
            | {"series": series}
        )
    }
    study = {"series": ["mine"], "controls": {"seed": 0}}
    with pytest.raises(UserError, match="step2"):
        check_trainings(study, add_trainings(study, registry))
    with pytest.raises(UserError, match="not in the registry"):
        add_trainings({"series": ["mien"]}, registry)


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


def test_a_training_is_in_one_series():
    card = complete_card("a", checkpoint="me/model", family="x", display_name="A")
    card |= {"series": Series(revisions="step{n}", n=[1], seeds=["b"]).model_dump()}
    other = complete_card("b", checkpoint="me/other", family="x", display_name="B")
    other |= {"series": Series(revisions="step{n}", n=[1]).model_dump()}
    for series in (["a", "b"], ["b", "a"]):
        with pytest.raises(UserError, match="b is a training of"):
            add_trainings({"series": series, "controls": {"seed": 0}}, {"a": card, "b": other})
