"""``figure NAME``: a figure as PDF, SVG and PNG, with the tidy CSV it is drawn from, by the suffixes of ``--out``.

``figure set`` draws many in one process, which saves the second that it takes to begin.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from worldprobe.benchmarks.ewok.ways import EVAL_TYPES, GENERATIONS, SHOTS

FEATURES = ("word2vec", "n_words", "log_frequency")
SETUPS = tuple(f"{generation}_{shots}" for generation in GENERATIONS for shots in SHOTS)


def add_parsers(stages: argparse._SubParsersAction) -> None:
    """One command per figure."""
    names = stages.add_parser("figure", help="draw a figure and save its tidy CSV").add_subparsers(metavar="NAME", required=True)

    def add(name: str, help_text: str, *inputs: str) -> argparse.ArgumentParser:
        parser = names.add_parser(name, help=help_text, description=help_text)
        for table in inputs:
            parser.add_argument(table, metavar=table.upper(), help=f"the {table} table (Parquet)")
        parser.add_argument("--models", metavar="FILE", help="model registry, for names, order and colours (config/models.yaml)")
        parser.add_argument("--width", choices=("single", "double"), default="double", help="column width (default: %(default)s)")
        parser.set_defaults(run=run, figure=name)
        return parser

    def eval_type(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--eval-type", choices=EVAL_TYPES, default="logprobs", help="paradigm (default: %(default)s)")

    def setup(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--setup", choices=SETUPS, default="constrained_two", help="prompting set-up (default: %(default)s)")

    eval_type(add("accuracy_by_domain", "bars per model in a panel per domain (paper, Figure 4)", "summaries"))
    eval_type(add("design_features", "design and surface features (paper, Figure 5)", "summaries", "correlations"))
    setup(add("paradigms", "LogProbs, Likert and Choice per model (paper, Figure 6)", "summaries"))
    setup(add("agreement", "Choice against the choice that Likert implies (paper, Figure 7)", "agreements"))
    scatter = add("surface_feature", "accuracy against a surface feature, a panel per model", "feature_means", "correlations")
    scatter.add_argument("--feature", choices=FEATURES, required=True, help="the feature")
    eval_type(scatter)
    for by in ("model", "domain"):
        parser = add(f"setups_by_{by}", f"every prompting set-up by {by}", "summaries")
        parser.add_argument("--metric", choices=("accuracy", "strict"), default="accuracy", help="default: %(default)s")
    eval_type(add("concepts", "which concepts fail for whom: concepts against models", "summaries"))
    scaling = add("scaling", "accuracy against the number of parameters", "summaries")
    scaling.add_argument(
        "--trained", nargs="*", default=[], metavar="FOLDER", help="control models that were trained; each states its parameters"
    )
    eval_type(scaling)
    add("controls", "control models on held-in and held-out templates", "control_accuracies")
    many = names.add_parser("set", help="many figures of one study at once", description="Many figures of one study at once.")
    many.add_argument("study", type=Path, metavar="FOLDER", help="where the study's tables lie, e.g. results/ewok")
    many.add_argument("--models", metavar="FILE", help="model registry, for names, order and colours (config/models.yaml)")
    many.add_argument("--trained", nargs="*", default=[], metavar="FOLDER", help="as in `figure scaling`")
    many.set_defaults(run=run_set)
    for parser in names.choices.values():
        parser.add_argument("--out", nargs="+", required=True, metavar="FILE", help="paths that end in .pdf, .svg, .png or .csv")


def run(args: argparse.Namespace) -> None:
    """Read, draw, write."""
    from worldprobe.benchmarks.ewok.figures import catalogue
    from worldprobe.contracts import read_table
    from worldprobe.present.drawing import render
    from worldprobe.present.roster import read_roster

    plan = catalogue.FIGURES[args.figure]
    roster = read_roster(args.models).with_trained(getattr(args, "trained", []))
    tables = [read_table(getattr(args, name), contract) for name, contract in plan.inputs.items()]
    options = {name: getattr(args, name) for name in plan.options}
    render(plan.tidy(*tables, roster, **options), plan.draw, args.out, width=args.width)


def run_set(args: argparse.Namespace) -> None:
    """Draw the figures that the files' names ask for, each as its own command would.

    Raises:
        UserError: a file's name is not that of a figure.
    """
    from worldprobe.benchmarks.ewok.figures.catalogue import FIGURES
    from worldprobe.cli import build_parser, by_stem

    known = {name: [name] for name in FIGURES if name != "surface_feature"}
    known |= {feature: ["surface_feature", "--feature", feature] for feature in FEATURES}
    parser = build_parser()
    for name, paths in by_stem(args.out, known).items():
        figure, *options = known[name]
        inputs = [str(args.study / f"{table}.parquet") for table in FIGURES[figure].inputs]
        options += ["--models", args.models] if args.models else []
        options += ["--trained", *args.trained] if figure == "scaling" else []
        run(parser.parse_args(["figure", figure, *inputs, *options, "--out", *paths]))
