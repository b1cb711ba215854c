"""Streams that are made in processes of their own."""

import os
import signal
from collections.abc import Iterator

import pytest

from worldprobe.errors import UserError
from worldprobe.processes import stream_in_step


def count_from(start: int) -> Iterator[int]:
    yield from range(start, start + 3)


def fail(kind: str) -> Iterator[int]:
    yield 1
    if kind == "fault":
        raise UserError("fillers.csv", "is damaged.", "Write it again.")
    os.kill(os.getpid(), signal.SIGKILL)


def test_streams_go_in_step_in_the_order_of_their_parts():
    assert list(stream_in_step(count_from, [(0,), (10,)])) == [[0, 10], [1, 11], [2, 12]]


@pytest.mark.parametrize(("kind", "words"), [("fault", "is damaged"), ("killed", "with fewer processes")])
def test_what_ends_a_process_is_said(kind: str, words: str):
    with pytest.raises(UserError, match=words):
        list(stream_in_step(fail, [(kind,)]))


def test_a_stream_that_is_left_ends_its_processes():
    import multiprocessing

    stream = stream_in_step(count_from, [(0,)])
    assert next(stream) == [0]
    stream.close()
    assert not multiprocessing.active_children()
