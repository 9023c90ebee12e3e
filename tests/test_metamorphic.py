"""Relations between runs: what a change of the input may do to the numbers of an experiment.

`INPUTS` has the smallest real input of every experiment of conf/experiment; those that it does not
name share one. A relation changes an input and names what must stay equal: every number to the bit,
or every number that does not come from resampled images, to 1e-9. `EXEMPT` says where a relation
does not hold by definition, and why.
"""

from __future__ import annotations

import contextlib
import copy
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from omegaconf import OmegaConf

import metaeval
from metaeval.config import compose_config
from metaeval.experiments.run import run_configured
from metaeval.overrides import override_texts
from tests.shared import write_captions, write_json, write_lines

ROOT = Path(__file__).resolve().parents[1]
EXPERIMENTS = sorted(path.stem for path in (ROOT / "conf/experiment").glob("*.yaml"))
Records = list[dict[str, Any]]
Numbers = dict[tuple[str, ...], Any]


# metrics

SEEN: list[tuple[str, str, tuple[str, ...]]] = []  # what `drawn` scored in the last run


def overlap(captions: list[str], references: list[list[str]]) -> list[float]:
    """The share of a caption's words in the references, as a sum of tenths: ties by rounding."""
    known = [{word for text in texts for word in text.split()} for texts in references]
    return [
        sum(0.1 for word in text.split() if word in words) / max(1, len(text.split()))
        for text, words in zip(captions, known, strict=True)
    ]


def twin(captions: list[str], references: list[list[str]]) -> list[float]:
    return overlap(captions, references)


def minus(captions: list[str], references: list[list[str]]) -> list[float]:
    return [-score for score in overlap(captions, references)]


def drawn(captions: list[str], references: list[list[str]], image_ids: list[str]) -> list[float]:
    """A number that follows from the caption and the image's own id alone."""
    SEEN.extend(zip(map(str, image_ids), captions, map(tuple, references), strict=True))
    return [
        int(sha256(f"{image} {text}".encode()).hexdigest()[:8], 16) / 2**32
        for image, text in zip(image_ids, captions, strict=True)
    ]


def shorter(caption: str, rng: Any, rate: float) -> str:
    """A corruption that depends on the caption alone."""
    words = caption.split()
    return " ".join(words[: len(words) - round(rate * len(words))])


