"""Matrix readers that read in a child process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from sfs_cli.io.files.child_process import items_apart
from sfs_cli.io.files.read_limits import most_taken
from sfs_cli.io.files.text import split_member
from sfs_cli.io.matrix.base import MatrixReader, ReadOptions, RowBlock, releasing

_HEAD = ("format", "fixed_rows", "sparse", "column_ids", "n_rows", "annotations", "notes")
"""What a reader knows before its first block."""


class ReaderApart(MatrixReader):
    """A `MatrixReader` that reads in a child process, one block ahead (see `ChildReader`).

    `opener` makes the reader there; `modules` are imported here, once for all children.
    """

    def __init__(
        self,
        opener: Callable[[Path, ReadOptions], MatrixReader],
        path: Path,
        options: ReadOptions,
        modules: Sequence[str],
    ) -> None:
        def items() -> Generator[Any, None, None]:
            reader = opener(path, options)
            try:
                yield reader.first_row_ids(), {name: getattr(reader, name) for name in _HEAD}
                yield from reader.blocks()
            finally:
                reader.close()

        for module in modules:
            import_module(module)
        self.path = path
        self._items = items_apart(items, split_member(path)[0], most_taken())
        with releasing(self.close):
            self._first_row_ids, head = next(self._items)
        vars(self).update(head)

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of the first rows."""
        return self._first_row_ids

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order."""
        yield from self._items

    def close(self) -> None:
        """End the child, which releases the file."""
        self._items.close()
