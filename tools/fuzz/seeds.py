"""Small valid files of every format that is read, and the commands that read them.

One study of 12 samples and 18 features is written in every format by the libraries that users have.
In commands FILE stands for the file of the seed; ``clean.csv`` and ``labels.tsv`` lie beside it and
are never damaged. Commands joined by ``&&`` follow each other as in a shell.
"""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tools.fuzz.study import AGES, CLASSES, FEATURES, SAMPLES, counts, graph, values

Files = dict[str, bytes]


@dataclass(frozen=True)
class Seed:
    """Valid files, and commands that read them.

    Attributes
    ----------
    name, format : str
        The seed, and the group of formats that it is counted in.
    files : dict of str to bytes
        All files by their paths, with those of ``COMPANIONS``.
    targets : tuple of str
        The files that may be damaged.
    commands : tuple of (str, str, int)
        A command, how its result is judged (see `tools.fuzz.oracle`), and how often it is taken.
    table : str
        How an independent program reads the matrix (see `tools.fuzz.readers`).
    """

    name: str
    format: str
    files: Files
    targets: tuple[str, ...]
    commands: tuple[tuple[str, str, int], ...]
    table: str = ""


RANK = "rank FILE --method variance"
OF_MATRICES = (
    (RANK, "variance", 10),
    (f"{RANK} --out out", "variance", 4),
    (f"{RANK} --dtype float64", "variance", 3),
    ("convert FILE made.store && rank made.store --method variance", "variance", 3),
    ("inspect FILE", "valid", 3),
    ("inspect FILE --json", "valid", 1),
    (f"{RANK} --missing mean", "valid", 1),
    (f"{RANK} --missing drop", "valid", 1),
    ("plan FILE --method variance", "valid", 1),
    (f"{RANK} --dry-run", "valid", 1),
    (f"{RANK} --guide", "valid", 1),
    ("fuse FILE --source x=target: --out fused.npz", "valid", 1),
    ("rank FILE --select 3 --out out", "valid", 1),
    ("rank FILE --method f-test --labels labels.tsv:tissue", "valid", 1),
    ("rank FILE --method spec --similarity knn --neighbors 3 --transform zscore", "valid", 1),
    ("rank clean.csv --method msfs --source x=target: --source y=profile:FILE", "valid", 1),
    (f"{RANK} --out out && select out --top 3 --write-matrix CHOSEN", "valid", 1),
    (
        "evaluate FILE --labels labels.tsv:tissue --method variance --lengths 2 --splits 2"
        " --repeats 1",
        "valid",
        1,
    ),
    (
        "shard init plan FILE --method variance --shards 2 && shard run plan 1 && shard run plan 2"
        " && shard merge plan --out out",
        "variance",
        1,
    ),
)
LABELED = "--labels labels.tsv:tissue"
OF_NUMBERS = tuple(
    (words if "FILE" in words else f"rank FILE --method {words}", "valid", 1)
    for words in (
        "spec --ranking phi1 --similarity rbf",
        "spec --ranking phi3 --clusters 2 --similarity correlation",
        "spec --pvalues gaussian --out out",
        "spec --pvalues moments --split features",
        "laplacian --pvalues permutation:50 --similarity diffusion",
        "hsic --similarity linear --pvalues moments",
        "gdcov --gamma heat:1",
        "gdcov-spca --select 3",
        "mrsf --select 3",
        "qalpha",
        "spca --select 3",
        "variance --transform quantile,zscore",
        "variance --transform floor:0,log1p",
        "spec --transform rank,unit --stability 3 --out out",
        f"fisher {LABELED} --out out",
        f"mutual-info {LABELED}",
        f"relieff {LABELED}",
        f"rfs {LABELED}",
        f"trace-ratio {LABELED} --select 3",
        f"mrmr {LABELED} --select 3",
        f"sselect {LABELED}",
        f"spec --similarity label {LABELED} --pvalues gaussian",
        "kogs --members variance,laplacian,spec --out out",
        "robustness FILE --noise 0.1 --draws 1",
        f"compare FILE --method spec {LABELED} --lengths 2 --splits 2 --repeats 1",
    )
)
OF_ANNDATA = (
    *OF_MATRICES,
    *OF_NUMBERS,
    (f"{RANK} --layer double", "layer", 2),
    (f"{RANK} --use-raw", "raw", 2),
    ("rank FILE --method f-test --labels obs:tissue", "obs", 3),
    ("rank FILE --method spec --similarity obsp:connectivities", "obsp", 3),
    ("rank FILE --method spec --similarity obsm:X_pca --neighbors 3", "valid", 1),
    (f"{RANK} --adjust obs:age", "valid", 1),
    (f"{RANK} --batch obs:site --min-batch-size 4", "valid", 1),
    (f"{RANK} --out out --write-h5ad COPY", "variance", 3),
    ("rank FILE --method msfs --source x=target: --source y=profile:obsm:X_pca", "valid", 1),
)
OF_STORES = tuple(
    (words, "same" if judge == "variance" else judge, w)
    for words, judge, w in OF_MATRICES
    if not {"convert", "float64"}.intersection(words.replace("--dtype", "").split())
)
RANK_ALL = "rank clean.csv --method"


