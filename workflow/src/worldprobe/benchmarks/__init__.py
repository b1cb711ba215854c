"""The benchmarks: each folder is all that is one benchmark's."""
