"""Which fast pass gives the plain pass's numbers for the loaded model: measured at load, never assumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from worldprobe.errors import UserError
from worldprobe.log import LOGGER
from worldprobe.models.budget import is_out_of_memory
from worldprobe.models.passes import Passes, Sequenced
from worldprobe.models.tries import pack

#: Fast to slow. tries: shared prefixes once. batches: right padding, projection at targets only. logits: the model's own logits.
MODES = ("tries", "batches", "logits", "plain")
#: Largest difference of a token's log probability from the plain pass, nats; rounding in half precision is coarse.
TOLERANCE = {"float32": 2e-4, "bfloat16": 0.25, "float16": 0.05}
#: Share of it by which what comes later may move a token's log probability: two passes of one shape round alike.
CAUSAL_SHARE = 0.1
#: What a model's code raises when it does not take a mask, positions or a cache as we give them, or memory lacks.
REFUSALS = (RuntimeError, ValueError, TypeError, AttributeError, IndexError, ImportError, MemoryError)


def probes(vocabulary: int, longest: int) -> list[Sequenced]:
    """A few sequences of unequal length that share prefixes as real queries do, from tokens spread over the vocabulary."""
    length = max(min(24, longest) - 1, 3)
    base = tuple((7919 * (i + 1)) % vocabulary for i in range(length))
    other = tuple((104729 * (i + 3)) % vocabulary for i in range(length))
    third = length // 3
    return [
        (base, max(2 * third, 1)),
        (base[: 2 * third] + other[2 * third : -1], max(2 * third, 1)),
        (base[:third] + other[third : 2 * third + 1], max(third, 1)),
        (other, max(third, 1)),
        (other[: third + 1], 1),
    ]


def plain_passes(passes: Passes, sequences: Sequence[Sequenced], name: str) -> list[list[float]]:
    """What the plain pass says of the probes: the first thing that a loaded model computes.

    Raises:
        UserError: it cannot compute at all, e.g. for a configuration that contradicts itself.
    """
    try:
        return [passes.plain(ids, start) for ids, start in sequences]
    except Exception as error:  # a model's code fails in ways of its own
        raise cannot_compute(name, error) from error


def cannot_compute(name: str, error: Exception) -> UserError:
    """What to say of a model that was loaded and fails at its first pass."""
    reason = _first_line(error)
    if is_out_of_memory(error):
        return UserError(
            name,
            f"was loaded, but memory does not suffice for its first text ({reason}).",
            "Give it more GPUs, GPUs that nothing else uses, or a smaller dtype.",
        )
    return UserError(
        name,
        f"was loaded, but cannot compute ({type(error).__name__}: {reason}).",
        "Check config.json.",
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no message"])[0][:200]


def refuse_lack_of_memory(error: Exception) -> None:
    """Raise UserError where memory lacks: what else a machine does must not decide how a model is computed."""
    if is_out_of_memory(error):
        problem = f"memory does not suffice to check the loaded model ({_first_line(error)})."
        raise UserError("self-check", problem, "Give it more GPUs, GPUs that nothing else uses, or a smaller dtype.") from error


def ensure_causal(passes: Passes, sequences: Sequence[Sequenced], dtype: str, name: str) -> None:
    """Refuse a model whose log probabilities of a token depend on later tokens, such as an encoder.

    The last third of a sequence is exchanged: what the model says of the first two thirds must stay, to a fraction of the
    tolerance, as both passes have the same shape.

    Raises:
        UserError: it does not stay.
    """
    ids, other = sequences[0][0], sequences[3][0]
    kept = max(2 * len(ids) // 3, 2)
    before = passes.plain(ids, 1)[: kept - 1]
    after = passes.plain((*ids[:kept], *other[kept:]), 1)[: kept - 1]
    if largest_difference([before], [after]) > TOLERANCE[dtype] * CAUSAL_SHARE:
        raise UserError(
            name,
            "is not a causal language model: its log probabilities of a token depend on the tokens that follow.",
            "Give a model that continues a text, such as GPT-2 or Llama; or, if it is a decoder, set is_decoder in config.json; "
            "or, if it is a masked model such as BERT, say so: kind: masked (--kind masked).",
        )


def choose_mode(
    passes: Passes, sequences: Sequence[Sequenced], expected: Sequence[Sequence[float]], dtype: str, fastest: str = "tries"
) -> tuple[str, dict[str, float]]:
    """The fastest mode that agrees with the plain pass, and the largest difference of each mode that was tried.

    Args:
        passes: the model's passes.
        sequences: the probes.
        expected: what the plain pass says of them.
        dtype: the model's, which sets the tolerance.
        fastest: the first mode to try.
    """

    def by_tries() -> list[list[float]]:
        found = dict(passes.rows(pack(sequences, 4 * len(sequences[0][0])), sequences))
        return [found[i] for i in range(len(sequences))]

    ways: dict[str, Callable[[], list[list[float]]]] = {
        "tries": by_tries,
        "batches": lambda: passes.padded(sequences),
        "logits": lambda: passes.padded(sequences, own_head=True),
    }
    differences: dict[str, float] = {}
    for mode in MODES[MODES.index(fastest) : -1]:
        try:
            differences[mode] = largest_difference(expected, ways[mode]())
        except REFUSALS as error:
            refuse_lack_of_memory(error)
            LOGGER.info("self-check: %s is not supported by this model (%s)", mode, type(error).__name__)
            continue
        if differences[mode] <= TOLERANCE[dtype]:
            LOGGER.info("self-check: %s agrees with the plain pass to within %.1e nats", mode, differences[mode])
            return mode, differences
        LOGGER.info("self-check: %s differs from the plain pass by %.1e nats, so it is not used", mode, differences[mode])
    return "plain", differences


def check_cache(passes: Passes, sequences: Sequence[Sequenced], dtype: str, mode: str) -> tuple[bool, float]:
    """Does a sequence whose beginning comes from a cache end in the same logits, and by how much do they differ?"""
    ids = sequences[0][0]
    tokens = sorted(set(ids))
    middle = len(ids) // 2
    own_head = mode == "logits"
    try:
        expected = passes.next_padded([ids], tokens, own_head)
        beginning = passes.prefix(ids[:middle])
        difference = largest_difference(expected, passes.next_cached([ids[middle:]], tokens, beginning, own_head))
        if mode == "tries":
            rows = pack([((*ids[middle:], 0), len(ids) - middle)], len(ids))
            difference = max(difference, largest_difference(expected, [passes.next_in_rows(rows, tokens, beginning)[0][1]]))
    except REFUSALS as error:
        refuse_lack_of_memory(error)
        LOGGER.info("self-check: prefix caching is not supported by this model (%s)", type(error).__name__)
        return False, float("inf")
    if difference > TOLERANCE[dtype]:
        LOGGER.info("self-check: prefix caching moves logits by %.1e, so it is not used", difference)
    return difference <= TOLERANCE[dtype], difference


def largest_difference(one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> float:
    """Largest absolute difference of two sets of values; infinite where a value is not a number."""
    largest = 0.0
    for a, b in zip(one, other, strict=True):
        for x, y in zip(a, b, strict=True):
            if x != y:  # true of NaN, which agrees with nothing
                difference = abs(x - y)
                largest = max(largest, difference if difference == difference else float("inf"))
    return largest
