"""The samples of several files, such as an h5ad of each library, as one matrix.

It is the matrix that `anndata.concat` makes with ``join="inner"``: the samples of one file after
those of another, and the features that all files have, in the order of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import block_features, cut
from sfs_cli.errors import InputError, listed
from sfs_cli.io.files.text import repeated
from sfs_cli.io.matrix.base import Annotations, ReadOptions
from sfs_cli.io.matrix.stored import StoredReader
from sfs_cli.store.matrix import FeatureView, Matrix, block_of

FILE = "file"
"""The column of the samples that says which file each is from."""
LEAST_COMMON = 0.5
"""Files that have less than this part of the features of the smallest in common are refused."""


class _SideBySide:
    """Matrices of the same features; sparse where one of them is. It is a `StoredMatrix`."""

    def __init__(self, parts: Sequence[Matrix]) -> None:
        self.parts = parts
        self.shape = parts[0].n_features, sum(part.n_samples for part in parts)
        self.sparse = any(part.sparse for part in parts)

    def blocks(self, options: ReadOptions) -> Iterator[tuple[int, int, Any]]:
        """Yield blocks of features, with the samples of all parts."""
        from scipy.sparse import csr_array, hstack

        m, n = self.shape
        for span in cut(m, block_features(n, np.dtype(options.dtype).itemsize)):
            found: list[Any] = [block_of(part, span) for part in self.parts]
            yield (
                *span,
                hstack([*map(csr_array, found)], "csr") if self.sparse else np.hstack(found),
            )


def stack(
    parts: Sequence[Matrix],
    logarithms: Sequence[Any],
    files: Sequence[str],
    where: Path,
    release: Callable[[], None],
) -> StoredReader:
    """Return a reader of the samples of all parts, with the features that these share.

    Sample ids that repeat end in the name of their file. `logarithms` has of each file what it
    says of its values (``log1p`` of `Annotations.facts`); `release` removes the parts.
    Raises InputError where they share less than `LEAST_COMMON` of the features of the smallest.
    """
    import pandas as pd

    def ids_of(part: Matrix) -> pd.Index:  # of one file at a time: ids of many take much memory
        return pd.Index(list(part.ids.features))

    common = ids_of(parts[0])
    for part in parts[1:]:
        common = common.intersection(ids_of(part), sort=False)
    shared = f"{len(common):,} features are in all {len(files):,} files"
    if len(common) < LEAST_COMMON * min(part.n_features for part in parts):
        hint = "name the features of all files by ids of one kind, or leave a file out"
        if len({frozenset(part.ids.samples) for part in parts}) == 1:
            hint = "these are other features of the same samples: give one file that has the rows "
            hint += f"of all, or the first with --source {files[1]}=profile:FILE --rank-sources all"
        raise InputError(
            f"only {shared}",
            where=f"{where}: {'; '.join(listed(list(part.ids.features), 3) for part in parts[:4])}",
            hint=hint,
            option="files",
        )
    lost = {file: part.n_features - len(common) for file, part in zip(files, parts)}
    left = listed([f"{count:,} of {file}" for file, count in lost.items() if count], 20)
    notes = [f"{shared}; left out, as another lacks them: {left or 'none'}"]
    samples = [sample for part in parts for sample in part.ids.samples]
    if repeated(samples):
        samples = [f"{s}-{file}" for part, file in zip(parts, files) for s in part.ids.samples]
        notes.append(f"sample ids repeat, and end in the name of their file: {samples[0]}")
    views = [FeatureView(part, ids_of(part).get_indexer(common)) for part in parts]
    options = ReadOptions(parts[0].dtype.name)
    logged = dict(zip(files, logarithms))
    if len({*logged.values()}) > 1:
        told = listed([file for file, known in logged.items() if known])
        notes.append(f"by uns/log1p, values are logarithms in {told}, and no other file says so")
    alike = len({*logarithms}) == 1 and logarithms[0] is not None
    facts = {"log1p": logarithms[0]} if alike else {}
    known = Annotations(_known(parts, files, notes), facts=facts)
    matrix = _SideBySide(views)
    return StoredReader(
        *(where, "files", list(common), samples, "features", matrix, options, release, known, notes)
    )


def _known(parts: Sequence[Matrix], files: Sequence[str], notes: list[str]) -> Any:
    """Return the table of what files say of their samples, with the column `FILE`.

    A column has no value for the samples of a file that lacks it, which is noted.
    """
    import pandas as pd

    from sfs_cli.io.matrix.memory import arrow_table

    frames = []
    for part, file in zip(parts, files):
        obs = part.ids.obs
        frame = pd.DataFrame(index=range(part.n_samples)) if obs is None else obs.to_pandas()
        if FILE in frame:
            notes.append(f"obs:{FILE} is the name of the file, and not this column of {file}")
        # whole numbers stay whole beside missing values
        frames.append(frame.convert_dtypes(convert_floating=False).assign(**{FILE: file}))
    joined = pd.concat(frames, ignore_index=True)
    for key in joined:
        if lacking := [file for file, frame in zip(files, frames) if key not in frame]:
            notes.append(f"obs:{key} has no value for the samples of {listed(lacking, 5)}")
        if joined[key].dtype == object:  # numbers in one file, and text in another
            joined[key] = joined[key].map(str, na_action="ignore")
    return arrow_table(joined)
