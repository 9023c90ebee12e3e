"""The results of a run as typed models: `statistics.json` and `run.json` are their dumps.

An experiment builds a `MeasuredResult` (`measured`); the printout, the report, sweeps, the Python
API and benchmarks read its attributes. `metric` and `comparison` have its parts, `run` the facts of
a run. `files` writes and reads them.
"""
