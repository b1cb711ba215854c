"""What a rehearsal of the papers' study is given, and what must be there when it has ended."""

import os
from collections.abc import Iterable
from pathlib import Path

import yaml

from worldprobe.benchmarks import outputs, without_downloads
from worldprobe.contracts import read_provenance
from worldprobe.operations.settings import read_settings
from worldprobe.operations.status import not_rehearsed
from worldprobe.settings.study import merge

#: A model of the paper's of each architecture; Gemma, MPT and Falcon are tuned to converse.
ARCHITECTURES = ["gpt2_xl", "phi_1", "gemma_1.1_2b", "mpt_7b_chat", "falcon_7b_instruct"]
ARCHITECTURES += ["Mistral_7B", "Mixtral_8x7B", "Llama_3_70B"]
#: Materials of ours in the place of the official ones.
OURS = {"materials": {"source": "builtin", "compat": False, "release_filter": False}}
#: One template of each domain in two versions, asked in three of the nine ways.
FEW_ITEMS = {
    "items": {"limit": 13, "versions": "0-1"},
    "eval_types": ["logprobs", "likert_free_two", "choice_constrained_two"],
}
#: Trials of ours in the place of the released ones, asked of two models and one rule.
FEW_TRIALS = {"released": None, "sets": ["test", "ood-size"], "problems": [], "per_cell": 1}
FEW_TRIALS |= {"models": ["GPT4", "Llama2-chat-70B"], "controls": ["rule_random"]}
#: What is changed of ``config/paper.yaml``.
PAPER = {"models": ARCHITECTURES, "ewok": OURS | FEW_ITEMS, "report": {"notebooks": []}}
PAPER["worldsense"] = FEW_TRIALS


def check_complete(folder: Path, files: Iterable[Path]) -> Path:
    """All that a study in a folder is for is there; returns the folder of its results."""
    merged: dict[str, object] = {}
    for path in files:
        merged = merge(merged, yaml.safe_load(path.read_text()))
    here = Path.cwd()
    try:
        os.chdir(folder)
        found = read_settings(merged, [], {})
        study = without_downloads(found.study, not_rehearsed(found.study))
    finally:
        os.chdir(here)
    left = [path for path in outputs(study, found.registry) if "/rehearsal/" in path]
    assert left
    assert [path for path in left if not (folder / path).exists()] == []
    return folder / "results" / "rehearsal" / str(merged["study"])


def check_marks(results: Path) -> None:
    """Everything says that it is a rehearsal's."""
    tables = sorted(results.rglob("*.parquet"))
    assert tables
    assert [path for path in tables if not read_provenance(path).details.get("rehearsal")] == []
    for page in (results / "report.html", *results.glob("items.html")):
        assert "This is a rehearsal" in page.read_text()
    for shown in (*results.glob("*/figures/*.svg"), *results.glob("*/[ft]*/*.csv")):
        assert "rehearsal" in shown.read_text()


def check_paper(results: Path) -> None:
    """The papers' study has its figures and tables, and no weights were fetched for it."""
    check_marks(results)
    assert len(list(results.glob("ewok/figures/*.svg"))) >= 8
    assert len(list(results.glob("ewok/tables/*.csv"))) >= 14
    assert not (results.parent / "models").exists(), "a model was fetched"
