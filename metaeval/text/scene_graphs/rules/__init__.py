"""The built-in scene-graph parser: lexicon → tags → noun phrases → relations, in pure Python."""
