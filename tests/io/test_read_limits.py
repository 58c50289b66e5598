"""What a file declares, or unpacks to, is refused before the memory is taken."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from sfs_cli.errors import InputError
from sfs_cli.io.files import read_limits as room
from sfs_cli.io.files.table import read_table
from sfs_cli.io.files.text import LineStream, read_whole, text_lines
from sfs_cli.io.knowledge import hierarchy
from sfs_cli.io.knowledge.edges import read_edges
from sfs_cli.io.knowledge.gene_sets import read_gaf, read_gene_list, read_gmt, read_id_map
from sfs_cli.io.knowledge.hierarchy import read_newick
from sfs_cli.io.knowledge.similarity import open_similarity
from sfs_cli.io.matrix.base import ReadOptions, open_matrix

LITTLE = 1 << 20


@pytest.fixture(autouse=True)
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let readers hold 1 MiB, and lines have 64 KiB."""
    monkeypatch.setattr(room, "LEAST", LITTLE)
    monkeypatch.setattr(room, "LEAST_LINE", 1 << 16)
    with room.reading_within(LITTLE):
        yield


def packed(path: Path, text: bytes) -> Path:
    """Write a text that gzip packs to next to nothing."""
    path.write_bytes(gzip.compress(text))
    assert path.stat().st_size < len(text) / 2
    return path


def read_all(path: Path) -> None:
    reader = open_matrix(path, ReadOptions())
    try:
        for _ in reader.blocks():
            pass
    finally:
        reader.close()


LONG = b"x" * (1 << 21)
MANY = range(20_000)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (lambda path: LineStream(path).read_line(), LONG),
        (lambda path: list(text_lines(path)), b"a\n" + LONG),
        (read_all, b"id,a,b\ng1," + LONG),
        (read_all, b"id," + b"a," * (1 << 20) + b"\n"),
    ],
)
def test_a_long_line_is_refused_with_its_number(read, text, tmp_path) -> None:
    path = packed(tmp_path / "m.csv.gz", text)
    with pytest.raises(InputError, match="longer") as raised:
        read(path)
    assert f"m.csv.gz, line {(text.count(b'x', 0, 1) and 1) or raised.value.where[-1]}" in str(
        raised.value
    )


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_table, b"s\tl\n" + b"".join(b"s%d\ta\n" % i for i in MANY)),
        (read_gmt, b"".join(b"S%d\tna\ta\tb\tc\td\n" % i for i in MANY)),
        (read_gene_list, b"".join(b"gene%d\n" % i for i in MANY)),
        (read_id_map, b"".join(b"p%d\tg%d\n" % (i, i) for i in MANY)),
        (read_gaf, b"".join(b"DB\tx\tG%d\t\tGO:1\tr\tIEA%b\n" % (i, b"\t" * 9) for i in MANY)),
        (read_edges, b"".join(b"a%d\tb%d\n" % (i, i) for i in MANY)),
        (read_whole, b"ab\n" * (1 << 17)),
    ],
)
def test_a_table_that_unpacks_to_more_than_may_be_held_is_refused(read, text, tmp_path) -> None:
    with pytest.raises(InputError, match="--memory") as raised:
        read(packed(tmp_path / "x.tsv.gz", text))
    assert "x.tsv.gz" in str(raised.value)


def test_the_same_tables_are_read_where_there_is_room(tmp_path) -> None:
    path = packed(tmp_path / "x.tsv.gz", b"".join(b"gene%d\n" % i for i in MANY))
    with room.reading_within(1 << 30):
        assert len(read_gene_list(path)) == len(MANY)


def test_a_tree_that_is_a_chain_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(hierarchy, "MOST_NODES", 100_000)
    depth = 1000  # of which the paths have half a million nodes
    text = "(" * depth + "s" + "".join(f",x{i})" for i in range(depth)) + ";"
    with pytest.raises(InputError, match="nodes"):
        read_newick(text, "tree.nwk")


def npy(shape: tuple[int, ...], kind: str = "<f8", body: bytes = b"") -> bytes:
    out = io.BytesIO()
    header = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, header)
    return out.getvalue() + body


@pytest.mark.parametrize(
    "content",
    [
        npy((10**6, 1_250_000)),
        npy((10**30, 2)),
        npy((-1, 5)),
        npy((4, 4), "|O", b"\x80\x04." * 16),
        npy((400, 400), body=bytes(8 * 400 * 400)),
        b"\x93NUMPY\x01\x00\x10\x00__import__('os')\n",
    ],
    ids=["10 TB", "digits", "negative", "objects", "beyond memory", "code"],
)
def test_a_npy_that_declares_too_much_or_is_damaged_is_refused(content, tmp_path) -> None:
    (tmp_path / "S.npy").write_bytes(content)
    with pytest.raises(InputError, match=r"S\.npy"):
        open_similarity(str(tmp_path / "S.npy"))


