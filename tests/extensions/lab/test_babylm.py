"""EWoK as the BabyLM challenge asks it: its data, its rule, its files, and the same predictions
as its own code, row for row.
"""

from __future__ import annotations

import importlib
import json
import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from worldprobe.cli import main
from worldprobe.cli.engines import ModelOptions
from worldprobe.contracts import read_provenance, read_table, validate
from worldprobe.errors import UserError
from worldprobe.inference.store import open_store
from worldprobe.models.engine import Loglikelihood, Scored
from worldprobe.models.registry import MASKED, ORIGINAL
from worldprobe_lab import babylm as challenge
from worldprobe_lab.completions import BACKENDS
from worldprobe_lab.contracts import BabylmSummaries, CheckpointScores

NAMES, VERBS = ("Ana", "Ben", "Cora", "Dov"), ("lifts", "drops", "paints", "hides")
THINGS, SIZES = ("crate", "lamp", "kettle", "rug"), ("heavy", "light", "blue")
#: Items of each domain, and rows.
N_ITEMS, N_ROWS = 2, 4
#: Rules, backend and tiny model -> whether the challenge's own code chose rightly in each row (1),
#: domain by domain: recorded from it at ``COMMITS``, none within 0.001 nats of a tie.
EXPECTED = json.loads(
    Path(__file__).with_name("babylm_predictions.json").read_text(encoding="utf-8")
)
CASES = [tuple(name.split()) for name in EXPECTED["2025"]]


