"""Geometry-dependent covariance: the variance of features along a sample graph.

Z. Zhao and H. Liu, "Multi-source feature selection via geometry-dependent covariance analysis",
JMLR Workshop and Conference Proceedings 4, 2008.

- `covariance`: the covariance of a graph, a definition and a spectral function; the ranking by its
  diagonal (``gdcov``)
- `sparse_pca`: sets of features that keep its variance together (``gdcov-spca``)
- `greedy`: the path of greedy sparse PCA, on this covariance or the plain one
"""
