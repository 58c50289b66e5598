"""Files: text, compression, atomic writes."""
