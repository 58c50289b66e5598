"""Matrices whose values are extreme, the commands that are run on them, and what they warn of."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sfs_cli.cli.app import run
from tests.making import write_labels, write_table

N, M = 12, 16
"""Samples and features."""
HUGE = 9.9e99
"""A little below the size from which values are refused."""
TINY = 2.0**-328
"""A little above the size below which a matrix is refused."""
CLASSES = ("a", "b") * (N // 2)


def plain() -> np.ndarray:
    """Features x samples: counts with a fraction, of which half follow the classes."""
    rng = np.random.default_rng(3)
    X = rng.gamma(2, 3, (M, N)) + np.arange(M)[:, None] % 4
    X[::2, ::2] += np.linspace(1, 4, M // 2)[:, None]
    return X


def matrices() -> dict[str, np.ndarray]:
    """Return features x samples by what is extreme about them."""
    X, rng = plain(), np.random.default_rng(4)
    spikes = np.zeros((M, N))
    spikes[np.arange(M), np.arange(M) % N] = rng.random(M) + 1
    one_spike = np.array(X)
    one_spike[1] = 0
    one_spike[1, 3] = HUGE
    mixed = X * 10.0 ** np.linspace(-300, 98, M)[:, None]
    gaps = np.array(X)
    gaps[rng.random(X.shape) < 0.2] = np.nan
    gaps[3] = np.nan
    some = np.array(X)
    some[::3] = 0
    constant = np.array(X)
    constant[::2] = HUGE
    return {
        "plain": X,
        "1e-300": X * 1e-300,
        "tiny": X * TINY,
        "denormal": X * 1e-310,
        "smallest": np.round(X) * 5e-324,
        "huge": X / X.max() * HUGE,
        "signed huge": (X - X.mean()) / X.max() * HUGE,
        "signed tiny": (X - X.mean()) * TINY,
        "many scales": mixed,
        "all constant": np.ones((M, N)),
        "half constant": constant,
        "all zero": np.zeros((M, N)),
        "some zero": some,
        "spikes": spikes,
        "spikes tiny": spikes * TINY,
        "one spike": one_spike,
        "offset": 1e12 + X * 1e-3,
        "huge offset": HUGE * (1 - X * 1e-14),
        "gaps": gaps,
        "gaps tiny": gaps * TINY,
        "two samples": X[:, :2],
        "two samples tiny": X[:, :2] * TINY,
        "three samples": X[:, :3],
        "two features": X[:2],
        "two features tiny": X[:2] * TINY,
        "two values": np.repeat(X[:, :1], N, 1) + (np.arange(N) % 2) * 1e-9,
        "equal samples": np.repeat(X[:, :2], N // 2, 1),
        "one sample apart": np.where(np.arange(N) == 5, X * 1e90, X),
    }


GRAPHS = (
    *("rbf", "knn", "geodesic,neighbors=3", "diffusion,neighbors=3", "relieff"),
    *("correlation", "linear", "car,neighbors=3", "knn-correlation", "label"),
    *("rbf,bandwidth=self-tuning", "rbf,bandwidth=1e-3", "knn,edge-weights=binary"),
    *("rbf,components=2", "knn --coordinates COORDINATES"),
)
ON_GRAPHS = ("spec", "spec --pvalues moments", "hsic")
METHODS = (
    *("variance", "fisher", "f-test", "t-test", "relieff,neighbors=2", "mutual-info", "seper"),
    *("variance --sample-weights WEIGHTS", "f-test --sample-weights WEIGHTS"),
    *("spec", "spec,ranking=phi1", "spec,ranking=phi3", "spec,gamma=exp"),
    *("spec,gamma-power=5", "spec,clusters=2,ranking=phi3", "laplacian"),
    *("laplacian --sample-weights WEIGHTS", "spec --sample-weights WEIGHTS"),
    *("sselect --select 3", "sselect,variant=cut-value --select 3"),
    *("gdcov", "gdcov,definition=1", "gdcov,gamma=inverse", "gdcov,gamma=heat:1"),
    *("gdcov-spca --select 3", "hsic", "trace-ratio --select 3"),
    *("trace-ratio,variant=laplacian --select 3", "mrsf --select 3"),
    *("mrsf,response=lda --select 3", "mrsf,response=svm --select 3"),
    *("mrsf,response=pca --select 3", "mrsf-rounds", "mrsf-rounds,response=lda"),
    *("l21,lambda=0.1", "l21,budget=1", "l21,lambda=0.1,response=lda", "rfs"),
    *("rfs,gamma=1e-3", "qalpha", "qalpha,variant=power", "qalpha,variant=ritz"),
    *("qalpha,variant=laplacian", "qalpha,variant=supervised", "qalpha,variant=kernel"),
    *("mrmr --select 3", "mrmr,variant=difference --select 3", "arom-svm --select 3"),
    *("spca --select 3", "msfs SOURCES", "msfs,then=gdcov SOURCES"),
    *(f"msfs SOURCES --weights {how}" for how in ("alignf", "rkda", "statis", "snf", "naml")),
    "msfs SOURCES --weights sparse-umkl",
    *(f"kogs,how={how},members=variance,fisher,spec" for how in ("borda", "rra")),
)
TESTS = (
    *("spec --pvalues moments", "spec --pvalues permutation,draws=20"),
    *("spec,ranking=phi1 --pvalues moments", "spec,ranking=phi3 --pvalues moments"),
    *("laplacian --pvalues moments", "gdcov --pvalues moments", "hsic --pvalues moments"),
    *("hsic --pvalues permutation,draws=20", "fisher --pvalues moments"),
    "spec --split features --pvalues moments",
)
AROUND = (
    *("variance --adjust COVARIATES:age", "variance --adjust COVARIATES:age,tissue"),
    *("variance --adjust COVARIATES:tiny", "variance --adjust COVARIATES:huge"),
    *("spec --adjust COVARIATES:tiny --pvalues moments", "mrsf-rounds --adjust COVARIATES:tiny"),
    *(
        "variance --stability 4",
        "f-test --stability bootstrap,subsets=4",
        "spec --stability 4",
    ),
    *("mrsf-rounds --stability 4", "variance --modules --out OUT", "spec --modules --out OUT"),
    *("variance --max-correlation 0.5", "f-test --batch COVARIATES:half"),
    *("f-test --label-type continuous --labels COVARIATES:age",),
    *("f-test --label-type continuous --labels COVARIATES:tiny",),
    *("relieff,neighbors=2 --label-type continuous --labels COVARIATES:tiny",),
    *("mutual-info --label-type continuous --labels COVARIATES:tiny",),
    *("mrsf-rounds,response=outcome --label-type continuous --labels COVARIATES:tiny",),
    *("rfs --label-type continuous --labels COVARIATES:tiny",),
    *("hsic --label-type continuous --labels COVARIATES:tiny",),
    *("spec --similarity outcome --label-type continuous --labels COVARIATES:huge",),
    *("mrsf-rounds --out OUT", "spec --similarity knn --out OUT", "f-test --out OUT"),
)
TRANSFORMS = (
    *("log1p", "log2", "zscore", "center", "unit", "rank", "cpm", "clr", "unit-samples"),
    *("pearson-residuals", "deviance", "quantile", "cpm,log1p", "cpm,log1p,zscore", "cpm,log2"),
    *("floor:1e-300,log2", "unit,unit-samples", "quantile,log1p", "zscore,rank", "center,unit"),
    *("cpm,cpm", "pearson-residuals,zscore", "unit-samples,zscore", "vst", "vst:tmm"),
)
COMMANDS = (
    "evaluate MATRIX --method variance --lengths 1 LABELS --splits 2 --repeats 1",
    "evaluate MATRIX --method f-test --lengths 1 LABELS --splits 2 --repeats 1 --leaky",
    "evaluate MATRIX --method variance --lengths 1 --sets SETS --out OUT",
    "compare MATRIX --method variance --method f-test --lengths 1 LABELS --splits 2 --repeats 1",
    "compare MATRIX --method variance --method seper --lengths 1",
    "fuse MATRIX SOURCES --out OUT.npz",
    "fuse MATRIX SOURCES --weights snf --out OUT.npz",
    "fuse MATRIX SOURCES --weights rkda LABELS --out OUT.npz",
    "inspect MATRIX",
)
AFTER = (
    *("select RESULT --top 1 --out OUT", "select RESULT --fdr 0.05"),
    "select RESULT --cv LABELS --splits 2 --repeats 1",
    *("report RESULT --out OUT.html", "report RESULT --sets SETS --out OUT.html"),
    *(f"aggregate RESULT RESULT2 --how {how}" for how in ("borda", "geometric", "rra")),
)
"""Commands on the results of a method, ``RESULT`` and ``RESULT2``."""
WITH_RESULTS = ("variance", "f-test", "mrsf-rounds", "spec --pvalues moments", "hsic --stability 4")
READING = ("rank", "evaluate", "compare", "fuse")


class Study:
    """The files of one matrix in a folder, and the commands on them."""

    def __init__(self, folder: Path, X: np.ndarray) -> None:
        folder.mkdir(exist_ok=True)
        n, rng = X.shape[1], np.random.default_rng(5)
        matrix = write_table(folder / "m.csv", X)
        labels = write_labels(folder / "labels.tsv", CLASSES[:n])
        ages = rng.random(n)
        columns = {
            "sample": [f"s{i}" for i in range(n)],
            "age": ages,
            "tiny": ages * 1e-300,
            "huge": ages * HUGE,
            "tissue": CLASSES[:n],
            "half": [f"h{i * 2 // n}" for i in range(n)],
            "w": [i % 3 for i in range(n)],
        }
        rows = [list(columns), *zip(*columns.values(), strict=True)]
        tables = {
            "covariates.tsv": "\n".join("\t".join(map(str, row)) for row in rows),
            "xy.csv": "sample,x,y\n" + "\n".join(f"s{i},{ages[i]},{i}" for i in range(n)),
            "sets.gmt": "A\t\tg0\tg1\tg2\nB\t\tg0\tg3\tg9",
        }
        for name, text in tables.items():
            (folder / name).write_text(text + "\n")
        self.folder, self._count = folder, 0
        self.names = {
            "MATRIX": matrix,
            "LABELS": f"--labels {labels}:tissue",
            "COVARIATES": f"{folder}/covariates.tsv",
            "WEIGHTS": f"{folder}/covariates.tsv:w",
            "COORDINATES": f"{folder}/xy.csv",
            "SETS": f"{folder}/sets.gmt",
            "SOURCES": f"--source a=target: --source b=labels:{labels}:tissue "
            f"--source c=profile:{matrix}",
        }

    def words(self, command: str) -> list[str]:
        """Return the words of a command, with the names of files in their places."""
        self._count += 1
        out = f"{self.folder}/out{self._count}"
        names = self.names | {
            end: end.replace("OUT", out) for end in ("OUT", "OUT.npz", "OUT.html")
        }
        found = []
        for word in command.split():
            start, colon, rest = word.partition(":")
            found += names.get(word, names.get(start, start) + colon + rest).split()
        if found[0] in READING:
            found += ["--missing", "mean", "--dtype", "float64"]
        if found[0] == "rank" and "--labels" not in found:
            found += names["LABELS"].split()
        return found

    def commands(self) -> Iterator[str]:
        """Yield all commands; where a result was written, those on it too."""
        yield from (*ranks(), *COMMANDS)
        self.names |= {"RESULT": f"{self.folder}/result", "RESULT2": f"{self.folder}/result2"}
        for method in WITH_RESULTS:
            yield f"rank MATRIX --method fisher --out {self.folder}/result2 --force"
            yield f"rank MATRIX --method {method} --out {self.folder}/result --force"
            if Path(self.names["RESULT"]).is_dir() and Path(self.names["RESULT2"]).is_dir():
                yield from AFTER


def emitted(words: Sequence[str]) -> tuple[int, list[str]]:
    """Run a command in this process; return its exit code and all warnings, of any thread."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        code = run(list(words))
    return code, [f"{w.category.__name__} {w.filename}:{w.lineno} {w.message}" for w in caught]


def ranks() -> Iterator[str]:
    """Yield all commands that rank."""
    for method in (*METHODS, *TESTS, *AROUND):
        yield f"rank MATRIX --method {method}"
    for graph in GRAPHS:
        for method in ON_GRAPHS:
            yield f"rank MATRIX --method {method} --similarity {graph}"
    for steps in TRANSFORMS:
        for method in ("variance", "spec --pvalues moments", "mrsf-rounds"):
            yield f"rank MATRIX --method {method} --transform {steps}"
