"""Corruptions that users bring: a function, a file of captions, several one after another."""
