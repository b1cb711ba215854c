# worldprobe: does a language model know how the world works?
# The table of contents is `snakemake --list-rules`; the picture is in README.md; each rule is one command of `python -m worldprobe`.

from snakemake.utils import min_version

min_version("9.0")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/materials.smk"
include: "workflow/rules/items.smk"
include: "workflow/rules/controls.smk"
include: "workflow/rules/scoring.smk"
include: "workflow/rules/baselines.smk"
include: "workflow/rules/human.smk"
include: "workflow/rules/released.smk"
include: "workflow/rules/accuracy.smk"
include: "workflow/rules/regression.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/report.smk"


rule all:
    """Everything that the configuration asks for."""
    default_target: True
    input:
        rules.tables.input,
        rules.figures.input,
        rules.report.input,
