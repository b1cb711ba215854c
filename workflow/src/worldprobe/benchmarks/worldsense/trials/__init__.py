"""Trials and sets of them: made, stored, read back, audited."""
