"""Damage: what is done to the bytes, lines, cells, members and arrays of a valid file.

Every mutation is a function of a file's bytes and of a random generator; it returns other bytes, or
None where the file has nothing to damage in that way. They know the containers (gzip, zip, HDF5,
Parquet, Arrow, JSON), so that damage is done behind their checksums as well.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import struct
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

Mutation = Callable[[bytes, Random], "bytes | None"]

INTEGERS = (
    0,
    1,
    2,
    -1,
    -2,
    127,
    128,
    255,
    256,
    2**15,
    2**16,
    2**24,
    2**31 - 1,
    2**31,
    -(2**31),
    2**32 - 1,
    2**40,
    2**53 + 1,
    2**62,
    2**63 - 1,
)
NUMBERS = (
    "0",
    "-0",
    "-1",
    "1e308",
    "-1e308",
    "1e309",
    "1e-320",
    "1e38",
    "3.5e38",
    "1e39",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "Infinity",
    "NA",
    "",
    "null",
    "None",
    "1,5",
    "1.5.2",
    "0x10",
    "1_0",
    "९",
    "１２",
    "1e",
    "--1",
    "+-1",
    "1 2",
    "9" * 400,
    "1e99999",
    "0." + "3" * 300,
    "9007199254740993",
    "-9223372036854775809",
    "18446744073709551616",
    "TRUE",
    "1d3",
    "½",
    "1\u00a0000",
    "−1",
    "1e-5000",
    ".",
    "e5",
    "1%",
    "$1",
    "(1)",
    "#N/A",
    "#DIV/0!",
)
WORDS = (
    "",
    " ",
    "\u00a0x",
    "x\u00a0",
    "\u202egene",
    "gene1",
    "gene1 ",
    "s1",
    "S1",
    "id",
    "nan",
    "None",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "[bold]x[/bold]",
    "[/]",
    "[link=x]y",
    "<script>alert(1)</script>",
    "=1+1",
    "-x",
    "--out",
    "a/b",
    "../../x",
    "a:b",
    "a,b",
    'a"b',
    '"',
    "'",
    "a\tb",
    "a\rb",
    "a\x00b",
    "a\x0bb",
    "a\x85b",
    "a\u2028b",
    "\ufeffgene1",
    "\ud7ff",
    "é",
    "e\u0301",
    "ﬀ",
    "x" * 5000,
    "%s%n",
    "{0}",
    "${HOME}",
    "$(id)",
    "`id`",
    "\\",
    "\\n",
    "*",
    "?",
    "obs:tissue",
    "1",
    "0.5",
    "2024-01-01",
    "2-Sep",
    "NaN;",
    "#",
    "# x",
    "%",
    "!",
    "|",
    "@2",
    "a=b",
    "\x7f",
    "\x9b31m",
    "\U0001f9ec",
    "\U000e0041",
)

# ---- bytes ---------------------------------------------------------------------------------------


def _span(data: bytes, rng: Random) -> tuple[int, int]:
    """Return where a stretch of bytes begins and ends; short ones are likelier."""
    lo = rng.randrange(len(data))
    return lo, min(len(data), lo + 1 + int(rng.paretovariate(0.6)))


def truncate(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data))]


def cut_head(data: bytes, rng: Random) -> bytes:
    return data[rng.randrange(1, len(data) + 1) :]


def flip_bits(data: bytes, rng: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def set_bytes(data: bytes, rng: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 2, 5))):
        changed[rng.randrange(len(changed))] = rng.choice(
            (0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256))
        )
    return bytes(changed)


def insert(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    known = (
        b"\0",
        b"\n",
        b"\r",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"PK\x03\x04",
        b"\x1f\x8b",
        b"\x89HDF",
    )
    piece = rng.choice((*known, rng.randbytes(rng.randrange(1, 40))))
    return data[:at] + piece + data[at:]


def delete(data: bytes, rng: Random) -> bytes:
    lo, hi = _span(data, rng)
    return data[:lo] + data[hi:]


def repeat(data: bytes, rng: Random) -> bytes:
    lo, hi = _span(data, rng)
    return data[:hi] + data[lo:hi] * rng.choice((1, 1, 3, 50)) + data[hi:]


def swap_chunks(data: bytes, rng: Random) -> bytes | None:
    size = min(rng.choice((1, 4, 8, 16, 64, 512)), len(data) // 2)
    if not size:
        return None
    a = rng.randrange(len(data) - 2 * size + 1)
    b = rng.randrange(a + size, len(data) - size + 1)
    return (
        data[:a] + data[b : b + size] + data[a + size : b] + data[a : a + size] + data[b + size :]
    )


def zero_fill(data: bytes, rng: Random) -> bytes:
    lo, hi = _span(data, rng)
    if rng.random() < 0.2:
        hi = len(data)  # as a disk that lost the end of a file
    return data[:lo] + rng.choice((b"\0", b"\xff")) * (hi - lo) + data[hi:]


def set_integer(data: bytes, rng: Random) -> bytes | None:
    """Write a telling integer over an aligned word: a length, an offset or a size."""
    width = rng.choice((1, 2, 4, 8))
    if len(data) < width:
        return None
    at = rng.randrange(0, len(data) - width + 1)
    at -= at % width if rng.random() < 0.7 else 0
    word = (rng.choice(INTEGERS) % 256**width).to_bytes(
        width, rng.choice(("little", "little", "big"))
    )
    return data[:at] + word + data[at + width :]


def nudge_integer(data: bytes, rng: Random) -> bytes | None:
    """Add or subtract one from a word that holds a small number."""
    if len(data) < 8:
        return None
    at = rng.randrange(0, len(data) - 7, 4) if len(data) > 11 else 0
    number = int.from_bytes(data[at : at + 4], "little") + rng.choice((-1, 1, 100))
    return data[:at] + (number % 2**32).to_bytes(4, "little") + data[at + 4 :]


def append(data: bytes, rng: Random) -> bytes:
    return data + rng.choice((b"\0" * 64, b"\n\n\n", rng.randbytes(50), data))


def splice(data: bytes, rng: Random, other: bytes) -> bytes:
    """Join the beginning of one file to the end of another."""
    a, b = rng.randrange(len(data) + 1), rng.randrange(len(other) + 1)
    return data[:a] + other[b:]


OF_BYTES = (
    truncate,
    cut_head,
    flip_bits,
    flip_bits,
    set_bytes,
    insert,
    delete,
    repeat,
    swap_chunks,
    zero_fill,
    set_integer,
    nudge_integer,
    append,
)

# ---- lines and cells -----------------------------------------------------------------------------

_CELL = re.compile(r"[^,\t;\n\r: {}\[\]()\"'|]+")


def _lines(data: bytes) -> list[str] | None:
    text = data.decode("utf-8", "surrogateescape")
    return text.split("\n") if text.strip() else None


def _joined(lines: Sequence[str]) -> bytes:
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def change_lines(data: bytes, rng: Random) -> bytes | None:
    """Delete, repeat, exchange, join, cut or blank lines."""
    if (lines := _lines(data)) is None:
        return None
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    what = rng.randrange(8)
    if what == 0:
        del lines[a]
    elif what == 1:
        lines.insert(b, lines[a])
    elif what == 2:
        lines[a], lines[b] = lines[b], lines[a]
    elif what == 3:
        lines[a : a + 2] = ["".join(lines[a : a + 2])]
    elif what == 4:
        lines[a] = lines[a][: rng.randrange(len(lines[a]) + 1)]
    elif what == 5:
        lines.insert(a, rng.choice(("", " ", "\t", "#", "\0", "\x1a", ",,,,")))
    elif what == 6:
        lines[a] = rng.choice(WORDS)
    else:
        lines = lines[: a + 1] * rng.choice((2, 20)) + lines[a:]
    return _joined(lines)


def change_cells(data: bytes, rng: Random) -> bytes | None:
    """Replace one to three cells by extreme numbers and odd words, or by other cells."""
    text = data.decode("utf-8", "surrogateescape")
    for _ in range(rng.choice((1, 1, 2, 3))):
        cells = [match.span() for match in _CELL.finditer(text)]
        if not cells:
            return None
        lo, hi = rng.choice(cells)
        a, b = rng.choice(cells)
        new = rng.choice((rng.choice(NUMBERS), rng.choice(WORDS), text[a:b], text[lo:hi] * 2))
        text = text[:lo] + new + text[hi:]
    return text.encode("utf-8", "surrogateescape")


def change_marks(data: bytes, rng: Random) -> bytes | None:
    """Drop, repeat or exchange delimiters, quotes and brackets, one of them or all."""
    text = data.decode("utf-8", "surrogateescape")
    found = [i for i, c in enumerate(text) if c in ",\t;:{}[]()\"'|="]
    if not found:
        return None
    new = rng.choice(("", ",", "\t", ";", " ", '"', "'", ":", "\n", "|", "{", "[", "]", "}"))
    at = rng.choice(found)
    if rng.random() < 0.3:
        text = text.replace(text[at], new)
    else:
        text = text[:at] + rng.choice((new, text[at] * 2)) + text[at + 1 :]
    return text.encode("utf-8", "surrogateescape")


def change_ends(data: bytes, rng: Random) -> bytes:
    """Write the text with other line ends, another encoding, or a byte order mark."""
    what = rng.randrange(6)
    if what == 0:
        return data.replace(b"\n", b"\r\n")
    if what == 1:
        return data.replace(b"\n", b"\r")
    if what == 2:
        return data.rstrip(b"\n")
    if what == 3:
        return b"\xef\xbb\xbf" + data
    text = data.decode("utf-8", "replace")
    return text.encode(("utf-16", "utf-32")[what - 4])


OF_TEXT = (
    change_lines,
    change_lines,
    change_cells,
    change_cells,
    change_cells,
    change_marks,
    change_ends,
)

# ---- JSON ----------------------------------------------------------------------------------------

HOSTILE_JSON: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    2**64,
    10**400,
    1e308,
    float("nan"),
    float("inf"),
    1.5,
    "",
    "x",
    "-1",
    "\x1b[31m",
    "\ud800",
    "../x",
    "a" * 10_000,
    [],
    {},
    [None],
    [[]],
    [1] * 1000,
    {"": 0},
    {"a": {"a": {"a": {}}}},
    "<f8",
    "|O",
    "float128",
    "nan",
)


def change_json(data: bytes, rng: Random) -> bytes | None:
    """Replace, delete, rename or nest one node of a JSON document."""
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):
        return None
    places: list[tuple[Any, Any]] = []
    _walk(root, places)
    if not places:
        return None
    parent, key = rng.choice(places)
    what = rng.randrange(6)
    if what <= 1:
        parent[key] = rng.choice(HOSTILE_JSON)
    elif what == 2:
        del parent[key]
    elif what == 3 and isinstance(parent, dict):
        parent[rng.choice(WORDS)] = parent.pop(key)
    elif what == 4:
        other, at = rng.choice(places)
        parent[key] = other[at] if other is not parent else [parent[key]]
    else:
        old = parent[key]
        parent[key] = -old if isinstance(old, int | float) else str(old) if old != "" else 3
    text = json.dumps(root)
    if rng.random() < 0.03:
        text = text.replace(text[:1], text[:1] + '"deep": ' + "[" * 5000 + "]" * 5000 + ", ", 1)
    return text.encode("utf-8", "surrogatepass")


def _walk(node: Any, places: list[tuple[Any, Any]]) -> None:
    keys = node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
    for key in list(keys):
        places.append((node, key))
        _walk(node[key], places)


# ---- gzip, zip, npy ------------------------------------------------------------------------------


def inside_gzip(data: bytes, rng: Random) -> bytes | None:
    """Damage what is compressed, and compress it again; sometimes as several members."""
    changed = rng.choice((*OF_TEXT, *OF_BYTES))(gzip.decompress(data), rng)
    if changed is None:
        return None
    if rng.random() < 0.1:
        at = rng.randrange(len(changed) + 1)
        return gzip.compress(changed[:at]) + gzip.compress(changed[at:])
    return gzip.compress(changed, rng.choice((1, 9)))


def change_members(data: bytes, rng: Random) -> bytes | None:
    """Damage, drop, rename, repeat or blow up one member of a zip archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    at = rng.randrange(len(members))
    name, content = members[at]
    what = rng.randrange(8)
    if what <= 3 and name.endswith(".npy"):
        members[at] = (name, change_npy(content, rng) or b"")
    elif what <= 4:
        members[at] = (name, rng.choice(OF_BYTES)(content, rng) if content else b"x")
    elif what == 5:
        del members[at]
    elif what == 6:
        members[at] = (rng.choice(("x.npy", "../x.npy", "data", "", "dense.npy")), content)
    else:
        members.insert(rng.randrange(len(members) + 1), (name, members[0][1]))
    sink = io.BytesIO()
    import warnings

    with (
        warnings.catch_warnings(),
        zipfile.ZipFile(
            sink, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
        ) as archive,
    ):
        warnings.simplefilter("ignore")  # a name twice
        for member, inner in members:
            archive.writestr(member, inner)
    return sink.getvalue()


