"""Gathering runs into a sweep's page, at any time: `python -m metaeval.gather DIR`."""
