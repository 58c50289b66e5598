"""python make_scanpy.py: what scanpy 1.10.4, AnnData 0.10.9 and MuData 0.3.1 write."""

import anndata as ad
import mudata as md
import pandas as pd
import scanpy as sc
from scipy import sparse
from study import AGE, COUNTS, GENES, SAMPLES, TISSUE, VALUES

obs = pd.DataFrame({"tissue": pd.Categorical(TISSUE), "age": AGE}, index=SAMPLES)
cells = ad.AnnData(sparse.csr_matrix(COUNTS.T.astype("float32")), obs, pd.DataFrame(index=GENES))
cells.layers["values"] = cells.X / 8
sc.pp.normalize_total(cells, target_sum=1e4)
sc.pp.log1p(cells)
cells.raw = cells
sc.pp.pca(cells, n_comps=3)
sc.pp.neighbors(cells, n_neighbors=3, n_pcs=3)
cells = cells[:, GENES[:4]].copy()
sc.pp.scale(cells)
cells.write_h5ad("scanpy.h5ad", compression="gzip")

values = ad.AnnData(sparse.csr_matrix(VALUES.T.astype("float32")), obs, pd.DataFrame(index=GENES))
values.write_h5ad("anndata_0_10.h5ad", compression="gzip")
protein = ad.AnnData(COUNTS.T[:, :2].astype("float32"), obs[[]], pd.DataFrame(index=["CD3", "CD4"]))
md.MuData({"rna": values, "protein": protein}).write("mudata.h5mu", compression="gzip")
