"""Selectors for scikit-learn: the methods as steps of a pipeline.

Each has the options of its method under the names of ``sfs rank``, and `n_features_to_select`. They
rank what `fit` is given, in memory, by `sfs_cli.rank`; the values and the order are those of the
command in double precision.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from sfs_cli.api import SfsWarning, rank
from sfs_cli.arguments import at_rows, config_of, given_of
from sfs_cli.catalog import METHODS
from sfs_cli.errors import UsageError, listed
from sfs_cli.io.matrix.memory import Table
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import stated
from sfs_cli.options.grammar import NAME, expanded, joined, name_of

__all__ = [
    "GDCOVSelector",
    "HSICSelector",
    "MRSFSelector",
    "MultiSourceSelector",
    "QAlphaSelector",
    "RFSSelector",
    "ReliefFSelector",
    "Selector",
    "SemiSupervisedSelector",
    "SpectralSelector",
    "TraceRatioSelector",
]


@dataclass(eq=False, repr=False)
class _Selector(SelectorMixin, BaseEstimator):
    """What the selectors have in common.

    Attributes
    ----------
    scores_ : ndarray, shape (m,)
        The score of each feature, NaN where there is none. Of some methods the smallest is the
        best: `ranking_` is the order.
    pvalues_ : ndarray, shape (m,), or None
        The p-value of each feature; None of a method that has none.
    ranking_ : ndarray of int, shape (m,)
        The rank of each feature; 1 is the best.
    table_ : DataFrame
        The ranking as `sfs_cli.rank` returns it, best first.
    n_features_in_ : int
        Number of features m of `fit`.
    feature_names_in_ : ndarray of str, shape (m,)
        Their names, where `fit` was given a data frame.
    """

    n_features_to_select: float | None = None

    # not in the signature of `fit`, since few methods take weights, and a graph takes none:
    # repeated samples are neighbors of each other
    __metadata_request__fit: ClassVar[dict[str, bool | None]] = {"sample_weight": None}
    METHOD: ClassVar[str] = ""
    CALLED: ClassVar[dict[str, str]] = {}
    """What the options of the ranking are called that have another name here."""

    @property
    def LABELS(self) -> str:
        """Whether y is ``needed``, used where given (``may``), or as options ask (``none``)."""
        if self.METHOD in (None, "hsic"):
            return "may"
        method = METHODS.get(self.METHOD)
        needs = set() if method is None else method.needed(method.options)
        return "needed" if needs & {"labels", "some-labels"} else "none"

    def fit(self, X: object, y: object = None, **fit_params: Any) -> Self:
        """Rank the features of X (n, m), dense or sparse, with the classes y (n,) if it uses them.

        The notes of a selector say with which options it does; with others y is ignored.
        ``sample_weight``, shape (n,), is taken with the methods of ``sfs rank --sample-weights``.

        Raises ValueError for data that cannot be ranked, and for weights that a method cannot use.
        """
        return self._fit(X, y, {}, **fit_params)

    def _fit(
        self,
        X: Any,
        y: object,
        described: dict[str, Any],
        samples: Sequence[str] | None = None,
        *,
        sample_weight: object = None,
    ) -> Self:
        X = validate_data(
            self, X, accept_sparse=("csr", "csc"), dtype=np.float64, ensure_min_samples=2
        )
        n, m = X.shape
        if m == 1:
            raise ValueError("n_features = 1: nothing can be ranked, give 2 or more features")
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(m)])
        # no bare numbers: in a file they would be other samples than those of a fold
        table = Table(X, samples or [f"row {i}" for i in range(n)], list(map(str, names)), True)
        state = getattr(self, "random_state", 0) or 0
        if not isinstance(state, Integral):
            state = check_random_state(state).randint(2**31 - 1)
        asked: dict[str, Any] = {
            "dtype": "float64",
            "seed": int(state),
            **self._options(),
            **described,
        }
        asked |= self._labels(y, table, asked)
        if sample_weight is not None:
            asked["sample_weights"] = _check_sample_weight(sample_weight, X)
        count = min(self._count(m), m)
        method = METHODS.get(self.METHOD or "")
        if method is not None and "select" in method.options:  # a set as large as asked for
            asked["select"] = count
        with warnings.catch_warnings():
            # what says that a list is no evidence would come in every fold
            warnings.simplefilter("ignore", SfsWarning)
            warnings.filterwarnings("always", ".* no effect .*", SfsWarning)
            found = rank(table, **asked)
        self.table_ = found.table
        self.ranking_ = np.argsort(found.order) + 1
        of_features = found.table.iloc[self.ranking_ - 1]
        self.scores_, self.pvalues_ = (
            of_features[name].to_numpy() if name in of_features else None
            for name in ("score", "p_value")
        )
        self._selected = found.order[: min(count, found.ranking.n_scored)]
        if len(self._selected) < count:
            warnings.warn(
                f"{len(self._selected):,} features have a score, and are selected, where "
                f"{count:,} were asked for",
                SfsWarning,
                stacklevel=3,
            )
        return self

    def _options(self) -> dict[str, Any]:
        """Return the options of the ranking: the parameters with what they belong to."""
        own = stated(self.get_params(deep=False))
        named = {self.CALLED.get(k, k): own[k] for k in own if k not in _OF_SELECTION}
        return joined(RankConfig, expanded(RankConfig, {"method": self.METHOD, **named}))

    def _count(self, m: int) -> int:
        asked = self.n_features_to_select
        if asked is None:
            return m // 2
        if isinstance(asked, Integral) and int(asked) >= 1:
            return int(asked)
        if isinstance(asked, float) and 0 < asked <= 1:
            return max(1, round(asked * m))
        raise ValueError(
            f"n_features_to_select={asked!r} is neither a whole number from 1 on nor a share of "
            "the features"
        )

    def _labels(self, y: object, table: Table, asked: dict[str, Any]) -> dict[str, Any]:
        """Return the options for labels y (n,), beside those that are asked for."""
        needed = self.LABELS == "needed"
        if self.LABELS == "none":  # unless options ask for labels, as similarity="label" does
            try:
                config_of(given_of(table), RankConfig, asked)
            except UsageError as error:
                needed = "labels" in error.options
        if not needed and (y is None or self.LABELS == "none"):
            return {}
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None: {type(self).__name__} needs "
                "the class of each sample"
            )
        classes: np.ndarray = column_or_1d(y, warn=True)
        assert_all_finite(classes, input_name="y")
        check_consistent_length(table.row_ids, classes)
        if asked.get("label_type") in ("continuous", "ordered"):
            return {"labels": classes}
        if type_of_target(classes).startswith("continuous"):
            # of methods on a graph, hsic alone takes that of the numbers by itself
            takes = ["hsic", *(name for name, method in METHODS.items() if method.numeric)]
            own = self.METHOD if self.METHOD in takes else "f-test"
            raise ValueError(
                "Unknown label type: y holds numbers that are no classes, for which there is "
                f'Selector(method="{own}", options={{"label_type": "continuous"}}); '
                f"methods for numbers are {', '.join(takes)}"
            )
        check_classification_targets(classes)
        return {"labels": np.array([_name(each) for each in classes.tolist()], object)}

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, bool)
        mask[self._selected] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self.LABELS == "needed"
        tags.input_tags.allow_nan = False
        return tags


_OF_SELECTION = ("n_features_to_select", "random_state")
"""Parameters that are no options of a ranking."""
_OF_SELECTORS = {
    *("method", "labels", "seed", "sample_weights", "select", "top", "n_top_genes"),
    *("rows", "collapse", "rank_sources", "modality", "key_added", "copy", "subset", "inplace"),
}
"""What `Selector` does not take as options: it says them itself, or they change the features."""


@dataclass(eq=False, repr=False, kw_only=True)
class Selector(_Selector):
    """Any method of ``sfs rank``, with any of its options.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        A number, or a share, of features; half of them by default.
    method : str or dict, optional
        Such as ``"f-test"``, ``"variance"``, ``"mrmr"`` (``sfs methods`` lists them); by default
        that of ``sfs rank``: it depends on y and on the number of samples. It may hold parameters:
        ``"spec,ranking=phi3"``, or ``{"name": "spec", "ranking": "phi3"}``.
    parameters : dict, optional
        Parameters of the method, such as ``{"ranking": "phi3"}``, for a grid search.
    options : dict, optional
        Other options of `sfs_cli.rank`, such as ``{"transform": "log1p", "pvalues": "moments"}``.
        Of y that holds numbers give ``{"label_type": "continuous"}``.
    random_state : int or RandomState, optional
        The seed.

    Notes
    -----
    `fit` uses y by default, and with methods and options that need labels, and ignores it with
    others.

    What describes the samples among the options, such as ``{"adjust": batch}``, is found by the
    index of X where both are objects of pandas, so that each fold of a search takes its rows of the
    whole; a file is read by that index. Otherwise rows go by their order, and more or fewer than X
    has, as in a fold, are refused, and so are those of an X whose index counts its rows from 0:
    give names. A step before this one that makes an array of a data frame takes the index away:
    give it ``set_output(transform="pandas")``.
    """

    method: str | dict[str, object] | None = None
    parameters: dict[str, object] | None = None
    options: dict[str, object] | None = None
    random_state: int | np.random.RandomState | None = 0

    @property
    def METHOD(self) -> str | None:  # type: ignore[override]
        """The method asked for, by its name alone."""
        return name_of(self.method)

    def fit(self, X: Any, y: object = None, **fit_params: Any) -> Self:
        """Rank the features of X (n, m) with the classes or numbers y (n,)."""
        return self._fit(X, y, *at_rows(self.options or {}, X), **fit_params)

    def _options(self) -> dict[str, Any]:
        asked = dict(self.options or {})
        if taken := sorted(_OF_SELECTORS & {*asked}):
            raise ValueError(
                f"options of {type(self).__name__} has {listed(taken)}, which is not taken there: "
                "a selector ranks the features of X, with its arguments method, "
                "parameters, n_features_to_select and random_state, and fit takes y and "
                "sample_weight"
            )
        asked["method"] = self.method
        if self.parameters:
            if NAME in self.parameters or self.METHOD is None or self.method != self.METHOD:
                raise ValueError(
                    f"parameters={self.parameters} need a method by its name alone, with none of "
                    f"its own: method={self.method!r}"
                )
            asked["method"] = {NAME: self.method, **self.parameters}
        return asked


@dataclass(eq=False, repr=False, kw_only=True)
class SpectralSelector(_Selector):
    """SPEC (Zhao and Liu, 2007): features that vary slowly over a graph of the samples.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        A number, or a share, of features; half of them by default.
    ranking : {"phi1", "phi2", "phi3"}, optional
        The criterion (Eq. 2.6 to 2.8).
    similarity : str, optional
        The graph: knn, rbf, label and others; by default that of ``sfs rank``.
    neighbors : int, optional
        Of each sample, for knn.
    clusters : int, optional
        Groups that phi3 looks for.

    Notes
    -----
    `fit` uses y with ``similarity="label"`` or ``"relieff"``, and ignores it otherwise.

    References
    ----------
    Z. Zhao and H. Liu, "Spectral feature selection for supervised and unsupervised learning", 2007.
    """

    METHOD = "spec"
    ranking: str | None = None
    similarity: str | None = None
    neighbors: int | None = None
    clusters: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class MRSFSelector(_Selector):
    """MRSF (Zhao, Wang and Liu, 2010): features that together keep the graph, without repetition.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        A number, or a share, of features; half of them by default.
    similarity : str, optional
        The graph; by default that of ``sfs rank``.
    neighbors : int, optional
        Of each sample, for knn.
    response : {"similarity", "lda", "svm", "pca"}, optional
        What the features are to explain: the graph of the samples (similarity, the default), the
        classes y (lda or svm, which take no graph), or the principal components (pca).

    Notes
    -----
    By default `fit` ignores y, and selects for no classifier: give ``response="lda"`` or ``"svm"``,
    or ``similarity="label"`` or ``"relieff"``, where the features are to tell classes apart.

    References
    ----------
    Z. Zhao, L. Wang and H. Liu, "Efficient spectral feature selection with minimum redundancy",
    2010.
    """

    METHOD = "mrsf"
    similarity: str | None = None
    neighbors: int | None = None
    response: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class RFSSelector(_Selector):
    """RFS (Nie, Huang, Cai and Ding, 2010): regression on the classes with joint L2,1 norms.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        A number, or a share, of features; half of them by default.
    gamma : float
        Weight of the penalty.

    References
    ----------
    F. Nie, H. Huang, X. Cai and C. Ding, "Efficient and robust feature selection via joint
    L2,1-norms minimization", 2010.
    """

    METHOD = "rfs"
    gamma: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class QAlphaSelector(_Selector):
    """Q-alpha (Wolf and Shashua, 2005): weights of features that make the affinity well clustered.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        A number, or a share, of features; half of them by default.
    clusters : int, optional
        Number of leading eigenvectors.
    random_state : int or RandomState, optional
        Seed of the start.

    Notes
    -----
    `fit` ignores y.

    References
    ----------
    L. Wolf and A. Shashua, "Feature selection for unsupervised and supervised inference", 2005.
    """

    METHOD = "qalpha"
    clusters: int | None = None
    random_state: int | np.random.RandomState | None = 0


@dataclass(eq=False, repr=False, kw_only=True)
class GDCOVSelector(_Selector):
    """GDCOV: covariance of the features with the spectrum of a graph of the samples.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        A number, or a share, of features; half of them by default.
    similarity : str, optional
        The graph; by default that of ``sfs rank``.
    neighbors : int, optional
        Of each sample, for knn.

    Notes
    -----
    `fit` uses y with ``similarity="relieff"``, and ignores it otherwise.
    """

    METHOD = "gdcov"
    similarity: str | None = None
    neighbors: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class ReliefFSelector(_Selector):
    """ReliefF (Kononenko, 1994): features that differ between neighbors of different classes.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        A number, or a share, of features; half of them by default.
    neighbors : int, optional
        Of each sample, in each class.

    References
    ----------
    I. Kononenko, "Estimating attributes: analysis and extensions of RELIEF", 1994.
    """

    METHOD = "relieff"
    CALLED: ClassVar[dict[str, str]] = {"neighbors": "relieff_neighbors"}
    neighbors: int | None = None


class TraceRatioSelector(_Selector):
    """Trace Ratio (Nie et al., 2008): the set of features of the best ratio of two graphs.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        A number, or a share, of features; half of them by default. The set depends on it.

    References
    ----------
    F. Nie, S. Xiang, Y. Jia, C. Zhang and S. Yan, "Trace ratio criterion for feature selection",
    2008.
    """

    METHOD = "trace-ratio"


@dataclass(eq=False, repr=False, kw_only=True)
class HSICSelector(_Selector):
    """HSIC (Song et al., 2007): features that depend on the classes, or on a graph without them.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        A number, or a share, of features; half of them by default.
    similarity : str, optional
        The kernel of the samples; by default that of the classes where there is y, else that of
        ``sfs rank``.

    Notes
    -----
    `fit` uses y where no `similarity` is given, or ``"label"`` or ``"relieff"``, and ignores it
    otherwise.

    References
    ----------
    L. Song, A. Smola, A. Gretton, K. Borgwardt and J. Bedo, "Supervised feature selection via
    dependence estimation", 2007.
    """

    METHOD = "hsic"
    similarity: str | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class SemiSupervisedSelector(_Selector):
    """sSelect (Zhao and Liu, 2007): a graph of all samples, and the classes of some.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        A number, or a share, of features; half of them by default.
    lam : float
        Weight of the graph beside the classes, from 0 to 1.
    similarity : str, optional
        The graph; by default that of ``sfs rank``.
    neighbors : int, optional
        Of each sample, for knn.

    Notes
    -----
    As in `sklearn.semi_supervised`, a class of -1 in y stands for a sample without one. Where y has
    -1 and one other class, as many tables of two classes do, both are classes.

    References
    ----------
    Z. Zhao and H. Liu, "Semi-supervised feature selection via spectral analysis", 2007.
    """

    METHOD = "sselect"
    CALLED: ClassVar[dict[str, str]] = {"lam": "lambda_"}
    lam: float = 0.3
    similarity: str | None = None
    neighbors: int | None = None

    def _labels(self, y: object, table: Table, asked: dict[str, Any]) -> dict[str, Any]:
        found = super()._labels(y, table, asked)
        labels = found["labels"]
        if len(set(labels)) > 2:  # else -1 is a class, as in many tables of two
            labels[labels == "-1"] = None
        return found


@dataclass(eq=False, repr=False, kw_only=True)
class MultiSourceSelector(_Selector):
    """MSFS: a graph that knowledge sources make together, and features that vary slowly over it.

    Parameters
    ----------
    n_features_to_select : int or float, optional
        A number, or a share, of features; half of them by default.
    then : str, optional
        The method that ranks on the fused graph.
    weights : str, optional
        How the sources are weighted.

    Notes
    -----
    `fit` takes `sources`, a dict of names and matrices with a row for each sample (or what `rank`
    takes), beside the matrix itself, which always is one. In a pipeline, ask for it with
    ``set_fit_request(sources=True)``. It uses y with the weights alignf and rkda, and ignores it
    otherwise.

    Where X is a data frame, the rows of a source that is a data frame or an AnnData are found by
    the index of X, so that folds of a search take theirs of the whole source. Otherwise rows go by
    their order, and a source with more or fewer rows than X, as in a fold, is refused. A step
    before this one that makes an array of a data frame takes the index away: give it
    ``set_output(transform="pandas")``.
    """

    METHOD = "msfs"
    then: str | None = None
    weights: str | None = None

    def fit(
        self,
        X: Any,
        y: object = None,
        sources: Mapping[str, object] | None = None,
        **fit_params: Any,
    ) -> Self:
        """Rank the features of X (n, m) on the graph of it and the `sources`."""
        given = {"expression": "target:", **(sources or {})}
        return self._fit(X, y, *at_rows({"source": given}, X), **fit_params)


def _name(label: object) -> str:
    """Return a class as text; 1.0 is the class 1."""
    return str(int(label) if isinstance(label, float) and label.is_integer() else label)
