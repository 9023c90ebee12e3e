"""How metrics agree on captioners' captions, with each other and on people's captions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from omegaconf import DictConfig

from metaeval.experiments.captioners.systems import ScoredSystems, best_first
from metaeval.experiments.graded.statistics import image_by_set
from metaeval.results.base import Estimate
from metaeval.results.graded import record_cells
from metaeval.results.measured import Extra
from metaeval.results.notes import fill_sentences
from metaeval.results.sentences import join_names
from metaeval.runs.records import CAPTION, IMAGE_ID, SET, ScoreColumn
from metaeval.scoring import MetricScores, SystemScores
from metaeval.stats.correlation.correlations import spearman
from metaeval.stats.correlation.kendall import answers, disagreement, kendall_matrix
from metaeval.stats.ordering.graded import graded_statistics
from metaeval.stats.resampling.bootstrap import Counts
from metaeval.stats.resampling.items import Floats, mean_of_known

Row = dict[str, Any]


class SentenceScores(NamedTuple):
    """A column of sentence scores, float64 [systems, images], and the metric that it is of."""

    column: ScoreColumn
    values: Floats
    family: str

    @property
    def upward(self) -> Floats:
        """The values, more being better."""
        return _upward(self.column, self.values)


AGREEMENT = "Agreement of metrics on {}: Kendall's τ-b"
LEVELS = {
    "within-image": "captions of one image",
    "systems": "the order of systems",
    "captions": "the order of all captions",
}


def agreement_matrices(
    systems: Sequence[ScoredSystems],
    sentences: Sequence[SentenceScores],
    counts: Counts,
    confidence: float,
) -> list[Extra]:
    """Kendall's τ-b between all metrics (parts left out) in three ways: docs/captioners.md.

    `counts` [replicates, images] drew the replicates of the systems' scores. None without a score.
    """
    systems = [score for score in systems if score.column.part_of is None]
    sentences = [score for score in sentences if score.column.part_of is None]
    if not sentences:
        return []
    points = answers(np.array([_upward(s.column, s.points[:, None]) for s in systems])).tau()
    drawn = answers(np.array([_upward(s.column, s.drawn) for s in systems])).tau_of_each()
    within = answers(np.array([score.upward for score in sentences]))
    n_images = counts.shape[1]

    def matrix(level: str, names: Sequence[str], tau: Floats, replicates: Floats | None) -> Extra:
        records = []
        for i, name in enumerate(names):
            record: Row = {"metric": name}
            for j, other in enumerate(names):
                drawn = [] if replicates is None else replicates[i, j]
                record[other] = Estimate.resampled(tau[i, j], drawn, confidence, n_images)
            records.append(record)
        title, folded = AGREEMENT.format(LEVELS[level]), level != "within-image"
        return Extra.of(f"agreement-{level}", title, records, kind="matrix", folded=folded)

    whole, names = [s.column.name for s in systems], [s.column.name for s in sentences]
    every = kendall_matrix([score.upward for score in sentences])
    return [
        matrix("within-image", names, within.tau(), within.tau_resampled(counts)),
        matrix("systems", whole, points, drawn),
        matrix("captions", names, every, None),
    ]


def mean_with_others(matrix: Extra, metric: str) -> float | None:
    """The mean τ-b of a metric with the other ones; `None` where none is defined."""
    row = {record["metric"]: record for record in matrix.records}.get(metric, {})
    others = [row.get(record["metric"]) for record in matrix.records if record["metric"] != metric]
    known = [tau for tau in others if tau is not None]
    return sum(known) / len(known) if known else None


def metric_disagreements(
    sentences: Sequence[SentenceScores], images: pd.Index[Any]
) -> tuple[list[str], pd.DataFrame]:
    """Which columns vote, and the metrics' disagreement on every image.

    Each metric has one vote: its first headline column.
    """
    votes: dict[str, SentenceScores] = {}
    for score in sentences:
        if score.column.part_of is None and score.column.headline:
            votes.setdefault(score.family, score)
    values = np.full(len(images), np.nan)
    if votes:
        values = disagreement(np.array([score.upward for score in votes.values()]))
    names = [score.column.name for score in votes.values()]
    return names, pd.DataFrame({"image_id": images, "disagreement": values})


OF_RHO = ("rank_order_rho", "rank_order_rho_tie_mean", "rank_order_rho_tie_std")
OF_PAIRS = (
    *("rank_order_rho_within", "spearman_rho", "kendall_tau_b", "tie_fraction"),
    *("pairwise_accuracy", "pairwise_ties"),
)


def against_human(
    family: SystemScores,
    captions: pd.DataFrame,
    images: pd.Index[int | str],
    sets: list[str],
    counts: Counts,
    stats: DictConfig,
) -> Iterator[Row]:
    """Each system (level 0) against Human (level 1, the last set) by each column, on the images
    that both have: the two-level protocol of González-Chávez et al., section 4.2."""
    if family.scored.scores is None:
        return
    scores = image_by_set(captions, family.scored.scores, images, sets)
    for c, column in enumerate(family.scored.columns):
        for s, name in enumerate(sets[:-1]):
            pair = scores[:, [s, -1], c]
            pair = np.where(np.isnan(pair).any(axis=1, keepdims=True), np.nan, pair)
            record = graded_statistics(
                pair,
                [0, 1],
                [name, sets[-1]],
                higher_is_better=column.higher_is_better,
                counts=counts,
                confidence=stats.confidence,
                tie_seeds=stats.tie_seeds,
                seed=stats.seed,
            )
            system, human = record.sets.values()
            least, greatest = record.rank_order_rho_bounds
            image, level, rest, _ = record.variance
            yield {
                "metric": column.name,
                "part_of": column.part_of,
                "system": name,
                "n": int((~np.isnan(pair[:, 0])).sum()),
                "mean": system.mean,
                "human_mean": human.mean,
                **record_cells(record, OF_RHO),
                "rank_order_rho_least": least,
                "rank_order_rho_greatest": greatest,
                **record_cells(record, OF_PAIRS),
                "auc": Estimate.of(record.adjacent_auc[0].auc),
                "inversion_rate": Estimate.of(record.inversion_rate),
                "variance_image": image,
                "variance_level": level,
                "variance_rest": rest,
            }


def human_matrix(rows: Sequence[Mapping[str, Any]]) -> Extra:
    """Rank-order ρ against Human, a row a metric and a column a system; parts left out."""
    records: dict[str, Row] = {}
    for row in rows:
        if row["part_of"] is None:
            record = records.setdefault(row["metric"], {"metric": row["metric"]})
            record[row["system"]] = row["rank_order_rho"]
    title = "Rank-order ρ against Human: above 0, people are ranked higher"
    return Extra.of("human", title, records.values(), kind="matrix")


def _upward(column: ScoreColumn, values: Floats) -> Floats:
    return values if column.higher_is_better else -values


EDGES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0)
FEWEST = 20  # captions of a system in a bin
BY_LENGTH = (
    "Mean scores by the length of captions, as a share of the references' length "
    f"(bins with fewer than {FEWEST} captions have none)"
)
CAVEATS = (
    "Every length bin has fewer than {few} captions of a system: scores cannot be separated from "
    "length.",
    "In no length bin of the other systems: {apart}; scores cannot be separated from length there.",
    "With length held fixed, the order of systems changes by {changed}.",
)


def caption_lengths(
    machines: pd.DataFrame, references: Mapping[object, Sequence[str]]
) -> pd.DataFrame:
    """The length of each caption of `machines`.

    `words`, and their `ratio` to the mean words of the image's references, NaN without any; whether
    it is `longer` than every reference; the bin (`place`) of the ratio, -1 without one.
    """
    lengths = {image: [len(r.split()) for r in of] or [0] for image, of in references.items()}
    words = np.array([len(caption.split()) for caption in machines[CAPTION]], dtype=np.float64)
    mean = np.array([float(np.mean(lengths[image])) for image in machines[IMAGE_ID]])
    longest = np.array([float(max(lengths[image])) for image in machines[IMAGE_ID]])
    ratio = words / np.where(mean > 0, mean, np.nan)
    return pd.DataFrame(
        {
            "words": words,
            "ratio": ratio,
            "longer": np.where(longest > 0, words > longest, np.nan),
            "place": np.where(np.isnan(ratio), -1, np.searchsorted(EDGES, ratio, side="right")),
        }
    )


class LengthAnalysis(NamedTuple):
    """Scores of systems by the length of their captions.

    Attributes
    ----------
    systems
        System → the mean words of its captions, their mean ratio to the mean words of the image's
        references, the share longer than every reference, and whether the captions are in length
        bins that the other systems' captions are in, too (`comparable`).
    by_bin
        The number of captions (`metric` "captions") and the mean scores of each metric and system
        in bins of the ratio, without one where there are fewer than `FEWEST`; `length_controlled`,
        the mean over the bins that all comparable systems share, each bin with the same weight;
        and `trend`, Spearman's ρ of length and score within the system's captions.
    changed
        The metrics by which the order of the comparable systems changes with length held fixed.
    caveat
        What cannot be separated from length; empty where everything can.
    """

    systems: Mapping[str, Row]
    by_bin: Extra
    changed: tuple[str, ...]
    caveat: str


def length_analysis(
    machines: pd.DataFrame,
    references: Mapping[Any, Sequence[str]],
    scored: Sequence[MetricScores],
    systems: Sequence[str],
    headlines: Collection[str],
) -> LengthAnalysis:
    """The scores of all metrics by length bins.

    Parameters
    ----------
    machines
        One row per caption: `image_id`, `set` (the system) and `caption`.
    references
        Image → its references. A caption of an image without references has no ratio.
    scored
        The metrics over the captions of `machines`, in the order of its rows.
    headlines
        The columns whose order of systems `changed` looks at.
    """
    lengths = caption_lengths(machines, references)
    place = lengths["place"].to_numpy()
    rows = {name: np.flatnonzero(machines[SET].to_numpy() == name) for name in systems}
    counts = {
        name: np.bincount(place[r][place[r] >= 0], minlength=len(EDGES) + 1)
        for name, r in rows.items()
    }
    means = {
        name: {of: mean_of_known(lengths[of].to_numpy()[r]) for of in ("words", "ratio", "longer")}
        for name, r in rows.items()
    }
    ratios = {name: of["ratio"] for name, of in means.items()}
    comparable, shared = comparable_systems(counts, ratios)
    used = [k for k in range(len(EDGES) + 1) if any(counts[name][k] for name in systems)]
    records: list[Row] = [
        {"metric": "captions", "system": name, **{bin_name(k): int(counts[name][k]) for k in used}}
        for name in systems
    ]
    bins_of = {name: shared if name in comparable else [] for name in systems}
    changed = []
    for of in scored:
        for c, column in enumerate(of.columns):
            if of.scores is None or column.part_of is not None or column.control:
                continue
            made = _by_bin(of.scores[:, c], lengths, rows, bins_of)
            for name, (row, in_bins) in made.items():
                bins = {bin_name(k): in_bins[k] for k in used}
                records.append({"metric": column.name, "system": name, **bins, **row})
            fixed = np.array([row["length_controlled"] for row, _ in made.values()])
            plain = np.array([mean_of_known(of.scores[r, c]) for r in rows.values()])
            plain[np.isnan(fixed)] = np.nan
            orders = [best_first(values, column.higher_is_better) for values in (fixed, plain)]
            if column.name in headlines and orders[0] != orders[1]:
                changed.append(column.name)
    return LengthAnalysis(
        systems={name: {**of, "comparable": name in comparable} for name, of in means.items()},
        by_bin=Extra.of("length", BY_LENGTH, records, folded=True),
        changed=tuple(changed),
        caveat=_caveat(counts, ratios, comparable, changed),
    )


def _by_bin(
    scores: Floats,
    lengths: pd.DataFrame,
    rows: Mapping[str, npt.NDArray[np.intp]],
    shared: Mapping[str, Sequence[int]],
) -> dict[str, tuple[Row, list[float]]]:
    """System → its numbers over the `shared` bins and the trend, and the mean score of each bin."""
    made, place, ratio = {}, lengths["place"].to_numpy(), lengths["ratio"].to_numpy()
    for name, r in rows.items():
        in_bins = [mean_of_known(scores[r][place[r] == k], FEWEST) for k in range(len(EDGES) + 1)]
        fixed = [in_bins[k] for k in shared[name]]
        row: Row = {
            "length_controlled": float(np.mean(fixed)) if fixed else float("nan"),
            "trend": _spearman(ratio[r], scores[r]),
        }
        made[name] = row, in_bins
    return made


def bin_name(place: int) -> str:
    """A bin, as a share of the references' length.

    >>> bin_name(0), bin_name(3)
    ('below 0.5 ×', '1 to 1.25 ×')
    """
    if place == 0:
        return f"below {EDGES[0]:g} ×"
    if place == len(EDGES):
        return f"{EDGES[-1]:g} × and more"
    return f"{EDGES[place - 1]:g} to {EDGES[place]:g} ×"


def comparable_systems(
    counts: Mapping[str, npt.NDArray[np.intp]], ratios: Mapping[str, float]
) -> tuple[list[str], list[int]]:
    """The systems whose captions are in common length bins, and these bins.

    A bin is shared where each of the systems has `FEWEST` captions. Without such a bin, the
    system whose length is farthest from the references' is left out.
    """
    left = [name for name in counts if counts[name].sum()]
    while len(left) > 1:
        shared = np.flatnonzero(np.min([counts[name] for name in left], axis=0) >= FEWEST)
        if len(shared):
            return left, shared.tolist()
        left.remove(max(left, key=lambda name: abs(np.log(max(ratios[name], 1e-9)))))
    return left, []


def _caveat(
    counts: Mapping[str, npt.NDArray[np.intp]],
    ratios: Mapping[str, float],
    comparable: Sequence[str],
    changed: Sequence[str],
) -> str:
    """What a reader should not take for a difference of systems; empty where there is nothing."""
    few = len(counts) > 1 and all(max(n, default=0) < FEWEST for n in counts.values())
    apart = [name for name in counts if name not in comparable and not np.isnan(ratios[name])]
    caveats = fill_sentences(
        CAVEATS,
        few=FEWEST if few else None,
        apart=join_names(
            [f"{name} ({ratios[name]:.1f} times the references' length)" for name in apart]
        ),
        changed=join_names(changed),
    )
    return next(caveats, "")


def _spearman(x: Floats, y: Floats) -> float:
    """Spearman's ρ; NaN of fewer than three pairs."""
    made = spearman(x, y)
    return made.rho if made.n > 2 else float("nan")
