"""The catalog of ranking methods: what each needs, takes, costs and cites.

Adding a method takes its file in ``sfs_cli.methods`` and its entry here, and so does adding a
parameter of a method. No numeric library is imported here, because ``sfs --help`` and shell
completion read this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Literal, NamedTuple

from sfs_cli.ranking.aggregations import AGGREGATIONS

Need = Literal["graph", "labels", "some-labels", "event", "sources", "sources-or-members"]


class Parameter(NamedTuple):
    """A parameter of a method, ``--method NAME,KEY=VALUE``, or its default of ``--select``.

    Its facts are those of `sfs_cli.options.fields.Option`. Methods may declare one name, each with
    a meaning, values and a default of its own.
    """

    help: str  # one sentence, or two
    type: type = str
    default: Any = None  # None: there is none, or it depends on the data
    default_text: str = ""  # what happens without it, where that depends on the data
    metavar: str = ""
    words: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    above: float | None = None
    needs: tuple[str, ...] = ()
    excludes: Mapping[str, str] = {}
    word: str = ""  # its key, where that is not its name
    of: str = "method"  # "" of an option of its own


class Method(NamedTuple):
    """A ranking method."""

    name: str  # the value of --method
    title: str  # its name in the literature
    # the module with its `solve` (iterative methods) or `prepare` (separable methods, which score
    # features block by block); or module:Class, the scorer of a separable method
    module: str
    meaning: str | Mapping[str, str]  # how to read its score; by the value of ranking= for SPEC
    # order of its arithmetic in n samples, m features, c classes, k eigenvectors, l selected
    cost: str
    passes: str  # how often it reads the matrix, besides what the graph needs
    when: str  # to use it
    needs: tuple[Need, ...] = ()  # always; `labels` are those of all samples
    needs_by: Mapping[str, Mapping[str, tuple[Need, ...]]] = {}  # also: by option and its value
    numeric: bool = False  # whether labels may be numbers or ordered classes (--label-type)
    unordered: bool = True  # whether they may be classes without an order
    weighted: bool = False  # whether samples may have weights (--sample-weights)
    tested: bool = False  # whether its score is a ratio of quadratic forms (--pvalues)
    goes_on: bool = False  # whether it selects features together, and goes on from given ones
    by_class: bool = False  # whether it scores by the classes: which of them is a feature higher in
    compares: bool = False  # by their means: of two classes one mean is the larger
    testing: bool = False  # whether it has p-values of its own, without --pvalues
    adjusted: bool = True  # whether it takes features that covariates were taken out of
    # its column that says the direction of a feature, and the value there that is no direction;
    # none where the means of two classes say it
    signed_by: tuple[str, float] | None = None
    parameters: Mapping[str, Parameter] = {}  # by their names in Python
    columns: Mapping[str, str] = {}  # that it adds to the ranking, with their meaning
    reference: str = ""  # what to cite
    kernel: bool = False  # it uses the similarity as a kernel: degrees may be zero or negative
    iterative: bool = False  # it has `solve`; else every feature is scored by itself

    @property
    def options(self) -> dict[str, Any]:
        """Its parameters with their defaults."""
        return {name: each.default for name, each in self.parameters.items()}

    def how(self, options: Mapping[str, Any]) -> str:
        """Return one sentence on how to read a score that was made with these options."""
        return self.meaning if isinstance(self.meaning, str) else self.meaning[options["ranking"]]

    @property
    def label_types(self) -> tuple[str, ...]:
        """The values of ``--label-type`` that it can use; none if it never needs labels."""
        by_value = (needs for by in self.needs_by.values() for needs in by.values())
        if not {"labels", "some-labels"} & {*self.needs, *(n for needs in by_value for n in needs)}:
            return ()
        return ("classes",) * self.unordered + ("ordered", "continuous") * self.numeric

    def needed(self, options: Mapping[str, Any]) -> set[Need]:
        """Return what is needed with these options, defaults filled in."""
        found = set(self.needs)
        for option, by_value in self.needs_by.items():
            found.update(by_value.get(options[option], ()))
        return found

    def sign(self, columns: Mapping[str, Any], change: Any) -> Any:
        """Return numbers with the signs of the directions, of the columns that it adds.

        Without `signed_by` these are the signs of `change`, the differences of two means.
        """
        column, middle = self.signed_by or ("", 0.0)
        return columns[column] - middle if column in columns else change

    def load(self, function: Literal["prepare", "solve"]) -> Callable[..., Any] | None:
        """Import the method and return its function of that name, None where it has the other."""
        module, _, scorer = self.module.partition(":")
        if scorer:
            return getattr(import_module(module), scorer) if function == "prepare" else None
        return getattr(import_module(module), function, None)


MAX_GAMMA_POWER = 64
"""Eigenvalues go up to 2: larger powers leave the range of float32."""

_SELECT = Parameter("Number of features to select.", int, 50, metavar="N", least=1, of="")
_GDCOV = {
    "definition": Parameter(
        "Covariance definition, 1 (unnormalized) or 3 (normalized).", int, 3, words=("1", "3")
    ),
    "gamma": Parameter(
        "Function of the eigenvalues of the graph; heat:T is exp(-T times the eigenvalue).",
        default="one-minus",
        metavar="one-minus, inverse or heat:T",
        words=("one-minus", "inverse", "heat:T"),
    ),
}
_RESPONSE = Parameter(
    "Response matrix that the features predict.",
    default="similarity",
    words=("similarity", "lda", "svm", "outcome", "pca"),
)
_RESPONSE_RANK = Parameter(
    "Keep this many leading eigenvectors of the response.",
    int,
    default_text="all",
    metavar="R",
    least=1,
)
_RESPONSE_NEEDS: dict[str, dict[str, tuple[Need, ...]]] = {
    "response": {
        "similarity": ("graph",),
        **dict.fromkeys(("lda", "svm", "outcome"), ("labels",)),
    }
}
_THEN = Parameter(
    "Method that scores the features on the fused graph; its parameters stand in the same list.",
    default="spec",
    words=("spec", "laplacian", "gdcov", "hsic", "mrsf", "mrsf-rounds"),
)
_SOURCES_REFERENCE = "Zhao and Liu, JMLR W&CP 4, 2008"
_THESIS = "Zhao, dissertation, Arizona State University 2010"

_METHODS = (
    # each feature is scored by itself, on a sample graph
    Method(
        name="spec",
        title="SPEC",
        module="sfs_cli.methods.spectral:SpecScorer",
        meaning={
            "phi1": "The smaller the score, the smoother the feature is over the sample graph. "
            "Features that vary little compared with their mean also get small scores.",
            "phi2": "The smaller the score, the smoother the feature is over the sample graph: "
            "similar samples have similar values.",
            "phi3": "The larger the score, the better the feature follows the leading clusters of "
            "the sample graph.",
        },
        needs=("graph",),
        tested=True,
        weighted=True,
        parameters={
            "ranking": Parameter(
                "Score to compute.", default="phi2", words=("phi1", "phi2", "phi3")
            ),
            "gamma": Parameter(
                "Function of the eigenvalues of the graph.",
                default="power",
                words=("power", "exp"),
            ),
            "gamma_power": Parameter(
                "Power of the eigenvalues.",
                int,
                1,
                metavar="R",
                least=1,
                most=MAX_GAMMA_POWER,
                needs=("gamma=power",),
            ),
            "clusters": Parameter(
                "Number of clusters of the samples, of phi3.",
                int,
                default_text="by the eigengap",
                metavar="K",
                least=2,
                needs=("ranking=phi3",),
            ),
        },
        cost="n^2 m ceil(r/2); phi3: n m k",
        passes="1",
        when="the default on a graph that is asked for, and without labels where most values are "
        "zero (cells); few classes: phi1 or phi2; many classes: phi2 or phi3; noisy data: phi3 or "
        "a larger gamma-power=",
        reference=f"Zhao and Liu, ICML 2007; {_THESIS}, ch. 2",
    ),
    Method(
        name="laplacian",
        title="Laplacian Score",
        module="sfs_cli.methods.spectral:laplacian_score",
        meaning="The smaller the score, the better the feature keeps neighboring samples together.",
        needs=("graph",),
        tested=True,
        weighted=True,
        cost="n^2 m",
        passes="1",
        when="the classical unsupervised filter; equal to phi2 of SPEC",
        reference="He, Cai and Niyogi, NIPS 2005",
    ),
    Method(
        name="sselect",
        title="sSelect",
        module="sfs_cli.methods.sselect",
        meaning="The smaller the score (0 to 1), the better the feature agrees with the graph of "
        "all samples and with the labels of some of them.",
        needs=("graph", "some-labels"),
        # on the graph of nearest neighbors lists are best from 0.3 to 0.5 (0.844 balanced accuracy
        # over 9 labeled sets; 0.776 by the cut value), and with few labels, or on rbf, at 0.3
        parameters={
            "lambda_": Parameter(
                "Weight of the graph of all samples; the labels have the rest.",
                float,
                0.3,
                metavar="L",
                least=0,
                most=1,
                needs=("variant=fixed",),
            ),
            "variant": Parameter(
                "Take the weight as it is given (fixed), or the one of the smallest cut value.",
                default="fixed",
                words=("fixed", "cut-value"),
            ),
            "select": _SELECT,
        },
        cost="n^2 m + n m c",
        passes="1; 2 if lambda is chosen by the cut value",
        when="only some of the samples have labels",
        reference="Zhao and Liu, SDM 2007",
    ),
    Method(
        name="gdcov",
        title="GDCOV",
        module="sfs_cli.methods.gdcov.covariance:GdcovScorer",
        meaning="The larger the score, the more the feature varies along the geometry of the "
        "sample graph.",
        needs=("graph",),
        tested=True,
        parameters=_GDCOV,
        cost="n^2 m; inverse and heat: n^3 more",
        passes="1",
        when="several knowledge sources in one sample graph",
        reference=_SOURCES_REFERENCE,
    ),
    Method(
        name="gdcov-spca",
        title="GDCOV with sparse PCA",
        module="sfs_cli.methods.gdcov.sparse_pca",
        goes_on=True,
        meaning="The score is the variance that this feature and those before it explain together.",
        needs=("graph",),
        parameters={**_GDCOV, "select": _SELECT},
        iterative=True,
        columns={
            "variance_kept": "part of the variance of all features that the set so far explains",
        },
        cost="n^2 m + n m l",
        passes="few: bounds exclude most features",
        when="a short list of features that vary together along the sample graph",
        reference=f"{_SOURCES_REFERENCE}; d'Aspremont, Bach and El Ghaoui, JMLR 9, 2008",
    ),
    Method(
        name="hsic",
        title="HSIC",
        module="sfs_cli.methods.spectral:HsicScorer",
        meaning="The larger the score, the more the feature depends on the sample graph.",
        needs=("graph",),
        tested=True,
        weighted=True,
        cost="n^2 m",
        passes="1",
        when="dependence on the labels (given labels make the graph) or on any kernel; the score "
        "grows with the scale of a feature (--transform zscore makes them equal)",
        kernel=True,
        reference="Song, Smola, Gretton, Borgwardt and Bedo, ICML 2007",
    ),
    Method(
        name="trace-ratio",
        title="Trace Ratio",
        module="sfs_cli.methods.trace_ratio",
        meaning="The larger the score, the more the feature raises the ratio of the scatter "
        "between groups to the scatter within groups of the selected features.",
        needs_by={"variant": {"fisher": ("labels",), "laplacian": ("graph",)}},
        parameters={
            "variant": Parameter(
                "Groups of samples: the classes (fisher), or neighbors in the graph (laplacian).",
                default="fisher",
                words=("fisher", "laplacian"),
            ),
            "select": _SELECT,
        },
        iterative=True,
        cost="n m c; laplacian: n^2 m",
        passes="1",
        when="the best set of a given size, by one ratio for the whole set; features of a large "
        "scale dominate it (--transform zscore makes them equal)",
        reference="Nie, Xiang, Jia, Zhang and Yan, AAAI 2008",
    ),
    # features are selected together: the coefficients of most become zero
    Method(
        name="mrsf",
        title="MRSF",
        module="sfs_cli.methods.l21.mrsf",
        goes_on=True,
        meaning="Features are ranked in the order in which they enter the regularization path; the "
        "score is the penalty lambda at which each enters. Features that repeat selected ones "
        "enter late.",
        needs_by=_RESPONSE_NEEDS,
        parameters={
            "response": _RESPONSE,
            "response_rank": _RESPONSE_RANK,
            "select": _SELECT,
        },
        kernel=True,
        iterative=True,
        numeric=True,
        columns={
            "row_norm": "norm of its coefficients at the end of the path",
            "lambda": "the penalty at which it enters: the larger, the earlier (of mrsf-rounds in "
            "a round); NaN where it is not selected",
        },
        cost="n^2 m, and l^3 for each entry",
        passes="few: screening skips inactive features",
        when="redundant features: a short list without repetition; response=outcome predicts "
        "numeric labels (the path of the lasso), and the score is on the scale of a correlation",
        reference=f"{_THESIS}, ch. 4",
    ),
    Method(
        name="mrsf-rounds",
        title="MRSF in rounds",
        module="sfs_cli.methods.l21.rounds",
        goes_on=True,
        meaning="Features are ranked in the order in which they are selected, in rounds that end "
        "where shuffled features would enter. The score is the number of rounds from the one that "
        "selects the feature to the last, plus lambda at its entry as a share of the largest; of "
        "the others, which are ranked by how far they follow the response, it is at most 1.",
        needs_by=_RESPONSE_NEEDS,
        parameters={
            "response": _RESPONSE,
            "response_rank": _RESPONSE_RANK._replace(
                help="Keep this many leading eigenvectors of the response. The scores of more than "
                "1,000 samples change with their number.",
                default_text="all; 100 above 1,000 samples",
            ),
            "select": _SELECT._replace(
                default=None, default_text="200, of few features half of them"
            ),
            "chance": Parameter(
                "A round ends where so many features would enter if their samples were shuffled.",
                int,
                10,
                metavar="N",
                least=1,
            ),
        },
        kernel=True,
        iterative=True,
        numeric=True,
        columns={
            "reach": "how far it follows the response: 1 is what about chance= features (10 by "
            "default) reach with shuffled samples",
            "round": "the round that selects it, from 1; NaN where it is not selected",
            "lambda": "the penalty at which it enters: the larger, the earlier in its round; NaN "
            "where it is not selected",
        },
        cost="as mrsf",
        passes="few for each round",
        when="the default: a list with every module, and the strong ones more than once",
        reference=f"{_THESIS}, ch. 4, and what chance reaches",
    ),
    Method(
        name="greedy-ridge",
        title="Greedy ridge",
        module="sfs_cli.methods.greedy_ridge",
        meaning="Features are ranked in the order in which they are selected: each is smooth over "
        "a graph that is made again of the best features (always knn-correlation, whatever the "
        "first graph is), and says what a ridge fit on those before it leaves. The score is at "
        "most 2; of the others, which are ranked by their smoothness, at most 1.",
        needs=("graph",),
        parameters={
            "select": _SELECT._replace(
                default=None, default_text="200, of few features half of them"
            )
        },
        kernel=True,
        iterative=True,
        cost="n^2 m for each pass (above 1,000 samples 100 n m), and p n l with p candidates: "
        "4,000, or as many as --select",
        passes="3",
        when="many runs, or a fault that a few samples share: about as accurate as mrsf-rounds, "
        "ranked in a quarter of its time",
    ),
    Method(
        name="l21",
        title="L2,1 regression",
        module="sfs_cli.methods.l21.fixed",
        goes_on=True,
        meaning="The score is the norm of the feature's coefficients; most are zero.",
        needs_by=_RESPONSE_NEEDS,
        parameters={
            "lambda_": Parameter("Penalty of the coefficient norms.", float, metavar="L", above=0),
            "budget": Parameter(
                "Sum of the coefficient norms, in place of lambda=.",
                float,
                metavar="T",
                above=0,
                excludes={"lambda_": "each of them says how many features get coefficients"},
            ),
            "response": _RESPONSE,
            "response_rank": _RESPONSE_RANK,
        },
        kernel=True,
        iterative=True,
        columns={
            "correlation": "norm of its products with the residual: lambda where it has weight",
        },
        cost="as mrsf",
        passes="few",
        numeric=True,
        when="MRSF at one known penalty, or at one known sum of coefficient norms",
        reference=f"{_THESIS}, ch. 4",
    ),
    Method(
        name="rfs",
        title="RFS",
        module="sfs_cli.methods.rfs",
        meaning="The score is the norm of the feature's coefficients in a regression on the "
        "classes (or of numeric labels) that is robust to outliers.",
        needs=("labels",),
        numeric=True,
        parameters={
            "gamma": Parameter("Weight of the regularization.", float, 1.0, metavar="G", above=0),
        },
        iterative=True,
        columns={"pull": "1 with weight, less without: the larger, the sooner it would enter"},
        cost="n^2 m for each pass, and (p + n)^3 for each step over p features with weight",
        passes="about 18",
        when="labels for all samples, and outliers among the samples",
        reference="Nie, Huang, Cai and Ding, NIPS 2010",
    ),
    Method(
        name="qalpha",
        title="Q-alpha",
        module="sfs_cli.methods.qalpha.qalpha",
        meaning="The larger the weight alpha, the more the feature contributes to a clear "
        "clustering of the samples.",
        needs_by={"variant": {"supervised": ("labels",)}},
        parameters={
            "variant": Parameter(
                "Variant of the algorithm.",
                default="basic",
                words=("basic", "power", "ritz", "laplacian", "supervised", "kernel"),
            ),
            "clusters": Parameter(
                "Number of clusters of the samples; of eigenvectors within each class "
                "(variant supervised).",
                int,
                default_text="6; of variant=supervised 2",
                metavar="K",
                least=1,
            ),
            "power": Parameter(
                "Number of orthogonal iterations (variants power and ritz), or degree of the "
                "polynomial kernel (variant kernel).",
                int,
                default_text="1; variant kernel: 2",
                metavar="P",
                least=1,
                needs=("variant=power", "variant=ritz", "variant=kernel"),
            ),
        },
        iterative=True,
        cost="n^2 m for each pass; kernel: m^2",
        passes="15 to 70",
        when="no labels, and clusters that only a few features show",
        reference="Wolf and Shashua, JMLR 6, 2005",
    ),
    # classical filters and selectors, to compare with
    Method(
        name="fisher",
        title="Fisher Score",
        module="sfs_cli.methods.classical:FisherScorer",
        compares=True,
        testing=True,
        by_class=True,
        meaning="The larger the score, the further apart the class means are, relative to the "
        "scatter within the classes.",
        needs=("labels",),
        tested=True,
        weighted=True,
        cost="n m c",
        passes="1",
        when="labels for all samples; each gene by itself; no graph",
        reference="Duda, Hart and Stork, Pattern Classification, 2001",
    ),
    Method(
        name="relieff",
        title="ReliefF",
        module="sfs_cli.methods.relieff",
        by_class=True,
        meaning="The larger the score, the more the feature differs between near samples of "
        "different classes (RReliefF: of different numeric labels).",
        needs=("labels",),
        numeric=True,
        parameters={
            "relieff_neighbors": Parameter(
                "Number of nearest samples of each class.",
                int,
                10,
                metavar="K",
                least=1,
                word="neighbors",
            ),
        },
        iterative=True,
        cost="n^2 m + n k c m, with k neighbors",
        passes="2",
        when="labels, and features that matter together",
        reference="Robnik-Sikonja and Kononenko, Machine Learning 53, 2003",
    ),
    Method(
        name="f-test",
        title="F statistic",
        module="sfs_cli.methods.classical:FTestScorer",
        compares=True,
        testing=True,
        by_class=True,
        meaning="The larger the score, the further apart the class means are (one-way ANOVA), or "
        "the closer the feature follows numeric labels (linear regression).",
        needs=("labels",),
        numeric=True,
        weighted=True,
        cost="n m c",
        passes="1",
        when="the classical test for several classes, a trend over ordered ones, or a number",
        reference="Fisher, 1925",
    ),
    Method(
        name="t-test",
        title="t statistic",
        module="sfs_cli.methods.classical:t_test",
        compares=True,
        testing=True,
        by_class=True,
        meaning="The larger the score, the further apart the means of the two classes are.",
        needs=("labels",),
        cost="n m",
        passes="1",
        when="the classical test for two classes",
        reference="Welch, Biometrika 34, 1947; with covariates: Student, Biometrika 6, 1908",
    ),
    Method(
        name="welch",
        title="Welch's analysis of variance",
        module="sfs_cli.methods.welch:WelchScorer",
        compares=True,
        testing=True,
        adjusted=False,
        by_class=True,
        meaning="The larger the score, the further apart the class means are, each by the variance "
        "of its own class.",
        needs=("labels",),
        cost="n m",
        passes="1",
        when="two classes or more whose variances and sizes differ",
        reference="Welch, Biometrika 38, 1951",
    ),
    Method(
        name="rank-test",
        title="Rank test",
        module="sfs_cli.methods.rank_tests:RankSumScorer",
        testing=True,
        adjusted=False,
        by_class=True,
        signed_by=("auc", 0.5),
        meaning="The larger the score, the further apart the ranks of the values are between the "
        "classes (two: Mann-Whitney; more: Kruskal-Wallis).",
        needs=("labels",),
        columns={
            "auc": "the probability that a sample of the second class has a larger value than one "
            "of the first, in the order of their names; 0.5 is no difference (two classes)",
        },
        cost="n log(n) m",
        passes="1",
        when="skewed values, outliers, or few samples; exact p-values where a class is small",
        reference="Mann and Whitney, Ann. Math. Stat. 18, 1947; Kruskal and Wallis, J. Am. Stat. "
        "Assoc. 47, 1952",
    ),
    Method(
        name="spearman",
        title="Spearman's correlation",
        module="sfs_cli.methods.rank_tests:SpearmanScorer",
        testing=True,
        adjusted=False,
        signed_by=("rho", 0.0),
        meaning="The larger the score (0 to 1), the more the feature rises, or falls, with the "
        "labels.",
        needs=("labels",),
        numeric=True,
        unordered=False,
        columns={"rho": "the correlation of the ranks with its sign, from -1 to 1"},
        cost="n log(n) m",
        passes="1",
        when="a dose, a time or ordered classes; a trend that need not be a line, or outliers",
        reference="Spearman, Am. J. Psychol. 15, 1904",
    ),
    Method(
        name="cox",
        title="Cox's score test",
        module="sfs_cli.methods.cox:cox",
        testing=True,
        signed_by=("log_hazard_ratio", 0.0),
        meaning="The larger the score (chi-square with 1 degree of freedom), the more the feature "
        "says about the time of the event (proportional hazards).",
        needs=("labels", "event"),
        numeric=True,
        unordered=False,
        columns={
            "log_hazard_ratio": "the logarithm of the hazard ratio for one more unit of the "
            "feature, by one step of Newton's method: positive where large values go with early "
            "events",
        },
        cost="n m, and n m for each covariate",
        passes="1",
        when="times of an event that some samples did not have (survival)",
        reference="Cox, J. R. Stat. Soc. B 34, 1972",
    ),
    Method(
        name="mutual-info",
        title="Mutual information",
        module="sfs_cli.methods.mutual_info:MutualInfoScorer",
        by_class=True,
        meaning="The larger the score (in nats), the more the feature says about the label.",
        needs=("labels",),
        numeric=True,
        cost="n log(n) m",
        passes="1",
        when="labels, and any dependence, not only a shift of the mean",
        reference="Ross, PLoS ONE 9, 2014; numeric labels: Kraskov, Stoegbauer and Grassberger, "
        "Phys. Rev. E 69, 2004",
    ),
    Method(
        name="mrmr",
        title="mRMR",
        module="sfs_cli.methods.mrmr",
        goes_on=True,
        meaning="Features are ranked in the order of selection: each is relevant to the label and "
        "correlates little with those before it.",
        needs=("labels",),
        numeric=True,
        parameters={
            "variant": Parameter(
                "How relevance and redundancy are weighed against each other.",
                default="quotient",
                words=("quotient", "difference"),
            ),
            "select": _SELECT,
        },
        iterative=True,
        columns={"f_statistic": "the F statistic of the labels"},
        cost="n m l",
        passes="2; l more if the matrix does not fit in memory",
        when="labels, and redundant features; difference is nearly the F-test's ranking",
        reference="Ding and Peng, J. Bioinform. Comput. Biol. 3, 2005",
    ),
    Method(
        name="arom-svm",
        title="AROM-SVM",
        module="sfs_cli.methods.arom_svm",
        meaning="Features are ranked in reverse order of elimination by a linear SVM that is "
        "trained repeatedly.",
        needs=("labels",),
        parameters={"select": _SELECT},
        iterative=True,
        cost="(n^2 m + n m c) for each iteration",
        passes="2 for each iteration",
        when="a small set of features for a linear classifier",
        reference="Weston, Elisseeff, Schoelkopf and Tipping, JMLR 3, 2003",
    ),
    Method(
        name="seper",
        title="SEPER",
        module="sfs_cli.methods.seper:SeperScorer",
        meaning="The smaller the score, the clearer the clusters of the samples by this feature "
        "alone (entropy of the similarities).",
        cost="n^2 m",
        passes="1",
        when="a baseline without labels",
        reference="Dash, Choi, Scheuermann and Liu, ICDM 2002",
    ),
    Method(
        name="spca",
        title="Sparse PCA path",
        module="sfs_cli.methods.spca",
        goes_on=True,
        meaning="The score is the variance that this feature and those before it explain together.",
        parameters={"select": _SELECT},
        iterative=True,
        columns={
            "variance_kept": "part of the variance of all features that the set so far explains",
        },
        cost="n^2 m + n m l",
        passes="few: bounds exclude most features",
        when="a baseline without labels: features with a large common variance",
        reference="d'Aspremont, Bach and El Ghaoui, JMLR 9, 2008",
    ),
    Method(
        name="variance",
        title="Variance",
        module="sfs_cli.methods.classical:VarianceScorer",
        meaning="The larger the score, the more the feature varies between samples.",
        weighted=True,
        cost="n m",
        passes="1",
        when="a baseline; it prefers features measured on a large scale, and batch effects",
    ),
)

# other methods score the features on knowledge sources
_OF_SOURCES = (
    Method(
        name="msfs",
        title="MSFS",
        module="sfs_cli.methods.spectral:SpecScorer",
        meaning="Each knowledge source gives similarities between the samples. The score says how "
        "well the feature agrees with all of them together.",
        needs=("sources",),
        parameters={"then": _THEN},
        cost="n^2 for each source, and the cost of then=",
        passes="1, and 1 for each source made from the matrix",
        when="other profiles of the samples, gene sets, terms or interactions are known",
        reference=f"{_SOURCES_REFERENCE}; {_THESIS}, ch. 5",
    ),
    Method(
        name="kogs",
        title="KOGS",
        module="sfs_cli.methods.spectral:SpecScorer",
        meaning="The features are ranked separately on each knowledge source (or by each member "
        "method), and the rankings are aggregated.",
        needs=("sources-or-members",),
        parameters={
            "then": _THEN._replace(
                help="Method that scores the features on each source; its parameters stand in the "
                "same list.",
                excludes={"members": "the members rank"},
            ),
            "how": Parameter(
                "How the rankings are aggregated.", default="borda", words=tuple(AGGREGATIONS)
            ),
            "members": Parameter(
                "Methods whose rankings are aggregated, such as spec,fisher. Their parameters "
                "stand in the same list, or in files and in Python with each of them: "
                "[{name: spec, ranking: phi1}, fisher].",
                tuple,
                (),
                metavar="METHODS",
                words=tuple(method.name for method in _METHODS),
            ),
        },
        cost="the cost of then= for each source, or of each member",
        passes="the passes of all rankings",
        when="sources that should not be mixed, or several methods that should agree",
        reference=f"{_THESIS}, ch. 5",
    ),
)

METHODS: dict[str, Method] = {method.name: method for method in (*_METHODS, *_OF_SOURCES)}
"""The methods by name, in the order in which they are listed."""
KNOWN_AS = {
    "wilcoxon": "rank-test",
    "mann-whitney": "rank-test",
    "mannwhitneyu": "rank-test",
    "kruskal": "rank-test",
    "kruskal-wallis": "rank-test",
    "anova": "f-test",
    "limma": "t-test",
    "deseq": "f-test with --voom",
    "deseq2": "f-test with --voom",
    "edger": "f-test with --voom",
    "student": "t-test",
    "coxph": "cox",
    "hvg": "variance",
}
"""From names that other programs use to those of the methods, for a value that is not known."""


def _with(fact: str) -> tuple[str, ...]:
    """Return the names of the methods of which something is true."""
    return tuple(method.name for method in METHODS.values() if getattr(method, fact))


ON_SOURCES = tuple(method.name for method in _OF_SOURCES)
WITH_WEIGHTS = _with("weighted")
WITH_PVALUES = _with("tested")
TESTING = _with("testing")
UNADJUSTED = tuple(method.name for method in METHODS.values() if not method.adjusted)
SIGNED = tuple(method.name for method in METHODS.values() if method.compares or method.signed_by)
GOING_ON = _with("goes_on")
SPLIT = tuple(
    method.name for method in METHODS.values() if method.tested and "graph" in method.needs
)
"""Methods that may be tested on a graph of other features or counts, with ``--split``."""

OPTIONS = tuple(dict.fromkeys(name for m in METHODS.values() for name in m.parameters))
"""Every parameter that some method takes."""


def takers(option: str) -> list[str]:
    """Return the names of the methods that take an option."""
    return [name for name, method in METHODS.items() if option in method.parameters]
