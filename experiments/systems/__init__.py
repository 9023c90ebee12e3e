"""Metrics that rank systems, against people, from a table of systems."""
