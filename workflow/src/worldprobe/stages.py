"""The stages of the command line by name."""

from __future__ import annotations

from worldprobe import extensions

#: Group of the list of all -> the shared stages: where each is, and its line in the list.
GROUPS = {
    "Start here": {
        "evaluate": (
            "evaluate:evaluate",
            "evaluate models, and write the result and a report of each",
        ),
        "compare": ("analysis:compare", "test whether models differ, paired by item"),
        "results": ("evaluate:results", "check a result, or export it for other tools"),
    },
    "A study": {
        "config": ("study:config", "begin a configuration file, or check it"),
        "workflow": ("study:workflow", "print the path of the Snakefile"),
        "status": ("study:status", "list which models are done, failed or still to run"),
        "models": ("models:app", "list and fetch models, and plan what they need"),
        "fetch": ("study:fetch", "download a file that resources/sources.yaml lists"),
        "attempt": ("study:attempt", "run a command whose results a study can do without"),
        "ask": ("ask:ask", "score a model on minimal pairs, or on another benchmark"),
        "summarize": ("analysis:summarize", "compute mean accuracy by group, with intervals"),
        "reproduction": ("analysis:reproduction", "compare our numbers with the published ones"),
        "table": ("report:table", "print a table as CSV, LaTeX, Markdown and JSON"),
        "figure": ("report:figure", "draw a figure, and save its numbers as CSV"),
        "notebook": ("report:notebook", "run a notebook over a finished study"),
        "report": ("report:report", "build the HTML report"),
        "archive": ("archive:app", "pack a finished study, to be drawn again without models"),
    },
}
_SHARED = {
    name: (f"worldprobe.cli.{function}", about)
    for stages in GROUPS.values()
    for name, (function, about) in stages.items()
}
#: All stages: the shared ones, those of benchmarks, and those of other extensions.
STAGES = dict(_SHARED)
for _stages in extensions.commands_by_title().values():
    STAGES |= _stages
