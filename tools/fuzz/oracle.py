"""What a command must leave behind, whatever it was given.

Of every case: an exit code that is documented and fits, no signal, no traceback, limits held, an
error that says what to do, inputs as they were, nothing half-written. Of a case that ends with 0
also a result that is right: the ranking of the undamaged file, or the one of what an independent
program reads in the damaged file.
"""

from __future__ import annotations

import csv
import json
import math
import pickle
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np

from tools.fuzz.readers import MISSING, column, elements, readings, similarity
from tools.fuzz.runner import HARNESS, Ended, digests
from tools.fuzz.study import FEATURES, SAMPLES, values

OK, BUG, USAGE, BAD, EXISTS, MEMORY = 0, 1, 2, 3, 4, 137
REFUSED = frozenset({OK, USAGE, BAD})
"""The exit codes of a damaged file. Workflow engines repeat 137 with more memory, for ever."""
LONGEST = 20_000
"""Bytes of messages that somebody may still read."""
csv.field_size_limit(1 << 30)
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_THREAD_FRAME = re.compile(r'File "([^"]+)", line (\d+) in (\S+)')
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_NOISE = re.compile(
    r"(\w+Warning): |HDF5-DIAG|Exception ignored|^Exception in thread", re.MULTILINE
)


@dataclass(frozen=True)
class Fault:
    """What is wrong with a case.

    ``kind`` is one of a few words, ``cause`` what cases of one cause have in common (the exception
    and its last frame, or what disagrees), ``detail`` what this case shows.
    """

    kind: str
    cause: str
    detail: str = ""


def judge(
    folder: Path,
    steps: list[list[str]],
    ended: Ended,
    allowed: frozenset[int],
    is_right: str,
    table: str,
    clean: bytes | None,
) -> list[Fault]:
    """Return what is wrong with a case that has run in a folder.

    `is_right` says how a result is judged: ``valid`` (it can be read), ``same`` (it is that of the
    undamaged file, `clean`), or ``variance``, ``f-test``, ``weights``, ``similarity`` and the words
    of `PARTS` (it is one of both: that of the undamaged file, or of what an independent program
    reads).
    """
    found = list(_of_the_end(ended, allowed))
    if ended.stopped or ended.code < 0 or ended.code == HARNESS:
        return found
    found += _of_the_messages(ended)
    found += _of_the_files(folder, steps, ended)
    if ended.code == OK and not found:
        result = ranking_of(folder, steps, ended)
        found += _of_the_result(folder, steps, result, is_right, table, clean)
    return found


# ---- the end, the messages, the files ------------------------------------------------------------


def _of_the_end(ended: Ended, allowed: frozenset[int]) -> Iterator[Fault]:
    trace = _last_frame(ended.err)
    if ended.code == HARNESS:
        yield Fault("harness", trace, ended.err[-2000:])
    elif ended.stopped == "time":
        yield Fault("time", _hanging_frame(ended.fault), ended.fault[-2000:])
    elif ended.stopped == "memory":
        yield Fault(
            "memory",
            _hanging_frame(ended.fault) or f"code {ended.code}",
            f"{ended.above >> 20} MiB above idle",
        )
    elif ended.code < 0:
        yield Fault(f"signal {-ended.code}", _hanging_frame(ended.fault), ended.fault[:2000])
    elif ended.code not in allowed:
        yield Fault(f"exit {ended.code}", trace or _first_line(ended.err), ended.err[-2000:])


def _of_the_messages(ended: Ended) -> Iterator[Fault]:
    err = ended.err
    if "Traceback" in err and ended.code != BUG:
        yield Fault("traceback", _last_frame(err), err[-2000:])
    if noise := _NOISE.search(err):
        line = err[noise.start() :].splitlines()[0][:160]
        yield Fault("noise", re.sub(r"\d+|'[^']*'", "_", line), err[-1500:])
    if _CONTROL.search(err):
        line = next(line for line in err.split("\n") if _CONTROL.search(line))
        yield Fault("control", f"on stderr: {_masked(_CONTROL.sub('', line))}", repr(err[-500:]))
    if len(err) > LONGEST:
        yield Fault("messages", f"longer than {LONGEST}", err[:500])
    if ended.code in (USAGE, BAD, EXISTS, MEMORY) and "Traceback" not in err:
        said = sum(line.startswith("error:") for line in err.splitlines())
        if said != 1 or "to do:" not in err:
            yield Fault("messages", f"{said} errors, or no advice", err[-1500:])


