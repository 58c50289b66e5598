"""10x folders and HDF5 files: order of the entries, names, and damage."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from scipy import sparse

from sfs_cli.errors import InputError
from sfs_cli.io.matrix.tenx import open_tenx_h5, open_tenx_mtx
from tests.contract.io.reading import read_all

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


def read(path, opened=open_tenx_mtx, **options):
    return read_all(path, opened, **options)


@pytest.mark.parametrize("block_bytes", [1, 2000])
@pytest.mark.parametrize("by_cell", [True, False])
def test_either_order_of_entries_gives_the_matrix(tmp_path, counts, by_cell, block_bytes):
    path = write(tmp_path, counts, header(counts) + entries(counts, by_cell))
    ids, values, reader = read(path, block_bytes=block_bytes)
    assert reader.fixed_rows == ("samples" if by_cell else "features")
    assert len(ids) == reader.n_rows == len(values)
    np.testing.assert_array_equal(values.T if by_cell else values, counts)


def test_symbols_name_features_unless_they_repeat(tmp_path, counts):
    _, _, reader = read(write(tmp_path, counts))
    assert reader.column_ids[:2] == ["GENE0", "GENE1"]
    assert "symbols" in reader.notes[0]
    repeated = [f"ENSG{i}\tGENE{i // 2}" for i in range(N_GENES)]
    (tmp_path / "features.tsv").write_text("\n".join(repeated))
    _, _, reader = read(tmp_path)
    assert reader.column_ids[:2] == ["ENSG0", "ENSG1"]
    assert "30 symbols are repeated" in reader.notes[0]


def test_feature_types_are_kept_and_noted(tmp_path, counts):
    write(tmp_path, counts)
    kinds = ["Gene Expression"] * 50 + ["Antibody Capture"] * 10
    lines = [f"ENSG{i}\tGENE{i}\t{kind}" for i, kind in enumerate(kinds)]
    (tmp_path / "features.tsv").write_text("\n".join(lines))
    _, values, reader = read(tmp_path)
    assert values.shape == (N_CELLS, N_GENES)
    assert "50 Gene Expression, 10 Antibody Capture" in reader.notes[1]


def test_unsorted_entries_are_refused_with_their_line(tmp_path, counts):
    lines = entries(counts)
    lines[100], lines[300] = lines[300], lines[100]
    with pytest.raises(InputError, match="sorted neither by column nor by row") as caught:
        read(write(tmp_path, counts, header(counts) + lines))
    assert f"line {101 + 1 + 3}" in caught.value.where


def test_repeated_entries_are_refused(tmp_path, counts):
    lines = entries(counts)
    lines[10] = lines[11]
    with pytest.raises(InputError, match="two values for one row and column"):
        read(write(tmp_path, counts, header(counts) + lines))


@pytest.mark.parametrize("change", [-1, 1])
def test_another_number_of_entries_than_declared_is_refused(tmp_path, counts, change):
    nnz = np.count_nonzero(counts)
    lines = header(counts, nnz + change) + entries(counts)
    with pytest.raises(InputError, match=f"{nnz:,} entries, but its header declares"):
        read(write(tmp_path, counts, lines))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("61 40 1", "outside the bounds"),
        ("5 46 1", "outside the bounds"),
        ("5 x 1", "not a row, a column and a value"),
        ("5  40 1", "not a row, a column and a value"),
    ],
)
def test_a_bad_entry_is_refused_with_its_line(tmp_path, counts, entry, message):
    lines = header(counts) + entries(counts)
    lines[203] = entry
    with pytest.raises(InputError, match=message) as caught:
        read(write(tmp_path, counts, lines))
    assert "line 204" in caught.value.where


@pytest.mark.parametrize(
    "first",
    [
        "%%MatrixMarket matrix array real general",
        "%%MatrixMarket matrix coordinate real symmetric",
        "1 2 3",
    ],
)
def test_other_kinds_of_matrix_market_are_refused(tmp_path, counts, first):
    lines = header(counts) + entries(counts)
    with pytest.raises(InputError, match="general Matrix Market"):
        read(write(tmp_path, counts, [first, *lines[1:]]))


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
    ids, values, reader = read(path, open_tenx_h5, block_bytes=500)
    assert (ids[0], reader.column_ids[3], reader.fixed_rows) == ("AAAC0-1", "GENE3", "samples")
    np.testing.assert_array_equal(values.T, counts)


def test_several_genomes_are_refused_by_name(tmp_path, counts):
    path = write_h5(tmp_path / "m.h5", counts, 2)
    with h5py.File(path, "r+") as file:
        file.copy("GRCh38", "mm10")
    with pytest.raises(InputError, match="2 genomes") as caught:
        read(path, open_tenx_h5)
    assert "GRCh38, mm10" in caught.value.where


def test_other_hdf5_is_refused(tmp_path):
    path = tmp_path / "m.h5"
    with h5py.File(path, "w") as file:
        file.create_group("obs")
        file.create_group("var")
    with pytest.raises(InputError, match="not a 10x matrix") as caught:
        read(path, open_tenx_h5)
    assert "Cell Ranger" in caught.value.hint
    assert str(path) in str(caught.value.where)
