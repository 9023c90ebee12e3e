"""The networks behind the metrics: finding their weights, loading them, running them in batches.

No metric arithmetic here. Importing this package, or any metric, does not import torch: that is
left to the moment when a network is really needed.
"""
