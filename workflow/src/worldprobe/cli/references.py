"""Names of references, which `compare` takes like files of answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from worldprobe.benchmarks import benchmarks, find_analysis


def is_name(path: Path) -> bool:
    """Whether it is no file but a word, and a benchmark has references."""
    is_word = not path.suffix and len(path.parts) == 1 and not path.exists()
    return is_word and any(benchmark.references for benchmark in benchmarks().values())


def has_references(answers: Path) -> bool:
    """Whether the benchmark of a file of answers has references."""
    benchmark = find_analysis(answers, "compare")[1]
    return bool(benchmark and benchmark.references)


@contextmanager
def with_references(files: Sequence[Path], names: Sequence[Path]) -> Iterator[dict[Path, str]]:
    """Files of answers -> what an output calls them; the references' are there for a while.

    Args:
        files: of one benchmark.
        names: of references of the first file's items.

    Raises:
        UserError: a name is no reference of these items.
    """
    called = {path: str(path) for path in files}
    benchmark = find_analysis(files[0], "compare")[1] if names and files else None
    if not (benchmark and benchmark.references):
        yield called | {name: str(name) for name in names}  # which says that there is no such file
        return
    with TemporaryDirectory() as place:
        for name in map(str, names):
            made = Path(place, f"{name}.parquet")
            benchmark.references(files[0], name, made)
            called[made] = name
        yield called
