"""Prompts that continue together: read as tries, in room that was taken once, each answer as
soon as it is there.
"""

from collections.abc import Iterator, Sequence

import pytest

from worldprobe.errors import UserError
from worldprobe.models.batching import Budget
from worldprobe.models.engine import Decoding
from worldprobe.models.transformers_engine import open_engine

BEGINNING = "The kettle is on the stove and the lamp is in the garden. "
PROMPTS = [
    BEGINNING + "Is the lamp warm?",
    BEGINNING + "Is the lamp cold, or is the kettle?",
    "The lamp hung above.",
    "A",
    BEGINNING,
    BEGINNING + "Is the lamp warm?",
]


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_prompts_that_are_read_as_tries_are_continued_as_each_alone(
    architecture: str, tiny_checkpoint
) -> None:
    engine = open_engine(str(tiny_checkpoint(architecture)))
    assert engine.can_read_tries
    how = Decoding(12)
    together = dict(engine.generate(PROMPTS, how))
    assert [together[n] for n in range(len(PROMPTS))] == [
        dict(engine.generate([prompt], how))[0] for prompt in PROMPTS
    ]
    engine.can_read_tries = False
    assert dict(engine.generate(PROMPTS, how)) == together
    assert len({written.text for written in together.values()}) > 3


def test_what_several_prompts_begin_with_is_read_once(
    tiny_checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = open_engine(str(tiny_checkpoint()))
    assert engine.can_read_tries
    read = []
    whole = engine.passes.read_rows
    monkeypatch.setattr(
        engine.passes, "read_rows", lambda rows, prefix: (read.extend(rows), whole(rows, prefix))[1]
    )
    list(engine.generate(PROMPTS, Decoding(3)))
    n_tokens = [len(ids) for ids, _ in engine.encoder.encode_prompts(PROMPTS, 3)]
    assert 0 < sum(len(row.tokens) for row in read) < 0.6 * sum(n_tokens)


def test_where_memory_runs_out_only_what_has_no_answer_is_done_again() -> None:
    done: list[list[int]] = []

    def work(units: Sequence[int]) -> Iterator[tuple[int, int]]:
        done.append(list(units))
        for unit in units:
            if len(units) > 2 and unit == units[1]:
                raise MemoryError
            yield unit, unit * unit

    budget = Budget(1024)
    assert list(budget.stream([1, 2, 3, 4, 5, 6], work)) == [(n, n * n) for n in range(1, 7)]
    assert done == [[1, 2, 3, 4, 5, 6], [2, 3], [4, 5, 6], [5], [6]]
    assert budget.tokens == 256
    with pytest.raises(UserError, match="cannot fit"):
        list(budget.stream([1, 2], lambda units: (_ for _ in ()).throw(MemoryError())))
