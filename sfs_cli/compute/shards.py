"""Parts of passes that several processes make for each other."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

from sfs_cli.compute.parts import PartFolder, replace_file

STALE_SECONDS = 3600.0
"""A half-written part of this age is of a run that was killed."""


class ScatterEndError(Exception):
    """A shard has no more to do: what follows is done by one process."""


def owner(chunk: int, total: int, shards: int) -> int:
    """Return the shard (from 0) that a chunk belongs to: shards are runs of chunks."""
    return -(-(chunk + 1) * shards // total) - 1


class ShardFolder(PartFolder):
    """Parts that shards make for each other.

    Parameters
    ----------
    folder : Path
        Where the parts are.
    shard : tuple of (int, int), optional
        Makes the parts of shard i of N alone (i from 0); none by default.
    only : int, optional
        Makes the parts of this pass alone (from 0), and stops after it.
    gather : bool
        Goes on, without parts, where what follows cannot be made in parts; else it stops there.
    """

    def __init__(
        self,
        folder: Path,
        shard: tuple[int, int] | None = None,
        *,
        only: int | None = None,
        gather: bool = False,
    ) -> None:
        super().__init__(folder)
        self.shard = shard
        self.only = only
        self.gather = gather
        self.shares: list[int] = []
        self._left = False

    @property
    def open(self) -> bool:
        """Whether passes that begin now are kept."""
        return not self._left

    def begin(self, total: int) -> int:
        """Begin the next pass, and leave a note of how many parts it has."""
        number = super().begin(total)
        path = self.folder / f"pass-{number + 1:02d}.json"
        if not path.exists():
            text = json.dumps({"parts": total})
            replace_file(path, lambda file: file.write(text.encode()))
        if self.shard is not None:
            i, n = self.shard
            self.shares.append(sum(owner(chunk, total, n) == i for chunk in range(total)))
        return number

    def makes(self, number: int, chunk: int, total: int) -> bool:
        """Tell whether a part is one of this shard."""
        if self.shard is None or self.only not in (None, number):
            return False
        i, n = self.shard
        return owner(chunk, total, n) == i

    def end(self, number: int) -> None:
        """Stop after the only pass that is asked for."""
        if self.only == number:
            raise ScatterEndError

    def leave(self) -> None:
        """Stop; keep no more parts where all is gathered."""
        if not self.gather:
            raise ScatterEndError
        self._left = True

    def totals(self) -> list[int]:
        """Return how many parts each pass has that some shard has begun."""
        totals: list[int] = []
        while True:
            path = self.folder / f"pass-{len(totals) + 1:02d}.json"
            try:
                totals.append(int(json.loads(path.read_text())["parts"]))
            except (OSError, ValueError, KeyError, TypeError):
                return totals

    def tidy(self) -> None:
        """Remove what killed runs were writing long ago."""
        for path in self.folder.glob(".*.partial"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > STALE_SECONDS:
                    path.unlink()
