"""Extreme values: no warning of a library, no crash, and the ranks of the same values times one."""

from __future__ import annotations

import pytest

from tests.contract.run.extremes import TINY, Study, emitted, matrices, plain
from tests.making import write_table
from tests.running import run_here

ENDS = {0, 2, 3, 5}
"""Exit codes of results and refusals."""
FOUND = (
    ("denormal", "rank MATRIX --method variance --transform cpm"),
    ("two samples", "rank MATRIX --method spec --pvalues moments"),
    ("spikes", "rank MATRIX --method fisher --pvalues moments"),
    ("one spike", "rank MATRIX --method hsic --similarity linear"),
    ("many scales", "rank MATRIX --method variance --adjust COVARIATES:tiny"),
    ("many scales", "evaluate MATRIX --method f-test --lengths 1 LABELS --splits 2 --repeats 1"),
    ("two values", "aggregate RESULT RESULT2 --how borda"),
    ("two values", "rank MATRIX --method rfs,gamma=1e-3"),
    ("tiny", "rank MATRIX --method mrsf-rounds"),
    ("signed huge", "rank MATRIX --method f-test --out OUT"),
)
"""Matrices and commands of which warnings came once, or crashes, and some others."""


def check(study: Study, command: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, warned = emitted(study.words(command))
    said = capfd.readouterr().err
    assert not warned, f"{command}: {warned}"
    assert "Warning" not in said, f"{command}: {said}"
    assert code in ENDS, f"{command}: {said}"


@pytest.mark.parametrize(("name", "command"), FOUND)
def test_no_library_warns(name, command, tmp_path, capfd):
    study = Study(tmp_path / "x", matrices()[name])
    if "RESULT" in command:
        study.names |= {"RESULT": f"{tmp_path}/one", "RESULT2": f"{tmp_path}/other"}
        for method, out in (("f-test", "one"), ("fisher", "other")):
            check(study, f"rank MATRIX --method {method} --out {tmp_path}/{out}", capfd)
    check(study, command, capfd)


def ranking(study: Study, method: str) -> list[list[str]]:
    """Return the features in their order, with status and p-values."""
    out = study.folder / f"ranked {method}".replace(" ", "_")
    code, warned = emitted(study.words(f"rank MATRIX --method {method} --out {out}"))
    assert (code, warned) == (0, [])
    head, *rows = [line.split("\t") for line in (out / "ranking.tsv").read_text().splitlines()]
    kept = [head.index(name) for name in ("feature", "status", "p_value") if name in head]
    return [[row[at] for at in kept] for row in rows]


@pytest.mark.parametrize(
    "method",
    ["spec --pvalues moments", "fisher", "mrsf", "qalpha", "rank-test"],
)
def test_ranks_do_not_depend_on_the_unit(method, tmp_path):
    """By powers of two, which change no digit."""
    X = plain()
    expected = ranking(Study(tmp_path / "one", X), method)
    for name, factor in (("tiny", TINY), ("huge", 2.0**325)):
        assert ranking(Study(tmp_path / name, X * factor), method) == expected


@pytest.mark.parametrize(
    ("factor", "options", "said"),
    [
        (1e-300, [], "out of the range of float32, such as"),
        (1e-40, [], "use --dtype float64"),
        (1e-40, ["--dtype", "float64"], ""),
        (1e-300, ["--dtype", "float64"], "the largest value of the matrix is"),
        (TINY, ["--dtype", "float64"], ""),
    ],
)
def test_values_that_are_too_small_for_their_squares_are_refused(
    factor, options, said, tmp_path, capfd
):
    """They were zeros, or had one score, without a word."""
    path = write_table(tmp_path / "m.csv", plain() * factor)
    done = run_here(["rank", path, "--method", "variance", *options], capfd)
    assert (done.code, said in done.err) == (3 if said else 0, True)


def test_a_feature_that_float32_would_make_zero_is_refused(tmp_path, sfs):
    X = plain()
    X[3] *= 1e-60
    path = write_table(tmp_path / "m.csv", X)
    done = sfs("rank", path, "--method", "variance", code=3)
    assert "use --dtype float64" in done.err
    X[3] = 0
    X[4, 2] = 1e-60  # a value among others is rounded to zero
    path = write_table(tmp_path / "m.csv", X)
    sfs("rank", path, "--method", "variance")


@pytest.mark.parametrize("more", [[], ["--transform", "cpm,log1p"]])
def test_a_threshold_that_leaves_nothing_is_named(more, tmp_path, sfs):
    X = plain()
    X[:, :4] = 0
    path = write_table(tmp_path / "m.csv", X)
    done = sfs("rank", path, "--min-samples", "9", *more, code=3)
    assert "no feature is left after --min-samples" in done.err
    assert "m.csv: 16 in too few samples" in done.err
