"""The command line: parse, call one job, print a summary."""
