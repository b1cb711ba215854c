"""``report build``: one HTML page that opens offline; ``report notebook``: a notebook, run, as a part of it."""

from __future__ import annotations

import argparse

from worldprobe.benchmarks.ewok.ways import EVAL_TYPES


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """The commands of the report."""
    actions = stages.add_parser("report", help="build the HTML report").add_subparsers(metavar="ACTION", required=True)
    build = actions.add_parser("build", help="one HTML page that opens offline", description="One HTML page that opens offline.")
    build.add_argument("summaries", metavar="SUMMARIES", help="the summaries table (Parquet)")
    build.add_argument("--models", metavar="FILE", help="model registry, for names and order (config/models.yaml)")
    build.add_argument("--tables", nargs="*", default=[], metavar="JSON", help="printed tables (.json, from `worldprobe table`)")
    build.add_argument("--figures", nargs="*", default=[], metavar="SVG", help="figures (.svg, from `worldprobe figure`)")
    build.add_argument(
        "--made-from", nargs="*", default=[], metavar="PARQUET", help="tables whose provenance the methods paragraph tells"
    )
    build.add_argument("--benchmarks", metavar="FOLDER", help="Snakemake's benchmark files, for the run times")
    build.add_argument(
        "--gpus", nargs="*", default=[], metavar="MODEL=N", help="GPUs of each model's scoring job, for the GPU-hours"
    )
    build.add_argument("--rulegraph", metavar="FILE", help="what `snakemake --rulegraph` prints, or a picture of it (.svg)")
    build.add_argument(
        "--notebooks", nargs="*", default=[], metavar="HTML", help="notebooks that were run (from `report notebook`)"
    )
    build.add_argument("--item-text", metavar="ITEMS", help="show one item per domain; only for worldprobe's own materials")
    build.add_argument(
        "--eval-type", choices=EVAL_TYPES, default="logprobs", help="paradigm of the headline (default: %(default)s)"
    )
    build.add_argument("--out", required=True, metavar="HTML", help="the page")
    build.set_defaults(run=run)
    notebook = actions.add_parser(
        "notebook", help="run a notebook over a finished study", description="Run a notebook over a finished study."
    )
    notebook.add_argument("notebook", metavar="NOTEBOOK", help="an .ipynb file; it is read, never written")
    notebook.add_argument(
        "--study", default="results/ewok", metavar="FOLDER", help="results that it reads (default: %(default)s)"
    )
    notebook.add_argument("--models", default="config/models.yaml", metavar="FILE", help="model registry (default: %(default)s)")
    notebook.add_argument(
        "--materials", metavar="FOLDER", help="materials that it may copy and extend (default: the built-in ones)"
    )
    notebook.add_argument("--out", required=True, metavar="HTML", help="a fragment for `report build --notebooks`")
    notebook.set_defaults(run=run_notebook)


def run(args: argparse.Namespace) -> None:
    """Read the parts, build, write."""
    from pathlib import Path

    from worldprobe.benchmarks.ewok.contracts import Summaries
    from worldprobe.benchmarks.ewok.report.examples import read_examples
    from worldprobe.benchmarks.ewok.report.methods import read_made
    from worldprobe.benchmarks.ewok.report.page import Parts, read_fragment, write
    from worldprobe.contracts import read_table
    from worldprobe.present.printed import read_printed
    from worldprobe.present.roster import read_roster
    from worldprobe.present.rulegraph import rulegraph_svg
    from worldprobe.present.runtimes import read_gpu_times, read_run_times

    made_from = list(dict.fromkeys([args.summaries, *args.made_from]))
    parts = Parts(
        summaries=read_table(args.summaries, Summaries),
        roster=read_roster(args.models),
        tables=[read_printed(path) for path in args.tables],
        figures=[Path(path) for path in args.figures],
        made=read_made(made_from),
        run_times=read_run_times(args.benchmarks),
        gpu_times=read_gpu_times(args.benchmarks, _counts(args.gpus)),
        rulegraph=rulegraph_svg(args.rulegraph) if args.rulegraph else None,
        examples=read_examples(args.item_text) if args.item_text else [],
        notebooks={Path(path).stem.replace("_", " "): read_fragment(path) for path in args.notebooks},
        eval_type=args.eval_type,
    )
    write(parts, args.out)


def _counts(pairs: list[str]) -> dict[str, int]:
    """Model -> GPUs.

    Raises:
        UserError: an entry is not MODEL=N.
    """
    from worldprobe.errors import UserError

    counts = {}
    for pair in pairs:
        model, _, count = pair.rpartition("=")
        if not model or not count.isdigit():
            raise UserError("--gpus", f'"{pair}" is not of the form MODEL=N.', "Give, for instance, gpt2_xl=1.")
        counts[model] = int(count)
    return counts


def run_notebook(args: argparse.Namespace) -> None:
    """Run, convert, write."""
    from pathlib import Path

    from worldprobe.files import write_text
    from worldprobe.present import notebooks

    settings = {"WORLDPROBE_STUDY": str(Path(args.study).resolve()), "WORLDPROBE_REGISTRY": str(Path(args.models).resolve())}
    if args.materials:
        settings["WORLDPROBE_MATERIALS"] = str(Path(args.materials).resolve())
    write_text(args.out, notebooks.run_notebook(args.notebook, settings))
