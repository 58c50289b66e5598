"""The spectral methods in the catalogue: features ranked one by one on a sample graph."""

from __future__ import annotations

from sfs_cli.methods.entry import Method

_GDCOV_GAMMAS = ("one-minus", "inverse", "heat:T")
_GDCOV_REFERENCE = "Zhao and Liu, JMLR W&CP 4, 2008"

ENTRIES = (
    Method(
        name="spec",
        title="SPEC",
        module="sfs_cli.methods.spec",
        meaning={
            "phi1": "The smaller the score, the smoother the feature over the sample graph; "
            "features that hardly vary for their mean score well too.",
            "phi2": "The smaller the score, the smoother the feature over the sample graph: "
            "similar samples have similar values.",
            "phi3": "The larger the score, the closer the feature follows the leading "
            "clusters of the sample graph.",
        },
        needs=("graph",),
        options={"ranking": "phi2", "gamma": "power", "gamma_power": 1, "clusters": None},
        choices={"ranking": ("phi1", "phi2", "phi3"), "gamma": ("power", "exp")},
        cost="n^2 m ceil(r/2); phi3: n m k",
        passes="1",
        when="few classes: phi1 or phi2; many: phi2 or phi3; noisy data: phi3, or a higher "
        "--gamma-power",
        reference="Zhao and Liu, ICML 2007; Zhao, dissertation, Arizona State University "
        "2010, ch. 2",
    ),
    Method(
        name="laplacian",
        title="Laplacian Score",
        module="sfs_cli.methods.laplacian_score",
        meaning={
            "": "The smaller the score, the better the feature keeps neighbouring samples together."
        },
        needs=("graph",),
        cost="n^2 m",
        passes="1",
        when="the classical unsupervised filter; equal to SPEC's phi2",
        reference="He, Cai and Niyogi, NIPS 2005",
    ),
    Method(
        name="sselect",
        title="sSelect",
        module="sfs_cli.methods.sselect",
        meaning={
            "": "The smaller the score (0 to 1), the more the feature agrees with the graph of all "
            "samples and with the labels of some."
        },
        needs=("graph", "some-labels"),
        options={"lambda_": None, "select": 50},
        cost="n^2 m + n m c",
        passes="1; 2 where lambda is chosen",
        when="labels for some of the samples",
        reference="Zhao and Liu, SDM 2007",
    ),
    Method(
        name="gdcov",
        title="GDCOV",
        module="sfs_cli.methods.gdcov",
        meaning={
            "": "The larger the score, the more the feature varies along the geometry of the "
            "sample graph."
        },
        needs=("graph",),
        options={"definition": 3, "gamma": "one-minus"},
        choices={"gamma": _GDCOV_GAMMAS},
        cost="n^2 m; inverse and heat add n^3",
        passes="1",
        when="several sources of knowledge of the samples in one graph",
        reference=_GDCOV_REFERENCE,
    ),
    Method(
        name="gdcov-spca",
        title="GDCOV with sparse PCA",
        module="sfs_cli.methods.gdcov_spca",
        meaning={"": "The score is the variance that the features selected so far explain."},
        needs=("graph",),
        options={"definition": 3, "gamma": "one-minus", "select": 50},
        choices={"gamma": _GDCOV_GAMMAS},
        cost="n^2 m + n m l",
        passes="few: most features are excluded by bounds",
        when="a short list of features that vary together along the sample graph",
        reference=_GDCOV_REFERENCE + "; d'Aspremont, Bach and El Ghaoui, JMLR 9, 2008",
    ),
    Method(
        name="hsic",
        title="HSIC",
        module="sfs_cli.methods.hsic",
        meaning={"": "The larger the score, the more the feature depends on the sample graph."},
        needs=("graph",),
        cost="n^2 m",
        passes="1",
        when="dependence on labels (the graph is theirs when they are given) or on any kernel",
        kernel=True,
        reference="Song, Smola, Gretton, Borgwardt and Bedo, ICML 2007",
    ),
    Method(
        name="trace-ratio",
        title="Trace Ratio",
        module="sfs_cli.methods.trace_ratio",
        meaning={
            "": "The larger the score, the more the feature adds to the ratio of the selected "
            "features' spread between groups to that within."
        },
        needs_by={"variant": {"fisher": ("labels",), "laplacian": ("graph",)}},
        options={"variant": "fisher", "select": 50},
        choices={"variant": ("fisher", "laplacian")},
        cost="n m c, or n^2 m with a graph",
        passes="1",
        when="the best set of a given size by one ratio for the whole set",
        reference="Nie, Xiang, Jia, Zhang and Yan, AAAI 2008",
    ),
)
"""Entries of the catalogue, in the order they are listed."""
