"""Work in several processes of this machine, which end with the command whatever ends it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any

from worldprobe.errors import UserError


def was_killed() -> UserError:
    """The error of a process that ended before its work was done."""
    problem = (
        "a process ended before its work was done; it was killed, perhaps because memory ran out."
    )
    return UserError("--processes", problem, "Run the command again with fewer processes.")


def end_with_the_command() -> None:
    """End this process when the command that started it was killed; it would wait for work for
    ever.
    """
    command = parent_process()

    def wait() -> None:
        if command is not None:
            command.join()
            os._exit(1)

    Thread(target=wait, daemon=True).start()


def stream_in_step(
    make: Callable[..., Iterable[Any]], parts: Sequence[tuple[Any, ...]]
) -> Iterator[list[Any]]:
    """Make several streams of the same length, each in a process of its own, a step ahead at most.

    Args:
        make: called with each part's arguments, in its process; what it yields can be pickled.
        parts: the arguments.

    Yields:
        For each step what every part's stream yielded, in the order of the parts.

    Raises:
        UserError: a process was killed.
        Exception: what ``make`` raised.
    """
    context = get_context("spawn")
    with ExitStack() as ends:
        receivers = []
        for part in parts:
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_send_all, args=(make, part, sender), daemon=True)
            process.start()
            sender.close()
            ends.callback(process.join)
            ends.callback(process.kill)
            ends.callback(receiver.close)
            receivers.append(receiver)
        while True:
            received = [_receive(receiver) for receiver in receivers]
            if all(is_last for is_last, _ in received):
                return
            yield [made for _, made in received]


def _send_all(
    make: Callable[..., Iterable[Any]], part: tuple[Any, ...], sender: Connection
) -> None:
    """Send everything that is made, then that it was the last, or what went wrong."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # the command is interrupted, and ends this process
    end_with_the_command()
    try:
        for made in make(*part):
            sender.send((False, made))
        sender.send((True, None))
    except Exception as error:
        sender.send((True, error))


def _receive(receiver: Connection) -> tuple[bool, Any]:
    try:
        is_last, made = receiver.recv()
    except EOFError:
        raise was_killed() from None
    if isinstance(made, Exception):
        raise made
    return is_last, made
