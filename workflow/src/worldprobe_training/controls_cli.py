"""``controls``: the corpus, the tokenizer and the small models that are trained here as calibration
controls.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from worldprobe import methods
from worldprobe.benchmarks.ewok.cli.templates import read_and_check
from worldprobe.cli.options import (
    KEYS,
    Compat,
    MaterialsPlace,
    Missing,
    OutFolder,
    Pairs,
    Password,
    answered,
    between,
    missing_models,
    pairs_of,
)
from worldprobe.files import check_place, whole_folder
from worldprobe.log import LOGGER
from worldprobe.provenance import digests, made
from worldprobe.settings.study import CorpusSettings, TokenizerSettings
from worldprobe_training.arithmetic import facts, pin
from worldprobe_training.settings import ScratchSettings

app = App(name="controls", help="Small models of known behaviour, trained on a corpus of our own.")

ACCURACY_METHOD = 5

DOCUMENTS, TEMPLATES = "documents.parquet", "templates.parquet"

Corpus = Annotated[Path, Parameter(help="folder that `controls write-corpus` wrote")]


@app.command
def write_corpus(
    templates: Path,
    materials: MaterialsPlace,
    /,
    *,
    password: Password = None,
    compat: Compat = False,
    how: Annotated[CorpusSettings, KEYS] = CorpusSettings(),
    out: OutFolder,
) -> None:
    """Write the corpus: stories and items of the templates that are taught.

    Both join a context and its right target. Templates are taught of the training part of the
    materials' split only.

    Args:
        templates: templates table
        out: folder for documents.parquet and templates.parquet
    """
    from worldprobe.benchmarks.ewok.contracts import ControlDocuments, Templates
    from worldprobe.contracts import read_table, write_table
    from worldprobe_training.contracts import ControlTemplates
    from worldprobe_training.corpus import build_corpus

    read = read_and_check(materials, password, compat)
    corpus = build_corpus(read_table(templates, Templates), read, how)
    provenance = made(
        methods.CORPUS,
        {"templates": templates},
        ["numpy", "pandas"],
        digests={"materials": read.source.digest()},
        seed=how.seed,
        canary=read.canary,
        details=how.model_dump(include={"taught", "fillings", "doses"})
        | {"compat": compat}
        | corpus.counts(),
    )
    with whole_folder(out) as folder:
        write_table(corpus.documents, ControlDocuments, folder / DOCUMENTS, provenance)
        write_table(corpus.templates, ControlTemplates, folder / TEMPLATES, provenance)


@app.command(name="train-tokenizer")
def train_tokenizer_(
    corpus: Corpus,
    /,
    *,
    how: Annotated[TokenizerSettings, KEYS] = TokenizerSettings(),
    out: OutFolder,
) -> None:
    """Train a byte-level BPE tokenizer on the corpus.

    Args:
        out: folder of the tokenizer, written whole or not at all
    """
    from worldprobe.benchmarks.ewok.contracts import ControlDocuments
    from worldprobe.benchmarks.ewok.word2vec import DOCUMENT_KINDS, read_by
    from worldprobe.contracts import read_table
    from worldprobe_training.tokenizer import save_tokenizer, train_tokenizer

    texts = read_by(
        read_table(corpus / DOCUMENTS, ControlDocuments), DOCUMENT_KINDS, f"{corpus / DOCUMENTS}"
    ).text
    tokenizer = train_tokenizer(texts, how.vocabulary)
    provenance = made(
        methods.TOKENIZER,
        {"documents": corpus / DOCUMENTS},
        ["tokenizers"],
        details={"vocabulary": tokenizer.get_vocab_size()},
    )
    with whole_folder(out) as folder:
        save_tokenizer(tokenizer, folder)
        (folder / "provenance.json").write_text(provenance.to_json() + "\n", encoding="utf-8")
    lengths = [len(encoding.ids) for encoding in tokenizer.encode_batch(list(texts[:2000]))]
    LOGGER.info(
        "%d tokens; a document has %.1f on average",
        tokenizer.get_vocab_size(),
        sum(lengths) / len(lengths),
    )


@app.command
def train(
    corpus: Corpus,
    tokenizer: Path,
    /,
    *,
    how: Annotated[ScratchSettings, KEYS] = ScratchSettings(),
    save_at: Annotated[Sequence[int], between(0)] = (),
    folders: str = "step{n}",
    out: OutFolder,
) -> None:
    """Train one causal language model from scratch.

    Writes an ordinary Hugging Face folder, whole or not at all; the same settings give the same
    bytes.

    Args:
        tokenizer: folder that `controls train-tokenizer` wrote
        save_at: numbers of steps after which the model is also saved, in a folder below --out
        folders: name of these folders, {n} for the number of steps
        out: folder of the model, written whole or not at all
    """
    from worldprobe.benchmarks.ewok.contracts import ControlDocuments
    from worldprobe.benchmarks.ewok.word2vec import read_by
    from worldprobe.contracts import read_table

    if not pin():
        LOGGER.warning(
            "torch was loaded before: the weights may differ from those of another type of"
            " processor"
        )
    from worldprobe_training import scratch

    encoder = scratch.load_trained_tokenizer(tokenizer)
    documents = read_by(
        read_table(corpus / DOCUMENTS, ControlDocuments), how.reads, f"{corpus / DOCUMENTS}"
    )
    name, inputs = (
        out.name,
        digests({"documents": corpus / DOCUMENTS, "tokenizer": tokenizer / "tokenizer.json"}),
    )
    check_place(out, is_folder=True)
    saved: dict[int, dict[str, Any]] = {}

    def keep(step: int, model: Any) -> None:
        if step in save_at:
            saved[step] = {key: value.clone() for key, value in model.state_dict().items()}

    model, losses = scratch.train(
        documents.text.tolist(),
        encoder,
        how,
        name,
        documents.start.tolist(),
        keep if save_at else None,
    )
    provenance = made(
        methods.TRAINING,
        packages=["torch", "transformers", "tokenizers", "safetensors", "numpy"],
        digests=inputs,
        seed=how.seed,
        model=name,
        dtype="float32",
        details={
            "reads": list(how.reads),
            "n_parameters": model.num_parameters(),
            "loss": scratch.last_loss(losses),
            **facts(),
        },
    )
    with whole_folder(out) as folder:
        scratch.save_model(model, tokenizer, folder, name, how, provenance)
        trained = (
            model.state_dict()
            if not saved
            else {key: value.clone() for key, value in model.state_dict().items()}
        )
        for step, weights in saved.items():
            model.load_state_dict(weights)
            step_folder = folder / folders.replace("{n}", str(step))
            step_folder.mkdir()
            scratch.save_model(
                model, tokenizer, step_folder, f"{name}, step {step}", how, provenance
            )
        model.load_state_dict(trained)
    LOGGER.info(
        "%s: %s parameters, loss %s",
        name,
        f"{model.num_parameters():,}",
        provenance.details["loss"],
    )


@app.command
def measure(
    items: Path,
    corpus: Corpus,
    judgements: list[Path],
    /,
    *,
    reads: Annotated[Sequence[str], Parameter(validator=Pairs("MODEL=KINDS"))] = (),
    missing: Missing = (),
    out: Path,
) -> None:
    """Measure each model's accuracy by how much of an item was in its training texts.

    The item itself, its template with other fillings, other templates of its pair of concepts, or
    nothing of these.

    Args:
        items: items table
        judgements: judgements of one eval_type, a file per model
        reads: MODEL=KINDS: what a model reads where this is not stories, such as mine=story,item
        out: control_accuracies table
    """
    from worldprobe.benchmarks.ewok.analysis.provenances import check_items, kinds_of
    from worldprobe.benchmarks.ewok.contracts import ControlDocuments, Items, Judgements
    from worldprobe.contracts import read_table, write_table
    from worldprobe_training import corpus as controls
    from worldprobe_training.contracts import ControlAccuracies, ControlTemplates

    judgements, without = answered(judgements)
    paths = {"items": items, "documents": corpus / DOCUMENTS, "templates": corpus / TEMPLATES}
    learned = controls.Corpus(
        read_table(paths["documents"], ControlDocuments),
        read_table(paths["templates"], ControlTemplates),
    )
    tables = [read_table(path, Judgements) for path in judgements]
    check_items(items, judgements)
    kinds = {model: text.split(",") for model, text in pairs_of(reads).items()}
    item_table = read_table(items, Items)
    accuracies = controls.accuracy_by_group(tables, item_table, learned, kinds)
    details = (
        {"n_items": len(item_table)}
        | missing_models(missing, accuracies["model"].unique(), without)
        | kinds_of(judgements)
    )
    inputs = paths | {str(path): path for path in judgements}
    provenance = made(ACCURACY_METHOD, inputs, ["numpy", "pandas"], details=details)
    write_table(accuracies, ControlAccuracies, out, provenance)
