"""Whose text a table has, by its canary lines."""

from __future__ import annotations

#: What the canary line of our own materials contains.
OWN = "worldprobe canary"


#: What that of EWoK's official materials contains, in whatever case.
OFFICIAL = "ewok canary"


def is_own(canary: str | None) -> bool:
    r"""Whether all text is from materials of ours.

    >>> (
    ...     is_own("# worldprobe canary 1"),
    ...     is_own("# worldprobe canary 1\n# EWoK canary 2"),
    ...     is_own(None),
    ... )
    (True, False, False)
    """
    lines = [line for line in (canary or "").splitlines() if line.strip()]
    return bool(lines) and all(OWN in line for line in lines)


def is_protected(canary: str | None) -> bool:
    r"""Whether any text is from EWoK's official materials, whose terms allow it in encrypted
    archives only.

    >>> is_protected("# worldprobe canary 1\n# EWoK Canary 2"), is_protected(None)
    (True, False)
    """
    return OFFICIAL in (canary or "").lower()
