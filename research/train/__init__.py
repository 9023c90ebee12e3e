"""Trainings of the networks whose weights metaeval ships: `python -m research.train`."""
