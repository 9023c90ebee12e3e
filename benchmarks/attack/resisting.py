"""Does a metric that learned from corruptions resist an attack? What does a pair of metrics cost?

    python -m benchmarks.attack.resisting TRAIN PAIRS ATTACK JUDGMENTS [JUDGMENTS …]

The arguments are folders of finished runs: `experiment=sensitivity` on COCO (the ridge learns from
it), `experiment=pairs` (SugarCrepe), `experiment=attack` on scenes, and `experiment=judgments`; all
with `metrics=[bleu,rouge_l,meteor,cider,spice] metric.spice.parser=perceptron`, or more. Prints
tables in Markdown.

The ridge is a weighted sum of the columns. It learns to score each human caption above its
corrupted versions, of all kinds except objects, attributes, relations and order, which SugarCrepe
tests. The strength of the penalty is chosen on the half of the images that the weights were not
fitted to. Images that it learned from are left out of SugarCrepe.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import kendalltau, rankdata

from metaeval.config import build_all, compose_config
from metaeval.data.scenes import load_scenes
from metaeval.experiments.attack.searches import attack_control, gather_material
from metaeval.experiments.attack.statistics import share
from metaeval.results.attack import AttackResult
from metaeval.results.files import read_result
from metaeval.results.sensitivity import SensitivityResult
from metaeval.runs.store import MemoryStore
from metaeval.scoring import bind
from metaeval.search.beam import SearchLimits
from metaeval.search.fluency import Fluency

Floats = npt.NDArray[np.float64]
COLUMNS = ("BLEU-1", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr", "SPICE (rules)")
HELD_OUT = ("objects", "attributes", "relations", "order", "harmless")
PENALTIES = tuple(10.0**k for k in range(-2, 5))
SCENES, REPLICATES = 100, 200


def fit(differences: Floats, images: npt.NDArray[np.intp]) -> tuple[Floats, float]:
    """The ridge's weights [columns] of differences [n, columns] (human minus corrupted), and its
    penalty."""
    half = images % 2 == 0

    def solve(rows: Floats, penalty: float) -> Floats:
        gram = rows.T @ rows / len(rows) + penalty / len(rows) * np.eye(rows.shape[1])
        weights: Floats = np.linalg.solve(gram, rows.mean(axis=0))
        return weights

    right = [np.mean(differences[~half] @ solve(differences[half], p) > 0) for p in PENALTIES]
    penalty = PENALTIES[int(np.argmax(right))]
    return solve(differences, penalty), penalty


def training_differences(folder: Path) -> tuple[Floats, npt.NDArray[np.intp], set[str]]:
    """[n, columns] Human minus corrupted scores, the index of each image, and the images' ids."""
    result = read_result(folder / "statistics.json")
    assert isinstance(result, SensitivityResult)
    kinds = {entry.set: entry.kind for entry in result.sets if entry.expected == "lower"}
    scores = pd.read_parquet(folder / "scores.parquet")
    wide = scores.pivot_table(index=["image_id", "set"], columns="metric", values="score")
    wide = wide[list(COLUMNS)]
    human = wide.xs("Human", level="set")
    captions = pd.read_parquet(folder / "captions.parquet", columns=["image_id", "set", "applied"])
    kept = {
        (i, s)
        for i, s, applied in captions.itertuples(index=False)
        if applied and kinds.get(s) not in (None, *HELD_OUT)
    }
    rows = wide[[pair in kept for pair in wide.index]]
    ids = rows.index.get_level_values("image_id")
    differences = human.loc[ids].to_numpy() - rows.to_numpy()
    known = ~np.isnan(differences).any(axis=1)
    places = pd.Index(human.index).get_indexer(ids)
    return differences[known], places[known], {str(i) for i in human.index}


def columns_of(folder: Path, row: str, value: str = "score") -> Floats:
    """[n, columns] The scores of a run's captions or pairs."""
    scores = pd.read_parquet(folder / "scores.parquet")
    wide = scores.pivot_table(index=row, columns="metric", values=value, dropna=False)
    table: Floats = wide[list(COLUMNS)].to_numpy(dtype=np.float64)
    return table


