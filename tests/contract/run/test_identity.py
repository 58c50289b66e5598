"""What is known to be made of one matrix: graphs of files, lists, and stores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.making import annotated, write_labels, write_table
from tests.running import run_here


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two matrices of the same samples, a store, an h5mu and a Parquet of the first, and labels."""
    import mudata

    folder = tmp_path_factory.mktemp("study")
    rng = np.random.default_rng(0)
    for name in ("x", "z"):
        values = rng.normal(size=(40, 16))
        write_table(folder / f"{name}.csv", values)
    write_labels(folder / "y.tsv", ["a", "b"] * 8)
    table = pd.read_csv(folder / "x.csv", index_col=0)
    table.to_parquet(folder / "x.parquet")
    cells = annotated(table.to_numpy().T, list(table.index), list(table.columns))
    mudata.MuData({"rna": cells}).write(folder / "x.h5mu")
    return folder


def did(words: str, capfd: pytest.CaptureFixture[str]) -> str:
    done = run_here([*words.split(), "--force"], capfd)
    assert done.code == 0, done.err
    return done.err


@pytest.mark.parametrize(
    ("sources", "fused", "ranked", "told"),
    [
        (["e=target:"], "x.csv", "x.csv", "warned"),
        (["e=target:"], "x.csv", "x.store", "warned"),
        (["e=target:", "m=profile:x.csv"], "z.csv", "x.csv", "warned"),
        (["e=target:"], "x.h5mu:rna", "x.h5mu:rna", "warned"),
        (["e=target:"], "x.csv", "x.parquet", "if"),
        (["l=labels:y.tsv", "m=profile:z.csv"], "x.csv", "x.csv", "silent"),
        (["m=profile:z.csv", "g=similarity:T.npz"], "x.csv", "x.csv", "if"),
    ],
)
def test_graphs_of_the_tested_matrix_are_known_as_such(
    study: Path,
    sources: list[str],
    fused: str,
    ranked: str,
    told: str,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(study)
    if ranked == "x.store":
        did("convert x.csv x.store", capfd)
    if "g=similarity:T.npz" in sources:
        did("fuse x.csv --source e=target: --out T.npz", capfd)
    words = " ".join(f"--source {source}" for source in sources)
    did(f"fuse {fused} {words} --out S.npz", capfd)
    method = "--method spec,ranking=phi1 --similarity file:S.npz --pvalues moments"
    said = did(f"rank {ranked} {method} --out out", capfd)
    record = json.loads(Path("out/run.json").read_text())
    assert ("[tested-graph]" in said) == (told == "warned")
    assert ("if the sample graph of S.npz" in said) == (told == "if")
    assert record["graph"]["of_tested_features"] == (told == "warned")


def test_of_a_similarity_of_version_1_it_is_not_known(
    study: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study)
    did("fuse x.csv --source e=target: --out old.npz", capfd)
    beside = Path("old.npz.run.json")
    record = json.loads(beside.read_text())
    record["outputs"] = {"old.npz": {"bytes": record.pop("bytes"), "sha256": ""}}
    beside.write_text(json.dumps(record))
    method = "--method spec,ranking=phi1 --similarity file:old.npz --pvalues moments"
    assert "if the sample graph of old.npz" in did(f"rank x.csv {method} --out of_old", capfd)


def test_lists_of_a_matrix_and_of_its_store_are_of_one(
    study: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study)
    did("convert x.csv x.store", capfd)
    for name in ("x.csv", "x.store", "z.csv", "x.parquet"):
        did(f"rank {name} --method f-test --labels y.tsv --out list-{name}", capfd)

    def evaluated(matrix: str, ranked: str) -> bool | None:
        words = f"evaluate {matrix} --list list-{ranked}/ranking.tsv --labels y.tsv --lengths 3"
        said = did(f"{words} --splits 2 --repeats 1 --out out", capfd)
        facts = json.loads(Path("out/run.json").read_text())["lists"]
        found: bool | None = next(
            each["made_from_this_matrix"] for each in facts if each["selection"] == "given"
        )
        assert ("leaky" in said) == (found is not False)
        return found

    def aggregated(*ranked: str) -> bool | None:
        lists = " ".join(f"list-{each}/ranking.tsv" for each in ranked)
        did(f"aggregate {lists} --how rra --out out", capfd)
        found: bool | None = json.loads(Path("out/run.json").read_text())["of_one_matrix"]
        return found

    for one, other, same in (
        ("x.store", "x.csv", True),
        ("x.csv", "z.csv", False),
    ):
        assert evaluated(one, other) is same, (one, other)
        assert aggregated(one, other) is same, (one, other)
    assert aggregated("x.csv", "x.parquet") is None
