"""Numeric labels, ordered classes and sample weights that cannot be used."""

from __future__ import annotations

from pathlib import Path

from tests.making_commands import AB, SAMPLES, Bad, bad, good, h5ad, labels, option, text

AGES = ["31", "45.5", "28", "60", "52", "39"]
CONTINUOUS = ("--label-type", "continuous")
ORDERED = ("--label-type", "ordered")


def table(folder: Path, given: list[str]) -> str:
    rows = "".join(f"{s}\t{v}\n" for s, v in zip(SAMPLES, given))
    return text(folder, "sample\tage\n" + rows, "labels.tsv")


def outcome(id: str, given: list[str], name: str, words: str, *more: str, code: int = 3) -> Bad:
    def make(folder: Path) -> list[str]:
        chosen = more if "--method" in more else (*more, "--method", "f-test")
        return ["rank", good(folder), "--labels", table(folder, given), *chosen]

    return bad(id, make, name, words, code)


def of_obs(folder: Path) -> list[str]:
    given = ("--method", "f-test", "--labels", "obs:tissue", *CONTINUOUS)
    return ["rank", h5ad(folder), *given]


def weights(id: str, given: list[str], words: str) -> Bad:
    def make(folder: Path) -> list[str]:
        rows = "".join(f"{s}\t{v}\n" for s, v in zip(SAMPLES, given))
        path = text(folder, "sample\tweight\n" + rows, "weights.tsv")
        return ["rank", good(folder), "--method", "variance", "--sample-weights", path]

    return bad(id, make, "weights.tsv", words)


def sums_to_one(folder: Path) -> list[str]:
    path = text(folder, "id\tw\n" + "".join(f"{s}\t0.1\n" for s in SAMPLES), "weights.tsv")
    return ["rank", good(folder), "--method", "variance", "--sample-weights", path]


WITHOUT_WEIGHTS = (
    *("gdcov", "seper", "spca", "mrsf", "qalpha", "gdcov-spca"),
    *("relieff", "t-test", "rfs", "mrmr", "mutual-info", "trace-ratio", "arom-svm", "sselect"),
)
ONES = ["1"] * 6

NEED_CLASSES = ("fisher", "t-test", "trace-ratio", "arom-svm", "sselect")

