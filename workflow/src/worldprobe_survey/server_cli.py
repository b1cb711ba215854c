"""``human serve``, ``status``, ``export``, ``identities``, ``withdraw``, ``close``, ``purge``, ...:
the survey and its folder.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from worldprobe.cli.options import PASSWORD_VARIABLE, OutFolder, Password, between, read_password
from worldprobe.commented_csv import read_frame
from worldprobe.errors import UserError
from worldprobe.files import whole_file, whole_folder
from worldprobe.log import LOGGER
from worldprobe.paths import REPOSITORY
from worldprobe.provenance import made

if TYPE_CHECKING:
    import pandas as pd

    from worldprobe_survey.store import Database
    from worldprobe_survey.study import Questionnaire

#: Bumped when the same answers give another export.
METHOD = 3

Survey = Annotated[Path, Parameter(help="folder of the survey, as given to `human serve`")]


def add_commands(app: App) -> None:
    """Add the actions on a survey to the stage ``human``."""
    running = (serve, preview, watch, status, backup, import_submissions, reopen)
    for action in (*running, export, identities, person, withdraw, close, purge):
        app.command(action)


def serve(
    lists: Path | None = None,
    settings: Path | None = None,
    folder: Path | None = None,
    /,
    *,
    demo: bool = False,
    prompts: str = "ewok",
    host: str = "127.0.0.1",
    port: Annotated[int, between(0, 65_535)] = 8080,
    public: bool = False,
    public_url: str | None = None,
    changed: bool = False,
) -> None:
    """Serve the survey until it is stopped with Ctrl-C.

    Serves lists to people and stores their answers in one folder. Stop it with Ctrl-C or SIGTERM
    and start it again at any time: everybody continues where they were.

    Args:
        lists: lists table, from `human lists`
        settings: settings (YAML); copy resources/survey/settings.yaml
        folder: folder of this survey; created, and readable by you only
        demo: show a survey of a few of our own items instead, whose answers are deleted at the end
        prompts: prompts whose words are shown: a set in resources/prompts, or a file
        host: address to listen on
        port: port to listen on; 0 takes a free one
        public: allow a --host that other machines can reach
        public_url: address under which people reach the survey through your proxy, with its path
        changed: go on although settings, words or consent changed since people answered; every
            session says which it had
    """
    from worldprobe_survey.app import listen, serve_survey, site_of
    from worldprobe_survey.settings import read_survey_settings
    from worldprobe_survey.study import open_survey

    if demo:
        from worldprobe_survey.demo import write_demo

        if lists:
            raise UserError("--demo", "shows lists of its own.", "Leave LISTS out, or --demo.")
        with TemporaryDirectory() as place:
            answers = Path(place) / "answers"
            serve(*write_demo(Path(place)), answers, host=host, port=port, public=public)
        return
    if not (lists and settings and folder):
        fix = "Give LISTS, SETTINGS and FOLDER, or --demo to see how a survey looks."
        raise UserError("human serve", "needs lists, settings and a folder.", fix)
    is_local = _check_host(host, public)
    chosen = read_survey_settings(settings)
    questionnaire = _read_questionnaire(lists, prompts)
    bound = listen(host, port)
    listening = bound.getsockname()[1]
    try:
        site = site_of(public_url, host, listening)
        survey = open_survey(
            folder, questionnaire, chosen, url=site.url, is_change_accepted=changed
        )
    except UserError:
        bound.close()
        raise
    if not site.is_secure and (not is_local or public_url is not None):
        LOGGER.warning(
            "Without TLS, answers and ids can be read on their way; put a proxy with TLS in front"
        )
    LOGGER.info(
        "Survey %s: %d lists, answers in %s", chosen.study, len(questionnaire.lists), folder
    )
    if public_url:
        LOGGER.info("Your proxy has to lead %s to http://%s:%d/", site.url, host, listening)
    else:
        LOGGER.info("Serving %s; stop with Ctrl-C", site.url)
    serve_survey(survey, site, bound)


def _check_host(host: str, public: bool) -> bool:
    """Whether an address is of this machine alone.

    Raises:
        UserError: others can reach it, and that was not allowed.
    """
    is_local = host in ("127.0.0.1", "::1", "localhost")
    if not is_local and not public:
        fix = (
            "Put a proxy with TLS in front of 127.0.0.1 (docs/extras/human_study.md), or add"
            " --public to allow it all the same."
        )
        raise UserError(f"--host {host}", "can be reached by other machines.", fix)
    return is_local


def _read_questionnaire(path: Path, prompts: str) -> Questionnaire:
    from worldprobe.benchmarks.ewok.materials.language import language_of
    from worldprobe.benchmarks.ewok.scoring import load_prompts, prompts_of
    from worldprobe.contracts import read_provenance, read_table
    from worldprobe_survey.contracts import StudyLists
    from worldprobe_survey.lists import digest_lists
    from worldprobe_survey.study import read_questionnaire, read_wording

    frame = read_table(path, StudyLists)
    prompts = prompts_of(path, prompts)
    texts = load_prompts(prompts)
    wordings = {}
    for eval_type in sorted(set(frame["eval_type"])):
        if eval_type not in texts:
            raise UserError(
                f"--prompts {prompts}", f"has no prompt for {eval_type}.", "Use a set that has one."
            )
        prompt = texts[eval_type]
        wordings[eval_type] = read_wording(
            prompt.instructions, prompt.block, prompt.answers, prompt.trials, prompt.labels
        )
    code = language_of(read_provenance(path).details).language
    return read_questionnaire(frame, digest_lists(frame), wordings, code)


@contextmanager
def _databases(folder: Path) -> Iterator[tuple[Database, Database]]:
    """The two databases, closed at the end; a busy one is the user's to try again."""
    from worldprobe_survey.store import UnavailableError
    from worldprobe_survey.study import open_databases

    answers, identities = open_databases(folder)
    try:
        yield answers, identities
    except UnavailableError as error:
        raise UserError(
            folder, f"could not be changed now ({error}).", "Run the same command again."
        ) from error
    finally:
        answers.close()
        identities.close()