def _of_the_files(folder: Path, steps: list[list[str]], ended: Ended) -> Iterator[Fault]:
    before: dict[str, str] = pickle.loads((folder / "before").read_bytes())
    after = digests(folder / "work")
    words = " ".join(word for step in steps for word in step)
    changed = sorted(name for name, digest in before.items() if after.get(name) != digest)
    # shards keep their results in the folder of the plan, and the lock of a dead run is taken over
    over = ".sfs-lock" if ended.code in (OK, EXISTS) else "plan/"
    changed = [name for name in changed if not name.startswith("plan/") and not name.endswith(over)]
    if changed:
        yield Fault("input changed", changed[0].split("/")[0], str(changed))
    new = [name for name in after if name not in before and not name.startswith("plan/")]
    if ended.code == OK:
        named = re.split(r"[\s=:/]", words)
        new = [n for n in new if n.split("/")[0].removesuffix(".run.json") not in named]
        new += [n for n in after if n not in before and re.search(r"\.(tmp|part|partial|lock)", n)]
    elif ended.step:
        new = []  # what commands before the last one have written stays
    if new:
        yield Fault("left behind", re.sub(r"\d+|[0-9a-f]{6,}", "_", new[0]), str(new))
    left = sorted(str(p.relative_to(folder)) for p in (folder / "tmp").rglob("*"))
    if left:
        yield Fault("left behind", "in the folder for temporary files", str(left[:5]))


def _first_line(err: str) -> str:
    line = next((line for line in err.splitlines() if line.startswith("error:")), "")
    return _masked(line)


def _masked(line: str) -> str:
    """Return the beginning of a line without numbers and names, so that cases share it."""
    return re.sub(r"\d[\d,.]*|'[^']*'|'.*", "_", line)[:120]


def _last_frame(err: str) -> str:
    """Return exception and last frames of a traceback: of all, and of this package."""
    frames = _FRAME.findall(err)
    if not frames:
        return ""
    inner = [f for f in frames if "/sfs_cli/" in f[0]]
    lines = [line for line in err.splitlines() if re.match(r"[A-Za-z_][\w.]*(:|$)", line)]
    lines = [line for line in lines if not line.startswith(("Traceback", "this is a bug"))]
    name = lines[-1].split(":")[0] if lines else "?"
    ours = f"{inner[-1][0].split('/sfs_cli/')[-1]}:{inner[-1][1]} {inner[-1][2]}" if inner else ""
    last = frames[-1]
    theirs = f" < {Path(last[0]).name}:{last[2]}" if not inner or last != inner[-1] else ""
    return f"{name} in {ours}{theirs}"


def _hanging_frame(fault: str) -> str:
    """Return where the main thread was; the fault handler writes the last frame first."""
    blocks = re.split(r"\n\s*\n", fault)
    main = next((b for b in blocks if "/runner.py" in b), fault)
    frames = _THREAD_FRAME.findall(main)
    if not frames:
        return ""
    ours = next((f for f in frames if "/sfs_cli/" in f[0]), None)
    text = f"{Path(frames[0][0]).name}:{frames[0][2]}"
    return f"{ours[0].split('/sfs_cli/')[-1]}:{ours[1]} {ours[2]} < {text}" if ours else text


# ---- the result ----------------------------------------------------------------------------------


def ranking_of(folder: Path, steps: list[list[str]], ended: Ended) -> bytes | None:
    """Return the bytes of the ranking that the last command made, or what it printed."""
    words = steps[-1]
    if "--out" in words:
        out = folder / "work" / words[words.index("--out") + 1]
        return (out / "ranking.tsv").read_bytes() if (out / "ranking.tsv").is_file() else b""
    return ended.out.encode()