def change_npy(data: bytes, rng: Random) -> bytes | None:
    """Replace the array of an npy file, its dtype, its shape, or its header alone."""
    import numpy as np

    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
    except ValueError:
        return rng.choice(OF_BYTES)(data, rng) if data else None
    if rng.random() < 0.4:
        return _with_header(data, rng)
    return _npy(change_array(array, rng))


def _npy(array: Any) -> bytes:
    import numpy as np

    sink = io.BytesIO()
    np.save(sink, array, allow_pickle=True)
    return sink.getvalue()


def _with_header(data: bytes, rng: Random) -> bytes:
    """Return an npy file with another header before the same values."""
    (size,) = struct.unpack_from("<H", data, 8)
    header = data[10 : 10 + size].decode("latin-1")
    old, new = rng.choice(
        (
            (
                r"'<f8'|'<i4'|'\|S3'|'<[a-zU0-9]+'",
                rng.choice(
                    (
                        "'|O'",
                        "'<U99999999'",
                        "'>f8'",
                        "'<f2'",
                        "'<c16'",
                        "'<M8[s]'",
                        "'|V8'",
                        "''",
                        "7",
                        "'<i9'",
                        "[('a', '<f8')]",
                        "'<f16'",
                    )
                ),
            ),
            (
                r"\(.*?\)",
                rng.choice(
                    (
                        "()",
                        "(12,)",
                        "(-1, 12)",
                        "(12, -12)",
                        "(144,)",
                        "(3, 48)",
                        "(9223372036854775807, 2)",
                        "(4611686018427387904, 4)",
                        "(1000000000000, 12)",
                        "12",
                        "(12, 12, 1)",
                        "(0, 0)",
                        "(12.0, 12)",
                        "(True, 144)",
                        "(" + "1," * 70 + ")",
                    )
                ),
            ),
            ("False", "True"),
            ("'fortran_order'", "'fortran'"),
            (r"\{.*\}", rng.choice(("{}", "[]", "1", "{" * 900, "__import__('os')", "", "'x'"))),
        )
    )
    changed = re.sub(old, lambda _: new, header, count=1).encode("latin-1")
    version = b"\x93NUMPY" + rng.choice((b"\x01\x00",) * 5 + (b"\x02\x00", b"\x07\x00"))
    return version + struct.pack("<H", len(changed)) + changed + data[10 + size :]


