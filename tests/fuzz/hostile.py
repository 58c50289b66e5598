"""Hostile cases made by hand: a table of file x content x command, written by small functions.

Each row names its case; what is hostile about it stands in the row. A refusal (2 or 3) is always
right, and so is a result that other programs agree with; other exit codes are listed where they are
meant, such as 137 for what would really need more memory.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.cases import Case, write_files
from tests.fuzz.oracle import BAD, EXISTS, OK, REFUSED, USAGE
from tests.fuzz.seeds import COMPANIONS, Files, Seed
from tests.fuzz.study import CLASSES, FEATURES, M, N, SAMPLES, graph, values

RANK = "rank {} --method variance"
TOO_MUCH = REFUSED | {137}
MUST_FAIL = frozenset({USAGE, BAD})

NUMBERS = {
    "1e308": "1e308", "-1e308": "-1e308", "1e309": "1e309", "beyond float32": "3.5e38",
    "tiny": "1e-320", "nan": "nan", "inf": "inf", "-inf": "-inf", "Infinity": "Infinity",
    "empty": "", "space": " ", "NA": "NA", "null": "null", "decimal comma": "1;5", "two points": "1.2.3",
    "hexadecimal": "0x1F", "underscore": "1_000", "Arabic digits": "\u0663\u0664", "percent": "5%",
    "true": "TRUE", "many digits": "1." + "3" * 4000, "long integer": "9" * 5000, "huge exponent":
    "1e999999999", "Fortran": "1d3", "sign alone": "-", "Unicode minus": "\u22125", "2^53+1":
    "9007199254740993", "no-break space": "1\u00a0000", "NUL": "1\x002", "text": "high",
}  # fmt: skip
"""What may stand in place of a number."""
NAMES = {
    "empty": "", "spaces": "   ", "no-break space": "\u00a0gene2", "escape": "\x1b[31mred\x1b[0m",
    "title": "\x1b]0;owned\x07", "C1 control": "\x9b31mx", "markup": "[bold red]x[/bold red]",
    "closing markup": "[/]", "script": "<script>alert(1)</script>", "formula": '=cmd|"/C calc"!A0',
    "option": "--out", "path": "../../etc/passwd", "repeated": "gene3", "right to left": "\u202egene",
    "line separator": "a\u2028b", "next line": "a\x85b", "vertical tab": "a\x0bb", "NUL": "a\x00b",
    "carriage return": "a\rb", "quote": 'a"b', "20,000 letters": "x" * 20_000, "number": "12",
    "nan": "nan", "comment": "#gene", "combining": "e\u0301", "emoji": "\U0001f9ec", "delete": "a\x7fb",
    "format": "%s%n{0}", "surrogate": "a\udc80b", "private": "\ue000", "slash": "a/b", "colon": "a:b",
}  # fmt: skip
"""What may stand in place of a name."""


def hostile_cases(seeds: Sequence[Seed] = ()) -> list[Case]:
    """Return all cases; the seeds give the files that libraries write."""
    files = {seed.name: seed.files for seed in seeds}
    return [
        *_numbers_in_text(),
        *_names_in_text(),
        *_whole_files(),
        *_bombs(),
        *_documents(),
        *_arrays(),
        *_options(),
        *_paths(),
        *(_in_hdf5(files) if files else ()),
        *(_tables() if files else ()),
        *(_stores(files) if files else ()),
    ]


def _case(name: str, format: str, files: Mapping[str, Any], command: str, **more: Any) -> Case:
    """Return a case of files that are given as text or bytes."""
    content: Files = {
        path: c if isinstance(c, bytes) else c.encode("utf-8", "surrogateescape")
        for path, c in files.items()
    }
    return Case(name, format, command, partial(write_files, COMPANIONS | content), **more)


def _table(cells: Sequence[Sequence[object]], delimiter: str = ",") -> str:
    return "".join(delimiter.join(map(str, row)) + "\n" for row in cells)


def _cells() -> list[list[Any]]:
    """Return the rows of the clean matrix, the header first."""
    return [["id", *SAMPLES], *([f, *row] for f, row in zip(FEATURES, values().tolist()))]


def _with(cells: list[list[Any]], row: int, column: int, new: object) -> list[list[Any]]:
    cells[row][column] = new
    return cells


# ---- text ----------------------------------------------------------------------------------------


def _numbers_in_text() -> Iterator[Case]:
    gct = [["#1.2"], [M, N], ["Name", "Description", *SAMPLES]]
    weights = [["sample", "weight"], *zip(SAMPLES, [1.0] * N)]
    edges = [["a", "b", "score"], *((FEATURES[i], FEATURES[i + 1], 0.5) for i in range(M - 1))]
    ranking = [["feature", "score"], *((f, i) for i, f in enumerate(FEATURES))]
    ages = [["sample", "age"], *((s, i) for i, s in enumerate(SAMPLES))]
    S = [["id", *SAMPLES], *([s, *row] for s, row in zip(SAMPLES, graph().tolist()))]
    for label, new in NUMBERS.items():
        name = f"number {label}"
        matrix = _table(_with(_cells(), 3, 4, new))
        yield _case(f"{name} in csv", "csv", {"m.csv": matrix}, RANK.format("m.csv"),
                    is_right="variance", table="text")  # fmt: skip
        yield _case(f"{name} in csv, float64", "csv", {"m.csv": matrix},
                    RANK.format("m.csv") + " --dtype float64", is_right="variance", table="text")  # fmt: skip
        yield _case(f"{name} in csv, spec", "csv", {"m.csv": matrix},
                    "rank m.csv --method spec --similarity rbf --dtype float64")  # fmt: skip
        rows = [[f, "x", *row] for f, row in zip(FEATURES, values().tolist())]
        rows[2][5] = new
        text = _table([*gct, *rows], "\t")
        yield _case(f"{name} in gct", "gct", {"m.gct": text}, RANK.format("m.gct"),
                    is_right="variance", table="gct")  # fmt: skip
        yield _case(f"{name} as a weight", "weights",
                    {"w.tsv": _table(_with(list(map(list, weights)), 3, 1, new), "\t")},
                    "rank clean.csv --method variance --sample-weights w.tsv", is_right="weights")  # fmt: skip
        yield _case(f"{name} as a score of an edge", "edges",
                    {"e.tsv": _table(_with(list(map(list, edges)), 3, 2, new), "\t")},
                    "rank clean.csv --method msfs --source x=feature-similarity:e.tsv")  # fmt: skip
        yield _case(f"{name} as an outcome", "labels",
                    {"l.tsv": _table(_with(list(map(list, ages)), 3, 1, new), "\t")},
                    "rank clean.csv --method f-test --label-type continuous --labels l.tsv:age")  # fmt: skip
        yield _case(f"{name} as a covariate", "labels",
                    {"l.tsv": _table(_with(list(map(list, ages)), 3, 1, new), "\t")},
                    "rank clean.csv --method variance --adjust l.tsv:age=numeric")  # fmt: skip
        yield _case(f"{name} in a ranking", "ranking",
                    {"a.tsv": _table(_with(list(map(list, ranking)), 3, 1, new), "\t")},
                    "aggregate a.tsv ranking.tsv")  # fmt: skip
        yield _case(f"{name} in a similarity", "similarity",
                    {"S.csv": _table(_with(list(map(list, S)), 3, 3, new))},
                    "rank clean.csv --method spec --similarity-file S.csv", is_right="similarity")  # fmt: skip


def _names_in_text() -> Iterator[Case]:
    labels = [["sample", "tissue"], *zip(SAMPLES, CLASSES)]
    gmt = [[s, "x", *FEATURES[i : i + 8]] for i, s in enumerate("ABC")]
    for label, new in NAMES.items():
        name = f"name {label}"
        features = _table(_with(_cells(), 2, 0, new))
        samples = _table(_with(_cells(), 0, 2, new))
        yield _case(f"{name}: feature", "csv", {"m.csv": features}, RANK.format("m.csv") + " --out out",
                    is_right="variance", table="text")  # fmt: skip
        yield _case(f"{name}: feature, inspect", "csv", {"m.csv": features}, "inspect m.csv")
        yield _case(f"{name}: sample", "csv", {"m.csv": samples}, RANK.format("m.csv") + " --out out",
                    is_right="variance", table="text")  # fmt: skip
        yield _case(f"{name}: sample, with labels", "csv", {"m.csv": samples},
                    "rank m.csv --method f-test --labels labels.tsv:tissue")  # fmt: skip
        classes = [row[:1] + [new if row[1] == "a" else row[1]] for row in map(list, labels)]
        yield _case(f"{name}: class", "labels", {"l.tsv": _table(classes, "\t")},
                    "rank clean.csv --method f-test --labels l.tsv:tissue --out out")  # fmt: skip
        yield _case(f"{name}: column", "labels",
                    {"l.tsv": _table(_with(list(map(list, labels)), 0, 1, new), "\t")},
                    "rank clean.csv --method f-test --labels l.tsv")  # fmt: skip
        yield _case(f"{name}: set", "gmt", {"g.gmt": _table(_with(list(map(list, gmt)), 1, 0, new), "\t")},
                    "evaluate clean.csv --list ranking.tsv --sets g.gmt --out out")  # fmt: skip
        yield _case(f"{name}: gene of a list", "list", {"g.txt": f"gene1\n{new}\ngene4\ngene5\n"},
                    "rank clean.csv --method msfs --source x=genes:g.txt --allow-unmatched --out out")  # fmt: skip


_KINDS = {
    "m.csv": RANK.format("m.csv"),
    "m.tsv.gz": RANK.format("m.tsv.gz"),
    "m.csv.zst": RANK.format("m.csv.zst"),
    "m.gct": RANK.format("m.gct"),
    "m.parquet": RANK.format("m.parquet"),
    "m.feather": RANK.format("m.feather"),
    "m.h5ad": RANK.format("m.h5ad"),
    "m.h5mu": RANK.format("m.h5mu"),
    "m.h5": RANK.format("m.h5"),
    "m.mtx": RANK.format("m.mtx"),
    "m.zarr/zarr.json": RANK.format("m.zarr"),
    "m.store/manifest.json": RANK.format("m.store"),
    "l.tsv": "rank clean.csv --method f-test --labels l.tsv",
    "S.npy": "rank clean.csv --method spec --similarity-file S.npy",
    "S.npz": "rank clean.csv --method spec --similarity-file S.npz",
    "g.gmt": "rank clean.csv --method msfs --source x=genes:g.gmt",
    "g.gaf": "rank clean.csv --method msfs --source x=terms:g.gaf",
    "h.nwk": "rank clean.csv --method msfs --source x=hierarchy:h.nwk",
    "e.tsv": "rank clean.csv --method msfs --source x=interactions:e.tsv",
    "a.json": "aggregate a.json ranking.tsv",
    "a.rnk": "aggregate a.rnk ranking.tsv",
    "run.yaml": "rank --config run.yaml",
    "run.toml": "rank --config run.toml",
    "run.json": "rank --config run.json",
    "plan/plan.json": "shard status plan",
}
"""A file of each kind, and the command that reads it."""
_CONTENTS = {
    "nothing": b"",
    "one byte": b"x",
    "a line end": b"\n",
    "zeros": bytes(5000),
    "0xff": b"\xff" * 5000,
    "UTF-16": "id,a,b\ng1,1,2\n".encode("utf-16"),
    "HDF5 signature": b"\x89HDF\r\n\x1a\n" + bytes(600),
    "Parquet magic": b"PAR1" + bytes(40) + b"\xff\xff\xff\x7fPAR1",
    "gzip header": b"\x1f\x8b\x08\x00" + bytes(20),
    "zstd header": b"\x28\xb5\x2f\xfd" + bytes(20),
    "zip header": b"PK\x03\x04" + bytes(40),
    "npy magic": b"\x93NUMPY\x01\x00\xff\xff" + b"{" * 200,
    "Arrow magic": b"ARROW1\0\0" + bytes(64) + b"\xff\xff\xff\x7fARROW1",
    "open brackets": b"[" * 100_000,
    "open braces": b'{"a":' * 50_000,
    "open parentheses": b"(" * 100_000,
    "a pickle": b"cos\nsystem\n(S'touch pwned'\ntR.",
    "a page": b"<!DOCTYPE html><html><body>404 Not Found</body></html>",
}
"""What such a file may hold in place of what its name says."""


def _whole_files() -> Iterator[Case]:
    for path, command in _KINDS.items():
        suffix = path.split("/")[0].partition(".")[2] or "plan"
        for label, content in _CONTENTS.items():
            packed = gzip.compress(content) if suffix == "tsv.gz" and content[:2] != b"\x1f\x8b" else content
            yield _case(f"{suffix}: {label}", suffix.split(".")[-1], {path: packed}, command,
                        codes=MUST_FAIL)  # fmt: skip


def _bombs() -> Iterator[Case]:
    """Little on the disk, much in memory."""
    line = b"id," + b"a" * (300 << 20)
    header = b"id,s1,s2,s3\n"
    rows = b"".join(b"g%d,%d,2,7\n" % (i, i) for i in range(50))
    for name, files, command in (
        ("a line of 300 MB", {"m.csv.gz": partial(gzip.compress, line, 1)}, RANK.format("m.csv.gz")),
        (
            "a row of 300 MB",
            {"m.csv.gz": lambda: gzip.compress(header + rows + b"g,1,2," + b"1" * (300 << 20), 1)},
            RANK.format("m.csv.gz"),
        ),
        (
            "an id of 20 MB",
            {"m.csv": lambda: header + rows + b"x" * (20 << 20) + b",1,2,3\n"},
            RANK.format("m.csv") + " --out out",
        ),
        (
            "a sample of 20 MB",
            {"m.csv": lambda: header.replace(b"s2", b"x" * (20 << 20)) + rows},
            RANK.format("m.csv"),
        ),
        (
            "an npz of zeros",
            {"S.npz": lambda: _zip({"dense.npy": _npy_of(np.zeros((14000, 14000)))})},
            "rank clean.csv --method spec --similarity-file S.npz",
        ),
        (
            "an npy that declares 8 TB",
            {"S.npy": lambda: _npy_header("(1000000, 1000000)")},
            "rank clean.csv --method spec --similarity-file S.npy",
        ),
        (
            "a set of 300 MB",
            {"g.gmt": lambda: b"A\tx\t" + b"gene1\t" * (50 << 20)},
            "rank clean.csv --method msfs --source x=genes:g.gmt",
        ),
        (
            "labels of 300 MB",
            {"l.tsv.gz": lambda: gzip.compress(b"sample\tx\ns1\t" + b"a" * (300 << 20), 1)},
            "rank clean.csv --method f-test --labels l.tsv.gz",
        ),
        (
            "a million classes",
            {"l.tsv": lambda: b"sample\tx\n" + b"".join(b"s%d\tc%d\n" % (i, i) for i in range(10**6))},
            "rank clean.csv --method f-test --labels l.tsv",
        ),
        (
            "an exponential list of aliases",
            {"run.yaml": _laughs},
            "rank --config run.yaml",
        ),
        (
            "a configuration of 100 MB",
            {"run.yaml": lambda: b"matrix: clean.csv\ntitle: " + b"x" * (100 << 20)},
            "rank --config run.yaml",
        ),
        (
            "a ranking of 300 MB in one line",
            {"a.json.gz": lambda: gzip.compress(b'[{"feature": "' + b"x" * (300 << 20), 1)},
            "aggregate a.json.gz ranking.tsv",
        ),
        (
            "a tree 200,000 deep",
            {"h.nwk": lambda: b"(" * 200_000 + b"s1" + b",x)" * 200_000 + b";"},
            "rank clean.csv --method msfs --source x=hierarchy:h.nwk",
        ),
        (
            "a path 100,000 deep",
            {"h.tsv": lambda: b"sample\tpath\ns1\t" + b"a/" * 100_000 + b"x\ns2\ta/b\n"},
            "rank clean.csv --method msfs --source x=hierarchy:h.tsv",
        ),
        (
            "mtx that declares a matrix of 10^18",
            {
                "matrix.mtx": lambda: b"%%MatrixMarket matrix coordinate integer general\n"
                b"1000000000 1000000000 1000000000000\n1 1 1\n",
                "features.tsv": lambda: b"g1\n",
                "barcodes.tsv": lambda: b"c1\n",
            },
            RANK.format("matrix.mtx"),
        ),
        (
            "gct that declares 10^12 rows",
            {"m.gct": lambda: b"#1.2\n1000000000000\t3\nName\tDescription\ta\tb\tc\ng\tx\t1\t2\t3\n"},
            RANK.format("m.gct"),
        ),
    ):
        yield Case(
            f"bomb: {name}", "bombs", command, partial(_write_made, files), codes=TOO_MUCH
        )


def _write_made(files: Mapping[str, Callable[[], bytes]], folder: Path) -> None:
    write_files(COMPANIONS | {name: make() for name, make in files.items()}, folder)


def _laughs() -> bytes:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    return "\n".join([*lines, "matrix: clean.csv"]).encode()


def _zip(members: Mapping[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return sink.getvalue()


def _npy_of(array: np.ndarray) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array, allow_pickle=True)
    return sink.getvalue()


def _npy_header(shape: str, kind: str = "'<f8'", values: bytes = bytes(64)) -> bytes:
    header = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values


# ---- configurations, JSON ------------------------------------------------------------------------


def _documents() -> Iterator[Case]:
    yaml = {
        "hex of 4,000 digits": "seed: 0x" + "f" * 4000,
        "decimal of 10,000 digits": "seed: " + "9" * 10_000,
        "octal of 10,000 digits": "seed: 0o" + "7" * 10_000,
        "a float of 10,000 digits": "beta: 0." + "3" * 10_000,
        "an alias of itself": "accept: &a [*a]",
        "a merge": "<<: {method: spec}",
        "a merge of itself": "x: &x {<<: *x}",
        "a tag of Python": "method: !!python/object/apply:os.system ['touch pwned']",
        "a binary tag": "method: !!binary aGVsbG8=",
        "a set": "accept: !!set {graph, labels}",
        "a key that is a list": "? [a, b]\n: 1",
        "a key twice": "method: spec\nmethod: variance",
        "two documents": "method: spec\n---\nmethod: variance",
        "a directive": "%YAML 9.9\n---\nmethod: spec",
        "a tab": "method:\tvariance\n\tseed: 1",
        "a lone surrogate": 'title: "\\ud800"',
        "an escape": 'title: "\\e[31mred"',
        "NUL": 'title: "a\\0b"',
        "a title of 2 MB": "title: " + "x" * (2 << 20),
        "10,000 sources": "source:\n" + "".join(f"  s{i}: 'target:'\n" for i in range(10_000)),
        "a hundred levels": "source: " + "{a: " * 100 + "1" + "}" * 100,
        "10,000 levels": "source: " + "[" * 10_000 + "]" * 10_000,
        "null": "method: null",
        "a date": "method: 2024-01-01",
        "a list for a word": "method: [spec]",
        "a mapping for a word": "method: {spec: 1}",
        "a word for a number": "seed: many",
        "a fraction for a count": "neighbors: 1.5",
        "infinity": "beta: .inf",
        "not a number": "beta: .nan",
        "a negative seed": "seed: -1",
        "a seed of 2^64": "seed: 18446744073709551616",
        "itself": "config: run.yaml",
        "a device": "matrix: /dev/zero",
        "a random device": "labels: /dev/urandom",
        "a folder": "matrix: .",
        "a home": "matrix: ~/clean.csv",
        "a variable": "matrix: $HOME/clean.csv",
        "a URL": "matrix: https://example.org/x.csv",
        "a NUL in a path": 'matrix: "a\\0b.csv"',
        "a path of 10,000 letters": "matrix: " + "x" * 10_000 + ".csv",
        "a pattern that backtracks": "include: ['^(a+)+$', '(x*)*y']",
        "a pattern that does not parse": "include: ['^[']",
        "a name that is markup": "'[bold]x[/]': 1",
        "a name that is an escape": '"\\e]0;x\\a": 1',
    }
    for label, text in yaml.items():
        matrix = "" if text.startswith(("matrix", "%")) else "matrix: clean.csv\n"
        method = "" if "method" in text else "method: variance\n"
        content = {"run.yaml": (text if text.startswith("%") else matrix + method + text) + "\n"}
        yield _case(f"yaml: {label}", "config", content, "rank --config run.yaml")
        yield _case(f"yaml: {label}, check", "config", content, "config check run.yaml")
    for label, text in {
        "NaN": '{"matrix": "clean.csv", "beta": NaN}',
        "a lone surrogate": '{"matrix": "clean.csv", "title": "\\ud800"}',
        "a huge number": '{"matrix": "clean.csv", "seed": 1' + "0" * 6000 + "}",
        "a huge float": '{"matrix": "clean.csv", "beta": 1e999}',
        "a key twice": '{"matrix": "clean.csv", "matrix": "x.csv"}',
        "a list": "[]",
        "a run.json of nothing": '{"config": {}, "fingerprint": {}}',
        "a run.json of a list": '{"config": [], "fingerprint": null}',
        "depth": '{"matrix": ' + "[" * 3000 + "]" * 3000 + "}",
    }.items():
        yield _case(f"json: {label}", "config", {"run.json": text}, "rank --config run.json")
    for label, text in {
        "depth": "[[" * 3000 + "]]" * 3000,
        "a huge rank": '[{"feature": "gene1", "rank": 1' + "0" * 5000 + "}]",
        "NaN": '[{"feature": "gene1", "rank": NaN}]',
        "a list for a name": '[{"feature": ["gene1"], "rank": 1}]',
        "a lone surrogate": '[{"feature": "\\ud800", "rank": 1}]',
        "a line end in a name": '[{"feature": "a\\nb", "rank": 1}, {"feature": "gene1", "rank": 2}]',
        "a tab in a name": '[{"feature": "a\\tb", "rank": 1}, {"feature": "gene1", "rank": 2}]',
        "an escape in a name": '[{"feature": "\\u001b[31m", "rank": 1}]',
        "an empty name": '[{"feature": "", "rank": 1}]',
        "rank -1": '[{"feature": "gene1", "rank": -1}, {"feature": "gene2", "rank": 1}]',
        "rank 0.5": '[{"feature": "gene1", "rank": 0.5}, {"feature": "gene2", "rank": 1}]',
        "rank 1e308": '[{"feature": "gene1", "rank": 1e308}, {"feature": "gene2", "rank": 1}]',
        "no records": "[]",
        "records of nothing": "[{}]",
        "null": "null",
    }.items():
        for command in ("aggregate a.json ranking.tsv", "select a.json --top 1"):
            yield _case(f"ranking json: {label}", "ranking", {"a.json": text}, command)


# ---- npy and npz ---------------------------------------------------------------------------------


def _arrays() -> Iterator[Case]:
    spec = "rank clean.csv --method spec --similarity-file {}"
    S = graph()
    plain = {
        "objects": lambda: _npy_of(np.array([{"a": 1}] * 3, dtype=object)),
        "a pickle that runs": lambda: _npy_header("(1,)", "'|O'", b"cos\nsystem\n(S'touch pwned'\ntR."),
        "complex": lambda: _npy_of(S.astype(complex)),
        "text": lambda: _npy_of(S.astype("U8")),
        "bool": lambda: _npy_of(S > 0.5),
        "int8": lambda: _npy_of((S * 100).astype("i1")),
        "float16": lambda: _npy_of(S.astype("f2")),
        "big-endian": lambda: _npy_of(S.astype(">f8")),
        "Fortran order": lambda: _npy_of(np.asfortranarray(S)),
        "records": lambda: _npy_of(np.zeros(12, dtype=[("a", "f8"), ("b", "f8")])),
        "times": lambda: _npy_of(np.zeros((12, 12), "M8[s]")),
        "a scalar": lambda: _npy_of(np.array(3.0)),
        "one axis": lambda: _npy_of(S[0]),
        "three axes": lambda: _npy_of(S[None]),
        "no rows": lambda: _npy_of(np.zeros((0, 12))),
        "11 samples": lambda: _npy_of(S[:11, :11]),
        "not square": lambda: _npy_of(S[:11]),
        "NaN": lambda: _npy_of(_changed(S, np.nan)),
        "inf": lambda: _npy_of(_changed(S, np.inf)),
        "1e308": lambda: _npy_of(_changed(S, 1e308)),
        "negative": lambda: _npy_of(_changed(S, -1.0)),
        "subnormal": lambda: _npy_of(S * 1e-315),
        "all 1e308": lambda: _npy_of(np.full((12, 12), 1e308)),
        "zeros": lambda: _npy_of(np.zeros((12, 12))),
        "identity": lambda: _npy_of(np.eye(12)),
        "not symmetric": lambda: _npy_of(np.triu(S)),
        "a negative shape": lambda: _npy_header("(-12, 12)"),
        "a shape of 2^63": lambda: _npy_header("(9223372036854775807, 12)"),
        "a shape that overflows": lambda: _npy_header("(4294967296, 4294967296)"),
        "a shape of text": lambda: _npy_header("('12', 12)"),
        "a shape of 40 axes": lambda: _npy_header("(" + "1, " * 40 + ")"),
        "items of 2 GB": lambda: _npy_header("(2,)", "'<U500000000'"),
        "a header of code": lambda: _npy_header("__import__('os').system('touch pwned')"),
        "a header without end": lambda: b"\x93NUMPY\x01\x00\xff\xff{'descr': ",
        "version 9": lambda: _npy_of(S).replace(b"NUMPY\x01", b"NUMPY\x09"),
    }
    for label, make in plain.items():
        right: dict[str, Any] = {"is_right": "similarity", "codes": TOO_MUCH if "2 GB" in label else REFUSED}
        yield Case(f"npy: {label}", "similarity", spec.format("S.npy"), partial(_write_made, {"S.npy": make}), **right)
        yield Case(f"npz dense: {label}", "similarity", spec.format("S.npz"),
                   partial(_write_made, {"S.npz": partial(_npz_of, {"dense": make})}), **right)  # fmt: skip
    for label, changes in {
        "an index of n": {"indices": (3, 12)},
        "an index of -1": {"indices": (3, -1)},
        "an index of 2^31-1": {"indices": (3, 2**31 - 1)},
        "an index of -2^31": {"indices": (0, -(2**31))},
        "a pointer of 10^6": {"indptr": (5, 10**6)},
        "a pointer of -1": {"indptr": (5, -1)},
        "a pointer that falls": {"indptr": (5, 0)},
        "a first pointer of 4": {"indptr": (0, 4)},
        "a last pointer of 10^9": {"indptr": (12, 10**9)},
        "a value of NaN": {"data": (3, np.nan)},
        "a value of 1e308": {"data": (3, 1e308)},
        "an index twice": {"indices": (1, 0)},
        "a shape of 10^9": {"shape": (0, 10**9)},
        "a shape of -12": {"shape": (0, -12)},
        "a shape of 5": {"shape": (1, 5)},
        "no indices": {"indices": None},
        "no data": {"data": None},
        "no pointers": {"indptr": None},
        "no format": {"format": None},
    }.items():
        for kind in ("csr", "csc"):
            for command in (spec.format("S.npz"), "rank clean.csv --method msfs --source x=similarity:S.npz",
                            "fuse clean.csv --source x=similarity:S.npz --source y=target: --out o.npz"):  # fmt: skip
                yield Case(f"{kind} npz: {label}", "similarity", command,
                           partial(_write_made, {"S.npz": partial(_sparse, kind, changes)}))  # fmt: skip


def _changed(S: np.ndarray, value: float) -> np.ndarray:
    S = S.copy()
    S[2, 3] = S[3, 2] = value
    return S


def _npz_of(arrays: Mapping[str, Callable[[], bytes]]) -> bytes:
    return _zip({f"{name}.npy": make() for name, make in arrays.items()})


def _sparse(kind: str, changes: Mapping[str, Any]) -> bytes:
    from scipy import sparse

    S = sparse.csr_matrix(graph()).asformat(kind)
    arrays = {"indices": S.indices, "indptr": S.indptr, "data": S.data}
    arrays |= {"shape": np.array(S.shape), "format": np.array(kind.encode())}
    for name, change in changes.items():
        if change is None:
            del arrays[name]
        else:
            arrays[name] = arrays[name].copy()
            arrays[name][change[0]] = change[1]
    return _zip({f"{name}.npy": _npy_of(array) for name, array in arrays.items()})


# ---- options, paths, pipes -----------------------------------------------------------------------

_OPTIONS = """
--method spec --similarity rbf --bandwidth 1e308
--method spec --similarity rbf --bandwidth 1e-308
--method spec --similarity rbf --bandwidth 5e-324
--method spec --similarity knn --neighbors 999999999999
--method spec --similarity knn --neighbors 11
--method spec --similarity diffusion --beta 1e308
--method spec --similarity diffusion --beta 1e5
--method spec --similarity diffusion --beta 1e-308
--method spec --similarity car --rho 0.9999999999999999
--method spec --similarity knn --components 12
--method spec --similarity knn --components 999999
--method spec --gamma heat:1e308
--method spec --gamma heat:1e-308
--method spec --gamma-power 1e308
--method spec --gamma-power 400
--method spec --ranking phi3 --clusters 12
--method spec --ranking phi3 --clusters 9999999999
--method qalpha --clusters 11 --power 999999999
--method l21 --lambda 1e308
--method l21 --lambda 1e-308 --time-limit 3
--method l21 --budget 1e308 --time-limit 3
--method rfs --gamma 1e308
--method rfs --gamma 1e-308
--method sselect --lambda 1e308 --labels labels.tsv:tissue
--method mrsf --select 999999999
--method mrsf --select 18 --response-rank 12
--method mrsf-rounds --chance 999999999
--method msfs --source a=target:@1e308 --source b=labels:labels.tsv:tissue@1e308
--method msfs --source a=target:@1e-308 --source b=labels:labels.tsv:tissue@1e-308
--method msfs --source a=target:@5e-324
--method msfs --source a=target:@0 --source b=labels:labels.tsv:tissue@0
--method msfs --source a=target: --source b=labels:labels.tsv:tissue --weights 1e308,1e308
--method msfs --source a=target: --source b=labels:labels.tsv:tissue --weights nan,1
--method msfs --source a=target: --source b=labels:labels.tsv:tissue --weights inf,1
--method msfs --source a=target: --source b=labels:labels.tsv:tissue --weights naml --fusion-lambda 1e308
--method msfs --source a=target: --source b=labels:labels.tsv:tissue --weights naml --fusion-lambda 1e-308
--method msfs --source a=target: --source b=labels:labels.tsv:tissue --weights rkda --labels labels.tsv:tissue --fusion-lambda 1e308
--method msfs --source a=target: --source b=labels:labels.tsv:tissue --weights rkda --labels labels.tsv:tissue --fusion-lambda 1e-308
--method msfs --source a=target: --source b=target:,similarity=knn --weights snf --fusion-neighbors 999
--method msfs --source a=target: --source b=target:,similarity=knn --weights sparse-umkl --fusion-neighbors 999
--method msfs --source a=target:,bandwidth=1e308
--method variance --digits 400
--method variance --digits 0
--method variance --seed 18446744073709551616
--method variance --seed -1
--method variance --block-size 999999999999
--method variance --threads 999999
--method variance --memory 1e30G
--method variance --memory 16M
--method variance --memory 0
--method variance --min-samples 99999999999999999999
--method variance --min-total 1e309
--method variance --transform floor:1e308
--method variance --transform floor:nan
--method variance --transform log2,log2,log2
--method variance --transform zscore,zscore,rank,rank,unit,center
--method variance --include ^(a+)+$
--method variance --include (gene1*)*x
--method variance --include [
--method variance --exclude .*
--method variance --stability 3
--method variance --stability 99999999 --time-limit 2
--method variance --stability 4 --stability-top 999999
--method spec --pvalues permutation:999999999 --time-limit 2
--method spec --pvalues permutation:0
--method variance --max-correlation 1e-308
--method variance --max-correlation 0.5 --keep 999999
--method variance --modules --module-features 999999 --out out
--method variance --time-limit 1e-9
--method variance --time-limit 99999999999999999999d
--method variance --batch labels.tsv:batch --min-batch-size 999999
--method variance --adjust labels.tsv:age=numeric,batch,tissue
--method variance --adjust labels.tsv:sample
--method f-test --labels labels.tsv:sample
--method f-test --labels labels.tsv:age --label-type continuous
--method f-test --labels labels.tsv:tissue --label-type ordered --label-order a,a,b
--method mutual-info --labels labels.tsv:tissue
--method mutual-info --labels labels.tsv:age --label-type continuous
--method kogs --members variance,variance
--title [bold]<script>alert(1)</script>[/] --method variance --out out
""".strip().splitlines()


def _options() -> Iterator[Case]:
    codes = REFUSED | {5, 137, 143}
    for words in _OPTIONS:
        if words.startswith(("--method variance --memory 16M", "--method l21", "--method spec --pvalues p",
                             "--method variance --stability 99")):  # fmt: skip
            allowed = codes
        else:
            allowed = REFUSED | {5}
        if "--time-limit 1e-9" in words:
            allowed = codes
        quoted = " ".join(f"'{w}'" if set(w) & set("^[]()*<>\\") else w for w in words.split())
        yield _case(f"options: {words}", "options", {}, f"rank clean.csv {quoted}", codes=allowed)
    for words in ("--noise 1e-308", "--noise 1,1,1,1", "--draws 999999", "--noise 0.1 --draws 1"):
        yield _case(f"robustness {words}", "options", {}, f"robustness clean.csv {words}",
                    codes=REFUSED | {137})  # fmt: skip
    for words in ("--top 999999999999", "--top 0", "--top -1", "--fdr 1e-308", "--fdr 0", "--stable 2"):
        yield _case(f"select {words}", "options", {}, f"select ranking.tsv {words}")


def _paths() -> Iterator[Case]:
    variance = RANK.format("clean.csv")
    for label, command, codes in (
        ("output is the matrix", f"{variance} --out clean.csv --force", MUST_FAIL | {EXISTS}),
        ("log is the matrix", f"{variance} --log-file clean.csv", MUST_FAIL | {EXISTS}),
        ("log is the labels", "rank clean.csv --method f-test --labels labels.tsv:tissue --log-file labels.tsv",
         MUST_FAIL | {EXISTS}),
        ("fused file is a source", "fuse clean.csv --source x=profile:labels.tsv --out labels.tsv --force",
         MUST_FAIL | {EXISTS}),
        ("fused file is the matrix", "fuse clean.csv --source x=target: --out clean.csv --force", MUST_FAIL | {EXISTS}),
        ("store is the matrix", "convert clean.csv clean.csv --force", MUST_FAIL | {EXISTS}),
        ("store holds the matrix", "convert in/m.csv in --force", MUST_FAIL | {EXISTS}),
        ("output holds the matrix", "rank in/m.csv --method variance --out in --force", REFUSED | {EXISTS}),
        ("selected matrix is the matrix", f"{variance} --out out && select out --top 3 --write-matrix clean.csv --force",
         MUST_FAIL | {EXISTS}),
        ("selected matrix is a link to it", f"{variance} --out out && select out --top 3 --write-matrix link.csv --force",
         MUST_FAIL | {EXISTS}),
        ("log is a link to the matrix", f"{variance} --log-file link.csv", MUST_FAIL | {EXISTS}),
        ("fused file is a hard link to the matrix", "fuse clean.csv --source x=target: --out hard.csv --force",
         MUST_FAIL | {EXISTS}),
        ("aggregate writes over a list", "aggregate ranking.tsv clean.csv --out ranking.tsv --force", MUST_FAIL | {EXISTS}),
        ("coefficients are the matrix", "rank clean.csv --method l21 --lambda 1 --weights-out clean.csv --force",
         MUST_FAIL | {EXISTS}),
        ("output is a folder of others", f"{variance} --out in --force", REFUSED | {EXISTS}),
        ("output is a device", f"{variance} --out /dev/null", MUST_FAIL | {EXISTS}),
        ("log is a folder", f"{variance} --log-file in", MUST_FAIL),
        ("fused file is a folder", "fuse clean.csv --source x=target: --out in --force", MUST_FAIL | {EXISTS}),
        ("scratch is a file", f"{variance} --scratch labels.tsv", REFUSED),
        ("output below a file", f"{variance} --out clean.csv/out", MUST_FAIL),
        ("output is a loop of links", f"{variance} --out loop", MUST_FAIL | {EXISTS}),
        ("matrix is a loop of links", RANK.format("loop.csv"), MUST_FAIL),
        ("matrix is a folder named csv", RANK.format("folder.csv"), MUST_FAIL),
        ("h5ad is a folder", RANK.format("folder.h5ad"), MUST_FAIL),
        ("labels are a folder", "rank clean.csv --method f-test --labels in", MUST_FAIL),
        ("similarity is a folder", "rank clean.csv --method spec --similarity-file folder.npz", MUST_FAIL),
        ("configuration is a folder", "rank --config folder.yaml", MUST_FAIL),
        ("ranking is a folder of nothing", "aggregate in in", MUST_FAIL),
        ("select from a folder of nothing", "select in --top 3", MUST_FAIL),
        ("matrix cannot be read", RANK.format("locked.csv"), REFUSED),
        ("matrix is missing", RANK.format("nope.csv"), MUST_FAIL),
        ("a dangling link", RANK.format("dangling.csv"), MUST_FAIL),
        ("a name of 300 letters", RANK.format("x" * 300 + ".csv"), MUST_FAIL),
        ("an output of 300 letters", f"{variance} --out {'x' * 300}", MUST_FAIL),
        ("a path of 5,000 letters", RANK.format("a/" * 2500 + "m.csv"), MUST_FAIL),
        ("an endless device", RANK.format("/dev/zero"), MUST_FAIL),
        ("an endless device as labels", "rank clean.csv --method f-test --labels /dev/zero", MUST_FAIL),
        ("an endless device as edges", "rank clean.csv --method msfs --source x=interactions:/dev/zero", MUST_FAIL),
        ("an endless device as a list", f"{variance} --include /dev/zero", MUST_FAIL),
        ("an empty device", RANK.format("/dev/null"), MUST_FAIL),
        ("a FIFO nobody writes", RANK.format("fifo.csv"), MUST_FAIL),
        ("a FIFO as labels", "rank clean.csv --method f-test --labels fifo.tsv", MUST_FAIL),
        ("a FIFO as a configuration", "rank --config fifo.yaml", MUST_FAIL),
        ("a FIFO as the log", f"{variance} --log-file fifo.tsv", MUST_FAIL),
        ("a FIFO as a similarity", "rank clean.csv --method spec --similarity-file fifo.npz", MUST_FAIL),
        ("a FIFO as an h5ad", RANK.format("fifo.h5ad"), MUST_FAIL),
        ("a FIFO as a ranking", "aggregate ranking.tsv fifo.tsv", MUST_FAIL),
        ("a FIFO that is written", RANK.format("fed.csv"), REFUSED),
        ("a FIFO of labels that is written", "rank clean.csv --method f-test --labels fed.tsv", REFUSED),
    ):  # fmt: skip
        yield Case(f"path: {label}", "paths", command, _write_paths, codes=codes)
    matrix = COMPANIONS["clean.csv"]
    for label, command in (
        ("a matrix on stdin", "rank - --method variance"),
        ("a matrix on /dev/stdin", "rank /dev/stdin --method variance"),
        ("labels on stdin", "rank clean.csv --method f-test --labels -"),
        ("inspect stdin", "inspect -"),
        ("convert stdin", "convert - made.store"),
        ("a configuration on stdin", "rank --config -"),
        ("stdin twice", "rank - --method f-test --labels -"),
    ):
        for content, what in ((matrix, ""), (b"", ", empty"), (gzip.compress(matrix), ", gzip"), (b"\x89HDF\r\n\x1a\n" * 9, ", binary")):
            yield Case(f"stdin: {label}{what}", "paths", command, partial(write_files, COMPANIONS),
                       stdin=content)  # fmt: skip
    for label, variables in {"POSIX": {"LC_ALL": "POSIX"}, "C": {"LC_ALL": "C", "PYTHONUTF8": "0"}}.items():
        yield Case(f"locale {label}", "paths", RANK.format("é\u2028.csv") + " --out out",
                   partial(write_files, COMPANIONS | {"é\u2028.csv": matrix}), variables=variables)  # fmt: skip
    not_utf8 = os.fsdecode(b"m\xff\xfe.csv")
    for command in ("rank '{}' --method variance", "rank '{}' --method variance --out out", "inspect '{}'",
                    "convert '{}' made.store", "rank clean.csv --method variance --out 'out\udcff'"):  # fmt: skip
        yield Case(f"a path that is not UTF-8: {command.split()[0]}", "paths", command.format(not_utf8),
                   partial(write_files, COMPANIONS | {not_utf8: matrix}))  # fmt: skip
    for name in ("[bold]m.csv", "\x1b[31mm.csv", "a\nb.csv", "m:x.csv", "-m.csv", "m .csv", "*.csv", "m.csv."):
        yield Case(f"a file named {name!r}", "paths", f"rank './{name}' --method variance --out out",
                   partial(write_files, COMPANIONS | {name: matrix}))  # fmt: skip


def _write_paths(folder: Path) -> None:
    write_files(COMPANIONS | {"in/m.csv": COMPANIONS["clean.csv"], "locked.csv": b"id,a\n"}, folder)
    os.link(folder / "clean.csv", folder / "hard.csv")
    for name, target in {
        "link.csv": "clean.csv", "loop": "loop", "loop.csv": "loop.csv", "dangling.csv": "nowhere",
    }.items():  # fmt: skip
        (folder / name).symlink_to(target)
    for name in ("folder.csv", "folder.h5ad", "folder.npz", "folder.yaml"):
        (folder / name).mkdir()
    (folder / "locked.csv").chmod(0)
    for name in ("fifo.csv", "fifo.tsv", "fifo.yaml", "fifo.npz", "fifo.h5ad", "fed.csv", "fed.tsv"):
        os.mkfifo(folder / name)
    for name in ("clean.csv", "labels.tsv"):
        _feed(folder / f"fed{Path(name).suffix}", (folder / name).read_bytes())


def _feed(fifo: Path, content: bytes) -> None:
    """Write into a FIFO from a process of its own, which the runner ends with the case."""
    if os.fork():
        return
    try:
        fifo.write_bytes(content)
    finally:
        os._exit(0)


# ---- HDF5, Zarr, Parquet, stores -----------------------------------------------------------------


def _in_hdf5(seeds: Mapping[str, Files]) -> Iterator[Case]:
    import h5py

    def text(file: Any, name: str, new: Sequence[str]) -> None:
        old = dict(file[name].attrs)
        del file[name]
        file.create_dataset(name, data=np.array(new, dtype=object), dtype=h5py.string_dtype())
        file[name].attrs.update(old)

    def array(file: Any, name: str, new: Any) -> None:
        old = dict(file[name].attrs)
        del file[name]
        file[name] = new
        file[name].attrs.update(old)

    def huge(file: Any, name: str, shape: tuple[int, ...], kind: str = "f4") -> None:
        old = dict(file[name].attrs)
        del file[name]
        file.create_dataset(name, shape, kind, chunks=tuple(min(s, 1000) for s in shape))
        file[name].attrs.update(old)

    def changed(file: Any, name: str, at: int, new: Any) -> None:
        values = file[name][()]
        values[at] = new
        array(file, name, values)

    def link(file: Any, name: str, target: Any) -> None:
        del file[name]
        file[name] = target

    def stored_outside(file: Any, name: str, path: str) -> None:
        old, shape, kind = dict(file[name].attrs), file[name].shape, file[name].dtype
        del file[name]
        file.create_dataset(name, shape, kind, external=[(path, 0, h5py.h5f.UNLIMITED)])
        file[name].attrs.update(old)

    names = {f"name {label}": new for label, new in NAMES.items() if "\0" not in new and "\udc80" not in new}
    names |= {"a line end": "a\nb", "a tab": "a\tb"}
    for label, new in names.items():
        for part, ids in (("var", FEATURES), ("obs", SAMPLES)):
            yield _edited(f"h5ad {part}: {label}", seeds, "h5ad dense", "dense.h5ad",
                          partial(text, name=f"{part}/_index", new=[ids[0], new, *ids[2:]]))  # fmt: skip
    index = "obs/_index"
    of_dense: dict[str, Callable[[Any], None]] = {
        "X of 10 TB": partial(huge, name="X", shape=(12, 2**38)),
        "obs of 2^40": partial(huge, name=index, shape=(2**40,), kind="i8"),
        "all of 2^33": lambda f: (huge(f, "X", (12, 2**33)), huge(f, "var/_index", (2**33,), "i8")),
        "X of text": lambda f: array(f, "X", np.full((12, 18), "x", "S1")),
        "X of records": lambda f: array(f, "X", np.zeros((12, 18), [("a", "f8")])),
        "X complex": lambda f: array(f, "X", np.ones((12, 18), complex)),
        "X bool": lambda f: array(f, "X", np.eye(12, 18) > 0),
        "X int64 beyond 2^53": lambda f: array(f, "X", np.arange(216).reshape(12, 18) + 2**60),
        "X uint64": lambda f: array(f, "X", np.full((12, 18), 2**64 - 1, "u8")),
        "X float16": lambda f: array(f, "X", values().T.astype("f2")),
        "X big-endian": lambda f: array(f, "X", values().T.astype(">f4")),
        "X of one axis": lambda f: array(f, "X", np.arange(12.0)),
        "X of three axes": lambda f: array(f, "X", np.ones((12, 18, 1))),
        "X a scalar": lambda f: array(f, "X", 3.0),
        "X empty": lambda f: array(f, "X", h5py.Empty("f4")),
        "X of a transposed shape": lambda f: array(f, "X", values()),
        "X with 1e308": lambda f: changed(f, "X", (2, 3), 1e308),
        "X with inf": lambda f: changed(f, "X", (2, 3), np.inf),
        "X with NaN": lambda f: changed(f, "X", (2, 3), np.nan),
        "X a link to itself": partial(link, name="X", target=h5py.SoftLink("/X")),
        "X a link to the root": partial(link, name="X", target=h5py.SoftLink("/")),
        "X a link to nowhere": partial(link, name="X", target=h5py.SoftLink("/nowhere")),
        "X an external link": partial(link, name="X", target=h5py.ExternalLink("other.h5", "/X")),
        "X an external link to a device": partial(link, name="X", target=h5py.ExternalLink("/dev/zero", "/X")),
        "obs a link to the root": partial(link, name="obs", target=h5py.SoftLink("/")),
        "X stored outside": partial(stored_outside, name="X", path="/etc/passwd"),
        "X stored in a device": partial(stored_outside, name="X", path="/dev/zero"),
        "no X": lambda f: f.__delitem__("X"),
        "no obs": lambda f: f.__delitem__("obs"),
        "no var index": lambda f: f.__delitem__("var/_index"),
        "index of another name": lambda f: f["var"].attrs.__setitem__("_index", "nope"),
        "index that is a number": lambda f: f["var"].attrs.__setitem__("_index", 7),
        "index that is an array": lambda f: f["var"].attrs.__setitem__("_index", np.arange(3)),
        "columns that are missing": lambda f: f["obs"].attrs.__setitem__(
            "column-order", np.array(["nope"], dtype=h5py.string_dtype())),
        "columns that are numbers": lambda f: f["obs"].attrs.__setitem__("column-order", np.arange(2)),
        "another encoding": lambda f: f["X"].attrs.__setitem__("encoding-type", "awkward-array"),
        "another version": lambda f: f["X"].attrs.__setitem__("encoding-version", "99.0"),
        "an encoding that is a number": lambda f: f["X"].attrs.__setitem__("encoding-type", 3),
        "obs of an array": lambda f: array(f, "obs", np.arange(12)),
        "ids of numbers": lambda f: array(f, index, np.arange(12)),
        "ids of fractions": lambda f: array(f, index, np.arange(12) + 0.5),
        "ids of bytes that are no text": lambda f: array(f, index, np.array([b"\xff%d" % i for i in range(12)])),
        "ids that are repeated": lambda f: text(f, index, ["s1"] * 12),
        "codes out of range": lambda f: changed(f, "obs/tissue/codes", 3, 99),
        "codes of -5": lambda f: changed(f, "obs/tissue/codes", 3, -5),
        "codes of another length": lambda f: array(f, "obs/tissue/codes", np.zeros(5, "i1")),
        "no categories": lambda f: f.__delitem__("obs/tissue/categories"),
        "categories that are repeated": lambda f: text(f, "obs/tissue/categories", ["a", "a", "b"]),
    }  # fmt: skip
    for label, edit in of_dense.items():
        for command in (RANK.format("dense.h5ad"), "rank dense.h5ad --method f-test --labels obs:tissue"):
            yield _edited(f"h5ad: {label}", seeds, "h5ad dense", "dense.h5ad", edit, command)
    of_sparse: dict[str, Callable[[Any], None]] = {
        "an index of n": lambda f: changed(f, "X/indices", 3, 18),
        "an index of -1": lambda f: changed(f, "X/indices", 3, -1),
        "an index of 2^31-1": lambda f: changed(f, "X/indices", 3, 2**31 - 1),
        "an index twice": lambda f: changed(f, "X/indices", 1, f["X/indices"][0]),
        "indices out of order": lambda f: array(f, "X/indices", f["X/indices"][()][::-1].copy()),
        "indices of fractions": lambda f: array(f, "X/indices", f["X/indices"][()] + 0.5),
        "indices too short": lambda f: array(f, "X/indices", f["X/indices"][:5]),
        "a pointer of -1": lambda f: changed(f, "X/indptr", 3, -1),
        "a pointer that falls": lambda f: changed(f, "X/indptr", 3, 0),
        "a pointer of 10^12": lambda f: array(f, "X/indptr", np.where(np.arange(13) == 12, 10**12, f["X/indptr"][()])),
        "a first pointer of 5": lambda f: changed(f, "X/indptr", 0, 5),
        "pointers too short": lambda f: array(f, "X/indptr", f["X/indptr"][:5]),
        "no pointers": lambda f: array(f, "X/indptr", np.zeros(0, "i4")),
        "a shape of 10^12": lambda f: f["X"].attrs.__setitem__("shape", np.array([12, 10**12])),
        "a shape of -1": lambda f: f["X"].attrs.__setitem__("shape", np.array([12, -1])),
        "a shape of one axis": lambda f: f["X"].attrs.__setitem__("shape", np.array([12])),
        "a shape of text": lambda f: f["X"].attrs.__setitem__("shape", "12"),
        "no shape": lambda f: f["X"].attrs.__delitem__("shape"),
        "no data": lambda f: f.__delitem__("X/data"),
        "data of 10 TB": lambda f: huge(f, "X/data", (2**41,)),
        "data of text": lambda f: array(f, "X/data", np.full(f["X/data"].shape, b"x")),
        "values of NaN": lambda f: changed(f, "X/data", 3, np.nan),
        "values of 1e308": lambda f: changed(f, "X/data", 3, 1e308),
        "stored as csc": lambda f: f["X"].attrs.__setitem__("encoding-type", "csc_matrix"),
    }  # fmt: skip
    for label, edit in of_sparse.items():
        for command in (RANK.format("csr.h5ad"), "convert csr.h5ad m.store && rank m.store --method variance",
                        "rank csr.h5ad --method spec --similarity knn --neighbors 3"):  # fmt: skip
            yield _edited(f"h5ad csr: {label}", seeds, "h5ad csr", "csr.h5ad", edit, command)


def _edited(
    name: str,
    seeds: Mapping[str, Files],
    seed: str,
    path: str,
    edit: Callable[[Any], Any],
    command: str = "",
) -> Case:
    is_right = "variance" if "variance" in (command or "variance") else "valid"
    return Case(name, "h5ad", command or RANK.format(path), partial(_write_edited, seeds[seed], path, edit),
                is_right, "h5ad", TOO_MUCH if "TB" in name or "2^" in name else REFUSED)  # fmt: skip


def _write_edited(files: Files, path: str, edit: Callable[[Any], Any], folder: Path) -> None:
    import h5py

    write_files(files, folder)
    write_files({"other.h5": files[path]}, folder)
    with h5py.File(folder / path, "r+") as file:
        edit(file)


def _tables() -> Iterator[Case]:
    """Parquet and Feather: metadata of pandas, types and names of columns."""
    metadata = {
        "no JSON": b"{", "a list": b"[]", "a number": b"7", "null": b"null", "not UTF-8": b"\xff\xfe",
        "deep": b"[" * 20_000, "index of a number": b'{"index_columns": 3}', "index null":
        b'{"index_columns": null}', "index unknown": b'{"index_columns": ["nope"]}', "index a mapping":
        b'{"index_columns": [{"kind": "range", "start": 0, "stop": 9, "step": 0}]}', "index of lists":
        b'{"index_columns": [[1]]}', "columns a mapping": b'{"index_columns": ["id"], "columns": {}}',
        "columns of numbers": b'{"index_columns": ["id"], "columns": [1, 2]}', "columns null":
        b'{"index_columns": ["id"], "columns": [null]}', "names that are numbers":
        b'{"index_columns": ["id"], "columns": [{"name": 1, "field_name": 2}]}', "types that are none":
        b'{"index_columns": ["id"], "columns": [{"name": "id", "field_name": "id", "pandas_type": "x",'
        b' "numpy_type": "object", "metadata": 3}], "column_indexes": 3}', "two indices":
        b'{"index_columns": ["id", "s1"], "columns": []}', "the index twice":
        b'{"index_columns": ["id", "id"], "columns": []}',
    }  # fmt: skip
    for suffix in ("parquet", "feather"):
        for label, content in metadata.items():
            yield _table_case(f"{suffix}: pandas metadata: {label}", suffix, partial(_with_metadata, content))
        for label in _COLUMNS:
            yield _table_case(f"{suffix}: {label}", suffix, partial(_with_column, label))
        for label, new in NAMES.items():
            if "\udc80" not in new:
                yield _table_case(f"{suffix}: name {label}", suffix, partial(_with_name, new))


def _table_case(name: str, suffix: str, change: Callable[[Any], Any]) -> Case:
    return Case(name, suffix, RANK.format(f"m.{suffix}"), partial(_write_table, suffix, change), "variance", suffix)


def _write_table(suffix: str, change: Callable[[Any], Any], folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import feather

    table = change(pa.table({"id": FEATURES} | dict(zip(SAMPLES, np.ascontiguousarray(values().T)))))
    write_files(COMPANIONS, folder)
    (pq.write_table if suffix == "parquet" else feather.write_feather)(table, folder / f"m.{suffix}")


def _with_metadata(content: bytes, table: Any) -> Any:
    return table.replace_schema_metadata({b"pandas": content})


def _with_name(new: str, table: Any) -> Any:
    import pyarrow as pa

    return table.set_column(0, "id", pa.array([FEATURES[0], new, *FEATURES[2:]]))


def _columns() -> dict[str, Callable[[Any], Any]]:
    import datetime
    import decimal

    import pyarrow as pa

    x = values()[:, 0].tolist()
    return {
        "a column of lists": lambda: pa.array([[v] for v in x]),
        "a column of structs": lambda: pa.array([{"a": v} for v in x]),
        "a column of text": lambda: pa.array(map(str, x)),
        "a column of decimals": lambda: pa.array([decimal.Decimal(str(v)) for v in x]),
        "a column of huge decimals": lambda: pa.array([decimal.Decimal(10) ** 60] * M, pa.decimal256(70, 0)),
        "a column of dates": lambda: pa.array([datetime.date(2024, 1, 1)] * M),
        "a column of times": lambda: pa.array([datetime.datetime(2024, 1, 1)] * M),
        "a column of bytes": lambda: pa.array([b"1"] * M),
        "a column of nulls": lambda: pa.nulls(M),
        "a column of bool": lambda: pa.array([True, False] * (M // 2)),
        "a column of float16": lambda: pa.array(np.array(x, "f2")),
        "a column of int64": lambda: pa.array([2**60 + i for i in range(M)]),
        "a column of uint64": lambda: pa.array([2**64 - 1 - i for i in range(M)], pa.uint64()),
        "a dictionary of numbers": lambda: pa.array(x).dictionary_encode(),
        "a dictionary of text": lambda: pa.array(map(str, x)).dictionary_encode(),
        "a column with a gap": lambda: pa.array([None, *x[1:]]),
        "a column with NaN": lambda: pa.array([np.nan, *x[1:]]),
        "a column with inf": lambda: pa.array([np.inf, *x[1:]]),
        "a column with 1e308": lambda: pa.array([1e308, *x[1:]]),
    }  # fmt: skip


_COLUMNS = (
    *("a column of lists", "a column of structs", "a column of text", "a column of decimals"),
    *("a column of huge decimals", "a column of dates", "a column of times", "a column of bytes"),
    *("a column of nulls", "a column of bool", "a column of float16", "a column of int64"),
    *("a column of uint64", "a dictionary of numbers", "a dictionary of text"),
    *("a column with a gap", "a column with NaN", "a column with inf", "a column with 1e308"),
)


def _with_column(label: str, table: Any) -> Any:
    return table.set_column(2, "s2", _columns()[label]())


def _stores(seeds: Mapping[str, Files]) -> Iterator[Case]:
    """Stores whose parts fit their manifest no longer, or whose manifest lies."""
    variance = RANK.format("m.store")

    def case(kind: str, label: str, edit: Callable[[Files], Files], is_right: str = "same") -> Iterator[Case]:
        files = seeds[f"store {kind}"]
        for command in (variance, "rank m.store --method spec --similarity knn --neighbors 3"):
            yield Case(f"store {kind}: {label}", "store", command, partial(_write_store, files, edit), is_right,
                       undamaged=partial(write_files, files), codes=REFUSED)  # fmt: skip

    for key, odd in {
        "n_features": (0, -1, 17, 19, 2**40, "18", None, 18.5, True, 10**30),
        "n_samples": (0, -1, 11, 13, 2**40, "12", None, 12.5),
        "dtype": ("float16", "int32", "<f4", "object", "", None, 7, "float64"),
        "sparse": (True, False, None, "yes", 1),
        "missing": (None, [], {"values": -1}, {"values": "x"}, {"values": 5, "features": 1, "places": 3},
                    {"values": 1, "features": 1, "places": [["gene1"]]}),
        "files": (None, [], {}, {"values.bin": {}}, {"values.bin": {"bytes": -1}}),
        "source": (None, [], "x", {"path": 3}),
        "version": (0, 2, "1", None, 10**30),
        "format": ("x", None, ["sfs-store"]),
        "unknown": (1,),
    }.items():  # fmt: skip
        for value in odd:
            for kind in ("dense", "sparse"):
                yield from list(case(kind, f"{key} = {value!r:.40}", partial(_manifest, key, value)))[:1]
    for kind, name, width in (("dense", "values.bin", 4), ("sparse", "data.bin", 4),
                              ("sparse", "indices.bin", 4), ("sparse", "indptr.bin", 8)):  # fmt: skip
        for label, change in {
            "one bit": lambda b: b[:22] + bytes([b[22] ^ 1]) + b[23:],
            "the sign of a value": lambda b: b[:27] + bytes([b[27] ^ 128]) + b[28:],
            "zeros": lambda b: bytes(len(b)),
            "ones": lambda b: b"\xff" * len(b),
            "two values exchanged": lambda b, w=width: b[:w] + b[2 * w : 3 * w] + b[w : 2 * w] + b[3 * w :],
            "reversed": lambda b, w=width: b"".join(b[i : i + w] for i in range(len(b) - w, -1, -w)),
            "cut": lambda b: b[:-4],
            "longer": lambda b: b + bytes(8),
            "nothing": lambda b: b"",
        }.items():
            yield from case(kind, f"{name}: {label}", partial(_part, name, change))
    for at, new in ((0, -1), (3, 12), (3, 2**31 - 1), (3, -(2**31))):
        yield from case("sparse", f"index {new}", partial(_part, "indices.bin", partial(_word, at, new, 4)))
    for at, new in ((0, 3), (3, -1), (3, 2**40), (5, 0), (18, 10**6)):
        yield from case("sparse", f"pointer {new}", partial(_part, "indptr.bin", partial(_word, at, new, 8)))
    for part in ("features.parquet", "samples.parquet"):
        for label, change in {
            "cut": lambda b: b[:-20],
            "one bit": lambda b: b[:40] + bytes([b[40] ^ 4]) + b[41:],
            "nothing": lambda b: b"",
            "another table": lambda b: seeds["parquet"]["m.parquet"],
        }.items():
            yield from case("dense", f"{part}: {label}", partial(_part, part, change))
    yield from case("dense", "features and samples exchanged", _exchanged)


def _write_store(files: Files, edit: Callable[[Files], Files], folder: Path) -> None:
    write_files(edit(dict(files)), folder)


def _manifest(key: str, value: Any, files: Files) -> Files:
    name = "m.store/manifest.json"
    return files | {name: json.dumps(json.loads(files[name]) | {key: value}).encode()}


def _part(name: str, change: Callable[[bytes], bytes], files: Files) -> Files:
    path = f"m.store/{name}"
    return files | {path: change(files[path])}


def _word(at: int, new: int, width: int, data: bytes) -> bytes:
    return data[: at * width] + new.to_bytes(width, "little", signed=True) + data[(at + 1) * width :]


def _exchanged(files: Files) -> Files:
    a, b = "m.store/features.parquet", "m.store/samples.parquet"
    return files | {a: files[b], b: files[a]}


assert OK == 0
