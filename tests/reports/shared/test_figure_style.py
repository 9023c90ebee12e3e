"""The look of figures. Level colours keep their order for every eye: WCAG luminance, under
simulated vision."""

from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.font_manager import FontProperties, findfont

from metaeval.reports.shared.figure_style import STYLE, levels

# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB
DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
)
PROTANOPIA = np.array(
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ]
)


def luminance(colour: str, vision: np.ndarray) -> float:
    rgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(np.clip(vision @ linear, 0, 1) @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("n", [2, 3, 4, 7])
@pytest.mark.parametrize("vision", [np.eye(3), DEUTERANOPIA, PROTANOPIA])
def test_lightness_orders_the_levels(n: int, vision: np.ndarray) -> None:
    light = [luminance(c, vision) for c in levels(n)]
    dark = [luminance(c, vision) for c in levels(n, dark=True)]
    assert light == sorted(light, reverse=True)
    assert dark == sorted(dark)
    for ramp in (light, dark):  # neighbours differ visibly: contrast ratio of at least 1.1 at n = 7
        steps = [(max(a, b) + 0.05) / (min(a, b) + 0.05) for a, b in pairwise(ramp)]
        assert min(steps) > 1.1


@pytest.mark.parametrize("weight", ["normal", "bold"])
@pytest.mark.parametrize("slant", ["normal", "italic"])
def test_figures_use_the_font_that_matplotlib_ships(weight: str, slant: str) -> None:
    """So texts have the same sizes on every machine, whatever fonts it has."""
    with mpl.rc_context(STYLE):
        file = Path(findfont(FontProperties(weight=weight, style=slant)))
    assert file.parent == Path(mpl.get_data_path()) / "fonts" / "ttf"
