"""10x folders and HDF5 files: order of the entries, names, and damage."""

from __future__ import annotations

import gzip

import h5py
import numpy as np
import pytest
from scipy import io, sparse

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.base import ReadOptions
from sfs_cli.io.matrix.matrix_market import MatrixMarketRows, read_header
from sfs_cli.io.matrix.tenx import open_tenx_h5, open_tenx_mtx

N_GENES, N_CELLS = 60, 45


@pytest.fixture
def counts():
    made = np.random.default_rng(8).poisson(0.3, (N_GENES, N_CELLS))
    made[:, [0, 7, 8, 44]] = 0  # cells and genes without any entry, the last ones too
    made[[0, 30, 59]] = 0
    return made


def header(counts, nnz=None, field="integer"):
    nnz = np.count_nonzero(counts) if nnz is None else nnz
    return [f"%%MatrixMarket matrix coordinate {field} general", "%", f"{N_GENES} {N_CELLS} {nnz}"]


def entries(counts, by_cell=True):
    i, j = np.nonzero(counts.T)[::-1] if by_cell else np.nonzero(counts)
    return [f"{a + 1} {b + 1} {counts[a, b]}" for a, b in zip(i, j, strict=True)]


def write(folder, counts, lines=None):
    lines = header(counts) + entries(counts) if lines is None else lines
    features = [f"ENSG{i}\tGENE{i}\tGene Expression" for i in range(N_GENES)]
    (folder / "features.tsv").write_text("\n".join(features) + "\n")
    (folder / "barcodes.tsv").write_text("".join(f"AAAC{j}-1\n" for j in range(N_CELLS)))
    (folder / "matrix.mtx").write_text("\n".join(lines) + "\n")
    return folder


def read(path, opener=open_tenx_mtx, **options):
    reader = opener(path, ReadOptions(**options))
    blocks = list(reader.blocks())
    reader.close()
    values = np.concatenate([block.values.toarray() for block in blocks])
    return [i for b in blocks for i in b.ids], values, reader, blocks


@pytest.mark.parametrize("block_bytes", [1, 2000, 1 << 20])
@pytest.mark.parametrize("by_cell", [True, False])
def test_either_order_of_entries_gives_the_matrix(tmp_path, counts, by_cell, block_bytes):
    path = write(tmp_path, counts, header(counts) + entries(counts, by_cell))
    ids, values, reader, _ = read(path, block_bytes=block_bytes)
    assert reader.fixed_rows == ("samples" if by_cell else "features")
    assert len(ids) == reader.n_rows == len(values)
    np.testing.assert_array_equal(values.T if by_cell else values, counts)


def test_blocks_are_bounded(tmp_path):
    path = tmp_path / "matrix.mtx"
    full = np.random.default_rng(0).integers(1, 9, (300, 500))
    io.mmwrite(path, sparse.csc_matrix(full))
    parts = list(MatrixMarketRows(path, read_header(path)).blocks(ReadOptions(block_bytes=1 << 17)))
    assert len(parts) > 8
    assert all(block.nnz * 8 <= 1 << 17 for _, _, block in parts)
    assert [start for start, _, _ in parts[1:]] == [stop for _, stop, _ in parts[:-1]]
    np.testing.assert_array_equal(np.concatenate([b.toarray() for _, _, b in parts]).T, full)


def test_files_of_scipy_and_a_path_to_the_matrix_are_read(tmp_path, counts):
    write(tmp_path, counts)
    io.mmwrite(tmp_path / "matrix.mtx", sparse.csc_matrix(counts))
    _, values, reader, _ = read(tmp_path / "matrix.mtx")
    assert reader.fixed_rows == "samples"
    np.testing.assert_array_equal(values.T, counts)


def test_a_matrix_without_entries_is_read(tmp_path, counts):
    _, values, _, _ = read(write(tmp_path, counts * 0))
    assert values.shape == (N_CELLS, N_GENES)
    assert not values.any()


