"""EWoK's own commands."""
