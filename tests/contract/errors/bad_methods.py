"""What methods refuse: labels, neighbours and options that do not do."""

from __future__ import annotations

from pathlib import Path

from tests.making_commands import BAD, SAMPLES, bad, good, labels, option


def supervised(folder: Path, method: str, classes: list[str], *more: str) -> list[str]:
    given = labels(folder, classes, SAMPLES)
    return ["rank", good(folder), "--method", method, "--labels", given, *more]


NEED_LABELS = (
    "relieff",
    "rfs",
    "f-test",
    "t-test",
    "mutual-info",
    "mrmr",
    "arom-svm",
    "trace-ratio",
    "sselect",
)

METHODS = [
    *(
        option(f"{method}: no labels", "needs --labels", "--method", method)
        for method in NEED_LABELS
    ),
    *(
        bad(
            f"{method}: all of one class",
            lambda f, method=method: supervised(f, method, ["a"] * 6),
            "labels.tsv",
            "one class; 'a'",
        )
        for method in NEED_LABELS
    ),
    bad(
        "t-test: three classes",
        lambda f: supervised(f, "t-test", [*"aabbcc"]),
        "good.csv",
        "two classes; 3",
    ),
    option(
        "pvalues: a method without",
        "--pvalues; spec, laplacian, gdcov, hsic, fisher",
        *("--method", "variance", "--pvalues", "moments"),
    ),
    option(
        "pvalues: of the F-test",
        "p-values of its own",
        *("--method", "f-test", "--labels", "LABELS", "--pvalues", "gaussian"),
    ),
    *(
        option(
            f"pvalues: mutual information, {null}",
            "mutual-info; --pvalues permutation",
            *("--method", "mutual-info", "--labels", "LABELS", "--pvalues", null),
        )
        for null in ("gaussian", "moments")
    ),
    bad(
        "stability: a class of one sample in a half",
        lambda f: supervised(f, "mutual-info", [*"aaaabb"], "--stability", "2"),
        "--stability, subset 1",
        "at least 2 samples; smallest has 1",
    ),
    bad(
        "stability: labels of other samples",
        lambda f: [
            *("rank", good(f), "--method", "f-test", "--stability", "2"),
            *("--labels", labels(f, [*"aaabbb"], [f"p{i}" for i in range(6)])),
        ],
        "labels.tsv",
        "none of the 6 samples; p0",
    ),
    option(
        "split: of no p-values",
        "no effect without --pvalues; moments",
        "--split",
        "features",
        name="--split",
    ),
    option(
        "split: without a graph",
        "--split; no sample graph",
        *("--method", "fisher", "--labels", "LABELS", "--pvalues", "moments", "--split", "counts"),
        name="--split",
    ),
    option(
        "split: beside stability",
        "--stability; leave one of them out",
        *("--pvalues", "moments", "--split", "features", "--stability", "10"),
        name="--split",
    ),
    option(
        "split: a graph of labels",
        "not built from the features",
        *("--similarity", "label", "--labels", "LABELS", "--pvalues", "moments"),
        *("--split", "features"),
        name="--split",
    ),
    option("pvalues: an unknown one", "normal; gaussian", "--pvalues", "normal"),
    option("pvalues: no permutation", "permutation:0", "--pvalues", "permutation:0"),
    option("pvalues: few permutations", "10 to 1,000,000", "--pvalues", "permutation:9"),
    option("pvalues: too many", "10 to 1,000,000", "--pvalues", "permutation:2000000"),
    option(
        "split: of sources",
        "--split; the sources make the sample graph",
        *("--method", "spec", "--source", "x=target:", "--pvalues", "moments"),
        *("--split", "features"),
        name="--split",
    ),
    option(
        "pvalues: of members",
        "--pvalues; kogs",
        *("--method", "kogs", "--members", "spec,variance", "--pvalues", "moments"),
    ),
    option(
        "pvalues: sample weights",
        "--sample-weights",
        *("--method", "spec", "--pvalues", "moments", "--sample-weights", "LABELS"),
    ),
    option(
        "pvalues: adjusted features",
        "--adjust",
        *("--method", "mutual-info", "--labels", "LABELS", "--pvalues", "permutation"),
        *("--adjust", "LABELS"),
    ),
    option(
        "pvalues: within batches",
        "--batch",
        *("--method", "spec", "--pvalues", "moments", "--batch", "LABELS"),
    ),
    option("stability: none", "0 is too small; 2 or more", "--stability", "0"),
    option("stability: one", "1 is too small; 2 or more", "--stability", "1"),
    option("stability: negative", "-3 is too small; 2 or more", "--stability", "-3"),
    option("stability: half", "--stability", "--stability", "2.5"),
    option(
        "stability: another way",
        "'jackknife'; half; bootstrap",
        *("--stability", "4", "--stability-how", "jackknife"),
    ),
    option("stability: how alone", "without --stability", "--stability-how", "half"),
    option("stability: top alone", "without --stability", "--stability-top", "9"),
    option("stability: a list of none", "1 or more", "--stability", "4", "--stability-top", "0"),
    option(
        "stability: a longer list than is selected",
        "selects 5; --select",
        *("--method", "mrsf", "--select", "5", "--stability", "4", "--stability-top", "6"),
    ),
    option(
        "stability: a list of all",
        "first 900 features; smaller --stability-top",
        *("--method", "variance", "--stability", "4", "--stability-top", "900"),
        code=BAD,
    ),
    option("mrsf: lda without labels", "needs --labels", "--method", "mrsf", "--response", "lda"),
    option("l21: neither penalty nor budget", "--lambda; --budget", "--method", "l21"),
    option(
        "l21: both penalty and budget",
        "--lambda; --budget",
        *("--method", "l21", "--lambda", "1", "--budget", "1"),
    ),
    option("l21: a negative penalty", "--lambda; positive", "--method", "l21", "--lambda", "-1"),
    option("l21: a budget of 0", "--budget; positive", "--method", "l21", "--budget", "0"),
    option(
        "mrsf: a response of no columns",
        "--response-rank; 1 or more",
        *("--method", "mrsf", "--response-rank", "0"),
    ),
    option(
        "qalpha: a power below one",
        "--power; 1 or more",
        *("--method", "qalpha", "--variant", "power", "--power", "0"),
    ),
    option(
        "rfs: a gamma that is not positive",
        "'-1'; a positive number",
        *("--method", "rfs", "--labels", "LABELS", "--gamma", "-1"),
    ),
    option(
        "rfs: gamma of other methods",
        "unknown value; positive number",
        *("--method", "rfs", "--labels", "LABELS", "--gamma", "exp"),
        name="--gamma",
    ),
    option(
        "rfs: gamma is no number",
        "a positive number",
        *("--method", "rfs", "--labels", "LABELS", "--gamma", "x"),
    ),
    option("gdcov: unknown gamma", "--gamma; one-minus", "--method", "gdcov", "--gamma", "onemin"),
    option("gdcov: unknown definition", "'2'; 1, 3", "--method", "gdcov", "--definition", "2"),
    option(
        "qalpha: unknown variant", "--variant; basic", "--method", "qalpha", "--variant", "basi"
    ),
    option("select: none", "--select; 1 or more", "--method", "mrsf", "--select", "0"),
    option("select without effect", "--select; mrsf", "--method", "variance", "--select", "3"),
    option(
        "weights without effect",
        "--weights-out; mrsf, mrsf-rounds, l21",
        *("--method", "spec", "--weights-out", "w.parquet"),
        name="--weights-out",
    ),
    option(
        "sselect: lambda that is chosen",
        "no effect; cut-value",
        *("--method", "sselect", "--labels", "LABELS", "--lambda", "0.5"),
        *("--variant", "cut-value"),
        name="--lambda",
    ),
    option(
        "sselect: lambda above 1",
        "--lambda; 0 to 1",
        *("--method", "sselect", "--labels", "LABELS", "--neighbors", "3", "--similarity", "knn"),
        *("--lambda", "2"),
    ),
]
