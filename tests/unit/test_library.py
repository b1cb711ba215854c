"""worldprobe as a library, as docs/library.md shows it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import worldprobe
from command_line import run
from simulated_judgements import simulate_items, simulate_judgements
from worldprobe.errors import UserError


@pytest.fixture(scope="module")
def models(tiny_checkpoint: Callable[..., Path]) -> list:
    folders = (tiny_checkpoint("gpt2"), tiny_checkpoint("llama", "sentencepiece"))
    return [worldprobe.load_model(folder) for folder in folders]


def test_the_package_itself_loads_nothing_large() -> None:
    code = (
        "import sys, worldprobe; assert 'score_texts' in worldprobe.__all__; print({'torch',"
        " 'pandas'} & set(sys.modules))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip()
        == "set()"
    )


def test_log_probabilities_of_a_sequence_add_up(models: list) -> None:
    """Of a model whose texts all begin with the same start token."""
    whole, start, end = (
        worldprobe.score_texts(models[1], [text], [context]).logprob[0]
        for text, context in (
            ("Ana lifts the lamp.", None),
            ("Ana lifts", None),
            ("the lamp.", "Ana lifts"),
        )
    )
    assert whole == pytest.approx(start + end, abs=1e-4)


def test_each_text_has_a_row_in_the_given_order(models: list) -> None:
    texts = ["Ben hides the rug.", "Ben.", "Ben hides the rug."]
    scored = worldprobe.score_texts(models[0], texts)
    assert scored.text.tolist() == texts
    assert scored.logprob[0] == scored.logprob[2] != scored.logprob[1]
    assert (scored.n_tokens > 0).all()


def test_a_folder_stands_for_its_model_and_an_empty_context_for_none(models: list) -> None:
    scored = worldprobe.score_texts(
        models[0].facts.checkpoint, ["Ben hides.", "Ben hides."], ["", None]
    )
    assert scored.logprob.nunique() == 1
    assert scored.logprob.notna().all()


def test_a_text_without_a_context_is_scored_as_it_stands(models: list) -> None:
    """outside2, F3: a blank was put before it."""
    texts, contexts = ["Ben hides.", " hides.", "hides."], [None, "Ben", "Ben"]
    rows = worldprobe.score_texts(models[0], texts, contexts, tokens=True, join="").groupby("row")
    assert rows.token.agg("".join).tolist() == ["BenĠhides.", "Ġhides.", "hides."]
    spaced = worldprobe.score_texts(models[0], texts[2:], ["Ben"])
    joined = worldprobe.score_texts(models[0], texts, contexts, join="")
    assert spaced.logprob[0] == pytest.approx(joined.logprob[1], abs=1e-4)


def test_the_tokens_of_a_text_add_up_to_it(models: list) -> None:
    texts, contexts = ["hides the rug.", "sings."], ["Ben", ""]
    scored = worldprobe.score_texts(models[0], texts, contexts)
    tokens = worldprobe.score_texts(models[0], texts, contexts, tokens=True)
    assert tokens.groupby("row").logprob.sum().tolist() == pytest.approx(scored.logprob.tolist())
    assert tokens.groupby("row").size().tolist() == scored.n_tokens.tolist()
    assert tokens.position.tolist() == [*range(scored.n_tokens[0]), *range(scored.n_tokens[1])]


def test_a_model_is_loaded_by_what_evaluate_takes(tiny_checkpoint: Callable[..., Path]) -> None:
    folder = tiny_checkpoint("gpt2")
    loaded = worldprobe.load_model(folder, dtype="bfloat16", device="cpu", batch_size=1)
    assert loaded.facts.dtype == "bfloat16"
    with pytest.raises(UserError, match="controls"):
        worldprobe.load_model("control_heart")
    with pytest.raises(UserError, match="dtype"):
        worldprobe.load_model(folder, dtyp="bfloat16")


def test_a_table_of_ones_own_needs_the_four_texts_only(
    models: list, caplog: pytest.LogCaptureFixture
) -> None:
    texts = {
        "context1": ["Ana lit the lamp."],
        "context2": ["Ana broke the lamp."],
        "target1": ["It is on."],
        "target2": ["It is off."],
    }
    judged = worldprobe.score_items(models[0], pd.DataFrame(texts))
    sure = judged.logprob_context1 - judged.logprob_context2  # newcomer3, 22
    assert (judged.accuracy == np.where(judged.target == 1, sure > 0, sure < 0)).all()
    scores = worldprobe.score_texts(
        models[0], texts["target1"] * 2, texts["context1"] + texts["context2"]
    ).logprob
    assert judged.accuracy[0] == float(scores[0] > scores[1])
    official = pd.DataFrame({name.capitalize(): column for name, column in texts.items()})
    assert worldprobe.score_items(models[0], official).accuracy.equals(judged.accuracy)
    assert (
        worldprobe.score_items(
            models[0], pd.DataFrame({**texts, "domain": "light"})
        ).domain.tolist()
        == ["light"] * 2
    )
    odd = pd.DataFrame(texts).map(lambda text: f"{text}\u00a0")
    assert worldprobe.score_items(models[0], odd).accuracy.equals(judged.accuracy)
    assert "4 texts had spaces" in caplog.text  # EleutherAI/lm-evaluation-harness #218
    with pytest.raises(UserError, match='no column "target2"'):
        worldprobe.score_items(models[0], pd.DataFrame(texts).drop(columns="target2"))
    with pytest.raises(UserError, match="item_id"):
        worldprobe.score_items(models[0], pd.DataFrame({**texts, "item_id": ["first one"]}))


def test_items_with_fillings_of_their_own_are_compared_over_pairs_of_concepts_alone() -> None:
    """The items say it: nobody has to."""
    items = simulate_items(12, 3, seed=0)
    judged = simulate_judgements(
        items, np.zeros((2, len(items), 2)), ["mine", "yours"], "logprobs", seed=0
    )
    pairs = [judged[judged.model == model] for model in ("mine", "yours")]
    together = worldprobe.compare_models(*pairs)
    apart = worldprobe.compare_models(*(rows.assign(filling="own") for rows in pairs))
    assert together.interval_over.unique().tolist() == ["pairs of concepts and versions"]
    assert apart.interval_over.unique().tolist() == ["pairs of concepts"]


def test_items_are_judged_as_the_commands_judge_them_and_models_compared(
    models: list, tmp_path: Path
) -> None:
    items = tmp_path / "items.parquet"
    assert run(f"materials new-domain {tmp_path / 'own'} office-work") == 0
    assert run(f"items build {tmp_path / 'own'} --versions 0-2 --out {items}") == 0
    first, second = (
        worldprobe.score_items(model, items, name)
        for model, name in zip(models, ("mine", "yours"), strict=True)
    )
    folder, scores, judged = (
        models[0].facts.checkpoint,
        tmp_path / "scores.parquet",
        tmp_path / "judgements.parquet",
    )
    assert run(f"score logprobs {items} --checkpoint {folder} --out {scores}") == 0
    assert run(f"judge {items} {scores} --model mine --out {judged}") == 0
    by_commands = pd.read_parquet(judged)
    pd.testing.assert_frame_equal(first[by_commands.columns], by_commands, check_dtype=False)
    compared = worldprobe.compare_models(first, second)
    overall = compared[compared.grouping == "overall"].iloc[0]
    assert overall.difference == pytest.approx(first.accuracy.mean() - second.accuracy.mean())
    assert {overall.model_a, overall.model_b} == {"mine", "yours"}
