"""Invented questions, and the built-in items as people are asked about them."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from worldprobe_survey.lists import QUESTION_COLUMNS


@pytest.fixture(scope="session")
def builtin_items(tmp_path_factory) -> pd.DataFrame:
    """A quarter of the built-in materials, of every domain, in versions 0 to 4, filled so that many
    sentences are shared.
    """
    from command_line import run
    from worldprobe.benchmarks.ewok.contracts import Items
    from worldprobe.contracts import read_table

    path = tmp_path_factory.mktemp("builtin") / "items.parquet"
    assert run(f"items build builtin --mode fixed --versions 0-4 --out {path}") == 0
    items = read_table(path, Items)
    return items[items["meta_template"] % 4 == 1].reset_index(drop=True)


@pytest.fixture(scope="session")
def questions_of() -> Callable[..., pd.DataFrame]:
    """A function: number of units (a domain), versions, domains -> invented questions."""
    return _questions_of


def _questions_of(
    n_units: int, n_versions: int = 5, domains: tuple[str, ...] = ("garden",)
) -> pd.DataFrame:
    """Likert questions without shared sentences: ``n_units`` templates in each domain."""
    rows = []
    for domain in domains:
        for unit in range(1, n_units + 1):
            for version in range(n_versions):
                for target in (1, 2):
                    for context in (1, 2):
                        name = f"{domain}_{unit}_1"
                        rows.append(
                            {
                                "item_id": f"{name}_v{version}",
                                "target": target,
                                "context": context,
                                "unit": name,
                                "domain": domain,
                                "version": version,
                                "eval_type": "likert",
                                "first_context": (
                                    f"Context {context} of {name} in version {version}."
                                ),
                                "second_context": None,
                                "target_text": f"Target {target}.",
                                "expected": 5 if target == context else 1,
                            }
                        )
    return pd.DataFrame(rows)[list(QUESTION_COLUMNS)]
