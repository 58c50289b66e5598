"""Hostile text: numbers, names, whole files of other things, options in documents."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

from tools.fuzz.cases import Case
from tools.fuzz.hostile_words import (
    MUST_FAIL,
    NAMES,
    NUMBERS,
    RANK,
    cells,
    hostile,
    replaced,
    table_text,
)
from tools.fuzz.study import CLASSES, FEATURES, SAMPLES, M, N, graph, values


def numbers_in_text() -> Iterator[Case]:
    gct = [["#1.2"], [M, N], ["Name", "Description", *SAMPLES]]
    weights = [["sample", "weight"], *zip(SAMPLES, [1.0] * N)]
    edges = [["a", "b", "score"], *((FEATURES[i], FEATURES[i + 1], 0.5) for i in range(M - 1))]
    ranking = [["feature", "score"], *((f, i) for i, f in enumerate(FEATURES))]
    ages = [["sample", "age"], *((s, i) for i, s in enumerate(SAMPLES))]
    S = [["id", *SAMPLES], *([s, *row] for s, row in zip(SAMPLES, graph().tolist()))]
    for label, new in NUMBERS.items():
        name = f"number {label}"
        matrix = table_text(replaced(cells(), 3, 4, new))
        yield hostile(
            f"{name} in csv",
            "csv",
            {"m.csv": matrix},
            RANK.format("m.csv"),
            is_right="variance",
            table="text",
        )
        yield hostile(
            f"{name} in csv, float64",
            "csv",
            {"m.csv": matrix},
            RANK.format("m.csv") + " --dtype float64",
            is_right="variance",
            table="text",
        )
        yield hostile(
            f"{name} in csv, spec",
            "csv",
            {"m.csv": matrix},
            "rank m.csv --method spec --similarity rbf --dtype float64",
        )
        rows = [[f, "x", *row] for f, row in zip(FEATURES, values().tolist())]
        rows[2][5] = new
        text = table_text([*gct, *rows], "\t")
        yield hostile(
            f"{name} in gct",
            "gct",
            {"m.gct": text},
            RANK.format("m.gct"),
            is_right="variance",
            table="gct",
        )
        yield hostile(
            f"{name} as a weight",
            "weights",
            {"w.tsv": table_text(replaced(list(map(list, weights)), 3, 1, new), "\t")},
            "rank clean.csv --method variance --sample-weights w.tsv",
            is_right="weights",
        )
        yield hostile(
            f"{name} as a score of an edge",
            "edges",
            {"e.tsv": table_text(replaced(list(map(list, edges)), 3, 2, new), "\t")},
            "rank clean.csv --method msfs --source x=feature-similarity:e.tsv",
        )
        yield hostile(
            f"{name} as an outcome",
            "labels",
            {"l.tsv": table_text(replaced(list(map(list, ages)), 3, 1, new), "\t")},
            "rank clean.csv --method f-test --label-type continuous --labels l.tsv:age",
        )
        yield hostile(
            f"{name} as a covariate",
            "labels",
            {"l.tsv": table_text(replaced(list(map(list, ages)), 3, 1, new), "\t")},
            "rank clean.csv --method variance --adjust l.tsv:age=numeric",
        )
        yield hostile(
            f"{name} in a ranking",
            "ranking",
            {"a.tsv": table_text(replaced(list(map(list, ranking)), 3, 1, new), "\t")},
            "aggregate a.tsv ranking.tsv",
        )
        yield hostile(
            f"{name} in a similarity",
            "similarity",
            {"S.csv": table_text(replaced(list(map(list, S)), 3, 3, new))},
            "rank clean.csv --method spec --similarity-file S.csv",
            is_right="similarity",
        )


def names_in_text() -> Iterator[Case]:
    labels = [["sample", "tissue"], *zip(SAMPLES, CLASSES)]
    gmt = [[s, "x", *FEATURES[i : i + 8]] for i, s in enumerate("ABC")]
    for label, new in NAMES.items():
        name = f"name {label}"
        features = table_text(replaced(cells(), 2, 0, new))
        samples = table_text(replaced(cells(), 0, 2, new))
        yield hostile(
            f"{name}: feature",
            "csv",
            {"m.csv": features},
            RANK.format("m.csv") + " --out out",
            is_right="variance",
            table="text",
        )
        yield hostile(f"{name}: feature, inspect", "csv", {"m.csv": features}, "inspect m.csv")
        yield hostile(
            f"{name}: sample",
            "csv",
            {"m.csv": samples},
            RANK.format("m.csv") + " --out out",
            is_right="variance",
            table="text",
        )
        yield hostile(
            f"{name}: sample, with labels",
            "csv",
            {"m.csv": samples},
            "rank m.csv --method f-test --labels labels.tsv:tissue",
        )
        classes = [[row[0], new if row[1] == "a" else row[1]] for row in map(list, labels)]
        yield hostile(
            f"{name}: class",
            "labels",
            {"l.tsv": table_text(classes, "\t")},
            "rank clean.csv --method f-test --labels l.tsv:tissue --out out",
        )
        yield hostile(
            f"{name}: column",
            "labels",
            {"l.tsv": table_text(replaced(list(map(list, labels)), 0, 1, new), "\t")},
            "rank clean.csv --method f-test --labels l.tsv",
        )
        yield hostile(
            f"{name}: set",
            "gmt",
            {"g.gmt": table_text(replaced(list(map(list, gmt)), 1, 0, new), "\t")},
            "evaluate clean.csv --list ranking.tsv --sets g.gmt --out out",
        )
        yield hostile(
            f"{name}: gene of a list",
            "list",
            {"g.txt": f"gene1\n{new}\ngene4\ngene5\n"},
            "rank clean.csv --method msfs --source x=genes:g.txt --allow-unmatched --out out",
        )


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


def whole_files() -> Iterator[Case]:
    for path, command in _KINDS.items():
        suffix = path.split("/")[0].partition(".")[2] or "plan"
        for label, content in _CONTENTS.items():
            packed = (
                gzip.compress(content)
                if suffix == "tsv.gz" and content[:2] != b"\x1f\x8b"
                else content
            )
            yield hostile(
                f"{suffix}: {label}",
                suffix.split(".")[-1],
                {path: packed},
                command,
                codes=MUST_FAIL,
            )


def documents() -> Iterator[Case]:
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
        yield hostile(f"yaml: {label}", "config", content, "rank --config run.yaml")
        yield hostile(f"yaml: {label}, check", "config", content, "config check run.yaml")
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
        yield hostile(f"json: {label}", "config", {"run.json": text}, "rank --config run.json")
    for label, text in {
        "depth": "[[" * 3000 + "]]" * 3000,
        "a huge rank": '[{"feature": "gene1", "rank": 1' + "0" * 5000 + "}]",
        "NaN": '[{"feature": "gene1", "rank": NaN}]',
        "a list for a name": '[{"feature": ["gene1"], "rank": 1}]',
        "a lone surrogate": '[{"feature": "\\ud800", "rank": 1}]',
        "a line end in a name": '[{"feature": "a\\nb", "rank": 1}, {"feature": "c", "rank": 2}]',
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
            yield hostile(f"ranking json: {label}", "ranking", {"a.json": text}, command)
