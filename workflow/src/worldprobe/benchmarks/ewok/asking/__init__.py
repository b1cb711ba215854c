"""Scores and responses of every item, from any engine (arXiv 2405.09605, Sections 4.1, A.3, A.4)."""
