"""One rule for names in all formats."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sfs_cli.errors import InputError
from sfs_cli.io.files.names import check_name_array, check_names
from sfs_cli.io.files.text import string_array
from tests.making import annotated
from tests.making_commands import FEATURES, SAMPLES, M, N, table, text, values
from tests.running import run_here

REFUSED = ["g\n1", "g\r1", "g\t1", "g\x001", "g\x1b[31m1", "g\x7f", "g\x9b31m", ""]
KEPT = ["\u00a0g", "g 1", "gène", "基因", "<b>g</b>", "[red]g[/]", "x" * 1000]


@pytest.mark.parametrize("name", REFUSED)
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="a feature"):
        check_names(["a", name], "a feature", "m.csv")
    with pytest.raises(InputError, match="a feature"):
        check_name_array(string_array(["a", name, "b"]), "a feature", "m.csv")


def test_a_name_far_down_is_found_and_numbered() -> None:
    names = [f"g{i}" for i in range(150_000)]
    check_name_array(string_array(names), "a feature", "m.csv")
    for at, name, said in ((131_071, "", "number 131,072"), (149_999, "g\x85", "control")):
        changed = [*names[:at], name, *names[at + 1 :]]
        with pytest.raises(InputError, match=said):
            check_name_array(string_array(changed), "a feature", "m.csv")


def test_names_that_are_kept() -> None:
    check_names(KEPT, "a feature", "m.csv")
    check_name_array(string_array(KEPT), "a feature", "m.csv")
    check_name_array(string_array(["a\n", *KEPT]).slice(1), "a feature", "m.csv")


def test_halves_of_characters_are_refused() -> None:
    with pytest.raises(InputError, match="control"):
        check_names(["\ud800"], "a feature", "m.json")


def _parquet(path: Path, frame: pd.DataFrame) -> str:
    frame.to_parquet(path / "m.parquet")
    return str(path / "m.parquet")


def _feather(path: Path, frame: pd.DataFrame) -> str:
    frame.reset_index(names="id").to_feather(path / "m.feather")
    return str(path / "m.feather")


def _h5ad(path: Path, frame: pd.DataFrame) -> str:
    annotated(frame.to_numpy().T, list(frame.index), list(frame.columns)).write_h5ad(
        path / "m.h5ad"
    )
    return str(path / "m.h5ad")


@pytest.mark.parametrize("write", [_parquet, _feather, _h5ad])
@pytest.mark.parametrize("name", ["g\t1", "g\x1b[31m1", ""])
@pytest.mark.parametrize("axis", ["feature", "sample"])
def test_binary_formats_refuse_what_text_does(write, name, axis, tmp_path, capfd) -> None:
    features = [name, *FEATURES[1:]] if axis == "feature" else FEATURES
    samples = [name, *SAMPLES[1:]] if axis == "sample" else SAMPLES
    path = write(tmp_path, pd.DataFrame(values(), features, samples))
    done = run_here(["rank", path], capfd)
    assert (done.code, done.out) == (3, "")
    assert f"a {axis}" in done.err
    assert not set(done.err) & set("\x1b\x9b\x00\x7f\r\t")


@pytest.mark.parametrize("name", ["g\t1", "g\x1b[31m"])
def test_text_refuses_them_too(name, tmp_path, capfd) -> None:
    for features, samples in (([name, *FEATURES[1:]], SAMPLES), (FEATURES, [name, *SAMPLES[1:]])):
        done = run_here(["rank", text(tmp_path, table(values(), features, samples))], capfd)
        assert (done.code, done.out) == (3, "")
        assert "\x1b" not in done.err
        assert "\x9b" not in done.err


def test_labels_and_sets_hold_no_control_characters(tmp_path, capfd) -> None:
    matrix = text(tmp_path, table(values()))
    classes = ["a", "b\x1b[2J"] * (N // 2)
    rows = "".join(f"{s}\t{c}\n" for s, c in zip(SAMPLES, classes))
    labels = text(tmp_path, f"sample\tclass\n{rows}", "l.tsv")
    sets = text(tmp_path, "S\x1b[2J\tna\tgene1\tgene2\tgene3\n", "s.gmt")
    data = annotated(values().T, FEATURES, SAMPLES)
    data.obs["class"] = ["a", "b\n"] * (N // 2)
    data.write_h5ad(tmp_path / "m.h5ad")
    for given in (
        [matrix, "--method", "fisher", "--labels", labels],
        [matrix, "--source", f"x=terms:{sets}"],
        [str(tmp_path / "m.h5ad"), "--method", "fisher", "--labels", "obs:class"],
    ):
        done = run_here(["rank", *given], capfd)
        assert (done.code, done.out) == (3, "")
        assert "\x1b" not in done.err


def test_a_leading_non_breaking_space_belongs_to_the_name(tmp_path, capfd) -> None:
    features = ["\u00a0gene1", *FEATURES[1:]]
    path = text(tmp_path, table(values(), features))
    out = run_here(["rank", path, "-q", "--format", "json"], capfd).out
    assert {row["feature"] for row in json.loads(out)} == set(features)


def test_values_that_measure_nothing_are_refused(tmp_path, capfd) -> None:
    X = values()
    X[3] = np.where(np.arange(N) % 2, 1e308, -1e308)
    path = _parquet(tmp_path, pd.DataFrame(X, FEATURES, SAMPLES))
    done = run_here(["rank", path, "--dtype", "float64"], capfd)
    assert done.code == 3
    assert "gene4" in done.err


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_whole_numbers_that_are_no_longer_exact_are_said(dtype, tmp_path, capfd) -> None:
    X = np.arange(M * N, dtype=np.int64).reshape(M, N) ** 2
    X[2] += 2**60
    path = _parquet(tmp_path, pd.DataFrame(X, FEATURES, SAMPLES))
    done = run_here(["rank", path, "--dtype", dtype], capfd)
    assert "no longer exact" in done.err
    assert "gene3" in done.err


def test_ids_that_were_written_as_decimal_numbers_are_said(tmp_path, capfd) -> None:
    decimals = _h5ad(tmp_path, pd.DataFrame(values(), [f"{i}.0" for i in range(M)], SAMPLES))
    powers = text(tmp_path, table(values(), ["1e+05", *FEATURES[1:]]))
    for path, name in ((decimals, "0.0"), (powers, "1e+05")):
        done = run_here(["rank", path], capfd)
        assert done.code == 0
        assert f"({name}" in done.err
