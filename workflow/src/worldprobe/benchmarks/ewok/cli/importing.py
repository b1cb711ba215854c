"""``import``: the stage, whose commands are extensions'."""

from __future__ import annotations

from cyclopts import App

app = App(
    name="import",
    help="Results of EWoK's authors or of lm-evaluation-harness, and people's ratings.",
)
