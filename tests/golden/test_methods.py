"""What an expensive stage computes moves only with its number in ``methods.py``: a golden file has
its numbers of small inputs.

After a change that moves them, raise the stage's number and record: ``WORLDPROBE_RECORD=1 pytest
tests/golden/test_methods.py``. What only reads other inputs (materials, skins, prompts, what
another stage makes) is recorded without a new number.
"""

import hashlib
import json
import os
import shlex
from collections.abc import Callable
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from command_line import run
from worldprobe import methods
from worldprobe.benchmarks.ewok.contracts import Items
from worldprobe.benchmarks.ewok.materials.materials import MaterialsFiles
from worldprobe.benchmarks.worldsense.contracts import Trials
from worldprobe.benchmarks.worldsense.inference.parse import EXPLICIT, reader_of
from worldprobe.benchmarks.worldsense.skins.vocabulary import ANSWERS
from worldprobe.cli import main, parse
from worldprobe.contracts import read_table, write_table
from worldprobe.files import digest_file
from worldprobe.inference.dialogue import first_numeral, last_word
from worldprobe.models.reasoning import split_thoughts
from worldprobe.paths import REPOSITORY, RESOURCES
from worldprobe.provenance import Provenance
from worldprobe.settings import parse_given
from worldprobe_training.trainings import FinetuningSettings, ReadingLessons

pytest.importorskip("torch")

FILE = Path(__file__).with_name("methods.json")
#: Numbers may move by this much from one machine to another.
NOISE = 1e-3
BUILTIN, SKINS, PROMPTS = (
    RESOURCES / name for name in ("materials/ewok-builtin", "skins", "prompts")
)
#: Of other benchmarks, by lm-evaluation-harness, with data that are fetched.
NOT_OURS = {"ASK_EXTERNAL"}


def digest_read(path: Path | str) -> str:
    """Of materials, what a stage reads: not their README."""
    return MaterialsFiles(path).digest() if path == BUILTIN else digest_file(path)


#: Stages that are given a class of settings.
SETTINGS = {"FINETUNING": FinetuningSettings, "LESSONS": ReadingLessons}
NAMES = sorted(
    name for name, number in vars(methods).items() if name.isupper() and isinstance(number, int)
)
TEXTS = [
    ("Ana lifts the crate. It is heavy.", "Ana is tired."),
    ("The lamp in room 5 is off.", "Ben can't see his 2 hands!"),
]


