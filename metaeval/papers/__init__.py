"""What papers printed: one YAML file a paper, read by `expected`."""
