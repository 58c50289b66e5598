"""The ranking table, aggregation of rankings and their agreement."""