class Stages:
    """Runs stages, each once, what they read before them.

    Attributes:
        folder: of what they write.
        made: name -> method, inputs, defaults of options, and numbers.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, {}

    def made_by(self, name: str) -> dict[str, Any]:
        if name not in self.made:
            inputs, command, numbers = getattr(self, name.lower())()
            words = shlex.split(command)
            call = parse(words) if words else None
            defaults: dict[str, Any] = {}
            if call:
                call.bound.apply_defaults()
                for key, value in call.bound.arguments.items():
                    is_shared = is_dataclass(value) or hasattr(value, "model_fields_set")
                    defaults |= vars(value) if is_shared else {key: value}
            if kind := SETTINGS.get(name):
                blocks = (one for one in call.bound.arguments.values() if isinstance(one, kind))
                stated = [block.model_dump(exclude_unset=True) for block in blocks]
                defaults |= parse_given(kind, defaults.pop("settings"), *stated).model_dump()
            assert not words or main(words) == 0
            self.made[name] = {
                "method": getattr(methods, name),
                "inputs": {Path(path).name: digest_read(path)[:16] for path in inputs},
                "options": {
                    key: str(value).removeprefix(f"{REPOSITORY}/")
                    for key, value in defaults.items()
                    if str(self.folder) not in str(value)
                },
                "numbers": numbers(),
            }
        return self.made[name]

    def path(self, name: str, maker: str | None = None) -> Path:
        """A file in the folder, once the stage that makes it has run."""
        if maker:
            self.made_by(maker)
        return self.folder / name

    def table(self, name: str) -> Callable[[], str]:
        """A table's rows, as a digest."""
        return lambda: hashlib.sha256(
            pd.read_parquet(self.path(name)).to_csv(index=False).encode()
        ).hexdigest()[:16]

    def templates(self) -> tuple:
        return (
            [BUILTIN],
            f"templates compile builtin@1 --out {self.path('templates.parquet')}",
            self.table("templates.parquet"),
        )

    def items(self) -> tuple:
        inputs = [BUILTIN, self.path("templates.parquet", "TEMPLATES")]
        version, fillers = self.path("version.parquet"), self.path("fillers.parquet")
        compiled = self.path("compiled.parquet")
        assert run(f"templates compile builtin@1 --fillers-out {fillers} --out {compiled}") == 0
        assert run(f"items fill {inputs[1]} {fillers} --version 1 --out {version}") == 0
        return (
            inputs,
            f"items gather {version} --out {self.path('items.parquet')}",
            self.table("items.parquet"),
        )

    def corpus(self) -> tuple:
        inputs = [BUILTIN, self.path("templates.parquet", "TEMPLATES")]
        size = "--taught 0.02 --fillings 3 --sentences 20"
        command = f"controls write-corpus {inputs[1]} builtin@1 {size} --out {self.path('corpus')}"
        return (
            inputs,
            command,
            lambda: [self.table(f"corpus/{name}.parquet")() for name in ("documents", "templates")],
        )

    def tokenizer(self) -> tuple:
        corpus = self.path("corpus", "CORPUS")
        command = (
            f"controls train-tokenizer {corpus} --vocabulary 300 --out {self.path('tokenizer')}"
        )
        return (
            [corpus / "documents.parquet"],
            command,
            lambda: digest_file(self.path("tokenizer/tokenizer.json"))[:16],
        )

    def training(self) -> tuple:
        corpus, tokenizer = self.path("corpus", "CORPUS"), self.path("tokenizer", "TOKENIZER")
        size = "--architecture llama --layers 1 --width 16 --heads 2 --steps 3 --batch 4"
        command = f"controls train {corpus} {tokenizer} {size} --out {self.path('control')}"
        return (
            [corpus / "documents.parquet", tokenizer / "tokenizer.json"],
            command,
            lambda: weights(self.path("control")),
        )

    def vectors(self) -> tuple:
        corpus = self.path("corpus", "CORPUS")
        command = f"baselines train-vectors {corpus} --dimensions 4 --out {self.path('vectors.kv')}"

        def numbers() -> list[float]:
            with np.load(self.path("vectors.kv")) as archive:
                return [
                    float(np.abs(archive[name]).mean())
                    for name in archive.files
                    if archive[name].dtype.kind == "f"
                ]

        return [corpus / "documents.parquet"], command, numbers

    def checkpoints(self) -> tuple:
        items, root, out = (
            self.path(f"series/{name}") for name in ("fixed.parquet", "training", "scores.parquet")
        )
        items.parent.mkdir()
        write_items(items)
        fixed_model(root / "step1", "causal")
        command = f"series score ewok {items} --checkpoint {root} --folders step{{n}} --out {out}"
        return [items], command, self.table("series/scores.parquet")

    def score(self) -> tuple:
        return self._asked("score", ["logprobs", "likert_free_zero", "choice_constrained_zero"])

    def _asked(self, name: str, eval_types: list[str]) -> tuple:
        items, outs = (
            self.path("fixed.parquet"),
            [self.path(f"{name}_{eval_type}.parquet") for eval_type in eval_types],
        )
        write_items(items)
        checkpoints = {
            kind: fixed_model(self.path(kind), kind)
            for kind in ("causal", "masked", "encoder-decoder")
        }
        for kind in ("masked", "encoder-decoder"):
            how = f"--checkpoint {checkpoints[kind]} --kind {kind} --out {self.path(kind)}.parquet"
            assert run(f"score logprobs {items} {how}") == 0
        how = f"--checkpoint {checkpoints['causal']} --eval-types {','.join(eval_types)}"
        command = f"score all {items} {how} --out {' '.join(map(str, outs))}"

        def numbers() -> dict[str, Any]:
            scores = {
                path.stem: pd.read_parquet(path)
                for path in (outs[0], *(self.path(f"{kind}.parquet") for kind in KINDS))
            }
            values = {name: frame["logprob"].tolist() for name, frame in scores.items()}
            texts = {path.stem: pd.read_parquet(path)["text"].tolist() for path in outs[1:]}
            return values | texts | {"thoughts": [split_thoughts(text) for text in THOUGHTS]}

        return [PROMPTS / "ewok.yaml"], command, numbers

    def trials(self) -> tuple:
        made = f"{FEW} --skins tall/short trips --out {self.path('trials.parquet')}"
        command = f"worldsense generate test {made}"
        return [SKINS], command, self.table("trials.parquet")

    def ask(self) -> tuple:
        outs = [self.path(f"{name}.parquet") for name in ("basic", "constrained")]
        few, trials = (
            self.path("few.parquet"),
            read_table(self.path("trials.parquet", "TRIALS"), Trials),
        )
        first = trials[trials["tuple_id"].isin(trials["tuple_id"].unique()[:2])]
        write_table(first, Trials, few, Provenance(canary="test canary"))
        checkpoint = fixed_model(self.path("causal"), "causal")
        how = f"--checkpoint {checkpoint} --prompting basic,constrained"
        command = f"worldsense ask {few} {how} --out {' '.join(map(str, outs))}"
        return (
            [few, PROMPTS / "worldsense"],
            command,
            lambda: [
                *(pd.read_parquet(path)["reply"].tolist() for path in outs),
                [split_thoughts(text) for text in THOUGHTS],
            ],
        )

    def reading(self) -> tuple:
        readers = [first_numeral("12345"), first_numeral("12"), last_word(("TRUE", "FALSE"))]
        readers += [reader_of(EXPLICIT, kind, accept) for kind, accept in ANSWERS.items()]
        return (
            [],
            "",
            lambda: [
                [[read(text).value, read(text).status] for read in readers] for text in REPLIES
            ],
        )

    def phrases(self) -> tuple:
        command = f"worldsense write-phrases --out {self.path('phrases')}"
        return [SKINS], command, lambda: digest_file(self.path("phrases/tokenizer.json"))[:16]

    def lessons(self) -> tuple:
        settings = {
            "kinds": {"copy": 1, "judge": 1, "asked": 1, "written": 1},
            "sizes": [4],
            "number": 40,
        }
        command = f"worldsense write-lessons --settings '{json.dumps(settings)}'"
        return (
            [SKINS],
            f"{command} --out {self.path('lessons.jsonl.gz')}",
            lambda: digest_file(self.path("lessons.jsonl.gz"))[:16],
        )

    def start_model(self) -> tuple:
        trials = self.path("train.parquet")
        some = f"{FEW} --problems Infer.trivial --out {trials}"
        assert run(f"worldsense generate train-10k {some}") == 0
        size = "--layers 1 --width 16 --heads 2 --vocabulary 300"
        return (
            [trials],
            f"worldsense start-model {trials} {size} --out {self.path('start')}",
            lambda: weights(self.path("start")),
        )

    def finetuning(self) -> tuple:
        start, trials = self.path("start", "START_MODEL"), self.path("train.parquet")
        how = "--steps 3 --settings '{\"batch\": 4}' --warm-up 1 --learning-rate 0.001 --chat never"
        how += f" --prompt-set constrained --checkpoints {self.path('checkpoints')}"
        command = f"worldsense finetune {start} {trials} {how} --out {self.path('tuned')}"
        return [trials], command, lambda: weights(self.path("tuned"))


