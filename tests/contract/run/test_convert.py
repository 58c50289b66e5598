"""Matrices that ``sfs convert`` writes as files: what they hold, and that none is half there."""

from __future__ import annotations

import errno
from pathlib import Path

import anndata as ad
import numpy as np
import pandas as pd
import pytest

from sfs_cli.compute.matrix import Span
from sfs_cli.store.disk import open_store
from sfs_cli.store.matrix import Matrix
from sfs_cli.workflow import convert
from tests.running import Sfs

FEATURES, SAMPLES = [f"g{i}" for i in range(30)], [f"s,{j}" for j in range(7)]
ENDINGS = [".parquet", ".csv", ".tsv", ".csv.gz", ".tsv.gz", ".h5ad"]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Write a table with symbols, numbers of genes and a missing value."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(convert, "BLOCK_BYTES", 4 * 7 * 4)  # blocks of four features
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.lognormal(2, 2, (30, 7)), FEATURES, SAMPLES).astype("f4")
    X.iloc[3, 2] = np.nan
    table = X.copy()
    table.insert(0, "symbol", [f"S {i}" for i in range(30)])
    table.insert(1, "Entrez_Gene_Id", range(30))
    table.to_csv("x.csv", index_label="gene")
    return X


def held(path: str) -> tuple[Matrix, np.ndarray]:
    """Return the matrix of a store and its values, shape (m, n)."""
    matrix = open_store(Path(path))
    return matrix, matrix.values_of(Span(0, matrix.n_features))


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_written_is_read_back(ending: str, study: pd.DataFrame, sfs: Sfs) -> None:
    done = sfs("convert", "x.csv", f"y{ending}")
    assert f"wrote y{ending}: 7 samples x 30 features, float32" in done.err
    assert "values have 7 digits" in done.err
    sfs("convert", "x.csv", "x.store")
    sfs("convert", f"y{ending}", "y.store")
    (one, first), (other, second) = held("x.store"), held("y.store")
    np.testing.assert_array_equal(first, study)
    np.testing.assert_array_equal(second, study)
    assert [*one.ids.features] == [*other.ids.features] == FEATURES
    assert [*one.ids.samples] == [*other.ids.samples] == SAMPLES
    if ending != ".h5ad":  # of which ids alone are read
        assert [*other.ids.var["symbol"]] == [f"S {i}" for i in range(30)]
    # a store can be written as a file, too
    sfs("convert", "x.store", f"z{ending}")
    if ending in (".csv", ".tsv", ".parquet"):
        assert Path(f"z{ending}").read_bytes() == Path(f"y{ending}").read_bytes()


def test_other_programs_read_them(study: pd.DataFrame, sfs: Sfs) -> None:
    for ending in ENDINGS:
        done = sfs("convert", "x.csv", f"y{ending}")
        told = "annotate features are left out of text (Entrez_Gene_Id)" in done.err
        assert told == (ending not in (".parquet", ".h5ad"))
    table = pd.read_parquet("y.parquet").set_index("feature")
    assert [*table] == ["symbol", "Entrez_Gene_Id", *SAMPLES]
    pd.testing.assert_frame_equal(table[SAMPLES], study, check_names=False)
    for ending, sign in ((".csv", ","), (".tsv.gz", "\t")):
        text = pd.read_csv(f"y{ending}", sep=sign, index_col="feature")
        assert [*text] == ["symbol", *SAMPLES]  # numbers would be a sample
        values = text[SAMPLES].astype("f4")
        pd.testing.assert_frame_equal(values, study, check_names=False, check_exact=True)
    series = ['!Sample_characteristics_ch1\t"er/pr: 1"\t"er/pr: 2"', "!series_matrix_table_begin"]
    series += ['"ID_REF"\t"GSM1"\t"GSM2"', "g1\t1\t2", "g2\t2\t1", "!series_matrix_table_end", ""]
    Path("s.txt").write_text('!Sample_geo_accession\t"GSM1"\t"GSM2"\n' + "\n".join(series))
    sfs("convert", "s.txt", "s.h5ad")
    assert "er|pr" in ad.read_h5ad("s.h5ad").obs
    data = ad.read_h5ad("y.h5ad")
    np.testing.assert_array_equal(data.X, study.to_numpy().T)
    assert [*data.var["symbol"]] == [f"S {i}" for i in range(30)]


def test_annotations_and_logarithms_of_anndata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sfs: Sfs
) -> None:
    from scipy.sparse import csr_matrix

    monkeypatch.chdir(tmp_path)
    X = np.log1p(np.random.default_rng(1).poisson(0.4, (12, 9)).astype("f4"))
    data = ad.AnnData(csr_matrix(X))
    data.obs["kind"] = ["a", "b"] * 6
    data.obs["died"] = pd.array([True, None, False] * 4, "boolean")
    data.uns["log1p"] = {"base": 2}
    data.write_h5ad("x.h5ad")
    sfs("convert", "x.h5ad", "x.store")
    sfs("convert", "x.store", "y.h5ad")
    found = ad.read_h5ad("y.h5ad")
    np.testing.assert_array_equal(found.X.toarray(), X)
    assert [*found.obs["kind"]] == ["a", "b"] * 6
    assert found.obs["died"].equals(data.obs["died"])
    assert found.uns["log1p"]["base"] == 2
    done = sfs("convert", "x.h5ad", "y.parquet")
    assert "2 annotations of the samples (obs) left out" in done.err
    np.testing.assert_array_equal(pd.read_parquet("y.parquet").set_index("feature"), X.T)


def test_a_file_is_replaced_by_force_alone_and_as_a_whole(
    study: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, sfs: Sfs
) -> None:
    sfs("convert", "x.csv", "y.parquet")
    before = Path("y.parquet").read_bytes()
    assert "--force" in sfs("convert", "x.csv", "y.parquet", code=4).err
    Path("folder.csv").mkdir()
    assert "exists" in sfs("convert", "x.csv", "folder.csv", "--force", code=4).err

    def failing(matrix: Matrix, span: Span) -> np.ndarray:
        if span.lo > 8:
            raise OSError(errno.ENOSPC, "No space left on device")
        return np.zeros((span.size, matrix.n_samples), matrix.dtype)

    with monkeypatch.context() as patch:
        patch.setattr(Matrix, "values_of", failing)
        sfs("convert", "x.csv", "y.parquet", "--force", code=3)
        sfs("convert", "x.csv", "new.csv", code=3)
    assert Path("y.parquet").read_bytes() == before
    assert {path.name for path in Path().iterdir()} == {"x.csv", "y.parquet", "folder.csv"}
    done = sfs("convert", "x.csv", "y.parquet", "--force", "--dtype", "float64")
    assert "digits" not in done.err
    assert pd.read_parquet("y.parquet")["s,0"].dtype == "f8"


@pytest.mark.parametrize(("ending", "told"), [(".h5ad", "AnnData"), (".parquet", "Parquet")])
def test_what_takes_too_much_memory_is_refused(
    ending: str, told: str, study: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, sfs: Sfs
) -> None:
    monkeypatch.setattr(convert, "COPIES", 10**12)
    monkeypatch.setattr(convert, "COLUMN_BYTES", 10**12)
    assert told in sfs("convert", "x.csv", f"y{ending}", code=137).err
    assert {path.name for path in Path().iterdir()} == {"x.csv"}
