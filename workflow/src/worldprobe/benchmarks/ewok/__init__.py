"""EWoK (arXiv 2405.09605): from materials to the report."""
