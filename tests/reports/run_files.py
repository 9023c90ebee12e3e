"""Builds the directory of a finished run, for tests and for looking at the report.

Captions are real or written here, corruptions are a plain Replace, scores are what sacrebleu says.
"""

import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import sacrebleu
from omegaconf import OmegaConf

from metaeval.data.dataset import CaptionDataset
from metaeval.experiments.graded.statistics import statistics
from metaeval.results.files import write_info, write_result
from metaeval.results.run import PublishedInfo, RunInfo
from metaeval.runs import files as results
from metaeval.runs.records import ScoreColumn
from metaeval.scoring import MetricScores

Image = tuple[int | str, str, tuple[str, ...]]  # id, human caption, references

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


SCORERS = {"SacreBLEU": sacrebleu.sentence_bleu, "chrF": sacrebleu.sentence_chrf}


def scores_of(captions: pd.DataFrame, images: Sequence[Image]) -> dict[str, Any]:
    """Metric → what sacrebleu says of each caption, from 0 to 1."""
    references = {image: list(refs) for image, _, refs in images}
    pairs = list(zip(captions["image_id"], captions["caption"], strict=True))
    return {
        name: np.array([score(caption, references[image]).score / 100 for image, caption in pairs])
        for name, score in SCORERS.items()
    }


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
                text = images[(index + 1) % len(images)][1]
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


def absent(name: str, status: Any, reason: str, remedy: str) -> MetricScores:
    """A metric that did not run."""
    return MetricScores(name.lower(), (ScoreColumn(name),), (None,), status, reason, remedy)


def write_run(
    out: Path,
    images: Sequence[Image] = IMAGES,
    *,
    absents: Sequence[MetricScores] = (),
    seed: int = 3,
    run: dict[str, Any] | None = None,
    columns: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    captions: pd.DataFrame | None = None,
    scores: dict[str, np.ndarray[Any, Any]] | None = None,
    result: Mapping[str, Any] | None = None,
) -> Path:
    """Write all files of a run of `images`; `run` overrides entries of run.json.

    `columns` are the fields that a column declares besides its name, where they are not the
    default, and `result` other fields of the result.
    """
    captions = corrupt(images, seed) if captions is None else captions
    scores = scores_of(captions, images) if scores is None else scores
    frames = [captions[["image_id", "set", "level"]].assign(metric=m, score=s)
              for m, s in scores.items()]  # fmt: skip
    empty = captions[["image_id", "set", "level"]].assign(metric="", score=0.0).iloc[:0]
    scored = [
        MetricScores(
            name.lower().split("-")[0],
            (ScoreColumn(name, **columns.get(name, {})),),
            (f"{name.lower()}|v:sacrebleu-{sacrebleu.__version__}",),
            "ok",
            citation=("post2018sacrebleu",),
            scores=of_metric[:, None],
        )
        for name, of_metric in scores.items()
    ]
    results.write_table(out / results.CAPTIONS, captions)
    results.write_table(
        out / results.REFERENCES,
        pd.DataFrame({"image_id": [i for i, _, _ in images],
                      "references": [list(r) for _, _, r in images], "image_path": None}),
    )  # fmt: skip
    results.write_table(out / results.SCORES, pd.concat([empty, *frames]) if frames else empty)
    human = dict(zip(captions["image_id"], captions["source_caption"], strict=True))
    dataset = CaptionDataset(
        "hand-written",
        tuple(image for image, _, _ in images),
        tuple(human[image] for image, _, _ in images),
        tuple(refs for _, _, refs in images),
        (),
        (),
    )
    stats = {"seed": seed, "replicates": 40, "confidence": 0.95, "tie_seeds": 3}
    published = PublishedInfo(
        source="González-Chávez et al.", comparable=True, rank_order_rho={"SacreBLEU": 0.56064}
    )
    made = statistics(
        out,
        [*scored, *absents],
        OmegaConf.create({"seed": seed, "stats": stats}),
        dataset,
        experiment="replace",
        published=published,
    )
    write_result(out / results.STATISTICS, made.model_copy(update=dict(result or {})))
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
