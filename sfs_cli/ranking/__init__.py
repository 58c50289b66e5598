"""The result table: order, ranks and columns."""