OUTCOMES = [
    *(
        option(
            f"{method}: a continuous outcome",
            "--label-type continuous; classes; f-test",
            *("--method", method, "--labels", "LABELS", *CONTINUOUS),
            name=method,
        )
        for method in NEED_CLASSES
    ),
    option(
        "fisher: ordered classes",
        "--label-type ordered; classes; f-test",
        *("--method", "fisher", "--labels", "LABELS", *ORDERED),
        name="fisher",
    ),
    option(
        "supervised qalpha: a continuous outcome",
        "--label-type continuous; classes",
        *("--method", "qalpha", "--variant", "supervised", "--labels", "LABELS", *CONTINUOUS),
        name="qalpha",
    ),
    option(
        "a member that needs classes",
        "--label-type continuous; fisher",
        *("--method", "kogs", "--members", "f-test,fisher", "--labels", "LABELS", *CONTINUOUS),
        name="fisher",
    ),
    option(
        "--label-type without labels",
        "--label-type; no effect without --labels",
        *("--method", "variance", *CONTINUOUS),
        name="--label-type",
    ),
    option("--label-type of no kind", "continuos; continuous", "--label-type", "continuos"),
    option(
        "--label-order of plain classes",
        "--label-order; --label-type ordered",
        *("--method", "fisher", "--labels", "LABELS", "--label-order", "a,b"),
    ),
    option(
        "--label-order that names a class twice",
        "a,b,a; different",
        *("--method", "f-test", "--labels", "LABELS", *ORDERED, "--label-order", "a,b,a"),
    ),
    option(
        "--label-order of one class",
        "two or more",
        *("--method", "f-test", "--labels", "LABELS", *ORDERED, "--label-order", "a"),
    ),
    option(
        "--similarity label of an outcome",
        "--label-type continuous; outcome",
        *("--labels", "LABELS", *CONTINUOUS, "--similarity", "label"),
        name="--similarity",
    ),
    option(
        "--similarity relieff of an outcome",
        "--label-type continuous; outcome",
        *("--labels", "LABELS", *CONTINUOUS, "--similarity", "relieff"),
        name="--similarity",
    ),
    option(
        "--similarity outcome of classes",
        "--label-type classes; label; continuous",
        *("--labels", "LABELS", "--similarity", "outcome"),
    ),
    option(
        "--response lda of an outcome",
        "--label-type continuous; --response outcome",
        *("--method", "mrsf", "--labels", "LABELS", *CONTINUOUS, "--response", "lda"),
    ),
    option(
        "--response outcome of classes",
        "numeric labels; --label-type",
        *("--method", "mrsf", "--labels", "LABELS", "--response", "outcome"),
    ),
    option(
        "--response outcome without labels",
        "needs --labels",
        *("--method", "mrsf", "--response", "outcome"),
    ),
    option(
        "--weights alignf of an outcome",
        "--label-type continuous; classes",
        *("--method", "msfs", "--source", "x=target:", "--labels", "LABELS", *CONTINUOUS),
        *("--weights", "alignf"),
    ),
    option(
        "a source of the labels of an outcome",
        "--label-type continuous; classes",
        *("--method", "msfs", "--labels", "LABELS", *CONTINUOUS, "--source", "y=labels:"),
    ),
    outcome(
        "continuous: text",
        [*AGES[:3], "old", *AGES[4:]],
        "labels.tsv",
        "line 5; 'old'; finite number; age",
        *CONTINUOUS,
    ),
    outcome("continuous: infinite", ["inf", *AGES[1:]], "labels.tsv", "line 2; 'inf'", *CONTINUOUS),
    outcome(
        "continuous: far too large",
        [*AGES[:5], "1e200"],
        "labels.tsv",
        "line 7; '1e200'; below",
        *CONTINUOUS,
    ),
    outcome(
        "continuous: a missing value",
        [*AGES[:2], "NaN", *AGES[3:]],
        "labels.tsv",
        "1 of 6; s3; --samples intersect",
        *CONTINUOUS,
    ),
    outcome(
        "continuous: all the same", ["7"] * 6, "labels.tsv", "same label; 7; column", *CONTINUOUS
    ),
    outcome(
        "ordered: all the same",
        ["a"] * 6,
        "labels.tsv",
        "no sample is of class 'b'; --label-order",
        *(*ORDERED, "--label-order", "a,b"),
    ),
    outcome("ordered: text without an order", AB, "labels.tsv", "'a'; --label-order", *ORDERED),
    outcome(
        "ordered: a class that is not in the order",
        [*AB[:5], "c"],
        "labels.tsv",
        "line 7; 'c'; --label-order a,b",
        *(*ORDERED, "--label-order", "a,b"),
    ),
    outcome(
        "ordered: an order with a class that no sample has",
        AB,
        "--label-order",
        "'c'; labels.tsv",
        *(*ORDERED, "--label-order", "a,b,c"),
    ),
    outcome(
        "classes that are measurements", AGES, "labels.tsv", "one sample; --label-type continuous"
    ),
    bad("continuous: text in obs", of_obs, "m.h5ad", "obs:tissue; 's1'; 'a'"),
    bad(
        "continuous: two numbers of one sample",
        lambda f: [
            *("rank", good(f), "--method", "f-test", *CONTINUOUS, "--labels"),
            text(f, "sample\tage\n" + "s1\t1\ns1\t2\n", "labels.tsv"),
        ],
        "labels.tsv",
        "'s1'; two labels",
    ),
    *(
        option(
            f"{method}: sample weights",
            f"{method}; no effect; variance",
            *("--method", method, "--labels", "LABELS", "--sample-weights", "w.tsv"),
        )
        for method in WITHOUT_WEIGHTS
    ),
    option(
        "phi3: sample weights",
        "--ranking phi3; no effect; phi2",
        *("--method", "spec", "--ranking", "phi3", "--sample-weights", "w.tsv"),
    ),
    option(
        "pruning with sample weights",
        "--max-correlation; all samples alike",
        *("--method", "variance", "--max-correlation", "0.5", "--sample-weights", "w.tsv"),
    ),
    *(
        option(
            f"{flag} with sample weights",
            f"{flag}; --sample-weights; alike",
            *("--method", "variance", flag, "b.tsv:b", "--sample-weights", "w.tsv"),
            name=flag,
        )
        for flag in ("--adjust", "--batch")
    ),
    option(
        "a member that takes no sample weights",
        "seper; no effect",
        *("--method", "kogs", "--members", "variance,seper", "--sample-weights", "w.tsv"),
    ),
    option(
        "msfs by a method that takes no sample weights",
        "mrsf; no effect",
        *("--method", "msfs", "--then", "mrsf", "--source", "x=target:"),
        *("--sample-weights", "w.tsv"),
    ),
    weights("weights: negative", [*ONES[:5], "-1"], "line 7; -1; negative; 0 or more"),
    weights("weights: text", [*ONES[:5], "heavy"], "line 7; 'heavy'; finite number"),
    weights("weights: infinite", ["inf", *ONES[1:]], "line 2; 'inf'; finite number"),
    weights("weights: a missing one", [*ONES[:5], "NA"], "1 of 6; s6; --samples intersect"),
    weights("weights: all 0", ["0"] * 6, "0 of the 6 samples; above 0"),
    weights("weights: all but one 0", ["1", *["0"] * 5], "1 of the 6; too few; above 0"),
    bad(
        "weights: a class of one sample that takes part",
        lambda f: [
            *("rank", good(f), "--method", "fisher", "--labels", labels(f, AB)),
            "--sample-weights",
            text(f, "id\tw\ns1\t1\ns2\t1\ns3\t0\ns4\t1\ns5\t0\ns6\t1\n", "w.tsv"),
        ],
        "labels.tsv",
        "one sample; a",
    ),
    bad("weights: of no sum", sums_to_one, "good.csv", "0.6; above 1; multiply"),
    bad(
        "weights: of no annotation",
        lambda f: ["rank", h5ad(f), "--method", "variance", "--sample-weights", "obs:w"],
        "m.h5ad",
        "'w'; tissue",
    ),
    bad(
        "weights: of an annotation that is text",
        lambda f: ["rank", h5ad(f), "--method", "variance", "--sample-weights", "obs:tissue"],
        "m.h5ad",
        "obs:tissue; 's1'; 'a'",
    ),
]
