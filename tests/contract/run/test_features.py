"""Features that are left out: every method ranks the others as if they were not in the file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.errors import UsageError
from sfs_cli.options import RankConfig, parse_source
from sfs_cli.options.files import load
from sfs_cli.workflow.rank import RankResult, rank
from tests.making import names, write_labels, write_table
from tests.unit.options.making import DEFAULTS, configured

N, M = 24, 60
FEATURES = [f"{'MT-' if i % 10 == 3 else 'g'}{i}" for i in range(M)]
RARE = (7, 18)
LEFT_OUT = {
    **{f"MT-{i}": "excluded" for i in range(3, M, 10)},
    **{f"g{i}": "in too few samples" for i in RARE},
}
FILTER: dict[str, Any] = {"exclude": ("^MT-",), "min_samples": 3}
METHODS: dict[str, dict[str, Any]] = {
    "rbf": {"similarity": "rbf"},
    "components": {
        **{"similarity": "knn", "neighbors": 4, "components": "4"},
        **{"variable_genes": "30", "transform": "cpm,log1p"},
    },
    "clr": {"similarity": "rbf", "transform": "clr"},
    "trace-ratio": {
        **{"method": "trace-ratio", "variant": "laplacian", "select": 5, "similarity": "rbf"},
    },
    "mrsf": {"method": "mrsf", "similarity": "rbf", "select": 5},
    "variance": {"method": "variance"},
    "mutual-info": {"method": "mutual-info", "labelled": True},
    "target": {"method": "msfs", "sources": ("t=target:",)},
    "interactions": {"method": "msfs", "sources": ("i=interactions:{folder}/edges.tsv",)},
    "terms": {"method": "msfs", "sources": ("s=terms:{folder}/sets.gmt",)},
    "alike": {"method": "msfs", "sources": ("a=feature-similarity:{folder}/edges.tsv",)},
    "profile": {"method": "msfs", "sources": ("p=profile:{folder}/p.csv",)},
}


def values() -> np.ndarray:
    rng = np.random.default_rng(3)
    gene = np.arange(M)[:, None]
    X = rng.poisson(6 + 5 * (gene % 7) + 6 * (gene % 4 == 0) * (np.arange(N) % 2), (M, N)) + 1.0
    # as different as can be, so that they would change every graph
    X[3::10] = rng.integers(1, 900, X[3::10].shape)
    for i in RARE:
        X[i] = 0
        X[i, 5:7] = 50
    return X


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A matrix, the same without what is left out, and what is known of some genes of both."""
    folder = tmp_path_factory.mktemp("features")
    X = values()
    kept = [i for i, name in enumerate(FEATURES) if name not in LEFT_OUT]
    write_table(folder / "x.csv", X, FEATURES)
    write_table(folder / "kept.csv", X[kept], [FEATURES[i] for i in kept])
    write_table(folder / "p.csv", np.random.default_rng(1).random((12, N)), names("p", 12))
    write_labels(folder / "labels.tsv", np.arange(N) % 2)
    known = [FEATURES[i] for i in kept[:25]]
    more = [*known, "MT-3", "g7"]  # in x.csv they are known, and play no part
    pairs = [f"{a}\t{b}\t0.5" for a, b in pairwise(more)]
    (folder / "edges.tsv").write_text("\n".join(["a\tb\tscore", *pairs]) + "\n")
    sets = [f"set{k}\tabout\t" + "\t".join(more[k::3]) for k in range(3)]
    (folder / "sets.gmt").write_text("\n".join(sets) + "\n")
    return folder


def ranked(folder: Path, matrix: str, options: dict[str, Any], **more: Any) -> RankResult:
    given = dict(options)
    if given.pop("labelled", False):
        given["labels"] = str(folder / "labels.tsv")
    texts = given.pop("sources", ())
    given["source"] = tuple(parse_source(text.format(folder=folder)) for text in texts)
    return rank(RankConfig(matrix=str(folder / matrix), **given, **more))


@pytest.mark.parametrize("options", METHODS.values(), ids=METHODS)
def test_the_others_are_ranked_as_if_they_were_alone(folder: Path, options: dict[str, Any]) -> None:
    found = ranked(folder, "x.csv", options, **FILTER).ranking
    alone = ranked(folder, "kept.csv", options).ranking
    k = len(alone)
    assert list(found.feature[:k]) == list(alone.feature)
    np.testing.assert_allclose(found.score[:k], alone.score, rtol=1e-7)
    assert list(found.status[:k]) == list(alone.status)
    assert dict(zip(found.feature[k:], found.status[k:])) == LEFT_OUT
    assert np.isnan(found.score[k:]).all()


def test_include_is_any_and_exclude_is_stronger(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("gene\ng4\ng5\nunknown\n")
    chosen = {"include": (str(tmp_path / "list.txt"), r"^g1\d$"), "exclude": ("g1[0-4]", "g5$")}
    found = ranked(folder, "x.csv", {"method": "variance"}, **chosen)
    scored = {"g4", "g15", "g16", "g17", "g18", "g19"}
    assert set(found.ranking.feature[:6]) == scored
    reasons = dict(zip(found.ranking.feature[6:], found.ranking.status[6:]))
    assert {name for name, why in reasons.items() if why == "excluded"} == {
        *("g5", "g10", "g11", "g12", "g14"),
    }
    assert set(reasons.values()) == {"excluded", "not included"}


def test_lists_and_patterns_of_a_file_of_options(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "list.txt").write_text("g9\n")
    file = tmp_path / "run" / "run.yaml"
    file.write_text("matrix: x.csv\nexclude: [list.txt, ^MT-]\ninclude: ^g\n")
    monkeypatch.chdir(tmp_path)
    config = configured(load("run/run.yaml"), DEFAULTS)
    assert config.exclude == ("run/list.txt", "^MT-")
    assert config.include == ("^g",)
    (tmp_path / "run" / "bad.yaml").write_text("matrix: x.csv\nexclude: [a(]\n")
    with pytest.raises(UsageError, match="neither a file nor") as caught:
        configured(load("run/bad.yaml"), DEFAULTS)
    assert caught.value.where == "run/bad.yaml, line 2"