def preview(folder: Survey, /) -> None:
    """Print a preview link, valid for a week.

    Your answers are marked, and count nowhere.
    """
    from worldprobe_survey.identities import preview_link
    from worldprobe_survey.study import KEY, read_fact

    with _databases(folder) as (answers, _):
        url, study = read_fact(answers, "url"), read_fact(answers, "study")
    print(preview_link(url, study, (folder / KEY).read_bytes().strip()))


def watch(
    folder: Survey,
    /,
    *,
    host: str = "127.0.0.1",
    port: Annotated[int, between(0, 65_535)] = 8081,
    public: bool = False,
) -> None:
    """Serve a page that shows how the survey goes, until Ctrl-C.

    It only reads, and shows no identity.

    The page asks for a password: the content of the survey's file identities-token, under any name.

    Args:
        host: address to listen on
        port: port to listen on; 0 takes a free one
        public: allow a --host that other machines can reach
    """
    from worldprobe_survey.app import listen, serve_page

    _check_host(host, public)
    with _databases(folder) as (answers, identities), closing(listen(host, port)) as bound:
        LOGGER.info("Serving http://%s:%d/; stop with Ctrl-C", host, bound.getsockname()[1])
        serve_page(answers, identities, bound)


def status(folder: Survey, /, *, lists: bool = False) -> None:
    """Count a survey's people and answers, and what is still needed; changes nothing.

    Args:
        lists: also print one line per list
    """
    from worldprobe_survey.progress import count, find_alarms
    from worldprobe_survey.study import read_fact

    with _databases(folder) as (answers, identities):
        before = answers.now() - int(read_fact(answers, "expiry_ms"))
        wanted = int(read_fact(answers, "wanted_per_list"))
        with answers.read() as connection:
            counts = count(connection, before, wanted)
        alarms = find_alarms(answers, identities)
    print(counts.line())
    print(
        f"{len(counts.lists)} lists, {wanted} people wanted from each; {counts.n_late} finished"
        " after their place had expired"
    )
    for kind, n in counts.tallies.items():
        print(f"{kind}: {n}")
    if counts.n_previews:
        print(f"previews, which count nowhere: {counts.n_previews}")
    for line in alarms:
        print(line)
    if lists:
        names = ("complete", "live", "expired", "returned", "reopened", "needed")
        width = max(len(dealt.name) for dealt in counts.lists)
        print(f"{'list':{width}}  " + "  ".join(names))
        for dealt in counts.lists:
            print(
                f"{dealt.name:{width}}  "
                + "  ".join(f"{getattr(dealt, name):{len(name)}d}" for name in names)
            )


