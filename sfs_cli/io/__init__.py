"""Reading matrices and tables, and writing results; one file per format."""
