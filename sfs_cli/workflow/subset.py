"""``sfs select --write-matrix``: the matrix with some of its features alone, in its own format."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sfs_cli.errors import UsageError
from sfs_cli.io.files.sniff import is_store, recognize
from sfs_cli.io.matrix.base import FORMATS, format_of
from sfs_cli.io.matrix.subset import WRITERS
from sfs_cli.options import RankConfig
from sfs_cli.options.paths import check_suffix
from sfs_cli.run.inputs import logged
from sfs_cli.run.load import Run
from sfs_cli.store.build import build_subset


def check_target(config: RankConfig, target: Path) -> None:
    """Refuse a matrix that cannot be written in its own format, or a name of another format.

    Raises UsageError; InputError where the matrix is of no known format.
    """
    matrix = Path(config.matrix)
    if is_store(matrix) and not config.files:
        check_suffix("write_matrix", "--write-matrix", str(target), "a store, which is a folder,")
        return
    name, why = format_of(matrix, recognize(matrix)).name, ""
    if config.rank_sources is not None:
        why = "--rank-sources ranks several"
    elif config.files:
        why = f"it is {config.matrix_name}, and one file is written"
    elif config.collapse is not None:
        why = f"--collapse {config.collapse} has made its features"
    elif config.of_raw:
        why = "it is the raw matrix of AnnData"
    elif name not in WRITERS:
        why = f"it is of format {name}"
    if why:
        raise UsageError(
            f"--write-matrix cannot write the matrix: {why}",
            where=config.matrix,
            hint="give a store of it (sfs convert) as --matrix, or cut it by selected.txt",
            option="write_matrix",
        )
    suffixes = next(each.suffixes for each in FORMATS if each.name == name)
    if not target.name.lower().endswith(suffixes):
        raise UsageError(
            f"--write-matrix {target}: the matrix is of format {name}, and so is what is written",
            where=config.matrix,
            hint=f"give a name that ends in {', '.join(suffixes)}",
            option="write_matrix",
        )


def write_subset(run: Run, features: np.ndarray, partial: Path, target: Path) -> None:
    """Write the matrix of a run with some features, ascending indices of shape (l,), to a file.

    `partial` is where it is written, `target` the name that it takes later.
    """
    matrix, facts = Path(run.config.matrix), run.opened.facts
    if is_store(matrix):
        partial.mkdir()
        build_subset(run.opened.matrix, features, partial, logged(facts))
        return
    WRITERS[facts["format"]](matrix, partial, target, features, facts["rows"])
