"""``babylm``: EWoK as the BabyLM challenge asks it, for all checkpoints of a track in one run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from worldprobe import methods
from worldprobe.cli.engines import Model, model_name, refuse_stand_in
from worldprobe.cli.options import (
    KEYS,
    AllowPickle,
    Dtype,
    OutFolder,
    Password,
    TrustRemoteCode,
    between,
)
from worldprobe.errors import UserError
from worldprobe_lab.series_cli import Checkpoints, Training, leaving_out, nothing_scored

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.models.engine import Engine


def babylm(
    model: str,
    /,
    *,
    track: Literal["strict-small", "strict", "multimodal", "interaction"],
    backend: Literal["causal", "mlm", "mntp", "enc_dec_mask", "enc_dec_prefix"] = "causal",
    rules: Literal["2025", "2026"] = "2026",
    data: Path,
    items: Path | None = None,
    words: Path | None = None,
    password: Password = None,
    training: Annotated[Training, KEYS] = Training(),
    dtype: Dtype = None,
    gpus: Annotated[int | None, between(0, 1024)] = None,
    allow_pickle: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    answers: Path | None = None,
    out: OutFolder,
) -> None:
    """Score the checkpoints of a track of the BabyLM challenge on EWoK.

    They are judged by the challenge's rule and by the paper's.

    The final model (main) is asked the whole data set, each checkpoint the fast one. Predictions
    and a report of each are where the challenge's collate_preds.py looks for them. What was scored
    is kept: a run that was stopped goes on. A checkpoint that is not there or cannot be loaded is
    named and left out.

    Args:
        model: hub id with the revisions main, chck_1M, ..., a folder with folders of these names,
            or a final model's own folder
        track: track of the challenge, which says what checkpoints there are
        backend: the challenge's name of how the model predicts
        rules: version of the challenge's code (babylm-org/babylm-eval) whose files are written.
            2026 (commit 7d0a6c8, July 2026): contexts are compared, as in the paper, ties are
            drawn, and a prediction is a whole sentence. 2025 (until commit 45fe2c1, April 2026):
            targets are compared, ties are right, and a prediction is a target
        data: the challenge's folder evaluation_data, with full_eval/ewok_filtered and
            fast_eval/ewok_fast
        items: EWoK-core-1.0 (.csv, .parquet, folder or .zip), to make the whole data set where the
            folder lacks it
        words: the challenge's vocab.txt, by whose words it selects these items
        gpus: number of GPUs to take, waiting until no other worldprobe process uses them; 0:
            compute on the CPU (default: all that are visible)
        answers: store of answers (default: .answers in --out)
        out: the challenge's folder of results; a table of both rules' means (babylm.parquet) and
            one for learning curves (checkpoints.parquet) are in the model's folder there, by
            backend
    """
    import pandas as pd

    from worldprobe.contracts import write_table
    from worldprobe.log import LOGGER, Progress
    from worldprobe.models.registry import MASKED, ORIGINAL
    from worldprobe.provenance import made
    from worldprobe_lab import babylm as challenge
    from worldprobe_lab.completions import BACKENDS
    from worldprobe_lab.contracts import BabylmSummaries, CheckpointScores
    from worldprobe_lab.series import SeriesStep

    name = model_name(None, model)  # all is refused before a model is loaded
    numbers = {challenge.MAIN: 0} | {
        challenge.CHECKPOINT.format(n=n): n for n in challenge.TRACKS[track]
    }
    steps = {
        revision: SeriesStep(numbers[revision], numbers[revision], *step)
        for revision, step in _find(model, numbers, training.fetch)
    }
    left_out = {
        revision: "it is not on this machine." for revision in numbers if revision not in steps
    }
    if left_out:
        LOGGER.warning(
            "%d of the %d checkpoints of %s are not on this machine, and left out",
            len(left_out),
            len(numbers),
            name,
        )
    rows = {challenge.WHOLE: _whole(data, items, words, password)}
    if len(steps) > 1:
        rows[challenge.FAST] = _fast(data)
    kind = BACKENDS[backend]
    options = Model.model_validate(
        {
            "checkpoint": model,
            "kind": kind,
            "pseudo": ORIGINAL if kind == MASKED else None,
            "dtype": dtype or "float32",
            "gpus": gpus,
            "allow_pickle": allow_pickle,
            "trust_remote_code": trust_remote_code,
            "answers": answers or out / ".answers",
        }
    )
    for step in steps.values():
        refuse_stand_in(options.model_copy(update={"checkpoint": step.checkpoint}))
    method = f"babylm {challenge.METHOD} {methods.SCORE}"
    inputs = {part: _digest(table) for part, table in rows.items()}

    def opened(part: Model) -> Engine:
        return _open(part, backend)

    kept, ask = {}, {}
    for part, table in rows.items():
        asked = [methods.CHECKPOINTS, method, backend, inputs[part]]
        kept[part] = Checkpoints(options, asked, out, training, opened)
        ask[part] = challenge.asking(table, method)
    judged_by_part: dict[str, dict[str, challenge.JudgedRows]] = {part: {} for part in rows}
    data_parts = {
        revision: challenge.WHOLE if revision == challenge.MAIN else challenge.FAST
        for revision in steps
    }
    n_rows = sum(
        len(rows[part]) for part in data_parts.values()
    )  # the final model takes as long as seven others
    with Progress(f"Scoring checkpoints of {name} (BabyLM, {backend})", n_rows, "rows") as progress:
        for revision, step in steps.items():
            part = data_parts[revision]
            with leaving_out(left_out, revision, name, progress, len(rows[part])):
                scores = kept[part].score(
                    step, ask[part], f"{name}, {revision}", progress, len(rows[part])
                )
            if revision not in left_out:
                judged = judged_by_part[part][revision] = challenge.judge(
                    scores, backend, str(options.dtype), rules
                )
                folder = challenge.place_of(out, model, revision, backend, part)
                challenge.write_predictions(rows[part], judged.right[0], folder, rules)
    if not any(judged_by_part.values()):
        raise nothing_scored(name, left_out)
    details = {
        "benchmark": "babylm",
        "series": training.series or name,
        "unit": challenge.UNIT,
        "checkpoints": len(steps),
    }
    over = {
        group.grouping: group.interval_over
        for table in rows.values()
        for group in challenge.babylm_groups(table)
    }
    details |= {"weights": {part: checkpoints.weights for part, checkpoints in kept.items()}}
    details |= {"left_out": left_out, "over": over, "track": track, "backend": backend}
    details |= {"rules": rules, "commit": challenge.COMMITS[rules]}
    made_here = made(
        challenge.METHOD,
        packages=["numpy", "pandas"],
        digests=inputs,
        model=name,
        dtype=options.dtype,
        seed=challenge.SEED if rules == "2026" else None,
        details=details,
    )
    folder = out / challenge.stem_of(model) / f"ewok_{backend}"
    summaries = pd.concat(
        [
            challenge.means_by_rule(rows[part], judged, name, backend)
            for part, judged in judged_by_part.items()
            if judged
        ],
        ignore_index=True,
    )
    write_table(summaries, BabylmSummaries, folder / "babylm.parquet", made_here)
    if judged_by_part.get(challenge.FAST):
        cells = pd.concat(
            [
                challenge.cells_of(rows[challenge.FAST], judged).assign(
                    step=float(steps[revision].step)
                )
                for revision, judged in judged_by_part[challenge.FAST].items()
            ],
            ignore_index=True,
        ).assign(series=training.series or name, model=name, seed=training.training_seed)
        write_table(
            cells[list(CheckpointScores.columns)],
            CheckpointScores,
            folder / "checkpoints.parquet",
            made_here,
        )
    print(f"babylm: the rules of {rules} (babylm-org/babylm-eval, {challenge.COMMITS[rules]})")
    print(
        "\n".join(
            challenge.revisions_in_words(
                summaries, [part for judged in judged_by_part.values() for part in judged]
            )
        )
    )
    for problem in dict.fromkeys(left_out.values()):
        print(
            f"left out: {', '.join(part for part, why in left_out.items() if why == problem)}:"
            f" {problem}"
        )


def _whole(
    data: Path, items: Path | None, words: Path | None, password: str | None
) -> pd.DataFrame:
    """The whole data set, as it is or made of the official items.

    Raises:
        UserError: neither is there, or its counts are wrong.
    """
    from worldprobe.benchmarks.ewok.materials.official_files import read_items
    from worldprobe_lab import babylm as challenge

    source = data / challenge.PLACES[challenge.WHOLE] / challenge.WHOLE
    given = {"--items": items, "--words": words}
    if source.is_dir():
        if useless := next((option for option, value in given.items() if value), None):
            raise UserError(
                useless, f"does nothing: {source} is there.", "Leave it out, or remove that folder."
            )
        rows = challenge.read_data(data, challenge.WHOLE)
    elif items is None or words is None:
        fix = (
            "Make it with the challenge's ewok/dl_and_filter.py, or give --items EWOK-CORE-1.0 and"
            " --words VOCAB.TXT."
        )
        raise UserError(source, "there is no such folder.", fix)
    else:
        source, rows = items, challenge.select_items(read_items(items, password).items, words)
    challenge.check_counts(rows, challenge.WHOLE, source)
    return rows


def _fast(data: Path) -> pd.DataFrame:
    """The fast data set.

    Raises:
        UserError: it is not there, or its counts are wrong.
    """
    from worldprobe_lab import babylm as challenge

    folder = data / challenge.PLACES[challenge.FAST] / challenge.FAST
    if not folder.is_dir():
        raise UserError(
            folder, "there is no such folder.", "Unpack the challenge's ewok_fast.zip there."
        )
    rows = challenge.read_data(data, challenge.FAST)
    challenge.check_counts(rows, challenge.FAST, folder)
    return rows


def _find(
    model: str, revisions: Iterable[str], fetch: bool
) -> list[tuple[str, tuple[str, str | None]]]:
    """Checkpoint and revision of each that is there or will be fetched; in a folder, the final
    model may be the folder itself.

    Raises:
        UserError: the final model is not on this machine, and will not be fetched.
    """
    from worldprobe.models import checkpoint as hub
    from worldprobe_lab.babylm import MAIN

    root = hub.folder_of(model)
    checkpoints: list[tuple[str, tuple[str, str | None]]] = []
    if root is None:
        checkpoints = [
            (revision, (model, revision))
            for revision in revisions
            if fetch or hub.cached_commit(hub.hub_id(model), revision) is not None
        ]
        fix = "Add --fetch, or fetch it where there is internet: worldprobe models fetch."
    else:
        checkpoints = [
            (revision, (f"{model.rstrip('/')}/{revision}", None))
            for revision in revisions
            if (root / revision).is_dir()
        ]
        if not (root / MAIN).is_dir() and (root / "config.json").is_file():
            checkpoints.insert(0, (MAIN, (model, None)))
        fix = "Correct the path, or put the final model there."
    if MAIN not in dict(checkpoints):
        raise UserError(model, f"has no {MAIN} on this machine.", fix)
    return checkpoints


def _digest(rows: pd.DataFrame) -> str:
    return hashlib.sha256(rows.to_json(orient="values").encode()).hexdigest()


def _open(options: Model, backend: str) -> Engine:
    from worldprobe.models.transformers_engine import open_engine
    from worldprobe.operations.resources import claim_gpus
    from worldprobe_lab.completions import encoder_of

    claim_gpus(options.gpus)
    return open_engine(
        options.checkpoint,
        dtype=options.dtype,
        revision=options.revision,
        allow_pickle=options.allow_pickle,
        trust_remote_code=options.trust_remote_code,
        kind=options.kind,
        pseudo=options.pseudo or "original",
        encode=encoder_of(backend),
    )
