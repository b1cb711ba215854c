"""worldprobe as a library: load a model, score texts, score EWoK's items, compare models. No file
is written.

The package has these functions as attributes, too: ``worldprobe.score_texts``. Each loads what it
needs when it is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.models.engine import Engine


def load_model(model: str | Path | None = None, **options: Any) -> Engine:
    """Load a model, or reach its server: anything that ``worldprobe evaluate`` takes.

    Args:
        model: folder, fetched hub id, GGUF file, package URL, folder of an adapter, or id of the
            registry; None for a model on a server.
        **options: what `worldprobe evaluate --help` lists below "The model", such as dtype, device,
            adapter, batch_size, revision, and of a server endpoint and model (its name there).

    Raises:
        UserError: it is not there, cannot be loaded, or stands in for a model in a rehearsal; or an
            option is unknown.
    """
    from worldprobe.cli.engines import Setup, refuse_stand_in, set_up
    from worldprobe.paths import REGISTRY
    from worldprobe.settings import Source, parse

    given = {
        key: str(value) if isinstance(value, Path) else value for key, value in options.items()
    }
    setup = parse(Setup, given, [Source("load_model", given)])
    loaded = set_up(None if model is None else str(model), REGISTRY, setup)
    refuse_stand_in(loaded)
    return loaded.open()


def _opened(model: Engine | str | Path) -> Engine:
    """A model itself, or the one of this name."""
    return load_model(model) if isinstance(model, str | Path) else model


def score_texts(
    model: Engine | str | Path,
    texts: Sequence[str],
    contexts: Sequence[str | None] | None = None,
    tokens: bool = False,
    join: str = " ",
) -> pd.DataFrame:
    """Log probability of each text, after a context where there is one.

    Args:
        model: what ``load_model`` returned, or what it takes.
        texts: what is scored.
        contexts: one for each text; None or empty: the text alone, as it stands, after the model's
            start token.
        tokens: return a row per token of the texts instead.
        join: stands between context and text and belongs to the text; "" where a script has no
            blanks.

    Returns:
        A row per text: context, text, logprob (nats; missing where it is not a log probability),
        n_tokens (scored), flags. With ``tokens``: row (the text's place, from 0), position, token
        (as the tokenizer names it) and logprob (nats, after all that is before it).

    Raises:
        UserError: the texts are no list of texts, or there are more or fewer contexts.
    """
    import pandas as pd

    from worldprobe.errors import UserError
    from worldprobe.models.engine import Loglikelihood

    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise UserError(
            "texts",
            "are not a list of texts.",
            'Write score_texts(model, ["A sentence."]), without missing ones.',
        )
    given: list[str | None] = [None] * len(texts)
    if contexts is not None:
        given = [
            None if pd.isna(context) or not context.strip() else context for context in contexts
        ]
    if len(given) != len(texts):
        raise UserError(
            "contexts",
            f"are {len(given)}, for {len(texts)} texts.",
            "Give one for each text, or None.",
        )
    queries = [
        Loglikelihood(context, text, join) for context, text in zip(given, texts, strict=True)
    ]
    answers = dict(_opened(model).score(queries, per_token=tokens))
    if tokens:
        named = [
            (row, position, *pair)
            for row in range(len(queries))
            for position, pair in enumerate(
                zip(answers[row].tokens or (), answers[row].token_logprobs or (), strict=True)
            )
        ]
        return pd.DataFrame(named, columns=["row", "position", "token", "logprob"])
    return pd.DataFrame(
        {
            "context": given,
            "text": list(texts),
            "logprob": pd.Series(
                [answers[i].logprob for i in range(len(queries))], dtype="float64"
            ),
            "n_tokens": [answers[i].n_tokens for i in range(len(queries))],
            "flags": [",".join(answers[i].flags) for i in range(len(queries))],
        }
    )


def score_items(
    model: Engine | str | Path, items: pd.DataFrame | str | Path, name: str = ""
) -> pd.DataFrame:
    """Accuracy of a model on EWoK's items, by log probabilities.

    Args:
        model: what ``load_model`` returned, or what it takes.
        items: what ``worldprobe items build`` wrote, as a path or a table; or a table of your own
            with the columns Context1, Context2, Target1 and Target2, or context1 and so on, and
            more of an items table's where you have them (Domain, ConceptA, ConceptB, ...).
        name: the model's name in the table; the checkpoint's, if none is given.

    Returns:
        Judgements: a row per item and target, with accuracy (1, 0.5 for an exact tie, 0) and the
        item's design; and the target's log probabilities (nats) after context 1 and context 2,
        ``logprob_context1`` and ``logprob_context2``.

    Raises:
        UserError: these are no items, or a text is missing.
    """
    import pandas as pd

    from worldprobe.benchmarks.ewok.analysis.judge import judge_target_scores
    from worldprobe.benchmarks.ewok.contracts import Items, Judgements
    from worldprobe.benchmarks.ewok.scoring import check_texts, score_logprobs
    from worldprobe.contracts import read_table, validate
    from worldprobe.inference.store import open_store
    from worldprobe.models.checkpoint import short_name, taught_here

    rows = _as_items(items) if isinstance(items, pd.DataFrame) else read_table(items, Items)
    model = _opened(model)
    check_texts(rows, "items")
    with TemporaryDirectory() as kept:
        scores, _, _ = score_logprobs(rows, model, open_store(kept, model))
    judged = judge_target_scores(
        rows, scores, name or short_name(model.facts.checkpoint), dtype=model.facts.dtype
    )
    table = validate(judged.table.assign(**taught_here(model.facts.checkpoint)), Judgements)
    logprobs = scores.pivot(index=["item_id", "target"], columns="context", values="logprob")
    logprobs = logprobs.rename(columns={1: "logprob_context1", 2: "logprob_context2"})
    return table.merge(logprobs.reset_index(), on=["item_id", "target"], how="left", validate="1:1")


def _as_items(table: pd.DataFrame) -> pd.DataFrame:
    """A table as Items; what one's own table lacks besides the texts is filled in, each row a
    template of its own.

    Raises:
        UserError: it lacks a text, or a column is not what items have there.
    """
    import numpy as np
    import pandas as pd

    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.vocabulary import OFFICIAL_TEXTS, TEXTS, normalize_texts
    from worldprobe.contracts import ContractError, validate
    from worldprobe.errors import UserError

    table = table.rename(
        columns=dict(zip(OFFICIAL_TEXTS, TEXTS, strict=True))
        | {"Domain": "domain", "ConceptA": "concept_a", "ConceptB": "concept_b"}
    )
    if lacking := [text for text in TEXTS if text not in table]:
        raise UserError(
            "items",
            f'have no column "{lacking[0]}".',
            f"Give a table with the columns {', '.join(OFFICIAL_TEXTS)}, or {', '.join(TEXTS)}.",
        )
    if table.empty or not table.columns.is_unique:
        raise UserError(
            "items",
            "have no rows." if table.empty else "have a column twice.",
            "Give each item one row of texts.",
        )
    for name in TEXTS:
        if odd := [
            row
            for row, text in zip(table.index, table[name], strict=True)
            if not isinstance(text, str)
        ]:
            raise UserError(
                "items", f"{name} of row {odd[0]} is no text.", "Give each item four texts."
            )
    number = np.arange(1, len(table) + 1)
    filled: dict[str, Any] = {
        "item_id": [f"own_{n}_1_v0" for n in number],
        "meta_template": number,
        "template": 1,
        "version": 0,
        **dict.fromkeys(["domain", "concept_a"], "own"),
        **dict.fromkeys(["concept_b", "duplicate_of"]),
        "context_contrast": "other",
        "context_type": "direct",
        "target_contrast": "concept swap",
        "fillers": "{}",
        "tags": "",
    }
    rows = table.reset_index(drop=True).assign(
        **{name: value for name, value in filled.items() if name not in table}
    )
    normalize_texts(rows, TEXTS, "items")
    texts = {name: pd.Series(rows[name], dtype="str") for name in ("concept_b", "duplicate_of")}
    try:
        return validate(rows.assign(**texts), Items)
    except ContractError as error:
        raise UserError(
            "items",
            f"{error}.",
            "Give such columns as `worldprobe items build` writes, or leave them out.",
        ) from error


def compare_models(*judgements: pd.DataFrame, metric: str = "accuracy") -> pd.DataFrame:
    """Is one model better than another on the same items? Paired, overall and by domain.

    Args:
        judgements: what ``score_items`` returned, of models with different names.
        metric: of an item, "accuracy" of its two targets, or its "pairing".

    Returns:
        Comparisons: difference, interval and p of every pair of models; ``finding`` says what
        may be said of it.

    Raises:
        UserError: there are fewer than two models, or no two have an item in common.
    """
    import pandas as pd

    from worldprobe.benchmarks.ewok.analysis import compare
    from worldprobe.benchmarks.ewok.vocabulary import ACCURACIES
    from worldprobe.errors import UserError

    fix = "Give what score_items returned of two models."
    if not judgements or not all(isinstance(rows, pd.DataFrame) for rows in judgements):
        raise UserError("judgements", "are no tables." if judgements else "there are none.", fix)
    rows = pd.concat(judgements, ignore_index=True)
    if lacking := [
        name for name in ("model", "eval_type", "item_id", "target", "accuracy") if name not in rows
    ]:
        raise UserError("judgements", f'have no column "{lacking[0]}".', fix)
    if len(odd := rows["accuracy"][~rows["accuracy"].isin(ACCURACIES) & rows["accuracy"].notna()]):
        raise UserError(
            "judgements", f"have an accuracy of {odd.iloc[0]}; a target's is 0, 0.5 or 1.", fix
        )
    return compare.compare_on_items(rows, metric=metric)
