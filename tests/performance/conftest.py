"""Programs, which are no tests: pytest would import them to look for examples."""

collect_ignore_glob = ["*.py"]
