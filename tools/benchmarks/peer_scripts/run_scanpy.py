"""Functions of scanpy, timed in its own environment."""

import warnings

import numpy as np
from common import main
from scipy import sparse

warnings.simplefilter("ignore")

import scanpy  # noqa: E402


def gearys_c(given, options):
    """Geary's C of every gene; X is genes x cells."""
    X, S = sparse.csr_matrix(given["X"]), sparse.csr_matrix(given["S"])
    scanpy.metrics.gearys_c(S, X[:20])  # compiles
    return lambda: scanpy.metrics.gearys_c(S, X), lambda found: {"score": found}


def variable_genes(given, options):
    """Mean and dispersion of every gene, as `highly_variable_genes` finds them by default.

    Its default flavor expects log1p of the counts, and takes the variance of their expm1.
    """
    data = scanpy.AnnData(sparse.csr_matrix(given["X"].T).astype(np.float32))
    scanpy.pp.log1p(data)
    scanpy.pp.highly_variable_genes(data[:, :20], inplace=False)  # compiles

    def results(table):
        mean = np.expm1(table["means"].to_numpy())
        return {"mean": mean, "variance": np.exp(table["dispersions"].to_numpy()) * mean}

    return lambda: scanpy.pp.highly_variable_genes(data, inplace=False), results


def flavor(given, options):
    """The score by which a flavor of `highly_variable_genes` orders genes; X is genes x samples.

    All three get the values as they are: ``seurat`` and ``cell_ranger`` want logarithms, and
    ``seurat_v3`` wants counts, which arrays do not have.
    """
    data = scanpy.AnnData(given["X"].T.astype(np.float32))
    column = "variances_norm" if options["flavor"] == "seurat_v3" else "dispersions_norm"
    wanted = {"flavor": options["flavor"], "inplace": False, "n_top_genes": min(200, data.n_vars)}
    if options["flavor"] == "seurat_v3":
        wanted["check_values"] = False

    def results(table):
        return {"score": np.nan_to_num(table[column].to_numpy(), nan=-np.inf)}

    return lambda: scanpy.pp.highly_variable_genes(data, **wanted), results


def leiden(given, options):
    """Clusters of the cells by lists of genes, and scanpy's own lists, by its usual steps.

    `X` has the logarithms (cells x genes), `counts` the counts, or the same; `lists` (k, l) has
    positions of genes, the first of which are taken. The order of each flavor is appended to the
    lists, and all genes last. `clusters` has a row for each list, each of `sizes` and each seed.
    """
    X, lists = given["X"], list(given["lists"])

    def flavor_order(name):
        values = given["counts"] if name == "seurat_v3" else X
        data = scanpy.AnnData(values.astype(np.float32))
        column = "variances_norm" if name == "seurat_v3" else "dispersions_norm"
        more = {"check_values": False} if name == "seurat_v3" else {}
        spans = (0.3, 0.6, 1.0) if name == "seurat_v3" else (0.3,)
        for span in spans:  # its regression fails on genes of few counts with the default
            try:
                table = scanpy.pp.highly_variable_genes(
                    data, flavor=name, inplace=False, n_top_genes=200, span=span, **more
                )
                break
            except ValueError:
                if span == spans[-1]:
                    raise
        score = np.nan_to_num(table[column].to_numpy(), nan=-np.inf)
        return np.argsort(-score, kind="stable")

    def of_genes(genes):
        data = scanpy.AnnData(X[:, genes].astype(np.float32))
        scanpy.pp.scale(data, max_value=10)
        scanpy.pp.pca(data, n_comps=min(30, len(genes) - 1))
        scanpy.pp.neighbors(data)
        found = []
        for seed in range(options["seeds"]):
            scanpy.tl.leiden(
                data, random_state=seed, flavor="igraph", n_iterations=2, directed=False
            )
            found.append(data.obs["leiden"].astype(int).to_numpy())
        return np.array(found)

    def clusters():
        orders = lists + [flavor_order(name) for name in options["flavors"]]
        found = [[of_genes(order[:size]) for size in options["sizes"]] for order in orders]
        return np.array([*found, [of_genes(np.arange(X.shape[1]))] * len(options["sizes"])])

    return clusters, lambda found: {"clusters": found}


if __name__ == "__main__":
    functions = {
        "gearys_c": gearys_c,
        "highly_variable_genes": variable_genes,
        "flavor": flavor,
        "leiden": leiden,
    }
    main("scanpy", functions)