def write_data(folder: Path, name: str, n_items: int = N_ITEMS) -> Path:
    """Synthetic data in the challenge's layout."""
    draw = random.Random(name).choice
    place = folder / challenge.PLACES[name] / name
    place.mkdir(parents=True)
    for domain in challenge.SIZES:
        lines = []
        for _ in range(n_items):
            who, what, how = draw(NAMES), draw(THINGS), draw(SIZES)
            verb, other = random.Random(draw(range(99))).sample(VERBS, 2)
            row = {
                "Domain": domain,
                "ConceptA": verb,
                "ConceptB": other,
                "TargetDiff": "concept swap",
                "ContextType": "direct",
            }
            row |= {"ContextDiff": draw(["antonym", None]), "MetaTemplateID": 1}
            row |= {
                "Context1": f"{who} {verb} the {what}.",
                "Context2": f"{who} {other} a {what} under a tree. It is {how}.",
            }
            whose = draw(NAMES)
            row |= {
                f"Target{place}": f"{whose} {one} the {what} near the door."
                for place, one in ((1, verb), (2, other))
            }
            swapped = {
                "Context1": "Context2",
                "Context2": "Context1",
                "Target1": "Target2",
                "Target2": "Target1",
            }
            lines += [
                json.dumps(row),
                json.dumps(row | {key: row[other_key] for key, other_key in swapped.items()}),
            ]
        (place / f"{domain}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder of data with few rows, and a short track."""
    monkeypatch.setattr(
        challenge,
        "ROWS",
        {name: dict.fromkeys(challenge.SIZES, N_ROWS) for name in challenge.PLACES},
    )
    monkeypatch.setitem(challenge.TRACKS, "strict-small", [1, 2])
    for name in challenge.PLACES:
        write_data(tmp_path / "evaluation_data", name)
    return tmp_path / "evaluation_data"


@pytest.fixture
def checkpoint(tiny_checkpoint, gap_checkpoint):
    """A function: name of a tiny model -> its folder."""

    def find(name: str) -> Path:
        architecture, _, kind = name.partition("/")
        return tiny_checkpoint(architecture, kind) if kind else gap_checkpoint(architecture)

    return find


def judged(
    rows: pd.DataFrame, folder: Path, backend: str, answers: Path, rules: str
) -> challenge.JudgedRows:
    from worldprobe_lab import babylm_cli as babylm

    kind = BACKENDS[backend]
    options = ModelOptions(
        checkpoint=str(folder),
        kind=kind,
        pseudo=ORIGINAL if kind == MASKED else None,
        dtype="float32",
    )
    engine = babylm._open(options, backend)
    scores = challenge.asking(rows, "1")(engine, open_store(answers, engine), "tiny")
    return challenge.judge(scores, backend, "float32", rules)


@pytest.mark.parametrize(("backend", "model"), CASES)
def test_predictions_are_those_that_the_challenges_code_was_seen_to_make(
    backend, model, babylm_rules, checkpoint, tmp_path
):
    write_data(tmp_path, challenge.WHOLE)
    rows = challenge.read_data(tmp_path, challenge.WHOLE)
    found = judged(rows, checkpoint(model), backend, tmp_path / "answers", babylm_rules)
    assert (
        "".join(f"{one:.0f}" for one in found.right[0])
        == EXPECTED[babylm_rules][f"{backend} {model}"]
    )


@pytest.fixture
def own_path(babylm_challenge, monkeypatch):
    """The challenge's own code can be imported."""
    for folder in (babylm_challenge / "evaluation_pipeline", babylm_challenge):
        monkeypatch.syspath_prepend(str(folder))
    yield
    for name in [
        name for name in sys.modules if name.partition(".")[0] in ("evaluation_pipeline", "utils")
    ]:
        del sys.modules[name]


def test_the_challenges_own_code_counts_and_scores_our_files(own_path, babylm_rules, tmp_path):
    """Its scorer gave every file of ours 0.0 % once it read whole sentences
    (babylm-org/babylm-eval, 68cdd16).
    """
    pytest.importorskip("statsmodels")
    collate = importlib.import_module("evaluation_pipeline.collate_preds")
    place = write_data(tmp_path, challenge.FAST, 50)
    rows = challenge.read_data(tmp_path, challenge.FAST)
    right = np.arange(len(rows)) % 3 > 0
    folder = challenge.place_of(tmp_path, "me/mine", "chck_1M", "causal", challenge.FAST)
    challenge.write_predictions(rows, right, folder, babylm_rules)
    found = collate._load_results(folder / "predictions.json")
    assert collate._check_size("ewok", found, True)
    scorer = importlib.import_module("evaluation_pipeline.calculate_results_from_pred")
    means = 100 * pd.Series(right).groupby(rows["domain"]).mean()
    assert scorer._calculate_ewok_results(found, place) == pytest.approx(means.mean())


def test_predictions_of_2026_are_whole_sentences_and_its_rule_is_the_papers_with_ties_drawn(
    tmp_path,
):
    write_data(tmp_path, challenge.WHOLE)
    rows = challenge.read_data(tmp_path, challenge.WHOLE)
    scores = pd.DataFrame(
        np.random.default_rng(2).normal(-30, 5, (len(rows), 4)), columns=challenge._COLUMNS
    )
    scores.loc[: len(rows) // 2, challenge._COLUMNS[2]] = scores[challenge._COLUMNS[0]]
    for backend in ("causal", "enc_dec_prefix"):
        found = challenge.judge(scores, backend, "float32", "2026")
        by_rule, by_paper = found.right
        assert set(by_paper[found.is_tie[1]]) == {0.5}
        assert set(by_rule[found.is_tie[0]]) == {0, 1}
        assert (by_rule == by_paper)[~found.is_tie[0]].all()
    challenge.write_predictions(rows, by_rule, tmp_path, "2026")
    written = json.loads((tmp_path / "predictions.json").read_text())
    said = [one["pred"] for domain in challenge.SIZES for one in written[domain]["predictions"]]
    assert [
        one == f"{row.context1} {row.target1}"
        for one, row in zip(said, rows.itertuples(), strict=True)
    ] == list(by_rule > 0)


def test_a_tie_is_right_by_the_challenges_rule_of_2025_and_a_half_by_the_papers():
    scores = pd.DataFrame(
        [[-5, -5, -5, -4], [-5, -6, -4, -9], [-5, -4.9999, -5.1, -4]],
        columns=challenge._COLUMNS,
        dtype=float,
    )
    found = challenge.judge(scores, "causal", "float32", "2025")
    assert found.right.tolist() == [[1, 1, 0], [0.5, 0, 1]]
    assert found.is_tie.tolist() == [[True, False, False], [True, False, False]]
    assert found.is_near_tie.tolist() == [[False, False, True], [False, False, False]]
    # The challenge's prefix backend compared the first target after the first context with the
    # second after the second.
    assert challenge.judge(scores, "enc_dec_prefix", "float32", "2025").right[0].tolist() == [
        0,
        1,
        0,
    ]


def test_sums_that_differ_by_less_than_single_precision_tie():
    scores = pd.DataFrame([[-45.1234567, -45.1234568, -50, -50]], columns=challenge._COLUMNS)
    assert challenge.judge(scores, "causal", "float32", "2025").is_tie[0].all()


def test_intervals_hold_for_other_pairs_of_concepts_and_the_average_is_that_of_domains(tmp_path):
    write_data(tmp_path, challenge.FAST, 50)
    rows = challenge.read_data(tmp_path, challenge.FAST)
    rows = rows.iloc[:-50].reset_index(drop=True)  # a domain with fewer rows weighs as much
    right = np.random.default_rng(0).integers(0, 2, (2, len(rows))).astype(float)
    none = np.zeros(right.shape, bool)
    found = validate(
        challenge.means_by_rule(
            rows, {"chck_1M": challenge.JudgedRows(right, none, none)}, "m", "causal"
        ),
        BabylmSummaries,
    )
    overall = found[found["grouping"] == "overall"].set_index("metric").loc["babylm"]
    assert overall["mean"] == pytest.approx(
        pd.Series(right[0]).groupby(rows["domain"]).mean().mean()
    )
    assert overall["ci_low"] < overall["mean"] < overall["ci_high"]
    assert overall["interval_over"] == "pairs of concepts"
    plain = challenge.means_by_rule(
        rows.assign(concept_a=None),
        {"chck_1M": challenge.JudgedRows(right, none, none)},
        "m",
        "causal",
    )
    assert set(plain["interval_over"]) == {"items"}
    assert plain["n_clusters"].max() > found["n_clusters"].max()


def test_the_rule_of_prefixes_of_2025_gives_half_whatever_the_model(tmp_path):
    write_data(tmp_path, challenge.WHOLE)
    rows = challenge.read_data(tmp_path, challenge.WHOLE)
    values = np.random.default_rng(1).normal(
        -30, 5, (len(rows) // 2, 2, 2)
    )  # item, context, target
    both = np.stack([values, values[:, ::-1, ::-1]], axis=1).reshape(len(rows), 4)
    found = challenge.judge(
        pd.DataFrame(both, columns=challenge._COLUMNS), "enc_dec_prefix", "float32", "2025"
    )
    assert found.right[0].mean() == 0.5


def call(data: Path, model: Path, out: Path, *more: str) -> int:
    return main([*f"babylm {model} --track strict-small --data {data} --out {out}".split(), *more])


@pytest.fixture
def training(tmp_path, tiny_checkpoint):
    for number, name in enumerate(("main", "chck_1M", "chck_2M")):
        shutil.copytree(tiny_checkpoint("gpt2"), tmp_path / "training" / name)
        (tmp_path / "training" / name / "extra.json").write_text(f'{{"number": {number}}}')
    return tmp_path / "training"


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}


def test_a_track_is_scored_once_into_the_challenges_places_and_a_broken_checkpoint_is_left_out(
    data, training, tmp_path, monkeypatch
):
    from worldprobe_lab import babylm_cli as babylm

    loaded, real, out = [], babylm._open, tmp_path / "results"
    monkeypatch.setattr(
        babylm,
        "_open",
        lambda options, backend: loaded.append(options.checkpoint) or real(options, backend),
    )
    weights = training / "chck_2M" / "model.safetensors"
    kept = weights.read_bytes()
    weights.write_bytes(b"no weights")
    assert call(data, training, out) == 0
    table = out / "training" / "ewok_causal" / "babylm.parquet"
    assert list(read_provenance(table).details["left_out"]) == ["chck_2M"]
    assert set(read_table(table, BabylmSummaries)["condition"]) == {"main", "chck_1M"}
    weights.write_bytes(kept)
    loaded.clear()
    assert call(data, training, out) == 0
    assert [Path(one).name for one in loaded] == ["chck_2M"]
    written = files_of(out / "training")
    for place in (
        "main/zero_shot/causal/ewok/ewok_filtered",
        "chck_1M/zero_shot/causal/ewok/ewok_fast",
    ):
        for file in ("predictions.json", "best_temperature_report.txt"):
            assert f"{place}/{file}" in written
    assert call(data, training, out) == 0
    assert written == files_of(out / "training")
    checkpoints = table.with_name("checkpoints.parquet")
    assert sorted(read_table(checkpoints, CheckpointScores)["step"].unique()) == [1, 2]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda lines: lines[:-1], "agent-properties 3 instead of 4"),
        (lambda lines: [lines[0][:-5], *lines[1:]], "agent-properties.jsonl, line 1"),
        (lambda lines: [lines[0].replace("Target2", "Target3"), *lines[1:]], "has no Target2"),
        (lambda lines: [lines[0].replace("agent-p", "p"), *lines[1:]], "of the domain properties"),
    ],
)
def test_other_data_than_the_challenges_are_refused(change, told, data, training, tmp_path, capsys):
    path = data / "full_eval" / "ewok_filtered" / "agent-properties.jsonl"
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    assert call(data, training, tmp_path / "results") == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_a_model_that_computes_no_number_is_not_called_right(tmp_path, tiny_checkpoint):
    from worldprobe_lab import babylm_cli as babylm

    write_data(tmp_path, challenge.WHOLE)
    rows = challenge.read_data(tmp_path, challenge.WHOLE)
    engine = babylm._open(
        ModelOptions(checkpoint=str(tiny_checkpoint("gpt2")), kind="causal", dtype="float32"),
        "causal",
    )
    nothing = Scored(None, 1, ("not_finite",))
    engine.score = lambda queries, **_: ((i, nothing) for i in range(len(queries)))
    with pytest.raises(UserError, match="would count"):
        challenge.asking(rows, "1")(engine, open_store(tmp_path / "answers", engine), "tiny")


