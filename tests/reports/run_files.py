"""Builds the directory of a finished run, for tests and for looking at the report.

Captions are real or written here, corruptions are a plain Replace, scores are what sacrebleu says,
statistics are scipy's: nothing is invented, and nothing of the code under test is involved.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import sacrebleu
from scipy import stats

from metaeval.results.files import write_info, write_result
from metaeval.results.graded import CaptionSet, StatisticsSettings
from metaeval.results.run import RunInfo
from metaeval.runs import files as results
from metaeval.runs.records import ScoreColumn
from tests.reports.graded_results import graded_metric, graded_result

Image = tuple[int | str, str, tuple[str, ...]]  # id, human caption, references
Scorer = Callable[[str, Sequence[str]], float]

IMAGES: tuple[Image, ...] = (
    (9, "A man in a red coat rides a brown horse along the beach.",
     ("A rider on horseback by the sea.", "A man rides a horse on wet sand.",
      "Someone in red is riding a horse near the water.", "A brown horse carries a man.")),
    (25, "Two dogs are running through the snow with a yellow ball.",
     ("Dogs play with a ball in snow.", "Two dogs run in the snow.",
      "A pair of dogs chases a yellow ball.", "Snow covers the ground where dogs run.")),
    (30, "A plate of pasta with tomatoes sits on a wooden table.",
     ("Pasta and tomatoes on a plate.", "A plate with food on a table.",
      "Some pasta on a white plate.", "A wooden table holds a plate of pasta.")),
    (34, "A woman is reading a newspaper on a bench in the park.",
     ("A woman reads on a park bench.", "Someone sits on a bench with a paper.",
      "A lady with a newspaper in a park.", "A bench in a park with a woman on it.")),
    (36, "A small blue boat is tied to a pier at sunset.",
     ("A boat at a pier in the evening.", "The sun sets behind a small boat.",
      "A blue boat next to a wooden pier.", "Boat on calm water at sunset.")),
    (42, "Children are flying a large kite over the green hill.",
     ("Kids fly a kite.", "A kite above a hill with children.",
      "Some children with a kite on the grass.", "A large kite in the sky.")),
    (49, "A black cat sleeps on top of an old television set.",
     ("A cat asleep on a TV.", "A cat lies on an old television.",
      "The black cat is resting on a television.", "An old TV with a cat on top.")),
    (61, "A train crosses a stone bridge above the river.",
     ("A train on a bridge.", "A bridge over a river with a train on it.",
      "A train passes over the water.", "The stone bridge carries a train.")),
)  # fmt: skip

HOSTILE: tuple[Image, ...] = (
    (70, "<script>window.pwned = 1</script> a man & a dog </script><!-- on the grass",
     ("<img src=x onerror='window.pwned=2'> a dog", "a \"quoted\" 'dog' `with` ${marks}",
      "]]> --> </style></textarea> a man", "a dog \\u003c and a man")),
    (71, "a line\u2028separator and a paragraph\u2029one by the sea",
     ("emoji 🐎 on the beach", "null-ish \u200b zero width", "naïve café", "a b")),
    (72, "שלום סוס על החוף \u202e reversed words here",
     ("سماء زرقاء فوق البحر", "mixed עברית and English", "a horse", "the sea")),
)  # fmt: skip

SETS = (("Random", 0), ("Replace 50%", 1), ("Replace 25%", 2), ("Human", 3))


def sacrebleu_score(candidate: str, references: Sequence[str]) -> float:
    return float(sacrebleu.sentence_bleu(candidate, list(references)).score) / 100


def chrf_score(candidate: str, references: Sequence[str]) -> float:
    return float(sacrebleu.sentence_chrf(candidate, list(references)).score) / 100


SCORERS: dict[str, Scorer] = {"SacreBLEU": sacrebleu_score, "chrF": chrf_score}


def corrupt(images: Sequence[Image], seed: int) -> pd.DataFrame:
    """Replace at two rates and Random, with edits, as the corruptions room writes them."""
    bag = sorted({w for _, human, _ in images for w in human.lower().split()})
    rows = []
    for level_name, level in SETS:
        for index, (image, human, _) in enumerate(images):
            rng = np.random.default_rng([seed, level, zlib.crc32(str(image).encode())])
            words = human.split()
            edits: list[dict[str, Any]] = []
            text, rate = human, None
            if level_name == "Random":
                text, rate = images[(index + 1) % len(images)][1], 1.0
            elif level_name != "Human":
                rate = 0.5 if "50" in level_name else 0.25
                for p in sorted(rng.choice(len(words), round(rate * len(words)), replace=False)):
                    after = bag[rng.integers(len(bag))]
                    edits.append({"position": int(p), "before": words[p], "after": after})
                    words[p] = after
                text = " ".join(words)
            applied = text != human
            rows.append(
                {
                    "image_id": image,
                    "set": level_name,
                    "level": level,
                    "caption": text,
                    "source_caption": human,
                    "applied": applied or level_name == "Human",
                    "expected": "none" if level_name == "Human" else "lower",
                    "requested_rate": rate,
                    "realised_rate": None if rate is None else rate if applied else 0.0,
                    "effect": None,
                    "harm": None,
                    "severity": None,
                    "edits": edits,
                }
            )
    return pd.DataFrame(rows)


def declared(name: str, **fields: Any) -> dict[str, Any]:
    """What a record says of its column; `fields` are those that are not the default."""
    column = asdict(ScoreColumn(name, **fields))
    return {"metric": column.pop("name"), "family": name.lower().split("-")[0], **column}


def worst_images(frame: pd.DataFrame, applied: pd.Series[bool]) -> list[int | str]:
    """The images, that with the worst inversion of a better and a worse version first."""
    rows = list(frame.assign(applied=applied.to_numpy()).itertuples())
    worst: dict[int | str, float] = dict.fromkeys(frame["image_id"], float("-inf"))
    by_image = {image: [r for r in rows if r.image_id == image and r.applied] for image in worst}
    for image, versions in by_image.items():
        gaps = [a.score - b.score for a in versions for b in versions if a.level < b.level]
        worst[image] = max((gap for gap in gaps if not np.isnan(gap)), default=float("-inf"))
    return sorted(worst, key=lambda image: -worst[image])[:200]


def statistics_of(frame: pd.DataFrame, seed: int = 0) -> dict[str, Any]:
    """The statistics of one column by scipy and by the definitions."""
    level, score = frame["level"].to_numpy(), frame["score"].to_numpy()
    rng = np.random.default_rng(seed)

    def rho(tie: np.ndarray[Any, Any], rows: Any = slice(None)) -> float:
        lv = level[rows]
        order = np.lexsort((tie[rows] if tie is not level else lv, score[rows]))
        return float(stats.spearmanr(np.sort(lv), lv[order])[0])

    ties = [rho(rng.random(len(score))) for _ in range(5)]
    images = frame["image_id"].astype(str).to_numpy()
    groups = [np.flatnonzero(images == i) for i in dict.fromkeys(images)]
    draws = [
        np.concatenate([groups[k] for k in rng.integers(len(groups), size=len(groups))])
        for _ in range(40)
    ]

    def ci(function: Callable[[Any], float]) -> list[float]:
        return [float(x) for x in np.nanquantile([function(d) for d in draws], [0.025, 0.975])]

    wide = frame.pivot(index="image_id", columns="level", values="score").to_numpy()
    k = wide.shape[1]

    def within(rows: Any) -> float:
        of_rows = [stats.spearmanr(range(k), row)[0] if np.ptp(row) else 0 for row in rows]
        return float(np.mean(known)) if (known := [r for r in of_rows if r == r]) else float("nan")

    pairs = np.array([wide[:, b] - wide[:, a] for a in range(k) for b in range(a + 1, k)])
    _, counts = np.unique(score, return_counts=True)
    auc = []
    names = dict(zip(frame["level"], frame["set"], strict=True))
    for a in range(k - 1):
        u = stats.mannwhitneyu(wide[:, a + 1], wide[:, a]).statistic / len(wide) ** 2
        auc.append({"lower": names[a], "upper": names[a + 1], "auc": float(u),
                    "ci": [float(u) - 0.01, min(1.0, float(u) + 0.01)]})  # fmt: skip
    accuracy, tied = float((pairs > 0).mean()), float((pairs == 0).mean())
    monotone = float((np.diff(wide, axis=1) > 0).all(axis=1).mean())
    inversion = float((pairs < 0).mean())
    tie = rng.random(len(score))
    cuts = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)
    return {
        "n": len(frame), "n_nan": int(np.isnan(score).sum()),
        "sets": {
            s: {"level": int(g["level"].iloc[0]), "n": len(g), "mean": float(g["score"].mean()),
                "std": float(g["score"].std()),
                "quantiles": {str(q): float(g["score"].quantile(q)) for q in cuts}}
            for s, g in frame.groupby("set")
        },
        "rank_order_rho": float(np.mean(ties)), "rank_order_rho_ci": ci(lambda d: rho(tie, d)),
        "rank_order_rho_tie_mean": float(np.mean(ties)),
        "rank_order_rho_tie_std": float(np.std(ties)),
        "rank_order_rho_bounds": [rho(-level.astype(float)), rho(level.astype(float))],
        "rank_order_rho_within": within(wide),
        "rank_order_rho_within_ci": ci(
            lambda d: within(wide[np.unique(d[: max(len(d) // k, 1)] % len(wide))])
        ),
        "variance": parts_of(wide),
        "spearman_rho": float(stats.spearmanr(level, score, nan_policy="omit")[0]),
        "spearman_rho_ci": ci(lambda d: float(stats.spearmanr(level[d], score[d])[0])),
        "kendall_tau_b": float(stats.kendalltau(level, score, nan_policy="omit")[0]),
        "kendall_tau_b_ci": ci(lambda d: float(stats.kendalltau(level[d], score[d])[0])),
        "tie_fraction": float((counts * (counts - 1)).sum() / (len(score) * (len(score) - 1))),
        "pairwise_accuracy": accuracy, "pairwise_accuracy_ci": [accuracy - 0.01, accuracy + 0.01],
        "pairwise_ties": tied, "adjacent_auc": auc,
        "monotone_rate": monotone, "monotone_rate_ci": [monotone - 0.01, monotone + 0.01],
        "inversion_rate": inversion, "inversion_rate_ci": [inversion - 0.01, inversion + 0.01],
    }  # fmt: skip


def parts_of(wide: np.ndarray[Any, Any]) -> dict[str, float]:
    """Shares of the sum of squares between images, between versions, and of neither."""
    wide = wide[~np.isnan(wide).any(axis=1)]
    total = float(((wide - wide.mean()) ** 2).sum())
    image = wide.shape[1] * float(((wide.mean(axis=1) - wide.mean()) ** 2).sum())
    level = len(wide) * float(((wide.mean(axis=0) - wide.mean()) ** 2).sum())
    if not total:
        return dict.fromkeys(("image", "level", "rest"), float("nan"))
    return {"image": image / total, "level": level / total, "rest": (total - image - level) / total}


def absent(name: str, status: str, reason: str, remedy: str) -> dict[str, Any]:
    return {
        **declared(name), "signature": None, "status": status, "reason": reason, "remedy": remedy,
        "counts": [], "n": 0, "n_nan": 0, "sets": {},
    }  # fmt: skip


def write_run(
    out: Path,
    images: Sequence[Image] = IMAGES,
    *,
    absents: Sequence[dict[str, Any]] = (),
    seed: int = 3,
    run: dict[str, Any] | None = None,
    columns: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    captions: pd.DataFrame | None = None,
    scores: dict[str, np.ndarray[Any, Any]] | None = None,
    result: Mapping[str, Any] | None = None,
) -> Path:
    """Write all files of a run of `images`; `run` overrides entries of run.json.

    `columns` are the fields that a column declares besides its name, where they are not the
    default, and `result` further fields of the result.
    """
    captions = corrupt(images, seed) if captions is None else captions
    references = {image: refs for image, _, refs in images}
    if scores is None:
        scores = {
            name: np.array(
                [f(c, references[i]) for i, c in
                 zip(captions["image_id"], captions["caption"], strict=True)]
            )
            for name, f in SCORERS.items()
        }  # fmt: skip
    frames = [captions[["image_id", "set", "level"]].assign(metric=m, score=s)
              for m, s in scores.items()]  # fmt: skip
    empty = captions[["image_id", "set", "level"]].assign(metric="", score=0.0).iloc[:0]
    records: list[dict[str, Any]] = [
        {
            **declared(name, **columns.get(name, {})),
            "signature": f"{name.lower()}|v:sacrebleu-{sacrebleu.__version__}",
            "status": "ok", "reason": None, "remedy": None, "counts": [], **statistics_of(frame),
            "worst_images": worst_images(frame, captions["applied"]),
        }
        for name, frame in zip(scores, frames, strict=True)
    ]  # fmt: skip
    unapplied = ~captions["applied"].to_numpy()
    if unapplied.any():
        bad = set(captions["image_id"][unapplied])
        for record, frame in zip(records, frames, strict=True):
            kept = statistics_of(frame[~frame["image_id"].isin(bad)])
            record["every_level_applied"] = {
                "n_images": len(images) - len(bad),
                **{key: kept[key] for key in (
                    "rank_order_rho", "rank_order_rho_within", "rank_order_rho_within_ci",
                    "pairwise_accuracy", "pairwise_accuracy_ci", "monotone_rate",
                    "monotone_rate_ci")},
            }  # fmt: skip
    sets = []
    for (level, name), g in captions.groupby(["level", "set"]):
        sets.append(CaptionSet(
            name=name, level=int(level), n=len(g), n_applied=int(g["applied"].sum()),
            n_unapplied=int((~g["applied"]).sum()),
            requested_rate=g["requested_rate"].iloc[0],
            mean_realised_rate=float(g["realised_rate"].mean()),
        ))  # fmt: skip
    results.write_table(out / results.CAPTIONS, captions)
    results.write_table(
        out / results.REFERENCES,
        pd.DataFrame({"image_id": [i for i, _, _ in images],
                      "references": [list(r) for _, _, r in images], "image_path": None}),
    )  # fmt: skip
    results.write_table(out / results.SCORES, pd.concat([empty, *frames]) if frames else empty)
    leading = max((r for r in records if r["part_of"] is None),
                  key=lambda r: r["rank_order_rho"], default={"metric": None})  # fmt: skip
    write_result(
        out / results.STATISTICS,
        graded_result(
            [graded_metric(record) for record in (*records, *absents)],
            n_images=len(images),
            settings=StatisticsSettings(
                seed=seed, replicates=40, confidence=0.95, tie_seeds=(0, 1, 2)
            ),
            sets=tuple(sets),
            leading_column=leading["metric"],
            **(result or {}),
        ),
    )
    facts: dict[str, Any] = {
        "status": "finished", "metaeval": "0.1.0", "command": ["python", "-m", "metaeval"],
        "working_directory": "/home/user", "started": "2026-01-01T10:00:00+00:00",
        "finished": "2026-01-01T10:01:10+00:00", "git": {"commit": "0" * 40, "dirty": False},
        "python": "3.11", "platform": "Linux", "cpu_count": 2, "packages": {"numpy": "2.0"},
        "java": None, "cuda": None, "device": "cpu", "seed": seed,
        "dataset": {"name": "hand-written", "n_images": len(images),
                    "n_references": (4,), "sources": {"captions.json": "ab" * 32}},
        "corruption": {"bag_words": 42}, "stages": [{"name": "scores", "seconds": 1.0}],
        "metrics": [{"metric": n, "seconds": 0.5, "n_scored": len(captions), "n_cached": 0}
                    for n in scores],
        "published": {"source": "González-Chávez et al.", "comparable": True, "why_not": None,
                      "rank_order_rho": {"SacreBLEU": 0.56064}},
        "experiment": {"name": "replace", "title": "Replaced words",
                       "question": "Does a metric notice words replaced at random?"},
        **(run or {}),
    }  # fmt: skip
    write_info(out / results.RUN, RunInfo.model_validate(facts))
    (out / results.CONFIG).write_text("experiment: replace\nseed: 3\n", encoding="utf-8")
    return out
