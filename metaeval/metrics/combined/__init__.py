"""Scores made of other metrics' scores: means, means of ranks, SPIDEr."""
