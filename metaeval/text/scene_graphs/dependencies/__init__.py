"""The built-in scene-graph parser: tags → a dependency tree → a graph → SPICE's tuples."""