def change_array(array: Any, rng: Random) -> Any:
    """Return an array with other values, dtype, shape or order."""
    import numpy as np

    array = np.array(array)
    what = rng.randrange(10)
    if what <= 2 and array.size and array.dtype.kind in "iuf":
        flat = array.reshape(-1)
        extremes: Sequence[Any] = INTEGERS
        if array.dtype.kind == "f":
            extremes = (
                0.0,
                -1.0,
                1e308,
                -1e308,
                1e38,
                np.nan,
                np.inf,
                -np.inf,
                5e-324,
                1e300,
                2**53 + 2,
            )
        with np.errstate(all="ignore"):
            for _ in range(rng.choice((1, 1, 3))):
                flat[rng.randrange(flat.size)] = np.array(rng.choice(extremes)).astype(array.dtype)
        return array
    if what == 3 and array.size:
        return array.reshape(-1)[rng.sample(range(array.size), array.size)].reshape(array.shape)
    if what == 4 and array.ndim:
        return array[: rng.randrange(len(array) + 1)]
    if what == 5 and array.ndim:
        return np.concatenate([array, array[: rng.randrange(1, 4)]])
    if what == 6:
        return array.reshape(-1) if array.ndim > 1 else array.reshape(1, -1)
    if what == 7:
        return rng.choice((np.array(5), np.zeros((0, 0)), np.array("text"), np.array([b"a", b"b"])))
    if what == 8:
        return np.array([str(v) for v in array.reshape(-1)][:200])
    kinds = ("f2", "f4", "f8", "i1", "u1", "i4", "i8", "u8", "c16", "bool", ">f8", ">i4")
    with np.errstate(all="ignore"):
        try:
            return array.astype(rng.choice(kinds))
        except (ValueError, TypeError, OverflowError):
            return array[::-1].copy() if array.ndim else array