def backup(folder: Survey, /, *, out: OutFolder) -> None:
    """Copy a survey's databases as they are at one moment, while it runs.

    Args:
        out: new folder for the copies
    """
    from worldprobe.files import refuse_checkout
    from worldprobe_survey.store import ANSWERS, IDENTITIES
    from worldprobe_survey.study import DATA, KEY, TOKEN

    refuse_checkout(out, DATA)
    with (
        _databases(folder) as (answers, identities),
        whole_folder(out) as temporary,
    ):
        temporary.chmod(0o700)
        # Identities last: everybody in the answers is in them.
        for database, name in ((answers, ANSWERS), (identities, IDENTITIES)):
            try:
                database.back_up(temporary / name)
            except sqlite3.Error as error:
                raise UserError(
                    out,
                    f"cannot be written ({error}).",
                    "Make room on the disk, or choose another one.",
                ) from error
            (temporary / name).chmod(0o600)
        for name in (KEY, TOKEN):
            if (folder / name).is_file():
                shutil.copy2(folder / name, temporary / name)


def export(
    folder: Survey, /, *, with_text: Path | None = None, password: Password = None, out: OutFolder
) -> None:
    """Write ratings, sessions and demographics as tables.

    They have no texts, identities or times of day; previews are left out.

    Args:
        with_text: lists table whose texts are added; --out must then be a .zip
        out: folder for the tables, or a .zip
    """
    from worldprobe.files import refuse_checkout
    from worldprobe_survey import export as exports
    from worldprobe_survey.lists import Export, write_export
    from worldprobe_survey.study import DATA, read_fact

    refuse_checkout(out, DATA)
    if with_text is not None:
        _export_texts(folder, with_text, read_password(password), out)
        return
    if password:
        raise UserError(
            "--password", "is only for an export with texts.", "Add --with-text, or leave it out."
        )
    with _databases(folder) as (answers, _):
        before = answers.now() - int(read_fact(answers, "expiry_ms"))
        with answers.read() as connection:
            designs = exports.export_designs(connection)
            tables = Export(
                exports.export_ratings(connection),
                exports.export_participants(connection, before),
                exports.export_demographics(connection),
            )
    with whole_folder(out) as temporary:
        temporary.chmod(0o700)
        details = {"designs": sorted(designs)}
        write_export(
            temporary, tables, made(METHOD, packages=["pandas", "pyarrow"], details=details)
        )
        content = json.dumps(designs, indent=1, ensure_ascii=False) + "\n"
        (temporary / "designs.json").write_text(content, encoding="utf-8")
        for path in temporary.iterdir():
            path.chmod(0o600)


def _export_texts(folder: Path, with_text: Path, word: str | None, out: Path) -> None:
    """Ratings with the sentences that were shown, in an encrypted archive only."""
    import pyzipper

    from worldprobe.contracts import read_provenance, read_table
    from worldprobe_survey import export as exports
    from worldprobe_survey.contracts import StudyLists
    from worldprobe_survey.lists import as_csv, digest_lists

    if not word:
        raise UserError(
            "--password",
            "is missing: texts of items leave this machine encrypted only.",
            f"Set {PASSWORD_VARIABLE}.",
        )
    if out.suffix != ".zip":
        problem = "is not a .zip file: texts of items are written encrypted only."
        raise UserError(f"--out {out}", problem, "Name a .zip file.")
    lists = read_table(with_text, StudyLists)
    with _databases(folder) as (answers, _), answers.read() as connection:
        ratings = exports.export_ratings(connection)
    if len(ratings) and ratings["lists_digest"].iloc[0] != digest_lists(lists):
        raise UserError(
            with_text,
            "is not the table of lists that this survey shows.",
            "Give the one it was served with.",
        )
    texts = lists[["question", "first_context", "second_context", "target"]].drop_duplicates(
        "question"
    )
    joined = ratings.merge(texts, on="question", how="left").sort_values(
        ["participant", "session", "presented"]
    )
    canary = read_provenance(with_text).canary
    with (
        whole_file(out) as temporary,
        pyzipper.AESZipFile(temporary, "w", encryption=pyzipper.WZ_AES) as archive,
    ):
        archive.setpassword(word.encode())
        line = f"# {canary.lstrip('# ')}\n" if canary else ""
        archive.writestr("ratings_with_texts.csv", line + as_csv(joined))


