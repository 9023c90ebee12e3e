"""Judges: metrics whose scores are the answers of a language or vision-language model."""