def test_a_zip_bomb_is_refused(tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "S.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("dense.npy", npy((1000, 1000), body=bytes(8_000_000)))
    with pytest.raises(InputError, match="--memory"):
        open_similarity(str(tmp_path / "S.npz"))


def feather_that_declares(size: int, path: Path) -> Path:
    table = pa.table({"id": [f"g{i}" for i in range(50)], "a": np.arange(50.0), "b": np.ones(50)})
    pyarrow.feather.write_feather(table, path, compression="zstd")
    content = bytearray(path.read_bytes())
    at = content.find(b"\x28\xb5\x2f\xfd") - 8  # the size before the first frame of zstd
    content[at : at + 8] = struct.pack("<q", size)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("size", [10**13, -5, 7])
def test_a_feather_that_declares_another_size_is_damaged(size, tmp_path) -> None:
    with pytest.raises(InputError, match=r"m\.feather"):
        read_all(feather_that_declares(size, tmp_path / "m.feather"))


def test_a_parquet_with_a_footer_larger_than_the_file_is_damaged(tmp_path) -> None:
    path = tmp_path / "m.parquet"
    pq.write_table(pa.table({"id": ["a", "b"], "x": [1.0, 2.0]}), path)
    content = path.read_bytes()
    path.write_bytes(content[:-8] + struct.pack("<I", 0xFFFFFFF0) + b"PAR1")
    with pytest.raises(InputError, match=r"m\.parquet"):
        open_matrix(path, ReadOptions(decode_bytes=1 << 20))


def test_a_parquet_of_few_bytes_and_many_rows_is_no_small_table(tmp_path) -> None:
    codes = pa.array(np.zeros(100_000, np.int8))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["a"]))
    pq.write_table(pa.table({"s": column, "l": column}), tmp_path / "l.parquet")
    assert (tmp_path / "l.parquet").stat().st_size < 10_000
    with pytest.raises(InputError, match="--memory"):
        read_table(tmp_path / "l.parquet")


NOTES = [
    b"garbage",
    b"\xff\xfe",
    b"",
    b"[]",
    b"null",
    b"{}",
    b'{"index_columns": null}',
    b'{"index_columns": [3, null]}',
    b'{"index_columns": ["\\ud800"]}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("note", NOTES)
@pytest.mark.parametrize("read", [read_all, read_table])
def test_what_pandas_notes_in_parquet_may_be_damaged(read, note, tmp_path) -> None:
    table = pa.table({"id": ["a", "b"], "x": [1.0, 2.0]}).replace_schema_metadata({"pandas": note})
    pq.write_table(table, tmp_path / "m.parquet")
    with pytest.raises(InputError, match="pandas"):
        read(tmp_path / "m.parquet")


@pytest.mark.parametrize("note", [b'{"index_columns": ["no"]}', b'{"index_columns": [{}]}'])
def test_an_index_that_is_no_column_is_none(note, tmp_path) -> None:
    table = pa.table({"id": ["a", "b"], "x": [1.0, 2.0]}).replace_schema_metadata({"pandas": note})
    pq.write_table(table, tmp_path / "m.parquet")
    assert read_table(tmp_path / "m.parquet").columns["id"] == ["a", "b"]
    read_all(tmp_path / "m.parquet")


def declaring(path: Path, n: int, m: int, **X: object) -> Path:
    """Write an h5ad whose ids are there and whose values are declared alone."""
    with h5py.File(path, "w") as file:
        for key, count in (("obs", n), ("var", m)):
            group = file.create_group(key)
            group.attrs.update(
                {
                    "encoding-type": "dataframe",
                    "encoding-version": "0.2.0",
                    "_index": "_index",
                    "column-order": np.array([], "S1"),
                }
            )
            ids = [f"{key}{i}" for i in range(min(count, 5000))]
            made = group.create_dataset(
                "_index", shape=(count,), dtype=h5py.string_dtype(), chunks=(min(count, 1024),)
            )
            made[: len(ids)] = ids
            made.attrs.update({"encoding-type": "string-array", "encoding-version": "0.2.0"})
        made = file.create_dataset("X", **{"shape": (n, m), "dtype": "f8", **X})
        made.attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
    return path


@pytest.mark.parametrize(
    ("n", "m", "X"),
    [
        (5000, 5000, {"chunks": (100, 100)}),
        (5, 5, {"chunks": (2000, 2000), "maxshape": (None, None)}),
        (10**12, 10**12, {"chunks": (100, 100)}),
        (10**8, 5, {"chunks": (100, 5)}),
    ],
    ids=["values", "chunk", "ids", "few ids"],
)
def test_an_h5ad_that_declares_what_is_not_there_is_refused(n, m, X, tmp_path) -> None:
    with pytest.raises(InputError, match=r"m\.h5ad"):
        read_all(declaring(tmp_path / "m.h5ad", n, m, **X))


@pytest.mark.parametrize("size", ["9" * 5000, "99999999999999999999", "-3"])
def test_sizes_in_text_are_numbers_of_at_most_64_bits(size, tmp_path) -> None:
    folder = tmp_path / "tenx"
    folder.mkdir()
    (folder / "features.tsv").write_text("g1\n")
    (folder / "barcodes.tsv").write_text("b1\n")
    head = "%%MatrixMarket matrix coordinate integer general\n"
    (folder / "matrix.mtx").write_text(f"{head}{size} 1 1\n1 1 1\n")
    (tmp_path / "m.gct").write_text(f"#1.2\n{size}\t2\nName\tD\ta\tb\ng\tx\t1\t2\n")
    for path in (folder, tmp_path / "m.gct"):
        with pytest.raises(InputError, match="line 2"):
            open_matrix(path, ReadOptions())


def test_memory_that_no_machine_has_is_the_fault_of_the_file(monkeypatch) -> None:
    asked = MemoryError("Unable to allocate 9 TiB")
    refused = room.asks_too_much(asked, "parquet", "m.parquet")
    assert isinstance(refused, InputError)
    monkeypatch.setattr(room, "available", lambda: 1 << 20)
    assert room.asks_too_much(asked, "parquet", "m.parquet") is None
