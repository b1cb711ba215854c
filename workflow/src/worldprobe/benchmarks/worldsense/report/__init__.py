"""WorldSense's part of the report."""
