"""Inputs that are wrong, each in one way, and the small good ones that they go with."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tools.compare.writing import Matrix, csv, delimited, rows, text, zstd

N, M = 6, 9
SAMPLES = [f"s{i}" for i in range(1, N + 1)]
GENES = [f"gene{i}" for i in range(1, M + 1)]
AB = ["a", "b"] * (N // 2)


def make(folder: Path) -> None:
    """Write all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    matrices(folder)
    damaged(folder)
    containers(folder)
    labels(folder)
    similarities(folder)
    knowledge(folder)
    rankings(folder)
    configurations(folder)


def values(count: int = M, width: int = N) -> np.ndarray:
    return np.random.default_rng(7).normal(5.0, 2.0, (count, width)).round(3)


def good(count: int = M) -> Matrix:
    return Matrix(values(count), GENES[:count], SAMPLES)


def changed(at: tuple[int, int], value: float) -> Matrix:
    made = good()
    made.values[at] = value
    return made


def matrices(folder: Path) -> None:
    """Write text whose cells, ids or shape are wrong."""
    plain = delimited(good())
    text(folder / "good.csv", plain)
    lines = plain.splitlines()
    for name, line, field, new in (
        ("word.csv", 3, 3, "high"),
        ("minus_inf.csv", 2, 6, "-inf"),
        ("huge.csv", 2, 6, "1e300"),
        ("gap.csv", 5, 2, ""),
        ("no_column_id.csv", 0, 3, ""),
    ):
        cells = lines[line].split(",")
        cells[field] = new
        text(folder / name, "\n".join([*lines[:line], ",".join(cells), *lines[line + 1 :]]) + "\n")
    text(folder / "ragged.csv", plain + "gene10,1.0,2.0\n")
    text(folder / "no_header.csv", "\n".join(lines[1:]) + "\n")
    text(folder / "no_ids.csv", "".join(s.partition(",")[2] + "\n" for s in lines))
    text(folder / "one_column.csv", "id\na\nb\n")
    text(folder / "header_only.csv", "id,a,b\n")
    text(folder / "empty.csv", "")
    text(folder / "commas.tsv", delimited(good(), "\t").replace(".", ","))
    text(folder / "twice.csv", plain.replace("s3", "s1").replace("s5", "s2"))
    csv(folder / "one_sample.csv", Matrix(values(M, 1), GENES, SAMPLES[:1]))
    csv(folder / "one_feature.csv", good(1))
    csv(folder / "constant.csv", Matrix(np.full((M, N), 3.5), GENES, SAMPLES))
    csv(folder / "zeros.csv", Matrix(np.zeros((M, N)), GENES, SAMPLES))
    positive = Matrix(np.abs(values()), GENES, SAMPLES)
    csv(folder / "positive.csv", positive)
    for name, value in (("a_zero.csv", 0.0), ("a_minus.csv", -2.0)):
        made = Matrix(np.abs(values()), GENES, SAMPLES)
        made.values[3, 1] = value
        csv(folder / name, made)
    positive.values[:, 4] = 0
    csv(folder / "empty_sample.csv", positive)
    flat = good()
    flat.values[:, :2] = [3.0, 4.0]
    csv(folder / "flat_samples.csv", flat)
    wide = Matrix(values(4, 1500), GENES[:4], [f"s{i}" for i in range(1500)])
    csv(folder / "wide.csv", wide)


