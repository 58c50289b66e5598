"""Run some 180 commands with two checkouts of the project, and compare what they write.

    python -m tools.compare OLD NEW [--only REGEX] [--gone REGEX] [--notes] [--out FILE.md]

OLD and NEW are folders with ``sfs_cli`` in them; each is run with the Python of its own ``.venv``,
or with that of this command. Numbers in tables, arrays and JSON have to agree to ten digits, every
step has to end as it should and with the same exit code, and no file, column or key may be gone
but those of ``--gone``. What is new, words of JSON and of refusals that changed and files of other
kinds are notes; keys and columns that tell of the run and its machine take no part.
The commands stand in ``compare_commands.txt``, which says how they are written. Ends with 1 where
anything differs.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import anndata as ad
import numpy as np
import pandas as pd
from scipy import sparse

COMMANDS = Path(__file__).with_name("compare_commands.txt")
DIGITS = 1e-10
"""How far two numbers may be apart, as a part of the larger one, ..."""
ROUNDING = 16 * np.finfo(float).eps
"""... or of the largest one of their column."""
PROBABILITIES = re.compile(r"(^|_)(p_value|q_value|p_adjusted)(_|$)")
"""Columns in which a number far below the largest one is worth as much."""
OF_THE_RUN = re.compile(
    r"(.*_)?(seconds|started|finished|modified|memory|bytes|sha256|digest|fingerprint|versions?)"
    r"|seconds_.*|command|path|home"
)
"""Keys and columns whose values tell of the run, its machine and its folders, not of the result."""
DRAWN = re.compile(r"(?<=/parts/)[0-9a-f]{12}(?=/)")
"""The name of the folder of what the shards of a plan make."""
GONE = r"(.*: )?gone: (key (.*\.)?|file (.*/)?|\w+ )({})"
"""How a difference reads that ``--gone`` forgives: a key or a file by the end of its path."""
TIMEOUT = 300
MOST = 8
"""Differences of a command that are told."""


# ---- the commands ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Command:
    """What is run on each side, in steps; both lines are the same unless the grammar differs."""

    group: str
    old: str
    new: str

    @property
    def refused(self) -> bool:
        return self.group == "refused"

    @property
    def name(self) -> str:
        return f"{self.group}: {self.old}"


def read_commands(only: str = "") -> list[Command]:
    """Return the commands of the list that fit a regular expression."""
    found, group, pattern = [], "", "{}"
    for line in COMMANDS.read_text(encoding="utf-8").splitlines():
        if head := re.fullmatch(r"\[(.+?)\] (.+)", line):
            group, pattern = head.groups()
        elif line.strip() and not line.startswith("#"):
            old, _, new = line.partition(" => ")
            sides = [pattern.replace("{}", "" if text == "." else text) for text in (old, new)]
            found.append(Command(group, sides[0], sides[1] if new else sides[0]))
    return [command for command in found if re.search(only, command.name)]


@dataclass(frozen=True)
class Ended:
    """How a step ended; no code where it did not end in time."""

    code: int | None
    out: bytes
    err: bytes

    @property
    def refused(self) -> bool:
        """Whether it is an error of the user that is told."""
        return self.code is not None and 1 < self.code < 126 and b"Traceback" not in self.err

    @property
    def said(self) -> str:
        return " ".join(self.err.decode("utf-8", "replace").strip().splitlines()[:1])


@dataclass(frozen=True)
class Side:
    """A checkout, and the folder in which its commands are run."""

    checkout: Path
    inputs: Path
    work: Path

    def run(self, line: str, number: int) -> tuple[list[Ended], Path]:
        """Run the steps of a command in a fresh folder; return how they ended, and the folder."""
        python = self.checkout / ".venv" / "bin" / "python"
        words = [str(python) if python.exists() else sys.executable, "-m", "sfs_cli"]
        variables = {"PYTHONPATH": str(self.checkout), "COLUMNS": "100", "NO_COLOR": "1"}
        folder = self.work / f"{number:03}"
        folder.mkdir(parents=True)
        (folder / "in").symlink_to(self.inputs)
        done = []
        for step in line.split(" ; "):
            try:
                run = subprocess.run(
                    [*words, *shlex.split(step)],
                    cwd=folder,
                    env=os.environ | variables,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=TIMEOUT,
                    check=False,
                )
                done.append(Ended(run.returncode, run.stdout, run.stderr))
            except subprocess.TimeoutExpired:
                done.append(Ended(None, b"", f"no end after {TIMEOUT} s".encode()))
        (folder / "in").unlink()
        return done, folder


# ---- what is different -------------------------------------------------------------------------


@dataclass
class Found:
    """What differs between two results, and what is worth a note."""

    differences: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def only(self, what: str, old: set[str], new: set[str]) -> None:
        """Tell the names that are gone, each on its own, and those that are new."""
        self.differences += [f"gone: {what} {name}" for name in sorted(old - new)]
        if new - old:
            self.notes.append(f"new: {what} {', '.join(sorted(new - old))}")


def apart(old: Any, new: Any, rounding: float = ROUNDING) -> np.ndarray:
    """Return where numbers differ in ten digits, and by more than rounding; NaN equals NaN."""
    a, b = np.asarray(old, float), np.asarray(new, float)
    finite = np.abs(a[np.isfinite(a)])
    allowed = DIGITS * np.maximum(np.abs(a), np.abs(b)) + rounding * finite.max(initial=0)
    with np.errstate(invalid="ignore"):
        near = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= allowed)
        return ~(near | (a == b) | (np.isnan(a) & np.isnan(b)))


def read_table(content: bytes, suffix: str) -> pd.DataFrame:
    """Return a table whose columns are numbers where all of their cells are."""
    if suffix == ".parquet":
        return pd.read_parquet(io.BytesIO(content)).reset_index()
    table = pd.read_csv(
        io.BytesIO(content),
        sep="," if suffix == ".csv" else "\t",
        header=None if suffix in (".rnk", ".txt") else "infer",
        dtype=str,
        na_filter=False,
    )
    for name in table:
        numbers = pd.to_numeric(table[name].replace({"": "nan", "NA": "nan"}), errors="coerce")
        if (numbers.isna() == table[name].isin(["", "NA", "nan", "NaN"])).all():
            table[name] = numbers
    return table


def compare_tables(old: pd.DataFrame, new: pd.DataFrame, found: Found) -> None:
    """Compare columns by their names, and rows by the first column whose texts are unique."""
    old.columns, new.columns = old.columns.map(str), new.columns.map(str)
    names = [list(map(str, side.columns)) for side in (old, new)]
    found.only("column", *map(set, names))
    if set(names[0]) == set(names[1]) and names[0] != names[1]:
        found.notes.append("the columns have another order")
    if len(old) != len(new):
        found.differences.append(f"{len(old)} rows, now {len(new)}")
        return
    shared = [name for name in names[0] if name in names[1] and not OF_THE_RUN.fullmatch(name)]
    texts = [name for name in shared if not pd.api.types.is_numeric_dtype(old[name])]
    texts.sort(key=lambda name: name != "feature")
    key = next((name for name in texts if old[name].is_unique and new[name].is_unique), None)
    if key is not None:
        if set(old[key]) != set(new[key]):
            found.differences.append(f"other ids in {key}")
            return
        if all("rank" in side and counts_up(side["rank"]) for side in (old, new)):
            shared.remove("rank")  # told by the order
        compare_order(old, new, key, found)
        new = new.set_index(key).loc[old[key]].reset_index()
    for name in shared:
        one, other = old[name], new[name]
        if pd.api.types.is_numeric_dtype(one) and pd.api.types.is_numeric_dtype(other):
            wrong = apart(one, other, 0 if PROBABILITIES.search(name) else ROUNDING)
        else:
            wrong = (one.astype(str) != other.astype(str)).to_numpy()
        if wrong.any():
            at = int(np.argmax(wrong))
            where = f" of {old[key].iloc[at]}" if key else f", row {at + 1}"
            values = f"{one.iloc[at]}, now {other.iloc[at]}"
            found.differences.append(f"{name}{where}: {values} ({wrong.sum()} of {len(old)} rows)")


def counts_up(column: pd.Series) -> bool:
    """Tell whether a column is 1, 2, 3, ..."""
    return column.tolist() == list(range(1, len(column) + 1))


def compare_order(old: pd.DataFrame, new: pd.DataFrame, key: str, found: Found) -> None:
    """Rows may change places only where their scores are equal in ten digits."""
    before, after = old[key].tolist(), new[key].tolist()
    moved = [i for i, (one, other) in enumerate(zip(before, after)) if one != other]
    if moved and "score" in old and pd.api.types.is_numeric_dtype(old["score"]):
        score = old.set_index(key)["score"]
        ties = ~apart(score.loc[before], score.loc[after])
        moved = [i for i in moved if not ties[i]]
    if moved:
        at = moved[0]
        text = f"row {at + 1} is {before[at]}, now {after[at]} ({len(moved)} rows in all)"
        found.differences.append(f"the order: {text}")


def compare_facts(old: Any, new: Any, found: Found, where: str = "") -> None:
    """Compare the numbers of two JSON documents; a name may have got parameters."""
    if isinstance(old, str) and isinstance(new, dict) and new.get("name") == old:
        new = old
    if isinstance(old, dict) and isinstance(new, dict):
        names = [{key for key in side if not OF_THE_RUN.fullmatch(key)} for side in (old, new)]
        found.only("key", *({f"{where}.{key}" for key in side} for side in names))
        for key in sorted(names[0] & names[1]):
            compare_facts(old[key], new[key], found, f"{where}.{key}")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            told = found.differences if len(old) > len(new) else found.notes
            told.append(f"{where}: {len(old)} items, now {len(new)}")
        for i, (one, other) in enumerate(zip(old, new)):
            compare_facts(one, other, found, f"{where}[{i}]")
    elif not isinstance(old, str) or not isinstance(new, str):
        floats = all(type(side) in (int, float) for side in (old, new)) and float in (
            type(old),
            type(new),
        )
        if apart([old], [new])[0] if floats else (old != new or type(old) is not type(new)):
            found.differences.append(f"{where}: {str(old)[:80]}, now {str(new)[:80]}")
    elif old != new:
        found.notes.append(f"{where}: {str(old)[:80]!r}, now {str(new)[:80]!r}")


def compare_contents(old: bytes, new: bytes, suffix: str, found: Found) -> None:
    """Compare two files, or what was printed, by their kind."""
    if old == new:
        return
    if suffix in (".tsv", ".csv", ".parquet", ".rnk", ".txt"):
        compare_tables(read_table(old, suffix), read_table(new, suffix), found)
    elif suffix == ".json":
        compare_facts(json.loads(old), json.loads(new), found)
    elif suffix == ".npz":
        with np.load(io.BytesIO(old)) as one, np.load(io.BytesIO(new)) as other:
            compare_parts(dict(one), dict(other), "array", found)
    elif suffix == ".h5ad":
        before, after = read_h5ad(old), read_h5ad(new)
        compare_tables(before.obs.reset_index(), after.obs.reset_index(), found)
        compare_tables(before.var.reset_index(), after.var.reset_index(), found)
        for part in ("X", "layers", "obsm", "varm", "obsp", "varp"):
            compare_parts(parts_of(before, part), parts_of(after, part), part, found)
        compare_facts(facts_of(before), facts_of(after), found)
    else:
        found.notes.append("other bytes, not compared")


def read_h5ad(content: bytes) -> ad.AnnData:
    with tempfile.NamedTemporaryFile(suffix=".h5ad") as file:
        file.write(content)
        file.flush()
        return ad.read_h5ad(file.name)


def parts_of(data: ad.AnnData, part: str) -> dict[str, np.ndarray]:
    """Return the matrices of a part by their names, dense ones."""
    held = {"": data.X} if part == "X" else dict(getattr(data, part))
    return {name: dense(value) for name, value in held.items()}


def facts_of(data: ad.AnnData) -> Any:
    """Return `uns` as JSON has it."""
    return json.loads(json.dumps(data.uns, default=plain))


def dense(value: Any) -> np.ndarray:
    """Return an array of what may be sparse, or a table."""
    return np.asarray(value.toarray() if hasattr(value, "toarray") else value)


def compare_parts(
    old: dict[str, np.ndarray], new: dict[str, np.ndarray], what: str, found: Found
) -> None:
    """Compare arrays by their names."""
    found.only(what, set(old), set(new))
    for name in sorted(set(old) & set(new)):
        compare_arrays(old[name], new[name], f"{what} {name}".strip(), found)


def plain(value: Any) -> Any:
    """Return what json can write of an array, a number of NumPy or a table."""
    if isinstance(value, pd.DataFrame):
        return value.to_dict("list")
    return dense(value).tolist()


def compare_arrays(old: np.ndarray, new: np.ndarray, name: str, found: Found) -> None:
    if old.shape != new.shape or old.dtype.kind != new.dtype.kind:
        found.differences.append(f"{name}: {old.dtype} {old.shape}, now {new.dtype} {new.shape}")
        return
    wrong = apart(old, new) if old.dtype.kind == "f" else old != new
    if wrong.any():
        found.differences.append(f"{name}: {wrong.sum()} of {wrong.size} values")


def printed_kind(out: bytes) -> str:
    """Return the suffix that a file of what was printed would have; empty for plain words."""
    if out.startswith((b"{", b"[")):
        return ".json"
    return ".tsv" if out.startswith(b"rank\t") else ""


def compare(command: Command, number: int, sides: tuple[Side, Side]) -> Found:
    """Run a command on both sides, and compare how it ended and what it wrote."""
    found = Found()
    (old, old_folder), (new, new_folder) = (
        side.run(line, number) for side, line in zip(sides, (command.old, command.new))
    )
    for one, other in zip_longest(old, new):
        if one is None or other is None:
            found.differences.append("one side has more steps")
        elif one.code != other.code:
            found.differences.append(f"exit code {one.code}, now {other.code}: {other.said}")
        elif not (other.refused if command.refused else other.code == 0):
            found.differences.append(f"both end with {one.code}: {other.said}")
        elif kind := printed_kind(one.out) or printed_kind(other.out):
            compare_part("stdout", one.out, other.out, kind, found)
        elif (one.out, one.said) != (other.out, other.said) and (command.refused or one.out):
            found.notes.append(f"other words: {one.said!r}, now {other.said!r}")
    before, after = files_of(old_folder), files_of(new_folder)
    found.only("file", set(before), set(after))
    for name in sorted(set(before) & set(after)):
        contents = before[name].read_bytes(), after[name].read_bytes()
        compare_part(name, *contents, Path(name).suffix, found)
    return found


def files_of(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by their names, without what is drawn anew for each plan."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {DRAWN.sub("*", str(path.relative_to(folder))): path for path in files}


def compare_part(where: str, old: bytes, new: bytes, suffix: str, found: Found) -> None:
    """Compare one file, and tell what was found with its name."""
    own = Found()
    try:
        compare_contents(old, new, suffix, own)
    except Exception as error:  # of any library that reads it: the others are compared all the same
        own.differences.append(f"cannot be compared: {error!r}")
    found.differences += [f"{where}: {text}" for text in own.differences]
    found.notes += [f"{where}: {text}" for text in own.notes]


# ---- the inputs --------------------------------------------------------------------------------


def write_inputs(folder: Path) -> None:
    """Write a simulated study, what is known of its samples and genes, and some wrong files."""
    folder.mkdir(parents=True)
    rng, n, m = np.random.default_rng(20_260), 48, 160
    samples = pd.Index([f"s{i:02}" for i in range(n)], name="sample")
    genes = pd.Index([f"g{i:03}" for i in range(m)], name="gene")
    tissue = np.arange(n) % 4
    X = 8 + rng.normal(size=(m, n)) * rng.uniform(0.4, 1.6, (m, 1))
    X[:30] += 1.6 * rng.normal(size=(30, 4))[:, tissue]
    X[30:45] += rng.normal(0, 1.2, (15, 1)) * (np.arange(n) // 4 % 2)
    X[100], X[101], X[120] = 3.5, 0.0, X[3]
    table = pd.DataFrame(X.round(4), genes, samples)
    write_matrices(folder, table, rng)
    columns = pd.DataFrame(
        {
            "tissue": np.array(["colon", "kidney", "liver", "lung"])[tissue],
            "status": np.where(np.arange(n) // 4 % 2, "tumour", "normal"),
            "batch": np.where(np.arange(n) % 3, "a", "b"),
            "donor": [f"d{i // 2}" for i in range(n)],
            "age": rng.integers(30, 80, n),
            "weight": rng.uniform(0.5, 2, n).round(3),
            "time": rng.exponential(20, n).round(1) + 1,
            "dead": rng.integers(0, 2, n),
        },
        index=samples,
    )
    columns.to_csv(folder / "samples.tsv", sep="\t")
    columns.iloc[:40].to_csv(folder / "some.tsv", sep="\t")
    columns.assign(tissue=columns["tissue"].where(tissue > 0, "")).to_csv(
        folder / "half.tsv", sep="\t"
    )
    places = pd.DataFrame(rng.random((n, 2)).round(4), samples, ["x", "y"])
    places.to_csv(folder / "places.tsv", sep="\t")
    write_cells(folder, columns, rng)
    write_knowledge(folder, table, rng)
    for name in ("a", "b"):
        order = pd.Series(genes[rng.permutation(60)], name="gene")
        order.to_frame().assign(rank=range(1, 61)).to_csv(
            folder / f"list_{name}.tsv", sep="\t", index=False
        )
    (folder / "run.yaml").write_text(
        "matrix: m.csv\nmethod: msfs\nsource:\n  all: {kind: target}\n"
        "  mirna: {kind: profile, path: mirna.csv, similarity: knn, neighbors: 6}\n"
    )


def write_matrices(folder: Path, table: pd.DataFrame, rng: np.random.Generator) -> None:
    table.to_csv(folder / "m.csv")
    table.to_csv(folder / "m.tsv.gz", sep="\t")
    table.reset_index().to_parquet(folder / "m.parquet", index=False)
    table.T.to_csv(folder / "turned.csv")
    gaps = table.mask(rng.random(table.shape) < 0.01)
    gaps.to_csv(folder / "gaps.csv")
    many = pd.DataFrame(rng.normal(5, 1, (24, 2050)).round(3), index=[f"w{i}" for i in range(24)])
    many += rng.normal(size=(24, 3))[:, np.arange(2050) % 3]
    many.columns = [f"x{i}" for i in many]
    many.rename_axis("gene").reset_index().to_parquet(folder / "many.parquet", index=False)
    lines = table.to_csv().splitlines()
    (folder / "word.csv").write_text("\n".join([*lines[:3], lines[3].replace(".", "x", 1)]))
    (folder / "ragged.csv").write_text("\n".join([*lines[:5], lines[5].rpartition(",")[0]]))
    (folder / "twice.csv").write_text("\n".join([lines[0].replace("s01", "s00"), *lines[1:]]))
    (folder / "empty.csv").write_text("")
    (folder / "cut.parquet").write_bytes((folder / "m.parquet").read_bytes()[:2000])


def write_cells(folder: Path, columns: pd.DataFrame, rng: np.random.Generator) -> None:
    n, m = len(columns), 120
    rate = rng.gamma(0.8, 0.8, (m, 1)) * np.exp(0.8 * rng.normal(size=(m, 4)))[:, np.arange(n) % 4]
    counts = rng.poisson(3 * rate).astype(np.float32).T
    near = np.exp(-((np.log1p(counts)[:, None] - np.log1p(counts)[None]) ** 2).sum(2) / 40)
    data = ad.AnnData(
        sparse.csr_matrix(counts),
        obs=columns.astype({"tissue": "category", "status": "category"}),
        var=pd.DataFrame(index=[f"c{i:03}" for i in range(m)]),
        obsm={"X_pca": np.linalg.svd(np.log1p(counts) - np.log1p(counts).mean(0))[0][:, :5]},
        obsp={
            "connectivities": sparse.csr_matrix(np.where(near > np.quantile(near, 0.8), near, 0))
        },
        layers={"doubled": sparse.csr_matrix(2 * counts)},
    )
    data.write_h5ad(folder / "cells.h5ad")
    data.write_zarr(folder / "cells.zarr")


def write_knowledge(folder: Path, table: pd.DataFrame, rng: np.random.Generator) -> None:
    genes, samples = table.index, table.columns
    mirna = 9 + rng.normal(size=(40, len(samples)))
    mirna[:12] += 1.4 * rng.normal(size=(12, 4))[:, np.arange(len(samples)) % 4]
    profile = pd.DataFrame(mirna.round(3), [f"r{i}" for i in range(40)], samples)
    profile.rename_axis("id").to_csv(folder / "mirna.csv")
    profile.iloc[:, :38].rename_axis("id").to_csv(folder / "mirna_some.csv")
    near = np.exp(-((mirna.T[:, None] - mirna.T[None]) ** 2).sum(2) / 60).round(12)
    pd.DataFrame(near, samples, samples).rename_axis("id").to_csv(folder / "S.csv")
    sets = [["SET" + str(k), "a set", *rng.choice(genes[:120], 24, False)] for k in range(6)]
    (folder / "sets.gmt").write_text("\n".join("\t".join(row) for row in sets) + "\n")
    (folder / "genes.txt").write_text("\n".join(genes[:25]) + "\n")
    annotated = [(g, f"GO:{t:07}") for g in genes[:110] for t in rng.choice(12, 2, False)]
    fields = "DB\tU\t{0}\t\t{1}\tPMID:1\tIDA\t\tP\t\t\tgene\tt\td\tb"
    (folder / "annotation.gaf").write_text(
        "\n".join(["!gaf-version: 2.2", *(fields.format(*pair) for pair in annotated)]) + "\n"
    )
    pairs = [(genes[a], genes[b]) for a, b in rng.integers(0, 90, (160, 2)) if a != b]
    edges = pd.DataFrame(pairs, columns=["gene_a", "gene_b"])
    edges.assign(score=rng.random(len(pairs)).round(3)).to_csv(
        folder / "edges.tsv", sep="\t", index=False
    )


# ---- the command line --------------------------------------------------------------------------


def report(found: dict[str, Found], notes: bool) -> Iterator[str]:
    """Yield the lines of the report: what differs, what is noted, and the counts."""
    for name, own in found.items():
        if own.differences or (notes and own.notes):
            yield f"- `sfs {name}`"
            yield from (f"  - **differs** {text}" for text in own.differences[:MOST])
            if len(own.differences) > MOST:
                yield f"  - and {len(own.differences) - MOST} more"
            yield from (f"  - {text}" for text in own.notes if notes)
    different = sum(bool(own.differences) for own in found.values())
    noted = sum(bool(own.notes) for own in found.values())
    yield ""
    yield "| commands | that differ | with notes |"
    yield "|---:|---:|---:|"
    yield f"| {len(found)} | {different} | {noted} |"


def main(arguments: list[str] | None = None) -> int:
    """Compare two checkouts; return 1 where anything differs."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.compare", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("old", type=Path, help="a checkout of the project")
    parser.add_argument("new", type=Path, help="another one")
    parser.add_argument("--only", default="", metavar="REGEX", help="commands that fit")
    parser.add_argument("--gone", metavar="REGEX", help="files, columns and keys meant to be gone")
    parser.add_argument("--notes", action="store_true", help="also what is new, and other words")
    parser.add_argument("--jobs", type=int, default=2, help="commands at a time (2)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where the report goes")
    given = parser.parse_args(arguments)
    commands = read_commands(given.only)
    if not commands:
        parser.error(f"no command fits {given.only}")
    try:
        meant = re.compile(GONE.format(given.gone)) if given.gone else None
    except re.error as error:
        parser.error(f"--gone {given.gone}: {error}")
    for checkout in (given.old, given.new):
        if not (checkout / "sfs_cli").is_dir():
            parser.error(f"{checkout} has no folder sfs_cli")
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(given.jobs) as pool:
        home = Path(place)
        write_inputs(home / "inputs")
        old, new = (
            Side(checkout.resolve(), home / "inputs", home / name)
            for name, checkout in (("old", given.old), ("new", given.new))
        )
        done = pool.map(lambda each: compare(each[1], each[0], (old, new)), enumerate(commands))
        found = {command.name: own for command, own in zip(commands, done)}
    if meant is not None:
        for own in found.values():
            own.notes += [text for text in own.differences if meant.fullmatch(text)]
            own.differences = [text for text in own.differences if not meant.fullmatch(text)]
    text = "\n".join(report(found, given.notes)) + "\n"
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return int(any(own.differences for own in found.values()))


if __name__ == "__main__":
    sys.exit(main())
