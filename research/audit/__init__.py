"""Repeat the audit of the corruptions with annotators of your own."""
