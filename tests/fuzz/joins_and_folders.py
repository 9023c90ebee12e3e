"""Loaders that join two files by ids, and that clear the folder of a run."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metaeval.data.judgments.table import load_table
from metaeval.errors import InputError
from metaeval.metrics.adapters.function import FunctionMetric
from metaeval.metrics.adapters.scores_file import ScoresFileMetric
from metaeval.runs import folder as run_folder
from metaeval.runs.store import MemoryStore
from metaeval.scoring import score_captions
from tests.fuzz import mutations
from tests.fuzz.base import Loader, write

# scores joined to judged captions: two captions an image, each with references of its own

JUDGED = [
    {
        "image_id": f"{name}.jpg",
        "candidate": f"a dog {k}",
        "references": [f"dog {k}"],
        "human": 0.5 + k,
    }
    for name in ("7", "dogs/42", "099")
    for k in range(2)
]
SCORED = [
    {"image_id": row["image_id"], "caption": row["candidate"], "Mine": 0.25 * k - 0.5}
    for k, row in enumerate(JUDGED)
]


def make_joined(folder: Path) -> None:
    write(folder / "judged.jsonl", JUDGED)
    write(folder / "scores.csv", SCORED)


def read_joined(folder: Path) -> Any:
    """Of each judged caption the image's id, as a function is given it, and the file's score."""
    judged = load_table(
        file=folder / "judged.jsonl", image_source="other", data=folder, documents="pair"
    )
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
    assert {image for image, _ in seen} == {j.image for j in judged.judged}
    return [sorted(Counter(seen)), [None if value != value else value for value in values[1]]]


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
    """What is there after a run has cleared its folder, in a copy. What no run wrote stays."""
    copied = folder.with_name(f"{folder.name}-copy")
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(folder, copied, symlinks=True)
    with run_folder.lock(copied / "run") as locked:
        locked.require_own()
        locked.clear()
    there, left = contents(folder), contents(copied)
    own = {f"run/{name}" for name in WRITTEN}
    assert {name: there[name] for name in there.keys() - own} == {
        name: left.get(name) for name in there.keys() - own
    }
    return {name: content for name, content in left.items() if name != "run/run.json"}


JOINED_LOADERS = [
    Loader(
        "scores, joined",
        make_joined,
        read_joined,
        {".jsonl": mutations.harm_ids, ".csv": mutations.harm_ids},
    ),
    Loader(
        "folder of a run",
        make_run_folder,
        read_run_folder,
        spared=(*(name.rpartition("/")[2] for name in WRITTEN), "dataset.jsonl"),
        harm_folder=harm_run_folder,
    ),
]
