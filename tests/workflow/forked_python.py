"""In the place of the Python that a study's jobs are started with: has ``job_server.py`` fork the job, and ends as it does.

It imports next to nothing, as it is started for every job. The first argument is the server's socket, the others are Python's.
"""

import os
import sys
from _socket import AF_UNIX, SCM_RIGHTS, SOL_SOCKET, socket


def main(place: str, arguments: list[str]) -> int:
    """Hand the job over and wait; anything but a command of ours is started as it would have been.

    Args:
        place: of the socket.
        arguments: of Python.

    Returns:
        The job's exit status, negative where a signal ended it.
    """
    if arguments[:2] != ["-m", "worldprobe"]:
        os.execv(sys.executable, [sys.executable, *arguments])
    variables = [name + b"=" + value for name, value in os.environb.items()]
    words = [os.getcwdb(), b"%d" % len(arguments[2:]), *map(os.fsencode, arguments[2:]), *variables]
    request = b"\0".join(words)
    files = b"".join(file.to_bytes(4, sys.byteorder) for file in range(3))
    server = socket(AF_UNIX)
    server.connect(place)
    server.sendmsg([b"%8d" % len(request)], [(SOL_SOCKET, SCM_RIGHTS, files)])
    server.sendall(request)
    return int(server.recv(8))


if __name__ == "__main__":
    status = main(sys.argv[1], sys.argv[2:])
    if status < 0:
        os.kill(os.getpid(), -status)
    sys.exit(status)
