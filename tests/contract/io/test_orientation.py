from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from sfs_cli.errors import InputError, UsageError
from sfs_cli.io.matrix.base import decide
from tests.running import run_here

GENES, SAMPLES = ["g1", "g2", "g3", "g4"], ["s1", "s2", "s3"]
ACCESSIONS = ["ENSG00000141510", "ENSMUSG00000059552.13", "1007_s_at", "NM_000546", "ILMN_1779356"]


def opened(columns, rows, fixed=None):
    """What is known of a matrix before a value is read."""
    known = {"path": Path("m.csv"), "format": "text", "fixed_rows": fixed}
    return SimpleNamespace(column_ids=columns, first_row_ids=lambda: rows, **known)


@pytest.mark.parametrize(
    ("columns", "rows", "known", "expected"),
    [
        (SAMPLES, GENES, SAMPLES, "features"),
        (GENES, SAMPLES, SAMPLES, "samples"),
        (SAMPLES, GENES, [], "features"),
        ([*SAMPLES, "s4"], ["s1", *GENES], [*SAMPLES, "s4"], "features"),
        (ACCESSIONS, SAMPLES, [], "samples"),
        (ACCESSIONS, ACCESSIONS[::-1], [], "features"),
        (["P04637", "A0A024R161", "Q9Y6K9-2"], SAMPLES, [], "samples"),
        (["P10001", "P10002", "P12T01"], GENES, [], "features"),  # patients, and a tumour
    ],
)
def test_known_samples_decide_and_else_the_convention(columns, rows, known, expected):
    axis, reason = decide(opened(columns, rows), "auto", known)
    assert axis == expected
    assert f"rows are {expected}" in reason or "convention" in reason


@pytest.mark.parametrize("fixed", ["features", "samples"])
def test_the_format_decides_and_may_not_be_contradicted(fixed):
    other = "samples" if fixed == "features" else "features"
    reader = opened(SAMPLES, GENES, fixed)
    assert decide(reader, "auto", GENES)[0] == fixed
    assert decide(reader, fixed, [])[0] == fixed
    with pytest.raises(UsageError, match="--rows"):
        decide(reader, other, [])


def test_a_square_matrix_of_samples_needs_the_option():
    with pytest.raises(InputError, match="as well as") as caught:
        decide(opened(SAMPLES, SAMPLES), "auto", SAMPLES)
    assert "--rows" in caught.value.hint


def test_a_matrix_that_seems_to_lie_on_its_side_is_warned_of(tmp_path, capfd):
    lines = [["id", *(f"GENE{i}" for i in range(1200))]]
    lines += [[f"s{k}", *(str((i * k) % 7 / 2) for i in range(1200))] for k in (1, 2, 3)]
    path = tmp_path / "m.csv"
    path.write_text("".join(",".join(line) + "\n" for line in lines))
    words = ["rank", str(path), "--method", "variance"]
    assert "1,200 samples of 3 features" in run_here(words, capfd).err
    assert "1,200 samples of 3" not in run_here([*words, "--rows", "features"], capfd).err
