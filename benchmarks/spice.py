"""SPICE here against the original jar: the same numbers, and how long they take.

    python benchmarks/spice.py speed     the jar against first and warm run, on 5,000 captions
    python benchmarks/spice.py merging   20,000 captions through the jar's own scorer, same tuples
    python benchmarks/spice.py flickr    Flickr8k-Expert's Kendall τ-c (published: 44.9)

Data: METAEVAL_DATA (COCO val2017's captions, Flickr8k). The jar dies on Java 15 and newer without
a JavaScript engine: `speed` puts Nashorn, which Maven brings, on its class path, and leaves out
`-cache`, which dies on Java 16 and newer. That is pycocoevalcap's call, made to run.
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
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from metaeval.data.dataset import Absent
from metaeval.java.runtime import find_java
from metaeval.metrics.spice.graph import CATEGORIES, Graph, f_scores
from metaeval.metrics.spice.synonyms import load_synonyms
from metaeval.runs.store import MemoryStore, SqliteStore, Store
from metaeval.text.scene_graphs import spice_service
from metaeval.text.scene_graphs.parse import default_cache
from metaeval.text.scene_graphs.spice_service import SpiceParser, Tuples
from metaeval.text.tokenizers.base import get as get_tokenizer

Item = tuple[str, list[str]]  # a candidate and its references

ORACLE = Path(__file__).parents[1] / "tests/metrics/spice/SpiceOracle.java"
_NASHORN = (
    "org.openjdk.nashorn:nashorn-core:15.4",
    *(f"org.ow2.asm:asm{part}:7.3.1" for part in ("", "-analysis", "-commons", "-tree", "-util")),
)
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


def data() -> Path:
    return Path(os.environ["METAEVAL_DATA"])


def coco(captions: int) -> list[list[str]]:
    """The first five captions of the first images of val2017, by annotation id."""
    path = data() / "coco/annotations/captions_val2017.json"
    annotations = json.loads(path.read_text(encoding="utf-8"))["annotations"]
    images: dict[int, list[str]] = {}
    for annotation in sorted(annotations, key=lambda a: a["id"]):
        images.setdefault(annotation["image_id"], []).append(annotation["caption"])
    return [images[image][:5] for image in sorted(images)][:captions]


def ours(items: Sequence[Item], store: Store, arguments: argparse.Namespace) -> np.ndarray:
    """Scores [n, 7] by metaeval: parse what the store lacks, merge, match."""
    sentences = list(dict.fromkeys(s for test, refs in items for s in (test, *refs)))
    with parser(store, arguments) as parse:
        tuples: dict[str, Tuples | None] = dict(zip(sentences, parse(sentences), strict=True))
    synonyms = load_synonyms(spice_service.spice_file(spice_service.METEOR_JAR))
    scores = []
    for test, refs in items:
        reference = Graph([t for ref in refs for t in tuples[ref] or []], synonyms)
        scores.append(f_scores(Graph(tuples[test] or [], synonyms), reference))
    return np.array(scores)


def parser(store: Store, arguments: argparse.Namespace) -> SpiceParser:
    return SpiceParser(
        default_cache(), store, heap=arguments.heap, threads=arguments.threads or None
    )


def java() -> str:
    runtime = find_java()
    if isinstance(runtime, Absent):
        raise SystemExit(str(runtime))
    return str(runtime.executable)


def values(scores: dict[str, dict[str, float | None]]) -> list[float]:
    return [np.nan if (f := scores[c]["f"]) is None else f for c in CATEGORIES]


def copy_nashorn(here: Path) -> None:
    """Put the JavaScript engine that the jar needs into the folder; not part of what is timed."""
    maven = shutil.which("mvn") or "mvn"
    for artifact in _NASHORN:
        copy = [_COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={here}"]
        subprocess.run([maven, "-q", "-B", *copy], check=True, stdout=sys.stderr)


def original(items: Sequence[Item], nashorn: Path, arguments: argparse.Namespace) -> np.ndarray:
    """Scores [n, 7] by the jar's own main class, as pycocoevalcap starts it, made to run."""
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        path = os.pathsep.join([spice_service.class_path(default_cache()), f"{nashorn}/*"])
        asked = [{"image_id": i, "test": t, "refs": r} for i, (t, r) in enumerate(items)]
        (here / "in.json").write_text(json.dumps(asked))
        threads = ["-threads", str(arguments.threads)] if arguments.threads else []
        command = [java(), f"-Xmx{arguments.heap}m", "-cp", path, "edu.anu.spice.SpiceScorer"]
        options = ["-out", str(here / "out.json"), "-subset", "-silent", *threads]
        subprocess.run([*command, str(here / "in.json"), *options], check=True, stdout=sys.stderr)
        output = json.loads((here / "out.json").read_text())
    return np.array([values(item["scores"]) for item in output])


def compare(mine: np.ndarray, theirs: np.ndarray) -> None:
    """Say how far two tables of scores are apart, NaN equal to NaN only."""
    same = np.isclose(mine, theirs, rtol=0, atol=1e-9, equal_nan=True)
    print(
        f"captions {len(mine)}; mean SPICE {mine[:, 0].mean():.15f}, jar {theirs[:, 0].mean():.15f}"
    )
    for column, category in enumerate(CATEGORIES):
        both = ~np.isnan(mine[:, column]) & ~np.isnan(theirs[:, column])
        worst = np.abs(mine[both, column] - theirs[both, column]).max(initial=0.0)
        print(
            f"  {category:<12} different {int((~same[:, column]).sum())} "
            f"(defined on {int(both.sum())}; largest difference {worst:.1e})"
        )


