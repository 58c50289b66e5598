"""Gene sets of knowledge sources that are over-represented at the top; no option asks for it."""
