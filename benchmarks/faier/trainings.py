"""Trainings of FAIEr compared: by parser, and over seeds of training and corruption together.

    python -m benchmarks.faier.trainings [TRAINING …] [--runs RUN …]

TRAINING are folders of `experiment=train_faier … +dataset@task.test=coco_val2017`. Per parser and
number of references: mean ± standard deviation over the trainings of what their cards contain, and
the p-values of Welch's t-test between two parsers. RUN are folders of `experiment=replace` or
`shuffle`, one for each training (`metric.faier.weights=TRAINING corruption.seeds=5`): mean ±
standard deviation over all trainings × seeds, and the parts between trainings and between seeds.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import ttest_ind

from metaeval.results.files import read_result
from metaeval.results.graded import rows_of
from metaeval.results.measured import SETS
from metaeval.results.metric import Spread
from metaeval.runs import files
from metaeval.text.scene_graphs.parse import parser_of
from metaeval.weights.cards import read_card

MEASURES = tuple((e, rho) for e in ("replace", "shuffle") for rho in ("rho", "rho_within"))


class SeedSpread(NamedTuple):
    """Mean and standard deviation over trainings × seeds; those between trainings and seeds."""

    mean: float
    sd: float
    between_trainings: float
    between_seeds: float


def spread_of(trainings: Sequence[Spread], seeds: int) -> SeedSpread:
    """The spread of several trainings, each with mean and sd over as many corruption seeds."""
    means = np.array([each.mean for each in trainings])
    within = np.array([each.sd for each in trainings]) ** 2
    squares = (seeds - 1) * within.sum() + seeds * ((means - means.mean()) ** 2).sum()
    sd = np.sqrt(squares / (seeds * len(trainings) - 1))
    return SeedSpread(
        float(means.mean()), float(sd), float(means.std(ddof=1)), float(np.sqrt(within.mean()))
    )


def by_parser(folders: Sequence[Path]) -> None:
    """Print the cards' values by parser, and compare two parsers."""
    values = defaultdict(list)
    for card in map(read_card, folders):
        for k, measured in card["test"]["by_references"].items():
            row = [measured[experiment][rho] for experiment, rho in MEASURES]
            values[k, parser_of(card["parser"])].append(row)
    for (k, parser), rows in values.items():
        table = np.array(rows)
        pairs = zip(table.mean(axis=0), table.std(axis=0, ddof=1), strict=True)
        print(f"{k} references, {parser}:", *(f"{mean:.3f} ± {sd:.3f}" for mean, sd in pairs))
    parsers = sorted({parser for _, parser in values})
    if len(parsers) == 2:
        for k in dict.fromkeys(k for k, _ in values):
            test = ttest_ind(*(np.array(values[k, p]) for p in parsers), equal_var=False)
            print(f"{k} references, p of a difference:", *(f"{p:.3f}" for p in test.pvalue))


def over_seeds(folders: Sequence[Path]) -> None:
    """Print the spread of each headline column over the trainings of the runs."""
    found = defaultdict(list)
    for folder in folders:
        result = read_result(folder / files.STATISTICS)
        if result.experiment not in ("replace", "shuffle"):
            raise SystemExit(f"{folder}: not a run of experiment=replace or shuffle")
        version = result.extra(SETS).records[1]["set"]
        seeds_of = rows_of(result, "seeds")
        for metric in result.metrics:
            if metric.column.part_of is None and metric.name in seeds_of:
                found[version, metric.name].append(seeds_of[metric.name])
    for (version, name), seeds in found.items():
        for measure in ("rank_order_rho", "rank_order_rho_within"):
            trainings = [
                Spread(mean=each[f"{measure}_mean"], sd=each[f"{measure}_sd"]) for each in seeds
            ]
            spread = spread_of(trainings, seeds[0]["n"])
            print(
                f"{version}, {name}, {measure}: {spread.mean:.3f} ± {spread.sd:.3f}",
                f"between trainings {spread.between_trainings:.3f}",
                f"between seeds {spread.between_seeds:.3f}",
                sep=", ",
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("trainings", nargs="*", type=Path)
    parser.add_argument("--runs", nargs="*", type=Path, default=[])
    options = parser.parse_args()
    by_parser(options.trainings)
    over_seeds(options.runs)


if __name__ == "__main__":
    main()