# ---- HDF5 ----------------------------------------------------------------------------------------


def change_hdf5(data: bytes, rng: Random) -> bytes | None:
    """Change one dataset, group or attribute of an HDF5 file by the library itself."""
    import tempfile
    from pathlib import Path

    import h5py

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.h5"
        path.write_bytes(data)
        with h5py.File(path, "r+") as file:
            names: list[str] = []
            file.visit(names.append)
            if not names:
                return None
            name = rng.choice(names)
            if rng.random() < 0.3:
                _change_attribute(file[rng.choice([*names, "/"])], rng)
            elif isinstance(file[name], h5py.Group):
                _change_group(file, name, names, rng)
            else:
                _change_dataset(file, name, names, rng)
        return path.read_bytes()


def _change_attribute(node: Any, rng: Random) -> None:
    import numpy as np

    words = (
        b"\xff\xfe",
        "csr_matrix",
        "csc_matrix",
        "array",
        "dataframe",
        "dict",
        "string-array",
        "categorical",
        "nullable-integer",
        "awkward-array",
        "9.9.9",
        "",
        7,
        np.zeros(3),
        "_index",
        np.array(["obs", "var"], dtype=object),
        np.array([10**12, 5]),
        np.array([-1, 5]),
    )
    names = list(node.attrs)
    if not names:
        return
    name = rng.choice(names)
    if rng.random() < 0.3:
        del node.attrs[name]
        return
    new = rng.choice(words)
    if isinstance(new, np.ndarray) and new.dtype == object:
        import h5py

        node.attrs.create(name, new, dtype=h5py.string_dtype())
    else:
        node.attrs[name] = new


