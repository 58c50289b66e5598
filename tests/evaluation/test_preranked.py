"""Preranked enrichment: against its slow twin, results of gseapy, and what a null has to be."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.evaluation.preranked import (
    PrerankedEnrichment,
    RankedMetric,
    draw_genes,
    pooled_p_values,
    preranked,
)
from tests.oracles import gsea as twin
from tests.oracles import preranked_values as of_gseapy

M = 300


def data(kind: str = "normal") -> tuple[np.ndarray, dict[str, list[int]]]:
    rng = np.random.default_rng(2)
    metric = rng.normal(0.3, 1, M)
    if kind == "ties":
        metric = np.round(metric)
    elif kind == "positive":
        metric = np.abs(metric) + 0.01
    sets = {f"set{k}": rng.choice(M, k, replace=False).tolist() for k in (1, 2, 15, 15, 40, 299)}
    order = np.argsort(-metric, kind="stable")
    sets |= {"first": order[:20].tolist(), "last": order[-20:].tolist()}
    sets["zeros"] = np.flatnonzero(metric == 0).tolist()
    return metric, {name: of for name, of in sets.items() if of}


def by_name(found: list[PrerankedEnrichment]) -> dict[str, PrerankedEnrichment]:
    return {each.name: each for each in found}


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("kind", ["normal", "ties", "positive"])
def test_scores_and_leading_edges_are_those_of_the_whole_running_sum(kind, signed):
    metric, sets = data(kind)
    found = preranked(metric, sets, signed=signed, permutations=5, least=1)
    assert {each.name for each in found} == set(sets)
    for each in found:
        members = set(sets[each.name])
        score, edge = twin.preranked_score(metric.tolist(), members, signed=signed)
        assert each.es == pytest.approx(score, abs=1e-12)
        assert each.leading_edge.tolist() == edge
        assert each.direction == ("bottom" if each.es < 0 else "top")
        assert each.size == len(members)


def test_the_whole_running_sum_is_that_of_the_other_twin():
    metric, sets = data()
    pairs = [(str(i), value) for i, value in enumerate(metric.tolist())]
    for members in sets.values():
        names = {str(i) for i in members}
        score, _ = twin.preranked_score(metric.tolist(), set(members))
        assert score == pytest.approx(twin.signed_enrichment_score(pairs, names), abs=1e-12)
        score, _ = twin.preranked_score(metric.tolist(), set(members), signed=False)
        assert score == pytest.approx(twin.enrichment_score(pairs, names), abs=1e-12)


def test_the_null_is_that_of_random_sets():
    metric, sets = data()
    found = by_name(preranked(metric, sets, permutations=60, seed=5, least=2))
    ranked = RankedMetric(metric)
    drawn = draw_genes(M, M - 1, 60, [5])
    sizes = {len(set(sets[name])) for name in found}
    null = {k: ranked.null(drawn, k, [5]).tolist() for k in sizes}
    pool = []
    for each in found.values():
        of_size = null[each.size]
        assert each.nes == pytest.approx(twin.normalized_score(each.es, of_size))
        assert each.p_value == pytest.approx(twin.share_beyond(each.es, of_size))
        pool += [twin.normalized_score(score, of_size) for score in of_size]
    q = twin.benjamini_hochberg([twin.share_beyond(each.nes, pool) for each in found.values()])
    assert [each.q_value for each in found.values()] == pytest.approx(q)


def test_random_sets_of_a_size_are_all_equally_likely():
    """The mean null score is that over all sets of 3 of 9 genes, and so is its spread."""
    metric = np.random.default_rng(0).normal(size=9)
    every = [
        twin.preranked_score(metric.tolist(), set(each))[0] for each in combinations(range(9), 3)
    ]
    null = RankedMetric(metric).null(draw_genes(9, 8, 20_000, [1]), 3, [1])
    assert null.mean() == pytest.approx(np.mean(every), abs=5 * np.std(every) / 20_000**0.5)
    assert null.std() == pytest.approx(np.std(every), rel=0.02)
    # each of the 84 sets is drawn, and no other score
    assert set(np.round(null, 10).tolist()) == set(np.round(every, 10).tolist())


def test_random_sets_of_different_sizes_are_independent():
    ranked, drawn = RankedMetric(data()[0]), draw_genes(M, 40, 2000, [4])
    of_30, of_31 = (ranked.null(drawn, k, [4]) for k in (30, 31))
    assert abs(np.corrcoef(of_30, of_31)[0, 1]) < 0.1
    np.testing.assert_array_equal(ranked.null(drawn, 30, [4]), of_30)
    assert (ranked.null(drawn, 30, [5]) != of_30).any()


@pytest.mark.parametrize("weight", of_gseapy.WEIGHTS)
def test_it_is_what_gseapy_finds(weight):
    rows = {row.name: row for row in of_gseapy.stored() if row.weight == weight}
    metric = of_gseapy.metric()
    weighted = np.sign(metric) * np.abs(metric) ** weight  # the exponent p of its paper
    found = preranked(weighted, of_gseapy.sets(), permutations=4000, seed=1)
    assert {each.name for each in found} == set(rows)
    for each in found:
        row = rows[each.name]
        assert each.es == pytest.approx(row.es, abs=1e-12)
        assert each.leading_edge.tolist() == row.leading_edge
        # 4,000 random sets here, 20,000 there, some of them of the sign; gseapy counts none more
        assert each.nes == pytest.approx(row.nes, rel=0.05)
        error = (row.p_value * (1 - row.p_value) / 700) ** 0.5
        assert each.p_value == pytest.approx(row.p_value, abs=4 * error + 0.004)
    for family in (rows.values(), found):
        assert {each.nes < 0 for each in family} == {True, False}


def test_a_planted_set_is_found_with_its_direction_and_members():
    rng = np.random.default_rng(3)
    metric = rng.normal(size=2000)
    sets = {f"random {i}": rng.choice(1000, 30, replace=False) for i in range(40)}
    sets |= {"up": np.arange(1000, 1040), "down": np.arange(1100, 1140)}
    metric[sets["up"][:30]] += 2
    metric[sets["down"][:30]] -= 2
    found = preranked(metric, sets)
    assert {each.name for each in found[:2]} == {"up", "down"}
    known = by_name(found)
    for name, direction, sign in (("up", "top", 1), ("down", "bottom", -1)):
        each = known[name]
        assert each.direction == direction
        assert sign * each.es > 0.4
        assert sign * each.nes > 2
        assert each.q_value < 0.01
        own = sign * metric[each.leading_edge]
        assert (np.diff(own) <= 0).all()
        assert own.min() > np.sort(sign * metric)[-1000]
    assert sum(each.q_value < 0.05 for each in found) <= 3


def test_it_does_not_depend_on_the_order_of_genes_nor_on_scale_nor_on_other_sets():
    metric, sets = data()
    found = by_name(preranked(metric, sets, permutations=50))
    shuffled = np.random.default_rng(8).permutation(M)
    inverse = np.argsort(shuffled)
    moved = {name: inverse[of] for name, of in sets.items()}
    for values, scale in ((metric[shuffled], 1.0), (metric[shuffled], 1e200)):
        for name, each in by_name(preranked(values * scale, moved, permutations=50)).items():
            assert each.es == pytest.approx(found[name].es, rel=1e-12)
            assert each.p_value == found[name].p_value
            assert shuffled[each.leading_edge].tolist() == found[name].leading_edge.tolist()
    alone = preranked(metric, {"first": sets["first"]}, permutations=50)[0]
    assert (alone.es, alone.nes, alone.p_value) == (
        found["first"].es,
        found["first"].nes,
        found["first"].p_value,
    )


def test_the_other_end_of_the_list_has_the_opposite_score():
    metric, sets = data()
    up = by_name(preranked(metric, sets, permutations=50))
    for name, each in by_name(preranked(-metric, sets, permutations=50)).items():
        assert each.es == pytest.approx(-up[name].es, abs=1e-12)
        assert sorted(each.leading_edge) == sorted(up[name].leading_edge)


def test_equal_metrics_keep_their_order():
    metric = np.zeros(40)
    front, back = preranked(metric, {"a": range(20), "b": range(20, 40)}, permutations=20)
    assert {front.name: front.es, back.name: back.es} == pytest.approx({"a": 1, "b": -1})
    again = preranked(metric, {"a": range(20), "b": range(20, 40)}, permutations=20)
    assert [each.es for each in again] == [front.es, back.es]


def test_sizes_are_those_in_the_list_and_bounded():
    metric, _ = data()
    sets = {"14": range(14), "15": range(15), "twice": [*range(15), 3, 3], "all": range(M)}
    assert {each.name for each in preranked(metric, sets, permutations=5)} == {"15", "twice"}
    few = preranked(metric, sets, permutations=5, least=1, most=14)
    assert [each.name for each in few] == ["14"]
    assert preranked(metric, {"none": []}, least=0) == []
    assert preranked(metric, {}) == []
    assert preranked(np.zeros(0), {}) == []


def test_no_p_value_is_zero_and_one_without_a_null_is_one():
    metric = np.linspace(5, 1, 60)
    found = preranked(metric, {"top": range(20), "bottom": range(40, 60)}, permutations=30)
    for each in found:
        assert 0 < each.p_value <= 1
        assert 0 < each.q_value <= 1
    lonely = preranked(metric, {"bottom": range(40, 60)}, permutations=1, seed=1)[0]
    ranked = RankedMetric(metric)
    assert ranked.null(draw_genes(60, 59, 1, [1]), 20, [1])[0] > 0
    assert np.isnan(lonely.nes)
    assert (lonely.p_value, lonely.q_value) == (1, 1)
    one_sided = preranked(metric, {"bottom": range(40, 60)}, permutations=30, signed=False)[0]
    assert one_sided.es == pytest.approx(0, abs=1e-12)
    assert one_sided.p_value == 1


def test_pooled_p_values_count_random_sets_as_often_as_sets_of_their_size():
    pool, copies = np.array([[1.0, 2.0, -1.0], [3.0, -0.5, -2.0]]), np.array([1, 3])
    p = pooled_p_values(np.array([2.0, 3.5, -1.0, np.nan]), pool, copies)
    assert p == pytest.approx([(1 + 1 + 3) / 6, 1 / 6, (1 + 1 + 3) / 8, 1])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_metric_that_is_not_finite_is_refused(bad):
    metric, sets = data()
    metric[3] = bad
    with pytest.raises(InputError, match="not a finite number"):
        preranked(metric, sets)


@pytest.mark.slow
def test_p_values_of_random_sets_are_uniform_and_pooled_q_values_control():
    rng = np.random.default_rng(6)
    p, any_pooled = [], 0
    for seed in range(150):
        metric = rng.normal(size=1000)
        sets = {f"s{i}": rng.choice(1000, rng.integers(15, 60), replace=False) for i in range(60)}
        found = preranked(metric, sets, permutations=400, seed=seed)
        p += [each.p_value for each in found]
        any_pooled += min(each.q_value for each in found) <= 0.05
    for level in (0.01, 0.05, 0.2, 0.5):
        error = (level * (1 - level) / len(p)) ** 0.5
        assert np.mean(np.array(p) <= level) == pytest.approx(level, abs=6 * error + 0.003)
    assert any_pooled / 150 < 0.05 + 3 * (0.05 * 0.95 / 150) ** 0.5


@pytest.mark.slow
def test_five_thousand_sets_of_twenty_thousand_genes_take_seconds():
    import time

    rng = np.random.default_rng(0)
    sets = {f"s{i}": rng.choice(20_000, rng.integers(15, 501), replace=False) for i in range(5000)}
    started = time.process_time()
    preranked(rng.normal(size=20_000), sets)
    assert time.process_time() - started < 30  # 3 s on a core of 2024
