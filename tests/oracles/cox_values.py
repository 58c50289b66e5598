"""Score tests of proportional hazards by R, statsmodels and lifelines: makes ``cox_values.json``.

``python -m tests.oracles.cox_values`` writes the file again. It needs R with the package survival,
and statsmodels and lifelines, which the tests do not: they read the file.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

VALUES = Path(__file__).with_name("cox_values.json")
FEATURES = ("f0", "f1", "f2", "f3")

R_CODE = r"""
suppressMessages(library(survival))
d <- read.csv(commandArgs(TRUE)[1])
say <- function(key, values) cat(key, sprintf("%.17g", values), "\n")
tight <- coxph.control(eps = 1e-14, iter.max = 50)
cat("version", paste(R.version$major, R.version$minor, sep = "."),
    as.character(packageVersion("survival")), "\n")
for (ties in "efron") for (z in c(FALSE, TRUE)) for (s in c(FALSE, TRUE)) {
  case <- paste(ties, if (z) "covariates" else "none", if (s) "strata" else "one", sep = "/")
  right <- c(if (z) c("z0", "z1"), if (s) "strata(s)")
  null <- as.formula(paste("Surv(time, event) ~", paste(c("1", right), collapse = " + ")))
  m <- coxph(null, d, ties = ties, control = tight)
  say(paste0(case, " residuals"), residuals(m, "martingale"))
  say(paste0(case, " likelihood"), m$loglik[length(m$loglik)])
  if (z) say(paste0(case, " coefficients"), coef(m))
  if (z) say(paste0(case, " variances"), diag(vcov(m)))
  score <- sapply(c("f0", "f1", "f2", "f3"), function(f) {
    full <- as.formula(paste("Surv(time, event) ~", paste(c(f, right), collapse = " + ")))
    at <- c(0, if (z) coef(m))
    coxph(full, d, ties = ties, init = at, control = coxph.control(iter.max = 0))$score
  })
  say(paste0(case, " score"), score)
}
for (f in c("f0", "f3")) {
  say(paste0("concordance/one ", f),
      concordance(as.formula(paste("Surv(time, event) ~", f)), d, reverse = TRUE)$concordance)
  say(paste0("concordance/strata ", f),
      concordance(as.formula(paste("Surv(time, event) ~", f, "+ strata(s)")), d,
                  reverse = TRUE)$concordance)
}
"""


def data() -> dict[str, list[float]]:
    """Sixty samples with equal times, a third of them censored, two covariates and three strata."""
    rng = np.random.default_rng(20)
    n = 60
    z = rng.normal(size=(2, n))
    z[1] = z[1] > 0.3
    f = rng.normal(size=(4, n))
    f[1] = f[0] + 0.5 * z[0] + 3
    f[2] = rng.poisson(0.5, n)
    f[3] = np.round(f[3])
    s = rng.integers(0, 3, n)
    hazard = np.exp(0.6 * z[0] - 0.8 * z[1] + 0.5 * f[0] + 0.4 * s)
    time = np.ceil(10 * rng.exponential(size=n) / hazard)
    columns = {"time": time, "event": rng.random(n) < 0.67, "s": s}
    columns |= {f"z{i}": column for i, column in enumerate(z)}
    columns |= dict(zip(FEATURES, f))
    return {name: [float(f"{value:.4f}") for value in column] for name, column in columns.items()}


def of_r(columns: dict[str, list[float]]) -> dict[str, list[float] | str]:
    """What R prints, by its keys."""
    with tempfile.TemporaryDirectory() as folder:
        table, code = Path(folder, "d.csv"), Path(folder, "code.R")
        rows = [",".join(columns), *(",".join(map(repr, row)) for row in zip(*columns.values()))]
        table.write_text("\n".join(rows) + "\n")
        code.write_text(R_CODE)
        run = ["Rscript", str(code), str(table)]
        text = subprocess.run(run, check=True, capture_output=True, text=True).stdout
    found: dict[str, list[float] | str] = {}
    for line in text.splitlines():
        key, *rest = line.split()
        if key == "version":
            found[key] = f"R {rest[0]}, survival {rest[1]}"
        else:
            found[f"{key} {rest[0]}"] = [float(value) for value in rest[1:]]
    return found


def of_statsmodels(columns: dict[str, list[float]]) -> dict[str, Any]:
    """Score tests by the derivatives of ``PHReg`` at the fit without the feature."""
    import statsmodels
    from statsmodels.duration.hazard_regression import PHReg

    d = {name: np.array(column) for name, column in columns.items()}
    found: dict[str, Any] = {"version": f"statsmodels {statsmodels.__version__}"}
    Z = np.column_stack([d["z0"], d["z1"]])
    for ties in ("efron",):
        for strata in (None, d["s"]):
            known = {"status": d["event"], "ties": ties, "strata": strata}
            null = PHReg(d["time"], Z, **known)
            beta = np.zeros(2)
            for _ in range(30):
                beta = beta - np.linalg.solve(null.hessian(beta), null.score(beta))
            scores = []
            for name in FEATURES:
                full = PHReg(d["time"], np.column_stack([Z, d[name]]), **known)
                at = np.append(beta, 0)
                u = full.score(at)
                scores.append(float(-u @ np.linalg.solve(full.hessian(at), u)))
            case = f"{ties}/covariates/{'one' if strata is None else 'strata'}"
            found[f"{case} score"], found[f"{case} coefficients"] = scores, beta.tolist()
    return found


def of_lifelines(columns: dict[str, list[float]]) -> dict[str, Any]:
    """Coefficients by Efron, and concordance."""
    import lifelines
    import pandas as pd
    from lifelines.utils import concordance_index

    d = pd.DataFrame(columns)
    model = lifelines.CoxPHFitter()
    options = {"precision": 1e-14}
    model.fit(d[["time", "event", "z0", "z1"]], "time", "event", fit_options=options)
    found = {
        "version": f"lifelines {lifelines.__version__}",
        "efron/covariates/one coefficients": model.params_.tolist(),
    }
    for name in ("f0", "f3"):
        value = concordance_index(d["time"], -d[name], d["event"])
        found[f"concordance/one {name}"] = [float(value)]
    return found


def main() -> None:
    """Write the file."""
    columns = data()
    made = {
        "data": columns,
        "r": of_r(columns),
        "statsmodels": of_statsmodels(columns),
        "lifelines": of_lifelines(columns),
    }
    VALUES.write_text(json.dumps(made, indent=0).replace(",\n", ", ").replace("], ", "],\n") + "\n")


if __name__ == "__main__":
    main()
