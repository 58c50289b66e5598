"""Tasks as they travel to other processes: packed once for all spans, opened once by each worker.

A task is mostly a closure over the matrix and a few arrays. It is pickled by value; what is
`Shared` is left out and travels on its own.
"""

from __future__ import annotations

import io
import pickle
import threading
from collections.abc import Sequence
from typing import Any

from sfs_cli.compute.executor import Shared
from sfs_cli.compute.spans import Span


class Parcel:
    """A pickled task, opened when it is first run.

    Parameters
    ----------
    content : bytes
        As `pack` makes it.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._lock = threading.Lock()
        self._task: Any = None

    def task(self, shared: Sequence[Shared]) -> Any:
        """Return the task, put together with what it shares with others."""
        with self._lock:  # threads of a worker have the same parcel
            if self._task is None:
                self._task = _Unpickler(self.content, shared).load()
            return self._task

    def __reduce__(self) -> tuple[type[Parcel], tuple[bytes]]:
        return Parcel, (self.content,)


def pack(task: Any) -> tuple[Parcel, list[Shared]]:
    """Pickle a task; return it with what it shares with others, which is left out."""
    import cloudpickle

    shared: list[Shared] = []

    class Pickler(cloudpickle.Pickler):
        def persistent_id(self, found: Any) -> int | None:
            if not isinstance(found, Shared):
                return None
            for at, known in enumerate(shared):
                if known is found:
                    return at
            shared.append(found)
            return len(shared) - 1

    with io.BytesIO() as file:
        Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(task)
        return Parcel(file.getvalue()), shared


def run(parcel: Parcel, lo: int, hi: int, *shared: Shared) -> Any:
    """Run a task on the features ``lo <= i < hi``; called on the workers."""
    return parcel.task(shared)(Span(lo, hi))


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, shared: Sequence[Shared]) -> None:
        super().__init__(io.BytesIO(content))
        self._shared = shared

    def persistent_load(self, at: Any) -> Shared:
        return self._shared[at]