def identities(folder: Survey, /, *, token: Path, out: Path) -> None:
    """List whom to pay: recruiter's ids, codes, minutes, failed catch trials.

    It is never written into the repository or a results folder.

    Args:
        token: the file identities-token of the survey
        out: CSV file outside the repository
    """
    from worldprobe.files import refuse_checkout
    from worldprobe_survey.export import IDENTITY_COLUMNS, list_identities
    from worldprobe_survey.lists import neutralize
    from worldprobe_survey.study import DATA, check_token

    refuse_checkout(out, DATA)
    path = out.resolve()
    if path.is_relative_to(REPOSITORY) or "results" in path.parts:
        fix = "Name a file elsewhere: it contains identities."
        raise UserError(f"--out {out}", "is in the repository or in results/.", fix)
    with _databases(folder) as (answers, identities):
        check_token(identities, token)
        rows = list_identities(answers, identities)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, IDENTITY_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: neutralize("" if row[name] is None else row[name]) for name in IDENTITY_COLUMNS}
        for row in rows
    )
    with whole_file(out) as temporary:
        temporary.chmod(0o600)
        temporary.write_text(stream.getvalue(), encoding="utf-8", newline="")
    print(
        f"{len(rows)} submissions. Excluding answers from an analysis is no reason not to pay for"
        " them."
    )


Person = Annotated[
    str,
    Parameter(
        help="the recruiter's id, or the key of the last page; - reads it from standard input",
        allow_leading_hyphen=True,
    ),
]


_UNKNOWN = UserError(
    "PERSON",
    "is not known to this survey.",
    "Give the recruiter's id, or the key of the last page.",
)


def _find_person(identities: Database, name: str) -> str | None:
    from worldprobe_survey.export import find_person

    return find_person(identities, sys.stdin.readline().strip() if name == "-" else name)


