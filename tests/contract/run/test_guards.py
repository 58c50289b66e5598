"""The usual accidents are told, on made and on real data, and can be accepted."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sfs_cli.compute.context import Labels
from sfs_cli.graph.similarity import DenseSimilarity
from sfs_cli.parts import significance as step
from sfs_cli.run import guards
from sfs_cli.run.raw_values import raw_kind
from tests.making import names, write_labels, write_table
from tests.running import Sfs, run_here

IDS = [f"s{i}" for i in range(40)]


def _values(kind: str) -> np.ndarray:
    rng, shape = np.random.default_rng(11), (20, 40)
    return {
        "counts": lambda: rng.poisson(60, shape),
        "intensities": lambda: np.exp(rng.normal(6, 2, shape)),
        "negative intensities": lambda: rng.normal(0, 500, shape),
        "logarithms": lambda: rng.normal(8, 2, shape),
        "genotypes": lambda: rng.integers(0, 3, shape),
        "scores": lambda: rng.integers(0, 21, shape),
        "shallow counts": lambda: rng.poisson(rng.gamma(0.05, 8, shape)),  # of single cells
        "missing": lambda: np.full((3, 40), np.nan),
    }[kind]()


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("counts", "raw counts"),
        ("intensities", "intensities"),
        ("negative intensities", "intensities"),
        ("logarithms", None),
        ("genotypes", None),
        ("scores", None),
        ("shallow counts", "raw counts"),
        ("missing", None),
    ],
)
def test_values_without_logarithms(kind: str, word: str | None) -> None:
    raw = raw_kind(_values(kind).astype(np.float64))
    assert raw is None if word is None else word in str(raw)


def test_names_that_are_dates() -> None:
    names = ["2-Sep", "MAR-01", "1-mar", "HLA-A", "Sept-7", "NKX2-1", "12-Decoy", "Dec-2001"]
    (text,) = guards.suspicious(names)
    assert text.startswith("4 features")
    assert "2-Sep, MAR-01, 1-mar" in text
    assert not [*guards.suspicious(["HLA-A", "SEPT2", "MARCH1", "2026-09-02-x", "1/2", "1.2.3"])]
    cells = ["2026-09-02", "2026-03-01 00:00:00", "9/2/2026", "02.09.2026", "2-Sep-26"]
    assert "5 features" in str([*guards.suspicious(cells)])


def test_names_that_programs_have_converted() -> None:
    names = ["2-Sep", "TP53", "1017.0", "1e+05", "1.2", "ENSG1.0", "dec-2001", "1E+05"]
    expected = ["2-Sep", "1017.0", "1e+05", "dec-2001", "1E+05"]
    texts = [*guards.suspicious(names)]
    assert all(sum(name in text for text in texts) == (name in expected) for name in names)
    assert "'3 features (1017.0" in str(texts)


def test_labels_that_are_ids() -> None:
    def told(codes: np.ndarray) -> bool:
        return guards.id_labels(Labels(codes, [str(c) for c in range(codes.max() + 1)])) is not None

    assert told(np.arange(40))
    assert told(np.repeat(np.arange(20), 2))  # pairs of samples
    assert not told(np.repeat(np.arange(10), 4))
    assert not told(np.array([0, 0, 1, 1, -1, -1]))  # two classes are never ids


def values_of_classes(kind: str, first: int, n: int) -> np.ndarray:
    """Return features with the same mean in both classes, of which one has `first` samples."""
    rng = np.random.default_rng(8)
    values = rng.normal(size=(400, n))
    if kind == "lognormal":
        return np.exp(values)
    if kind == "sparse":
        return (rng.random((400, n)) < 0.06) * np.exp(values)
    if kind == "unequal":
        values[:, :first] *= 3
    return values + 8


PERMUTED = "p-values by permutation: the values are too skewed"


@pytest.mark.parametrize(
    ("kind", "first", "n", "words", "told"),
    [
        ("lognormal", 5, 100, "f-test", PERMUTED),
        ("lognormal", 5, 100, "f-test --moderate yes", PERMUTED),
        ("lognormal", 5, 100, "f-test --pvalues permutation", ""),
        ("lognormal", 10, 100, "t-test", PERMUTED),
        ("lognormal", 10, 100, "rank-test", ""),
        ("normal", 5, 40, "t-test", PERMUTED),
        ("normal", 5, 40, "f-test", ""),
        ("unequal", 4, 40, "t-test", "permutations assume equal variances"),
        ("unequal", 5, 40, "f-test", "that of --method welch is"),
        ("unequal", 15, 120, "f-test", "give --method welch"),
        ("unequal", 15, 120, "hsic --pvalues moments", "give --method welch"),
        ("unequal", 15, 120, "welch", ""),
        ("unequal", 20, 40, "f-test", ""),
    ],
)
def test_tests_of_class_means_are_tried(
    kind: str,
    first: int,
    n: int,
    words: str,
    told: str,
    tmp_path: Path,
    sfs: Sfs,
) -> None:
    """On features without any difference: one line says what became of the p-values, or none."""
    write_table(tmp_path / "x.csv", values_of_classes(kind, first, n))
    labels = write_labels(tmp_path / "y.tsv", ["a"] * first + ["b"] * (n - first))
    out = ["--out", str(tmp_path / "r")]
    given = ["rank", str(tmp_path / "x.csv"), "--labels", labels, "--also", "none"]
    done = sfs(*given, "--method", *words.split(), *out)
    text = " ".join(done.err.split())
    assert told in text
    assert (PERMUTED in text) == (told == PERMUTED)
    assert ("[class-tests]" in text) == (kind == "unequal" and bool(told))
    method = json.loads((tmp_path / "r" / "run.json").read_text())["method"]
    assert ("pvalues" in method) == (told == PERMUTED or "--pvalues" in words)
    if told == PERMUTED:
        assert method["false_positives"]["0.001"] > 1.75
        p = pd.read_csv(tmp_path / "r" / "ranking.tsv", sep="\t").p_value
        assert float((p <= 0.01).mean()) <= 0.025


def test_weighted_counts_are_not_judged(tmp_path: Path, sfs: Sfs) -> None:
    """The classes differ in size and variance, which the guard says of values without weights."""
    rng = np.random.default_rng(3)
    noise = np.where(np.arange(40) < 5, 1.5, 0.2)
    counts = rng.poisson(np.exp(5 + noise * rng.normal(size=(400, 40))))
    write_table(tmp_path / "x.csv", counts)
    labels = write_labels(tmp_path / "y.tsv", ["a"] * 5 + ["b"] * 35)
    given = ["rank", str(tmp_path / "x.csv"), "--labels", labels, "--method", "f-test"]
    for words, told in ((("--transform", "log2cpm"), True), (("--voom",), False)):
        done = sfs(*given, *words)
        assert ("[class-tests]" in done.err) == told


def test_filled_values_and_coarse_permutations_of_a_test_are_told_of(
    tmp_path: Path, sfs: Sfs, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(6).normal(size=(100, 30))
    labels = write_labels(tmp_path / "y.tsv", ["a", "b"] * 15)
    write_table(tmp_path / "x.csv", values)
    values[:40, :8] = np.nan
    write_table(tmp_path / "gaps.csv", values)

    def told(matrix: str, *more: str) -> str:
        done = sfs("rank", str(tmp_path / matrix), "--labels", labels, *more)
        return done.err

    filled = "0.11 of the values are missing and were filled"
    assert filled in told("gaps.csv", "--method", "f-test", "--missing", "mean")
    assert filled not in told("gaps.csv", "--method", "variance", "--missing", "mean")
    # samples without a label have no part in the test
    values = np.random.default_rng(6).normal(size=(100, 32))
    values[:, 30:] = np.nan
    write_table(tmp_path / "beside.csv", values)
    some = ("--samples", "intersect", "--method", "f-test", "--missing", "mean")
    assert "values are missing" not in told("beside.csv", *some)
    with monkeypatch.context() as patch:  # a large matrix: few features are looked at first
        patch.setattr(step, "LOOK_VALUES", 600)
        values[7, :15] = np.nan
        write_table(tmp_path / "beside.csv", values)
        assert "0.005 of the values are missing" in told("beside.csv", *some)
    text = told("x.csv", "--method", "hsic", "--pvalues", "permutation,draws=100")
    assert "of the 100 tested ones" in text


def test_graphs_without_structure(rng: np.random.Generator) -> None:
    d = rng.random((40, 40))
    near = 0.6 + 0.04 * (d + d.T)
    np.fill_diagonal(near, 1)
    assert "equally similar" in str(guards.structureless(DenseSimilarity(near)))
    assert "hardly any" in str(guards.structureless(DenseSimilarity(np.eye(40) + 1e-6)))
    groups = np.kron(np.eye(4), np.ones((10, 10))) * 0.5 + 0.2
    np.fill_diagonal(groups, 1)
    assert guards.structureless(DenseSimilarity(groups)) is None


def test_samples_of_a_low_degree() -> None:
    degrees = np.full(40, 20.0)
    assert guards.outliers(degrees, IDS) is None
    degrees[7] = 1.1
    text = guards.outliers(degrees, IDS)
    assert text is not None
    assert "1 of 40" in text
    assert "s7" in text


def test_counts_of_a_source_are_told_of(
    rng: np.random.Generator, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    table = write_table(tmp_path / "m.csv", rng.normal(size=(9, 12)))
    counts = write_table(tmp_path / "mirna.csv", rng.poisson(300, (7, 12)), names("mir", 7))
    source = f"mirna=profile:{counts}"
    fused = str(tmp_path / "fused.npz")
    for command in (["rank", table], ["fuse", table, "--out", fused, "--force"]):
        found = run_here([*command, "--source", source], capfd)
        assert found.code == 0, found.err
        assert "the values of source mirna look like raw counts" in found.err
        assert "add to it ,transform=cpm,log1p" in found.err
        quiet = run_here([*command, "--source", f"{source},transform=cpm,log1p"], capfd)
        assert "raw counts" not in quiet.err


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        ([f"p{i // 2}" for i in range(12)], "of source t have 6 classes for 12 samples"),
        (["tumor", "Tumor ", "normal"] * 4, "the classes 'Tumor' and 'tumor' differ"),
        (["tumor", "normal"] * 6, None),
    ],
)
def test_labels_of_a_source(
    rng: np.random.Generator,
    tmp_path: Path,
    sfs: Sfs,
    classes: list[str],
    said: str | None,
) -> None:
    matrix = write_table(tmp_path / "m.csv", rng.normal(size=(9, 12)))
    ids = Path(matrix).read_text().splitlines()[0].split(",")[1:]
    rows = "".join(f"{s}\t{c}\n" for s, c in zip(ids, classes))
    (tmp_path / "t.tsv").write_text("sample\tclass\n" + rows)
    words = ["rank", matrix, "--source", f"t=labels:{tmp_path / 't.tsv'}", "--source", "x=target:"]
    found = sfs(*words)
    assert (said or "ranked") in found.err


def test_classes_of_the_labels_that_are_spelled_in_two_ways() -> None:
    assert guards.spelled_twice(["LUAD", "Luad", "LUSC"]) is not None
    assert guards.spelled_twice(["LUAD", "LUSC", "LUAD 2"]) is None


def test_samples_that_are_mostly_filled_are_told_of(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], rng: np.random.Generator
) -> None:
    values = rng.normal(size=(40, 12))
    values[3, 5] = np.nan
    write_table(tmp_path / "m.csv", values)
    words = ["rank", str(tmp_path / "m.csv"), "--method", "variance", "--missing", "mean"]
    done = run_here(words, capfd)
    assert "1 value of 1 feature filled" in done.err
    assert "[columns]" not in done.err
    values[1:, 7] = np.nan
    write_table(tmp_path / "m.csv", values)
    done = run_here(words, capfd)
    assert "40 values of 39 features filled" in done.err
    assert "in 1 sample of 12 (s7)" in done.err


def told_of(name: str, words: list[str], capfd: pytest.CaptureFixture[str]) -> str:
    """Return the warning of this name; empty where there is none."""
    done = run_here(words, capfd)
    assert done.code == 0, done.err
    lines = [line for line in done.err.splitlines() if f"[{name}]" in line]
    return lines[0] if lines else ""


def proposed(text: str, option: str) -> list[str]:
    """Return an option that a warning proposes, as words."""
    return [option, re.search(rf"{option} ([\w:,.-]+)", text)[1]]  # type: ignore[index]


@pytest.mark.parametrize(
    ("transform", "instead"),
    [
        ("center", "cpm,log1p,center"),
        ("log1p,cpm", "cpm,log1p"),
        ("log1p", None),
        ("cpm,log1p", None),
        ("rank", None),
    ],
)
def test_a_transformation_without_logarithms_leaves_values_raw(
    rng: np.random.Generator,
    transform: str,
    instead: str | None,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    table = write_table(tmp_path / "m.csv", rng.poisson(300, (60, 12)))
    words = ["rank", table, "--method", "variance", "--transform"]
    text = told_of("raw-values", [*words, transform], capfd)
    assert bool(text) == (instead is not None)
    if instead is not None:
        assert proposed(text.rpartition("give")[2], "--transform")[1] == instead
        assert not told_of("raw-values", [*words, instead], capfd)


def test_raw_values_are_told_of_by_every_command_that_uses_them(
    rng: np.random.Generator, tmp_path: Path, sfs: Sfs
) -> None:
    table = write_table(tmp_path / "m.csv", rng.poisson(300, (60, 12)))
    labels = write_labels(tmp_path / "y.tsv", ["a", "b"] * 6)
    judged = ["--labels", labels, "--lengths", "5", "--splits", "2", "--repeats", "1"]
    out = ["--out", str(tmp_path / "S.npz"), "--force"]
    for words, told in (
        (["evaluate", table, "--method", "f-test", *judged], True),
        (["fuse", table, "--source", "e=target:", *out], True),
        (["fuse", table, "--source", f"l=labels:{labels}", *out], False),
    ):
        for more in ((), ("--transform", "cpm,log1p")):
            done = sfs(*words, *more)
            assert done.err.count("look like raw counts") == (told and not more)


def test_dates_among_symbols_beside_the_ids_are_warned_of(tmp_path, sfs):
    rows = "p0\tTP53\t0\t4\t9\np1\t2-Sep\t1\t1\t8\n"
    for column, told in (("Gene symbol", True), ("Description", False)):
        (tmp_path / "m.tsv").write_text(f"id\t{column}\ts1\ts2\ts3\n{rows}")
        done = sfs("rank", str(tmp_path / "m.tsv"), "--method", "variance")
        assert ("1 feature (2-Sep)" in done.err) == told


def test_classes_are_those_of_the_samples_that_are_used(tmp_path: Path, sfs: Sfs) -> None:
    path = write_table(tmp_path / "x.csv", np.random.default_rng(3).normal(size=(30, 24)))
    labels = write_labels(tmp_path / "l.tsv", ["a"] * 10 + ["b"] * 10 + ["c"] * 4)
    for known, code in ((20, 0), (21, 3)):
        donors = write_labels(tmp_path / "d.tsv", [f"d{i}" for i in range(known)])
        words = ["rank", str(path), "--method", "welch", "--labels", labels, "--donors", donors]
        done = sfs(*words, "--samples", "intersect", code=code)
        assert ("classes with only one sample: c" in done.err) == (known == 21)


def test_p_values_of_ranks_of_mostly_zeros_hold_without_a_warning(tmp_path: Path, sfs: Sfs) -> None:
    rng = np.random.default_rng(5)
    sparse = np.where(rng.random((1500, 300)) < 0.03, rng.gamma(2, size=(1500, 300)), 0)
    labels = ["a"] * 6 + ["b"] * 147 + ["c"] * 147
    few = write_labels(tmp_path / "few.tsv", labels)
    two = write_labels(tmp_path / "two.tsv", [label.replace("c", "b") for label in labels])
    dose = write_labels(tmp_path / "dose.tsv", [*"123456"] + ["0"] * 294)
    numbers = ("--label-type", "continuous")
    cases: list[tuple[str, str, tuple[str, ...]]] = [
        ("rank-test", few, ()),
        ("rank-test", two, ()),
        ("spearman", dose, numbers),
    ]
    for values in (sparse, rng.normal(size=sparse.shape)):
        write_table(tmp_path / "x.csv", values)
        for method, given, more in cases:
            words = ["rank", str(tmp_path / "x.csv"), "--labels", given, "--method", method, *more]
            done = sfs(*words, "--out", str(tmp_path / "r"), "--force")
            assert "[class-tests]" not in done.err
            p = pd.read_csv(tmp_path / "r" / "ranking.tsv", sep="\t").p_value
            assert float((p <= 0.001).mean()) <= 0.003
