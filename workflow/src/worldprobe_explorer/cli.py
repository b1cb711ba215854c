"""``explore`` and ``pick``: the page of items, and one item of a table."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

from worldprobe import __version__
from worldprobe.cli.options import answered
from worldprobe.errors import UserError
from worldprobe.files import refuse_checkout, write_text
from worldprobe.log import LOGGER
from worldprobe.paths import shipped_file

#: Why a file may not lie under version control.
HELD = "it would hold protected items"


def explore(
    tables: list[Path],
    /,
    *,
    registry: Path | None = None,
    title: str = "Items",
    with_protected_text: bool = False,
    out: Path,
) -> None:
    """Write a page that shows items, trials and models' answers, and opens offline.

    Protected items, such as EWoK's own, are shown without their text.

    Args:
        tables: items, trials, answers, judgements and people's ratings; YAML files of minimal pairs
            and their scores; official files of trials and results
        registry: model registry, for names (default: ids are shown)
        title: heading of the page
        with_protected_text: show the text of protected items, too; git must then ignore the page,
            if it lies in a repository
        out: the page (HTML)
    """
    from markupsafe import Markup

    from worldprobe.files import digest_file
    from worldprobe.provenance import is_rehearsed
    from worldprobe.report.model_names import counted, read_roster
    from worldprobe.report.origins import REHEARSAL
    from worldprobe.report.page import asset, render_template
    from worldprobe_explorer.rows import as_data, read_page_rows
    from worldprobe_explorer.worth import worth_looking

    tables = answered(tables)[0]
    rows = read_page_rows(tables)
    has_protected = bool(rows.protected) and with_protected_text
    if has_protected:
        refuse_checkout(out, HELD)
    roster = read_roster(shipped_file(registry) if registry else None)
    rows.sort_runs(roster)
    data = as_data(rows, with_protected_text, roster) | {"worth": worth_looking(rows, roster)}
    plain = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    packed = base64.b64encode(gzip.compress(plain.encode(), 9, mtime=0)).decode()
    script = own_asset("items.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    root = asset("page.css").split("*{")[0]
    values: dict[str, Any] = {
        "title": title,
        "version": __version__,
        "policy": "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action"
        f" 'none'; base-uri 'none'; script-src 'sha256-{digest}'",
        "style": Markup(root + own_asset("items.css")),
        "script": Markup(script),
        # `release check` must find protected sentences, so these are not packed
        "data": Markup(plain if has_protected else packed),
        "made_from": {str(path): digest_file(path)[:12] for path in tables},
        "canaries": sorted(
            {line for table in rows.tables for line in table.canary.splitlines() if line}
        ),
        "has_protected": has_protected,
        "languages": rows.languages,
        "rehearsal": REHEARSAL if any(map(is_rehearsed, tables)) else "",
        "n_hidden": 0 if with_protected_text else len(rows.protected),
    }
    write_text(out, render_template(__package__, "assets/items.html.jinja", **values))
    LOGGER.info("%s, %s: %s", counted(len(rows.frame), "row"), counted(len(rows.runs), "run"), out)


def own_asset(name: str) -> str:
    """A file of the folder ``assets``."""
    return (Path(__file__).parent / "assets" / name).read_text(encoding="utf-8")


def pick(table: Path, item: str, /, *, out: Path) -> None:
    """Write one item, or the trials of one tuple, as a table on which to evaluate again.

    Args:
        table: items or trials
        item: item_id or trial_id
        out: table of one item or tuple; git must ignore it, if it is protected and
            lies in a repository
    """
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.benchmarks.worldsense.analysis.questions import per_trial
    from worldprobe.benchmarks.worldsense.contracts import Trials
    from worldprobe.benchmarks.worldsense.trials.files import is_official
    from worldprobe.contracts import read_provenance, write_table
    from worldprobe.provenance import made
    from worldprobe_explorer.rows import read_page_rows

    [source] = read_page_rows([table]).tables
    rows = source.table
    contract: Any = Items
    if source.benchmark == "worldsense":
        tuples = rows.loc[rows["trial_id"].astype(str) == item, "tuple_id"]
        rows, contract = rows[rows["tuple_id"].isin(tuples)], Trials
        rows = rows.assign(number=range(len(rows)))
        if is_official(table):
            rows = rows.reset_index(drop=True)
            properties = per_trial(rows).rename(columns={"worlds": "n_worlds"})
            rows = rows.join(properties[["n_worlds", "depth", "moment"]])[list(Trials.columns)]
    elif source.benchmark == "ewok":
        rows = rows[rows["item_id"] == item]
    else:
        raise UserError(table, "contains no items or trials.", "Give a table of one of these.")
    if rows.empty:
        raise UserError(item, f"is not in {table}.", "Copy the id from the page of items.")
    if source.is_protected:
        refuse_checkout(out, HELD)
    origin = made(1, {"trials": table}) if is_official(table) else read_provenance(table)
    write_table(rows, contract, out, origin)
