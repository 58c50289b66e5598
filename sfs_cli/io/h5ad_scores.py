"""Putting scores into a copy of an h5ad file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sfs_cli.io.atomic import replacing

if TYPE_CHECKING:
    from sfs_cli.ranking.table import Ranking


def write_scores(source: Path, target: Path, ranking: Ranking, about: str) -> None:
    """Copy an h5ad with ``sfs_rank``, ``sfs_score`` and ``sfs_status`` in var.

    Of what is there already only var is written again; the rest stays as it was.

    Parameters
    ----------
    source, target : Path
        The file that was ranked, and the copy.
    ranking : Ranking
        The scores of its variables (not those of ``raw``).
    about : str
        How they were made, for ``uns["sfs"]`` (JSON).

    Raises
    ------
    InputError
        When the copy cannot be written.
    """
    import shutil

    import h5py
    from anndata.io import read_elem, write_elem

    place = np.argsort(ranking.order)
    columns = {
        "sfs_rank": place + 1,
        "sfs_score": ranking.score[place],
        "sfs_status": np.array(list(ranking.status), dtype=object)[place],
    }
    with replacing(target) as partial:
        shutil.copyfile(source, partial)
        with h5py.File(partial, "r+") as file:
            var = read_elem(file["var"])
            write_elem(file, "var", var.assign(**columns))
            if "uns" not in file:
                write_elem(file, "uns", {})
            write_elem(file["uns"], "sfs", about)
