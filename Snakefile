# The workflow is in workflow/Snakefile; this file lets `snakemake` find it from the root of the repository.


include: "workflow/Snakefile"


workflow.default_target = "all"  # a default target of an included file does not count
