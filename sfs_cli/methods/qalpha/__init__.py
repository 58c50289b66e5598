"""Q-alpha: weights of features that make the samples fall into clear clusters.

L. Wolf and A. Shashua, "Feature selection for unsupervised and supervised inference: the emergence
of sparsity in a weight-based approach", JMLR 6, 2005.

- `qalpha`: the method, its cycles between the weights alpha and the subspace Q.
- `space`: weight vectors as n x n matrices, so that no m x m matrix is needed.
- `variants`: what the eigenproblem of alpha is, and how Q follows from alpha.
- `kernel`: the one variant that needs an m x m matrix.
"""
