"""The look of figures."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.font_manager import FontProperties, findfont

from metaeval.reports.shared.figure_style import STYLE


@pytest.mark.parametrize("weight", ["normal", "bold"])
@pytest.mark.parametrize("slant", ["normal", "italic"])
def test_figures_use_the_font_that_matplotlib_ships(weight: str, slant: str) -> None:
    """So texts have the same sizes on every machine, whatever fonts it has."""
    with mpl.rc_context(STYLE):
        file = Path(findfont(FontProperties(weight=weight, style=slant)))
    assert file.parent == Path(mpl.get_data_path()) / "fonts" / "ttf"