REPLIES = [
    "1. It is impossible to decide.",
    "4",
    " 2.",
    "4.0",
    "I would say 4 out of 5",
    "10",
    "-1",
    "\u22121",
    "**True**.",
    "It is not false",
    "true or 1",
    "The answer is (3), as option 1 may not hold.",
    "It is impossible to decide.",
    "I would say TRUE, not FALSE.",
    "...",
    "",
    "选项２",
]
THOUGHTS = [
    "<think>1 or 2</think>5",
    "1 or 2</think>5",
    "[THINK]1 or 2",
    "<|channel|>analysis<|message|>1 or 2<|end|><|start|>assistant<|channel|>final<|message|>5",
    "analysisIs it 1?assistantfinal5",
    "5 <think>or 2",
]
#: A small part of a set of trials.
FEW = "--sizes 3 --per-cell 1"
KINDS = ("masked", "encoder-decoder")


def write_items(path: Path) -> None:
    """Two invented items."""
    (context1, target1), (context2, target2) = TEXTS
    row = {
        "context1": context1,
        "context2": context2,
        "target1": target1,
        "target2": target2,
        "domain": "test",
        "version": 0,
    }
    row |= {
        "meta_template": 1,
        "template": 1,
        "concept_a": "a",
        "concept_b": "b",
        "context_contrast": "antonym",
    }
    row |= {
        "context_type": "direct",
        "target_contrast": "concept swap",
        "fillers": "{}",
        "tags": "",
    }
    swapped = row | {"context1": context2, "context2": context1, "template": 2}
    frame = pd.DataFrame([row | {"item_id": "test_1_1_v0"}, swapped | {"item_id": "test_1_2_v0"}])
    frame["duplicate_of"] = pd.Series([None, None], dtype="str")
    write_table(frame, Items, path, Provenance(canary="test canary"))


