# One page with everything on it.


rule report:
    """The report: tables, figures and what they say, as one HTML page."""
    input:
        "results/report.html",
