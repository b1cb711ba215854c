"""The report: one HTML page that opens offline, built from printed tables, drawn figures and provenance."""
