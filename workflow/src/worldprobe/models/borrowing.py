"""Revisions of a hub model, one after the other: each is fetched, used and deleted again; what was here before stays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from worldprobe.errors import MachineError, UserError
from worldprobe.files import write_text
from worldprobe.models import checkpoint as hub


class Revisions:
    """The revisions of one hub model.

    Args:
        name: hub id.
        notes: folder in which is noted, for later runs, which commit a revision was and what is only borrowed. Runs that share
            the hub's cache share it too, and wait for each other.
        fetch: whether revisions that are not here are downloaded.
        keep: whether they are not deleted again.
        allow_pickle: accept weights that exist as pickles only.
        trust_remote_code: accept models that bring their own code.
    """

    def __init__(
        self, name: str, notes: Path, fetch: bool, keep: bool, allow_pickle: bool = False, trust_remote_code: bool = False
    ) -> None:
        self.name, self.notes, self.fetch, self.keep = name, notes, fetch, keep
        self.trust = (allow_pickle, trust_remote_code)
        self._on_hub: dict[str, str] = {}

    def commit(self, revision: str) -> str:
        """The commit that a branch or tag is: in the cache, else on the hub, else, where that cannot be asked, when last used.

        Raises:
            MachineError: none of them knows.
            UserError: the hub's model has no such revision.
        """
        if found := hub.cached_commit(self.name, revision):
            return found
        noted = self._note("commit", revision)
        try:
            if not self.fetch:
                raise self._absent(revision)
            self._on_hub = self._on_hub or hub.commits_on_hub(self.name)
        except MachineError:
            if not noted.is_file():
                raise
            return noted.read_text(encoding="utf-8")
        if revision not in self._on_hub:
            raise UserError(self.name, f"has no revision {revision}.", "Correct the pattern or the numbers.")
        return self._on_hub[revision]

    @contextmanager
    def at_hand(self, revision: str) -> Iterator[str]:
        """The commit of a revision, whose files are in the cache as long as the block runs.

        Raises:
            MachineError: it cannot be fetched.
            UserError: it is not whole.
        """
        borrowed, lock = self._note("borrowed", revision), self._note("lock", revision)
        lock.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock):
            try:
                # The same commit may be here under another name, as the last step's is under main.
                cached = hub.cached_commit(self.name, self.commit(revision))
                if cached is None or not self._is_whole(cached):
                    if not self.fetch:
                        raise self._absent(revision)
                    if cached is None and not self.keep:
                        write_text(borrowed, "")
                    cached = str(hub.fetch(self.name, revision, *self.trust).revision)
                write_text(self._note("commit", revision), cached)
                yield cached
            finally:
                if borrowed.is_file() and not self.keep:
                    hub.forget(self.name, revision)
                    borrowed.unlink()

    def _is_whole(self, commit: str) -> bool:
        """Whether all files are there: a download may have been interrupted."""
        try:
            hub.locate(hub.HUB_PREFIX + hub.hub_id(self.name), commit, *self.trust, kind=None)
        except UserError:
            return False
        return True

    def _absent(self, revision: str) -> MachineError:
        fix = "Add --fetch, or fetch it where there is internet: worldprobe models fetch."
        return MachineError(self.name, f"cannot be fetched: revision {revision} is not here.", fix)

    def _note(self, kind: str, revision: str) -> Path:
        name = hashlib.sha256(json.dumps([self.name, revision]).encode()).hexdigest()[:32]
        return self.notes / f"{name}.{kind}"
