"""WorldSense's printed tables."""
