"""Reference runs of two commits, compared number by number."""
