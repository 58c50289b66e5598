"""The selectors for scikit-learn: its own checks, and the rankings of the commands."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn")

import sklearn
from anndata import AnnData
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import estimator_checks_generator

import sfs_cli
from sfs_cli import sklearn as selectors

Y = np.repeat([0, 1, 2], 12)
X = np.random.default_rng(4).normal(size=(36, 40)) + 1.0
X[:, :6] += 2.5 * Y[:, None]
SOME = np.where(np.arange(36) % 3 == 0, Y, -1)
SOURCES = {"expression": "target:", "other": X[:, 30:]}
OFTEN = [selectors.Selector(method="variance"), selectors.Selector(method="relieff")]
"""One that any method is given to, and one that needs classes; all are tested nightly."""


def checks() -> Iterator[Any]:
    """The checks of scikit-learn, but for one of arrays that selectors do not take."""
    for selector in OFTEN:
        for estimator, check in estimator_checks_generator(selector):
            if check.func.__name__ != "check_array_api_input":
                yield pytest.param(estimator, check, id=f"{selector}-{check.func.__name__}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    ("given", "asked", "y"),
    [
        ({}, {"labels": Y}, Y),
        ({"method": "spec"}, {"method": "spec"}, Y),
        (
            {
                "method": "spec",
                "parameters": {"ranking": "phi3", "clusters": 3},
                "options": {"similarity": "knn,neighbors=6"},
            },
            {"method": "spec,ranking=phi3,clusters=3", "similarity": "knn,neighbors=6"},
            None,
        ),
        ({"method": "gdcov"}, {"method": "gdcov"}, None),
        (
            {"method": "gdcov", "options": {"similarity": "relieff"}},
            {"method": "gdcov", "similarity": "relieff", "labels": Y},
            Y,
        ),
        (
            {"method": "qalpha", "parameters": {"clusters": 3}, "random_state": 3},
            {"method": "qalpha,clusters=3", "seed": 3},
            Y,
        ),
        (
            {"method": "rfs", "parameters": {"gamma": 0.1}},
            {"method": "rfs,gamma=0.1", "labels": Y},
            Y,
        ),
        (
            {"method": "relieff", "parameters": {"neighbors": 4}},
            {"method": "relieff,neighbors=4", "labels": Y},
            Y,
        ),
        ({"method": "trace-ratio"}, {"method": "trace-ratio", "select": 8, "labels": Y}, Y),
        ({"method": "hsic"}, {"method": "hsic", "labels": Y}, Y),
        (
            {"method": "hsic", "options": {"similarity": "rbf"}},
            {"method": "hsic", "similarity": "rbf"},
            Y,
        ),
        (
            {"method": "hsic", "options": {"coordinates": X[:, 6:8]}},
            {"method": "hsic", "coordinates": X[:, 6:8]},
            Y,
        ),
        ({"method": "mrsf"}, {"method": "mrsf", "select": 8}, Y),
        (
            {"method": "mrsf", "parameters": {"response": "lda"}},
            {"method": "mrsf,response=lda", "select": 8, "labels": Y},
            Y,
        ),
        (
            {"method": "sselect", "parameters": {"lambda": 0.7}},
            {
                "method": "sselect,lambda=0.7",
                "select": 8,
                "labels": [str(y) if y >= 0 else None for y in SOME],
            },
            SOME,
        ),
        (
            {
                "method": "msfs",
                "parameters": {"then": "gdcov"},
                "options": {"source": SOURCES, "weights": "alignf"},
            },
            {"method": "msfs,then=gdcov", "source": SOURCES, "weights": "alignf", "labels": Y},
            Y,
        ),
        (
            {"method": "sselect"},  # of two classes -1 is one
            {"method": "sselect", "select": 8, "labels": np.where(Y, "1", "-1")},
            np.where(Y, 1, -1),
        ),
    ],
    ids=str,
)
def test_it_ranks_as_the_command_does(
    given: dict[str, Any], asked: dict[str, Any], y: np.ndarray | None
) -> None:
    with warnings.catch_warnings(record=True) as told:
        made = clone(selectors.Selector(8, **given)).fit(X, y)
    assert not told  # that y has no effect would be in every fold
    expected = sfs_cli.rank(X, dtype="float64", **asked)
    assert made.get_support(indices=True).tolist() == sorted(expected.order[:8])
    assert np.argsort(made.ranking_).tolist() == expected.order.tolist()
    assert made.transform(X).shape == (36, 8)
    if "labels" in asked and given.get("method") not in (None, "hsic"):
        with pytest.raises(ValueError, match="requires y"):
            clone(made).fit(X)


def test_sparse_named_and_pickled() -> None:
    made = selectors.Selector(5, method="spec").fit(X)
    sparse = selectors.Selector(5, method="spec").fit(csr_array(X))
    np.testing.assert_array_equal(made.ranking_, sparse.ranking_)
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(40)])
    named = selectors.Selector(5, method="spec").set_output(transform="pandas").fit(frame)
    chosen = frame.columns[made.get_support()]
    assert named.transform(frame).columns.tolist() == chosen.tolist()
    assert named.get_feature_names_out().tolist() == chosen.tolist()
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again.transform(X), made.transform(X))


def test_a_search_over_the_number_of_features_and_a_parameter_of_the_method() -> None:
    steps = make_pipeline(selectors.Selector(method="rfs"), SVC(kernel="linear"))
    grid = {
        "selector__n_features_to_select": [2, 6],
        "selector__parameters": [{"gamma": gamma} for gamma in (0.1, 1, 10)],
    }
    search = GridSearchCV(steps, grid, cv=3).fit(X, Y)
    assert search.best_score_ > 0.9
    chosen = search.best_params_
    expected = sfs_cli.rank(
        X,
        method=f"rfs,gamma={chosen['selector__parameters']['gamma']}",
        labels=Y,
        dtype="float64",
    )
    assert np.argsort(search.best_estimator_[0].ranking_).tolist() == expected.order.tolist()


def test_a_source_goes_by_the_index_of_the_samples(rng: np.random.Generator) -> None:
    names = [f"s{i}" for i in range(36)]
    frame = pd.DataFrame(X, names)
    mirna = pd.DataFrame(rng.normal(size=(36, 7)), names)
    rows = rng.permutation(36)[:20]
    by_name = selectors.MultiSourceSelector(5).fit(frame.iloc[rows], sources={"mirna": mirna})
    arrays = {"mirna": mirna.to_numpy()[rows]}
    by_place = selectors.MultiSourceSelector(5).fit(X[rows], sources=arrays)
    np.testing.assert_array_equal(by_name.scores_, by_place.scores_)
    with pytest.raises(ValueError, match="no row for 2 of 36 samples"):
        selectors.MultiSourceSelector(5).fit(frame, sources={"mirna": mirna.iloc[2:]})


def test_a_source_takes_no_other_rows_than_those_of_the_samples(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    """Neither by the numbers that stand for the ids of an array, nor by those of a file."""
    profile = pd.DataFrame(rng.normal(size=(36, 7)))  # its index is 0, 1, ...
    file = tmp_path / "mirna.csv"
    profile.T.rename(index=lambda i: f"m{i}").to_csv(file)
    rows = np.r_[20:36, 0:4]

    def scores(X: Any, source: Any) -> np.ndarray:
        return selectors.MultiSourceSelector(5).fit(X, sources={"mirna": source}).scores_

    expected = scores(X[rows], profile.to_numpy()[rows])
    frame = pd.DataFrame(X)
    shuffled = AnnData(profile.sample(frac=1, random_state=0))
    for source in (profile, AnnData(profile.to_numpy()), shuffled, f"profile:{file}"):
        np.testing.assert_allclose(scores(frame.iloc[rows], source), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="has 36 rows for the 20 samples"):
        scores(X[rows], profile)
    with pytest.raises(ValueError, match="none of the 20 samples"):
        scores(X[rows], f"profile:{file}")
    permuted = profile.set_axis(rng.permutation(36))
    np.testing.assert_array_equal(scores(X, permuted), scores(X, profile.to_numpy()))


def test_folds_take_their_rows_of_a_source(rng: np.random.Generator) -> None:
    names = [f"s{i}" for i in range(36)]
    frame, mirna = pd.DataFrame(X, names), pd.DataFrame(rng.normal(size=(36, 7)), names)
    selector = selectors.MultiSourceSelector(5)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(selector.set_fit_request(sources=True), SVC())
        search = GridSearchCV(pipe, {"multisourceselector__n_features_to_select": range(3, 6)})
        search.fit(frame, Y, sources={"mirna": mirna})
    assert search.best_score_ > 0.4
    with sklearn.config_context(enable_metadata_routing=True):
        with_array = make_pipeline(StandardScaler(), pipe)
        options: Any = {"params": {"sources": {"mirna": mirna}}, "error_score": "raise"}
        with pytest.raises(ValueError, match="as in the folds of a search"):
            cross_val_score(with_array, frame, Y, **options)
        with_array[0].set_output(transform="pandas")
        assert cross_val_score(with_array, frame, Y, **options).mean() > 0.4


@pytest.mark.parametrize("of", ["series", "frame", "list", "dict", "file", "counted"])
def test_folds_take_their_rows_of_what_describes_the_samples(
    tmp_path: Path, rng: np.random.Generator, of: str
) -> None:
    names = range(36) if of == "counted" else [f"s{i}" for i in range(36)]
    frame = pd.DataFrame(X, names)
    batch = pd.Series(rng.choice(["a", "b"], 36), frame.index, name="batch")
    batch.to_csv(tmp_path / "batch.tsv", sep="\t", index_label="sample")
    shuffled = batch.sample(frac=1, random_state=0).astype("category")
    given: Any = {
        **{"series": shuffled, "counted": batch, "frame": shuffled.to_frame(), "list": [shuffled]},
        **{"dict": shuffled.to_dict(), "file": f"{tmp_path}/batch.tsv:batch"},
    }[of]
    selector = selectors.Selector(5, method="f-test", options={"adjust": given})
    rows = rng.permutation(36)[:24]
    expected = sfs_cli.rank(
        X[rows], labels=Y[rows], method="f-test", adjust=batch.to_numpy()[rows], dtype="float64"
    )
    made = selector.fit(frame.iloc[rows], Y[rows])
    assert np.argsort(made.ranking_).tolist() == expected.order.tolist()
    pipe = make_pipeline(clone(selector), SVC())
    assert cross_val_score(pipe, frame, Y, error_score="raise").mean() > 0.4


def test_folds_take_their_rows_of_sources_graphs_and_coordinates(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    names = [f"s{i}" for i in range(36)]
    frame, near = pd.DataFrame(X, names), np.exp(-abs(np.subtract.outer(Y, Y)))
    places = pd.DataFrame(rng.normal(size=(36, 2)), names)
    rows = rng.permutation(36)[:24]
    places.to_csv(tmp_path / "m.csv")
    source = [{"name": "m", "kind": "profile", "path": places}]
    file = [{"name": "m", "kind": "profile", "path": tmp_path / "m.csv"}]
    for method, whole, part in (
        (
            "spec",
            {"similarity": pd.DataFrame(near, names, names)},
            {"similarity": near[np.ix_(rows, rows)]},
        ),
        ("spec", {"coordinates": places}, {"coordinates": places.to_numpy()[rows]}),
        ("msfs", {"source": source}, {"source": {"m": places.to_numpy()[rows]}}),
        ("msfs", {"source": file}, {"source": {"m": places.to_numpy()[rows]}}),
    ):
        made = selectors.Selector(method=method, options=whole).fit(frame.iloc[rows])
        by_place = selectors.Selector(method=method, options=part).fit(X[rows])
        np.testing.assert_allclose(made.scores_, by_place.scores_, rtol=1e-12)


@pytest.mark.parametrize("method", ["f-test", "sselect"])
@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_classes_that_are_missing_are_refused(method: str, gap: object) -> None:
    y = np.where(Y, "a", "b").astype(object)
    y[[4, 7]] = gap
    hint = "leave these out or write -1" if method == "sselect" else "leave these out$"
    with pytest.raises(ValueError, match=f"in 2 of 36 samples, the first at 4: {hint}"):
        selectors.Selector(method=method).fit(X, y)
    numbers = np.where(np.isin(np.arange(36), [4, 7]), np.nan, Y)
    with pytest.raises(ValueError, match=f"in 2 of 36 samples, the first at 4: {hint}"):
        selectors.Selector(method=method).fit(X, numbers)


def test_minus_one_beside_names_is_a_sample_without_a_class() -> None:
    y, numbers = np.where(Y, "a", "b").astype(object), (Y > 0).astype(int)
    y[[4, 7]] = numbers[[4, 7]] = -1
    by_name, by_number = (
        selectors.Selector(method="sselect").fit(X, each).scores_ for each in (y, numbers)
    )
    np.testing.assert_array_equal(by_name, by_number)
    with pytest.raises(ValueError, match="y has names and numbers"):
        selectors.Selector(method="f-test").fit(X, y)


@pytest.mark.parametrize("name", ["source", "sources"])
def test_sources_among_the_options_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"options has {name}, .* give fit the sources"):
        selectors.MultiSourceSelector(options={name: {}}).fit(X)


def test_what_has_no_index_is_refused_in_folds() -> None:
    for batch in (np.arange(36) % 2, pd.Series(np.arange(36) % 2), [*np.arange(36) % 2]):
        selector = selectors.Selector(5, method="f-test", options={"block": batch})
        assert selector.fit(X, Y).get_support().sum() == 5
        with pytest.raises(ValueError, match=r"block has 36 rows for the 24 .* folds of a search"):
            cross_val_score(make_pipeline(selector, SVC()), X, Y, cv=3, error_score="raise")


def test_rows_that_a_step_has_counted_are_not_those_of_the_whole(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    batch = pd.Series(rng.choice(["a", "b"], 36), name="batch")
    batch.to_csv(tmp_path / "batch.tsv", sep="\t", index_label="sample")
    scaler = StandardScaler().set_output(transform="pandas")
    for given, said in (
        (batch, "adjust has 36 rows, and X 24, numbered from 0"),
        (f"{tmp_path}/batch.tsv:batch", "none of the 24 samples has a value of batch"),
    ):
        selector = selectors.Selector(5, method="f-test", options={"adjust": given})
        with pytest.raises(ValueError, match=said):
            make_pipeline(scaler, selector).fit(X[:24], Y[:24])
    selectors.Selector(5, method="f-test", options={"adjust": batch}).fit(pd.DataFrame(X), Y)


@pytest.mark.parametrize("columns", [30, 37])
def test_graphs_that_are_not_square_are_refused(columns: int) -> None:
    near = pd.DataFrame(np.ones((36, columns)))
    selector = selectors.Selector(method="spec", options={"similarity": near})
    with pytest.raises(ValueError, match=rf"similarity has shape \(36, {columns}\)"):
        selector.fit(pd.DataFrame(X))


def test_a_set_that_is_smaller_than_asked_for_is_told_of(rng: np.random.Generator) -> None:
    with pytest.warns(sfs_cli.SfsWarning, match="where 50 were asked for"):
        made = selectors.Selector(50, method="mrsf").fit(rng.normal(size=(12, 200)))
    assert made.get_support().sum() < 50


def test_scores_and_p_values_are_those_of_scikit_learn(rng: np.random.Generator) -> None:
    from sklearn.feature_selection import f_classif, f_regression

    made = selectors.Selector(5, method="f-test").fit(X, Y)
    np.testing.assert_allclose([made.scores_, made.pvalues_], f_classif(X, Y), rtol=1e-9)
    numbers = X[:, 0] + rng.normal(size=36)
    asked = selectors.Selector(5, method="f-test", options={"label_type": "continuous"})
    made = asked.fit(X, numbers)
    np.testing.assert_allclose(made.pvalues_, f_regression(X, numbers)[1], rtol=1e-7)


@pytest.mark.parametrize(
    ("selector", "method"),
    [
        (selectors.Selector(method="spearman"), "spearman"),
        (selectors.Selector(method="relieff"), "relieff"),
        (selectors.Selector(method="mrsf,response=lda"), "mrsf,response=outcome"),
    ],
)
def test_numbers_where_classes_are_meant_name_what_takes_them(selector: Any, method: str) -> None:
    numbers = X[:, 0] + np.arange(36) / 100
    with pytest.raises(ValueError, match="numbers that are no classes") as told:
        selector.fit(X, numbers)
    asked = re.search(r"Selector\((method=.*?\})\)", str(told.value))
    assert asked
    given = eval(f"dict({asked[1]})")  # what is proposed is taken
    assert given["method"] == method
    assert selectors.Selector(4, **given).fit(X, numbers).get_support().sum() == 4


def test_a_sample_of_weight_two_counts_twice() -> None:
    weights = np.arange(36) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        step = selectors.Selector(6, method="f-test").set_fit_request(sample_weight=True)
        classifier = SVC().set_fit_request(sample_weight=False)
        made = make_pipeline(step, classifier).fit(X, Y, sample_weight=weights)[0]
    repeated = np.repeat(np.arange(36), weights)
    expected = selectors.Selector(6, method="f-test").fit(X[repeated], Y[repeated])
    np.testing.assert_allclose(made.scores_, expected.scores_, rtol=1e-9)


def test_what_a_selector_cannot_do_is_refused() -> None:
    for error, made, given in (
        ("unknown value 'nope' of method", selectors.Selector(method="nope"), {}),
        ("the name is missing", selectors.Selector(method={"ranking": "phi3"}), {}),
        ("need a method", selectors.Selector(parameters={"ranking": "phi3"}), {}),
        (
            "with none of its own",
            selectors.Selector(method="spec,ranking=phi1", parameters={"clusters": 3}),
            {},
        ),
        (
            'it is a parameter: method="NAME,ranking=VALUE"',
            selectors.Selector(method="spec,ranking=phi1", options={"ranking": "phi3"}),
            {},
        ),
        (
            "method by its name alone",
            selectors.Selector(method="relieff", parameters={"name": "spec"}),
            {},
        ),
        ("no option 'nope'", selectors.Selector(options={"nope": 1}), {}),
        ("36 samples|sample_weight.shape", selectors.Selector(), {"sample_weight": [1.0]}),
    ):
        with pytest.raises(ValueError, match=error):
            made.fit(X, Y, **given)
    with pytest.raises(TypeError, match="weights"):
        selectors.Selector().fit(X, Y, weights=Y)
    with pytest.raises(ValueError, match="requires y"):
        selectors.Selector(method="f-test").fit(X)


def test_options_of_selector_that_are_its_own_or_change_the_features_are_refused() -> None:
    X, y = np.random.default_rng(0).normal(size=(30, 8)), np.arange(30) % 2
    for name in ("method", "top", "labels", "rank_sources"):
        with pytest.raises(ValueError, match=name):
            selectors.Selector(method="f-test", options={name: 3}).fit(X, y)
    source = {"other": np.random.default_rng(1).normal(size=(30, 3))}
    own = selectors.Selector(
        method="msfs", options={"source": {"expression": "target:", **source}}
    ).fit(X)
    expected = selectors.MultiSourceSelector().fit(X, sources=source)
    np.testing.assert_array_equal(own.scores_, expected.scores_)
    with pytest.raises(ValueError, match="give fit the sources"):
        selectors.MultiSourceSelector(options={"source": source}).fit(X, sources=source)
    with pytest.raises(ValueError, match="give another name"):  # X would go without a word
        selectors.MultiSourceSelector().fit(X, sources={"expression": source["other"]})


def test_a_source_with_repeated_samples_is_refused() -> None:
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 6)), [f"s{i}" for i in range(20)])
    twice = pd.concat([X, X.iloc[:2]])
    with pytest.raises(ValueError, match="repeated names of samples"):
        selectors.MultiSourceSelector(3).fit(X, sources={"m": twice})
