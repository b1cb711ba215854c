"""Statistics that every benchmark uses."""
