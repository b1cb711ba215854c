"""Tables for papers: CSV, LaTeX, Markdown."""