def own_metrics(names: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """Options that add functions of this module to the metrics."""
    of_each = {
        "_target_": "metaeval.metrics.adapters.function.FunctionMetric",
        **options,
    }
    return {
        f"+metric__{name}__{key}": value
        for name in names
        for key, value in {**of_each, "function": f"tests.test_metamorphic.{name}"}.items()
    }


# the smallest input of each experiment

N = 32
SUBJECTS = ("dog", "cat", "horse", "bird", "sheep", "cow")
THINGS = ("bench", "bus", "boat", "car", "couch", "bed")
COLOURS = ("red", "green", "black", "white", "brown")


def caption(rng: random.Random, subject: str, thing: str) -> str:
    words = ["a", rng.choice(["small", "large", "young", "old"]), subject]
    words += [rng.choice(["sits", "stands", "sleeps"]), rng.choice(["on", "near", "under"])]
    words += ["a", rng.choice(COLOURS), thing]
    if rng.random() < 0.4:
        words += ["in", "the", rng.choice(["street", "park", "house"])]
    return " ".join(words)


def worse(rng: random.Random, text: str) -> str:
    words = text.split()
    for _ in range(rng.randrange(1, 4)):
        words[rng.randrange(len(words))] = rng.choice(SUBJECTS + THINGS + COLOURS)
    return " ".join(words)


def captioned_images() -> Iterator[tuple[random.Random, str, list[str], tuple[str, str]]]:
    """Of each image a generator, its id, four captions, and the objects in it; ids not sorted."""
    names = random.Random(5).sample([f"photo-{k:02d}.jpg" for k in range(N)], N)
    for name in names:
        rng = random.Random(name)
        objects = rng.choice(SUBJECTS), rng.choice(THINGS)
        yield rng, name, [caption(rng, *objects) for _ in range(4)], objects


IMAGES = [image for _, image, _, _ in captioned_images()]


def own() -> Records:
    return [{"image_id": image, "captions": texts} for _, image, texts, _ in captioned_images()]


def coco() -> Records:
    """Captions and annotated objects of images, of which `write` makes COCO's two files."""
    return [
        {
            "image_id": image,
            "captions": texts,
            "objects": [
                [name, 10 * k, 5 + rng.randrange(50), 100, 200] for k, name in enumerate(objects)
            ],
        }
        for rng, image, texts, objects in captioned_images()
    ]


def table() -> Records:
    """Three captions an image, with three ratings whose means are equal or not by rounding."""
    return [
        {
            "image_id": image,
            "candidate": worse(rng, texts[3]) if k else caption(rng, *objects),
            "references": texts[:3],
            "human": [rng.choice([0.1, 0.2, 0.3, 0.7]) for _ in range(3)],
            "system": f"system {k}",
        }
        for rng, image, texts, objects in captioned_images()
        for k in range(3)
    ]


def pairs() -> Records:
    """Two pairs an image, with other references each: an image is in two documents."""
    return [
        {
            "image_id": image,
            "true": texts[k],
            "false": worse(rng, texts[k]),
            "kind": rng.choice(["object", "colour"]),
            "references": texts[k + 1 :],
        }
        for rng, image, texts, _ in captioned_images()
        for k in range(2)
    ]


def battles() -> Iterator[dict[str, Any]]:
    for rng, image, texts, objects in captioned_images():
        made = {"p": caption(rng, *objects), "q": worse(rng, texts[0]), "r": worse(rng, texts[0])}
        for a, b in pairwise("pqrp"):
            yield {
                "image_id": image,
                "first": made[a],
                "second": made[b],
                "winner": rng.choice(["first", "second", "tie"]),
                "first_system": a,
                "second_system": b,
                "references": texts[1:] if a == "p" else texts[:3],
                "category": rng.choice(["indoors", "outdoors"]),
            }


def clips() -> Iterator[dict[str, Any]]:
    """Pairs in the layout of AudioCaps-Eval: two captions, two sources, votes."""
    for rng, image, texts, objects in captioned_images():
        votes = [[rng.choice([1, -1, 1]) for _ in range(3)] for _ in range(2)]
        machines = [caption(rng, *objects), worse(rng, texts[0])]
        yield {
            "audio_id": image,
            "references": [*texts, caption(rng, *objects)],
            "HC": [*texts[:2], "g", "g", votes[0]],
            "MM_1": [*machines, "m", "n", votes[1]],
        }


def marked() -> Iterator[dict[str, Any]]:
    for rng, image, texts, _ in captioned_images():
        words = texts[0].split()
        wrong = rng.sample(range(len(words)), 2)
        for k in wrong:
            words[k] = rng.choice(SUBJECTS + THINGS)
        marks = [[word, k in wrong] for k, word in enumerate(words)]
        candidate = {"image_id": image, "candidate": " ".join(words), "words": marks}
        yield {**candidate, "references": texts[1:]}


def systems() -> dict[str, Records]:
    return {
        f"{name}.json": [
            {"image_id": image, "caption": worse(rng, texts[k]) if k else caption(rng, *objects)}
            for rng, image, texts, objects in captioned_images()
        ]
        for k, name in enumerate(("one", "two", "three"))
    }


def to_score() -> Records:
    return [
        {"image_id": image, "caption": worse(rng, texts[0]), "references": texts[1:]}
        for rng, image, texts, _ in captioned_images()
    ]


BATTERY = """
items:
  chosen: [experiment=pairs, dataset=pairs, dataset.file=pairs.jsonl, report=none,
           stats.replicates=60]
"""
PAPER = """
paper: printed
title: T
source: S
items:
  - item: one
    title: Table 1
    run: {experiment: judgments, dataset: table, dataset.file: table.jsonl,
          metrics: [rouge_l, length]}
    value: human.human.pearson
    rounding: 0.005
    cells: {ROUGE-L: 0.5, Length: 0.1}
"""


@dataclass(frozen=True)
class Input:
    """Files by name, as records or as they are, and options of the command; `later` are set in
    the composed configuration, as composing takes longer than a run."""

    files: Mapping[str, Records | str]
    options: Mapping[str, Any]
    later: Mapping[str, Any] = field(default_factory=dict)

    def changed(self, change: Callable[[dict[str, Any]], None]) -> Input:
        """Another input: `change` was applied to a copy of every record."""
        rows = copy.deepcopy(dict(self.files))
        for of in rows.values():
            for record in () if isinstance(of, str) else of:
                change(record)
        return replace(self, files=rows)

    def having(self, **options: Any) -> Input:
        return replace(self, later={**self.later, **options})


OWN_METRICS = ("overlap", "twin", "minus")
METRICS = ["rouge_l", "length", *OWN_METRICS]


def ranked_systems() -> Records:
    rng = random.Random(5)
    return [
        {
            "system": f"s{k:02d}",
            "human": (quality := rng.random()),
            "overlap": quality + rng.gauss(0, 0.2),
            "length": rng.randint(7, 12),
        }
        for k in range(12)
    ]


SHARED = {"report": "none", "cache__enabled": False, "paths__data": "none"}
MEASURED = {
    **SHARED,
    "stats__replicates": 60,
    "metric": METRICS[:2],  # nothing else is composed
    "metrics": METRICS,
    **own_metrics(OWN_METRICS),
}
OWN = {"dataset": "own", "dataset__file": "own.jsonl"}
COCO = {
    "dataset": "coco",
    "dataset__captions": "captions.json",
    "dataset__instances": "instances.json",
    "dataset__n_references": 3,
}
BY_FUNCTION = {
    **OWN,
    "corruption": "callable",
    "corruption__function": "tests.test_metamorphic.shorter",
    "corruption__rates": [0.3, 0.6],
}
RUNS_ONLY = ("combine",)  # its input is finished runs: tests/experiments/combine has its answers
INPUTS: dict[str, Input] = {
    # what an experiment that is not named below is run on
    **{
        name: Input({"own.jsonl": own()}, {**MEASURED, **OWN})
        for name in EXPERIMENTS
        if name not in RUNS_ONLY
    },
    "arena": Input(
        {"battles.jsonl": list(battles())},
        {**MEASURED, "dataset": "battles", "dataset__file": "battles.jsonl"},
    ),
    "attack": Input(
        {"coco": coco()},
        {
            **{key: value for key, value in MEASURED.items() if key != "stats__replicates"},
            **COCO,
            "task__images": 12,
            "task__budgets": [0, 4],
            "task__edits": 1,
        },
    ),
    "captioners": Input(
        {"own.jsonl": own(), **systems()}, {**MEASURED, **OWN, "captions": list(systems())}
    ),
    "forced_choice": Input(
        {"clips.json": list(clips())},
        {
            **MEASURED,
            "dataset": "fense_pairs",
            "dataset__file": "clips.json",
            "dataset__ties": "half",
        },
    ),
    "graded": Input({"own.jsonl": own()}, {**MEASURED, **BY_FUNCTION}),
    "judgments": Input(
        {"table.jsonl": table()},
        {
            **MEASURED,
            "dataset": "table",
            "dataset__file": "table.jsonl",
            "dataset__documents": "pair",
        },
    ),
    "localisation": Input(
        {"marked.jsonl": list(marked())},
        {**MEASURED, "dataset": "table", "dataset__file": "marked.jsonl"},
    ),
    "pairs": Input(
        {"pairs.jsonl": pairs()},
        {
            **MEASURED,
            "dataset": "pairs",
            "dataset__file": "pairs.jsonl",
            "dataset__near_copies": "keep",
        },
    ),
    "references": Input(
        {"own.jsonl": own()},
        # without the floor: captions of other images, which the ids draw
        {**MEASURED, **BY_FUNCTION, "task__n_references": [0, 3], "+task__floor": False},
    ),
    "reproduce": Input(
        {"table.jsonl": table(), "papers/printed.yaml": PAPER},
        {**SHARED, "reproduce__papers": "papers"},
    ),
    "sample_size": Input(
        {"own.jsonl": own()},
        {**MEASURED, **BY_FUNCTION, "task__draws": 20, "+task__floor": False},
    ),
    "score": Input({"rows.jsonl": to_score()}, {**MEASURED, "captions": "rows.jsonl"}),
    "sensitivity": Input(
        {"own.jsonl": own()},
        {**MEASURED, **OWN, "task__corruptions": ["reverse", "final_stop", "empty"]},
    ),
    "systems": Input(
        {"systems.jsonl": ranked_systems()},
        {
            **SHARED,
            "stats__replicates": 60,
            "task__permutations": 60,
            "dataset": "systems",
            "dataset__file": "systems.jsonl",
            "dataset__human": ["human"],
            "dataset__metrics": ["overlap", "length"],
        },
    ),
    "trust": Input(
        {"pairs.jsonl": pairs(), "battery.yaml": BATTERY},
        {**MEASURED, "trust__battery": "battery.yaml"},
    ),
}


def write(folder: Path, given: Input) -> None:
    for name, content in given.files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        if isinstance(content, str):
            path.write_text(content)
        elif name == "coco":
            write_coco(folder, content)
        else:
            (write_json if path.suffix == ".json" else write_lines)(path, content)


def write_coco(folder: Path, rows: Records) -> None:
    write_captions(folder / "captions.json", {row["image_id"]: row["captions"] for row in rows})
    categories = (*SUBJECTS, *THINGS)
    boxes = [(row["image_id"], name, box) for row in rows for name, *box in row["objects"]]
    instances = {
        "images": [{"id": row["image_id"], "width": 400, "height": 400} for row in rows],
        "categories": [{"id": k, "name": name} for k, name in enumerate(categories)],
        "annotations": [
            {"id": k, "image_id": image, "category_id": categories.index(name), "bbox": box}
            for k, (image, name, box) in enumerate(boxes)
        ],
    }
    write_json(folder / "instances.json", instances)


# running, and what is compared


@cache
def composed(*overrides: str) -> Any:
    return compose_config(overrides)


def run(experiment: str, given: Input, folder: Path) -> Numbers:
    """The numbers of a run in a folder, where its files have the names of the input."""
    folder.mkdir(parents=True)
    write(folder, given)
    options = override_texts({"experiment": experiment, **given.options})
    config = copy.deepcopy(composed(*options))
    for key, value in given.later.items():
        OmegaConf.update(config, key.removeprefix("+").replace("__", "."), value, force_add=True)
    SEEN.clear()
    with contextlib.chdir(folder):
        result = run_configured(config, Path("out"))
    value = result if isinstance(result, dict) else result.model_dump(mode="json")
    return dict(leaves(value))


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The leaves of a result. What has a name is at its name, a comparison at "a ~ b", and a cell
    of a table at the texts of its row."""
    if isinstance(value, Mapping) and {"columns", "rows"} <= value.keys():
        for row in value["rows"]:
            texts = [cell for cell in row if isinstance(cell, str)]
            for column, cell in zip(value["columns"], row, strict=True):
                if not isinstance(cell, str):
                    yield (*path, *texts, column), cell
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield from leaves(member, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for place, member in enumerate(value):
            yield from leaves(member, (*path, name_of(member) or str(place)))
    elif path[-1] not in OF_THE_RUN:
        yield path, value


# what a run's files are and what it took
OF_THE_RUN = {"signature", "captions.json", "instances.json"}


def name_of(member: Any) -> str:
    if not isinstance(member, Mapping):
        return ""
    if "a" in member and "b" in member:
        return f"{member['a']} ~ {member['b']}"
    names = (member.get(key) for key in ("column", "name", "key", "lower", "id", "n_references"))
    named = next((name for name in names if name is not None), "")
    return str(named["name"] if isinstance(named, Mapping) else named)


def differing(one: Numbers, other: Numbers, tolerance: float = 0.0) -> list[str]:
    """Lines on what differs; an empty list where nothing does."""
    pairs = {
        path: (one.get(path, "absent"), other.get(path, "absent"))
        for path in dict.fromkeys((*one, *other))
    }
    return [
        f"{'/'.join(path)}: {a} and {b}"
        for path, (a, b) in pairs.items()
        if a != b and not (isinstance(a, float | int) and a == pytest.approx(b, abs=tolerance))
    ]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Numbers]:
    """Experiment → the numbers on its input as it is."""

    @cache
    def numbers(experiment: str) -> Numbers:
        return run(experiment, INPUTS[experiment], tmp_path_factory.mktemp(experiment) / "base")

    return numbers


def shuffled(given: Input) -> Input:
    """The records of every file in another order."""
    rng = random.Random(11)
    files = {
        name: of if isinstance(of, str) else rng.sample(of, len(of))
        for name, of in given.files.items()
    }
    return replace(given, files=files)


def other_references(given: Input) -> Input:
    """The references of every record in another order; an image's first caption stays."""
    rng = random.Random(12)

    def change(record: dict[str, Any]) -> None:
        if "references" in record:
            rng.shuffle(record["references"])
        if "captions" in record:
            first, *others = record["captions"]
            record["captions"] = [first, *rng.sample(others, len(others))]

    return given.changed(change)


def other_columns(given: Input) -> Input:
    """The fields of every record, and the metrics of the run, in another order."""

    def change(record: dict[str, Any]) -> None:
        for name in list(record)[::-1]:
            record[name] = record.pop(name)

    changed = given.changed(change)
    return changed.having(metrics=METRICS[::-1]) if "metrics" in given.options else changed


def with_ids(given: Input, ids: Mapping[str, str]) -> Input:
    def change(record: dict[str, Any]) -> None:
        for name in {"image_id", "audio_id"} & record.keys():
            record[name] = ids[record[name]]

    return given.changed(change)


# other names that sort alike, and each image's records under another image's id
RENAMED = {image: f"Bild {k:03d} (a).png" for k, image in enumerate(sorted(IMAGES))}
MOVED = dict(zip(IMAGES, IMAGES[7:] + IMAGES[:7], strict=True))


def in_threads(given: Input) -> Input:
    """Own metrics in threads and small batches, blocks of few rows."""
    own = own_metrics(OWN_METRICS, workers=3, batch_size=7)
    block = {"task__block": 5} if given is INPUTS["score"] else {}
    return given.having(**own, **block, cache__batch_size=5)


# intervals, p-values, ties broken at random, folds of fitted controls and so which control is best,
# examples
DRAWN = frozenset(
    {
        "low",
        "high",
        "p",
        "p_adjusted",
        "p_human",
        "rank_order_rho_tie_mean",
        "rank_order_rho_tie_std",
        "soft_pairwise_accuracy",
        "cross_fitted_accuracy",
        "Fitted text",
        "Fitted references",
        "accuracy_controls",
        "worst_images",
        "examples",
        "power",
    }
)
# what depends on how many hypotheses are tested, or on which other metrics there are
OF_FAMILY = frozenset(
    {
        *("p_adjusted", "decidable", "family", "detectable", "images_needed"),
        *("mean_tau_b", "mean rank"),
    }
)


@dataclass(frozen=True)
class Relation:
    """A change of an input that may change nothing, except in paths with a part of `may_change`.

    `bits`: numbers are equal to the bit, otherwise to 1e-9. `of_metrics`: only the numbers of
    metrics and of their comparisons are compared. `renamed`: image ids → the new ones.
    """

    change: Callable[[Input], Input]
    bits: bool = True
    may_change: frozenset[str] = frozenset()
    of_metrics: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)

    def compared(self, numbers: Numbers) -> Numbers:
        return {
            path: value
            for path, value in numbers.items()
            if not self.may_change & set(" ~ ".join(path).split(" ~ "))
            and (not self.of_metrics or path[0] == "metrics" or " ~ " in "".join(path))
        }


