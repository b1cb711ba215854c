"""``paper write`` and ``paper typeset``: a study as a short article in which every number is a macro."""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe.cli.report_parts import add_content_arguments, read_parts
from worldprobe.errors import UserError


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's commands."""
    stage = stages.add_parser("paper", help="write a study as a LaTeX article, and typeset it")
    actions = stage.add_subparsers(metavar="ACTION", required=True)
    writing = actions.add_parser(
        "write",
        help="write paper.tex and numbers.tex",
        description="Writes paper.tex, with all tables and figures of a study and how it was made, and numbers.tex, with a LaTeX "
        "macro for every number in it, named by what it is. Quotes no item.",
    )
    add_content_arguments(writing)
    writing.add_argument(
        "--out", type=Path, nargs="+", required=True, metavar="TEX", help="paper.tex and numbers.tex, in one folder"
    )
    writing.set_defaults(run=run_write, item_text=[], benchmarks=None, answers=None, notebooks=[])
    typesetting = actions.add_parser("typeset", help="make a PDF of a paper with latexmk")
    typesetting.add_argument("paper", type=Path, metavar="TEX", help="paper.tex of `worldprobe paper write`")
    typesetting.add_argument("--out", type=Path, required=True, metavar="PDF", help="the typeset paper")
    typesetting.set_defaults(run=run_typeset)


def run_write(args: argparse.Namespace) -> None:
    """Read the parts, write the article and its numbers."""
    from worldprobe.files import write_text
    from worldprobe.log import LOGGER
    from worldprobe.report.paper import write_paper

    if [path.name for path in args.out[1:]] != ["numbers.tex"] or args.out[1].parent != args.out[0].parent:
        problem = "the files are not an article and numbers.tex in one folder."
        raise UserError("--out", problem, "Name FOLDER/paper.tex FOLDER/numbers.tex.")
    paper, numbers = args.out
    article, macros = write_paper(read_parts(args), args.study, [Path(path) for path in args.figures], paper.parent)
    write_text(paper, article)
    write_text(numbers, macros)
    LOGGER.info("%d numbers: %s", macros.count("newcommand"), numbers)


def run_typeset(args: argparse.Namespace) -> None:
    """Run latexmk on the paper and keep the PDF alone.

    Raises:
        UserError: latexmk is missing, or LaTeX finds a mistake.
    """
    import os
    import shutil
    import subprocess
    import tempfile

    from worldprobe.files import whole_file

    if shutil.which("latexmk") is None:
        fix = "sudo apt-get install latexmk texlive-latex-recommended texlive-fonts-recommended, or typeset paper.tex elsewhere."
        raise UserError("latexmk", "is not installed, so the paper cannot be typeset.", fix)
    if not args.paper.is_file():
        raise UserError(args.paper, "there is no such file.", "Write it first: worldprobe paper write.")
    with tempfile.TemporaryDirectory() as folder:
        command = [
            "latexmk",
            "-pdf",
            "-interaction=nonstopmode",
            "-halt-on-error",
            f"-output-directory={folder}",
            args.paper.name,
        ]
        dates = {"SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1"}  # same paper, same bytes
        environment = os.environ | dates
        done = subprocess.run(command, cwd=args.paper.parent, env=environment, capture_output=True, text=True, errors="replace")
        if done.returncode:
            found = next((line for line in done.stdout.splitlines() if line.startswith("!")), "! LaTeX failed")
            raise UserError(args.paper, f"LaTeX stops: {found[2:].rstrip('.')}.", "Correct it there, or write the paper again.")
        with whole_file(args.out) as temporary:
            shutil.copyfile(Path(folder) / args.paper.with_suffix(".pdf").name, temporary)
