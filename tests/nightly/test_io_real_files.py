"""Readers on real files: what other programs and data bases wrote."""

from __future__ import annotations

import gzip
import subprocess
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import anndata as ad
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

from sfs_cli.io.knowledge.edges import read_edges
from sfs_cli.io.knowledge.gene_sets import (
    choose_sets,
    read_gaf,
    read_gene_list,
    read_gmt,
    read_id_map,
    read_terms,
    split_set_spec,
)
from sfs_cli.io.knowledge.sample_columns import CLASSES, read_column
from sfs_cli.io.matrix.anndata import read_inside
from sfs_cli.io.matrix.base import ReadOptions, open_matrix


def read(path: Path, **options: Any) -> tuple[list[str], np.ndarray, Any]:
    reader = open_matrix(path, ReadOptions(**options))
    blocks = list(reader.blocks())
    reader.close()
    values = [b.values.toarray() if reader.sparse else b.values for b in blocks]
    return [name for block in blocks for name in block.ids], np.concatenate(values), reader


def test_an_h5ad_of_an_old_version_agrees_with_anndata(shared_data: Path) -> None:
    path = shared_data / "pbmc68k_reduced" / "10x_pbmc68k_reduced.h5ad"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = ad.read_h5ad(path)
    ids, values, reader = read(path, block_bytes=100_000)
    assert ids == list(expected.obs_names)
    assert list(reader.column_ids) == list(expected.var_names)
    np.testing.assert_array_equal(values, expected.X)
    obs = reader.annotations.obs
    assert obs["bulk_labels"].to_pylist() == list(expected.obs["bulk_labels"])
    assert obs["n_genes"].to_pylist() == list(expected.obs["n_genes"])
    _, raw, reader = read(path, layer="raw.X", block_bytes=100_000)
    np.testing.assert_array_equal(raw, expected.raw.X.toarray())
    assert reader.sparse
    found = sorted(reader.annotations.graphs)
    assert found == ["obsm:X_pca", "obsm:X_umap", "obsp:connectivities", "obsp:distances"]
    for key in ("X_pca", "X_umap"):
        coordinates, _, samples = read_inside(path, "obsm", key)
        assert samples == ids
        np.testing.assert_array_equal(coordinates, expected.obsm[key])
    graph, _, samples = read_inside(path, "obsp", "connectivities")
    assert samples == ids
    assert (graph != sparse.csr_array(expected.obsp["connectivities"])).nnz == 0


def test_a_parquet_matrix_agrees_with_pandas(shared_data: Path) -> None:
    path = shared_data / "nci60" / "transporters.parquet"
    ids, values, reader = read(path, dtype="float64", block_bytes=4096)
    frame = pd.read_parquet(path).set_index("feature_id")
    assert ids == list(frame.index)
    assert list(reader.column_ids) == list(frame.columns)
    np.testing.assert_array_equal(values, frame.to_numpy(np.float64))


def test_a_gct_holds_what_it_declares(shared_data: Path) -> None:
    ids, values, reader = read(shared_data / "leukemia" / "expression.gct")
    assert reader.n_rows == len(ids) == 9020
    assert values.shape == (9020, len(reader.column_ids)) == (9020, 48)
    assert np.isfinite(values).all()


def test_annotations_agree_with_a_simple_reading(shared_data: Path) -> None:
    path = shared_data / "genesets" / "go_human.gaf.gz"
    expected: dict[str, dict[str, None]] = defaultdict(dict)
    with gzip.open(path, "rt") as stream:
        for text in stream:
            if not text.startswith("!"):
                fields = text.rstrip("\n").split("\t")
                assert "NOT" not in fields[3]
                expected[fields[4]][fields[2]] = None
    assert read_gaf(path, "EXP").genes == {term: list(of) for term, of in expected.items()}


def test_knowledge_and_labels_are_as_counted_by_hand(shared_data: Path) -> None:
    knowledge, sets = shared_data / "knowledge", shared_data / "genesets"
    pairs = read_edges(knowledge / "mirtarbase_pairs.tsv.gz")
    assert pairs.facts["score_column"] == "n_pmid"
    assert "miR-1" in pairs.ids
    genes = read_gene_list(knowledge / "intogen_driver_genes.tsv")
    assert (len(genes), genes[:2]) == (619, ["ABCC4", "ABL1"])
    symbols = read_id_map(knowledge / "hgu95av2_symbols.tsv")
    assert (len(symbols), symbols[0]) == (7168, ("1000_at", "MAPK3"))
    hallmark = read_gmt(sets / "hallmark.gmt")
    assert len(hallmark) == 50
    assert "JUNB" in hallmark["HALLMARK_TNFA_SIGNALING_VIA_NFKB"]
    path, chosen = split_set_spec(f"{sets}/go_bp.gmt:GO:0000002,GO:0000003")
    assert choose_sets(read_gmt(path), chosen, path)["GO:0000003"] == ["MMP23B"]
    terms = read_terms(str(sets / "go_bp.gmt"))
    assert len(terms.genes) == 7273
    tables = sorted(shared_data.glob("*/labels.tsv"))
    assert tables
    for table in tables:
        assert len(read_column(str(table), CLASSES)) == len(table.read_text().splitlines()) - 1


def test_memory_does_not_grow_with_the_row_group_of_a_parquet_file(tmp_path: Path) -> None:
    def peak(n: int) -> int:
        values = np.random.default_rng(0).random((6, n), np.float32)
        columns = {"gene": np.arange(n).astype("S8").astype(str)}
        table = pa.table(columns | {f"s{j}": column for j, column in enumerate(values)})
        path = tmp_path / f"{n}.parquet"
        pq.write_table(table, path, row_group_size=n)
        code = (
            "import pyarrow as pa; from pathlib import Path\n"
            "from sfs_cli.io.matrix.base import ReadOptions\n"
            "from sfs_cli.io.matrix.parquet import open_parquet\n"
            f"r = open_parquet(Path({str(path)!r}), ReadOptions(block_bytes=1 << 20))\n"
            "n = sum(len(b.ids) for b in r.blocks())\n"
            "print(pa.default_memory_pool().max_memory())"
        )
        command = [sys.executable, "-c", code]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert peak(1_500_000) < peak(300_000) + 8 * 2**20
