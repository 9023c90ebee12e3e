"""SPICE here against the original jar: the same seven scores, and how long they take.

    python benchmarks/spice.py [--captions 5000]

Candidates are the first captions of COCO val2017's images (METAEVAL_DATA), references the four
others. The jar dies on Java 15 and newer without a JavaScript engine: Nashorn, which Maven brings,
is put on its class path, and `-cache` is left out, which dies on Java 16 and newer. That is
pycocoevalcap's call, made to run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.side_by_side import available, coco_captions, timed
from metaeval.java.runtime import find_java
from metaeval.metrics.spice.metric import CATEGORIES, Graph, f_scores, load_synonyms
from metaeval.runs.store import SqliteStore, Store
from metaeval.text.scene_graphs import spice_service
from metaeval.text.scene_graphs.parse import default_cache
from metaeval.text.scene_graphs.spice_service import SpiceParser

Item = tuple[str, list[str]]  # a candidate and its references

_NASHORN = (
    "org.openjdk.nashorn:nashorn-core:15.4",
    *(f"org.ow2.asm:asm{part}:7.3.1" for part in ("", "-analysis", "-commons", "-tree", "-util")),
)
HEAP = 4096  # MiB, of Java
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


def ours(items: Sequence[Item], store: Store) -> np.ndarray:
    """Scores [n, 7] by metaeval: parse what is not in the store, merge, match."""
    sentences = list(dict.fromkeys(s for test, refs in items for s in (test, *refs)))
    with SpiceParser(default_cache(), store, heap=HEAP) as parse:
        tuples = dict(zip(sentences, parse(sentences), strict=True))
    synonyms = load_synonyms(spice_service.spice_file(spice_service.METEOR_JAR))
    scores = []
    for test, refs in items:
        reference = Graph([t for ref in refs for t in tuples[ref] or []], synonyms)
        scores.append(f_scores(Graph(tuples[test] or [], synonyms), reference))
    return np.array(scores)


def copy_nashorn(here: Path) -> None:
    """Put the JavaScript engine that the jar needs into the folder; not part of what is timed."""
    maven = shutil.which("mvn") or "mvn"
    for artifact in _NASHORN:
        copy = [_COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={here}"]
        subprocess.run([maven, "-q", "-B", *copy], check=True, stdout=sys.stderr)


def original(items: Sequence[Item], here: Path) -> np.ndarray:
    """Scores [n, 7] by the jar's own main class, as pycocoevalcap starts it, made to run."""
    asked = [{"image_id": i, "test": test, "refs": refs} for i, (test, refs) in enumerate(items)]
    (here / "in.json").write_text(json.dumps(asked))
    path = os.pathsep.join([spice_service.class_path(default_cache()), f"{here}/*"])
    java = str(available(find_java()).executable)
    command = [java, f"-Xmx{HEAP}m", "-cp", path, "edu.anu.spice.SpiceScorer"]
    files = [str(here / "in.json"), "-out", str(here / "out.json"), "-silent", "-subset"]
    subprocess.run([*command, *files], check=True, stdout=sys.stderr)
    output = json.loads((here / "out.json").read_text())
    scores = [[item["scores"][category]["f"] for category in CATEGORIES] for item in output]
    return np.array(scores, dtype=np.float64)


def measured(name: str, work: Callable[[], np.ndarray]) -> np.ndarray:
    """What the work returns; its seconds by the clock, and those of all processes, are printed."""

    def processor_seconds() -> float:
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in both)

    before = processor_seconds()
    result, seconds = timed(work)
    spent = processor_seconds() - before
    print(f"{name}: {seconds.clock:.1f} s ({spent:.0f} s of processor time)", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--captions", type=int, default=5000, help="images of COCO val2017")
    options = parser.parse_args()
    items = [(c[0], c[1:5]) for c in coco_captions("val2017")[: options.captions]]
    with tempfile.TemporaryDirectory() as name:
        copy_nashorn(Path(name))
        store = SqliteStore(Path(name) / "content.sqlite")
        first = measured("first run", lambda: ours(items, store))
        warm = measured("warm run", lambda: ours(items, store))
        store.close()
        jar = measured("the jar", lambda: original(items, Path(name)))
    assert np.array_equal(first, warm, equal_nan=True)
    for column, category in enumerate(CATEGORIES):
        same = np.isclose(first[:, column], jar[:, column], rtol=0, atol=1e-9, equal_nan=True)
        print(f"  {category:<12} different {int((~same).sum())} of {len(same)}")
    print(f"mean SPICE {first[:, 0].mean():.15f}, jar {jar[:, 0].mean():.15f}")


if __name__ == "__main__":
    main()
