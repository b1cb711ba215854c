"""Baselines that go by relatedness: WordNet's glosses on a database made here, and a sentence
encoder.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from worldprobe.benchmarks.ewok.baselines import (
    PAIRS,
    read_cosines,
    similarities,
    weighted_mean,
)
from worldprobe.benchmarks.ewok.contracts import Similarities
from worldprobe.benchmarks.ewok.wordnet import WordNet
from worldprobe.contracts import write_table
from worldprobe.errors import UserError
from worldprobe.models.sentence_encoder import encode
from worldprobe.provenance import Provenance

#: Part of speech -> lines of its data and index files, and irregular forms; offsets are the senses'
#: names.
DATABASE = {
    "noun": (
        [
            "  1 This line stands for the licence.",
            "01 03 n 01 sun 0 001 @ 02 n 0000 | a star",
            "02 03 n 02 body 0 thing 1 001 ~ 01 n 0000 | gives heat  ",
            "03 03 n 01 snow 0 000 | frozen water",
            "04 03 n 01 mouse 0 000 | a rodent",
        ],
        [
            "sun n 1 1 @ 1 1 01",
            "body n 1 1 ~ 1 0 02",
            "thing n 1 1 ~ 1 0 02",
            "snow n 1 0 1 0 03",
            "mouse n 1 0 1 0 04",
        ],
        ["mice mouse"],
    ),
    "verb": (
        ["01 30 v 01 give 0 000 01 + 08 00 | hand over", "02 30 v 01 heat 0 000 00 | make warm"],
        ["give v 1 0 1 1 01", "heat v 1 0 1 0 02"],
        [],
    ),
    "adj": (
        ["01 00 s 01 warm 0 000 | of heat", "02 00 a 01 cold 0 000 | of water"],
        ["warm a 1 0 1 0 01", "cold a 1 0 1 0 02"],
        [],
    ),
    "adv": (["01 02 r 01 water 0 000 | wet"], ["water r 1 0 1 0 01"], []),
}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    for part, files in DATABASE.items():
        for name, lines in zip(
            (f"data.{part}", f"index.{part}", f"{part}.exc"), files, strict=True
        ):
            (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def items(*texts: str) -> pd.DataFrame:
    names = ("target1", "target2", "context1", "context2")
    return pd.DataFrame(
        [
            {
                "item_id": "toy-world_1_1_v0",
                "fillers": '{"agent1": "Sun"}',
                **dict(zip(names, texts, strict=True)),
            }
        ]
    )


def cosines(table: pd.DataFrame) -> np.ndarray:
    return table["similarity"].to_numpy().reshape(2, 2)


def test_words_are_related_by_the_glosses_of_what_wordnet_relates_to_them(database: Path) -> None:
    found = cosines(
        similarities(
            items("It is warm.", "It is COLD.", "It sees suns.", "There is snow."),
            WordNet(database).vectors,
        )
    )
    assert found[0, 0] > 0  # warm: "of heat"; suns are sun, a body that "gives heat"
    assert found[0, 1] == found[1, 0] == 0
    assert found[1, 1] > 0  # water is in both glosses


def test_irregular_forms_are_found_names_do_not_count_and_the_same_words_tie_exactly(
    database: Path,
) -> None:
    related = WordNet(database)
    assert related.base_forms("mice") == [("n", "mouse")]
    assert related.base_forms("gives") == [("v", "give")]
    swapped = cosines(
        similarities(
            items("Sun.", "Warm suns.", "Snow warms suns, mice.", "Suns, mice, warms snow."),
            related.vectors,
            ["agent"],
        )
    )
    assert np.isnan(swapped[0]).all()
    assert swapped[1, 0] == swapped[1, 1]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("encoder")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "sun", "snow", "is", "warm", "cold", "."]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(1)
    shape = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    BertModel(
        BertConfig(
            vocab_size=len(words), max_position_embeddings=32, initializer_range=0.5, **shape
        )
    ).save_pretrained(folder)
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 8}')
    (folder / "1_Pooling").mkdir()
    _pool(folder, "mean_tokens")
    return folder


def _pool(folder: Path, by: str) -> None:
    modes = {
        f"pooling_mode_{name}": name == by for name in ("cls_token", "mean_tokens", "max_tokens")
    }
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps({"word_embedding_dimension": 16, **modes})
    )


def test_a_sentences_vector_is_the_mean_over_its_own_tokens_whatever_else_is_in_the_batch(
    encoder: Path,
) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    long = "sun is warm snow is cold sun is warm"
    both = encode(encoder, [long, "sun."])
    for text, vector in zip([long, "sun."], both, strict=True):
        read = AutoTokenizer.from_pretrained(encoder)(
            text, truncation=True, max_length=8, return_tensors="pt"
        )
        with torch.inference_mode():
            states = AutoModel.from_pretrained(encoder).eval()(**read).last_hidden_state[0]
        assert vector == pytest.approx(states.mean(dim=0).numpy(), abs=1e-5)


def _change(path: Path, **values: object) -> None:
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | values))


@pytest.fixture
def copy(encoder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(encoder, tmp_path / "encoder"))


SENTENCE = ["sun is warm"]


def test_sentence_transformers_6_2_writes_its_pooling_otherwise(copy: Path) -> None:
    before = encode(copy, SENTENCE)
    (copy / "1_Pooling" / "config.json").write_text(
        json.dumps({"embedding_dimension": 16, "pooling_mode": "mean", "include_prompt": True})
    )
    (copy / "sentence_bert_config.json").write_text('{"transformer_task": "feature-extraction"}')
    _change(copy / "tokenizer_config.json", model_max_length=8)
    modules = [
        {"type": "sentence_transformers.base.modules.transformer.Transformer", "path": ""},
        {"type": "sentence_transformers.sentence_transformer.modules.Pooling", "path": "1_Pooling"},
    ]
    (copy / "modules.json").write_text(json.dumps(modules))
    assert encode(copy, SENTENCE) == pytest.approx(before)
    long = "sun is warm snow is cold sun is warm"
    assert encode(copy, [long]) == pytest.approx(encode(copy, [" ".join(long.split()[:6])]))
    _change(copy / "1_Pooling" / "config.json", pooling_mode="cls")
    with pytest.raises(UserError, match="does not average tokens"):
        encode(copy, SENTENCE)


def test_weights_that_an_encoder_lacks_are_an_error_not_random_numbers(copy: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(copy / "model.safetensors")
    kept = {name: value for name, value in weights.items() if "pooler" not in name}
    save_file(kept, copy / "model.safetensors", metadata={"format": "pt"})
    encode(copy, SENTENCE)  # what is not used may be absent
    kept = {name: value for name, value in kept.items() if "layer.1.intermediate" not in name}
    save_file(kept, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"lacks 2 of the model's weights, e\.g\. .*intermediate"):
        encode(copy, SENTENCE)


def test_an_encoder_of_another_depth_than_its_weights_is_refused(copy: Path) -> None:
    _change(copy / "config.json", num_hidden_layers=1)
    with pytest.raises(UserError, match=r"weights of a larger model than config\.json describes"):
        encode(copy, SENTENCE)


def test_sentence_transformers_1566_a_step_behind_the_pooling_is_refused(copy: Path) -> None:
    steps = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    modules = [
        {"type": f"sentence_transformers.models.{kind}", "path": path}
        for kind, path in steps.items()
    ]
    before = encode(copy, SENTENCE)
    (copy / "modules.json").write_text(json.dumps(modules))
    assert encode(copy, SENTENCE) == pytest.approx(before / np.linalg.norm(before))
    modules[2]["type"] = "sentence_transformers.models.Dense"
    (copy / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(UserError, match=r"changes its vectors by a step .* \(Dense\)"):
        encode(copy, SENTENCE)


def test_transformers_js_230_a_default_prompt_stands_before_each_text(copy: Path) -> None:
    expected = encode(copy, ["cold . sun is warm"])
    _change(
        copy / "config_sentence_transformers.json",
        prompts={"query": "cold . "},
        default_prompt_name="query",
    )
    assert encode(copy, SENTENCE) == pytest.approx(expected)
    _change(copy / "1_Pooling" / "config.json", include_prompt=False)
    with pytest.raises(UserError, match=r"leaves its default prompt 'cold \. ' out of the mean"):
        encode(copy, SENTENCE)


def test_a_text_longer_than_the_positions_is_cut_where_no_length_is_stated(copy: Path) -> None:
    _change(copy / "sentence_bert_config.json", max_seq_length=None)
    vector = encode(copy, ["sun is warm " * 20])
    assert vector == pytest.approx(encode(copy, ["sun is warm " * 10]))
    assert np.isfinite(vector).all()


def test_pickled_weights_of_an_encoder_are_read_only_where_it_is_allowed(copy: Path) -> None:
    import torch
    from safetensors.torch import load_file

    before = encode(copy, SENTENCE)
    torch.save(load_file(copy / "model.safetensors"), copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    with pytest.raises(UserError, match="is not a sentence encoder"):
        encode(copy, SENTENCE)
    assert encode(copy, SENTENCE, allow_pickle=True) == pytest.approx(before)


def test_relatedness_is_the_mean_of_kinds_that_count_alike() -> None:
    """The second kind says the same in a tenth of the unit, and no kind outweighs another; where
    one is missing the others decide.
    """
    items = pd.DataFrame({"item_id": ["a"] * 4 + ["b"] * 4, "target": [1, 1, 2, 2] * 2})
    table = items.assign(context=[1, 2] * 4)
    first = table.assign(similarity=[0.9, 0.1, 0.1, 0.9, 0.2, 0.8, np.nan, 0.3])
    second = table.assign(similarity=[0.05, 0.07, 0.05, 0.08, 0.01, 0.05, 0.01, 0.03])
    found = cosines_by_target(weighted_mean([first, second]))
    alike = cosines_by_target(
        weighted_mean([first, second.assign(similarity=10 * second["similarity"])])
    )
    assert np.sign(found[:, 0] - found[:, 1]).tolist() == [1, -1, -1, -1]
    assert np.sign(alike[:, 0] - alike[:, 1]).tolist() == [1, -1, -1, -1]
    assert np.abs(found).max() <= 1
    nothing = table.assign(similarity=np.where(table["item_id"] == "a", np.nan, 0.5))
    nothing.loc[4, "similarity"] = 0.6
    both = cosines_by_target(weighted_mean([nothing, nothing]))
    assert np.isnan(both[:2]).all()
    assert not np.isnan(both[2:]).any()


def test_cosines_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    ids = [f"toy-world_{number}_1_v0" for number in (1, 2)]
    rows = pd.DataFrame([(i, t, c) for i in ids for t, c in PAIRS], columns=[*"itc"])
    rows.columns = ["item_id", "target", "context"]
    rows["similarity"] = np.arange(8) / 10
    items, path = pd.DataFrame({"item_id": ids}), tmp_path / "cosines.parquet"
    write_table(rows.iloc[::-1], Similarities, path, Provenance())
    assert read_cosines(path, items)["similarity"].tolist() == rows["similarity"].tolist()


def cosines_by_target(table: pd.DataFrame) -> np.ndarray:
    return table["similarity"].to_numpy().reshape(-1, 2)
