"""What many tests are made of: named matrices in memory and in files, labels, engines, problems.

In memory a matrix `X` is samples x features, as in the papers and the oracles. In files, stores
and readers `values` are features x samples. Unless a test names them, samples are s0, s1, ... and
features g0, g1, ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.sparse import csr_array

from sfs_cli.compute.context import Labels, RunContext
from sfs_cli.compute.engine import Engine, PassList, ThreadExecutor
from sfs_cli.compute.limits import Limits
from sfs_cli.compute.matrix import Block, Ids, LeftOut, Span, cut
from sfs_cli.graph.similarity import DenseSimilarity, Similarity
from sfs_cli.logs import Messages
from sfs_cli.methods.base import Problem
from sfs_cli.store.matrix import HeldMatrix, Missing
from sfs_cli.store.prepared import PreparedMatrix

DOUBLE = np.dtype(np.float64)
PLENTY = 1 << 30
"""Memory for everything that a test holds."""

HELD = PLENTY
STREAMED = 0
"""Memory that makes `centered_matrix` hold the matrix, or read it in every pass."""


def names(letter: str, count: int) -> list[str]:
    """Return g0, g1, ..."""
    return [f"{letter}{i}" for i in range(count)]


# ---------------------------------------------------------------------------- in memory


class ArraySource:
    """Samples x features as passes read them; tells what was read, and what asked for ahead."""

    def __init__(self, X: np.ndarray, left_out: Sequence[int] = ()) -> None:
        self.rows = np.array(X.T, np.float64, order="C")
        self.left_out = np.isin(np.arange(len(self.rows)), left_out)
        self.rows[self.left_out] = 0
        self.n_features, self.n_samples = self.rows.shape
        self.reads = 0
        self.prefetched: list[Span] = []

    def read(self, span: Span, dtype: np.dtype[Any]) -> Block:
        self.reads += span.size
        part = slice(span.lo, span.hi)
        why = self.left_out[part] * np.int8(LeftOut.MISSING)
        return Block(self.rows[part].astype(dtype), why if self.left_out.any() else None)

    def prefetch(self, span: Span) -> None:
        self.prefetched.append(span)


def array_engine(
    X: np.ndarray,
    *,
    size: int = 7,
    threads: int = 1,
    dtype: str = "float64",
    left_out: Sequence[int] = (),
) -> Engine:
    """Return passes over an array source, `size` features at a time."""
    return Engine(ArraySource(X, left_out), ThreadExecutor(threads), np.dtype(dtype), size)


def features_of(passes: PassList) -> int:
    """Return how many features were read, each as often as it was."""
    return sum(made.features for made in passes.made.values())


def make_matrix(X: np.ndarray, *, sparse: bool = False) -> HeldMatrix:
    """Return the stored matrix of samples x features, whose gaps are NaN."""
    n, m = X.shape
    ids = Ids(names("g", m), names("s", n))
    rows = np.array(X.T, np.float64, order="C")
    gaps = np.isnan(rows)
    missing = Missing(int(gaps.sum()), int(gaps.any(axis=1).sum()))
    return HeldMatrix(csr_array(rows) if sparse else rows, ids, missing)


def fit(source: PreparedMatrix, *, size: int = 7, threads: int = 1) -> PreparedMatrix:
    """Make the passes that the steps of a prepared matrix ask for; return the matrix."""
    source.fit(Engine(source, ThreadExecutor(threads), DOUBLE, size))
    return source


def read_all(
    source: PreparedMatrix, size: int = 7, dtype: np.dtype[Any] = DOUBLE
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what is read in blocks of a size: values (m, n), why left out, and which were zero."""
    values, why, zero = [], [], []
    for span in cut(source.n_features, size):
        block = source.read(span, dtype)
        none = np.zeros(span.size, np.int8)
        values.append(block.values.copy())
        why.append(none if block.left_out is None else block.left_out)
        zero.append(~block.values.any(axis=1) if block.zero is None else block.zero)
    return np.concatenate(values), np.concatenate(why), np.concatenate(zero)


def make_engine(
    X: np.ndarray,
    *,
    sparse: bool = False,
    nonzeros: bool = False,
    block_size: int | None = None,
    threads: int = 1,
    parts: Any = None,
    **preparation: Any,
) -> Engine:
    """Return passes over samples x features, prepared by the options of `PreparedMatrix`."""
    source = PreparedMatrix(make_matrix(X, sparse=sparse), **preparation)
    engine = Engine(
        source,
        ThreadExecutor(threads),
        DOUBLE,
        block_size,
        parts=parts,
        nonzeros=nonzeros,
    )
    source.fit(engine)
    return engine


def make_run(
    X: np.ndarray,
    *,
    memory: int = PLENTY,
    seed: int = 0,
    limits: Limits | None = None,
    **options: Any,
) -> RunContext:
    """Return the context of a run over samples x features; options are those of `make_engine`."""
    engine, quiet = make_engine(X, **options), Messages(verbosity=-1)
    return RunContext(engine, None, memory, seed, quiet, "x.csv", limits or Limits())


