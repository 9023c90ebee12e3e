"""The results of a run as typed models: `statistics.json` and `run.json` are their dumps.

An experiment builds a `RunResult`; the printout, the report, sweeps, the Python API and benchmarks
read its attributes. `base` has what all results share, `metric`, `comparison` and `run` the parts
of a result, and one module per experiment the rest. `files` writes and reads them.
"""
