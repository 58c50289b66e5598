"""Rankings that nothing can be selected from, and rules that cannot be followed."""

from __future__ import annotations

from pathlib import Path

from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.run.rank import run
from tests.making_commands import AB, USAGE, Make, bad, good, labels, table, text, values

OTHERS = [f"ENSG{i}" for i in range(1, 10)]
LIST = "gene\trank\n" + "".join(f"gene{i}\t{i}\n" for i in range(1, 6))


def asked(*options: str, **how: str) -> Make:
    """Select from a ranking of a good matrix; LIST is one of another program, of five features."""

    def make(folder: Path) -> list[str]:
        of_labels = labels(folder, AB)
        given = {"method": "f-test", "labels": of_labels} | how
        given = {name: value for name, value in given.items() if value}
        out = folder / "ranked"
        run(RankConfig(good(folder), **given, out=str(out)), Messages(-1))  # type: ignore[arg-type]
        files = {
            "RANKED": lambda: str(out),
            "LIST": lambda: text(folder, LIST, "list.tsv"),
            "OTHER": lambda: text(folder, table(values(), OTHERS), "other.csv"),
            "LABELS": lambda: of_labels,
            "STRANGERS": lambda: labels(folder, AB, [f"p{i}" for i in range(6)]),
            "ONE": lambda: text(
                folder, "s\tc\n" + "".join(f"s{i}\tone\n" for i in range(1, 7)), "one.tsv"
            ),
            "FEW": lambda: text(
                folder, "s\tc\n" + "".join(f"s{i}\t{c}\n" for i, c in enumerate("aaaabb", 1)), "few"
            ),
            "MATRIX": lambda: str(folder / "good.csv"),
            "EMPTY": lambda: str((folder / "empty").mkdir() or folder / "empty"),
            "NEW": lambda: str(folder / "new.csv"),
        }
        words = [files[word]() if word in files else word for word in options]
        first = [] if options[0] in ("LIST", "EMPTY", "no-such") else [files["RANKED"]()]
        return ["select", *first, *words]

    return make


def pruned(*options: str) -> Make:
    """Select from a ranking that was pruned beside a given feature."""

    def make(folder: Path) -> list[str]:
        how = {"given_": text(folder, "gene1\n", "given.txt"), "max_correlation": 0.9}
        return asked(*options, **how)(folder)  # type: ignore[arg-type]

    return make


SELECTIONS = [
    bad("no rule", asked("--digits", "3"), "--top N", "exactly one; --cv", USAGE),
    bad("two rules", asked("--top", "3", "--cv"), "--top", "--cv; exactly one", USAGE),
    bad("a top of none", asked("--top", "0"), "--top", "too small", USAGE),
    bad("a top beyond the ranking", asked("--top", "10"), "--top 10", "9 ranked features"),
    bad("a top beyond a list", asked("LIST", "--top", "6"), "--top 6", "5 ranked features"),
    bad("a rate of one", asked("--fdr", "1"), "--fdr", "too large", USAGE),
    bad(
        "a rate without q-values",
        asked("--fdr", "0.1", method="variance", labels=""),
        "q_value",
        "--fdr; variance has none: choose by --top or --stable, or rank by",
    ),
    bad("a rate of a list", asked("LIST", "--fdr", "0.1"), "q_value", "list.tsv; --pvalues"),
    bad("no frequency", asked("--stable", "0.6"), "frequency", "--stability"),
    bad("a frequency above one", asked("--stable", "1.5"), "--stable", "too large", USAGE),
    bad(
        "artificial features of a list",
        asked("LIST", "--artificial"),
        "--artificial",
        "run.json; list.tsv",
    ),
    bad("folds of a list", asked("LIST", "--cv"), "--cv", "run.json; list.tsv"),
    bad(
        "artificial features of a variance",
        asked("--artificial", method="variance", labels=""),
        "--artificial",
        "--method variance; same score",
        USAGE,
    ),
    bad(
        "artificial features beside given ones of a pruned ranking",
        pruned("--artificial"),
        "--artificial",
        "rank without --given",
        USAGE,
    ),
    bad("a share of one", asked("--artificial", "--max-false", "1"), "--max-false", "less", USAGE),
    bad("no copy", asked("--artificial", "--copies", "0"), "--copies", "too small", USAGE),
    bad("copies of a top", asked("--top", "3", "--copies", "2"), "--copies", "--artificial", USAGE),
    bad(
        "a share of a rate", asked("--fdr", "0.1", "--max-false", ".1"), "--max-false", "--", USAGE
    ),
    bad("folds of a top", asked("--top", "3", "--splits", "2"), "--splits", "--cv", USAGE),
    bad("labels of a top", asked("--top", "3", "--labels", "LABELS"), "--labels", "--cv", USAGE),
    bad("a matrix of a top", asked("--top", "3", "--matrix", "MATRIX"), "--matrix", "--cv", USAGE),
    bad("lengths of words", asked("--cv", "--lengths", "x"), "--lengths", "whole numbers", USAGE),
    bad("lengths beyond the ranked", asked("--cv", "--lengths", "2,10"), "--lengths 10", "9"),
    bad(
        "folds of one class",
        asked("--cv", "--labels", "ONE", method="variance", labels=""),
        "one.tsv",
        "one class",
    ),
    bad(
        "fewer of a class than folds",
        asked("--cv", "--splits", "3", "--labels", "FEW", method="variance", labels=""),
        "--splits",
        "b (2)",
    ),
    bad(
        "folds without labels at hand",
        asked("--cv", method="variance", labels=""),
        "--labels",
        "--cv",
        USAGE,
    ),
    bad(
        "folds of labels of others", asked("--cv", "--labels", "STRANGERS"), "labels.tsv", "none of"
    ),
    bad("labels that are not there", asked("--cv", "--labels", "no.tsv"), "no.tsv", "cannot read"),
    bad(
        "a correlation above one",
        asked("--top", "3", "--min-redundancy", "1.2"),
        "--min-redundancy",
        "less",
        USAGE,
    ),
    bad(
        "redundancy of a list alone",
        asked("LIST", "--top", "3", "--min-redundancy", "0.5"),
        "--matrix",
        "run.json",
    ),
    bad(
        "a ranking of another matrix",
        asked("--artificial", "--matrix", "OTHER"),
        "other.csv",
        "--matrix; another matrix; 9 features",
    ),
    bad(
        "a list of another matrix to cut",
        asked("LIST", "--top", "3", "--matrix", "OTHER", "--write-matrix", "NEW"),
        "other.csv",
        "another matrix; gene1",
    ),
    bad(
        "a matrix over itself",
        asked("--top", "3", "--write-matrix", "MATRIX", "--force"),
        "--write-matrix",
        "replace an input",
        USAGE,
    ),
    bad(
        "a matrix of another format",
        asked("--top", "3", "--write-matrix", "x.h5ad"),
        "--write-matrix",
        "format text; .csv",
        USAGE,
    ),
    bad("a folder without a ranking", asked("EMPTY", "--top", "3"), "empty", "holds no ranking"),
    bad("no result", asked("no-such", "--top", "3"), "no-such", "no such"),
    bad(
        "a selection into its ranking",
        lambda folder: [*asked("--top", "3")(folder), "--out", str(folder / "ranked"), "--force"],
        "--out",
        "replace an input; another --out",
        USAGE,
    ),
    bad("json without out to select", asked("--top", "3", "--json"), "--json", "--out", USAGE),
]
