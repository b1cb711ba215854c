"""``import``: what lm-evaluation-harness logged, and people's ratings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App

from worldprobe.cli.options import ModelName, Samples, between
from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models.checkpoint import short_name
from worldprobe.models.registry import check_name
from worldprobe.provenance import Provenance, digests, made, versions

if TYPE_CHECKING:
    from worldprobe.inference.lm_eval import Run
    from worldprobe.provenance import Provenance

app = App(
    name="import",
    help="Results of EWoK's authors or of lm-evaluation-harness, and people's ratings.",
)

RATINGS_METHOD = 2
SAMPLES_METHOD = 1


@app.command
def human_ratings(
    items: Path,
    ratings: Path,
    /,
    *,
    scale: Annotated[tuple[float, float], between(-1e9, 1e9)] = (1.0, 5.0),
    out: Path,
) -> None:
    """Import people's ratings from a CSV, averaged over raters.

    CSV, long: columns item_id, target, context, rating, a row per rating (optional: rater); ratings
    of the same question are averaged. Or wide: item_id or the four texts, and
    response_mean_target1_context1 to response_mean_target2_context2, a row per item.

    Args:
        items: items table
        ratings: people's ratings (CSV)
        scale: lowest and highest rating of the scale that people used; other ratings are refused
        out: ratings table, which `judge` takes like scores
    """
    from worldprobe.benchmarks.ewok.contracts import Items, Ratings
    from worldprobe.benchmarks.ewok.ratings import read_ratings
    from worldprobe.contracts import read_table, write_table

    lowest, highest = scale
    if lowest >= highest:
        raise UserError(
            "--scale",
            f"{lowest:g} to {highest:g} is not a scale.",
            "Give the lowest rating, then the highest.",
        )
    matched = read_ratings(ratings, read_table(items, Items), (lowest, highest))
    if not matched.table["rating"].notna().any():
        raise UserError(
            ratings,
            "contains no rating of these items.",
            "Fill in its ratings, or give the items that were rated.",
        )
    provenance = made(
        RATINGS_METHOD,
        {"items": items, "ratings": ratings},
        ["pandas"],
        model="human",
        details={
            "scale": [lowest, highest],
            "n_ratings": matched.n_ratings,
            "n_unknown_items": matched.n_unknown,
            "n_unrated_items": matched.n_unrated,
        },
    )
    write_table(matched.table, Ratings, out, provenance)
    questions = matched.table["rating"].notna().sum()
    LOGGER.info(
        "%d ratings of %d questions about %d items; %d items of the file are not in the items"
        " table, %d of the table not rated",
        matched.n_ratings,
        questions,
        matched.table["item_id"].nunique(),
        matched.n_unknown,
        matched.n_unrated,
    )


@app.command
def lm_eval(items: Path, samples: Samples, /, *, model: ModelName = None, out: Path) -> None:
    """Import log probabilities that lm-evaluation-harness logged.

    They are of a task of `items export --format lm-eval`.

    Reads results_DATE.json and samples_TASK_DATE.jsonl of the newest run. Samples of other items,
    or asked with a chat template, examples or a system instruction, are refused.

    Args:
        items: items table
        out: table of target scores, for `judge`
    """
    from worldprobe.benchmarks.ewok.contracts import Items, TargetScores
    from worldprobe.benchmarks.ewok.exports.lm_eval_task import BENCHMARK, read_target_scores
    from worldprobe.contracts import read_table, write_table
    from worldprobe.inference.lm_eval import read_run

    run = read_run(samples, BENCHMARK)
    scores = read_target_scores(run, read_table(items, Items))
    made = made_by_lm_eval(run, SAMPLES_METHOD, model, out, {"items": items})
    write_table(scores, TargetScores, out, made)


def made_by_lm_eval(
    run: Run,
    method: int,
    model: str | None,
    out: Path,
    inputs: Mapping[str, Path | str],
    **known: Any,
) -> Provenance:
    """What lm-eval made, and how it says that it did.

    Args:
        run: whose samples were read.
        method: version of the reading.
        model: the model's name in the tables; None takes the checkpoint's.
        out: what is to be written.
        inputs: name -> file or folder that was read besides the run's results and samples.
        **known: other fields of ``Provenance``.

    Raises:
        UserError: the name cannot be one of a model, or the run's own file would be overwritten.
    """
    read = [run.place, *run.files]
    if out.exists() and any(out.samefile(path) for path in read):
        raise UserError(
            f"--out {out}", "is one of the inputs; it would be overwritten.", "Choose another name."
        )
    return Provenance(
        method=method,
        model=check_name(model or short_name(run.model), "--model"),
        checkpoint=run.model,
        revision=run.revision,
        dtype=run.dtype,
        engine="lm-eval",
        inputs=digests({**inputs, **{path.name: path for path in read}}),
        packages=versions([]) | run.packages,
        details={"asked_by": "lm-eval"},
        **known,
    )
