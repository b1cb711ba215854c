"""``notebook run``: a notebook, run over a finished study, as a part of its report."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe.cli.arguments import shipped_file


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's command."""
    stage = stages.add_parser("notebook", help="run a notebook")
    actions = stage.add_subparsers(title="actions", metavar="ACTION", required=True)
    help_text = "run a notebook over a finished study"
    parser = actions.add_parser("run", help=help_text, description=help_text.capitalize() + ".")
    parser.add_argument("notebook", metavar="NOTEBOOK", help="an .ipynb file; it is read, never written")
    parser.add_argument(
        "--results", default="results/default/ewok", metavar="FOLDER", help="results that it reads (default: %(default)s)"
    )
    parser.add_argument(
        "--condition", default="main", metavar="NAME", help="condition whose judgements it reads (default: %(default)s)"
    )
    parser.add_argument(
        "--registry",
        type=shipped_file,
        default="config/models.yaml",
        metavar="FILE",
        help="model registry (default: %(default)s)",
    )
    parser.add_argument("--materials", metavar="MATERIALS", help="materials that it may copy and extend (default: built-in ones)")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="HTML", help="a fragment for `worldprobe report build --notebooks`"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Run, convert, write."""
    from worldprobe.files import write_text
    from worldprobe.report import notebooks

    settings = {"WORLDPROBE_STUDY": str(Path(args.results).resolve()), "WORLDPROBE_REGISTRY": str(Path(args.registry).resolve())}
    settings["WORLDPROBE_CONDITION"] = args.condition
    if args.materials:
        settings["WORLDPROBE_MATERIALS"] = str(Path(args.materials).resolve())
    write_text(args.out, notebooks.run_notebook(args.notebook, settings))
