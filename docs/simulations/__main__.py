"""Tables of simulated studies, for the pages that show them.

python docs/simulations [--size quick|page] [TABLE ...]
"""

import argparse
import importlib
import json
import os
import platform
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # threads wait for one another at this size
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import pandas as pd  # noqa: E402
from studies import TABLES  # noqa: E402

PROGRAMS = (
    "intervals",
    "comparisons",
    "claims",
    "domains",
    "mixed_model",
    "people",
    "trainings",
    "worldsense",
)


def main() -> None:
    """Make tables, each into a file of its own."""
    for program in PROGRAMS:
        importlib.import_module(program)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--size", choices=["quick", "page"], default="quick")
    parser.add_argument("--studies", type=int, help="number of simulated studies of each table")
    parser.add_argument("--out", type=Path, default=Path("results/simulations"))
    given = parser.parse_args()
    if unknown := set(given.tables) - set(TABLES):
        parser.error(f"no table {', '.join(sorted(unknown))}; tables: {', '.join(TABLES)}")
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.tables or TABLES:
        made, start = TABLES[name], time.monotonic()
        n = given.studies or getattr(made, given.size)
        table = made.make(n)
        is_table = isinstance(table, pd.DataFrame)
        facts = {
            "date": datetime.now(UTC).date().isoformat(),
            "versions": {"Python": platform.python_version()}
            | {package: version(package) for package in ("worldprobe", "numpy", "scipy")},
            "settings": {"size": "other" if given.studies else given.size, "studies": n},
            **({"rows": table.to_dict("records")} if is_table else {"numbers": table}),
        }
        seconds = round(time.monotonic() - start)
        (given.out / f"{name}.json").write_text(
            json.dumps(facts, indent=1, ensure_ascii=False) + "\n"
        )
        shown = table.to_string(index=False) if is_table else table
        print(f"{name}: {n} studies, {seconds} s\n{shown}\n", flush=True)


if __name__ == "__main__":
    main()
