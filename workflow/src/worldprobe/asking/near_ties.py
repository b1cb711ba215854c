"""How close two log probabilities must be to count as nearly tied: it depends on the numbers that the model computes with.

A near tie could have come out the other way in another batch, with another kernel or on another device. Sums over a sentence
in float32 move by about 1e-4 nats; in bfloat16 the same small model moved by 0.03 nats at the median and by 0.2 at most.
"""

from __future__ import annotations

#: dtype -> nats. float16 has three more bits of precision than bfloat16.
NEAR_TIES = {"float64": 1e-3, "float32": 1e-3, "float16": 0.025, "bfloat16": 0.2}
#: tolerance where the precision is unknown (a server) or lower still (quantised weights).
UNKNOWN = 0.2


def near_tie_of(dtype: str | None) -> float:
    """The tolerance in nats for scores that were computed in a dtype.

    >>> near_tie_of("float32"), near_tie_of("bfloat16"), near_tie_of(None)
    (0.001, 0.2, 0.2)
    """
    return NEAR_TIES.get(dtype or "", UNKNOWN)
