"""Metrics that users bring: a function, a pycocoevalcap scorer, a library's metric, or a file."""
