"""``worldprobe fit``: regressions on accuracy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from worldprobe.cli.arguments import add_missing_argument, missing_models

#: version of the computation: 2 leaves out what has no limit (separation).
METHOD = 2


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """Add the stage's commands."""
    stage = stages.add_parser("fit", help="logistic regressions on accuracy, with and without R")
    actions = stage.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, text in (
        ("mixed-model", "random intercepts of model and item, by R's lme4 (the paper)"),
        ("fixed-effects", "cross-check without R: statsmodels, standard errors clustered by item"),
    ):
        parser = actions.add_parser(name, help=text)
        parser.add_argument("judgements", type=Path, nargs="+", metavar="JUDGEMENTS", help="judgements tables of the models")
        parser.add_argument("--surface", type=Path, required=True, metavar="FILE", help="surface features table")
        parser.add_argument(
            "--eval-type",
            default="logprobs",
            metavar="NAME",
            help="way of asking whose judgements are explained (default: logprobs, as in the paper)",
        )
        parser.add_argument(
            "--ties", choices=["wrong", "drop"], default="wrong", help="exact ties: counted as wrong (as in the paper) or dropped"
        )
        parser.add_argument(
            "--target-coding",
            choices=["deviation", "treatment"],
            default="deviation",
            help="coding of the target: deviation (as in the paper) or treatment (as in the released analysis)",
        )
        if name == "mixed-model":
            parser.add_argument(
                "--algorithm",
                choices=["whitened", "plain"],
                default="whitened",
                help="whitened: fast; plain: glmer as the paper called it, slow",
            )
        add_missing_argument(parser)
        parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="coefficients table")
        parser.set_defaults(run=run, fit=name)


def run(args: argparse.Namespace) -> None:
    """Fit one regression."""
    from worldprobe.benchmarks.ewok.analysis.design import COLUMNS, build_design
    from worldprobe.benchmarks.ewok.analysis.provenances import items_of, kinds_of, read_judgements
    from worldprobe.benchmarks.ewok.contracts import Coefficients, SurfaceFeatures
    from worldprobe.contracts import read_provenance, read_table, write_table
    from worldprobe.log import LOGGER
    from worldprobe.provenance import made

    packages = ["numpy", "pandas"]
    if args.fit == "mixed-model":
        from worldprobe.benchmarks.ewok.analysis.mixed_model import fit_mixed_model, start_r

        start_r()  # a missing R is reported before anything is read
        packages.append("rpy2")
    judgements = read_judgements(args.judgements, COLUMNS, [args.surface])
    missing = missing_models(args.missing, judgements["model"].unique()) | kinds_of(args.judgements)
    surface = read_table(args.surface, SurfaceFeatures)
    design = build_design(judgements, surface, args.eval_type, args.ties, args.target_coding)
    LOGGER.info("%s: %d rows, %d models, %d items", args.fit, design.details["n_rows"], len(design.models), len(design.items))
    details: dict[str, Any]
    if args.fit == "mixed-model":
        table, details = fit_mixed_model(design, args.algorithm)
    else:
        from worldprobe.benchmarks.ewok.analysis.mixed_model import fit_fixed_effects

        table, details = fit_fixed_effects(design)
        packages.append("statsmodels")
    provenance = made(
        METHOD,
        {"surface_features": args.surface} | {str(path): path for path in args.judgements},
        packages,
        details=details | items_of(args.judgements) | missing | {"surface_features": read_provenance(args.surface).details},
    )
    write_table(table, Coefficients, args.out, provenance)
    for note in details["notes"]:
        LOGGER.warning("%s", note)
