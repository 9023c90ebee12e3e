"""`sweep.svg`: rank-order ρ by the swept setting, a line a metric, for a paper or a slide."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from metaeval.runs import files
from reports.shared.figure_style import STYLE
from reports.sweep.groups import JobGroup, number

FIGURE = "sweep.svg"


def write_figure(directory: Path, gathered: Sequence[JobGroup], metrics: Sequence[str]) -> Path:
    """Draw mean and standard deviation over seeds; the x axis is a scale if settings are numbers.

    The bytes depend on the jobs' numbers alone.
    """
    import matplotlib as mpl
    import pandas as pd
    import seaborn as sns  # half a second to import, and only sweeps need it
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    single = all(len(group.settings) == 1 for group in gathered)
    numbers = [number(group.settings[0][1]) if single else None for group in gathered]
    scale = None not in numbers
    rows = [
        {"setting": x if scale else group.label, "metric": metric, "ρ": value}
        for group, x in zip(gathered, numbers, strict=True)
        for metric in metrics
        if metric in group.values
        for value in group.values[metric].values
    ]
    path = directory / FIGURE
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.8), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots()
        sns.lineplot(
            pd.DataFrame(rows), x="setting", y="ρ", hue="metric", style="metric", ax=axes,
            errorbar="sd", err_style="bars", markers=True, dashes=False,
            palette=sns.color_palette("viridis", len(metrics)),
        )  # fmt: skip
        axes.set_xlabel(gathered[0].settings[0][0] if scale else "")
        axes.set_ylabel("rank-order ρ (mean ± sd over seeds)")
        sns.move_legend(axes, "center left", bbox_to_anchor=(1, 0.5), title=None)
        metadata = {"Date": None, "Title": "sweep"}
        files.atomic(path, partial(figure.savefig, format="svg", metadata=metadata))
    return path