def _table(X: np.ndarray, rows: list[str], columns: list[str], delimiter: str, corner: str) -> str:
    lines = [delimiter.join([corner, *columns] if corner else columns)]
    lines += [delimiter.join([name, *map(repr, row)]) for name, row in zip(rows, X.tolist())]
    return "\n".join(lines) + "\n"


def _square(delimiter: str = ",") -> str:
    return _table(graph(), SAMPLES, SAMPLES, delimiter, "id")


def _rows(*rows: tuple[object, ...], delimiter: str = "\t") -> str:
    return "".join(delimiter.join(map(str, row)) + "\n" for row in rows)


COMPANIONS: Files = {
    "clean.csv": _table(values(), FEATURES, SAMPLES, ",", "id").encode(),
    "labels.tsv": _rows(
        ("sample", "tissue", "batch", "age"),
        *zip(SAMPLES, CLASSES, ["x", "y"] * 6, AGES),
    ).encode(),
    "ranking.tsv": _rows(
        ("feature", "score"), *((name, 20 - i) for i, name in enumerate(FEATURES))
    ).encode(),
}


# ---- matrices ------------------------------------------------------------------------------------


def _matrices() -> Iterator[Seed]:
    for name, (format, path, table, files) in _matrix_files().items():
        commands = OF_STORES if format == "store" else (*OF_MATRICES, *OF_NUMBERS)
        lacks = []
        if format in ("h5ad", "h5mu", "zarr"):
            commands = OF_ANNDATA
            lacks += ["--use-raw"] if format == "zarr" else ["--layer"] if "0.6" in name else []
        if format in ("10x", "h5mu", "xlsx", "rds") or name == "series":  # which are not written
            lacks.append("CHOSEN")
        if format == "10x" or name in ("h5ad csr", "h5ad csc", "zarr 3"):  # sparse ones
            lacks.append("quantile")
        commands = tuple(c for c in commands if not any(word in c[0] for word in lacks))
        suffixes = "".join(Path(path.partition(":")[0]).suffixes)
        words = tuple(
            (
                c.replace("FILE", path)
                .replace("CHOSEN", "chosen" + suffixes)
                .replace("COPY", "copy" + suffixes),
                judge,
                w,
            )
            for c, judge, w in commands
        )
        yield Seed(name, format, files | COMPANIONS, tuple(files), words, table)