RELATIONS = {
    # sums of the same numbers in another order; row numbers, and groups by their first record
    "rows": Relation(shuffled, bits=False, may_change=frozenset({"shown", "groups"})),
    "references": Relation(other_references),
    "columns": Relation(other_columns),
    "ids": Relation(lambda given: with_ids(given, RENAMED), renamed=RENAMED),
    "images": Relation(lambda given: with_ids(given, MOVED), False, DRAWN, of_metrics=True),
    "seed": Relation(lambda given: given.having(seed=1), False, DRAWN, of_metrics=True),
    "workers": Relation(in_threads),
    "metrics": Relation(
        lambda given: given.having(metrics=[m for m in METRICS if m not in ("twin", "minus")]),
        False,
        OF_FAMILY,
        of_metrics=True,
    ),
}
BY_ID = "the seed and the image's id draw words, captions or the scores of a control"
EXEMPT: dict[tuple[str, str], str] = {
    **{
        (name, relation): BY_ID
        for name in ("replace", "shuffle", "attack", "trust")
        for relation in ("ids", "images", "seed")
    },
    ("attack", "references"): "the first reference is copied",
    ("reproduce", "metrics"): "each item of a paper has its own metrics",
    ("systems", "metrics"): "the table has the metrics",
}


# relations that are tried in one run: equal to the bit, to 1e-9, and except for what is drawn
TOGETHER = ("references", "columns", "ids", "workers"), ("rows", "metrics"), ("images", "seed")


