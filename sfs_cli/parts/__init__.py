"""The optional parts of a ranking, a file each: what a part finds, and what the page says of it."""
