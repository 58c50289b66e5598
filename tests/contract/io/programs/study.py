"""A small study, which every program wrote in its own format."""

import numpy as np

GENES = ["TP53", "MYC", "EGFR", "HLA-A", "MT-CO1", "GAPDH"]
SAMPLES = ["S1", "S2", "S3", "S4", "S5"]
COUNTS = np.array(
    [
        [0, 3, 1, 0, 7],
        [12, 0, 5, 9, 1],
        [0, 0, 2, 0, 4],
        [31, 8, 15, 1234, 6],
        [2, 2, 0, 1, 3],
        [101, 88, 97, 110, 95],
    ]
)
VALUES = COUNTS / 8  # exact in float32, and in six digits
TISSUE = ["liver", "lung", "liver", "lung", "liver"]
AGE = [31, 47, 52, 60, 29]
