"""Sources about genes against their dense twins, through the file that `sfs fuse` writes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import knowledge as twin
from tests.oracles import similarities
from tests.unit.knowledge.study import GENES, M, Study, check


def rbf_of(study: Study, genes: list[str]) -> np.ndarray:
    return similarities.rbf(study.X[:, [GENES.index(g) for g in genes]])


SETS = {
    "GO:01": ["g1", "g2", "g3", "g4"],
    "HALLMARK_A": ["g4", "g5", "g6", "none"],
    "HALLMARK_B": ["g20", "g21", "g1"],
}


def gmt() -> str:
    return "".join(f"{name}\tabout\t" + "\t".join(genes) + "\n" for name, genes in SETS.items())


@pytest.mark.parametrize(
    ("part", "names"),
    [
        ("", list(SETS)),
        (":GO:01", ["GO:01"]),
        (":GO:01,HALLMARK_B", ["GO:01", "HALLMARK_B"]),
        (":HALLMARK_*", ["HALLMARK_A", "HALLMARK_B"]),
    ],
)
def test_genes_of_sets(study, part, names):
    made = study.fused(f"g=genes:{study.text(gmt(), 'sets.gmt')}{part}")
    genes = sorted({g for name in names for g in SETS[name] if g != "none"})
    check(made.S, rbf_of(study, genes))
    assert made.source["sets"] == len(names)
    assert made.source["genes_found"] == made.source["features"] == len(genes)
    assert made.record["inputs"][1].get("part") == (part[1:] or None)


def test_genes_of_a_list(study):
    path = study.text("gene\ng7\ng9\ng3\nnone\n", "g.txt")
    made = study.fused(f"g=genes:{path}")
    check(made.S, rbf_of(study, ["g3", "g7", "g9"]))
    assert (made.source["genes"], made.source["genes_found"]) == (4, 3)


ANNOTATIONS = [
    ("g1", "T1", "IDA", ""),
    ("g2", "T1", "IEA", ""),
    ("g3", "T2", "IDA", "NOT|involved_in"),
    ("g4", "T2", "IMP", "involved_in"),
    ("g5", "T1", "IEA", ""),
    ("g6", "T2", "IEA", ""),
]


def gaf() -> str:
    lines = [
        "\t".join(["DB", f"id-{g}", g, q, t, "PMID:1", e, *[""] * 8]) for g, t, e, q in ANNOTATIONS
    ]
    return "\n".join(["!gaf-version: 2.2", *lines]) + "\n"


@pytest.mark.parametrize(
    ("options", "genes"),
    [
        ("", ["g1", "g2", "g4", "g5", "g6"]),
        (",evidence=IDA,IMP", ["g1", "g4"]),
        (",evidence=!IEA", ["g1", "g4"]),
        (",evidence=IEA", ["g2", "g5", "g6"]),
    ],
)
def test_genes_of_annotations(study, options, genes):
    made = study.fused(f"g=genes:{study.text(gaf(), 'a.gaf')}{options}")
    check(made.S, rbf_of(study, genes))
    assert made.source["negated_annotations"] == 1


def test_genes_of_some_terms_of_annotations(study):
    made = study.fused(f"g=genes:{study.text(gaf(), 'a.gaf')}:T2")
    check(made.S, rbf_of(study, ["g4", "g6"]))


def test_genes_by_the_ids_of_the_database(study):
    id_map = study.text("".join(f"{g}\tid-{g}\n" for g in GENES), "map.tsv")
    made = study.fused(f"g=genes:{study.text(gaf(), 'a.gaf')},ids=id,id-map={id_map}")
    check(made.S, rbf_of(study, ["g1", "g2", "g4", "g5", "g6"]))
    assert made.source["genes_found_through_map"] == 5


EDGES = [
    ("g1", "g2", 0.9),
    ("g2", "g3", 0.2),
    ("g3", "g4", 0.8),
    ("g5", "g6", 0.7),
    ("g6", "none", 0.95),
    ("g7", "g7", 1.0),
    ("g2", "g1", 0.4),
]


def edge_file(study: Study) -> str:
    rows = "".join(f"{a}\t{b}\t{s}\n" for a, b, s in EDGES)
    return study.text("gene_a\tgene_b\tscore\n" + rows, "e.tsv")


@pytest.mark.parametrize(
    ("options", "genes"),
    [
        ("", ["g1", "g2", "g3", "g4", "g5", "g6"]),
        (",min-score=0.75", ["g1", "g2", "g3", "g4", "g6"]),
        (",seeds=SEEDS", ["g1", "g2", "g3"]),
        (",seeds=SEEDS,min-score=0.75", ["g1", "g2"]),
    ],
)
def test_interactions(study, options, genes):
    seeds = study.text("g2\ng25\n", "seeds.txt")
    made = study.fused(f"i=interactions:{edge_file(study)}{options.replace('SEEDS', seeds)}")
    check(made.S, rbf_of(study, genes))
    assert made.source["self_loops"] == 1
    low = "min-score" in options
    assert (made.source["repeated_edges"], made.source.get("below_min_score")) == (
        (0, 3) if low else (1, None)
    )


def feature_similarity(least: float = 0.0) -> np.ndarray:
    S = np.zeros((M, M))
    for a, b, score in EDGES:
        if "none" not in (a, b) and a != b and score >= least:
            i, j = GENES.index(a), GENES.index(b)
            S[i, j] = S[j, i] = max(S[i, j], score)
    return S


def of_distances(d2: np.ndarray) -> np.ndarray:
    return similarities.gaussian(np.sqrt(np.maximum(d2, 0)), "median")


@pytest.mark.parametrize(("options", "least"), [("", 0.0), (",min-score=0.5", 0.5)])
def test_feature_similarity_of_edges(study, options, least):
    made = study.fused(f"f=feature-similarity:{edge_file(study)}{options}")
    S = feature_similarity(least)
    check(made.S, of_distances(twin.over_edges(study.X, S)))
    check(made.S, of_distances(twin.mahalanobis(study.X, S)))
    assert made.source["distance"] == "Mahalanobis"


def test_feature_similarity_of_a_matrix_in_another_order(study):
    rng = np.random.default_rng(2)
    A = rng.random((M, M)) * (rng.random((M, M)) < 0.2)
    S = A + A.T
    order = rng.permutation(M)
    names = [GENES[i] for i in order]
    path = study.table(S[np.ix_(order, order)], names, names, "S.csv")
    made = study.fused(f"f=feature-similarity:{path},similarity=knn,neighbors=4")
    d = np.sqrt(twin.over_edges(study.X, S - np.diag(np.diag(S))))
    check(made.S, twin.knn_of(d, 4))


def term_matrix() -> np.ndarray:
    return (np.random.default_rng(8).random((M, 6)) < 0.25).astype(int)


def of_terms(study: Study, T: np.ndarray) -> np.ndarray:
    return of_distances(twin.over_edges(study.X, twin.shared_terms(T)))


def test_terms_of_a_matrix(study):
    T = term_matrix()
    path = study.table(T, GENES, [f"t{i}" for i in range(6)], "t.csv")
    made = study.fused(f"t=terms:{path}")
    check(made.S, of_terms(study, T))
    shared = twin.shared_terms(T)
    check(made.S, of_distances(twin.mahalanobis(study.X, shared - np.diag(np.diag(shared)))))


@pytest.mark.parametrize(
    ("options", "terms"),
    [
        ("", [["g1", "g2", "g5"], ["g4", "g6"]]),
        (":T1", [["g1", "g2", "g5"]]),
        (",evidence=IEA", [["g2", "g5"]]),
    ],
)
def test_terms_of_annotations(study, options, terms):
    T = np.array([[int(g in genes) for genes in terms] for g in GENES])
    check(study.fused(f"t=terms:{study.text(gaf(), 'a.gaf')}{options}").S, of_terms(study, T))


def test_ids_are_found_through_a_map(study):
    pairs = "".join(f"{g}\tENSG{i}\n" for i, g in enumerate(GENES)) + "g9\tENSG7\n"
    id_map = study.text(pairs, "map.tsv")
    genes = study.text("ENSG7\nENSG12\nENSG99\n", "ensg.txt")
    expected = rbf_of(study, ["g7", "g9", "g12"])
    check(study.fused(f"g=genes:{genes}", more=("--id-map", id_map)).S, expected)
    # a source's own map comes before that of the run
    other = study.text("".join(f"{g}\tother{i}\n" for i, g in enumerate(GENES)), "other.tsv")
    more = ("--id-map", other)
    check(study.fused(f"g=genes:{genes},id-map={id_map}", more=more).S, expected)


def test_terms_and_edges_are_carried_over_by_a_map(study):
    """Two probes of a gene each get its terms and edges."""
    id_map = study.text("g1\tA\ng2\tA\ng3\tB\ng4\tC\n", "map.tsv")
    T = np.zeros((M, 2), int)
    T[1:4, 0], T[[3, 4], 1] = 1, 1
    sets = study.text("one\t\tA\tB\ntwo\t\tB\tC\n", "s.gmt")
    check(study.fused(f"t=terms:{sets},id-map={id_map}").S, of_terms(study, T))
    S = twin.carried(
        np.array([[0, 0.5, 0], [0.5, 0, 0.2], [0, 0.2, 0]]), [(0, 1), (0, 2), (1, 3), (2, 4)], M
    )
    edges = study.text("a\tb\tscore\nA\tB\t0.5\nB\tC\t0.2\n", "e.tsv")
    made = study.fused(f"f=feature-similarity:{edges},id-map={id_map}")
    check(made.S, of_distances(twin.over_edges(study.X, S)))


def test_counts_per_million_are_those_of_all_genes(study):
    genes = study.text("g1\ng2\ng5\n", "g.txt")
    cpm = twin.cpm(study.X)[:, [1, 2, 5]]
    check(study.fused(f"g=genes:{genes},transform=cpm").S, similarities.rbf(cpm))
    more = ("--transform", "cpm,log1p")
    check(study.fused(f"g=genes:{genes}", more=more).S, similarities.rbf(np.log1p(cpm)))
