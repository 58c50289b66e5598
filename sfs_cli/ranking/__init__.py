"""The ranking table, aggregation of rankings, their agreement and their elbow."""