def _change_group(file: Any, name: str, names: list[str], rng: Random) -> None:
    import h5py
    import numpy as np

    what = rng.randrange(6)
    if what == 5:
        file.move(name, name + rng.choice(("2", " ", "\u00e9")))
        return
    kept = dict(file[name].attrs) if what == 0 else {}
    del file[name]
    if what == 0:
        file.create_group(name).attrs.update(kept)
    elif what == 1:
        file[name] = np.arange(5.0)
    elif what == 2:
        file[name] = h5py.SoftLink(
            rng.choice(("/", "/nowhere", f"/{name}", "/" + rng.choice(names)))
        )
    elif what == 3:
        file[name] = h5py.ExternalLink(rng.choice(("nowhere.h5", "/dev/zero", "m.h5")), "/")


def _change_dataset(file: Any, name: str, names: list[str], rng: Random) -> None:
    import h5py
    import numpy as np

    old, kept = file[name][()], dict(file[name].attrs)
    what = rng.randrange(8)
    if what == 7:
        file.move(name, name + rng.choice(("2", " ")))
        return
    del file[name]
    if what <= 2:
        if old.dtype == object if isinstance(old, np.ndarray) else True:
            new = np.array(old, dtype=object).reshape(-1)
            if new.size:
                new[rng.randrange(new.size)] = rng.choice([w for w in WORDS if "\0" not in w])
            file.create_dataset(name, data=new, dtype=h5py.string_dtype())
        else:
            new = change_array(old, rng)
            file[name] = (
                np.array([str(v) for v in new.reshape(-1)], "S") if new.dtype.kind == "U" else new
            )
    elif what == 3:
        file.create_group(name)
    elif what == 4:
        target = rng.choice(("/", "/nowhere", f"/{name}", "/" + rng.choice(names)))
        file[name] = rng.choice((h5py.SoftLink(target), h5py.ExternalLink("/dev/zero", "/")))
        return
    elif what == 5:
        big = rng.choice(((10**12,), (10**9, 10**3), (2**40, 12), (12, 2**40), (0,), (12, 18, 2)))
        file.create_dataset(name, big, "f4", chunks=tuple(min(s, 1024) or 1 for s in big))
    elif what == 6:
        return
    if isinstance(file[name], h5py.Dataset | h5py.Group):
        for key, value in kept.items():
            file[name].attrs[key] = value


# ---- Parquet and Arrow ---------------------------------------------------------------------------


