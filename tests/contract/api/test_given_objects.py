"""Objects that users have: ids and orders, types of values, and errors in the words of Python."""

from __future__ import annotations

import pickle
import unicodedata
import warnings
from pathlib import Path
from typing import Any

import anndata as ad
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import sfs_cli as sfs

N, M = 30, 12
CLASSES = np.repeat(["a", "b", "c"], 10)
X = np.random.default_rng(0).normal(size=(N, M))
X[:, 0] += np.repeat([0.0, 3.0, 6.0], 10)
GENES = [f"g{i}" for i in range(M)]
COUNTED = pd.DataFrame(X, columns=GENES)  # its index is 0, 1, ...
NAMED = COUNTED.set_axis([f"s{i}" for i in range(N)])
SHUFFLED = COUNTED.sample(frac=1, random_state=1)
S = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 20)


def fisher(data: Any, labels: Any, **options: Any) -> pd.DataFrame:
    return sfs.rank(data, labels=labels, method="fisher", **options).table


def best(data: Any, labels: Any) -> str:
    return str(fisher(data, labels).index[0])


def test_repeated_genes_have_their_own_scores() -> None:
    adata = ad.AnnData(NAMED.copy(), obs=pd.DataFrame({"type": CLASSES}, NAMED.index))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adata.var_names = ["g", "g", *GENES[2:]]
        sfs.rank(adata, labels="type", method="fisher", top=1)
    expected = fisher(NAMED, CLASSES)
    np.testing.assert_array_equal(adata.var["sfs_score"], expected.loc[GENES, "score"])
    assert adata.var["highly_variable"].tolist() == [True] + [False] * (M - 1)


def test_labels_go_by_ids_where_the_index_has_them() -> None:
    labels = pd.Series(CLASSES)
    for data in (COUNTED, SHUFFLED, SHUFFLED.iloc[5:]):
        assert best(data, labels[labels.index.isin(data.index)]) == "g0"
        assert best(data, labels[::-1]) == "g0"
    assert best(NAMED, labels) == "g0"  # an index that only counts
    with pytest.raises(ValueError, match="25 of 30 samples have such ids"):
        best(COUNTED.set_axis(range(5, 35)), labels)


def test_a_shuffled_index_that_an_array_cannot_use_is_told_of(rng: np.random.Generator) -> None:
    shuffled = pd.Series(CLASSES)[SHUFFLED.index]  # as train_test_split gives them
    assert best(SHUFFLED.to_numpy(), shuffled) == "x0"
    with pytest.warns(sfs.SfsWarning, match="labels is taken in the order of its rows"):
        fisher(X, shuffled)
    covariates = pd.DataFrame(rng.normal(size=(N, 2)), SHUFFLED.index)
    with pytest.warns(sfs.SfsWarning, match="adjust is taken in the order") as told:
        fisher(X, CLASSES, adjust=covariates)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fisher(X, pd.Series(CLASSES))
        fisher(X, shuffled.to_numpy())
        fisher(NAMED, shuffled.set_axis(NAMED.index))
        part = slice(0, None, 2)  # numbers of other rows, as of a part for training
        fisher(X[part], pd.Series(CLASSES)[part])


@pytest.mark.parametrize("kind", [str, np.int64])
def test_keys_of_a_dict_are_the_numbers_of_the_samples_of_an_array(
    kind: Any, rng: np.random.Generator
) -> None:
    keys = [*SHUFFLED.index]
    labels = {kind(i): CLASSES[i] for i in keys}
    weights = rng.random(N) + 0.5
    pd.testing.assert_frame_equal(fisher(X, labels), fisher(X, CLASSES))
    for option, values in (("sample_weights", weights), ("adjust", rng.normal(size=N))):
        by_key = {option: {kind(i): values[i] for i in keys}}
        expected = fisher(X, CLASSES, **{option: values}).score
        np.testing.assert_allclose(fisher(X, CLASSES, **by_key).score, expected, rtol=1e-12)
    del labels[kind(3)]
    facts = sfs.rank(X, labels=labels, method="fisher", samples="intersect").facts
    assert facts["input"]["n_samples"] == N - 1
    with pytest.raises(ValueError, match=r"labels has 30 keys \(s0, s1, s2"):
        fisher(X, dict(zip(NAMED.index, CLASSES)))
    with pytest.raises(ValueError, match=r"labels has 10 keys \(20, 21, 22"):
        fisher(X[:20], dict(enumerate(CLASSES)))
    from_one = {i + 1: str(each) for i, each in enumerate(CLASSES)}
    with pytest.raises(ValueError, match=r"labels has 1 key \(30\) of no sample"):
        sfs.rank(X, labels=from_one, method="fisher", samples="intersect")