def _matrix_files() -> dict[str, tuple[str, str, str, Files]]:
    """Return format, path on the command line, reader and files of each matrix."""
    X, C = values(), counts()
    found: dict[str, tuple[str, str, str, Files]] = {}
    csv = _table(X, FEATURES, SAMPLES, ",", "id")
    tsv = _table(X, FEATURES, SAMPLES, "\t", "gene")
    quoted = "\r\n".join(
        ",".join(f'"{v}"' if at == 0 or line == 0 else v for at, v in enumerate(row.split(",")))
        for line, row in enumerate(csv.splitlines())
    )
    space = _table(C, FEATURES, SAMPLES, " ", "")
    found["csv"] = ("csv", "m.csv", "text", {"m.csv": csv.encode()})
    found["tsv"] = ("tsv", "m.tsv", "text", {"m.tsv": tsv.encode()})
    found["csv from R"] = ("csv", "r.csv", "text", {"r.csv": b"\xef\xbb\xbf" + quoted.encode()})
    found["table from R"] = ("csv", "r.txt", "text", {"r.txt": space.encode()})
    found["tsv.gz"] = ("gz", "m.tsv.gz", "text", {"m.tsv.gz": gzip.compress(tsv.encode())})
    found["csv.zst"] = ("zst", "m.csv.zst", "text", {"m.csv.zst": _zstd(csv.encode())})
    for version in ("1.2", "1.3"):
        name = f"m{version[-1]}.gct"
        found[f"gct {version}"] = ("gct", name, "gct", {name: _gct(X, version).encode()})
    found["series"] = ("tsv", "s.txt", "series", {"s.txt": _series(tsv).encode()})
    with tempfile.TemporaryDirectory() as folder:
        for name, (format, path, table, write) in _WRITERS.items():
            home = Path(folder) / name
            home.mkdir()
            write(home, C if "10x" in format else X)
            found[name] = (format, path, table, _files_below(home))
    return found


def _files_below(folder: Path) -> Files:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _zstd(content: bytes) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(content)
    return sink.getvalue().to_pybytes()


def _gct(X: np.ndarray, version: str) -> str:
    shape = f"{len(FEATURES)}\t{len(SAMPLES)}"
    if version == "1.2":
        head = ["#1.2", shape, "\t".join(["Name", "Description", *SAMPLES])]
    else:
        head = ["#1.3", f"{shape}\t1\t1", "\t".join(["id", "what", *SAMPLES])]
        head.append("\t".join(["tissue", "na", *CLASSES]))
    rows = ["\t".join([n, "text", *map(repr, row)]) for n, row in zip(FEATURES, X.tolist())]
    return "\n".join([*head, *rows]) + "\n"


def _series(tsv: str) -> str:
    """Return a table as a series matrix of GEO, with titles that are the names of its columns."""
    head, rows = tsv.partition("\n")[::2]
    lines = {
        "title": SAMPLES,
        "geo_accession": SAMPLES,
        "characteristics_ch1": [f"tissue: {name}" for name in CLASSES],
    }
    text = [f"!Sample_{name}\t" + "\t".join(f'"{v}"' for v in lines[name]) for name in lines]
    begin = ["!series_matrix_table_begin", head]
    return "\n".join([*text, *begin, rows.rstrip("\n"), "!series_matrix_table_end", ""])


