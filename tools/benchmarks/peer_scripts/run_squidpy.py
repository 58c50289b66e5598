"""Functions of squidpy, timed in its own environment."""

import warnings

import numpy as np
from common import main

warnings.simplefilter("ignore")

import anndata  # noqa: E402
import squidpy  # noqa: E402


def autocorrelation(given, options):
    """Moran's I or Geary's C of every gene; X is genes x samples, C are coordinates.

    `options` are the mode, and the number of neighbors where it is not the default.
    """
    data = anndata.AnnData(given["X"].T.astype(np.float64))
    data.obsm["spatial"] = given["C"]
    mode = options["mode"]
    neighbors = {"n_neighs": options["neighbors"]} if "neighbors" in options else {}

    def call():
        squidpy.gr.spatial_neighbors(data, coord_type="generic", **neighbors)
        return squidpy.gr.spatial_autocorr(
            data, mode=mode, n_perms=None, n_jobs=1, copy=True, show_progress_bar=False
        )

    def results(table):
        table = table.reindex(data.var_names)
        score = table["I" if mode == "moran" else "C"].to_numpy()
        p = table["pval_norm"].to_numpy()
        return {"p": p, "order": -score if mode == "moran" else score}

    call()  # compiles
    return call, results


if __name__ == "__main__":
    main("squidpy", {"autocorrelation": autocorrelation})
