"""`python -m metaeval reproduce`: the tables of papers, computed again and compared."""
