"""Parity: a benchmark of whole numbers."""
