"""WorldSense's figures."""
