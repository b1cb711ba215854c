"""``leak``: was a model trained on these items?"""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from worldprobe.cli.ask import open_answers
from worldprobe.cli.engines import ModelOptions
from worldprobe.cli.options import Seed, between
from worldprobe.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from worldprobe.models.engine import Engine, Loglikelihood, Scored
    from worldprobe_lab.leak import LeakEffect

#: Versions of the questions, by which answers are kept, and of the statistics.
QUESTIONS_METHOD, METHOD = 1, 5
#: p below which the test finds a leak.
FOUND = 0.05
LIMITS = (
    "All of it rests on the given items and the forms being filled alike, from the same fillers by"
    " the same chance: items that were edited, picked or filled otherwise may be likelier to a"
    " model that never read them. It sees whether the model has read these items, with these"
    " fillings. It does not see whether it has read their templates with other fillings,"
    " paraphrases or translations: these raise the accuracy of all forms alike. A p that is not"
    " small does not show that the model has read nothing (docs/extras/leak.md: power by the number"
    " of times that items were read)."
)


def leak(
    items: Path,
    forms: list[Path],
    /,
    *,
    model: ModelOptions,
    file: Path | None = None,
    lines_per_shard: Annotated[int, between(2, 1000)] = 6,
    shuffles: Annotated[int, between(2, 1000)] = 20,
    seed: Seed = 0,
    out: Path,
) -> None:
    """Was a model trained on these items, and how much did it gain?

    Compares them with parallel forms of the same templates, which nobody has published (`items
    forms MATERIALS --besides ITEMS --frames same`). Besides, compares the order of a published
    file's lines with other orders (Oren et al., 2023).

    Args:
        items: items that the model may have read
        forms: parallel forms of them, items tables
        file: text file as it was published, a line per item in an order that was drawn at random
        lines_per_shard: number of lines that are read together; they must fit into the model's
            context
        shuffles: number of other orders of each shard
        seed: seed of these orders
        out: leaks table
    """
    import pandas as pd

    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.materials.language import language_of
    from worldprobe.benchmarks.ewok.scoring import check_texts
    from worldprobe.contracts import read_provenance, read_table, write_table
    from worldprobe.inference.requests import run_requests
    from worldprobe.models.checkpoint import made_by_model
    from worldprobe.provenance import digests
    from worldprobe_lab.contracts import Leaks
    from worldprobe_lab.leak import compare_forms, compare_orders, measure_items, questions_of

    paths = {"items": items} | {
        f"form {number}": path for number, path in enumerate(forms, start=1)
    }
    tables = [read_table(path, Items) for path in paths.values()]
    for table, path in zip(tables, paths.values(), strict=True):
        check_texts(table, path)
    _refuse_shared_items(tables, list(paths.values()))
    _refuse_other_frames(list(paths.values()))
    since = time.monotonic()
    engine = model.open()
    questions = [questions_of(table) for table in tables]
    if file:
        questions.append(_orders_of(file, lines_per_shard, shuffles, seed, engine, model.name))
    store = open_answers(model, engine, since, list(paths.values()), out)
    asked = [question for part in questions for question in part]
    answers = run_requests(
        asked, engine, store, f"leak {QUESTIONS_METHOD}", what=f"Scoring texts ({model.name})"
    )
    values = iter(answers.values)
    parts = [list(islice(values, len(part))) for part in questions]
    language = language_of(read_provenance(items).details).language
    measured = [
        measure_items(table, [score.logprob for score in part], language)
        for table, part in zip(tables, parts, strict=False)
    ]
    given, others = measured[0], pd.concat(measured[1:], ignore_index=True)
    effects = {
        measure: compare_forms(given, others, measure)
        for measure in ("logprob", "accuracy", "word_frequency")
        if measure != "word_frequency" or given[measure].notna().any()
    }
    if file:
        paths["file"] = file
        effects["order"] = compare_orders(
            _whole(parts[-1], lines_per_shard, file).reshape(-1, 1 + shuffles)
        )
    rows = [
        {"model": model.name, "measure": measure} | vars(effect)
        for measure, effect in effects.items()
    ]
    details = {"forms": len(forms), "answers": answers.origins}
    details |= {"lines_per_shard": lines_per_shard, "shuffles": shuffles} if file else {}
    made = made_by_model(engine.facts, METHOD, model.name, digests(paths), details)
    made.seed = seed if file else None
    write_table(pd.DataFrame(rows), Leaks, out, made)
    mean = given.loc[given["template_id"].isin(set(others["template_id"])), "accuracy"].mean()
    print(_in_words(model.name, effects, float(mean), len(forms)))


def _whole(answers: list[Scored], lines_per_shard: int, file: Path) -> np.ndarray:
    """Log probabilities of shards that were read whole.

    Raises:
        UserError: one was not.
    """
    import numpy as np

    from worldprobe.models.engine import TRUNCATED

    if any(answer.logprob is None or TRUNCATED in answer.flags for answer in answers):
        problem = f"{lines_per_shard} lines of {file} do not fit into the model's context."
        raise UserError("--lines-per-shard", problem, "Give fewer.")
    return np.array([answer.logprob for answer in answers])


