"""What a model would say after its layers: equal to reading its hidden states by hand, and, after
the last one, to plain scoring.
"""

from __future__ import annotations

import pytest

from command_line import run
from worldprobe.contracts import read_provenance, read_table
from worldprobe.errors import UserError
from worldprobe.library import score_items
from worldprobe.models.engine import Loglikelihood
from worldprobe_lab.contracts import CheckpointScores
from worldprobe_layers.settings import check_models

torch = pytest.importorskip("torch")

from worldprobe.models.transformers_engine import open_engine  # noqa: E402
from worldprobe_layers.readouts import score_layers  # noqa: E402

QUERIES = [
    Loglikelihood(context, target)
    for context in ("Ana lifts the heavy crate.", "Ben drops the light lamp under a tree.")
    for target in ("The crate is near the door.", "Ben paints the rug.")
]


@pytest.mark.parametrize("fastest", ["tries", "batches", "plain"])
@pytest.mark.parametrize(
    "architecture", ["llama", "gpt2", "gpt_neox", "gemma", "gemma2", "mpt", "phi", "falcon"]
)
def test_layers_are_read_as_by_hand(tiny_checkpoint, architecture, fastest):
    engine = open_engine(str(tiny_checkpoint(architecture)), device="cpu", fastest=fastest)
    plain = dict(engine.score(QUERIES))
    found = score_layers(engine, QUERIES)
    assert list(found) == [1, 2]
    assert found[2] == [plain[i] for i in range(len(QUERIES))], "to the last bit"
    assert dict(engine.score(QUERIES)) == plain, "the engine scores as before"
    model, head = engine.model, engine.model.get_output_embeddings()
    *_, norm = (one for one in model.base_model.children() if "Norm" in type(one).__name__)
    for query, answer in zip(QUERIES, found[1], strict=True):
        [encoded] = engine.encoder.encode([query])
        with torch.inference_mode():
            states = model(torch.tensor([encoded.ids]), output_hidden_states=True).hidden_states
            logits = head(norm(states[1]))[0, encoded.start - 1 : -1].float()
        if architecture == "gemma2":
            logits = 2.0 * torch.tanh(logits / 2.0)
        wanted = torch.tensor(encoded.ids[encoded.start :])[:, None]
        by_hand = torch.log_softmax(logits, -1).gather(1, wanted).sum().item()
        assert answer.logprob == pytest.approx(by_hand, abs=1e-4)


def test_a_norm_may_be_wider_than_its_head(tiny_checkpoint):
    """Mamba keeps its states in float32 whatever the weights are in."""
    engine = open_engine(str(tiny_checkpoint("mamba")), device="cpu", dtype="bfloat16")
    plain = dict(engine.score(QUERIES))
    assert score_layers(engine, QUERIES)[2] == [plain[i] for i in range(len(QUERIES))]


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ("nope", "nope is no model of the study."),
        ("masked", "cannot be read"),
        ("served", "cannot be read"),
    ],
)
def test_a_study_names_models_whose_layers_can_be_read(model, fault):
    kinds = {"masked": ("masked", "transformers"), "served": ("causal", "openai")}
    registry = {name: dict(zip(("kind", "engine"), of, strict=True)) for name, of in kinds.items()}
    study = {"models": list(registry), "ewok": {"layers": {"models": [model]}}}
    with pytest.raises(UserError, match=fault):
        check_models(study, registry)


@pytest.mark.parametrize("architecture", ["cohere", "bert"])
def test_a_model_whose_layers_cannot_be_read_is_refused(
    tiny_checkpoint, gap_checkpoint, architecture
):
    is_masked = architecture == "bert"
    folder = gap_checkpoint() if is_masked else tiny_checkpoint(architecture)
    engine = open_engine(str(folder), device="cpu", kind="masked" if is_masked else "causal")
    with pytest.raises(UserError, match="cannot be read after its layers"):
        score_layers(engine, QUERIES)


def test_the_command_writes_curves_whose_last_layer_is_plain_accuracy(
    item_table, tiny_checkpoint, tmp_path, capsys
):
    out, folder = tmp_path / "layers.parquet", tiny_checkpoint("llama")
    assert run(f"layers {item_table} --checkpoint {folder} --model mine --out {out}") == 0
    table = read_table(out, CheckpointScores)
    overall = table[table["grouping"] == "overall"]
    assert sorted(set(overall["step"])) == [1, 2]
    last = overall[overall["step"] == 2]
    judged = score_items(str(folder), item_table)
    accuracy = (last["mean"] * last["n"]).sum() / last["n"].sum()
    assert accuracy == pytest.approx(judged["accuracy"].mean())
    assert f"2     {accuracy:.3f}" in capsys.readouterr().out
    made = read_provenance(out)
    assert (made.model, made.details["unit"]) == ("mine", "layers")
    assert made.canary == "test canary"
    curves = [f"--{name} {tmp_path / name}.parquet" for name in ("onsets-out", "agreements-out")]
    assert run(f"series curves {out} {' '.join(curves)} --out {tmp_path / 'curves.parquet'}") == 0
    drawn = [tmp_path / "layers.svg", tmp_path / "layer_onsets.md"]
    assert run(f"figure layers {tmp_path / 'curves.parquet'} --out {drawn[0]}") == 0
    assert run(f"table layer_onsets {tmp_path / 'onsets-out.parquet'} --out {drawn[1]}") == 0
    assert all(path.stat().st_size for path in drawn)
