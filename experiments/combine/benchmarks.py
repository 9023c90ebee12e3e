"""Choices between two captions of one image, and by how much each column prefers the better one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from metaeval.experiments import ConfigError, Floats, MeasuredResult
from metaeval.experiments.measure import Units
from metaeval.metrics.combined.weighted import Combination, image_name
from metaeval.results.files import read_finished
from metaeval.runs import files
from metaeval.runs.records import APPLIED, EXPECTED, HUMAN, IMAGE_ID, SET

MOST_PAIRS = 50  # of one image, drawn by seed


class Benchmark(NamedTuple):
    """The choices of a finished run.

    Attributes
    ----------
    name
        The folder's name.
    columns
        Column → float64 [pairs]: its score of the better caption less that of the other one, the
        sign changed where lower is better; NaN without a score.
    image
        [pairs] The number of each pair's image.
    images
        The images' names, by number: COCO's id without zeros and endings.
    result
        Of the run.
    """

    name: str
    columns: Mapping[str, Floats]
    image: Units
    images: Sequence[str]
    result: MeasuredResult

    def table(self, names: Sequence[str]) -> Floats:
        """[pairs, names] of these columns."""
        return np.stack([self.columns[name] for name in names], axis=1)

    @property
    def n_images(self) -> int:
        """How many images the numbers are of."""
        return len(self.images)

    def weighted(self, combination: Combination) -> Floats:
        """[choices] By how much a combination prefers the better caption. Raises ConfigError where
        the run lacks a part."""
        total = np.zeros(len(self.image))
        for part in combination.parts:
            family, _, column = part.of.partition("/")
            names = [m.name for m in self.result.metrics if m.family == family and m.ok]
            heads = [m.name for m in self.result.metrics if m.name in names and m.column.headline]
            name = column or next(iter(heads), "")
            if name not in names:
                raise ConfigError(f"task.given: {self.name} has no scores of '{part.of}'")
            total += part.weight / part.scale * self.columns[name]
        return total

    def of(self, choices: npt.NDArray[Any]) -> Benchmark:
        """Some of the choices, by mask or number."""
        columns = {name: column[choices] for name, column in self.columns.items()}
        return self._replace(columns=columns, image=self.image[choices])

    def without(self, images: frozenset[str]) -> Benchmark:
        """The choices about other images."""
        return self.of(np.array([name not in images for name in self.images])[self.image])


def read_benchmark(folder: Path, seed: int) -> Benchmark:
    """The choices of a run. Raises ConfigError for a run of another kind, InputError without one.

    Of rated captions all pairs of one image with different mean ratings are choices; of choices by
    several people the caption with more votes is the better one; of changed captions the human one
    is better than each of those that harm, of at most 50 an image.
    """
    result, _ = read_finished(folder)
    if result.experiment not in READERS:
        known = ", ".join(READERS)
        raise ConfigError(f"task.runs: {folder} is a run of {result.experiment}, not of {known}")
    better, worse, image = READERS[result.experiment](folder, seed)
    signs = {m.name: 1.0 if m.column.higher_is_better else -1.0 for m in result.metrics if m.ok}
    columns = {
        name: sign * (better[name].to_numpy(float) - worse[name].to_numpy(float))
        for name, sign in signs.items()
        if name in better
    }
    codes, names = pd.factorize(image.map(image_name))
    return Benchmark(folder.resolve().name, columns, codes, list(names), result)


Sides = tuple[pd.DataFrame, pd.DataFrame, "pd.Series[str]"]


def _rated(folder: Path, seed: int) -> Sides:
    captions = files.read_columns(folder / files.JUDGMENTS, ["image_id", "caption"])
    scores = files.read_columns(folder / files.SCORES, ["caption", "metric", "score"])
    wide = scores.pivot(index="caption", columns="metric", values="score")
    rating = next(name for name in captions.columns if str(name).startswith("human_"))
    if "human_total" in captions:
        rating = "human_total"
    captions["mean"] = [float(np.mean(each)) for each in captions[rating]]
    rng = np.random.default_rng(seed)
    better: list[object] = []
    worse: list[object] = []
    image: list[object] = []
    for name, of_image in captions.groupby("image_id", sort=False):
        first, second = np.triu_indices(len(of_image), 1)
        means, ids = of_image["mean"].to_numpy(), of_image["caption"].to_numpy()
        gap = means[first] - means[second]
        known = np.flatnonzero(np.abs(gap) > 1e-9)
        if len(known) > MOST_PAIRS:
            known = np.sort(rng.choice(known, MOST_PAIRS, replace=False))
        up = gap[known] > 0
        better += list(ids[np.where(up, first[known], second[known])])
        worse += list(ids[np.where(up, second[known], first[known])])
        image += [name] * len(known)
    return wide.loc[better], wide.loc[worse], pd.Series(image)


def _chosen(folder: Path, seed: int) -> Sides:
    pairs = files.read_columns(
        folder / files.JUDGMENTS, ["image_id", "votes_first", "votes_second"]
    )
    scores = files.read_columns(
        folder / files.SCORES, ["candidate", "n_references", "metric", "score"]
    )
    scores = scores[scores["n_references"] == scores["n_references"].max()]
    wide = scores.groupby(["candidate", "metric"])["score"].mean().unstack()  # over draws
    first = pairs["votes_first"].to_numpy(float) - pairs["votes_second"].to_numpy(float)
    decided = np.flatnonzero(first != 0)
    of_first, of_second = decided, decided + len(pairs)  # first captions come before second ones
    up = first[decided] > 0
    return (
        wide.loc[np.where(up, of_first, of_second)],
        wide.loc[np.where(up, of_second, of_first)],
        pairs["image_id"].iloc[decided],
    )


def _true(folder: Path, seed: int) -> Sides:
    pairs = files.read_columns(folder / files.PAIRS, ["pair", "image_id"])
    scores = files.read_columns(folder / files.SCORES, ["pair", "metric", "true", "false"])
    better, worse = (
        scores.pivot(index="pair", columns="metric", values=side).loc[pairs["pair"]]
        for side in ("true", "false")
    )
    return better, worse, pairs["image_id"]


def _changed(folder: Path, seed: int) -> Sides:
    captions = files.read_columns(folder / files.CAPTIONS, [IMAGE_ID, SET, APPLIED, EXPECTED])
    scores = files.read_columns(folder / files.SCORES, [IMAGE_ID, SET, "metric", "score"])
    wide = scores.pivot(index=[IMAGE_ID, SET], columns="metric", values="score")
    harmed = captions[captions[APPLIED] & (captions[EXPECTED] == "lower")]
    harmed = harmed.sample(frac=1, random_state=seed).groupby(IMAGE_ID).head(MOST_PAIRS)
    image = harmed[IMAGE_ID].sort_index()
    harmed = harmed.loc[image.index]
    better = wide.loc[[(each, HUMAN) for each in image]]
    return better, wide.loc[[*zip(image, harmed[SET], strict=True)]], image


READERS = {
    "judgments": _rated,
    "forced_choice": _chosen,
    "pairs": _true,
    "sensitivity": _changed,
}
