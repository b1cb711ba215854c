"""``archive``: a finished study's record, and what an archive holds of one, to be drawn again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from worldprobe import __version__
from worldprobe.cli.options import Missing, Registry, pairs_of
from worldprobe.errors import UserError
from worldprobe.files import write_text
from worldprobe.log import LOGGER
from worldprobe.missing import present
from worldprobe.paths import REGISTRY, Place, shipped_file

app = App(name="archive", help="Pack a finished study, and draw it again without its models.")
Files = Annotated[Sequence[Place], Parameter(consume_multiple=True)]


@app.command
def record_study(
    tables: Sequence[Place] = (),
    /,
    *,
    settings: str,
    registry: Registry = REGISTRY,
    missing: Missing = (),
    trained: Files = (),
    benchmarks: str | None = None,
    answers: Path | None = None,
    out: Path,
) -> None:
    """Write down what a study is: settings, its models' cards, who is missing, how long it took.

    Args:
        tables: tables that its tables, figures and report are made from
        settings: the study's settings (JSON)
        trained: folders of control models, which state their parameters
        benchmarks: Snakemake's benchmark files, for the run times
        answers: store of all answers, for what each model's answers cost
        out: record of the study (JSON)
    """
    from worldprobe.benchmarks import find
    from worldprobe.operations.record import Record, models_in, recorded_cards
    from worldprobe.report.model_names import Roster
    from worldprobe.report.origins import read_origins
    from worldprobe.report.runtimes import cost_by_model, read_run_times, to_plain
    from worldprobe.settings import read_registry

    try:
        study = json.loads(settings)
    except ValueError as error:
        raise UserError("--settings", f"is not valid JSON: {error}.", "Correct it.") from error
    if answers and not answers.is_dir():  # released results have none, and it may be deleted
        LOGGER.warning("there is no folder %s, so what answers cost is left out", answers)
    made = [origin.provenance for origin in read_origins(tables)]
    spent = cost_by_model(answers, made) if answers else {}
    roster = Roster().with_trained(present(map(Path, trained))[0])
    shown = models_in(tables)
    lacking = {
        model: why
        for provenance in made
        for model, why in provenance.details.get("missing_models", {}).items()
        if model not in shown  # another benchmark has its answers
    }
    cards = recorded_cards(read_registry(shipped_file(registry)), study, shown)
    definitions = {
        entry: benchmark.definition
        for entry in study["benchmarks"]
        if (benchmark := find(entry)).definition
    }
    record = Record(
        __version__,
        study,
        cards,
        pairs_of(missing) | lacking,
        {name: model.parameters for name, model in roster.models.items() if model.parameters},
        to_plain(read_run_times(benchmarks), spent),
        definitions,
    )
    write_text(out, record.to_json())


@app.command
def unpack(archive: Place, /, *, as_drawn: Files = (), out: Path) -> None:
    """Put what an archive holds of a study into a folder, for `snakemake --config archive=ARCHIVE`.

    The password of protected texts is the value of WORLDPROBE_RELEASE_PASSWORD; without it they
    stay where they are.

    Args:
        archive: archive, from `archive pack`
        as_drawn: files of tables and figures to take over as they were drawn
        out: note in the study's folder that says where it is from (JSON), written last
    """
    from worldprobe.operations import archived

    archived.unpack(archive, out, as_drawn)
