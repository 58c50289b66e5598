"""The worked example of CONTRIBUTING."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd

from tests.docs.pages import Reader, blocks_of, console_blocks
from tests.docs.test_contributing import TEXT
from tests.places import ROOT


def test_the_method_of_the_example_ranks(tmp_path: Path) -> None:
    method, entry, twin, *_ = blocks_of(TEXT, "python")
    package = tmp_path / "copy" / "sfs_cli"
    shutil.copytree(ROOT / "sfs_cli", package)
    (package / "methods" / "mad.py").write_text(method, encoding="utf-8")
    catalog = (package / "catalog.py").read_text(encoding="utf-8")
    end = "\n)\n\nMETHODS: "
    assert catalog.count(end) == 1
    catalog = catalog.replace(end, f"\n{entry.rstrip()},{end}")
    (package / "catalog.py").write_text(catalog, encoding="utf-8")

    reader = Reader(tmp_path)
    reader.env["PYTHONPATH"] = str(tmp_path / "copy")
    (commands,) = console_blocks(TEXT)
    for command in commands:
        reader.follow(command)
    names: dict = {"np": np}
    exec(twin, names)
    values = pd.read_csv(ROOT / "sample_data" / "expression.csv", index_col=0)
    found = pd.read_csv(reader.folder / "results" / "mad" / "ranking.tsv", sep="\t", index_col=1)
    scored = found["score"].dropna()
    stored = values.astype(np.float32).astype(np.float64)  # as values are by default
    expected = [names["mad"](stored.loc[gene].to_numpy()) for gene in scored.index]
    np.testing.assert_allclose(scored, expected, rtol=1e-9)
    assert scored.is_monotonic_decreasing
