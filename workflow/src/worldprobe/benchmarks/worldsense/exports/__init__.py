"""Trials and responses for other programs."""