def make_problem(
    X: np.ndarray,
    *,
    codes: np.ndarray | None = None,
    outcome: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    S: np.ndarray | Similarity | None = None,
    block_size: int | None = None,
    threads: int = 1,
    memory: int = HELD,
    seed: int = 0,
    given: Sequence[int] = (),
    **options: Any,
) -> Problem:
    """Return a problem over samples x features; options are all that the method takes."""
    similarity = DenseSimilarity(S) if isinstance(S, np.ndarray) else S
    engine = make_engine(X, block_size=block_size, threads=threads)
    known: dict[str, Any] = {"codes": codes, "outcome": outcome, "weights": weights}
    made = problem_of(engine, similarity, options=options, memory=memory, seed=seed, **known)
    return replace(made, context=replace(made.context, given=tuple(given)))


def problem_of(
    engine: Engine,
    similarity: Similarity | None = None,
    *,
    codes: np.ndarray | None = None,
    outcome: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    design: np.ndarray | None = None,
    options: dict[str, Any] | None = None,
    memory: int = HELD,
    seed: int = 0,
) -> Problem:
    """Return a problem over the matrix of an engine; classes are named by their codes.

    An `outcome`, a number of each sample, takes the place of classes.
    """
    classes = [] if codes is None else [str(c) for c in range(int(codes.max(initial=-1)) + 1)]
    labels = None if codes is None else Labels(codes, classes)
    if outcome is not None:
        labels = Labels(np.full(len(outcome), -1), [], outcome)
    quiet = Messages(verbosity=-1)
    context = RunContext(engine, labels, memory, seed, quiet, sample_weights=weights, design=design)
    return Problem(context, similarity, options or {})


# ---------------------------------------------------------------------------- in files


def table_text(
    values: np.ndarray,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str = ",",
) -> str:
    """Return a table with its ids; NaN is an empty field."""
    rows = names("g", len(values)) if rows is None else rows
    columns = names("s", values.shape[1]) if columns is None else columns
    lines = [delimiter.join(["id", *columns])]
    for name, row in zip(rows, values.tolist(), strict=True):
        lines.append(delimiter.join([name, *("" if v != v else str(v) for v in row)]))
    return "\n".join(lines) + "\n"


def write_table(
    path: Path,
    values: np.ndarray,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> str:
    """Write comma-separated text."""
    path.write_text(table_text(values, rows, columns))
    return str(path)


def write_parquet(
    path: Path,
    values: np.ndarray,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    **options: Any,
) -> str:
    """Write Parquet with a column of ids and one for each column of the values."""
    rows = names("g", len(values)) if rows is None else rows
    columns = names("s", values.shape[1]) if columns is None else columns
    made = {"id": pa.array(list(rows), pa.string())}
    made |= {name: pa.array(np.ascontiguousarray(c)) for name, c in zip(columns, values.T)}
    pq.write_table(pa.table(made), path, **options)
    return str(path)


def annotated(
    stored: Any,
    features: Sequence[str] | None = None,
    samples: Sequence[str] | None = None,
    **parts: Any,
) -> Any:
    """Return AnnData of samples x features, dense or sparse."""
    import anndata as ad  # which takes more than a second, and few tests need it

    n, m = stored.shape
    obs = pd.DataFrame(index=names("s", n) if samples is None else list(samples))
    var = pd.DataFrame(index=names("g", m) if features is None else list(features))
    return ad.AnnData(stored, obs=obs, var=var, **parts)


def write_labels(
    path: Path,
    classes: Sequence[object],
    samples: Sequence[str] | None = None,
    column: str = "tissue",
) -> str:
    """Write a table of one class for each sample; classes that are codes become c0, c1, ..."""
    samples = names("s", len(classes)) if samples is None else samples
    given = [label if isinstance(label, str) else f"c{label}" for label in classes]
    rows = [f"{sample}\t{label}\n" for sample, label in zip(samples, given)]
    path.write_text(f"sample\t{column}\n" + "".join(rows))
    return str(path)


# ---------------------------------------------------------------------------- as GEO writes them


def series_matrix(
    values: np.ndarray,
    features: Sequence[str],
    titles: Sequence[str],
    lines: Sequence[tuple[str, Sequence[str]]] = (),
    end: str = "\n",
) -> str:
    """Return a series matrix of GEO with features in rows; accessions are GSM1, GSM2, ..."""
    accessions = [f"GSM{i}" for i in range(1, len(titles) + 1)]

    def row(name: str, fields: Sequence[str]) -> str:
        return "\t".join([name, *(f'"{field}"' for field in fields)])

    text = [
        row("!Series_title", ['Expression of ""x"" in, say, tumours']),
        row("!Series_supplementary_file", ["ftp://host/series/GSE9/suppl/GSE9_counts.txt.gz"]),
        "",
        row("!Sample_title", titles),
        row("!Sample_geo_accession", accessions),
        row("!Sample_status", ["Public on Jan 01 2010", *["Public"] * (len(titles) - 1)]),
        *(row(f"!Sample_{name}", fields) for name, fields in lines),
        row("!Sample_contact_name", titles),
        "!series_matrix_table_begin",
        row('"ID_REF"', accessions),
    ]
    for name, of_feature in zip(features, values, strict=True):
        numbers = ("" if np.isnan(v) else repr(float(v)) for v in of_feature)
        text.append("\t".join([f'"{name}"', *numbers]))
    return end.join([*text, "!series_matrix_table_end", ""])


def with_objects(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts are objects, as they are written; pandas 3 reads them as `str`."""
    texts = [name for name in table if table[name].dtype.kind == "O"]
    table = table.astype(dict.fromkeys(texts, object))
    return table.set_index(table.index.astype(object))
