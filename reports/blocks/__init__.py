"""The blocks of a page: each module makes blocks of one kind from a result.

A page is a list of blocks; `reports/measured.py` has the list of an experiment that has no page of
its own.
"""
