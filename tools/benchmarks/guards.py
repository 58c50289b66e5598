"""How often each warning is given on real data, and whether what it proposes runs.

usage: python -m tools.benchmarks.guards DATA ... [--only NAME ...] [--out FILE.md] [--texts]

Each matrix is ranked by the default method, without labels and with them, by a score of each
feature on the default sample graph (spec), and by tests of the labels: f-test, t-test and welch of
two classes, and f-test with --voom of counts. Counts and intensities are transformed as they need,
and are also ranked as they are (raw values), which is the one column where a warning is due. Large
matrices are thinned to 2,000 features and 300 samples. A warning that is given on more than a third
of the analyses of a kind is no longer read: it is marked. The option that a warning proposes is
added to the command, which has to run; it has helped where the warning is then no longer given.
A second folder of data is what
`python -m tools.benchmarks.r_collections` makes of 24 labelled sets of nine R packages.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sfs_cli.options.guards import GUARDS
from tools.benchmarks.table import ROOT

FEATURES, SAMPLES = 2000, 300
OFTEN = 1 / 3
OTHER = "(others)"
"""Warnings that have no name."""
RAW = "raw values"
CPM, LOG = ("--transform", "cpm,log1p"), ("--transform", "log1p")
MEDIAN = ("--transform", "median,log1p")
FLOOR = ("--transform", "floor:20,log2")


class Data(NamedTuple):
    """A matrix below the folder of the data, with what is asked of it."""

    path: str
    transform: tuple[str, ...] = ()  # that the values need
    counts: bool = False
    options: tuple[str, ...] = ()  # that it needs in any case
    labels: str = "labels.tsv"


SETS = (
    Data("allaml/expression.parquet"),
    Data("colon/expression.parquet", LOG),
    Data("leukemia/expression.gct", FLOOR),
    Data("medulloblastoma/expression.parquet", FLOOR),
    Data("prostate_ge/expression.parquet"),
    Data("tox171/expression.parquet", LOG),
    Data("methylation/expression.parquet"),
    Data("nci60/transporters.parquet", options=("--missing", "mean")),
    Data("nci60/compounds.parquet", options=("--missing", "mean")),
    Data("tcga_brca/mrna.parquet"),
    Data("tcga_brca/mirna.parquet"),
    Data("tcga_brca/protein.parquet"),
    Data("rosmap/mrna.parquet"),
    Data("rosmap/mirna.parquet"),
    Data("rosmap/methylation.parquet"),
    Data("thyroid_paired/mrna.parquet", CPM, counts=True),
    Data("thyroid_paired/mirna.parquet", CPM, counts=True),
    Data("cells/celseq2_3.h5ad", MEDIAN, counts=True, labels="obs:label"),
    Data("cells/dropseq3.h5ad", MEDIAN, counts=True, labels="obs:label"),
    Data("pbmc68k_reduced/10x_pbmc68k_reduced.h5ad", labels="obs:bulk_labels"),
    Data("relathe/expression.parquet", MEDIAN, counts=True),
    Data("sample_data/expression.csv", labels="labels.tsv:tissue"),
    Data("sample_data/mirna.csv", labels="labels.tsv:status"),
    *(
        Data(f"{name}/expression.parquet", FLOOR)
        for name in ("borovecki", "chowdary", "gordon", "nakayama", "shipp")
    ),
    *(
        Data(f"{name}/expression.parquet")
        for name in (
            "gravier",
            "khan",
            "liver_toxicity",
            "lymphoma",
            "nakai",
            "nutrimouse",
            "sacurine",
            "sorlie",
            "stemcells",
            "su",
            "subramanian",
            "vac18",
            "west",
        )
    ),
    Data("breast_tumors/expression.parquet", options=("--missing", "mean")),
    *(
        Data(f"{name}/expression.parquet", CPM, counts=True)
        for name in ("arab", "marioni", "zebrafish")
    ),
    *(Data(f"{name}/expression.parquet", MEDIAN, counts=True) for name in ("es_mef", "pollen")),
)


class Analysis(NamedTuple):
    """A command, without `sfs rank`, the data that it is of and its kind."""

    data: str
    kind: str
    words: list[str]


class Told(NamedTuple):
    """A warning by its name, and what it proposes: the words of an option, if any."""

    name: str
    text: str
    proposed: list[str]


def thinned(path: Path, labels: str, folder: Path) -> tuple[Path, str, int]:
    """Return a matrix, its labels, and its number of classes, with no more than is ranked here."""
    rng = np.random.default_rng(0)

    def some(count: int, most: int) -> np.ndarray:
        return np.sort(rng.permutation(count)[:most])

    copy = folder / f"{path.parent.name}-{path.name}"
    if path.suffix == ".h5ad":
        import anndata

        data = anndata.read_h5ad(path)
        data = data[some(data.n_obs, SAMPLES), some(data.n_vars, FEATURES)].copy()
        data.write_h5ad(copy)
        return copy, labels, data.obs[labels.removeprefix("obs:")].nunique()
    file, _, column = labels.partition(":")
    table = pd.read_csv(path.parent / file, sep="\t", dtype=str)
    table = table.set_index(table.columns[0])
    spec = str(path.parent / labels)
    if path.suffix == ".gct":
        return path, spec, table[column or "label"].nunique()
    values = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    chosen = 1 + some(values.shape[1] - 1, SAMPLES)
    values = values.iloc[some(len(values), FEATURES), [0, *chosen]]
    copy = copy.with_suffix(".parquet")
    values.to_parquet(copy, index=False)
    known = table.loc[[*values.columns[1:]], column or "label"]
    return copy, spec, known.nunique()


def analyses(data: list[Path], folder: Path, only: list[str]) -> Iterator[Analysis]:
    """Yield what is asked of each matrix that is there; what is not is named."""
    for each in SETS:
        if only and not any(word in each.path for word in only):
            continue
        path = next((at / each.path for at in (*data, ROOT) if (at / each.path).exists()), None)
        if path is None:
            print(f"{each.path} is left out: it is in no folder that was given", file=sys.stderr)
            continue
        matrix, labels, classes = thinned(path, each.labels, folder)
        matrix_and = [str(matrix), *each.options]
        labelled = [*matrix_and, "--labels", labels]
        tests = ["f-test", *(["t-test", "welch"] if classes == 2 else [])]
        if each.transform:
            yield Analysis(each.path, RAW, matrix_and)
            yield Analysis(each.path, RAW, labelled)
        yield Analysis(each.path, "default", [*matrix_and, *each.transform])
        yield Analysis(each.path, "default, labels", [*labelled, *each.transform])
        yield Analysis(each.path, "spec", [*matrix_and, *each.transform, "--method", "spec"])
        for test in tests:
            yield Analysis(each.path, "tests", [*labelled, *each.transform, "--method", test])
        if each.counts:
            yield Analysis(each.path, "voom", [*labelled, "--method", "f-test", "--voom"])


def rank(words: list[str], out: Path) -> tuple[int, list[str], str]:
    """Run `sfs rank`; return its exit code, its warnings and its messages."""
    from sfs_cli.cli.app import run

    said = StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = run(["rank", *words, "--out", str(out), "--force", "-v", "--threads", "1"])
    record = json.loads((out / "run.json").read_text()) if code == 0 else {}
    return code, record.get("warnings", []), said.getvalue()


def read(text: str) -> Told:
    """Return the name of a warning, and the first option that it proposes."""
    named = re.search(r" \[([a-z-]+)\]$", text)
    bare = text[: named.start()] if named else text
    option = re.search(r"give (--[a-z0-9-]+(?: (?!which |without )[^\s;()]+)?)", bare)
    proposed = option.group(1).rstrip(",").split() if option else []
    return Told(named.group(1) if named else OTHER, text, proposed)


def added(words: list[str], option: list[str]) -> list[str]:
    """Return a command with an option in place of the one that it has."""
    words = [*words]
    if option[0] in words:
        at = words.index(option[0])
        del words[at : at + len(option)]
    return [*words, *option]


def measured(
    data: list[Path], only: list[str], texts: bool
) -> tuple[pd.DataFrame, pd.DataFrame, Counter[str]]:
    """Return the warnings of each analysis, what became of proposals, and how many of a kind."""
    rows, tries, kinds = list[dict[str, Any]](), list[dict[str, Any]](), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="sfs-warnings-") as name:
        folder = Path(name)
        for each in analyses(data, folder, only):
            code, warnings, log = rank(each.words, folder / "out")
            kinds[each.kind] += 1
            if code:
                raise SystemExit(f"{' '.join(each.words)} fails:\n{log}")
            told = [*map(read, warnings)]
            rows.append({"kind": each.kind, "count": len(told), "names": [t.name for t in told]})
            for one in told:
                if texts:
                    print(f"{each.data} | {each.kind} | {one.name}: {one.text}", file=sys.stderr)
                if not one.proposed:
                    continue
                code, after, log = rank(added(each.words, one.proposed), folder / "again")
                if code:
                    print(f"{each.words} {one.proposed} fails:\n{log}", file=sys.stderr)
                helped = code == 0 and one.name not in [t.name for t in map(read, after)]
                tries.append({"name": one.name, "runs": code == 0, "helps": helped})
    return pd.DataFrame(rows), pd.DataFrame(tries), kinds


def report(rows: pd.DataFrame, tries: pd.DataFrame, kinds: Counter[str]) -> str:
    """Return a Markdown table of the warnings: how often, and what became of the proposals."""
    lines = [
        f"Of {len(rows)} analyses, {(rows['count'] == 0).mean():.0%} have no warning and "
        f"{(rows['count'] > 3).sum()} more than three.",
        "",
        f"| warning | {' | '.join(f'{kind} ({count})' for kind, count in kinds.items())} | "
        "proposals that run | and help |",
        "|" + "---|" * (len(kinds) + 3),
    ]
    for name in (*GUARDS, OTHER):
        given = [
            sum(name in names for names in rows.loc[rows["kind"] == kind, "names"])
            for kind in kinds
        ]
        if not any(given):
            continue
        cells = [
            f"{count}{' (often)' if kind != RAW and count > OFTEN * of else ''}" if count else ""
            for count, (kind, of) in zip(given, kinds.items())
        ]
        of_name = tries[tries["name"] == name] if len(tries) else tries
        made = ["", ""]
        if len(of_name):
            made = [f"{of_name[what].sum()} of {len(of_name)}" for what in ("runs", "helps")]
        lines.append(f"| `{name}` | {' | '.join([*cells, *made])} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", type=Path, help="folders of the data sets")
    parser.add_argument("--only", action="append", default=[], help="paths with these words alone")
    parser.add_argument("--texts", action="store_true", help="print each warning on stderr")
    parser.add_argument("--out", type=Path, help="Markdown file, not stdout")
    given = parser.parse_args()
    text = report(*measured([at.absolute() for at in given.data], given.only, given.texts))
    if given.out is None:
        print(text, end="")
        return
    told = " ".join(__doc__.split("\n\n")[2].split())
    command = "```bash\npython -m tools.benchmarks.guards DATA ... --out docs/warnings.md\n```"
    page = f"# How often warnings are given\n\n{told}\n\n{command}\n\n{text}"
    given.out.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
