"""Passing materials and items on: encrypted archives, and the search for what must not be found in the open."""