def _of_the_result(
    folder: Path,
    steps: list[list[str]],
    result: bytes | None,
    is_right: str,
    table: str,
    clean: bytes | None,
) -> Iterator[Fault]:
    words, work = steps[-1], folder / "work"
    if "--out" in words and words[0] in ("rank", "shard"):
        out = work / words[words.index("--out") + 1]
        yield from _of_the_output(out)
    ranked = words[0] == "rank" and not {"--dry-run", "--guide"}.intersection(words)
    if not (ranked or words[:2] == ["shard", "merge"]) or result is None:
        return
    rows = parse(result)
    if isinstance(rows, str):
        yield Fault("result", rows, result[:500].decode("utf-8", "replace"))
        return
    ok = [row for row in rows if row["status"] == "ok"]
    if odd := [row for row in ok if not math.isfinite(float(row["score"] or "nan"))]:
        yield Fault("result", "a score that is not finite, with status ok", str(odd[:3]))
        return
    if is_right == "valid" or result == clean:
        return
    if is_right == "same":
        yield Fault("wrong result", "not the ranking of the undamaged file", _first(result))
        return
    right, why = _expected(is_right, table, steps, work)
    for expected in right:
        if _agrees(rows, expected, unit=is_right in ("similarity", "obsp")):
            return
    kind = "wrong result" if right else "accepted"
    cause = "no independent reading agrees" if right else "what no other program reads"
    yield Fault(
        kind, f"{cause} ({why.partition(':')[0]})" if why else cause, f"{why}\n{_first(result)}"
    )


def _first(result: bytes) -> str:
    return result[:600].decode("utf-8", "replace")


def _of_the_output(out: Path) -> Iterator[Fault]:
    for_multiqc = ("sfs_mqc.json", "sfs_general_mqc.json", "sfs_mqc_versions.yml")
    expected = {"ranking.tsv", "run.json", "report.html", *for_multiqc}
    names = {p.name for p in out.iterdir()} if out.is_dir() else set()
    if not expected <= names:
        yield Fault("result", "an output is missing", str(sorted(names)))
        return
    for name in ("run.json", *for_multiqc):
        try:
            json.loads((out / name).read_bytes())
        except ValueError as error:
            yield Fault("result", f"{name} is no JSON", str(error))
    page = (out / "report.html").read_bytes()
    if not page.rstrip().endswith(b"</html>") or b"<script>alert" in page:
        yield Fault("result", "report.html is cut off, or runs what a name holds")
    for name in for_multiqc:
        if b"<script>alert" in (out / name).read_bytes():
            yield Fault("result", f"{name} carries raw HTML")


def parse(result: bytes) -> list[dict[str, str]] | str:
    """Return the rows of a ranking, or what is wrong with the table."""
    try:
        lines = result.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return "the ranking is not UTF-8"
    if lines.pop() != "" or not lines or not lines[0].startswith("rank\tfeature\tscore\tstatus"):
        return "the ranking is cut off, or is none"
    names, *rows = csv.reader(lines, delimiter="\t")
    if any(len(row) != len(names) for row in rows):
        return "a row of the ranking has other columns"
    found = [dict(zip(names, row)) for row in rows]
    if len({row["feature"] for row in found}) < len(found):
        return "a feature is ranked twice"
    if any(set(row["feature"]) & set("\0\n\r\t") for row in found):
        return "a name that is no line of text"
    return found


Expected = tuple[list[str], np.ndarray]
"""Features and their scores."""


def _expected(
    is_right: str, table: str, steps: list[list[str]], work: Path
) -> tuple[list[Expected], str]:
    """Return what may be expected of a file that is damaged, and why nothing may be."""
    words = shlex.join([word for step in steps for word in step])
    try:
        if is_right == "variance":
            first = steps[0]
            name = first[1] if first[0] in ("rank", "convert") else first[3]
            dtype = "float64" if "float64" in words else "float32"
            found, why = readings(table, work / name.partition(":")[0])
            found = [r for r in found if np.isfinite(r.values).all()]
            return [(r.features, r.variances(dtype)) for r in found], why
        if is_right in PARTS:
            path = work / steps[0][1].partition(":")[0]
            return [_of_parts(*elements(table, path, *PARTS[is_right]))], ""
        if is_right == "f-test":
            return [_f_test(column(work / _named(words, "--labels"), "tissue"))], ""
        if is_right == "weights":
            return [_weighted(column(work / _named(words, "--sample-weights"), None))], ""
        if is_right == "similarity":
            S = similarity(work / _named(words, "--similarity-file"), SAMPLES)
            return [_laplacian(S)], ""
    except Exception as error:
        return [], f"{type(error).__name__}: {error}"
    raise AssertionError(is_right)


