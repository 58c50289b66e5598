"""Simulate the samples, the genes and the miRNAs of the study, and what is planted in them.

Everything comes from uniform numbers of a seeded PCG64 (the part of NumPy's generators whose
stream is guaranteed), so that the files written with a few decimals are the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEED = 20110
N_TISSUES = 4
PER_TISSUE = 15
N_SAMPLES = PER_TISSUE * N_TISSUES
N_GENES = 2000
ROLES = {"tissue": 40, "tumour": 20, "batch": 150, "constant": 12}
N_BLOCKS, BLOCK_SIZE = 5, 8
N_ZERO_GENES = 4
N_MIRNA = {"tissue": 80, "tumour": 25, "noise": 45}
# one tissue against the rest, then pairs (the first pair is the lineage); each has sd 1
CONTRASTS = np.array(
    [
        *([3, -1, -1, -1], [-1, 3, -1, -1], [-1, -1, 3, -1], [-1, -1, -1, 3]),
        *([1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]),
    ],
    dtype=float,
)
CONTRASTS /= np.sqrt((CONTRASTS**2).mean(axis=1, keepdims=True))


class Draws:
    """Random numbers made from the uniform stream only."""

    def __init__(self, part: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64([SEED, part]))

    def uniform(self, low: float, high: float, shape: int | tuple[int, ...]) -> Floats:
        """Numbers from low to high, high left out."""
        return low + (high - low) * self._generator.random(shape)

    def normal(self, shape: int | tuple[int, ...]) -> Floats:
        """Box-Muller; 1 - u keeps the logarithm finite."""
        radius = np.sqrt(-2 * np.log(1 - self._generator.random(shape)))
        return radius * np.cos(2 * np.pi * self._generator.random(shape))

    def order(self, n: int) -> Ints:
        """A random order of 0..n-1."""
        return np.argsort(self._generator.random(n), kind="stable")

    def pick(self, pool: Ints, size: int) -> Ints:
        """Some of a pool, without repeats."""
        return pool[self.order(len(pool))[:size]]

    def integers(self, low: int, high: int, n: int) -> Ints:
        """Integers from low to high, both included."""
        return np.floor(self.uniform(low, high + 1, n)).astype(np.int64)

    def signs(self, n: int) -> Floats:
        """-1 or +1, as likely as each other."""
        return np.where(self._generator.random(n) < 0.5, -1.0, 1.0)


@dataclass(frozen=True)
class Samples:
    """The study design, one entry per sample (60)."""

    ids: list[str]
    tissue: Ints
    tumour: Ints
    batch: Ints
    technical: Floats


@dataclass(frozen=True)
class Genes:
    """What is planted, one entry per gene (2,000), and the values (genes x samples)."""

    ids: list[str]
    role: NDArray[np.str_]
    strength: Floats
    block: NDArray[np.str_]
    values: Floats

    def having(self, *roles: str) -> Ints:
        """Positions of the genes that have one of these roles."""
        return np.flatnonzero(np.isin(self.role, roles))


@dataclass(frozen=True)
class Planted:
    """Genes of one role: values (genes x samples, centered on 0), strength and block of each."""

    role: str
    values: Floats
    strength: Floats
    block: NDArray[np.str_]


def make_samples() -> Samples:
    """Cross tissue, status and batch as evenly as 60 samples allow, in random order."""
    draws = Draws(1)
    cell = np.arange(N_SAMPLES)
    shuffled = draws.order(N_SAMPLES)
    tissue = (cell // PER_TISSUE)[shuffled]
    tumour = (cell % 2)[shuffled]
    batch = (cell // 2 % 2)[shuffled]
    technical = 2.0 * batch - 1 + 0.6 * draws.normal(N_SAMPLES)
    technical = (technical - technical.mean()) / technical.std()
    ids = [f"P{i + 1:02d}" for i in range(N_SAMPLES)]
    return Samples(ids, tissue, tumour, batch, technical)


def tissue_signal(draws: Draws, n: int, samples: Samples) -> Floats:
    """Tissue contrasts of sd 1 (n x samples), each contrast as often as the others."""
    contrasts = CONTRASTS[np.arange(n) % len(CONTRASTS)] * draws.signs(n)[:, None]
    return contrasts[:, samples.tissue]


def tumour_signal(draws: Draws, n: int, samples: Samples) -> Floats:
    """+1 in tumours and -1 in normal tissue, or the reverse (n x samples)."""
    return draws.signs(n)[:, None] * (2.0 * samples.tumour - 1)


def noisy(draws: Draws, signal: Floats, strength: Floats, noise: Floats) -> Floats:
    """Mix a signal of sd 1 with noise; strength is sd of signal over sd of noise."""
    return noise[:, None] * (strength[:, None] * signal + draws.normal(signal.shape))


def batch_signal(draws: Draws, n: int, samples: Samples) -> Floats:
    """The technical factor with either sign (n x samples)."""
    return draws.signs(n)[:, None] * samples.technical


def planted_genes(draws: Draws, samples: Samples) -> list[Planted]:
    """Simulate the tissue, tumour, redundant and batch genes, centered on 0."""
    planted = []
    for role, signal, strengths, noise in (
        ("tissue", tissue_signal, (0.8, 2.6), (0.3, 0.5)),
        ("tumour", tumour_signal, (0.8, 2.6), (0.3, 0.5)),
        ("batch", batch_signal, (0.2, 0.78), (1.0, 1.3)),
    ):
        n = ROLES[role]
        strength = np.linspace(*strengths, n)
        values = noisy(draws, signal(draws, n, samples), strength, draws.uniform(*noise, n))
        planted.append(Planted(role, values, strength, np.full(n, "", dtype="U2")))
    return [*planted, copied_genes(draws, planted[0])]


def copied_genes(draws: Draws, tissue: Planted) -> Planted:
    """Copy some of the stronger tissue genes with noise, and name the blocks in `tissue`.

    A copy repeats the noise of its original too, so its strength is signal over all of that.
    """
    n = len(tissue.strength)
    originals = np.sort(draws.pick(np.arange(n // 2, n), N_BLOCKS))
    tissue.block[originals] = [f"B{i + 1}" for i in range(N_BLOCKS)]
    sources = np.repeat(originals, BLOCK_SIZE)
    values = tissue.values[sources]
    share = draws.uniform(0.2, 0.5, len(sources))
    spread = share * values.std(axis=1)
    values = values + spread[:, None] * draws.normal(values.shape)
    ratio = tissue.strength[sources]
    strength = ratio / np.sqrt(1 + share**2 * (1 + ratio**2))
    return Planted("redundant", values, strength, tissue.block[sources])


def other_genes(draws: Draws, n_planted: int) -> list[Planted]:
    """Simulate the constant and the noise genes."""
    shapes = {"constant": ROLES["constant"], "noise": N_GENES - n_planted - ROLES["constant"]}
    groups = []
    for role, n in shapes.items():
        sd = np.zeros(n) if role == "constant" else draws.uniform(0.25, 0.85, n)
        values = sd[:, None] * draws.normal((n, N_SAMPLES))
        groups.append(Planted(role, values, np.zeros(n), np.full(n, "", dtype="U2")))
    return groups


def make_genes(samples: Samples) -> Genes:
    """Stack all genes, give each its mean, and shuffle them so that ids say nothing."""
    draws = Draws(2)
    planted = planted_genes(draws, samples)
    groups = planted + other_genes(draws, sum(len(p.strength) for p in planted))
    role = np.repeat([g.role for g in groups], [len(g.strength) for g in groups])
    mean = draws.uniform(1.5, 11.0, N_GENES)
    mean[role == "batch"] = draws.uniform(6.0, 11.0, ROLES["batch"])
    constants = np.flatnonzero(role == "constant")
    mean[constants] = np.round(mean[constants], 1)
    mean[constants[:N_ZERO_GENES]] = 0.0
    values = np.maximum(np.vstack([g.values for g in groups]) + mean[:, None], 0.0)
    order = draws.order(N_GENES)
    return Genes(
        ids=[f"G{i + 1:04d}" for i in range(N_GENES)],
        role=role[order],
        strength=np.concatenate([g.strength for g in groups])[order],
        block=np.concatenate([g.block for g in groups])[order],
        values=values[order],
    )


def make_mirna(samples: Samples) -> tuple[list[str], Floats, Ints]:
    """Ids, values (miRNA x samples, in their own sample order) and that order."""
    draws = Draws(3)
    n_noise = N_MIRNA["noise"]
    groups = [0.6 * draws.normal((n_noise, N_SAMPLES))]
    for role, signal in (("tissue", tissue_signal), ("tumour", tumour_signal)):
        n = N_MIRNA[role]
        strength, noise = draws.uniform(1.0, 2.5, n), draws.uniform(0.4, 0.8, n)
        groups.append(noisy(draws, signal(draws, n, samples), strength, noise))
    values = np.vstack(groups)
    values = np.maximum(values + draws.uniform(4.0, 12.0, len(values))[:, None], 0.0)
    order, columns = draws.order(len(values)), draws.order(N_SAMPLES)
    ids = [f"M{i + 1:03d}" for i in range(len(values))]
    return ids, values[order][:, columns], columns
