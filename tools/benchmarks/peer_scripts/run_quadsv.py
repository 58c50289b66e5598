"""Functions of quadsv, timed in its own environment."""

import warnings

import numpy as np
from common import main

warnings.simplefilter("ignore")

import anndata  # noqa: E402
from quadsv.detector import PatternDetector  # noqa: E402


def qstat(given, options):
    """The quadratic test of every gene; X is genes x samples, C are coordinates.

    `options` may name a kernel and its parameters.
    """
    data = anndata.AnnData(given["X"].T.astype(np.float64))
    kernel = {"method": "car"} | options

    def call():
        detector = PatternDetector(data)
        detector.build_kernel_from_coordinates(given["C"], **kernel)
        return detector.compute_qstat(n_jobs=1)

    def results(table):
        table = table if "Feature" not in table else table.set_index("Feature")
        table = table.reindex(data.var_names)
        return {"p": table["P_value"].to_numpy(), "order": -table["Z_score"].to_numpy()}

    return call, results


if __name__ == "__main__":
    main("quadsv", {"qstat": qstat})
