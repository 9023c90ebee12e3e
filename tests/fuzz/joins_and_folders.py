"""Loaders that join two files by ids, that compare means, and that clear the folder of a run."""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from metaeval.data.judgments.table import load_table
from metaeval.errors import InputError
from metaeval.metrics.adapters.function import FunctionMetric
from metaeval.metrics.adapters.scores_file import ScoresFileMetric
from metaeval.runs import folder as run_folder
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from tests.fuzz import mutations, strict
from tests.fuzz.base import Loader, one_file, write

# scores joined to judged captions: two captions an image, each with references of its own

JUDGED = [
    {"image_id": f"{name}.jpg", "candidate": f"a dog {k}", "references": [f"dog {k}"],
     "human": 0.5 + k}
    for name in ("7", "dogs/42", "099") for k in range(2)
]  # fmt: skip
SCORED = [
    {"image_id": row["image_id"], "caption": row["candidate"], "Mine": 0.25 * k - 0.5}
    for k, row in enumerate(JUDGED)
]


def make_joined(folder: Path) -> None:
    write(folder / "judged.jsonl", JUDGED)
    write(folder / "scores.csv", SCORED)


def read_joined(folder: Path) -> Any:
    """Of each judged caption the image's id, as a function is given it, and the file's score."""
    judged = load_table(file=folder / "judged.jsonl", image_source="other", data=folder,
                        documents="pair")  # fmt: skip
    captions, seen = [j.candidate for j in judged.judged], []

    def look(captions: Sequence[str], image_ids: Sequence[Any]) -> list[float]:
        seen.extend(zip(map(str, image_ids), captions, strict=True))
        return [0.0] * len(captions)

    values = []
    for metric in (
        FunctionMetric(look),
        ScoresFileMetric(folder / "scores.csv", columns=["Mine"]),
    ):
        scored = score_captions(metric, judged.dataset, captions, judged.image_index, MemoryStore())
        if scored.scores is None:
            raise InputError(str(scored.reason), file=folder / "scores.csv")
        values.append(scored.scores[:, 0].tolist())
    return [sorted(Counter(seen)), values[1]]


def strict_joined(folder: Path) -> Any:
    rows = strict.judged(system=None)(folder / "judged.jsonl")
    scores: dict[tuple[str, str], float] = {}
    for row in strict.rows(folder / "scores.csv", "image_id", "caption", "Mine"):
        key = strict.image_id(row["image_id"]), strict.caption(row["caption"])
        empty = row["Mine"].strip().lower() in ("", "nan")
        value = math.nan if empty else strict.number(row["Mine"])
        before = scores.setdefault(key, value)
        strict.require(abs(before - value) < 1e-6 or (before != before and value != value))
    strict.require(scores)
    there, here = dict.fromkeys(i for i, _ in scores), dict.fromkeys(row[0] for row in rows)
    keys = [Counter(strict.compared_id(i.strip()) for i in ids) for ids in (there, here)]

    def id_of(image: str) -> str | None:
        key = strict.compared_id(image.strip())
        if image in there:
            return image
        same = [i for i in there if strict.compared_id(i.strip()) == key]
        return same[0] if all(of[key] == 1 for of in keys) else None

    values = [scores.get((id_of(image) or "", text), math.nan) for image, text, *_ in rows]
    strict.require(any(value == value for value in values))
    return [sorted({(image, text) for image, text, *_ in rows}), values]


# mean ratings: equal ones on paper are equal, whatever the order of the sum

RATINGS = ([0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.2, 0.2, 0.2], [0.7, 0.1, 0.1], [0.1, 0.7, 0.1])
RATED = [
    {"image_id": f"{k}.jpg", "candidate": f"a dog {k}", "references": ["a dog"], "human": ratings}
    for k, ratings in enumerate(RATINGS)
]


def harm_ratings(raw: bytes, rng: random.Random) -> bytes:
    """The ratings of a caption in another order, or one of them moved by the last bit."""
    lines = raw.split(b"\n")
    at = rng.randrange(len(RATINGS))
    record = json.loads(lines[at])
    rng.shuffle(record["human"])
    line = json.dumps(record).encode()
    lines[at] = mutations.harm_rounding(line, rng) if rng.random() < 0.5 else line
    return b"\n".join(lines)


