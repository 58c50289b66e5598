"""The sparse multivariate methods in the catalogue: features selected together."""

from __future__ import annotations

from sfs_cli.methods.entry import Method, Need

_RESPONSES = ("similarity", "lda", "svm", "pca")
_RESPONSE_NEEDS: dict[str, dict[str, tuple[Need, ...]]] = {
    "response": {"similarity": ("graph",), "lda": ("labels",), "svm": ("labels",)}
}
_MRSF_REFERENCE = "Zhao, dissertation, Arizona State University 2010, ch. 4"

ENTRIES = (
    Method(
        name="mrsf",
        title="MRSF",
        module="sfs_cli.methods.mrsf",
        meaning={
            "": "Features are ranked in the order in which they enter the path; the score is the "
            "penalty lambda at which each did. Those that repeat what is selected come late."
        },
        needs_by=_RESPONSE_NEEDS,
        options={"response": "similarity", "rank": None, "select": 50},
        choices={"response": _RESPONSES},
        kernel=True,
        cost="n^2 m + l^3 for every entry",
        passes="few: inactive features are screened",
        when="redundant features: a short list that does not say the same thing twice",
        reference=_MRSF_REFERENCE,
    ),
    Method(
        name="l21",
        title="L2,1 regression",
        module="sfs_cli.methods.l21",
        meaning={"": "The score is the norm of the feature's coefficients; most are zero."},
        needs_by=_RESPONSE_NEEDS,
        options={"lambda_": None, "budget": None, "response": "similarity", "rank": None},
        choices={"response": _RESPONSES},
        kernel=True,
        cost="as mrsf",
        passes="few",
        when="MRSF at one penalty, or one budget of coefficients, that is known beforehand",
        reference=_MRSF_REFERENCE,
    ),
    Method(
        name="rfs",
        title="RFS",
        module="sfs_cli.methods.rfs",
        meaning={
            "": "The score is the norm of the feature's coefficients in a regression on the "
            "classes that outliers do not sway."
        },
        needs=("labels",),
        options={"gamma": 1.0},
        choices={"gamma": ("NUMBER",)},
        cost="n^2 m for every pass, and (p + n)^3 for a step over p features with weight",
        passes="about 18",
        when="labels, and outliers among the samples",
        reference="Nie, Huang, Cai and Ding, NIPS 2010",
    ),
    Method(
        name="qalpha",
        title="Q-alpha",
        module="sfs_cli.methods.qalpha",
        meaning={
            "": "The larger the weight alpha, the more the feature adds to a clear clustering of "
            "the samples."
        },
        needs_by={"variant": {"supervised": ("labels",)}},
        options={"variant": "basic", "clusters": None, "power": None},
        choices={"variant": ("basic", "power", "ritz", "laplacian", "supervised", "kernel")},
        cost="n^2 m for every pass; kernel: m^2",
        passes="15 to 70",
        when="no labels, and clusters that most features hide",
        reference="Wolf and Shashua, JMLR 6, 2005",
    ),
)
"""Entries of the catalogue, in the order they are listed."""
