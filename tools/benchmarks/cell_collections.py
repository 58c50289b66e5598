"""Labelled single cells of public repositories as files of `leiden --more`.

usage: python -m tools.benchmarks.cell_collections FOLDER OUT

FOLDER holds files of these repositories, under the names that they have there: `data/csv` of
sc_mixology (mixtures of the RNA of cell lines and of their cells), `data` of SIMLR, SC3, SC3-old,
clustools and rDeepmaps (`.RData`, `.rda`), and `data/Small_Datasets` of scDCC (`.h5`). What is not
there is named. OUT gets an h5ad file for each set: values as they are, `obs["label"]`, and
`uns["logarithms"]`, which is True where `X` has logarithms of what was counted.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FEWEST = 8
"""Cells that a mixture needs."""

Found = tuple[np.ndarray, np.ndarray, bool]
"""Values (cells x genes), the type of each cell, and whether they are logarithms."""


def mixology(path: Path) -> Found:
    """Read a table of counts and that of its cells, without outliers."""
    cells = pd.read_csv(str(path).replace(".count.", ".metadata."))
    counts = pd.read_csv(path, index_col=0)
    cells = cells[cells.index.isin(counts.columns)]
    fine = cells["outliers"].astype(str).str.upper() == "FALSE"
    parts = ["H2228_prop", "H1975_prop", "HCC827_prop"]
    if "H2228_prop" not in cells:
        parts = ["H1975", "H2228", "HCC827"]
        fine &= cells["poor_quality"] == "NO"
    types = cells[parts].astype(str).agg("_".join, axis=1)
    sizes = types[fine].value_counts()
    fine &= types.isin(sizes.index[sizes >= FEWEST])
    return counts[cells.index[fine]].to_numpy(float).T, types[fine].to_numpy(str), False


def hdf5(path: Path) -> Found:
    """Read `X` and `Y` of an HDF5 file."""
    import h5py

    with h5py.File(path) as file:
        return file["X"][:].astype(float), file["Y"][:].astype(int).astype(str), False


def objects(path: Path) -> dict[str, Any]:
    """Read the objects of a file of R."""
    import rdata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes of R that it knows no constructor of
        return dict(rdata.read_rda(path))


def simlr(path: Path) -> Found:
    """Read the logarithms of a test set of SIMLR."""
    (data,) = objects(path).values()
    return np.asarray(data["in_X"]).T, np.asarray(data["true_labs"]).astype(str)[:, 0], True


def embryo(path: Path) -> Found:
    """Read the cells of human embryos, with a table of their stages."""
    data = objects(path)
    return np.log1p(data["yan"].to_numpy(float).T), data["ann"].iloc[:, 0].to_numpy(str), True


def named(path: Path) -> Found:
    """Read a matrix whose columns have the names of types."""
    (data,) = objects(path).values()
    types = [str(name).partition(".")[0] for name in data.coords[data.dims[1]].values]
    return np.log1p(np.asarray(data, float).T), np.asarray(types), True


def stimulated(path: Path) -> Found:
    """Read the counts of stimulated and other blood cells."""
    (data,) = objects(path).values()
    return np.asarray(data["expr"], float).T, data["meta"]["cell_type"].to_numpy(str), False


SETS: dict[str, tuple[str, Callable[[Path], Found]]] = {
    **{
        name: (f"{name}.count.csv.gz", mixology)
        for name in ("RNAmix_celseq2", "RNAmix_sortseq", "cellmix1", "cellmix3", "cellmix4")
    },
    "pollen": ("Test_3_Pollen.RData", simlr),
    "mECS": ("Test_1_mECS.RData", simlr),
    "yan": ("yan.rda", embryo),
    "treutlein": ("treutlein.rda", named),
    "ting": ("ting.rda", named),
    "pbmc4k, 2,000 genes": ("10X_PBMC_top2000.h5", hdf5),
    "kidney, 2,000 genes": ("human_kidney_counts_top2000.h5", hdf5),
    "bladder": ("mouse_bladder_cell_select_2100.h5", hdf5),
    "worm neurons": ("worm_neuron_cell.h5", hdf5),
    "ifnb": ("ifnb_2800.rda", stimulated),
}


def main() -> None:
    import anndata as ad
    from scipy.sparse import csr_matrix

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name, (file, read) in SETS.items():
        path = given.folder / file
        if not path.exists():
            print(f"{file} is left out: it is not in {given.folder}", file=sys.stderr)
            continue
        values, types, logarithms = read(path)
        obs = pd.DataFrame({"label": types}, [f"cell{i + 1}" for i in range(len(types))])
        var = pd.DataFrame(index=[f"gene{j + 1}" for j in range(values.shape[1])])
        cells = ad.AnnData(csr_matrix(values), obs, var, uns={"logarithms": logarithms})
        cells.write_h5ad(given.out / f"{name}.h5ad")
        print(f"{name}: {len(types)} cells x {values.shape[1]} genes, {len(set(types))} types")


if __name__ == "__main__":
    main()
