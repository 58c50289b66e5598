from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sfs_cli.errors import InputError, UsageError
from sfs_cli.io.matrix.base import Annotations, decide
from tests.running import run_here

GENES, SAMPLES = ["g1", "g2", "g3", "g4"], ["s1", "s2", "s3"]


@dataclass
class Opened:
    column_ids: list[str]
    rows: list[str]
    fixed_rows: str | None = None
    path: Path = Path("m.csv")
    format: str = "text"
    sparse: bool = False
    n_rows: int | None = None
    annotations: Annotations = field(default_factory=Annotations)

    def first_row_ids(self):
        return self.rows

    def blocks(self):
        raise AssertionError("deciding must not read the matrix")

    def close(self):
        pass


@pytest.mark.parametrize(
    ("columns", "rows", "known", "expected"),
    [
        (SAMPLES, GENES, SAMPLES, "features"),
        (GENES, SAMPLES, SAMPLES, "samples"),
        (SAMPLES, GENES, [], "features"),
        (SAMPLES, GENES, ["other"], "features"),
        (GENES, SAMPLES, ["s2"], "samples"),
        (GENES, SAMPLES[:1], SAMPLES, "samples"),
        ([*SAMPLES, "s4"], ["s1", *GENES], [*SAMPLES, "s4"], "features"),
    ],
)
def test_known_samples_decide_and_else_the_convention(columns, rows, known, expected):
    axis, reason = decide(Opened(columns, rows), "auto", known)
    assert axis == expected
    assert f"rows are {expected}" in reason or "convention" in reason


@pytest.mark.parametrize("rows", ["features", "samples"])
def test_the_users_word_outweighs_the_ids(rows):
    assert decide(Opened(SAMPLES, GENES), rows, SAMPLES)[0] == rows


@pytest.mark.parametrize("fixed", ["features", "samples"])
def test_the_format_decides_and_may_not_be_contradicted(fixed):
    other = "samples" if fixed == "features" else "features"
    reader = Opened(SAMPLES, GENES, fixed_rows=fixed)
    assert decide(reader, "auto", GENES)[0] == fixed
    assert decide(reader, fixed, [])[0] == fixed
    with pytest.raises(UsageError, match="--rows"):
        decide(reader, other, [])


def test_a_square_matrix_of_samples_needs_the_option():
    with pytest.raises(InputError, match="as well as") as caught:
        decide(Opened(SAMPLES, SAMPLES), "auto", SAMPLES)
    assert "--rows" in caught.value.hint


@pytest.mark.parametrize(("rows", "warned"), [(None, True), ("features", False)])
def test_a_matrix_that_seems_to_lie_on_its_side_is_warned_of(rows, warned, tmp_path, capfd):
    lines = [["id", *(f"GENE{i}" for i in range(1200))]]
    lines += [[f"s{k}", *(str((i * k) % 7 / 2) for i in range(1200))] for k in (1, 2, 3)]
    path = tmp_path / "m.csv"
    path.write_text("".join(",".join(line) + "\n" for line in lines))
    words = ["rank", str(path), "--method", "variance", *([] if rows is None else ["--rows", rows])]
    done = run_here(words, capfd)
    assert done.code == 0
    assert ("1,200 samples of 3 features" in done.err) == warned
