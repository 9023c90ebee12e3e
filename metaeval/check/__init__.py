"""The checker of the contract of a metric: `python -m metaeval.check my_module.MyMetric`."""