def processor_seconds() -> float:
    """User and system time so far of this process and of the children that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def speed(arguments: argparse.Namespace) -> None:
    items = [(c[0], c[1:]) for c in coco(arguments.captions)]
    taken, work, tables = {}, {}, {}
    with tempfile.TemporaryDirectory() as name:
        store = SqliteStore(Path(name) / "content.sqlite")
        for run in ("first run", "warm run"):
            started, before = time.perf_counter(), processor_seconds()
            tables[run] = ours(items, store, arguments)
            taken[run] = time.perf_counter() - started
            work[run] = processor_seconds() - before
        store.close()
    assert np.array_equal(tables["first run"], tables["warm run"], equal_nan=True)
    if arguments.jar_output:  # a jar's output kept from an earlier run: values, but no time
        output = json.loads(arguments.jar_output.read_text())
        theirs = np.array([values(item["scores"]) for item in output[: len(items)]])
    else:
        with tempfile.TemporaryDirectory() as engine:
            copy_nashorn(Path(engine))
            started, before = time.perf_counter(), processor_seconds()
            theirs = original(items, Path(engine), arguments)
            taken["the jar"] = time.perf_counter() - started
            work["the jar"] = processor_seconds() - before
    compare(tables["first run"], theirs)
    for run, seconds in taken.items():
        ratio = (
            f", {taken['the jar'] / seconds:.1f} times the jar's speed"
            if "the jar" in taken
            else ""
        )
        processors = f" ({work[run]:.0f} s of processor time)" if run in work else ""
        print(f"  {run}: {seconds:.1f} s{processors}{ratio}")


def merging(arguments: argparse.Namespace) -> None:
    """Each of an image's first four captions against its other four, scored by both."""
    images = coco(arguments.captions)
    items = [(c[k], c[:k] + c[k + 1 :]) for c in images for k in range(4)]
    sentences = list(dict.fromkeys(s for captions in images for s in captions))
    store: Store = SqliteStore(arguments.store) if arguments.store else MemoryStore()
    with parser(store, arguments) as parse:
        tuples = dict(zip(sentences, parse(sentences), strict=True))
    items = [(t, r) for t, r in items if all(tuples[s] is not None for s in (t, *r))]
    asked = [{"test": tuples[t], "refs": [tuples[r] for r in refs]} for t, refs in items]
    answer = subprocess.run(
        [java(), "-Xmx1g", "-cp", spice_service.class_path(default_cache()), str(ORACLE)],
        input="".join(json.dumps(item) + "\n" for item in asked),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    theirs = np.array([values(json.loads(line)["scores"]) for line in answer.splitlines()])
    synonyms = load_synonyms(spice_service.spice_file(spice_service.METEOR_JAR))
    mine = [
        f_scores(
            Graph(tuples[test] or [], synonyms),
            Graph([t for ref in refs for t in tuples[ref] or []], synonyms),
        )
        for test, refs in items
    ]
    compare(np.array(mine), theirs)


def flickr(arguments: argparse.Namespace) -> None:
    """τ-c of SPICE with 16,992 expert ratings, three a pair; an image's own captions left out."""
    root = data() / "flickr8k"
    captions: dict[str, str] = {}
    for line in (root / "Flickr8k.token.txt").read_text(encoding="utf-8").splitlines():
        name, text = line.split("\t")
        captions[name] = text
    pairs, ratings = [], []
    for line in (root / "ExpertAnnotations.txt").read_text(encoding="utf-8").splitlines():
        image, caption, *rated = line.split()
        if caption.split("#")[0] != image:
            pairs.append((image, caption))
            ratings.append([int(r) for r in rated])
    tokenizer = None if arguments.raw else get_tokenizer("ptb")

    def text(name: str) -> str:
        return " ".join(tokenizer([captions[name]])[0]) if tokenizer else captions[name]

    items = [(text(c), [text(f"{image}#{k}") for k in range(5)]) for image, c in pairs]
    store: Store = SqliteStore(arguments.store) if arguments.store else MemoryStore()
    scores = ours(items, store, arguments)[:, 0]
    tau = kendalltau(np.repeat(scores, 3), np.ravel(ratings), variant="c").statistic
    print(f"Flickr8k-Expert: {len(pairs)} pairs, {3 * len(pairs)} ratings, τ-c {100 * tau:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["speed", "merging", "flickr"])
    parser.add_argument("--captions", type=int, default=5000, help="images of COCO val2017")
    parser.add_argument("--store", type=Path, help="a content store to take parses from and add to")
    parser.add_argument("--heap", type=int, default=4096, metavar="MIB")
    parser.add_argument("--threads", type=int, default=0, help="0: by the machine")
    parser.add_argument("--jar-output", type=Path, help="speed: use this output of the jar")
    parser.add_argument("--raw", action="store_true", help="flickr: do not tokenise")
    arguments = parser.parse_args()
    {"speed": speed, "merging": merging, "flickr": flickr}[arguments.what](arguments)


if __name__ == "__main__":
    main()