def change_table(data: bytes, rng: Random) -> bytes | None:
    """Read a Parquet or Arrow table, change a column or the metadata, and write it again."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import feather

    is_parquet = data[:4] == b"PAR1"
    table = (pq.read_table if is_parquet else feather.read_table)(pa.BufferReader(data))
    at = rng.randrange(table.num_columns)
    name, column = table.column_names[at], table.column(at)
    what = rng.randrange(10)
    if what <= 2:
        values = column.to_pylist()
        if values:
            odd = rng.choice((None, None, float("nan"), float("inf"), 1e308, -1e308, 1e39, 5e-324))
            words = list(WORDS)
            is_text = isinstance(values[0], str)
            values[rng.randrange(len(values))] = rng.choice(words) if is_text and odd else odd
        table = table.set_column(at, name, pa.array(values, column.type))
    elif what == 3:
        kinds = (
            pa.string(),
            pa.float16(),
            pa.decimal128(38, 3),
            pa.int8(),
            pa.bool_(),
            pa.binary(),
            pa.timestamp("s"),
            pa.dictionary(pa.int32(), pa.string()),
            pa.large_string(),
        )
        try:
            table = table.set_column(at, name, column.cast(rng.choice(kinds), safe=False))
        except (pa.ArrowException, NotImplementedError):
            table = table.set_column(at, name, pa.array([[v] for v in column.to_pylist()]))
    elif what == 4:
        nested = [{"a": v} for v in column.to_pylist()]
        table = table.set_column(at, name, pa.array(nested))
    elif what == 5:
        names = list(table.column_names)
        names[at] = rng.choice((*WORDS, names[-1], names[0]))
        table = table.rename_columns(names)
    elif what == 6:
        table = rng.choice(
            (table.slice(0, 0), table.slice(1), table.drop_columns([name]), table.select([]))
        )
    elif what == 7:
        table = table.append_column(name, column)
    else:
        known = (table.schema.metadata or {}).get(b"pandas")
        changed = change_json(known, rng) if known else None
        odd_json = (
            b"{",
            b"[]",
            b"7",
            b'{"index_columns": 3}',
            b'{"index_columns": ["nope"]}',
            b'{"index_columns": [{"kind": "range"}], "columns": {}}',
            b"\xff",
            b'{"columns": [1], "index_columns": [[]]}',
        )
        table = table.replace_schema_metadata({b"pandas": changed or rng.choice(odd_json)})
    sink = io.BytesIO()
    try:
        if is_parquet:
            pq.write_table(table, sink, compression=rng.choice(("none", "snappy", "zstd")))
        else:
            feather.write_feather(
                table, sink, compression=rng.choice(("uncompressed", "lz4", "zstd"))
            )
    except (pa.ArrowException, NotImplementedError, UnicodeError):
        return None
    return sink.getvalue()


# ---- the mutations of a file ---------------------------------------------------------------------

_BINARY = (
    ".bin",
    ".npy",
    ".npz",
    ".h5ad",
    ".h5mu",
    ".h5",
    ".parquet",
    ".feather",
    ".arrow",
    ".xlsx",
    ".rds",
    ".gz",
    ".zst",
)


def mutations_of(name: str, data: bytes) -> list[Mutation]:
    """Return the mutations that fit a file, those of its container as often as others."""
    found: list[Mutation] = list(OF_BYTES)
    if name.endswith(".gz"):
        found += [inside_gzip] * 14
    if name.endswith((".npz", ".xlsx")):
        found += [change_members] * 14
    if name.endswith(".npy"):
        found += [change_npy] * 14
    if name.endswith((".h5ad", ".h5mu", ".h5")):
        found += [change_hdf5] * 14
    if name.endswith((".parquet", ".feather", ".arrow")):
        found += [change_table] * 14
    if not name.endswith(_BINARY):
        found += [*OF_TEXT] * 2
        if data[:1] in (b"{", b"["):
            found += [change_json] * 14
    return found


def mutate(name: str, data: bytes, rng: Random, others: Sequence[bytes]) -> tuple[bytes, str]:
    """Return a damaged file, and how it was damaged; `others` are files to splice with.

    Two thirds of the files get one mutation, the others two or three.
    """
    changed, done = data, []
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
        mutation = rng.choice(mutations_of(name, data))
        if rng.random() < 0.05 and others:
            result: bytes | None = splice(changed, rng, rng.choice(others))
            label = "splice"
        else:
            label = mutation.__name__
            try:
                result = mutation(changed, rng) if changed else None
            except Exception:  # its container is damaged already
                result, label = flip_bits(changed, rng), "flip_bits"
        if result is not None:
            changed = result
            done.append(label)
    return changed, "+".join(done) or "nothing"
