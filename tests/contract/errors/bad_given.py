"""Lists of given features that cannot be gone on from."""

from __future__ import annotations

from pathlib import Path

from tests.making_commands import FEATURES, Bad, Make, bad, good, option, text

SPCA = ("--method", "spca")


def listed(*names: str, method: tuple[str, ...] = SPCA) -> Make:
    def make(folder: Path) -> list[str]:
        path = text(folder, "".join(f"{name}\n" for name in names), "panel.txt")
        return ["rank", good(folder), *method, "--given", path]

    return make


GIVEN: list[Bad] = [
    bad("given features that are unknown", listed("gene1", "x1", "x2"), "--given", "2 of 3; x1"),
    bad("only unknown given features", listed("x1"), "panel.txt", "1 of 1 id; not in the matrix"),
    bad("every feature is given", listed(*FEATURES), "--given", "all 9"),
    bad("an empty list of given features", listed(), "panel.txt", "empty"),
    bad(
        "a list of given features that is not there",
        lambda folder: ["rank", good(folder), *SPCA, "--given", "nowhere.txt"],
        "nowhere.txt",
        "no such file|not exist",
    ),
    bad(
        "given features that explain every sample",
        listed(
            *FEATURES[:5],
            method=("--method", "mrsf", "--similarity", "rbf", "--select", "2"),
        ),
        "5 given features",
        "shorter list",
    ),
    option(
        "given features for a method that scores each by itself",
        "--method variance; --max-correlation",
        *("--method", "variance", "--given", "panel.txt"),
        name="--given",
    ),
    option(
        "given features for msfs that scores each by itself",
        "--method msfs",
        *("--method", "msfs", "--source", "t=target:", "--given", "panel.txt"),
        name="--given",
    ),
    option(
        "given features for members that score each by itself",
        "--members",
        *("--method", "kogs", "--members", "spca,variance", "--given", "panel.txt"),
        name="--given",
    ),
]