def _named(words: str, flag: str) -> str:
    return words.split(f"{flag} ")[1].split()[0].partition(":")[0]


PARTS = {
    "layer": ("var", "layers/double"),
    "raw": ("raw/var", "raw/X"),
    "obs": ("var", "X", "obs"),
    "obsp": ("var", "X", "obsp/connectivities"),
}
"""What commands read of AnnData, by how their result is judged."""


def _of_parts(var: Any, X: Any, more: Any = None) -> Expected:
    """Return variances, F-tests for the column `tissue` of a table, or phi2 on a graph."""
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, "float32").astype(float).T
    names = [str(name) for name in var.index]
    if len(X) != len(names) or not np.isfinite(X).all():
        raise ValueError("not a matrix")
    if more is None:
        return names, X.var(axis=1, ddof=1)
    if hasattr(more, "columns"):
        found = more["tissue"]
        labels = ["" if missing else str(label) for label, missing in zip(found, found.isna())]
        if len(labels) != X.shape[1] or MISSING.intersection(labels):
            raise ValueError("a sample has no label")
        return names, _f_statistics(X, labels)
    S = np.asarray(more.toarray() if hasattr(more, "toarray") else more, float)
    return names, _laplacian(S, X)[1]


def _f_test(labels: dict[str, str]) -> Expected:
    if any(name not in labels for name in SAMPLES):
        raise ValueError("a sample has no label")
    X = values().astype("float32").astype(float)
    return FEATURES, _f_statistics(X, [labels[name] for name in SAMPLES])


def _f_statistics(X: np.ndarray, labels: list[str]) -> np.ndarray:
    from scipy.stats import f_oneway

    codes = np.array(labels)
    groups = [X[:, codes == label] for label in dict.fromkeys(labels)]
    return np.asarray(f_oneway(*groups, axis=1).statistic)


def _weighted(weights: dict[str, str]) -> Expected:
    if any(name not in weights for name in SAMPLES):
        raise ValueError("a sample has no weight")
    w = np.array([float(weights[name]) for name in SAMPLES])
    if not np.isfinite(w).all() or (w < 0).any():
        raise ValueError("not a weight")
    X = values().astype("float32").astype(float)
    mean = (X @ w) / w.sum()
    return FEATURES, ((X - mean[:, None]) ** 2 @ w) / (w.sum() - 1)  # as if they were counts


def _laplacian(S: np.ndarray, X: np.ndarray | None = None) -> Expected:
    """Return phi2 of SPEC, which is the Laplacian Score: ``f' L f / f' D f`` of centered f."""
    if not np.isfinite(S).all() or (S.sum(axis=1) <= 0).any():
        raise ValueError("not a similarity")
    if np.abs(S - S.T).max() > 1e-8 * np.abs(S).max():
        raise ValueError("not symmetric")
    S = S / (S.max() or 1.0)  # scores do not depend on its size
    S = (S + S.T) / 2
    X = values().astype("float32").astype(float) if X is None else X
    d = S.sum(axis=1)
    X = X - ((X @ d) / d.sum())[:, None]
    return FEATURES, 1 - np.einsum("ij,jk,ik->i", X, S, X) / (X**2 @ d)


def _agrees(rows: list[dict[str, str]], expected: Expected, unit: bool) -> bool:
    """Tell whether a ranking has the features and scores expected; `unit`: of the order of 1."""
    names, scores = [normalize("NFC", name) for name in expected[0]], expected[1]
    if len(names) != len(rows):
        return False
    ok = {row["feature"]: float(row["score"]) for row in rows if row["status"] == "ok"}
    unique = len(set(names)) == len(names)
    if unique and {row["feature"] for row in rows} != set(names):
        return False
    if unique:
        pairs = [(ok[name], score) for name, score in zip(names, scores) if name in ok]
    else:  # ids that are repeated get suffixes
        known = sorted(score for score in scores if np.isfinite(score))[::-1][: len(ok)]
        pairs = list(zip(sorted(ok.values(), reverse=True), known))
    size = 1.0 if unit else max((abs(score) for _, score in pairs), default=1.0)
    # of what is not scored, nothing is expected but that it is no better than what is
    return all(math.isclose(a, b, rel_tol=2e-6, abs_tol=1e-9 * min(size, 1)) for a, b in pairs)
