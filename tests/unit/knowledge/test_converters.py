"""Sources about samples against their dense twins, through the file that `sfs fuse` writes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import knowledge as twin
from tests.oracles import similarities
from tests.unit.knowledge.study import CLASSES, GENES, SAMPLES, N, Study, check

CODES = np.array([int(c[1]) for c in CLASSES])


SHUFFLED = np.random.default_rng(3).permutation(N)


MEASURED = {
    "": similarities.rbf,
    ",similarity=rbf,bandwidth=3.5": lambda X: similarities.rbf(X, 3.5),
    ",bandwidth=self-tuning": lambda X: similarities.rbf(X, "self-tuning"),
    ",similarity=knn,neighbors=4": lambda X: similarities.knn(X, 4),
    ",similarity=knn,neighbors=3,edge-weights=binary": lambda X: similarities.knn(X, 3, "binary"),
    ",similarity=knn,neighbors=4,bandwidth=2": lambda X: similarities.knn(X, 4, bandwidth=2.0),
    ",similarity=geodesic,neighbors=4": lambda X: similarities.geodesic(X, 4),
    ",similarity=diffusion,neighbors=5,beta=0.7": lambda X: similarities.diffusion(X, 5, 0.7),
    ",similarity=linear": similarities.linear,
    ",similarity=correlation": similarities.correlation,
    ",transform=log1p": lambda X: similarities.rbf(np.log1p(X)),
    ",transform=cpm,log1p,similarity=knn,neighbors=4": lambda X: similarities.knn(
        np.log1p(twin.cpm(X)), 4
    ),
}


@pytest.fixture
def unchecked(monkeypatch):
    """Let kernels through that are no graphs: linear has degrees of zero."""
    monkeypatch.setattr("sfs_cli.run.fused_rank.check_degrees", lambda *_: None)


@pytest.mark.parametrize("options", MEASURED)
def test_a_profile_in_another_order_with_strangers(study, options, unchecked):
    P = study.profile(SHUFFLED, extra=3)
    made = study.fused(f"p=profile:{study.folder / 'p.csv'}{options}")
    assert made.samples == SAMPLES
    assert made.source["features"] == 12
    check(made.S, MEASURED[options](P))


def test_relieff_takes_the_labels_of_the_run(study):
    P = study.profile(SHUFFLED)
    labels = ("--labels", study.labels() + ":tissue")
    # a kernel beside it gives degrees above zero
    sources = f"p=profile:{study.folder / 'p.csv'},similarity=relieff,neighbors=2", "x=target:"
    made = study.fused(*sources, more=labels)
    parts = similarities.relieff(P, CODES, 2), similarities.rbf(study.X)
    expected = sum(twin.scaled(S) for S in parts) / 2
    np.testing.assert_allclose(made.S, expected, rtol=1e-9)


def test_the_target_takes_the_steps_of_the_run_unless_it_has_its_own(study):
    logged = similarities.rbf(np.log1p(study.X))
    check(study.fused("x=target:", more=("--transform", "log1p")).S, logged)
    own = study.fused("x=target:,transform=log2", more=("--transform", "log1p"))
    check(own.S, similarities.rbf(np.log2(study.X)))


def test_missing_values_of_a_profile_are_filled_or_left_out(study):
    P = study.profile(np.arange(N))
    P[3, 2], P[5, 2], P[7, 6] = np.nan, np.nan, np.nan
    path = study.table(P.T, [f"p{i}" for i in range(12)], SAMPLES, "p.csv").replace("nan", "NA")
    filled = np.where(np.isnan(P), np.nanmean(P, axis=0), P)
    check(study.fused(f"p=profile:{path},missing=mean").S, similarities.rbf(filled))
    whole = P[:, ~np.isnan(P).any(axis=0)]
    check(study.fused(f"p=profile:{path},missing=drop").S, similarities.rbf(whole))


def test_labels_of_a_file_and_of_the_run(study):
    expected = similarities.label(np.array(CLASSES))
    path = study.labels()
    check(study.fused(f"t=labels:{path}:tissue").S, expected)
    check(study.fused("t=labels:", more=("--labels", f"{path}:tissue")).S, expected)
    check(study.fused(f"t=labels:{path}:batch").S, np.eye(N))


def test_annotations_and_graphs_of_an_h5ad(study):
    import anndata as ad
    import pandas as pd

    S = similarities.rbf(study.X, 4.0) * 3
    obs, var = pd.DataFrame({"organ": CLASSES}, index=SAMPLES), pd.DataFrame(index=GENES)
    path = study.folder / "x.h5ad"
    ad.AnnData(study.X, obs=obs, var=var, obsp={"own": S}).write_h5ad(path)
    study = Study(study.folder, study.X, path)
    check(study.fused("t=labels:obs:organ").S, similarities.label(np.array(CLASSES)))
    check(study.fused("s=similarity:obsp:own").S, S)


PATHS = [("a", "b") if i % 3 else ("a", "c", f"d{i % 2}") for i in range(N - 2)] + [("e",)] * 2


def newick() -> str:
    """The same hierarchy as a tree: leaves hang below the last component of their path."""
    below: dict[tuple[str, ...], list[str]] = {}
    for sample, path in zip(SAMPLES, PATHS):
        below.setdefault(path, []).append(sample)

    def node(path: tuple[str, ...]) -> str:
        inner = sorted({p[: len(path) + 1] for p in PATHS if p[: len(path)] == path and p != path})
        return "(" + ",".join([*map(node, inner), *below.get(path, [])]) + ")"

    return node(()) + ";\n"


def test_a_hierarchy_of_paths(study):
    rows = "".join(f"{s}\t{'/'.join(p)}\n" for s, p in zip(SAMPLES, PATHS))
    path = study.text("sample\tlineage\n" + rows, "h.tsv")
    expected = twin.lowest_common_ancestors(PATHS, 3)
    check(study.fused(f"h=hierarchy:{path}").S, expected)
    check(study.fused(f"h=hierarchy:{path}:lineage").S, expected)


def test_a_hierarchy_of_a_tree(study):
    made = study.fused(f"h=hierarchy:{study.text(newick(), 'h.nwk')}")
    leaves = [(*p, s) for p, s in zip(PATHS, SAMPLES)]  # samples are nodes of the tree, too
    check(made.S, twin.lowest_common_ancestors(leaves, 4))
    assert made.source["depth"] == 4
