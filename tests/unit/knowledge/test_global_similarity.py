"""Several sources in one similarity: one scale, weights, and samples that not all of them have."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import fusion, similarities
from tests.oracles import knowledge as twin
from tests.unit.knowledge.study import CLASSES, SAMPLES, N, Study

CLOSE = {"rtol": 1e-9, "atol": 1e-11}


def three(study: Study) -> tuple[list[str], list[np.ndarray]]:
    """A kernel, a graph without a diagonal, and blocks; and their dense twins."""
    P = study.profile(np.arange(N))
    sources = [
        "x=target:",
        f"p=profile:{study.folder / 'p.csv'},similarity=knn,neighbors=4",
        f"t=labels:{study.labels()}:tissue",
    ]
    parts = [
        similarities.rbf(study.X),
        similarities.knn(P, 4),
        similarities.label(np.array(CLASSES)),
    ]
    return sources, parts


@pytest.mark.parametrize("frobenius", [False, True])
@pytest.mark.parametrize("weights", [None, [2.0, 0.5, 1.5], [0.0, 1.0, 3.0]])
def test_the_weighted_sum_on_one_scale(study, frobenius, weights):
    sources, parts = three(study)
    how = "uniform" if weights is None else ",".join(map(str, weights))
    more = ["--weights", how + ",normalize=frobenius" * frobenius]
    made = study.fused(*sources, more=more)
    used = weights or [1 / 3] * 3
    expected = sum(w * twin.scaled(S, frobenius) for w, S in zip(used, parts))
    np.testing.assert_allclose(made.S, expected, **CLOSE)
    assert [source["weight"] for source in made.record["sources"]] == pytest.approx(used)
    factors = [source["divided_by"] for source in made.record["sources"]]
    divided = [S / factor for S, factor in zip(parts, factors)]
    for S, D in zip(parts, divided):
        np.testing.assert_allclose(D, twin.scaled(S, frobenius), **CLOSE)


def test_weights_after_the_sources_are_those_of_the_list(study):
    sources, _ = three(study)
    listed = study.fused(*sources, more=("--weights", "2,1,0.25"))
    profile, options = sources[1].split(",", 1)
    written = study.fused(f"{sources[0]}@2", f"{profile},{options}", f"{sources[2]}@0.25")
    np.testing.assert_array_equal(written.S, listed.S)


def partial(study: Study) -> tuple[list[str], list[np.ndarray], list[np.ndarray]]:
    """Sources of which none has all samples, but together they do; in their order."""
    first, second, third = np.arange(10), np.arange(4, N), np.arange(1, N, 2)
    P = study.profile(first)
    labels = "".join(f"{SAMPLES[i]}\t{CLASSES[i]}\n" for i in second)
    rows = "".join(f"{SAMPLES[i]}\ta/{CLASSES[i]}\n" for i in third)
    sources = [
        f"p=profile:{study.folder / 'p.csv'}",
        f"t=labels:{study.text('sample' + chr(9) + 'tissue' + chr(10) + labels, 'some.tsv')}",
        f"h=hierarchy:{study.text('sample' + chr(9) + 'path' + chr(10) + rows, 'h.tsv')}",
    ]
    classes = np.array(CLASSES)
    parts = [
        similarities.rbf(P[first]),
        similarities.label(classes[second]),
        twin.lowest_common_ancestors([("a", CLASSES[i]) for i in third], 2),
    ]
    return sources, parts, [first, second, third]


@pytest.mark.parametrize("weights", [[1 / 3] * 3, [2.0, 0.5, 1.0]])
def test_union_averages_over_the_sources_that_have_a_pair(study, weights):
    sources, parts, places = partial(study)
    more = ("--samples", "union", "--weights", ",".join(map(str, weights)))
    made = study.fused(*sources, more=more)
    scaled = [twin.scaled(S) for S in parts]
    np.testing.assert_allclose(made.S, fusion.average(scaled, places, weights, N), **CLOSE)
    assert made.samples == SAMPLES
    assert [source["samples"] for source in made.record["sources"]] == [10, 10, 7]


def test_intersect_keeps_the_samples_of_all(study):
    sources, _, places = partial(study)
    common = sorted(set.intersection(*(set(at.tolist()) for at in places)))
    made = study.fused(*sources, "x=target:", more=("--samples", "intersect"))
    assert made.samples == [SAMPLES[i] for i in common]
    P, classes = study.profile(np.arange(10)), [CLASSES[i] for i in common]
    depth = 2  # of the whole hierarchy
    parts = [
        similarities.rbf(P[common]),
        similarities.label(np.array(classes)),
        twin.lowest_common_ancestors([("a", c) for c in classes], depth),
        similarities.rbf(study.X[common]),
    ]
    expected = sum(twin.scaled(S) for S in parts) / 4
    np.testing.assert_allclose(made.S, expected, **CLOSE)


def test_learned_weights_are_those_of_the_samples_that_all_have(study):
    """Under union they are learned on the common samples, and used on all."""
    sources, parts, places = partial(study)
    made = study.fused(*sources, more=("--samples", "union", "--weights", "statis"))
    common = sorted(set.intersection(*(set(at.tolist()) for at in places)))
    inside = []
    for S, at in zip(parts, places):
        rows = [at.tolist().index(i) for i in common]
        inside.append(twin.scaled(S)[np.ix_(rows, rows)])
    products = fusion.products(inside)
    sizes = np.sqrt(np.diag(products))
    vector = np.abs(np.linalg.eigh(products / np.outer(sizes, sizes))[1][:, -1])
    learned = np.array([source["weight"] for source in made.record["sources"]])
    np.testing.assert_allclose(learned, vector / vector.sum(), rtol=1e-9)
    scaled = [twin.scaled(S) for S in parts]
    np.testing.assert_allclose(made.S, fusion.average(scaled, places, learned, N), **CLOSE)
