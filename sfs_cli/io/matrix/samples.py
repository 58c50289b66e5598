"""Counts of which a quantifier has written a file for each sample, as one matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sfs_cli.errors import InputError, UsageError, counted, listed, nearest
from sfs_cli.io.files.sniff import refuse_other_than_text
from sfs_cli.io.files.table import is_number, read_header
from sfs_cli.io.files.text import LineStream, decode, repeated
from sfs_cli.io.matrix.base import Annotations, MatrixReader, ReadOptions, RowBlock
from sfs_cli.io.matrix.delimited import DelimitedReader, Layout
from sfs_cli.io.matrix.quantifiers import NO_GENES, UNNAMED, counts_of, sample_names

_KNOWN = "quant.sf of Salmon, abundance.tsv of kallisto, results of RSEM, or counts of HTSeq, STAR "
_KNOWN += "or featureCounts"
_TEXTS = ("transcript_id(s)", "gene_id", "Chr", "Start", "End", "Strand")
"""Columns of RSEM and featureCounts that are no numbers: several exons are ``1;1``."""


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
        counts, no_genes, self._column = self._read(paths[0])
        self.column_ids = list(counts)
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
            counts, _, column = self._read(path)
            if column != self._column:
                raise InputError(
                    f"its counts are in column {column}, and those of {self.path} in "
                    f"{self._column}",
                    where=path,
                    hint="give files of one program; of STAR, name a column by --column: "
                    f"{listed(UNNAMED[4][1:])}",
                    option="column",
                )
            lacking = counts.keys() ^ self.column_ids
            if lacking:
                raise InputError(
                    f"it and {self.path} have other ids: {len(lacking):,} are in one of them alone",
                    where=path,
                    hint="give files that were made with one annotation",
                )
            row = [counts[each] for each in self.column_ids]
            yield RowBlock((name,), np.array([row], self._options.dtype))

    def _read(self, path: Path) -> tuple[dict[str, float], list[str], str]:
        """Return the counts of a file by their ids, rows that are left out, and the column."""
        refuse_other_than_text(path, "counts of a sample")
        with LineStream(path) as stream:
            layout, known = _layout_of(stream)
            blocks = list(DelimitedReader(stream, layout, self._options).blocks())
        names = list(layout.column_ids)
        rows = [name for block in blocks for name in block.ids]
        values = np.concatenate([np.asarray(block.values) for block in blocks])
        no_genes = [name for name in rows if name.startswith(NO_GENES)]
        totals = values[[not name.startswith(NO_GENES) for name in rows]].sum(axis=0)
        column = self._asked or known or names[int(np.argmax(totals))]
        if column not in names:
            raise UsageError(
                f"there is no column {column!r}, given as --column",
                where=path,
                hint=nearest(column, names),
                option="column",
            )
        if twice := repeated(rows):
            what = f"rows have the same id: {listed(twice)}"
            raise InputError(what, where=path, hint="leave one row for each id")
        counts = dict(zip(rows, values[:, names.index(column)].tolist()))
        for name in no_genes:
            del counts[name]
        return counts, no_genes, column


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
    texts = tuple(at for at, name in enumerate(header.names) if at and name in _TEXTS)
    names = list(header.names)
    if names[0] == "Geneid":  # featureCounts calls it as the alignments of the sample
        names[-1] = column = "count"
    return Layout(path, header.delimiter, names, texts), column