def _refuse_shared_items(tables: list[pd.DataFrame], paths: list[Path]) -> None:
    """A form that has given items would hide what was learned from them.

    Raises:
        UserError: one has.
    """
    texts = ["context1", "context2", "target1", "target2"]
    given = set(map(tuple, tables[0][texts].to_numpy()))
    for table, path in zip(tables[1:], paths[1:], strict=True):
        if n_shared := sum(row in given for row in map(tuple, table[texts].to_numpy())):
            fix = (
                "Make forms beside the items: worldprobe items forms MATERIALS --besides ITEMS"
                " --frames same --out FOLDER."
            )
            raise UserError(path, f"{n_shared} of its items are among those of {paths[0]}.", fix)


def _refuse_other_frames(paths: list[Path]) -> None:
    """Contexts that begin with a neutral sentence are less likely in any model: items without one
    would all seem to be read.

    Raises:
        UserError: a form has frames and the items have none, or the other way round.
    """
    from worldprobe.contracts import read_provenance

    frames = [read_provenance(path).details.get("frames", "same") for path in paths]
    for path, kind in zip(paths[1:], frames[1:], strict=True):
        if kind != frames[0]:
            fix = (
                "Make forms in the items' frames: worldprobe items forms MATERIALS --besides ITEMS"
                " --frames same --out FOLDER."
            )
            raise UserError(path, f"its contexts have other frames than those of {paths[0]}.", fix)


def _orders_of(
    file: Path, lines_per_shard: int, shuffles: int, seed: int, engine: Engine, name: str
) -> list[Loglikelihood]:
    """Questions about the order of a file.

    Raises:
        UserError: it cannot be read or is too short, or the model gives an order no probability.
    """
    from worldprobe.files import read_text
    from worldprobe.models.registry import CAUSAL
    from worldprobe_lab.leak import shuffled_shards

    if engine.facts.kind != CAUSAL:
        problem = f"{name} does not read from left to right: an order has no probability."
        raise UserError("--file", problem, "Leave it out.")
    lines = [line for line in read_text(file, "Name a text file.").splitlines() if line.strip()]
    return shuffled_shards(lines, lines_per_shard, shuffles, seed)


def _in_words(name: str, effects: dict[str, LeakEffect], mean: float, n_forms: int) -> str:
    from worldprobe.report.model_names import counted

    read, gain = effects["logprob"], effects["accuracy"]
    difference = (
        f"{gain.estimate:+.4f} (95% {gain.low:+.4f} to {gain.high:+.4f}), detectable:"
        f" {gain.detectable:.4f}"
    )
    lines = [
        (
            f"{name}: items of {read.n_templates} templates of {read.n_pairs} pairs of concepts "
            f"against {counted(n_forms, 'parallel form')}"
        ),
        (
            f"  log probability of an item's texts: {read.estimate:+.3f} nats (95% {read.low:+.3f}"
            f" to {read.high:+.3f}), {p_in_words(read.p)} (one-sided: the given items are"
            f" likelier), detectable: {read.detectable:.3f}"
        ),
    ]
    if read.p < FOUND:
        lines.append(f"  gain in accuracy: {difference}")
        lines.append(
            f"  accuracy {mean:.4f} on the given items, {mean - gain.estimate:.4f} without the gain"
        )
    else:
        lines.append("  no leak is found: p is not below 0.05")
        lines.append(
            f"  accuracy {mean:.4f} on the given items; minus the forms', which is no gain by a"
            f" leak: {difference}"
        )
    lines.append(f"  {_words_compared(effects.get('word_frequency'))}")
    if "order" in effects:
        order = effects["order"]
        lines.append(
            f"  order of the file: {order.estimate:+.3f} nats per shard of {order.n_pairs} (95%"
            f" {order.low:+.3f} to {order.high:+.3f}), {p_in_words(order.p)}, detectable:"
            f" {order.detectable:.3f}; of two tests, double the smaller p"
        )
    return "\n".join([*lines, LIMITS])


def _words_compared(words: LeakEffect | None) -> str:
    """Whether the given items have more frequent words than the forms; None: it is not known."""
    if words is None:
        return (
            "WARNING: there is no list of word frequencies of the items' language, so it is not"
            " known whether the given items are filled like the forms"
        )
    change = (
        f"{words.estimate:+.3f} in the summed log frequency of a text's words, 95%"
        f" {words.low:+.3f} to {words.high:+.3f}"
    )
    if min(words.p, 1 - words.p) < FOUND / 2:
        more, so = (
            ("more", "p may be small without a leak")
            if words.estimate > 0
            else ("less", "a leak may be missed")
        )
        return (
            f"WARNING: the given items are not filled like the forms. Their words are {more}"
            f" frequent ({change}), so {so}"
        )
    return (
        "words of the given items and of the forms are not shown to differ in frequency"
        f" ({p_in_words(2 * min(words.p, 1 - words.p))}; {change}); the test finds a difference"
        f" of {words.detectable:.3f} in 80% of such samples"
    )


def p_in_words(p: float) -> str:
    """A p value as it is written in a sentence.

    >>> p_in_words(1e-9), p_in_words(0.0004), p_in_words(0.0312), p_in_words(0.471)
    ('p < 0.0001', 'p = 0.0004', 'p = 0.031', 'p = 0.47')
    """
    if p < 0.0001:
        return "p < 0.0001"
    return f"p = {p:.4f}" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
