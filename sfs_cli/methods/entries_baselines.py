"""Classical filters and baselines in the catalogue."""

from __future__ import annotations

from sfs_cli.methods.entry import Method

ENTRIES = (
    Method(
        name="fisher",
        title="Fisher Score",
        module="sfs_cli.methods.fisher",
        meaning={
            "": "The larger the score, the further apart are the class means for the spread "
            "within the classes."
        },
        needs=("labels",),
        cost="n m c",
        passes="1",
        when="labels for all samples, one gene at a time, no graph wanted",
        reference="Duda, Hart and Stork, Pattern Classification, 2001",
    ),
    Method(
        name="relieff",
        title="ReliefF",
        module="sfs_cli.methods.relieff",
        meaning={
            "": "The larger the score, the more the feature differs between near samples of "
            "different classes."
        },
        needs=("labels",),
        options={"neighbors": 10},
        cost="n^2 m + n k c m",
        passes="2",
        when="labels, and features that matter together",
        reference="Robnik-Sikonja and Kononenko, Machine Learning 53, 2003",
    ),
    Method(
        name="f-test",
        title="F statistic",
        module="sfs_cli.methods.f_test",
        meaning={
            "": "The larger the score, the further apart are the class means (one-way ANOVA)."
        },
        needs=("labels",),
        cost="n m c",
        passes="1",
        when="the classical test for several classes",
        reference="Fisher, 1925",
    ),
    Method(
        name="t-test",
        title="t statistic",
        module="sfs_cli.methods.t_test",
        meaning={
            "": "The larger the score, the further apart are the means of the two classes (Welch)."
        },
        needs=("labels",),
        cost="n m",
        passes="1",
        when="the classical test for two classes",
        reference="Welch, Biometrika 34, 1947",
    ),
    Method(
        name="mutual-info",
        title="Mutual information",
        module="sfs_cli.methods.mutual_info",
        meaning={"": "The larger the score (nats), the more the feature tells of the class."},
        needs=("labels",),
        cost="n log(n) m",
        passes="1",
        when="dependence that is not a shift of the mean",
        reference="Ross, PLoS ONE 9, 2014",
        extra="ml",
    ),
    Method(
        name="mrmr",
        title="mRMR",
        module="sfs_cli.methods.mrmr",
        meaning={
            "": "Features are ranked in the order of choice: relevant to the class, little "
            "correlated with those before."
        },
        needs=("labels",),
        options={"variant": "difference", "select": 50},
        choices={"variant": ("difference", "quotient")},
        cost="n m l",
        passes="2; l more where the matrix does not fit in memory",
        when="labels, and redundant features",
        reference="Ding and Peng, J. Bioinform. Comput. Biol. 3, 2005",
    ),
    Method(
        name="arom-svm",
        title="AROM-SVM",
        module="sfs_cli.methods.arom_svm",
        meaning={
            "": "Features are ranked in reverse order of elimination by a linear SVM that is "
            "trained again and again."
        },
        needs=("labels",),
        options={"select": 50},
        cost="(n^2 m + n m c) for every iteration",
        passes="2 for every iteration",
        when="a small set for a linear classifier",
        reference="Weston, Elisseeff, Schoelkopf and Tipping, JMLR 3, 2003",
        extra="ml",
    ),
    Method(
        name="seper",
        title="SEPER",
        module="sfs_cli.methods.seper",
        meaning={
            "": "The smaller the score, the clearer the clusters of the samples on the "
            "feature alone (entropy of similarities)."
        },
        cost="n^2 m",
        passes="1",
        when="a baseline without labels",
        reference="Dash, Choi, Scheuermann and Liu, ICDM 2002",
    ),
    Method(
        name="spca",
        title="Sparse PCA path",
        module="sfs_cli.methods.spca",
        meaning={"": "The score is the variance that the features selected so far explain."},
        options={"select": 50},
        cost="n^2 m + n m l",
        passes="few: most features are excluded by bounds",
        when="a baseline without labels: features of large common variance",
        reference="d'Aspremont, Bach and El Ghaoui, JMLR 9, 2008",
    ),
    Method(
        name="variance",
        title="Variance",
        module="sfs_cli.methods.variance",
        meaning={"": "The larger the score, the more the feature varies between samples."},
        cost="n m",
        passes="1",
        when="a baseline: it prefers what is measured on a large scale, batch effects included",
    ),
)
"""Entries of the catalogue, in the order they are listed."""
