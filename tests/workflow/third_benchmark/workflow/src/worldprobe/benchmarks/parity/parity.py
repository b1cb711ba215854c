"""Counts of even and odd numbers: the numbers, the table and the part of the report."""

from __future__ import annotations

import pandas as pd
from worldprobe.benchmarks.parity.contracts import Counts

from worldprobe.benchmark import Input, table
from worldprobe.contracts import read_table
from worldprobe.report.origins import Methods, package_versions
from worldprobe.report.page import Material, Part
from worldprobe.report.sheet import Column, Sheet


def count_parity(numbers: int) -> pd.DataFrame:
    """How many of the numbers from 1 are even and odd."""
    return pd.DataFrame({"parity": ["even", "odd"], "n": [numbers // 2, numbers - numbers // 2]})


@table(inputs=[Input(Counts, "summaries.parquet")], title="Counts", section="counts", caption="Even and odd numbers.")
def parity(counts: pd.DataFrame) -> Sheet:
    """The table."""
    return Sheet("Even and odd numbers", counts, (Column("Parity", ("parity",), is_number=False), Column("n", ("n",))), "parity")


def compose(material: Material) -> Part:
    """The part of the report."""
    even = read_table(material.summary, Counts).set_index("parity")["n"]["even"]
    methods = Methods(["We counted."], package_versions(material.origins), [])
    return Part("Which numbers are even?", f"{even} numbers are even.", [], [(str(even), "even numbers")], methods, "Nobody.")
