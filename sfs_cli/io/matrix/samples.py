"""Counts of which a quantifier has written a file for each sample, as one matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sfs_cli.errors import InputError, UsageError, counted, listed, nearest
from sfs_cli.io.files.sniff import refuse_other_than_text
from sfs_cli.io.files.table import is_number, read_header
from sfs_cli.io.files.text import LineStream, decode
from sfs_cli.io.matrix.base import Annotations, MatrixReader, ReadOptions, RowBlock, releasing
from sfs_cli.io.matrix.delimited import DelimitedReader, Layout
from sfs_cli.io.matrix.quantifiers import NO_GENES, UNNAMED, counts_of, sample_names

_KNOWN = "quant.sf of Salmon, abundance.tsv of kallisto, results of RSEM, counts of HTSeq or STAR"


class SamplesReader(MatrixReader):
    """A reader of files with the counts of a sample each; rows are the samples.

    Parameters
    ----------
    paths : sequence of Path
        The files.
    column : str, optional
        The column of the counts; by default that of the quantifier. Of STAR it is the one with the
        largest total, which must be the same in all files.
    options : ReadOptions
        How to read.
    """

    format = "counts"
    fixed_rows = "samples"

    def __init__(self, paths: Sequence[Path], column: str | None, options: ReadOptions) -> None:
        self.path = paths[0]
        self.annotations = Annotations()
        self.n_rows = len(paths)
        self.samples = sample_names(paths)
        self._paths, self._options, self._asked = paths, options, column
        self.column_ids, _, self._column, no_genes = self._read(paths[0])
        self._order = {name: at for at, name in enumerate(self.column_ids)}
        self.notes = [
            f"{counted(len(paths), 'file')}, a sample each: column {self._column}",
            *([f"rows that count no gene are left out: {listed(no_genes, 5)}"] if no_genes else []),
        ]

    def first_row_ids(self) -> Sequence[str]:
        """Return the names of the samples."""
        return self.samples

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the samples, one at a time."""
        for path, name in zip(self._paths, self.samples, strict=True):
            ids, values, column, _ = self._read(path)
            if column != self._column:
                raise InputError(
                    f"its counts are in column {column}, and those of {self.path} in "
                    f"{self._column}",
                    where=path,
                    hint="give files of one program; of STAR, name a column by --column: "
                    f"{listed(UNNAMED[4][1:])}",
                    option="column",
                )
            lacking = self._order.keys() - {*ids}
            if lacking or len(ids) != len(self._order):
                raise InputError(
                    f"it has {len(ids):,} rows and {self.path} {len(self._order):,} ids: "
                    f"{len(lacking):,} of those are not in it",
                    where=path,
                    hint="give files that were made with one annotation; no id may be repeated",
                )
            row = np.empty((1, len(ids)), self._options.dtype)
            row[0, [self._order[i] for i in ids]] = values
            yield RowBlock((name,), row)

    def _read(self, path: Path) -> tuple[Sequence[str], np.ndarray, str, list[str]]:
        """Return the ids of a file, its counts, their column, and rows that are left out."""
        refuse_other_than_text(path, "counts of a sample")
        stream = LineStream(path)
        with releasing(stream.close):
            layout, known = _layout_of(stream)
            reader = DelimitedReader(stream, layout, self._options)
            blocks = list(reader.blocks())
            reader.close()
        rows = [name for block in blocks for name in block.ids]
        kept = np.array([not name.startswith(NO_GENES) for name in rows])
        values = np.concatenate([block.values for block in blocks])[kept]
        names = list(layout.column_ids)
        column = self._asked or known or names[int(np.argmax(values.sum(axis=0)))]
        if column not in names:
            raise UsageError(
                f"there is no column {column!r}, given as --column",
                where=path,
                hint=nearest(column, names),
                option="column",
            )
        ids = [name for name, of_gene in zip(rows, kept) if of_gene]
        no_genes = [name for name, of_gene in zip(rows, kept) if not of_gene]
        return ids, values[:, names.index(column)], column, no_genes


def _layout_of(stream: LineStream) -> tuple[Layout, str | None]:
    """Return how the rows of a file are built, and the column of counts where it is known."""
    path = stream.path
    fields = decode(stream.peek_line() or b"", path, 1).split("\t")
    if len(fields) in UNNAMED and all(map(is_number, fields[1:])):
        return Layout(path, "\t", UNNAMED[len(fields)], quoting=False), None
    header = read_header(stream)
    column = counts_of(header.names)
    if column is None:
        raise InputError(
            f"these are no counts of a known kind: columns {listed(header.names, 6)}",
            where=path,
            hint=f"several files are {_KNOWN}; give a matrix alone",
        )
    of_rsem = ("transcript_id(s)", "gene_id")
    texts = tuple(at for at, name in enumerate(header.names) if at and name in of_rsem)
    return Layout(path, header.delimiter, header.names, texts), column
