"""Means and comparisons of answers to WorldSense's trials, for the shared commands and rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worldprobe.benchmark import Analysis, Computed, Study
from worldprobe.benchmarks.worldsense.contracts import Comparisons, Responses, Summaries
from worldprobe.benchmarks.worldsense.outputs import asked_sets, response_tables, trial_table
from worldprobe.contracts import read_provenance, read_table
from worldprobe.errors import TooLittleError, UserError
from worldprobe.files import digest_file

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe.benchmarks.worldsense.analysis.answers import AnswerSeries
    from worldprobe.benchmarks.worldsense.analysis.questions import Questions

#: Versions of both; 3 and 4: intervals are no wider than it takes. Comparisons: 3 corrects pairs
#: with rules apart, 5 states the test and what it shows.
SUMMARIES, COMPARISONS = 3, 5
#: Seed of what extensions draw to measure more, as what accuracy explains of consistency.
SEED = 0


def means_of_responses(
    files: Sequence[Path], sets: Sequence[str] = (), skin_folder: Path | None = None
) -> Computed:
    """Means per set, with intervals over skins and abstract problems.

    Args:
        files: tables of responses, or official results.
        sets: as for ``named_sets``.
        skin_folder: of skins that the repository does not have.
    """
    import pandas as pd

    from worldprobe.benchmarks.worldsense.analysis.answers import caveats
    from worldprobe.benchmarks.worldsense.analysis.statistics import count_answers
    from worldprobe.benchmarks.worldsense.analysis.summarize import tuple_means

    named, tables, counts, answered = named_sets(sets), [], [], {}
    for name, questions, series in read_sets(files, named, skin_folder):
        tables.append(tuple_means(name, questions, series, SEED))
        counts += count_answers(questions, series).assign(set=name).to_dict("records")
        answered[name] = series
    return Computed(
        _sorted(pd.concat(tables, ignore_index=True), Summaries),
        {run.model for series in answered.values() for run in series},
        {"answers": counts} | caveats(answered).details(),
        {path: Path(path) for path in named.values()},
        SEED,
    )


def pairs_of_responses(
    files: Sequence[Path], sets: Sequence[str] = (), skin_folder: Path | None = None
) -> Computed:
    """Every pair of models on the same tuples, set by set.

    Args:
        files: as for ``means_of_responses``.
        sets: as there.
        skin_folder: as there.

    Raises:
        UserError: there are answers of one model only, or no two models can be compared
            (TooLittleError).
    """
    import pandas as pd

    from worldprobe.analysis.comparisons import refuse_one
    from worldprobe.benchmarks.worldsense.analysis.summarize import compare_on_tuples

    named = named_sets(sets)
    read = list(read_sets(files, named, skin_folder))
    models = {run.model for _, _, series in read for run in series}
    refuse_one(models, "responses")
    table = pd.concat([compare_on_tuples(*arguments) for arguments in read], ignore_index=True)
    if table.empty:
        problem = "no two models answered the same trials under one prompting."
        raise TooLittleError("responses", problem, "Compare models on the same trials.")
    return Computed(
        _sorted(table, Comparisons),
        models,
        inputs={path: Path(path) for path in named.values()},
    )


def _sorted(table: pd.DataFrame, contract: type[Summaries] | type[Comparisons]) -> pd.DataFrame:
    rows = table.sort_values(list(contract.Config.key), ignore_index=True)
    return rows[list(contract.columns)]


def named_sets(sets: Sequence[str]) -> dict[str, str]:
    """Name of a set -> the file of its trials.

    Args:
        sets: files, or NAME=FILE: a table of ours says which set it is.

    Raises:
        UserError: there is none, a file does not say which set it is, or two are of one name.
    """
    if not sets:
        problem = "is missing: these answers are to trials of WorldSense."
        raise UserError("--sets", problem, "Give the file of the trials.")
    named: dict[str, str] = {}
    for text in sets:
        name, separator, path = text.partition("=")
        if not separator or "/" in name:
            name, path = "", text
        if not path:
            problem = f'"{text}" names no file of trials.'
            raise UserError("--sets", problem, "Give NAME=FILE, or the file alone.")
        name = (name or _name_of_set(path)).strip()
        if not name or not name.isprintable():
            fix = f"Name it, as in --sets test={path}."
            raise UserError(path, "does not say which set its trials are.", fix)
        if name in named:
            fix = "Give each set once, or name one as NAME=FILE."
            raise UserError("--sets", f"{named[name]} and {path} are both called {name}.", fix)
        named[name] = path
    return named


def _name_of_set(path: str) -> str:
    """Name of the set in a table of ours."""
    from worldprobe.benchmarks.worldsense.trials.files import is_official

    return "" if is_official(path) else str(read_provenance(path).details.get("set", ""))


def read_sets(
    files: Sequence[Path], sets: dict[str, str], skin_folder: Path | None
) -> Iterator[tuple[str, Questions, list[AnswerSeries]]]:
    """Name, trials and answers of each set.

    Args:
        files: tables of responses, or official results.
        sets: name -> file of its trials.
        skin_folder: of skins that the repository does not have.

    Raises:
        UserError: a set without answers, or answers to trials of several sets.
    """
    from worldprobe.benchmarks.worldsense.analysis.answers import read_series
    from worldprobe.benchmarks.worldsense.analysis.questions import add_properties, from_frame
    from worldprobe.benchmarks.worldsense.trials.files import read_trials

    tables = {name: read_trials(path) for name, path in sets.items()}
    answered = _by_set(files, sets, tables)
    for name, path in sets.items():
        if not answered[name]:
            raise UserError(path, "has no answers here.", "Give answers to it, or leave it out.")
        questions = add_properties(from_frame(tables[name], path, skin_folder), tables[name])
        yield name, questions, read_series(answered[name], questions)


def _by_set(
    files: Sequence[Path], sets: dict[str, str], tables: dict[str, pd.DataFrame]
) -> dict[str, list[Path]]:
    """Files by the set that each answers: the only one, that whose digest a table of responses has,
    or that which has its trials.
    """
    by_set: dict[str, list[Path]] = {name: [] for name in sets}
    if len(sets) == 1:
        return {name: list(files) for name in sets}
    by_digest = {digest_file(path): name for name, path in sets.items()}
    trial_ids = {name: set(table["trial_id"]) for name, table in tables.items()}
    for file in files:
        asked, keys = _asked(file)
        common = {name: len(keys & ids) for name, ids in trial_ids.items()}
        most = [name for name, number in common.items() if number == max(common.values())]
        name = by_digest.get(asked, most[0])
        if asked not in by_digest and len(most) > 1:
            problem = f"answers as many trials of {most[0]} as of {most[1]}."
            raise UserError(file, problem, "Give the trials and answers of one of them alone.")
        by_set[name].append(file)
    return by_set


def _asked(file: Path) -> tuple[str, set[int]]:
    """The digest of the trials that a file answers, "" where it does not say so, and their ids."""
    from worldprobe.benchmarks.worldsense.trials.files import is_official, read_lines

    if is_official(file):
        return "", {int(row.get("Key") or 0) for _, row in read_lines(file)}
    ids = set(read_table(file, Responses, ["trial_id"])["trial_id"])
    return read_provenance(file).inputs.get("trials", ""), ids


def _files(study: Study) -> list[str]:
    return [trial_table(study, name) for name in asked_sets(study)]


def _options(study: Study) -> dict[str, Any]:
    named = [f"{name}={trial_table(study, name)}" for name in asked_sets(study)]
    return {"sets": named, "skin_folder": study["worldsense"]["skin_folder"]}


#: What ``worldprobe summarize`` and ``compare`` do with answers to trials.
ANALYSED = {
    "summarize": Analysis(
        means_of_responses, Summaries, SUMMARIES, response_tables, _files, _options
    ),
    "compare": Analysis(
        pairs_of_responses, Comparisons, COMPARISONS, response_tables, _files, _options
    ),
}