@pytest.mark.parametrize(
    ("experiment", "names"),
    [
        (experiment, held)
        for experiment, names in product(INPUTS, TOGETHER)
        if (held := [name for name in names if (experiment, name) not in EXEMPT])
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_relations(
    experiment: str, names: list[str], base: Callable[[str], Numbers], tmp_path: Path
) -> None:
    given, relations = INPUTS[experiment], [RELATIONS[name] for name in names]
    for relation in relations:
        given = relation.change(given)
    before, after = base(experiment), run(experiment, given, tmp_path / "run")
    for of in relations:
        before = {
            tuple(of.renamed.get(part, part) for part in path): of.renamed.get(value, value)
            if isinstance(value, str)
            else value
            for path, value in before.items()
        }
        before, after = of.compared(before), of.compared(after)
    if RELATIONS["metrics"] in relations:
        before = {path: before[path] for path in after if path in before}
        after = {path: after[path] for path in before}
    assert not differing(before, after, 0.0 if all(of.bits for of in relations) else 1e-9)


MEASURING = [name for name, given in INPUTS.items() if "metrics" in given.options]


def of_column(numbers: Numbers, name: str, other: str) -> Numbers:
    """The numbers of a column and of its comparisons, except with another one; it is called M."""

    def renamed(text: Any) -> Any:
        parts = text.split(" ~ ") if isinstance(text, str) else ()
        return " ~ ".join("M" if part == name else part for part in parts) if parts else text

    return {
        tuple(map(renamed, path)): renamed(value)
        for path, value in numbers.items()
        if name in (parts := " ~ ".join(path).split(" ~ ")) and other not in parts
    }


@pytest.mark.parametrize("experiment", MEASURING)
def test_a_copy_of_a_metric_has_its_numbers(
    experiment: str, base: Callable[[str], Numbers]
) -> None:
    numbers = base(experiment)
    copied = of_column(numbers, "twin", "overlap")
    assert copied
    own = {k: v for k, v in of_column(numbers, "overlap", "twin").items() if k in copied}
    assert not differing(own, copied)
    between = {path[-1]: v for path, v in numbers.items() if "overlap ~ twin" in path}
    assert (between.get("p") in (1.0, None), between.get("value", 0.0)) == (True, 0.0)


# how a number changes with the sign of a metric: paths with this part → −x, or 1 − x
NEGATED, MIRRORED = (lambda x: -x), (lambda x: 1 - x)
ORDER = dict.fromkeys(
    ("rank_order_rho", "rank_order_rho_within", "spearman_rho", "kendall_tau_b"), NEGATED
)
SIGNS: dict[str, dict[str, Callable[[float], float]]] = {
    "arena": {
        **dict.fromkeys(("agreement", "decided", "equal_length", "systems_accuracy"), MIRRORED),
        **dict.fromkeys(("systems_spearman", "systems_kendall_tau_b"), NEGATED),
    },
    "captioners": {"scores": NEGATED},
    "forced_choice": dict.fromkeys(("agreement_4", "agreement_4_HC", "agreement_4_MM"), MIRRORED),
    **{
        name: {**ORDER, "auc": MIRRORED} for name in ("graded", "replace", "shuffle", "sample_size")
    },
    "judgments": {
        **dict.fromkeys(("pearson", "spearman", "kendall_tau_b", "kendall_tau_c"), NEGATED),
        **dict.fromkeys(("length_controlled", "difference_pearson", "disattenuated"), NEGATED),
    },
    "localisation": {"localisation_auc": MIRRORED},
    "pairs": {
        **dict.fromkeys(("accuracy_true___false", "accuracy_true___false_object"), MIRRORED),
        "auroc": MIRRORED,
    },
    "references": {
        f"{key}_{n}": NEGATED
        for key in ("rank_order_rho", "rank_order_rho_within")
        for n in range(5)
    },
    "score": {"mean": NEGATED, "median": NEGATED},
    "sensitivity": {
        **dict.fromkeys(("mean_auc", "severity_order", "kind_order", "severity_major"), MIRRORED),
    },
}
# without an entry: attack and retrieval, whose searches find other captions, and trust's verdicts


@pytest.mark.parametrize("experiment", SIGNS)
def test_a_metric_with_the_other_sign_has_the_opposite_numbers(
    experiment: str, base: Callable[[str], Numbers]
) -> None:
    numbers = base(experiment)
    own, opposite = of_column(numbers, "overlap", "twin"), of_column(numbers, "minus", "twin")
    ends = {"low": "high", "high": "low"}
    expected = {
        (*path[:-1], ends.get(path[-1], path[-1])): None if value is None else turned(value)
        for path, value in own.items()
        if path[0] in ("metrics", "systems")
        and (turned := next((SIGNS[experiment][p] for p in path if p in SIGNS[experiment]), None))
        and (path[-1] in ("value", "low", "high") or path[-1] in SIGNED)
    }
    assert expected
    assert not differing(expected, {path: opposite[path] for path in expected}, 1e-9)


SIGNED = ("score", "mean", "median")  # numbers without an interval


def mirrored(given: Input) -> Input:
    """Both sides of every pair exchanged, and the votes."""
    sides = [("first", "second"), ("first_system", "second_system"), ("true", "false")]
    winners = {"first": "second", "second": "first", "tie": "tie"}

    def change(record: dict[str, Any]) -> None:
        for one, other in sides:
            if one in record:
                record[one], record[other] = record[other], record[one]
        if "winner" in record:
            record["winner"] = winners[record["winner"]]
        for name in {"HC", "MM_1"} & record.keys():
            a, b, of_a, of_b, votes = record[name]
            record[name] = [b, a, of_b, of_a, [-vote for vote in votes]]

    return given.changed(change)


@pytest.mark.parametrize("experiment", ["arena", "forced_choice", "pairs"])
def test_pairs_can_be_mirrored(
    experiment: str, base: Callable[[str], Numbers], tmp_path: Path
) -> None:
    """Where true and false captions are exchanged, what is counted is the rest."""
    expected = base(experiment)
    after = run(experiment, mirrored(INPUTS[experiment]), tmp_path / "run")
    if experiment == "pairs":
        expected = {
            path: 1 - value
            for path, value in expected.items()
            if path[:1] == ("metrics",)
            and path[1] in ("ROUGE-L", "overlap", "minus", "Length")
            and path[-1] == "value"
            and path[-2].startswith(("accuracy", "auroc"))
        }
        after = {path: after[path] for path in expected}
    assert expected
    assert not differing(expected, after, 1e-9)


AS_GRADED = ("replace", "shuffle", "sample_size")  # they score corrupted captions in its way


@pytest.mark.slow
@pytest.mark.parametrize("experiment", sorted({*MEASURING} - {"attack", *AS_GRADED}))
def test_scores_made_elsewhere_are_those_of_the_run(experiment: str, tmp_path: Path) -> None:
    """A metric sees the images' own ids, and what `metaeval.score` and experiment=score make of
    the same captions has the same numbers as the metric in the experiment."""
    names = ("drawn",)
    options = {k: v for k, v in INPUTS[experiment].options.items() if not k.startswith("+metric")}
    given = replace(INPUTS[experiment], options={**options, **own_metrics(names)})
    if experiment == "references":  # with none, metrics of references are skipped, a file is not
        given = given.having(task__n_references=[1, 3])
    given = given.having(controls=[])
    before = run(experiment, given.having(metrics=["rouge_l", "drawn"]), tmp_path / "own")
    rows = [
        {"image_id": image, "caption": text, "references": list(references)}
        for image, text, references in dict.fromkeys(SEEN)
    ]
    assert {row["image_id"] for row in rows} <= set(IMAGES)
    to_score = Input({"rows.jsonl": rows}, {**INPUTS["score"].options, **own_metrics(names)})
    run("score", to_score.having(metrics=["rouge_l", "drawn"], task__block=50), tmp_path / "stream")
    scores = tmp_path / "stream" / "out" / "scores"
    by_api = metaeval.score(pd.DataFrame(rows), metrics=["rouge_l", drawn]).table
    columns = ["ROUGE-L", "drawn"]
    streamed = pd.concat(map(pd.read_parquet, sorted(scores.glob("*.parquet"))))
    assert streamed[columns].to_dict("list") == by_api[columns].to_dict("list")
    if by_api.duplicated(["image_id", "caption"]).any():
        # captions with several sets of references: the file names them
        scored = pd.DataFrame(rows).assign(**by_api[columns].to_dict("list"))
        scores = write_lines(tmp_path / "scores.jsonl", scored.to_dict("records"))
    elsewhere = given.having(
        metrics=["scores"],
        **{
            "metric__scores___target_": "metaeval.metrics.adapters.own.ScoresFileMetric",
            "metric__scores__file": str(scores),
            "metric__scores__columns": columns,
        },
    )
    after = run(experiment, elsewhere, tmp_path / "elsewhere")
    kept = [
        {path: v for path, v in numbers.items() if path[0] == "metrics" and "statistics" in path}
        for numbers in (before, after)
    ]
    assert kept[0]
    assert not differing(*kept)


def test_one_run_in_two_folders_is_one_piece_of_evidence(tmp_path: Path) -> None:
    folder, copied, link = tmp_path / "a" / "out", tmp_path / "copied", tmp_path / "link"
    run("pairs", INPUTS["pairs"], tmp_path / "a")
    shutil.copytree(folder, copied)
    link.symlink_to(folder)
    once, often = (
        run("trust", INPUTS["trust"].having(trust__runs=list(map(str, runs))), tmp_path / name)
        for name, runs in (("once", [folder]), ("often", [folder, copied, folder, link]))
    )
    assert any("out" in path for path in once)  # the item that is the run
    assert not differing(once, often)
