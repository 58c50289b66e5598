"""Tables whose columns are decoded in groups, since all side by side take too much memory.

The values of each group are left in a panel of a scratch file, and blocks of rows are put together
from the panels: one part of the table (row group, record batch) after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from sfs_cli.io.arrow_rows import ArrowTable, TableReader, arrow_errors, id_strings
from sfs_cli.io.base import ReadOptions, RowBlock
from sfs_cli.io.column_panels import Panels


class GroupedSource(ArrowTable, Protocol):
    """A table of which some columns can be decoded without the others.

    Attributes
    ----------
    n_parts : int
        Parts that the rows are stored in.
    """

    n_parts: int

    def groups(self, columns: Sequence[int]) -> list[Sequence[int]]:
        """Return columns in groups that may be decoded side by side."""
        ...

    def part(self, number: int, columns: Sequence[int], n_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield one part of some columns (rising), at most about `n_rows` rows at a time."""
        ...


def group_columns(
    positions: Sequence[int], costs: Iterable[int], budget: int
) -> list[Sequence[int]]:
    """Split columns into runs that are decoded side by side.

    Parameters
    ----------
    positions : sequence of int
        The columns, in order.
    costs : iterable of int
        Bytes that decoding each of them takes.
    budget : int
        Bytes that a run may take, unless it is a single column.
    """
    groups: list[Sequence[int]] = []
    start, held = 0, 0
    for at, cost in enumerate(costs):
        if at > start and held + cost > budget:
            groups.append(positions[start:at])
            start, held = at, 0
        held += cost
    return [*groups, positions[start:]]


class GroupedReader(TableReader):
    """A table that is read a group of columns at a time; see `TableReader`."""

    def __init__(self, path: Path, name: str, source: GroupedSource, options: ReadOptions) -> None:
        super().__init__(path, name, source, options)
        self._source = source

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the rows in order."""
        dtype = np.dtype(self.options.dtype)
        with (
            arrow_errors(self.path, self.format),
            closing(Panels(self.options.scratch, dtype)) as panels,
        ):
            for part in range(self._source.n_parts):
                self._fill(part, panels)
                yield from self._joined(part, panels)

    def _fill(self, part: int, panels: Panels) -> None:
        """Leave the values of one part in panels."""
        panels.clear()
        first = 0
        for group in self._source.groups(self.columns.values):
            names = self.column_ids[first : first + len(group)]
            panels.begin(len(group))
            for batch in self._source.part(part, group, self.block_rows(len(group))):
                panels.add(self.values(batch, range(len(group)), names))
            first += len(group)
            pa.default_memory_pool().release_unused()

    def _joined(self, part: int, panels: Panels) -> Iterator[RowBlock]:
        """Yield the rows of one part, put together from its panels."""
        n_rows = self.block_rows(len(self.columns.values))
        start = 0
        for batch in self._source.part(part, (self.columns.ids,), n_rows):
            ids = id_strings(batch.column(0), self.path)
            yield RowBlock(ids, panels.rows(start, start + len(ids)))
            start += len(ids)
        panels.check_rows(start)
