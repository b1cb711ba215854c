"""Streams that are made in processes of their own."""

import multiprocessing
import signal
from pathlib import Path

import pytest

from worldprobe.errors import UserError
from worldprobe.files import check_place
from worldprobe.processes import stream_in_step

# What a started process calls is imported there: functions of Python and of the package, as a
# test's module may not be found.


def test_streams_go_in_step_in_the_order_of_their_parts():
    assert list(stream_in_step(range, [(0, 3), (10, 13)])) == [[0, 10], [1, 11], [2, 12]]


def test_a_fault_of_a_process_is_the_commands(tmp_path: Path):
    stream = stream_in_step(map, [(check_place, [tmp_path / "file", tmp_path])])
    assert next(stream) == [None]
    with pytest.raises(UserError, match="is a folder"):
        next(stream)


def test_a_process_that_was_killed_is_said():
    with pytest.raises(UserError, match="with fewer processes"):
        list(stream_in_step(map, [(signal.raise_signal, [signal.SIGKILL])]))


def test_a_stream_that_is_left_ends_its_processes():
    stream = stream_in_step(range, [(0, 3)])
    assert next(stream) == [0]
    stream.close()
    assert not multiprocessing.active_children()