def fixed_model(folder: Path, kind: str) -> Path:
    """A model whose weights and tokenizer are the same on every machine: from NumPy, and of
    bytes with a few merges.
    """
    import torch
    import transformers as t
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    if folder.exists():
        return folder
    special = ["<s>", "</s>", "<pad>", "<mask>"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [
        ("i", "s"),
        ("Ġ", "is"),
        ("t", "h"),
        ("th", "e"),
        ("Ġ", "the"),
        ("a", "n"),
        ("e", "r"),
    ]
    words = [*special, *letters, *dict.fromkeys("".join(pair) for pair in merges)]
    tokenizer = Tokenizer(
        models.BPE(vocab={word: place for place, word in enumerate(words)}, merges=merges)
    )
    tokenizer.pre_tokenizer, tokenizer.decoder = (
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        decoders.ByteLevel(),
    )
    names = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "mask_token": "<mask>",
        "cls_token": "<s>",
        "sep_token": "</s>",
    }
    t.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    ids = {"vocab_size": len(words), "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    small = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    if kind == "causal":
        model = t.LlamaForCausalLM(t.LlamaConfig(max_position_embeddings=2048, **small, **ids))
    elif kind == "masked":
        model = t.BertForMaskedLM(t.BertConfig(max_position_embeddings=256, **small, **ids))
    else:
        size = {
            "d_model": 16,
            "d_ff": 32,
            "d_kv": 8,
            "num_layers": 2,
            "num_heads": 2,
            "decoder_start_token_id": 2,
        }
        model = t.T5ForConditionalGeneration(t.T5Config(**size, **ids))
    rng = np.random.default_rng(0)
    for _, weight in sorted(model.named_parameters()):
        weight.data = torch.from_numpy(rng.normal(0, 0.3, tuple(weight.shape))).float()
    model.save_pretrained(folder)
    return folder


def weights(folder: Path) -> dict[str, float]:
    """The mean size of each of a model's weights."""
    from safetensors.torch import load_file

    return {
        name: value.float().abs().mean().item()
        for name, value in sorted(load_file(folder / "model.safetensors").items())
    }


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Stages:
    return Stages(tmp_path_factory.mktemp("golden"))


def is_near(one: Any, other: Any) -> bool:
    """Equal, but for the noise of machines in numbers."""
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(is_near(one[key], other[key]) for key in one)
        )
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(is_near, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= NOISE * max(1.0, abs(other))
    return bool(one == other)


def moved(found: dict[str, Any], kept: dict[str, Any]) -> str:
    """What differs although the number does not: defaults of options, or numbers made from the
    same inputs.
    """
    if found["method"] != kept["method"]:
        return ""
    shared = found["options"].keys() & kept["options"].keys()
    changed = sorted(key for key in shared if found["options"][key] != kept["options"][key])
    is_other = found["inputs"] == kept["inputs"] and not is_near(found["numbers"], kept["numbers"])
    return ", ".join(
        [*(f"the default of {key}" for key in changed), *(["the numbers"] if is_other else [])]
    )


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_OURS])
@pytest.mark.long
def test_what_a_stage_computes_moves_only_with_its_number(stages: Stages, name: str) -> None:
    golden = json.loads(FILE.read_text()) if FILE.is_file() else {}
    found = json.loads(json.dumps(stages.made_by(name)))
    difference = moved(found, golden[name]) if name in golden else ""
    assert not difference, f"{difference} moved: raise methods.{name}"
    if os.environ.get("WORLDPROBE_RECORD"):
        FILE.write_text(json.dumps(golden | {name: found}, indent=1, sort_keys=True) + "\n")
    else:
        is_same = is_near(
            {**found, "options": sorted(found["options"])},
            {**golden[name], "options": sorted(golden[name]["options"])},
        )
        assert is_same, "its inputs, options or number changed: record (see above)"


def test_every_expensive_stage_has_golden_numbers() -> None:
    assert set(json.loads(FILE.read_text())) == set(NAMES) - NOT_OURS
