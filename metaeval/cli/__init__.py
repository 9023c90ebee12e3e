"""The command `metaeval`: its verbs, and the run of an experiment."""
