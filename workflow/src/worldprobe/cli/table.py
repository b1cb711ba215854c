"""``table NAME``: a printed table as CSV, LaTeX and Markdown, by the suffixes of ``--out``.

``table set`` prints many in one process, which saves the second that it takes to begin.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from worldprobe.benchmarks.ewok.ways import EVAL_TYPES

if TYPE_CHECKING:
    import pandas as pd

#: printed table -> the table of the study that it is made of; those that need more have a command of their own.
SET = {
    "mean_accuracy": "summaries",
    "accuracy_by_domain": "summaries",
    "accuracy_by_paradigm": "summaries",
    "likert_strict": "summaries",
    "correlations": "correlations",
    "comparisons": "comparisons",
}


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """One command per table."""
    names = stages.add_parser("table", help="print a table as CSV, LaTeX and Markdown").add_subparsers(
        metavar="NAME", required=True
    )

    def add(name: str, help_text: str, *inputs: str, roster: bool = True) -> argparse.ArgumentParser:
        parser = names.add_parser(name, help=help_text, description=help_text)
        for table in inputs:
            parser.add_argument(table, metavar=table.upper(), help=f"the {table} table (Parquet)")
        if roster:
            parser.add_argument("--models", metavar="FILE", help="model registry, for names and order (config/models.yaml)")
        parser.set_defaults(run=run, table=name)
        return parser

    eval_type = {"choices": EVAL_TYPES, "default": "logprobs", "help": "paradigm (default: %(default)s)"}
    metric = {
        "choices": ("accuracy", "strict"),
        "default": "accuracy",
        "help": "ties count one half, or as wrong (default: %(default)s)",
    }
    mean = add("mean_accuracy", "mean and range by model (paper, Table 1)", "summaries")
    mean.add_argument("--eval-type", **eval_type)  # type: ignore[arg-type]
    mean.add_argument("--metric", **metric)  # type: ignore[arg-type]
    domain = add("accuracy_by_domain", "LLM average, LLM best and human by domain (paper, Table 2)", "summaries")
    domain.add_argument("--eval-type", **eval_type)  # type: ignore[arg-type]
    strict = add("likert_strict", "Likert accuracy where equal ratings are wrong (paper, Table 4)", "summaries")
    strict.add_argument("--eval-type", **(eval_type | {"default": "likert_constrained_two"}))  # type: ignore[arg-type]
    paradigm = add("accuracy_by_paradigm", "every model under every paradigm and set-up", "summaries")
    paradigm.add_argument("--metric", **metric)  # type: ignore[arg-type]
    mixed = add("mixed_model", "coefficients of the regression (paper, Table 3)", "coefficients", roster=False)
    mixed.add_argument("--fit", choices=("mixed_model", "fixed_effects"), help="which fit (default: the table's first)")
    correlations = add("correlations", "accuracy against surface features (paper, Figure 5 D-F)", "correlations")
    correlations.add_argument("--eval-type", **eval_type)  # type: ignore[arg-type]
    correlations.add_argument("--unit", choices=("domain_version", "item"), default="domain_version", help="what one point is")
    add("reproduction", "published numbers beside ours", "reproduction")
    add("comparisons", "paired comparisons of models", "comparisons")
    add("dataset", "what the materials hold, by domain", "templates", "items", roster=False)
    many = names.add_parser("set", help="many tables of one study at once", description="Many tables of one study at once.")
    many.add_argument("study", type=Path, metavar="FOLDER", help="where the study's tables lie, e.g. results/ewok")
    many.add_argument("--models", metavar="FILE", help="model registry, for names and order (config/models.yaml)")
    many.set_defaults(run=run_set)
    for parser in names.choices.values():
        parser.add_argument("--out", nargs="+", required=True, metavar="FILE", help="paths that end in .csv, .tex or .md")


def run(args: argparse.Namespace) -> None:
    """Read, build, write."""
    from worldprobe.benchmarks.ewok import contracts
    from worldprobe.benchmarks.ewok.tables import accuracy, dataset, statistics
    from worldprobe.contracts import Table, read_provenance, read_table
    from worldprobe.present.roster import read_roster

    def read(name: str, contract: type[Table], columns: tuple[str, ...] | None = None) -> pd.DataFrame:
        return read_table(getattr(args, name), contract, columns)

    roster = read_roster(getattr(args, "models", None))
    if args.table == "dataset":
        templates = read("templates", contracts.Templates, dataset.DESIGN_COLUMNS)
        sheet = dataset.dataset(templates, read("items", contracts.Items, ("domain", "version")))
    elif args.table == "mixed_model":
        made_by = read_provenance(args.coefficients)
        sheet = statistics.mixed_model(read("coefficients", contracts.Coefficients), made_by, args.fit)
    elif args.table == "correlations":
        sheet = statistics.correlations(read("correlations", contracts.Correlations), roster, args.eval_type, args.unit)
    elif args.table == "reproduction":
        made_by = read_provenance(args.reproduction)
        sheet = statistics.reproduction(read("reproduction", contracts.Reproduction), made_by, roster)
    elif args.table == "comparisons":
        sheet = statistics.comparisons(read("comparisons", contracts.Comparisons), roster)
    else:
        options = {key: getattr(args, key) for key in ("eval_type", "metric") if hasattr(args, key)}
        sheet = getattr(accuracy, args.table)(read("summaries", contracts.Summaries), roster, **options)
    sheet.write(args.out)


def run_set(args: argparse.Namespace) -> None:
    """Print the tables that the files' names ask for, each as its own command would.

    Raises:
        UserError: a file's name is not that of a table.
    """
    from worldprobe.cli import build_parser, by_stem

    parser = build_parser()
    for name, paths in by_stem(args.out, SET).items():
        options = ["--models", args.models] if args.models else []
        run(parser.parse_args(["table", name, str(args.study / f"{SET[name]}.parquet"), *options, "--out", *paths]))
