"""Putting scores into a copy of an h5ad file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.io.atomic import replacing
from sfs_cli.provenance import plain

if TYPE_CHECKING:
    from sfs_cli.ranking.table import Ranking


def write_scores(source: Path, target: Path, ranking: Ranking, facts: dict[str, Any]) -> None:
    """Copy an h5ad with ``sfs_rank``, ``sfs_score`` and ``sfs_status`` in var.

    How they were made goes into ``uns["sfs"]`` as JSON text.

    Parameters
    ----------
    source, target : Path
        The file that was ranked, and the copy.
    ranking : Ranking
        The scores of its variables (not those of ``raw``).
    facts : dict
        For ``uns["sfs"]``.
    """
    import shutil

    import h5py
    from anndata.io import read_elem, write_elem

    with replacing(target) as partial:
        shutil.copyfile(source, partial)
        with h5py.File(partial, "r+") as file:
            var = read_elem(file["var"])
            place = np.argsort(ranking.order)
            var["sfs_rank"] = place + 1
            var["sfs_score"] = ranking.score[place]
            var["sfs_status"] = [ranking.status[i] for i in place]
            write_elem(file, "var", var)
            uns = read_elem(file["uns"]) if "uns" in file else {}
            uns["sfs"] = json.dumps(plain(facts))
            write_elem(file, "uns", uns)