def test_items_are_selected_by_their_words_and_come_both_ways_round(tmp_path):
    texts = {"context1": "Ana's cup is full.", "context2": "Ana's cup isn't full."}
    texts |= {"target1": "It spills.", "target2": "It's dry.", "domain": "material-properties"}
    items = pd.DataFrame([texts, texts | {"domain": "agent-properties", "target1": "It flows."}])
    items = items.reindex(
        columns=[*items.columns, *set(challenge._KEYS.values()) - set(items.columns)]
    )
    (tmp_path / "vocab.txt").write_text(
        "\n".join(["ana", "'s", "cup", "is", "n't", "full", ".", "it", "spills", "dry"])
    )
    rows = challenge.select_items(items, tmp_path / "vocab.txt")
    assert rows["domain"].tolist() == ["material-properties"] * 2
    assert rows["context1"].tolist() == [texts["context1"], texts["context2"]]
    assert rows["target1"].tolist() == [texts["target1"], texts["target2"]]


def test_a_sentence_longer_than_the_model_reads_is_refused(tiny_checkpoint, gap_checkpoint):
    from worldprobe_lab import babylm_cli as babylm

    for folder, backend in (
        (tiny_checkpoint("gpt2"), "causal"),
        (gap_checkpoint("bart"), "enc_dec_prefix"),
    ):
        engine = babylm._open(
            ModelOptions(checkpoint=str(folder), kind=BACKENDS[backend], dtype="float32"), backend
        )
        with pytest.raises(UserError, match="and a text of the data has"):
            list(engine.score([Loglikelihood("Ana lifts it. " * 200, "It is up.")]))