def read_order(path: Path) -> Any:
    """The order of the captions by their mean ratings; equal means have one rank."""
    means = load_table(file=path, image_source="other", data=path.parent).means("human").tolist()
    ranks = {value: k for k, value in enumerate(sorted(set(means)))}
    return [ranks[value] for value in means]


def strict_order(path: Path) -> Any:
    """The same by exact sums, to 12 digits of the greatest mean."""
    means = [
        sum(map(Fraction, ratings), Fraction(0)) / len(ratings)
        for *_, ratings, _ in strict.judged(system=None)(path)
    ]
    greatest = max(map(abs, means)) or Fraction(1)
    steps = [round(mean / greatest * 10**11) for mean in means]
    ranks = {value: k for k, value in enumerate(sorted(set(steps)))}
    return [ranks[value] for value in steps]


# the folder of a run that another run is about to use

WRITTEN = ("config.yaml", "scores.parquet", "tables/a.csv", "figures/b.svg")


def make_run_folder(folder: Path) -> None:
    for name in (*WRITTEN, "dataset.jsonl"):
        (folder / "run" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "run" / name).write_text(name)
    write(folder / "run" / "run.json", {"status": "finished", "files": [*WRITTEN, "dataset.jsonl"]})
    (folder / "mine").mkdir()
    (folder / "mine" / "scores.csv").write_text("7,a dog,0.5\n")


def harm_run_folder(folder: Path, rng: random.Random) -> Path:
    """A file that no run wrote, a list that names others, or no list."""
    run, mine = folder / "run", folder / "mine" / "scores.csv"
    change = rng.randrange(6)
    name = rng.choice(("tables/mine.csv", "report.html", "scores/part.parquet", "notes.txt", "x/y"))
    path = run / name
    if change == 0:
        path = run / "run.json"
        path.unlink()
    elif change in (1, 2):
        path.parent.mkdir(exist_ok=True)
        path.write_text("of somebody else")
    elif change == 3:  # a link in the place of a file of the run
        path = run / rng.choice(WRITTEN)
        path.unlink()
        path.symlink_to(os.path.relpath(rng.choice((mine, mine.parent)), path.parent))
    else:
        path = run / "run.json"
        listed = json.loads(path.read_text())
        listed["files"] += rng.sample(("../mine/scores.csv", str(mine), "..", "tables", ""), 2)
        write(path, listed if change == 4 else {**listed, "files": rng.choice((None, "x", {}, 7))})
    return path


def contents(folder: Path) -> dict[str, str]:
    """The files below a folder, links as they are, by name."""
    return {
        path.relative_to(folder).as_posix(): os.readlink(path)
        if path.is_symlink()
        else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def read_run_folder(folder: Path) -> Any:
    """What is there after a run has cleared its folder, in a copy."""
    copied = folder.with_name(f"{folder.name}-copy")
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(folder, copied, symlinks=True)
    with run_folder.lock(copied / "run") as locked:
        locked.require_own()
        locked.clear()
    return contents(copied)


def strict_run_folder(folder: Path) -> Any:
    """Whatever no run wrote stays: only what `run.json` lists may go, and only inside."""
    run, listed = folder / "run", None
    with suppress(OSError, AttributeError, strict.Wrong):
        listed = strict.parsed(strict.text(run / "run.json")).get("files")
    there = contents(folder)
    if not isinstance(listed, list):
        strict.require(not any(name.startswith("run/") for name in there))
        return there
    own = {f"run/{name}" for name in map(str, listed)} - {"run/dataset.jsonl"}
    own &= there.keys()
    inside = {name for name in own if (folder / name).resolve().is_relative_to(run.resolve())}
    return {name: content for name, content in there.items() if name not in inside}


JOINED_LOADERS = [
    one_file("order of mean ratings", "rated.jsonl", RATED, read_order, strict_order, harm_ratings),
    Loader("scores, joined", make_joined, read_joined, strict_joined,
           {".jsonl": mutations.harm_ids, ".csv": mutations.harm_ids}),
    Loader("folder of a run", make_run_folder, read_run_folder, strict_run_folder,
           spared=(*(name.rpartition("/")[2] for name in WRITTEN), "dataset.jsonl"),
           harm_folder=harm_run_folder),
]  # fmt: skip
