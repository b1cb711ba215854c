"""worldprobe: does a language model know how the world works?

Two benchmarks over one set of parts: EWoK (arXiv 2405.09605) and WorldSense (arXiv 2311.15930). Every stage is one module here,
one command of ``worldprobe`` and one rule of the workflow.
"""

__version__ = "0.1.0"
