"""Two versions compared by commands."""

from __future__ import annotations

from pathlib import Path

from tests.docs.tools import test_compare as plain
from tools.compare.__main__ import main

program = plain.program


def test_two_versions_are_compared_by_what_they_do(program, tmp_path, capsys):
    before, after = program("before", "0.5"), program("after", "0.25")
    kept = tmp_path / "kept"
    few = ["--only", "rank in/m.csv --format tsv*"]
    assert main(["--record", str(kept), "--run", before, *few]) == 0
    assert main(["--before", str(kept), "--after", before, *few]) == 0
    assert capsys.readouterr().out.endswith(
        "1 commands: 1 same bytes, 0 within tolerance, 0 different\n"
    )
    out = tmp_path / "table.md"
    assert main(["--before", str(kept), "--after", after, *few, "--out", str(out)]) == 1
    assert "score: 1 of 1 rows, such as" in Path(out).read_text()
