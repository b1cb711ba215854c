"""worldprobe as a library: load a model, score texts, score EWoK's items, compare models. No file is written.

The package has these functions as attributes, too: ``worldprobe.score_texts``. Each loads what it needs when it is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.models.engine import Engine


def load_model(model: str | Path, dtype: str = "float32", device: str = "auto", adapter: str | Path | None = None) -> Engine:
    """Load a model with transformers: causal, masked or encoder-decoder, as its configuration states.

    Args:
        model: folder in Hugging Face format, or hub id that was fetched before.
        dtype: float32, bfloat16 or float16.
        device: auto (all visible GPUs, else the CPU), cpu, or e.g. cuda:1.
        adapter: folder or hub id of an adapter of peft that is put on the model; "none": the weights of a folder that has both.

    Raises:
        UserError: it is not there, or cannot be loaded.
    """
    from worldprobe.models.checkpoint import locate
    from worldprobe.models.transformers_engine import open_engine

    named = None if adapter is None else str(adapter)
    kind = locate(str(model), kind=None, adapter=named).kind
    return open_engine(str(model), dtype, device=device, kind=kind, adapter=named)


def score_texts(model: Engine, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> pd.DataFrame:
    """Log probability of each text, after a context where there is one.

    Args:
        model: what ``load_model`` returned.
        texts: what is scored.
        contexts: one for each text, joined to it by a space; None: the text alone, after the model's start token.

    Returns:
        A row per text: context, text, logprob (nats; missing where it is not a log probability), n_tokens (scored), flags.

    Raises:
        UserError: the texts are no list of texts, or there are more or fewer contexts.
    """
    import pandas as pd

    from worldprobe.errors import UserError
    from worldprobe.models.engine import Loglikelihood

    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise UserError("texts", "are not a list of texts.", 'Write score_texts(model, ["A sentence."]), without missing ones.')
    given: list[str | None] = [None] * len(texts)
    if contexts is not None:
        given = [None if pd.isna(context) else context for context in contexts]
    if len(given) != len(texts):
        raise UserError("contexts", f"are {len(given)}, for {len(texts)} texts.", "Give one for each text, or None.")
    queries = [Loglikelihood(context, text) for context, text in zip(given, texts, strict=True)]
    answers = dict(model.score(queries))
    return pd.DataFrame(
        {
            "context": given,
            "text": list(texts),
            "logprob": pd.Series([answers[i].logprob for i in range(len(queries))], dtype="float64"),
            "n_tokens": [answers[i].n_tokens for i in range(len(queries))],
            "flags": [",".join(answers[i].flags) for i in range(len(queries))],
        }
    )


def score_items(model: Engine, items: pd.DataFrame | str | Path, name: str = "") -> pd.DataFrame:
    """Accuracy of a model on EWoK's items, by log probabilities.

    Args:
        model: what ``load_model`` returned.
        items: what ``worldprobe items build`` wrote, as a path or a table.
        name: the model's name in the table; the checkpoint's, if none is given.

    Returns:
        Judgements: a row per item and target, with accuracy (1, 0.5 for an exact tie, 0) and the item's design.

    Raises:
        UserError: the file is not an items table, or a text is missing.
        ContractError: a table's columns are not those of items.
    """
    import pandas as pd

    from worldprobe.benchmarks.ewok.analysis.judge import judge_target_scores
    from worldprobe.benchmarks.ewok.contracts import Items, Judgements
    from worldprobe.benchmarks.ewok.scoring import check_texts, score_logprobs
    from worldprobe.contracts import read_table, validate
    from worldprobe.inference.store import open_store
    from worldprobe.models.checkpoint import short_name

    rows = validate(items, Items) if isinstance(items, pd.DataFrame) else read_table(items, Items)
    check_texts(rows, "items")
    with TemporaryDirectory() as kept:
        scores, _, _ = score_logprobs(rows, model, open_store(kept, model))
    judged = judge_target_scores(rows, scores, name or short_name(model.facts.checkpoint), dtype=model.facts.dtype)
    return validate(judged.table, Judgements)


def compare_models(*judgements: pd.DataFrame, has_own_fillings: bool = False) -> pd.DataFrame:
    """Is one model better than another on the same items? Paired, overall and by domain.

    Args:
        judgements: what ``score_items`` returned, of models with different names.
        has_own_fillings: whether each item was filled on its own (``items build`` with the built-in materials, or ``--mode
            independent``), so that versions share nothing.

    Returns:
        Comparisons: difference, interval and p of every pair of models; ``sentence`` says it in words.

    Raises:
        UserError: there are fewer than two models, or no two have an item in common.
    """
    import pandas as pd

    from worldprobe.benchmarks.ewok.analysis import compare
    from worldprobe.errors import UserError

    if not judgements:
        raise UserError("judgements", "there are none.", "Give what score_items returned of two models.")
    return compare.compare_models(pd.concat(judgements, ignore_index=True), has_own_fillings=has_own_fillings)
