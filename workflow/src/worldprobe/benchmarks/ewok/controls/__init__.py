"""Calibration controls: a corpus of our own and small models trained on it."""
