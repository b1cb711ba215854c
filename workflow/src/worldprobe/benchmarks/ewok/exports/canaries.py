"""Which files ought to carry a canary, the line by which a text is told from what models may be trained on, and which lack it."""

from __future__ import annotations

import io
import json
import re

from worldprobe.benchmarks.ewok.materials.materials import canary_lines

_LAYOUT = re.compile(
    r"(^|/)((contexts/context|concepts/concept|targets/target)-[^/]+\.yml|fillers/filler-[^/]+\.csv|(testsuite|template)-[^/]+\.csv)$"
)
_SPECIFICATION = ".spec.yml"
_PART = re.compile(r"(^|/)part-\d+-[0-9a-f]+\.jsonl$")
#: Tables whose texts are those of items, or may repeat their words.
TABLES_WITH_TEXT = frozenset(
    [
        *("templates", "items", "responses", "token_scores", "study_lists", "trials"),
        *("control_documents", "control_fillers", "control_templates"),
    ]
)


def lacks_canary(name: str, content: bytes, identity: bytes | None = None) -> bool:
    """Whether a file contains materials, items or answers, and no canary.

    Args:
        name: the file's name, with its folders.
        content: its bytes.
        identity: of a store of answers, its ``identity.json``, which states the canary once for all.
    """
    if _LAYOUT.search(name) and not name.endswith(_SPECIFICATION):
        return not canary_lines(content)
    if name.endswith(".parquet") and content.startswith(b"PAR1"):
        return _table_lacks_canary(content)
    if is_part_of_store(name):
        return not _is_said_of_answers(content, identity)
    return False


def _table_lacks_canary(content: bytes) -> bool:
    import pyarrow.parquet as parquet

    try:
        metadata = parquet.read_schema(io.BytesIO(content)).metadata or {}
        provenance = json.loads(metadata.get(b"worldprobe.provenance", b"{}"))
    except Exception:  # damaged; the search for sentences says so
        return False
    return metadata.get(b"worldprobe.table", b"").decode() in TABLES_WITH_TEXT and not provenance.get("canary")


def is_word_list(name: str) -> bool:
    """Whether a file lists fillers."""
    return _LAYOUT.search(name) is not None and "fillers/" in name


def is_part_of_store(name: str) -> bool:
    """Whether a file contains answers of a store."""
    return _PART.search(name) is not None


def _is_said_of_answers(content: bytes, identity: bytes | None) -> bool:
    """Whether a part of a store of answers, or the store itself, says what canary its items have (or that they have none)."""
    try:
        head = json.loads(content.partition(b"\n")[0])
        if isinstance(head, dict) and head.get("canary"):
            return True
        stated = json.loads(identity or b"{}")
        return isinstance(stated, dict) and isinstance(stated.get("canary"), list)
    except (ValueError, RecursionError):
        return False


#: What the canary line of our own materials contains.
OWN = "worldprobe canary"
#: What that of EWoK's official materials contains, in whatever case.
OFFICIAL = "ewok canary"


def is_own(canary: str | None) -> bool:
    r"""Whether all text is from materials of ours.

    >>> is_own("# worldprobe canary 1"), is_own("# worldprobe canary 1\n# EWoK canary 2"), is_own(None)
    (True, False, False)
    """
    lines = [line for line in (canary or "").splitlines() if line.strip()]
    return bool(lines) and all(OWN in line for line in lines)


def is_protected(canary: str | None) -> bool:
    r"""Whether any text is from EWoK's official materials, whose terms allow it in encrypted archives only.

    >>> is_protected("# worldprobe canary 1\n# EWoK Canary 2"), is_protected(None)
    (True, False)
    """
    return OFFICIAL in (canary or "").lower()
