"""How metaeval reads a file: `python -m metaeval.convert FILE`."""
