"""10x folders and HDF5 files: order of the entries, names, and damage."""

from __future__ import annotations

from itertools import product

import h5py
import numpy as np
import pytest
from scipy import sparse
from scipy.io import mmwrite

from sfs_cli.errors import InputError, OutOfMemoryError, SfsError
from sfs_cli.io.matrix.base import decide
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


HELD, STREAMED = None, 1  # memory for decoding


@pytest.mark.parametrize("decode_bytes", [HELD, STREAMED])
@pytest.mark.parametrize("block_bytes", [1, 2000])
@pytest.mark.parametrize("by_cell", [True, False])
def test_either_order_of_entries_gives_the_matrix(
    tmp_path, counts, by_cell, block_bytes, decode_bytes
):
    path = write(tmp_path, counts, header(counts) + entries(counts, by_cell))
    ids, values, reader = read(path, block_bytes=block_bytes, decode_bytes=decode_bytes)
    axis = "samples" if by_cell else "features"
    assert reader.fixed_rows == axis
    told = "barcodes are samples, by the format (10x-mtx)"
    assert decide(reader, "samples", []) == decide(reader, "auto", []) == (axis, told)
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


def test_unsorted_entries_are_read_where_memory_allows(tmp_path, counts):
    lines = entries(counts)
    shuffled = np.random.default_rng(2).permutation(lines).tolist()
    ids, values, _ = read(write(tmp_path, counts, header(counts) + shuffled))
    assert ids[:2] == ["AAAC0-1", "AAAC1-1"]
    np.testing.assert_array_equal(values.T, counts)
    with pytest.raises(OutOfMemoryError, match="to sort the entries") as caught:
        read(tmp_path, decode_bytes=STREAMED)
    assert "--memory 1G" in caught.value.hint


def test_entries_that_are_unsorted_late_are_refused_where_they_are_streamed(tmp_path):
    made = np.full((N_GENES, 20 * N_CELLS), 1234567)  # more than what is looked at
    lines = entries(made)
    lines.append(lines.pop(-100))
    sizes = f"{N_GENES} {20 * N_CELLS} {len(lines)}"
    path = write(tmp_path, made, [*header(made)[:2], sizes, *lines])
    (path / "barcodes.tsv").write_text("".join(f"c{j}\n" for j in range(20 * N_CELLS)))
    np.testing.assert_array_equal(read(path)[1], 1234567)
    with pytest.raises(InputError, match="not sorted"):
        read(path, decode_bytes=STREAMED)


@pytest.mark.parametrize("decode_bytes", [HELD, STREAMED])
def test_repeated_entries_are_refused(tmp_path, counts, decode_bytes):
    lines = entries(counts)
    lines[10] = lines[11]
    with pytest.raises(InputError, match="two values for one row and column"):
        read(write(tmp_path, counts, header(counts) + lines), decode_bytes=decode_bytes)


@pytest.mark.parametrize("decode_bytes", [HELD, STREAMED])
@pytest.mark.parametrize("change", [-1, 1])
def test_another_number_of_entries_than_declared_is_refused(tmp_path, counts, change, decode_bytes):
    nnz = np.count_nonzero(counts)
    lines = header(counts, nnz + change) + entries(counts)
    with pytest.raises(InputError, match=r"header declares|cannot be read as 10x-mtx"):
        read(write(tmp_path, counts, lines), decode_bytes=decode_bytes)


@pytest.mark.parametrize("decode_bytes", [HELD, STREAMED])
@pytest.mark.parametrize("entry", ["61 40 1", "5 46 1", "0 40 1", "5 x 1", "5 40 x", "5"])
def test_a_bad_entry_is_refused(tmp_path, counts, entry, decode_bytes):
    lines = header(counts) + entries(counts)
    lines[203] = entry
    with pytest.raises(SfsError) as caught:
        read(write(tmp_path, counts, lines), decode_bytes=decode_bytes)
    assert str(tmp_path) in str(caught.value.where)


SYMMETRIC = np.random.default_rng(4).poisson(0.4, (N_CELLS, N_CELLS))


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        *product(["general", "symmetric"], ["integer", "real", "pattern", None]),
        *product(["skew-symmetric", "array"], ["integer", "real", None]),
    ],
)
def test_what_scipy_writes_is_read(tmp_path, counts, kind, field):
    made = {
        "symmetric": SYMMETRIC + SYMMETRIC.T,
        "skew-symmetric": SYMMETRIC - SYMMETRIC.T,
    }.get(kind, counts)
    path = write(tmp_path, counts)
    if kind == "array":
        mmwrite(path / "matrix.mtx", made, field=field)
    else:
        mmwrite(path / "matrix.mtx", sparse.coo_array(made), field=field, symmetry=kind)
    (path / "features.tsv").write_text("".join(f"f{i}\n" for i in range(len(made))))
    _, values, reader = read(path, dtype="float64")
    expected = made != 0 if field == "pattern" else made
    np.testing.assert_array_equal(values if reader.fixed_rows == "features" else values.T, expected)


@pytest.mark.parametrize(
    "banner",
    [
        "%%MatrixMarket matrix coordinate complex general",
        "%%MatrixMarket vector coordinate real general",
        "1 2 3",
    ],
)
def test_complex_numbers_and_other_text_are_refused(tmp_path, counts, banner):
    lines = [f"{line} 0" for line in entries(counts)]
    with pytest.raises(InputError, match=r"complex128|cannot be read as a Matrix Market file"):
        read(write(tmp_path, counts, [banner, *header(counts)[1:], *lines]))


def test_missing_and_unfitting_names_are_refused(tmp_path, counts):
    write(tmp_path, counts)
    lines = (tmp_path / "features.tsv").read_text()
    for cut in (lines.rpartition("\t")[0], lines.rpartition("\tGENE")[0]):
        (tmp_path / "features.tsv").write_text(cut)
        with pytest.raises(InputError, match="the last line has fewer fields"):
            read(tmp_path)
    (tmp_path / "features.tsv").write_text(lines)
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


def test_the_id_stands_for_a_symbol_that_is_missing(tmp_path, counts):
    write(tmp_path, counts)
    path = tmp_path / "features.tsv"
    lines = path.read_text().splitlines()
    lines[1], lines[2] = "ENSG1", "ENSG2\t\tGene Expression"
    path.write_text("\n".join(lines))
    _, _, reader = read(tmp_path)
    assert reader.column_ids[:4] == ["GENE0", "ENSG1", "ENSG2", "GENE3"]
    assert reader.notes == [
        "features are named by their symbols, or by the id where that is missing"
    ]