class JudgedTable:
    """The rated captions of a run: the mean rating, the image and the scores of each."""

    def __init__(self, folder: Path) -> None:
        table = pd.read_parquet(folder / "judgments.parquet")
        name = next(
            c
            for c in ("human_total", "human_rating", *table)
            if c in table and c.startswith("human_")
        )
        scores = columns_of(folder, "caption")
        ratings = [np.asarray(r, dtype=np.float64) for r in table[name]]
        known = np.array([len(r) > 0 for r in ratings]) & ~np.isnan(scores).any(axis=1)
        self.name = read_result(folder / "statistics.json").dataset
        self.ratings = [r for r, k in zip(ratings, known, strict=True) if k]
        self.images = pd.factorize(table["image_id"])[0][known]
        self.scores = scores[known]

    def tau(self, values: Floats, rows: npt.NDArray[np.intp] | None = None) -> float:
        """Kendall's τ-c of values [n] with all single ratings, of all captions or some."""
        rows = np.arange(len(values)) if rows is None else rows
        ratings = [self.ratings[k] for k in rows]
        return float(
            kendalltau(
                np.concatenate(ratings),
                np.repeat(values[rows], [len(r) for r in ratings]),
                variant="c",
            ).statistic
        )

    def difference(self, a: Floats, b: Floats) -> tuple[float, float]:
        """The 95 % interval of the difference of two τ-c, resampled by image."""
        rng, groups = np.random.default_rng(0), pd.Series(range(len(a))).groupby(self.images)
        rows = [np.array(group) for _, group in groups]
        drawn = []
        for _ in range(REPLICATES):
            picked = rng.integers(len(rows), size=len(rows))
            some = np.concatenate([rows[k] for k in picked])
            drawn.append(self.tau(a, some) - self.tau(b, some))
        low, high = np.quantile(drawn, [0.025, 0.975])
        return float(low), float(high)


def lower_rank(a: Floats, b: Floats) -> Floats:
    """[n] The lower of the ranks by two metrics."""
    return np.minimum(rankdata(a), rankdata(b))


def agreement_rows(judged: Sequence[JudgedTable], weights: Floats) -> list[list[str]]:
    """Per benchmark: the best column, the ridge, and the interval of their difference."""
    rows = []
    for benchmark in judged:
        taus = [benchmark.tau(benchmark.scores[:, k]) for k in range(len(COLUMNS))]
        best = int(np.argmax(taus))
        ridge = benchmark.scores @ weights
        low, high = benchmark.difference(ridge, benchmark.scores[:, best])
        rows.append(
            [
                benchmark.name,
                f"{COLUMNS[best]} {100 * taus[best]:.1f}",
                f"{100 * benchmark.tau(ridge):.1f}",
                f"[{100 * low:.1f}, {100 * high:.1f}]",
            ]
        )
    return rows


def pair_rows(folder: Path, weights: Floats, seen: set[str]) -> list[list[str]]:
    """Per kind of SugarCrepe: accuracy of the best column and of the ridge (ties count half), and
    the interval of their difference."""
    table = pd.read_parquet(folder / "pairs.parquet").set_index("pair")
    true, false = (columns_of(folder, "pair", side) for side in ("true", "false"))
    new = np.array([str(i).removesuffix(".jpg").lstrip("0") not in seen for i in table["image_id"]])
    gaps = np.column_stack([true - false, (true - false) @ weights])
    rows = []
    for kind in table["kind"].unique():
        here = new & (table["kind"] == kind).to_numpy() & ~np.isnan(gaps).any(axis=1)
        right = (gaps[here] > 0) + 0.5 * (gaps[here] == 0)
        means = right.mean(axis=0)
        best = int(np.argmax(means[:-1]))
        images = pd.factorize(table["image_id"])[0][here]
        gain = right[:, -1] - right[:, best]
        rows.append(
            [
                kind,
                str(here.sum()),
                f"{COLUMNS[best]} {100 * means[best]:.1f}",
                f"{100 * means[-1]:.1f}",
                resampled(gain, images),
            ]
        )
    return rows


def resampled(differences: Floats, images: npt.NDArray[np.intp]) -> str:
    """The 95 % interval of a mean difference in per cent, resampled by image."""
    rng = np.random.default_rng(0)
    place = np.unique(images, return_inverse=True)[1]
    total, n = np.bincount(place, differences), np.bincount(place)
    drawn = rng.integers(len(n), size=(1000, len(n)))
    low, high = np.quantile(total[drawn].sum(axis=1) / n[drawn].sum(axis=1), [0.025, 0.975])
    return f"[{100 * low:.1f}, {100 * high:.1f}]"


