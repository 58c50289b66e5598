"""Sample graphs: similarities, neighbours, Laplacian and spectrum. Arrays in, arrays out."""
