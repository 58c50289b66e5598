"""Sample graphs: similarities, neighbors, Laplacian and spectrum. Arrays in, arrays out."""