def test_symbols_name_features_unless_they_repeat(tmp_path, counts):
    _, _, reader, _ = read(write(tmp_path, counts))
    assert reader.column_ids[:2] == ["GENE0", "GENE1"]
    assert "symbols" in reader.notes[0]
    repeated = [f"ENSG{i}\tGENE{i // 2}" for i in range(N_GENES)]
    (tmp_path / "features.tsv").write_text("\n".join(repeated))
    _, _, reader, _ = read(tmp_path)
    assert reader.column_ids[:2] == ["ENSG0", "ENSG1"]
    assert "30 symbols are repeated" in reader.notes[0]


def test_feature_types_are_kept_and_noted(tmp_path, counts):
    write(tmp_path, counts)
    kinds = ["Gene Expression"] * 50 + ["Antibody Capture"] * 10
    lines = [f"ENSG{i}\tGENE{i}\t{kind}" for i, kind in enumerate(kinds)]
    (tmp_path / "features.tsv").write_text("\n".join(lines))
    _, values, reader, _ = read(tmp_path)
    assert values.shape == (N_CELLS, N_GENES)
    assert "50 Gene Expression, 10 Antibody Capture" in reader.notes[1]


def test_unsorted_entries_are_refused_with_their_line(tmp_path, counts):
    lines = entries(counts)
    lines[100], lines[300] = lines[300], lines[100]
    with pytest.raises(InputError, match="sorted neither by column nor by row") as caught:
        read(write(tmp_path, counts, header(counts) + lines))
    assert f"line {101 + 1 + 3}" in caught.value.where


def test_order_that_breaks_after_the_first_look_is_refused(tmp_path, counts):
    lines = entries(counts)
    lines[-1], lines[400] = lines[400], lines[-1]
    path = write(tmp_path, counts, header(counts) + lines) / "matrix.mtx"
    found = read_header(path, look_bytes=1000)
    assert found.by_column
    with pytest.raises(InputError, match="sorted neither by column") as caught:
        list(MatrixMarketRows(path, found).blocks(ReadOptions(block_bytes=1)))
    assert "line" in caught.value.where


@pytest.mark.parametrize("change", [-1, 1])
def test_another_number_of_entries_than_declared_is_refused(tmp_path, counts, change):
    nnz = np.count_nonzero(counts)
    lines = header(counts, nnz + change) + entries(counts)
    with pytest.raises(InputError, match=f"{nnz:,} entries, but its header declares"):
        read(write(tmp_path, counts, lines))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("0 40 1", "outside the bounds"),
        ("61 40 1", "outside the bounds"),
        ("5 46 1", "outside the bounds"),
        ("5 x 1", "not a row, a column and a value"),
        ("5 40", "not a row, a column and a value"),
        ("5 40 ", "not a row, a column and a value"),
        ("5  40 1", "not a row, a column and a value"),
    ],
)
def test_a_bad_entry_is_refused_with_its_line(tmp_path, counts, entry, message):
    lines = header(counts) + entries(counts)
    lines[203] = entry
    with pytest.raises(InputError, match=message) as caught:
        read(write(tmp_path, counts, lines))
    assert "line 204" in caught.value.where


def test_repeated_entries_are_refused(tmp_path, counts):
    lines = entries(counts)
    lines[10] = lines[11]
    with pytest.raises(InputError, match="two values for one row and column"):
        read(write(tmp_path, counts, header(counts) + lines))


@pytest.mark.parametrize(
    "first",
    [
        "%%MatrixMarket matrix array real general",
        "%%MatrixMarket matrix coordinate pattern general",
        "%%MatrixMarket matrix coordinate real symmetric",
        "1 2 3",
    ],
)
def test_other_kinds_of_matrix_market_are_refused(tmp_path, counts, first):
    lines = header(counts) + entries(counts)
    with pytest.raises(InputError, match="general Matrix Market"):
        read(write(tmp_path, counts, [first, *lines[1:]]))


