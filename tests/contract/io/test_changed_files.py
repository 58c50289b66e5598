"""Files that are not as they were written: read, or refused by name, and never anything else."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfs_cli.errors import InputError
from sfs_cli.io.files.table import read_table
from sfs_cli.io.knowledge.edges import read_edges
from sfs_cli.io.knowledge.gene_sets import read_gaf, read_gene_list, read_gmt
from sfs_cli.io.knowledge.hierarchy import read_hierarchy
from sfs_cli.io.matrix.base import ReadOptions, open_matrix
from tests.making import annotated, series_matrix

X = np.arange(1.0, 13).reshape(4, 3) / 4
FEATURES, SAMPLES = [f"gene{i}" for i in range(4)], [f"cell{i}" for i in range(3)]
CSV = b"id,symbol,cell0,cell1,cell2\n" + b"".join(
    b'gene%d,"ab",%g,%g,%g\n' % (i, *row) for i, row in enumerate(X)
)
TSV = "\t".join(["id", *SAMPLES]) + "\n"
TSV += "".join("\t".join([name, *map(str, row)]) + "\n" for name, row in zip(FEATURES, X))
GAF = "\t".join(["DB", "1", "A", "", "GO:1", "PMID:1", "IDA", "", "P", *[""] * 6]) + "\n"


def read_matrix(path: Path) -> tuple[list[str], list[str], list[list[float]]]:
    """Return the ids of rows and columns and the values, which fit together."""
    options = ReadOptions(dtype="float64", decimal="auto", block_bytes=100)
    reader = open_matrix(path, options)
    try:
        blocks = list(reader.blocks())
        for block in blocks:
            assert block.values.shape == (len(block.ids), len(reader.column_ids))
        ids = [name for block in blocks for name in block.ids]
        return ids, list(reader.column_ids), [row for b in blocks for row in b.values.tolist()]
    finally:
        reader.close()


def binary(write: Callable[[Path], object]) -> Callable[[Path], bytes]:
    """What a library writes to a file of its own."""

    def content(folder: Path) -> bytes:
        write(folder / "written")
        return (folder / "written").read_bytes()

    return content


def write_parquet(path: Path) -> None:
    columns = {"id": FEATURES} | dict(zip(SAMPLES, X.T))
    plain = {"use_dictionary": False, "compression": "none", "write_statistics": False}
    pq.write_table(pa.table(columns), path, **plain)


VALID: dict[str, tuple[Callable[[Path], Any], bytes | Callable[[Path], bytes]]] = {
    "m.csv": (read_matrix, CSV),
    "m.tsv.gz": (read_matrix, gzip.compress(TSV.encode(), mtime=0)),
    "m.gct": (read_matrix, b"#1.2\n2\t2\nName\tDescription\ts1\ts2\ng0\ta\t1\t2\ng1\t\t3\t4\n"),
    "m.txt": (read_matrix, series_matrix(X, FEATURES, SAMPLES).encode()),
    "s.gmt": (read_gmt, b"S1\tfirst\tA\tB\tA\nS2\t\tB\tC\nS3\tthird\tD\n"),
    "a.gaf": (read_gaf, b"!gaf-version: 2.2\n" + GAF.encode() + GAF.replace("1", "2").encode()),
    "e.tsv": (read_edges, b"gene_a\tgene_b\tscore\nA\tB\t0.5\nC\tB\t0.25\nD\tC\t1\n"),
    "l.tsv": (read_table, b'sample\tclass\tage\ns1\t"a b"\t31\ns2\tb\t\ns3\tNA\t40\n'),
    "g.txt": (read_gene_list, b"# mine\ngene\nTP53\nMDM2\n\nATM\n"),
    "h.nwk": (lambda path: read_hierarchy(str(path)), b"((a:1,'b c':2)x,(c,d[note])y:3);\n"),
    "m.parquet": (read_matrix, binary(write_parquet)),
    "m.h5ad": (
        read_matrix,
        binary(lambda path: annotated(X.T, FEATURES, SAMPLES).write_h5ad(path)),
    ),
}


SIGNS = b"\0\t\n\r\"',;:#!()[] .-+0e\x1a\x80\xff\xfe"
"""Bytes that mean something to one format or another, or are never right."""


@st.composite
def changed(draw: st.DrawFn, content: bytes) -> bytes:
    """Up to three changes: of a byte, of a piece, of the order of lines, of the length."""
    for _ in range(draw(st.integers(1, 3))):
        lo, hi = sorted(draw(st.integers(0, len(content))) for _ in range(2))
        kind = draw(st.sampled_from(["change", "remove", "double", "swap", "cut"]))
        if kind == "change":
            byte = draw(st.sampled_from(SIGNS) | st.integers(0, 255))
            content = content[:lo] + bytes([byte]) + content[lo + 1 :]
        elif kind == "remove":
            content = content[:lo] + content[hi:]
        elif kind == "double":
            content = content[:hi] + content[lo:]
        elif kind == "cut":
            content = content[:hi]
        else:
            lines = content.splitlines(keepends=True)
            if lines:
                one, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
                lines[one], lines[other] = lines[other], lines[one]
            content = b"".join(lines)
    return content


@st.composite
def changed_names(draw: st.DrawFn, content: bytes) -> bytes:
    """Of what a library reads, which might crash: the text of names is changed, or the end cut."""
    if draw(st.integers(0, 3)) == 0:
        return content[: draw(st.integers(0, len(content) - 1))]
    name = draw(st.sampled_from([*FEATURES, *SAMPLES])).encode()
    at = content.index(name) + draw(st.integers(0, len(name) - 1))
    byte = draw(st.sampled_from(SIGNS) | st.integers(0, 255))
    return content[:at] + bytes([byte]) + content[at + 1 :]


@pytest.mark.parametrize("name", VALID)
def test_a_changed_file_is_read_or_refused_by_its_name(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("changed")
    read, made = VALID[name]
    content = made if isinstance(made, bytes) else made(folder)
    path = folder / name
    path.write_bytes(content)
    read(path)

    @settings(max_examples=30)
    @given(changed(content) if isinstance(made, bytes) else changed_names(content))
    def check(other: bytes) -> None:
        path.write_bytes(other)
        said = name
        try:
            read(path)
        except InputError as error:
            said = str(error)
        assert name in said

    check()


TABLE = b"id,a,b\ng1,1,2\ng2,3,4\n"
PACKED = gzip.compress(TABLE, mtime=0)
LABELS, EDGES = b"sample\tclass\ns1\ta\ns2\tb\n", b"gene_a\tgene_b\tscore\nA\tB\t0.5\n"
BINARY, UNPAIRED, CUT = "holds binary data", "a double quote is unpaired", "cut off or damaged"

READ: list[tuple[str, str, bytes]] = [
    ("mark of UTF-8", "m.csv", codecs.BOM_UTF8 + TABLE),
    ("line ends of old Macs", "m.csv", TABLE.replace(b"\n", b"\r")),
    ("no end of the last line", "m.csv", TABLE[:-1]),
    ("two members of gzip", "m.csv.gz", gzip.compress(TABLE[:9]) + gzip.compress(TABLE[9:])),
    ("gzip without its suffix", "m.csv", PACKED),
]

REFUSED: list[tuple[str, str, bytes, str]] = [
    ("UTF-16 without a mark", "m.csv", TABLE.decode().encode("utf-16-le"), BINARY),
    ("Latin-1", "m.csv", TABLE.replace(b"g1", b"g\xe9"), "not UTF-8, near 'g\xe9,1,2'"),
    ("Latin-1 in labels", "l.tsv", LABELS.replace(b"b", b"\xe9"), "l.tsv, line 3"),
    ("Latin-1 in edges", "e.tsv", EDGES + b"C\t\xe9\t1\n", "e.tsv, line 3"),
    ("NUL in a value", "m.csv", TABLE.replace(b"3", b"\0"), BINARY),
    ("NUL far down", "m.csv", TABLE + b"g3,5,6\n" * 1500 + b"g4,\0,6\n", "m.csv, line 1504"),
    ("NUL far down in edges", "e.tsv", EDGES + b"C\tD\t1\n" * 2000 + b"C\t\0\t1\n", "line 2003"),
    ("end of file of DOS", "m.csv", TABLE + b"\x1a", "m.csv, line 4"),
    ("carriage return in a row", "m.csv", TABLE.replace(b"3,", b"3\r5,"), "a carriage return"),
    ("carriage return in the names", "m.csv", b'"id","a"\r"b"\n"x",1,2\n', "a carriage return"),
    ("quote left open in a value", "m.csv", TABLE.replace(b"3", b'"3'), UNPAIRED),
    ("line end within quotes", "m.csv", TABLE.replace(b"g2", b'"g\n2"'), "m.csv, line 3"),
    ("text behind a quoted one", "m.csv", TABLE.replace(b"g2", b'"g2" x'), "within a field"),
    ("row cut short", "m.csv", TABLE[:-3], "a row has 2 fields, but 3 are expected"),
    ("row too long", "m.csv", TABLE + b"g3,5,6,7\n", "a row has 4 fields"),
    ("rows that end in a comma", "m.csv", b"id,a,b\ng1,1,2,\ng2,3,4,\n", "end in a comma"),
    ("column without a name", "m.csv", b"id,a,\ng1,1,2\n", "column 3 has no id"),
    ("row cut short in labels", "l.tsv", LABELS + b"s3\n", "a row has 1 field, but 2 are expected"),
    ("row cut short in edges", "e.tsv", EDGES + b"C\tD\n", "Expected 3 columns, got 2"),
    ("row cut short in annotations", "a.gaf", GAF.encode() * 2 + GAF.encode()[:20], "7 columns"),
    ("blank line between rows", "m.csv", TABLE.replace(b"g2", b"\ng2"), "a blank line"),
    ("nothing", "m.csv", b"", "is empty"),
    ("comments alone", "m.csv", b"# a note\n", "is empty"),
    ("names alone", "m.csv", TABLE[:7], "a line of column names, but no rows"),
    ("names alone in edges", "e.tsv", EDGES[:20], "the file has no edges"),
    ("no names", "m.csv", b"g1,1.5,2\ng2,3,4\n", "the first line holds values"),
    ("one name twice in labels", "l.tsv", b"id\tx\tx\ns1\ta\tb\n", "several columns are named x"),
    ("a page of a server", "m.csv", b"<html>\n<body>Not found</body>\n</html>\n", "m.csv"),
    ("gzip cut off", "m.csv.gz", PACKED[: len(PACKED) // 2], CUT),
    ("gzip without its end", "m.csv.gz", PACKED[:-4], CUT),
    ("gzip within gzip", "m.csv.gz", gzip.compress(PACKED), BINARY),
    ("HDF5 in its first bytes", "m.h5ad", b"\x89HDF\r\n\x1a\n", "cannot be read as HDF5"),
    ("Parquet in its first bytes", "m.parquet", b"PAR1\x15\x04", "cannot be read as parquet"),
]


def write_and_read(folder: Path, name: str, content: bytes) -> Any:
    (folder / name).write_bytes(content)
    read = VALID[name][0] if name in VALID else read_matrix
    return read(folder / name)


@pytest.mark.parametrize(("name", "content"), [pytest.param(*r[1:], id=r[0]) for r in READ])
def test_the_same_table_is_read(name: str, content: bytes, tmp_path: Path) -> None:
    expected = (["g1", "g2"], ["a", "b"], [[1, 2], [3, 4]])
    assert write_and_read(tmp_path, name, content) == expected


@pytest.mark.parametrize(
    ("name", "content", "words"), [pytest.param(*each[1:], id=each[0]) for each in REFUSED]
)
def test_what_is_broken_is_refused(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        write_and_read(tmp_path, name, content)
    assert words in str(caught.value)
    assert name in str(caught.value)
    assert caught.value.hint
