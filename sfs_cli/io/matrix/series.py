"""Series matrix files of GEO: a table of values, with what is known of the samples before it."""

from __future__ import annotations

from pathlib import Path

from sfs_cli.errors import InputError, listed
from sfs_cli.io.files.series import SeriesStream, read_series
from sfs_cli.io.files.table import null_table
from sfs_cli.io.matrix.base import Annotations, MatrixReader, ReadOptions, releasing
from sfs_cli.io.matrix.delimited import DelimitedReader, Layout


def open_series(path: Path, options: ReadOptions) -> MatrixReader:
    """Open a series matrix; gzip and zstd are decompressed.

    Rows are features. Samples have their titles as ids, or their accessions, where titles do not
    tell them apart, or more of the samples that are known are called so;
    what is known of them is in ``annotations.obs``. An `InputError` says that the table is empty,
    or what of the file is damaged.
    """
    stream = SeriesStream(path)
    with releasing(stream.close):
        series = read_series(stream)
        if stream.peek_line() is None:
            raise InputError(
                "the series matrix has no values: its table is empty, as that of RNA-seq is",
                where=path,
                hint="take the values from the supplementary files of the series; this file has "
                f"the columns of the samples: --labels {path.name}:COLUMN, one of "
                f"{listed(list(series.columns), 12)}",
            )
        # a file that has both names both, so that one that has accessions alone decides
        both = (frozenset(series.titles), frozenset(series.accessions))
        first, second = (sum(map(ids.__contains__, options.known_samples)) for ids in both)
        ids = series.titles if series.titles and first >= second else series.accessions
        reader = DelimitedReader(stream, Layout(path, "\t", ("ID_REF", *ids)), options)
    reader.format, reader.fixed_rows = "series-matrix", "features"
    reader.annotations = Annotations(null_table(series.columns))
    what = "titles" if ids is series.titles else "accessions (GSM)"
    reader.notes = [f"samples are named by their {what}; other files may have either"]
    return reader
