"""``import released``: results that EWoK's authors released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cyclopts import App

from worldprobe.cli.options import Password, read_password
from worldprobe.errors import UserError
from worldprobe.provenance import made

#: Version of the computation: 2 judges pairings, too.
RELEASED_METHOD = 2


def released(
    source: Path,
    /,
    *,
    password: Password = None,
    skip: Sequence[str] = (),
    surface_out: Path | None = None,
    out: Path,
) -> None:
    """Import the authors' released results, with the paper's exclusion steps.

    Reads one CSV per domain under dataset-cfg=.../eval=.../model=..., human ratings and controls,
    from a folder or a ZIP, and applies the released analysis's steps, printing rows in and out:
    recode_contrasts, check_versions, drop_duplicates, require_human, exclude_flagged,
    reverse_flagged, drop_unreleased.

    Args:
        source: folder or .zip of released results
        skip: steps to leave out
        surface_out: surface features table, where the release has controls
        out: judgements table of all models and eval types
    """
    from worldprobe.benchmarks.ewok.contracts import Judgements, SurfaceFeatures
    from worldprobe.contracts import write_table
    from worldprobe_lab.released import apply_steps, read_release

    release = read_release(source, read_password(password))
    judgements, surface, effects = apply_steps(release, skip)
    for effect in effects:
        print(effect)
    provenance = made(
        RELEASED_METHOD,
        {"release": source},
        ["numpy", "pandas"],
        details={
            "imported": "ewok-results",
            "source": "the release",  # of word frequencies, as of other surface features
            "steps": [asdict(e) for e in effects],
            "unread": release.unread,
        },
    )
    if surface_out:
        if surface.empty:
            raise UserError(
                source, "has no surface features (eval=controls).", "Leave out --surface-out."
            )
        write_table(surface, SurfaceFeatures, surface_out, provenance)
    write_table(judgements, Judgements, out, provenance)


def add_commands(app: App) -> None:
    """Add the command to the stage ``import``."""
    app.command(released)
