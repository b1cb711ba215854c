"""The digest of a package's code, whatever the package is made of."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from worldprobe import code_digest
from worldprobe.code_digest import digest_code


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages that are installed outside the repository."""
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    code_digest.forget()


@pytest.mark.parametrize(
    ("module", "file"),
    [
        ("their_package.scores", "their_package/materials/read.py"),
        ("their_tables", "their_tables.py"),
        ("their_namespace.scores", "their_namespace/scores.py"),
    ],
    ids=["a package", "a single module", "a package without __init__.py"],
)
def test_an_edit_of_a_module_changes_the_digest(place: Path, module: str, file: str) -> None:
    path = place / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x = 1\n")
    if module.startswith("their_package"):
        (place / "their_package" / "__init__.py").touch()
    before = digest_code(module)
    assert digest_code(module) == before != digest_code()
    path.write_text("x = 2\n")
    code_digest.forget()
    assert digest_code(module) != before


def test_an_edit_of_what_only_prints_changes_the_digest_of_displays_alone(place: Path) -> None:
    folder = place / "their_displays"
    folder.mkdir()
    for name in ("__init__.py", "scores.py", "figures.py"):
        (folder / name).write_text("x = 1\n")
    before = digest_code("their_displays"), digest_code("their_displays", displays=True)
    (folder / "figures.py").write_text("x = 2\n")
    code_digest.forget()
    after = digest_code("their_displays"), digest_code("their_displays", displays=True)
    assert after[0] == before[0]
    assert after[1] != before[1]


def test_an_edit_of_what_an_extension_adds_to_the_core_changes_the_core_s_digest(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "their_measure.py").write_text("x = 1\n")
    monkeypatch.setattr(code_digest, "modules_of_additions", lambda: ["their_measure"])
    code_digest.forget()
    before = digest_code()
    (place / "their_measure.py").write_text("x = 2\n")
    code_digest.forget()
    assert digest_code() != before