def test_truncated_gzip_is_refused(tmp_path, counts):
    write(tmp_path, counts)
    packed = gzip.compress((tmp_path / "matrix.mtx").read_bytes())
    (tmp_path / "matrix.mtx").unlink()
    (tmp_path / "matrix.mtx.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError):
        read(tmp_path)


def test_missing_and_unfitting_names_are_refused(tmp_path, counts):
    write(tmp_path, counts)
    (tmp_path / "barcodes.tsv").write_text("one\ntwo\n")
    with pytest.raises(InputError, match=r"45 x 60, but .* 2 samples and 60 features"):
        read(tmp_path)
    (tmp_path / "barcodes.tsv").unlink()
    with pytest.raises(InputError, match=r"no barcodes\.tsv"):
        read(tmp_path)


def write_h5(path, counts, version=3):
    stored = sparse.csr_matrix(counts.T)
    ids = np.array([f"ENSG{i}" for i in range(N_GENES)], "S")
    symbols = np.array([f"GENE{i}" for i in range(N_GENES)], "S")
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix" if version == 3 else "GRCh38")
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(stored, name)
        group["shape"] = counts.shape
        group["barcodes"] = np.array([f"AAAC{j}-1" for j in range(N_CELLS)], "S")
        if version == 3:
            group["features/id"], group["features/name"] = ids, symbols
            group["features/feature_type"] = np.array([b"Gene Expression"] * N_GENES)
        else:
            group["genes"], group["gene_names"] = ids, symbols
    return path


@pytest.mark.parametrize("version", [2, 3])
def test_hdf5_of_either_version_gives_the_matrix(tmp_path, counts, version):
    path = write_h5(tmp_path / "m.h5", counts, version)
    ids, values, reader, _ = read(path, open_tenx_h5, block_bytes=500)
    assert (ids[0], reader.column_ids[3], reader.fixed_rows) == ("AAAC0-1", "GENE3", "samples")
    np.testing.assert_array_equal(values.T, counts)


def test_several_genomes_are_refused_by_name(tmp_path, counts):
    path = write_h5(tmp_path / "m.h5", counts, 2)
    with h5py.File(path, "r+") as file:
        file.copy("GRCh38", "mm10")
    with pytest.raises(InputError, match="2 genomes") as caught:
        read(path, open_tenx_h5)
    assert "GRCh38, mm10" in caught.value.where


def test_other_hdf5_is_refused_and_anndata_recognised(tmp_path, counts):
    path = tmp_path / "m.h5"
    with h5py.File(path, "w") as file:
        file.create_group("obs")
        file.create_group("var")
    with pytest.raises(InputError, match="not a 10x matrix") as caught:
        read(path, open_tenx_h5)
    assert ".h5ad" in caught.value.hint
    path = write_h5(path, counts)
    with h5py.File(path, "r+") as file:
        del file["matrix/features"]
    with pytest.raises(InputError, match="cannot be read as 10x-h5"):
        read(path, open_tenx_h5)


def test_hdf5_with_other_numbers_of_names_is_refused(tmp_path, counts):
    path = write_h5(tmp_path / "m.h5", counts)
    with h5py.File(path, "r+") as file:
        del file["matrix/barcodes"]
        file["matrix/barcodes"] = np.array(["one"], "S")
    with pytest.raises(InputError, match=r"45 x 60, but .* 1 sample and 60 features"):
        read(path, open_tenx_h5)


def test_feature_types_of_codes_are_read_past(tmp_path, counts):
    path = write_h5(tmp_path / "m.h5", counts)
    with h5py.File(path, "r+") as file:
        del file["matrix/features/feature_type"]
        group = file.create_group("matrix/features/feature_type")  # as AnnData writes categories
        group["codes"], group["categories"] = np.zeros(N_GENES, np.int8), [b"Gene Expression"]
    assert read(path, open_tenx_h5)[1].shape == (N_CELLS, N_GENES)


@pytest.mark.parametrize("part", ["id", "name", "feature_type"])
def test_hdf5_whose_features_are_described_by_other_numbers_is_refused(tmp_path, counts, part):
    path = write_h5(tmp_path / "m.h5", counts)
    with h5py.File(path, "r+") as file:
        features = file["matrix/features"]
        if part in features:
            del features[part]
        features[part] = np.full(N_GENES - 1, b"one")
    with pytest.raises(InputError, match="not one value of each feature") as caught:
        read(path, open_tenx_h5)
    assert "matrix/features/" in caught.value.where
