"""``--donors``: tests that count samples of one donor as independent (pseudoreplication)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import Ids
from sfs_cli.io.knowledge.sample_columns import read_covariates
from sfs_cli.options import RankConfig
from sfs_cli.report.model import Section
from sfs_cli.run.guards import Doubt
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import RankResult


@dataclass(frozen=True)
class DonorDesign:
    """How the samples are spread over donors and classes.

    `of_several_classes` counts the donors with samples of more than one class (as in pairs),
    `donors_by_classes` the donors in each class, and `adjusted` says whether ``--adjust`` takes the
    differences between donors out.
    """

    donors: int
    of_several_classes: int
    donors_by_classes: int
    adjusted: bool

    @classmethod
    def of(cls, run: Run, donors: np.ndarray) -> DonorDesign:
        """Count the donors (n,) of the samples of a run."""
        known = np.zeros(len(donors), int)
        if run.labels is not None:
            labels = run.labels.take(run.matrix.samples)  # an outcome as it was before --adjust
            known = np.unique(np.nan_to_num(labels.target), return_inverse=True)[1]
        pairs = np.unique(np.column_stack([donors, known]), axis=0)
        return cls(
            donors=int(donors.max()) + 1,
            of_several_classes=int(np.count_nonzero(np.bincount(pairs[:, 0]) > 1)),
            donors_by_classes=len(pairs),
            adjusted=run.design is not None and _explains(run.design.basis, donors),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the facts of ``run.json``."""
        return {"donors": self.donors, "donor_design": asdict(self)}

    def doubt(self, samples: int) -> Doubt | None:
        """Return why a test of so many samples does not hold; None where it does."""
        repeated = self.donors_by_classes < samples
        if self.donors == samples or (self.adjusted and not repeated):
            return None
        seen = f"the {samples:,} samples are of {self.donors:,} donors, and "
        if repeated:
            seen += "samples of one donor are not independent (pseudoreplication)"
            effect = "p-values and q-values can be far too small"
        else:
            seen += "the classes vary within donors: the test counts donor differences as noise"
            effect = (
                "p-values and q-values are conservative (too large) in balanced designs such as "
                "pairs, and may be too small in others"
            )
        ways = []
        if not self.of_several_classes:
            ways.append(
                "add up the cells (--pseudobulk DONOR, of AnnData) or average the samples of each "
                "donor"
            )
        elif repeated:
            ways.append(
                "add up the cells (--pseudobulk DONOR,CLASS, of AnnData) or average the samples of "
                "each donor and class (not across classes)"
            )
        if self.of_several_classes and not self.adjusted:
            ways.append(
                "compare within donors: --block with the column of the donors and --method t-test "
                "or f-test, which of two classes is the paired test"
            )
        remedy = ", and ".join(ways)
        return Doubt("donors", f"{seen}: {effect}; {remedy}", seen, remedy)


def _explains(basis: np.ndarray, groups: np.ndarray) -> bool:
    """Tell whether a basis (r, n), beside the mean, explains which group each sample is of (n,)."""
    if len(basis) < groups.max():
        return False
    sizes = np.bincount(groups)
    # the squares of an indicator around its mean, and those of its projection
    sums = np.array([np.bincount(groups, row) for row in basis])
    return bool(np.allclose((sums**2).sum(axis=0), sizes * (1 - sizes / len(groups)), rtol=1e-6))


def count_donors(run: Run, found: RankResult) -> None:
    """Add to the facts how the samples are spread over donors."""
    assert run.donors is not None
    found.facts["input"] |= DonorDesign.of(run, run.donors).to_json()


def independent(config: RankConfig, ids: Ids) -> bool:
    """Tell whether every donor has one sample."""
    spec, matrix = str(config.donors), config.matrix
    values = read_covariates(spec, "donors", matrix, ids, "donor")[0].values
    known = [values[sample] for sample in ids.samples if sample in values]
    return len(set(known)) == len(known)


def section(facts: Mapping[str, Any]) -> Section:
    """Return what the page says of the donors, by the facts of the input."""
    return Section(input=[("Donors", f"{facts['donors']:,}")])


def doubt(record: Mapping[str, Any]) -> Doubt | None:
    """Return why a test counts samples of one donor as independent, by the facts."""
    facts = record["input"]
    try:
        return DonorDesign(**facts["donor_design"]).doubt(facts["n_samples"])
    except (KeyError, TypeError):  # a record that was edited may hold anything
        return None
