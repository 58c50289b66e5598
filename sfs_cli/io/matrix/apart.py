"""Matrix readers that read in a child process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from sfs_cli.io.files.apart import items_apart
from sfs_cli.io.files.room import most_taken
from sfs_cli.io.files.sniff import split_modality
from sfs_cli.io.matrix.base import Annotations, Axis, MatrixReader, ReadOptions, RowBlock


@dataclass(frozen=True)
class _Head:
    """What a reader knows before its first block."""

    format: str
    fixed_rows: Axis | None
    sparse: bool
    column_ids: Sequence[str]
    first_row_ids: Sequence[str]
    n_rows: int | None
    annotations: Annotations
    notes: Sequence[str]


class ReaderApart:
    """A `MatrixReader` that reads in a child process, one block ahead (see `Apart`).

    `opener` makes the reader there; `modules` are imported here, once for all children.
    """

    def __init__(
        self,
        opener: Callable[[Path, ReadOptions], MatrixReader],
        path: Path,
        options: ReadOptions,
        modules: Sequence[str],
    ) -> None:
        def items() -> Generator[_Head | RowBlock, None, None]:
            reader = opener(path, options)
            try:
                yield _Head(
                    reader.format,
                    reader.fixed_rows,
                    reader.sparse,
                    reader.column_ids,
                    reader.first_row_ids(),
                    reader.n_rows,
                    reader.annotations,
                    reader.notes,
                )
                yield from reader.blocks()
            finally:
                reader.close()

        for module in modules:
            import_module(module)
        self.path = path
        self._items = items_apart(items, split_modality(path)[0], most_taken())
        try:
            head = next(self._items)
        except BaseException:
            self.close()
            raise
        assert isinstance(head, _Head)
        self.format = head.format
        self.fixed_rows = head.fixed_rows
        self.sparse = head.sparse
        self.column_ids = head.column_ids
        self.n_rows = head.n_rows
        self.annotations = head.annotations
        self.notes = head.notes
        self._first_row_ids = head.first_row_ids

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of the first rows."""
        return self._first_row_ids

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order."""
        for item in self._items:
            assert isinstance(item, RowBlock)
            yield item

    def close(self) -> None:
        """End the child, which releases the file."""
        self._items.close()
