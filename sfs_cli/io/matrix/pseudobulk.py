"""Pseudobulk: the counts of the cells of each donor and cluster, added up to samples.

Cells of a donor are no replicates of each other: tests of donors need one sample of each (H. L.
Crowell et al., "muscat detects subpopulation-specific state transitions", Nat. Commun. 11, 2020).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sfs_cli.errors import InputError, counts_text, listed, nearest
from sfs_cli.io.files.text import repeated
from sfs_cli.io.matrix.base import Annotations, Axis, MatrixReader, RowBlock

CELLS = "n_cells"
"""The annotation that says how many cells a sample is the sum of."""


class Pseudobulk(MatrixReader):
    """A reader of another matrix whose samples, the cells, are added up by annotations of theirs.

    Parameters
    ----------
    reader : MatrixReader
        The cells.
    rows : {"features", "samples"}
        What its rows are.
    names : sequence of str
        The annotations. Cells without one of them take no part.
    least : int
        Groups of fewer cells are left out.
    dtype : str
        Type of the sums.

    Raises
    ------
    InputError
        When there is no such annotation or no group of enough cells; when a value is no count.
    """

    def __init__(
        self, reader: MatrixReader, rows: Axis, names: Sequence[str], least: int, dtype: str
    ) -> None:
        obs, self.path, self.dtype = reader.annotations.obs, reader.path, dtype
        known = [] if obs is None else obs.column_names
        if unknown := [name for name in names if name not in known]:
            hint = nearest(unknown[0], known) if known else "AnnData holds them in obs"
            what = f"the samples have no annotation {unknown[0]!r}, to add cells up by"
            raise InputError(what, where=self.path, hint=hint, option="pseudobulk")
        assert obs is not None
        cells = obs.to_pandas()
        keys = cells[[*names]]
        keys = keys.where(keys.astype(str) != "")  # an empty text is none
        groups = cells.groupby([keys[name] for name in names], observed=True)
        # -1 for cells that lack one
        codes = groups.ngroup().fillna(-1).to_numpy(np.int64)
        sizes = np.bincount(codes + 1)[1:]
        kept = np.flatnonzero(sizes >= least)
        if not len(kept):
            what = f"no group of cells by {listed([*names])} has {least:,}"
            raise InputError(
                what, where=self.path, hint="give a smaller --min-cells", option="min_cells"
            )
        # by the codes: pandas may leave columns that it groups by out
        same = (cells.groupby(codes).nunique(dropna=False).loc[kept] <= 1).all()
        self.codes = np.where(np.isin(codes, kept), np.searchsorted(kept, codes), -1)
        first = np.unique(self.codes, return_index=True)[1][-len(kept) :]
        # column by column: rows of integers and fractions would all be fractions
        self.ids = [
            "_".join(map(str, each)) for each in zip(*(cells[n].iloc[first] for n in names))
        ]
        if twice := repeated(self.ids):
            what = f"two groups of cells would both be the sample {twice[0]!r}"
            hint = "rename the values of these annotations, so that joined by _ they differ"
            raise InputError(what, where=self.path, hint=hint, option="pseudobulk")
        own = [name for name in known if same[name]]
        facts = {
            "cells": len(codes),
            "samples_made": len(kept),
            "groups_left_out": len(sizes) - len(kept),
            "cells_left_out": int((self.codes < 0).sum()),
        }
        made = obs.select([name for name in own if name != CELLS]).take(first)
        self.annotations = Annotations(
            made.append_column(CELLS, [sizes[kept]]),
            facts={"pseudobulk": {"by": ",".join(names), **facts}},
        )
        self.reader, self.rows, self.format = reader, rows, reader.format
        self.fixed_rows = reader.fixed_rows
        of_features = rows == "features"
        self.column_ids = self.ids if of_features else reader.column_ids
        self.n_rows = reader.n_rows if of_features else len(kept)
        varying = listed([name for name in known if name not in own]) or "none"
        self.notes = [
            *reader.notes,
            f"cells of the same {listed([*names])} are added up to samples, if they are {least:,} "
            f"or more (--min-cells): {counts_text(facts)}; annotations that vary within samples "
            f"and are left out: {varying}",
        ]

    def first_row_ids(self) -> Sequence[str]:
        """Return the ids of the first rows."""
        return self.reader.first_row_ids() if self.rows == "features" else self.ids

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the sums, which are exact; those of cells in rows come at the end."""
        from scipy.sparse import csr_array

        taken = np.flatnonzero(self.codes >= 0)
        placed = np.ones(len(taken)), (taken, self.codes[taken])
        members = csr_array(placed, shape=(len(self.codes), len(self.ids)))
        seen, names = 0, self.reader.column_ids
        sums = np.zeros((len(self.ids), len(names) if self.rows == "samples" else 0))
        for block in self.reader.blocks():
            values: Any = csr_array(block.values).astype(np.float64)
            wrong = np.flatnonzero((values.data < 0) | (values.data != np.floor(values.data)))
            if wrong.size:
                row = int(np.searchsorted(values.indptr, wrong[0], "right")) - 1
                raise InputError(
                    f"--pseudobulk adds up counts, and the matrix holds {values.data[wrong[0]]:g}",
                    where=f"{self.path}: {block.ids[row]}, {names[values.indices[wrong[0]]]}",
                    hint="name the raw counts, such as --layer counts or --layer raw.X",
                    option="pseudobulk",
                )
            if self.rows == "features":
                made = (values @ members).toarray().astype(self.dtype)
                yield RowBlock(block.ids, made, block.texts)
                continue
            part = (members[seen : seen + len(block.ids)].T @ values).tocoo()
            sums[part.row, part.col] += part.data
            seen += len(block.ids)
        if self.rows == "samples":
            yield RowBlock(self.ids, sums.astype(self.dtype, copy=False))

    def close(self) -> None:
        """Release the file."""
        self.reader.close()
