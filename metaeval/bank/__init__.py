"""Scores for the score bank: `python -m metaeval.bank check FILE`."""
