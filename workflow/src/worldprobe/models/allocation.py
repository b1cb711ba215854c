"""Freed memory stays in the process, so that every layer of a pass on a CPU does not ask for the same memory again.

By default, glibc gives blocks as large as a layer's states back to the operating system as soon as they are freed, and gets each
next one page by page: 4 to 9 % of a pass of GPT-2-small's shape, as measured. No number depends on it.
"""

from __future__ import annotations

import ctypes

#: Parameters of glibc's mallopt -> bytes. The first is the most that glibc takes: larger blocks are still given back.
KEPT = {"M_MMAP_THRESHOLD": (-3, 32 << 20), "M_TRIM_THRESHOLD": (-1, 512 << 20)}


def keep_freed_memory() -> bool:
    """Keep up to 512 MB of freed memory in this process; False where the C library has no such setting."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # not glibc, or Windows
        return False
    return all(mallopt(parameter, size) == 1 for parameter, size in KEPT.values())
