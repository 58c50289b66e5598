"""MRSF and the l2,1 penalized regression behind it.

Z. Zhao, dissertation, Arizona State University 2010, Chapter 4: features are selected together, by
``min_W 1/2 |Y - X W|_F^2 + lambda sum_i |w^i|``, so that redundant features enter late.

Read the files in this order:

- `regression`: the response Y, the features, lambda_max, the certificate over all features.
- `active_set`: the problem on a few features, through two small matrices, and its duality gap.
- `newton`: its solution at a given lambda, and at an event of the path.
- `screen`: all other features, seen in few passes by a bound that is valid between the passes.
- `mrsf`: the path from lambda_max down (method ``mrsf``).
- `rounds`: paths one after the other, each without the features before (``mrsf-rounds``).
- `fixed`: the solution at one lambda or one budget (method ``l21``).
"""