def test_a_graph_whose_rows_are_counted_goes_by_its_columns() -> None:
    order = np.random.default_rng(3).permutation(N)
    graph = pd.DataFrame(S, NAMED.index, NAMED.index)
    expected = sfs.rank(NAMED, method="spec", similarity=graph).ranking.score
    written = graph.iloc[order, order].reset_index(drop=True)  # as without index in a file
    found = sfs.rank(NAMED, method="spec", similarity=written).ranking.score
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_covariates_of_one_name_are_two() -> None:
    two = np.random.default_rng(4).normal(size=(N, 2))
    names = ["age", "age"], ["age", "dose"]
    one, other = (
        sfs.rank(
            NAMED, labels=CLASSES, method="f-test", adjust=pd.DataFrame(two, NAMED.index, each)
        )
        for each in names
    )
    np.testing.assert_array_equal(one.ranking.score, other.ranking.score)


def test_two_rankings_at_a_time_give_the_blas_back() -> None:
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info, threadpool_limits

    def blas() -> set[int]:
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: sfs.rank(X, method="spec"), range(12)))
        assert blas() == {2}


def test_masked_values_of_samples_are_missing() -> None:
    first = np.arange(N) == 0
    for labels in (np.ma.array(CLASSES, mask=first), np.ma.array(range(N), mask=first) // 10):
        found = sfs.rank(X, labels=labels, method="fisher", samples="intersect")
        assert found.facts["input"]["n_samples"] == N - 1
        expected = fisher(X[1:], CLASSES[1:])
        np.testing.assert_allclose(found.table.score, expected.score, rtol=1e-6)
        with pytest.raises(ValueError, match="1 of 30 samples have no label"):
            fisher(X, labels)
    with pytest.raises(ValueError, match="1 of 30 samples have no value of sample_weights"):
        fisher(X, CLASSES, sample_weights=np.ma.array(np.ones(N), mask=first))


def test_an_anndata_beside_an_array_goes_by_its_order(rng: np.random.Generator) -> None:
    profile = rng.normal(size=(N, 5))
    rows = rng.permutation(N)[:20]

    def scores(source: Any) -> np.ndarray:
        return sfs.rank(X[rows], method="msfs", source={"mirna": source}).ranking.score

    expected = scores(profile[rows])
    np.testing.assert_array_equal(scores(ad.AnnData(profile)[rows]), expected)
    np.testing.assert_array_equal(scores(ad.AnnData(profile[rows])), expected)
    with pytest.raises(ValueError, match="mirna has 30 values for 20 samples"):
        scores(ad.AnnData(profile))


def test_sources_with_options_are_dicts() -> None:
    """In a list with their names, or by their names; the path is a text or an object."""

    def scores(source: Any) -> np.ndarray:
        return sfs.rank(NAMED, method="msfs", source=source).ranking.score

    own = {"kind": "target", "similarity": "knn", "neighbors": 4}
    expected = scores(["own=target:,similarity=knn,neighbors=4"])
    np.testing.assert_array_equal(scores([{"name": "own", **own}]), expected)
    np.testing.assert_array_equal(scores({"own": own}), expected)
    profile = {"kind": "profile", "path": NAMED, "similarity": "knn", "neighbors": 4}
    mixed = [{"name": "b", "weight": np.int64(2), **profile}, "a=target:"]
    found = sfs.rank(NAMED, method="msfs", source=mixed)
    assert [(s.name, s.weight, s.neighbors) for s in found.config.source] == [
        ("b", 2, 4),
        ("a", None, None),
    ]
    np.testing.assert_allclose(scores([{"name": "b", **profile}]), expected)
    sets = {"name": "s", "path": {"A": GENES[:3], "B": GENES[3:]}, "transform": ["zscore"]}
    assert str(sfs.rank(NAMED, method="msfs", source=[sets]).config.source[0].kind) == "genes"
    for wrong, what in [
        ({"kind": "target"}, "a source is of type dict"),
        ({"name": "x"}, "the kind is missing"),
        ({"name": "x", "kind": "target", "neighbours": 3}, "unknown option 'neighbours'"),
        ({"name": "x", "kind": "terms", "path": NAMED}, "source x: an object is a source of"),
    ]:
        with pytest.raises(ValueError, match=what):
            scores([wrong])


def test_columns_of_several_types() -> None:
    mixed = COUNTED.assign(g11=COUNTED.g11 > 0)
    pd.testing.assert_frame_equal(fisher(mixed, CLASSES), fisher(mixed.astype(float), CLASSES))
    gaps = COUNTED.astype("Float64")
    gaps.iloc[3, 4] = pd.NA
    with pytest.raises(ValueError, match="1 missing value in 1 of 12"):
        fisher(gaps, CLASSES)
    with pytest.raises(ValueError, match="of type object"):
        fisher(COUNTED.assign(g11="high"), CLASSES)


def test_a_column_of_text_is_named_and_may_be_the_index(tmp_path: Path) -> None:
    table = NAMED.T.rename_axis("feature_id").reset_index()
    table.to_parquet(tmp_path / "x.parquet")
    for data in (table, pd.read_parquet(tmp_path / "x.parquet"), table.astype(object)):
        with pytest.raises(ValueError, match=r"feature_id(.|\n)*set_index\('feature_id'\)"):
            sfs.rank(data, rows="features", method="variance")
        found = sfs.rank(data.set_index("feature_id"), rows="features", method="variance")
        assert found.top(3) == sfs.rank(NAMED, method="variance").top(3)
    with pytest.raises(ValueError, match="day, name"):
        sfs.rank(COUNTED.assign(day=pd.Timestamp("2020-01-01"), name="x"), method="variance")


def test_tables_of_arrow_keep_their_names_and_masks_are_missing_values() -> None:
    table = pa.Table.from_pandas(COUNTED, preserve_index=False)
    pd.testing.assert_frame_equal(fisher(table, CLASSES), fisher(COUNTED, CLASSES))
    with pytest.raises(ValueError, match="1 missing value"):
        fisher(np.ma.masked_array(X, X[3, 4] == X), CLASSES)


def test_options_of_numpy_and_lists() -> None:
    five = sfs.rank(X, similarity={"name": "knn", "neighbors": np.int64(5)})
    assert five.config.neighbors == 5
    for given in ("knn,neighbors=5", {"name": "knn", "neighbors": 5.0}):
        assert sfs.rank(X, similarity=given).config.neighbors == 5
    named = {"name": "kogs", "members": ["spec", "variance"]}
    assert sfs.rank(X, method=named).config.members == ("spec", "variance")
    assert len(sfs.select(five, top=np.int64(3))) == 3
    assert sfs.rank(np.abs(X), transform=["cpm", "log1p"]).config.transform == "cpm,log1p"
    named = {"a": five, "b": sfs.rank(X, method="variance")}
    by_name = sfs.aggregate(named, list_weights={"b": 2, "a": 1})
    pd.testing.assert_frame_equal(by_name, sfs.aggregate(named, list_weights=[1, 2]))


def test_a_similarity_of_fewer_samples_is_not_lost() -> None:
    source = {"e": "target:", "m": NAMED.iloc[:20, :5]}
    adata = ad.AnnData(NAMED.copy())
    with pytest.raises(ValueError, match="20 of the 30 samples"):
        sfs.fuse(adata, source, samples="intersect", copy=True)
    with pytest.warns(sfs.SfsWarning, match="not written into obsp"):
        assert sfs.fuse(adata, source, samples="intersect").shape == (20, 20)


def test_what_is_judged_and_chosen(tmp_path: Path) -> None:
    ranked = sfs.rank(NAMED, method="fisher", labels=CLASSES)
    assert sfs.select(ranked.table, top=2) == ranked.top(2)
    ranked.table.to_csv(tmp_path / "ranking.tsv", sep="\t")
    assert sfs.select(tmp_path / "ranking.tsv", top=2) == ranked.top(2)
    given = {"labels": CLASSES, "splits": 3, "repeats": 1}
    sets = {"one": GENES[:2], "other": GENES[3:7]}
    found = sfs.evaluate(NAMED, list=ranked, lengths=range(2, 4), sets=sets, **given)
    tested = found.enrichment[found.enrichment["list"] == "list"]
    assert set(tested["set"]) == {"one", "other"}


def test_a_matrix_with_genes_in_rows_is_told_of(rng: np.random.Generator) -> None:
    genes = pd.DataFrame(rng.normal(size=(2000, N)))
    for data in (genes, genes.to_numpy(), sp.csr_array(genes.to_numpy())):
        with pytest.warns(sfs.SfsWarning, match='2,000 samples of 30 .* rows="features"') as told:
            found = sfs.rank(data, method="variance")
        assert found.warnings == [str(each.message) for each in told]
    with pytest.raises(ValueError, match=r'30 values for 2,000 samples\n.*rows="features"'):
        fisher(genes, CLASSES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(sfs.select(found, top=3)) == 3  # said once
        sfs.rank(genes, method="variance", rows="features")
        sfs.rank(ad.AnnData(genes.to_numpy()), method="variance")
        fisher(genes, np.arange(2000) % 2)  # labels of the rows


def test_a_result_is_compared_pickled_and_not_changed() -> None:
    ranked = sfs.rank(NAMED, method="variance")
    assert ranked != sfs.rank(NAMED, method="variance")
    ranked.order[:] = 0
    assert ranked.top(3) == pickle.loads(pickle.dumps(ranked)).top(3)
    assert len(set(ranked.top(3))) == 3


@pytest.mark.parametrize(
    ("error", "call"),
    [
        ("layer is of type", lambda: sfs.rank(NAMED, layer=COUNTED)),
        ("a Series such as table", lambda: sfs.rank(NAMED, labels="class")),
        (
            "can be given beside, as labels=",
            lambda: sfs.rank(NAMED.assign(**{"class": "a"}), labels=CLASSES),
        ),
        ("transform is of type", lambda: sfs.rank(NAMED, transform={})),
        ("sets is of type", lambda: sfs.evaluate(NAMED, list=GENES, sets=np.zeros((2, 2)))),
        ("did you mean splits", lambda: sfs.evaluate(COUNTED, spilts=3)),
        ("it is a parameter: similarity", lambda: sfs.rank(X, similarity="knn", neighbors=5)),
        ("it is a parameter: method", lambda: sfs.rank(X, method="relieff", neighbors=5)),
        ('similarity="file:VALUE"', lambda: sfs.rank(X, similarity_file="S.npz")),
        (
            "neighbors='five' of similarity is not",
            lambda: sfs.rank(X, similarity="knn,neighbors=five"),
        ),
        ("seed is of type", lambda: sfs.rank(X, seed=np.random.RandomState(0))),
        ("top=0 is too small", lambda: sfs.rank(ad.AnnData(NAMED.copy()), top=0)),
        ("nothing to aggregate", lambda: sfs.aggregate(sfs.rank(X, method="variance"))),
        ("other lists", lambda: sfs.aggregate({"a": GENES, "b": GENES}, list_weights={"c": 1})),
        ("unknown value 'bogus' of rows", lambda: sfs.rank(COUNTED, rows="bogus")),
        ("source is of type", lambda: sfs.rank(COUNTED, source=COUNTED)),
        ("method: the name is missing", lambda: sfs.compare(X, {"spec": {}, "f-test": {}})),
        ("no option 'labels'", lambda: sfs.compare(X, rankings={"a": {"labels": CLASSES}})),
    ],
)
def test_errors_name_arguments(error: str, call: Any) -> None:
    with pytest.raises(ValueError, match=error) as caught:
        call()
    assert "--" not in str(caught.value).replace("--help", "")


PLATES = np.arange(N) % 5 + 101  # codes that look like numbers


def taken(data: Any, adjust: Any) -> tuple[str, int, pd.Series]:
    result = sfs.rank(data, labels=CLASSES, method="fisher", adjust=adjust)
    column = result.facts["covariates"]["columns"][0]
    return column["taken_as"], column["columns"], result.table["score"].loc[GENES]


@pytest.mark.parametrize("kind", ["category", "str"])
def test_codes_of_batches_stay_categories_however_they_are_given(kind: str, tmp_path: Path) -> None:
    texts = pd.Series(PLATES, NAMED.index, name="plate")
    plate = texts.astype(kind)
    *_, expected = taken(NAMED, texts.map("p{}".format))
    adata = ad.AnnData(NAMED.copy(), obs=plate.to_frame())
    held: list[Any] = [plate, [plate], plate.to_frame()]
    held += [plate.array] if kind != "str" else [plate.to_dict()]
    if kind == "str":
        plate.to_frame().to_parquet(tmp_path / "c.parquet")
        held.append(f"{tmp_path}/c.parquet:plate")
    for data, adjust in [(adata, "plate"), *((NAMED, each) for each in held)]:
        how, columns, score = taken(data, adjust)
        assert (how, columns) == ("categorical", 4)
        np.testing.assert_allclose(score, expected, rtol=1e-9)


def test_truth_values_are_categories_and_numbers_are_not() -> None:
    flags = pd.Series(PLATES > 102, NAMED.index)
    assert taken(NAMED, flags)[:2] == ("categorical", 1)
    assert taken(NAMED, pd.Series(X[:, 5], NAMED.index))[:2] == ("numeric", 1)
    with pytest.warns(sfs.SfsWarning, match="category"):
        assert taken(NAMED, pd.Series(PLATES, NAMED.index))[:2] == ("numeric", 1)


def decomposed(names: list[str]) -> list[str]:
    return [unicodedata.normalize("NFD", name) for name in names]


SPELLED = NAMED.set_axis(decomposed([f"gén{i}" for i in range(M)]), axis=1).set_axis(
    decomposed([f"é{i}" for i in range(N)])
)


def test_results_have_the_ids_of_the_frame() -> None:
    ranked = sfs.rank(SPELLED, labels=CLASSES, method="fisher")
    assert sorted(ranked.table.index) == sorted(SPELLED.columns)
    assert SPELLED[ranked.top(3)].shape == (N, 3)
    for given in (ranked, ranked.table.reset_index()):
        assert sfs.select(given, top=3) == ranked.top(3)
    joined = sfs.aggregate([ranked, ranked.table, ranked.top(5)])
    assert set(joined.index) == set(SPELLED.columns)


@pytest.mark.parametrize("raw", [False, True])
def test_anndata_is_written_by_its_own_ids(*, raw: bool) -> None:
    adata = ad.AnnData(SPELLED.copy())
    if raw:
        adata.raw = adata.copy()
    ranked = sfs.rank(adata, labels=CLASSES, method="fisher", top=1, layer="raw.X" if raw else None)
    expected = ranked.ranking.score[np.argsort(ranked.order)]
    np.testing.assert_array_equal(adata.var["sfs_score"], expected)
    assert list(adata.var_names) == list(SPELLED.columns)


LEVELS = pd.DataFrame(
    {"score": [3.0, 2.0, 1.0]}, pd.MultiIndex.from_tuples([("a", "x"), ("b", "y"), ("c", "z")])
)


@pytest.mark.parametrize(
    "call",
    [
        lambda: sfs.rank(LEVELS),
        lambda: sfs.fuse(NAMED, {"other": LEVELS}),
        lambda: sfs.select(LEVELS, top=1),
    ],
)
def test_names_of_several_levels_are_refused(call: Any) -> None:
    with pytest.raises(ValueError, match="of 2 levels"):
        call()


def test_options_that_are_none_have_their_default_and_lists_are_taken() -> None:
    ranked = sfs.rank(NAMED, labels=CLASSES, method="fisher", layer=None, source=None)
    assert len(sfs.aggregate([ranked, ranked], how=None)) == M
    going_on = sfs.rank(NAMED, method="mrsf", select=3, given=np.array(["g1", "g2"]))
    assert (going_on.table.status[["g1", "g2"]] == "given").all()
