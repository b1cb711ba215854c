"""Models that are made here."""
