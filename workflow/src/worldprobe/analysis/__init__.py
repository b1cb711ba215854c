"""Statistics that every benchmark uses: means, intervals, tests."""