def damaged(folder: Path) -> None:
    """Write files that are cut off, of another kind, or of another encoding."""
    many = Matrix(values(2000), [f"g{i}" for i in range(2000)], SAMPLES)
    packed = gzip.compress(delimited(many).encode(), mtime=0)
    (folder / "cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    packed = zstd(delimited(many, "\t"))
    (folder / "cut.tsv.zst").write_bytes(packed[: len(packed) // 2])
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 9)
    (folder / "utf16.csv").write_bytes(delimited(good()).encode("utf-16"))
    (folder / "latin.csv").write_bytes(delimited(good()).replace("s1", "p\xe9").encode("latin-1"))
    text(folder / "m.dat", delimited(good()))
    text(folder / "text.h5ad", delimited(good()))
    for name in ("m.xlsx", "workbook.csv"):
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr("xl/workbook.xml", "<workbook/>")
    body = [[f"g{i}", "na", i, i * i] for i in range(1, 4)]
    rows(folder / "size.gct", ["#1.2"], [9, 2], ["Name", "Description", "s1", "s2"], *body)
    text(folder / "plain", "x\n")
    text(folder / "things" / "good.csv", delimited(good()))


def containers(folder: Path) -> None:
    """Write Parquet, HDF5, Zarr and 10x that are no matrix."""
    import anndata as ad
    import h5py

    def parquet(name: str, X: np.ndarray) -> Path:
        made = {"id": pa.array(GENES[: len(X)], pa.string())}
        pq.write_table(pa.table(made | dict(zip(SAMPLES, X.T))), folder / name)
        return folder / name

    content = parquet("good.parquet", values()).read_bytes()
    (folder / "cut.parquet").write_bytes(content[: int(len(content) * 0.6)])
    (folder / "page.parquet").write_bytes(content[:4] + b"\xff" * 196 + content[200:])
    parquet("inf.parquet", changed((3, 1), np.inf).values)
    parquet("huge.parquet", changed((3, 1), 1e300).values)
    gaps = values()
    gaps[[1, 1, 7], [2, 4, 0]] = np.nan
    parquet("gaps.parquet", gaps)
    parquet("missing.parquet", np.full((M, N), np.nan))
    parquet("none.parquet", np.empty((0, N)))
    noted = {"id": GENES, "note": ["x"] * M, "s1": values()[:, 0], "s2": values()[:, 1]}
    pq.write_table(pa.table(noted), folder / "note.parquet")
    obs = pd.DataFrame({"tissue": AB}, index=SAMPLES)
    graph = kernel()
    made = ad.AnnData(values().T, obs, pd.DataFrame(index=GENES), obsp={"distances": graph})
    made.layers["counts"] = values().T
    made.write_h5ad(folder / "good.h5ad")
    content = (folder / "good.h5ad").read_bytes()
    (folder / "cut.h5ad").write_bytes(content[: int(len(content) * 0.6)])
    with h5py.File(folder / "other.h5ad", "w") as file:
        file["counts"] = np.eye(3)
    text(folder / "none.zarr" / ".zgroup", '{"zarr_format": 2}')
    head = "%%MatrixMarket matrix coordinate integer general\n3 2 1\n1 1 5\n"
    text(folder / "tenx" / "matrix.mtx", head)
    text(folder / "tenx" / "features.tsv", "g1\ng2\ng3\n")


def labels(folder: Path) -> None:
    """Write classes that do not do."""
    for name, classes, samples in (
        ("labels", AB, SAMPLES),
        ("labels_some", AB[:4], SAMPLES[:4]),
        ("labels_odd", ["a", "a", "a", "b", "b", "odd"], SAMPLES),
        ("labels_one", ["a"] * N, SAMPLES),
        ("labels_three", [*"aabbcc"], SAMPLES),
        ("labels_uneven", ["tumor"] * 4 + ["healthy"] * 2, SAMPLES),
        ("labels_missing", ["NA"] * N, SAMPLES),
        ("labels_strange", AB, [f"p{i}" for i in range(N)]),
        ("labels_twice", [*AB, "b"], [*SAMPLES, "s1"]),
        ("labels_thin", ["a", "a", "a", "b"], SAMPLES[:4]),
    ):
        rows(folder / f"{name}.tsv", ["sample", "tissue"], *zip(samples, classes))
    rows(folder / "labels_columns.tsv", ["sample", "age", "sex"], *zip(SAMPLES, AB, AB))
    text(folder / "labels_ragged.tsv", "sample\ttissue\ns1\ta\ns2\n")


def kernel(n: int = N) -> np.ndarray:
    return np.exp(-0.1 * np.subtract.outer(np.arange(n), np.arange(n)) ** 2)


def similarities(folder: Path) -> None:
    """Write similarities between samples that are no graph."""

    def square(name: str, S: np.ndarray, ids: list[str] = SAMPLES) -> None:
        csv(folder / name, Matrix(S, ids, ids))

    def put(i: int, j: int, value: float, both: bool = True) -> np.ndarray:
        S = kernel()
        S[i, j] = value
        if both:
            S[j, i] = value
        return S

    square("S_small.csv", kernel(4), SAMPLES[:4])
    square("S_skew.csv", put(1, 3, 9.0, both=False))
    square("S_negative.csv", put(0, 5, -50.0))
    square("S_nan.csv", put(0, 5, np.nan))
    square("S_strange.csv", kernel(), [f"p{i}" for i in range(N)])
    square("S_twice.csv", kernel(7), [*SAMPLES, "s1"])
    square("S_distance.csv", -np.eye(N))
    square("S_zero.csv", np.zeros((N, N)))
    alone = kernel()
    alone[2], alone[:, 2] = 0, 0
    square("S_alone.csv", alone)
    np.save(folder / "S_small.npy", kernel(4))
    (folder / "S_damaged.npz").write_bytes(b"PK" + bytes(40))


def knowledge(folder: Path) -> None:
    """Write sources that cannot be used."""
    csv(folder / "profile.csv", good(4))
    csv(folder / "profile_some.csv", good(4).of(SAMPLES[:4]))
    csv(folder / "profile_strange.csv", Matrix(values(4), GENES[:4], [f"p{i}" for i in range(N)]))
    csv(folder / "profile_minus.csv", Matrix(-values(4), GENES[:4], SAMPLES))
    csv(folder / "profile_gap.csv", Matrix(changed((1, 1), np.nan).values[:4], GENES[:4], SAMPLES))
    for name, content in {
        "set_empty.gmt": "SET1\tfirst\t\n",
        "set_short.gmt": "SET1\tfirst\n",
        "sets.gmt": "SET1\tfirst\t" + "\t".join(GENES[:4]) + "\n",
        "short.gaf": "DB\tID1\n",
        "genes.txt": "gene1\ngene2\n",
        "strangers.txt": "X1\nX2\n",
        "case.txt": "GENE1\nGENE2\n",
        "few.txt": "\n".join(["gene1", *(f"X{i}" for i in range(30))]),
        "probes.txt": "P1\nP2\n",
        "map_strange.tsv": "a\tP1\nb\tP2\n",
        "map_three.tsv": "gene1\tQ1\tz\n",
        "loops.tsv": "gene_a\tgene_b\tscore\ngene1\tgene1\t1\n",
        "edges.tsv": "gene_a\tgene_b\tscore\ngene1\tgene2\t0.5\n",
        "edges2.tsv": "gene_a\tgene_b\ngene1\tgene2\n",
        "seeds.txt": "gene7\n",
        "open.nwk": "((s1,s2),(s3,s4);\n",
        "after.nwk": "((s1,s2),(s3,s4)); more\n",
        "flat.nwk": "(" + ",".join(SAMPLES) + ");\n",
        "paths.tsv": "sample\tpath\n" + "".join(f"{s}\ta//b\n" for s in SAMPLES),
        "empty.txt": "",
    }.items():
        text(folder / name, content)
    gaf = ["DB", "ID1", "gene1", "", "GO:1", "PMID:1", "IDA", *[""] * 8]
    rows(folder / "one.gaf", gaf)
    packed = gzip.compress((folder / "sets.gmt").read_bytes(), mtime=0)
    (folder / "cut.gmt.gz").write_bytes(packed[: len(packed) // 2])
    skew = kernel(4)
    skew[0, 2] = 0.9
    csv(folder / "alike_skew.csv", Matrix(skew, GENES[:4], GENES[:4]))
    csv(folder / "alike_none.csv", Matrix(np.eye(4), GENES[:4], GENES[:4]))
    csv(folder / "terms_two.csv", Matrix(2 * kernel(4), GENES[:4], GENES[:4]))
    csv(folder / "terms_apart.csv", Matrix(np.eye(4, dtype=int), GENES[:4], list("abcd")))


def rankings(folder: Path) -> None:
    """Write rankings that cannot be aggregated."""
    pairs = [(f"gene{i}", i) for i in range(1, 6)]
    rows(folder / "ranked.tsv", ["gene", "rank"], *pairs)
    rows(folder / "also.tsv", ["gene", "rank"], *pairs)
    for name, content in {
        "r_empty.tsv": "",
        "r_none.tsv": "gene\trank\n",
        "r_twice.tsv": "gene\trank\na\t1\n\nb\t2\na\t3\n",
        "r_nameless.tsv": "gene\trank\na\t1\n\t2\n",
        "r_word.tsv": "gene\trank\na\t1\nb\tsecond\n",
        "r_comma.tsv": "gene\tscore\na\t1,5\nb\t2\n",
        "r_constant.tsv": "rank\tfeature\tscore\tstatus\n1\ta\t0\tconstant\n",
        "r_ragged.tsv": "gene\trank\na\t1\nb\t2\t3\n",
        "r_two.tsv": "gene\tt\tz\na\t1\t2\nb\t2\t3\n",
        "r_kind.tsv": "gene\tkind\na\tx\nb\ty\n",
        "r_numbers.tsv": "u\tv\n1\t2\n3\t4\n",
        "r_single.tsv": "gene\na\nb\n",
        "r_three.rnk": "a\t1\tx\n",
        "r_cut.json": '[{"gene": "a", ',
        "r_other.json": '{"a": 1}',
    }.items():
        text(folder / name, content)


def configurations(folder: Path) -> None:
    """Write configuration files that cannot be used."""
    for name, content in {
        "c_empty.yaml": "",
        "c_parse.yaml": "digits: 3\nmembers: [spec\n",
        "c_parse.toml": "digits = \n",
        "c_parse.json": '{\n"digits": }',
        "c_list.yaml": "- digits\n",
        "c_unknown.yaml": "digits: 3\nneighbours: 3\n",
        "c_dash.yaml": "use_raw: true\n",
        "c_twice.yaml": "digits: 3\nseed: 1\ndigits: 4\n",
        "c_twice.json": '{"digits": 3, "digits": 4}',
        "c_word.yaml": "digits: three\n",
        "c_half.yaml": "similarity: knn\nneighbors: 2.5\n",
        "c_yes.yaml": "use-raw: yes\n",
        "c_date.toml": "layer = 2024-01-31\n",
        "c_nothing.yaml": "digits:\n",
        "c_key.yaml": "source:\n  m:\n    kind: target\n    pth: x\n",
        "c_quotes.yaml": "source:\n  - m=target:\n",
        "c_tag.yaml": "matrix: !!python/name:os.system x\n",
        "c_method.yaml": "method: fischer\n",
        "c_range.yaml": "seed: 1\ndigits: 99\n",
        "c_effect.yaml": "neighbors: 3\nsimilarity: rbf\n",
        "c_kind.yaml": "source:\n  m: {kind: profil}\n",
        "c_labels.yaml": "method: fisher\n",
        "c_digits.yaml": "digits: 3\n",
        "c_matrix.yaml": "digits: 3\nmatrix: no.csv\n",
        "c_source.yaml": "matrix: good.csv\nsource:\n  m:\n    profile:no.csv\n",
    }.items():
        text(folder / name, content)
