"""What `compare` is given, as files of answers: folders of `evaluate`, and names of references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from worldprobe.benchmarks import benchmarks, find_analysis
from worldprobe.errors import UserError

#: The files of a folder of `evaluate` that have all that models answered.
ANSWERED = ("judgements.parquet", "scores.parquet")


@contextmanager
def as_files(given: Sequence[Path]) -> Iterator[dict[Path, str]]:
    """Files of answers -> as they were given.

    Args:
        given: files, folders of `evaluate`, and names of references of the first one's items.

    Raises:
        UserError: a folder has answers of no benchmark or of several, or a name is no reference.
    """
    names = {path: str(path) for path in given if is_name(path)}
    files = {inside(path): str(path) for path in given if path not in names}
    with TemporaryDirectory() as place:
        if names and files:
            first = next(iter(files))
            _, benchmark = find_analysis(first, "compare")
            if benchmark and benchmark.references:
                for name in names.values():
                    made = Path(place, f"{name}.parquet")
                    benchmark.references(first, name, made)
                    files[made] = name
                names = {}
        yield files | names


def is_name(path: Path) -> bool:
    """Whether it is no file but a word, and a benchmark has references."""
    is_word = not path.suffix and len(path.parts) == 1 and not path.exists()
    return is_word and any(benchmark.references for benchmark in benchmarks().values())


def inside(path: Path) -> Path:
    """The file of answers of a folder of `evaluate`; another path as it is.

    Raises:
        UserError: it has none, or several.
    """
    if not path.is_dir():
        return path
    files = [
        file for name in ANSWERED for file in sorted({*path.glob(name), *path.glob(f"*/{name}")})
    ]
    if len(files) != 1:
        problem = f"contains {'several' if files else 'no'} tables of answers."
        fix = f"Name the file: {', '.join(map(str, files))}." if files else "Name the files."
        raise UserError(path, problem, fix)
    return files[0]
