"""The report: one HTML page that opens offline, made from printed tables, drawn figures and provenance."""
