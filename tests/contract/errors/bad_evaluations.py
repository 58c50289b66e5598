"""Lists that cannot be evaluated."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.making_commands import AB, USAGE, Make, bad, good, labels, text

RANKED = "gene\trank\n" + "".join(f"gene{i}\t{i}\n" for i in range(1, 6))
OTHERS = "gene\trank\n" + "".join(f"ENSG{i}\t{i}\n" for i in range(1, 6))
PAIRS = "sample\tpair\n" + "".join(f"s{i}\tp{i % 3}\n" for i in range(1, 7))
TIMES = "sample\ttime\tdead\n" + "".join(f"s{i}\t{i}\t{int(i < 3)}\n" for i in range(1, 7))
NUMBERS = ("--labels", "LABELS", "--label-type", "continuous")


def asked(
    *options: str,
    classes: list[str] | None = None,
    ids: list[str] | None = None,
    verb: str = "evaluate",
) -> Make:
    """Evaluate a good matrix; LABELS stands for labels, LIST and OTHERS for rankings."""

    def make(folder: Path) -> list[str]:
        files = {
            "LABELS": lambda: labels(folder, classes or AB, *([ids] if ids else [])),
            "LIST": lambda: text(folder, RANKED, "list.tsv"),
            "OTHERS": lambda: text(folder, OTHERS, "others.tsv"),
            "GENES": lambda: text(folder, "ENSG1\nENSG2\n", "genes.txt"),
            "SETS": lambda: text(folder, "one\t\tENSG1\tENSG2\n", "sets.gmt"),
            "PAIRS": lambda: text(folder, PAIRS, "pairs.tsv") + ":pair",
            "TIMES": lambda: text(folder, TIMES, "times.tsv") + ":time",
            "OUT": lambda: str(folder.parent / "out"),
        }
        words = [files[word]() if word in files else word for word in options]
        return [verb, good(folder), *words]

    return make


compared = partial(asked, verb="compare")
shaken = partial(asked, verb="robustness")


EVALUATIONS = [
    bad(
        "labels of other samples to evaluate",
        asked("--labels", "LABELS", ids=[f"p{i}" for i in range(6)]),
        "labels.tsv",
        "none of the 6 samples; p0",
    ),
    bad(
        "a class smaller than the number of folds",
        asked("--labels", "LABELS", "--splits", "3", classes=[*"aaaabb"]),
        "--splits",
        "b (2); give --splits 2",
    ),
    bad(
        "samples without a label to evaluate",
        asked("--labels", "LABELS", "--method", "variance", ids=[f"s{i}" for i in range(2, 8)]),
        "labels.tsv",
        "1 of 6 samples; --samples intersect",
    ),
    bad("lengths beyond the features", asked("--lengths", "5,10"), "--lengths 10", "9 features"),
    bad(
        "lengths beyond a list",
        asked("--list", "LIST", "--lengths", "8"),
        "--lengths 8",
        "list.tsv; 5 features",
    ),
    bad(
        "lengths beyond what a method selects",
        asked("--method", "mrsf", "--select", "3", "--lengths", "4"),
        "--lengths 4",
        "3 features; --select",
    ),
    bad(
        "a list of another matrix", asked("--list", "OTHERS"), "--list", "0 of its 5; ensg1; gene1"
    ),
    bad("a list that is not there", asked("--list", "no.tsv"), "no.tsv", "check"),
    bad("no reference feature is there", asked("--drivers", "GENES"), "--drivers", "none of its 2"),
    bad(
        "sets that match nothing",
        asked("--sets", "SETS", "--out", "OUT"),
        "--sets",
        "none of 1 set; gene1",
    ),
    bad("sets without --out", asked("--sets", "SETS"), "--sets", "--out", USAGE),
    bad("lengths that are words", asked("--lengths", "many"), "--lengths", "whole numbers", USAGE),
    bad("a length of zero", asked("--lengths", "0,5"), "--lengths", "whole numbers", USAGE),
    bad("one fold", asked("--splits", "1"), "--splits", "too small", USAGE),
    bad("no repeat", asked("--repeats", "0"), "--repeats", "too small", USAGE),
    bad("folds without labels", asked("--splits", "3"), "--splits", "--labels", USAGE),
    bad("a leak without labels", asked("--leaky"), "--leaky", "--labels", USAGE),
    bad(
        "a leak of a list",
        asked("--list", "LIST", "--labels", "LABELS", "--leaky"),
        "--leaky",
        "--method",
        USAGE,
    ),
    bad(
        "a graph beside a list alone",
        asked("--list", "LIST", "--similarity", "knn"),
        "--similarity",
        "--method",
        USAGE,
    ),
    bad("a column without a list", asked("--rank-column", "x"), "--rank-column", "--list", USAGE),
    bad(
        "two columns of a list",
        asked("--list", "LIST", "--rank-column", "x", "--score-column", "y"),
        "--rank-column",
        "--score-column",
        USAGE,
    ),
    bad(
        "numbers of too few samples for the folds",
        asked("--labels", "LABELS", "--label-type", "continuous", classes=[*"123456"]),
        "labels.tsv",
        "--splits 5 is too large; give fewer",
    ),
    bad(
        "numbers of which a fold has one value",
        asked(*NUMBERS, "--splits", "2", "--method", "f-test", classes=[*"111112"]),
        "labels.tsv",
        "--splits 2 is too large; no two test samples",
    ),
    bad(
        "words as numbers to predict",
        asked("--labels", "LABELS", "--label-type", "continuous"),
        "labels.tsv",
        "not a finite number",
    ),
    bad(
        "pairs that folds separate from their training samples",
        asked("--labels", "LABELS", "--method", "f-test", "--splits", "3", "--block", "PAIRS"),
        "--block",
        "no training sample; --donors",
    ),
    bad(
        "times without events for the folds",
        asked("--labels", "TIMES", "--event", "dead", "--method", "cox", "--splits", "3"),
        "times.tsv",
        "--splits 3 is too large; with an event",
    ),
    bad(
        "classes of times to evaluate",
        asked("--labels", "TIMES", "--event", "dead", "--method", "t-test"),
        "--event",
        "--method t-test needs classes",
        USAGE,
    ),
    bad("a batch to evaluate", asked("--batch", "x.tsv:b"), "--batch", "unknown option", USAGE),
    bad("json without out to evaluate", asked("--json"), "--json", "--out", USAGE),
    bad(
        "labels of other samples to compare",
        compared("--method", "variance", "--labels", "LABELS", ids=[f"p{i}" for i in range(6)]),
        "labels.tsv",
        "none of the 6 samples; p0",
    ),
    bad(
        "sets that match nothing to compare",
        compared("--method", "variance", "--sets", "SETS", "--out", "OUT"),
        "--sets",
        "none of 1 set; gene1",
    ),
    bad(
        "labels of other samples to shake",
        shaken("--similarity", "label", "--labels", "LABELS", ids=[f"p{i}" for i in range(6)]),
        "labels.tsv",
        "none of the 6 samples; p0",
    ),
    bad(
        "one class to shake",
        shaken("--similarity", "label", "--labels", "LABELS", classes=[*"aaaaaa"]),
        "labels.tsv",
        "one class; at least two",
    ),
    bad("nothing to compare", compared(), "nothing to compare", "--ranking-of; --list", USAGE),
    bad(
        "one class to compare",
        compared("--method", "f-test", "--labels", "LABELS", classes=[*"aaaaaa"]),
        "labels.tsv",
        "one class; at least two",
    ),
    bad(
        "a class smaller than the number of folds to compare",
        compared("--method", "f-test", "--labels", "LABELS", "--splits", "3", classes=[*"aaaabb"]),
        "--splits",
        "b (2); give --splits 2",
    ),
    bad(
        "lengths beyond a list to compare",
        compared("--method", "variance", "--list", "LIST", "--lengths", "8"),
        "--lengths 8",
        "list.tsv; 5 features",
    ),
    bad(
        "lengths beyond what one of the rankings selects",
        compared(
            *("--method", "variance", "--lengths", "4"),
            *("--ranking-of", "m=--method mrsf --select 3"),
        ),
        "--lengths 4",
        "m ranks 3 features; --select",
    ),
    bad(
        "a list of another matrix to compare",
        compared("--method", "variance", "--list", "OTHERS"),
        "--list",
        "0 of its 5; ensg1; gene1",
    ),
    bad(
        "an unknown method to compare",
        compared("--method", "varianc"),
        "--method",
        "varianc; did you mean variance",
        USAGE,
    ),
    bad(
        "a method twice",
        compared("--method", "variance", "--method", "variance"),
        "'variance'",
        "its own name",
        USAGE,
    ),
    bad(
        "two rankings of one name",
        compared("--ranking-of", "a=--method variance", "--ranking-of", "a=--method spec"),
        "'a'",
        "its own name",
        USAGE,
    ),
    bad(
        "an unknown option of a ranking",
        compared("--ranking-of", "a=--method spec --similarty rbf"),
        "ranking a",
        "--similarty; did you mean --similarity",
        USAGE,
    ),
    bad(
        "options of a ranking that contradict each other",
        compared("--ranking-of", "a=--method variance --similarity-file x --similarity rbf"),
        "ranking a",
        "--similarity-file; two sample graphs",
        USAGE,
    ),
    bad(
        "a ranking without a name",
        compared("--ranking-of", "--method spec"),
        "--ranking-of",
        "NAME=OPTIONS",
        USAGE,
    ),
    bad(
        "a graph for all rankings",
        compared("--method", "spec", "--similarity", "rbf"),
        "--similarity",
        "unknown option",
        USAGE,
    ),
    bad(
        "a method that needs labels to compare",
        compared("--method", "f-test"),
        "f-test",
        "--labels",
        USAGE,
    ),
    bad("a level of zero", shaken("--noise", "0,0.1"), "--noise", "above 0", USAGE),
    bad("a level above one", shaken("--noise", "1.5"), "--noise", "up to 1", USAGE),
    bad("levels that are words", shaken("--noise", "much"), "--noise", "0.1,0.3", USAGE),
    bad("no draw", shaken("--draws", "0"), "--draws", "too small", USAGE),
    bad("an example with a matrix", shaken("--example"), "MATRIX", "--example", USAGE),
    bad(
        "an example with a graph",
        lambda _: ["robustness", "--example", "--similarity", "rbf"],
        "--similarity",
        "--example",
        USAGE,
    ),
    bad("robustness of nothing", lambda _: ["robustness"], "MATRIX", "--example", USAGE),
    bad(
        "more clusters than samples to shake",
        shaken("--ranking", "phi3", "--clusters", "9"),
        "--clusters",
        "6 samples",
    ),
    bad("a method to shake", shaken("--method", "fisher"), "--method", "unknown option", USAGE),
]