def person(folder: Survey, name: Person, /, *, out: Path) -> None:
    """Write all that is stored about one person, for whoever asks for a copy of their data.

    Args:
        out: JSON file
    """
    from worldprobe.files import refuse_checkout
    from worldprobe_survey.export import copy_person
    from worldprobe_survey.study import DATA

    refuse_checkout(out, DATA)
    with _databases(folder) as (answers, identities):
        participant = _find_person(identities, name)
        if participant is None:
            raise _UNKNOWN
        copy = copy_person(answers, identities, participant)
    with whole_file(out) as temporary:
        temporary.chmod(0o600)
        temporary.write_text(
            json.dumps(copy, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )


def withdraw(folder: Survey, name: Person, /) -> None:
    """Delete one person's answers, and the identity, except what payment needs."""
    from worldprobe_survey.export import withdraw

    with _databases(folder) as (answers, identities):
        # Also of somebody unknown: an interrupted withdrawal may have left bytes behind.
        withdrawn = withdraw(answers, identities, _find_person(identities, name) or "")
        if not withdrawn.was_known:
            raise _UNKNOWN
    print(
        "Deleted. Copies made by `human backup` or `human export` still contain the answers: delete"
        " or renew them."
    )
    if withdrawn.is_owed:
        print("The person had finished and is to be paid: `human identities` lists the submission.")


def close(folder: Survey, /) -> None:
    """End the study: nobody new may begin.

    The days for which identities are kept begin to count.
    """
    from worldprobe_survey.study import read_fact, write_fact

    with _databases(folder) as (answers, _):
        if not read_fact(answers, "closed_at"):
            write_fact(answers, "closed_at", answers.now())
        days = read_fact(answers, "retention_days")
    print(
        f"Closed. Pay everybody, then run `human purge`, at the latest {days} days after the end."
    )


def purge(folder: Survey, /, *, now: bool = False) -> None:
    """Delete identities after the retention period that people were promised; answers stay.

    Args:
        now: do not wait for the end of that period; everybody is paid
    """
    from worldprobe_survey.export import purge
    from worldprobe_survey.store import DAY_MS
    from worldprobe_survey.study import read_fact

    with _databases(folder) as (answers, identities):
        closed_at, days = read_fact(answers, "closed_at"), int(read_fact(answers, "retention_days"))
        if not closed_at and now:
            problem = (
                "is of a study that goes on: people whose identities are deleted could take part"
                " again."
            )
            raise UserError(folder, problem, "End the study with `human close` first.")
        if not closed_at:
            print("Nothing is due: the study goes on. `human close` ends it.")
            return
        n_left = days - (answers.now() - int(closed_at)) // DAY_MS
        if n_left > 0 and not now:
            print(
                f"Nothing is due: people were told {days} days after the end, which are over in"
                f" {n_left} days."
            )
            return
        if n_left > 0:
            _refuse_early(folder, answers)
        n = purge(answers, identities)
    print(
        f"{n} identities were deleted; their answers stay. Delete backups and lists of payments,"
        " too."
    )


def _refuse_early(folder: Path, answers: Database) -> None:
    """Refuse to delete identities before the promised day while somebody is answering.

    Raises:
        UserError: somebody is.
    """
    from worldprobe_survey.progress import count
    from worldprobe_survey.study import read_fact

    with answers.read() as connection:
        n = count(connection, answers.now() - int(read_fact(answers, "expiry_ms")), 0).total("live")
    if n:
        problem = (
            f"has {n} people who are answering now; without their identity they could not be paid."
        )
        raise UserError(
            folder,
            problem,
            "Wait until they have finished, or their places have expired: see `human status`.",
        )


def import_submissions(folder: Survey, submissions: Path, /) -> None:
    """Free the lists of people who returned their submission on Prolific.

    Args:
        submissions: Prolific's export of the study's submissions (CSV)
    """
    from worldprobe_survey.identities import import_submissions

    frame = read_frame(submissions, _read_bytes(submissions))
    with _databases(folder) as (answers, identities):
        outcome = import_submissions(answers, identities, frame, submissions)
    print(", ".join(f"{n} {status.lower()}" for status, n in outcome.statuses.items()))
    print(f"{outcome.n_freed} lists are free again")
    print(
        f"{outcome.n_returned} of them had finished here: their answers are marked as returned, and"
        " cleaning leaves them out"
    )
    print(
        f"{outcome.n_kept} timed out or were cancelled there after they had finished here: their"
        " answers are kept"
    )
    print(f"{outcome.n_incomplete} kept their place but are not complete here")
    print(f"{outcome.n_unknown} never consented here")
    print(
        f"{outcome.n_absent} submissions here are not in the file"
        + (": their ids may be invented" if outcome.n_absent else "")
    )


def reopen(folder: Survey, people: Path, /) -> None:
    """Reopen the lists of people whose answers are excluded.

    Args:
        people: CSV or Parquet table of these people, in its column participant
    """
    from worldprobe_survey.identities import reopen

    with _databases(folder) as (answers, _):
        n_changed, n_unknown = reopen(answers, _read_people(people))
    print(f"{n_changed} lists reopened")
    if n_unknown:
        print(f"{n_unknown} people of the table are not in this survey")


def _read_people(path: Path) -> list[str]:
    import pandas as pd

    if path.suffix == ".parquet":
        try:
            frame: pd.DataFrame = pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise UserError(path, "is not a readable Parquet file.", "Check the path.") from error
    else:
        frame = read_frame(path, _read_bytes(path))
    if "participant" not in frame:
        raise UserError(path, 'has no column "participant".', "Give the table of excluded people.")
    # The table of all raters has them too: lists of people whose answers count stay closed.
    excluded = (
        frame[frame["excluded_by"].fillna("").astype(str).str.strip() != ""]
        if "excluded_by" in frame
        else frame
    )
    return sorted(set(excluded["participant"].astype(str)))


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(
            path,
            f"cannot be read ({error.strerror}).",
            "Check the path and your permission to read it.",
        ) from error
