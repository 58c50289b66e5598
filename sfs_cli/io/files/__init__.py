"""Files: text, compression, atomic writes, locks."""