def annotated(X: np.ndarray, convert: Callable[[np.ndarray], object] = np.array) -> object:
    """Return AnnData of the study, with a layer, raw values, a graph and coordinates."""
    import anndata as ad
    import pandas as pd
    from scipy import sparse

    sites = pd.Categorical(["x", "y"] * (len(SAMPLES) // 2))
    obs = pd.DataFrame(
        {"tissue": pd.Categorical(CLASSES), "age": AGES, "site": sites}, index=SAMPLES
    )
    made = ad.AnnData(convert(X.T), obs=obs, var=pd.DataFrame(index=FEATURES))
    made.raw = made.copy()
    made.layers["double"] = convert(2 * X.T)
    made.obsm["X_pca"] = X.T[:, :3].copy()
    made.obsp["connectivities"] = sparse.csr_matrix(graph())
    made.uns["note"] = {"of": "the study"}
    return made


def _write_xlsx(folder: Path, X: np.ndarray) -> None:
    import xlsxwriter

    with xlsxwriter.Workbook(folder / "m.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["id", *SAMPLES])
        for row, (name, numbers) in enumerate(zip(FEATURES, X.tolist()), 1):
            sheet.write_row(row, 0, [name, *numbers])


def _write_rds(folder: Path, X: np.ndarray) -> None:
    import pandas as pd
    import rdata

    path = folder / "m.rds"
    # rdata does not know the strings of pandas 3
    rows, columns = (pd.Index(ids, dtype=object) for ids in (FEATURES, SAMPLES))
    rdata.write_rds(path, pd.DataFrame(X, rows, columns))
    path.write_bytes(gzip.decompress(path.read_bytes()))  # so that what is in it gets damaged


def _write_parquet(folder: Path, X: np.ndarray) -> None:
    import pyarrow.parquet as pq

    pq.write_table(_arrow(X), folder / "m.parquet", row_group_size=7, compression="none")


def _write_pandas_parquet(folder: Path, X: np.ndarray) -> None:
    import pandas as pd

    frame = pd.DataFrame(X, index=pd.Index(FEATURES, name="gene"), columns=SAMPLES)
    frame.to_parquet(folder / "p.parquet", compression="snappy")


def _arrow(X: np.ndarray):
    import pyarrow as pa

    return pa.table({"id": FEATURES} | dict(zip(SAMPLES, np.ascontiguousarray(X.T))))


def _write_feather(folder: Path, X: np.ndarray) -> None:
    from pyarrow import feather

    feather.write_feather(_arrow(X), folder / "m.feather", compression="lz4", chunksize=7)


def _write_arrow(folder: Path, X: np.ndarray) -> None:
    from pyarrow import feather

    feather.write_feather(_arrow(X), folder / "m.arrow", compression="uncompressed")


def _write_h5ad(folder: Path, X: np.ndarray) -> None:
    annotated(X).write_h5ad(folder / "dense.h5ad")


def _write_csr(folder: Path, X: np.ndarray) -> None:
    from scipy import sparse

    annotated(X, sparse.csr_matrix).write_h5ad(folder / "csr.h5ad")


def _write_csc(folder: Path, X: np.ndarray) -> None:
    from scipy import sparse

    annotated(X, sparse.csc_matrix).write_h5ad(folder / "csc.h5ad", compression="gzip")


def _write_old(folder: Path, X: np.ndarray) -> None:
    from tests.old_anndata import write_old

    made = annotated(X)
    del made.layers["double"]
    made.uns["note"] = "the study"
    write_old(folder / "old.h5ad", made)


def _write_h5mu(folder: Path, X: np.ndarray) -> None:
    import h5py
    import pandas as pd
    from anndata.io import write_elem

    with h5py.File(folder / "m.h5mu", "w") as file:
        file.attrs["encoding-type"] = "MuData"
        write_elem(file, "obs", pd.DataFrame(index=SAMPLES))
        for name in ("rna", "prot"):
            write_elem(file.require_group("mod"), name, annotated(X))


def _write_zarr(folder: Path, X: np.ndarray, zarr_format: int) -> None:
    import warnings

    import anndata as ad
    from scipy import sparse

    made = annotated(X, np.array if zarr_format == 2 else sparse.csr_matrix)
    del made.raw
    with ad.settings.override(zarr_write_format=zarr_format), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on the defaults of its next version
        made.write_zarr(folder / f"m{zarr_format}.zarr")


def _coordinates(X: np.ndarray) -> str:
    entries = [(i + 1, j + 1, X[i, j]) for j in range(X.shape[1]) for i in np.flatnonzero(X[:, j])]
    head = f"%%MatrixMarket matrix coordinate integer general\n%\n{X.shape[0]} {X.shape[1]} "
    return f"{head}{len(entries)}\n" + "".join(f"{i} {j} {v:.0f}\n" for i, j, v in entries)


def _write_tenx(folder: Path, X: np.ndarray, packed: bool = True) -> None:
    home = folder / "tenx" if packed else folder
    home.mkdir(exist_ok=True)
    genes = _rows(*((f"ID{i}", name, "Gene Expression") for i, name in enumerate(FEATURES)))
    parts = {"features.tsv": genes, "barcodes.tsv": "\n".join(SAMPLES) + "\n"}
    for name, text in (parts | {"matrix.mtx": _coordinates(X)}).items():
        if packed:
            (home / f"{name}.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        else:
            (home / name).write_text(text)


def _write_tenx_h5(folder: Path, X: np.ndarray) -> None:
    import h5py
    from scipy import sparse

    stored = sparse.csr_matrix(X.T)
    with h5py.File(folder / "m.h5", "w") as file:
        group = file.create_group("matrix")
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(stored, name)
        group["shape"] = X.shape
        group["barcodes"] = np.array(SAMPLES, "S")
        group["features/id"] = np.array([f"ID{i}" for i in range(len(FEATURES))], "S")
        group["features/name"] = np.array(FEATURES, "S")
        group["features/feature_type"] = np.array(["Gene Expression"] * len(FEATURES), "S")


def _write_store(folder: Path, X: np.ndarray, sparse: bool = False) -> None:
    from sfs_cli.cli.app import run

    source = folder / ("csc.h5ad" if sparse else "m.csv")
    if sparse:
        _write_csc(folder, X)
    else:
        source.write_text(_table(X, FEATURES, SAMPLES, ",", "id"))
    assert run(["convert", str(source), str(folder / "m.store"), "-q"]) == 0
    source.unlink()


_WRITERS: dict[str, tuple[str, str, str, Callable[[Path, np.ndarray], None]]] = {
    "parquet": ("parquet", "m.parquet", "parquet", _write_parquet),
    "parquet from pandas": ("parquet", "p.parquet", "parquet", _write_pandas_parquet),
    "feather": ("feather", "m.feather", "feather", _write_feather),
    "arrow": ("feather", "m.arrow", "feather", _write_arrow),
    "h5ad dense": ("h5ad", "dense.h5ad", "h5ad", _write_h5ad),
    "h5ad csr": ("h5ad", "csr.h5ad", "h5ad", _write_csr),
    "h5ad csc": ("h5ad", "csc.h5ad", "h5ad", _write_csc),
    "h5ad of AnnData 0.6": ("h5ad", "old.h5ad", "h5ad", _write_old),
    "h5mu": ("h5mu", "m.h5mu:rna", "h5mu", _write_h5mu),
    "zarr 2": ("zarr", "m2.zarr", "zarr", lambda f, X: _write_zarr(f, X, 2)),
    "zarr 3": ("zarr", "m3.zarr", "zarr", lambda f, X: _write_zarr(f, X, 3)),
    "10x folder": ("10x", "tenx", "10x", _write_tenx),
    "10x plain": ("10x", "matrix.mtx", "10x", lambda f, X: _write_tenx(f, X, packed=False)),
    "10x h5": ("10x", "m.h5", "10x-h5", _write_tenx_h5),
    "xlsx": ("xlsx", "m.xlsx", "xlsx", _write_xlsx),
    "rds": ("rds", "m.rds", "rds", _write_rds),
    "store dense": ("store", "m.store", "none", _write_store),
    "store sparse": ("store", "m.store", "none", lambda f, X: _write_store(f, X, sparse=True)),
}


# ---- knowledge, options and results --------------------------------------------------------------


def _knowledge() -> Iterator[Seed]:
    for format, name, content, *commands in [*_of_samples(), *_of_features(), *_of_results()]:
        files = content if isinstance(content, dict) else {name: content}
        files = {n: c.encode() if isinstance(c, str) else c for n, c in files.items()}
        yield Seed(
            f"{format} {name}",
            format,
            COMPANIONS | files,
            tuple(files),
            tuple(
                (words.replace("FILE", name), judge, 1)
                for words, judge in (c if isinstance(c, tuple) else (c, "valid") for c in commands)
            ),
        )


def _msfs(source: str) -> str:
    return f"{RANK_ALL} msfs --source all=target: --source x={source}"


def _of_samples() -> list[tuple]:
    labels = COMPANIONS["labels.tsv"].decode().replace("\t", ",")
    table = [line.split(",") for line in labels.splitlines()]
    S = _square()
    similar = (
        (f"{RANK_ALL} spec --similarity-file FILE", "similarity"),
        (f"{RANK_ALL} laplacian --similarity-file FILE --out out", "similarity"),
        _msfs("similarity:FILE"),
        "fuse clean.csv --source s=similarity:FILE --source x=target: --out fused.tsv",
        f"{RANK_ALL} mrsf --select 3 --similarity-file FILE",
    )
    return [
        (
            *("labels", "l.csv", labels),
            (f"{RANK_ALL} f-test --moderate no --labels FILE:tissue", "f-test"),
            (f"{RANK_ALL} f-test --moderate no --labels FILE:tissue --out out", "f-test"),
            f"{RANK_ALL} f-test --label-type continuous --labels FILE:age",
            f"{RANK_ALL} variance --adjust FILE:batch,age",
            f"{RANK_ALL} variance --batch FILE:batch --min-batch-size 4",
            "rank clean.csv --labels FILE:tissue --select 3",
            _msfs("labels:FILE:tissue"),
            "evaluate clean.csv --list ranking.tsv --labels FILE:tissue --splits 2 --repeats 1",
        ),
        (
            *("labels", "l.parquet", _table_parquet(table)),
            (f"{RANK_ALL} f-test --moderate no --labels FILE:tissue", "f-test"),
        ),
        (
            *("weights", "w.tsv", _rows(("sample", "weight"), *zip(SAMPLES, [1, 2, 0.5] * 4))),
            (f"{RANK_ALL} variance --sample-weights FILE", "weights"),
        ),
        ("similarity", "S.csv", S, *similar),
        ("similarity", "S.tsv.gz", gzip.compress(_square("\t").encode()), *similar),
        ("similarity", "S.npy", _npy(graph()), *similar),
        ("similarity", "dense.npz", _npz(dense=graph(), samples=np.array(SAMPLES)), *similar),
        ("similarity", "csr.npz", _sparse_npz("csr"), *similar),
        ("similarity", "csc.npz", _sparse_npz("csc"), *similar),
        ("similarity", "coo.npz", _sparse_npz("coo"), *similar),
        ("similarity", "S.parquet", _square_parquet(), *similar),
        (
            *("coordinates", "c.csv", _table(values()[:3].T, SAMPLES, ["a", "b", "c"], ",", "id")),
            f"{RANK_ALL} spec --coordinates FILE --similarity knn --neighbors 3",
        ),
        (
            *("hierarchy", "h.tsv"),
            _rows(("sample", "path"), *((s, f"a/{c}/{i % 3}") for i, (s, c) in _numbered())),
            _msfs("hierarchy:FILE"),
        ),
        (
            *("hierarchy", "h.nwk"),
            f"(({','.join(SAMPLES[:4])})x:1.5,({','.join(SAMPLES[4:8])}),({','.join(SAMPLES[8:])}));\n",
            _msfs("hierarchy:FILE"),
        ),
    ]


def _of_features() -> list[tuple]:
    edges = [(FEATURES[i], FEATURES[(i * 5 + 1) % 18], 100 + 45 * i) for i in range(16)]
    gmt = "".join(
        "\t".join([name, "what it is", *FEATURES[lo:hi]]) + "\n"
        for name, lo, hi in (("A", 0, 7), ("B", 5, 12), ("C", 10, 18))
    )
    gaf = "!gaf-version: 2.2\n" + "".join(
        "\t".join(
            *[["UniProtKB", f"P{i}", name, "", f"GO:{i % 4}", "PMID:1", "IDA", "", "P", "", ""]],
        )
        + "\tgene\ttaxon:9606\t20200101\tUniProt\t\t\n"
        for i, name in enumerate(FEATURES)
    )
    biogrid = _rows(
        (
            "#BioGRID Interaction ID",
            "Official Symbol Interactor A",
            "Official Symbol Interactor B",
            "Organism ID Interactor A",
            "Organism ID Interactor B",
            "Score",
        ),
        *((i, a, b, 9606, 9606, s / 1000) for i, (a, b, s) in enumerate(edges)),
    )
    terms = np.eye(18)[:, :6] + np.eye(18, k=-6)[:, :6] + np.eye(18, k=-7)[:, :6]
    term_names = [f"T{i}" for i in range(6)]
    nearby = np.exp(-0.3 * np.subtract.outer(np.arange(18), np.arange(18)) ** 2)
    ids = "\n".join(FEATURES[3:9]) + "\n"
    interactions = (
        _msfs("interactions:FILE,min-score=0.2"),
        _msfs("interactions:FILE,seeds=ranking.tsv"),
        _msfs("feature-similarity:FILE"),
    )
    return [
        (
            "gmt",
            "g.gmt",
            gmt,
            _msfs("genes:FILE:A,B"),
            _msfs("terms:FILE"),
            "evaluate clean.csv --list ranking.tsv --sets FILE --out out",
            f"{RANK_ALL} kogs --source g=genes:FILE --source x=target:",
        ),
        ("gmt", "g.gmt.gz", gzip.compress(gmt.encode()), _msfs("genes:FILE")),
        (
            "gaf",
            "g.gaf",
            gaf,
            _msfs("terms:FILE"),
            _msfs("genes:FILE"),
            "evaluate clean.csv --list ranking.tsv --sets FILE --out out",
        ),
        (
            "list",
            "g.txt",
            ids,
            _msfs("genes:FILE"),
            f"{RANK_ALL} variance --include FILE",
            f"{RANK_ALL} variance --exclude FILE",
            f"{RANK_ALL} mrmr --labels labels.tsv:tissue --select 2 --given FILE",
            "evaluate clean.csv --list ranking.tsv --drivers FILE",
        ),
        ("edges", "e.tsv", _rows(("a", "b", "score"), *edges), *interactions),
        ("edges", "e.csv", _rows(*edges, delimiter=","), *interactions),
        (
            "edges",
            "string.txt",
            _rows(("protein1", "protein2", "combined_score"), *edges, delimiter=" "),
            *interactions,
        ),
        ("edges", "b.tab3.txt", biogrid, *interactions),
        ("terms", "t.csv", _table(terms, FEATURES, term_names, ",", "gene"), _msfs("terms:FILE")),
        (
            "features",
            "f.csv",
            _table(nearby, FEATURES, FEATURES, ",", "id"),
            _msfs("feature-similarity:FILE"),
        ),
        (
            "id map",
            "map.tsv",
            {
                "map.tsv": _rows(*((f"P{f}", f) for f in FEATURES)),
                "g.txt": "\n".join(f"P{f}" for f in FEATURES[:6]) + "\n",
            },
            _msfs("genes:g.txt,id-map=FILE"),
            _msfs("genes:g.txt") + " --id-map FILE",
        ),
    ]


CONFIG = """\
matrix: clean.csv   # what is ranked
method: msfs
source:
  all: {kind: target}
  tissue: {kind: labels, path: "labels.tsv:tissue", weight: 2}
  genes:
    kind: genes
    path: g.txt
    similarity: knn
    neighbors: 3
weights: given
ranking: phi3
clusters: 2
seed: 3
"""
TOML = """\
matrix = "clean.csv"
method = "f-test"
labels = "labels.tsv:tissue"
digits = 8
[source]
"""
JSON = {
    "matrix": "clean.csv",
    "method": "variance",
    "dtype": "float64",
    "transform": ["center"],
    "missing": "drop",
    "accept": ["graph"],
}


def _of_results() -> list[tuple]:
    genes = {"g.txt": "\n".join(FEATURES[:6]) + "\n"}
    ranked = [("rank", "feature", "score", "status", "q_value", "frequency")]
    ranked += [(i + 1, f, 9 - i / 3, "ok", i / 40, 1 - i / 20) for i, f in enumerate(FEATURES)]
    records = [dict(zip(ranked[0], row)) for row in ranked[1:]]
    lists = (
        ("aggregate FILE ranking.tsv", "valid"),
        ("aggregate FILE ranking.tsv --how rra --out out", "valid"),
        ("aggregate FILE ranking.tsv --how median --list-weights 2,1", "valid"),
        ("select FILE --top 3", "valid"),
        ("select FILE --fdr 0.2", "valid"),
        ("select FILE --stable 0.5 --matrix clean.csv --write-matrix chosen.csv", "valid"),
        ("evaluate clean.csv --list FILE", "valid"),
    )
    rnk = "".join(f"{f}\t{20 - i}\n" for i, f in enumerate(FEATURES))
    configs = ("rank --config FILE", "config check FILE", "plan --config FILE")
    run_of, plan_of = _made_results()
    results = (
        "select out --top 3",
        "select out --top 4 --out chosen",
        "select out --top 5 --min-redundancy 0.5",
        "report out --out page.html",
        "report out --title again --out page.html",
        "rank --config out/run.json --out again",
        "aggregate out/ranking.tsv ranking.tsv",
        "rank clean.csv --method variance --out out",
        "config check out/run.json",
    )
    shards = (
        "shard run plan 1 && shard run plan 2 && shard merge plan --out out",
        "shard merge plan --finish --out out",
        "shard status plan",
        "shard status plan --json",
    )
    return [
        ("ranking", "a.tsv", _rows(*ranked), *lists),
        ("ranking", "a.csv", _rows(*ranked, delimiter=","), *lists),
        ("ranking", "a.json", json.dumps(records), *lists),
        ("ranking", "a.rnk", rnk, *lists[:3]),
        ("ranking", "a.parquet", _table_parquet([list(map(str, r)) for r in ranked]), *lists),
        ("config", "run.yaml", {"run.yaml": CONFIG} | genes, *configs),
        ("config", "run.toml", TOML, *configs),
        ("config", "run.json", json.dumps(JSON, indent=1), *configs),
        ("results", "out", run_of, *results),
        ("shards", "plan", plan_of, *shards),
    ]


def _made_results() -> tuple[Files, Files]:
    """Return the files of a ranking, and those of a plan of shards of which one is done."""
    import contextlib
    import os

    from sfs_cli.cli.app import run

    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        for path, content in COMPANIONS.items():
            Path(path).write_bytes(content)
        rank = ["clean.csv", "--method", "variance", "-q"]
        assert run(["rank", *rank, "--out", "out"]) == 0
        assert run(["shard", "init", "plan", *rank, "--shards", "2", "--block-size", "4"]) == 0
        assert run(["shard", "run", "plan", "1", "-q"]) == 0
        found = _files_below(Path(os.curdir))
    return tuple(
        {path: content for path, content in found.items() if path.startswith(f"{part}/")}
        for part in ("out", "plan")
    )


def _numbered() -> list[tuple[int, tuple[str, str]]]:
    return list(enumerate(zip(SAMPLES, CLASSES)))


def _table_parquet(rows: list[list[str]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.table(dict(zip(rows[0], map(list, zip(*rows[1:]))))), sink)
    return sink.getvalue()


def _square_parquet() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.table({"id": SAMPLES} | dict(zip(SAMPLES, graph()))), sink)
    return sink.getvalue()


def _npy(array: np.ndarray) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array)
    return sink.getvalue()


def _npz(**arrays: np.ndarray) -> bytes:
    sink = io.BytesIO()
    np.savez(sink, **arrays)
    return sink.getvalue()


def _sparse_npz(kind: str) -> bytes:
    from scipy import sparse

    S = graph()
    S[S < 0.05] = 0
    sink = io.BytesIO()
    sparse.save_npz(sink, sparse.csr_matrix(S).asformat(kind))
    return sink.getvalue()


def make_seeds() -> list[Seed]:
    """Return all seeds; libraries start threads here, so call it in a process of its own."""
    return [*_matrices(), *_knowledge()]
