"""``layers``: accuracy after each layer of a model."""

from __future__ import annotations

from pathlib import Path

from worldprobe.cli.engines import ModelOptions
from worldprobe.cli.options import Count
from worldprobe.log import LOGGER
from worldprobe_layers.settings import METHOD


def layers(items: Path, /, *, model: ModelOptions, every: Count = 1, out: Path) -> None:
    """Score items by LogProbs after each layer of a causal model, by the logit lens.

    The state after a layer goes through the model's own final norm and output projection. Prints
    accuracy by layer, and from which layer on it exceeds a level for good. To draw this table as
    curves by domain, use `worldprobe series curves`.

    Args:
        items: items table
        every: distance between layers that are read, counted from the last one
        out: checkpoint_scores table, whose steps are layers
    """
    import pandas as pd

    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.ewok.scoring import check_texts, item_queries, target_scores
    from worldprobe.contracts import read_provenance, read_table, write_table
    from worldprobe.contracts.results import OVERALL
    from worldprobe.provenance import made
    from worldprobe.report.page import render_template
    from worldprobe_lab.contracts import ONE_SEED, CheckpointScores
    from worldprobe_lab.curves import trace
    from worldprobe_lab.ewok_series import OVER, accuracy_cells
    from worldprobe_layers.readouts import score_layers

    table, name = read_table(items, Items), model.name
    check_texts(table, items)
    engine = model.open()
    queries, wanted = item_queries(table)
    tables = []
    for layer, answers in score_layers(engine, queries, every).items():
        scores = target_scores(table, [answers[i] for i in wanted])
        cells = accuracy_cells(table, scores, name, engine.facts.dtype)
        tables.append(cells.assign(step=float(layer)))
    read = pd.concat(tables, ignore_index=True).assign(series=name, model=name, seed=ONE_SEED)
    facts = engine.facts
    details = {"benchmark": "ewok", "series": name, "unit": "layers", "start": facts.bos}
    made_here = made(
        METHOD,
        {items.name: items},
        ["numpy", "pandas", *facts.packages],
        digests={"checkpoint": facts.checkpoint_digest},
        details=details | {"pass": facts.notes["mode"], "device": facts.notes["device"]},
        model=name,
        checkpoint=facts.checkpoint,
        revision=facts.revision,
        dtype=facts.dtype,
        engine=facts.engine,
        canary=read_provenance(items).canary,
    )
    write_table(read[list(CheckpointScores.columns)], CheckpointScores, out, made_here)
    curves, onsets = (
        traced[traced["grouping"] == OVERALL] for traced in trace(read, "layers", dict(OVER))
    )
    rows = curves.sort_values("step").to_dict("records")
    if not rows:
        LOGGER.warning("%s gives no finite score after any layer", name)
        return
    print(render_template(__package__, "layers.txt.jinja", rows=rows, onset=onsets.iloc[0]))