def attack_rows(weights: Floats) -> list[list[str]]:
    """Success of the search (100 calls, 3 words, fluent) against each column and the ridge, and
    the interval of the ridge's minus the column's on the same scenes."""
    data, store = load_scenes(n=SCENES), MemoryStore()
    config = compose_config(["experiment=attack"])
    metrics = build_all(["bleu", "meteor", "rouge_l", "cider", "spice"], config).values()
    scorers = [bind(metric, data, store).scorer for metric in metrics]
    names = [c.name for scorer in scorers if scorer is not None for c in scorer.columns]
    places = [names.index(name) for name in COLUMNS]
    for scorer in scorers:
        assert scorer is not None
        scorer.prepare()
    memory: dict[tuple[str, int], Floats] = {}

    def all_columns(texts: Sequence[str], index: npt.NDArray[np.intp]) -> Floats:
        items = list(zip(texts, index.tolist(), strict=True))
        if todo := [item for item in dict.fromkeys(items) if item not in memory]:
            where = np.array([i for _, i in todo], dtype=np.intp)
            parts = [s.score([t for t, _ in todo], where) for s in scorers if s is not None]
            memory.update(zip(todo, np.hstack(parts)[:, places], strict=True))
        return np.array([memory[item] for item in items])

    material = gather_material(data, Fluency(data, store), 0)

    def weighted(chosen: Floats) -> Callable[[Sequence[str], npt.NDArray[np.intp]], Floats]:
        return lambda texts, index: all_columns(texts, index) @ chosen

    fooled = {
        name: np.array(
            attack_control(weighted(chosen), material, SearchLimits(100, 3), name), float
        )
        for name, chosen in [*zip(COLUMNS, np.eye(len(COLUMNS)), strict=True), ("ridge", weights)]
    }
    rows = []
    for name, flags in fooled.items():
        success = share(flags > 0)
        low, high = success.interval or (float("nan"), float("nan"))
        rows.append(
            [
                name,
                str(len(flags)),
                f"{100 * flags.mean():.1f} [{100 * low:.1f}, {100 * high:.1f}]",
                ""
                if name == "ridge"
                else resampled(fooled["ridge"] - flags, np.arange(len(flags))),
            ]
        )
    return rows


def price_rows(folder: Path, judged: Sequence[JudgedTable]) -> list[list[str]]:
    """Pairs by the attack's success, with τ-c of the lower rank and of the better one alone."""
    result = read_result(folder / "statistics.json")
    assert isinstance(result, AttackResult)
    success = {frozenset(d.metrics): d for d in result.defences}
    rows = []
    for a, b in combinations(range(len(COLUMNS)), 2):
        defence = success.get(frozenset({COLUMNS[a], COLUMNS[b]}))
        if defence is None:
            continue
        cells = []
        for benchmark in judged:
            one, other = benchmark.scores[:, a], benchmark.scores[:, b]
            alone = max(benchmark.tau(one), benchmark.tau(other))
            both = benchmark.tau(lower_rank(one, other))
            cells.append(f"{100 * both:.1f} ({100 * (both - alone):+.1f})")
        passed = defence.transferred.value or 0.0
        rows.append([" and ".join(defence.metrics), f"{100 * passed:.1f}", *cells])
    return sorted(rows, key=lambda row: float(row[1]))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("train", "pairs", "attack"):
        parser.add_argument(name, type=Path)
    parser.add_argument("judgments", type=Path, nargs="+")
    options: Mapping[str, object] = vars(parser.parse_args(arguments))
    train, pairs, attack = (Path(str(options[n])) for n in ("train", "pairs", "attack"))
    folders = options["judgments"]
    assert isinstance(folders, list)
    differences, images, seen = training_differences(train)
    spread = differences.std(axis=0)
    weights, penalty = fit(differences / spread, images)
    weights = weights / spread
    judged = [JudgedTable(folder) for folder in folders]
    print(
        f"{len(differences):,} pairs of {len(seen)} images; penalty {penalty:g}; weights times "
        "spread: "
        + ", ".join(
            f"{name} {value:.3f}" for name, value in zip(COLUMNS, weights * spread, strict=True)
        )
        + "\n"
    )
    print(
        table(["τ-c × 100", "Best column", "Ridge", "Difference"], agreement_rows(judged, weights))
    )
    print(
        table(
            ["SugarCrepe", "n", "Best column", "Ridge", "Difference"],
            pair_rows(pairs, weights, seen),
        )
    )
    names = [benchmark.name for benchmark in judged]
    print(table(["Pair", "Transferred", *names], price_rows(attack, judged)))
    print(table(["Fooled, %", "n", "Success", "Ridge minus column"], attack_rows(weights)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
