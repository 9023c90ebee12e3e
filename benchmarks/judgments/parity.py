"""The alt-test and SPA side by side with public code, which is not part of this repository.

    git clone https://github.com/nitaytech/AltTest
    git clone https://github.com/google-research/mt-metrics-eval
    python -m benchmarks.judgments.parity AltTest mt-metrics-eval

Runs the alt-test of the first repository's notebook and ours on its data sets, and pce.py of the
second one and ours on drawn tables; prints the largest differences.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from metaeval.stats.agreement.ceiling import alt_test
from metaeval.stats.ordering.pairwise import soft_pairwise_accuracy

# data set → the notebook's ε; those of NUMERIC are compared by root mean squared differences
EPSILON = {
    "wax": 0.1,
    "lgbteen": 0.2,
    "mtbench": 0.2,
    "framing": 0.15,
    "cebab_aspects": 0.1,
    "summeval": 0.2,
    "10k_prompts": 0.15,
    "cebab_stars": 0.1,
    "lesion": 0.15,
}
NUMERIC = {"summeval", "10k_prompts", "cebab_stars", "lesion"}
TABLES = 200


def notebook_function(file: Path) -> Callable[..., tuple[float, float]]:
    """The notebook's `alt_test`, from its first two cells of code."""
    cells = [c for c in json.loads(file.read_text())["cells"] if c["cell_type"] == "code"]
    names: dict[str, Any] = {}
    for cell in cells[:2]:
        exec("".join(cell["source"]), names)
    function: Callable[..., tuple[float, float]] = names["alt_test"]
    return function


def alt_test_differences(folder: Path) -> tuple[int, float, float]:
    """How many metrics were tested, and the largest differences of winning rate and advantage."""
    theirs = notebook_function(folder / "alt_test_example.ipynb")
    n, rate, advantage = 0, 0.0, 0.0
    for name, epsilon in EPSILON.items():
        humans, models = (
            json.loads((folder / "data" / name / f"{who}_annotations.json").read_text())
            for who in ("human", "llm")
        )
        items = sorted({item for given in humans.values() for item in given})
        every = [*humans.values(), *models.values()]
        code = {v: k for k, v in enumerate(sorted({str(v) for a in every for v in a.values()}))}

        def column(given: dict[str, Any], items: list[str], numeric: bool, code: Any) -> Any:
            known = [given.get(item) for item in items]
            values = [v if v is None or numeric else code[str(v)] for v in known]
            return np.array([np.nan if v is None else float(v) for v in values])

        numeric = name in NUMERIC
        ratings = np.column_stack([column(h, items, numeric, code) for h in humans.values()])
        for given in models.values():
            with contextlib.redirect_stdout(io.StringIO()):
                reference = theirs(
                    given, humans, "neg_rmse" if numeric else "accuracy", epsilon=epsilon
                )
            ours = alt_test(
                column(given, items, numeric, code),
                ratings,
                closeness="rmse" if numeric else "accuracy",
                epsilon=epsilon,
            )
            n += 1
            rate = max(rate, abs(ours.winning_rate - reference[0]))
            advantage = max(advantage, abs(ours.advantage - reference[1]))
    return n, rate, advantage


def soft_pairwise_difference(folder: Path, items: tuple[int, int], ratings: bool) -> float:
    """The largest difference of SPA over drawn tables of 3 to 9 systems.

    `items` are the least and the most; `ratings`: people's are means of three from 1 to 5, whose
    sums are often equal, and the public code's sums are float32: rounding decides such ties.
    """
    spec = importlib.util.spec_from_file_location("pce", folder / "mt_metrics_eval" / "pce.py")
    assert spec is not None
    assert spec.loader is not None
    pce = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pce)
    most = 0.0
    for seed in range(TABLES):
        rng = np.random.default_rng(seed)
        shape = int(rng.integers(3, 10)), int(rng.integers(*items))
        human = rng.normal(0, 0.3, (shape[0], 1)) + rng.normal(size=shape)
        metric = human + rng.normal(size=human.shape)
        if ratings:
            three = human[..., None] + rng.normal(0, 0.5, (*shape, 3))
            human = np.clip(np.rint(3 + three), 1, 5).mean(axis=-1)
        reference = pce.compute_one_minus_pce(*map(pce.compute_pairwise_p_values, (human, metric)))
        most = max(most, abs(reference - soft_pairwise_accuracy(human, metric).value))
    return most


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("alt_test", type=Path, help="a clone of nitaytech/AltTest")
    parser.add_argument("mt_metrics_eval", type=Path, help="one of google-research/mt-metrics-eval")
    options = parser.parse_args()
    n, rate, advantage = alt_test_differences(options.alt_test)
    print(
        f"alt-test, {n} metrics of {len(EPSILON)} data sets: winning rates differ by at most "
        f"{rate:g}, advantages by {advantage:g}"
    )
    for items in ((5, 20), (20, 300)):
        for ratings in (False, True):
            most = soft_pairwise_difference(options.mt_metrics_eval, items, ratings)
            kind = "means of three ratings" if ratings else "real values"
            print(
                f"SPA, {TABLES} drawn tables of {items[0]} to {items[1] - 1} items, {kind}: "
                f"values differ by at most {most:.1g}"
            )


if __name__ == "__main__":
    main()
